"""Whether current items get as many labels, from such labelers, as history items did."""

import dataclasses
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hero_bayes.data.labels import Labels
from hero_bayes.estimators.shared_effect import SharedEffect

FloatArray = NDArray[np.float64]

#: Labels per item have changed when they differ by this factor on average over quantiles.
COUNT_LIMIT = 1.2
#: Labelers have changed when their mean logit of P(label 1 | class) moves by this much.
QUALITY_LIMIT = 0.2
N_QUANTILES = 100


@dataclass(frozen=True)
class LabelLaws:
    """How labels per item and labelers differ between the rounds.

    Attributes
    ----------
    history_count, current_count : float
        Median labels per labeled item.
    count_factor : float
        Typical factor between them, at least 1: exp of the mean distance of log quantiles.
    quality_shift : float array (class,)
        Mean logit of P(label 1 | class) over current labels less that over history labels.
    """

    history_count: float
    current_count: float
    count_factor: float
    quality_shift: FloatArray

    @property
    def counts_changed(self) -> bool:
        """Whether items get clearly more or fewer labels than in history."""
        return self.count_factor > COUNT_LIMIT

    @property
    def labelers_changed(self) -> bool:
        """Whether the labels come from clearly better or worse labelers than in history."""
        return bool(np.abs(self.quality_shift).max() > QUALITY_LIMIT)


def compare_laws(history: Labels, current: Labels, fit: SharedEffect) -> LabelLaws:
    """Compare the rounds, both on the labelers of the fit."""
    counts = [x.labels_per_item[x.labels_per_item > 0] for x in (history, current)]
    quality = np.zeros(2)
    factor = 1.0
    if min(c.size for c in counts):
        at = (np.arange(N_QUANTILES) + 0.5) / N_QUANTILES
        past, now = (np.log(np.quantile(c, at, method="inverted_cdf")) for c in counts)
        factor = float(np.exp(np.abs(past - now).mean()))
        means = [fit.intercept[:, x.labeler_idx].mean(axis=1) for x in (history, current)]
        quality = means[1] - means[0]
    return LabelLaws(
        history_count=float(np.median(counts[0])) if counts[0].size else 0.0,
        current_count=float(np.median(counts[1])) if counts[1].size else 0.0,
        count_factor=factor,
        quality_shift=quality,
    )


def thin(history: Labels, current: Labels, rng: np.random.Generator) -> Labels:
    """History items with at most as many labels as current items have, from the same labelers.

    Items of both rounds are matched by the rank of their number of labels. A history item keeps as
    many labels as its match has, or all it has. Labels are drawn without replacement with odds that
    follow the current round's mix of labelers: a labeler who has gone is never drawn.
    """
    n_labelers = history.n_labelers
    past, now = (
        np.bincount(x.labeler_idx, minlength=n_labelers) / max(x.n_labels, 1)
        for x in (history, current)
    )
    odds = np.divide(now, past, out=np.zeros(n_labelers), where=past > 0)
    rows = np.repeat(np.arange(history.n_items), history.labels_per_item)
    chance = odds[history.labeler_idx]
    # The largest keys u^(1/odds) are a draw without replacement (Efraimidis and Spirakis 2006).
    key = np.full(rows.size, -np.inf)
    at = rng.random(rows.size)
    possible = chance > 0.0
    key[possible] = np.log(at[possible]) / chance[possible]
    available = np.bincount(rows[possible], minlength=history.n_items)
    counts = np.sort(current.labels_per_item[current.labels_per_item > 0])
    order = np.lexsort((rng.random(history.n_items), available))
    target = np.empty(history.n_items, dtype=np.int64)
    where = (np.arange(history.n_items) * counts.size) // max(history.n_items, 1)
    target[order] = counts[where] if counts.size else 0
    target = np.minimum(target, available)
    by_key = np.lexsort((-key, rows))
    rank = np.arange(rows.size) - np.repeat(history.item_ptr[:-1], history.labels_per_item)
    keep = np.zeros(rows.size, dtype=bool)
    keep[by_key] = rank < target[rows]
    return dataclasses.replace(
        history,
        item_ptr=np.concatenate([[0], np.cumsum(target)]).astype(np.int64),
        labeler_idx=history.labeler_idx[keep],
        label=history.label[keep],
    )
