"""The score cut into bins: P(y = 1 | bin) from gold, bin by bin, in place of a line."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit, softmax

from hero_bayes.data.building import check_choice
from hero_bayes.data.labels import Labels
from hero_bayes.estimators.bin_posterior import (
    BinPosterior,
    bin_posterior,
    chance_of_falling,
    fitted_line,
)
from hero_bayes.estimators.gold_error import EXACT, GoldError
from hero_bayes.estimators.item_scores import ItemScores, item_scores
from hero_bayes.estimators.tilt import (
    EVIDENCE_POWER,
    TiltDraws,
    calibrated_groups,
    tilt,
    tilt_draws,
)
from hero_bayes.estimators.tilt_parts import (
    ITEM_LIMIT,
    counted,
    dealt,
    draw_cells,
    draw_round,
    kinds,
)

__all__ = ["FORMS", "BinDraws", "bin_draws", "only", "scored_draws"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.integer]

#: How P(y = 1) depends on a score.
FORMS = ("line", "bins")


@dataclass(frozen=True, kw_only=True)
class BinDraws(TiltDraws):
    """Draws under scores cut into bins.

    ``slope`` is that of the least-squares line through the bins' log odds, for comparison with a
    calibration line; ``negative_slope`` is P(rates fall as the score rises).

    Attributes
    ----------
    bin_log_ratio : tuple of float array (draw of the score, bin)
        Log-likelihood ratio of each bin, by score.
    item_bin : int array (score, current item)
    n_bins : int array (score,)
        Bins of each score.
    """

    bin_log_ratio: tuple[FloatArray, ...]
    item_bin: IntArray
    n_bins: IntArray

    def log_ratio_at(self, draw_idx: IntArray) -> FloatArray:
        """Log-likelihood ratios of chosen draws; gold is not looked at.

        0 for an item without a label of a known labeler.
        """
        ratio = np.zeros((draw_idx.size, self.scores.panel.current.n_items))
        for c, by_bin in enumerate(self.bin_log_ratio):
            rows = np.flatnonzero(self.component[draw_idx] == c)
            place = np.cumsum(self.component == c)[draw_idx[rows]] - 1
            ratio[rows] = by_bin[place][:, self.item_bin[c]]
        ratio[:, ~self.scores.current_used] = 0.0
        return ratio


def bin_draws(scores: ItemScores, *, n_draws: int = 1_000, rng: np.random.Generator) -> BinDraws:
    """Draws of the rates of all current groups, binned scores mixed by their evidence.

    Parameters
    ----------
    scores : ItemScores
        From `hero_bayes.estimators.item_scores.item_scores`.
    n_draws : int
        Draws over all scores together.
    rng : numpy.random.Generator
        Source of randomness.

    Returns
    -------
    BinDraws

    Raises
    ------
    Refusal
        If a class has fewer than two labeled history items with gold, or no current item has a
        label of a known labeler.

    Notes
    -----
    A bin assumes nothing of how P(y=1) rises with the score, and pays for it: with few gold items
    in a bin its rate is hardly known. The line is the better choice unless gold shows a bend.
    """
    now = scores.panel.current
    found, gold_groups = _posteriors(scores)
    log_evidence = np.array([one.log_evidence for one in found])
    weight = softmax(EVIDENCE_POWER * log_evidence)
    component = rng.permutation(np.repeat(np.arange(len(found)), dealt(weight, n_draws)))
    intercept, slope = np.empty((2, n_draws))
    alpha, history_prevalence = np.empty((2, n_draws, len(gold_groups)))
    item_bin = np.stack([one.bins.of(s) for one, s in zip(found, scores.current, strict=True)])
    bin_log_ratio = []
    negative = np.empty(len(found))
    for c, one in enumerate(found):
        rows = np.flatnonzero(component == c)
        # As many draws as all scores together, so that a score of little weight is judged too.
        rate, q, ratio = one.draw(n_draws, rng)
        negative[c] = chance_of_falling(rate, one)
        head = slice(0, rows.size)
        slope[rows], intercept[rows] = fitted_line(ratio[head], one)
        alpha[rows] = intercept[rows][:, None] + logit(q[head])
        history_prevalence[rows] = q[head]
        bin_log_ratio.append(ratio[head])
    prevalence, item_rate = np.empty((2, n_draws, now.n_groups))
    draws = BinDraws(
        scores=scores,
        groups=tuple(now.groups("current")),
        gold_groups=gold_groups,
        prevalence=prevalence,
        item_rate=item_rate,
        component=component,
        intercept=intercept,
        slope=slope,
        alpha=alpha,
        history_prevalence=history_prevalence,
        weight=weight,
        log_evidence=log_evidence,
        negative_slope=negative,
        effective_size=np.full(len(found), float(n_draws)),
        bin_log_ratio=tuple(bin_log_ratio),
        item_bin=item_bin,
        n_bins=np.array([one.bins.n_bins for one in found]),
    )
    _fill_current(draws, rng)
    return draws


def _posteriors(scores: ItemScores) -> tuple[list[BinPosterior], tuple[str, ...]]:
    """What gold says of the bins of each score; the history groups with gold."""
    past = scores.panel.history
    _, present, place = calibrated_groups(scores)
    law = np.flatnonzero(scores.history_used & (place[past.group_idx] >= 0))
    group_idx, prevalence = place[past.group_idx[law]], scores.fit.prevalence[present]
    gold, names = past.gold[law], past.groups("history")
    found = [bin_posterior(row[law], gold, group_idx, prevalence) for row in scores.history]
    return found, tuple(names[g] for g in present)


def _fill_current(draws: BinDraws, rng: np.random.Generator) -> None:
    """Draw prevalence and item rate given each draw's log ratios; many items by their bins."""
    now, used = draws.scores.panel.current, draws.scores.current_used
    if now.n_items > ITEM_LIMIT:
        for c, by_bin in enumerate(draws.bin_log_ratio):
            rows = np.flatnonzero(draws.component == c)
            kind = (2 * kinds(now) + used) * draws.n_bins[c] + draws.item_bin[c]
            _, count, first = counted(np.zeros(now.n_items), kind)
            ratio = np.where(used[first], by_bin[:, draws.item_bin[c][first]], 0.0)
            draws.prevalence[rows], draws.item_rate[rows] = draw_cells(
                ratio, now.gold[first], True, now.group_idx[first], count, now.n_groups, rng
            )
        return
    for d, row in enumerate(draws.log_ratio):
        at_prevalence, at_item = rng.random(now.n_groups), rng.random(now.n_items)
        draw_round(
            row,
            now.gold,
            True,
            now.group_idx,
            at_prevalence,
            at_item,
            draws.prevalence[d],
            draws.item_rate[d],
        )


