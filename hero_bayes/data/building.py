"""From the caller's tables to the arrays of `Labels`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hero_bayes.data import item_columns, validation
from hero_bayes.data.covariates import TextCovariates
from hero_bayes.data.identifiers import number_of, read_ids, row_list, shared_coordinate, some
from hero_bayes.data.item_columns import Source
from hero_bayes.data.tables import LABELER_ROLES, ROLES, Table, prepare
from hero_bayes.data.verdicts import Meaning, Verdicts, read, settle
from hero_bayes.errors import DataError

__all__ = ["Options", "build_fields", "check_choice", "common_negative", "compress"]

REPEATS = ("error", "majority", "first", "keep")
UNLABELED = ("error", "drop")

Index = NDArray[np.int64]
Triples = tuple[Index, Index, NDArray[np.int8]]


@dataclass(frozen=True)
class Options:
    """How the tables are to be read; see `Labels.from_frames`."""

    covariates: tuple[str | TextCovariates, ...] = ()
    repeats: str = "error"
    abstain: Any = ()
    positive: Any = None
    negative: Any = None
    unlabeled: str = "error"
    columns: Mapping[str, str] | None = None

    @property
    def numeric(self) -> tuple[str, ...]:
        """Names of the numeric covariates."""
        return tuple(entry for entry in self.covariates if isinstance(entry, str))

    @property
    def text(self) -> tuple[str, ...]:
        """Names of the columns kept as text."""
        return tuple(e.column for e in self.covariates if isinstance(e, TextCovariates))


def check_choice(name: str, value: str, allowed: Sequence[str]) -> None:
    """Refuse a keyword value that is not one of the allowed words."""
    if value not in allowed:
        raise DataError(f"{name}={value!r}: choose one of {some(allowed)}")


def covariate_entries(covariates: Any) -> tuple[str | TextCovariates, ...]:
    """Return the ``covariates=`` argument as a tuple of names and `TextCovariates`."""
    single = isinstance(covariates, str | TextCovariates)
    entries = (covariates,) if single else tuple(covariates or ())
    for entry in entries:
        if not isinstance(entry, str | TextCovariates):
            raise DataError(f"covariates= holds column names and TextCovariates, not {entry!r}")
        name = entry if isinstance(entry, str) else entry.column
        if name in ROLES and (name == entry or name != "prompt"):
            raise DataError(
                f"{name!r} cannot be a covariate, it has a role of its own: choose a feature of "
                "the item, or rename the column"
            )
    if len(set(entries)) < len(entries):
        raise DataError(f"covariates= names a column twice: {some(entries, 20)}")
    return entries


def build_fields(labels: Any, items: Any, labelers: Any, options: Options) -> dict[str, Any]:
    """Check the tables and return the fields of `Labels`, by name."""
    check_choice("repeats", options.repeats, REPEATS)
    check_choice("unlabeled", options.unlabeled, UNLABELED)
    brought = {"labels": labels, "items": items, "labelers": labelers}
    tables = prepare(brought, options.columns, options.numeric, options.text)
    table = tables["labels"]
    item_tables = [t for name, t in tables.items() if name != "labelers"]
    labeler_tables = [t for name, t in tables.items() if name != "items"]

    item_ids, item_codes = shared_coordinate([read_ids(t.column("item")) for t in item_tables])
    labeler_ids, labeler_codes = shared_coordinate(
        [read_ids(t.column("labeler")) for t in labeler_tables]
    )
    reading = _settled([("", tables)], options.positive, options.negative, options.abstain)
    verdicts = read(table.column("label"), reading.label, reading.unsure)
    codes = {"item": item_codes[0], "labeler": labeler_codes[0]}
    validation.validate_labels(table, codes, verdicts, options.positive, options.repeats)
    gold = _gold(item_tables, item_codes, reading, options)
    if len(labeler_tables) == 2:
        _check_labelers(labeler_tables[1], labeler_codes)

    given = verdicts.code >= 0
    triples = (item_codes[0][given], labeler_codes[0][given], verdicts.code[given])
    triples, resolved, ties = _resolve_repeats(triples, len(labeler_ids), options.repeats)
    fields: dict[str, Any] = {"ties_dropped": ties, "repeats_resolved": resolved}
    has_label = np.bincount(triples[0], minlength=len(item_ids)) > 0
    if not has_label.all():
        _check_unlabeled(item_ids, has_label, item_codes[0], options.unlabeled)
    has_verdict = np.bincount(triples[1], minlength=len(labeler_ids)) > 0

    kept = np.flatnonzero(has_label)
    new_code = np.full(len(item_ids) + 1, -1, dtype=np.int64)
    new_code[kept] = np.arange(len(kept))
    sources = [(t, new_code[code]) for t, code in zip(item_tables, item_codes, strict=True)]
    _check_contradictions_of_dropped(item_ids, item_tables, item_codes, gold, has_label)
    fields |= _item_fields(item_ids[kept], sources, gold, options)
    fields["items_dropped"] = int(len(item_ids) - len(kept))
    fields["gold_abstained"] = _gold_abstained(sources, gold, fields["gold"])
    fields |= compress(new_code[triples[0]], triples[1], triples[2], len(kept), has_verdict)
    labeler_sources = list(zip(labeler_tables, labeler_codes, strict=True))
    fields |= _labeler_fields(labeler_ids, labeler_sources, has_verdict)
    abstained = ~given & has_label[item_codes[0]]
    pairs = item_codes[0][abstained], labeler_codes[0][abstained]
    order = np.lexsort((pairs[1], pairs[0]))
    fields["abstained_item"] = item_ids[pairs[0][order]]
    fields["abstained_labeler"] = labeler_ids[pairs[1][order]]
    return fields


def compress(
    item_idx: Index,
    labeler_idx: Index,
    label: NDArray[np.int8],
    n_items: int,
    keep_labelers: NDArray[np.bool_],
) -> dict[str, Any]:
    """Return the label arrays in CSR order by item, sorted within the item by labeler and label.

    Labelers outside ``keep_labelers`` must have no label; the others are renumbered.
    """
    n_labelers = max(len(keep_labelers), 1)
    key = (item_idx * n_labelers + labeler_idx) * 2 + label
    key.sort()
    renumbered = np.cumsum(keep_labelers) - 1
    pair = key >> 1
    counts = np.bincount(pair // n_labelers, minlength=n_items)
    return {
        "item_ptr": np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        "labeler_idx": renumbered[pair % n_labelers].astype(np.int32),
        "label": (key & 1).astype(np.int8),
    }


def common_negative(
    rounds: Sequence[tuple[str, Mapping[str, Table]]], positive: Any, negative: Any, abstain: Any
) -> Any:
    """Return the word that means 0 in rounds that are read alike; None where none is told.

    ``rounds`` holds the name and the tables of each; the other arguments are those of
    `Labels.from_frames`.
    """
    if positive is None or negative is not None:
        return negative
    named = [(f" of {name}", tables) for name, tables in rounds]
    return _settled(named, positive, negative, abstain).negative


def _settled(
    rounds: Sequence[tuple[str, Mapping[str, Table]]], positive: Any, negative: Any, abstain: Any
) -> Meaning:
    """What words mean, over all tables alike."""
    columns: dict[str, list[tuple[str, Any]]] = {
        role: [
            (f"the {name} table{where}", table.column(role))
            for where, tables in rounds
            for name, table in tables.items()
            if table.has(role)
        ]
        for role in ("label", "gold")
    }
    return settle(columns["label"], columns["gold"], positive, negative, abstain)


def _gold(
    tables: Sequence[Table], codes: Sequence[Index], reading: Meaning, options: Options
) -> list[Verdicts | None]:
    """Read the gold columns and check the item columns row by row."""
    parsed: list[Verdicts | None] = []
    for table, code in zip(tables, codes, strict=True):
        gold = None
        if table.has("gold"):
            gold = read(table.column("gold"), reading.gold, reading.unsure)
        validation.validate_item_columns(table, code, gold, options.numeric, options.positive)
        parsed.append(gold)
    return parsed


def _gold_abstained(
    sources: Sequence[Source], gold: Sequence[Verdicts | None], values: NDArray[np.float64]
) -> int:
    """How many items have no gold, but a word that means "no verdict" in its place."""
    silent = np.zeros(len(values) + 1, dtype=bool)  # items left out are the last entry
    for (_, idx), verdicts in zip(sources, gold, strict=True):
        if verdicts is not None:
            silent[idx[verdicts.unsure]] = True
    return int((silent[:-1] & np.isnan(values)).sum())


def _resolve_repeats(triples: Triples, n_labelers: int, repeats: str) -> tuple[Triples, int, int]:
    """Return the labels with repeats resolved, the pairs resolved and the ties dropped."""
    if repeats in ("error", "keep"):
        return triples, 0, 0
    item_idx, labeler_idx, label = triples
    key = item_idx * n_labelers + labeler_idx
    if repeats == "first":
        pair, first, size = np.unique(key, return_index=True, return_counts=True)
        return (pair // n_labelers, pair % n_labelers, label[first]), int((size > 1).sum()), 0
    pair, inverse, size = np.unique(key, return_inverse=True, return_counts=True)
    twice_ones = 2 * np.bincount(inverse, weights=label, minlength=len(pair)).astype(np.int64)
    decided = twice_ones != size
    kept = pair[decided]
    winner = (twice_ones > size)[decided].astype(np.int8)
    ties = int((~decided).sum())
    return (kept // n_labelers, kept % n_labelers, winner), int((size > 1).sum()), ties


def _check_unlabeled(
    ids: NDArray[np.object_], has_label: NDArray[np.bool_], rows: Index, unlabeled: str
) -> None:
    if not has_label.any():
        raise DataError("no item has a label: every verdict is missing, an abstention or a tie")
    if unlabeled == "drop":
        return
    has_row = np.bincount(rows, minlength=len(ids)) > 0
    silent = ids[~has_label & has_row]
    absent = ids[~has_label & ~has_row]
    problems = []
    if len(absent):
        problems.append(
            f"{number_of(len(absent), 'item')} without a row in the labels table: {some(absent)}"
        )
    if len(silent):
        problems.append(
            f"{number_of(len(silent), 'item')} with only abstentions or ties, no label: "
            f"{some(silent)}"
        )
    raise DataError(
        "; ".join(problems) + '; pass unlabeled="drop" to leave them out and count them'
    )


def _check_contradictions_of_dropped(
    ids: NDArray[np.object_],
    tables: Sequence[Table],
    codes: Sequence[Index],
    gold: Sequence[Verdicts | None],
    has_label: NDArray[np.bool_],
) -> None:
    """Items left out must not hide a contradiction in their gold."""
    if not has_label.all():
        item_columns.collect_gold(ids, list(zip(tables, codes, strict=True)), gold)


def _item_fields(
    ids: NDArray[np.object_],
    sources: Sequence[Source],
    gold: Sequence[Verdicts | None],
    options: Options,
) -> dict[str, Any]:
    group_idx, rounds, arms = item_columns.groups(ids, sources)
    fields: dict[str, Any] = {
        "items": ids,
        "gold": item_columns.collect_gold(ids, sources, gold),
        "group_idx": group_idx,
        "group_round": rounds,
        "group_arm": arms,
        "gold_prob": None,
    }
    for role in ("prompt", "prompt_group", "generation"):
        fields[role] = item_columns.collect_text(role, ids, sources)
    if any(table.has("gold_prob") for table, _ in sources):
        probability = item_columns.collect_numbers("gold_prob", ids, sources)
        fields["gold_prob"] = None if np.isnan(probability).all() else probability
    fields["covariates"] = {
        name: item_columns.complete_numbers(name, ids, sources) for name in options.numeric
    }
    texts = {name: item_columns.complete_text(name, ids, sources) for name in options.text}
    if fields["prompt"] is not None:
        texts["prompt"] = fields["prompt"]
    fields["texts"] = texts
    return fields


def _labeler_fields(
    ids: NDArray[np.object_], sources: Sequence[Source], kept: NDArray[np.bool_]
) -> dict[str, Any]:
    fields: dict[str, Any] = {"labelers": ids[kept]}
    for role in LABELER_ROLES:
        values = item_columns.collect_text(role, ids, sources)
        fields[role] = (None,) * int(kept.sum()) if values is None else tuple(values[kept])
    return fields


def _check_labelers(table: Table, codes: Sequence[Index]) -> None:
    missing = np.flatnonzero(codes[1] < 0)
    if len(missing):
        rows = row_list(missing)
        raise DataError(f"missing labeler id in the labelers table: {rows}")
    if not np.isin(codes[1], codes[0]).any():
        raise DataError(
            f"no labeler of the labelers table has a row in the labels table: "
            f"{some(table.column('labeler').unique())}; the ids must be the same"
        )
