"""Tables and lists that more than one report shows."""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hero_bayes.cli.printing import Report
from hero_bayes.cli.wording import ESTIMANDS, TITLES, in_flags, percent, percent_range

if TYPE_CHECKING:
    from hero_bayes.data.findings import Findings
    from hero_bayes.data.labels import Labels

__all__ = ["Row", "comparison_rows", "data_counts", "finding_lines", "method_table"]

REFUSED = "refused: "
NUMBERS = ("estimate", "standard_error", "lower", "upper")

Row = dict[str, Any]


def comparison_rows(table: Any) -> list[Row]:
    """Rows of ``compare_methods`` as plain values: None where a method refused, with the reason."""
    rows = []
    for record in table.to_dict("records"):
        note = str(record["note"])
        refused = note.startswith(REFUSED)
        row: Row = {name: record[name] for name in ("group", "method")}
        row["estimand"] = record["estimand"] or None
        for name in NUMBERS:
            value = float(record[name])
            row[name] = value if math.isfinite(value) else None
        row["rates_at_edge"] = int(record["rates_at_edge"])
        row["refused"] = refused
        row["reason"] = in_flags(note.removeprefix(REFUSED)) if refused else None
        row["note"] = None if refused or not note else in_flags(note)
        rows.append(row)
    return rows


def method_table(
    report: Report,
    rows: Sequence[Row],
    prob: float,
    extra: Mapping[str, Sequence[str]] | None = None,
    about: Mapping[str, str] | None = None,
) -> None:
    """Print estimates as a table, and under it what was refused and what to know.

    Parameters
    ----------
    report : Report
        Where to.
    rows : sequence of dict
        As `comparison_rows` returns them.
    prob : float
        Nominal coverage of the intervals.
    extra : mapping of column name to one cell per row, optional
        Further columns at the right.
    about : mapping of method to text, optional
        What a method does, told before its note.
    """
    several = len({row["group"] for row in rows}) > 1
    extra = extra or {}
    interval = f"{100 * prob:g} % interval"
    columns = ["group"] * several + ["method", "estimate", interval, "speaks of", *extra]
    cells = []
    for position, row in enumerate(rows):
        if row["refused"]:
            numbers = ["-", "no answer", "", *("" for _ in extra)]
        else:
            low, high = row["lower"], row["upper"]
            numbers = [
                percent(row["estimate"]),
                "-" if low is None or high is None else percent_range(low, high),
                ESTIMANDS[row["estimand"] or ""],
                *(column[position] for column in extra.values()),
            ]
        cells.append([row["group"]] * several + [_title(row), *numbers])
    report.table(columns, cells, right=("estimate", interval, "truth", "off by"))
    _notes(report, rows, several, about or {})


def _notes(report: Report, rows: Sequence[Row], several: bool, about: Mapping[str, str]) -> None:
    told = []
    for row in rows:
        said = f"no answer: {row['reason']}" if row["refused"] else row["note"]
        parts = [part for part in (about.get(row["method"]), said) if part]
        where = f" ({row['group']})" if several else ""
        if parts:
            told.append(f"{_title(row)}{where}: {'; '.join(parts)}")
    if told:
        report.gap()
    for line in told:
        report.bullet(line)


def _title(row: Row) -> str:
    return TITLES.get(row["method"], str(row["method"]))


def finding_lines(report: Report, findings: "Findings", severities: Sequence[str]) -> None:
    """Print the findings of these severities with their remedies."""
    chosen = [finding for finding in findings if finding.severity in severities]
    if not chosen:
        return
    report.heading("what to watch")
    for finding in chosen:
        report.bullet(f"{finding.severity.upper()}: {in_flags(finding.message)}")
        report.text(f"  -> {in_flags(finding.remedy)}", indent=4)


def data_counts(labels: "Labels | None") -> dict[str, Any] | None:
    """Counts of a label table, for machines."""
    if labels is None:
        return None
    return {
        "items": labels.n_items,
        "labelers": labels.n_labelers,
        "labels": labels.n_labels,
        "gold_positive": int((labels.gold == 1).sum()),
        "gold_negative": int((labels.gold == 0).sum()),
        "gold_abstained": labels.gold_abstained,
        "abstentions": len(labels.abstained_item),
        "items_dropped": labels.items_dropped,
        "repeats_resolved": labels.repeats_resolved,
        "ties_dropped": labels.ties_dropped,
        "empty_rows": labels.reading.empty_rows,
        "empty_columns": labels.reading.empty_columns,
        "covariates": list(labels.covariates),
        "fingerprint": labels.fingerprint,
    }
