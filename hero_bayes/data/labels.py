"""The label table: every verdict as index arrays, with what is known of items and labelers."""

import dataclasses
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hero_bayes.data import building, conversion, selection, summary, tables
from hero_bayes.data.covariates import TextCovariates
from hero_bayes.data.fingerprint import fingerprint
from hero_bayes.data.identifiers import number_of

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

__all__ = ["Labels"]

Covariates = str | TextCovariates | Iterable[str | TextCovariates]
Words = tuple[str | None, ...]


def _no_texts() -> NDArray[np.object_]:
    return np.empty(0, dtype=object)


@dataclass(frozen=True, eq=False, repr=False)
class Labels:
    """Verdicts of labelers on items, checked and held as index arrays.

    Make one with `from_frames`, `from_csv` or `from_parquet`. Ids are strings in canonical order
    (numeric if all are plain integers), so that the order of rows never changes a result.

    Attributes
    ----------
    items, labelers : object array of str
        The coordinates.
    item_ptr : int64 array (item + 1)
        The labels of item i are at ``item_ptr[i]:item_ptr[i + 1]``.
    labeler_idx, label : int32 and int8 array (label)
        Who said what; within an item sorted by labeler, then label.
    gold : float array (item)
        0, 1, or NaN where there is none.
    group_idx : int32 array (item)
        Position of the item's (round, arm) in ``group_round`` and ``group_arm``.
    covariates, texts : mapping of name to array (item)
        Numeric covariates and text columns that were asked for.
    prompt, prompt_group, generation : object array (item), or None
        Ids of the prompt, its kind, and the generation, where the tables have them.
    gold_prob : float array (item), or None
        The chance with which the item was chosen for gold.
    family, version : tuple of str or None
        One per labeler.
    abstained_item, abstained_labeler : object array of str
        Who gave no verdict on what; never a label.
    ties_dropped, repeats_resolved, items_dropped : int
        What reading the tables left out or merged. Not part of the fingerprint.
    gold_abstained : int
        Items without gold because the expert said a word of ``abstain``. Not in the fingerprint.
    reading : Reading
        Columns without a name in the files, and the number of empty rows and columns left out.
    """

    items: NDArray[np.object_]
    labelers: NDArray[np.object_]
    item_ptr: NDArray[np.int64]
    labeler_idx: NDArray[np.int32]
    label: NDArray[np.int8]
    gold: NDArray[np.float64]
    group_idx: NDArray[np.int32]
    group_round: Words = (None,)
    group_arm: Words = (None,)
    covariates: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)
    texts: Mapping[str, NDArray[np.object_]] = field(default_factory=dict)
    prompt: NDArray[np.object_] | None = None
    prompt_group: NDArray[np.object_] | None = None
    generation: NDArray[np.object_] | None = None
    gold_prob: NDArray[np.float64] | None = None
    family: Words = ()
    version: Words = ()
    abstained_item: NDArray[np.object_] = field(default_factory=_no_texts)
    abstained_labeler: NDArray[np.object_] = field(default_factory=_no_texts)
    ties_dropped: int = 0
    repeats_resolved: int = 0
    items_dropped: int = 0
    gold_abstained: int = 0
    reading: tables.Reading = field(default_factory=tables.Reading)

    def __new__(cls, *fields: Any, **named: Any) -> Self:
        """Refuse tables, which `from_frames` reads."""
        first = fields[0] if fields else named.get("items")
        makers = "hb.Labels.from_frames(labels, items, ...), from_csv or from_parquet"
        tables.need_arrays("hb.Labels", first, makers)
        return super().__new__(cls)

    def __post_init__(self) -> None:
        """Make the arrays read-only."""
        for name, value in vars(self).copy().items():
            if isinstance(value, np.ndarray):
                object.__setattr__(self, name, _read_only(value))
            elif isinstance(value, Mapping):
                frozen = {key: _read_only(array) for key, array in value.items()}
                object.__setattr__(self, name, frozen)
        for name in ("family", "version"):
            if not getattr(self, name):
                object.__setattr__(self, name, (None,) * len(self.labelers))

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        """Pickle by fields, so that the copy is read-only again."""
        values = tuple(getattr(self, f.name) for f in dataclasses.fields(self))
        return type(self), values

    def __eq__(self, other: object) -> bool:
        """Two label tables are equal when their fingerprints are."""
        return isinstance(other, Labels) and self.fingerprint == other.fingerprint

    def __hash__(self) -> int:
        """Hash of the fingerprint."""
        return hash(self.fingerprint)

    def __repr__(self) -> str:
        """One line: sizes."""
        return (
            f"Labels({number_of(self.n_items, 'item')}, {number_of(self.n_labelers, 'labeler')}, "
            f"{number_of(self.n_labels, 'label')}, gold on {self.n_gold:,}, "
            f"{number_of(self.n_groups, 'group')})"
        )

    @classmethod
    def from_frames(
        cls,
        labels: Any,
        items: Any = None,
        labelers: Any = None,
        *,
        covariates: Covariates = (),
        repeats: str = "error",
        abstain: Any = (),
        positive: Any = None,
        negative: Any = None,
        unlabeled: str = "error",
        columns: Mapping[str, str] | None = None,
    ) -> Self:
        """Read tidy tables.

        Parameters
        ----------
        labels : pandas.DataFrame
            One row per verdict: item, labeler, label (or task, worker, rating, ...). The item
            columns below may stand here too, their value repeated.
        items : pandas.DataFrame, optional
            One row per item: item, and where known gold, round, arm, prompt, prompt_group,
            generation, gold_prob and covariates. Gold is written in the words of the labels, or as
            0 and 1 where these are no words of the labels with another meaning.
        labelers : pandas.DataFrame, optional
            One row per labeler: labeler, and where known family and version.
        covariates : name, TextCovariates, or several of them
            Item columns to keep as covariates; every item needs a value.
        repeats : {"error", "majority", "first", "keep"}
            What to do when a labeler judged an item more than once. A tie under "majority" is no
            verdict. "first" takes the first row, and is the only setting in which the order of
            rows matters. "keep" treats the repeats as independent, which is rarely true.
        abstain : scalar or iterable
            Values of labels and gold that mean "no verdict"; empty and missing ones always do.
        positive, negative : scalar, optional
            The label that means 1, and the one that means 0 (by default the only other one).
        unlabeled : {"error", "drop"}
            What to do with items left without any label.
        columns : mapping, optional
            Column names of yours for names of ours, as in ``{"item": "conversation_id"}``. Gold is
            looked for in the items table where there is one, other item columns there first. One
            column serves one role.

        Returns
        -------
        Labels
            The checked table.

        Raises
        ------
        DataError
            If a table is malformed; the message names the rows and the fix.

        Examples
        --------
        >>> import pandas as pd
        >>> table = pd.DataFrame({"task": [1, 1, 2], "worker": ["a", "b", "a"], "label": [1, 0, 1]})
        >>> Labels.from_frames(table)
        Labels(2 items, 2 labelers, 3 labels, gold on 0, 1 group)
        """
        options = building.Options(
            covariates=building.covariate_entries(covariates),
            repeats=repeats,
            abstain=abstain,
            positive=positive,
            negative=negative,
            unlabeled=unlabeled,
            columns=columns,
        )
        fields = building.build_fields(labels, items, labelers, options)
        return cls(**fields, reading=tables.reading_of(labels, items, labelers))

    @classmethod
    def from_csv(
        cls,
        labels: str | os.PathLike[str],
        items: str | os.PathLike[str] | None = None,
        labelers: str | os.PathLike[str] | None = None,
        **options: Any,
    ) -> Self:
        """Read CSV files; ``options`` are those of `from_frames`.

        Ids and texts called "NA" or "None" stay what they are; in other columns they are missing.
        """
        columns = options.get("columns")
        entries = building.covariate_entries(options.get("covariates"))
        texts = [entry.column for entry in entries if isinstance(entry, TextCovariates)]
        read = [
            None if path is None else tables.read_csv(path, columns, texts)
            for path in (labels, items, labelers)
        ]
        return cls.from_frames(*read, **options)

    @classmethod
    def from_parquet(
        cls,
        labels: str | os.PathLike[str],
        items: str | os.PathLike[str] | None = None,
        labelers: str | os.PathLike[str] | None = None,
        **options: Any,
    ) -> Self:
        """Read Parquet files; ``options`` are those of `from_frames`."""
        read = [
            None if path is None else tables.read_parquet(path)
            for path in (labels, items, labelers)
        ]
        return cls.from_frames(*read, **options)

    @property
    def n_items(self) -> int:
        """Number of items."""
        return len(self.items)

    @property
    def n_labelers(self) -> int:
        """Number of labelers."""
        return len(self.labelers)

    @property
    def n_labels(self) -> int:
        """Number of verdicts, abstentions not counted."""
        return len(self.label)

    @property
    def n_gold(self) -> int:
        """Number of items with gold."""
        return int(self.has_gold.sum())

    @property
    def n_groups(self) -> int:
        """Number of (round, arm) groups."""
        return len(self.group_round)

    @property
    def has_gold(self) -> NDArray[np.bool_]:
        """Mask over items."""
        return ~np.isnan(self.gold)

    @property
    def labels_per_item(self) -> NDArray[np.int64]:
        """Number of labels of each item."""
        return np.diff(self.item_ptr)

    @property
    def labels_per_labeler(self) -> NDArray[np.int64]:
        """Number of labels of each labeler."""
        return np.bincount(self.labeler_idx, minlength=self.n_labelers).astype(np.int64)

    @property
    def vote_share(self) -> NDArray[np.float64]:
        """Share of ones among each item's labels; NaN where there is no label."""
        return summary.vote_share(self)

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the content: equal for equal tables, whatever their row order."""
        return fingerprint(self)

    def groups(self, role: str) -> list[str]:
        """Names of the groups: "round/arm", the one that is present, or ``role``.

        Parameters
        ----------
        role : {"history", "current"}
            The name of the only group when the tables have neither round nor arm.
        """
        return [
            "/".join(part for part in (name, arm) if part is not None) or role
            for name, arm in zip(self.group_round, self.group_arm, strict=True)
        ]

    def select(
        self,
        items: Any = None,
        labelers: Any = None,
        rounds: Any = None,
        arms: Any = None,
        gold: bool | None = None,
        unlabeled: str = "error",
    ) -> "Labels":
        """Keep some items and labelers.

        Parameters
        ----------
        items : ids, or boolean mask over items, optional
            Which items to keep.
        labelers, rounds, arms : ids, optional
            Which of them to keep.
        gold : bool, optional
            True keeps items with gold, False those without.
        unlabeled : {"error", "drop"}
            What to do with items whose labels all went.

        Returns
        -------
        Labels
            Only what was kept; labelers without a label leave the coordinate.

        Raises
        ------
        DataError
            If an id is unknown, nothing is left, or items are left without a label.
        """
        return selection.select(self, items, labelers, rounds, arms, gold, unlabeled)

    def take_items(self, items_idx: ArrayLike) -> "Labels":
        """Keep items by mask or index, on the same labelers and groups; may be empty."""
        return selection.take_items(self, items_idx)

    def with_labelers(self, labelers: Sequence[str] | NDArray[np.object_]) -> "Labels":
        """Put the labels on another labeler coordinate; labels of other labelers go."""
        return selection.with_labelers(self, labelers)

    def without_gold(self) -> "Labels":
        """Withhold all gold."""
        return dataclasses.replace(self, gold=np.full(self.n_items, np.nan), gold_abstained=0)

    def with_gold(self, gold: Any) -> "Labels":
        """Replace the gold by a Series indexed by item id, or an array in the order of `items`.

        It holds 0, 1 or nothing, as `gold` does, whatever the words of the table read.
        That order is sorted by id ("now-10" before "now-2"), not that of the table read.
        """
        return selection.with_gold(self, gold)

    def gold_counts(self) -> "pd.DataFrame":
        """Count, by labeler: labels, labels on gold items of each class, abstentions."""
        return summary.gold_counts(self)

    def summary(self, history: "Labels | None" = None) -> summary.LabelsSummary:
        """Summarise for a person; with ``history`` also the labelers it has not seen."""
        return summary.summarise(self, history)

    def to_dataset(self) -> "xr.Dataset":
        """Return the arrays as a dataset with dims item, labeler, group, verdict."""
        return conversion.to_dataset(self)

    def to_frames(self) -> conversion.LabelFrames:
        """Return tidy tables from which `from_frames` builds an equal object."""
        return conversion.to_frames(self)


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    view = array.view()
    view.flags.writeable = False
    return view
