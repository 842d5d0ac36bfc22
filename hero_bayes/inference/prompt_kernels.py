"""Prompt difficulty of one group, drawn from its two-dimensional posterior given the evidence."""

import numpy as np
from numba import njit
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

#: Where the grid looks for logit mean and logit icc at first.
REACH_MEAN, REACH_ICC = 16.0, 14.0
#: Points an axis: of the search, and of the grid that is drawn from.
COARSE, FINE = 15, 29
#: Cells whose density is below exp(-DEPTH) of the highest are left out.
DEPTH = 14.0
#: The search narrows until so many points an axis matter.
ENOUGH = 7
MOST_ROUNDS = 12
#: Below this a sum of products is done again in logs.
SAFE = 1e-250


@njit(cache=True)
def success_counts(chance: FloatArray) -> FloatArray:
    """Distribution of the number of successes of independent events, (events + 1,)."""
    counts = np.zeros(chance.size + 1)
    counts[0] = 1.0
    for j in range(chance.size):
        p = chance[j]
        for c in range(j + 1, 0, -1):
            counts[c] = counts[c] * (1.0 - p) + counts[c - 1] * p
        counts[0] *= 1.0 - p
    return counts


@njit(cache=True)
def rising(mean: float, complement: float, step: float, k: int, out: FloatArray) -> None:
    """Rows of ``out``: sums over j < c of log(m + j s), log(1 - m + j s), log(1 + j s)."""
    out[:, 0] = 0.0
    for j in range(k):
        out[0, j + 1] = out[0, j] + np.log(mean + j * step)
        out[1, j + 1] = out[1, j] + np.log(complement + j * step)
        out[2, j + 1] = out[2, j] + np.log1p(j * step)


@njit(cache=True)
def expit_pair(logit: float) -> tuple[float, float]:
    """Probability and its complement, both without cancellation."""
    odds = np.exp(-abs(logit))
    small, large = odds / (1.0 + odds), 1.0 / (1.0 + odds)
    if logit >= 0.0:
        return large, small
    return small, large


@njit(cache=True)
def log_chance(counts: FloatArray, k: int, work: FloatArray) -> float:
    """Log of the sum over counts where the usual sum would underflow."""
    top = -np.inf
    for c in range(k + 1):
        if counts[c] > 0.0:
            top = max(top, np.log(counts[c]) + work[0, c] + work[1, k - c])
    total = 0.0
    for c in range(k + 1):
        if counts[c] > 0.0:
            total += np.exp(np.log(counts[c]) + work[0, c] + work[1, k - c] - top)
    return top + np.log(total)


@njit(cache=True)
def log_density(
    counts: FloatArray, size: IntArray, prior: FloatArray, at: tuple[float, float], work: FloatArray
) -> float:
    """Log posterior density of (logit m, logit icc), up to a constant.

    ``counts`` (prompt, count) is the distribution of the number of true generations given the
    labels; ``prior`` the Beta parameters of m, then of icc.
    """
    mean, complement = expit_pair(at[0])
    icc, rest = expit_pair(at[1])
    step = icc / rest
    rising(mean, complement, step, counts.shape[1] - 1, work)
    total = prior[0] * np.log(mean) + prior[1] * np.log(complement)
    total += prior[2] * np.log(icc) + prior[3] * np.log(rest)
    width = counts.shape[1]
    weight, top = np.zeros((width, width)), np.full(width, np.nan)
    for p in range(size.size):
        k = size[p]
        if np.isnan(top[k]):  # the first prompt of this size
            top[k] = -np.inf
            for c in range(k + 1):
                top[k] = max(top[k], work[0, c] + work[1, k - c])
            for c in range(k + 1):
                weight[k, c] = np.exp(work[0, c] + work[1, k - c] - top[k])
        chance = 0.0
        for c in range(k + 1):
            chance += counts[p, c] * weight[k, c]
        if chance > SAFE:
            total += np.log(chance) + top[k] - work[2, k]
        else:
            total += log_chance(counts[p], k, work) - work[2, k]
    return total


@njit(cache=True)
def tabulate(
    counts: FloatArray,
    size: IntArray,
    prior: FloatArray,
    box: FloatArray,
    points: int,
    work: FloatArray,
) -> FloatArray:
    """Log-density on a grid over the box (low, high of either axis)."""
    out = np.empty((points, points))
    for a in range(points):
        x = box[0] + (box[1] - box[0]) * a / (points - 1)
        for b in range(points):
            y = box[2] + (box[3] - box[2]) * b / (points - 1)
            out[a, b] = log_density(counts, size, prior, (x, y), work)
    return out


