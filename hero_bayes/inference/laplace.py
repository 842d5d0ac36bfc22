"""Laplace's approximation at the unconstrained mode, corrected by importance resampling."""

from dataclasses import dataclass

import numpy as np
from arviz_stats.base import array_stats  # type: ignore[attr-defined]
from numpy.typing import NDArray
from scipy.optimize import minimize

from hero_bayes.inference.density import Density

FloatArray = NDArray[np.float64]

#: Above this Pareto k-hat, importance weights are not to be trusted.
K_HAT_LIMIT = 0.7
#: Relative step of the differences that make the Hessian.
STEP = 1e-4
#: Log-weights that differ by less than this are rounding.
EQUAL_WEIGHTS = 1e-8
#: Below so many draws the tail of the weights cannot be fitted.
FEWEST_DRAWS = 25


@dataclass(frozen=True)
class LaplaceDraws:
    """Unconstrained draws (draw, parameter) with what a gate needs to judge them."""

    flat: FloatArray
    k_hat: float
    effective_draws: float
    positive_definite: bool
    corrected: bool
    largest_gradient: float


def unconstrained_mode(density: Density, start: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Mode and Hessian of the negative log-density, by L-BFGS-B and two Newton steps."""

    def objective(flat: FloatArray) -> tuple[float, FloatArray]:
        value, gradient = density.with_gradient(flat)
        return -value, -gradient

    mode = minimize(
        objective,
        start,
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": 3000, "maxfun": 10000, "ftol": 1e-13, "gtol": 1e-7},
    ).x
    hessian = numerical_hessian(density, mode)
    for _ in range(2):
        value, gradient = objective(mode)
        candidate = mode - np.linalg.lstsq(hessian, gradient, rcond=1e-10)[0]
        new_value, new_gradient = objective(candidate)
        if not new_value <= value or np.abs(new_gradient).max() >= np.abs(gradient).max():
            break
        mode = candidate
    return mode, numerical_hessian(density, mode)


def numerical_hessian(density: Density, at: FloatArray) -> FloatArray:
    """Hessian of the negative log-density by central differences of the gradient."""
    size = at.size
    hessian = np.empty((size, size))
    for k in range(size):
        step = np.zeros(size)
        step[k] = STEP * max(1.0, abs(at[k]))
        ahead, behind = density.with_gradient(at + step)[1], density.with_gradient(at - step)[1]
        hessian[k] = -(ahead - behind) / (2.0 * step[k])
    return (hessian + hessian.T) / 2.0


def smoothed_weights(log_weight: FloatArray) -> tuple[FloatArray, float]:
    """Pareto-smoothed weights that sum to one, and k-hat.

    Equal weights have k-hat 0; too few to judge have k-hat infinity and stay as they are.
    """
    smoothed, k_hat = log_weight, np.inf
    if np.ptp(log_weight) < EQUAL_WEIGHTS:
        k_hat = 0.0
    elif log_weight.size >= FEWEST_DRAWS:
        # psislw takes log-likelihoods of left-out points, whose negatives are the log-weights.
        floored = np.maximum(log_weight, -700.0)
        smoothed, k_hat = array_stats.psislw(-floored)  # type: ignore[no-untyped-call]
    weight = np.exp(smoothed - np.max(smoothed))
    return weight / weight.sum(), float(k_hat)


def laplace(
    density: Density, start: FloatArray, n_draws: int, rng: np.random.Generator
) -> LaplaceDraws:
    """Draws from the Gaussian at the mode, resampled by Pareto-smoothed importance weights.

    Parameters
    ----------
    density : Density
        The model on the unconstrained scale.
    start : array (parameter,)
        Where the search for the mode begins.
    n_draws : int
    rng : Generator

    Returns
    -------
    LaplaceDraws
        Resampled where k-hat is below 0.7; the Gaussian's own draws, marked uncorrected, otherwise.

    References
    ----------
    .. [1] Vehtari, A. et al. (2024). Pareto smoothed importance sampling. JMLR 25(72), 1-58.
    """
    mode, hessian = unconstrained_mode(density, start)
    eigenvalue, vector = np.linalg.eigh(hessian)
    positive_definite = bool(eigenvalue.min() > 0)
    floor = max(1e-6 * float(eigenvalue.max()), 1e-12)
    scale = 1.0 / np.sqrt(np.maximum(eigenvalue, floor))
    noise = rng.standard_normal((n_draws, mode.size))
    proposals = mode + (noise * scale) @ vector.T
    log_proposal = -0.5 * (noise**2).sum(axis=1)
    log_target = density.values(proposals)
    log_weight = np.where(np.isfinite(log_target), log_target, -np.inf) - log_proposal
    log_weight -= log_weight.max()
    weight, k_hat = smoothed_weights(log_weight)
    corrected = bool(k_hat < K_HAT_LIMIT)
    if corrected:
        positions = (np.arange(n_draws) + rng.random(n_draws)) / n_draws
        chosen = np.minimum(np.searchsorted(np.cumsum(weight), positions), n_draws - 1)
        proposals = proposals[rng.permutation(chosen)]
    return LaplaceDraws(
        flat=proposals,
        k_hat=k_hat,
        effective_draws=float(1.0 / np.sum(weight**2)),
        positive_definite=positive_definite,
        corrected=corrected,
        largest_gradient=float(np.abs(density.with_gradient(mode)[1]).max()),
    )
