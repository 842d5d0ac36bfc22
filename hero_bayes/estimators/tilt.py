"""The anchored tilt: draws of the current rate from calibrated scores."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from hero_bayes.data.labels import Labels
from hero_bayes.data.panel import swap_hint
from hero_bayes.errors import Refusal
from hero_bayes.estimators.gold_error import EXACT, GoldError, with_gold_evidence
from hero_bayes.estimators.item_scores import ItemScores, score_sets
from hero_bayes.estimators.score_calibration import Calibration, calibrate, check_gold
from hero_bayes.estimators.tilt_parts import current_draws, dealt, interleaved, law_of_history

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.integer]

#: Scores are weighted by their evidence to this power.
EVIDENCE_POWER = 0.5
#: The model's prevalence is kept inside these limits where a prior is centred at its logit.
PREVALENCE_LIMITS = (1e-6, 1.0 - 1e-6)


@dataclass(frozen=True)
class TiltDraws:
    """Posterior draws of the current round under a mixture of calibrated scores.

    Attributes
    ----------
    scores : ItemScores
        What the draws rest on.
    groups : tuple of str
        The current groups.
    gold_groups : tuple of str
        History groups with gold; only these calibrate.
    prevalence, item_rate : float array (draw, group)
        Rate of the source, and share of positives among the items at hand.
    component : int array (draw,)
        Position of the draw's score in ``scores.names``.
    intercept : float array (draw,)
        Log-likelihood ratio of an item whose score is 0.
    slope : float array (draw,)
        Nats of evidence in one unit of score.
    alpha : float array (draw, gold group)
        Log odds of y = 1 at score 0 in each history group with gold.
    history_prevalence : float array (draw, gold group)
        Share of positives in those groups.
    weight : float array (score,)
        Share of each score in the mixture.
    log_evidence, negative_slope, effective_size : float array (score,)
        Of each score's calibration; see `Calibration`.
    gold_error : float array (draw,), optional
        P(gold != truth); None where gold is exact.
    parts : tuple of TiltDraws
        Where the rounds had to be matched: the draws by each random part of the labels, which take
        turns here. ``scores`` and ``log_evidence`` are then those of all labels.
    """

    scores: ItemScores
    groups: tuple[str, ...]
    gold_groups: tuple[str, ...]
    prevalence: FloatArray
    item_rate: FloatArray
    component: IntArray
    intercept: FloatArray
    slope: FloatArray
    alpha: FloatArray
    history_prevalence: FloatArray
    weight: FloatArray
    log_evidence: FloatArray
    negative_slope: FloatArray
    effective_size: FloatArray
    gold_error: FloatArray | None = None
    parts: tuple["TiltDraws", ...] = ()

    @property
    def log_ratio(self) -> FloatArray:
        """Log p(labels | y=1) - log p(labels | y=0), (draw, current item).

        0 for an item without a label of a known labeler. Exact gold is not looked at; fallible gold
        is one more label.
        """
        return self.log_ratio_at(np.arange(self.slope.size))

    def log_ratio_at(self, draw_idx: IntArray) -> FloatArray:
        """`log_ratio` of chosen draws."""
        if self.parts:
            sizes = [part.slope.size for part in self.parts]
            at = interleaved(sizes)[draw_idx]
            source = np.repeat(np.arange(len(sizes)), sizes)[at]
            place = at - np.concatenate([[0], np.cumsum(sizes)])[source]
            ratio = np.empty((draw_idx.size, self.scores.panel.current.n_items))
            for k, part in enumerate(self.parts):
                ratio[source == k] = part.log_ratio_at(place[source == k])
            return ratio
        ratio = self.scores.current[self.component[draw_idx]]
        ratio *= self.slope[draw_idx, None]
        ratio += self.intercept[draw_idx, None]
        ratio[:, ~self.scores.current_used] = 0.0
        if self.gold_error is None:
            return ratio
        gold = self.scores.panel.current.gold
        return with_gold_evidence(ratio, gold, self.gold_error[draw_idx])


def tilt_draws(
    scores: ItemScores,
    *,
    n_draws: int = 1_000,
    rng: np.random.Generator,
    gold_error: GoldError = EXACT,
) -> TiltDraws:
    """Draws of the rates of all current groups, scores mixed by their evidence.

    Parameters
    ----------
    scores : ItemScores
        From `item_scores`.
    n_draws : int
        Draws over all scores together.
    rng : numpy.random.Generator
        Source of randomness.
    gold_error : GoldError
        How often gold is wrong.

    Returns
    -------
    TiltDraws
        One line and one set of bootstrap weights a draw, shared by all current groups.

    Raises
    ------
    Refusal
        If a class has fewer than two labeled history items with gold, or no current item has a
        label of a known labeler.
    """
    past, now = scores.panel.history, scores.panel.current
    lines, present, place = _lines(scores, n_draws, rng, gold_error)
    law = np.flatnonzero(scores.history_used & (place[past.group_idx] >= 0))
    log_evidence = np.array([line.log_evidence for line in lines])
    weight = softmax(EVIDENCE_POWER * log_evidence)
    count = dealt(weight, n_draws)
    component = rng.permutation(np.repeat(np.arange(len(lines)), count))
    intercept, slope, error = np.empty((3, n_draws))
    alpha, history_prevalence = np.empty((2, n_draws, present.size))
    prevalence, item_rate = np.empty((2, n_draws, now.n_groups))
    for c, line in enumerate(lines):
        rows = np.flatnonzero(component == c)
        part = line.head(rows.size)
        intercept[rows], history_prevalence[rows] = law_of_history(
            part, scores.history[c, law], place[past.group_idx[law]], rng
        )
        slope[rows], alpha[rows] = part.slope, part.intercept
        error[rows] = 0.0 if part.gold_error is None else part.gold_error
        prevalence[rows], item_rate[rows] = current_draws(
            intercept[rows], slope[rows], scores.current[c], scores.current_used, now, rng,
            part.gold_error,
        )  # fmt: skip
    names = past.groups("history")
    return TiltDraws(
        scores=scores,
        groups=tuple(now.groups("current")),
        gold_groups=tuple(names[g] for g in present),
        prevalence=prevalence,
        item_rate=item_rate,
        component=component,
        intercept=intercept,
        slope=slope,
        alpha=alpha,
        history_prevalence=history_prevalence,
        weight=weight,
        log_evidence=log_evidence,
        negative_slope=np.array([line.negative_slope for line in lines]),
        effective_size=np.array([line.effective_size for line in lines]),
        gold_error=None if gold_error.exact else error,
    )


def calibrated_groups(scores: ItemScores) -> tuple[NDArray[np.bool_], IntArray, IntArray]:
    """History items that calibrate, the groups they are of, each group's place among these or -1.

    Raises
    ------
    Refusal
        If a class has fewer than two labeled history items with gold, or no current item has a
        label of a known labeler.
    """
    past = scores.panel.history
    known = past.has_gold & scores.history_used
    check_gold(past.gold[known], swap_hint(past, scores.panel.current))
    if not scores.current_used.any():
        raise Refusal(
            "no labeler of the current round is known from history; history says nothing about "
            "them. Let some known labelers label the current round, or add gold to it"
        )
    present = np.unique(past.group_idx[known])
    place = np.full(past.n_groups, -1)
    place[present] = np.arange(present.size)
    return known, present, place


def _lines(
    scores: ItemScores, n_draws: int, rng: np.random.Generator, error: GoldError
) -> tuple[list[Calibration], IntArray, IntArray]:
    """Calibrated line of each score; the history groups with gold; each group's place in them."""
    past = scores.panel.history
    known, present, place = calibrated_groups(scores)
    gold_group = place[past.group_idx[known]]
    prior = np.clip(scores.fit.prevalence[present], *PREVALENCE_LIMITS)
    lines = [
        calibrate(
            row[known], past.gold[known], prior, gold_group,
            n_draws=n_draws, gold_error=error, rng=rng,
        )
        for row in scores.history
    ]  # fmt: skip
    return lines, present, place


