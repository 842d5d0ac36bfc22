"""``hero-bayes simulate``: a study of the methods on simulated rounds with known truth."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hero_bayes._version import __version__
from hero_bayes.cli import flags
from hero_bayes.cli.exit_codes import UsageError
from hero_bayes.cli.targets import check_target
from hero_bayes.cli.wording import TITLES
from hero_bayes.words import number_of

if TYPE_CHECKING:
    from hero_bayes.simulation.running import StudyResult

SCHEMA_VERSION = 1
COLUMNS = ("method", "|bias|", "SD", "RMSE", "ratio", "coverage", "repetitions")


def simulate(
    study: Annotated[
        Path, typer.Argument(metavar="STUDY.toml", help="Settings, methods and repetitions.")
    ],
    output: Annotated[
        Path | None, typer.Option(metavar="FILE.csv", help="Write the table there.")
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace FILE.csv if it exists.")
    ] = False,
    jobs: Annotated[int, typer.Option(help="Worker processes; -1 for every core.")] = 1,
    as_json: flags.Json = False,
) -> None:
    """Bias, spread and error of the methods on simulated rounds, against the true rate."""
    check_target("--output", output, overwrite)
    if jobs < 1 and jobs != -1:
        raise UsageError(f"--jobs {jobs}: give 1 or more, or -1 for every core")
    from hero_bayes.simulation.study import read_study

    asked = read_study(study)
    from hero_bayes.simulation.finding import finding
    from hero_bayes.simulation.running import run_study
    from hero_bayes.simulation.scoring import write_table

    result = run_study(asked, jobs=jobs, progressbar=True)
    written = None if output is None else write_table(result.table, output, overwrite=overwrite)
    sentence = finding(result.table)
    if as_json:
        _print_json(result, written, sentence)
    else:
        _print_report(result, written, sentence)


def _print_json(result: "StudyResult", written: Path | None, sentence: str) -> None:
    from hero_bayes.cli.printing import print_json

    study = result.study
    print_json(
        {
            "schema_version": SCHEMA_VERSION,
            "hero_bayes_version": __version__,
            "command": "simulate",
            "study": study.name,
            "description": study.description,
            "repetitions": study.repetitions,
            "random_seed": study.random_seed,
            "methods": study.methods,
            "settings": [
                {"name": entry.name, "scenario": vars(entry.scenario)} for entry in study.settings
            ],
            "table": result.table.to_dict("records"),
            "output": None if written is None else str(written),
            "finding": sentence,
        }
    )


def _print_report(result: "StudyResult", written: Path | None, sentence: str) -> None:
    from hero_bayes.cli.printing import Report

    study = result.study
    report = Report(*([] if written is None else [written]))
    report.title(f"hero-bayes {__version__}: {study.name}")
    if study.description:
        report.gap()
        report.text(study.description)
    report.gap()
    report.text(
        f"{number_of(len(study.settings), 'setting')}, "
        f"{number_of(study.repetitions, 'repetition')} each with the same rounds for every "
        f"method, seed {study.random_seed}; against E[y] of the "
        "current round; ± is one Monte-Carlo error; ratio: RMSE to that of majority vote; coverage "
        "of 95 % intervals"
    )
    for setting, rows in result.table.groupby("setting", sort=False):
        report.heading(str(setting))
        report.table(COLUMNS, [_cells(row) for row in rows.to_dict("records")], right=COLUMNS[1:])
    if written is not None:
        report.gap()
        report.text(f"table written to {written}")
    report.finding(sentence)


def _cells(row: dict[Any, Any]) -> list[str]:
    """One line of the table for people."""
    method = str(row["method"])
    answered = number_of(row["repetitions"], "answer")
    done = f"{answered}, {row['refused']} refused" if row["refused"] else str(row["repetitions"])
    if row["repetitions"] == 0:
        return [TITLES.get(method, method), "", "", "", "", "", done]
    known = row["coverage_95"] == row["coverage_95"]
    ratio = row.get("rmse_ratio", float("nan"))
    return [
        TITLES.get(method, method),
        _with_error(row["abs_bias"], row["bias_mc_error"]),
        _with_error(row["sd"], row["sd_mc_error"]),
        _with_error(row["rmse"], row["rmse_mc_error"]),
        f"{ratio:.2f}" if ratio == ratio else "",
        f"{100 * row['coverage_95']:.0f} %" if known else "",
        done,
    ]


def _with_error(value: float, mc_error: float) -> str:
    return f"{value:.3f} ±{mc_error:.3f}"
