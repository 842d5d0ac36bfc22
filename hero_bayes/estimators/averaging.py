"""Two accounts of the labelers, averaged by what held-out gold says of them.

Either labelers err independently given the truth (HERO-1), or they may share errors (the anchored
tilt). The labels themselves, and gold that neither saw, decide how far each is believed.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit, logsumexp, softmax

from hero_bayes.data.labels import Labels
from hero_bayes.errors import Refusal
from hero_bayes.estimators.anchored_em import Anchored, anchor
from hero_bayes.estimators.fallible_anchor import GOLD, anchor_fallible
from hero_bayes.estimators.gold_error import EXACT, GoldError
from hero_bayes.estimators.independent import (
    IndependentDraws,
    drawn_ratios,
    independent_draws,
    rate_draws,
)
from hero_bayes.estimators.item_scores import ItemScores
from hero_bayes.estimators.kernels import sum_by_item
from hero_bayes.estimators.tilt import TiltDraws, tilt

__all__ = ["AveragedDraws", "average", "held_out_log_score"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.integer]

#: Prior probability that labelers err independently.
PRIOR_INDEPENDENT = 0.1
#: Draws of the labelers' rates over which a held-out gold item is predicted.
HELD_OUT_DRAWS = 100
#: A single held-out gold item counts for no less than this probability.
LEAST_PROBABILITY = 1e-9


@dataclass(frozen=True)
class AveragedDraws:
    """Posterior draws of the current round, averaged over the two accounts.

    Attributes
    ----------
    tilt : TiltDraws
        All draws under shared errors, of which those not ``independent`` are used.
    anchored : Anchored
        The labelers' rates if they err independently.
    plain : IndependentDraws, or None
        The draws under independent errors, in their order; None if there are none.
    independent : bool array (draw,)
        Draws under independent errors.
    prevalence, item_rate : float array (draw, group)
    probability_independent : float
        Posterior probability of independent errors.
    log_score_independent, log_evidence_shared : float
        Log density of the gold under either account.
    log_labels_independent : float
        Log Bayes factor of the labels for independent errors.
    notes : tuple of str
    gold_error : float array (draw,), optional
        P(gold != truth); None where gold is exact.
    """

    tilt: TiltDraws
    anchored: Anchored
    plain: IndependentDraws | None
    independent: NDArray[np.bool_]
    prevalence: FloatArray
    item_rate: FloatArray
    probability_independent: float
    log_score_independent: float
    log_evidence_shared: float
    log_labels_independent: float
    notes: tuple[str, ...]
    gold_error: FloatArray | None = None

    @cached_property
    def log_ratio(self) -> FloatArray:
        """Log p(labels | y=1) - log p(labels | y=0), (draw, current item).

        Exact gold is not looked at; fallible gold is one more label.
        """
        return self.log_ratio_at(np.arange(self.independent.size))

    def log_ratio_at(self, draw_idx: IntArray) -> FloatArray:
        """`log_ratio` of chosen draws."""
        alone = self.independent[draw_idx]
        ratio = np.empty((draw_idx.size, self.tilt.scores.panel.current.n_items))
        ratio[~alone] = self.tilt.log_ratio_at(draw_idx[~alone])
        if self.plain is not None:
            place = np.cumsum(self.independent) - 1
            ratio[alone] = self.plain.log_ratio_at(place[draw_idx[alone]])
        return ratio


def average(
    history: Labels,
    current: Labels,
    *,
    n_draws: int = 1_000,
    prior: float = PRIOR_INDEPENDENT,
    random_seed: int = 0,
    gold_error: GoldError = EXACT,
) -> AveragedDraws:
    """Draws of the current rates under both accounts, in proportion to their posterior weight.

    Parameters
    ----------
    history, current : Labels
        The two rounds.
    n_draws : int
    prior : float
        Prior probability that labelers err independently.
    random_seed : int
    gold_error : GoldError
        How often gold is wrong; see `gold_error_of`.

    Returns
    -------
    AveragedDraws

    Raises
    ------
    Refusal
        If history has fewer than two gold items of a class, or no current label is from a known
        labeler.

    Notes
    -----
    The odds of the two accounts are prior odds x Bayes factor of the labels (`label_evidence`) x
    Bayes factor of the gold given the labels.

    The log density of gold under independent errors is the sum of log P(gold_i | labels_i),
    averaged over draws of the rates from a fit that saw no item of i's fold; under shared errors it
    is the evidence of the calibrated scores, averaged over the scores. Both are densities of the
    same gold given the same labels, and neither has seen the item it predicts, so that their ratio
    is a Bayes factor between the accounts. Without the draws, rates learned from few labels would
    look surer of their gold than they are, and independence would be rejected for it.

    Examples
    --------
    >>> import hero_bayes as hb
    >>> rounds = hb.datasets.demo_rounds()
    >>> draws = average(rounds.history, rounds.current, n_draws=200)
    >>> draws.item_rate.shape
    (200, 1)
    """
    checked_prior(prior)
    shared = tilt(history, current, n_draws=n_draws, random_seed=random_seed, gold_error=gold_error)
    anchored = anchor_with(history, current, gold_error)
    evidence = float(logsumexp(shared.log_evidence) - np.log(shared.log_evidence.size))
    chances, notes = held_out_chances(shared.scores, history, current, gold_error)
    by_rate = log_scores(chances, gold_error)
    score = -np.inf if notes else mean_log_score(by_rate)
    by_labels = label_evidence(anchored)
    with np.errstate(divide="ignore"):
        odds = np.log(prior) - np.log1p(-prior) + by_labels + score - evidence
    probability = 0.0 if notes else float(expit(odds))
    rng = np.random.default_rng([random_seed, 1])
    independent = rng.permutation(np.arange(n_draws) < round(probability * n_draws))
    prevalence, item_rate = shared.prevalence.copy(), shared.item_rate.copy()
    rates = None if shared.gold_error is None else shared.gold_error.copy()
    plain = None
    if independent.any():
        number = int(independent.sum())
        plain = independent_draws(anchored, number, rng)
        prevalence[independent], item_rate[independent] = plain.prevalence, plain.item_rate
        notes += plain.notes
        if rates is not None:
            rates[independent] = rng.choice(gold_error.points(), number, p=softmax(by_rate))
    return AveragedDraws(
        tilt=shared,
        anchored=anchored,
        plain=plain,
        independent=independent,
        prevalence=prevalence,
        item_rate=item_rate,
        probability_independent=probability,
        log_score_independent=score,
        log_evidence_shared=evidence,
        log_labels_independent=by_labels,
        notes=(*shared.scores.notes, *notes),
        gold_error=rates,
    )


def checked_prior(prior: Any) -> float:
    """The prior probability of independent errors, if it is one."""
    number = isinstance(prior, (int, float, np.number)) and not isinstance(prior, bool)
    if not (number and 0.0 <= prior <= 1.0):
        raise ValueError(
            "prior_independent, the prior probability that labelers err independently, must be a "
            f"number between 0 and 1, got {prior!r}"
        )
    return float(prior)


def anchor_with(history: Labels, current: Labels, gold_error: GoldError) -> Anchored:
    """Labeler rates if they err independently, from exact or from fallible gold."""
    if gold_error.exact:
        return anchor(history, current)
    return anchor_fallible(history, current, gold_error)


def label_evidence(anchored: Anchored) -> float:
    """Log Bayes factor of the labels alone for independent errors against shared ones.

    Labels of one item that go together more than the truth explains speak for shared errors. With
    residuals e_ij = label - P(label 1 | class) at the rates of independent errors, the score of a
    covariance that all pairs of labels have within a class is, for item i, t_i = sum over classes
    of P(class | labels) sum_{j<k} e_ij e_ik, and z = sum t_i / sqrt(sum (t_i - mean t)^2) is
    standard normal where errors are independent [1]_. With a prior on the covariance that is worth
    one item, log BF = log(n) / 2 - max(z, 0)^2 / 2 over the n items of two labels or more [2]_.
    Fewer than two such items say nothing, and the labels of one judge never do.

    References
    ----------
    .. [1] Rao, C. R. (1948). Large sample tests of statistical hypotheses concerning several
       parameters. Proceedings of the Cambridge Philosophical Society 44, 50-57.
    .. [2] Kass, R. E., Wasserman, L. (1995). A reference Bayesian test for nested hypotheses and
       its relationship to the Schwarz criterion. JASA 90, 928-934.
    """
    at = anchored.interior
    data = at.data
    counts = np.repeat(anchored.panel.labelers != GOLD, 2).astype(float)
    label = np.tile([0.0, 1.0], at.sensitivity.size)
    score = np.zeros(at.truth.size)
    for one, of_class in ((1.0 - at.specificity, 1.0 - at.truth), (at.sensitivity, at.truth)):
        residual = counts * (label - np.repeat(one, 2))
        whole = sum_by_item(data.item_ptr, data.code, residual)
        score += of_class * (whole**2 - sum_by_item(data.item_ptr, data.code, residual**2)) / 2.0
    score = score[sum_by_item(data.item_ptr, data.code, counts) >= 2.0]
    if score.size < 2 or np.ptp(score) == 0.0:
        return 0.0
    z = score.sum() / (score.std() * np.sqrt(score.size))
    return float(0.5 * np.log(score.size) - 0.5 * max(z, 0.0) ** 2)


def held_out_log_score(
    scores: ItemScores, history: Labels, current: Labels, gold_error: GoldError = EXACT
) -> tuple[float, tuple[str, ...]]:
    """Log density of history's gold if labelers err independently, each item held out.

    Returns
    -------
    tuple
        The log score, -inf where some fold leaves too little gold to fit; and remarks.
    """
    chances, notes = held_out_chances(scores, history, current, gold_error)
    return (-np.inf if notes else mean_log_score(log_scores(chances, gold_error))), notes


def held_out_chances(
    scores: ItemScores, history: Labels, current: Labels, gold_error: GoldError
) -> tuple[list[FloatArray], tuple[str, ...]]:
    """P(truth is what gold says) of each labeled gold item from fits without its fold, by fold."""
    known = history.has_gold & scores.history_used
    chances = []
    for fold in np.unique(scores.fold[known]):
        hidden = scores.fold == fold
        asked = np.flatnonzero(hidden & known)
        try:
            other = anchor_with(history.take_items(~hidden), current, gold_error)
        except Refusal as refusal:
            note = f"independent errors were not considered, for lack of gold: {refusal}"
            return [], (note,)
        labelers = [str(name) for name in other.panel.labelers]
        judged = history.take_items(asked).with_labelers(labelers).without_gold()
        rate = np.clip(other.history_prevalence, LEAST_PROBABILITY, 1.0 - LEAST_PROBABILITY)
        odds = logit(rate[history.group_idx[asked]])
        drawn = rate_draws(other, HELD_OUT_DRAWS, np.random.default_rng(int(fold)))
        chance = np.mean([expit(odds + row) for row in drawn_ratios(judged, *drawn)], axis=0)
        chances.append(np.where(history.gold[asked] == 1.0, chance, 1.0 - chance))
    return chances, ()


def log_scores(chances: list[FloatArray], gold_error: GoldError) -> FloatArray:
    """Log density of the gold at each of the error rates of equal prior weight."""
    rates = gold_error.points()
    total = np.zeros(rates.size)
    for chance in chances:
        seen = rates[:, None] + (1.0 - 2.0 * rates[:, None]) * chance
        total += np.log(np.maximum(seen, LEAST_PROBABILITY)).sum(axis=1)
    return total


def mean_log_score(by_rate: FloatArray) -> float:
    """Log of the mean density over error rates."""
    return float(logsumexp(by_rate) - np.log(by_rate.size))
