"""Means over prompts: standard errors, also for related prompts, and intervals inside [0, 1]."""

import numbers
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import special, stats

from hero_bayes.data.generations import Generations
from hero_bayes.errors import Refusal

__all__ = [
    "ALONE",
    "PromptMean",
    "as_generations",
    "check_prob",
    "check_seed",
    "group_codes",
    "mean_over_prompts",
    "paired_variance",
    "refuse_stopped",
    "score_draws",
    "squared_error",
    "whole_numbers",
    "within_variance",
]

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]


#: Largest number of prompts or generations that is understood.
MOST = 10**12
#: Normal variates held at once, and how little equal means differ.
AT_ONCE, EQUAL = 5_000_000, 1e-12
#: What one prompt leaves unknown.
ALONE = "nothing shows how prompts differ, so there is no standard error"
#: Prompts away from 0 (or from 1) that weigh as much as the largest variance there can be.
FEW_AWAY = 3
#: Digits to which differences of shares are told apart.
DIGITS = 9


@dataclass(frozen=True)
class PromptMean:
    """A mean over prompts in [0, 1] with its uncertainty.

    Attributes
    ----------
    value, standard_error : float
        The mean and its standard error; the latter is NaN for one prompt (or one group).
    low, high : float
        Limits of the interval.
    reason : str
        Why the standard error is missing; "" where it is not.
    """

    value: float
    standard_error: float
    low: float
    high: float
    reason: str = ""


def as_generations(source: Any) -> Generations:
    """Return the generations; what is none is read as a table, or DataError says why not."""
    return source if isinstance(source, Generations) else Generations.from_frame(source)


def check_prob(prob: float) -> None:
    """Raise ValueError unless ``prob`` lies between 0 and 1."""
    if not isinstance(prob, numbers.Real) or not 0.0 < prob < 1.0:
        raise ValueError(f"prob must lie between 0 and 1, got {prob!r}")


def check_seed(random_seed: int) -> None:
    """Raise ValueError unless the seed is a whole number, 0 or larger."""
    if not isinstance(random_seed, numbers.Integral) or random_seed < 0:
        raise ValueError(f"random_seed must be a whole number of at least 0, got {random_seed!r}")


def whole_numbers(values: int | Sequence[int], name: str) -> tuple[int, ...]:
    """Return the distinct values in rising order; ValueError unless whole and at least 1."""
    array = np.atleast_1d(np.asarray(values))
    numeric = array.ndim == 1 and array.size > 0 and array.dtype.kind in "iuf"
    whole = numeric and (array >= 1).all() and (array <= MOST).all()
    if not (whole and (array == np.floor(array)).all()):
        raise ValueError(f"{name} must hold whole numbers from 1 to {MOST:,}, got {values!r}")
    return tuple(int(value) for value in np.unique(array))


def group_codes(generations: Generations, cells: Codes) -> Codes:
    """Return the prompt group of each cell as 0, 1, ...; without groups, the prompts themselves."""
    prompt = generations.prompt_idx[cells]
    if generations.prompt_group is None:
        return np.unique(prompt, return_inverse=True)[1].astype(np.int64)
    return pd.factorize(generations.prompt_group[prompt])[0].astype(np.int64)


def refuse_stopped(generations: Generations, cells: Codes, remedy: str) -> None:
    """Refuse a model whose sampling stopped at an outcome, where all its counts are needed."""
    model = int(generations.model_idx[cells[0]])
    rule = generations.stopping[model]
    if rule is not None:
        raise Refusal(
            f"sampling of {str(generations.models[model])!r} stopped once {rule.when}, so its "
            f"counts are not those of a k set beforehand; {remedy}"
        )


