"""Files that a command writes: refused before any work, or written whole."""

import os
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from hero_bayes.cli.exit_codes import UsageError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["check_target", "write_csv"]


def check_target(option: str, path: Path | None, overwrite: bool) -> None:
    """Refuse before any work what could not be written after it.

    Parameters
    ----------
    option : str
        The option that names the file, such as ``--output``.
    path : Path, optional
        None where nothing is to be written.
    overwrite : bool
        Whether an existing file may be replaced.
    """
    if path is None:
        return
    if path.is_dir():
        raise UsageError(f"{option} {path}: that is a folder; name a file in it")
    if not path.absolute().parent.is_dir():
        raise UsageError(f"{option} {path}: there is no folder {path.parent}; make it first")
    if path.exists() and not overwrite:
        raise UsageError(f"{option} {path}: the file exists; add --overwrite to replace it")


def write_csv(table: "pd.DataFrame", path: Path) -> None:
    """Write a table, whole or not at all; a file that is there is replaced."""
    target = path.resolve()
    with TemporaryDirectory(dir=target.parent, prefix=".hero_bayes_") as work:
        made = Path(work) / target.name
        table.to_csv(made, index=False, lineterminator="\n")
        os.replace(made, target)
