"""Reading files of generations, and finding which column plays which role."""

import os
import re
from collections.abc import Collection, Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hero_bayes.data import tables
from hero_bayes.data.identifiers import id_string, id_strings, number_of, read_ids, row_list, some
from hero_bayes.data.verdicts import token
from hero_bayes.errors import DataError

__all__ = [
    "NOT_READ",
    "ROLES",
    "UNCLEAR",
    "UNREAD",
    "ColumnUse",
    "Reading",
    "as_frame",
    "choose_rows",
    "failed_rows",
    "find_roles",
    "read_csv",
    "read_parquet",
    "refuse_copies",
    "table_kind",
    "uses_of",
]

#: Known other names, however they are spelt; where several are there the first is taken.
ALIASES: dict[str, tuple[str, ...]] = {
    "prompt": (
        *("prompt_id", "question", "question_id", "task_id", "problem", "problem_id"),
        *("problem_idx", "doc_id", "example_id"),
    ),
    "model": ("model_name", "model_id", "llm", "llm_name"),
    "generation": (
        *("epoch", "repeat", "sample", "repetition", "trial", "trial_index", "attempt"),
        *("sample_index", "sample_idx", "rollout", "seed"),
    ),
}
#: Where its value is one, it is a setting and no index.
SEED = "seed"
#: Rows of one prompt and model that differ in one of these are no repeats.
SETTINGS = (
    *("filter", "scorer", "scorer_name", "metric", "judge", "judge_model", "grader"),
    *("task", "task_name", "dataset", "benchmark", "subset", "split", "temperature"),
)
#: Columns that say that a row has no score: by words, by a flag, or by any text at all.
STATUS = ("status", "score_status", "scoring_status")
FLAGS = ("scoring_failed", "failed", "is_error", "has_error", "errored")
ERROR_TEXTS = ("error", "error_message", "error_type", "exception")
FINE = frozenset(
    "0 ok okay success successful succeeded complete completed done finished scored valid no none "
    "null nan na n/a".split()
)
BROKEN = frozenset(
    "error errored timeout timed_out cancelled canceled crashed crash exception aborted skipped "
    "pending running incomplete unscored not_scored rate_limited scoring_failed scoring_error "
    "parse_error refused_by_server".split()
)
#: These may also say that the answer was wrong.
FAILED = frozenset({"failed", "failure", "unsuccessful"})
IDS = ("prompt", "generation", "model", "prompt_group", "run", "answer_cluster")
SCORES = ("correct", "n_correct", "k")
ROLES = (*IDS, "answer", *SCORES)
NOT_READ = "not read"
#: Findings that a column raises.
UNREAD, UNCLEAR = "unread_column", "unclear_column"
#: A column with so little spread between cells, against chance, was laid out by a design.
LAID_OUT = 0.2
#: Fewer degrees of freedom reach that by chance.
MIN_FREEDOM = 10
#: In fewer prompts whole copies of all rows can be luck.
MIN_COPIED = 10
#: Longer values are texts, not the ids or times of records.
LONGEST_ID = 64

Codes = NDArray[np.int64]
Rows = NDArray[np.bool_]


@dataclass(frozen=True)
class ColumnUse:
    """One column of the table, what it serves as, and how that was found.

    Attributes
    ----------
    column, serves_as, how : str
        ``serves_as`` is a role, "setting", "chosen", "missing scores", "ignored" or "not read".
    rows : int
        Rows that have no score because of this column.
    finding : str
        Code of the finding that the column raises; "" without one.
    values : tuple of str
        The values that raise it.
    """

    column: str
    serves_as: str
    how: str
    rows: int = 0
    finding: str = ""
    values: tuple[str, ...] = ()


@dataclass(frozen=True)
class Reading:
    """What the caller says of the columns: our names for theirs, values to keep, what to pass over.

    Attributes
    ----------
    columns : mapping of role to column
    only : mapping of column to the values whose rows are kept
    ignore : columns that say nothing
    """

    columns: Mapping[str, Any]
    only: Mapping[Any, Any]
    ignore: tuple[Any, ...]

    @classmethod
    def of(cls, columns: Any, only: Any, ignore: Any) -> "Reading":
        """Check the three arguments."""
        if only is not None and not isinstance(only, Mapping):
            raise DataError(f'only={only!r}: give columns and values, as in {{"filter": "none"}}')
        if isinstance(ignore, str) or not isinstance(ignore, Iterable):
            ignore = () if ignore is None else (ignore,)
        return cls(checked(columns), dict(only or {}), tuple(ignore))


