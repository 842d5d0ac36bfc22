"""Compiled likelihood of the shared-effect model; numbers in, numbers out.

A column of a table is one (class, node) pair: ``truth * n_nodes + node``. All loops are serial, so
that every bit of the result is fixed by the canonical order of the labels.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.integer]

#: Priors, as (mean, standard deviation); the mean of the intercepts has the sign of the class.
MEAN_PRIOR = (1.0, 1.5)
LOG_SPREAD_PRIOR = (-0.5, 0.7)
LOG_LOADING_PRIOR = (-0.7, 0.7)
#: Pairs of steps that the optimiser remembers.
MEMORY = 20
#: A step is taken if it gains this share of what the slope promises.
SUFFICIENT = 1e-4
SHORTEST_STEP = 1e-10


@njit(cache=True)
def label_tables(
    intercept: FloatArray, loading: FloatArray, node: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Log P(label | class, node) and its slope in the logit, by (code, class and node).

    ``intercept`` is (class, labeler), ``loading`` (class,), ``node`` (node,).
    """
    n_labelers, size = intercept.shape[1], node.size
    table = np.empty((2 * n_labelers, 2 * size))
    slope = np.empty((2 * n_labelers, 2 * size))
    for truth in range(2):
        for j in range(n_labelers):
            for k in range(size):
                logit = intercept[truth, j] + loading[truth] * node[k]
                small = np.log1p(np.exp(-abs(logit)))
                column = truth * size + k
                table[2 * j, column] = -max(logit, 0.0) - small
                table[2 * j + 1, column] = min(logit, 0.0) - small
                slope[2 * j, column] = -np.exp(min(logit, 0.0) - small)
                slope[2 * j + 1, column] = np.exp(-max(logit, 0.0) - small)
    return table, slope


@njit(cache=True)
def normalise(logs: FloatArray) -> float:
    """Turn logs into shares of their sum, in place, and return the log of the sum."""
    top = np.max(logs)
    total = 0.0
    for k in range(logs.size):
        logs[k] = np.exp(logs[k] - top)
        total += logs[k]
    for k in range(logs.size):
        logs[k] /= total
    return float(top + np.log(total))


@njit(cache=True)
def expected_labels(
    item_ptr: IntArray,
    code: IntArray,
    gold: FloatArray,
    group_idx: IntArray,
    weight: FloatArray,
    log_prevalence: FloatArray,
    log_complement: FloatArray,
    table: FloatArray,
    log_node_weight: FloatArray,
) -> tuple[float, FloatArray, FloatArray, FloatArray]:
    """Weighted log-likelihood of all items, and what its gradient is made of.

    Returns the log-likelihood; the weighted chance of every (code, class and node), summed over
    labels; the weighted expected positives by group; the weight of each group's items. Items of
    weight zero are not looked at. A group index below zero marks gold items whose prevalence is
    not estimated here.
    """
    size = log_node_weight.size
    responsibility = np.zeros(table.shape)
    positives, total = np.zeros(log_prevalence.size), np.zeros(log_prevalence.size)
    log_likelihood = 0.0
    joint = np.empty(2 * size)
    evidence = np.empty(2)
    for i in range(gold.size):
        if weight[i] == 0.0:
            continue
        begin, end, group = item_ptr[i], item_ptr[i + 1], group_idx[i]
        for column in range(2 * size):
            joint[column] = log_node_weight[column % size]
        for label in range(begin, end):
            row = code[label]
            for column in range(2 * size):
                joint[column] += table[row, column]
        for truth in range(2):
            evidence[truth] = normalise(joint[truth * size : (truth + 1) * size])
        if group >= 0:
            evidence[0] += log_complement[group]
            evidence[1] += log_prevalence[group]
        if np.isnan(gold[i]):
            top = max(evidence[0], evidence[1])
            value = top + np.log(np.exp(evidence[0] - top) + np.exp(evidence[1] - top))
            positive = np.exp(evidence[1] - value)
        else:
            positive = gold[i]
            value = evidence[1] if positive == 1.0 else evidence[0]
        log_likelihood += weight[i] * value
        if group >= 0:
            positives[group] += weight[i] * positive
            total[group] += weight[i]
        for k in range(size):
            joint[k] *= weight[i] * (1.0 - positive)
            joint[size + k] *= weight[i] * positive
        for label in range(begin, end):
            row = code[label]
            for column in range(2 * size):
                responsibility[row, column] += joint[column]
    return log_likelihood, responsibility, positives, total


