"""``hero-bayes init``: a config file with comments, to be filled in."""

import os
import shlex
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from hero_bayes.cli.exit_codes import UsageError
from hero_bayes.pipeline.template import TEMPLATE

__all__ = ["CONFIG", "init"]

CONFIG = Path("hero_bayes.toml")


def init(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="The config file to write.")
    ] = CONFIG,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace FILE if it exists.")
    ] = False,
) -> None:
    """Write a config file with comments; name your files in it, then: hero-bayes run FILE."""
    if file.is_dir():
        raise UsageError(f"{file} is a folder; name a file in it")
    if not file.absolute().parent.is_dir():
        raise UsageError(f"{file}: there is no folder {file.parent}; make it first")
    try:
        _write(file, overwrite)
    except FileExistsError as error:
        raise UsageError(f"{file} exists; add --overwrite to replace it") from error
    except PermissionError as error:
        raise UsageError(f"{file} cannot be written: {error.strerror}") from error
    from hero_bayes.cli.printing import Report

    report = Report(file)
    report.text(f"{file} written. Name your files and your rule in it, then:", indent=0)
    report.command(shlex.join(["hero-bayes", "run", str(file)]))


def _write(file: Path, overwrite: bool) -> None:
    """A new file at once; an old one is replaced whole."""
    if not overwrite:
        with file.open("x", encoding="utf-8") as stream:
            stream.write(TEMPLATE)
        return
    target = file.resolve()
    with TemporaryDirectory(dir=target.parent, prefix=".hero_bayes_") as work:
        made = Path(work) / target.name
        made.write_text(TEMPLATE, encoding="utf-8")
        os.replace(made, target)
