"""What `auto` says where the labels cannot be calibrated: a wide posterior, and why it is wide."""

from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy.special import expit

from hero_bayes.data.labels import Labels
from hero_bayes.data.panel import Panel, swap_hint
from hero_bayes.estimators.gold_error import EXACT, GoldError, log_seen, with_gold_evidence
from hero_bayes.estimators.item_scores import vote_logit
from hero_bayes.estimators.label_laws import (
    COUNT_LIMIT,
    MIX_LIMIT,
    count_change,
    match,
    mix_change,
)
from hero_bayes.estimators.placed_votes import UNPLACED, placed
from hero_bayes.estimators.score_calibration import FEWEST_GOLD, Calibration
from hero_bayes.estimators.tilt_parts import current_draws, dealt, law_of_history

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.integer]

#: The share of positives in history: Beta with both parameters at this value.
SHARE_PRIOR = 0.25
#: Nats of evidence in one unit of vote logit: log-normal around 1 with this log-scale deviation.
LOG_SLOPE_SD = 1.0
#: Shares of the draws in which scarce gold is left out, came at random, came because of its class.
ACCOUNTS = (0.5, 0.25, 0.25)
PROPOSALS = 16_000
NEWTON_STEPS = 60


@dataclass(frozen=True)
class Shortfall:
    """Why the labels cannot be calibrated.

    Attributes
    ----------
    kind : {"gold", "labelers", "rounds"}
        Too little gold in history; no current labeler that history knows; or too few labels that
        both rounds could have had alike.
    value : float
        The number that falls short: gold items of the scarcer class, known labelers, or rounds with
        enough comparable labels.
    fewest : int
        What it must reach.
    reason : str
        Number, limit and remedy in a sentence.
    """

    kind: str
    value: float
    fewest: int
    reason: str


@dataclass(frozen=True)
class FallbackDraws:
    """Posterior draws of the current round without calibrated labels.

    Attributes
    ----------
    panel : Panel
        Both rounds on one labeler coordinate.
    prevalence, item_rate : float array (draw, group)
    intercept, slope : float array (draw,)
        Log-likelihood ratio of an item whose vote logit is 0, and nats in one unit of it.
    score : float array (current item,)
        Vote logit.
    used : bool array (current item,)
        Items whose labels are read.
    gold_error : float array (draw,), optional
        P(gold != truth); None where gold is exact.
    effective_size : float
        Number of independent draws that the importance weights are worth.
    shortfall : Shortfall
    notes : tuple of str
    """

    panel: Panel
    prevalence: FloatArray
    item_rate: FloatArray
    intercept: FloatArray
    slope: FloatArray
    score: FloatArray
    used: NDArray[np.bool_]
    gold_error: FloatArray | None
    effective_size: float
    shortfall: Shortfall
    notes: tuple[str, ...]

    @property
    def log_ratio(self) -> FloatArray:
        """Log p(labels | y=1) - log p(labels | y=0), (draw, current item); 0 where not read."""
        return self.log_ratio_at(np.arange(self.slope.size))

    def log_ratio_at(self, draw_idx: IntArray) -> FloatArray:
        """`log_ratio` of chosen draws."""
        ratio = self.intercept[draw_idx, None] + self.slope[draw_idx, None] * self.score
        ratio = np.where(self.used, ratio, 0.0)
        if self.gold_error is None:
            return ratio
        return with_gold_evidence(ratio, self.panel.current.gold, self.gold_error[draw_idx])


