"""What each posterior draw says of the truth of every item, history's and the current round's."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from hero_bayes.data.labels import Labels
from hero_bayes.estimators.anchored_em import Anchored, label_codes
from hero_bayes.estimators.averaging import AveragedDraws, average
from hero_bayes.estimators.independent import IndependentDraws
from hero_bayes.estimators.kernels import log_ratio_table, sum_by_item
from hero_bayes.estimators.tilt import TiltDraws, tilt
from hero_bayes.estimators.tilt_parts import interleaved

__all__ = ["Beliefs", "beliefs"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.integer]
BoolArray = NDArray[np.bool_]

#: Items of a history group that its share of positives is found from, at most.
MOST_ITEMS = 2_000
STEPS = 8
#: Probabilities are kept this far from 0 and 1 before their logit is taken.
EDGE = 1e-12


@dataclass(frozen=True)
class Beliefs:
    """Posterior draws as chances of every item.

    Attributes
    ----------
    tilt : TiltDraws
        The draws under shared errors.
    average : AveragedDraws, or None
        With those under independent errors, for "auto".
    """

    tilt: TiltDraws
    average: AveragedDraws | None

    @property
    def history(self) -> Labels:
        """The past rounds, on the labelers of both."""
        return self.tilt.scores.panel.history

    @property
    def current(self) -> Labels:
        """The current round, on the labelers of both."""
        return self.tilt.scores.panel.current

    @property
    def _kinds(self) -> tuple[tuple[TiltDraws, ...], ...]:
        kinds = [draws for _, draws in self.tilt.kinds] or [self.tilt]
        return tuple(draws.parts or (draws,) for draws in kinds)

    @cached_property
    def calibrates(self) -> BoolArray:
        """History items without gold whose gold would join the calibration."""
        past = self.history
        names = np.array(past.groups("history"), dtype=object)
        with_gold = np.isin(names, list(self.tilt.gold_groups))
        heard = np.any([part.scores.history_used for kind in self._kinds for part in kind], axis=0)
        return np.asarray(~past.has_gold & heard & with_gold[past.group_idx])

    def history_chance(self, item_idx: IntArray) -> FloatArray:
        """P(y = 1) of history items, (draw, item)."""
        by_kind = []
        for kind in self._kinds:
            parts = [_tilt_chance(part, self.history, item_idx) for part in kind]
            by_kind.append(np.concatenate(parts)[interleaved([len(part) for part in parts])])
        turn = np.arange(len(by_kind[0])) % len(by_kind)
        chance = np.stack(by_kind)[turn, np.arange(turn.size)]
        missing = np.isnan(chance)
        if missing.any():
            chance = np.where(missing, np.nanmean(chance, axis=0), chance)
        found = self.average
        if found is not None and found.plain is not None:
            plain = _plain_chance(found.anchored, found.plain, item_idx)
            chance[found.independent] = plain[found.plain.rate_idx]
        return chance

    def truth_chance(self, item_idx: IntArray) -> FloatArray:
        """P(y = 1) of any history items, (draw, item).

        An item that nothing was calibrated for (no label of a known labeler, or a group without
        gold) has the chance of the calibrated ones with the same share of votes, or of all.
        """
        past = self.history
        known = self.calibrates | past.has_gold
        asked = np.where(known[item_idx], item_idx, -1)
        for place in np.flatnonzero(asked < 0):
            share = past.vote_share[item_idx[place]]
            pool = np.flatnonzero(known)
            distance = np.abs(np.nan_to_num(past.vote_share[pool] - share, nan=0.0))
            asked[place] = pool[np.argmin(distance)]
        return self.history_chance(asked)

    @property
    def prevalence(self) -> FloatArray:
        """Draws of the current rates, (draw, group)."""
        found = self.tilt if self.average is None else self.average
        return found.prevalence

    def current_chance(self, item_idx: IntArray, group: int) -> FloatArray:
        """P(y = 1) of items of one current group, (draw, item)."""
        found = self.tilt if self.average is None else self.average
        rate = np.clip(found.prevalence[:, group], EDGE, 1.0 - EDGE)
        return np.asarray(expit(found.log_ratio[:, item_idx] + logit(rate)[:, None]))


def beliefs(
    history: Labels, current: Labels, model: str, n_draws: int, random_seed: int
) -> Beliefs:
    """Draws of "auto" or "score".

    Raises
    ------
    Refusal
        If the labels cannot be calibrated.
    """
    if model == "score":
        return Beliefs(tilt(history, current, n_draws=n_draws, random_seed=random_seed), None)
    found = average(history, current, n_draws=n_draws, random_seed=random_seed)
    return Beliefs(found.tilt, found)


def _tilt_chance(draws: TiltDraws, past: Labels, item_idx: IntArray) -> FloatArray:
    """P(y = 1) under shared errors; NaN where the part of the labels leaves the item none."""
    place = {name: k for k, name in enumerate(draws.gold_groups)}
    by_group = np.array([place.get(name, 0) for name in past.groups("history")])
    score = draws.scores.history[:, item_idx][draws.component]
    alpha = draws.alpha[:, by_group[past.group_idx[item_idx]]]
    chance = expit(alpha + draws.slope[:, None] * score)
    return np.asarray(np.where(draws.scores.history_used[item_idx], chance, np.nan))


def _plain_chance(anchored: Anchored, draws: IndependentDraws, item_idx: IntArray) -> FloatArray:
    """P(y = 1) under independent errors at each draw of the rates, (rate draw, item)."""
    past = anchored.panel.history
    rate = np.empty((len(draws.sensitivity), past.n_groups))
    for g in range(past.n_groups):
        members = np.flatnonzero(past.group_idx == g)
        members = members[:: max(1, members.size // MOST_ITEMS)]
        ratio = _ratios(past.take_items(members), draws)
        gold = past.gold[members]
        share = np.full(len(ratio), anchored.history_prevalence[g])
        for _ in range(STEPS):
            at = logit(np.clip(share, EDGE, 1.0 - EDGE))[:, None]
            share = np.where(np.isnan(gold), expit(at + ratio), gold).mean(axis=1)
        rate[:, g] = share
    at = logit(np.clip(rate, EDGE, 1.0 - EDGE))[:, past.group_idx[item_idx]]
    return np.asarray(expit(at + _ratios_at(past, draws, item_idx)))


def _ratios_at(labels: Labels, draws: IndependentDraws, item_idx: IntArray) -> FloatArray:
    """Log-likelihood ratios of these items, in their order."""
    order = np.argsort(item_idx)
    sorted_ratios = _ratios(labels.take_items(item_idx), draws)
    out = np.empty_like(sorted_ratios)
    out[:, order] = sorted_ratios
    return out


def _ratios(labels: Labels, draws: IndependentDraws) -> FloatArray:
    code = label_codes(labels)
    rows: Sequence[FloatArray] = [
        sum_by_item(labels.item_ptr, code, log_ratio_table(one, other))
        for one, other in zip(draws.sensitivity, draws.specificity, strict=True)
    ]
    return np.stack(rows)
