"""Complete model ``drift``: prevalence x independent (partially pooled) x drift."""

import pymc as pm

from hero_bayes.data.labels import Labels
from hero_bayes.data.panel import align
from hero_bayes.models.composition import coordinates, two_rounds
from hero_bayes.models.drift import drift
from hero_bayes.models.gold import GoldError
from hero_bayes.models.independent import partially_pooled
from hero_bayes.models.prevalence import prevalence
from hero_bayes.models.priors import positive_scale


def pooled_drift(
    history: Labels,
    current: Labels,
    *,
    prevalence_prior: tuple[float, float] = (1.0, 1.0),
    sensitivity_prior: tuple[float, float] = (1.0, 1.0),
    specificity_prior: tuple[float, float] = (1.0, 1.0),
    labeler_spread_prior: float = 1.0,
    shift_sensitivity: float = 0.0,
    shift_specificity: float = 0.0,
    spread: float = 0.25,
    shift_prior: float | None = None,
    spread_prior: float | None = None,
    gold_error: GoldError = None,
) -> pm.Model:
    """Gold-anchored Dawid-Skene whose labelers may have changed since history.

    As :func:`hero_bayes.models.pooled.pooled`, with current logits of sensitivity and specificity
    d_j ~ Normal(D, t^2) away from history's (:func:`hero_bayes.models.drift.drift`).

    Parameters
    ----------
    history, current : Labels
    prevalence_prior : tuple of float
        Beta parameters; (1, 1) is flat.
    sensitivity_prior, specificity_prior : tuple of float
        Mean and standard deviation of the population mean, on the logit scale.
    labeler_spread_prior : float
        Scale of the half-normal prior of the population's standard deviation.
    shift_sensitivity, shift_specificity, spread, shift_prior, spread_prior : float
        The drift; with the defaults no common shift, and moves of 0.25 on the logit scale.
    gold_error : None, float, or pair of float
        P(gold != truth): none (default), known, in [0, 0.5), or estimated under this Beta prior,
        cut off at one half (:mod:`hero_bayes.models.gold`).

    Returns
    -------
    pm.Model
        As ``pooled``, with ``current_sensitivity`` and ``current_specificity`` (labeler).
    """
    panel = align(history, current, unseen="include")
    with pm.Model(coords=coordinates(panel)) as model:
        population = positive_scale("labeler_spread_prior", labeler_spread_prior)
        rates = partially_pooled(sensitivity_prior, specificity_prior, population)
        moved = drift(
            rates,
            shift_sensitivity,
            shift_specificity,
            spread,
            shift_prior=shift_prior,
            spread_prior=spread_prior,
        )
        outcome = prevalence(panel, prevalence_prior)
        two_rounds(panel, outcome, rates, moved, gold_error=gold_error)
    return model