def read_csv(path: str | os.PathLike[str], columns: Mapping[str, str] | None) -> pd.DataFrame:
    """Read a CSV file; ids and answers stay as written, an empty answer is an answer."""
    chosen = checked(columns)
    scores = {role: chosen.get(role, role) for role in SCORES}
    aliases = {name for found in ALIASES.values() for name in found}
    names = {*ROLES, *chosen.values(), *aliases, *ERROR_TEXTS} - {*scores.values()}
    frame = tables.read_csv(path, scores, sorted(names))
    known = names | {*scores.values()}
    respelt = {str(c) for c in frame.columns if _spelling(c) in names} - known
    if respelt:
        frame = tables.read_csv(path, scores, sorted(names | respelt))
    answer = chosen.get("answer") or _column(frame, "answer")
    if answer in frame.columns:
        frame[answer] = frame[answer].fillna("")
    return frame


def read_parquet(path: str | os.PathLike[str]) -> pd.DataFrame:
    """Read a Parquet file, or say why not."""
    return tables.read_parquet(path)


def as_frame(table: Any) -> pd.DataFrame:
    """Return the caller's table as a DataFrame, or say what is wrong with it."""
    frame = table.to_pandas() if hasattr(table, "to_pandas") else table
    if isinstance(frame, Mapping):
        frame = pd.DataFrame(dict(frame))
    if not isinstance(frame, pd.DataFrame):
        raise DataError(
            f"the generations must be a pandas DataFrame, not {type(table).__name__}; "
            "from_csv and from_parquet read files"
        )
    if isinstance(frame.columns, pd.MultiIndex):
        raise DataError(
            f"the columns have {frame.columns.nlevels} levels: give one name to each, as in "
            'frame.columns = ["_".join(map(str, names)) for names in frame.columns]'
        )
    if frame.columns.has_duplicates:
        twice = frame.columns[frame.columns.duplicated()].unique()
        raise DataError(f"several columns named {some(twice)}: keep one of each name")
    if not len(frame):
        raise DataError("the table of generations is empty: it needs at least one row")
    return frame


def checked(columns: Any) -> dict[str, str]:
    """Return ``columns=`` as a dict of str, or say what is wrong with it."""
    if columns is None:
        return {}
    if not isinstance(columns, Mapping) or not all(
        isinstance(role, str) and isinstance(name, Hashable) for role, name in columns.items()
    ):
        raise DataError(
            f'columns={columns!r}: give names of ours and of yours, as in {{"prompt": "my_id"}}'
        )
    return dict(columns)


def find_roles(frame: pd.DataFrame, reading: Reading) -> dict[str, str]:
    """Return which column plays each role."""
    found = some([str(column) for column in frame.columns], 30)
    columns = reading.columns
    for role, column in columns.items():
        if role not in ROLES:
            raise DataError(f"columns= knows the names {some(ROLES, 20)}, not {role!r}")
        if column not in frame.columns:
            raise DataError(
                f"columns={{{role!r}: {column!r}}}: there is no column {column!r}; found {found}"
            )
    for column in (*reading.only, *reading.ignore):
        if column not in frame.columns:
            raise DataError(f"only= and ignore=: there is no column {column!r}; found {found}")
    roles: dict[str, str] = {}
    for role in (*(name for name in ROLES if name != "generation"), "generation"):
        if role in columns:
            roles[role] = columns[role]
            continue
        # A column that the caller gave another role is no alias; a run may also be the index.
        given = {name for other, name in columns.items() if other != "run"} - {role}
        names = (_column(frame, name) for name in (role, *ALIASES.get(role, ())))
        taken = {None, *given, *reading.ignore}
        several = [c for c in dict.fromkeys(names) if c not in taken]
        if role == "generation":
            several = _indices(frame, roles, several, columns.get("run"))
        elif len(several) > 1 and all(_same(frame, several[0], name) for name in several[1:]):
            several = several[:1]
        if len(several) > 1:
            joined = (
                ", or join them to one column where only both together tell rows apart"
                if role == "generation"
                else ""
            )
            raise DataError(
                f"several columns could be the {role}: {some(several)}; choose one with "
                f"columns={{{role!r}: {several[0]!r}}}, or leave out the others{joined}"
            )
        if several:
            roles[role] = several[0]
    if "prompt" not in roles:
        raise DataError(
            f"no column for the prompt: found columns {found}; accepted names are "
            f"{some(('prompt', *ALIASES['prompt']), 20)}, or say which with "
            'columns={"prompt": ...}'
        )
    # The index of a generation may be its run, and nothing else serves twice.
    shared = roles.get("run") is not None and roles.get("run") == roles.get("generation")
    told = [entry for entry in roles.items() if not (shared and entry[0] == "run")]
    tables.need_one_role("the generations", told)
    tables.need_scalars("the generations", frame, roles.values())
    return roles


