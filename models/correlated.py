"""Complete model ``correlated``: prevalence x correlated x rigid."""

import pymc as pm

from hero_bayes.data.labels import Labels
from hero_bayes.data.panel import align
from hero_bayes.likelihoods.shared_effect import LOADING_BOUND
from hero_bayes.models.composition import coordinates, two_rounds
from hero_bayes.models.gold import GoldError
from hero_bayes.models.prevalence import prevalence
from hero_bayes.models.priors import number
from hero_bayes.models.rigid import rigid
from hero_bayes.models.shared_effects import correlated_labelers


def correlated(
    history: Labels,
    current: Labels,
    *,
    prevalence_prior: tuple[float, float] = (1.0, 1.0),
    positive_mean_prior: tuple[float, float] = (1.0, 1.5),
    negative_mean_prior: tuple[float, float] = (-1.0, 1.5),
    spread_prior: float = 1.0,
    loading_prior: float = 1.0,
    family_loading_prior: float = 1.0,
    family: bool | None = None,
    unlabeled_power: float = 1.0,
    loading_bound: float = LOADING_BOUND,
    gold_error: GoldError = None,
) -> pm.Model:
    """Gold-anchored latent classes whose labelers err on the same items.

    Logit P(z_ij = 1 | y_i = y, u_i) = e_jy + l_y u_i, where u_i ~ Normal(0, 1) is shared by all
    labels of item i, and e_jy ~ Normal(m_y, spread_y^2) comes from a population whose mean m_y has
    a normal prior. A loading of 0 is independence. With families, k_y v_if is added, v_if ~
    Normal(0, 1) shared by the labels that family f gave to item i. u and v are integrated out [1]_.

    Parameters
    ----------
    history, current : Labels
        ``family`` of their labelers tells which judges stand on one base model.
    prevalence_prior : tuple of float
        Beta parameters; (1, 1) is flat.
    positive_mean_prior, negative_mean_prior : tuple of float
        Mean and standard deviation of the population mean of the logit of a label 1, for truth 1
        and for truth 0.
    spread_prior, loading_prior, family_loading_prior : float
        Scales of half-normal priors.
    family : bool, optional
        Whether families share an effect; by default if at least two labelers share a family.
    unlabeled_power : float
        Exponent on the likelihood of items without gold; below 1, labels without gold count for
        less against gold.
    loading_bound : float
        The number of quadrature nodes is made for loadings up to this.
    gold_error : None, float, or pair of float
        P(gold != truth): none (default), known, in [0, 0.5), or estimated under this Beta prior,
        cut off at one half (:mod:`hero_bayes.models.gold`).

    Returns
    -------
    pm.Model
        Free variables ``label_logit_mean``, ``label_logit_spread``, ``loading`` and, with families,
        ``family_loading`` (truth), ``label_logit_offset`` (truth, labeler_contrast),
        ``history_prevalence``, ``prevalence``; deterministics ``label_logit`` (truth, labeler),
        ``sensitivity`` and ``specificity`` (labeler), averaged over u and v, and
        ``class_log_likelihood`` (item, truth), which the power does not touch.

    Raises
    ------
    Refusal
        If families are asked for and no two labelers share one, or if the integrals over the
        families would not fit into memory.

    Notes
    -----
    ``label_logit_mean`` is the average of e_jy over the labelers, and ``label_logit_offset`` are
    their deviations from it in coordinates that mix well
    (:func:`hero_bayes.models.shared_effects.population`); m_y is integrated out.

    Unseen labelers draw from the population. Two loadings stand for all labelers: the effect
    misleads everybody alike.

    References
    ----------
    .. [1] Qu, Y., Tan, M., Kutner, M. H. (1996). Random effects models in latent class analysis for
       evaluating accuracy of diagnostic tests. Biometrics 52, 797-810. doi:10.2307/2533043
    """
    panel = align(history, current, unseen="include")
    with pm.Model(coords=coordinates(panel)) as model:
        layer = correlated_labelers(
            panel,
            positive_mean_prior=positive_mean_prior,
            negative_mean_prior=negative_mean_prior,
            spread_prior=spread_prior,
            loading_prior=loading_prior,
            family_loading_prior=family_loading_prior,
            family=family,
            loading_bound=loading_bound,
        )
        outcome = prevalence(panel, prevalence_prior)
        two_rounds(
            panel,
            outcome,
            layer,
            rigid(layer),
            unlabeled_power=number("unlabeled_power", unlabeled_power, 0.0),
            gold_error=gold_error,
        )
    return model
