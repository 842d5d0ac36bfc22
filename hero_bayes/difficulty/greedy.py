"""One greedy answer per prompt against several sampled ones."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats

from hero_bayes.data.generation_tables import NO_MODEL
from hero_bayes.data.generations import Generations
from hero_bayes.data.identifiers import number_of
from hero_bayes.difficulty.prompt_means import (
    ALONE,
    Codes,
    as_generations,
    check_prob,
    group_codes,
    paired_variance,
    squared_error,
)
from hero_bayes.errors import DataError, Refusal

__all__ = ["GreedyComparison", "greedy_against_sampled"]


@dataclass(frozen=True)
class GreedyComparison:
    """Greedy score, sampled score and their difference on the same prompts.

    Attributes
    ----------
    model : str
    greedy, greedy_se, sampled, sampled_se : float
        Scores on the shared prompts and their standard errors.
    difference, standard_error, low, high : float
        Greedy minus sampled, paired by prompt, with its interval.
    prob : float
        Nominal coverage of the interval.
    n_prompts, only_sampled, only_greedy : int
        Prompts in both; prompts left out because the other side lacks them.
    reason : str
        Why a standard error is NaN; "" where none is.
    """

    model: str
    greedy: float
    greedy_se: float
    sampled: float
    sampled_se: float
    difference: float
    standard_error: float
    low: float
    high: float
    prob: float
    n_prompts: int
    only_sampled: int
    only_greedy: int
    reason: str = ""

    @property
    def sentence(self) -> str:
        """The result in words."""
        verdict = "no difference is visible"
        if self.low > 0.0 or self.high < 0.0:
            verdict = f"greedy answers score {'higher' if self.low > 0.0 else 'lower'}"
        text = (
            f"Greedy {self.greedy:.1%}, sampled {self.sampled:.1%} on "
            f"{number_of(self.n_prompts, 'prompt')}: difference {100 * self.difference:+.1f} "
            f"points, {self.prob:.0%} interval {100 * self.low:+.1f} to {100 * self.high:+.1f}; "
            f"{verdict}."
        )
        left = self.only_sampled + self.only_greedy
        if left:
            text += f" {number_of(left, 'prompt')} left out, with answers of one kind only."
        return text

    def __str__(self) -> str:
        return self.sentence


def greedy_against_sampled(
    sampled: Generations | pd.DataFrame,
    greedy: Generations | pd.DataFrame,
    model: str | None = None,
    prob: float = 0.95,
) -> GreedyComparison:
    """Compare greedy decoding with sampling, prompt by prompt.

    Parameters
    ----------
    sampled, greedy : Generations or DataFrame
        Several generations per prompt, and (usually) one greedy answer per prompt.
    model : str, optional
        May be left out where there is one model.
    prob : float
        Nominal coverage of the interval.

    Returns
    -------
    GreedyComparison
        Scores with standard errors, and the paired difference.

    Raises
    ------
    Refusal
        If the two share no prompt, or there are several models and none is named.
    DataError
        If a table lacks the model.

    Notes
    -----
    A greedy answer is right or wrong, so its score has standard error sqrt(mu (1 - mu) / n); with
    repeated greedy answers or related prompts it is that of the mean over prompts (groups). The
    difference has standard error sd(g_i - p-hat_i) / sqrt(n) over prompts: the same prompts are
    hard for both, so it is smaller than the two scores suggest. The interval is Student's t over
    prompts (groups), within -1 and 1. Where only c of them differ otherwise than the rest, the
    squared error is averaged, weights c^2 and 1, with that of two scores on prompts of their own,
    at least that of one prompt's weight, so that equal answers leave an interval too.

    Examples
    --------
    >>> sampled = pd.DataFrame({"prompt": range(4), "n_correct": [0, 1, 3, 4], "k": 4})
    >>> greedy = pd.DataFrame({"prompt": range(4), "correct": [0, 0, 1, 1]})
    >>> result = greedy_against_sampled(sampled, greedy)
    >>> result.greedy, result.sampled, result.difference
    (0.5, 0.5, 0.0)
    """
    check_prob(prob)
    sampled, greedy = as_generations(sampled), as_generations(greedy)
    sampled_cells = sampled.cells_of(model)
    name = str(sampled.models[sampled.model_idx[sampled_cells[0]]])
    greedy_cells = _greedy_cells(greedy, name)
    _, first, second = np.intersect1d(
        sampled.prompts[sampled.prompt_idx[sampled_cells]].astype(str),
        greedy.prompts[greedy.prompt_idx[greedy_cells]].astype(str),
        return_indices=True,
    )
    n = len(first)
    if n == 0:
        raise Refusal(
            "the sampled and the greedy table share no prompt: give both the same prompt ids"
        )
    mine, theirs = sampled_cells[first], greedy_cells[second]
    group = group_codes(sampled, mine)
    if sampled.prompt_group is None:
        group = group_codes(greedy, theirs)
    g, p_hat = greedy.p_hat[theirs], sampled.fair_share[mine]
    difference = float(g.mean() - p_hat.mean())
    low, high, n_groups, reason = -1.0, 1.0, int(group.max()) + 1, ""
    if n_groups < 2:
        reason = f"one {'prompt' if n == 1 else 'group of prompts'}: {ALONE}"
    else:
        apart = max(squared_error(g, group) + squared_error(p_hat, group), 1.0 / n_groups**2)
        error = paired_variance(g - p_hat, group, apart) ** 0.5
        half = float(stats.t.ppf(0.5 + prob / 2.0, n_groups - 1)) * error
        low, high = max(difference - half, -1.0), min(difference + half, 1.0)
    once = bool((greedy.k[theirs] == 1).all()) and n_groups == n
    squared = g.mean() * (1.0 - g.mean()) / n if once else squared_error(g, group)
    return GreedyComparison(
        model=name,
        greedy=float(g.mean()),
        greedy_se=float(squared**0.5),
        sampled=float(p_hat.mean()),
        sampled_se=squared_error(p_hat, group) ** 0.5,
        difference=difference,
        standard_error=squared_error(g - p_hat, group) ** 0.5,
        low=low,
        high=high,
        prob=prob,
        n_prompts=n,
        only_sampled=len(sampled_cells) - n,
        only_greedy=len(greedy_cells) - n,
        reason=reason,
    )


def _greedy_cells(greedy: Generations, name: str) -> Codes:
    """Cells of the model; a table without a model column is taken to be of that model."""
    names = [str(model) for model in greedy.models]
    if name in names:
        return greedy.cells_of(name)
    if len(names) == 1 and NO_MODEL in (name, names[0]):
        return greedy.cells_of()
    raise DataError(
        f"the greedy table has no answers of model {name!r}, only of {', '.join(names)}; "
        "name models alike in both tables"
    )
