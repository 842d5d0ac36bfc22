"""How alike the answers to a prompt are: negative entropy over clusters, with its posterior."""

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import betaln, digamma, gammaln, xlogy

from hero_bayes.data.generations import Generations
from hero_bayes.difficulty.answers import Cluster, clusters
from hero_bayes.difficulty.prompt_means import as_generations, check_prob, check_seed

__all__ = ["consistency"]

#: Prior of the number of answers that a model has to a prompt, evenly over these, and of the
#: concentration of the Dirichlet law over them: from a few answers to nearly equal ones.
NUMBERS = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 20, 30, 50, 100, 200, 500, 1000)
CONCENTRATIONS = (0.05, 0.2, 1.0, 5.0, 50.0)
NUMBER, CONCENTRATION = (
    np.repeat(np.array(NUMBERS, dtype=float), len(CONCENTRATIONS)),
    np.tile(CONCENTRATIONS, len(NUMBERS)),
)
#: Beta prior of the share of one common answer, the others sharing the rest.
COMMON = (1.0, 0.5)
#: Draws behind an interval.
DRAWS = 1000

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


def consistency(
    generations: Generations | pd.DataFrame,
    cluster: Cluster | None = None,
    random_seed: int = 0,
    prob: float = 0.95,
) -> pd.DataFrame:
    """How alike the answers of a model to a prompt are.

    Parameters
    ----------
    generations : Generations or DataFrame
        With answers.
    cluster : callable, optional
        Which answers are the same; see `clusters`.
    random_seed : int
        For the draws behind the intervals.
    prob : float
        Probability of the intervals.

    Returns
    -------
    DataFrame
        One row a model and prompt: ``model``, ``prompt``, ``k``, ``n_answers`` (generations with
        an answer; the others count for nothing here), ``n_clusters``; ``S``, from -log(n_answers)
        (all differ) to 0 (all alike); ``S_mean``, ``S_low``, ``S_high`` of its posterior;
        ``reason`` says why S is NaN.

    Raises
    ------
    Refusal
        If there are no answers.

    Notes
    -----
    S = sum_c p_c log p_c with natural logarithms, p_c the share of cluster c [1]_. Its posterior
    speaks of the model's distribution of answers. With even odds, the M answers have symmetric
    Dirichlet chances, or one common answer (the most frequent one seen) has a share of its own,
    Beta(1, 1/2), and M others the rest. M and the Dirichlet's concentration are averaged over by
    their fit to the counts: M from 1, where S is 0 exactly, to 1,000. Three equal answers are thus
    no proof that a fourth will be the same, and ten different ones none that there are but ten.
    The interval always reaches to the S observed. 95 % intervals cover 0.9 or more for 1 to 100
    equal answers and for a common one with a rare tail, from k = 5 on.

    References
    ----------
    .. [1] Zhang, W., Cai, H. and Chen, W. (2025). Beyond the Singular: Revealing the Value of
       Multiple Generations in Benchmark Evaluation. arXiv:2502.08943

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"prompt": ["a"] * 3, "correct": [1, 1, 1], "answer": ["7", "7", "7"]})
    >>> consistency(table)[["k", "n_clusters", "S", "S_mean"]].round(2).values.tolist()
    [[3.0, 1.0, 0.0, -0.47]]
    """
    check_seed(random_seed)
    data = as_generations(generations)
    check_prob(prob)
    codes = clusters(data, cluster)
    assert data.cell_idx is not None
    counts, owner = cluster_counts(data.cell_idx, codes)
    n_cells = len(data.k)
    n_answers = np.bincount(owner, counts, minlength=n_cells).astype(np.int64)
    share = counts / n_answers[owner]
    value = np.bincount(owner, share * np.log(share), minlength=n_cells) + 0.0
    rng = np.random.default_rng(random_seed)
    mean, low, high = _posterior(counts, owner, n_cells, prob, rng)
    low, high = np.minimum(low, value), np.maximum(high, value)
    empty = n_answers == 0
    for column in (value, mean, low, high):
        column[empty] = np.nan
    return pd.DataFrame(
        {
            "model": data.models[data.model_idx],
            "prompt": data.prompts[data.prompt_idx],
            "k": data.k,
            "n_answers": n_answers,
            "n_clusters": np.bincount(owner, minlength=n_cells),
            "S": value,
            "S_mean": mean,
            "S_low": low,
            "S_high": high,
            "reason": np.where(empty, "no generation has an answer", ""),
        }
    )


