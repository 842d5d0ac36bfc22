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
    count_ratio : float
        Current over history, the same with signs: above 1 where current items have more labels.
    quality_shift : float array (class,)
        Mean logit of P(label 1 | class) over current labels less that over history labels.
    """

    history_count: float
    current_count: float
    count_factor: float
    count_ratio: float
    quality_shift: FloatArray

    @property
    def counts_changed(self) -> bool:
        """Whether items get clearly more or fewer labels than in history."""
        return self.count_factor > COUNT_LIMIT

    @property
    def more_labels(self) -> bool:
        """Whether current items have clearly more labels."""
        return self.counts_changed and self.count_ratio > 1.0

    @property
    def changed(self) -> bool:
        """Whether a share of votes does not mean what it meant in history."""
        return self.counts_changed or self.labelers_changed

    @property
    def reason(self) -> str:
        """How the rounds differ, for a person."""
        parts = []
        if self.counts_changed or not self.changed:
            parts.append(
                f"labels per item: median {self.history_count:g} in history, "
                f"{self.current_count:g} now"
            )
        if self.labelers_changed:
            negative, positive = self.quality_shift
            parts.append(
                "the current labels come from other labelers (mean logit of saying 1 moved by "
                f"{positive:+.2f} on positives, {negative:+.2f} on negatives)"
            )
        return "; ".join(parts)

    @property
    def labelers_changed(self) -> bool:
        """Whether the labels come from clearly better or worse labelers than in history."""
        return bool(np.abs(self.quality_shift).max() > QUALITY_LIMIT)


def compare_laws(history: Labels, current: Labels, fit: SharedEffect) -> LabelLaws:
    """Compare the rounds, both on the labelers of the fit."""
    counts = [x.labels_per_item[x.labels_per_item > 0] for x in (history, current)]
    quality = np.zeros(2)
    factor, ratio = count_change(history, current)
    if min(c.size for c in counts):
        means = [fit.intercept[:, x.labeler_idx].mean(axis=1) for x in (history, current)]
        quality = means[1] - means[0]
    return LabelLaws(
        history_count=float(np.median(counts[0])) if counts[0].size else 0.0,
        current_count=float(np.median(counts[1])) if counts[1].size else 0.0,
        count_factor=factor,
        count_ratio=ratio,
        quality_shift=quality,
    )


def count_change(history: Labels, current: Labels) -> tuple[float, float]:
    """Typical factor between labels per item, at least 1, and current over history with signs."""
    counts = [x.labels_per_item[x.labels_per_item > 0] for x in (history, current)]
    if not min(c.size for c in counts):
        return 1.0, 1.0
    at = (np.arange(N_QUANTILES) + 0.5) / N_QUANTILES
    past, now = (np.log(np.quantile(c, at, method="inverted_cdf")) for c in counts)
    return float(np.exp(np.abs(past - now).mean())), float(np.exp((now - past).mean()))


def thin(labels: Labels, like: Labels, rng: np.random.Generator) -> Labels:
    """The items with no more labels than those of the other round have, from such labelers.

    Items of both rounds are matched by the rank of their number of labels; an item keeps as many
    labels as its match has, or all it has. Labels are drawn without replacement with odds that
    follow the other round's mix of labelers; labels of labelers who are not in it all go.
    """
    mine, theirs = (
        np.bincount(x.labeler_idx, minlength=labels.n_labelers) / max(x.n_labels, 1)
        for x in (labels, like)
    )
    odds = np.divide(theirs, mine, out=np.zeros(labels.n_labelers), where=mine > 0)
    rows = np.repeat(np.arange(labels.n_items), labels.labels_per_item)
    chance = odds[labels.labeler_idx]
    # The largest keys u^(1/odds) are a draw without replacement (Efraimidis and Spirakis 2006).
    key = np.full(rows.size, -np.inf)
    possible = chance > 0.0
    key[possible] = np.log(rng.random(rows.size)[possible]) / chance[possible]
    available = np.bincount(rows[possible], minlength=labels.n_items)
    counts = np.sort(like.labels_per_item[like.labels_per_item > 0])
    order = np.lexsort((rng.random(labels.n_items), available))
    order = order[available[order] > 0]
    target = np.zeros(labels.n_items, dtype=np.int64)
    if counts.size:
        target[order] = counts[(np.arange(order.size) * counts.size) // max(order.size, 1)]
    target = np.minimum(target, available)
    by_key = np.lexsort((-key, rows))
    rank = np.arange(rows.size) - np.repeat(labels.item_ptr[:-1], labels.labels_per_item)
    keep = np.zeros(rows.size, dtype=bool)
    keep[by_key] = rank < target[rows]
    return dataclasses.replace(
        labels,
        item_ptr=np.concatenate([[0], np.cumsum(target)]).astype(np.int64),
        labeler_idx=labels.labeler_idx[keep],
        label=labels.label[keep],
    )
