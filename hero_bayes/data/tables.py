"""Tables as the caller brings them: reading files, finding columns by name or alias."""

import csv
import os
import re
import warnings
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from hero_bayes.data.identifiers import number_of, some
from hero_bayes.errors import DataError

__all__ = [
    "ALIASES",
    "ITEM_ROLES",
    "LABELER_ROLES",
    "Reading",
    "Table",
    "prepare",
    "read_csv",
    "read_parquet",
    "reading_of",
]

ALIASES: dict[str, tuple[str, ...]] = {
    "item": ("task", "item_id", "task_id"),
    "labeler": (
        "worker",
        "rater",
        "annotator",
        "judge",
        "labeler_id",
        "worker_id",
        "rater_id",
    ),
    "label": ("rating", "verdict"),
}
ITEM_ROLES = ("gold", "round", "arm", "prompt", "prompt_group", "generation", "gold_prob")
LABELER_ROLES = ("family", "version")
ROLES = (*ALIASES, *ITEM_ROLES, *LABELER_ROLES)
REQUIRED = {"labels": ("item", "labeler", "label"), "items": ("item",), "labelers": ("labeler",)}
OPTIONAL = {
    "labels": (*ITEM_ROLES, *LABELER_ROLES),
    "items": ITEM_ROLES,
    "labelers": LABELER_ROLES,
}
TEXT_ROLES = ("item", "labeler", "round", "arm", "prompt", "prompt_group", "generation")
MISSING_WORDS = ["", "NA", "N/A", "n/a", "<NA>", "NaN", "nan", "NULL", "null", "None", "none"]

SEPARATORS = {";": "semicolons", "\t": "tabs", "|": "bars"}
EVERY_LINE = "Every line must have as many fields as the first; quote fields that hold commas."
NUMBER = re.compile(r"[-+]?\d+([.,]\d+)?")
#: Lines in which the names of the columns are looked for.
HEAD_LINES = 50
#: Where a frame that was read from a file carries its `Reading`.
READING = "hero_bayes_reading"


@dataclass(frozen=True)
class Reading:
    """What reading CSV files found: columns without a name, and empty ones and rows left out."""

    unnamed: tuple[str, ...] = ()
    empty_columns: int = 0
    empty_rows: int = 0

    def __str__(self) -> str:
        """What was left out; empty where nothing was."""
        counts = ((self.empty_rows, "empty row"), (self.empty_columns, "empty column"))
        said = [number_of(count, what) for count, what in counts if count]
        return f"{' and '.join(said)} left out" if said else ""


def reading_of(*tables: Any) -> Reading:
    """What reading the files of these tables found and left out; nothing for other tables."""
    found = [getattr(table, "attrs", {}).get(READING, Reading()) for table in tables]
    return Reading(
        tuple(name for one in found for name in one.unnamed),
        sum(one.empty_columns for one in found),
        sum(one.empty_rows for one in found),
    )


class Table:
    """One table of the caller, with the column that plays each role."""

    def __init__(self, name: str, frame: pd.DataFrame, roles: Mapping[str, str]) -> None:
        self.name = name
        self.frame = frame
        self.roles = dict(roles)

    def has(self, role: str) -> bool:
        """Whether the table carries this role, or a column of this name."""
        return role in self.roles or role in self.frame.columns

    def column(self, role: str) -> "pd.Series[Any]":
        """Return the column that plays the role, or has this name."""
        series: pd.Series[Any] = self.frame[self.roles.get(role, role)]
        return series


def prepare(name: str, table: Any, columns: Mapping[str, str] | None) -> Table:
    """Turn what the caller brought into a `Table`, or say what is missing.

    Parameters
    ----------
    name : {"labels", "items", "labelers"}
        What the table is, for messages.
    table : pandas.DataFrame or mapping or an object with ``to_pandas``
        The rows.
    columns : mapping of role to the caller's column name, or None
        Names that differ from ours; a name not in this table is looked for under our own names.
    """
    frame = _as_frame(name, table)
    if frame.columns.has_duplicates:
        twice = frame.columns[frame.columns.duplicated()].unique()
        raise DataError(
            f"the {name} table has several columns named {some(twice)}: keep one of each name"
        )
    if not len(frame):
        raise DataError(f"the {name} table is empty: it needs at least one row")
    chosen = dict(columns or {})
    roles = {role: _find(name, frame, role, chosen) for role in REQUIRED[name]}
    for role in OPTIONAL[name]:
        for candidate in (chosen.get(role), role):
            if candidate is not None and candidate in frame.columns:
                roles[role] = candidate
                break
    return Table(name, frame, roles)


