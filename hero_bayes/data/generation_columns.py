"""Reading files of generations, and finding which column plays which role."""

import os
from collections.abc import Hashable, Mapping
from typing import Any

import pandas as pd

from hero_bayes.data import tables
from hero_bayes.data.identifiers import some
from hero_bayes.errors import DataError

__all__ = ["ROLES", "as_frame", "find_roles", "read_csv", "read_parquet", "table_kind"]

ALIASES: dict[str, tuple[str, ...]] = {
    "prompt": ("prompt_id", "question", "question_id", "task_id", "problem"),
    "generation": ("epoch", "repeat", "sample", "repetition"),
}
IDS = ("prompt", "generation", "model", "prompt_group", "run", "answer_cluster")
SCORES = ("correct", "n_correct", "k")
ROLES = (*IDS, "answer", *SCORES)


def read_csv(path: str | os.PathLike[str], columns: Mapping[str, str] | None) -> pd.DataFrame:
    """Read a CSV file; ids and answers stay as written, an empty answer is an answer."""
    chosen = checked(columns)
    scores = [chosen.get(role, role) for role in SCORES]
    names = {*ROLES, *chosen.values(), *(name for found in ALIASES.values() for name in found)}
    frame = tables.read_csv(path, dict(zip(SCORES, scores, strict=True)), sorted(names - {*scores}))
    answer = chosen.get("answer", "answer")
    if answer in frame.columns:
        frame[answer] = frame[answer].fillna("")
    return frame


def read_parquet(path: str | os.PathLike[str]) -> pd.DataFrame:
    """Read a Parquet file, or say why not."""
    return tables.read_parquet(path)


def as_frame(table: Any) -> pd.DataFrame:
    """Return the caller's table as a DataFrame, or say what is wrong with it."""
    frame = table.to_pandas() if hasattr(table, "to_pandas") else table
    if isinstance(frame, Mapping):
        frame = pd.DataFrame(dict(frame))
    if not isinstance(frame, pd.DataFrame):
        raise DataError(
            f"the generations must be a pandas DataFrame, not {type(table).__name__}; "
            "from_csv and from_parquet read files"
        )
    if isinstance(frame.columns, pd.MultiIndex):
        raise DataError(
            f"the columns have {frame.columns.nlevels} levels: give one name to each, as in "
            'frame.columns = ["_".join(map(str, names)) for names in frame.columns]'
        )
    if frame.columns.has_duplicates:
        twice = frame.columns[frame.columns.duplicated()].unique()
        raise DataError(f"several columns named {some(twice)}: keep one of each name")
    if not len(frame):
        raise DataError("the table of generations is empty: it needs at least one row")
    return frame


def checked(columns: Any) -> dict[str, str]:
    """Return ``columns=`` as a dict of str, or say what is wrong with it."""
    if columns is None:
        return {}
    if not isinstance(columns, Mapping) or not all(
        isinstance(role, str) and isinstance(name, Hashable) for role, name in columns.items()
    ):
        raise DataError(
            f'columns={columns!r}: give names of ours and of yours, as in {{"prompt": "my_id"}}'
        )
    return dict(columns)


def find_roles(frame: pd.DataFrame, columns: Mapping[str, str]) -> dict[str, str]:
    """Return which column plays each role."""
    found = some([str(column) for column in frame.columns], 30)
    for role, column in checked(columns).items():
        if role not in ROLES:
            raise DataError(f"columns= knows the names {some(ROLES, 20)}, not {role!r}")
        if column not in frame.columns:
            raise DataError(
                f"columns={{{role!r}: {column!r}}}: there is no column {column!r}; found {found}"
            )
    roles = {}
    for role in ROLES:
        # A column that the caller gave another role is no alias; a run may also be the index.
        taken = {name for other, name in columns.items() if other not in (role, "run")}
        aliases = [a for a in ALIASES.get(role, ()) if a in frame.columns and a not in taken]
        if role in columns:
            roles[role] = columns[role]
        elif role in frame.columns:
            named = [name for name in aliases if name not in columns.values()]
            if named:
                raise DataError(
                    f"several columns could be the {role}: {some([role, *named])}; choose one with "
                    f"columns={{{role!r}: {role!r}}}, or leave out the others"
                )
            roles[role] = role
        elif len(aliases) == 1:
            roles[role] = aliases[0]
        elif aliases:
            raise DataError(
                f"several columns could be the {role}: {some(aliases)}; choose one with "
                f"columns={{{role!r}: {aliases[0]!r}}}"
            )
    if "prompt" not in roles:
        raise DataError(
            f"no column for the prompt: found columns {found}; accepted names are "
            f"{some(('prompt', *ALIASES['prompt']), 20)}, or say which with "
            'columns={"prompt": ...}'
        )
    # The index of a generation may be its run, and nothing else serves twice.
    shared = roles.get("run") is not None and roles.get("run") == roles.get("generation")
    told = [entry for entry in roles.items() if not (shared and entry[0] == "run")]
    tables.need_one_role("the generations", told)
    tables.need_scalars("the generations", frame, roles.values())
    return roles


def table_kind(frame: pd.DataFrame, roles: Mapping[str, str]) -> str:
    """Say whether the table holds one row a generation, or counts."""
    rows, counts = "correct" in roles, "n_correct" in roles and "k" in roles
    if rows and counts:
        raise DataError(
            f"the table has both scored rows ({roles['correct']!r}) and counts "
            f"({roles['n_correct']!r} and {roles['k']!r}): keep one of the two"
        )
    if not (rows or counts):
        found = some([str(column) for column in frame.columns], 30)
        raise DataError(
            "the table has neither scored rows (a column 'correct') nor counts (columns "
            f"'n_correct' and 'k'): found columns {found}; say which with "
            'columns={"correct": ...}'
        )
    return "rows" if rows else "counts"
