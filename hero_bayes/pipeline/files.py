"""The folder of a run: files that belong together, ``decision.json`` last."""

import hashlib
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import xarray as xr

from hero_bayes.inference.storage import save
from hero_bayes.pipeline.document import decision_document, tipping_rows
from hero_bayes.pipeline.running import RunResult
from hero_bayes.pipeline.sweep_table import sweep_table
from hero_bayes.pipeline.workspace import flush, locked, workspace

__all__ = ["DECISION", "FILES", "POSTERIOR", "folder_problem", "write_run"]

DECISION, POSTERIOR = "decision.json", "posterior.nc"
#: Every file that a run may write, in the order in which they are moved.
FILES = (
    POSTERIOR,
    "estimates.csv",
    "arms.csv",
    "methods.csv",
    "findings.csv",
    "sensitivity.csv",
    "tipping_points.csv",
    DECISION,
)
#: When and how long a sampler worked.
CLOCK_ATTRIBUTES = ("created_at", "sampling_time")
CLOCK_VARIABLES = ("perf_counter_diff", "perf_counter_start", "process_time_diff")
BLOCK = 1 << 20


def folder_problem(folder: Path, overwrite: bool, inputs: Sequence[Path] = ()) -> str | None:
    """Why a run could not write its files there; None if it could.

    Parameters
    ----------
    folder : Path
    overwrite : bool
        Whether files of an earlier run may be replaced.
    inputs : sequence of Path
        Files that must stay what they are.
    """
    if folder.is_symlink() and not folder.exists():
        return "that is a link to nothing; remove it, or name a folder"
    if folder.exists() and not folder.is_dir():
        return "that is a file; name a folder"
    if not folder.absolute().parent.is_dir():
        return f"there is no folder {folder.parent}; make it first"
    place = folder if folder.is_dir() else folder.absolute().parent
    if not os.access(place, os.W_OK | os.X_OK):
        return f"{place} cannot be written to"
    own = {(folder / name).resolve() for name in FILES}
    touched = [str(path) for path in inputs if path.resolve() in own]
    if touched:
        return f"the run would replace its own input {', '.join(touched)}; name another folder"
    for name in FILES:
        if (folder / name).is_dir():
            return f"{name} in it is a folder; move it away"
    if folder.is_dir() and any(folder.iterdir()) and not overwrite:
        return "the folder is not empty; add --overwrite to replace the results in it"
    return None


def write_run(result: RunResult, folder: Path, overwrite: bool = False) -> dict[str, Any]:
    """Write the files of a run, and return the content of ``decision.json``.

    Parameters
    ----------
    result : RunResult
    folder : Path
        Where to; its parent must exist.
    overwrite : bool
        Whether files of an earlier run may be replaced.

    Returns
    -------
    dict
        What stands in ``decision.json``.

    Raises
    ------
    FileExistsError
        If the folder holds something and may not be written into.

    Notes
    -----
    Everything is made in a hidden folder beside the target. A new folder then appears at once with
    all its files. In one that was there, an old ``decision.json`` goes first, the other files are
    replaced, those that this run does not have are removed, and the new ``decision.json`` comes
    last: whenever the process is killed, a ``decision.json`` in the folder belongs to the files
    beside it. Files that are not a run's own stay.
    """
    target = folder.resolve()
    with workspace(target) as work:
        made = work / "out"
        made.mkdir()
        write_tables(result, made)
        hashes = {name: sha256_of(made / name) for name in FILES if (made / name).exists()}
        document = decision_document(result, hashes)
        text = json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False)
        (made / DECISION).write_text(f"{text}\n", encoding="utf-8")
        flush(sorted(made.iterdir()))
        install(made, target, overwrite)
    return document


def write_tables(result: RunResult, made: Path) -> None:
    """Everything but the decision."""
    save(without_clock(result.fit), made / POSTERIOR)
    tables = {
        "estimates.csv": result.estimates,
        "methods.csv": result.methods,
        "findings.csv": result.findings.table,
    }
    if result.arms is not None:
        tables["arms.csv"] = result.arms
    if result.sweep is not None:
        tables["sensitivity.csv"] = sweep_table(result.sweep)
        tables["tipping_points.csv"] = pd.DataFrame(tipping_rows(result.sweep))
    for name, table in tables.items():
        table.to_csv(made / name, index=False, lineterminator="\n")


def without_clock(fit: xr.DataTree) -> xr.DataTree:
    """The fit without what samplers note of times, which differ between equal runs."""
    timeless = {}
    for node in fit.subtree:
        dataset = node.to_dataset(inherit=False)
        dataset = dataset.drop_vars(CLOCK_VARIABLES, errors="ignore")
        dataset.attrs = {k: v for k, v in dataset.attrs.items() if k not in CLOCK_ATTRIBUTES}
        timeless[node.path] = dataset
    return xr.DataTree.from_dict(timeless)


def install(made: Path, target: Path, overwrite: bool) -> None:
    """Move finished files to their folder; see `write_run` for the order."""
    if not target.exists():
        try:
            os.replace(made, target)
        except OSError:  # somebody was faster
            if not target.is_dir():
                raise
        else:
            return
    with locked(target):
        others = [path.name for path in target.iterdir() if path != made.parent]
        if others and not overwrite:
            raise FileExistsError(f"{target} is not empty any more; nothing was written")
        (target / DECISION).unlink(missing_ok=True)
        for name in FILES:
            if (made / name).exists():
                os.replace(made / name, target / name)
            else:
                (target / name).unlink(missing_ok=True)


def sha256_of(path: Path) -> str:
    """SHA-256 of a file, in hex."""
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while block := stream.read(BLOCK):
            digest.update(block)
    return digest.hexdigest()
