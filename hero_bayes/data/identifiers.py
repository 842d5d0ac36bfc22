"""Ids of items, labelers, rounds and arms: read as strings, put into one canonical order."""

import datetime
import math
import re
from collections.abc import Iterable, Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hero_bayes.words import number_of

__all__ = [
    "canonical_order",
    "contained",
    "id_string",
    "id_strings",
    "number_of",
    "read_ids",
    "row_list",
    "shared_coordinate",
    "some",
]

INTEGER_PATTERN = re.compile(r"-?[0-9]+")
SAFE_INT64_DIGITS = 18
ROWS_SHOWN = 5
MIXED_KINDS = frozenset({"mixed", "mixed-integer", "mixed-integer-float"})

Coded = tuple[NDArray[np.int64], NDArray[np.object_]]


def id_string(value: Any) -> str | None:
    """Return the id as a string: 1, " 1", 1.0 and ``np.int8(1)`` are one id; missing gives None."""
    if isinstance(value, str):
        return str(value).strip() or None
    if value is None or value is pd.NA or value is pd.NaT:
        return None
    if isinstance(value, bool | np.bool_):
        return str(bool(value))
    if isinstance(value, Integral):
        return str(int(value))
    if isinstance(value, Real):
        number = float(value)
        if math.isnan(number):
            return None
        return str(int(number)) if number.is_integer() else repr(number)
    if isinstance(value, datetime.datetime) and value.time() == datetime.time():
        return str(value.date())  # a CSV file writes the same day without a time
    return str(value)


def id_strings(values: Any) -> list[str]:
    """Return the ids in ``values`` (one id or several) as strings, missing ones left out."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        values = [values]
    return [text for text in map(id_string, values) if text is not None]


def read_ids(column: "pd.Series[Any]") -> Coded:
    """Code a column of ids.

    Parameters
    ----------
    column : pandas.Series
        Ids of any type.

    Returns
    -------
    codes : int64 array
        One entry per row: the position in ``ids``; -1 where the id is missing.
    ids : object array of str
        The distinct ids, in no particular order.
    """
    kind = pd.api.types.infer_dtype(column, skipna=True) if column.dtype == object else ""
    if kind in MIXED_KINDS:  # Python compares True == 1, so look at each value on its own
        codes, ids = pd.factorize(np.array([id_string(v) for v in column], dtype=object))
        return codes.astype(np.int64), np.asarray(ids, dtype=object)
    raw_codes, uniques = pd.factorize(column)
    if pd.api.types.is_integer_dtype(uniques.dtype):
        strings = np.array([str(value) for value in uniques.tolist()], dtype=object)
    else:
        strings = np.array([id_string(value) for value in uniques], dtype=object)
    recode, ids = pd.factorize(strings)
    lookup = np.append(recode, -1).astype(np.int64)  # a missing raw code (-1) stays -1
    return lookup[raw_codes], np.asarray(ids, dtype=object)


def canonical_order(ids: Sequence[str] | NDArray[np.object_]) -> NDArray[np.int64]:
    """Return the argsort of ids: numeric if all are plain decimal integers, else lexicographic."""
    names = list(ids)
    if all(INTEGER_PATTERN.fullmatch(name) for name in names):
        if max(map(len, names), default=0) <= SAFE_INT64_DIGITS:
            numbers = np.array([int(name) for name in names], dtype=np.int64)
            order = np.argsort(numbers, kind="stable")
            if np.all(np.diff(numbers[order]) > 0):
                return order.astype(np.int64)
        by_number = sorted(range(len(names)), key=lambda i: (int(names[i]), names[i]))
        return np.array(by_number, dtype=np.int64)
    return np.array(sorted(range(len(names)), key=names.__getitem__), dtype=np.int64)


def shared_coordinate(
    parts: Sequence[Coded],
) -> tuple[NDArray[np.object_], list[NDArray[np.int64]]]:
    """Put several coded id columns on one coordinate in canonical order.

    Returns
    -------
    ids : object array of str
        The union of the ids, in canonical order.
    codes : list of int64 array
        The codes of each part on that coordinate; -1 stays -1.
    """
    joined = np.concatenate([ids for _, ids in parts])
    codes, uniques = pd.factorize(joined)
    order = canonical_order(uniques)
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    result, start = [], 0
    for part_codes, ids in parts:
        lookup = np.append(rank[codes[start : start + len(ids)]], -1)
        result.append(lookup[part_codes])
        start += len(ids)
    return np.asarray(uniques, dtype=object)[order], result


def contained(ids: NDArray[np.object_], others: Iterable[str]) -> NDArray[np.bool_]:
    """Return which ids are among the others, by hashing (``np.isin`` compares all pairs)."""
    found = set(others)
    return np.fromiter((name in found for name in ids), dtype=bool, count=len(ids))


def row_list(rows: Sequence[int] | NDArray[np.integer]) -> str:
    """Say which rows, for an error message: the first five, counted from 0."""
    shown = ", ".join(str(int(row)) for row in rows[:ROWS_SHOWN])
    more = f" and {len(rows) - ROWS_SHOWN:,} more" if len(rows) > ROWS_SHOWN else ""
    return f"{'row' if len(rows) == 1 else 'rows'} {shown}{more} (counted from 0)"


def some(values: Iterable[Any], limit: int = ROWS_SHOWN) -> str:
    """Quote the first few values for an error message."""
    items = list(values)
    plain = [value.item() if isinstance(value, np.generic) else value for value in items[:limit]]
    shown = ", ".join(repr(value) for value in plain)
    return shown + (f" and {len(items) - limit:,} more" if len(items) > limit else "")