def within_variance(n_correct: Codes, k: Codes) -> Floats:
    """Unbiased estimate of p_i (1 - p_i) for each prompt.

    Parameters
    ----------
    n_correct, k : int64 array (prompt)
        Counts.

    Returns
    -------
    float64 array (prompt)
        k / (k - 1) p-hat (1 - p-hat). A prompt with one generation has no estimate of its own and
        gets the mean of the others (NaN if there are none), but no more than `most_within`.
    """
    share = n_correct / k
    own = share * (1.0 - share) * k / np.maximum(k - 1, 1)
    several = k > 1
    if several.all():
        return own
    if not several.any():
        return np.full(len(k), np.nan)
    return np.where(several, own, min(float(own[several].mean()), most_within(n_correct, k)))


def most_within(n_correct: Codes, k: Codes) -> float:
    """The largest mean of p (1 - p) that prompts with one generation can have; 0 without any.

    It is s (1 - s), s their share correct, drawn towards one half by three standard errors (nine
    more prompts, half of them correct); a single prompt bounds nothing.
    """
    once = k == 1
    size = int(once.sum())
    if size < 2:
        return float("inf") if size else 0.0
    share = float(n_correct[once].sum() + 4.5) / (size + 9.0)
    return share * (1.0 - share) * size / (size - 1)


def squared_error(values: Floats, group: Codes) -> float:
    """Squared standard error of the mean of ``values``, by groups of related prompts.

    Parameters
    ----------
    values : float64 array (prompt)
        One value per prompt.
    group : int64 array (prompt)
        Group codes 0, 1, ...; one group per prompt for unrelated prompts.

    Returns
    -------
    float
        G / (G - 1) sum_g (sum_{i in g} (v_i - mean))^2 / n^2, which is s^2 / n for single prompts;
        NaN for one group.

    Examples
    --------
    >>> round(squared_error(np.array([2 / 3, 1 / 3]), np.array([0, 1])) ** 0.5, 4)
    0.1667
    """
    n_groups = int(group.max()) + 1
    if n_groups < 2:
        return float("nan")
    sums = np.bincount(group, weights=values - values.mean())
    return float(n_groups / (n_groups - 1) * (sums**2).sum() / len(values) ** 2)


def mean_over_prompts(values: Floats, group: Codes, prob: float = 0.95) -> PromptMean:
    """Mean of values in [0, 1] over prompts, with an interval that stays inside.

    Parameters
    ----------
    values : float64 array (prompt)
        One value in [0, 1] per prompt.
    group : int64 array (prompt)
        Group codes 0, 1, ...; the prompts of one group are related.
    prob : float
        Nominal coverage.

    Returns
    -------
    PromptMean
        Speaks of new prompts like these. The interval has some width even where all values agree;
        with one prompt (or group) it is (0, 1).

    Notes
    -----
    Wilson's interval with G - 1 degrees of freedom for the effective number of prompts
    m = value (1 - value) / SE^2. The sample variance says little where few prompts are away from 0
    (or 1), so 1/m is averaged with 1/G, weights d and 3, where d is the number of groups above 0 or
    of those below 1, whichever is less. At 0 % and 100 % m = G.
    """
    value = float(values.mean())
    variance = squared_error(values, group)
    n_groups = int(group.max()) + 1
    if n_groups < 2:
        what = "one prompt" if len(values) == 1 else "one group of prompts"
        reason = f"{what}: {ALONE}"
        return PromptMean(value, float("nan"), 0.0, 1.0, reason)
    by_group = np.bincount(group, weights=values) / np.bincount(group)
    away = int(min((by_group > 0.0).sum(), (by_group < 1.0).sum()))
    inverse = 1.0 / n_groups
    if away and 0.0 < value < 1.0:
        estimate = variance / (value * (1.0 - value))
        inverse = (away * estimate + FEW_AWAY * inverse) / (away + FEW_AWAY)
    quantile = float(stats.t.ppf(0.5 + prob / 2.0, n_groups - 1))
    low, high = _wilson(value, inverse * quantile**2)
    return PromptMean(value, variance**0.5, low, high)