def shortfall(panel: Panel) -> Shortfall | None:
    """Why the labels of the current round cannot be calibrated; None if they can."""
    past, now = panel.history, panel.current
    labeled = past.labels_per_item > 0
    if not (now.labels_per_item > 0).any() or not labeled.any():
        return Shortfall(
            "labelers",
            0.0,
            1,
            "no labeler of the current round is known from history (0, at least 1 needed): their "
            "labels cannot be read. Let some known labelers label the current round, or add gold "
            "to it",
        )
    counts = [int((past.gold[labeled] == truth).sum()) for truth in (0, 1)]
    if min(counts) >= FEWEST_GOLD:
        return None
    hint = swap_hint(past, now)
    lacking = " and ".join(f"gold {c}" for c in (0, 1) if counts[c] < FEWEST_GOLD)
    return Shortfall(
        "gold",
        float(min(counts)),
        FEWEST_GOLD,
        f"labeled history items with gold 0: {counts[0]}, with gold 1: {counts[1]}, at least "
        f"{FEWEST_GOLD} of each class needed: the labels cannot be calibrated. Add expert labels "
        f"of {lacking} to the history; some 25 of each class make the interval useful"
        + (hint and f"; {hint}"),
    )


def fallback(
    panel: Panel,
    lack: Shortfall,
    *,
    n_draws: int = 1_000,
    random_seed: int = 0,
    gold_error: GoldError = EXACT,
) -> FallbackDraws:
    """Draws of the current rates from what little is known, wide enough to be honest.

    Parameters
    ----------
    panel : Panel
        The two rounds, labels of unknown labelers left out.
    lack : Shortfall
    n_draws, random_seed : int
    gold_error : GoldError
        How often gold is wrong.

    Notes
    -----
    With known labelers, one assumption is left: on the whole, votes point the right way. Log odds
    of y = 1 are a line in the vote logit s = log((k + 1/2) / (l - k + 1/2)); its slope is positive,
    log-normal around 1, and its intercept is such that the share of positives in history, all
    groups together, is q ~ Beta(1/4, 1/4): wide enough for rates near 2 %, not below. How scarce
    gold was chosen is not known: a quarter of the draws take P(gold | s), as if it came at random
    or by its labels, a quarter P(s | gold), as if it came because of its class, and half leave it
    out. From there on, draws are those of the anchored tilt. Without a known labeler, or where
    history has fewer than 10 labeled items or the same share of votes on all of them, the labels
    are not read: the prevalence is Beta(1, 1), updated by gold of the current round.

    Examples
    --------
    >>> import hero_bayes as hb
    >>> from hero_bayes.data.panel import align
    >>> rounds = hb.datasets.demo_rounds()
    >>> panel = align(rounds.history.without_gold(), rounds.current)
    >>> draws = fallback(panel, shortfall(panel), n_draws=400)
    >>> bool(np.ptp(np.quantile(draws.item_rate, [0.05, 0.95])) > 0.4)
    True
    """
    rng = np.random.default_rng([random_seed, 2])
    now, size = panel.current, float(n_draws)
    score, used = np.zeros(now.n_items), np.zeros(now.n_items, dtype=bool)
    intercept, slope = np.zeros((2, n_draws))
    errors = rng.permutation(np.resize(gold_error.points(), n_draws))
    past, judged, notes = comparable(panel, rng)
    read = lack.kind != "labelers" and bool(past.n_labels and judged.n_labels)
    if read and not placed(past):
        read, notes = False, (*notes, UNPLACED)
    if read:
        score, used = vote_logit(judged), judged.labels_per_item > 0
        line = prior_line(past, judged, n_draws, gold_error, rng)
        everyone = past.labels_per_item > 0
        together = np.zeros(int(everyone.sum()), dtype=np.int64)
        intercept, _ = law_of_history(line, vote_logit(past)[everyone], together, rng)
        slope, size = line.slope, line.effective_size
        errors = errors if line.gold_error is None else line.gold_error
    error = None if gold_error.exact else errors
    prevalence, item_rate = current_draws(intercept, slope, score, used, now, rng, error)
    return FallbackDraws(
        panel=panel,
        prevalence=prevalence,
        item_rate=item_rate,
        intercept=intercept,
        slope=slope,
        score=score,
        used=used,
        gold_error=error,
        effective_size=size,
        shortfall=lack,
        notes=notes,
    )