def only(scores: ItemScores, name: str) -> ItemScores:
    """One of the scores alone.

    Raises
    ------
    ValueError
        If there is no score of that name.
    """
    if name not in scores.names:
        raise ValueError(
            f"there is no score {name!r} in these tables; one of {', '.join(scores.names)}"
        )
    row = scores.names.index(name)
    part = slice(row, row + 1)
    return replace(
        scores, names=(name,), history=scores.history[part], current=scores.current[part]
    )


def scored_draws(
    history: Labels,
    current: Labels,
    *,
    form: str = "line",
    score: str | None = None,
    n_draws: int = 1_000,
    random_seed: int = 0,
    gold_error: GoldError = EXACT,
) -> TiltDraws:
    """Draws by line or by bins, of all scores or of one; scores are those of the tilt.

    Parameters
    ----------
    history, current : Labels
        The two rounds.
    form : {"line", "bins"}
        How P(y = 1) depends on a score.
    score : str, optional
        One score alone: "votes", "mean" or "model". All, mixed, by default. Where the rounds have
        to be matched, one score, and bins, rest on one random part of the labels.
    n_draws : int
        Posterior draws.
    random_seed : int
        Seeds folds and draws.
    gold_error : GoldError
        How often gold is wrong; bins take it as the truth.

    Returns
    -------
    TiltDraws
        A `BinDraws` for bins.

    Raises
    ------
    Refusal
        If the data cannot answer.
    ValueError
        If form or score is not known, or bins are asked to doubt gold.

    Examples
    --------
    >>> import hero_bayes as hb
    >>> rounds = hb.datasets.demo_rounds()
    >>> scored_draws(rounds.history, rounds.current, form="bins", score="votes").scores.names
    ('votes',)
    """
    check_choice("form", form, FORMS)
    if form == "bins" and not gold_error.exact:
        raise ValueError(
            'form="bins" takes gold as the truth when drawn exactly; use form="line", or '
            'mode="nuts", which takes gold_error with bins'
        )
    if form == "line" and score is None:
        return tilt(
            history, current, n_draws=n_draws, random_seed=random_seed, gold_error=gold_error
        )
    fold_seed, draw_seed = np.random.SeedSequence(random_seed).generate_state(2)
    scores = item_scores(history, current, random_seed=int(fold_seed))
    if score is not None:
        scores = only(scores, score)
    rng = np.random.default_rng(int(draw_seed))
    if form == "bins":
        return bin_draws(scores, n_draws=n_draws, rng=rng)
    return tilt_draws(scores, n_draws=n_draws, rng=rng, gold_error=gold_error)
