"""Exact draws of one prevalence or intercept from its one-dimensional posterior."""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from hero_bayes.estimators.prevalence_draws import DEPTH, GRID_SIZE, draw_prevalence, inverse_cdf

__all__ = [
    "draw_intercept",
    "draw_prevalence",
    "intercept_log_density",
    "softplus",
    "truth_probability",
]

FloatArray = NDArray[np.float64]

#: A first scan for the mode of an intercept, in scales of its prior around its location.
SCAN_SIZE = 61
SCAN_REACH = 25.0
#: The scan reaches beyond every item's offset by so many scales.
SCAN_MARGIN = 15.0
#: Golden-section steps from the scan to the mode: 0.8 shrinks to 1e-6.
GOLDEN = 0.6180339887498949
GOLDEN_STEPS = 28


@njit(cache=True)
def softplus(x: float) -> float:
    """log(1 + exp(x)) without overflow."""
    return max(x, 0.0) + np.log1p(np.exp(-abs(x)))


@njit(cache=True)
def intercept_log_density(
    log_ratio: FloatArray, offset: FloatArray, location: float, scale: float, intercept: float
) -> float:
    """Log posterior density of a group's intercept under a logistic prior.

    Item i has log odds ``intercept + offset_i``; its log-likelihood is
    softplus(log odds + log r_i) - softplus(log odds), and gold is log r = +inf or -inf.
    """
    z = (intercept - location) / scale
    total = -z - 2.0 * softplus(-z)
    for i in range(log_ratio.size):
        logit = intercept + offset[i]
        if log_ratio[i] == np.inf:
            total -= softplus(-logit)
        elif log_ratio[i] == -np.inf:
            total -= softplus(logit)
        else:
            total += softplus(logit + log_ratio[i]) - softplus(logit)
    return total


@njit(cache=True)
def draw_intercept(
    log_ratio: FloatArray, offset: FloatArray, location: float, scale: float, uniform: float
) -> float:
    """One draw of a group's intercept from its one-dimensional posterior, by inverse CDF.

    A coarse scan and a golden section find the highest point, a grid covers the stretch around it
    within exp(-25) of the top.
    """
    half = SCAN_REACH * scale
    for i in range(offset.size):
        half = max(half, abs(location + offset[i]) + SCAN_MARGIN * scale)
    spacing = 2.0 * half / (SCAN_SIZE - 1)
    best, top = location, -np.inf
    for k in range(SCAN_SIZE):
        at = location - half + k * spacing
        value = intercept_log_density(log_ratio, offset, location, scale, at)
        if value > top:
            best, top = at, value
    # Golden section between the neighbours of the highest point: the posterior of many items is
    # far narrower than the scan.
    low, high = best - spacing, best + spacing
    for _ in range(GOLDEN_STEPS):
        left, right = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
        at_left = intercept_log_density(log_ratio, offset, location, scale, left)
        if at_left >= intercept_log_density(log_ratio, offset, location, scale, right):
            high = right
        else:
            low = left
    best = 0.5 * (low + high)
    top = intercept_log_density(log_ratio, offset, location, scale, best)
    ends = np.empty(2)
    for side in range(2):
        direction = 2.0 * side - 1.0
        width = 0.005 * scale
        far = best + direction * width
        while (
            top - intercept_log_density(log_ratio, offset, location, scale, far) < DEPTH
            and width < 100.0 * scale
        ):
            width *= 1.3
            far = best + direction * width
        ends[side] = far
    step = (ends[1] - ends[0]) / (GRID_SIZE - 1)
    density = np.empty(GRID_SIZE)
    for k in range(GRID_SIZE):
        at = ends[0] + k * step
        density[k] = np.exp(intercept_log_density(log_ratio, offset, location, scale, at) - top)
    return inverse_cdf(ends[0], step, density, uniform)


@njit(cache=True)
def truth_probability(log_ratio: FloatArray, prior_log_odds: FloatArray) -> FloatArray:
    """P(y=1 | labels) of every item from its evidence and its prior log odds."""
    out = np.empty(log_ratio.size)
    for i in range(out.size):
        if log_ratio[i] == np.inf:
            out[i] = 1.0
        elif log_ratio[i] == -np.inf:
            out[i] = 0.0
        else:
            logit = log_ratio[i] + prior_log_odds[i]
            if logit >= 0.0:
                out[i] = 1.0 / (1.0 + np.exp(-logit))
            else:
                odds = np.exp(logit)
                out[i] = odds / (1.0 + odds)
    return out
