"""Label tables from the files that a config names."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hero_bayes.errors import DataError

if TYPE_CHECKING:
    import pandas as pd

    from hero_bayes.data.labels import Labels
    from hero_bayes.pipeline.config_data import DataConfig, RoundFiles

__all__ = [
    "CSV_ENDINGS",
    "ENDINGS",
    "PARQUET_ENDINGS",
    "files_named",
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


@contextmanager
def files_named(*paths: Path | None) -> Iterator[None]:
    """Name the files in what is wrong with their tables."""
    try:
        yield
    except DataError as error:
        files = " with ".join(str(path) for path in paths if path is not None)
        raise DataError(f"{files}: {error}") from error


def read_rounds(data: "DataConfig") -> "tuple[Labels, Labels]":
    """History and current round, checked.

    Raises
    ------
    DataError
        If a table is malformed; the message names the file, the rows and the fix.
    """
    frames = {path: read_table(path, data.columns) for path in data.paths}
    from hero_bayes.data.building import common_negative
    from hero_bayes.data.tables import check_renames, prepare, taken_renames

    same = data.history.paths == data.current.paths
    sides = (data.history,) if same else (data.history, data.current)
    rounds = [_tables(files, frames) for files in sides]
    check_renames(data.columns, rounds)
    renames = [taken_renames(data.columns, tables) for tables in rounds]
    negative, prepared = data.negative, []
    for files, tables, columns in zip(sides, rounds, renames, strict=True):
        with files_named(*files.paths):
            prepared.append((files.labels.name, prepare(tables, columns, data.covariates)))
    if not same:
        negative = common_negative(prepared, data.positive, data.negative, data.abstain)
    history = _labels(data, data.history, rounds[0], renames[0], negative)
    if same:
        return _rounds_of(history, data.history), _rounds_of(history, data.current)
    return history, _labels(data, data.current, rounds[1], renames[1], negative)


def _tables(
    files: "RoundFiles", frames: "Mapping[Path, pd.DataFrame]"
) -> "dict[str, pd.DataFrame]":
    """The tables of one round, by what they are."""
    paths = {"labels": files.labels, "items": files.items, "labelers": files.labelers}
    return {name: frames[path] for name, path in paths.items() if path is not None}


def _labels(
    data: "DataConfig",
    files: "RoundFiles",
    tables: "Mapping[str, pd.DataFrame]",
    columns: Mapping[str, str],
    negative: Any,
) -> "Labels":
    """All rows of the files of one round."""
    from hero_bayes.data.labels import Labels

    with files_named(*files.paths):
        return Labels.from_frames(
            **tables,
            covariates=data.covariates,
            repeats=data.repeats,
            abstain=data.abstain,
            positive=data.positive,
            negative=negative,
            unlabeled=data.unlabeled,
            columns=columns,
        )


def _rounds_of(labels: "Labels", files: "RoundFiles") -> "Labels":
    """The rounds that were asked for."""
    if files.rounds is None:
        return labels
    try:
        return labels.select(rounds=list(files.rounds))
    except DataError as error:
        raise DataError(f"{files.labels}: {error}") from error
