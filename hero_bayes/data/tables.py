"""Tables as the caller brings them: reading files, finding columns by name or alias."""

import csv
import os
import re
import warnings
import zlib
from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hero_bayes.data.identifiers import number_of, row_list, some
from hero_bayes.errors import DataError

__all__ = [
    "ALIASES",
    "ITEM_ROLES",
    "LABELER_ROLES",
    "ROLES",
    "Reading",
    "Table",
    "check_renames",
    "need_arrays",
    "need_one_role",
    "need_scalars",
    "no_scalars",
    "place_renames",
    "prepare",
    "read_csv",
    "read_parquet",
    "reading_of",
    "taken_renames",
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
#: Where a column named in ``columns=`` is looked for: ids in all of these tables, others in the
#: first that has it.
PLACES = {
    "item": ("labels", "items"),
    "labeler": ("labels", "labelers"),
    "label": ("labels",),
    **dict.fromkeys(ITEM_ROLES, ("items", "labels")),
    **dict.fromkeys(LABELER_ROLES, ("labelers", "labels")),
}
CELL_SHOWN = 40
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
    """One table of the caller, with the column that plays each role; covariates are roles."""

    def __init__(self, name: str, frame: pd.DataFrame, roles: Mapping[str, str]) -> None:
        self.name = name
        self.frame = frame
        self.roles = dict(roles)

    def has(self, role: str) -> bool:
        """Whether the table carries this role."""
        return role in self.roles

    def column(self, role: str) -> "pd.Series[Any]":
        """Return the column that plays the role."""
        series: pd.Series[Any] = self.frame[self.roles[role]]
        return series


def prepare(
    tables: Mapping[str, Any],
    columns: Mapping[str, str] | None = None,
    numeric: Sequence[str] = (),
    texts: Sequence[str] = (),
) -> dict[str, Table]:
    """Turn what the caller brought into a `Table` each, or say what is wrong.

    Parameters
    ----------
    tables : mapping of "labels", "items" or "labelers" to what the caller brought
        DataFrames, mappings or objects with ``to_pandas``; None is left out.
    columns : mapping of role to the caller's column name, or None
        Names that differ from ours; a name not in this table is looked for under our own names.
    numeric, texts : sequence of str
        Columns of covariates.
    """
    frames = {name: _as_frame(name, table) for name, table in tables.items() if table is not None}
    check_renames(columns, [frames])
    placed = place_renames(columns, frames)
    prepared = {}
    for name, frame in frames.items():
        roles = {role: _find(name, frame, role, placed[name]) for role in REQUIRED[name]}
        for role in OPTIONAL[name]:
            for candidate in (placed[name].get(role), role):
                if candidate is not None and candidate in frame.columns:
                    roles[role] = candidate
                    break
        if name != "labelers":
            roles = _with_covariates(name, frame, roles, numeric, texts)
        else:
            need_one_role(f"the {name} table", roles.items())
        need_scalars(f"the {name} table", frame, roles.values())
        prepared[name] = Table(name, frame, roles)
    return prepared


def _with_covariates(
    name: str,
    frame: pd.DataFrame,
    roles: Mapping[str, str],
    numeric: Sequence[str],
    texts: Sequence[str],
) -> dict[str, str]:
    """Add the covariates to the roles; the text of a prompt may be its id, nothing else is two."""
    prompt = roles.get("prompt")
    if "prompt" in texts and prompt != "prompt" and "prompt" in frame.columns:
        raise DataError(
            f"the prompt of the {name} table is column {prompt!r}, and its text column 'prompt' as "
            "well: rename the text column"
        )
    features = [column for column in (*numeric, *texts) if column in frame.columns]
    named = [(f"covariate {c!r}", c) for c in features if not (c in texts and c == prompt)]
    need_one_role(f"the {name} table", [*roles.items(), *named])
    return {**dict(zip(features, features, strict=True)), **roles}


def place_renames(
    columns: Mapping[str, str] | None, frames: Mapping[str, pd.DataFrame]
) -> dict[str, dict[str, str]]:
    """Return the entries of ``columns=`` that each table takes.

    Gold is looked for in the items table where there is one, so that a name which both tables have
    never makes labels the truth; a column that holds ids or labels is nothing else.
    """
    chosen = dict(columns or {})
    placed: dict[str, dict[str, str]] = {name: {} for name in frames}
    for role, column in chosen.items():
        homes = [name for name in PLACES.get(role, ()) if name in frames]
        if role == "gold":
            homes = homes[:1]
        having = [name for name in homes if column in frames[name].columns]
        if role not in ALIASES:
            having = [n for n in having if column not in _required(n, frames[n], chosen)][:1]
        for name in having:
            placed[name][role] = column
    return placed


def taken_renames(columns: Mapping[str, str], frames: Mapping[str, pd.DataFrame]) -> dict[str, str]:
    """Return the entries of ``columns=`` that some table of a round takes, others leave alone."""
    placed = place_renames(columns, frames)
    return {role: name for role, name in columns.items() if any(role in t for t in placed.values())}


def check_renames(
    columns: Mapping[str, str] | None, rounds: Sequence[Mapping[str, pd.DataFrame]]
) -> None:
    """Refuse a ``columns=`` entry of an unknown role, or which no table of any round takes."""
    if not isinstance(columns, Mapping | None) or not all(
        isinstance(name, Hashable) for name in (columns or {}).values()
    ):
        raise DataError(
            f'columns={columns!r}: give names of ours and of yours, as in {{"item": "my_id"}}'
        )
    placed = [place_renames(columns, frames) for frames in rounds]
    for role, column in (columns or {}).items():
        if role not in ROLES:
            raise DataError(f"columns= knows the names {some(ROLES, 20)}, not {role!r}")
        if not any(role in taken for tables in placed for taken in tables.values()):
            said = _why_not(role, column, dict(columns or {}), rounds)
            raise DataError(f"columns={{{role!r}: {column!r}}}: {said}")


def _why_not(
    role: str,
    column: str,
    columns: Mapping[str, str],
    rounds: Sequence[Mapping[str, pd.DataFrame]],
) -> str:
    """Why no table takes an entry of ``columns=``."""
    for frames in rounds:
        for name in PLACES[role]:
            if name in frames and column in frames[name].columns:
                taken = _required(name, frames[name], columns)
                if column in taken:
                    home = PLACES[role][0]
                    other = "" if home in frames else f", or pass the {home} table that has it"
                    return (
                        f"column {column!r} of the {name} table is the {taken[column]} already, "
                        f"one column serves one role; give the {role} a column of its own{other}"
                    )
                return (
                    f"the {role} is looked for in the {PLACES[role][0]} table where there is one, "
                    f"and that has no column {column!r}; put it there"
                )
    found = [str(c) for frames in rounds for frame in frames.values() for c in frame.columns]
    if any(column in frame.columns for frames in rounds for frame in frames.values()):
        return f"the {role} stands in the {PLACES[role][0]} table, which has no such column"
    return f"no table has a column {column!r}; found {some(dict.fromkeys(found), 30)}"


def _required(name: str, frame: pd.DataFrame, columns: Mapping[str, str]) -> dict[str, str]:
    """Columns that hold ids or labels, with their role."""
    taken = {}
    for role in REQUIRED[name]:
        candidates = (columns.get(role), role, *ALIASES[role])
        column = next((c for c in candidates if c is not None and c in frame.columns), None)
        if column is not None:
            taken[column] = role
    return taken


def need_one_role(table: str, roles: Iterable[tuple[str, str]]) -> None:
    """Refuse a column that would serve two roles in one table."""
    served: dict[str, list[str]] = defaultdict(list)
    for role, column in roles:
        served[column].append(role)
    twice = [
        f"column {column!r} of {table} would serve as {' and as '.join(several)}"
        for column, several in served.items()
        if len(several) > 1
    ]
    if twice:
        raise DataError(
            f"{'; '.join(twice)}: one column serves one role; choose another column with columns=, "
            "or rename or leave out one"
        )


def no_scalars(column: "pd.Series[Any]") -> NDArray[np.int64]:
    """Return the rows whose cell holds several values: a list, an array, a mapping, a set."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        listed = no_scalars(pd.Series(column.cat.categories))
        return np.flatnonzero(np.isin(column.cat.codes, listed))
    nested = isinstance(column.dtype, pd.ArrowDtype) and column.dtype.type in (list, dict)
    if not nested and column.dtype != object:
        return np.empty(0, dtype=np.int64)
    if not nested and not pd.api.types.infer_dtype(column, skipna=True).startswith("mixed"):
        return np.empty(0, dtype=np.int64)
    cells = column.astype(object)
    return np.flatnonzero(
        [pd.api.types.is_list_like(cell) or not isinstance(cell, Hashable) for cell in cells]
    )


def need_scalars(table: str, frame: pd.DataFrame, columns: Iterable[str]) -> None:
    """Refuse cells that hold several values, with their rows."""
    problems = []
    for column in dict.fromkeys(columns):
        rows = no_scalars(frame[column])
        if len(rows):
            cell = frame[column].iloc[rows[0]]
            if isinstance(cell, Mapping):
                key = next(iter(cell), "")
                remedy = f"keep one entry of each, as in table[{column!r}].str[{key!r}]"
            else:
                remedy = f"give each value a row of its own, as in table.explode({column!r})"
            shown = " ".join(repr(cell).split())
            shown = shown if len(shown) <= CELL_SHOWN else f"a {type(cell).__name__}"
            problems.append(
                f"column {column!r} of {table} holds {shown} in {row_list(rows)}, where one value "
                f"is needed: {remedy}"
            )
    if problems:
        raise DataError("\n".join(problems))


def need_arrays(name: str, first: Any, makers: str) -> None:
    """Refuse a constructor call with tables or paths, which belong to the makers."""
    if not isinstance(first, np.ndarray):
        raise TypeError(
            f"{name}(...) takes index arrays, not {type(first).__name__}: make it from tables with "
            f"{makers}"
        )


def _as_frame(name: str, table: Any) -> pd.DataFrame:
    frame = table.to_pandas() if hasattr(table, "to_pandas") else table
    if isinstance(frame, Mapping):
        try:
            frame = pd.DataFrame(dict(frame))
        except ValueError as error:
            raise DataError(f"the {name} table is no table: {error}") from error
    if not isinstance(frame, pd.DataFrame):
        raise DataError(
            f"the {name} table must be a pandas DataFrame, not {type(table).__name__}; "
            "from_csv and from_parquet read files"
        )
    if frame.columns.has_duplicates:
        twice = frame.columns[frame.columns.duplicated()].unique()
        raise DataError(
            f"the {name} table has several columns named {some(twice)}: keep one of each name"
        )
    if not len(frame):
        raise DataError(f"the {name} table is empty: it needs at least one row")
    return frame


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
