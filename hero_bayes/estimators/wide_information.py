"""The covariance of the rates of many labelers, without ever holding it as a matrix."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from scipy.sparse.linalg import LinearOperator, cg

if TYPE_CHECKING:
    from hero_bayes.estimators.anchored_em import AnchorData

FloatArray = NDArray[np.float64]

#: Relative residual at which conjugate gradients stop, and the most steps they take.
TOLERANCE = 1e-8
MAX_STEPS = 2_000


def item_scores(
    data: "AnchorData",
    truth: FloatArray,
    sensitivity: FloatArray,
    specificity: FloatArray,
    prevalence: FloatArray,
) -> csr_matrix:
    """Scores of the items over all rates and prevalences, sparse (item, parameter)."""
    n_labelers, n_items = sensitivity.size, truth.size
    item = np.repeat(np.arange(n_items), np.diff(data.item_ptr))
    labeler, positive = data.code // 2, data.code % 2 == 1
    a, b, g = sensitivity[labeler], specificity[labeler], truth[item]
    grouped = np.flatnonzero(data.group_idx >= 0)
    m, h = prevalence[data.group_idx[grouped]], truth[grouped]
    row = np.concatenate([item, item, grouped])
    column = np.concatenate(
        [labeler, n_labelers + labeler, 2 * n_labelers + data.group_idx[grouped]]
    )
    score = np.concatenate(
        [
            g * np.where(positive, 1.0 / a, -1.0 / (1.0 - a)),
            (1.0 - g) * np.where(positive, -1.0 / (1.0 - b), 1.0 / b),
            h / m - (1.0 - h) / (1.0 - m),
        ]
    )
    return csr_matrix((score, (row, column)), shape=(n_items, 2 * n_labelers + prevalence.size))


def wide_covariance(
    data: "AnchorData",
    truth: FloatArray,
    sensitivity: FloatArray,
    specificity: FloatArray,
    prevalence: FloatArray,
    prior_information: float,
) -> LinearOperator:
    """The inverse of M + prior_information I as an operator, M summing outer products of scores.

    With many thin labelers the observed information of the dense sandwich is indefinite; the outer
    product of scores estimates the same information and never is. ``prior_information`` keeps every
    direction at least as certain as "anything between 0 and 1".
    """
    return inverse_information(
        item_scores(data, truth, sensitivity, specificity, prevalence), prior_information
    )


def wide_deviations(
    data: "AnchorData",
    truth: FloatArray,
    sensitivity: FloatArray,
    specificity: FloatArray,
    prevalence: FloatArray,
    n_draws: int,
    rng: np.random.Generator,
    *,
    prior_information: float = 12.0,
) -> FloatArray:
    """Normal draws (draw, parameter) with mean 0 and the covariance of `wide_covariance`.

    With M = S'S + c I, M^-1 (S' e + sqrt(c) f) has covariance M^-1 for standard normal e and f.
    """
    score = item_scores(data, truth, sensitivity, specificity, prevalence)
    inverse = inverse_information(score, prior_information)
    out = np.empty((n_draws, score.shape[1]))
    for d in range(n_draws):
        noise = score.T @ rng.standard_normal(score.shape[0])
        own = np.sqrt(prior_information) * rng.standard_normal(score.shape[1])
        out[d] = inverse.matvec(noise + own)
    return out


def inverse_information(score: csr_matrix, prior_information: float) -> LinearOperator:
    """(S'S + c I)^-1 by conjugate gradients."""
    diagonal = np.asarray(score.multiply(score).sum(axis=0)).ravel() + prior_information
    size = diagonal.size

    def information(vector: FloatArray) -> FloatArray:
        return np.asarray(score.T @ (score @ vector) + prior_information * vector)

    matrix = LinearOperator((size, size), matvec=information, dtype=np.float64)
    precondition = LinearOperator((size, size), matvec=lambda v: v / diagonal, dtype=np.float64)

    def solve(vector: FloatArray) -> FloatArray:
        solution, _ = cg(
            matrix, np.ravel(vector), rtol=TOLERANCE, maxiter=MAX_STEPS, M=precondition
        )
        return np.asarray(solution)

    return LinearOperator((size, size), matvec=solve, dtype=np.float64)
