"""Counts that the model of wrong keys needs, for every answer that may be the right one."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import gammaln

from hero_bayes.data.generations import Generations

__all__ = ["KEY", "KeyCounts", "Table", "key_counts", "tally"]

#: Code of all answers that the key accepts.
KEY = -1

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@dataclass(frozen=True)
class Tally:
    """How often each model gave each answer of each prompt; all accepted answers are one answer.

    Attributes
    ----------
    prompt, code : int array (answer)
        Whose answer it is, and its cluster; `KEY` for the accepted ones.
    count : int array (answer, model)
    key : int array (prompt, model)
        Generations that the key accepts.
    k : int array (prompt, model)
        All scored generations.
    """

    prompt: IntArray
    code: IntArray
    count: IntArray
    key: IntArray
    k: IntArray


@dataclass(frozen=True)
class Table:
    """Distinct rows of integers, and the sums over models that hypotheses make of them.

    Attributes
    ----------
    rows : int array (row, column)
        The first column is the model.
    sums : sparse array (pattern, row)
        Which rows a pattern adds up.
    of : int array (hypothesis)
        The pattern of each hypothesis.
    """

    rows: IntArray
    sums: sp.csr_array
    of: IntArray


@dataclass(frozen=True)
class KeyCounts:
    """The hypotheses "this answer is the right one" of all prompts, with their counts.

    The first `n_prompts` hypotheses say that the key is right; the others take every other answer
    of a prompt in turn, and last an answer that no model gave.

    Attributes
    ----------
    n_prompts, n_models : int
    prompt : int array (hypothesis)
    right : Table
        Rows (model, k, times the right answer was given).
    wrong : Table
        Rows (model, wrong answers given, distinct ones).
    shared, shared_of : int array (row, 2), int array (hypothesis)
        Distinct wrong answers over all models, and their sum over models.
    constant : float array (hypothesis)
        Part of the log-likelihood without parameters.
    popular, fresh : float array (hypothesis)
        Chance that a wrong answer drawn from the models' would be the key; whether no model gave
        the key.
    some_wrong : float array (hypothesis)
        Whether there are wrong answers to draw from.
    key_share : float array (prompt)
        Share of the generations that the key accepts.
    score : float array (model)
        The same by model.
    """

    n_prompts: int
    n_models: int
    prompt: IntArray
    right: Table
    wrong: Table
    shared: IntArray
    shared_of: IntArray
    constant: FloatArray
    popular: FloatArray
    fresh: FloatArray
    some_wrong: FloatArray
    key_share: FloatArray
    score: FloatArray

    @property
    def disputed(self) -> float:
        """Share of prompts with an answer that the key rejects."""
        return float(self.some_wrong[: self.n_prompts].mean())


def tally(generations: Generations, codes: IntArray) -> Tally:
    """Count answers by prompt and model; generations without an answer count in k alone.

    Parameters
    ----------
    generations : Generations
        With one row a generation.
    codes : int array (generation)
        From `clusters`.
    """
    assert generations.cell_idx is not None
    assert generations.correct is not None
    shape = (generations.n_prompts, generations.n_models)
    cells = (generations.prompt_idx, generations.model_idx)
    k, key = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
    k[cells], key[cells] = generations.k, generations.n_correct
    prompt = generations.prompt_idx[generations.cell_idx]
    model = generations.model_idx[generations.cell_idx]
    code = np.where(generations.correct == 1, KEY, codes)
    told = (generations.correct == 1) | (codes >= 0)
    width = int(codes.max(initial=0)) + 2
    joint, place = np.unique(prompt[told] * width + code[told] + 1, return_inverse=True)
    count = np.zeros((len(joint), generations.n_models), dtype=np.int64)
    np.add.at(count, (place, model[told]), 1)
    return Tally(joint // width, joint % width - 1, count, key, k)


def key_counts(tallied: Tally) -> KeyCounts:
    """Set up every hypothesis on the right answer of every prompt."""
    n_prompts, n_models = tallied.k.shape
    every = np.arange(n_prompts)
    other = tallied.code != KEY
    owner, count = tallied.prompt[other], tallied.count[other]
    prompt = np.concatenate([every, owner, every])
    right = np.vstack([tallied.key, count, np.zeros_like(tallied.key)])
    key_wrong = np.arange(len(prompt)) >= n_prompts
    answered, distinct = tallied.key.copy(), np.zeros_like(tallied.key)
    np.add.at(answered, owner, count)
    np.add.at(distinct, owner, (count > 0).astype(np.int64))
    key, k = tallied.key[prompt], tallied.k[prompt]
    wrong = answered[prompt] - right
    # under a wrong key, the key joins the wrong answers and the right answer leaves them
    kinds = distinct[prompt] + np.where(
        key_wrong[:, None], (key > 0).astype(np.int64) - (right > 0), 0
    )
    key_total, right_total = key.sum(axis=1), right.sum(axis=1)
    n_other = np.bincount(owner, minlength=n_prompts)
    kinds_over_models = n_other[prompt] + np.where(
        key_wrong, (key_total > 0).astype(np.int64) - (right_total > 0), 0
    )
    pair = np.column_stack([kinds_over_models, kinds.sum(axis=1)])
    shared, shared_of = np.unique(pair, axis=0, return_inverse=True)
    wrong_total = wrong.sum(axis=1)
    return KeyCounts(
        n_prompts=n_prompts,
        n_models=n_models,
        prompt=prompt,
        right=_table(k, right, k > 0),
        wrong=_table(wrong, kinds, wrong > 0),
        shared=shared,
        shared_of=shared_of.ravel(),
        constant=-_log_factorials(right).sum(axis=1) - _log_factorials((right > 0).sum(axis=1)),
        popular=key_total / np.maximum(wrong_total, 1),
        fresh=(key_total == 0).astype(float),
        some_wrong=(wrong_total > 0).astype(float),
        key_share=tallied.key.sum(axis=1) / tallied.k.sum(axis=1),
        score=tallied.key.sum(axis=0) / tallied.k.sum(axis=0),
    )


def _log_factorials(count: IntArray) -> FloatArray:
    """Log (count - 1)!, and 0 for a count of 0."""
    return np.asarray(gammaln(np.maximum(count, 1)), dtype=np.float64)


def _table(first: IntArray, second: IntArray, used: NDArray[np.bool_]) -> Table:
    model = np.broadcast_to(np.arange(used.shape[1]), used.shape)
    every = np.column_stack([model[used], first[used], second[used]])
    rows, place = np.unique(every, axis=0, return_inverse=True)
    codes = np.full(used.shape, -1, dtype=np.int64)
    codes[used] = place.ravel()
    patterns, of = np.unique(codes, axis=0, return_inverse=True)
    pattern, column = np.nonzero(patterns >= 0)
    sums = sp.csr_array(
        (np.ones(len(pattern)), (pattern, patterns[pattern, column])),
        shape=(len(patterns), len(rows)),
    )
    return Table(rows, sums, of.ravel())
