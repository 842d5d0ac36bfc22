"""From simulated arrays to `Labels` without tables in between."""

from collections.abc import Mapping
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from hero_bayes.data.building import compress
from hero_bayes.data.labels import Labels

__all__ = ["label_table"]


@lru_cache(maxsize=16)
def _numbers(size: int) -> NDArray[np.object_]:
    """The ids "0", "1", ...; their numeric order is the canonical one."""
    return np.array([str(position) for position in range(size)], dtype=object)


def label_table(
    labeler: NDArray[np.int64],
    label: NDArray[np.int8],
    gold: NDArray[np.float64],
    n_labelers: int,
    covariates: Mapping[str, NDArray[np.float64]],
    texts: Mapping[str, NDArray[np.object_]],
) -> Labels:
    """Labels of a simulated round.

    Equal to what `Labels.from_frames` makes of the same table, without its checks, which take ten
    times as long as the simulation itself.

    Parameters
    ----------
    labeler, label : array (item, label)
        Who judged the item, and the verdict; no labeler twice in a row.
    gold : array (item)
        0, 1 or NaN.
    n_labelers : int
        Size of the pool; labelers without a label leave the coordinate.
    covariates, texts : mapping of name to array (item)
        What is known of the items.
    """
    n_items, per_item = labeler.shape
    item_idx = np.repeat(np.arange(n_items), per_item)
    at_work = np.bincount(labeler.ravel(), minlength=n_labelers) > 0
    return Labels(
        items=_numbers(n_items),
        labelers=_numbers(n_labelers)[at_work],
        gold=gold.astype(float),
        group_idx=np.zeros(n_items, dtype=np.int32),
        covariates=dict(covariates),
        texts=dict(texts),
        **compress(item_idx, labeler.ravel(), label.ravel(), n_items, at_work),
    )
