"""The anchored EM as compiled loops: E-step, M-step, and their acceleration."""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from hero_bayes.estimators.kernels import FLOOR, class_probability, log_ratio_table

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.integer]

#: Plain EM steps before any extrapolation, so that the start decides the mode.
PLAIN_STEPS = 20
#: Rounds after the tolerance is met, so that rounding does not decide where the EM stops, and the
#: change below which there is nothing left to gain.
POLISHING = 20
FINEST = 1e-15


@njit(cache=True)
def expected_counts(
    item_ptr: IntArray,
    code: IntArray,
    gold: FloatArray,
    group_idx: IntArray,
    table: FloatArray,
    prevalence: FloatArray,
    truth: FloatArray,
) -> tuple[FloatArray, FloatArray, float]:
    """E-step: fills ``truth`` with P(y=1 | labels) and returns expected positives.

    Returns the expected number of true positives behind each code, the expected positives in each
    prevalence group, and the log-likelihood less that of the labels given truth 0. A group index
    below zero marks items whose prevalence is not estimated here.
    """
    positives = np.zeros(table.size)
    group_positives = np.zeros(prevalence.size)
    log_likelihood = 0.0
    for i in range(truth.size):
        begin, end = item_ptr[i], item_ptr[i + 1]
        group = group_idx[i]
        evidence = 0.0
        for k in range(begin, end):
            evidence += table[code[k]]
        if np.isnan(gold[i]):
            m = prevalence[group]
            truth[i] = class_probability(evidence, m)
            logit = np.log(m) - np.log1p(-m) + evidence
            log_likelihood += np.log1p(-m) + max(logit, 0.0) + np.log1p(np.exp(-abs(logit)))
        else:
            truth[i] = gold[i]
            if gold[i] == 1.0:
                log_likelihood += evidence
            if group >= 0:
                m = prevalence[group]
                log_likelihood += np.log(m) if gold[i] == 1.0 else np.log1p(-m)
        for k in range(begin, end):
            positives[code[k]] += truth[i]
        if group >= 0:
            group_positives[group] += truth[i]
    return positives, group_positives, log_likelihood


@njit(cache=True)
def clip_probability(value: float) -> float:
    """The probability, kept inside [FLOOR, 1 - FLOOR]."""
    return min(max(value, FLOOR), 1.0 - FLOOR)


@njit(cache=True)
def em_step(
    item_ptr: IntArray,
    code: IntArray,
    gold: FloatArray,
    group_idx: IntArray,
    count: FloatArray,
    group_size: FloatArray,
    parameters: FloatArray,
    truth: FloatArray,
) -> tuple[FloatArray, float]:
    """One EM step on (sensitivity, specificity, prevalence) laid end to end.

    Returns the new parameters and the log-likelihood of the old ones. Parameters of which no item
    speaks keep their value.
    """
    n_labelers = count.size // 2
    sensitivity = parameters[:n_labelers]
    specificity = parameters[n_labelers : 2 * n_labelers]
    prevalence = parameters[2 * n_labelers :]
    table = log_ratio_table(sensitivity, specificity)
    positives, group_positives, log_likelihood = expected_counts(
        item_ptr, code, gold, group_idx, table, prevalence, truth
    )
    new = parameters.copy()
    for j in range(n_labelers):
        log_likelihood += count[2 * j] * np.log(specificity[j])
        log_likelihood += count[2 * j + 1] * np.log1p(-specificity[j])
        n_positive = positives[2 * j] + positives[2 * j + 1]
        n_negative = count[2 * j] + count[2 * j + 1] - n_positive
        if n_positive > 0.0:
            new[j] = clip_probability(positives[2 * j + 1] / n_positive)
        if n_negative > 0.0:
            true_negative = count[2 * j] - positives[2 * j]
            new[n_labelers + j] = clip_probability(true_negative / n_negative)
    for g in range(prevalence.size):
        if group_size[g] > 0.0:
            new[2 * n_labelers + g] = clip_probability(group_positives[g] / group_size[g])
    return new, log_likelihood


@njit(cache=True)
def extrapolate(start: FloatArray, first: FloatArray, second: FloatArray) -> FloatArray:
    """The squared extrapolation (SQUAREM, scheme S3) of two EM steps, kept inside (0, 1)."""
    step = first - start
    bend = (second - first) - step
    length = np.sqrt(np.sum(bend * bend))
    if length == 0.0:
        return second
    stride = max(np.sqrt(np.sum(step * step)) / length, 1.0)
    out = start + 2.0 * stride * step + stride * stride * bend
    for k in range(out.size):
        out[k] = clip_probability(out[k])
    return out


@njit(cache=True)
def anchored_em_loop(
    item_ptr: IntArray,
    code: IntArray,
    gold: FloatArray,
    group_idx: IntArray,
    sensitivity: FloatArray,
    specificity: FloatArray,
    prevalence: FloatArray,
    tol: float,
    max_iterations: int,
) -> tuple[FloatArray, int, float]:
    """Accelerated EM with gold clamped; updates the three parameter arrays in place.

    After some plain steps, pairs of EM steps are extrapolated, and the result kept only where its
    log-likelihood is not below that of the first of the pair. Returns P(y=1 | labels) of every
    item, the EM steps taken, and the largest change in the last one.

    Notes
    -----
    Varadhan and Roland (2008), Simple and globally convergent methods for accelerating the
    convergence of any EM algorithm, Scandinavian Journal of Statistics 35, 335-353.
    """
    n_labelers = sensitivity.size
    truth = np.zeros(item_ptr.size - 1)
    count = np.zeros(2 * n_labelers)
    for k in range(code.size):
        count[code[k]] += 1.0
    group_size = np.zeros(prevalence.size)
    for i in range(truth.size):
        if group_idx[i] >= 0:
            group_size[group_idx[i]] += 1.0
    current = np.concatenate((sensitivity, specificity, prevalence))
    change, iteration, polished = np.inf, 0, 0
    while iteration < max_iterations and polished < POLISHING and change > FINEST:
        if change <= tol:
            polished += 1
        first, _ = em_step(item_ptr, code, gold, group_idx, count, group_size, current, truth)
        iteration += 1
        change = np.max(np.abs(first - current))
        if iteration <= PLAIN_STEPS or change <= FINEST:
            current = first
            continue
        second, reached = em_step(item_ptr, code, gold, group_idx, count, group_size, first, truth)
        candidate = extrapolate(current, first, second)
        stable, found = em_step(
            item_ptr, code, gold, group_idx, count, group_size, candidate, truth
        )
        iteration += 2
        current = stable if found >= reached else second
    sensitivity[:] = current[:n_labelers]
    specificity[:] = current[n_labelers : 2 * n_labelers]
    prevalence[:] = current[2 * n_labelers :]
    table = log_ratio_table(sensitivity, specificity)
    expected_counts(item_ptr, code, gold, group_idx, table, prevalence, truth)
    return truth, iteration, change
