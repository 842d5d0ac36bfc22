"""HERO-2: HERO-1 with control variates at the level of the score."""

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hero_bayes.data.covariates import Design
from hero_bayes.data.prompts import clustered_variance, prompt_clusters
from hero_bayes.data.shift import covariate_shift, shift_notes
from hero_bayes.errors import Refusal
from hero_bayes.estimators import kernels
from hero_bayes.estimators.anchored_em import Anchored
from hero_bayes.estimators.control_variate import Ridge, control_variate, standardise
from hero_bayes.estimators.hero1 import anchored_details, anchored_remarks, hero1_solution
from hero_bayes.estimators.prevalence import score_solution
from hero_bayes.estimators.report import score_estimate
from hero_bayes.estimators.result import Estimate
from hero_bayes.estimators.score import interior

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
            f'history has {n_history} items and the current group {n_current}: with shrink="paper" '
            'the noise of the historical covariate mean undoes the gain; use shrink="optimal"',
        )
    return ()


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
    first, evidence, derivative_evidence = hero1_solution(anchored, group, item_idx)
    x = design.current[item_idx]
    n, n_history = x.shape[0], design.history.shape[0]
    if ridge == 0 and len(design.names) >= n - 1:
        raise Refusal(
            f"{len(design.names)} covariates on {n} items fit any scores exactly at ridge=0; use "
            'ridge="cv", or fewer covariates'
        )
    psi = np.asarray(kernels.psi_array(evidence.log_ratio, interior(first.value, n)))
    factor = shrink_factor(shrink, n_history, n)
    adjustment = control_variate(
        standardise(x, np.full(n, 1.0 / n)),
        psi,
        design.history.mean(axis=0),
        ridge=ridge,
        factor=factor,
        cross_fit=cross_fit,
    )
    clusters = prompt_clusters(anchored.panel.history), evidence.cluster_idx
    history_variance = clustered_variance(design.history @ adjustment.gamma, clusters[0])
    solution = score_solution(
        evidence,
        derivative_evidence,
        anchored.covariance[0],
        shift=adjustment.shift,
        residual_variance=clustered_variance(adjustment.residual, evidence.cluster_idx),
        covariate_variance=factor**2 * history_variance / n_history,
    )
    shift = covariate_shift(design.history, x, design.names, clusters)
    saved = 1.0 - solution.standard_error**2 / first.standard_error**2
    return score_estimate(
        solution,
        anchored.panel,
        method="hero2",
        group=group,
        evidence=evidence,
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
