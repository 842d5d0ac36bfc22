"""Do labelers err on the same items, given the truth? One account, from the items with gold.

Every table here is sparse, and time is linear in the number of labels.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from hero_bayes.errors import Refusal

if TYPE_CHECKING:
    from hero_bayes.data.labels import Labels

__all__ = [
    "GoldLabels",
    "MeanCorrelations",
    "Ranged",
    "SharedErrors",
    "shared_errors",
    "worth_sentence",
]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.integer]

#: Fewer labels on gold of a class say nothing of a labeler's errors there.
FEWEST_LABELS = 5
#: Gold items of each class that are needed.
FEWEST_ITEMS = 5
#: Re-weightings of the items for the interval of the mean correlation.
RESAMPLES, FEWEST_RESAMPLES = 1000, 100
#: Labels that all re-weightings together may touch; they are fewer where tables are large.
LARGEST_WORK = 500_000_000
#: Numbers held at once by a block of re-weightings.
BLOCK = 4_000_000
#: Centred squares below this are none at all.
NOTHING = 1e-9


@dataclass(frozen=True)
class Ranged:
    """A number with its interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        digits = 2 if abs(self.value) < 1 else 1
        return f"{self.value:.{digits}f} ({self.low:.{digits}f} to {self.high:.{digits}f})"


@dataclass(frozen=True)
class GoldLabels:
    """Labels on gold items, of labelers with enough labels on gold of the item's class.

    Attributes
    ----------
    n_items : tuple of int
        Gold items of class 0 and of class 1; those of class 0 come first.
    n_labelers : int
        Of the whole table.
    item_idx, labeler_idx : int array (label,)
        Sorted by item, then labeler.
    value : float array (label,)
        A repeated label is one label, the mean of its repeats.
    family : tuple of str or None
        One per labeler.
    """

    n_items: tuple[int, int]
    n_labelers: int
    item_idx: IntArray
    labeler_idx: IntArray
    value: FloatArray
    family: tuple[str | None, ...]

    @cached_property
    def truth(self) -> IntArray:
        """Class of each item."""
        return np.repeat([0, 1], self.n_items)

    @cached_property
    def per_item(self) -> IntArray:
        """Labels of each item."""
        return np.bincount(self.item_idx, minlength=sum(self.n_items))

    @cached_property
    def per_labeler(self) -> IntArray:
        """Labels of each labeler, on gold of either class."""
        return np.bincount(self.labeler_idx, minlength=self.n_labelers)

    def of_class(self, truth: int) -> "GoldLabels":
        """The labels on gold of one class, the items counted from 0."""
        chosen = self.truth[self.item_idx] == truth
        size = self.n_items[truth]
        return replace(
            self,
            n_items=(size, 0) if truth == 0 else (0, size),
            item_idx=self.item_idx[chosen] - truth * self.n_items[0],
            labeler_idx=self.labeler_idx[chosen],
            value=self.value[chosen],
        )

    def of_labelers(self, chosen: IntArray) -> "GoldLabels":
        """The labels of chosen labelers, who are counted from 0."""
        place = np.full(self.n_labelers, -1)
        place[chosen] = np.arange(chosen.size)
        labeler_idx = place[self.labeler_idx]
        stays = labeler_idx >= 0
        return replace(
            self,
            n_labelers=chosen.size,
            item_idx=self.item_idx[stays],
            labeler_idx=labeler_idx[stays],
            value=self.value[stays],
            family=tuple(self.family[j] for j in chosen),
        )


@dataclass(frozen=True)
class MeanCorrelations:
    """Mean correlations of two labels of one item, one a weighting of the items (draw,).

    Of all pairs; of pairs within a family, and of all others.
    """

    overall: FloatArray
    within: FloatArray
    between: FloatArray


