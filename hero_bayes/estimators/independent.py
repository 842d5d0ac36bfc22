"""Draws of the current round if labelers err independently, their rates drawn too."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from hero_bayes.data.labels import Labels
from hero_bayes.estimators.anchored_em import Anchored, label_codes
from hero_bayes.estimators.fallible_anchor import GOLD
from hero_bayes.estimators.kernels import log_ratio_table, sum_by_item
from hero_bayes.estimators.tilt_parts import ITEM_LIMIT, counted, draw_cells, draw_round, kinds
from hero_bayes.estimators.wide_information import wide_deviations

__all__ = ["IndependentDraws", "independent_draws", "rate_draws"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.integer]

#: Draws of the labelers' rates; each serves several draws of the current round.
RATE_DRAWS, WIDE_RATE_DRAWS, FEWEST_RATE_DRAWS = 400, 50, 20
#: Items that all rate draws together may go through.
LARGEST_WORK = 40_000_000
#: Standard deviation of the logit of a uniform number; no rate is less certain than that.
UNIFORM_LOGIT = float(np.pi / np.sqrt(3.0))


@dataclass(frozen=True)
class IndependentDraws:
    """Draws under independent errors.

    Attributes
    ----------
    prevalence, item_rate : float array (draw, group)
    current : Labels
        The round, on the labelers of the rates.
    rate_idx : int array (draw,)
        The draw of the rates that each draw rests on.
    notes : tuple of str
    sensitivity, specificity : float array (rate draw, labeler)
    """

    prevalence: FloatArray
    item_rate: FloatArray
    current: Labels
    rate_idx: IntArray
    notes: tuple[str, ...]
    sensitivity: FloatArray
    specificity: FloatArray

    @property
    def log_ratio(self) -> FloatArray:
        """Log-likelihood ratio (draw, current item); exact gold is not looked at."""
        return self.log_ratio_at(np.arange(self.rate_idx.size))

    def log_ratio_at(self, draw_idx: IntArray) -> FloatArray:
        """`log_ratio` of chosen draws."""
        used, place = np.unique(self.rate_idx[draw_idx], return_inverse=True)
        rates = self.sensitivity[used], self.specificity[used]
        return drawn_ratios(self.current, *rates)[place]


def rate_draws(
    anchored: Anchored, n_draws: int, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Sensitivity and specificity (draw, labeler) around the anchored rates.

    Notes
    -----
    Normal on the logit scale: the sandwich covariance of the anchored EM, carried over by the
    derivative of the logit. Rates on the boundary are centred at (hits + 1) / (n + 2). No logit has
    a larger standard deviation than that of a uniform rate. The rate of a labeler that stands for
    fallible gold stays where it is.
    """
    at = anchored.interior
    rate = np.concatenate([at.sensitivity, at.specificity])
    covariance = anchored.covariance[0]
    if isinstance(covariance, np.ndarray):
        value, vector = np.linalg.eigh(covariance)
        root = vector * np.sqrt(np.maximum(value, 0.0))
        moved = rng.standard_normal((n_draws, value.size)) @ root.T
        deviation = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    else:
        place = at.sensitivity, at.specificity, at.prevalence
        moved = wide_deviations(at.data, at.truth, *place, n_draws, rng)
        moved = moved[:, : rate.size]
        deviation = np.sqrt(np.mean(moved**2, axis=0))
    steep = 1.0 / (rate * (1.0 - rate))
    scale = steep * np.minimum(1.0, UNIFORM_LOGIT / np.maximum(steep * deviation, 1e-12))
    fixed = np.tile(np.asarray(anchored.panel.labelers == GOLD, dtype=bool), 2)
    drawn = expit(logit(rate) + moved * np.where(fixed, 0.0, scale))
    drawn[:, fixed] = np.concatenate([anchored.sensitivity, anchored.specificity])[fixed]
    return drawn[:, : at.sensitivity.size], drawn[:, at.sensitivity.size :]


def drawn_ratios(labels: Labels, sensitivity: FloatArray, specificity: FloatArray) -> FloatArray:
    """Log-likelihood ratio (rate draw, item) at each draw of the rates; gold is not looked at."""
    code = label_codes(labels)
    ratio = np.empty((len(sensitivity), labels.n_items))
    for k in range(len(sensitivity)):
        table = log_ratio_table(sensitivity[k], specificity[k])
        ratio[k] = sum_by_item(labels.item_ptr, code, table)
    return ratio


def independent_draws(
    anchored: Anchored, n_draws: int, rng: np.random.Generator
) -> IndependentDraws:
    """Prevalence and item rate of every current group, labeler uncertainty included.

    Given one draw of the rates, the prevalence is drawn exactly from its posterior under a
    Beta(1, 1) prior, then the truth of every item without gold.
    """
    current = anchored.panel.current
    dense = isinstance(anchored.covariance[0], np.ndarray)
    room = LARGEST_WORK // max(current.n_items, 1)
    most = int(np.clip(room, FEWEST_RATE_DRAWS, RATE_DRAWS if dense else WIDE_RATE_DRAWS))
    n_rates = min(n_draws, most)
    sensitivity, specificity = rate_draws(anchored, n_rates, rng)
    rate_idx = rng.permutation(np.arange(n_draws) % n_rates)
    prevalence, item_rate = np.empty((2, n_draws, current.n_groups))
    if current.n_items > ITEM_LIMIT:
        for k in range(n_rates):
            rows = np.flatnonzero(rate_idx == k)
            one = drawn_ratios(current, sensitivity[k : k + 1], specificity[k : k + 1])[0]
            value, count, first = counted(one, kinds(current))
            prevalence[rows], item_rate[rows] = draw_cells(
                np.tile(value, (rows.size, 1)),
                current.gold[first],
                True,
                current.group_idx[first],
                count,
                current.n_groups,
                rng,
            )
    else:
        ratio = drawn_ratios(current, sensitivity, specificity)
        block = max(1, 2_000_000 // max(current.n_items, 1))
        for begin in range(0, n_draws, block):
            rows = np.arange(begin, min(begin + block, n_draws))
            at_prevalence = rng.random((rows.size, current.n_groups))
            at_item = rng.random((rows.size, current.n_items))
            for d, row in enumerate(rows):
                draw_round(
                    ratio[rate_idx[row]],
                    current.gold,
                    True,
                    current.group_idx,
                    at_prevalence[d],
                    at_item[d],
                    prevalence[row],
                    item_rate[row],
                )
    return IndependentDraws(
        prevalence=prevalence,
        item_rate=item_rate,
        current=current,
        rate_idx=rate_idx,
        notes=silent_groups(current),
        sensitivity=sensitivity,
        specificity=specificity,
    )


def silent_groups(current: Labels, only: str | None = None) -> tuple[str, ...]:
    """A remark on every group (or one) with neither a label of a known labeler nor gold."""
    heard = (current.labels_per_item > 0) | current.has_gold
    count = np.bincount(current.group_idx[heard], minlength=current.n_groups)
    names = current.groups("current")
    return tuple(
        f"nothing is known of {names[g]}: no label is from a labeler whom history knows"
        for g in np.flatnonzero(count == 0)
        if only in (None, names[g])
    )
