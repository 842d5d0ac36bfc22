"""A rate carried from one set of evidence to another, draw by draw: compiled loops.

Every function speaks of one current group. Item i has log odds of truth 1 of ``x + offset_i``
before its labels, x the logit of the rate (or an intercept), and log-likelihood ratio L_i; gold is
L = +inf or -inf. ``weight`` is exp(offset); ``one`` and ``zero`` are the item's likelihoods given
truth 1 and truth 0, scaled so that the larger is 1. The prior of x is that of the logit of a
Beta(alpha, beta) rate.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from hero_bayes.estimators.prevalence_draws import DEPTH, inverse_cdf

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.integer]

#: Points of a table; 15 standard deviations wide, so that a cell is a fifth of one.
GRID_SIZE = 81
#: Nats that a product of factors may fall by before its logarithm is taken.
NATS = 600.0
LARGEST = 700.0
NEWTON_STEPS = 100
#: The mode is good enough within so many standard deviations: it only places the table.
CLOSE = 1e-3
#: Where the table first looks for its ends, in standard deviations.
FIRST_REACH = 7.5


@njit(cache=True)
def label_sums(item_ptr: IntArray, code: IntArray, table: FloatArray) -> FloatArray:
    """Sum of ``table[draw, code]`` over the labels of each item, (draw, item)."""
    out = np.zeros((table.shape[0], item_ptr.size - 1))
    for d in range(table.shape[0]):
        row = table[d]
        for i in range(out.shape[1]):
            value = 0.0
            for k in range(item_ptr[i], item_ptr[i + 1]):
                value += row[code[k]]
            out[d, i] = value
    return out


@njit(cache=True)
def slope_and_curvature(
    one: FloatArray,
    zero: FloatArray,
    weight: FloatArray,
    level: bool,
    alpha: float,
    beta: float,
    x: float,
) -> tuple[float, float]:
    """First derivative and negated second derivative of the log density at x."""
    at = np.exp(x)
    m = at / (1.0 + at)
    slope = alpha * (1.0 - m) - beta * m
    curvature = (alpha + beta) * m * (1.0 - m)
    if level:
        slope -= one.size * m
        curvature += one.size * m * (1.0 - m)
    for i in range(one.size):
        scaled = at * weight[i]
        top = scaled * one[i]
        posterior = top / (zero[i] + top)
        slope += posterior
        curvature -= posterior * (1.0 - posterior)
        if not level:
            prior = scaled / (1.0 + scaled)
            slope -= prior
            curvature += prior * (1.0 - prior)
    return slope, curvature


@njit(cache=True)
def find_mode(
    one: FloatArray,
    zero: FloatArray,
    weight: FloatArray,
    level: bool,
    alpha: float,
    beta: float,
    start: float,
) -> tuple[float, float]:
    """Mode of x and its standard deviation, by Newton steps inside a shrinking bracket."""
    low, high, x = -LARGEST, LARGEST, min(max(start, -30.0), 30.0)
    curvature = 1.0
    for _ in range(NEWTON_STEPS):
        slope, curvature = slope_and_curvature(one, zero, weight, level, alpha, beta, x)
        if slope > 0.0:
            low = x
        else:
            high = x
        step = slope / curvature if curvature > 0.0 else np.copysign(1.0, slope)
        step = min(max(step, -3.0), 3.0)
        new = x + step
        if not (low < new < high):
            new = 0.5 * (max(low, x - 3.0) + min(high, x + 3.0))
        close = abs(new - x) * np.sqrt(max(curvature, 0.0)) <= CLOSE
        x = new
        if close:
            break
    return x, 1.0 / np.sqrt(max(curvature, 1e-6))


@njit(cache=True)
def log_density(
    one: FloatArray,
    zero: FloatArray,
    weight: FloatArray,
    furthest: float,
    alpha: float,
    beta: float,
    x: FloatArray,
) -> FloatArray:
    """Log density at every point of x, up to a constant.

    Factors (zero + e^x w one) / (1 + e^x w) are multiplied over items at all points at once; each
    is at least the smaller of P(y = 1) and P(y = 0), which says how many fit between two
    logarithms. ``furthest`` is the largest abs(log weight), 0 where all weights are 1.
    """
    size = x.size
    out, at, share, rest = np.empty(size), np.empty(size), np.empty(size), np.empty(size)
    product = np.ones(size)
    for k in range(size):
        lower = np.log1p(np.exp(-abs(x[k])))
        out[k] = -alpha * (max(-x[k], 0.0) + lower) - beta * (max(x[k], 0.0) + lower)
        at[k] = np.exp(x[k])
        share[k] = at[k] / (1.0 + at[k])
        rest[k] = 1.0 / (1.0 + at[k])
    chunk = max(1, int(NATS / (max(abs(x[0]), abs(x[-1])) + furthest + 1.0)))
    for i in range(one.size):
        a, b, w = one[i], zero[i], weight[i]
        if furthest == 0.0:
            for k in range(size):
                product[k] *= rest[k] * b + share[k] * a
        else:
            for k in range(size):
                product[k] *= (b + at[k] * w * a) / (1.0 + at[k] * w)
        if i % chunk == chunk - 1:
            for k in range(size):
                out[k] += np.log(product[k])
                product[k] = 1.0
    for k in range(size):
        out[k] += np.log(product[k])
    return out


@njit(cache=True)
def log_density_at(
    one: FloatArray,
    zero: FloatArray,
    weight: FloatArray,
    furthest: float,
    alpha: float,
    beta: float,
    x: float,
) -> float:
    """Log density at one point, up to the same constant."""
    lower = np.log1p(np.exp(-abs(x)))
    total = -alpha * (max(-x, 0.0) + lower) - beta * (max(x, 0.0) + lower)
    chunk = max(1, int(NATS / (abs(x) + furthest + 1.0)))
    at = np.exp(x)
    share, rest = at / (1.0 + at), 1.0 / (1.0 + at)
    for begin in range(0, one.size, chunk):
        product = 1.0
        for i in range(begin, min(begin + chunk, one.size)):
            if furthest > 0.0:
                rest = 1.0 / (1.0 + at * weight[i])
                share = at * weight[i] * rest
            product *= rest * zero[i] + share * one[i]
        total += np.log(product)
    return float(total)


@njit(cache=True)
def end_of_table(
    one: FloatArray,
    zero: FloatArray,
    weight: FloatArray,
    furthest: float,
    alpha: float,
    beta: float,
    mode: float,
    top: float,
    width: float,
) -> float:
    """Where, in the direction of ``width`` from the mode, the density has fallen far enough."""
    for _ in range(60):
        at = mode + width
        drop = top - log_density_at(one, zero, weight, furthest, alpha, beta, at)
        if drop < DEPTH and abs(at) < LARGEST:
            width *= 1.4
        elif drop > 3.0 * DEPTH:
            width *= 0.75
        else:
            break
    return float(min(max(mode + width, -LARGEST), LARGEST))


@njit(cache=True)
def cdf_at(low: float, step: float, density: FloatArray, x: float) -> float:
    """CDF at x of a tabulated density: what ``inverse_cdf`` undoes. -1 outside of the table."""
    size = density.size
    place = (x - low) / step
    if place <= 0.0 or place >= size - 1:
        return -1.0
    cell = int(place)
    below, total = 0.0, 0.0
    for k in range(1, size):
        outer = density[max(k - 2, 0)] + density[min(k + 1, size - 1)]
        mass = max((13.0 * (density[k - 1] + density[k]) - outer) / 24.0, 0.0)
        if k - 1 < cell:
            below += mass
        elif k - 1 == cell:
            part = place - cell
            left, slope = density[cell], density[cell + 1] - density[cell]
            whole = left + 0.5 * slope
            if whole > 0.0:
                below += mass * (left * part + 0.5 * slope * part * part) / whole
        total += mass
    return float(below / total)


@njit(cache=True)
def carry(
    log_ratio: FloatArray,
    offset: FloatArray,
    alpha: float,
    beta: float,
    start: FloatArray,
    x: FloatArray,
    rank: FloatArray,
    distance: FloatArray,
    find: bool,
) -> None:
    """Between draws of x and their places in the posterior of x given the evidence.

    With ``find`` True fills ``rank`` (CDF at x; -1 beyond the table) and ``distance`` (from the
    mode in standard deviations) from ``x``; otherwise fills ``x``, (draw,), from them. The search
    for the mode begins at ``start``; the same start and evidence give the same table.
    """
    for d in range(log_ratio.shape[0]):
        one = np.exp(np.minimum(log_ratio[d], 0.0))
        zero = np.exp(-np.maximum(log_ratio[d], 0.0))
        weight = np.exp(offset[d])
        furthest = np.max(np.abs(offset[d])) if offset.shape[1] else 0.0
        level = furthest == 0.0
        mode, spread = find_mode(one, zero, weight, level, alpha, beta, start[d])
        if not find and rank[d] < 0.0:
            x[d] = mode + distance[d] * spread
            continue
        top = log_density_at(one, zero, weight, furthest, alpha, beta, mode)
        reach = FIRST_REACH * spread
        low = end_of_table(one, zero, weight, furthest, alpha, beta, mode, top, -reach)
        high = end_of_table(one, zero, weight, furthest, alpha, beta, mode, top, reach)
        step = (high - low) / (GRID_SIZE - 1)
        points = np.empty(GRID_SIZE)
        for k in range(GRID_SIZE):
            points[k] = low + step * k
        density = log_density(one, zero, weight, furthest, alpha, beta, points)
        density = np.exp(density - density.max())
        if find:
            rank[d] = cdf_at(low, step, density, x[d])
            distance[d] = (x[d] - mode) / spread
        else:
            x[d] = inverse_cdf(low, step, density, rank[d])


@njit(cache=True)
def item_shares(
    log_ratio: FloatArray, offset: FloatArray, x: FloatArray, uniform: FloatArray
) -> FloatArray:
    """Share of items whose truth is drawn 1, (draw,), from uniform numbers (draw, item)."""
    out = np.empty(x.size)
    for d in range(x.size):
        count = 0.0
        for i in range(log_ratio.shape[1]):
            logit = x[d] + offset[d, i] + log_ratio[d, i]
            chance = 0.0
            if logit > -LARGEST:
                chance = 1.0 / (1.0 + np.exp(-logit))
            if uniform[d, i] < chance:
                count += 1.0
        out[d] = count / max(log_ratio.shape[1], 1)
    return out
