"""Label tables from files, read with the flags of the command line."""

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from hero_bayes.cli.exit_codes import UsageError
from hero_bayes.cli.wording import in_flags
from hero_bayes.errors import DataError
from hero_bayes.pipeline.tables import CSV_ENDINGS, PARQUET_ENDINGS, files_named, read_table

if TYPE_CHECKING:
    import pandas as pd

    from hero_bayes.data.labels import Labels
    from hero_bayes.data.tables import Table

__all__ = [
    "CSV_ENDINGS",
    "PARQUET_ENDINGS",
    "REPEATS",
    "ReadingOptions",
    "Round",
    "build",
    "build_rounds",
    "check_columns",
    "negative_of",
    "parse_columns",
    "prepared",
    "read_round",
    "read_table",
]

REPEATS = ("error", "majority", "first", "keep")


@dataclass(frozen=True)
class ReadingOptions:
    """How tables are read: the flags that every command shares, None or empty where not given."""

    positive: str | None = None
    negative: str | None = None
    abstain: tuple[str, ...] = ()
    repeats: str | None = None
    covariates: tuple[str, ...] = ()
    columns: Mapping[str, str] = field(default_factory=dict)
    drop_unlabeled: bool = False

    def __post_init__(self) -> None:
        """Refuse what no reader understands."""
        if self.repeats is not None and self.repeats not in REPEATS:
            raise UsageError(f"--repeats {self.repeats}: choose one of {', '.join(REPEATS)}")
        if self.negative is not None and self.positive is None:
            raise UsageError("--negative needs --positive: say which value means 1")

    def flags(self) -> list[str]:
        """The same options as words of a command line."""
        words: list[str] = []
        for role, column in self.columns.items():
            words += ["--column", f"{role}={column}"]
        words += self.verdict_flags()
        if self.repeats is not None:
            words += ["--repeats", self.repeats]
        if self.drop_unlabeled:
            words.append("--drop-unlabeled")
        for value in self.covariates:
            words += ["--covariate", value]
        return words

    def verdict_flags(self) -> list[str]:
        """Those of them that say what a label means."""
        words: list[str] = []
        for name, value in (("--positive", self.positive), ("--negative", self.negative)):
            words += [] if value is None else [name, value]
        for value in self.abstain:
            words += ["--abstain", value]
        return words

    def line(self, *words: str) -> str:
        """A command line made of words and these options, quoted for a shell."""
        return shlex.join(["hero-bayes", *words, *self.flags()])


@dataclass(frozen=True)
class Round:
    """The tables of one round as they stand in the files."""

    labels_path: Path
    items_path: Path | None
    labels: "pd.DataFrame"
    items: "pd.DataFrame | None"

    @property
    def paths(self) -> list[Path]:
        """Their files."""
        return [path for path in (self.labels_path, self.items_path) if path is not None]

    @property
    def tables(self) -> "dict[str, pd.DataFrame]":
        """The tables that are there, by what they are."""
        return {"labels": self.labels} | ({} if self.items is None else {"items": self.items})


def parse_columns(pairs: Iterable[str]) -> dict[str, str]:
    """Read ``--column ROLE=NAME`` entries."""
    columns = {}
    for pair in pairs:
        role, equals, name = pair.partition("=")
        if not (role and equals and name):
            raise UsageError(f"--column {pair}: write ROLE=NAME, such as item=conversation_id")
        columns[role] = name
    return columns


def read_round(labels: Path, items: Path | None, columns: Mapping[str, str]) -> Round:
    """Read the files of one round, without looking at their content."""
    return Round(
        labels,
        items,
        read_table(labels, columns),
        None if items is None else read_table(items, columns),
    )


def build_rounds(sources: Sequence[Round], options: ReadingOptions) -> "list[Labels]":
    """Turn the tables of a command into checked labels, read alike."""
    negative = negative_of(sources, options)
    return [build(source, options, negative) for source in sources]


def negative_of(sources: Sequence[Round], options: ReadingOptions) -> str | None:
    """The word that means 0 in all rounds of a command."""
    from hero_bayes.data.building import common_negative

    if len(sources) < 2:
        return options.negative
    rounds = [(source.labels_path.name, prepared(source, options)) for source in sources]
    negative: str | None = common_negative(
        rounds, options.positive, options.negative, options.abstain
    )
    return negative


def prepared(source: Round, options: ReadingOptions) -> "dict[str, Table]":
    """The tables of a round with the column that plays each role."""
    from hero_bayes.data.tables import prepare, taken_renames

    columns = taken_renames(options.columns, source.tables)
    with files_named(source.labels_path, source.items_path):
        return prepare(source.tables, columns, options.covariates)


def build(source: Round, options: ReadingOptions, negative: str | None) -> "Labels":
    """Turn the tables of a round into checked labels."""
    from hero_bayes.data.labels import Labels
    from hero_bayes.data.tables import taken_renames

    with files_named(source.labels_path, source.items_path):
        return Labels.from_frames(
            source.labels,
            source.items,
            covariates=options.covariates,
            repeats=options.repeats or "error",
            abstain=options.abstain,
            positive=options.positive,
            negative=negative,
            unlabeled="drop" if options.drop_unlabeled else "error",
            columns=taken_renames(options.columns, source.tables),
        )


def check_columns(columns: Mapping[str, str], rounds: Sequence[Round]) -> None:
    """Refuse a ``--column`` that no table takes."""
    from hero_bayes.data.tables import check_renames

    try:
        check_renames(columns, [source.tables for source in rounds])
    except DataError as error:
        raise DataError(in_flags(str(error))) from error


def split_items(
    path: Path, sources: Sequence[Round], options: ReadingOptions
) -> tuple[list[Round], int, int]:
    """Give each round the rows of a common items file whose items its labels name.

    Returns
    -------
    rounds : list of Round
        The rounds with their items.
    unused : int
        Rows of the file that belong to no round.
    common : int
        Rows that went to several rounds, because item ids are used twice.

    Raises
    ------
    DataError
        If the file has no row for some round.
    """
    frame = read_table(path, options.columns)
    check_columns(options.columns, [replace(source, items=frame) for source in sources])
    masks = [_item_rows(frame, source, options.columns) for source in sources]
    for mask, source in zip(masks, sources, strict=True):
        if not any(mask):
            raise DataError(
                f"{path} has no row for any item of {source.labels_path}; where each round has an "
                "items file of its own, pass them with --history-items and --current-items"
            )
    with_items = [
        Round(source.labels_path, path, source.labels, frame.loc[mask].reset_index(drop=True))
        for source, mask in zip(sources, masks, strict=True)
    ]
    uses = [sum(row) for row in zip(*masks, strict=True)]
    return with_items, uses.count(0), sum(use > 1 for use in uses)


def _item_rows(items: "pd.DataFrame", source: Round, columns: Mapping[str, str]) -> list[bool]:
    """Whether each row of an items table names an item that the labels of a round have."""
    from hero_bayes.data.identifiers import read_ids
    from hero_bayes.data.tables import prepare, taken_renames

    frames = {"labels": source.labels, "items": items}
    tables = prepare(frames, taken_renames(columns, frames))
    codes, ids = read_ids(tables["labels"].column("item"))
    wanted = set(ids[codes[codes >= 0]])
    item_codes, item_ids = read_ids(tables["items"].column("item"))
    return [code >= 0 and item_ids[code] in wanted for code in item_codes]
