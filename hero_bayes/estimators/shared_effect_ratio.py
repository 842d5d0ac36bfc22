"""Compiled log-likelihood ratios of the shared-effect model, by adaptive quadrature."""

import numpy as np
from numba import njit
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.integer]

#: The mode of one item's effect is found to this accuracy, in units of the effect.
MODE_ACCURACY = 1e-9
MODE_STEPS = 100


@njit(cache=True)
def effect_slope(
    code: IntArray, begin: int, end: int, intercept: FloatArray, loading: float, effect: float
) -> tuple[float, float]:
    """First and (negated) second derivative of an item's log density of labels and effect."""
    first, second = -effect, 1.0
    for label in range(begin, end):
        logit = intercept[code[label] // 2] + loading * effect
        odds = np.exp(-abs(logit))
        chance = 1.0 / (1.0 + odds) if logit >= 0.0 else odds / (1.0 + odds)
        first += loading * (code[label] % 2 - chance)
        second += loading * loading * odds / (1.0 + odds) ** 2
    return first, second


@njit(cache=True)
def effect_mode(
    code: IntArray, begin: int, end: int, intercept: FloatArray, loading: float
) -> tuple[float, float]:
    """Most likely effect of one item given its labels and class, and the curvature there.

    The log density is concave, so its slope has one root: Newton steps in a shrinking bracket.
    """
    low, high = -loading * (end - begin) - 1.0, loading * (end - begin) + 1.0
    effect = 0.0
    for _ in range(MODE_STEPS):
        first, second = effect_slope(code, begin, end, intercept, loading, effect)
        if first > 0.0:
            low = effect
        else:
            high = effect
        new = effect + first / second
        if not (low < new < high):
            new = 0.5 * (low + high)
        step = abs(new - effect)
        effect = new
        if step < MODE_ACCURACY:
            break
    _, second = effect_slope(code, begin, end, intercept, loading, effect)
    return effect, second


@njit(cache=True)
def class_log_likelihood(
    item_idx: IntArray,
    item_ptr: IntArray,
    code: IntArray,
    intercept: FloatArray,
    loading: FloatArray,
    node: FloatArray,
    log_node_weight: FloatArray,
) -> FloatArray:
    """Log p(labels | class) of the chosen items (item, class), the effect integrated out.

    Gauss-Hermite nodes are moved to the mode of the item's effect and scaled by its curvature, for
    each item and class (Liu and Pierce 1994).
    """
    out = np.zeros((item_idx.size, 2))
    value = np.empty(node.size)
    for place in range(item_idx.size):
        i = item_idx[place]
        begin, end = item_ptr[i], item_ptr[i + 1]
        if begin == end:
            continue
        for truth in range(2):
            mode, curvature = effect_mode(code, begin, end, intercept[truth], loading[truth])
            scale = 1.0 / np.sqrt(curvature)
            for k in range(node.size):
                effect = mode + scale * node[k]
                total = log_node_weight[k] + 0.5 * (node[k] ** 2 - effect**2)
                for label in range(begin, end):
                    logit = intercept[truth, code[label] // 2] + loading[truth] * effect
                    if code[label] % 2 == 0:
                        logit = -logit
                    total += min(logit, 0.0) - np.log1p(np.exp(-abs(logit)))
                value[k] = total
            top = np.max(value)
            out[place, truth] = top + np.log(scale * np.sum(np.exp(value - top)))
    return out
