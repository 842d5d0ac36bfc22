"""Complete model ``pooled``: prevalence x independent (partially pooled) x rigid."""

import pymc as pm

from hero_bayes.data.labels import Labels
from hero_bayes.data.panel import align
from hero_bayes.models.composition import coordinates, two_rounds
from hero_bayes.models.gold import GoldError
from hero_bayes.models.independent import partially_pooled
from hero_bayes.models.prevalence import prevalence
from hero_bayes.models.rigid import rigid


def pooled(
    history: Labels,
    current: Labels,
    *,
    prevalence_prior: tuple[float, float] = (1.0, 1.0),
    sensitivity_prior: tuple[float, float] = (1.0, 1.0),
    specificity_prior: tuple[float, float] = (1.0, 1.0),
    spread_prior: float = 1.0,
    gold_error: GoldError = None,
) -> pm.Model:
    """Gold-anchored Dawid-Skene whose labelers come from a population.

    As :func:`hero_bayes.models.hero.hero`, with logit a_j and logit b_j drawn from normal
    populations: labelers with few gold items borrow from the others, and labelers unseen in history
    are draws from the population, so that their labels count.

    Parameters
    ----------
    history, current : Labels
    prevalence_prior : tuple of float
        Beta parameters; (1, 1) is flat.
    sensitivity_prior, specificity_prior : tuple of float
        Mean and standard deviation of the population mean, on the logit scale.
    spread_prior : float
        Scale of the half-normal prior of the population's standard deviation, on the logit scale.
    gold_error : None, float, or pair of float
        P(gold != truth): none (default), known, in [0, 0.5), or estimated under this Beta prior,
        cut off at one half (:mod:`hero_bayes.models.gold`).

    Returns
    -------
    pm.Model
        Free variables ``sensitivity_mean``, ``sensitivity_spread``, ``sensitivity_offset``
        (labeler), the same for specificity, ``history_prevalence``, ``prevalence``; deterministics
        ``sensitivity``, ``specificity`` (labeler), ``class_log_likelihood`` (item, truth).
    """
    panel = align(history, current, unseen="include")
    with pm.Model(coords=coordinates(panel)) as model:
        rates = partially_pooled(sensitivity_prior, specificity_prior, spread_prior)
        outcome = prevalence(panel, prevalence_prior)
        two_rounds(panel, outcome, rates, rigid(rates), gold_error=gold_error)
    return model
