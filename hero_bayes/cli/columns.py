"""Which column of a file serves as what, by name, by known other names, or by elimination."""

import re
import shlex
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hero_bayes.cli.reading import Round

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["ColumnUse", "Recognised", "recognise"]

#: Names that are not accepted silently, but are taken and said.
LIKELY: dict[str, tuple[str, ...]] = {
    "item": (
        *("id", "example", "example_id", "question", "question_id", "conversation"),
        *("conversation_id", "dialogue_id", "doc", "doc_id", "document", "document_id"),
        *("sample", "sample_id", "instance", "instance_id", "row_id", "prompt_id", "response_id"),
    ),
    "labeler": (
        *("annotator_id", "judge_id", "user", "user_id", "coder", "reviewer", "evaluator"),
        *("grader", "labeller", "judge_model", "grader_model", "worker_name"),
    ),
    "label": (
        *("labels", "answer", "vote", "score", "class", "annotation", "judgment", "judgement"),
        *("decision", "value", "output", "response", "grade"),
    ),
    "gold": (
        *("gold_label", "gold_answer", "goldlabel", "truth", "true_label", "ground_truth"),
        *("groundtruth", "expert", "expert_label", "gt"),
    ),
}
REQUIRED = ("item", "labeler", "label")
COLUMNS_SHOWN = 40


@dataclass(frozen=True)
class ColumnUse:
    """One column, what it serves as, and how that was found."""

    file: str
    column: str
    serves_as: str
    how: str


@dataclass(frozen=True)
class Recognised:
    """What was recognised in the tables of a check.

    Attributes
    ----------
    columns : mapping of role to column
        What ``--column`` must say: the caller's own entries and those that were guessed.
    uses : tuple of ColumnUse
        One per column of every file.
    missing : tuple of str
        Roles without a column in some labels table.
    """

    columns: dict[str, str]
    uses: tuple[ColumnUse, ...]
    missing: tuple[str, ...]


def recognise(
    rounds: Sequence[Round], given: Mapping[str, str], covariates: Sequence[str]
) -> Recognised:
    """Find the column of every role.

    Parameters
    ----------
    rounds : sequence of Round
        The tables.
    given : mapping of role to column
        From ``--column``.
    covariates : sequence of str
        From ``--covariate``.
    """
    from hero_bayes.data.tables import place_renames

    columns = dict(given)
    uses: list[ColumnUse] = []
    missing: list[str] = []
    seen: set[str] = set()
    for source in rounds:
        placed = place_renames(columns, source.tables)
        tables: list[tuple[Path, pd.DataFrame, Sequence[str]]] = []
        tables.append((source.labels_path, source.labels, REQUIRED))
        if source.items_path is not None and source.items is not None:
            tables.append((source.items_path, source.items, ("item",)))
        for path, frame, required in tables:
            table = "labels" if frame is source.labels else "items"
            # Gold is looked for in the items table where there is one.
            elsewhere = table == "labels" and source.items is not None
            known = {*columns, *(["gold"] if elsewhere else [])}
            roles, guessed = _roles(frame, required, placed[table], known)
            columns |= guessed
            missing += [role for role in required if role not in roles]
            if str(path) not in seen:
                seen.add(str(path))
                uses += _uses(path.name, frame, roles, guessed, given, covariates)
    return Recognised(columns, tuple(uses), tuple(dict.fromkeys(missing)))


def _roles(
    frame: "pd.DataFrame",
    required: Sequence[str],
    columns: Mapping[str, str],
    known: Collection[str],
) -> tuple[dict[str, str], dict[str, str]]:
    """Role to column, and the part of it that was guessed; known roles are not guessed."""
    from hero_bayes.data.tables import ALIASES, ITEM_ROLES, LABELER_ROLES, reading_of

    names = [str(name) for name in frame.columns]
    roles: dict[str, str] = {}
    guessed: dict[str, str] = {}
    for role in (*required, *ITEM_ROLES, *LABELER_ROLES):
        chosen = columns.get(role)
        if chosen in names:
            roles[role] = str(chosen)
            continue
        if role in names:
            roles[role] = role
            continue
        accepted = [alias for alias in ALIASES.get(role, ()) if alias in names]
        if len(accepted) == 1:
            roles[role] = accepted[0]
            continue
        taken = set(roles.values())
        free = [name for name in names if name not in taken]
        if role == "gold":
            free = [name for name in free if _two_valued(frame[name])]
        likely = _likely(role, free)
        if likely is not None and role not in known:
            roles[role] = guessed[role] = likely
    lacking = [role for role in required if role not in roles]
    unnamed = reading_of(frame).unnamed
    free = [name for name in names if name not in roles.values() and name not in unnamed]
    if len(lacking) == 1 and len(free) == 1 and lacking[0] not in known:
        roles[lacking[0]] = guessed[lacking[0]] = free[0]
    return roles, guessed


def _likely(role: str, names: Sequence[str]) -> str | None:
    """The first column whose name is one of the likely ones, however it is spelt."""
    from hero_bayes.data.tables import ALIASES

    spelt = {_spelling(name): name for name in reversed(names)}
    for candidate in (role, *ALIASES.get(role, ()), *LIKELY.get(role, ())):
        if candidate in spelt and spelt[candidate] is not None:
            return spelt[candidate]
    return None


def _two_valued(column: "pd.Series[Any]") -> bool:
    """Whether a column can be gold: a reference text must not be taken for it."""
    from hero_bayes.data.tables import no_scalars

    return not len(no_scalars(column)) and bool(column.nunique() <= 2)


def _spelling(name: str) -> str:
    """``ConversationID``, ``conversation id`` and ``conversation-id`` are one name."""
    with_breaks = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name.strip())
    return re.sub(r"[\s\-./]+", "_", with_breaks).lower()


def _uses(
    file: str,
    frame: "pd.DataFrame",
    roles: Mapping[str, str],
    guessed: Mapping[str, str],
    given: Mapping[str, str],
    covariates: Sequence[str],
) -> list[ColumnUse]:
    from hero_bayes.data.tables import reading_of

    by_column = {column: role for role, column in roles.items()}
    unnamed = reading_of(frame).unnamed
    uses = []
    unused = []
    for name in map(str, frame.columns):
        role = by_column.get(name)
        if role is None:
            if name in covariates:
                uses.append(ColumnUse(file, name, "covariate", "--covariate"))
            elif name in unnamed:
                uses.append(ColumnUse(file, name, "not used", "the file gives it no name"))
            else:
                unused.append(name)
            continue
        how = "by its name" if name == role else "known as another name"
        if guessed.get(role) == name:
            how = f"guessed: say {shlex.join(['--column', f'{role}={name}'])}"
        elif given.get(role) == name:
            how = "--column"
        uses.append(ColumnUse(file, name, role, how))
    if unused:
        more = len(unused) - COLUMNS_SHOWN
        said = ", ".join(unused[:COLUMNS_SHOWN]) + (f" and {more:,} more" if more > 0 else "")
        uses.append(ColumnUse(file, said, "not used", ""))
    return uses
