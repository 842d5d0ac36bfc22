"""Tables as the caller brings them: reading files, finding columns by name or alias."""

import os
import warnings
import zlib
from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hero_bayes.data.identifiers import row_list, some
from hero_bayes.errors import DataError

__all__ = [
    "ALIASES",
    "ITEM_ROLES",
    "LABELER_ROLES",
    "ROLES",
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