@njit(cache=True)
def narrow(table: FloatArray, box: FloatArray) -> int:
    """Shrink the box to the points that matter, one more on each side; how many those are."""
    points = table.shape[0]
    limit = table.max() - DEPTH
    fewest = points
    for axis in range(2):
        first, last = points, -1
        for a in range(points):
            highest = table[a, :].max() if axis == 0 else table[:, a].max()
            if highest >= limit:
                first, last = min(first, a), max(last, a)
        low, high = box[2 * axis], box[2 * axis + 1]
        width = (high - low) / (points - 1)
        box[2 * axis] = low + max(first - 1, 0) * width
        box[2 * axis + 1] = low + min(last + 1, points - 1) * width
        fewest = min(fewest, last - first + 1)
    return fewest


@njit(cache=True)
def draw_difficulty(
    counts: FloatArray, size: IntArray, prior: FloatArray, uniform: FloatArray
) -> tuple[float, float]:
    """One draw of (mean, icc) of a group given its prompts' evidence.

    The density of (logit m, logit icc) is tabulated on the stretch that holds it; a cell is drawn,
    and a place in the cell uniformly.

    Parameters
    ----------
    counts : array (prompt, count)
        Distribution of the number of true generations of each prompt given the labels.
    size : int array (prompt,)
    prior : array (4,)
        Beta parameters of the mean, then of icc.
    uniform : array (3,)
        Uniform random numbers.
    """
    work = np.empty((3, counts.shape[1]))
    box = np.array([-REACH_MEAN, REACH_MEAN, -REACH_ICC, REACH_ICC])
    for _ in range(MOST_ROUNDS):
        table = tabulate(counts, size, prior, box, COARSE, work)
        if narrow(table, box) >= ENOUGH:
            break
    table = tabulate(counts, size, prior, box, FINE, work)
    weight = np.exp(table - table.max())
    target = uniform[0] * weight.sum()
    reached, cell = 0.0, 0
    for cell in range(FINE * FINE):
        reached += weight[cell // FINE, cell % FINE]
        if reached >= target:
            break
    step_x, step_y = (box[1] - box[0]) / (FINE - 1), (box[3] - box[2]) / (FINE - 1)
    x = box[0] + (cell // FINE + uniform[1] - 0.5) * step_x
    y = box[2] + (cell % FINE + uniform[2] - 0.5) * step_y
    return expit_pair(x)[0], expit_pair(y)[0]


@njit(cache=True)
def count_posterior(counts: FloatArray, size: IntArray, mean: float, icc: float) -> FloatArray:
    """P(number of true generations | labels) of each prompt at one (mean, icc)."""
    work = np.empty((3, counts.shape[1]))
    rising(mean, 1.0 - mean, icc / (1.0 - icc), counts.shape[1] - 1, work)
    out = np.zeros_like(counts)
    for p in range(size.size):
        k = size[p]
        top = -np.inf
        for c in range(k + 1):
            if counts[p, c] > 0.0:
                top = max(top, work[0, c] + work[1, k - c])
        for c in range(k + 1):
            if counts[p, c] > 0.0:
                out[p, c] = counts[p, c] * np.exp(work[0, c] + work[1, k - c] - top)
        out[p] /= out[p].sum()
    return out


@njit(cache=True)
def all_counts(chance: FloatArray, slots: IntArray, size: IntArray) -> FloatArray:
    """Distribution of the number of true generations of each prompt, (prompt, slot + 1).

    ``slots`` holds 1 + the position in ``chance`` of each of a prompt's items.
    """
    out = np.zeros((size.size, slots.shape[1] + 1))
    for p in range(size.size):
        k = size[p]
        own = np.empty(k)
        for j in range(k):
            own[j] = chance[slots[p, j] - 1]
        out[p, : k + 1] = success_counts(own)
    return out


@njit(cache=True)
def log_odds_from_others(
    chance: FloatArray, slots: IntArray, size: IntArray, mean: float, icc: float
) -> FloatArray:
    """Log odds of truth 1 of each item given the labels of its prompt's other items."""
    out = np.zeros(chance.size)
    work = np.empty((3, slots.shape[1] + 1))
    rising(mean, 1.0 - mean, icc / (1.0 - icc), slots.shape[1], work)
    for p in range(size.size):
        k = size[p]
        others = np.empty(max(k - 1, 0))
        for j in range(k):
            m = 0
            for i in range(k):
                if i != j:
                    others[m] = chance[slots[p, i] - 1]
                    m += 1
            counts = success_counts(others)
            top = -np.inf
            for c in range(k + 1):
                top = max(top, work[0, c] + work[1, k - c])
            yes, no = 0.0, 0.0
            for c in range(k):
                yes += counts[c] * np.exp(work[0, c + 1] + work[1, k - c - 1] - top)
                no += counts[c] * np.exp(work[0, c] + work[1, k - c] - top)
            out[slots[p, j] - 1] = np.log(max(yes, 1e-300)) - np.log(max(no, 1e-300))
    return out
