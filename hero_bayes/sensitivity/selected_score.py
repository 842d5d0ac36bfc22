"""The score model where gold was chosen by the truth: its intercept moves by log(p1 / p0)."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from hero_bayes.data.labels import Labels
from hero_bayes.errors import Refusal
from hero_bayes.estimators.score import clamp_gold
from hero_bayes.estimators.tilt import TiltDraws, tilt
from hero_bayes.sensitivity import kernels

__all__ = ["SelectedScore", "selected_score"]

FloatArray = NDArray[np.float64]
#: Steps to the prevalence that agrees with its own selection.
STEPS = 200
TOLERANCE = 1e-10


@dataclass(frozen=True)
class SelectedScore:
    """Draws of the score model, opened for sweeps over the odds ratio.

    ``score`` (draw, history item with gold in its group), ``has_gold`` and ``group`` of those
    items; ``start``, ``rank`` and ``distance`` as in the sweeps over transport.
    """

    draws: TiltDraws
    score: FloatArray
    has_gold: NDArray[np.bool_]
    group: NDArray[np.integer]
    log_ratio: FloatArray
    gold: FloatArray
    used: NDArray[np.bool_]
    start: FloatArray
    rank: FloatArray
    distance: FloatArray
    plain: FloatArray

    def prevalence(self, log_odds_ratio: float) -> FloatArray:
        """Draws of the current prevalence at an odds ratio."""
        change = self.intercept(log_odds_ratio) - self.plain
        moved = self.log_ratio + np.where(self.used, change[:, None], 0.0)
        x = np.empty(self.rank.size)
        offset = np.zeros_like(moved)
        place = self.rank, self.distance
        clamped = clamp_gold(moved, self.gold)
        kernels.carry(clamped, offset, 1.0, 1.0, self.start, x, *place, False)
        return np.asarray(expit(x))

    def intercept(self, log_odds_ratio: float) -> FloatArray:
        """Evidence at score 0, history items weighted evenly, (draw,)."""
        total = np.zeros(self.start.size)
        weight = np.bincount(self.group[self.has_gold], minlength=self.draws.alpha.shape[1])
        slope = self.draws.slope[:, None]
        for g in range(weight.size):
            chosen = self.group == g
            line = self.draws.alpha[:, [g]] + slope * self.score[:, chosen]
            share = float(self.has_gold[chosen].mean())
            moved = np.zeros(total.size)
            for _ in range(STEPS):
                chance = expit(line - moved[:, None]).mean(axis=1)
                new = log_selection(chance, share, log_odds_ratio)
                close = np.abs(new - moved).max() < TOLERANCE
                moved = new
                if close:
                    break
            chance = expit(line - moved[:, None]).mean(axis=1)
            own = self.draws.alpha[:, g] - moved - logit(np.clip(chance, 1e-12, 1 - 1e-12))
            total += weight[g] / weight.sum() * own
        return total


def log_selection(prevalence: FloatArray, share: float, log_odds_ratio: float) -> FloatArray:
    """Log(p1 / p0) where a share of the items carries gold, logit p1 = logit p0 + log w.

    p0 solves m p1 + (1 - m) p0 = share, a quadratic.
    """
    w = np.exp(log_odds_ratio)
    m = prevalence
    a, b, c = (1.0 - m) * (w - 1.0), m * w + 1.0 - m - share * (w - 1.0), -share
    root = np.sqrt(b * b - 4.0 * a * c)
    p0 = -2.0 * c / (b + root)
    return np.asarray(log_odds_ratio - np.log1p((w - 1.0) * p0))


def selected_score(
    history: Labels, current: Labels, group: int, n_draws: int, random_seed: int
) -> SelectedScore:
    """Open the score model for one current group.

    Raises
    ------
    Refusal
        If the model cannot answer, or its rounds had to be matched.
    """
    draws = tilt(history, current, n_draws=n_draws, random_seed=random_seed).of_group(group)
    if draws.parts:
        raise Refusal(
            "labels or labelers changed between the rounds, so that the scores come from random "
            "parts of the labels; the sweep needs them whole"
        )
    past = draws.scores.panel.history
    names = past.groups("history")
    place = np.full(past.n_groups, -1)
    for k, name in enumerate(draws.gold_groups):
        place[names.index(name)] = k
    law = draws.scores.history_used & (place[past.group_idx] >= 0)
    score = draws.scores.history[draws.component][:, law]
    item_idx = np.flatnonzero(current.group_idx == group)
    ratio = draws.log_ratio[:, item_idx]
    start = logit(np.clip(draws.prevalence[:, group], 1e-300, 1.0 - 1e-16))
    rank, distance = np.empty((2, start.size))
    clamped = clamp_gold(ratio, current.gold[item_idx])
    offset = np.zeros_like(ratio)
    kernels.carry(clamped, offset, 1.0, 1.0, start, start, rank, distance, True)
    opened = SelectedScore(
        draws=draws,
        score=score,
        has_gold=past.has_gold[law],
        group=place[past.group_idx[law]],
        log_ratio=ratio,
        gold=current.gold[item_idx],
        used=draws.scores.current_used[item_idx],
        start=start,
        rank=rank,
        distance=distance,
        plain=np.zeros(start.size),
    )
    plain = opened.intercept(0.0)
    return SelectedScore(**{**vars(opened), "plain": plain})
