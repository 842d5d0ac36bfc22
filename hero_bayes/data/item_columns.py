"""Item and labeler columns: one value each, collected from every table that carries them."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hero_bayes.data.identifiers import read_ids, row_list, shared_coordinate, some
from hero_bayes.data.tables import Table
from hero_bayes.data.validation import numbers
from hero_bayes.data.verdicts import Verdicts
from hero_bayes.errors import DataError

__all__ = [
    "Source",
    "collect_codes",
    "collect_gold",
    "collect_numbers",
    "collect_text",
    "complete_numbers",
    "complete_text",
    "groups",
]

IDS_SHOWN = 3

Index = NDArray[np.int64]
Source = tuple[Table, Index]
Values = NDArray[np.float64]


def collect_numbers(role: str, ids: NDArray[np.object_], sources: Sequence[Source]) -> Values:
    """Return one number per id, NaN where no table has one."""
    present = [(table, idx) for table, idx in sources if table.has(role)]
    return _collect(role, ids, present, [numbers(table.column(role)) for table, _ in present])


def collect_gold(
    ids: NDArray[np.object_], sources: Sequence[Source], parsed: Sequence[Verdicts | None]
) -> Values:
    """Return one gold value per item, NaN where no table has one."""
    present, values = [], []
    for source, gold in zip(sources, parsed, strict=True):
        if gold is not None:
            present.append(source)
            values.append(np.where(gold.code >= 0, gold.code.astype(np.float64), np.nan))
    return _collect("gold", ids, present, values)


def collect_codes(
    role: str, ids: NDArray[np.object_], sources: Sequence[Source]
) -> tuple[Index, NDArray[np.object_]] | None:
    """Return one code per id (-1: missing) and the words in canonical order.

    None when no table has the column, or every value is missing.
    """
    present = [(table, idx) for table, idx in sources if table.has(role)]
    if not present:
        return None
    words, codes = shared_coordinate([read_ids(table.column(role)) for table, _ in present])
    if not len(words):
        return None
    values = [np.where(code >= 0, code.astype(np.float64), np.nan) for code in codes]
    merged = _collect(role, ids, present, values, words)
    return np.where(np.isnan(merged), -1, merged).astype(np.int64), words


def collect_text(
    role: str, ids: NDArray[np.object_], sources: Sequence[Source]
) -> NDArray[np.object_] | None:
    """Return one string per id, None where missing; None when no table has the column."""
    coded = collect_codes(role, ids, sources)
    if coded is None:
        return None
    codes, words = coded
    return np.append(words, np.array([None], dtype=object))[codes]


def groups(
    ids: NDArray[np.object_], sources: Sequence[Source]
) -> tuple[NDArray[np.int32], tuple[str | None, ...], tuple[str | None, ...]]:
    """Return the group of each item, and round and arm of each group in canonical order."""
    n_items = len(ids)
    coded = {}
    for role in ("round", "arm"):
        found = collect_codes(role, ids, sources)
        if found is None:
            coded[role] = (np.zeros(n_items, dtype=np.int64), np.array([None], dtype=object))
            continue
        if (found[0] < 0).any():
            raise DataError(
                f"missing {role} for items {some(ids[found[0] < 0])}: give every item its {role}, "
                f"or remove the {role} column"
            )
        coded[role] = found
    n_arms = len(coded["arm"][1])
    key = coded["round"][0] * n_arms + coded["arm"][0]
    present, group_idx = np.unique(key, return_inverse=True)
    rounds = tuple(coded["round"][1][present // n_arms])
    arms = tuple(coded["arm"][1][present % n_arms])
    return group_idx.astype(np.int32), rounds, arms


def complete_numbers(
    name: str, ids: NDArray[np.object_], sources: Sequence[Source]
) -> NDArray[np.float64]:
    """Return a numeric covariate; every item must have a value."""
    _check_present(name, sources)
    values = collect_numbers(name, ids, sources)
    if np.isnan(values).any():
        raise DataError(_incomplete(name, np.flatnonzero(np.isnan(values)), ids, sources))
    return values


def complete_text(
    name: str, ids: NDArray[np.object_], sources: Sequence[Source]
) -> NDArray[np.object_]:
    """Return a text column; every item must have a text."""
    _check_present(name, sources)
    values = collect_text(name, ids, sources)
    if values is None:
        values = np.full(len(ids), None, dtype=object)
    missing = np.array([value is None for value in values], dtype=bool)
    if missing.any():
        raise DataError(_incomplete(name, np.flatnonzero(missing), ids, sources))
    return values


def _check_present(name: str, sources: Sequence[Source]) -> None:
    if not any(table.has(name) for table, _ in sources):
        found: Iterable[str] = (str(c) for table, _ in sources for c in table.frame.columns)
        raise DataError(f"no table has the covariate column {name!r}; found {some(found, 30)}")


def _incomplete(
    name: str, missing_idx: Index, ids: NDArray[np.object_], sources: Sequence[Source]
) -> str:
    """Say for which items, and in which rows, a covariate is missing."""
    places = []
    for table, idx in sources:
        rows = np.flatnonzero(np.isin(idx, missing_idx))
        if len(rows):
            places.append(f"{row_list(rows)} of the {table.name} table")
    return (
        f"covariate {name!r} is missing for items {some(ids[missing_idx])}, "
        f"in {' and '.join(places)}; give every item a value, or leave the covariate out"
    )


def _collect(
    role: str,
    ids: NDArray[np.object_],
    sources: Sequence[Source],
    values: Sequence[Values],
    words: NDArray[np.object_] | None = None,
) -> Values:
    result = np.full(len(ids), np.nan)
    known = [
        ~np.isnan(column) & (idx >= 0) for (_, idx), column in zip(sources, values, strict=True)
    ]
    for (_, idx), column, rows in zip(sources, values, known, strict=True):
        result[idx[rows]] = column[rows]
    clash = np.zeros(len(ids), dtype=bool)
    for (_, idx), column, rows in zip(sources, values, known, strict=True):
        differs = rows.copy()
        differs[rows] = column[rows] != result[idx[rows]]
        clash[idx[differs]] = True
    if clash.any():
        parts = [
            (table.name, idx, column, rows)
            for (table, idx), column, rows in zip(sources, values, known, strict=True)
        ]
        raise DataError(_contradiction(role, ids, np.flatnonzero(clash), parts, words))
    return result


def _contradiction(
    role: str,
    ids: NDArray[np.object_],
    clash_idx: Index,
    parts: Sequence[tuple[str, Index, Values, NDArray[np.bool_]]],
    words: NDArray[np.object_] | None,
) -> str:
    """Say which items carry two values of a column, where, and what to do."""

    def word(value: Any) -> str:
        return f"{value:g}" if words is None else repr(words[int(value)])

    told = []
    for item_idx in clash_idx[:IDS_SHOWN]:
        places = []
        for name, idx, column, known in parts:
            rows = np.flatnonzero(known & (idx == item_idx))
            for value in np.unique(column[rows]):
                where = row_list(rows[column[rows] == value])
                places.append(f"{word(value)} in {where} of the {name} table")
        told.append(f"{ids[item_idx]!r} has " + ", ".join(places))
    more = f"; {len(clash_idx) - IDS_SHOWN:,} more" if len(clash_idx) > IDS_SHOWN else ""
    remedy = "leave one value"
    if role in ("round", "arm"):
        remedy = (
            f"make item ids unique per round and arm, and use `prompt` to pair them over {role}s"
        )
    thing = "labelers" if role in ("family", "version") else "items"
    return f"{role} contradicts itself for {thing}: {'; '.join(told)}{more}; {remedy}"
