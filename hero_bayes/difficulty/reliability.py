"""Beyond the mean: chance that one of k generations is correct, and that all are."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray
from scipy import special

from hero_bayes.data.generations import Generations
from hero_bayes.data.identifiers import number_of
from hero_bayes.difficulty.laws import TERMS, laws, prompt_draws, refuse_groups
from hero_bayes.difficulty.prompt_means import (
    as_generations,
    check_prob,
    group_codes,
    mean_over_prompts,
    refuse_stopped,
    whole_numbers,
)
from hero_bayes.errors import Refusal

__all__ = ["NEW_PROMPTS", "THESE_PROMPTS", "pass_at_k"]

#: The two things a score may speak of.
NEW_PROMPTS = "new prompts"
THESE_PROMPTS = "these prompts"

#: What is told where no k is asked for.
SIZES = (1, 2, 5, 10)
FIT = "pass a fit: pass_at_k(hb.difficulty.fit(generations))"
MEASURES = ("pass_at_k", "pass_all_k")
PARTS = ("", "_se", "_low", "_high")


def pass_at_k(
    source: Generations | pd.DataFrame | xr.DataTree,
    k: int | Sequence[int] | None = None,
    prob: float = 0.95,
) -> pd.DataFrame:
    """Chance that at least one of k generations is correct, and that all are.

    Parameters
    ----------
    source : Generations, DataFrame or DataTree
        Generations (or their table) give unbiased estimates from counts; a fit of
        ``hb.difficulty.fit`` gives posterior means, also for k beyond what was generated.
    k : int or sequence of int, optional
        Numbers of generations. Left out: 1, 2, 5 and 10; of generations as far as every prompt of a
        model has them, and ``reason`` says where that ends.
    prob : float
        Probability of the intervals.

    Returns
    -------
    DataFrame
        One row a model, k and estimand: ``model``, ``k``, ``estimand``, ``n_prompts``;
        ``pass_at_k`` (at least one correct) and ``pass_all_k`` (all correct, also written pass^k),
        each with ``_se``, ``_low`` and ``_high``; ``reason`` says why a standard error is NaN, or
        why there is no larger k.
        The estimand is "new prompts" (like these) or, of a fit, also "these prompts" (new
        generations of the prompts at hand). Intervals stay inside [0, 1].

    Raises
    ------
    Refusal
        If some prompts have fewer than k generations, sampling stopped at an outcome and k > 1, or
        the prompts of a fit come in groups.
    DataError
        If the source is neither generations (or a table of them) nor such a fit.

    Notes
    -----
    With c of n generations correct, C(n-c, k) / C(n, k) is the chance that k drawn without
    replacement are all wrong, and unbiased for (1 - p)^k [1]_; likewise C(c, k) / C(n, k) for p^k.
    Where sampling stopped at an outcome, counts give k = 1 alone, from the generations before it.
    The standard error is that of the mean over prompts (over groups of related prompts where the
    table has them). Of a fit: E[p^k] is prod_{j<k} (a + j) / (a + b + j) for p ~ Beta(a, b), and by
    quadrature for a logit-normal.

    References
    ----------
    .. [1] Chen, M. et al. (2021). Evaluating large language models trained on code.
       arXiv:2107.03374, equation 1.

    Examples
    --------
    Two prompts with two generations each: one of two correct, both correct.

    >>> counts = pd.DataFrame({"prompt": ["a", "b"], "n_correct": [1, 2], "k": [2, 2]})
    >>> pass_at_k(counts, k=(1, 2))[["k", "pass_at_k", "pass_all_k"]]
       k  pass_at_k  pass_all_k
    0  1       0.75        0.75
    1  2       1.00        0.50
    """
    check_prob(prob)
    sizes = SIZES if k is None else whole_numbers(k, "k")
    if isinstance(source, xr.DataTree):
        rows = _from_fit(source, sizes, prob)
    else:
        rows = _from_counts(as_generations(source), sizes, prob, as_held=k is None)
    values = [name + part for name in MEASURES for part in PARTS]
    return pd.DataFrame(rows, columns=["model", "k", "estimand", "n_prompts", *values, "reason"])


def _from_counts(
    generations: Generations, sizes: tuple[int, ...], prob: float, as_held: bool
) -> list[dict[str, object]]:
    rows = []
    for model in map(str, generations.models):
        cells = generations.cells_of(model)
        correct, k = generations.n_correct[cells], generations.k[cells]
        rule = generations.stopping[int(generations.model_idx[cells[0]])]
        least = int(k.min()) if rule is None else 1
        held = tuple(size for size in sizes if size <= least) if as_held else sizes
        if held != (1,):
            refuse_stopped(generations, cells, f"ask for k = 1, or {FIT}")
        _check_enough(model, k, held, generations.prompt_group is None)
        group = group_codes(generations, cells)
        for size in held:
            row: dict[str, object] = {
                "model": model,
                "k": size,
                "estimand": NEW_PROMPTS,
                "n_prompts": len(cells),
            }
            shares = (1.0 - _subset_share(k - correct, k, size), _subset_share(correct, k, size))
            if rule is not None:
                shares = (generations.fair_share[cells],) * 2
            for name, share in zip(MEASURES, shares, strict=True):
                mean = mean_over_prompts(share, group, prob)
                numbers = (mean.value, mean.standard_error, mean.low, mean.high)
                row |= {name + part: x for part, x in zip(PARTS, numbers, strict=True)}
                row["reason"] = mean.reason
            if size == held[-1] < sizes[-1]:
                end = f"k up to {size}: some prompt has {number_of(least, 'generation')}"
                if rule is not None:
                    end = f"k = 1 alone: sampling stopped once {rule.when}; a fit knows more"
                row["reason"] = "; ".join(filter(None, (mean.reason, end)))
            rows.append(row)
    return rows


def _check_enough(model: str, k: NDArray[np.int64], sizes: tuple[int, ...], by_fit: bool) -> None:
    short = int((k < sizes[-1]).sum())
    if short:
        fit = f", or {FIT}" if by_fit else ""
        raise Refusal(
            f"k = {sizes[-1]} needs {sizes[-1]} generations of every prompt, but "
            f"{short:,} of {number_of(len(k), 'prompt')} of model {model!r} have fewer (the least "
            f"is {int(k.min())}); ask for k up to {int(k.min())}{fit}"
        )


def _subset_share(count: NDArray[np.int64], k: NDArray[np.int64], size: int) -> NDArray[np.float64]:
    """C(count, size) / C(k, size): the chance that ``size`` of k are all among the ``count``."""
    if size > TERMS:
        inside = count >= size
        c = np.where(inside, count, size)
        terms = (c + 1, k - size + 1), (c - size + 1, k + 1)
        plus, minus = (special.gammaln(x) + special.gammaln(y) for x, y in terms)
        return np.where(inside, np.exp(np.minimum(plus - minus, 0.0)), 0.0)
    drawn = np.arange(size)
    left = np.maximum(count[:, None] - drawn, 0)
    return np.asarray((left / (k[:, None] - drawn)).prod(axis=1), dtype=np.float64)


def _from_fit(fit: xr.DataTree, sizes: tuple[int, ...], prob: float) -> list[dict[str, object]]:
    rows, by_model = [], laws(fit)
    refuse_groups(fit)
    for model, law in by_model.items():
        chance = prompt_draws(fit, model)
        for size in sizes:
            draws = {
                NEW_PROMPTS: (law.any_correct(size), law.all_correct(size)),
                THESE_PROMPTS: (
                    1.0 - ((1.0 - chance) ** size).mean(axis=1),
                    (chance**size).mean(axis=1),
                ),
            }
            for estimand, pair in draws.items():
                row: dict[str, object] = {
                    "model": model,
                    "k": size,
                    "estimand": estimand,
                    "n_prompts": chance.shape[1],
                    "reason": "",
                }
                for name, values in zip(MEASURES, pair, strict=True):
                    low, high = np.quantile(values, [(1 - prob) / 2, (1 + prob) / 2])
                    numbers = (values.mean(), values.std(ddof=1), low, high)
                    row |= {name + part: x for part, x in zip(PARTS, numbers, strict=True)}
                rows.append(row)
    return rows
