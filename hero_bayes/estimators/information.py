"""Uncertainty of labeler parameters: the sandwich covariance of the anchored EM."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hero_bayes.estimators import em_kernels, kernels

if TYPE_CHECKING:
    from scipy.sparse.linalg import LinearOperator

    from hero_bayes.estimators.anchored_em import AnchorData

FloatArray = NDArray[np.float64]

#: Information (1 / variance) of a uniform distribution on [0, 1]. Directions in which the data know
#: less than that get its variance: a probability is never less certain than "anything goes".
UNIFORM_INFORMATION = 12.0
#: Above this many parameters the covariance is an operator, never a matrix.
DENSE_LIMIT = 600
#: A rate with fewer expected errors (or hits) than this counts as lying on the boundary.
BOUNDARY_COUNT = 0.5
#: Derivatives are never taken closer to 0 or 1 than this.
DERIVATIVE_FLOOR = 1e-4


def inside(rate: FloatArray, count: FloatArray) -> tuple[FloatArray, NDArray[np.bool_]]:
    """Rates on the boundary moved to the posterior mean under a flat prior, (n p + 1) / (n + 2).

    Returns the rates at which derivatives are finite, and which of them had been on the boundary.
    """
    on_boundary = (count >= 1.0) & (np.minimum(rate, 1.0 - rate) * count < BOUNDARY_COUNT)
    moved = np.where(on_boundary, (rate * count + 1.0) / (count + 2.0), rate)
    return np.clip(moved, DERIVATIVE_FLOOR, 1.0 - DERIVATIVE_FLOOR), on_boundary


def interior_parameters(
    data: "AnchorData", sensitivity: FloatArray, specificity: FloatArray, prevalence: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, int]:
    """Parameters at which second derivatives are finite, P(y=1) there, and how many were moved."""
    truth = np.zeros(data.item_ptr.size - 1)
    table = kernels.log_ratio_table(sensitivity, specificity)
    positives, *_ = em_kernels.expected_counts(
        data.item_ptr, data.code, data.gold, data.group_idx, table, prevalence, truth
    )
    count = np.bincount(data.code, minlength=table.size).astype(float)
    n_positive = positives[0::2] + positives[1::2]
    n_negative = count[0::2] + count[1::2] - n_positive
    group_size = np.bincount(data.group_idx[data.group_idx >= 0], minlength=prevalence.size).astype(
        float
    )
    sensitivity, moved_sensitivity = inside(sensitivity, n_positive)
    specificity, moved_specificity = inside(specificity, n_negative)
    prevalence, _ = inside(prevalence, group_size)
    em_kernels.expected_counts(
        data.item_ptr,
        data.code,
        data.gold,
        data.group_idx,
        kernels.log_ratio_table(sensitivity, specificity),
        prevalence,
        truth,
    )
    moved = int(moved_sensitivity.sum() + moved_specificity.sum())
    return sensitivity, specificity, prevalence, truth, moved


def parameter_covariance(
    data: "AnchorData", sensitivity: FloatArray, specificity: FloatArray, prevalence: FloatArray
) -> tuple["FloatArray | LinearOperator", tuple[str, ...]]:
    """Sandwich covariance H^-1 M H^-1 of (sensitivity, specificity, prevalence of each group).

    H is the observed information, M the sum of outer products of the items' scores. Directions with
    less information than a uniform distribution on [0, 1] get that distribution's variance, 1/12.

    Returns
    -------
    covariance : array (2 * labeler + group, 2 * labeler + group)
        Above :data:`DENSE_LIMIT` parameters a linear operator, which is only ever multiplied.
    remarks : tuple of str
        Rates on the boundary, directions that the data do not identify.
    """
    sensitivity, specificity, prevalence, truth, moved = interior_parameters(
        data, sensitivity, specificity, prevalence
    )
    remarks = []
    if moved:
        remarks.append(
            f"{moved} labeler rates lie at 0 or 1; their uncertainty is that of "
            "(hits + 1) / (n + 2)"
        )
    if 2 * sensitivity.size + prevalence.size > DENSE_LIMIT:
        from hero_bayes.estimators.wide_information import wide_covariance

        operator = wide_covariance(
            data, truth, sensitivity, specificity, prevalence, UNIFORM_INFORMATION
        )
        return operator, tuple(remarks)
    complete, missing, outer = kernels.information_matrices(
        data.item_ptr, data.code, data.group_idx, truth, sensitivity, specificity, prevalence
    )
    eigenvalue, vector = np.linalg.eigh(np.diag(complete) - missing)
    weak = eigenvalue < UNIFORM_INFORMATION
    meat = vector.T @ outer @ vector
    meat[weak, :] = 0.0
    meat[:, weak] = 0.0
    bread = 1.0 / np.maximum(eigenvalue, UNIFORM_INFORMATION)
    inner = bread[:, None] * meat * bread + np.diag(np.where(weak, 1.0 / UNIFORM_INFORMATION, 0.0))
    if weak.any():
        remarks.append(
            f"{int(weak.sum())} directions of the labeler parameters are not identified by the "
            "data; add gold labels"
        )
    return vector @ inner @ vector.T, tuple(remarks)


def labeler_covariance(
    data: "AnchorData", sensitivity: FloatArray, specificity: FloatArray, prevalence: FloatArray
) -> tuple["FloatArray | LinearOperator", tuple[str, ...]]:
    """The (sensitivity, specificity) block of :func:`parameter_covariance`."""
    covariance, remarks = parameter_covariance(data, sensitivity, specificity, prevalence)
    size = 2 * sensitivity.size
    if isinstance(covariance, np.ndarray):
        return covariance[:size, :size], remarks
    return block(covariance, size), remarks


def block(operator: "LinearOperator", size: int) -> "LinearOperator":
    """The leading block of an operator, as an operator."""
    from scipy.sparse.linalg import LinearOperator

    rest = np.zeros(operator.shape[0] - size)

    def multiply(vector: FloatArray) -> FloatArray:
        whole = operator.matvec(np.concatenate([np.ravel(vector), rest]))
        return np.asarray(whole)[:size]

    return LinearOperator((size, size), matvec=multiply, dtype=np.float64)
