"""Prevalence of a current group from labeler rates: point, standard error, interval.

Shared by every estimator that solves the score equation with given rates (gold rates, HERO-1,
HERO-2).
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hero_bayes.data.labels import Labels
from hero_bayes.estimators import kernels
from hero_bayes.estimators.anchored_em import label_codes
from hero_bayes.estimators.score import Boundary, Profile, clamp_gold, interior, solve

if TYPE_CHECKING:
    from scipy.sparse.linalg import LinearOperator

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.integer]


@dataclass(frozen=True)
class GroupEvidence:
    """Evidence on the current items of one group under given labeler rates.

    ``log_ratio`` is log p(labels | y=1) - log p(labels | y=0) by item, with gold as +inf or -inf.
    ``slope`` is the gradient of the mean score in (sensitivity, specificity), a function of
    prevalence.
    """

    item_idx: IntArray
    log_ratio: FloatArray
    item_ptr: IntArray
    code: IntArray
    sensitivity: FloatArray
    specificity: FloatArray

    @property
    def n_items(self) -> int:
        """Number of items in the group."""
        return int(self.item_idx.size)

    @property
    def labeler_idx(self) -> IntArray:
        """The labelers who labeled an item of the group."""
        labels = self.code[
            np.repeat(
                np.isin(np.arange(self.item_ptr.size - 1), self.item_idx), np.diff(self.item_ptr)
            )
        ]
        return np.unique(labels // 2)

    def slope(self, prevalence: float) -> FloatArray:
        """D mean psi / d (sensitivity, specificity) at one prevalence."""
        return np.asarray(
            kernels.score_gradient(
                self.item_idx,
                self.item_ptr,
                self.code,
                self.log_ratio,
                prevalence,
                self.sensitivity,
                self.specificity,
            )
        )


def group_evidence(
    current: Labels, item_idx: IntArray, sensitivity: FloatArray, specificity: FloatArray
) -> GroupEvidence:
    """Evidence of the chosen items; ``current`` is on the coordinate of the rates."""
    code = label_codes(current)
    table = kernels.log_ratio_table(sensitivity, specificity)
    log_ratio = kernels.sum_by_item(current.item_ptr, code, table)[item_idx]
    return GroupEvidence(
        item_idx=item_idx,
        log_ratio=clamp_gold(log_ratio, current.gold[item_idx]),
        item_ptr=current.item_ptr,
        code=code,
        sensitivity=sensitivity,
        specificity=specificity,
    )


@dataclass(frozen=True)
class ScoreSolution:
    """Root of the score equation with its variance, term by term (all divided by A^2).

    ``value`` is the root at the rates as they were estimated. Variances and profile belong to
    ``centre``, the root at rates inside (0, 1): the same number unless a rate lies on the boundary.
    """

    value: float
    boundary: Boundary
    centre: float
    curvature: float
    sampling_variance: float
    labeler_variance: float
    covariate_variance: float
    profile: Profile

    @property
    def variance(self) -> float:
        """The whole variance, that of the centre."""
        return self.sampling_variance + self.labeler_variance + self.covariate_variance

    @property
    def standard_error(self) -> float:
        """Root of the variance and the squared distance of the value from the centre."""
        return float(np.sqrt(self.variance + (self.value - self.centre) ** 2))


def score_solution(
    evidence: GroupEvidence,
    inside: GroupEvidence,
    covariance: "FloatArray | LinearOperator",
    *,
    point_shift: float = 0.0,
    shift: float = 0.0,
    residual_variance: float | None = None,
    covariate_variance: float = 0.0,
) -> ScoreSolution:
    """Solve mean psi(m) = shift and give the root's variance and profile.

    ``evidence`` and ``point_shift`` give the value, ``inside`` (the evidence at rates inside
    (0, 1)) and all others the centre with its variance. At a rate of exactly 0 or 1 one label
    settles an item, so that no interval of that likelihood covers.

    Notes
    -----
    Var = A^-1 [Var(psi - gamma'X) / n + gamma' S_X,hist gamma / N + G' S G] A^-1 with A = mean
    psi^2, because d psi / d m = -psi^2 exactly. ``residual_variance`` is Var(psi - gamma'X),
    Var(psi) if None; ``covariate_variance`` is gamma' S_X,hist gamma / N.
    """
    n = evidence.n_items
    value, boundary = solve(evidence.log_ratio, point_shift)
    centre, _ = solve(inside.log_ratio, shift)
    at = interior(centre, n)
    psi = np.asarray(kernels.psi_array(inside.log_ratio, at))
    curvature = float(np.mean(psi**2))
    spread = float(np.var(psi))
    removed = 0.0 if residual_variance is None else spread - residual_variance
    # Off the root (at a boundary) the scores do not average to the shift: take their second moment.
    sampling = max((spread if at == centre else curvature) - removed, 0.0)
    gradient = inside.slope(at)
    variances = (
        np.array([sampling / n, float(gradient @ (covariance @ gradient)), covariate_variance])
        / curvature**2
    )
    claimed = 1.0 / (n * curvature)
    return ScoreSolution(
        value=value,
        boundary=boundary,
        centre=centre,
        curvature=curvature,
        sampling_variance=float(variances[0]),
        labeler_variance=float(variances[1]),
        covariate_variance=float(variances[2]),
        profile=Profile(
            inside.log_ratio, shift, centre, claimed / max(float(variances.sum()), 1e-300), value
        ),
    )
