"""The report of ``hero-bayes run``."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hero_bayes._version import __version__
from hero_bayes.cli.config import in_config
from hero_bayes.cli.printing import Report
from hero_bayes.cli.tables import comparison_rows, finding_lines, method_table
from hero_bayes.cli.wording import SPEAKS_OF, percent, percent_range

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

    from hero_bayes.data.findings import Findings
    from hero_bayes.pipeline.running import RunResult

__all__ = ["finding", "write_report", "write_sweep"]

#: Rates of the posterior in words.
RATES = {
    "item_rate": "these items",
    "prevalence": "new items",
    "prevalence_adjusted": "new items, covariates used",
}
DECISION = "decision.json"


def write_report(result: "RunResult", folder: Path, files: Iterable[str]) -> None:
    """Print what a release meeting reads: decision first, then what it rests on."""
    names = (*files, DECISION)
    report = Report(*(folder / name for name in names))
    decision = result.decision
    report.title(f"hero-bayes {__version__}: {decision.outcome.upper()}")
    report.heading("decision")
    report.text(f"rule: {decision.rule}")
    for reason in decision.reasons:
        report.bullet(in_config(reason))
    for note in decision.notes:
        report.bullet(f"note: {in_config(note)}")
    report.heading("data")
    for name, labels, past in (
        ("history", result.history, None),
        ("current round", result.current, result.history),
    ):
        report.text(f"{name}:")
        report.text(str(labels.summary(past)), indent=4)
    report.heading("posterior")
    report.text(f"{result.diagnosis.headline}; model {decision.model}")
    _rates(report, result)
    if result.arms is not None:
        _arms(report, result.arms)
    report.heading("without sampling")
    notes = result.methods["note"].map(in_config)
    method_table(report, comparison_rows(result.methods.assign(note=notes)), 0.95)
    report.text(f"\n{SPEAKS_OF}")
    finding_lines(report, _in_config(result.findings), ("error", "warning"))
    report.heading("if the labelers have changed since history")
    if result.sweep is None:
        report.text(f"no sweep: {in_config(result.sweep_missing)}")
    else:
        write_sweep(report, result.sweep)
    report.heading("files")
    report.text("\n".join(str(folder / name) for name in names))
    report.finding(finding(result))


def _in_config(findings: "Findings") -> "Findings":
    """The same findings, their remedies in keys of the config file."""
    told = (
        replace(one, message=in_config(one.message), remedy=in_config(one.remedy))
        for one in findings
    )
    return replace(findings, findings=tuple(told))


def _rates(report: Report, result: "RunResult") -> None:
    """Rates of the posterior; the mode alone has no interval."""
    rows = []
    for row in result.estimates.to_dict("records"):
        known = row["lower"] == row["lower"]
        interval = percent_range(row["lower"], row["upper"]) if known else "-"
        rate = RATES.get(row["estimand"], row["estimand"])
        rows.append([str(row["group"]), percent(row["mean"]), interval, rate])
    columns = ("group", "estimate", "95 % interval", "speaks of")
    report.table(columns, rows, right=("estimate", "95 % interval"))


def _arms(report: Report, arms: "pd.DataFrame") -> None:
    """Every arm against the reference, in percentage points."""
    rows = []
    for row in arms.to_dict("records"):
        cells = [str(row["arm"]), percent(row["rate"])]
        if row["note"]:
            cells += [str(row["note"]), "", "", f"{row['probability_best']:.3f}"]
        else:
            gap, low, high = (100 * row[f"difference{end}"] for end in ("", "_lower", "_upper"))
            chances = (row["probability_better"], row["probability_best"])
            cells += [f"{gap:+.1f}", f"{low:+.1f} to {high:+.1f}", *(f"{p:.3f}" for p in chances)]
        rows.append(cells)
    report.heading("arms")
    columns = ("arm", "rate", "difference", "95 % interval", "P(better)", "P(best)")
    report.table(columns, rows, right=columns[1:])


def write_sweep(report: Report, sweep: "xr.Dataset") -> None:
    """The sentences of a transport sweep, and how they are read."""
    if "asked_instead" in sweep.attrs:
        report.text(str(sweep.attrs["asked_instead"]))
    for sentence in str(sweep.attrs["sentences"]).split("\n"):
        report.bullet(sentence)
    report.text(f"how this is read: {sweep.attrs['read_as']}")


def finding(result: "RunResult") -> str:
    """The decision and its first reason, or why there is none."""
    decision: Any = result.decision
    said = decision.outcome
    if decision.forced:
        said += " (the gate failed and was overridden)"
    told = [reason for reason in decision.reasons if not reason.startswith("The gate failed")]
    if decision.forced:  # the gate's own reasons stand in the report
        told = [reason for reason in told if reason.startswith("P(")] or told
    first = in_config(told[0])
    if decision.outcome == "inconclusive" and decision.gate_reasons:
        first += f" {in_config(decision.gate_reasons[0])}"
    return f"{said}. {first}"
