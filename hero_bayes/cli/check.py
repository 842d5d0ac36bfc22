"""``hero-bayes check``: what a label table holds, what it supports, what is dangerous."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hero_bayes.cli import flags
from hero_bayes.cli.columns import Recognised, recognise
from hero_bayes.cli.dependence import measured
from hero_bayes.cli.exit_codes import BAD_DATA, UsageError
from hero_bayes.cli.reading import (
    ReadingOptions,
    Round,
    build,
    check_columns,
    negative_of,
    parse_columns,
    prepared,
    read_round,
    split_items,
)
from hero_bayes.cli.support import Support, numeric_columns, pair_support, table_support
from hero_bayes.cli.verdict_words import Words, read_words
from hero_bayes.cli.wording import in_flags, join
from hero_bayes.errors import DataError

if TYPE_CHECKING:
    from hero_bayes.agreement.result import Dependence
    from hero_bayes.data.findings import Findings
    from hero_bayes.data.labels import Labels

__all__ = ["Checked", "check"]

UNLABELED_REMEDY = 'unlabeled="drop"'
REPEATS_REMEDY = 'repeats="majority"'


@dataclass(frozen=True)
class Checked:
    """All that a check found out; later fields stay empty when an earlier step failed."""

    rounds: tuple[Round, ...]
    one_items_file: Path | None
    recognised: Recognised
    options: ReadingOptions
    words: Words | None = None
    assumed: tuple[str, ...] = ()
    labels: "tuple[Labels, ...]" = ()
    candidates: tuple[str, ...] = ()
    support: tuple[Support, ...] = ()
    dependence: "Dependence | str | None" = None
    findings: "Findings | None" = None
    problem: str | None = None
    #: What to ask instead, where a problem has such a remedy: all that was asked, and more.
    remedy: ReadingOptions | None = None


def check(
    labels: Annotated[
        Path, typer.Argument(metavar="LABELS", help="Labels, one row per verdict (CSV or Parquet).")
    ],
    items: Annotated[
        Path | None,
        typer.Argument(
            metavar="[ITEMS]", help="Items, one row each: gold, round, arm, covariates."
        ),
    ] = None,
    current: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Labels of a current round: check the pair."),
    ] = None,
    current_items: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Items of the current round.")
    ] = None,
    covariate: flags.Covariates = None,
    positive: flags.Positive = None,
    negative: flags.Negative = None,
    abstain: flags.Abstain = None,
    repeats: flags.Repeats = None,
    column: flags.Columns = None,
    drop_unlabeled: flags.DropUnlabeled = False,
    as_json: flags.Json = False,
) -> None:
    """Look at label tables: what they hold, which methods they support, what is dangerous."""
    if current_items is not None and current is None:
        raise UsageError("--current-items needs --current")
    options = ReadingOptions(
        positive=positive,
        negative=negative,
        abstain=tuple(abstain or ()),
        repeats=repeats,
        covariates=tuple(covariate or ()),
        columns=parse_columns(column or ()),
        drop_unlabeled=drop_unlabeled,
    )
    found = examine(labels, items, current, current_items, options)
    from hero_bayes.cli import check_report

    if as_json:
        check_report.write_json(found)
    else:
        check_report.write(found)
    if found.problem is not None:
        said = "the JSON object" if as_json else "the report"
        typer.echo(f"hero-bayes: bad data: not readable yet; {said} says why", err=True)
        raise typer.Exit(BAD_DATA)


def examine(
    labels: Path,
    items: Path | None,
    current: Path | None,
    current_items: Path | None,
    options: ReadingOptions,
) -> Checked:
    """Go as far as the tables allow, and say where it ended."""
    rounds = [read_round(labels, items, options.columns)]
    shared_items: Path | None = None
    if current is not None:
        rounds.append(read_round(current, current_items, options.columns))
    check_columns(options.columns, rounds)
    recognised = recognise(rounds, options.columns, options.covariates)
    options = replace(options, columns=recognised.columns)
    found = Checked(tuple(rounds), None, recognised, options)
    if recognised.missing:
        problem, remedy = _missing_columns(found)
        return replace(found, problem=problem, remedy=remedy)
    if items is not None and current is not None and current_items is None:
        split = _shared_items(items, rounds, options)
        if split is not None:
            rounds, shared_items = split, items
    try:
        words = read_words(
            [prepared(s, options)["labels"].column("label") for s in rounds], options
        )
    except DataError as error:
        return replace(found, problem=in_flags(str(error)))
    found = replace(
        found,
        rounds=tuple(rounds),
        one_items_file=shared_items,
        words=words,
        options=words.options,
        assumed=words.assumed,
    )
    if words.problem is not None:
        return replace(found, problem=words.problem, remedy=words.remedy)
    try:
        found = _build(found)
    except DataError as error:
        return replace(found, problem=in_flags(str(error)))
    return _judge(found)


def _missing_columns(found: Checked) -> tuple[str, ReadingOptions | None]:
    """Which roles have no column, and the options that would name them."""
    listed = "; ".join(
        f"{source.labels_path} has {', '.join(map(str, source.labels.columns))}"
        for source in found.rounds
    )
    roles, columns = found.recognised.missing, found.options.columns
    given = [shlex.join(["--column", f"{r}={columns[r]}"]) for r in roles if r in columns]
    problem = f"no column recognised as {join(roles, 'or')}: {listed}. "
    if given:
        problem += f"{join(given)}: give that name to the column of every labels table. "
    else:
        asked = " ".join(f"--column {role}=YOUR_COLUMN" for role in roles)
        problem += f"Say which it is with {asked}. "
    problem += "A labels table has one row per verdict: item, labeler, label"
    asking = {role: "YOUR_COLUMN" for role in roles}
    return problem, None if given else replace(found.options, columns={**columns, **asking})


def _shared_items(
    items: Path, rounds: Sequence[Round], options: ReadingOptions
) -> list[Round] | None:
    """The rounds with the rows of one items file split between them, if it serves both.

    Where ids are used in both rounds, it belongs to the first: gold must not slip into the second.
    """
    try:
        split, _, common = split_items(items, rounds, options)
    except DataError:
        return None
    return None if common else split


def _build(found: Checked) -> Checked:
    """Build the labels, with the settings that the errors name where the caller left them open."""
    options, assumed, built = found.options, list(found.assumed), []
    negative = negative_of(found.rounds, options)
    for source in found.rounds:
        while True:
            try:
                built.append(build(source, options, negative))
                break
            except DataError as error:
                said = str(error)
                what = in_flags(said.splitlines()[0].rpartition("; ")[0] or said)
                if UNLABELED_REMEDY in said and not options.drop_unlabeled:
                    options = replace(options, drop_unlabeled=True)
                    assumed.append(f"items without a label are left out: {what}")
                elif REPEATS_REMEDY in said and options.repeats is None:
                    options = replace(options, repeats="majority")
                    assumed.append(f"repeated verdicts are settled by majority: {what}")
                else:
                    raise
    if options != found.options:  # every round is read with the same settings
        built = [build(source, options, negative) for source in found.rounds]
    return replace(found, options=options, assumed=tuple(assumed), labels=tuple(built))


def _judge(found: Checked) -> Checked:
    from hero_bayes.data.checks import check as look

    taken = [*(use.column for use in found.recognised.uses if use.serves_as != "not used")]
    candidates = numeric_columns(found.rounds, taken)
    findings = look(*found.labels)
    if len(found.labels) == 1:
        support = table_support(found.labels[0], findings, candidates)
    else:
        history, current = found.labels
        support = pair_support(history, current, findings, candidates)
    return replace(
        found,
        candidates=candidates,
        findings=findings,
        support=tuple(support),
        dependence=measured(found.labels[0]) if found.labels[0].n_gold else None,
    )