def check_renames(columns: Mapping[str, str] | None, tables: Sequence[Table]) -> None:
    """Refuse a ``columns=`` entry of an unknown role, or whose column no table has."""
    for role, column in (columns or {}).items():
        if role not in ROLES:
            raise DataError(f"columns= knows the names {some(ROLES, 20)}, not {role!r}")
        if not any(column in table.frame.columns for table in tables):
            found = [str(c) for table in tables for c in table.frame.columns]
            raise DataError(
                f"columns={{{role!r}: {column!r}}}: no table has a column {column!r}; "
                f"found {some(found, 30)}"
            )


def _as_frame(name: str, table: Any) -> pd.DataFrame:
    if isinstance(table, pd.DataFrame):
        return table
    if hasattr(table, "to_pandas"):
        frame = table.to_pandas()
        if isinstance(frame, pd.DataFrame):
            return frame
    if isinstance(table, Mapping):
        return pd.DataFrame(dict(table))
    raise DataError(
        f"the {name} table must be a pandas DataFrame, not {type(table).__name__}; "
        "from_csv and from_parquet read files"
    )


def _find(name: str, frame: pd.DataFrame, role: str, columns: Mapping[str, str]) -> str:
    chosen = columns.get(role)
    if chosen is not None and chosen in frame.columns:
        return chosen
    if role in frame.columns:
        return role
    found = [alias for alias in ALIASES[role] if alias in frame.columns]
    if len(found) == 1:
        return found[0]
    if found:
        raise DataError(
            f"the {name} table has several columns that could be the {role}: {some(found)}; "
            f"choose one with columns={{{role!r}: {found[0]!r}}}"
        )
    raise DataError(
        f"the {name} table has no column for the {role}: found columns "
        f"{some([str(column) for column in frame.columns], 30)}; accepted names are "
        f"{some((role, *ALIASES[role]), 20)}, or say which with columns={{{role!r}: ...}}"
    )


def read_csv(
    path: str | os.PathLike[str],
    columns: Mapping[str, str] | None = None,
    texts: Sequence[str] = (),
) -> pd.DataFrame:
    """Read a CSV file with every value as text.

    An id or a text called "NA" or "None" stays what it is; in the other columns such words, and
    empty fields everywhere, are missing. ``texts`` names further text columns. Empty rows, and
    empty columns without a name, are left out and counted (`reading_of`).
    """
    source = _existing(path)
    chosen = dict(columns or {})
    names = [*TEXT_ROLES, *(alias for role in ("item", "labeler") for alias in ALIASES[role])]
    as_text = {
        *texts,
        *names,
        *(chosen[role] for role in TEXT_ROLES if role in chosen),
        *LABELER_ROLES,
    }
    known = {*as_text, *ROLES, *chosen.values(), *(a for found in ALIASES.values() for a in found)}
    try:
        head = _head(source)
        _check_header(source, head, known)
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)
            frame = pd.read_csv(source, dtype=str, keep_default_na=False, index_col=False)
    except pd.errors.ParserWarning as error:  # its own words are about an option of pandas
        width = len(head[0][1])
        raise DataError(
            f"{source} is not a readable CSV table: some line has more than the {width} fields of "
            f"line {head[0][0]}. {EVERY_LINE}"
        ) from error
    except (pd.errors.ParserError, pd.errors.EmptyDataError) as error:
        raise DataError(f"{source} is not a readable CSV table: {error}. {EVERY_LINE}") from error
    except UnicodeDecodeError as error:
        raise DataError(f"{source} is not UTF-8 text: {error}; save it as CSV in UTF-8") from error
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{source} cannot be read, it may be damaged: {error}") from error
    frame = _without_empty(source, frame, head[0], known)
    for column in frame.columns:
        words = [""] if column in as_text else MISSING_WORDS
        frame[column] = frame[column].mask(frame[column].isin(words))
    return frame


def _head(source: Path) -> list[tuple[int, list[str]]]:
    """The first lines that are not blank, as fields, each with its number in the file."""
    no_separator: dict[str, Any] = {"sep": "\x01", "quoting": csv.QUOTE_NONE, "names": ["line"]}
    lines = pd.read_csv(
        source, dtype=str, header=None, nrows=HEAD_LINES, keep_default_na=False,
        skip_blank_lines=False, on_bad_lines="skip", **no_separator,
    )["line"]  # fmt: skip
    reader = csv.reader(f"{line}\n" for line in lines.str.removeprefix("\ufeff"))
    head = []
    while True:
        try:
            fields = next(reader)
        except (StopIteration, csv.Error):  # a field longer than the csv module reads ends the head
            break
        if any(field.strip() for field in fields) or len(fields) > 1:
            head.append((reader.line_num, [field.strip() for field in fields]))
    if not head:
        raise DataError(f"{source} is not a readable CSV table: it is empty")
    return head


