"""The sandwich covariance for many labelers, without ever holding it as a matrix."""

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


def item_rows(
    data: "AnchorData",
    truth: FloatArray,
    sensitivity: FloatArray,
    specificity: FloatArray,
    prevalence: FloatArray,
) -> tuple[csr_matrix, csr_matrix, FloatArray]:
    """Complete-data score differences and scores of the items, sparse (item, parameter).

    Also the complete-data information (parameter,). The same quantities as
    :func:`hero_bayes.estimators.kernels.information_matrices`, before they are multiplied out.
    """
    n_labelers, n_items = sensitivity.size, truth.size
    size = 2 * n_labelers + prevalence.size
    item = np.repeat(np.arange(n_items), np.diff(data.item_ptr))
    labeler, positive = data.code // 2, data.code % 2 == 1
    a, b, g = sensitivity[labeler], specificity[labeler], truth[item]
    if_positive = np.where(positive, 1.0 / a, -1.0 / (1.0 - a))
    if_negative = np.where(positive, -1.0 / (1.0 - b), 1.0 / b)
    grouped = np.flatnonzero(data.group_idx >= 0)
    m, h = prevalence[data.group_idx[grouped]], truth[grouped]
    row = np.concatenate([item, item, grouped])
    column = np.concatenate(
        [labeler, n_labelers + labeler, 2 * n_labelers + data.group_idx[grouped]]
    )
    difference = np.concatenate([if_positive, -if_negative, 1.0 / m + 1.0 / (1.0 - m)])
    score = np.concatenate(
        [g * if_positive, (1.0 - g) * if_negative, h / m - (1.0 - h) / (1.0 - m)]
    )
    information = np.concatenate(
        [g * if_positive**2, (1.0 - g) * if_negative**2, h / m**2 + (1.0 - h) / (1.0 - m) ** 2]
    )
    complete = np.bincount(column, weights=information, minlength=size)
    shape = (n_items, size)
    return (
        csr_matrix((difference, (row, column)), shape=shape),
        csr_matrix((score, (row, column)), shape=shape),
        complete,
    )


def wide_covariance(
    data: "AnchorData",
    truth: FloatArray,
    sensitivity: FloatArray,
    specificity: FloatArray,
    prevalence: FloatArray,
    prior_information: float,
) -> LinearOperator:
    """H^-1 M H^-1 as an operator, both matrices with ``prior_information`` on their diagonal.

    The information that a uniform distribution holds stands in for the floor on weak directions of
    the dense covariance: every rate is at least as certain as "anything between 0 and 1".
    """
    difference, score, complete = item_rows(data, truth, sensitivity, specificity, prevalence)
    spread = truth * (1.0 - truth)
    diagonal = complete + prior_information
    size = diagonal.size

    def information(vector: FloatArray) -> FloatArray:
        return np.asarray(diagonal * vector - difference.T @ (spread * (difference @ vector)))

    bread = LinearOperator((size, size), matvec=information, dtype=np.float64)
    precondition = LinearOperator((size, size), matvec=lambda v: v / diagonal, dtype=np.float64)

    def solve(vector: FloatArray) -> FloatArray:
        solution, _ = cg(bread, vector, rtol=TOLERANCE, maxiter=MAX_STEPS, M=precondition)
        return np.asarray(solution)

    def sandwich(vector: FloatArray) -> FloatArray:
        inner = solve(np.ravel(vector))
        return solve(score.T @ (score @ inner) + prior_information * inner)

    return LinearOperator((size, size), matvec=sandwich, dtype=np.float64)
