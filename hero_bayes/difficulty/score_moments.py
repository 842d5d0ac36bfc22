"""Score, its standard error and the spread of prompt difficulty, from the means of the prompts."""

import math
from dataclasses import asdict, dataclass
from typing import Any

import pandas as pd

from hero_bayes.data.generations import Generations
from hero_bayes.data.identifiers import number_of
from hero_bayes.difficulty.moment_parts import (
    interval_of,
    mean_of,
    reasoned_error,
    spread,
    variance_of,
)
from hero_bayes.difficulty.prompt_means import as_generations, group_codes

__all__ = ["Moments", "moments", "moments_table"]


@dataclass(frozen=True)
class Moments:
    """What the means of the prompts say of one model; made by `moments`.

    Attributes
    ----------
    mu : float
        The score: mean over prompts of p_hat, the share of correct generations.
    sigma : float
        Standard deviation of P(correct) across prompts; NaN where not identified.
    sigma_squared : float
        Its unbiased square; sampling noise can make it negative, and sigma then is 0.
    within, between : float
        Parts of the squared standard error: luck of the generations, which more generations
        remove, and difficulty of the prompts, which only more prompts remove.
    standard_error : float
        Of mu, over prompts.
    icc : float
        sigma^2 / (mu - mu^2), within [0, 1]: the share of the variance of a single generation that
        is prompt difficulty.
    se_floor : float
        The standard error that infinitely many generations of these prompts would leave.
    n_prompts, n_generations : int
        Sizes.
    k : tuple of int
        Smallest and largest number of generations of a prompt.
    identified : bool
        Whether sigma is.
    reason : str
        Why something is NaN, or why an interval is no Student t one; "" if all is well.
    model : str
        Whose moments these are.
    clustered : bool
        Whether related prompts were taken as one unit.
    n_groups : int
        Number of units that the standard error counts as independent.
    borrowed : float
        How far sigma_squared may be off because prompts with one generation take their noise from
        the others; 0 where none has.
    """

    mu: float
    sigma: float
    sigma_squared: float
    within: float
    between: float
    standard_error: float
    icc: float
    se_floor: float
    n_prompts: int
    n_generations: int
    k: tuple[int, int]
    identified: bool
    reason: str
    model: str
    clustered: bool
    n_groups: int
    borrowed: float = 0.0

    def interval(self, prob: float = 0.95) -> tuple[float, float]:
        """Student t interval of mu, cut to [0, 1]; never of width zero.

        Parameters
        ----------
        prob : float
            Its nominal coverage.

        Notes
        -----
        The degrees of freedom are the prompts (or groups of related ones) less one.

        Where all prompts have the same mean c (all correct, say), the standard error is 0 or
        unknown and says nothing. The share of prompts that would behave otherwise is then at most
        u = 1 - ((1 - prob)/2)^(1/n), exactly, and mu is within c (1 - u) and c (1 - u) + u. At
        c = 0 and c = 1 this is the interval of Clopper and Pearson over n prompts (groups).
        Near 0 and 1 such an interval over few unlike prompts is too narrow: fit a model there.

        Examples
        --------
        >>> table = pd.DataFrame({"prompt": range(20), "n_correct": 5, "k": 5})
        >>> low, high = moments(table).interval()
        >>> round(low, 3), high
        (0.832, 1.0)
        """
        return interval_of(self.mu, self.standard_error, self.n_groups, prob, (0.0, 1.0))