def _check_header(source: Path, head: Sequence[tuple[int, list[str]]], known: set[str]) -> None:
    """Refuse a file whose first line does not hold the names of its columns, one by one."""
    (number, first), below = head[0], head[1:]
    shown = some(first, 8)
    named = next((i for i, fields in below if len(known & set(fields)) > 1), None)
    width = max((len(fields) for _, fields in below), default=len(first))
    if not known & set(first) and (named or (first[0].startswith("#") and len(first) < width)):
        what = "a comment" if first[0].startswith("#") else "a title" if any(first) else "empty"
        where = f", which are in line {named}" if named else ""
        raise DataError(
            f"{source}: line {number} ({shown}) is {what} above the names of the columns{where}: "
            "remove what stands above them"
        )
    for mark, word in SEPARATORS.items():
        if len(first) == 1 and mark in first[0]:
            raise DataError(
                f"{source}: line {number} ({shown}) is separated by {word}: write the file with "
                "commas between the fields, and a point in decimal numbers"
            )
    if not known & set(first) and _looks_like_values(first, [fields for _, fields in below]):
        raise DataError(
            f"{source}: line {number} ({shown}) looks like values: is the line with the names of "
            "the columns missing? Write it above"
        )
    longer = next(((i, fields) for i, fields in below if len(fields) > len(first)), None)
    if longer is not None:
        raise DataError(
            f"{source} is not a readable CSV table: line {longer[0]} has {len(longer[1])} fields, "
            f"line {number} ({shown}) has {len(first)}: {EVERY_LINE} If it is a title, remove it"
        )
    twice = sorted({name for name in first if name and first.count(name) > 1})
    if twice:
        at = {name: [str(i) for i, n in enumerate(first, 1) if n == name] for name in twice}
        where = ", ".join(f"{name!r} (columns {' and '.join(at[name])})" for name in twice)
        raise DataError(f"{source} names a column twice: {where}; rename or remove one")


def _looks_like_values(first: Sequence[str], below: Sequence[Sequence[str]]) -> bool:
    """Whether the first line is of a kind with the lines below it, and shows it."""
    shows = False
    for at, name in enumerate(first):
        values = [fields[at] for fields in below if len(fields) > at and fields[at]]
        number = bool(NUMBER.fullmatch(name))
        if name and values and number != all(map(NUMBER.fullmatch, values)):
            return False
        shows = shows or number or (bool(name) and name in values)
    return shows


def _without_empty(
    source: Path, frame: pd.DataFrame, header: tuple[int, list[str]], known: set[str]
) -> pd.DataFrame:
    """Leave out empty rows, and empty columns without a name; ask about other nameless ones."""
    filled = ~frame.isin(["", np.nan]).to_numpy()
    full_rows, full_columns = filled.any(axis=1), filled.any(axis=0)
    nameless = np.array([not name for name in header[1]])
    rows = frame[full_rows]
    asked = []
    for at in np.flatnonzero(nameless & full_columns):
        values: pd.Series[str] = rows.iloc[:, int(at)]
        # Rows are often numbered in a first column without a name.
        numbered = not at and values.is_unique and values.str.fullmatch(r"\d+").all()
        if not numbered and values.name not in known:
            asked.append(f"column {at + 1} holds {some(sorted({*values} - {''}), 3)}")
    if asked:
        raise DataError(
            f"{source}: line {header[0]} gives no name to columns that hold values: "
            f"{'; '.join(asked)}. Name them there, or remove them"
        )
    kept = rows.loc[:, ~nameless | full_columns].reset_index(drop=True)
    kept.attrs[READING] = Reading(
        unnamed=tuple(map(str, frame.columns[nameless & full_columns])),
        empty_columns=int((nameless & ~full_columns).sum()),
        empty_rows=int((~full_rows).sum()),
    )
    return kept


def read_parquet(path: str | os.PathLike[str]) -> pd.DataFrame:
    """Read a Parquet file, or say why not."""
    source = Path(path)
    if not source.is_dir():  # a folder of parts is fine
        source = _existing(path)
    try:
        return pd.read_parquet(source)
    except (OSError, ValueError) as error:
        raise DataError(f"{source} is not a readable Parquet table: {error}") from error


def _existing(path: str | os.PathLike[str]) -> Path:
    source = Path(path)
    if not source.is_file():
        raise DataError(f"there is no file {str(source)!r}")
    return source
