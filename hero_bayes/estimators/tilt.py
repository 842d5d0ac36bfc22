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
from hero_bayes.estimators.item_scores import ItemScores, ScoreKind, score_sets
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
    kinds : tuple of (int array, TiltDraws)
        Where groups were labeled by different labelers: positions of the groups, and the draws
        that rest on what their own labels mean. Rates here are then each group's own, and all that
        describes a calibration is that of the kinds in turn.
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
    kinds: tuple[tuple[IntArray, "TiltDraws"], ...] = ()

    def of_group(self, group: int) -> "TiltDraws":
        """The draws whose calibration one current group rests on."""
        return next((draws for groups, draws in self.kinds if group in groups), self)

    @property
    def log_ratio(self) -> FloatArray:
        """Log p(labels | y=1) - log p(labels | y=0), (draw, current item).

        0 for an item without a label of a known labeler. Exact gold is not looked at; fallible gold
        is one more label.
        """
        return self.log_ratio_at(np.arange(self.slope.size))

    def log_ratio_at(self, draw_idx: IntArray) -> FloatArray:
        """`log_ratio` of chosen draws."""
        if self.kinds:
            group_idx = self.scores.panel.current.group_idx
            ratio = np.empty((draw_idx.size, group_idx.size))
            for groups, draws in self.kinds:
                own = np.isin(group_idx, groups)
                ratio[:, own] = draws.log_ratio_at(draw_idx)[:, own]
            return ratio
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
    groups: IntArray | None = None,
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
    groups : int array, optional
        The current groups to draw, all by default; rates of others mean nothing.

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
    items = np.full(now.n_items, True) if groups is None else np.isin(now.group_idx, groups)
    asked = now if groups is None else now.take_items(items)
    for c, line in enumerate(lines):
        rows = np.flatnonzero(component == c)
        part = line.head(rows.size)
        intercept[rows], history_prevalence[rows] = law_of_history(
            part, scores.history[c, law], place[past.group_idx[law]], rng
        )
        slope[rows], alpha[rows] = part.slope, part.intercept
        error[rows] = 0.0 if part.gold_error is None else part.gold_error
        prevalence[rows], item_rate[rows] = current_draws(
            intercept[rows], slope[rows], scores.current[c, items], scores.current_used[items],
            asked, rng, part.gold_error,
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
    every, kinds = score_sets(history, current, random_seed=int(fold_seed))
    rng = np.random.default_rng(int(draw_seed))
    several = len(kinds) > 1
    found = [_of_kind(kind, several, n_draws, rng, gold_error) for kind in kinds]
    if not several and not kinds[0].matched:
        return found[0]
    lines, _, _ = _lines(every, 1, rng, gold_error)
    whole = side_by_side([kind.groups for kind in kinds], found) if several else found[0]
    log_evidence = np.array([line.log_evidence for line in lines])
    return replace(whole, scores=every, log_evidence=log_evidence)


def _of_kind(
    kind: ScoreKind, one_of_several: bool, n_draws: int, rng: np.random.Generator, error: GoldError
) -> TiltDraws:
    """Draws of the groups of one kind, by each random part of the labels in turn."""
    groups = kind.groups if one_of_several else None
    sizes = dealt(np.full(len(kind.sets), 1.0 / len(kind.sets)), n_draws)
    parts = [
        tilt_draws(part, n_draws=int(size), rng=rng, gold_error=error, groups=groups)
        for part, size in zip(kind.sets, sizes, strict=True)
        if size
    ]
    return _taking_turns(parts) if kind.matched else parts[0]


def side_by_side(groups: Sequence[IntArray], found: Sequence[TiltDraws]) -> TiltDraws:
    """Draws of several kinds of groups as one posterior."""
    names = tuple(dict.fromkeys(name for draws in found for name in draws.gold_groups))
    first, turn = found[0], np.arange(found[0].slope.size) % len(found)
    every = np.arange(turn.size)

    def rates(name: str) -> FloatArray:
        out = np.array(getattr(first, name))
        for where, draws in zip(groups, found, strict=True):
            out[:, where] = getattr(draws, name)[:, where]
        return out

    def in_turn(name: str) -> NDArray[Any]:
        return np.asarray(np.stack([getattr(draws, name) for draws in found])[turn, every])

    def by_gold_group(name: str) -> FloatArray:
        # The kinds in turn; a history group that one of them has no labels of, from the others.
        out = np.full((len(found), turn.size, len(names)), np.nan)
        for k, draws in enumerate(found):
            out[k][:, [names.index(one) for one in draws.gold_groups]] = getattr(draws, name)
        chosen = out[turn, every]
        return np.asarray(np.where(np.isnan(chosen), np.nanmean(out, axis=0), chosen))

    return replace(
        first,
        gold_groups=names,
        prevalence=rates("prevalence"),
        item_rate=rates("item_rate"),
        component=in_turn("component"),
        intercept=in_turn("intercept"),
        slope=in_turn("slope"),
        alpha=by_gold_group("alpha"),
        history_prevalence=by_gold_group("history_prevalence"),
        weight=np.mean([draws.weight for draws in found], axis=0),
        negative_slope=np.stack([draws.negative_slope for draws in found]).max(axis=0),
        effective_size=np.stack([draws.effective_size for draws in found]).min(axis=0),
        gold_error=None if first.gold_error is None else in_turn("gold_error"),
        parts=(),
        kinds=tuple(zip(groups, found, strict=True)),
    )


def _taking_turns(parts: Sequence[TiltDraws]) -> TiltDraws:
    """Draws by several random parts of the labels as one posterior, each part as likely."""
    order = interleaved([part.slope.size for part in parts])

    def drawn(name: str) -> NDArray[Any]:
        return np.asarray(np.concatenate([getattr(part, name) for part in parts])[order])

    def mean(name: str) -> FloatArray:
        return np.asarray(np.mean([getattr(part, name) for part in parts], axis=0))

    return replace(
        parts[0],
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
        gold_error=None if parts[0].gold_error is None else drawn("gold_error"),
        parts=tuple(parts),
    )
