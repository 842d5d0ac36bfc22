"""Complete model ``hero``: prevalence x independent (flat) x rigid, the model of the HERO paper."""

import pymc as pm

from hero_bayes.data.labels import Labels
from hero_bayes.data.panel import align
from hero_bayes.models.composition import coordinates, two_rounds
from hero_bayes.models.gold import GoldError
from hero_bayes.models.independent import flat
from hero_bayes.models.prevalence import prevalence
from hero_bayes.models.rigid import rigid


def hero(
    history: Labels,
    current: Labels,
    *,
    prevalence_prior: tuple[float, float] = (1.0, 1.0),
    sensitivity_prior: tuple[float, float] = (1.0, 1.0),
    specificity_prior: tuple[float, float] = (1.0, 1.0),
    gold_error: GoldError = None,
) -> pm.Model:
    """Gold-anchored Dawid-Skene over history and current round, flat priors.

    y_i ~ Bernoulli(m_group(i)); P(z_ij = 1 | y_i = 1) = a_j, P(z_ij = 0 | y_i = 0) = b_j, the same
    in both rounds; labelers independent given y_i. Its mode on the probability scale is HERO-1.
    Labels of labelers that neither history nor current gold knows are left out.

    Parameters
    ----------
    history, current : Labels
    prevalence_prior, sensitivity_prior, specificity_prior : tuple of float
        Beta parameters; (1, 1) is flat.
    gold_error : None, float, or pair of float
        P(gold != truth): none (default), known, in [0, 0.5), or estimated under this Beta prior,
        cut off at one half (:mod:`hero_bayes.models.gold`).

    Returns
    -------
    pm.Model
        Free variables ``sensitivity``, ``specificity`` (labeler), ``history_prevalence``
        (history_group), ``prevalence`` (group); deterministic ``class_log_likelihood`` (item,
        truth).

    Notes
    -----
    Needs gold of both classes to tell truth 1 from truth 0; wrong where labelers share errors.

    References
    ----------
    .. [1] Ruan, X. et al. (2026). HERO. arXiv:2606.29784
    """
    panel = align(history, current, unseen="drop")
    with pm.Model(coords=coordinates(panel)) as model:
        rates = flat(sensitivity_prior, specificity_prior)
        outcome = prevalence(panel, prevalence_prior)
        two_rounds(panel, outcome, rates, rigid(rates), gold_error=gold_error)
    return model
