"""Several generations per prompt: which were correct, as index arrays."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hero_bayes.data.identifiers import id_strings, number_of, some
from hero_bayes.errors import DataError, Refusal

__all__ = ["Generations"]


@dataclass(frozen=True, eq=False, repr=False)
class Generations:
    """Scored generations of one or several models on the same prompts.

    Make one with `from_frame`, `from_csv` or `from_parquet`. A *cell* is one model on one prompt
    with at least one scored generation; cells are sorted by model, then prompt. Ids are strings in
    canonical order (numeric if all are plain integers).

    Attributes
    ----------
    prompts, models : object array of str
        The coordinates. Without a model column there is one model, called "model".
    prompt_idx, model_idx : int64 array (cell)
        Which prompt and which model.
    n_correct, k : int64 array (cell)
        How many of the cell's k scored generations were correct.
    prompt_group : object array of str (prompt), or None
        Related prompts (one passage, one video) share a group.
    cell_idx : int64 array (generation), or None
        The cell of every scored generation, sorted by cell, then generation; None for counts.
    correct : int8 array (generation), or None
    generation, run, answer, answer_cluster : object array (generation), or None
        Ids and answers as given (None where an answer is missing); None without the column.
    n_missing : int
        Rows without a score; they are no failures and count for nothing.
    """

    prompts: NDArray[np.object_]
    models: NDArray[np.object_]
    prompt_idx: NDArray[np.int64]
    model_idx: NDArray[np.int64]
    n_correct: NDArray[np.int64]
    k: NDArray[np.int64]
    prompt_group: NDArray[np.object_] | None = None
    cell_idx: NDArray[np.int64] | None = None
    correct: NDArray[np.int8] | None = None
    generation: NDArray[np.object_] | None = None
    run: NDArray[np.object_] | None = None
    answer: NDArray[np.object_] | None = None
    answer_cluster: NDArray[np.object_] | None = None
    n_missing: int = 0

    def __repr__(self) -> str:
        """One line: sizes."""
        low, high = (int(self.k.min()), int(self.k.max())) if self.k.size else (0, 0)
        k = f"k = {low}" if low == high else f"k = {low} to {high}"
        return (
            f"Generations({number_of(self.n_prompts, 'prompt')}, "
            f"{number_of(self.n_models, 'model')}, {k})"
        )

    @property
    def n_prompts(self) -> int:
        """Number of prompts."""
        return len(self.prompts)

    @property
    def n_models(self) -> int:
        """Number of models."""
        return len(self.models)

    @property
    def n_generations(self) -> int:
        """Number of scored generations."""
        return int(self.k.sum())

    @cached_property
    def p_hat(self) -> NDArray[np.float64]:
        """Share of correct generations of each cell."""
        return self.n_correct / self.k

    def cells_of(self, model: str | None = None) -> NDArray[np.int64]:
        """Positions of the cells of one model, sorted by prompt.

        Parameters
        ----------
        model : str, optional
            May be left out where there is one model.

        Raises
        ------
        Refusal
            If there are several models and none is named.
        DataError
            If there is no such model.
        """
        if model is None:
            if self.n_models > 1:
                raise Refusal(
                    f"there are {self.n_models} models: choose one with model=, "
                    f"out of {some(self.models, 20)}"
                )
            return np.arange(len(self.k))
        names = [str(name) for name in self.models]
        wanted = id_strings(model)
        if len(wanted) != 1 or wanted[0] not in names:
            raise DataError(f"no model {model!r}; there are {some(names, 20)}")
        return np.flatnonzero(self.model_idx == names.index(wanted[0]))

    def select(self, models: Iterable[str] | str | None = None) -> "Generations":
        """The generations of some models, on the prompts that they answered."""
        raise NotImplementedError
