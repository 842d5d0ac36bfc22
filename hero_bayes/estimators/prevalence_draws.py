"""Exact draws of one prevalence from its one-dimensional posterior."""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from hero_bayes.estimators.kernels import psi, score_root

FloatArray = NDArray[np.float64]

#: The grid reaches down to exp(-DEPTH) of the density at its mode.
DEPTH = 25.0
GRID_SIZE = 161
#: Factors multiplied before one logarithm is taken; each is at least the smaller of m and 1 - m.
CHUNK = 8


@njit(cache=True)
def log_density(
    log_ratio: FloatArray,
    odds: FloatArray,
    count: FloatArray,
    alpha: float,
    beta: float,
    logit: float,
) -> float:
    """Log posterior density of logit m: sum log(m r + 1 - m) + alpha log m + beta log(1 - m).

    ``odds`` is exp(-|log_ratio|), which many calls share. ``count`` says how many items there are
    of each ratio; empty where each stands for one.
    """
    if logit >= 0.0:
        complement = np.exp(-logit) / (1.0 + np.exp(-logit))
        m = 1.0 / (1.0 + np.exp(-logit))
    else:
        m = np.exp(logit) / (1.0 + np.exp(logit))
        complement = 1.0 / (1.0 + np.exp(logit))
    total = alpha * np.log(m) + beta * np.log(complement)
    if count.size > 0:
        for i in range(log_ratio.size):
            value = log_ratio[i]
            if value <= 0.0:
                total += count[i] * np.log(complement + m * odds[i])
            else:
                total += count[i] * (value + np.log(m + complement * odds[i]))
        return float(total)
    product = 1.0
    for i in range(log_ratio.size):
        value = log_ratio[i]
        if value <= 0.0:
            product *= complement + m * odds[i]
        else:
            product *= m + complement * odds[i]
            if value < np.inf:
                total += value
        if i % CHUNK == CHUNK - 1:
            total += np.log(product)
            product = 1.0
    return float(total + np.log(product))


@njit(cache=True)
def reach(
    log_ratio: FloatArray,
    odds: FloatArray,
    count: FloatArray,
    alpha: float,
    beta: float,
    mode: float,
    top: float,
    direction: float,
    width: float,
) -> float:
    """Where, in one direction from the mode, the log-density has fallen by DEPTH."""
    near, far = mode, mode + direction * width
    while top - log_density(log_ratio, odds, count, alpha, beta, far) < DEPTH and abs(far) < 700.0:
        near = far
        width *= 2.0
        far = mode + direction * width
    for _ in range(12):
        middle = 0.5 * (near + far)
        if top - log_density(log_ratio, odds, count, alpha, beta, middle) < DEPTH:
            near = middle
        else:
            far = middle
    return far


@njit(cache=True)
def inverse_cdf(low: float, step: float, density: FloatArray, uniform: float) -> float:
    """Where the CDF of a density tabulated from ``low`` reaches ``uniform``.

    Cell masses are of fourth order, the density is linear within a cell.
    """
    size = density.size
    cumulative = np.zeros(size)
    for k in range(1, size):
        # Trapezoid with the cubic correction from the neighbours, whose lack at the ends is e^-25.
        outer = density[max(k - 2, 0)] + density[min(k + 1, size - 1)]
        mass = (13.0 * (density[k - 1] + density[k]) - outer) / 24.0
        cumulative[k] = cumulative[k - 1] + max(mass, 0.0)
    target = uniform * cumulative[-1]
    cell = 0
    while cell < size - 2 and cumulative[cell + 1] < target:
        cell += 1
    left, slope = density[cell], density[cell + 1] - density[cell]
    mass = cumulative[cell + 1] - cumulative[cell]
    rest = (target - cumulative[cell]) / mass * (left + 0.5 * slope) if mass > 0.0 else 0.0
    # Solve left * x + slope * x^2 / 2 = rest for x in [0, 1].
    root = np.sqrt(max(left * left + 2.0 * slope * rest, 0.0))
    share = 2.0 * rest / (left + root) if left + root > 0.0 else 0.5
    return low + (cell + min(max(share, 0.0), 1.0)) * step


@njit(cache=True)
def draw_prevalence(log_ratio: FloatArray, alpha: float, beta: float, uniform: float) -> float:
    """One draw of m from its posterior given the items' log-likelihood ratios, by inverse CDF.

    ``alpha`` and ``beta`` are the Beta prior's parameters plus the counts of gold 1 and gold 0. The
    density of logit m is unimodal, because the log-density is concave in m. It is tabulated over
    the stretch on which it is within exp(-25) of its mode, and the uniform number is put through
    the CDF: cell masses to fourth order, the density linear within a cell.
    """
    return draw_counted(log_ratio, np.empty(0), alpha, beta, uniform)


@njit(cache=True)
def draw_counted(
    log_ratio: FloatArray, count: FloatArray, alpha: float, beta: float, uniform: float
) -> float:
    """`draw_prevalence` where each finite ratio is that of ``count`` items; of one if empty."""
    n = log_ratio.size
    odds = np.exp(-np.abs(log_ratio))
    extended = np.empty(n + 2)
    weight = np.empty(n + 2)
    extended[:n] = log_ratio
    extended[n], extended[n + 1] = np.inf, -np.inf
    total = (np.sum(count) if count.size > 0 else n) + alpha + beta
    weight[:n] = 1.0 / total
    if count.size > 0:
        weight[:n] = count / total
    weight[n], weight[n + 1] = alpha / total, beta / total
    m = min(max(score_root(extended, weight, 0.0), 1e-300), 1.0 - 1e-16)
    mode = np.log(m) - np.log1p(-m)
    curvature = 0.0
    for i in range(n + 2):
        curvature += total * weight[i] * psi(extended[i], m) ** 2
    width = 3.0 / max(np.sqrt(curvature) * m * (1.0 - m), 1e-6)
    top = log_density(log_ratio, odds, count, alpha, beta, mode)
    low = reach(log_ratio, odds, count, alpha, beta, mode, top, -1.0, width)
    high = reach(log_ratio, odds, count, alpha, beta, mode, top, 1.0, width)
    step = (high - low) / (GRID_SIZE - 1)
    density = np.empty(GRID_SIZE)
    for k in range(GRID_SIZE):
        density[k] = np.exp(log_density(log_ratio, odds, count, alpha, beta, low + k * step) - top)
    logit = inverse_cdf(low, step, density, uniform)
    if logit >= 0.0:
        return float(1.0 / (1.0 + np.exp(-logit)))
    return float(np.exp(logit) / (1.0 + np.exp(logit)))
