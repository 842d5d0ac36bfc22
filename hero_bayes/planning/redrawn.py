"""Rounds that could come next: drawn truths, and items resampled with their labels."""

import dataclasses

import numpy as np
from numpy.typing import NDArray

from hero_bayes.data.labels import Labels

__all__ = ["drawn_round", "known_gold", "thinned"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


def known_gold(history: Labels, truth: NDArray[np.int8], added: int, order: IntArray) -> Labels:
    """History whose next ``added`` items without gold in ``order`` have got it.

    Parameters
    ----------
    history : Labels
    truth : int array (item,)
        The drawn truth.
    added : int
        How many.
    order : int array (item,)
        All items in the order in which experts would label them.
    """
    gold = history.gold.copy()
    open_ = order[~history.has_gold[order]][:added]
    gold[open_] = truth[open_]
    return dataclasses.replace(history, gold=gold)


def drawn_round(
    history: Labels,
    truth: NDArray[np.int8],
    rate: float,
    n_items: int,
    labels_per_item: int | None,
    rng: np.random.Generator,
) -> tuple[Labels, NDArray[np.int8]]:
    """A round of so many items, each with the labels of a history item of the same truth.

    Parameters
    ----------
    history : Labels
        Where labels are taken from, several of an item together, so that they stay as dependent as
        they are.
    truth : int array (item,)
        The drawn truth of history.
    rate : float
        P(y = 1) of the source.
    n_items : int
        Items of the round.
    labels_per_item : int, optional
        Labels that are kept of each item, at random; default: all.
    rng : numpy.random.Generator
        Draws truths, then items, then labels.

    Returns
    -------
    tuple
        The round, without gold, and the truth of its items.
    """
    # By rows, so that the first items of a larger round are those of a smaller one.
    chance, place = rng.random((n_items, 2)).T
    y = (chance < rate).astype(np.int8)
    enough = history.labels_per_item >= (labels_per_item or 1)
    source = np.empty(n_items, dtype=np.int64)
    for value in (0, 1):
        pool = np.flatnonzero((truth == value) & enough)
        wanted = y == value
        source[wanted] = pool[(place[wanted] * pool.size).astype(np.int64)]
    made = _taken(history, source)
    return (made if labels_per_item is None else thinned(made, labels_per_item, rng)), y


def thinned(labels: Labels, labels_per_item: int, rng: np.random.Generator) -> Labels:
    """At most so many labels of each item, at random; an item that has no more keeps them."""
    item_idx = np.repeat(np.arange(labels.n_items), labels.labels_per_item)
    order = np.lexsort((rng.random(item_idx.size), item_idx))
    rank = np.empty(item_idx.size, dtype=np.int64)
    rank[order] = np.arange(item_idx.size) - labels.item_ptr[:-1][item_idx]
    kept = rank < labels_per_item
    count = np.bincount(item_idx[kept], minlength=labels.n_items)
    return dataclasses.replace(
        labels,
        item_ptr=np.concatenate([[0], np.cumsum(count)]).astype(np.int64),
        labeler_idx=labels.labeler_idx[kept],
        label=labels.label[kept],
    )


def _taken(labels: Labels, source: IntArray) -> Labels:
    """One item for each source, with its labels; repeats are items of their own."""
    size = labels.labels_per_item[source]
    ptr = np.concatenate([[0], np.cumsum(size)]).astype(np.int64)
    at = np.arange(ptr[-1]) - np.repeat(ptr[:-1] - labels.item_ptr[source], size)
    names = np.empty(source.size, dtype=object)
    names[:] = [str(k) for k in range(source.size)]
    return Labels(
        items=names,
        labelers=labels.labelers,
        item_ptr=ptr,
        labeler_idx=labels.labeler_idx[at],
        label=labels.label[at],
        gold=np.full(source.size, np.nan),
        group_idx=np.zeros(source.size, dtype=np.int32),
        family=labels.family,
        version=labels.version,
    )
