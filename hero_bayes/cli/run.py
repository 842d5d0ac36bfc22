"""``hero-bayes run``: from a config file to a decision, for release pipelines."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hero_bayes.cli import flags
from hero_bayes.cli.config import ConfigFile, open_config, said_in_config, tell
from hero_bayes.cli.exit_codes import DONE, HOLD, INCONCLUSIVE, UsageError, silence_stdout
from hero_bayes.cli.interrupts import interrupts_kept

if TYPE_CHECKING:
    from hero_bayes.pipeline.config import Config
    from hero_bayes.pipeline.running import RunResult

__all__ = ["CODES", "run"]

#: Exit codes of the outcomes.
CODES = {"ship": DONE, "hold": HOLD, "collect more": HOLD, "inconclusive": INCONCLUSIVE}


def run(
    config: ConfigFile,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace the results of an earlier run.")
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Decide though the gate failed; recorded.")
    ] = False,
    as_json: flags.Json = False,
) -> None:
    """Fit, adjust and decide as a config says; exits 0 (ship), 1 (hold) or 2 (inconclusive)."""
    with said_in_config():
        asked = open_config(config)
        _check_folder(asked, config, overwrite)
        with interrupts_kept():
            from hero_bayes.pipeline.running import run_config

            result = run_config(asked, force=force, tell=tell, progressbar=True)
    document = _write(result, asked.folder, overwrite)
    code = CODES[result.decision.outcome]
    try:
        if as_json:
            from hero_bayes.cli.printing import print_json

            print_json(document)
        else:
            from hero_bayes.cli.run_report import write_report

            write_report(result, asked.folder, document["files"])
        sys.stdout.flush()
    except BrokenPipeError:  # the reader is gone; the decision stands
        silence_stdout()
    raise typer.Exit(code)


def _check_folder(asked: "Config", config: Path, overwrite: bool) -> None:
    """Refuse before any work what could not be written after it."""
    from hero_bayes.pipeline.files import folder_problem

    problem = folder_problem(asked.folder, overwrite, (config, *asked.data.paths))
    if problem is not None:
        raise UsageError(f"[output] folder {asked.folder}: {problem}")


def _write(result: "RunResult", folder: Path, overwrite: bool) -> dict[str, Any]:
    from hero_bayes.pipeline.files import write_run

    tell(f"writing {folder}")
    try:
        return write_run(result, folder, overwrite)
    except FileExistsError as error:
        raise UsageError(f"[output] folder {folder}: {error}") from error