def comparable(panel: Panel, rng: np.random.Generator) -> tuple[Labels, Labels, tuple[str, ...]]:
    """Both rounds with labels of one law, so that a share of votes means the same, and remarks."""
    past, now = panel.history, panel.current
    other_labelers = mix_change(past, now) > MIX_LIMIT
    if count_change(past, now)[0] <= COUNT_LIMIT and not other_labelers:
        return past, now, ()
    note = (
        "labels per item or labelers are not those of history: only a random part of the labels, "
        "which both rounds could have had alike, is read"
    )
    return *match(past, now, rng, labelers=other_labelers), (note,)


def prior_line(
    past: Labels,
    now: Labels,
    n_draws: int,
    gold_error: GoldError,
    rng: np.random.Generator,
    n_proposals: int = PROPOSALS,
) -> Calibration:
    """Draws of the line from its prior and what gold there is; see `fallback`."""
    score, used = vote_logit(past), past.labels_per_item > 0
    value, count = np.unique(score[used], return_counts=True)
    share = count / count.sum()
    slope = np.exp(LOG_SLOPE_SD * rng.standard_normal(n_proposals))
    positive = np.clip(rng.beta(SHARE_PRIOR, SHARE_PRIOR, n_proposals), 1e-9, 1.0 - 1e-9)
    alpha = intercepts(value, share, slope, positive)
    error = rng.choice(gold_error.points(), n_proposals)
    known, known_now = past.has_gold & used, now.has_gold & (now.labels_per_item > 0)
    s, y = score[known], past.gold[known]
    s_now, y_now = vote_logit(now)[known_now], now.gold[known_now]

    # Log P(gold | s), and log P(gold) in history, summed over items.
    def given_score(s: FloatArray, y: FloatArray) -> FloatArray:
        line = alpha[:, None] + slope[:, None] * s
        right = np.asarray(expit(np.where(y == 1.0, line, -line)), dtype=float)
        return np.asarray(log_seen(right, error[:, None]).sum(axis=1))

    def of_class(y: FloatArray) -> FloatArray:
        ones = log_seen(positive, error) * (y == 1.0).sum()
        return np.asarray(ones + log_seen(1.0 - positive, error) * (y == 0.0).sum())

    by_class = given_score(s_now, y_now) - of_class(y_now)
    at_random = given_score(s, y) + by_class
    chosen, sizes = [], []
    accounts = (np.zeros(n_proposals), at_random, at_random - of_class(y))
    for log_weight, n in zip(accounts, dealt(np.array(ACCOUNTS), n_draws), strict=True):
        weight = np.exp(log_weight - log_weight.max())
        weight /= weight.sum()
        sizes.append(1.0 / np.sum(weight**2))
        at = (np.arange(n) + rng.random()) / max(n, 1)
        chosen.append(np.minimum(np.searchsorted(np.cumsum(weight), at), n_proposals - 1))
    rows = rng.permutation(np.concatenate(chosen))
    return Calibration(
        intercept=alpha[rows, None],
        slope=slope[rows],
        information=np.ones(1),
        log_evidence=0.0,
        negative_slope=0.0,
        effective_size=float(min(sizes)),
        gold_error=None if gold_error.exact else error[rows],
    )


@njit(cache=True)
def intercepts(
    value: FloatArray, share: FloatArray, slope: FloatArray, positive: FloatArray
) -> FloatArray:
    """Alpha with sum share expit(alpha + slope value) = positive, by Newton in a bracket."""
    out = np.empty(slope.size)
    for d in range(slope.size):
        target = np.log(positive[d]) - np.log1p(-positive[d])
        low, high = target - slope[d] * np.max(value), target - slope[d] * np.min(value)
        alpha = 0.5 * (low + high)
        for _ in range(NEWTON_STEPS):
            mean, bend = 0.0, 0.0
            for k in range(value.size):
                chance = 1.0 / (1.0 + np.exp(-(alpha + slope[d] * value[k])))
                mean += share[k] * chance
                bend += share[k] * chance * (1.0 - chance)
            if mean < positive[d]:
                low = alpha
            else:
                high = alpha
            new = alpha + (positive[d] - mean) / max(bend, 1e-300)
            if not (low < new < high):
                new = 0.5 * (low + high)
            if abs(new - alpha) < 1e-10:
                break
            alpha = new
        out[d] = alpha
    return out
