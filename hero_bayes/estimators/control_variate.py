"""Ridge regression of scores on covariates, weighted, with leave-one-out in closed form."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
Ridge = float | Literal["cv"]

#: Penalties tried by ridge="cv", on covariates of unit variance; infinity is no adjustment.
RIDGE_GRID = np.concatenate([np.logspace(-3, 3, 13), [np.inf]])
#: Above this many covariates, each item is adjusted by a gamma that has not seen it.
CROSS_FIT_ABOVE = 4


@dataclass(frozen=True)
class Standardised:
    """Covariates centred and scaled under the weights, as a thin singular value decomposition.

    ``left`` is U of sqrt(w) Z = U S V', so that every ridge fit costs one diagonal.
    """

    z: FloatArray
    weight: FloatArray
    centre: FloatArray
    scale: FloatArray
    left: FloatArray
    singular: FloatArray
    right: FloatArray

    def filter(self, ridge: float) -> FloatArray:
        """1 / (s^2 + ridge) by direction; directions without variance are dropped."""
        variance = self.singular**2
        if np.isinf(ridge):
            return np.zeros_like(variance)
        usable = variance > 1e-12 * max(variance.max(initial=0.0), 1e-300)
        return np.divide(1.0, variance + ridge, out=np.zeros_like(variance), where=usable)


def standardise(x: FloatArray, weight: FloatArray) -> Standardised:
    """Centre and scale columns under weights that sum to one; constant columns become zero."""
    magnitude = np.maximum(np.abs(x).max(axis=0, initial=0.0), 1e-300)
    centre = weight @ x
    centred = x - centre
    scale = np.sqrt(weight @ (centred / magnitude) ** 2) * magnitude
    constant = scale <= 1e-12 * magnitude
    z = np.divide(centred, scale, out=np.zeros_like(centred), where=~constant)
    left, singular, right = np.linalg.svd(np.sqrt(weight)[:, None] * z, full_matrices=False)
    return Standardised(z, weight, centre, np.where(constant, np.inf, scale), left, singular, right)


def ridge_gamma(design: Standardised, score: FloatArray, ridge: float) -> FloatArray:
    """Coefficients on the standardised covariates, (S_Z + ridge I)^-1 Cov(Z, score)."""
    weighted = np.sqrt(design.weight) * (score - design.weight @ score)
    projected = design.left.T @ weighted
    return np.asarray(design.right.T @ (design.singular * design.filter(ridge) * projected))


def leverage(design: Standardised, ridge: float) -> FloatArray:
    """w_i (1 + z_i' K^-1 z_i): the share of an item in its own prediction."""
    curve = design.singular**2 * design.filter(ridge)
    return np.asarray(design.weight + (design.left**2) @ curve)


def leave_one_out_residual(
    design: Standardised, score: FloatArray, ridge: float
) -> tuple[FloatArray, FloatArray]:
    """Residuals of each item under the fit to the others, and its coefficients on Z."""
    gamma = ridge_gamma(design, score, ridge)
    residual = score - design.weight @ score - design.z @ gamma
    return residual / np.maximum(1.0 - leverage(design, ridge), 1e-9), gamma


def choose_ridge(design: Standardised, score: FloatArray) -> float:
    """The penalty of :data:`RIDGE_GRID` with the smallest leave-one-out squared error.

    Leaving out one item at a time needs no folds, so the choice depends neither on the order nor on
    the names of the items.
    """
    errors = [
        float(design.weight @ leave_one_out_residual(design, score, ridge)[0] ** 2)
        for ridge in RIDGE_GRID
    ]
    return float(RIDGE_GRID[int(np.argmin(errors))])


@dataclass(frozen=True)
class ControlVariate:
    """What the covariates take off the mean score.

    ``shift`` is factor * mean gamma'(x_i - m_X); ``gamma`` is in original units;
    ``residual`` is score - factor * gamma'X, centred.
    """

    gamma: FloatArray
    shift: float
    residual: FloatArray
    ridge: float
    cross_fitted: bool


def control_variate(
    design: Standardised,
    score: FloatArray,
    target_mean: FloatArray,
    *,
    ridge: Ridge,
    factor: float,
    cross_fit: bool | None,
) -> ControlVariate:
    """Adjustment of a mean score towards the covariate mean of history.

    Notes
    -----
    Without cross-fitting the shift is factor * gamma'(mean X - m_X). With it, item i is adjusted by
    gamma_(-i), fitted without item i, at its own distance x_i - m_X; both leave-one-out predictions
    follow from the full fit by a rank-one update.
    """
    if cross_fit is None:
        cross_fit = design.z.shape[1] > CROSS_FIT_ABOVE
    penalty = choose_ridge(design, score) if ridge == "cv" else float(ridge)
    outer_residual, gamma = leave_one_out_residual(design, score, penalty)
    target = (target_mean - design.centre) / design.scale
    centred = score - design.weight @ score
    shift = -float(gamma @ target)
    if cross_fit:
        kernel = design.right.T * design.filter(penalty)
        own = leverage(design, penalty) / design.weight - 1.0
        cross = design.z @ (kernel @ (design.right @ target))
        shift -= float(design.weight @ (design.weight * outer_residual * (own - cross)))
        fitted = centred - outer_residual
    else:
        fitted = design.z @ gamma
    residual = centred - factor * fitted
    return ControlVariate(
        gamma=gamma / design.scale,
        shift=factor * shift,
        residual=residual - design.weight @ residual,
        ridge=penalty,
        cross_fitted=cross_fit,
    )