def cluster_counts(cell_idx: IntArray, codes: IntArray) -> tuple[IntArray, IntArray]:
    """Count of every cluster of every cell, and the cell it belongs to, sorted by cell and size."""
    known = codes >= 0
    width = int(codes.max(initial=0)) + 1
    joint, counts = np.unique(cell_idx[known] * width + codes[known], return_counts=True)
    owner = joint // width
    order = np.lexsort((counts, owner))
    return counts[order].astype(np.int64), owner[order].astype(np.int64)


def _posterior(
    counts: IntArray, owner: IntArray, n_cells: int, prob: float, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Mean and equal-tailed interval of S by draws, once for every distinct set of counts."""
    ends = np.searchsorted(owner, np.arange(n_cells + 1))
    tails = [(1.0 - prob) / 2.0, (1.0 + prob) / 2.0]
    known: dict[bytes, tuple[float, float, float]] = {}
    found = np.full((n_cells, 3), np.nan)
    for cell in range(n_cells):
        own = counts[ends[cell] : ends[cell + 1]]
        if not own.size:
            continue
        if (key := own.tobytes()) not in known:
            draws = consistency_draws(own, rng)
            low, high = np.quantile(draws, tails, method="closest_observation")
            known[key] = (float(draws.mean()), float(low), float(high))
        found[cell] = known[key]
    mean, low, high = np.minimum(found, 0.0).T
    return mean, low, high


def partition_log_probability(counts: IntArray) -> FloatArray:
    """Log-probability of the answers' partition, by (NUMBER, CONCENTRATION), the grid."""
    a, total = CONCENTRATION, NUMBER * CONCENTRATION
    enough = len(counts) <= NUMBER
    left = np.where(enough, NUMBER - len(counts), 0.0)
    labels = gammaln(NUMBER + 1.0) - gammaln(left + 1.0)
    size = gammaln(total) - gammaln(total + counts.sum())
    of_answer = (gammaln(a[:, None] + counts) - gammaln(a)[:, None]).sum(axis=1)
    return np.where(enough, labels + size + of_answer, -np.inf)


def consistency_draws(counts: IntArray, rng: np.random.Generator, n: int = DRAWS) -> FloatArray:
    """Draws of S given the counts of the answers seen, in rising order.

    Answers not seen share their total evenly enough to take their own S at its mean.
    """
    rest, top = counts[:-1], int(counts[-1])
    others = int(rest.sum())
    shares = COMMON[0] + top, COMMON[1] + others
    alone = partition_log_probability(rest) + betaln(*shares) - betaln(*COMMON)
    log_weight = np.concatenate([partition_log_probability(counts), alone])
    weight = np.exp(log_weight - log_weight.max())
    place = rng.choice(len(weight), n, p=weight / weight.sum())
    common, place = place >= len(NUMBER), place % len(NUMBER)
    a = CONCENTRATION[place]
    unseen = NUMBER[place] - len(rest) - np.where(common, 0, 1)
    gamma = np.column_stack(
        [
            rng.standard_gamma(a[:, None] + rest),
            np.where(common, 0.0, rng.standard_gamma(a + top)),
            np.where(unseen > 0, rng.standard_gamma(np.maximum(a * unseen, 1e-9)), 0.0),
        ]
    )
    p = gamma / np.maximum(gamma.sum(axis=1, keepdims=True), 1e-300)
    # E[S] of a symmetric Dirichlet with `unseen` cells
    inner = digamma(a + 1.0) - digamma(a * np.maximum(unseen, 1.0) + 1.0)
    value = xlogy(p, p).sum(axis=1) + p[:, -1] * inner
    q = rng.beta(*shares, n)
    mixed = xlogy(q, q) + xlogy(1.0 - q, 1.0 - q) + (1.0 - q) * value
    return np.asarray(np.where(common, mixed, value), dtype=np.float64)
