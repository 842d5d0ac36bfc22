"""The folder of ``hero-bayes difficulty``: written whole or not at all."""

import os
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from hero_bayes.cli.exit_codes import UsageError

if TYPE_CHECKING:
    from hero_bayes.cli.difficulty_tables import Answer

__all__ = ["DATA_MAP", "check_folder", "write_folder"]

DATA_MAP = "data_map.png"
FILES = ("summary.csv", "prompts.csv", "review_list.csv", DATA_MAP)
DOTS_PER_INCH = 150


def check_folder(folder: Path, overwrite: bool) -> None:
    """Refuse before any work what could not be written after it.

    Raises
    ------
    UsageError
        If the folder holds something and may not be written into, cannot be made, or matplotlib is
        missing.
    """
    if folder.is_symlink() and not folder.exists():
        raise UsageError(f"--out {folder}: that is a link to nothing; remove it, or name a folder")
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"--out {folder}: that is a file; name a folder")
    for name in FILES:
        if (folder / name).is_dir():
            raise UsageError(f"--out {folder}: {name} in it is a folder; move it away")
    if not folder.absolute().parent.is_dir():
        raise UsageError(f"--out {folder}: there is no folder {folder.parent}; make it first")
    if folder.is_dir() and any(folder.iterdir()) and not overwrite:
        raise UsageError(
            f"--out {folder}: the folder is not empty; add --overwrite to replace "
            f"{', '.join(FILES)} in it"
        )
    if find_spec("matplotlib") is None:
        raise UsageError(
            f"--out {folder}: the data map needs matplotlib: pip install 'hero-bayes[plots]', or "
            "leave out --out"
        )


def write_folder(found: "Answer", folder: Path) -> tuple[Path, ...]:
    """Write the tables and the data map, and return their paths.

    Everything is made beside the folder first (beside what it leads to, if it is a link). A new
    folder appears at once with all its files; in one that was there, files are replaced, and a data
    map of an earlier run that this one does not have (there are no answers) is removed.
    """
    target = folder.resolve()
    with TemporaryDirectory(dir=target.parent, prefix=".hero_bayes_") as work:
        made = Path(work) / "out"
        made.mkdir()
        tables = (found.summary, found.prompts, found.review.table)
        for name, table in zip(FILES, tables, strict=False):
            table.to_csv(made / name, index=False, lineterminator="\n")
        if bool(found.prompts["S"].notna().any()):
            from hero_bayes.plots.data_map import plot_data_map

            plot_data_map(found.prompts).savefig(made / DATA_MAP, dpi=DOTS_PER_INCH)
        names = [name for name in FILES if (made / name).exists()]
        if not target.exists():
            os.replace(made, target)
        else:
            for name in names:
                os.replace(made / name, target / name)
            for name in set(FILES) - set(names):
                (target / name).unlink(missing_ok=True)
    return tuple(folder / name for name in names)
