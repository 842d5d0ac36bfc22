"""Do labelers err on the same items? Measured on items with gold, for a sentence in a report."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from hero_bayes.data.labels import Labels

__all__ = ["SharedErrors", "shared_errors"]

SHUFFLES = 999
SEED = 0
#: Rows and column of residuals that may change places.
Cells = list[tuple[NDArray[np.intp], int]]


@dataclass(frozen=True)
class SharedErrors:
    """How much the errors of labelers go together within a class of gold.

    Attributes
    ----------
    correlation : float
        Mean correlation of two labelers' errors on one item; 0 if they err independently.
    p_value : float
        Share of shuffles, which keep every labeler's error rates and break the items apart, with
        at least this correlation.
    labels_per_item, effective_labels : float
        Mean number of labels of a gold item, and how many independent ones they are worth.
    n_items : int
        Gold items used.
    """

    correlation: float
    p_value: float
    labels_per_item: float
    effective_labels: float
    n_items: int

    @property
    def visible(self) -> bool:
        """Whether so much agreement in errors is rare under independence (5 %)."""
        return self.p_value <= 0.05


def shared_errors(labels: "Labels") -> SharedErrors:
    """Correlation of labelers' errors, given the truth, on the items with gold.

    Parameters
    ----------
    labels : Labels
        A history with some gold.

    Notes
    -----
    Residuals are label minus the labeler's own mean among gold items of that class. The
    correlation is the mean product of two residuals of one item over the mean squared residual;
    n labels with correlation r are worth n / (1 + (n - 1) r) independent ones.
    """
    judged = labels.take_items(labels.has_gold)
    n_items, n_labelers = judged.n_items, judged.n_labelers
    table = np.full((n_items, n_labelers), np.nan)
    item_idx = np.repeat(np.arange(n_items), judged.labels_per_item)
    table[item_idx, judged.labeler_idx] = judged.label
    residual = np.full_like(table, np.nan)
    for truth in (0.0, 1.0):
        rows = judged.gold == truth
        seen = ~np.isnan(table[rows])
        mean = np.nansum(table[rows], axis=0) / np.maximum(seen.sum(axis=0), 1)
        residual[rows] = table[rows] - mean
    observed = _correlation(residual)
    rng = np.random.default_rng(SEED)
    cells = _exchangeable(residual, judged.gold)
    shuffled = [_correlation(_shuffle(residual, cells, rng)) for _ in range(SHUFFLES)]
    per_item = len(judged.label) / max(n_items, 1)
    return SharedErrors(
        correlation=observed,
        p_value=(1 + sum(value >= observed for value in shuffled)) / (1 + SHUFFLES),
        labels_per_item=per_item,
        effective_labels=per_item / (1 + max(per_item - 1, 0.0) * max(observed, 0.0)),
        n_items=n_items,
    )


def _correlation(residual: NDArray[np.float64]) -> float:
    known = ~np.isnan(residual)
    filled = np.where(known, residual, 0.0)
    size = known.sum(axis=1)
    squares = (filled**2).sum()
    products = (filled.sum(axis=1) ** 2 - (filled**2).sum(axis=1)).sum()
    pairs = (size * (size - 1)).sum()
    if not (squares > 0 and pairs > 0):
        return 0.0
    return float((products / pairs) / (squares / known.sum()))


def _exchangeable(residual: NDArray[np.float64], gold: NDArray[np.float64]) -> Cells:
    """The items of one class that a labeler judged, with the labeler's column, two at least.

    One item alone stays where it is and costs no random number.
    """
    judged = ~np.isnan(residual)
    cells = [
        (np.flatnonzero((gold == truth) & judged[:, column]), column)
        for truth in (0.0, 1.0)
        for column in np.flatnonzero(judged.any(axis=0))
    ]
    return [(rows, int(column)) for rows, column in cells if rows.size > 1]


def _shuffle(
    residual: NDArray[np.float64], cells: Cells, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Exchange each labeler's residuals among the items of one class that it judged."""
    result = residual.copy()
    for rows, column in cells:
        result[rows, column] = residual[rng.permutation(rows), column]
    return result
