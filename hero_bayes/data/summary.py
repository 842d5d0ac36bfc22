"""What a label table holds, counted and said in words."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hero_bayes.data.identifiers import contained, number_of, some
from hero_bayes.data.tables import Reading

if TYPE_CHECKING:
    from hero_bayes.data.labels import Labels

__all__ = ["LabelsSummary", "gold_counts", "summarise", "vote_share"]


@dataclass(frozen=True)
class LabelsSummary:
    """Counts of a label table; printing it gives a paragraph for a person.

    Attributes
    ----------
    items, labelers, labels : int
        Sizes.
    labels_per_item : tuple of float
        Minimum, median, maximum.
    gold_positive, gold_negative : int
        Items with gold of each class.
    abstentions, ties_dropped, repeats_resolved, items_dropped : int
        What is no label.
    reading : Reading
        What reading the files left out.
    gold_abstained : int
        Items on which the expert gave no verdict.
    without_gold_positive, without_gold_negative : tuple of str
        Labelers with no label on gold of that class.
    groups : mapping of group name to (items, items with gold)
        One entry per round and arm.
    unseen : tuple of str, or None
        Labelers without a label in history; None when no history was given.
    unseen_labels : int
        Their labels.
    """

    items: int
    labelers: int
    labels: int
    labels_per_item: tuple[int, float, int]
    gold_positive: int
    gold_negative: int
    abstentions: int
    ties_dropped: int
    repeats_resolved: int
    items_dropped: int
    reading: Reading
    without_gold_positive: tuple[str, ...]
    without_gold_negative: tuple[str, ...]
    groups: dict[str, tuple[int, int]]
    unseen: tuple[str, ...] | None = None
    unseen_labels: int = 0
    gold_abstained: int = 0

    def __str__(self) -> str:
        """One fact a line."""
        low, middle, high = self.labels_per_item
        gold = self.gold_positive + self.gold_negative
        silent = ""
        if self.gold_abstained:
            silent = f"; no verdict of the expert on {number_of(self.gold_abstained, 'more item')}"
        lines = [
            f"{number_of(self.items, 'item')}, {number_of(self.labelers, 'labeler')}, "
            f"{number_of(self.labels, 'label')}",
            f"labels per item: min {low:,}, median {middle:,g}, max {high:,}",
            f"gold: {number_of(gold, 'item')} ({self.gold_positive:,} of class 1, "
            f"{self.gold_negative:,} of class 0){silent}",
            f"abstentions: {self.abstentions:,}",
        ]
        if gold:
            for cls, names in ((1, self.without_gold_positive), (0, self.without_gold_negative)):
                said = f"{len(names):,} ({', '.join(names[:5])}{', ...' * (len(names) > 5)})"
                lines.append(f"labelers without gold of class {cls}: {said if names else 'none'}")
        lines.append(
            "groups: "
            + "; ".join(
                f"{name}: {number_of(n, 'item')}, {g:,} gold"
                for name, (n, g) in self.groups.items()
            )
        )
        left = [
            f"{number_of(count, what)} {done}"
            for count, what, done in (
                (self.items_dropped, "item", "without a label left out"),
                (self.repeats_resolved, "repeated verdict", "resolved"),
                (self.ties_dropped, "tie", "dropped"),
            )
            if count
        ]
        left += [str(self.reading)] if str(self.reading) else []
        if left:
            lines.append("on reading: " + ", ".join(left))
        if self.unseen is not None:
            share = self.unseen_labels / self.labels if self.labels else 0.0
            who = f" ({some(self.unseen)})" if self.unseen else ""
            lines.append(
                f"labelers unseen in history: {len(self.unseen):,}{who}, "
                f"with {share:.1%} of the labels"
            )
        return "\n".join(lines)


def summarise(labels: "Labels", history: "Labels | None" = None) -> LabelsSummary:
    """Count what `Labels.summary` shows."""
    per_item = labels.labels_per_item if labels.n_items else np.zeros(1, dtype=np.int64)
    counts = gold_counts(labels)
    unseen: NDArray[np.bool_] | None = None
    if history is not None:
        seen = set(history.labelers[history.labels_per_labeler > 0])
        unseen = ~contained(labels.labelers, seen)
    sizes = np.bincount(labels.group_idx, minlength=labels.n_groups)
    golds = np.bincount(labels.group_idx[labels.has_gold], minlength=labels.n_groups)
    names = labels.groups("all items")
    return LabelsSummary(
        items=labels.n_items,
        labelers=labels.n_labelers,
        labels=labels.n_labels,
        labels_per_item=(int(per_item.min()), float(np.median(per_item)), int(per_item.max())),
        gold_positive=int((labels.gold == 1).sum()),
        gold_negative=int((labels.gold == 0).sum()),
        abstentions=len(labels.abstained_item),
        ties_dropped=labels.ties_dropped,
        repeats_resolved=labels.repeats_resolved,
        items_dropped=labels.items_dropped,
        reading=labels.reading,
        without_gold_positive=tuple(counts.index[counts["n_gold_positive"] == 0]),
        without_gold_negative=tuple(counts.index[counts["n_gold_negative"] == 0]),
        groups={name: (int(n), int(g)) for name, n, g in zip(names, sizes, golds, strict=True)},
        unseen=None if unseen is None else tuple(labels.labelers[unseen]),
        unseen_labels=0 if unseen is None else int(labels.labels_per_labeler[unseen].sum()),
        gold_abstained=labels.gold_abstained,
    )


def gold_counts(labels: "Labels") -> pd.DataFrame:
    """Count labels, labels on gold of each class, and abstentions, by labeler."""
    gold = np.repeat(labels.gold, labels.labels_per_item)
    n = labels.n_labelers
    index = pd.Index(labels.labelers, name="labeler", dtype=object)
    silent = pd.Series(labels.abstained_labeler, dtype=object).value_counts()
    return pd.DataFrame(
        {
            "n_labels": labels.labels_per_labeler,
            "n_gold_positive": np.bincount(labels.labeler_idx[gold == 1], minlength=n),
            "n_gold_negative": np.bincount(labels.labeler_idx[gold == 0], minlength=n),
            "abstentions": [int(silent.get(name, 0)) for name in labels.labelers],
            "family": pd.Series(labels.family, index=index, dtype=object),
        },
        index=index,
    )


def vote_share(labels: "Labels") -> NDArray[np.float64]:
    """Return the share of ones among each item's labels, NaN where there is none."""
    counts = labels.labels_per_item
    total = np.concatenate([[0], np.cumsum(labels.label, dtype=np.int64)])
    ones = np.diff(total[labels.item_ptr]).astype(np.float64)
    share = np.full(labels.n_items, np.nan)
    np.divide(ones, counts, out=share, where=counts > 0)
    return share
