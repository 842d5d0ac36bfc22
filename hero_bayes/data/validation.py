"""Row checks of the caller's tables, run by pandera and worded for the person who must fix them."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hero_bayes.data.identifiers import row_list, some
from hero_bayes.data.tables import Table
from hero_bayes.data.verdicts import INVALID, Verdicts, invalid_message
from hero_bayes.errors import DataError

__all__ = ["numbers", "validate_item_columns", "validate_labels"]

Rows = NDArray[np.int64]
PAIR = ("item", "labeler")


def numbers(column: "pd.Series[Any]") -> NDArray[np.float64]:
    """Return the values as floats, NaN where missing or not a number."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        column = column.astype(object)
    if column.dtype.kind in "mMc":
        return np.full(len(column), np.nan)
    found = pd.to_numeric(column, errors="coerce")
    return found.to_numpy(dtype=np.float64, na_value=np.nan)


def validate_labels(
    table: Table,
    codes: Mapping[str, NDArray[np.int64]],
    verdicts: Verdicts,
    positive: Any,
    repeats: str,
) -> None:
    """Check ids, labels and repeats of the labels table.

    Parameters
    ----------
    table : Table
        The labels table.
    codes : mapping with "item" and "labeler"
        Codes of the ids, -1 where missing.
    verdicts : Verdicts
        The parsed labels.
    positive : scalar or None
        As the caller gave it, for the message.
    repeats : {"error", "majority", "first", "keep"}
        With "error", a labeler may judge an item only once.
    """
    frame = pd.DataFrame({**codes, "label": verdicts.code})
    rules: dict[str, Callable[[Any], Any]] = {
        "item": lambda column: column >= 0,
        "labeler": lambda column: column >= 0,
        "label": lambda column: column != INVALID,
    }
    failed = _failing_rows(frame, rules)
    problems = [
        _missing_ids(table, role, failed[role]) for role in ("item", "labeler") if role in failed
    ]
    if "label" in failed:
        problems.append(invalid_message("label", "labels", verdicts, positive))
    if not problems and repeats == "error":
        given = frame.loc[frame["label"] >= 0]
        twice = _failing_rows(given, {}, unique=PAIR)
        if "unique" in twice:
            problems.append(_repeats(table, codes, twice["unique"]))
    if problems:
        raise DataError("\n".join(problems))


def validate_item_columns(
    table: Table,
    item_code: NDArray[np.int64],
    gold: Verdicts | None,
    covariates: Iterable[str],
    positive: Any,
) -> None:
    """Check ids, gold, gold probabilities and covariates in the rows of one table."""
    frame = pd.DataFrame({"item": item_code})
    rules: dict[str, Callable[[Any], Any]] = {"item": lambda column: column >= 0}
    if gold is not None:
        frame["gold"] = gold.code
        rules["gold"] = lambda column: column != INVALID
    if table.has("gold_prob"):
        frame["gold_prob"] = _number_or_inf(table.column("gold_prob"))
        rules["gold_prob"] = lambda column: column.isna() | ((column > 0) & (column <= 1))
    named = {f"covariate {name}": name for name in covariates if table.has(name)}
    numbers_by_key = {key: _number_or_inf(table.column(name)) for key, name in named.items()}
    frame = pd.concat([frame, pd.DataFrame(numbers_by_key, index=frame.index)], axis=1)
    rules |= dict.fromkeys(named, lambda column: ~np.isinf(column))
    failed = _failing_rows(frame, rules)
    problems = []
    for key, rows in failed.items():
        if key == "item":
            problems.append(_missing_ids(table, "item", rows))
        elif key == "gold" and gold is not None:
            problems.append(invalid_message("gold", table.name, gold, positive))
        elif key == "gold_prob":
            problems.append(
                f"gold_prob outside (0, 1] in the {table.name} table: "
                f"{_values(table, 'gold_prob', rows)}; it is the chance with which the item was "
                "chosen for gold"
            )
        else:
            problems.append(
                f"covariate {named[key]!r} is not a finite number in the {table.name} table: "
                f"{_values(table, named[key], rows)}; fix the values, or wrap a text column in "
                "TextCovariates"
            )
    if problems:
        raise DataError("\n".join(problems))


def _failing_rows(
    frame: pd.DataFrame,
    rules: Mapping[str, Callable[[Any], Any]],
    unique: tuple[str, ...] = (),
) -> dict[str, Rows]:
    """Validate lazily and return the row positions that fail, by column (or "unique")."""
    import pandera.pandas as pa
    from pandera.errors import SchemaErrors

    columns = {
        name: pa.Column(nullable=True, checks=pa.Check(rule, name=name, ignore_na=False))
        for name, rule in rules.items()
    }
    checks = []
    if unique:
        checks.append(
            pa.Check(lambda table: ~table.duplicated(list(unique), keep=False), name="unique")
        )
    try:
        pa.DataFrameSchema(columns, checks=checks).validate(frame, lazy=True)
    except SchemaErrors as error:
        cases = error.failure_cases
        found = {
            str(name): np.unique(rows.to_numpy(dtype=np.int64))
            for name, rows in cases.groupby("check")["index"]
        }
        return {name: found[name] for name in [*rules, "unique"] if name in found}
    return {}


def _number_or_inf(column: "pd.Series[Any]") -> NDArray[np.float64]:
    """Return floats with infinity where a value is present but no number, so that one rule fails.

    Missing stays NaN: another table may still supply the item's value.
    """
    values = numbers(column)
    missing = column.isna().to_numpy(dtype=bool)
    return np.where(np.isnan(values) & ~missing, np.inf, values)


def _missing_ids(table: Table, role: str, rows: Rows) -> str:
    return (
        f"missing {role} id in the {table.name} table: {row_list(rows)}; "
        "give every row an id or remove the row"
    )


def _values(table: Table, name: str, rows: Rows) -> str:
    column = table.column(name)
    ids = table.column("item").iloc[rows].astype(object)
    return f"{some(column.iloc[rows].astype(object))} for items {some(ids)} in {row_list(rows)}"


def _repeats(table: Table, codes: Mapping[str, NDArray[np.int64]], rows: Rows) -> str:
    pairs = pd.DataFrame({role: codes[role][rows] for role in PAIR}).drop_duplicates()
    first = rows[pairs.index.to_numpy()]
    names = zip(
        table.column("item").iloc[first].astype(object),
        table.column("labeler").iloc[first].astype(object),
        strict=True,
    )
    shown = some(f"{item} / {labeler}" for item, labeler in names)
    return (
        f"duplicated (item, labeler) in the labels table: {shown} in {row_list(rows)}; keep one "
        'row of each, make item ids unique per round and arm, or pass repeats="majority", '
        '"first" or "keep"'
    )
