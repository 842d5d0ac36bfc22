"""Complete model ``score``: prevalence x calibrated score x rigid, the anchored tilt as a graph."""

from typing import Any

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pytensor.tensor.variable import TensorVariable

from hero_bayes.data.counts import gold_code
from hero_bayes.data.labels import Labels
from hero_bayes.data.panel import align
from hero_bayes.data.score_bins import PRIOR_WEIGHT
from hero_bayes.data.score_table import ScoreTable
from hero_bayes.likelihoods.latent_class import mixture_log_likelihood
from hero_bayes.models.calibrated_score import (
    CalibrationData,
    ScoreEvidence,
    binned,
    calibration_data,
    line,
)
from hero_bayes.models.composition import coordinates
from hero_bayes.models.gold import GoldError, fallible, gold_error_rate
from hero_bayes.models.prevalence import log_class_prior
from hero_bayes.models.priors import beta_pair, positive_scale

__all__ = ["FORMS", "score"]

#: How P(truth 1) depends on the score.
FORMS = ("line", "bins")


def score(
    history: Labels,
    current: Labels,
    *,
    scores: Any,
    score: str = "mean",
    form: str = "line",
    intercept_sd: float = 1.0,
    slope_prior: tuple[float, float] = (1.0, 0.5),
    bin_weight: float = PRIOR_WEIGHT,
    prevalence_prior: tuple[float, float] = (1.0, 1.0),
    gold_error: GoldError = None,
) -> pm.Model:
    """Items reduced to one score each, calibrated on gold; labelers may share errors.

    With s the score of an item, logit P(y = 1 | s) = A_g + B s in history group g, A_g ~
    Normal(logit of the supplying model's prevalence, ``intercept_sd``), B ~ Normal(slope_prior):
    the model is the prior mean, gold is the judge. q_g is the mean of P(y = 1 | s) over the group's
    items, and r(s) = exp(A_g + B s) (1 - q_g) / q_g the likelihood ratio of an item with score s,
    the same in both rounds.

    Parameters
    ----------
    history, current : Labels
    scores : ItemScores or ScoreTable
        Scores of all items of both rounds, computed beforehand, those of history held out by item:
        ``hero_bayes.estimators.item_scores.item_scores(history, current)``. Items are found by id.
    score : str
        Which of them: "votes", "mean" or "model".
    form : {"line", "bins"}
        "bins" cuts the score at quantiles of history, and P(y = 1 | bin) has a prior of its own in
        each bin. It assumes no shape and needs more gold.
    intercept_sd : float
        Standard deviation of A_g's prior.
    slope_prior : tuple of float
        Mean and standard deviation of B's prior.
    bin_weight : float
        Gold items that the Beta prior of a bin is worth; its mean is the model's prevalence.
    prevalence_prior : tuple of float
        Beta parameters of the current prevalences; (1, 1) is flat.
    gold_error : None, float, or pair of float
        P(gold != truth): none (default), known, in [0, 0.5), or estimated under this Beta prior,
        cut off at one half (:mod:`hero_bayes.models.gold`). The scores are taken as they are.

    Returns
    -------
    pm.Model
        Free variables ``score_intercept`` (history_group) and ``score_slope``, or ``bin_rate``
        (history_group, bin) with the deterministic ``score_slope`` of a line through the rates, and
        ``prevalence`` (group); deterministics ``history_prevalence``
        (history_group), the q_g, and ``class_log_likelihood`` (item, truth), the columns being 0
        and log r. ``history_group`` holds the groups with gold; the others do not calibrate.
        ``history_weight`` (history_item), the weights behind q_g, is replaceable data.

    Raises
    ------
    Refusal
        If the scores have no fold ids, or a class has fewer than two labeled gold items in history.
    DataError
        If an item has no score.
    ValueError
        If form or score is not known.

    Notes
    -----
    Needs that P(s | truth) is that of history; not that labelers err independently. In the joint
    posterior, current items enter relative to the law of the scores in history: with q the share of
    truth 1 over all history items, log(m r + 1 - m) - log(q r + 1 - q). Without the second term, an
    item would be the likelier the larger r, whatever its truth, and the slope would run off to
    infinity: r is a ratio of two laws, of which the second moves with the line too. Items without a
    label of a known labeler have r = 1. With several history groups, log r is averaged over them in
    proportion to gold's information on each A_g.

    References
    ----------
    .. [1] Qin, J., Zhang, B. (1997). A goodness-of-fit test for logistic regression models based on
       case-control data. Biometrika 84, 609-618. doi:10.1093/biomet/84.3.609

    Examples
    --------
    >>> import hero_bayes as hb
    >>> from hero_bayes.estimators.item_scores import item_scores
    >>> from hero_bayes.models.score import score
    >>> rounds = hb.datasets.demo_rounds()
    >>> scores = item_scores(rounds.history, rounds.current)
    >>> model = score(rounds.history, rounds.current, scores=scores)
    >>> [rv.name for rv in model.free_RVs]
    ['score_intercept', 'score_slope', 'prevalence']
    """
    if form not in FORMS:
        raise ValueError(f"unknown form {form!r}; one of {', '.join(FORMS)}")
    bin_weight = positive_scale("bin_weight", bin_weight)
    table = ScoreTable.of(scores, score)
    past = calibration_data(table, history)
    now = table.current_round(current)
    panel = align(history, current, unseen="drop")
    coords = coordinates(panel) | {
        "history_group": past.group_names,
        "history_item": past.items,
        "history_gold_item": [past.items[k] for k in np.flatnonzero(past.has_gold)],
    }
    with pm.Model(coords=coords) as model:
        error = gold_error_rate(gold_error)
        if form == "line":
            evidence = line(past, now, intercept_sd, slope_prior, error)
        else:
            evidence = binned(past, now, bin_weight, error)
        # As float64: PyTensor holds a Python float that is exact in single precision as such.
        rate = pm.Beta(
            "prevalence",
            *map(np.float64, beta_pair("prevalence_prior", prevalence_prior)),
            dims="group",
        )
        _current_round(evidence, past, current, rate, error)
    return model


def _current_round(
    evidence: ScoreEvidence,
    past: CalibrationData,
    current: Labels,
    rate: TensorVariable,
    error: TensorVariable | None,
) -> None:
    """The current items: log-likelihood relative to the law of the scores in history."""
    history_rate = pm.Deterministic(
        "history_prevalence", evidence.history_prevalence, dims="history_group"
    )
    ratio = evidence.log_ratio
    gold = pm.Data("gold_code", gold_code(current), dims="item")
    terms, known = fallible(pt.stack([pt.zeros_like(ratio), ratio], axis=-1), gold, error)
    terms = pm.Deterministic("class_log_likelihood", terms, dims=("item", "truth"))
    group_idx = pm.Data("group_idx", current.group_idx, dims="item")
    overall = (history_rate * pm.Data("group_weight", past.group_weight)).sum()
    mixed = mixture_log_likelihood(terms, log_class_prior(rate)[group_idx], known, pt)
    law = pt.logaddexp(pt.log(overall) + ratio, pt.log1p(-overall))
    pm.Potential("current_labels", mixed - law, dims="item")
