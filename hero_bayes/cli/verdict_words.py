"""What the label values are, and which of them means 1, 0 or no verdict."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from hero_bayes.cli.reading import ReadingOptions
from hero_bayes.cli.wording import join

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Value", "Words", "read_words"]

ONE_WORDS = frozenset(
    "yes y true t positive pos unsafe toxic harmful bad incorrect wrong defect fail failed failure "
    "spam abuse abusive violation hallucination hallucinated".split()
)
ZERO_WORDS = frozenset(
    "no n false f negative neg safe non-toxic nontoxic harmless good correct right ok okay pass "
    "passed success ham benign clean not_unsafe".split()
)
NO_VERDICT_WORDS = frozenset(
    "unsure unknown skip skipped ? abstain abstained maybe idk n/a na none null nan error "
    "parse_error unparsed invalid undecided unclear refused refusal dont_know don't_know "
    "do_not_know not_sure cannot_tell can't_tell cannot_say no_answer tie neutral both "
    "-1 9 99 -99 999".split()
)
MISSING = "(empty)"
#: Label values up to which a problem lists them all.
VALUES_SHOWN = 8


@dataclass(frozen=True)
class Value:
    """One label value as written, how often it occurs, and what it is read as."""

    value: str
    count: int
    read_as: str


@dataclass(frozen=True)
class Words:
    """How the label values are read.

    Attributes
    ----------
    values : tuple of Value
        The most frequent first.
    options : ReadingOptions
        The caller's, with what was guessed filled in.
    assumed : tuple of str
        One sentence per guess.
    problem : str or None
        Why the values cannot be read as verdicts.
    remedy : ReadingOptions or None
        Options that would read them: the caller's, with what they leave open filled in.
    """

    values: tuple[Value, ...]
    options: ReadingOptions
    assumed: tuple[str, ...]
    problem: str | None = None
    remedy: ReadingOptions | None = None


def read_words(columns: "Sequence[pd.Series[Any]]", options: ReadingOptions) -> Words:
    """Look at the label columns and guess what the caller has not said.

    Parameters
    ----------
    columns : sequence of Series
        The label column of each labels table.
    options : ReadingOptions
        What the caller has said.
    """
    counts, written = _counts(columns)
    missing = counts.pop(None, 0)
    guess, assumed, (problem, remedy) = _guess(counts, written, options)
    values = [
        Value(written[word], number, _reading(word, guess) if problem is None else "not decided")
        for word, number in sorted(counts.items(), key=lambda entry: (-entry[1], str(entry[0])))
        if word is not None
    ]
    if missing:
        values.append(Value(MISSING, missing, "no verdict"))
    return Words(tuple(values), guess, tuple(assumed), problem, remedy)


def _counts(
    columns: "Sequence[pd.Series[Any]]",
) -> tuple[dict[str | None, int], dict[str | None, str]]:
    """How often each value occurs, and how it is written most often."""
    from hero_bayes.data.verdicts import token

    counts: dict[str | None, int] = {}
    written: dict[str | None, str] = {}
    for column in columns:
        for value, number in column.astype(object).value_counts(dropna=False).items():
            word = token(value)
            written.setdefault(word, str(value).strip())
            counts[word] = counts.get(word, 0) + int(number)
    return counts, written


def _guess(
    counts: dict[str | None, int], written: dict[str | None, str], options: ReadingOptions
) -> tuple[ReadingOptions, list[str], tuple[str | None, ReadingOptions | None]]:
    from hero_bayes.data.verdicts import token

    silent = {token(value) for value in options.abstain}
    left = [word for word in counts if word is not None and word not in silent]
    if options.positive is not None:
        one, zero = token(options.positive), token(options.negative)
    elif set(left) <= {"0", "1"}:
        return options, [], (None, None)
    else:
        one, zero = _pair(left, counts)
    if one is None:
        return options, [], _problem(left, counts, written, options)
    rest = [word for word in left if word not in (one, zero)]
    if zero is None and options.negative is None:
        meant = [word for word in rest if not _is_no_verdict(word)]
        if len(meant) == 1 or (len(rest) == 1 and not meant):
            zero = meant[0] if meant else None
            rest = [word for word in rest if word != zero]
        elif len(meant) > 1:
            return options, [], _problem(left, counts, written, options)
    assumed = []
    guess = options
    if options.positive is None and (one, zero) != ("1", "0"):
        guess = replace(guess, positive=written.get(one, one))
        assumed.append(_said_of_pair(one, zero, written))
    if zero is not None and options.negative is None and (rest and guess.positive is not None):
        guess = replace(guess, negative=written.get(zero, zero))
    if rest:
        more = tuple(written[word] for word in rest)
        guess = replace(guess, abstain=(*guess.abstain, *more))
        assumed.append(f"{join([repr(word) for word in more])} is taken as no verdict, not as a 0")
    return guess, assumed, (None, None)


def _pair(left: Sequence[str], counts: dict[str | None, int]) -> tuple[str | None, str | None]:
    """The value that means 1 and the one that means 0, if two can be told."""
    meant = [word for word in left if not _is_no_verdict(word)]
    if {"0", "1"} <= set(left):
        others = [word for word in meant if word not in ("0", "1")]
        return ("1", "0") if len(others) <= 1 else (None, None)
    if len(meant) == 1:
        word = meant[0]
        if word in ONE_WORDS | {"1"}:
            return word, None
        return ("yes", word) if word in ZERO_WORDS | {"0"} else (None, None)
    if len(meant) != 2:
        return None, None
    first, second = meant
    for one, zero in ((first, second), (second, first)):
        if _plain(one) in ONE_WORDS and _plain(zero) not in ONE_WORDS:
            return one, zero
        if _plain(zero) in ZERO_WORDS and _plain(one) not in ZERO_WORDS:
            return one, zero
    rarer = min(meant, key=lambda word: (counts[word], word))
    return rarer, second if rarer == first else first


def _said_of_pair(one: str, zero: str | None, written: dict[str | None, str]) -> str:
    said = f"{written.get(one, one)!r} is taken as 1 (what is counted)"
    if zero is not None:
        said += f" and {written.get(zero, zero)!r} as 0; swap them if it is the other way round"
    return said


def _problem(
    left: Sequence[str],
    counts: dict[str | None, int],
    written: dict[str | None, str],
    options: ReadingOptions,
) -> tuple[str, ReadingOptions | None]:
    """Why the values are no two classes, and the options that would read them, those asked kept."""
    from hero_bayes.data.verdicts import token

    ranked = sorted(left, key=lambda word: (_is_no_verdict(word), -counts[word]))
    if not ranked:
        silent = " but those of --abstain" if options.abstain else " that is not empty"
        return f"there is no label{silent}", None
    asked = token(options.positive)
    if asked is not None and asked not in ranked:
        listed = join([repr(written[word]) for word in ranked[:VALUES_SHOWN]])
        more = " and others" if len(ranked) > VALUES_SHOWN else ""
        said = shlex.join(["--positive", str(options.positive)])
        return f"no label is what {said} names: the labels are {listed}{more}; correct it", None
    if len(ranked) < 2:
        return f"the only label is {written[ranked[0]]!r}: say with --positive what means 1", None
    one = ranked[0] if asked is None else asked
    zero, *rest = (word for word in ranked if word != one)
    remedy = replace(
        options,
        positive=written[one] if options.positive is None else options.positive,
        negative=written[zero],
        abstain=(*options.abstain, *(written[word] for word in rest)),
    )
    wanted = "which value means 1, which 0, " if asked is None else "which other value means 0 "
    several = len(ranked) <= VALUES_SHOWN
    example = f", for example {shlex.join(remedy.verdict_flags())}" if several else ""
    return (
        f"the labels take {len(ranked)} values, and two classes are needed: say {wanted}and which "
        f"are no verdict{example}; if several values belong to one class, merge them in the file "
        "first"
    ), (remedy if several else None)


def _is_no_verdict(word: str) -> bool:
    return _plain(word) in NO_VERDICT_WORDS


def _plain(word: str) -> str:
    return "_".join(word.split())


def _reading(word: str | None, options: ReadingOptions) -> str:
    from hero_bayes.data.verdicts import token

    if word in {token(value) for value in options.abstain}:
        return "no verdict"
    one, zero = token(options.positive), token(options.negative)
    if one is None:
        return f"{word}"
    return "1" if word == one else "0" if zero is None or word == zero else "not decided"
