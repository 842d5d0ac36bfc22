"""Correlation of labelers' errors within a class of gold, for any weights of the items."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hero_bayes.data.labels import Labels

__all__ = ["ClassTable", "MeanCorrelations", "class_tables", "mean_correlations", "pair_sums"]

FloatArray = NDArray[np.float64]
#: Fewer labels on gold of a class say nothing of a labeler's errors there.
FEWEST_LABELS = 5


@dataclass(frozen=True)
class ClassTable:
    """Labels on the gold items of one class, (item, labeler); 0 where there is none."""

    truth: int
    label: FloatArray
    seen: FloatArray


@dataclass(frozen=True)
class MeanCorrelations:
    """Mean correlations of two labels of one item: of all pairs, within and between families."""

    overall: float
    within: float
    between: float


def class_tables(labels: Labels) -> list[ClassTable]:
    """One table a class of gold, without labelers who have too few labels in it.

    A repeated label enters as its mean.
    """
    tables = []
    for truth in (0, 1):
        judged = labels.take_items(np.flatnonzero(labels.gold == truth))
        shape = (judged.n_items, judged.n_labelers)
        label, seen = np.zeros(shape), np.zeros(shape)
        item_idx = np.repeat(np.arange(judged.n_items), judged.labels_per_item)
        np.add.at(label, (item_idx, judged.labeler_idx), judged.label.astype(float))
        np.add.at(seen, (item_idx, judged.labeler_idx), 1.0)
        label = label / np.maximum(seen, 1.0)
        seen = np.minimum(seen, 1.0)
        seen[:, seen.sum(axis=0) < FEWEST_LABELS] = 0.0
        tables.append(ClassTable(truth, label * seen, seen))
    return tables


def mean_correlations(
    tables: list[ClassTable], weights: list[FloatArray], member: FloatArray
) -> MeanCorrelations:
    """Mean product of two errors of one item over the mean squared error.

    Parameters
    ----------
    tables : list of ClassTable
    weights : list of array (item,)
        One a table.
    member : array (labeler, family)
        1 where a labeler belongs to a family; no columns where families are unknown.

    Notes
    -----
    An error is a label minus the labeler's own (weighted) mean in the class. Labelers who differ
    more weigh more, so that 1 + (n - 1) r is the variance of an item's number of positive labels
    against that of independent labels.
    """
    products, pairs, squares, known = np.zeros(2), np.zeros(2), 0.0, 0.0
    for table, weight in zip(tables, weights, strict=True):
        total = weight @ table.seen
        mean = (weight @ table.label) / np.where(total > 0, total, 1.0)
        error = (table.label - mean) * table.seen
        square, size = (error**2).sum(axis=1), table.seen.sum(axis=1)
        squares += float(weight @ square)
        known += float(weight @ size)
        # Families first: their members' errors summed, less the squares of single errors.
        own, own_size = error @ member, table.seen @ member
        inside = (own**2).sum(axis=1) - (error**2 @ member).sum(axis=1)
        inside_pairs = (own_size**2 - own_size).sum(axis=1)
        products += weight @ np.column_stack([error.sum(axis=1) ** 2 - square, inside])
        pairs += weight @ np.column_stack([size**2 - size, inside_pairs])
    level = squares / known if known > 0 else 0.0
    rest = products[0] - products[1], pairs[0] - pairs[1]

    def ratio(product: float, number: float) -> float:
        return float(product / number / level) if number > 0 and level > 0 else np.nan

    return MeanCorrelations(
        ratio(products[0], pairs[0]), ratio(products[1], pairs[1]), ratio(rest[0], rest[1])
    )


def pair_sums(
    tables: list[ClassTable], weights: list[FloatArray], chosen: NDArray[np.integer]
) -> tuple[FloatArray, FloatArray]:
    """Sums behind the correlation of every pair, on the items both judged, over the classes.

    Parameters
    ----------
    tables, weights : list
        See :func:`mean_correlations`.
    chosen : int array (chosen labeler,)

    Returns
    -------
    tuple of arrays (chosen, chosen)
        Centred products of j and k; centred squares of j on the items that k judged too.
    """
    product = np.zeros((chosen.size, chosen.size))
    square = np.zeros_like(product)
    for table, weight in zip(tables, weights, strict=True):
        label, seen = table.label[:, chosen], table.seen[:, chosen]
        weighted, common = label * weight[:, None], seen.T @ (seen * weight[:, None])
        total = weighted.T @ seen
        common = np.where(common > 0, common, 1.0)
        product += weighted.T @ label - total * total.T / common
        square += (weighted * label).T @ seen - total**2 / common
    return product, square