def _indices(
    frame: pd.DataFrame, roles: Mapping[str, str], several: list[str], run: str | None
) -> list[str]:
    """Of the columns that could be the generation: the one that tells rows apart, or all."""
    several = [c for c in several if _spelling(c) != SEED or frame[c].nunique() > 1]
    keys = [roles[role] for role in ("prompt", "model") if role in roles]
    texts = frame[list(dict.fromkeys([*keys, *several]))].astype(str)
    telling = [c for c in several if not texts[list({*keys, c})].duplicated().any()]
    return telling[:1] or [c for c in several if c != run]


def _same(frame: pd.DataFrame, one: str, other: str) -> bool:
    """Whether two columns name the same things one to one."""
    pairs = frame[[one, other]].astype(str).drop_duplicates()
    return len(pairs) == pairs[one].nunique() == pairs[other].nunique()


def _column(frame: pd.DataFrame, name: str) -> Any:
    """The column of that name, or the first that is spelt otherwise; None without."""
    if name in frame.columns:
        return name
    return next((c for c in frame.columns if _spelling(c) == name), None)


def _spelling(name: Any) -> str:
    """``ModelName``, ``model name`` and ``model-name`` are one name."""
    with_breaks = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", str(name).strip())
    return re.sub(r"[\s\-./]+", "_", with_breaks).lower()


def choose_rows(frame: pd.DataFrame, reading: Reading) -> pd.DataFrame:
    """Keep the rows that ``only=`` asks for."""
    for column, wanted in reading.only.items():
        texts = frame[column].map(id_string)
        values = id_strings(wanted)
        unknown = sorted(set(values) - set(texts.dropna()))
        if unknown or not values:
            raise DataError(
                f"only={{{column!r}: ...}}: no row has {some(unknown or [wanted])}; there are "
                f"{some(sorted(set(texts.dropna())), 20)}"
            )
        frame = frame[texts.isin(values)]
        if not len(frame):
            raise DataError(f"only= leaves no row: none has {reading.only} at once")
    return frame


def failed_rows(
    frame: pd.DataFrame, roles: Mapping[str, str], reading: Reading
) -> tuple[Rows, dict[str, ColumnUse]]:
    """Return which rows have no score because a column says so, and the use of such columns."""
    without = np.zeros(len(frame), dtype=bool)
    uses: dict[str, ColumnUse] = {}
    for column in frame.columns:
        spelt = _spelling(column)
        taken = column in roles.values() or column in reading.ignore or column in reading.only
        if taken or spelt not in (*STATUS, *FLAGS, *ERROR_TEXTS):
            continue
        words = [token(value) for value in frame[column].astype(object)]
        distinct = {re.sub(r"[\s\-]+", "_", word) for word in words if word is not None}
        broken = distinct & BROKEN
        if spelt in FLAGS:
            broken |= distinct & {"1", "yes"}
        unsure = distinct & FAILED or (broken if spelt == "failed" else set())
        other = distinct - broken - unsure - FINE
        if spelt in ERROR_TEXTS:
            texts = {word for word in other if not _is_number(word)} | distinct & {"1"}
            broken, other = broken | texts, other - texts
        if other:  # other numbers, or words such as "pass" and "fail" that say the score again
            if len(distinct) > 1:
                how = "does not say whether there is a score"
                values = tuple(sorted(other))
                uses[column] = ColumnUse(str(column), NOT_READ, how, 0, UNCLEAR, values)
            continue
        hit = np.array(
            [w is not None and re.sub(r"[\s\-]+", "_", w) in broken | unsure for w in words]
        )
        if unsure and "correct" in roles:
            wrong = np.array([token(v) in ("0", "i") for v in frame[roles["correct"]]])
            if wrong.any() and (hit == wrong).all():
                raise DataError(
                    f"column {column!r} says {some(sorted(unsure))} exactly where "
                    f"{roles['correct']!r} is 0, in {row_list(np.flatnonzero(hit))}: if it says "
                    f'the score again, ignore=["{column}"]; if these rows have no score, empty '
                    f"{roles['correct']!r} there"
                )
        without |= hit
        uses[column] = ColumnUse(
            str(column),
            "missing scores",
            f"{number_of(int(hit.sum()), 'row')} without a score",
            rows=int(hit.sum()),
        )
    return without, uses


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def uses_of(
    frame: pd.DataFrame,
    roles: Mapping[str, str],
    reading: Reading,
    cell: Codes,
    known: Mapping[str, ColumnUse],
    n_rows: int,
) -> tuple[ColumnUse, ...]:
    """Say what every column serves as, and refuse settings that differ within a cell.

    Parameters
    ----------
    frame : DataFrame
        The rows that are read.
    roles, reading
        Which column plays which role, and what the caller said.
    cell : int64 array (row)
        The model and prompt of each row, as one code.
    known : mapping of column to ColumnUse
        Columns whose use was found before.
    n_rows : int
        Rows of the caller's table.
    """
    by_column: dict[Any, list[str]] = {}
    for role, column in roles.items():
        by_column.setdefault(column, []).append(role)
    uses = []
    for column in frame.columns:
        name = str(column)
        if column in by_column:
            how = "by its name"
            if column in reading.columns.values():
                how = "columns="
            elif name not in by_column[column]:
                how = "known as another name"
            use = ColumnUse(name, " and ".join(by_column[column]), how)
        elif column in reading.only:
            said = some(id_strings(reading.only[column]))
            use = ColumnUse(name, "chosen", f"{said}: {len(frame):,} of {n_rows:,} rows")
        elif column in reading.ignore:
            use = ColumnUse(name, "ignored", "ignore=")
        elif column in known:
            use = known[column]
        else:
            use = _unread(frame, column, roles, cell)
        uses.append(use)
    return tuple(uses)


