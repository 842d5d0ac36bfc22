"""Outcome layer ``regression``: the log odds of truth 1 are linear in covariates of the prompt."""

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pytensor.tensor.variable import TensorVariable

from hero_bayes.data.covariates import Design
from hero_bayes.data.panel import Panel
from hero_bayes.models.prevalence import group_index
from hero_bayes.models.priors import positive_scale
from hero_bayes.models.truth import TruthPrior, independent_items


def regression(panel: Panel, features: Design, slope_prior: float = 1.0) -> TruthPrior:
    """Logit P(y_i = 1) = w_g(i) + x_i' v: an intercept for every group, slopes in common.

    Parameters
    ----------
    panel : Panel
        The two rounds.
    features : Design
        Covariates of both rounds; standardised here by their mean and spread over history.
    slope_prior : float
        Standard deviation of the slopes' normal prior, per standard deviation of a covariate.

    Returns
    -------
    TruthPrior
        Over ``history_intercept`` (history_group), ``intercept`` (group) ~ Logistic(0, 1), which is
        a flat prior on the rate where the slopes are zero, and ``slope`` (covariate).

    Notes
    -----
    Registers ``prevalence`` (group) and ``history_prevalence`` (history_group), means of expit over
    the covariates of history and of the group's own items, and ``covariate_log_odds`` (item) and
    ``history_covariate_log_odds`` (history_item), the parts x_i' v. A fit draws Dirichlet weights
    over the history items for ``prevalence``, so that it holds the noise of the covariates' law.
    """
    centre, scale = features.history.mean(axis=0), features.history.std(axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    past = pm.Data("history_covariates", (features.history - centre) / scale)
    now = pm.Data("covariates", (features.current - centre) / scale)
    slope = pm.Normal("slope", 0.0, positive_scale("slope_prior", slope_prior), dims="covariate")
    history_intercept = pm.Logistic("history_intercept", 0.0, 1.0, dims="history_group")
    intercept = pm.Logistic("intercept", 0.0, 1.0, dims="group")
    history_part = pm.Deterministic(
        "history_covariate_log_odds", pt.dot(past, slope), dims="history_item"
    )
    part = pm.Deterministic("covariate_log_odds", pt.dot(now, slope), dims="item")
    group_idx, history_idx = group_index(panel, "current"), group_index(panel, "history")
    history_logit = history_intercept[history_idx] + history_part
    _register_rates(intercept, history_part, history_logit, history_idx)
    return independent_items(
        log_expit_pair(history_logit), log_expit_pair(intercept[group_idx] + part)
    )


def _register_rates(
    intercept: TensorVariable,
    history_part: TensorVariable,
    history_logit: TensorVariable,
    history_idx: TensorVariable,
) -> None:
    """Rates of the current groups over the covariates of history, and of the history groups."""
    pm.Deterministic(
        "prevalence",
        pm.math.sigmoid(intercept[:, None] + history_part[None, :]).mean(axis=1),
        dims="group",
    )
    groups = pt.arange(pm.modelcontext(None).dim_lengths["history_group"])
    member = pt.eq(history_idx[None, :], groups[:, None])
    chance = pm.math.sigmoid(history_logit)[None, :]
    pm.Deterministic(
        "history_prevalence",
        pt.where(member, chance, 0.0).sum(axis=1) / member.sum(axis=1),
        dims="history_group",
    )


def log_expit_pair(logit: TensorVariable) -> TensorVariable:
    """Log P(truth 0) and log P(truth 1), (item, 2), from the log odds."""
    return pt.stack([-pt.logaddexp(0.0, logit), -pt.logaddexp(0.0, -logit)], axis=-1)
