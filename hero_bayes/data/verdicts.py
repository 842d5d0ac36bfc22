"""Verdicts and gold in the words of the caller, turned into 0 and 1."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hero_bayes.data.identifiers import row_list, some
from hero_bayes.errors import DataError

__all__ = ["ABSTAINED", "INVALID", "Verdicts", "parse_gold", "parse_verdicts", "token"]

ABSTAINED = -1
INVALID = -2
SAME_WORD = {"true": "1", "false": "0"}
PLAIN = {"0": 0, "1": 1}
VALUES_SHOWN = 8


@dataclass(frozen=True)
class Verdicts:
    """One column of verdicts.

    Attributes
    ----------
    code : int8 array
        0 or 1; -1 for an abstention or a missing value, -2 for a value that is neither.
    negative : str or None
        The word that was read as 0 besides "0" and "false", if any.
    column : pandas.Series
        The values as the caller wrote them.
    """

    code: NDArray[np.int8]
    negative: str | None
    column: "pd.Series[Any]"


def token(value: Any) -> str | None:
    """Return the canonical word of a verdict: 1, True, 1.0, "1", " TRUE " are all "1"."""
    if value is None or value is pd.NA or value is pd.NaT:
        return None
    text = str(value).strip().lower()
    text = SAME_WORD.get(text, text)
    if text in PLAIN:
        return text
    try:
        number = float(text)
    except ValueError:
        return text or None
    if math.isnan(number):
        return text if isinstance(value, str) else None
    return str(int(number)) if number.is_integer() else repr(number)


def parse_verdicts(
    column: "pd.Series[Any]",
    positive: Any = None,
    negative: Any = None,
    abstain: Any = (),
) -> Verdicts:
    """Read a column of verdicts.

    Parameters
    ----------
    column : pandas.Series
        Booleans, numbers, words, nullable or categorical.
    positive, negative : scalar, optional
        The value that means 1, and the one that means 0 (needed when several others occur).
    abstain : scalar or iterable
        Values that mean "no verdict".
    """
    yes = token(positive)
    no = token(negative)
    if no is not None and yes is None:
        raise DataError("negative= needs positive=: say which value means 1")
    if yes is not None and yes == no:
        raise DataError(f"positive= and negative= are the same value, {positive!r}")
    one_value = isinstance(abstain, str) or not isinstance(abstain, Iterable)
    unsure = {token(value) for value in ([abstain] if one_value else abstain)} | {None}
    if yes in unsure - {None} or no in unsure - {None}:
        raise DataError("a value in abstain= is also named by positive= or negative=")
    raw_codes, uniques = pd.factorize(column)
    words = [token(value) for value in uniques]
    if yes is None:
        meaning = dict(PLAIN)
    else:
        others = {word for word in words if word not in unsure and word != yes}
        if no is None and len(others) == 1:
            no = others.pop()
        meaning = {yes: 1} if no is None else {yes: 1, no: 0}
    meaning = {word: value for word, value in meaning.items() if word not in unsure}
    lookup = np.array(
        [ABSTAINED if word in unsure else meaning.get(word or "", INVALID) for word in words]
        + [ABSTAINED],
        dtype=np.int8,
    )
    return Verdicts(code=lookup[raw_codes], negative=no, column=column)


def parse_gold(column: "pd.Series[Any]", positive: Any, negative: Any) -> Verdicts:
    """Read a column of gold: the words of the labels, or plain 0 and 1; missing is no gold."""
    if positive is not None and token(positive) not in PLAIN:
        plain = parse_verdicts(column)
        if not (plain.code == INVALID).any():
            return plain
    return parse_verdicts(column, positive, negative)


def invalid_message(name: str, table: str, verdicts: Verdicts, positive: Any) -> str:
    """Say which values of a column are neither 0 nor 1, how many, in which rows, and the fix."""
    rows = np.flatnonzero(verdicts.code == INVALID)
    counts = verdicts.column.iloc[rows].astype(object).map(lambda v: some([v])).value_counts()
    listed = ", ".join(f"{v} ({n:,}x)" for v, n in counts.head(VALUES_SHOWN).items())
    if len(counts) > VALUES_SHOWN:
        listed += f" and {len(counts) - VALUES_SHOWN:,} more values"
    if positive is None:
        what = f"{name} outside {{0, 1}}"
    else:
        what = f"{name} is neither {positive!r} nor one single other value"
    remedy = 'name the value that means 1 with positive= (for example positive="yes")'
    if positive is not None:
        remedy = "name the value that means 0 with negative="
    if name == "label":
        remedy += ", and values that mean no verdict with abstain=[...]"
    else:
        remedy += "; leave gold empty where there is none"
    return f"{what} in the {table} table: {listed} in {row_list(rows)}; {remedy}"
