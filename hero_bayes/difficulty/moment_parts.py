"""Arithmetic of the moments: spread of difficulty, standard error with reasons, interval."""

import math

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from hero_bayes.data.identifiers import number_of
from hero_bayes.difficulty.prompt_means import (
    check_prob,
    most_within,
    squared_error,
    within_variance,
)

__all__ = ["interval_of", "mean_of", "reasoned_error", "spread", "variance_of"]

#: Means of prompts that differ by less are equal: they are ratios of counts far below 1e6.
EQUAL = 1e-12

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]


def mean_of(values: Floats) -> float:
    """Mean of the values; of equal values exactly their value."""
    return float(values[0] if np.ptp(values) <= EQUAL else values.mean())


def variance_of(values: Floats) -> float:
    """Sample variance; 0 of equal values, NaN of one."""
    if len(values) < 2:
        return math.nan
    return 0.0 if np.ptp(values) <= EQUAL else float(values.var(ddof=1))


def reasoned_error(
    values: Floats, group: Codes, clustered: bool, differences: bool = False
) -> tuple[float, str]:
    """Squared standard error of the mean, and why it is NaN or 0 where it is.

    The values may be differences of two models: equal ones need not mean that prompts are alike.
    """
    units, noun = int(group.max()) + 1, "prompt group" if clustered else "prompt"
    squared = squared_error(values, group)
    if math.isnan(squared):
        return squared, f"no standard error: it needs two {noun}s, there is one"
    if squared > EQUAL**2:
        return squared, ""
    why = f"{number_of(units, noun)} do not differ"
    if differences and np.ptp(values) <= EQUAL:
        why = f"the differences are all equal, in {number_of(units, noun)}"
    return 0.0, (
        f"the standard error is 0 because {why}: the interval bounds the share that would behave "
        "otherwise"
    )


def spread(n_correct: Codes, k: Codes) -> tuple[float, float, str]:
    """Sigma^2, how much of it rests on borrowed noise, and why it is not identified if so (NaN)."""
    if len(k) < 2:
        return math.nan, 0.0, "sigma is not identified: it needs two prompts, there is one"
    if k.max() < 2:
        return (
            math.nan,
            0.0,
            (
                "sigma is not identified: every prompt has one generation (k = 1), so difficulty "
                "and luck cannot be told apart; generate at least twice for some prompts"
            ),
        )
    noise = within_variance(n_correct, k) / k
    borrowed = float((k == 1).mean()) * min(most_within(n_correct, k), 0.25)
    return variance_of(n_correct / k) - float(noise.mean()), borrowed, ""


def interval_of(
    mean: float, error: float, units: int, prob: float, limits: tuple[float, float]
) -> tuple[float, float]:
    """Student t interval within the limits, units - 1 degrees of freedom; a bound of error 0."""
    check_prob(prob)
    low, high = limits
    tail = (1 - prob) / 2
    if math.isnan(error) or error == 0.0:
        other = 1 - tail ** (1 / units)
        return mean * (1 - other) + low * other, mean * (1 - other) + high * other
    half = float(-stats.t.ppf(tail, units - 1)) * error
    return max(mean - half, low), min(mean + half, high)
