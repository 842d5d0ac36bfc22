"""How a check is told: on a terminal, or as one JSON object."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from hero_bayes._version import __version__
from hero_bayes.cli.dependence import dependence_content, write_dependence
from hero_bayes.cli.printing import Report, print_json
from hero_bayes.cli.tables import data_counts, finding_lines
from hero_bayes.cli.wording import TITLES, join
from hero_bayes.words import number_of

if TYPE_CHECKING:
    from hero_bayes.cli.check import Checked

__all__ = ["next_command", "write", "write_json"]

SCHEMA_VERSION = 1
PLACEHOLDER, ITEMS_PLACEHOLDER = "CURRENT.csv", "CURRENT_ITEMS.csv"
SEVERITIES = ("error", "warning", "note")
POSTERIOR_TITLES = {
    "fit auto": "posterior, auto (hb.fit)",
    "fit hero": "posterior, hero (hb.fit)",
    "fit pooled": "posterior, pooled (hb.fit)",
}


def write(found: "Checked") -> None:
    """Print the report."""
    paths = [path for source in found.rounds for path in source.paths]
    report = Report(*paths, *(path.name for path in paths))
    names = join([source.labels_path.name for source in found.rounds])
    report.title(f"hero-bayes {__version__}: what {names} can support")
    _columns(report, found)
    if found.words is not None:
        report.heading("label values")
        cells = [(value.value, f"{value.count:,}", value.read_as) for value in found.words.values]
        report.table(("value", "count", "read as"), cells, right=("count",))
    if found.problem is not None:
        report.heading("what stands in the way")
        report.text(found.problem)
        if found.remedy is not None:
            report.heading("next command")
            report.command(next_command(found))
    if found.assumed:
        report.heading("assumed, because no flag says otherwise")
        for sentence in found.assumed:
            report.bullet(sentence)
    if found.labels:
        _content(report, found)
        _support(report, found)
        if found.dependence is not None:
            write_dependence(report, found.dependence)
        if found.findings is not None:
            finding_lines(report, found.findings, SEVERITIES)
        report.heading("next command")
        command = next_command(found)
        report.command(command)
        if PLACEHOLDER in command:
            report.text(
                f"{PLACEHOLDER}: the labels of the round to judge, by some of these labelers"
            )
        if ITEMS_PLACEHOLDER in command:
            report.text(f"{ITEMS_PLACEHOLDER}: its items, with the covariates")
    report.finding(finding(found))


def write_json(found: "Checked") -> None:
    """Write the JSON object."""
    roles = ("history", "current") if len(found.labels) > 1 else ("table",)
    print_json(
        {
            "schema_version": SCHEMA_VERSION,
            "hero_bayes_version": __version__,
            "command": "check",
            "readable": found.problem is None,
            "problem": found.problem,
            "columns": [vars(use) for use in found.recognised.uses],
            "label_values": [vars(value) for value in found.words.values] if found.words else [],
            "assumed": found.assumed,
            "flags": found.options.flags(),
            "data": {
                role: data_counts(labels) for role, labels in zip(roles, found.labels, strict=False)
            },
            "covariate_candidates": found.candidates,
            "support": [vars(row) for row in found.support],
            "dependence": None
            if found.dependence is None
            else dependence_content(found.dependence),
            "findings": [vars(entry) for entry in found.findings or ()],
            "next_command": next_command(found, "--json")
            if found.labels or found.remedy is not None
            else None,
            "finding": finding(found),
        }
    )


def next_command(found: "Checked", *more: str) -> str:
    """The command that does the most these tables allow, with all that was asked."""
    words, options = _next_words(found), found.remedy or found.options
    return options.line(*words, *more)


def _next_words(found: "Checked") -> list[str]:
    """Its words without the options of reading."""
    first, options = found.rounds[0], found.options
    if found.remedy is not None:  # the same check again
        words = ["check", *map(str, first.paths)]
        for later in found.rounds[1:]:
            words += ["--current", str(later.labels_path)]
            if later.items_path is not None and found.one_items_file is None:
                words += ["--current-items", str(later.items_path)]
        return words
    if len(found.rounds) == 1 and not _is_history(found):
        words = ["estimate", "--current", str(first.labels_path)]
        if first.items_path is not None:
            words += ["--current-items", str(first.items_path)]
        return words
    words = ["estimate", "--history", str(first.labels_path)]
    shared = found.one_items_file
    if first.items_path is not None and shared is None:
        words += ["--history-items", str(first.items_path)]
    if len(found.rounds) == 1:
        words += ["--current", PLACEHOLDER]
        if options.covariates and first.items_path is not None:
            words += ["--current-items", ITEMS_PLACEHOLDER]
        return words
    second = found.rounds[1]
    words += ["--current", str(second.labels_path)]
    if shared is not None:
        words += ["--items", str(shared)]
    elif second.items_path is not None:
        words += ["--current-items", str(second.items_path)]
    past, now = found.labels
    if options.covariates and past.n_items <= now.n_items:
        words += ["--shrink", "optimal"]
    return words


def finding(found: "Checked") -> str:
    """The last sentence."""
    names = join([source.labels_path.name for source in found.rounds])
    if found.problem is not None:
        return f"{names} cannot be read as a label table yet: see what stands in the way above."
    serious = sum(f.severity in ("error", "warning") for f in found.findings or ())
    watch = f"{number_of(serious, 'thing')} to watch" if serious else "nothing dangerous was found"
    assumed = ""
    if found.assumed:
        number = len(found.assumed)
        what = "assumption above holds" if number == 1 else f"{number} assumptions above hold"
        assumed = f", if the {what}"
    if len(found.labels) == 2:
        return f"{_pair_answer(found)}; {watch}{assumed}."
    labels = found.labels[0]
    size = f"{number_of(labels.n_items, 'item')} by {number_of(labels.n_labelers, 'labeler')}"
    if _is_history(found):
        role = f"can serve as history ({size}, {labels.n_gold:,} with gold)"
    else:
        role = f"can serve as a current round only ({size}): its gold cannot anchor the labelers"
        if not labels.n_gold:
            role = f"can serve as a current round only ({size}): it has no gold"
    return f"{names} {role}; {watch}{assumed}."


def _pair_answer(found: "Checked") -> str:
    rows = found.support
    able = _titles([row.method for row in rows if row.as_current == "yes"])
    unable = _titles([row.method for row in rows if row.as_current == "no"])
    lost = f", {join(unable)} cannot" if unable else ""
    return f"{join(able)} can answer from this pair{lost}"


def _titles(methods: Sequence[str]) -> list[str]:
    """Names for a sentence; the two posteriors are one entry."""
    names = [TITLES.get(method, "the posterior") for method in methods]
    if names.count("the posterior") > 1:
        names = [name for name in names if name != "the posterior"] + ["the posteriors"]
    return names


def _columns(report: Report, found: "Checked") -> None:
    from hero_bayes.data.tables import reading_of

    report.heading("columns")
    uses = found.recognised.uses
    files = {use.file for use in uses}
    columns = ["column", "serves as", "found"]
    cells = [[use.column, use.serves_as, use.how] for use in uses]
    if len(files) > 1:
        columns.insert(0, "file")
        cells = [[use.file, *row] for use, row in zip(uses, cells, strict=True)]
    report.table(columns, cells, wide=("column",))
    if not found.labels:  # else the summary of each table says it
        left = [str(reading_of(*source.tables.values())) for source in found.rounds]
        for source, said in zip(found.rounds, left, strict=True):
            if said:
                report.text(f"\n{join([path.name for path in source.paths])}: {said}")


def _content(report: Report, found: "Checked") -> None:
    roles = ("history", "current round") if len(found.labels) > 1 else ("data",)
    past: Any = None
    for role, labels in zip(roles, found.labels, strict=True):
        report.heading(role)
        report.text(str(labels.summary(past)))
        past = labels
    if found.options.covariates:
        report.text(f"covariates: {', '.join(found.options.covariates)}")
    if found.candidates:
        report.text(
            f"numeric columns that could be covariates: {', '.join(found.candidates)} (use those "
            "that were known before any answer, such as features of the prompt)"
        )


def _support(report: Report, found: "Checked") -> None:
    report.heading("what the data supports today")
    pair = len(found.labels) > 1
    columns = ("method", "can answer") if pair else ("method", "as history", "as current round")
    cells = []
    for row in found.support:
        answers = (row.as_current,) if pair else (row.as_history, row.as_current)
        cells.append((_title(row.method), *answers))
    report.table(columns, cells)
    reasons: dict[str, list[str]] = {}
    for row in found.support:
        if row.reason:
            reasons.setdefault(row.reason, []).append(row.method)
    if reasons:
        report.gap()
    for reason, methods in reasons.items():
        report.bullet(f"{join(_titles(methods))}: {reason}")


def _is_history(found: "Checked") -> bool:
    return any(row.as_history == "yes" for row in found.support)


def _title(method: str) -> str:
    return TITLES.get(method) or POSTERIOR_TITLES.get(method, method)