@dataclass(frozen=True)
class SharedErrors:
    """How far the errors of labelers go together within a class of gold.

    Attributes
    ----------
    gold : GoldLabels
        What it rests on.
    overall, within, between : Ranged
        Mean correlation of two labels of one item, given the truth: of all pairs, within families
        of labelers, and between them (NaN where there are no such pairs).
    effective_judges : Ranged
        How many independent labels those of an item are worth, n / (1 + (n - 1) r).
    labels_per_item : float
        Mean number of labels of a gold item.
    n_items, n_judges : int
        Gold items and labelers used.
    """

    gold: GoldLabels
    overall: Ranged
    within: Ranged
    between: Ranged
    effective_judges: Ranged
    labels_per_item: float
    n_items: int
    n_judges: int

    @property
    def visible(self) -> bool:
        """Whether gold shows that labelers err together: the interval lies above 0."""
        return self.overall.low > 0.0

    @property
    def sentence(self) -> str:
        """What an item's labels are worth."""
        return worth_sentence(self.labels_per_item, self.n_judges, self.effective_judges)


def worth_sentence(labels_per_item: float, n_judges: int, effective: Ranged) -> str:
    """What an item's labels are worth."""
    who = f"{labels_per_item:.1f} labels an item carry"
    if np.isclose(labels_per_item, n_judges):
        who = f"{n_judges} judges carry"
    return f"{who} the information of {effective}"


