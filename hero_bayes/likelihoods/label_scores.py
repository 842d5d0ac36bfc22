"""Items reduced to what a shared effect sees: who labeled, and how many labels were positive."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hero_bayes.data.labels import Labels

__all__ = ["Membership", "Scores", "label_scores"]

IntArray = NDArray[np.int64]


@dataclass(frozen=True)
class Membership:
    """Sets of labelers, one a row: entries (row, labeler), a labeler as often as it labeled.

    ``n_positive`` counts the positive labels of the row.
    """

    row_idx: IntArray
    labeler_idx: IntArray
    n_positive: IntArray

    def dense(self, n_labelers: int) -> NDArray[np.float64]:
        """Counts (row, labeler)."""
        counts = np.zeros((self.n_positive.size, n_labelers))
        np.add.at(counts, (self.row_idx, self.labeler_idx), 1.0)
        return counts


@dataclass(frozen=True)
class Scores:
    """Distinct scores of a label table.

    Attributes
    ----------
    item_row : int array (item)
        The row of each item.
    rows : Membership
        Labelers without a family effect, and the positive labels of all labelers.
    cells : Membership
        One family's labelers and positive labels; empty without families.
    row_cell : int array (row, family)
        The cell of each family in a row; a number past the last cell where the family has no label.
    """

    item_row: IntArray
    rows: Membership
    cells: Membership
    row_cell: IntArray


class _Collector:
    """Numbers distinct (labelers, positives, more) in the order in which they come."""

    def __init__(self) -> None:
        self.number: dict[tuple[bytes, int, tuple[int, ...]], int] = {}
        self.labelers: list[IntArray] = []
        self.positive: list[int] = []

    def add(self, labelers: IntArray, positive: int, more: tuple[int, ...] = ()) -> int:
        key = (labelers.tobytes(), positive, more)
        found = self.number.setdefault(key, len(self.positive))
        if found == len(self.positive):
            self.labelers.append(labelers)
            self.positive.append(positive)
        return found

    def membership(self) -> Membership:
        size = np.array([who.size for who in self.labelers], dtype=np.int64)
        who = np.concatenate([np.empty(0, dtype=np.int64), *self.labelers])
        return Membership(
            np.repeat(np.arange(size.size), size), who, np.array(self.positive, dtype=np.int64)
        )


def label_scores(labels: Labels, family_idx: NDArray[np.integer] | None = None) -> Scores:
    """Find the distinct combinations of labelers and number of positive labels.

    Parameters
    ----------
    labels : Labels
    family_idx : int array (labeler), optional
        The family of each labeler, -1 for none.

    Returns
    -------
    Scores

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"item": [1, 1, 2, 2], "labeler": list("abab"), "label": [1, 0, 0, 1]})
    >>> label_scores(Labels.from_frames(table)).item_row.tolist()
    [0, 0]
    """
    family = np.full(labels.n_labelers, -1) if family_idx is None else np.asarray(family_idx)
    n_families = int(family.max(initial=-1)) + 1
    rows, cells = _Collector(), _Collector()
    item_row = np.empty(labels.n_items, dtype=np.int64)
    by_row: list[tuple[int, ...]] = []
    who = labels.labeler_idx.astype(np.int64)
    ptr = labels.item_ptr
    for item in range(labels.n_items):
        span = slice(ptr[item], ptr[item + 1])
        members, verdicts = who[span], labels.label[span]
        own = family[members]
        found = []
        for f in range(n_families):
            inside = own == f
            found.append(
                cells.add(members[inside], int(verdicts[inside].sum())) if inside.any() else -1
            )
        item_row[item] = rows.add(members[own < 0], int(verdicts.sum()), tuple(found))
        if item_row[item] == len(by_row):
            by_row.append(tuple(found))
    cell = np.array(by_row, dtype=np.int64).reshape(len(by_row), n_families)
    n_cells = len(cells.positive)
    return Scores(
        item_row, rows.membership(), cells.membership(), np.where(cell < 0, n_cells, cell)
    )
