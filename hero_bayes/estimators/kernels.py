"""Compiled loops over index arrays; numbers in, numbers out.

A label is held as one integer ``code = 2 * labeler_idx + label``, items as a CSR pointer into the
codes. Tables indexed by a code hold one number per (labeler, label). All loops are serial, so that
the order of summation, and with it every bit of the result, is fixed by the canonical order of the
labels.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.integer]

#: Probabilities of the anchored EM stay inside [FLOOR, 1 - FLOOR].
FLOOR = 1e-9
#: Scores and posterior variances below this add nothing to an information matrix.
NEGLIGIBLE = 1e-14


@njit(cache=True)
def sum_by_item(item_ptr: IntArray, code: IntArray, table: FloatArray) -> FloatArray:
    """Sum of ``table[code]`` over the labels of each item."""
    total = np.zeros(item_ptr.size - 1)
    for i in range(total.size):
        value = 0.0
        for k in range(item_ptr[i], item_ptr[i + 1]):
            value += table[code[k]]
        total[i] = value
    return total


@njit(cache=True)
def log_ratio_table(sensitivity: FloatArray, specificity: FloatArray) -> FloatArray:
    """Log P(label | y=1) - log P(label | y=0) for every code."""
    table = np.empty(2 * sensitivity.size)
    for j in range(sensitivity.size):
        table[2 * j] = np.log1p(-sensitivity[j]) - np.log(specificity[j])
        table[2 * j + 1] = np.log(sensitivity[j]) - np.log1p(-specificity[j])
    return table


@njit(cache=True)
def class_probability(log_ratio: float, prevalence: float) -> float:
    """P(y=1 | labels) from the log-likelihood ratio, without overflow."""
    if prevalence <= 0.0:
        return 0.0
    if prevalence >= 1.0:
        return 1.0
    logit = np.log(prevalence) - np.log1p(-prevalence) + log_ratio
    if logit >= 0.0:
        return 1.0 / (1.0 + np.exp(-logit))
    odds = np.exp(logit)
    return odds / (1.0 + odds)


@njit(cache=True)
def psi(log_ratio: float, prevalence: float) -> float:
    """Score of one item, (r - 1) / (m r + 1 - m); the limits r = 0 and r = inf are gold."""
    if log_ratio <= 0.0:
        ratio = np.exp(log_ratio)
        return (ratio - 1.0) / (prevalence * ratio + 1.0 - prevalence)
    inverse = np.exp(-log_ratio)
    return (1.0 - inverse) / (prevalence + (1.0 - prevalence) * inverse)


@njit(cache=True)
def psi_array(log_ratio: FloatArray, prevalence: float) -> FloatArray:
    """Score of every item at one prevalence."""
    out = np.empty(log_ratio.size)
    for i in range(log_ratio.size):
        out[i] = psi(log_ratio[i], prevalence)
    return out


@njit(cache=True)
def score_limits(log_ratio: FloatArray, weight: FloatArray) -> tuple[float, float]:
    """Weighted mean score at prevalence 0+ and 1-; infinite where gold makes it so."""
    lower, upper = 0.0, 0.0
    for i in range(log_ratio.size):
        if weight[i] > 0.0:
            lower += weight[i] * (np.exp(log_ratio[i]) - 1.0)
            upper += weight[i] * (1.0 - np.exp(-log_ratio[i]))
    return lower, upper


@njit(cache=True)
def score_root(log_ratio: FloatArray, weight: FloatArray, shift: float) -> float:
    """Root m of sum_i w_i psi_i(m) = shift, for weights that sum to one.

    The left side decreases in m, with slope -sum_i w_i psi_i(m)^2: Newton steps inside a shrinking
    bracket. Returns 0 or 1 where the root lies on or beyond the boundary.
    """
    lower, upper = score_limits(log_ratio, weight)
    if lower <= shift:
        return 0.0
    if upper >= shift:
        return 1.0
    low, high, m = 0.0, 1.0, 0.5
    for _ in range(200):
        value, slope = -shift, 0.0
        for i in range(log_ratio.size):
            if weight[i] > 0.0:
                term = psi(log_ratio[i], m)
                value += weight[i] * term
                slope += weight[i] * term * term
        if value > 0.0:
            low = m
        else:
            high = m
        step = value / slope if slope > 0.0 else 0.0
        new = m + step
        if not (low < new < high):
            new = 0.5 * (low + high)
        if abs(new - m) <= 1e-16 + 4e-16 * m:
            return new
        m = new
    return m


@njit(cache=True)
def profile_log_likelihood(log_ratio: FloatArray, prevalence: float, shift: float) -> float:
    """sum_i log(m r_i + 1 - m) - n shift m, up to a constant; gold gives log m or log(1 - m)."""
    total = -log_ratio.size * shift * prevalence
    for i in range(log_ratio.size):
        value = log_ratio[i]
        if value <= 0.0:
            total += np.log(prevalence * np.exp(value) + 1.0 - prevalence)
        else:
            total += np.log(prevalence + (1.0 - prevalence) * np.exp(-value))
    return total


@njit(cache=True)
def score_gradient(
    item_idx: IntArray,
    item_ptr: IntArray,
    code: IntArray,
    log_ratio: FloatArray,
    prevalence: float,
    sensitivity: FloatArray,
    specificity: FloatArray,
) -> FloatArray:
    """Mean of d psi_i / d (sensitivity, specificity) over the chosen items; gold adds zero."""
    n_labelers = sensitivity.size
    gradient = np.zeros(2 * n_labelers)
    for position in range(item_idx.size):
        i = item_idx[position]
        value = log_ratio[position]
        if value <= 0.0:
            ratio = np.exp(value)
            slope = ratio / (prevalence * ratio + 1.0 - prevalence) ** 2
        else:
            inverse = np.exp(-value)
            slope = inverse / (prevalence + (1.0 - prevalence) * inverse) ** 2
        if slope == 0.0:
            continue
        for k in range(item_ptr[i], item_ptr[i + 1]):
            j = code[k] // 2
            if code[k] % 2 == 1:
                gradient[j] += slope / sensitivity[j]
                gradient[n_labelers + j] += slope / (1.0 - specificity[j])
            else:
                gradient[j] -= slope / (1.0 - sensitivity[j])
                gradient[n_labelers + j] -= slope / specificity[j]
    return gradient / max(item_idx.size, 1)


@njit(cache=True)
def information_matrices(
    item_ptr: IntArray,
    code: IntArray,
    group_idx: IntArray,
    truth: FloatArray,
    sensitivity: FloatArray,
    specificity: FloatArray,
    prevalence: FloatArray,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Observed information and outer product of scores over all parameters.

    Parameters run over sensitivity (labeler), specificity (labeler), prevalence (group).

    With g = P(y=1 | labels), S1 and S0 the complete-data scores: information of an item is
    g diag(S1^2) + (1 - g) diag(S0^2) - g (1 - g)(S1 - S0)(S1 - S0)', its score g S1 + (1 - g) S0.
    Also returns the complete-data information (the diagonal before the missing part is taken away).
    """
    n_labelers = sensitivity.size
    size = 2 * n_labelers + prevalence.size
    missing = np.zeros((size, size))
    outer = np.zeros((size, size))
    complete = np.zeros(size)
    widest = 0
    for i in range(truth.size):
        widest = max(widest, item_ptr[i + 1] - item_ptr[i])
    where = np.empty(2 * widest + 1, dtype=np.int64)
    difference = np.empty(2 * widest + 1)
    score = np.empty(2 * widest + 1)
    for i in range(truth.size):
        g = truth[i]
        used = 0
        for k in range(item_ptr[i], item_ptr[i + 1]):
            j = code[k] // 2
            if code[k] % 2 == 1:
                if_positive, if_negative = 1.0 / sensitivity[j], -1.0 / (1.0 - specificity[j])
            else:
                if_positive, if_negative = -1.0 / (1.0 - sensitivity[j]), 1.0 / specificity[j]
            complete[j] += g * if_positive**2
            complete[n_labelers + j] += (1.0 - g) * if_negative**2
            where[used], difference[used], score[used] = j, if_positive, g * if_positive
            used += 1
            where[used], difference[used] = n_labelers + j, -if_negative
            score[used] = (1.0 - g) * if_negative
            used += 1
        group = group_idx[i]
        if group >= 0:
            m = prevalence[group]
            complete[2 * n_labelers + group] += g / m**2 + (1.0 - g) / (1.0 - m) ** 2
            where[used], difference[used] = 2 * n_labelers + group, 1.0 / m + 1.0 / (1.0 - m)
            score[used] = g / m - (1.0 - g) / (1.0 - m)
            used += 1
        spread = g * (1.0 - g)
        for p in range(used):
            if abs(score[p]) > NEGLIGIBLE:
                for q in range(used):
                    outer[where[p], where[q]] += score[p] * score[q]
        if spread > NEGLIGIBLE:
            for p in range(used):
                for q in range(used):
                    missing[where[p], where[q]] += spread * difference[p] * difference[q]
    return complete, missing, outer
