"""Complete model ``regression``: regression x independent (flat) x rigid."""

from collections.abc import Sequence

import pymc as pm

from hero_bayes.data.covariates import TextCovariates, design
from hero_bayes.data.labels import Labels
from hero_bayes.data.panel import align
from hero_bayes.errors import Refusal
from hero_bayes.models.composition import coordinates, two_rounds
from hero_bayes.models.gold import GoldError
from hero_bayes.models.independent import flat
from hero_bayes.models.regression import regression
from hero_bayes.models.rigid import rigid


def hero_regression(
    history: Labels,
    current: Labels,
    *,
    covariates: Sequence[str | TextCovariates] | None = None,
    slope_prior: float = 1.0,
    sensitivity_prior: tuple[float, float] = (1.0, 1.0),
    specificity_prior: tuple[float, float] = (1.0, 1.0),
    gold_error: GoldError = None,
) -> pm.Model:
    """Gold-anchored Dawid-Skene whose truth depends on covariates: the Bayesian cousin of HERO-2.

    As :func:`hero_bayes.models.hero.hero`, with logit P(y_i = 1) linear in covariates of the
    prompt; slopes are shared by all groups, the intercept is each group's own. Gold chosen by these
    covariates does no harm, because they are in the model.

    Parameters
    ----------
    history, current : Labels
        With the covariates declared.
    covariates : sequence of str or TextCovariates, optional
        Default: every numeric covariate declared in both.
    slope_prior : float
        Standard deviation of the slopes' prior, per standard deviation of a covariate over history.
    sensitivity_prior, specificity_prior : tuple of float
        Beta parameters; (1, 1) is flat.
    gold_error : None, float, or pair of float
        P(gold != truth): none (default), known, in [0, 0.5), or estimated under this Beta prior,
        cut off at one half (:mod:`hero_bayes.models.gold`).

    Returns
    -------
    pm.Model
        Free variables ``sensitivity``, ``specificity`` (labeler), ``history_intercept``
        (history_group), ``intercept`` (group), ``slope`` (covariate); deterministics
        ``prevalence``, ``history_prevalence``, ``class_log_likelihood`` (item, truth).

    Raises
    ------
    Refusal
        If there are no covariates.
    """
    features = design(history, current, covariates)
    if not features.names:
        raise Refusal(
            "regression needs covariates: declare them with Labels.from_frames(..., "
            'covariates=[...]) in both history and current, or use model="hero"'
        )
    panel = align(history, current, unseen="drop")
    coords = {**coordinates(panel), "covariate": list(features.names)}
    with pm.Model(coords=coords) as model:
        rates = flat(sensitivity_prior, specificity_prior)
        outcome = regression(panel, features, slope_prior)
        two_rounds(panel, outcome, rates, rigid(rates), gold_error=gold_error)
    return model
