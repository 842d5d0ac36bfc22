"""From the caller's table of generations to the arrays of `Generations`."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hero_bayes.data.generation_columns import (
    NOT_READ,
    ColumnUse,
    Reading,
    as_frame,
    choose_rows,
    failed_rows,
    find_roles,
    refuse_copies,
    table_kind,
    uses_of,
)
from hero_bayes.data.identifiers import (
    id_string,
    number_of,
    read_ids,
    row_list,
    shared_coordinate,
    some,
)
from hero_bayes.data.validation import numbers
from hero_bayes.data.verdicts import token
from hero_bayes.errors import DataError

__all__ = ["NO_MODEL", "build_fields"]

#: The name of the only model of a table without a model column.
NO_MODEL = "model"
MEANING = {"1": 1, "0": 0, "c": 1, "i": 0}
#: From here on floats skip whole numbers.
LARGEST = 2.0**53
UNSCORED, INVALID = -1, -2

Index = NDArray[np.int64]
Ids = NDArray[np.object_]
Coded = tuple[Index, Ids]


def build_fields(table: Any, columns: Any, only: Any = None, ignore: Any = None) -> dict[str, Any]:
    """Check a table and return the fields of `Generations`, by name."""
    whole = as_frame(table)
    reading = Reading.of(columns, only, ignore)
    roles = find_roles(whole, reading)
    frame = choose_rows(whole, reading)
    kind = table_kind(frame, roles)
    prompt, prompts = _required_ids(frame, roles, "prompt")
    if "model" in roles:
        model, models = _required_ids(frame, roles, "model")
    else:
        model, models = np.zeros(len(frame), dtype=np.int64), np.array([NO_MODEL], dtype=object)
    coded = {"model": (model, models), "prompt": (prompt, prompts)}
    failed, known = failed_rows(frame, roles, reading)
    cell = model * len(prompts) + prompt
    uses = uses_of(frame, roles, reading, cell, known, len(whole))
    if kind == "rows":
        scored, fields = _rows(frame, roles, coded, failed, uses)
    else:
        scored, fields = _counts(frame, roles, coded, failed, uses)
    fields["column_uses"] = uses
    kept_prompts, fields["prompt_idx"] = np.unique(fields["prompt_idx"], return_inverse=True)
    kept_models, fields["model_idx"] = np.unique(fields["model_idx"], return_inverse=True)
    fields["prompts"], fields["models"] = prompts[kept_prompts], models[kept_models]
    fields["prompt_group"] = _prompt_groups(frame, roles, coded["prompt"], kept_prompts)
    if not scored.all():
        left = _sorted(~scored, model, prompt)
        fields["missing_model"], fields["missing_prompt"] = (
            models[model[left]],
            prompts[prompt[left]],
        )
    return fields


def _required_ids(frame: pd.DataFrame, roles: Mapping[str, str], role: str) -> Coded:
    codes, ids = read_ids(frame[roles[role]])
    missing = np.flatnonzero(codes < 0)
    if len(missing):
        raise DataError(f"missing {role} id in {row_list(missing)}: fill it in, or drop the rows")
    coordinate, [codes] = shared_coordinate([(codes, ids)])
    return codes, coordinate


def _sorted(mask: NDArray[np.bool_], model: Index, prompt: Index, *last: Index) -> Index:
    """Return the rows of the mask, sorted by model, prompt and then the last keys."""
    rows = np.flatnonzero(mask)
    keys = [key[rows] for key in (*reversed(last), prompt, model)]
    return rows[np.lexsort(keys)]


def _rows(
    frame: pd.DataFrame,
    roles: Mapping[str, str],
    coded: Mapping[str, Coded],
    failed: NDArray[np.bool_],
    uses: Sequence[ColumnUse],
) -> tuple[NDArray[np.bool_], dict[str, Any]]:
    """Return which rows are scored, and the fields of one row a generation."""
    correct = _scores(frame[roles["correct"]].mask(failed))
    scored = correct != UNSCORED
    if not scored.any():
        by = [f"{use.column!r} says so in {use.rows:,}" for use in uses if use.rows]
        empty = f"column {roles['correct']!r} is empty" if not by else ", ".join(by)
        raise DataError(f"no generation has a score: {empty} (of {number_of(len(frame), 'row')})")
    (model, _), (prompt, prompts) = coded["model"], coded["prompt"]
    texts = {
        role: _texts(frame[roles[role]], raw=role == "answer")
        for role in ("answer", "answer_cluster", "run")
        if role in roles
    }
    fields: dict[str, Any] = dict(texts)
    if "generation" in roles:
        generation, generations = _required_ids(frame, roles, "generation")
        _refuse_repeats({**coded, "generation": (generation, generations)}, frame, uses)
        order = _sorted(scored, model, prompt, generation)
        fields["generation"] = generations[generation]
        left = _sorted(~scored, model, prompt, generation)
        fields["missing_generation"] = generations[generation[left]] if len(left) else None
    else:  # no index: the rows of a cell are sorted by what they hold
        said = {roles[role] for role in ("answer", "answer_cluster") if role in roles}
        refuse_copies(frame, said, scored, correct, model, model * len(prompts) + prompt)
        order = _sorted(scored, model, prompt, correct, *map(_ranks, texts.values()))
    cells, cell_idx = np.unique(model[order] * len(prompts) + prompt[order], return_inverse=True)
    ones = np.bincount(cell_idx, weights=correct[order], minlength=len(cells))
    for role in (*texts, *({"generation"} & roles.keys())):
        fields[role] = fields[role][order]
    return scored, fields | {
        "prompt_idx": cells % len(prompts),
        "model_idx": cells // len(prompts),
        "n_correct": ones.astype(np.int64),
        "k": np.bincount(cell_idx, minlength=len(cells)).astype(np.int64),
        "cell_idx": cell_idx.astype(np.int64),
        "correct": correct[order].astype(np.int8),
        "n_missing": int((~scored).sum()),
    }


def _counts(
    frame: pd.DataFrame,
    roles: Mapping[str, str],
    coded: Mapping[str, Coded],
    failed: NDArray[np.bool_],
    uses: Sequence[ColumnUse],
) -> tuple[NDArray[np.bool_], dict[str, Any]]:
    """Return which rows have generations, and the fields of one row a cell."""
    counts = {}
    for role in ("n_correct", "k"):
        column = frame[roles[role]].mask(failed, 0)
        value = numbers(column)
        bad = np.flatnonzero(~(np.isfinite(value) & (value >= 0) & (value == np.floor(value))))
        if len(bad):
            raise DataError(
                f"{role} is not a whole number from 0 on: {some(column.iloc[bad])} in "
                f"{row_list(bad)}"
            )
        large = np.flatnonzero(value >= LARGEST)
        if len(large):
            raise DataError(
                f"{role} is too large to be exact: {some(column.iloc[large])} in "
                f"{row_list(large)}; counts stay below 2^53"
            )
        counts[role] = value.astype(np.int64)
    n_correct, k = counts["n_correct"], counts["k"]
    bad = np.flatnonzero(n_correct > k)
    if len(bad):
        pairs = [f"{n} of {total}" for n, total in zip(n_correct[bad], k[bad], strict=True)]
        raise DataError(f"n_correct is larger than k: {some(pairs)} in {row_list(bad)}")
    _refuse_repeats(coded, frame, uses)
    scored = k > 0
    if not scored.any():
        raise DataError(f"no cell has a generation: column {roles['k']!r} is 0 in every row")
    (model, _), (prompt, _) = coded["model"], coded["prompt"]
    order = _sorted(scored, model, prompt)
    return scored, {
        "prompt_idx": prompt[order],
        "model_idx": model[order],
        "n_correct": n_correct[order],
        "k": k[order],
    }


def _scores(column: "pd.Series[Any]") -> Index:
    """Return 1, 0, or -1 for a missing score."""
    codes, uniques = pd.factorize(column.astype(object))
    words = [token(value) for value in uniques]
    lookup = [UNSCORED if word is None else MEANING.get(word, INVALID) for word in words]
    score = np.array([*lookup, UNSCORED], dtype=np.int64)[codes]
    bad = np.flatnonzero(score == INVALID)
    if len(bad):
        values = column.iloc[bad].drop_duplicates()
        raise DataError(
            f"column {column.name!r} holds {some(values)} in {row_list(bad)}: a score is 0 or 1, "
            "true or false, C or I, or missing; turn other scores into these first"
        )
    return score


def _texts(column: "pd.Series[Any]", raw: bool) -> Ids:
    """Return a column as strings; None where missing. ``raw`` keeps empty strings."""
    values = column.astype(object).to_numpy()
    result = np.empty(len(values), dtype=object)
    result[:] = [str(v) if raw and isinstance(v, str) else id_string(v) for v in values]
    return result


def _ranks(texts: Ids) -> Index:
    codes, _ = pd.factorize(texts, sort=True)
    return codes.astype(np.int64)


def _refuse_repeats(
    coded: Mapping[str, Coded], frame: pd.DataFrame, uses: Sequence[ColumnUse]
) -> None:
    """Refuse two rows with the same ids, and name the columns in which they differ."""
    ids = pd.DataFrame({role: codes for role, (codes, _) in coded.items()})
    twice = np.flatnonzero(ids.duplicated(keep=False))
    if not len(twice):
        return
    first = ids.iloc[twice[0]]
    same = twice[(ids.iloc[twice] == first).all(axis=1).to_numpy()]
    apart = [
        use.column
        for column, use in zip(frame.columns, uses, strict=True)
        if use.serves_as == NOT_READ and frame[column].iloc[same].astype(str).nunique() == len(same)
    ]
    said = ", ".join(f"{role} {names[first[role]]!r}" for role, (_, names) in coded.items())
    more = number_of(len(twice), "row")
    remedy = (
        "a generation of a prompt may occur once"
        if "generation" in coded
        else "give one row of counts for each model and prompt"
    )
    raise DataError(
        f"{more} repeated: {said} stands in {row_list(same)}; {remedy}; drop the copies, or name "
        'what tells them apart with columns={"model": ...} or columns={"generation": ...}'
        + (f"; these columns are not read and could: {some(apart)}" if apart else "")
    )


def _prompt_groups(
    frame: pd.DataFrame, roles: Mapping[str, str], coded: Coded, kept: Index
) -> Ids | None:
    """Return the group of every kept prompt, or None where no group is given."""
    if "prompt_group" not in roles:
        return None
    prompt, prompts = coded
    group, groups = read_ids(frame[roles["prompt_group"]])
    pairs = pd.DataFrame({"prompt": prompt, "group": group})[group >= 0].drop_duplicates()
    twice = pairs["prompt"].duplicated(keep=False)
    if twice.any():
        code = pairs.loc[twice, "prompt"].min()
        names = sorted(groups[pairs.loc[pairs["prompt"] == code, "group"]])
        rows = np.flatnonzero((prompt == code) & (group >= 0))
        raise DataError(
            f"{number_of(pairs.loc[twice, 'prompt'].nunique(), 'prompt')} in two prompt groups: "
            f"{prompts[code]!r} is in {some(names)}, {row_list(rows)}; a prompt has one group"
        )
    result = np.full(len(prompts), None, dtype=object)
    result[pairs["prompt"]] = groups[pairs["group"]]
    result = result[kept]
    without = np.flatnonzero([name is None for name in result])
    if len(without) == len(result):
        return None
    if len(without):
        raise DataError(
            f"{number_of(len(without), 'prompt')} without a prompt group: "
            f"{some(prompts[kept[without]])}; give every prompt a group, one of its own where it "
            "is related to none"
        )
    return result
