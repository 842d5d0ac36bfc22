"""First gold: items over the whole range of votes, where nothing is calibrated yet."""

import numpy as np
from numpy.typing import NDArray

from hero_bayes.data.labels import Labels

__all__ = ["spread_over_votes"]

IntArray = NDArray[np.int64]

#: Parts of the range of votes that take turns.
PARTS = 10


def spread_over_votes(
    labels: Labels, item_idx: IntArray, budget: int, rng: np.random.Generator
) -> IntArray:
    """Items from every part of the range of votes in turn, the most positive first.

    Parameters
    ----------
    labels : Labels
    item_idx : int array
        Items to choose from.
    budget : int
        How many.
    rng : numpy.random.Generator
        Chooses within a part.

    Returns
    -------
    int array
        At most as many as there are, in order.
    """
    share = np.nan_to_num(labels.vote_share[item_idx], nan=0.5)
    part = np.minimum((share * PARTS).astype(np.int64), PARTS - 1)
    turn = np.empty(item_idx.size, dtype=np.int64)
    for value in np.unique(part):
        members = np.flatnonzero(part == value)
        turn[rng.permutation(members)] = np.arange(members.size)
    return np.asarray(item_idx[np.lexsort((-part, turn))][:budget], dtype=np.int64)
