"""How many prompts and generations reach a target standard error, and at what cost."""

import numbers
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pandas as pd
import xarray as xr

from hero_bayes.data.generations import Generations
from hero_bayes.difficulty.design_variances import Variances, variances
from hero_bayes.difficulty.prompt_means import Floats, check_prob, check_seed, whole_numbers
from hero_bayes.difficulty.score_moments import Moments
from hero_bayes.errors import Refusal

__all__ = ["best_k", "plan"]

Source = Moments | Generations | pd.DataFrame | xr.DataTree
#: Plans go no further.
MOST_PROMPTS = 1_000_000_000
Cost = Mapping[str, float] | Callable[[int, int], float]


def plan(
    source: Source,
    *,
    target_se: float | None = None,
    k: int | Sequence[int] = (1, 2, 5, 10, 20, 50),
    n: int | Sequence[int] | None = None,
    cost: Cost | None = None,
    model: str | None = None,
    assurance: float | None = None,
    prob: float = 0.95,
    random_seed: int = 0,
) -> pd.DataFrame:
    """Standard error of designs with n prompts and k generations each.

    Parameters
    ----------
    source : Moments, Generations, DataFrame or DataTree
        What is known so far: moments, the generations of a pilot, or a fit of them.
    target_se : float, optional
        Standard error to reach.
    k : int or sequence of int
        Generations per prompt.
    n : int or sequence of int, optional
        Prompts. Default: with a target, the smallest number that meets it for each k; else as many
        as there are.
    cost : mapping or callable, optional
        ``{"prompt": x, "generation": y}`` for n (x + k y), or a function of (n, k).
    model : str, optional
        May be left out where there is one model.
    assurance : float, optional
        Ask that the target is met with this probability; default: that the point estimate meets it.
        Needs generations or a fit.
    prob : float
        Probability of the interval of the standard error.
    random_seed : int
        Seed of the bootstrap over prompts, for generations.

    Returns
    -------
    DataFrame
        One row a design: ``k``, ``n``, ``generations`` (n k), ``standard_error``, ``floor`` (with
        endless generations of n prompts), ``share_between`` (part of the squared standard error
        that only more prompts lower; NaN where sigma is unknown); of generations or a fit ``low``
        and ``high``; with a target ``meets_target``, ``note`` (what is missing where it is not
        met) and, of generations or a fit, ``probability`` that it is met; with a cost ``cost``,
        and with both ``cheapest``.

    Raises
    ------
    Refusal
        If the source does not show how prompts differ, has one generation per prompt and k > 1 is
        asked, or is a fit whose prompts come in groups; if 1e9 prompts do not reach the target.

    Notes
    -----
    The standard error is sqrt(sigma^2 / n + (mu - mu^2 - sigma^2) / (n k)), Lemma 2.1 of [1]_; for
    related prompts sigma^2 is inflated by their design effect. Draws are those of the fit, or 1,000
    of a Bayesian bootstrap over prompts, or over groups, where the design effect is drawn too; the
    standard error of a fit is the median over draws. Of few groups designs are planned with care:
    an assurance of 0.9 is kept in some 0.92 to 0.99 of pilots.

    References
    ----------
    .. [1] Zhang, Cai, Chen (2025). Beyond the singular: revealing the value of multiple generations
       in benchmark evaluation. arXiv:2502.08943.

    Examples
    --------
    >>> pilot = pd.DataFrame({"prompt": range(6), "n_correct": [0, 1, 2, 3, 4, 4], "k": 4})
    >>> table = plan(pilot, target_se=0.02, k=(1, 4), cost={"prompt": 5, "generation": 1})
    >>> table[["k", "n", "cost", "cheapest"]]
       k    n    cost  cheapest
    0  1  678  4068.0     False
    1  4  417  3753.0      True
    """
    check_prob(prob)
    check_seed(random_seed)
    _check(target_se, assurance)
    sizes = whole_numbers(k, "k")
    known = variances(source, model, random_seed)
    if not known.identified and sizes != (1,):
        raise Refusal(known.reason)
    if n is not None:
        designs = [(size, count) for size in sizes for count in whole_numbers(n, "n")]
    elif target_se is not None:
        needed = [_smallest_n(_deciding(known, size, assurance), target_se) for size in sizes]
        designs = list(zip(sizes, needed, strict=True))
    else:
        designs = [(size, known.n_prompts) for size in sizes]
    rows = [_design(known, *design, prob) for design in designs]
    if target_se is not None:
        for row, design in zip(rows, designs, strict=True):
            row |= _against_target(known, *design, target_se, assurance)
    table = pd.DataFrame(rows)
    if cost is not None:
        table["cost"] = [_cost(cost, count, size) for size, count in designs]
        if target_se is not None:
            met = table["cost"].where(table["meets_target"])
            table["cheapest"] = table.index == (met.idxmin() if met.notna().any() else -1)
    return table


