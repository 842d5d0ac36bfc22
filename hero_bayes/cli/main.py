"""The console script ``hero-bayes``."""

import os
import sys
from collections.abc import Sequence
from typing import Annotated, NoReturn

import typer

from hero_bayes._version import __version__
from hero_bayes.cli.check import check
from hero_bayes.cli.demo import demo
from hero_bayes.cli.difficulty import difficulty
from hero_bayes.cli.estimate import estimate
from hero_bayes.cli.exit_codes import exit_code_of
from hero_bayes.cli.init import init
from hero_bayes.cli.plan import plan
from hero_bayes.cli.run import run as run_config
from hero_bayes.cli.sensitivity import sensitivity
from hero_bayes.cli.simulate import simulate

__all__ = ["app", "main", "run"]

DEBUG_FLAG = "--debug"
DEBUG_VARIABLE = "HERO_BAYES_DEBUG"

app = typer.Typer(
    name="hero-bayes",
    help="Debiased rates with honest intervals, from gold-anchored history and silver labels.",
    epilog="Start with: hero-bayes demo. Exit codes: 0 done or ship, 1 hold or collect "
    "more, 2 inconclusive, 64 bad usage, 65 bad data, 70 internal error, 130 interrupted.",
    add_completion=False,
    no_args_is_help=False,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"hero-bayes {__version__}")
        raise typer.Exit


@app.callback()
def hero_bayes(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
    debug: Annotated[
        bool,
        typer.Option(DEBUG_FLAG, help=f"Show tracebacks (also: {DEBUG_VARIABLE}=1)."),
    ] = False,
) -> None:
    """Debiased rates with honest intervals, from gold-anchored history and silver labels."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


app.command("demo")(demo)
app.command("init")(init)
app.command("check")(check)
app.command("estimate")(estimate)
app.command("run")(run_config)
app.command("sensitivity")(sensitivity)
app.command("plan")(plan)
app.command("difficulty")(difficulty)
app.command("simulate")(simulate)


def main(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit code.

    Parameters
    ----------
    arguments : sequence of str
        The words after ``hero-bayes``. ``--debug`` may stand anywhere.
    """
    words = [word for word in arguments if word != DEBUG_FLAG]
    debug = len(words) < len(arguments) or os.environ.get(DEBUG_VARIABLE, "") not in ("", "0")
    command = typer.main.get_command(app)

    def work() -> None:
        with command.make_context("hero-bayes", words) as context:
            command.invoke(context)

    return exit_code_of(work, debug)


def run() -> NoReturn:
    """Entry point of the console script."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # an id no terminal can show must not end the report
            stream.reconfigure(errors="backslashreplace")
    sys.exit(main(sys.argv[1:]))