def paired_variance(differences: Floats, group: Codes, unpaired: float) -> float:
    """Squared standard error of a mean difference over two groups of prompts or more.

    Their own says little where only a few of them, c, differ from the rest: it is averaged, weights
    c^2 and 1, with that of two means on prompts of their own.
    """
    of_group = np.bincount(group, weights=differences) / np.bincount(group)
    _, ties = np.unique(np.round(of_group, DIGITS), return_counts=True)
    weight = float((len(of_group) - ties.max()) ** 2)
    return (weight * squared_error(differences, group) + unpaired) / (weight + 1.0)


def score_draws(
    shares: Sequence[Floats], units: Sequence[Codes], n_draws: int, rng: np.random.Generator
) -> Floats:
    """Draws of mean scores over new prompts, whatever the law of difficulty.

    Parameters
    ----------
    shares : sequence of float64 array (prompt)
        Of every model, the share correct of its prompts.
    units : sequence of int64 array (prompt)
        Which unit (prompt, or group of related prompts) each is of, alike for all models.
    n_draws : int
    rng : numpy.random.Generator

    Returns
    -------
    float64 array (draw, model)

    Notes
    -----
    A mean v with squared standard error SE^2 over G units is worth m = v (1 - v) / SE^2 coin flips:
    it is Beta(m v + 1/2, m (1 - v) + 1/2), with m times chi^2_{G-1} / (G - 1) because SE is
    estimated, so that its tails are those of Student's t. The sample variance says little where
    only d units are away from 0 (or from 1): 1/m is averaged with 1/G, weights d^2 and 1. At 0 %
    and 100 % m = G. Scores of several models share the normal variates of their units, so that
    prompts hard for both do not widen a difference.
    """
    n_units = max(int(unit.max()) for unit in units) + 1
    parts, deviation = [], np.zeros((n_units, len(shares)))
    for place, (share, unit) in enumerate(zip(shares, units, strict=True)):
        value = min(max(float(share.mean()), 0.0), 1.0)
        size = np.bincount(unit, minlength=n_units)
        own = np.flatnonzero(size)
        of_unit = np.bincount(unit, share, n_units)[own]
        deviation[own, place] = of_unit - size[own] * value
        length = float(np.linalg.norm(deviation[:, place]))
        constant = length <= EQUAL * n_units or not 0.0 < value < 1.0
        deviation[:, place] = 0.0 if constant else deviation[:, place] / length
        inverse = 1.0 / len(own)
        away = float(min((of_unit > 0.0).sum(), (of_unit < size[own]).sum()))
        if not constant and away and len(own) > 1:
            squared = (length / len(share)) ** 2 * len(own) / (len(own) - 1)
            weight = away**2
            inverse = (weight * squared / (value * (1.0 - value)) + inverse) / (weight + 1.0)
        parts.append((value, 1.0 / inverse, max(len(own) - 1, 1), constant))
    normal, step = np.empty((n_draws, len(shares))), max(1, AT_ONCE // n_units)
    for begin in range(0, n_draws, step):
        rows = slice(begin, min(begin + step, n_draws))
        normal[rows] = rng.standard_normal((rows.stop - begin, n_units)) @ deviation
    uniform, scores = rng.random(n_draws), np.empty((n_draws, len(shares)))
    for place, (value, trials, freedom, constant) in enumerate(parts):
        if constant:
            normal[:, place] = rng.standard_normal(n_draws)
        drawn = trials * stats.chi2.ppf(uniform, freedom) / freedom
        level = special.ndtr(normal[:, place])
        yes, no = drawn * value + 0.5, drawn * (1.0 - value) + 0.5
        scores[:, place] = special.betaincinv(yes, no, level)
    return scores


def _wilson(value: float, ratio: float) -> tuple[float, float]:
    """Wilson's limits; ``ratio`` is the squared quantile over the number of trials."""
    centre = (value + ratio / 2.0) / (1.0 + ratio)
    half = (ratio * value * (1.0 - value) + ratio**2 / 4.0) ** 0.5 / (1.0 + ratio)
    low = 0.0 if value <= 0.0 else max(0.0, centre - half)
    high = 1.0 if value >= 1.0 else min(1.0, centre + half)
    return low, high