def _unread(frame: pd.DataFrame, column: Any, roles: Mapping[str, str], cell: Codes) -> ColumnUse:
    """The use of a column without a role; settings that differ within a cell are refused."""
    name = str(column)
    codes, values = _codes(frame[column])
    if _spelling(column) in (*SETTINGS, SEED):
        if len(values) == 1:
            return ColumnUse(name, "setting", f"one value, {some(values)}")
        spread = pd.DataFrame({"cell": cell, "code": codes})[codes >= 0].drop_duplicates()
        twice = spread["cell"].duplicated(keep=False).to_numpy()
        if twice.any() and _spelling(column) != SEED:
            one = spread["cell"].to_numpy()[twice][0]
            rows = np.flatnonzero(cell == one)
            prompt = id_string(frame[roles["prompt"]].iloc[rows[0]])
            raise DataError(
                f"column {name!r} takes {number_of(len(values), 'value')} ({some(values)}), "
                f"several of them on one prompt ({prompt!r}: {row_list(rows)}): rows that differ "
                f'in it are no repeats; choose with only={{"{name}": "{values[0]}"}}, or pass over '
                f'it with ignore=["{name}"]'
            )
        if not twice.any():
            return ColumnUse(name, "setting", "one value for each model and prompt")
    index = roles.get("generation")
    if _laid_out(codes, cell) and not (index is not None and _same(frame, column, index)):
        how = "tells the rows of a prompt apart"
        return ColumnUse(name, NOT_READ, how, 0, UNREAD, tuple(values))
    for role in ALIASES:
        if role in roles and _spelling(column) in (role, *ALIASES[role]):
            return ColumnUse(name, NOT_READ, f"{roles[role]!r} is the {role}")
    return ColumnUse(name, NOT_READ, "")


def _codes(column: "pd.Series[Any]") -> tuple[Codes, list[str]]:
    """Code a column, of whatever values."""
    if not all(isinstance(value, Hashable) for value in column.astype(object)):
        column = column.map(repr)
    codes, values = read_ids(column)
    return codes, [str(value) for value in values]


def _laid_out(codes: Codes, cell: Codes) -> bool:
    """Whether each cell holds every value of a column equally often, as by design.

    Pearson's statistic of the table cell x value lies near its degrees of freedom where values fall
    by chance, and near 0 where each cell was given the same of them.
    """
    rows = codes >= 0
    cells, cell = np.unique(cell[rows], return_inverse=True)
    values, codes = np.unique(codes[rows], return_inverse=True)
    size = np.bincount(cell)
    freedom = (len(cells) - 1) * (len(values) - 1)
    if not freedom or len(values) > 2 * size.max():
        return False
    share = np.bincount(codes) / len(codes)
    expected = size[:, None] * share
    counts = np.bincount(cell * len(values) + codes, minlength=expected.size)
    statistic = ((counts.reshape(expected.shape) - expected) ** 2 / expected).sum()
    limit = LAID_OUT * freedom if freedom >= MIN_FREEDOM else 0.0
    return bool(statistic <= limit + 1e-9)


