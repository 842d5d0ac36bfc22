"""Difference of two models' scores, paired by prompt."""

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd

from hero_bayes.data.generations import Generations
from hero_bayes.difficulty.moment_parts import interval_of, mean_of, reasoned_error
from hero_bayes.difficulty.prompt_means import as_generations, group_codes
from hero_bayes.errors import DataError, Refusal

__all__ = ["DifferenceMoments", "difference_moments"]


@dataclass(frozen=True)
class DifferenceMoments:
    """Difference of two models' scores on the prompts that both answered.

    Attributes
    ----------
    difference : float
        Mean over shared prompts of p_hat of the model minus p_hat of the reference.
    standard_error : float
        Of the difference, paired by prompt.
    model, reference : str
        Who is compared.
    mu, mu_reference : float
        Their scores on the shared prompts.
    n_prompts : int
        Number of shared prompts.
    only_model, only_reference : int
        Prompts left out because the other model did not answer them.
    clustered : bool
        Whether related prompts were taken as one unit.
    n_groups : int
        Number of units that the standard error counts as independent.
    reason : str
        Why the standard error is NaN or 0; "" if all is well.
    """

    difference: float
    standard_error: float
    model: str
    reference: str
    mu: float
    mu_reference: float
    n_prompts: int
    only_model: int
    only_reference: int
    clustered: bool
    n_groups: int
    reason: str

    def interval(self, prob: float = 0.95) -> tuple[float, float]:
        """Student t interval, cut to [-1, 1]; of equal differences as in `Moments.interval`."""
        return interval_of(self.difference, self.standard_error, self.n_groups, prob, (-1.0, 1.0))


def difference_moments(
    generations: Generations | pd.DataFrame, model: str, reference: str
) -> DifferenceMoments:
    """Difference of the scores of two models, paired by prompt.

    Parameters
    ----------
    generations : Generations or pandas.DataFrame
        A DataFrame is read by `Generations.from_frame`.
    model, reference : str
        Which models; a positive difference says that ``model`` scores higher.

    Returns
    -------
    DifferenceMoments
        On the shared prompts, with the number of prompts left out.

    Raises
    ------
    Refusal
        If no prompt was answered by both.
    DataError
        If there is no such model, or both are the same.

    Notes
    -----
    With d_i the difference of the two means of prompt i, the squared standard error is the sample
    variance of d_i over n, or its form for groups of prompts as in `moments`. Where sampling
    stopped at an outcome, the generation that ended a prompt is left out.

    Examples
    --------
    >>> table = pd.DataFrame(
    ...     {
    ...         "model": ["x", "x", "y", "y"],
    ...         "prompt": ["a", "b", "a", "b"],
    ...         "n_correct": [2, 1, 1, 1],
    ...         "k": 2,
    ...     }
    ... )
    >>> found = difference_moments(table, "x", "y")
    >>> found.difference, found.standard_error
    (0.25, 0.25)
    """
    data = as_generations(generations)
    first, second = data.cells_of(model), data.cells_of(reference)
    names = [str(data.models[data.model_idx[cells[0]]]) for cells in (first, second)]
    if names[0] == names[1]:
        raise DataError(f"model and reference are both {names[0]!r}: name two models")
    shared, a, b = np.intersect1d(
        data.prompt_idx[first], data.prompt_idx[second], return_indices=True
    )
    n = len(shared)
    if not n:
        raise Refusal(
            f"{names[0]!r} and {names[1]!r} share no prompt: a paired difference needs both models "
            "on the same prompts; compare the intervals of their moments instead"
        )
    p_hat, p_reference = data.fair_share[first[a]], data.fair_share[second[b]]
    group, clustered = group_codes(data, first[a]), data.prompt_group is not None
    squared, reason = reasoned_error(p_hat - p_reference, group, clustered, True)
    return DifferenceMoments(
        difference=mean_of(p_hat - p_reference),
        standard_error=math.sqrt(squared),
        model=names[0],
        reference=names[1],
        mu=mean_of(p_hat),
        mu_reference=mean_of(p_reference),
        n_prompts=n,
        only_model=len(first) - n,
        only_reference=len(second) - n,
        clustered=clustered,
        n_groups=int(group.max()) + 1,
        reason=reason,
    )
