"""``hero-bayes difficulty``: scores, prompt difficulty and prompts to review."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hero_bayes.cli import flags
from hero_bayes.cli.exit_codes import UsageError
from hero_bayes.cli.interrupts import interrupts_kept
from hero_bayes.cli.reading import CSV_ENDINGS, PARQUET_ENDINGS, parse_columns
from hero_bayes.cli.wording import join
from hero_bayes.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hero_bayes.data.generations import Generations

__all__ = ["difficulty"]

SHAPES = ("beta", "logit_normal")
MODES = ("laplace", "nuts")

Columns = Annotated[
    list[str] | None,
    typer.Option(
        "--column",
        metavar="ROLE=NAME",
        help="Your column for one of ours, as in prompt=question_nr; repeatable. Roles: prompt, "
        "correct (or n_correct and k), model, answer, generation, prompt_group, run, "
        "answer_cluster.",
    ),
]

Only = Annotated[
    list[str] | None,
    typer.Option(
        "--only",
        metavar="COLUMN=VALUE",
        help="Read the rows with this value, as in filter=strict-match; repeatable.",
    ),
]
Ignore = Annotated[
    list[str] | None,
    typer.Option(
        "--ignore", metavar="COLUMN", help="Pass over this column, whatever its name; repeatable."
    ),
]


def difficulty(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="Scored generations or counts (CSV or Parquet), or a bundled set: game24_gpt4, "
            "cruxeval.",
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Write tables and the data map there."),
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Write into FOLDER though it is not empty.")
    ] = False,
    shape: Annotated[
        str,
        typer.Option(metavar="NAME", help="Law of P(correct) over prompts: beta or logit_normal."),
    ] = "beta",
    mode: Annotated[
        str, typer.Option(metavar="NAME", help="laplace (seconds) or nuts.")
    ] = "laplace",
    model: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Only this model of the file; repeatable."),
    ] = None,
    reference: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Model that the others are compared to (the first)."),
    ] = None,
    column: Columns = None,
    only: Only = None,
    ignore: Ignore = None,
    key_exact: Annotated[
        bool,
        typer.Option("--key-exact", help="The answer keys cannot be wrong (run code, say)."),
    ] = False,
    temperature: Annotated[
        float | None,
        typer.Option(metavar="NUMBER", help="At which the models sampled; low ones warn."),
    ] = None,
    target_se: Annotated[
        float | None,
        typer.Option(metavar="NUMBER", help="Plan prompts and generations for this SE."),
    ] = None,
    prob: Annotated[
        float, typer.Option(metavar="NUMBER", help="Nominal coverage of the intervals.")
    ] = 0.95,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the draws.")] = 1,
    as_json: flags.Json = False,
) -> None:
    """Say what several generations per prompt tell: scores, difficulty, prompts to review."""
    if shape not in SHAPES:
        raise UsageError(f"--shape {shape}: choose {join(SHAPES, 'or')}")
    if mode not in MODES:
        raise UsageError(f"--mode {mode}: choose {join(MODES, 'or')}")
    if not 0 < prob < 1:
        raise UsageError(f"--prob {prob:g}: give a number between 0 and 1")
    if target_se is not None and not 0 < target_se < float("inf"):
        raise UsageError(f"--target-se {target_se:g}: give a number above 0, such as 0.02")
    if temperature is not None and not 0 <= temperature < float("inf"):
        raise UsageError(f"--temperature {temperature:g}: give a number, zero or larger")
    for pair in column or ():
        if not all(pair.partition("=")):
            raise UsageError(f"--column {pair}: write ROLE=NAME, such as prompt=question_nr")
    columns = parse_columns(column or ())
    rows: dict[str, list[str]] = {}
    for pair in only or ():
        name, equals, value = pair.partition("=")
        if not (name and equals and value):
            raise UsageError(f"--only {pair}: write COLUMN=VALUE, such as filter=strict-match")
        rows.setdefault(name, []).append(value)
    if out is not None:
        from hero_bayes.cli.difficulty_files import check_folder

        check_folder(out, overwrite)
    generations, bundled = read_generations(file, columns, rows, ignore or ())
    if model:
        generations = generations.select(models=list(model))
    if reference is not None and reference not in map(str, generations.models):
        known = ", ".join(repr(str(name)) for name in generations.models)
        raise DataError(f"--reference {reference!r}: no such model; there are {known}")
    from hero_bayes.cli import difficulty_report
    from hero_bayes.cli.difficulty_tables import Asked, answer

    asked = Asked(shape, mode, prob, seed, target_se, key_exact, temperature, reference)
    with interrupts_kept():
        found = answer(generations, asked)
    written: tuple[Path, ...] = ()
    if out is not None:
        from hero_bayes.cli.difficulty_files import write_folder

        written = write_folder(found, out)
    source = difficulty_report.Source(str(file), bundled)
    if as_json:
        from hero_bayes.cli.difficulty_json import write_json

        write_json(found, source, written)
    else:
        difficulty_report.write(found, source, written)


def read_generations(
    path: Path,
    columns: "Mapping[str, str]",
    only: "Mapping[str, Sequence[str]] | None" = None,
    ignore: "Sequence[str]" = (),
) -> "tuple[Generations, bool]":
    """Read a file, or the bundled set of that name where there is no such file.

    Returns
    -------
    generations : Generations
    bundled : bool
        Whether a bundled set was taken.

    Raises
    ------
    DataError
        If there is neither, or the table is malformed; the message names the file.
    """
    from hero_bayes.data.datasets import load
    from hero_bayes.data.datasets.catalogue import GENERATION_SETS
    from hero_bayes.data.generations import Generations

    if not path.exists():
        if str(path) in GENERATION_SETS:
            if columns or only or ignore:
                flag = "--column" if columns else "--only" if only else "--ignore"
                raise UsageError(f"{flag}: {path} is a bundled set, its columns are known")
            found = load(str(path))
            assert isinstance(found, Generations)
            return found, True
        raise DataError(
            f"there is no file {str(path)!r}, and no bundled set of generations of that name; "
            f"bundled are {join(tuple(GENERATION_SETS))}"
        )
    name = path.name.lower()
    if path.is_dir() or name.endswith(PARQUET_ENDINGS):
        read = Generations.from_parquet
    elif name.endswith(CSV_ENDINGS):
        read = Generations.from_csv
    else:
        raise DataError(
            f"{path}: the ending says the format, and this one is not known; name it "
            f"{', '.join((*CSV_ENDINGS, *PARQUET_ENDINGS))}"
        )
    from hero_bayes.cli.difficulty_tables import flags_of

    try:
        return read(path, columns=columns, only=only, ignore=ignore), False
    except DataError as error:
        said = flags_of(str(error))
        raise DataError(said if str(path) in said else f"{path}: {said}") from error
