"""``hero-bayes plan``: how large the next round must be, from a config file."""

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hero_bayes._version import __version__
from hero_bayes.cli import flags
from hero_bayes.cli.config import ConfigFile, open_config, said_in_config, tell
from hero_bayes.cli.exit_codes import UsageError
from hero_bayes.cli.interrupts import interrupts_kept
from hero_bayes.cli.targets import check_target, write_csv
from hero_bayes.errors import DataError, Refusal

if TYPE_CHECKING:
    from hero_bayes.decision.rule import Rule
    from hero_bayes.pipeline.config import Config
    from hero_bayes.planning.plan_result import Plan

__all__ = ["plan"]

SCHEMA_VERSION = 1
#: Arguments of ``hb.plan``, and the options that set them.
OPTIONS = {
    "n_items": "--n-items",
    "labels_per_item": "--labels-per-item",
    "gold": "--gold",
    "costs": "--cost",
    "target_width": "--target-width",
    "target_correct": "--target-correct",
    "prob": "--prob",
    "rate": "--rate",
    "model": "--model",
    "n_simulations": "--simulations",
    "n_workers": "--jobs",
}
#: Columns of the report, and what they are called there.
SHOWN = {
    "n_items": "items",
    "labels_per_item": "labels each",
    "gold": "more gold",
    "cost": "cost",
    "width": "width",
    "coverage": "coverage",
    "correct": "correct",
    "wrong": "wrong",
    "meets_target": "reached",
}


def plan(
    config: ConfigFile,
    n_items: Annotated[
        str, typer.Option(metavar="N,N,...", help="Items of the next round.")
    ] = "100,200,400",
    labels_per_item: Annotated[
        str | None,
        typer.Option(metavar="N,N,...", help="Labels of each item; default: as in history."),
    ] = None,
    gold: Annotated[
        str, typer.Option(metavar="N,N,...", help="Gold labels to add to history.")
    ] = "0",
    cost: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=X", help="Cost of an item, a label or a gold; repeatable."),
    ] = None,
    target_width: Annotated[
        float | None, typer.Option(help="Mean width of the interval to reach.")
    ] = None,
    target_correct: Annotated[
        float | None, typer.Option(help="Probability of a correct decision to reach.")
    ] = None,
    prob: Annotated[float, typer.Option(help="Probability of the interval.")] = 0.9,
    rate: Annotated[
        float | None,
        typer.Option(help="Plan for this rate; default: that of the current round."),
    ] = None,
    rule: Annotated[
        str | None, typer.Option(metavar="RULE", help="A rule instead of the config's.")
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(help="auto, score or hero; default: the config's if it is one of them."),
    ] = None,
    simulations: Annotated[int, typer.Option(help="Simulated rounds of each design.")] = 40,
    jobs: Annotated[int, typer.Option(help="Worker processes; -1 for every core.")] = 1,
    output: Annotated[
        Path | None, typer.Option(metavar="FILE.csv", help="Write the table there.")
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace FILE.csv if it exists.")
    ] = False,
    as_json: flags.Json = False,
) -> None:
    """Simulate the next round under several designs: interval, decisions and cost of each."""
    check_target("--output", output, overwrite)
    settings: dict[str, Any] = {
        "n_items": _numbers(n_items, "--n-items"),
        "labels_per_item": None
        if labels_per_item is None
        else _numbers(labels_per_item, "--labels-per-item"),
        "gold": _numbers(gold, "--gold"),
        "costs": _costs(cost or []),
        "target_width": target_width,
        "target_correct": target_correct,
        "prob": prob,
        "rate": rate,
        "n_simulations": simulations,
        "n_workers": jobs,
    }
    with said_in_config():
        found = _planned(open_config(config), rule, model, settings)
    if output is not None:
        write_csv(found.table, output)
    if as_json:
        _print_json(found, output)
    else:
        _print_report(found, output)


