"""Several generations per prompt: which were correct, as index arrays."""

import dataclasses
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from hero_bayes.data import generation_columns, generation_parts, generation_tables, tables
from hero_bayes.data.identifiers import id_strings, number_of, some
from hero_bayes.errors import DataError, Refusal

if TYPE_CHECKING:
    import pandas as pd

    from hero_bayes.data.findings import Findings
    from hero_bayes.data.generation_checks import Stopping

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
        Rows without a score; they are no failures and count for nothing. Counts have no rows: 0.
    missing_model, missing_prompt, missing_generation : object array of str, or None
        The ids of the rows without a score (of counts: of the rows with k = 0). None without any.
    column_uses : tuple of ColumnUse
        What each column of the table serves as; no part of the content.
    reading : Reading
        Columns without a name in the file, and the number of empty rows and columns left out.
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
    missing_model: NDArray[np.object_] | None = None
    missing_prompt: NDArray[np.object_] | None = None
    missing_generation: NDArray[np.object_] | None = None
    column_uses: tuple[generation_columns.ColumnUse, ...] = ()
    reading: tables.Reading = field(default_factory=tables.Reading)

    def __new__(cls, *fields: Any, **named: Any) -> Self:
        """Refuse tables, which `from_frame` reads."""
        first = fields[0] if fields else named.get("prompts")
        makers = "hb.difficulty.Generations.from_frame(frame), from_csv or from_parquet"
        tables.need_arrays("hb.difficulty.Generations", first, makers)
        return super().__new__(cls)

    def __post_init__(self) -> None:
        """Make the arrays read-only."""
        for name, value in vars(self).copy().items():
            if isinstance(value, np.ndarray):
                view = value.view()
                view.flags.writeable = False
                object.__setattr__(self, name, view)

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        """Pickle by fields, so that the copy is read-only again."""
        return type(self), tuple(getattr(self, f.name) for f in dataclasses.fields(self))

    def __eq__(self, other: object) -> bool:
        """Two sets of generations are equal when their fingerprints are."""
        return isinstance(other, Generations) and self.fingerprint == other.fingerprint

    def __hash__(self) -> int:
        """Hash of the fingerprint."""
        return hash(self.fingerprint)

    def __repr__(self) -> str:
        """One line: sizes."""
        low, high = (int(self.k.min()), int(self.k.max())) if self.k.size else (0, 0)
        k = f"k = {low}" if low == high else f"k = {low} to {high}"
        return (
            f"Generations({number_of(self.n_prompts, 'prompt')}, "
            f"{number_of(self.n_models, 'model')}, {k})"
        )

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        *,
        columns: Mapping[str, str] | None = None,
        only: Mapping[str, Any] | None = None,
        ignore: Iterable[str] | str | None = None,
    ) -> Self:
        """Read a table with one row a generation, or with counts.

        Parameters
        ----------
        frame : pandas.DataFrame
            Either one row a generation: prompt (or prompt_id, question, question_id, task_id,
            problem, problem_id, problem_idx, doc_id, example_id), correct, and where known
            generation (or epoch, repeat, sample, repetition, trial, trial_index, attempt,
            sample_index, sample_idx, rollout, seed), model (or model_name, model_id, llm,
            llm_name), answer, answer_cluster, prompt_group, run. Or one row a model and prompt:
            prompt, n_correct, k, and where known model and prompt_group.
        columns : mapping, optional
            Column names of yours for names of ours, as in ``{"prompt": "my_id"}``.
        only : mapping, optional
            Columns and the value (or values) whose rows are read, as in ``{"filter": "strict"}``.
        ignore : str or sequence of str, optional
            Columns that are passed over, whatever their name says.

        Returns
        -------
        Generations
            The checked table. The order of rows changes nothing.

        Raises
        ------
        DataError
            If the table is malformed; the message names the rows and the fix.

        Notes
        -----
        A score is 0 or 1, true or false, or C or I. A missing score (None, NaN, empty) is left out
        of k and counted in ``n_missing``; a row of counts with k = 0 is left out. So is a row whose
        status, error, scoring_failed or the like says that something broke. Answers are kept
        as written: "None" and "" are answers, only None and NaN are missing. The generation index
        is never taken for a run: say ``columns={"run": "generation"}`` if it is one.

        Rows of one prompt and model that differ in a setting (filter, scorer, metric, judge, task,
        split, temperature and the like) are no repeats and are refused until ``only`` chooses or
        ``ignore`` passes over the column. A column that is not read although it tells the rows of
        every prompt apart is a finding; ``column_uses`` says what each column serves as.

        Examples
        --------
        >>> import pandas as pd
        >>> table = pd.DataFrame({"question": ["a", "a", "b", "b"], "correct": [1, 0, 1, 1]})
        >>> generations = Generations.from_frame(table)
        >>> generations
        Generations(2 prompts, 1 model, k = 2)
        >>> generations.p_hat
        array([0.5, 1. ])
        """
        fields = generation_tables.build_fields(frame, columns, only, ignore)
        return cls(**fields, reading=tables.reading_of(frame))

    @classmethod
    def from_csv(
        cls,
        path: str | os.PathLike[str],
        columns: Mapping[str, str] | None = None,
        *,
        only: Mapping[str, Any] | None = None,
        ignore: Iterable[str] | str | None = None,
    ) -> Self:
        """Read a CSV file; an empty score is missing, an empty answer is an answer."""
        frame = generation_columns.read_csv(path, columns)
        return cls.from_frame(frame, columns=columns, only=only, ignore=ignore)

    @classmethod
    def from_parquet(
        cls,
        path: str | os.PathLike[str],
        columns: Mapping[str, str] | None = None,
        *,
        only: Mapping[str, Any] | None = None,
        ignore: Iterable[str] | str | None = None,
    ) -> Self:
        """Read a Parquet file; see `from_frame`."""
        frame = generation_columns.read_parquet(path)
        return cls.from_frame(frame, columns=columns, only=only, ignore=ignore)

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

    @property
    def has_rows(self) -> bool:
        """Whether the single generations are known, not just counts."""
        return self.cell_idx is not None

    @property
    def is_balanced(self) -> bool:
        """Whether every model answered every prompt, with one k."""
        complete = len(self.k) == self.n_prompts * self.n_models
        return complete and int(self.k.min()) == int(self.k.max())

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the content: equal for equal tables, whatever their row order."""
        return generation_parts.fingerprint(self)

    @cached_property
    def findings(self) -> "Findings":
        """What is legal but dangerous: k that depends on the outcomes, missing scores, ..."""
        from hero_bayes.data.generation_checks import generation_findings

        return generation_findings(self)

    @cached_property
    def p_hat(self) -> NDArray[np.float64]:
        """Share of correct generations of each cell."""
        return self.n_correct / self.k

    @cached_property
    def stopping(self) -> tuple["Stopping | None", ...]:
        """Of each model, at what outcome the sampling of its prompts stopped, if at one."""
        from hero_bayes.data.generation_checks import stopping_of

        places = range(self.n_models)
        return tuple(stopping_of(self, np.flatnonzero(self.model_idx == i)) for i in places)

    @cached_property
    def fair_share(self) -> NDArray[np.float64]:
        """Share of correct generations of each cell, without one that ended the sampling.

        Sampling until r generations are correct makes ``p_hat`` too large. The generations before
        the last one could have come in any order, so their share is unbiased; the one generation
        of a cell that ended at once is so too. Where sampling did not stop at an outcome this is
        ``p_hat``.
        """
        share = self.p_hat.copy()
        for place, rule in enumerate(self.stopping):
            if rule is not None:
                cells = np.flatnonzero(self.model_idx == place)[rule.ended]
                correct, k = self.n_correct[cells], self.k[cells]
                earlier = (correct - rule.last[rule.ended]) / np.maximum(k - 1, 1)
                share[cells] = np.where(k > 1, earlier, correct)
        return share

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

    def select(
        self, models: Iterable[Any] | str | None = None, prompts: Iterable[Any] | str | None = None
    ) -> "Generations":
        """Keep some models and prompts.

        Parameters
        ----------
        models, prompts : ids, optional
            Which to keep; all if left out.

        Returns
        -------
        Generations
            Only what was kept; prompts and models without a generation leave the coordinates.

        Raises
        ------
        DataError
            If an id is unknown or nothing is left.
        """
        return generation_parts.select(self, models, prompts)

    def to_frame(self) -> "pd.DataFrame":
        """Return the table from which `from_frame` builds an equal object.

        One row a generation, or a cell for counts. Rows without a score come last; their answers
        are not kept.
        """
        return generation_parts.to_frame(self)

    def summary(self) -> "pd.DataFrame":
        """Count, by model.

        Returns
        -------
        pandas.DataFrame
            One row a model: model, prompts, generations, k_min, k_median, k_max, missing (rows
            without a score), mean (of p_hat over prompts), never_correct and always_correct
            (shares of prompts).
        """
        return generation_parts.summary(self)