def moments(generations: Generations | pd.DataFrame, model: str | None = None) -> Moments:
    """Score of a model with its standard error, split into prompt difficulty and luck.

    Parameters
    ----------
    generations : Generations or pandas.DataFrame
        A DataFrame is read by `Generations.from_frame`.
    model : str, optional
        May be left out where there is one model.

    Returns
    -------
    Moments
        What cannot be known is NaN, and ``reason`` says why.

    Raises
    ------
    Refusal
        If there are several models and none is named.
    DataError
        If the table is malformed or there is no such model.

    Notes
    -----
    With n prompts and s2 the sample variance (n - 1) of their means p_hat_i,

    - mu is the mean of p_hat_i, also for unequal k_i;
    - the squared standard error is s2 / n, whatever k_i: what the `stderr` of Inspect gives
      with several epochs;
    - sigma^2 = s2 - mean of v_i, v_i an unbiased estimate of the sampling variance of p_hat_i:
      p_hat_i (1 - p_hat_i) / (k_i - 1), and for prompts with one generation the mean over the
      others of p_hat_i (1 - p_hat_i) k_i / (k_i - 1), at most what their own share correct
      allows, and ``reason`` says so. The first kind assumes nothing on k_i; the
      second that prompts with one generation are like the others. Where sampling stopped at an
      outcome (``informative_k``) neither holds: p_hat_i is then the share of the generations before
      it, which is unbiased, and sigma is not identified;
    - between = sigma^2 / n and within = s2 / n - sigma^2 / n, which for equal k estimates
      (mu - mu^2 - sigma^2) / (n k) (Lemma 2.1 of [1]_).

    With k = 1 everywhere sigma is not identified; mu and its standard error are.

    With a ``prompt_group`` the squared standard error is G / (G - 1) sum_g (sum of p_hat_i - mu
    over the prompts of g)^2 / n^2, over G groups [2]_. Prompts that are each a group of their own
    give s2 / n. ``within`` stays, and ``between`` is the rest.

    References
    ----------
    .. [1] Zhang, Cai, Chen (2025). Beyond the Singular: Revealing the Value of Multiple
       Generations in Benchmark Evaluation. arXiv:2502.08943.
    .. [2] Miller (2024). Adding Error Bars to Evals. arXiv:2411.00640.

    Examples
    --------
    >>> table = pd.DataFrame({"prompt": ["a", "b"], "n_correct": [2, 1], "k": [3, 3]})
    >>> found = moments(table)
    >>> round(found.mu, 4), round(found.standard_error, 4)
    (0.5, 0.1667)
    """
    data = as_generations(generations)
    cells = data.cells_of(model)
    p_hat, k = data.fair_share[cells], data.k[cells]
    rule = data.stopping[data.model_idx[cells[0]]]
    group, clustered = group_codes(data, cells), data.prompt_group is not None
    n = len(p_hat)
    mu = mean_of(p_hat)
    squared, why_error = reasoned_error(p_hat, group, clustered)
    sigma_squared, borrowed, why_sigma = spread(data.n_correct[cells], k)
    if rule is not None:
        sigma_squared, borrowed = math.nan, 0.0
        why_sigma = (
            f"sampling stopped once {rule.when}: mu leaves out the generation that ended a prompt, "
            "and sigma is not identified without a law (hb.difficulty.fit)"
        )
    once, why_borrowed = int((k == 1).sum()), ""
    if borrowed > 0.0:
        why_borrowed = (
            f"sigma takes {number_of(once, 'prompt')} with one generation to be as noisy as the "
            f"others: that may move sigma^2 by {borrowed:.2g}"
        )
    within = (variance_of(p_hat) - sigma_squared) / n
    between = squared - within
    room = mu - mu * mu
    why_icc = "" if room > 0 else f"no icc: all is {'correct' if mu > 0 else 'wrong'}"
    return Moments(
        mu=mu,
        sigma=_root(sigma_squared),
        sigma_squared=sigma_squared,
        within=within,
        between=between,
        standard_error=math.sqrt(squared),
        icc=math.nan if why_icc or why_sigma else min(max(sigma_squared / room, 0.0), 1.0),
        se_floor=_root(between),
        n_prompts=n,
        n_generations=int(k.sum()),
        k=(int(k.min()), int(k.max())),
        identified=not why_sigma,
        reason="; ".join(filter(None, (why_error, why_sigma, why_borrowed, why_icc))),
        model=str(data.models[data.model_idx[cells[0]]]),
        clustered=clustered,
        n_groups=int(group.max()) + 1,
        borrowed=borrowed,
    )


def moments_table(generations: Generations | pd.DataFrame, prob: float = 0.95) -> pd.DataFrame:
    """Moments of every model.

    Parameters
    ----------
    generations : Generations or pandas.DataFrame
        A DataFrame is read by `Generations.from_frame`.
    prob : float
        Coverage of the interval in the columns ``low`` and ``high``.

    Returns
    -------
    pandas.DataFrame
        One row a model: the fields of `Moments`, ``k`` as ``k_min`` and ``k_max``.

    Examples
    --------
    >>> table = pd.DataFrame({"prompt": ["a", "b"], "n_correct": [2, 1], "k": [3, 3]})
    >>> moments_table(table)[["model", "mu", "k_min"]].to_dict("records")
    [{'model': 'model', 'mu': 0.5, 'k_min': 3}]
    """
    data = as_generations(generations)
    rows = []
    for name in data.models:
        found = moments(data, name)
        row: dict[str, Any] = {"model": found.model, "mu": found.mu}
        row["low"], row["high"] = found.interval(prob)
        row |= {key: value for key, value in asdict(found).items() if key not in row}
        row["k_min"], row["k_max"] = row.pop("k")
        rows.append({**row, "reason": row.pop("reason")})
    return pd.DataFrame(rows)


def _root(squared: float) -> float:
    """Square root; 0 where noise made the square negative, NaN of NaN."""
    return math.nan if math.isnan(squared) else math.sqrt(max(squared, 0.0))
