"""Label tables from files, read with the flags of the command line."""

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from hero_bayes.cli.exit_codes import UsageError
from hero_bayes.errors import DataError
from hero_bayes.pipeline.tables import CSV_ENDINGS, PARQUET_ENDINGS, read_table

if TYPE_CHECKING:
    import pandas as pd

    from hero_bayes.data.labels import Labels

__all__ = [
    "CSV_ENDINGS",
    "PARQUET_ENDINGS",
    "REPEATS",
    "ReadingOptions",
    "Round",
    "build",
    "check_columns",
    "parse_columns",
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
    def frames(self) -> "list[pd.DataFrame]":
        """The tables that are there."""
        return [self.labels] if self.items is None else [self.labels, self.items]


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


def build(source: Round, options: ReadingOptions) -> "Labels":
    """Turn the tables of a round into checked labels."""
    from hero_bayes.data.labels import Labels

    known = {name for frame in source.frames for name in frame.columns}
    columns = {role: name for role, name in options.columns.items() if name in known}
    try:
        return Labels.from_frames(
            source.labels,
            source.items,
            covariates=options.covariates,
            repeats=options.repeats or "error",
            abstain=options.abstain,
            positive=options.positive,
            negative=options.negative,
            unlabeled="drop" if options.drop_unlabeled else "error",
            columns=columns,
        )
    except DataError as error:
        files = " with ".join(str(p) for p in (source.labels_path, source.items_path) if p)
        raise DataError(f"{files}: {error}") from error


def check_columns(columns: Mapping[str, str], rounds: Sequence[Round]) -> None:
    """Refuse a ``--column`` whose name is in no table."""
    known = [str(name) for source in rounds for frame in source.frames for name in frame.columns]
    for role, name in columns.items():
        if name not in known:
            raise DataError(
                f"--column {role}={name}: no table has a column {name!r}; found "
                f"{', '.join(dict.fromkeys(known))}"
            )


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
    check_columns(options.columns, [*sources, Round(path, None, frame, None)])
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
    from hero_bayes.data.tables import prepare

    codes, ids = read_ids(
        prepare("labels", source.labels, _known(columns, source.labels)).column("item")
    )
    wanted = set(ids[codes[codes >= 0]])
    table = prepare("items", items, _known(columns, items))
    item_codes, item_ids = read_ids(table.column("item"))
    return [code >= 0 and item_ids[code] in wanted for code in item_codes]


def _known(columns: Mapping[str, str], frame: "pd.DataFrame") -> dict[str, str]:
    return {role: name for role, name in columns.items() if name in frame.columns}
