"""Label tables from the files that a config names."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from hero_bayes.errors import DataError

if TYPE_CHECKING:
    import pandas as pd

    from hero_bayes.data.labels import Labels
    from hero_bayes.pipeline.config_data import DataConfig, RoundFiles

__all__ = [
    "CSV_ENDINGS",
    "ENDINGS",
    "PARQUET_ENDINGS",
    "known_ending",
    "read_rounds",
    "read_table",
]

CSV_ENDINGS = (".csv", ".csv.gz")
PARQUET_ENDINGS = (".parquet", ".pq")
ENDINGS = (*CSV_ENDINGS, *PARQUET_ENDINGS)


def known_ending(path: Path) -> bool:
    """Whether the name says the format; a folder is a Parquet data set."""
    return path.is_dir() or path.name.lower().endswith(ENDINGS)


def read_table(path: Path, columns: Mapping[str, str]) -> "pd.DataFrame":
    """Read a CSV or Parquet file, chosen by its ending.

    Parameters
    ----------
    path : Path
    columns : mapping of role to column name
        Columns that hold ids stay texts under these names too.

    Raises
    ------
    DataError
        If there is no such file, or it is no table.
    """
    if not path.exists():
        raise DataError(f"there is no file {str(path)!r}")
    if not known_ending(path):
        raise DataError(
            f"{path}: the ending says the format, and this one is not known; name it "
            f"{', '.join(ENDINGS)}"
        )
    from hero_bayes.data.tables import read_csv, read_parquet

    if path.is_dir() or path.name.lower().endswith(PARQUET_ENDINGS):
        return read_parquet(path)
    try:
        return read_csv(path, columns)
    except (OSError, EOFError) as error:  # a .gz that is none, or is cut short; no permission
        raise DataError(f"{path} is not a readable CSV table: {error}") from error


def read_rounds(data: "DataConfig") -> "tuple[Labels, Labels]":
    """History and current round, checked.

    Raises
    ------
    DataError
        If a table is malformed; the message names the file, the rows and the fix.
    """
    frames = {path: read_table(path, data.columns) for path in data.paths}
    known = list(dict.fromkeys(str(name) for frame in frames.values() for name in frame.columns))
    for role, name in data.columns.items():
        if name not in known:
            raise DataError(
                f"[data] columns: no table has a column {name!r} for {role}; found "
                f"{', '.join(known)}"
            )
    history = _labels(data, data.history, frames)
    if data.history.paths == data.current.paths:
        return _rounds_of(history, data.history), _rounds_of(history, data.current)
    return history, _labels(data, data.current, frames)


def _labels(
    data: "DataConfig", files: "RoundFiles", frames: "Mapping[Path, pd.DataFrame]"
) -> "Labels":
    """All rows of the files of one round."""
    from hero_bayes.data.labels import Labels

    used = [frames[path] for path in files.paths]
    present = {str(name) for frame in used for name in frame.columns}
    try:
        return Labels.from_frames(
            frames[files.labels],
            None if files.items is None else frames[files.items],
            None if files.labelers is None else frames[files.labelers],
            covariates=data.covariates,
            repeats=data.repeats,
            abstain=data.abstain,
            positive=data.positive,
            negative=data.negative,
            unlabeled=data.unlabeled,
            columns={role: name for role, name in data.columns.items() if name in present},
        )
    except DataError as error:
        raise DataError(f"{' with '.join(map(str, files.paths))}: {error}") from error


def _rounds_of(labels: "Labels", files: "RoundFiles") -> "Labels":
    """The rounds that were asked for."""
    if files.rounds is None:
        return labels
    try:
        return labels.select(rounds=list(files.rounds))
    except DataError as error:
        raise DataError(f"{files.labels}: {error}") from error
