"""Rows of the review list: counts, the most frequent other answer, remarks."""

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hero_bayes.data.generations import Generations
from hero_bayes.data.identifiers import number_of
from hero_bayes.difficulty.answers import merged
from hero_bayes.difficulty.key_counts import KEY, Tally

__all__ = ["by_score", "with_answers"]

NO_ANSWERS = "no answers: give one row a generation with an 'answer' column"

IntArray = NDArray[np.int64]


def by_score(data: Generations) -> pd.DataFrame:
    """One row a prompt where answers are not known."""
    n = data.n_prompts
    return pd.DataFrame(
        {
            "prompt": data.prompts,
            "key_count": np.bincount(data.prompt_idx, data.n_correct, n).astype(int),
            "k": np.bincount(data.prompt_idx, data.k, n).astype(int),
            "other_answer": pd.Series([None] * n, dtype=object),
            "other_count": 0,
            "models_preferring_other": 0,
            "n_models": np.bincount(data.prompt_idx, minlength=n),
            "p_hat": _prompt_mean(data, data.p_hat),
            "S": np.nan,
            "note": "",
            "reason": NO_ANSWERS,
        }
    )


def with_answers(
    data: Generations, tallied: Tally, codes: IntArray, cells: pd.DataFrame
) -> pd.DataFrame:
    """One row a prompt, with the most frequent answer that the key rejects.

    Ties between rejected answers go to the one seen first.
    """
    n = data.n_prompts
    other = np.flatnonzero(tallied.code != KEY)
    total = tallied.count.sum(axis=1)
    order = other[np.lexsort((tallied.code[other], -total[other], tallied.prompt[other]))]
    prompts, first = np.unique(tallied.prompt[order], return_index=True)
    modal = order[first]
    count, prefer = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
    count[prompts] = total[modal]
    prefer[prompts] = (tallied.count[modal] > tallied.key[prompts]).sum(axis=1)
    wanted = np.full(n, -2, dtype=np.int64)
    wanted[prompts] = tallied.code[modal]
    return pd.DataFrame(
        {
            "prompt": data.prompts,
            "key_count": tallied.key.sum(axis=1),
            "k": tallied.k.sum(axis=1),
            "other_answer": _examples(data, codes, wanted),
            "other_count": count,
            "models_preferring_other": prefer,
            "n_models": (tallied.k > 0).sum(axis=1),
            "p_hat": _prompt_mean(data, data.p_hat),
            "S": _prompt_mean(data, cells["S"].to_numpy()),
            "note": _notes(data, codes),
            "reason": np.where(
                np.bincount(data.prompt_idx, cells["n_answers"], n) == 0,
                "S: no generation has an answer",
                "",
            ),
        }
    )


def _prompt_mean(data: Generations, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Mean over the models of each prompt, over those with a value."""
    known = ~np.isnan(values)
    owner = data.prompt_idx[known]
    size = np.bincount(owner, minlength=data.n_prompts)
    total = np.bincount(owner, values[known], minlength=data.n_prompts)
    return np.where(size > 0, total / np.maximum(size, 1), np.nan)


def _examples(data: Generations, codes: IntArray, wanted: IntArray) -> pd.Series:
    """The most frequent spelling of the wanted cluster of each prompt."""
    assert data.cell_idx is not None
    prompt = data.prompt_idx[data.cell_idx]
    texts = data.answer if data.answer is not None else data.answer_cluster
    rows = np.flatnonzero((codes == wanted[prompt]) & (data.correct == 0))
    result = pd.Series([None] * data.n_prompts, dtype=object)
    if rows.size:
        assert texts is not None
        frame = pd.DataFrame({"prompt": prompt[rows], "text": [str(texts[row]) for row in rows]})
        seen = frame.groupby(["prompt", "text"]).size().reset_index(name="n")
        seen = seen.sort_values(["prompt", "n", "text"], ascending=[True, False, True])
        best = seen.drop_duplicates("prompt")
        result.loc[best["prompt"].to_numpy()] = best["text"].to_numpy(dtype=object)
    return result


def _notes(data: Generations, codes: IntArray) -> list[str]:
    """Remarks on accepted spellings, answers scored both ways, missing and joined answers."""
    assert data.cell_idx is not None
    prompt = data.prompt_idx[data.cell_idx]
    frame = pd.DataFrame({"prompt": prompt, "code": codes, "correct": data.correct})
    told = frame[frame["code"] >= 0].groupby(["prompt", "code"])["correct"].agg(["min", "max"])
    by_prompt = told.groupby(level="prompt")
    accepted = by_prompt["max"].sum().reindex(range(data.n_prompts), fill_value=0)
    both = (told["max"] - told["min"]).groupby(level="prompt").sum()
    both = both.reindex(range(data.n_prompts), fill_value=0)
    missing = np.bincount(prompt[codes < 0], minlength=data.n_prompts)
    notes = []
    texts = merged(data, codes)
    for n_accepted, n_both, n_missing, joined in zip(accepted, both, missing, texts, strict=True):
        parts = []
        if n_accepted > 1:
            parts.append(f"the key accepts {n_accepted} different answers")
        if n_both:
            parts.append(f"{number_of(int(n_both), 'answer')} scored both ways")
        if n_missing:
            parts.append(f"{number_of(int(n_missing), 'generation')} without an answer")
        if joined:
            parts.append(joined)
        notes.append("; ".join(parts))
    return notes
