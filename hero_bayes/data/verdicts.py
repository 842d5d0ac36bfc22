"""Verdicts and gold in the words of the caller, turned into 0 and 1."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hero_bayes.data.identifiers import number_of, row_list, some
from hero_bayes.errors import DataError

__all__ = ["ABSTAINED", "INVALID", "PLAIN", "Meaning", "Verdicts", "read", "settle", "token"]

ABSTAINED = -1
INVALID = -2
SAME_WORD = {"true": "1", "false": "0"}
PLAIN = {"0": 0, "1": 1}
VALUES_SHOWN = 8

#: Columns of one kind, each with the name of its table.
Columns = Sequence[tuple[str, "pd.Series[Any]"]]


@dataclass(frozen=True)
class Verdicts:
    """One column of verdicts.

    Attributes
    ----------
    code : int8 array
        0 or 1; -1 for an abstention or a missing value, -2 for a value that is neither.
    unsure : bool array
        Where the value is a word that means "no verdict".
    column : pandas.Series
        The values as the caller wrote them.
    """

    code: NDArray[np.int8]
    unsure: NDArray[np.bool_]
    column: "pd.Series[Any]"


@dataclass(frozen=True)
class Meaning:
    """What words mean, in all tables of a call alike.

    Attributes
    ----------
    label, gold : mapping of word to 0 or 1
        Of the labels, and of the gold.
    negative : str or None
        The word that means 0 where ``positive`` is given, if the labels or the caller say it.
    unsure : frozenset of str
        Words that mean "no verdict".
    """

    label: Mapping[str, int]
    gold: Mapping[str, int]
    negative: str | None
    unsure: frozenset[str]


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


def read(column: "pd.Series[Any]", meaning: Mapping[str, int], unsure: frozenset[str]) -> Verdicts:
    """Read a column of booleans, numbers or words, nullable or categorical."""
    codes, uniques = pd.factorize(column)
    words = [token(value) for value in uniques]
    silent = np.array([*(word in unsure for word in words), False])
    found = [ABSTAINED if word is None else meaning.get(word, INVALID) for word in words]
    lookup = np.array([*found, ABSTAINED], dtype=np.int8)
    lookup[silent] = ABSTAINED
    return Verdicts(code=lookup[codes], unsure=silent[codes], column=column)


def settle(
    labels: Columns,
    gold: Columns,
    positive: Any = None,
    negative: Any = None,
    abstain: Any = (),
) -> Meaning:
    """Decide what the words of labels and gold mean.

    Parameters
    ----------
    labels, gold : sequence of (name of the table, pandas.Series)
        All columns of labels and of gold that are to be read alike.
    positive, negative : scalar, optional
        The value that means 1, and the one that means 0 (needed when several others occur).
    abstain : scalar or iterable
        Values that mean "no verdict".

    Raises
    ------
    DataError
        If the arguments contradict each other, or gold can be read in two ways.

    Notes
    -----
    Gold is written in the words of the labels, or as plain 0 and 1 where neither is a word of the
    labels with another meaning.
    """
    yes, no = token(positive), token(negative)
    if no is not None and yes is None:
        raise DataError("negative= needs positive=: say which value means 1")
    if yes is not None and yes == no:
        raise DataError(f"positive= and negative= are the same value, {positive!r}")
    one_value = isinstance(abstain, str) or not isinstance(abstain, Iterable)
    silent = {token(value) for value in ([abstain] if one_value else abstain)}
    unsure = frozenset(word for word in silent if word is not None)
    if yes in unsure or no in unsure:
        raise DataError("a value in abstain= is also named by positive= or negative=")
    if yes is None:
        return Meaning(PLAIN, PLAIN, None, unsure)
    others = [(where, _words(column, unsure) - {yes}) for where, column in labels]
    if no is None:
        no = _other_word(others, positive)
    meaning = {yes: 1} if no is None else {yes: 1, no: 0}
    if any(words - meaning.keys() for _, words in others):  # labels that will be refused
        return Meaning(meaning, meaning, no, unsure)
    return Meaning(meaning, _gold_meaning(gold, yes, no, unsure), no, unsure)


def _words(column: "pd.Series[Any]", unsure: frozenset[str]) -> set[str]:
    """The words of a column that stand for a verdict."""
    words = {token(value) for value in pd.factorize(column)[1]}
    return {word for word in words if word is not None} - unsure


def _other_word(others: Sequence[tuple[str, set[str]]], positive: Any) -> str | None:
    """The single other word of all labels; refuses tables of which each has one that differs."""
    union = set().union(*(words for _, words in others))
    if len(union) > 1 and all(len(words) <= 1 for _, words in others):
        told = ", ".join(f"{some(words)} in {where}" for where, words in others if words)
        raise DataError(
            f"label is neither {positive!r} nor one single other value: {told}; name the value "
            "that means 0 with negative=, and values that mean no verdict with abstain=[...]"
        )
    return union.pop() if len(union) == 1 else None


def _gold_meaning(
    gold: Columns, yes: str, no: str | None, unsure: frozenset[str]
) -> dict[str, int]:
    """What the words of the gold mean; refuses gold that can be read in two ways."""
    said: set[str] = set().union(*(_words(column, unsure) for _, column in gold))
    others = said - {yes}
    counted = _is_number(yes)  # beside 2, a 1 may be the other class; beside "yes" it is not
    if no is None and len(others) == 1:
        if others != {"1"} or yes == "0" or (counted and yes in said):
            no = min(others)
    plain = yes != "0" and no != "1" and not unsure & PLAIN.keys()
    if no is None and "1" in others and others <= PLAIN.keys() and counted and plain:
        raise DataError(
            f"gold {_told(gold, {'1'})} can be read in two ways: as the label that is not {yes!r}, "
            'so that it means 0, or as plain 0 and 1, so that it means 1; negative="1" takes the '
            'first, negative="0" the second'
        )
    meaning = {yes: 1} if no is None else {yes: 1, no: 0}
    odd, own = said & PLAIN.keys() - meaning.keys(), said & meaning.keys() - PLAIN.keys()
    if plain and odd and own:
        raise DataError(
            f"gold is written in two ways: in the words of the labels, {_told(gold, own)}, and as "
            f"plain 0 and 1, {_told(gold, odd)}; write it one way, and name values that mean no "
            "verdict with abstain=[...]"
        )
    if not plain and odd and said <= PLAIN.keys():
        words = " and ".join(f"{word!r} means {value}" for word, value in meaning.items())
        silent = "".join(f", {word!r} no verdict" for word in sorted(unsure))
        raise DataError(
            f"gold {_told(gold, said)} can be read in two ways: in the words of the labels, where "
            f"{words}{silent}, or as plain 0 and 1; what positive=, negative= and abstain= say "
            "of the labels holds for gold as well: write it in these words, or leave it empty"
        )
    return {**PLAIN, **meaning} if plain else meaning


def _is_number(word: str) -> bool:
    try:
        return math.isfinite(float(word))
    except ValueError:
        return False


def _told(columns: Columns, words: Iterable[str]) -> str:
    """Quote words, and say where they stand."""
    chosen, places = dict.fromkeys(words, 1), []
    for where, column in columns:
        rows = np.flatnonzero(read(column, chosen, frozenset()).code == 1)
        if len(rows):
            places.append(f"{row_list(rows)} of {where}")
    return f"{some(sorted(chosen))} in {' and '.join(places)}"


def invalid_message(name: str, table: str, verdicts: Verdicts, positive: Any) -> str:
    """Say which values of a column are neither 0 nor 1, how many, in which rows, and the fix."""
    rows = np.flatnonzero(verdicts.code == INVALID)
    counts = verdicts.column.iloc[rows].astype(object).map(lambda v: some([v])).value_counts()
    listed = ", ".join(f"{v} ({n:,}x)" for v, n in counts.head(VALUES_SHOWN).items())
    if len(counts) > VALUES_SHOWN:
        more = len(counts) - VALUES_SHOWN
        listed += f" and {number_of(more, 'more value')}"
    if positive is None:
        what = f"{name} outside {{0, 1}}"
    else:
        what = f"{name} is neither {positive!r} nor one single other value"
    if name == "label":
        remedy = 'name the value that means 1 with positive= (for example positive="yes")'
        if positive is not None:
            remedy = "name the value that means 0 with negative="
        remedy += ", and values that mean no verdict with abstain=[...]"
        classes = _words(verdicts.column[verdicts.code != ABSTAINED], frozenset())
        if len(classes) > 2:
            remedy += f", or merge values that belong to one class first, {_merged(classes)}"
    else:
        words = "as 0 and 1" if positive is None else "in the words of the labels or as 0 and 1"
        remedy = (
            f"write gold {words}, leave it empty where there is none, and name values that mean no "
            "verdict with abstain=[...]"
        )
    return f"{what} in the {table} table: {listed} in {row_list(rows)}; {remedy}"


def _merged(classes: set[str]) -> str:
    """How several values become two, as an example in pandas."""
    if all(_is_number(word) for word in classes):
        high = sorted(classes, key=float)[(len(classes) + 1) // 2]
        return f"such as those from {high} on: table.label >= {high}"
    return f"such as table.label.isin([{', '.join(map(repr, sorted(classes)[:2]))}])"
