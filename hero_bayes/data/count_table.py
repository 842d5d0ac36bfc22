"""Counts of correct generations, each distinct one once: the sufficient statistic of difficulty."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hero_bayes.data.generations import Generations

__all__ = ["CountTable", "count_table", "every_count", "no_counts"]


@dataclass(frozen=True, eq=False)
class CountTable:
    """Distinct (model, n_correct, k), and how many prompts show each.

    Attributes
    ----------
    models : tuple of str
    model_idx, n_correct, k : int64 array (distinct)
    weight : float array (distinct)
        Number of prompts.
    row : int64 array (cell)
        The distinct count of every cell of the generations it was made from.
    """

    models: tuple[str, ...]
    model_idx: NDArray[np.int64]
    n_correct: NDArray[np.int64]
    k: NDArray[np.int64]
    weight: NDArray[np.float64]
    row: NDArray[np.int64]

    @property
    def k_max(self) -> int:
        """The largest number of generations."""
        return int(self.k.max(initial=1))


def count_table(generations: Generations) -> CountTable:
    """The distinct counts of some generations."""
    cells = np.stack([generations.model_idx, generations.n_correct, generations.k], axis=1)
    distinct, row, weight = np.unique(cells, axis=0, return_inverse=True, return_counts=True)
    return CountTable(
        tuple(str(name) for name in generations.models),
        distinct[:, 0],
        distinct[:, 1],
        distinct[:, 2],
        weight.astype(float),
        row.reshape(-1).astype(np.int64),
    )


def every_count(models: Sequence[str], k: int) -> CountTable:
    """Every possible count of k generations for every model, none of them seen yet.

    For models that are compiled once and fitted to many simulated tables.
    """
    model_idx, n_correct = np.divmod(np.arange(len(models) * (k + 1)), k + 1)
    return CountTable(
        tuple(models),
        model_idx.astype(np.int64),
        n_correct.astype(np.int64),
        np.full(model_idx.size, k, dtype=np.int64),
        np.zeros(model_idx.size),
        np.empty(0, dtype=np.int64),
    )


def no_counts(models: Sequence[str]) -> CountTable:
    """A prompt of each model that nothing is known of: zero of zero."""
    zero, none = np.zeros(len(models), dtype=np.int64), np.empty(0, dtype=np.int64)
    return CountTable(tuple(models), np.arange(len(models)), zero, zero, np.ones(len(models)), none)
