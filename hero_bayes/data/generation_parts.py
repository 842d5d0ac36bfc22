"""Parts and summaries of `Generations`: chosen models and prompts, tables, the fingerprint."""

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hero_bayes.data.fingerprint import hash_of
from hero_bayes.data.identifiers import contained, id_strings, some
from hero_bayes.errors import DataError

if TYPE_CHECKING:
    from hero_bayes.data.generations import Generations

__all__ = ["PER_GENERATION", "fingerprint", "select", "summary", "to_frame"]

PER_GENERATION = ("correct", "generation", "run", "answer", "answer_cluster")
MISSING = ("missing_model", "missing_prompt", "missing_generation")
CONTENT = (
    "prompts",
    "models",
    "prompt_idx",
    "model_idx",
    "n_correct",
    "k",
    "prompt_group",
    "cell_idx",
    *PER_GENERATION,
    *MISSING,
)


def fingerprint(generations: "Generations") -> str:
    """Return the SHA-256 (hex) over every content field in canonical form."""
    return hash_of(generations, CONTENT)


def select(generations: "Generations", models: Any, prompts: Any) -> "Generations":
    """Keep some models and prompts; see `Generations.select`."""
    in_model = _mask("model", generations.models, models)
    in_prompt = _mask("prompt", generations.prompts, prompts)
    cells = in_model[generations.model_idx] & in_prompt[generations.prompt_idx]
    if not cells.any():
        raise DataError("the selection leaves no generation: these models answered other prompts")
    kept_prompts, prompt_idx = np.unique(generations.prompt_idx[cells], return_inverse=True)
    kept_models, model_idx = np.unique(generations.model_idx[cells], return_inverse=True)
    changes: dict[str, Any] = {
        "prompts": generations.prompts[kept_prompts],
        "models": generations.models[kept_models],
        "prompt_idx": prompt_idx.astype(np.int64),
        "model_idx": model_idx.astype(np.int64),
        "n_correct": generations.n_correct[cells],
        "k": generations.k[cells],
    }
    if generations.prompt_group is not None:
        changes["prompt_group"] = generations.prompt_group[kept_prompts]
    if generations.cell_idx is not None:
        rows = cells[generations.cell_idx]
        changes["cell_idx"] = (np.cumsum(cells) - 1)[generations.cell_idx[rows]]
        changes |= {
            name: None if values is None else values[rows]
            for name in PER_GENERATION
            for values in (getattr(generations, name),)
        }
    return dataclasses.replace(generations, **changes, **_missing(generations, models, prompts))


def to_frame(generations: "Generations") -> pd.DataFrame:
    """Return the table from which `Generations.from_frame` builds an equal object."""
    cells, correct = generations.cell_idx, generations.correct
    if cells is None or correct is None:
        rows = np.arange(len(generations.k))
        scores: dict[str, Any] = {"n_correct": generations.n_correct, "k": generations.k}
    else:
        rows, scores = cells, {"correct": correct}
    prompt_idx = generations.prompt_idx[rows]
    columns: dict[str, Any] = {
        "model": generations.models[generations.model_idx[rows]],
        "prompt": generations.prompts[prompt_idx],
    }
    if generations.prompt_group is not None:
        columns["prompt_group"] = generations.prompt_group[prompt_idx]
    for name in PER_GENERATION[1:]:
        if getattr(generations, name) is not None:
            columns[name] = getattr(generations, name)
    frame = pd.DataFrame({**columns, **scores})
    if generations.missing_prompt is None:
        return frame
    left: dict[str, Any] = {
        "model": generations.missing_model,
        "prompt": generations.missing_prompt,
    }
    if generations.missing_generation is not None:
        left["generation"] = generations.missing_generation
    if cells is None:
        left |= {"n_correct": 0, "k": 0}
    else:
        frame = frame.astype({"correct": "Int8"})
        left["correct"] = pd.array([pd.NA] * len(left["prompt"]), dtype="Int8")
    unscored = pd.DataFrame(left).reindex(columns=frame.columns)
    return pd.concat([frame, unscored.astype(frame.dtypes)], ignore_index=True)


def summary(generations: "Generations") -> pd.DataFrame:
    """Count, by model; see `Generations.summary`."""
    rows = []
    for position, name in enumerate(generations.models):
        cells = np.flatnonzero(generations.model_idx == position)
        k, p_hat = generations.k[cells], generations.p_hat[cells]
        missing = generations.missing_model
        rows.append(
            {
                "model": name,
                "prompts": len(cells),
                "generations": int(k.sum()),
                "k_min": int(k.min()),
                "k_median": float(np.median(k)),
                "k_max": int(k.max()),
                "missing": 0 if missing is None else int((missing == name).sum()),
                "mean": float(p_hat.mean()),
                "never_correct": float((p_hat == 0).mean()),
                "always_correct": float((p_hat == 1).mean()),
            }
        )
    return pd.DataFrame(rows)


def _mask(role: str, known: NDArray[np.object_], wanted: Any) -> NDArray[np.bool_]:
    if wanted is None:
        return np.ones(len(known), dtype=bool)
    ids = set(id_strings(wanted))
    unknown = ids - set(known)
    if unknown:
        raise DataError(f"no {role} {some(sorted(unknown))}; there are {some(known, 20)}")
    return contained(known, ids)


def _missing(generations: "Generations", models: Any, prompts: Any) -> dict[str, Any]:
    """Return the fields of what has no score, within the selection."""
    if generations.missing_prompt is None or generations.missing_model is None:
        return {}
    rows = np.ones(len(generations.missing_prompt), dtype=bool)
    if models is not None:
        rows &= contained(generations.missing_model, id_strings(models))
    if prompts is not None:
        rows &= contained(generations.missing_prompt, id_strings(prompts))
    kept = {name: getattr(generations, name) for name in MISSING}
    kept = {n: None if v is None or not rows.any() else v[rows] for n, v in kept.items()}
    return {**kept, "n_missing": int(rows.sum()) if generations.has_rows else 0}
