"""Labels as counts: the sufficient statistic of labelers who err independently."""

import numpy as np
from numpy.typing import NDArray

from hero_bayes.data.labels import Labels


def label_counts(labels: Labels) -> NDArray[np.float64]:
    """How often each labeler gave each label to each item.

    Parameters
    ----------
    labels : Labels

    Returns
    -------
    array (item, 2 * labeler)
        Columns: the labelers' label 0 in coordinate order, then their label 1.
    """
    counts = np.zeros((labels.n_items, 2 * labels.n_labelers))
    item_idx = np.repeat(np.arange(labels.n_items), np.diff(labels.item_ptr))
    column = labels.label.astype(np.int64) * labels.n_labelers + labels.labeler_idx
    np.add.at(counts, (item_idx, column), 1.0)
    return counts


def gold_code(labels: Labels) -> NDArray[np.int8]:
    """Gold as 1, 0, or -1 where there is none."""
    return np.where(np.isnan(labels.gold), -1, labels.gold).astype(np.int8)
