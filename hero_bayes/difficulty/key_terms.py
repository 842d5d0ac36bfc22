"""Terms of the model of wrong keys: right answers, repeated wrong answers, shared wrong answers."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma, expit, gammaln

from hero_bayes.difficulty.key_counts import Table

__all__ = ["Term", "log_sum", "right_term", "shared_term", "wrong_term"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

SMALLEST_SHAPE = 1e-10


@dataclass(frozen=True)
class Term:
    """A log-likelihood by hypothesis, and its gradient for given weights of the hypotheses."""

    value: FloatArray
    gradient: Callable[[FloatArray], tuple[FloatArray, ...]]


def _normal_nodes(step: float, end: float) -> tuple[FloatArray, FloatArray]:
    """Trapezoid nodes and log weights for N(0, 1), with errors near 1e-9 on the integrands here."""
    node = np.arange(-end, end + step / 2.0, step)
    weight = np.exp(-(node**2) / 2.0)
    return node, np.log(weight / weight.sum())


DIFFICULTY = _normal_nodes(0.3, 6.0)
VARIETY = _normal_nodes(0.5, 6.0)
OWN_VARIETY = _normal_nodes(0.4, 6.0)
SHARING = _normal_nodes(0.5, 6.0)
ONE_NODE = (np.zeros(1), np.zeros(1))


def log_sum(values: FloatArray, axis: int = -1) -> FloatArray:
    """Log sum exp along an axis."""
    top = values.max(axis=axis, keepdims=True)
    total: FloatArray = np.log(np.exp(values - top).sum(axis=axis)) + top.squeeze(axis)
    return total


def right_term(table: Table, a: FloatArray, q: FloatArray, loading: FloatArray) -> Term:
    """How often the models gave the right answer.

    P(right) of model m on a prompt of ease u ~ N(0, 1) is Beta(mean expit(a + loading u),
    icc expit(q)), so the count is Beta-Binomial given u (a sequence likelihood, without the
    binomial coefficient); u is summed out.

    Parameters
    ----------
    table : Table
        Rows (model, k, count).
    a, q, loading : float array (model)
        With one model the loading means nothing.

    Returns
    -------
    Term
        Gradient with respect to a, q and loading.
    """
    node, log_weight = DIFFICULTY if len(a) > 1 else ONE_NODE
    model, k, n = table.rows[:, 0], table.rows[:, 1:2], table.rows[:, 2:3]
    f = np.exp(-q)[:, None]
    mean = expit(a[:, None] + loading[:, None] * node)
    yes = np.maximum(mean * f, SMALLEST_SHAPE)[model]
    no = np.maximum((1.0 - mean) * f, SMALLEST_SHAPE)[model]
    both = yes + no
    each = gammaln(yes + n) - gammaln(yes) + gammaln(no + k - n) - gammaln(no)
    joint = table.sums @ (each - gammaln(both + k) + gammaln(both)) + log_weight
    total = log_sum(joint)

    def gradient(weight: FloatArray) -> tuple[FloatArray, ...]:
        by_row = _back(table, joint, total, weight)
        common = digamma(both) - digamma(both + k)
        d_yes = _by_model(by_row * (digamma(yes + n) - digamma(yes) + common), model, len(a))
        d_no = _by_model(by_row * (digamma(no + k - n) - digamma(no) + common), model, len(a))
        d_logit = (d_yes - d_no) * f * mean * (1.0 - mean)
        d_q = -(f * (d_yes * mean + d_no * (1.0 - mean))).sum(axis=1)
        return d_logit.sum(axis=1), d_q, (d_logit * node).sum(axis=1)

    return Term(total[table.of], gradient)


def wrong_term(
    table: Table, centre: FloatArray, log_spread: FloatArray, common: FloatArray
) -> Term:
    """How a model's wrong answers to one prompt repeat each other.

    Chinese restaurant process with concentration beta, log beta = centre + common v + spread e; v
    is the prompt's, e the model's own on that prompt, both N(0, 1) and summed out.

    Parameters
    ----------
    table : Table
        Rows (model, wrong answers, distinct ones).
    centre, log_spread, common : float array (model)

    Returns
    -------
    Term
        Gradient with respect to centre, log_spread and common. The factorials of the counts are in
        ``KeyCounts.constant``.
    """
    node, log_weight = VARIETY if len(centre) > 1 else ONE_NODE
    own, own_weight = OWN_VARIETY
    model, spread = table.rows[:, 0], np.exp(log_spread)
    log_beta = (centre[:, None] + common[:, None] * node)[:, :, None]
    log_beta = log_beta + (spread[:, None] * own)[:, None, :]
    inner, slope = _crp(log_beta, model, table.rows[:, 1], table.rows[:, 2])
    inner = inner + own_weight
    over_own = log_sum(inner)
    joint = table.sums @ over_own + log_weight
    total = log_sum(joint)

    def gradient(weight: FloatArray) -> tuple[FloatArray, ...]:
        by_row = _back(table, joint, total, weight)
        by_node = np.exp(inner - over_own[:, :, None]) * by_row[:, :, None] * slope
        size = len(centre)
        d_centre = np.bincount(model, by_node.sum(axis=(1, 2)), minlength=size)
        d_spread = np.bincount(model, (by_node * own).sum(axis=(1, 2)), minlength=size)
        d_common = np.bincount(model, (by_node.sum(axis=2) * node).sum(axis=1), minlength=size)
        return d_centre, d_spread * spread, d_common

    return Term(total[table.of], gradient)


def shared_term(rows: IntArray, of: IntArray, centre: float, log_spread: float) -> Term:
    """How far different models give the same wrong answers.

    The distinct wrong answers of all models are seats in one Chinese restaurant process with
    log concentration N(centre, spread^2), summed out.

    Parameters
    ----------
    rows : int array (row, 2)
        Distinct answers over all models, and their sum over models.
    of : int array (hypothesis)
    centre, log_spread : float

    Returns
    -------
    Term
        Gradient with respect to centre and log_spread.
    """
    node, log_weight = SHARING
    spread = float(np.exp(log_spread))
    one = np.zeros(len(rows), dtype=np.int64)
    inner, slope = _crp((centre + spread * node)[None, :], one, rows[:, 1], rows[:, 0])
    inner = inner + log_weight
    total = log_sum(inner)

    def gradient(weight: FloatArray) -> tuple[FloatArray, ...]:
        by_row = np.bincount(of, weight, minlength=len(rows))
        by_node = np.exp(inner - total[:, None]) * by_row[:, None] * slope
        return np.array([by_node.sum()]), np.array([(by_node * node).sum() * spread])

    return Term(total[of], gradient)


def _crp(
    log_beta: FloatArray, group: IntArray, n: IntArray, kinds: IntArray
) -> tuple[FloatArray, FloatArray]:
    """Log [beta^kinds / (beta (beta + 1) ... (beta + n - 1))], and its slope in log beta.

    ``log_beta`` is (group, node, ...); the result is (row, node, ...).
    """
    beta = np.exp(log_beta)[:, None]
    steps = np.arange(int(n.max(initial=0))).reshape(1, -1, *[1] * (log_beta.ndim - 1))
    none = np.zeros_like(beta)
    rising = np.concatenate([none, np.cumsum(np.log(beta + steps), axis=1)], axis=1)
    weight = np.concatenate([none, np.cumsum(beta / (beta + steps), axis=1)], axis=1)
    kinds = kinds.reshape(-1, *[1] * (log_beta.ndim - 1))
    return kinds * log_beta[group] - rising[group, n], kinds - weight[group, n]


def _back(table: Table, joint: FloatArray, total: FloatArray, weight: FloatArray) -> FloatArray:
    """Weights of the hypotheses, carried back to (row, node)."""
    by_pattern = np.bincount(table.of, weight, minlength=len(total))
    result: FloatArray = table.sums.T @ (np.exp(joint - total[:, None]) * by_pattern[:, None])
    return result


def _by_model(values: FloatArray, model: IntArray, n_models: int) -> FloatArray:
    result = np.zeros((n_models, values.shape[1]))
    np.add.at(result, model, values)
    return result
