"""HERO-2: HERO-1 with control variates at the level of the score."""

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hero_bayes.data.covariates import Design
from hero_bayes.data.shift import covariate_shift, shift_notes
from hero_bayes.errors import Refusal
from hero_bayes.estimators import kernels
from hero_bayes.estimators.anchored_em import Anchored
from hero_bayes.estimators.control_variate import (
    ControlVariate,
    Ridge,
    control_variate,
    standardise,
)
from hero_bayes.estimators.hero1 import anchored_details, anchored_remarks, hero1_solution
from hero_bayes.estimators.prevalence import GroupEvidence, ScoreSolution, score_solution
from hero_bayes.estimators.report import score_estimate
from hero_bayes.estimators.result import Estimate
from hero_bayes.estimators.score import interior
from hero_bayes.words import number_of

if TYPE_CHECKING:
    from scipy.sparse.linalg import LinearOperator

FloatArray = NDArray[np.float64]


def shrink_factor(shrink: str, n_history: int, n_current: int) -> float:
    """Factor on gamma: 1 ("paper"), or N / (N + n) ("optimal") to allow for a noisy m_X."""
    if shrink == "paper":
        return 1.0
    if shrink == "optimal":
        return n_history / (n_history + n_current)
    raise ValueError(f'shrink must be "paper" or "optimal", got {shrink!r}')


def size_note(shrink: str, n_history: int, n_current: int) -> tuple[str, ...]:
    """With the paper's factor and a short history the adjustment does not pay."""
    if shrink == "paper" and n_history <= n_current:
        return (
            f"history has {number_of(n_history, 'item')} and the current group {n_current}: with "
            'shrink="paper" the noise of the historical covariate mean undoes the gain; use '
            'shrink="optimal"',
        )
    return ()


def adjusted_solution(
    hero1: tuple[ScoreSolution, GroupEvidence, GroupEvidence],
    covariance: "FloatArray | LinearOperator",
    x: FloatArray,
    past: FloatArray,
    weight: FloatArray,
    *,
    ridge: Ridge,
    factor: float,
    cross_fit: bool | None,
) -> tuple[ScoreSolution, ControlVariate]:
    """HERO-1 adjusted to the weighted mean of past covariates, and the adjustment of its point.

    The scores at the estimated rates and at the rates inside (0, 1) are each adjusted at their own
    root of HERO-1.
    """
    first, evidence, inside = hero1
    n = x.shape[0]
    now, target = standardise(x, np.full(n, 1.0 / n)), weight @ past
    at_value, at_centre = (
        control_variate(
            now,
            np.asarray(kernels.psi_array(log_ratio, interior(root, n))),
            target,
            ridge=ridge,
            factor=factor,
            cross_fit=cross_fit,
        )
        for log_ratio, root in (
            (evidence.log_ratio, first.value),
            (inside.log_ratio, first.centre),
        )
    )
    part = past @ at_centre.gamma
    variance = float(weight @ (part - weight @ part) ** 2)
    solution = score_solution(
        evidence,
        inside,
        covariance,
        point_shift=at_value.shift,
        shift=at_centre.shift,
        residual_variance=at_centre.residual_variance,
        covariate_variance=factor**2 * variance * float(weight @ weight),
    )
    return solution, at_value


def hero2(
    anchored: Anchored,
    group: str,
    item_idx: np.ndarray,
    design: Design,
    *,
    ridge: Ridge,
    shrink: str,
    cross_fit: bool | None,
) -> Estimate:
    """Prevalence of a current group, HERO-2.

    Solves mean psi(m) = c gamma'(mean X - m_X), gamma = (S_X + ridge I)^-1 Cov(X, psi) at HERO-1
    over the current items, m_X the mean of X over all history items, c the shrink factor. The
    covariates must be features of the prompt: one that depends on the version under test biases the
    result.
    """
    if not design.names:
        raise Refusal(
            "hero2 needs covariates: declare them with Labels.from_frames(..., covariates=[...]) "
            'in both history and current, or use method="hero1"'
        )
    first, evidence, inside = hero1_solution(anchored, group, item_idx)
    x = design.current[item_idx]
    n, n_history = x.shape[0], design.history.shape[0]
    if ridge == 0 and len(design.names) >= n - 1:
        raise Refusal(
            f"{number_of(len(design.names), 'covariate')} on {number_of(n, 'item')} fit any "
            'scores exactly at ridge=0; use ridge="cv", or fewer covariates'
        )
    factor = shrink_factor(shrink, n_history, n)
    solution, adjustment = adjusted_solution(
        (first, evidence, inside),
        anchored.covariance[0],
        x,
        design.history,
        np.full(n_history, 1.0 / n_history),
        ridge=ridge,
        factor=factor,
        cross_fit=cross_fit,
    )
    shift = covariate_shift(design.history, x, design.names)
    saved = 1.0 - solution.variance / first.variance
    return score_estimate(
        solution,
        anchored.panel,
        method="hero2",
        group=group,
        evidence=evidence,
        interior=anchored.interior,
        remarks=(
            *shift_notes(shift),
            *size_note(shrink, n_history, n),
            *anchored_remarks(anchored),
        ),
        details={
            **anchored_details(anchored),
            "gamma": pd.Series(
                adjustment.gamma, pd.Index(design.names, name="covariate"), name="gamma"
            ),
            "ridge": adjustment.ridge,
            "shrink_factor": factor,
            "cross_fitted": adjustment.cross_fitted,
            "covariate_shift": shift,
            "hero1": first.value,
            "hero1_standard_error": first.standard_error,
            "variance_removed_percent": 100.0 * saved,
        },
    )