@njit(cache=True)
def log_chances(logits: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Log p and log(1 - p) of each logit."""
    small = np.log1p(np.exp(-np.abs(logits)))
    return np.minimum(logits, 0.0) - small, -np.maximum(logits, 0.0) - small


@njit(cache=True)
def add_priors(at: FloatArray, gradient: FloatArray) -> float:
    """Log prior density of means, log spreads and log loadings; adds its slopes to the gradient."""
    value = 0.0
    for truth in range(2):
        for place, mean, deviation in (
            (truth, (2.0 * truth - 1.0) * MEAN_PRIOR[0], MEAN_PRIOR[1]),
            (2 + truth, LOG_SPREAD_PRIOR[0], LOG_SPREAD_PRIOR[1]),
            (4 + truth, LOG_LOADING_PRIOR[0], LOG_LOADING_PRIOR[1]),
        ):
            z = (at[place] - mean) / deviation
            value -= 0.5 * z * z
            gradient[place] -= z / deviation
    return value


@njit(cache=True)
def log_posterior(
    parameters: FloatArray,
    item_ptr: IntArray,
    code: IntArray,
    gold: FloatArray,
    group_idx: IntArray,
    weight: FloatArray,
    information: FloatArray,
    node: FloatArray,
    log_node_weight: FloatArray,
) -> tuple[float, FloatArray, FloatArray]:
    """Log posterior density, its gradient, and a rough curvature of each parameter.

    Parameters are laid out as standardised intercepts (class, labeler), means, log spreads, log
    loadings (class) and prevalence logits (group). The curvature is that of the likelihood with
    classes and effects known, plus the prior's: a scale for the optimiser, no more.
    """
    n_labelers = information.shape[1]
    n_groups, nodes = parameters.size - 2 * n_labelers - 6, node.size
    standard = parameters[: 2 * n_labelers].reshape(2, n_labelers)
    at = parameters[2 * n_labelers :]
    spread, loading = np.exp(at[2:4]), np.exp(at[4:6])
    intercept = np.empty((2, n_labelers))
    for truth in range(2):
        intercept[truth] = at[truth] + spread[truth] * standard[truth]
    log_prevalence, log_complement = log_chances(at[6:])
    table, slope = label_tables(intercept, loading, node)
    value, chance, positives, total = expected_labels(
        item_ptr, code, gold, group_idx, weight, log_prevalence, log_complement, table,
        log_node_weight,
    )  # fmt: skip
    gradient, curvature = np.zeros(parameters.size), np.ones(parameters.size)
    by_spread, by_loading = gradient[2 * n_labelers + 2 :], gradient[2 * n_labelers + 4 :]
    by_mean = gradient[2 * n_labelers :]
    of_rest = curvature[2 * n_labelers :]
    for truth in range(2):
        for j in range(n_labelers):
            first, second = 0.0, 0.0
            for k in range(nodes):
                column = truth * nodes + k
                by_logit = chance[2 * j, column] * slope[2 * j, column]
                by_logit += chance[2 * j + 1, column] * slope[2 * j + 1, column]
                both = chance[2 * j, column] + chance[2 * j + 1, column]
                bend = -both * slope[2 * j, column] * slope[2 * j + 1, column]
                first += by_logit
                second += bend
                by_loading[truth] += by_logit * loading[truth] * node[k]
                of_rest[4 + truth] += bend * (loading[truth] * node[k]) ** 2
            x = standard[truth, j]
            value -= 0.5 * x * x
            gradient[truth * n_labelers + j] = spread[truth] * first - x
            curvature[truth * n_labelers + j] += spread[truth] ** 2 * second
            by_mean[truth] += first
            of_rest[truth] += second
            narrowing = spread[truth] ** 2 * information[truth, j]
            value -= 0.5 * np.log1p(narrowing)
            by_spread[truth] += spread[truth] * first * x - narrowing / (1.0 + narrowing)
            of_rest[2 + truth] += second * (spread[truth] * x) ** 2
    value += add_priors(at, by_mean)
    for g in range(n_groups):
        m = np.exp(log_prevalence[g])
        by_mean[6 + g] = positives[g] - total[g] * m
        of_rest[6 + g] += total[g] * m * (1.0 - m)
    return value, gradient, curvature


@njit(cache=True)
def uphill(
    gradient: FloatArray,
    curvature: FloatArray,
    moved: FloatArray,
    changed: FloatArray,
    n_pairs: int,
    newest: int,
) -> FloatArray:
    """The quasi-Newton direction of L-BFGS from the remembered (step, change of slope) pairs."""
    direction = gradient.copy()
    share = np.empty(n_pairs)
    for back in range(n_pairs):
        k = (newest - back) % MEMORY
        share[back] = np.sum(moved[k] * direction) / np.sum(moved[k] * changed[k])
        direction -= share[back] * changed[k]
    direction /= curvature
    if n_pairs > 0:
        k = newest
        direction *= np.sum(moved[k] * changed[k]) / np.sum(changed[k] ** 2 / curvature)
    for back in range(n_pairs - 1, -1, -1):
        k = (newest - back) % MEMORY
        again = np.sum(changed[k] * direction) / np.sum(moved[k] * changed[k])
        direction += (share[back] - again) * moved[k]
    return direction


@njit(cache=True)
def climb(
    start: FloatArray,
    item_ptr: IntArray,
    code: IntArray,
    gold: FloatArray,
    group_idx: IntArray,
    weight: FloatArray,
    information: FloatArray,
    node: FloatArray,
    log_node_weight: FloatArray,
    tolerance: float,
    max_iterations: int,
) -> tuple[FloatArray, float, int, float, FloatArray]:
    """Mode of `log_posterior` by L-BFGS: parameters, value, iterations, largest slope left.

    Serial and free of linear-algebra libraries, so that threads change neither time nor bits.

    Notes
    -----
    Liu and Nocedal (1989), On the limited memory BFGS method for large scale optimization,
    Mathematical Programming 45, 503-528; the first scale of each parameter is its curvature.
    """
    moved, changed = np.empty((MEMORY, start.size)), np.empty((MEMORY, start.size))
    n_pairs, newest, iteration = 0, -1, 0
    here = start.copy()
    value, gradient, curvature = log_posterior(
        here, item_ptr, code, gold, group_idx, weight, information, node, log_node_weight
    )
    while iteration < max_iterations and np.max(np.abs(gradient)) > tolerance:
        iteration += 1
        direction = uphill(gradient, curvature, moved, changed, n_pairs, newest)
        promise = np.sum(direction * gradient)
        step = min(1.0, 2.0 / np.max(np.abs(direction)))
        there, reached, slope, scale = here, value, gradient, curvature
        while step > SHORTEST_STEP:
            there = here + step * direction
            reached, slope, scale = log_posterior(
                there, item_ptr, code, gold, group_idx, weight, information, node, log_node_weight
            )
            # Near the top the gain drowns in rounding; then a smaller slope is progress.
            rounding = 1e-14 * abs(value)
            if reached >= value + SUFFICIENT * step * promise - rounding:
                break
            step *= 0.4
        if step <= SHORTEST_STEP:
            if n_pairs == 0:
                break
            n_pairs = 0
            continue
        bend = np.sum((there - here) * (gradient - slope))
        if bend > 1e-12 * np.sum((gradient - slope) ** 2 / curvature):
            newest = (newest + 1) % MEMORY
            moved[newest], changed[newest] = there - here, gradient - slope
            n_pairs = min(n_pairs + 1, MEMORY)
        here, value, gradient, curvature = there, reached, slope, scale
    return here, value, iteration, np.max(np.abs(gradient)), curvature