def refuse_copies(
    frame: pd.DataFrame,
    said: Collection[str],
    scored: Rows,
    correct: Codes,
    model: Codes,
    cell: Codes,
) -> None:
    """Refuse rows that stand in the table twice, where no generation index says otherwise.

    Rows are copies beyond doubt where a column that never repeats elsewhere (a time, the id of a
    record; no text, and not what was ``said``) repeats with them, and where all rows of a model
    come equally often, right and wrong ones, on so many prompts that luck cannot do it.
    """
    columns = [column for column in frame.columns if not _counts_rows(frame[column])]
    parts = [_codes(frame[column])[0] for column in columns]
    coded = pd.DataFrame(dict(enumerate([*parts, cell])))
    row, _ = pd.factorize(pd.MultiIndex.from_frame(coded))
    times = np.bincount(row)
    if times.max() == 1:
        return
    copied = coded.duplicated().to_numpy()
    first = ~copied
    several = np.bincount(cell[first])[cell] > 1
    for position, column in enumerate(columns):
        codes = coded[position].to_numpy()
        if column in said or frame[column].astype(str).str.len().max() > LONGEST_ID:
            continue
        apart = (first & several & (codes >= 0)).any()
        if apart and len(np.unique(codes[first])) == first.sum() and (codes[first] >= 0).all():
            _refuse_rows(copied, "drop the copies (frame.drop_duplicates())")
    place = coded.groupby(row).cumcount().to_numpy()
    for one in np.unique(model):
        of_model = model == one
        seen = correct[of_model & scored]
        mixed = len(seen) > 0 and seen.min() < seen.max()
        enough = len(np.unique(cell[of_model])) >= MIN_COPIED
        copies = int(np.gcd.reduce(times[np.unique(row[of_model])]))
        if mixed and enough and copies > 1:
            extra = of_model & (place >= times[row] // copies)
            _refuse_rows(extra, f"keep one of the {copies} copies of the table")


def _refuse_rows(copied: Rows, remedy: str) -> None:
    rows = np.flatnonzero(copied)
    raise DataError(
        f"{number_of(len(rows), 'row')} repeated: {row_list(rows)} say in every column what an "
        f"earlier row says; {remedy}, or, if they are generations that came out alike, number them "
        'with columns={"generation": ...}'
    )


def _counts_rows(column: "pd.Series[Any]") -> bool:
    """Whether a column only numbers the rows of the table."""
    number = pd.to_numeric(column, errors="coerce").to_numpy(dtype=np.float64)
    return len(number) > 1 and bool((np.diff(number) == 1).all())


def table_kind(frame: pd.DataFrame, roles: Mapping[str, str]) -> str:
    """Say whether the table holds one row a generation, or counts."""
    rows, counts = "correct" in roles, "n_correct" in roles and "k" in roles
    if rows and counts:
        raise DataError(
            f"the table has both scored rows ({roles['correct']!r}) and counts "
            f"({roles['n_correct']!r} and {roles['k']!r}): keep one of the two"
        )
    if not (rows or counts):
        found = some([str(column) for column in frame.columns], 30)
        raise DataError(
            "the table has neither scored rows (a column 'correct') nor counts (columns "
            f"'n_correct' and 'k'): found columns {found}; say which with "
            'columns={"correct": ...}' + _melting(frame, roles)
        )
    return "rows" if rows else "counts"


def _melting(frame: pd.DataFrame, roles: Mapping[str, str]) -> str:
    """The call that makes rows of a wide table, where the table looks like one: "" elsewhere."""
    kept = [name for role, name in roles.items() if role not in ("model", *SCORES)]
    kept += [roles["k"]] if "k" in roles else []
    most = pd.to_numeric(frame[roles["k"]], errors="coerce") if "k" in roles else 1
    wide = []
    for name in frame.columns:
        number = pd.to_numeric(frame[name].map(token), errors="coerce")
        given = frame[name].notna()
        if name not in roles.values() and given.any() and (number[given] >= 0).all():
            if (number[given] % 1 == 0).all() and (number[given] <= most).all():
                wide.append(str(name))
    if not wide:
        return ""
    value = "n_correct" if "k" in roles else "correct"
    return (
        f"; if {some(wide)} are models, one column each: frame.melt(id_vars={kept}, "
        f'value_vars={wide}, var_name="model", value_name="{value}")'
    )
