"""What more generations per prompt buy: standard error against k."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import special

from hero_bayes.data.generations import Generations
from hero_bayes.data.identifiers import number_of
from hero_bayes.difficulty.design_variances import bootstrap
from hero_bayes.difficulty.prompt_means import (
    Codes,
    Floats,
    as_generations,
    check_prob,
    check_seed,
    group_codes,
    refuse_stopped,
    squared_error,
    whole_numbers,
    within_variance,
)
from hero_bayes.errors import DataError, Refusal

__all__ = ["Enough", "enough", "k_curve"]

#: Columns with the interval of the noise.
NOISE = ("noise_low", "noise_high")


@dataclass(frozen=True)
class Enough:
    """The smallest k that nearly reaches the floor.

    Attributes
    ----------
    k : int
        Generations per prompt; 0 if no k is enough.
    standard_error, floor : float
        The standard error with that k, and with endless generations.
    low, high : float
        Interval of k over new prompts like these, as sure as the table's; infinite where no k may
        be enough.
    sentence : str
        The result in words.
    """

    k: int
    standard_error: float
    floor: float
    sentence: str
    low: float
    high: float

    def __str__(self) -> str:
        return self.sentence


def k_curve(
    generations: Generations | pd.DataFrame,
    k: int | Sequence[int] = (1, 2, 5, 10, 20, 50),
    model: str | None = None,
    repeats: int = 200,
    random_seed: int = 0,
    prob: float = 0.95,
) -> pd.DataFrame:
    """Standard error of the score with k generations per prompt, predicted and subsampled.

    Parameters
    ----------
    generations : Generations or DataFrame
        Some prompts need two generations or more.
    k : int or sequence of int
        Generations per prompt.
    model : str, optional
        May be left out where there is one model.
    repeats : int
        Random subsamples for each k, drawn within prompts without replacement (never the first k:
        generations may be ordered).
    random_seed : int
        Seed of the subsamples.
    prob : float
        Nominal coverage of the interval whose width is given.

    Returns
    -------
    DataFrame
        One row a k: ``k``; ``standard_error`` predicted from all generations; ``subsampled`` (root
        of the mean squared standard error over subsamples) with its Monte-Carlo error ``mc_error``
        (from `repeats`); ``interval_width`` (normal); ``floor``, the standard error with endless
        generations; ``precision_share`` = floor^2 / standard_error^2, the share of the precision
        of endless generations; ``noise_low`` and ``noise_high``, interval of the luck of one
        generation in squared standard errors of endless ones (infinite where prompts may be alike);
        ``reason`` why something is NaN.

    Raises
    ------
    Refusal
        If no prompt has two generations, there is one prompt (or group), or sampling stopped at an
        outcome.

    Notes
    -----
    The prediction is Lemma 2.1 of [1]_ with unbiased estimates, sigma^2 / n + w / (n k) with
    w = mu - mu^2 - sigma^2. It is also the exact expectation of the subsampled squared standard
    error: a subsample of k out of K has a mean with variance p-hat (1 - p-hat) (K - k) / (k (K -
    1)) about p-hat, and s^2 of the subsamples is on average that of p-hat plus the mean of these.
    The interval of the noise, (squared standard error of k = 1 less floor^2) / floor^2, resamples
    prompts (groups) by the Bayesian bootstrap.

    References
    ----------
    .. [1] Zhang, Cai, Chen (2025). Beyond the singular: revealing the value of multiple generations
       in benchmark evaluation. arXiv:2502.08943.

    Examples
    --------
    >>> counts = pd.DataFrame({"prompt": range(6), "n_correct": [0, 1, 2, 3, 4, 4], "k": 4})
    >>> k_curve(counts, k=(1, 4))[["k", "standard_error", "floor"]].round(4)
       k  standard_error   floor
    0  1          0.2125  0.1483
    1  4          0.1667  0.1483
    """
    check_prob(prob)
    check_seed(random_seed)
    sizes = whole_numbers(k, "k")
    (repeats,) = whole_numbers(repeats, "repeats")
    generations = as_generations(generations)
    cells = generations.cells_of(model)
    refuse_stopped(generations, cells, "best_k(hb.difficulty.fit(generations), ...) knows better")
    counts = (generations.n_correct[cells], generations.k[cells])
    group = group_codes(generations, cells)
    if not counts[1].max() > 1:
        raise Refusal(
            "every prompt has one generation, so nothing says what more would bring; "
            "generate some prompts at least twice"
        )
    if group.max() < 1:
        raise Refusal("there is one prompt (or prompt group): two are needed for a standard error")
    rng = np.random.default_rng(random_seed)
    noise = _noise_interval(generations, cells, prob, random_seed)
    floor = max(expected_squared_error(*counts, group, np.inf), 0.0)
    rows = []
    for size in sizes:
        error = max(expected_squared_error(*counts, group, size), 0.0) ** 0.5
        subsampled, mc_error, reason = _subsampled(*counts, group, size, repeats, rng)
        rows.append(
            {
                "k": size,
                "standard_error": error,
                "subsampled": subsampled,
                "mc_error": mc_error,
                "interval_width": 2.0 * float(special.ndtri(0.5 + prob / 2.0)) * error,
                "floor": floor**0.5,
                "noise_low": noise[0],
                "noise_high": noise[1],
                "precision_share": floor / error**2 if error > 0.0 else float("nan"),
                "reason": reason if error > 0.0 else "no prompt differs from another",
            }
        )
    return pd.DataFrame(rows)


def enough(table: pd.DataFrame, tolerance: float = 0.1) -> Enough:
    """Smallest k whose standard error is near the floor.

    Parameters
    ----------
    table : DataFrame
        From `k_curve`.
    tolerance : float
        How near: 0.1 allows 10 % above the floor.

    Returns
    -------
    Enough
        The smallest k, whether in the table or not; printing it gives a sentence.

    Raises
    ------
    DataError
        If this is no such table.
    ValueError
        If the tolerance is not positive.

    Examples
    --------
    >>> counts = pd.DataFrame({"prompt": range(6), "n_correct": [0, 1, 2, 3, 4, 4], "k": 4})
    >>> print(enough(k_curve(counts)))  # doctest: +NORMALIZE_WHITESPACE
    6 generations per prompt bring the standard error to 0.1608, within 10 % of its floor of 0.1483;
    other prompts like these may need 1 to 61.
    """
    if not 0.0 < tolerance < np.inf:
        raise ValueError(f"tolerance must be positive, got {tolerance!r}")
    known = isinstance(table, pd.DataFrame) and {"k", "standard_error", "floor", *NOISE} <= set(
        table
    )
    if not known or not len(table):
        raise DataError("enough needs the table that k_curve returned, with at least one row")
    first = table.iloc[0]
    floor = float(first["floor"])
    falling = (float(first["standard_error"]) ** 2 - floor**2) * float(first["k"])
    if floor == 0.0:
        text = (
            "Prompts do not visibly differ, so every further generation helps as much as a prompt: "
            "no k is enough."
        )
        return Enough(0, 0.0, 0.0, text, *_limits(first, tolerance))
    limit = (1.0 + tolerance) * floor
    k = max(1, int(np.ceil(falling / (limit**2 - floor**2) - 1e-9)))
    low, high = _limits(first, tolerance)
    low, high = min(low, k), max(high, k)
    error = float((floor**2 + falling / k) ** 0.5)
    text = (
        f"{number_of(k, 'generation')} per prompt {'brings' if k == 1 else 'bring'} the standard "
        f"error to {error:.4g}, within {100 * tolerance:g} % of its floor of {floor:.4g}; "
    )
    text += (
        f"other prompts like these may need {low:,.0f} to {high:,.0f}."
        if np.isfinite(high)
        else f"other prompts like these may need {low:,.0f} or more, without a limit."
    )
    return Enough(k, error, floor, text, low, high)


def _limits(row: "pd.Series[Any]", tolerance: float) -> tuple[float, float]:
    """Limits of the k that is enough."""
    part = (1.0 + tolerance) ** 2 - 1.0
    low, high = (max(1.0, np.ceil(float(row[name]) / part - 1e-9)) for name in NOISE)
    return float(low), float(high)


def _noise_interval(
    generations: Generations, cells: Codes, prob: float, random_seed: int
) -> tuple[float, float]:
    """Interval of within over between variance."""
    between, within = bootstrap(generations, cells, random_seed)
    ratio = np.full(len(between), np.inf)
    np.divide(np.maximum(within, 0.0), between, out=ratio, where=between > 0.0)
    tails = [(1.0 - prob) / 2.0, (1.0 + prob) / 2.0]
    low, high = np.quantile(ratio, tails, method="closest_observation")
    return float(low), float(high)


def expected_squared_error(n_correct: Codes, k: Codes, group: Codes, size: float) -> float:
    """Squared standard error with ``size`` generations per prompt, from all generations.

    Parameters
    ----------
    n_correct, k, group : int64 array (prompt)
        Counts, and group codes 0, 1, ...
    size : float
        Generations per prompt; infinite for the floor.

    Returns
    -------
    float
        Unbiased, so it can be negative where prompts hardly differ. For sizes up to every k it is
        the mean over all subsamples.
    """
    n, n_groups = len(k), int(group.max()) + 1
    noise = within_variance(n_correct, k) * (1.0 / size - 1.0 / k)
    members, by_group = np.bincount(group), np.bincount(group, weights=noise)
    # Variance of sum_{i in g} (e_i - mean e) for independent noise e_i, summed over groups.
    spread = by_group - 2.0 * members * by_group / n + members**2 * noise.sum() / n**2
    share = n_groups / (n_groups - 1) / n**2
    return squared_error(n_correct / k, group) + float(share * spread.sum())


def _subsampled(
    n_correct: Codes, k: Codes, group: Codes, size: int, repeats: int, rng: np.random.Generator
) -> tuple[float, float, str]:
    """Root mean squared standard error over random subsamples, and its Monte-Carlo error."""
    short = int((k < size).sum())
    if short:
        reason = f"{short:,} of {number_of(len(k), 'prompt')} have fewer than {size} generations"
        return float("nan"), float("nan"), reason
    squared: Floats = np.empty(repeats)
    for repeat in range(repeats):
        share: NDArray[np.float64] = rng.hypergeometric(n_correct, k - n_correct, size) / size
        squared[repeat] = squared_error(share, group)
    root = float(squared.mean() ** 0.5)
    if repeats < 2:
        return root, float("nan"), "one subsample has no Monte-Carlo error"
    if root == 0.0:
        return root, 0.0, ""
    return root, float(squared.std(ddof=1) / np.sqrt(repeats) / (2.0 * root)), ""