def _planned(
    asked: "Config", rule: str | None, model: str | None, settings: dict[str, Any]
) -> "Plan":
    from hero_bayes.pipeline.running import read_checked
    from hero_bayes.planning.plan import plan as simulate
    from hero_bayes.planning.simulated import MODELS

    tell("reading the tables")
    history, current = read_checked(asked)
    if model is None:
        model = asked.model.name if asked.model.name in MODELS else "auto"
        if model != asked.model.name:
            tell(f"planning with {model}; a plan fits none but {', '.join(MODELS)}")
    try:
        wanted = _rule(asked, rule)
        tell("simulating the next round")
        with interrupts_kept():
            return simulate(
                history, wanted, current, model=model, random_seed=asked.model.random_seed,
                progressbar=True, **settings,
            )  # fmt: skip
    except (DataError, Refusal) as error:
        raise type(error)(_in_options(str(error))) from error
    except ValueError as error:
        raise UsageError(_in_options(str(error))) from error


def _in_options(message: str) -> str:
    """Say the arguments of ``hb.plan`` as options of the command."""
    for name, option in OPTIONS.items():
        message = re.sub(rf"^{name}(?=[ =\[])", option, message)
    return message


def _rule(asked: "Config", text: str | None) -> "Rule":
    """The one rule to plan for."""
    from hero_bayes.decision.rule import JointRule, Rule

    rule = asked.rule if text is None else Rule.parse(text)
    if isinstance(rule, JointRule):
        raise UsageError(f"a plan is made for one rule, and there are {len(rule.parts)}: --rule")
    if rule.metric == "prevalence_adjusted":
        tell("planning for the prevalence without covariates, whose interval is no narrower")
        rule = replace(rule, metric="prevalence")
    return rule


def _numbers(text: str, option: str) -> list[int]:
    try:
        return [int(word) for word in text.split(",")]
    except ValueError as error:
        raise UsageError(f"{option} {text}: give whole numbers, as in 100,200") from error


def _costs(entries: list[str]) -> dict[str, float] | None:
    costs = {}
    for entry in entries:
        name, _, value = entry.partition("=")
        try:
            costs[name.strip()] = float(value)
        except ValueError as error:
            raise UsageError(f"--cost {entry}: write it as in label=0.5") from error
    return costs or None


def _print_json(found: "Plan", path: Path | None) -> None:
    from hero_bayes.cli.printing import print_json

    print_json(
        {
            "schema_version": SCHEMA_VERSION,
            "hero_bayes_version": __version__,
            "command": "plan",
            "rule": None if found.rule is None else str(found.rule),
            "metric": found.metric,
            "prob": found.prob,
            "simulations": found.n_simulations,
            "rate": dict(zip(("mean", "low", "high"), found.rate, strict=True)),
            "target_width": found.goal.width,
            "target_correct": found.goal.correct,
            "costs": found.goal.costs,
            "table": found.table.to_dict("records"),
            "cheapest": found.cheapest,
            "sentences": list(found.sentences),
            "output": None if path is None else str(path),
            "finding": found.sentences[1 if len(found.sentences) > 1 else 0],
        }
    )


def _print_report(found: "Plan", path: Path | None) -> None:
    from hero_bayes.cli.printing import Report

    report = Report(*([] if path is None else [path]))
    report.title(f"hero-bayes {__version__}: {found.rule or found.metric}")
    report.gap()
    report.text(found.sentences[0])
    report.heading("designs")
    names = [name for name in SHOWN if name in found.table]
    heads = [SHOWN[name] for name in names]
    rows = [[_cell(name, row[name]) for name in names] for row in found.table.to_dict("records")]
    report.table(heads, rows, right=heads)
    report.text(
        f"\nwidth and coverage of the {found.prob:.0%} interval of {found.metric}; correct: ship "
        "where the rule's event is true, or hold where it is false; the rest is collect more"
    )
    if path is not None:
        report.gap()
        report.text(f"table written to {path}")
    for sentence in found.sentences[2:]:
        report.gap()
        report.text(sentence)
    report.finding(found.sentences[1 if len(found.sentences) > 1 else 0])


def _cell(name: str, value: Any) -> str:
    if name in ("n_items", "gold"):
        return str(value)
    if name == "meets_target":
        return "yes" if value else "no"
    if value != value:
        return "none"
    if name in ("coverage", "correct", "wrong"):
        return f"{100 * value:.0f} %"
    return f"{value:.3f}" if name == "width" else f"{value:g}"
