"""The report of ``hero-bayes difficulty``, for people."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from hero_bayes._version import __version__
from hero_bayes.cli.difficulty_files import DATA_MAP
from hero_bayes.cli.difficulty_tables import REGIONS, Answer, flags_of, in_words, records, regions
from hero_bayes.cli.printing import Report
from hero_bayes.cli.tables import finding_lines
from hero_bayes.cli.wording import clip, percent, percent_range
from hero_bayes.data.generation_columns import NOT_READ
from hero_bayes.words import number_of

if TYPE_CHECKING:
    from hero_bayes.data.generations import Generations

__all__ = ["REVIEW_ROWS", "Source", "sentence", "write"]

#: Rows of the review list that are shown.
REVIEW_ROWS = 10
POSTERIOR = ("new_prompts", "these_prompts")
#: Longer names and values are cut.
MODEL_WIDTH, CELL_WIDTH = 30, 40
#: Columns that are named though they are not read.
COLUMNS_SHOWN = 40
#: Models that the last sentence names.
MODELS_TOLD = 3
SPEAKS_OF = (
    "Publish the line new prompts (posterior), if the gate passed: it speaks of prompts of the same"
    " kind, so that the interval allows for the choice of prompts. means: the plain mean over "
    "prompts, as a check; these prompts: new generations of those at hand, nothing beyond them."
)
SPLIT = (
    "sigma: how P(correct) spreads over prompts; ICC: the share of the variance of one generation "
    "that is prompt difficulty; floor: the SE that endless generations of them would leave. SE and "
    "floor in points."
)


BETTER = "P(better): probability that the first of the two is better than the second."
PAPER = (
    "paper: some model is right at most once in ten and nearly always gives the same answer "
    "(p_hat <= 0.1 and S >= -0.8, arXiv:2502.08943)."
)


@dataclass(frozen=True)
class Source:
    """Where the generations came from."""

    name: str
    bundled: bool


def write(found: Answer, source: Source, written: Sequence[Path]) -> None:
    """The report for people; what to watch comes before any number."""
    data = found.generations
    report = Report(source.name, *written)
    report.title(f"hero-bayes {__version__}: several generations per prompt")
    report.heading("generations")
    named = f"the bundled set {source.name} (there is no file of that name)"
    report.text(named if source.bundled else source.name)
    missing = f"; {data.n_missing:,} without a score, left out" if data.n_missing else ""
    kind = "" if data.has_rows else ", read as counts"
    report.text(
        f"{number_of(data.n_prompts, 'prompt')}, {number_of(data.n_models, 'model')}, "
        f"{number_of(data.n_generations, 'scored generation')}{kind}{missing}"
    )
    if str(data.reading):
        report.text(f"on reading: {data.reading}")
    if not source.bundled:
        _columns(report, data)
    finding_lines(report, in_words(data.findings), ("error", "warning", "note"))
    _scores(report, found)
    _split(report, found)
    _passes(report, found)
    _comparison(report, found)
    _designs(report, found)
    _review(report, found)
    if written:
        report.heading("files")
        for path in written:
            report.bullet(str(path))
        if written[-1].name != DATA_MAP:
            report.text(f"no {DATA_MAP}: without answers there is no consistency to draw")
    report.finding(sentence(found))


def _columns(report: Report, data: "Generations") -> None:
    """What each column of the file serves as."""
    report.heading("columns")
    rows = [[u.column, u.serves_as, flags_of(u.how)] for u in data.column_uses if u.how]
    rest = [use.column for use in data.column_uses if not use.how]
    if rest:
        more = len(rest) - COLUMNS_SHOWN
        said = ", ".join(rest[:COLUMNS_SHOWN]) + (f" and {more:,} more" if more > 0 else "")
        rows.append([said, NOT_READ, ""])
    report.table(("column", "serves as", "found"), rows, wide=("column",))


def _scores(report: Report, found: Answer) -> None:
    interval = f"{100 * found.asked.prob:g} % interval"
    rows = []
    for row in records(found.summary):
        k = str(row["k_min"]) if row["k_min"] == row["k_max"] else f"{row['k_min']}-{row['k_max']}"
        head = [_name(row["model"]), f"{row['prompts']:,}", k]
        for what, value, low, high in (
            ("means", "score", "low", "high"),
            *((name.replace("_", " "), name, f"{name}_low", f"{name}_high") for name in POSTERIOR),
        ):
            rows.append([*head, what, percent(row[value]), percent_range(row[low], row[high])])
            head = ["", "", ""]
    report.heading("scores")
    columns = ("model", "prompts", "k", "speaks of", "score", interval)
    report.table(columns, rows, right=("prompts", "k", "score", interval))
    report.text(f"\n{SPEAKS_OF}")
    asked = found.asked
    verdict = "passed" if found.gate.passed else "FAILED"
    report.text(f"posterior: {asked.shape} law, {asked.mode}; gate {verdict}")
    for text in (*found.gate.reasons, *found.gate.notes):
        report.bullet(flags_of(text))


def _split(report: Report, found: Answer) -> None:
    """Standard errors, and what of them is prompts and what is luck."""
    rows, told = [], []
    for row in records(found.summary):
        squared = None if row["standard_error"] is None else row["standard_error"] ** 2
        known = bool(squared) and row["between"] is not None
        low = row["posterior_sigma_low"]
        share = min(max(row["between"] / squared, 0.0), 1.0) if known and squared else None
        rows.append(
            [
                _name(row["model"]),
                _number(row["sigma"]),
                "-" if low is None else f"{low:.3f} to {row['posterior_sigma_high']:.3f}",
                _number(row["icc"]),
                _points(row["standard_error"]),
                "-" if share is None else f"{100 * share:.0f} %",
                "-" if share is None else f"{100 * (1 - share):.0f} %",
                _points(row["se_floor"]),
            ]
        )
        if row["reason"]:
            told.append(f"{_one_line(row['model'])}: {row['reason']}")
    report.heading("difficulty and luck")
    interval = f"{100 * found.asked.prob:g} % interval"
    columns = ("model", "sigma", interval, "ICC", "SE", "of prompts", "of generations", "floor")
    report.table(columns, rows, right=columns[1:])
    report.text(f"\n{SPLIT}")
    _bullets(report, told)


def _passes(report: Report, found: Answer) -> None:
    rows, told = [], []
    for row in records(found.passes):
        cells = [_name(row["model"]), str(row["k"])]
        for name in ("pass_at_k", "pass_all_k"):
            cells.append(percent(row[name]))
            cells.append(percent_range(row[f"{name}_low"], row[f"{name}_high"]))
        rows.append(cells)
        if row["reason"]:
            told.append(f"{_one_line(row['model'])}: {row['reason']}")
    report.heading("one of k right, all of k right")
    interval = f"{100 * found.asked.prob:g} % interval"
    columns = ("model", "k", "pass@k", interval, "pass^k", interval)
    report.table(columns, rows, right=columns[1:])
    _bullets(report, list(dict.fromkeys(told)))


def _comparison(report: Report, found: Answer) -> None:
    if found.generations.n_models < 2:
        return
    report.heading("models, paired by prompt")
    if found.comparison is None:
        report.bullet(f"no answer: {flags_of(found.no_comparison)}")
        return
    rows = [
        [
            f"{_name(row['model'])} - {_name(row['reference'])}",
            row["estimand"],
            f"{100 * row['difference']:+.1f}",
            f"{100 * row['lower']:+.1f} to {100 * row['upper']:+.1f}",
            f"{row['probability_better']:.3f}",
            f"{row['n_shared']:,}",
        ]
        for row in records(found.comparison)
    ]
    interval = f"{100 * found.asked.prob:g} % interval"
    columns = ("difference in points", "speaks of", "mean", interval, "P(better)", "prompts")
    report.table(columns, rows, right=columns[2:])
    report.text(f"\n{BETTER}")


def _designs(report: Report, found: Answer) -> None:
    """How many generations are enough, and the plan for the target."""
    report.heading("how many generations are enough")
    for row in records(found.enough):
        report.bullet(f"{_one_line(row['model'])}: {row['sentence'] or row['reason']}")
    if found.plans is None:
        report.text("--target-se plans prompts and generations for a standard error")
        return
    report.heading(f"designs with SE {_points(found.asked.target_se)}")
    rows, told = [], []
    for row in records(found.plans):
        if row["reason"]:
            told.append(f"{_one_line(row['model'])}: {row['reason']}")
        if row.get("k") is None:
            continue
        rows.append(
            [
                _name(row["model"]),
                f"{int(row['k']):,}",
                f"{int(row['n']):,}",
                f"{int(row['generations']):,}",
                _points(row["standard_error"]),
                f"{_points(row['low'])} to {_points(row['high'])}",
                f"{row['probability']:.2f}",
            ]
        )
    if rows:
        interval = f"{100 * found.asked.prob:g} % interval"
        columns = ("model", "k", "prompts", "generations", "SE", interval, "P(met)")
        report.table(columns, rows, right=columns[1:])
    _bullets(report, list(dict.fromkeys(told)))


def _review(report: Report, found: Answer) -> None:
    """Regions of the data map, and the prompts to look at first."""
    report.heading("data map")
    rows = [
        [_name(model), *(f"{of_model[name]:,}" for name in REGIONS)]
        for model, of_model in regions(found.prompts).items()
    ]
    report.table(("model", *REGIONS), rows, right=REGIONS)
    report.heading("prompts to review first")
    for text in found.review.warnings:
        report.bullet(flags_of(text))
    low, high = found.review.error_rate_interval
    if not found.asked.key_exact and found.review.error_rate == found.review.error_rate:
        report.text(
            f"expected share of wrong keys {percent(found.review.error_rate)} (95 % interval "
            f"{percent_range(low, high)})"
        )
    columns = ("prompt", "P(key wrong)", "right", "most frequent other answer", "times", "paper")
    rows = [
        [
            _name(row["prompt"]),
            _number(row["p_key_wrong"]),
            f"{row['key_count']:,} of {row['k']:,}",
            _one_line(row["other_answer"]),
            f"{row['other_count']:,}" if row["other_count"] else "-",
            "flags it" if row["flagged"] else "",
        ]
        for row in records(found.review.table.head(REVIEW_ROWS))
    ]
    report.table(columns, rows, right=("P(key wrong)", "right", "times"))
    report.text(f"\n{PAPER}")


def _one_line(text: str | None, width: int = CELL_WIDTH) -> str:
    """A name or an answer as it is shown; line ends and control characters are written out."""
    if text is None:
        return "-"
    shown = (c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    return clip("".join(shown), width)


def _name(name: str) -> str:
    return _one_line(name, MODEL_WIDTH)


def _bullets(report: Report, told: Sequence[str]) -> None:
    if told:
        report.gap()
    for line in told:
        report.bullet(line)


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _points(value: float | None) -> str:
    """A standard error in percentage points."""
    return "-" if value is None else f"{100 * value:.2f}"


def sentence(found: Answer) -> str:
    """What the numbers say, in one sentence."""
    rows = sorted(records(found.summary), key=lambda row: -float(row["new_prompts"]))
    said = []
    for position, row in enumerate(rows[:MODELS_TOLD]):
        where = " on new prompts like these" if position == 0 else ""
        interval = f"{100 * found.asked.prob:g} % interval " if position == 0 else ""
        low, high = row["new_prompts_low"], row["new_prompts_high"]
        said.append(
            f"{_one_line(row['model'])} scores {percent(row['new_prompts'])}{where} "
            f"({interval}{percent_range(low, high)})"
        )
    text = ", ".join(said)
    if len(rows) > MODELS_TOLD:
        text += f"; {number_of(len(rows) - MODELS_TOLD, 'more model')} in the table"
    pair = found.comparison
    if pair is not None and len(rows) == 2:
        two = pair[pair["estimand"] == "new prompts"].iloc[0]
        text += (
            f"; paired by prompt, {_one_line(two['model'])} minus {_one_line(two['reference'])} is "
            f"{100 * two['difference']:+.1f} points "
            f"({100 * two['lower']:+.1f} to {100 * two['upper']:+.1f})"
        )
    grave = sum(finding.severity != "note" for finding in found.generations.findings)
    if grave:
        text += f"; read the {number_of(grave, 'warning')} above before relying on it"
    if not found.gate.passed:
        remedy = ": use --mode nuts" if found.asked.mode == "laplace" else ""
        text += f"; the posterior did not pass the gate{remedy}"
    return f"{text}."