def shared_errors(history: "Labels", prob: float, rng: np.random.Generator) -> SharedErrors:
    """The mean correlation of errors with its interval.

    Raises
    ------
    Refusal
        With fewer than five gold items of a class, or no two labelers who share gold items.

    Notes
    -----
    Errors are labels minus the labeler's own mean within the class of gold. The correlation is the
    mean product of two errors of one item over the mean squared error, so that labelers who differ
    more weigh more, and 1 + (n - 1) r is the variance of an item's number of positive labels
    against that of independent labels. The interval re-weights the items (Bayesian bootstrap).
    """
    counts = [int((history.gold == truth).sum()) for truth in (0, 1)]
    if min(counts) < FEWEST_ITEMS:
        raise Refusal(
            f"dependence needs at least {FEWEST_ITEMS} gold items of each class, the history has "
            f"{counts[0]} of class 0 and {counts[1]} of class 1: give more gold"
        )
    gold = labels_on_gold(history)
    if gold.per_item.max() < 2:
        raise Refusal(
            f"no gold item has labels of two labelers with at least {FEWEST_LABELS} labels on gold "
            "of its class: let several labelers judge the same gold items"
        )
    point = mean_correlations(gold, np.ones((1, gold.per_item.size)))
    if np.isnan(point.overall[0]):
        raise Refusal(
            "no labeler's labels differ within a class of gold, so that there are no errors to "
            "compare: give more gold"
        )
    resamples = int(np.clip(LARGEST_WORK // gold.value.size, FEWEST_RESAMPLES, RESAMPLES))
    drawn = [mean_correlations(gold, w) for w in _weights(gold, resamples, rng)]

    def ranged(role: str) -> Ranged:
        value = float(getattr(point, role)[0])
        if np.isnan(value):
            return Ranged(np.nan, np.nan, np.nan)
        draws = np.concatenate([getattr(d, role) for d in drawn])
        low, high = np.quantile(draws, [(1 - prob) / 2, (1 + prob) / 2])
        return Ranged(value, float(low), float(high))

    overall = ranged("overall")
    n_labels = float(gold.per_item[gold.per_item > 0].mean())
    return SharedErrors(
        gold=gold,
        overall=overall,
        within=ranged("within"),
        between=ranged("between"),
        effective_judges=Ranged(
            _worth(n_labels, overall.value),
            _worth(n_labels, overall.high),
            _worth(n_labels, overall.low),
        ),
        labels_per_item=n_labels,
        n_items=int((gold.per_item > 0).sum()),
        n_judges=int((gold.per_labeler > 0).sum()),
    )


def labels_on_gold(labels: "Labels") -> GoldLabels:
    """The labels that speak of errors, the items of class 0 first."""
    place = np.full(labels.n_items, -1)
    items = [np.flatnonzero(labels.gold == truth) for truth in (0, 1)]
    place[np.concatenate(items)] = np.arange(items[0].size + items[1].size)
    item_idx = np.repeat(place, labels.labels_per_item)
    known = item_idx >= 0
    key = item_idx[known] * labels.n_labelers + labels.labeler_idx[known]
    key, where, repeats = np.unique(key, return_inverse=True, return_counts=True)
    value = np.bincount(where, labels.label[known], minlength=key.size) / repeats
    item_idx, labeler_idx = np.divmod(key, labels.n_labelers)
    column = labeler_idx + labels.n_labelers * (item_idx >= items[0].size)
    enough = np.bincount(column, minlength=2 * labels.n_labelers)[column] >= FEWEST_LABELS
    return GoldLabels(
        n_items=(items[0].size, items[1].size),
        n_labelers=labels.n_labelers,
        item_idx=item_idx[enough],
        labeler_idx=labeler_idx[enough],
        value=value[enough],
        family=tuple(labels.family),
    )


def mean_correlations(gold: GoldLabels, weights: FloatArray) -> MeanCorrelations:
    """Mean product of two errors of one item over the mean squared error, by weighting.

    ``weights`` is (draw, item). Families first: their members' errors summed, less the squares.
    """
    every = np.arange(gold.item_idx.size)
    names = sorted({name for name in gold.family if name is not None})
    of_labeler = np.array([-1 if f is None else names.index(f) for f in gold.family], dtype=int)
    family = of_labeler[gold.labeler_idx]
    inside = np.flatnonzero(family >= 0)
    _, cell = np.unique(
        gold.item_idx[inside] * max(len(names), 1) + family[inside], return_inverse=True
    )
    # One column of means for every labeler in each class of gold.
    column = gold.labeler_idx + gold.n_labelers * gold.truth[gold.item_idx]
    shape = (weights.shape[1], 2 * gold.n_labelers)
    item_weight = weights.T

    def by_column(value: FloatArray) -> FloatArray:
        table = csr_array((value, (gold.item_idx, column)), shape=shape)
        return np.asarray(table.T @ item_weight)

    number, positive = by_column(np.ones(every.size)), by_column(gold.value)
    squared = by_column(gold.value**2) if (gold.value % 1.0).any() else positive
    mean = positive / np.where(number > 0, number, 1.0)
    square = squared - positive * mean

    def pairs(rows: IntArray, cell: IntArray, square: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Weighted products of errors over the pairs of labels in one cell; number of pairs."""
        size = np.bincount(cell)
        item = np.zeros(size.size, dtype=np.int64)
        item[cell] = gold.item_idx[rows]
        of_cell = csr_array((np.ones(rows.size), (cell, column[rows])), (size.size, shape[1]))
        error = np.bincount(cell, gold.value[rows])[:, None] - of_cell @ mean
        weight = item_weight[item]
        return (weight * error**2).sum(axis=0) - square, (size**2 - size) @ weight

    products, numbers = pairs(every, gold.item_idx, square.sum(axis=0))
    own = np.zeros((2, weights.shape[0]))
    if inside.size:
        member = np.tile(of_labeler >= 0, 2)
        own = np.stack(pairs(inside, cell, square[member].sum(axis=0)))
    level = square.sum(axis=0) / number.sum(axis=0)

    def ratio(product: FloatArray, count: FloatArray) -> FloatArray:
        defined = (count > 0) & (square.sum(axis=0) > NOTHING)
        scale = np.where(defined, count * level, 1.0)
        return np.where(defined, product / scale, np.nan)

    return MeanCorrelations(
        ratio(products, numbers), ratio(own[0], own[1]), ratio(products - own[0], numbers - own[1])
    )


def _weights(gold: GoldLabels, number: int, rng: np.random.Generator) -> Iterator[FloatArray]:
    """Exponential(1) weights (draw, item), a block of draws at a time."""
    size = gold.per_item.size
    block = max(1, BLOCK // max(size, 2 * gold.n_labelers))
    for begin in range(0, number, block):
        yield rng.exponential(size=(min(block, number - begin), size))


def _worth(n_labels: float, correlation: float) -> float:
    """Independent labels that ``n_labels`` correlated ones are worth."""
    return n_labels / (1.0 + (n_labels - 1.0) * max(correlation, 0.0))
