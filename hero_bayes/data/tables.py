"""Tables as the caller brings them: reading files, finding columns by name or alias."""

import os
import warnings
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from hero_bayes.data.identifiers import some
from hero_bayes.errors import DataError

__all__ = ["ALIASES", "ITEM_ROLES", "LABELER_ROLES", "Table", "prepare", "read_csv", "read_parquet"]

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
    empty fields everywhere, are missing. ``texts`` names further text columns.
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
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)
            header = pd.read_csv(source, dtype=str, header=None, nrows=1, keep_default_na=False)
            frame = pd.read_csv(source, dtype=str, keep_default_na=False, index_col=False)
    except (pd.errors.ParserError, pd.errors.ParserWarning, pd.errors.EmptyDataError) as error:
        raise DataError(
            f"{source} is not a readable CSV table: {error}. Every line must have as many fields "
            "as the header; quote fields that hold commas"
        ) from error
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{source} cannot be read, it may be damaged: {error}") from error
    except UnicodeDecodeError as error:
        raise DataError(f"{source} is not UTF-8 text: {error}") from error
    names_given = header.iloc[0]
    if names_given.duplicated().any():
        twice = sorted(set(names_given[names_given.duplicated()]))
        raise DataError(f"{source} names a column twice: {', '.join(twice)}; rename or remove one")
    for column in frame.columns:
        words = [""] if column in as_text else MISSING_WORDS
        frame[column] = frame[column].mask(frame[column].isin(words))
    return frame


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
