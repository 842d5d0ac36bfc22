"""The score equation of one prevalence, and intervals from its profile likelihood."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from hero_bayes.estimators import kernels

Boundary = Literal["lower", "upper"] | None
FloatArray = NDArray[np.float64]

#: Ends of the search for an interval's limits.
EDGE = 1e-12


def clamp_gold(log_ratio: FloatArray, gold: FloatArray) -> FloatArray:
    """Evidence of each item with gold in place of labels: +inf for gold 1, -inf for gold 0."""
    out = np.where(gold == 1.0, np.inf, log_ratio)
    return np.where(gold == 0.0, -np.inf, out)


def solve(log_ratio: FloatArray, shift: float = 0.0) -> tuple[float, Boundary]:
    """Root of mean psi(m) = shift and, where it lies on the boundary of [0, 1], which one."""
    weight = np.full(log_ratio.size, 1.0 / log_ratio.size)
    root = float(kernels.score_root(log_ratio, weight, shift))
    if root in (0.0, 1.0):
        return root, "lower" if root == 0.0 else "upper"
    return root, None


def interior(prevalence: float, n_items: int) -> float:
    """The prevalence, moved half an item inside [0, 1], where variances are finite."""
    edge = 0.5 / (n_items + 1.0)
    return float(np.clip(prevalence, edge, 1.0 - edge))


@dataclass(frozen=True)
class Profile:
    """The concave profile log-likelihood of a prevalence, flattened to the full variance.

    Twice the drop from the top, times ``scale``, is referred to chi-square with one degree of
    freedom. ``scale`` is the variance that the curvature alone claims over the full variance, which
    also holds the uncertainty of labeler parameters: below one, the interval widens. Limits stay
    inside [0, 1], follow the skewness of small rates, and become one-sided where the estimate sits
    on the boundary.

    Notes
    -----
    The curvature-adjusted likelihood ratio of Rotnitzky and Jewell [1]_ for one parameter.

    References
    ----------
    .. [1] Rotnitzky, A., Jewell, N. P. (1990). Hypothesis testing of regression parameters in
       semiparametric generalized linear models for cluster correlated data. Biometrika 77(3),
       485-497.
    """

    log_ratio: FloatArray
    shift: float
    top: float
    scale: float
    #: A point estimate made at other rates than ``log_ratio``; intervals reach at least to it.
    point: float | None = None

    def drop(self, prevalence: float) -> float:
        """Scaled likelihood-ratio statistic at one prevalence."""
        at_top = kernels.profile_log_likelihood(self.log_ratio, self.top, self.shift)
        here = kernels.profile_log_likelihood(self.log_ratio, prevalence, self.shift)
        return float(2.0 * self.scale * (at_top - here))

    def interval(self, prob: float) -> tuple[float, float]:
        """Equal-density limits of the scaled profile likelihood."""
        threshold = float(ndtri(0.5 + prob / 2.0)) ** 2
        low = self._limit(threshold, EDGE, 0.0)
        high = self._limit(threshold, 1.0 - EDGE, 1.0)
        point = self.top if self.point is None else self.point
        return min(low, point), max(high, point)

    def _limit(self, threshold: float, far: float, end: float) -> float:
        """Where the drop reaches the threshold between the top and one end, by bisection."""
        near = self.top
        if abs(near - end) <= EDGE or self.drop(far) <= threshold:
            return end
        for _ in range(60):
            middle = 0.5 * (near + far)
            if self.drop(middle) > threshold:
                far = middle
            else:
                near = middle
        return 0.5 * (near + far)