def tilt(
    history: Labels,
    current: Labels,
    *,
    n_draws: int = 1_000,
    random_seed: int = 0,
    gold_error: GoldError = EXACT,
) -> TiltDraws:
    """Scores, calibration and draws in one call.

    Parameters
    ----------
    history, current : Labels
        The two rounds.
    n_draws : int
        Posterior draws.
    random_seed : int
        Seeds folds and draws; with the same seed the same result, whatever the order of rows.
    gold_error : GoldError
        How often gold is wrong; see `gold_error_of`. The scores still come from a fit that takes
        gold as the truth: they only order the items, and fallible gold calibrates them.

    Returns
    -------
    TiltDraws
        Draws of prevalence and item rate of every current group.

    Raises
    ------
    Refusal
        If the data cannot answer.

    Examples
    --------
    >>> import hero_bayes as hb
    >>> rounds = hb.datasets.demo_rounds()
    >>> draws = tilt(rounds.history, rounds.current, n_draws=200)
    >>> draws.item_rate.shape
    (200, 1)
    """
    fold_seed, draw_seed = np.random.SeedSequence(random_seed).generate_state(2)
    every, *thinned = score_sets(history, current, random_seed=int(fold_seed))
    rng = np.random.default_rng(int(draw_seed))
    if not thinned:
        return tilt_draws(every, n_draws=n_draws, rng=rng, gold_error=gold_error)
    sizes = dealt(np.full(len(thinned), 1.0 / len(thinned)), n_draws)
    parts = [
        tilt_draws(part, n_draws=int(size), rng=rng, gold_error=gold_error)
        for part, size in zip(thinned, sizes, strict=True)
        if size
    ]
    lines, _, _ = _lines(every, 1, rng, gold_error)
    return _taking_turns(parts, every, np.array([line.log_evidence for line in lines]))


def _taking_turns(
    parts: Sequence[TiltDraws], scores: ItemScores, log_evidence: FloatArray
) -> TiltDraws:
    """Draws by several random parts of the labels as one posterior, each part as likely."""
    order = interleaved([part.slope.size for part in parts])

    def drawn(name: str) -> NDArray[Any]:
        return np.asarray(np.concatenate([getattr(part, name) for part in parts])[order])

    def mean(name: str) -> FloatArray:
        return np.asarray(np.mean([getattr(part, name) for part in parts], axis=0))

    return replace(
        parts[0],
        scores=scores,
        prevalence=drawn("prevalence"),
        item_rate=drawn("item_rate"),
        component=drawn("component"),
        intercept=drawn("intercept"),
        slope=drawn("slope"),
        alpha=drawn("alpha"),
        history_prevalence=drawn("history_prevalence"),
        weight=mean("weight"),
        negative_slope=mean("negative_slope"),
        effective_size=mean("effective_size"),
        log_evidence=log_evidence,
        gold_error=None if parts[0].gold_error is None else drawn("gold_error"),
        parts=tuple(parts),
    )
