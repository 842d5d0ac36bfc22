"""Uncertainty of labeler parameters: the sandwich covariance of the anchored EM."""

from dataclasses import dataclass, replace
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
    on_boundary = (count > 0.0) & (np.minimum(rate, 1.0 - rate) * count < BOUNDARY_COUNT)
    moved = np.where(on_boundary, (rate * count + 1.0) / (count + 2.0), rate)
    return np.clip(moved, DERIVATIVE_FLOOR, 1.0 - DERIVATIVE_FLOOR), on_boundary


@dataclass(frozen=True)
class Interior:
    """Parameters at which likelihood and derivatives are those of rates inside (0, 1).

    Attributes
    ----------
    data : AnchorData
        With one hit and one miss more for every parameter that had been on the boundary: the flat
        prior that moved it, as observations, so that its information is that of its new place.
    sensitivity, specificity, prevalence : array
    truth : array
        P(y=1) of each item of ``data``.
    moved_sensitivity, moved_specificity : bool array (labeler,)
    """

    data: "AnchorData"
    sensitivity: FloatArray
    specificity: FloatArray
    prevalence: FloatArray
    truth: FloatArray
    moved_sensitivity: NDArray[np.bool_]
    moved_specificity: NDArray[np.bool_]

    @property
    def n_moved(self) -> int:
        """How many rates of labelers had been on the boundary."""
        return int(self.moved_sensitivity.sum() + self.moved_specificity.sum())


def interior_parameters(
    data: "AnchorData", sensitivity: FloatArray, specificity: FloatArray, prevalence: FloatArray
) -> Interior:
    """The parameters with those on the boundary moved inside, and the data that put them there."""
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
    prevalence, moved_prevalence = inside(prevalence, group_size)
    known = with_flat_prior(data, moved_sensitivity, moved_specificity, moved_prevalence)
    truth = np.zeros(known.item_ptr.size - 1)
    em_kernels.expected_counts(
        known.item_ptr,
        known.code,
        known.gold,
        known.group_idx,
        kernels.log_ratio_table(sensitivity, specificity),
        prevalence,
        truth,
    )
    return Interior(
        known, sensitivity, specificity, prevalence, truth, moved_sensitivity, moved_specificity
    )


def with_flat_prior(
    data: "AnchorData",
    sensitivity: NDArray[np.bool_],
    specificity: NDArray[np.bool_],
    prevalence: NDArray[np.bool_],
) -> "AnchorData":
    """The data with one hit and one miss more, as gold items, for each of the chosen parameters."""
    positive, negative = np.flatnonzero(sensitivity), np.flatnonzero(specificity)
    group = np.flatnonzero(prevalence)
    code = np.concatenate([2 * positive, 2 * positive + 1, 2 * negative, 2 * negative + 1])
    truth = np.repeat([1.0, 0.0], [2 * positive.size, 2 * negative.size])
    # An item of a group, with gold and no label, informs the group's prevalence alone.
    lengths = np.repeat([1, 0], [code.size, 2 * group.size])
    nowhere = np.full(code.size, -1, dtype=data.group_idx.dtype)
    return replace(
        data,
        item_ptr=np.concatenate([data.item_ptr, data.item_ptr[-1] + np.cumsum(lengths)]),
        code=np.concatenate([data.code, code.astype(data.code.dtype)]),
        gold=np.concatenate([data.gold, truth, np.tile([1.0, 0.0], group.size)]),
        group_idx=np.concatenate(
            [data.group_idx, nowhere, np.repeat(group, 2).astype(data.group_idx.dtype)]
        ),
    )


def parameter_covariance(
    data: "AnchorData", sensitivity: FloatArray, specificity: FloatArray, prevalence: FloatArray
) -> tuple["FloatArray | LinearOperator", tuple[str, ...]]:
    """Sandwich covariance H^-1 M H^-1 of (sensitivity, specificity, prevalence of each group).

    H is the observed information, M the sum of outer products of the items' scores. Directions with
    less information than a uniform distribution on [0, 1] get that distribution's variance, 1/12.
    Parameters on the boundary are taken at (hits + 1) / (n + 2), with the information of n + 2.

    Returns
    -------
    covariance : array (2 * labeler + group, 2 * labeler + group)
        Above :data:`DENSE_LIMIT` parameters a linear operator, which is only ever multiplied.
    remarks : tuple of str
        Directions that the data do not identify.
    """
    at = interior_parameters(data, sensitivity, specificity, prevalence)
    place = at.sensitivity, at.specificity, at.prevalence
    if 2 * sensitivity.size + prevalence.size > DENSE_LIMIT:
        from hero_bayes.estimators.wide_information import wide_covariance

        operator = wide_covariance(at.data, at.truth, *place, UNIFORM_INFORMATION)
        return operator, ()
    complete, missing, outer = kernels.information_matrices(
        at.data.item_ptr, at.data.code, at.data.group_idx, at.truth, *place
    )
    eigenvalue, vector = np.linalg.eigh(np.diag(complete) - missing)
    weak = eigenvalue < UNIFORM_INFORMATION
    meat = vector.T @ outer @ vector
    meat[weak, :] = 0.0
    meat[:, weak] = 0.0
    bread = 1.0 / np.maximum(eigenvalue, UNIFORM_INFORMATION)
    inner = bread[:, None] * meat * bread + np.diag(np.where(weak, 1.0 / UNIFORM_INFORMATION, 0.0))
    remarks = []
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
