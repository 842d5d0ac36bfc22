"""The table ``[data]``: which files hold the rounds, and how they are read."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from hero_bayes.pipeline.fields import Fields, Scalar
from hero_bayes.pipeline.tables import ENDINGS, known_ending

__all__ = ["DataConfig", "RoundFiles", "read_data"]

REPEATS = ("error", "majority", "first", "keep")
UNLABELED = ("error", "drop")
TABLES = ("labels", "items", "labelers")
ROUNDS = ("history_rounds", "current_rounds")
READING = ("covariates", "columns", "positive", "negative", "abstain", "repeats", "unlabeled")
KNOWN = ("history", "current", *TABLES, *ROUNDS, *READING)


@dataclass(frozen=True)
class RoundFiles:
    """The files of one round.

    Attributes
    ----------
    labels : Path
    items, labelers : Path or None
    rounds : tuple of str, or None
        The rounds that are taken from the tables; None takes all rows.
    """

    labels: Path
    items: Path | None = None
    labelers: Path | None = None
    rounds: tuple[str, ...] | None = None

    @property
    def paths(self) -> tuple[Path, ...]:
        """The files that are there."""
        return tuple(path for path in (self.labels, self.items, self.labelers) if path is not None)


@dataclass(frozen=True)
class DataConfig:
    """What to read, and how; the reading options are those of ``hb.Labels.from_csv``."""

    history: RoundFiles
    current: RoundFiles
    covariates: tuple[str, ...] = ()
    columns: Mapping[str, str] = field(default_factory=dict)
    positive: Scalar | None = None
    negative: Scalar | None = None
    abstain: tuple[Scalar, ...] = ()
    repeats: str = "error"
    unlabeled: str = "error"

    @property
    def paths(self) -> tuple[Path, ...]:
        """Every file that is read."""
        return tuple(dict.fromkeys(self.history.paths + self.current.paths))


def read_data(fields: Fields, base: Path) -> DataConfig | None:
    """The table ``[data]``; None where its files are not told.

    Parameters
    ----------
    fields : Fields
        The table; problems are added to it.
    base : Path
        The folder that paths are relative to.
    """
    fields.know(KNOWN)
    rounds = _one_table(fields, base) if "labels" in fields.content else _two_tables(fields, base)
    columns = fields.table("columns")
    for role, name in columns.content.items():
        if not (isinstance(name, str) and name):
            columns.wrong(role, "must be the name of a column")
    values = {}
    for key in ("positive", "negative"):
        value = fields.content.get(key)
        if value is not None and not isinstance(value, str | int | float):
            fields.wrong(key, "must be a text, a number or a truth value")
        values[key] = value
    if values["negative"] is not None and values["positive"] is None:
        fields.wrong("negative", "needs positive, the value that means 1")
    covariates, abstain = fields.names("covariates") or (), fields.scalars("abstain")
    repeats = fields.choice("repeats", REPEATS, "error")
    unlabeled = fields.choice("unlabeled", UNLABELED, "error")
    if rounds is None:
        return None
    return DataConfig(
        history=rounds[0],
        current=rounds[1],
        covariates=covariates,
        columns=dict(columns.content),
        positive=values["positive"],
        negative=values["negative"],
        abstain=abstain,
        repeats=repeats,
        unlabeled=unlabeled,
    )


def _two_tables(fields: Fields, base: Path) -> tuple[RoundFiles, RoundFiles] | None:
    """History and current round, each with files of its own."""
    for key in (*TABLES, *ROUNDS):
        if key in fields.content:
            fields.wrong(key, "belongs to one table for both rounds, which needs labels")
    found = []
    for key in ("history", "current"):
        value = fields.content.get(key)
        if value is None:
            fields.wrong(
                key, f'is missing; name its files, as in {key} = {{labels = "{key}_labels.csv"}}'
            )
            continue
        if isinstance(value, str):
            value = {"labels": value}
        if not isinstance(value, Mapping):
            fields.wrong(key, "must name files, as in {labels = ..., items = ...}")
            continue
        inside = Fields(value, f"{fields.where} {key}:", fields.problems)
        inside.know(TABLES)
        files = _files(inside, base)
        if files is not None:
            found.append(files)
    return (found[0], found[1]) if len(found) == 2 else None


def _one_table(fields: Fields, base: Path) -> tuple[RoundFiles, RoundFiles] | None:
    """History and current round as rounds of the same tables."""
    for key in ("history", "current"):
        if key in fields.content:
            fields.wrong(
                key, "stands beside labels, which serves both rounds: leave one out", said=False
            )
    chosen = []
    for key in ROUNDS:
        names = fields.scalars(key)
        if not names:
            fields.wrong(key, "must name the rounds, as they stand in the column round", said=False)
        chosen.append(tuple(map(str, names)))
    both = sorted(set(chosen[0]) & set(chosen[1]))
    if both:
        fields.wrong("current_rounds", f"{', '.join(both)} is in history_rounds too", said=False)
    files = _files(fields, base)
    if files is None:
        return None
    paths = (files.labels, files.items, files.labelers)
    return RoundFiles(*paths, rounds=chosen[0]), RoundFiles(*paths, rounds=chosen[1])


def _files(fields: Fields, base: Path) -> RoundFiles | None:
    """The files of a table, each of which must be there."""
    paths: dict[str, Path] = {}
    for role in TABLES:
        name = fields.text(role)
        if name is None:
            if role == "labels" and role not in fields.content:
                fields.wrong(role, "is missing; name the file with item, labeler, label")
            continue
        paths[role] = base / name
        if not paths[role].exists():
            fields.wrong(role, f"there is no file {str(paths[role])!r}", said=False)
        elif not known_ending(paths[role]):
            fields.wrong(role, f"the ending must be one of {', '.join(ENDINGS)}")
    if "labels" not in paths:
        return None
    return RoundFiles(paths["labels"], paths.get("items"), paths.get("labelers"))