def best_k(source: Source, cost: Mapping[str, float], model: str | None = None) -> float:
    """Generations per prompt that reach any standard error at the least cost.

    Parameters
    ----------
    source : Moments, Generations, DataFrame or DataTree
        As for `plan`.
    cost : mapping
        ``{"prompt": x, "generation": y}``: cost of a new prompt and of one generation.
    model : str, optional
        May be left out where there is one model.

    Returns
    -------
    float
        At least 1; one of the two whole numbers beside it is best. Infinite if prompts do not
        differ.

    Notes
    -----
    Meeting a standard error t costs (x + k y) (sigma^2 + w / k) / t^2 with w = mu - mu^2 - sigma^2.
    Its derivative in k, y sigma^2 - x w / k^2, is zero at k = sqrt(w / sigma^2 x / y), and the
    second derivative is positive.

    Examples
    --------
    >>> pilot = pd.DataFrame({"prompt": range(6), "n_correct": [0, 1, 2, 3, 4, 4], "k": 4})
    >>> round(best_k(pilot, {"prompt": 5, "generation": 1}), 2)
    2.29
    """
    prompt, generation = _prices(cost)
    known = variances(source, model)
    if not known.identified:
        raise Refusal(known.reason)
    between = known.per_prompt(np.inf)
    if generation == 0.0 or between == 0.0:
        return float("inf")
    return float(max(1.0, np.sqrt(known.within / between * prompt / generation)))


def _check(target_se: float | None, assurance: float | None) -> None:
    if target_se is not None and not 0.0 < target_se < np.inf:
        raise ValueError(f"target_se must be positive, got {target_se!r}")
    if assurance is not None and not 0.0 < assurance < 1.0:
        raise ValueError(f"assurance must lie between 0 and 1, got {assurance!r}")
    if assurance is not None and target_se is None:
        raise ValueError("assurance speaks of a target: give target_se")


def _deciding(known: Variances, k: float, assurance: float | None) -> float:
    """Variance per prompt that must meet the target: the point value or a quantile."""
    if assurance is None:
        return known.per_prompt(k)
    return float(np.quantile(known.drawn(k), assurance, method="inverted_cdf"))


def _error(variance: float, n: int) -> float:
    return float(np.sqrt(variance / n))


def _needed(variance: Floats | float, target: float) -> Floats:
    """Prompts that bring sqrt(variance / n) to the target; a little less, for rounding errors."""
    return (np.sqrt(variance) / target) ** 2 * (1.0 - 1e-12)


def _smallest_n(variance: float, target: float) -> int:
    """Smallest n with sqrt(variance / n) <= target."""
    if _out_of_reach(variance, target):
        raise Refusal(
            f"target_se={target:g} is out of reach: {MOST_PROMPTS:,} prompts leave a standard "
            f"error of {_error(variance, MOST_PROMPTS):.4g}; ask for a larger one"
        )
    return max(1, int(np.ceil(_needed(variance, target))))


def _out_of_reach(variance: float, target: float) -> bool:
    return bool(np.sqrt(variance) > target * float(np.sqrt(MOST_PROMPTS)))


def _design(known: Variances, k: int, n: int, prob: float) -> dict[str, object]:
    row: dict[str, object] = {
        "k": k,
        "n": n,
        "generations": n * k,
        "standard_error": _error(known.per_prompt(k), n),
    }
    if known.draws is not None:
        errors = np.sqrt(known.drawn(k) / n)
        row["low"], row["high"] = np.quantile(errors, [(1 - prob) / 2, (1 + prob) / 2])
    floor = _error(known.per_prompt(np.inf), n) if known.identified else float("nan")
    return {**row, "floor": floor, "share_between": known.share_between(k)}


def _against_target(
    known: Variances, k: int, n: int, target: float, assurance: float | None
) -> dict[str, object]:
    """Whether a design meets the target, how probably, and what it lacks."""
    variance = _deciding(known, k, assurance)
    met = not _out_of_reach(variance, target) and bool(_needed(variance, target) <= n)
    row: dict[str, object] = {"meets_target": met}
    if known.draws is not None:
        errors = np.sqrt(known.drawn(k) / n)
        row["probability"] = float((errors <= target * (1.0 + 1e-12)).mean())
    return {**row, "note": "" if met else _lacking(known, n, target, assurance)}


def _lacking(known: Variances, n: int, target: float, assurance: float | None) -> str:
    """What a design lacks: prompts, or generations too."""
    if not known.identified:
        return "more prompts are needed"
    floor = _deciding(known, np.inf, assurance)
    if _error(floor, n) < target:
        return "more generations or more prompts are needed"
    least = f"more than {MOST_PROMPTS:,}"
    if not _out_of_reach(floor, target):
        least = f"at least {max(int(_needed(floor, target)), n) + 1:,}"
    return (
        f"no k is enough: endless generations of {n:,} prompts leave {_error(floor, n):.4g}; "
        f"{least} prompts are needed"
    )


def _prices(cost: Mapping[str, float]) -> tuple[float, float]:
    if not isinstance(cost, Mapping) or set(cost) != {"prompt", "generation"}:
        raise ValueError(f"cost needs 'prompt' and 'generation', got {cost!r}")
    prices = (_price(cost["prompt"]), _price(cost["generation"]))
    if sum(prices) == 0.0:
        raise ValueError(f"costs are not both 0, got {dict(cost)}")
    return prices


def _price(value: object) -> float:
    if not isinstance(value, numbers.Real) or not 0.0 <= float(value) < np.inf:
        raise ValueError(f"a cost is a finite number, not negative, got {value!r}")
    return float(value)


def _cost(cost: Cost, n: int, k: int) -> float:
    if isinstance(cost, Mapping):
        prompt, generation = _prices(cost)
        return n * (prompt + k * generation)
    if not callable(cost):
        raise ValueError(f"cost is a mapping or a function of (n, k), got {cost!r}")
    return _price(cost(n, k))
