"""``hero-bayes estimate``: the rate of a current round by every fast method."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hero_bayes._version import __version__
from hero_bayes.cli import flags
from hero_bayes.cli.exit_codes import UsageError
from hero_bayes.cli.reading import (
    ReadingOptions,
    build_rounds,
    check_columns,
    parse_columns,
    read_round,
    split_items,
)
from hero_bayes.cli.tables import comparison_rows, data_counts, finding_lines, method_table
from hero_bayes.cli.wording import ESTIMATORS, SPEAKS_OF, TITLES, percent, percent_range
from hero_bayes.errors import DataError, Refusal
from hero_bayes.words import number_of

if TYPE_CHECKING:
    from hero_bayes.data.findings import Findings
    from hero_bayes.data.labels import Labels

SCHEMA_VERSION = 1
#: Groups that the last sentence names.
GROUPS_TOLD = 3
SHRINK = ("paper", "optimal")
#: The method a reader should look at first, among those that answered.
ANCHORED = frozenset({"gold_rates", "hero1", "hero2", "score"})
#: How a note of hero2 begins that takes it out of the headline.
SHIFT = "covariate shift"
PREFERENCE = ("hero2", "hero1", "score", "gold_rates", "dawid_skene", "majority_vote")
#: The finding that puts the method first which does not take labelers to be independent.
SHARED = "errors_shared"


def estimate(
    current: Annotated[
        Path, typer.Option(metavar="FILE", help="Labels of the round to judge (CSV or Parquet).")
    ],
    history: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Labels of past rounds; without it only majority_vote and dawid_skene answer.",
        ),
    ] = None,
    history_items: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Items of the history (gold, covariates).")
    ] = None,
    current_items: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Items of the current round.")
    ] = None,
    items: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="One items file for both; split by the labels."),
    ] = None,
    method: Annotated[
        str, typer.Option(metavar="NAME", help=f"all, {', '.join(ESTIMATORS)}.")
    ] = "all",
    ridge: Annotated[
        str, typer.Option(metavar="cv|NUMBER", help="Penalty on the covariates of hero2.")
    ] = "cv",
    shrink: Annotated[
        str,
        typer.Option(metavar="HOW", help="Factor on the covariates of hero2: paper or optimal."),
    ] = "paper",
    group: Annotated[
        str | None,
        typer.Option(metavar="NAME", help='Only this group of the current round, "round/arm".'),
    ] = None,
    prob: Annotated[
        float, typer.Option(metavar="NUMBER", help="Nominal coverage of the intervals.")
    ] = 0.95,
    covariate: flags.Covariates = None,
    positive: flags.Positive = None,
    negative: flags.Negative = None,
    abstain: flags.Abstain = None,
    repeats: flags.Repeats = None,
    column: flags.Columns = None,
    drop_unlabeled: flags.DropUnlabeled = False,
    as_json: flags.Json = False,
) -> None:
    """Estimate the rate of a current round from its labels and a history, without sampling."""
    methods = _methods(method)
    penalty = _ridge(ridge)
    if shrink not in SHRINK:
        raise UsageError(f"--shrink {shrink}: choose paper or optimal")
    if not 0 < prob < 1:
        raise UsageError(f"--prob {prob:g}: give a number between 0 and 1")
    if items is not None and (history_items is not None or current_items is not None):
        raise UsageError("--items serves both rounds: leave out --history-items/--current-items")
    options = ReadingOptions(
        positive=positive,
        negative=negative,
        abstain=tuple(abstain or ()),
        repeats=repeats,
        covariates=tuple(covariate or ()),
        columns=parse_columns(column or ()),
        drop_unlabeled=drop_unlabeled,
    )
    past, now, unused = _read(history, current, history_items, current_items, items, options)
    _check_group(now, group)
    table = _compare(past, now, options, prob, methods, penalty, shrink)
    if group is not None:
        table = table[table["group"] == group]
    rows = comparison_rows(table)
    if all(row["refused"] for row in rows):
        raise Refusal("\n".join(f"{row['method']}: {row['reason']}" for row in rows))
    findings = _findings(past, now, shrink if "hero2" in methods else None)
    sentence = _sentence(rows, findings, prob)
    if as_json:
        _print_json(rows, findings, past, now, prob, unused, sentence)
    else:
        _print_report(rows, findings, past, now, prob, unused, sentence)


def _methods(method: str) -> tuple[str, ...]:
    if method == "all":
        return ESTIMATORS
    if method not in ESTIMATORS:
        raise UsageError(f"--method {method}: choose all, {', '.join(ESTIMATORS)}")
    return (method,)


def _ridge(text: str) -> Any:
    if text == "cv":
        return text
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 <= number < float("inf"):
        raise UsageError(f"--ridge {text}: give cv or a number, zero or larger")
    return number


def _read(
    history: Path | None,
    current: Path,
    history_items: Path | None,
    current_items: Path | None,
    items: Path | None,
    options: ReadingOptions,
) -> "tuple[Labels | None, Labels, int]":
    """Both rounds, and how many rows of a common items file belong to neither."""
    if history is None and history_items is not None:
        raise UsageError("--history-items needs --history")
    sources = [read_round(current, current_items, options.columns)]
    if history is not None:
        sources.insert(0, read_round(history, history_items, options.columns))
    unused = 0
    if items is not None:
        sources, unused, _ = split_items(items, sources, options)
    check_columns(options.columns, sources)
    built = build_rounds(sources, options)
    return (built[0] if history is not None else None), built[-1], unused


def _check_group(current: "Labels", group: str | None) -> None:
    names = current.groups("current")
    if group is not None and group not in names:
        raise DataError(f"no group {group!r} in the current round; groups: {', '.join(names)}")


def _compare(
    history: "Labels | None",
    current: "Labels",
    options: ReadingOptions,
    prob: float,
    methods: tuple[str, ...],
    ridge: Any,
    shrink: str,
) -> Any:
    from hero_bayes.estimators.estimate import compare_methods

    return compare_methods(
        history,
        current,
        covariates=list(options.covariates) or None,
        prob=prob,
        methods=methods,
        ridge=ridge,
        shrink=shrink,
    )


def _findings(history: "Labels | None", current: "Labels", shrink: str | None) -> "Findings | None":
    """What is dangerous in the pair; without history there is no pair to judge."""
    if history is None:
        return None
    from hero_bayes.data.checks import check

    return check(history, current, shrink=shrink)


def _sentence(rows: list[dict[str, Any]], findings: "Findings | None", prob: float) -> str:
    """What the numbers say, by the best method that answered."""
    said = []
    groups = list(dict.fromkeys(row["group"] for row in rows))
    for group in groups:
        answered = {r["method"]: r for r in rows if r["group"] == group and not r["refused"]}
        shifted = SHIFT in str(answered.get("hero2", {}).get("note", ""))
        order = [name for name in PREFERENCE if not (name == "hero2" and shifted)]
        edge = max((r["rates_at_edge"] for n, r in answered.items() if n in ANCHORED), default=0)
        if edge or any(finding.code == SHARED for finding in findings or ()):
            order = ["score", *order]
        best = next((answered[name] for name in order if name in answered), None)
        if best is None:
            continue
        where = "" if len(groups) == 1 else f" for {group}"
        text = (
            f"{TITLES[best['method']]} puts the rate at {percent(best['estimate'])}{where} "
            f"({100 * prob:g} % interval {percent_range(best['lower'], best['upper'])})"
        )
        vote = answered.get("majority_vote")
        if vote is not None and vote is not best:
            text += f", where the majority vote says {percent(vote['estimate'])}"
        if edge:
            text += (
                f" ({number_of(edge, 'labeler rate')} at 0 or 1: prefer {TITLES['score']} or a fit "
                "of model auto to the other anchored methods)"
            )
        said.append(text)
    sentence = "; ".join(said[:GROUPS_TOLD])
    if len(said) > GROUPS_TOLD:
        sentence += f"; {number_of(len(said) - GROUPS_TOLD, 'more group')} in the table"
    if findings is None:
        return f"{sentence}; without a history with gold nothing corrects the labelers' errors."
    anchored = {r["method"] for r in rows if not r["refused"]} & ANCHORED
    asked = {r["method"] for r in rows} & ANCHORED
    if asked and not anchored:
        errors = [finding.message for finding in findings if finding.severity == "error"]
        why = "; ".join(errors) or "every anchored method refused"
        return f"no debiased answer: {why}. {sentence}."
    grave = sum(finding.severity in ("error", "warning") for finding in findings)
    if grave:
        sentence += f"; read the {number_of(grave, 'warning')} above before relying on it"
    return sentence + "."


def _print_json(
    rows: list[dict[str, Any]],
    findings: "Findings | None",
    history: "Labels | None",
    current: "Labels",
    prob: float,
    unused: int,
    sentence: str,
) -> None:
    from hero_bayes.cli.printing import print_json

    print_json(
        {
            "schema_version": SCHEMA_VERSION,
            "hero_bayes_version": __version__,
            "command": "estimate",
            "prob": prob,
            "estimates": rows,
            "findings": [vars(finding) for finding in findings or ()],
            "data": {
                "history": data_counts(history),
                "current": data_counts(current),
                "item_rows_unused": unused,
            },
            "finding": sentence,
        }
    )


def _print_report(
    rows: list[dict[str, Any]],
    findings: "Findings | None",
    history: "Labels | None",
    current: "Labels",
    prob: float,
    unused: int,
    sentence: str,
) -> None:
    from hero_bayes.cli.printing import Report

    report = Report()
    report.title(f"hero-bayes {__version__}: the rate of the current round")
    for name, labels, past in (("history", history, None), ("current round", current, history)):
        if labels is not None:
            report.heading(name)
            report.text(str(labels.summary(past)))
    if unused:
        report.text(f"{number_of(unused, 'row')} of the items file left out: in neither round")
    report.heading("methods")
    method_table(report, rows, prob)
    report.text(f"\n{SPEAKS_OF}")
    if findings is not None:
        finding_lines(report, findings, ("error", "warning"))
    report.finding(sentence)
