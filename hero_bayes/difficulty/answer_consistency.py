"""How alike the answers to a prompt are: negative entropy over clusters, with its posterior."""

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import digamma

from hero_bayes.data.generations import Generations
from hero_bayes.difficulty.answers import Cluster, clusters
from hero_bayes.difficulty.prompt_means import as_generations, check_prob, check_seed

__all__ = ["PSEUDO_COUNT", "consistency", "expected_consistency"]

#: Prior count of every seen cluster, and of the one that stands for answers not seen.
PSEUDO_COUNT = 0.5
#: Draws behind an interval, and gamma variates drawn at once.
DRAWS = 1000
AT_ONCE = 4_000_000

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
    S = sum_c p_c log p_c with natural logarithms, p_c the share of cluster c [1]_. The posterior is
    Dirichlet with 1/2 added to the count of every seen cluster and 1/2 for one cell of answers not
    seen, so that three equal answers are no proof that a fourth will be the same: their S is 0,
    with posterior mean -0.29. It speaks of the model's distribution of answers, in which all
    answers not seen count as one.

    References
    ----------
    .. [1] Zhang, W., Cai, H. and Chen, W. (2025). Beyond the Singular: Revealing the Value of
       Multiple Generations in Benchmark Evaluation. arXiv:2502.08943

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"prompt": ["a"] * 3, "correct": [1, 1, 1], "answer": ["7", "7", "7"]})
    >>> consistency(table)[["k", "n_clusters", "S", "S_mean"]].round(2).values.tolist()
    [[3.0, 1.0, 0.0, -0.29]]
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
    mean = expected_consistency(counts, owner, n_cells)
    low, high = _intervals(counts, owner, n_cells, prob, np.random.default_rng(random_seed))
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


def expected_consistency(counts: IntArray, owner: IntArray, n_cells: int) -> FloatArray:
    """Posterior mean of S in closed form.

    Parameters
    ----------
    counts, owner : int array (cluster)
        Counts of the seen clusters, and whose they are.
    n_cells : int
        Number of cells.

    Returns
    -------
    float array (cell)

    Notes
    -----
    E[sum p_c log p_c] = sum a_c / A (psi(a_c + 1) - psi(A + 1)) under Dirichlet(a), A = sum a.

    Examples
    --------
    >>> import numpy as np
    >>> expected_consistency(np.array([3]), np.array([0]), 1).round(3).tolist()
    [-0.286]
    """
    size = counts + PSEUDO_COUNT
    total = np.bincount(owner, size, minlength=n_cells) + PSEUDO_COUNT
    seen = np.bincount(owner, size * digamma(size + 1.0), minlength=n_cells)
    unseen = PSEUDO_COUNT * digamma(PSEUDO_COUNT + 1.0)
    mean: FloatArray = (seen + unseen) / total - digamma(total + 1.0)
    return mean


def _intervals(
    counts: IntArray, owner: IntArray, n_cells: int, prob: float, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Equal-tailed intervals of S by draws, once for every distinct set of counts."""
    ends = np.searchsorted(owner, np.arange(n_cells + 1))
    patterns: dict[bytes, int] = {}
    lists: list[IntArray] = []
    which = np.empty(n_cells, dtype=np.int64)
    for cell in range(n_cells):
        own = counts[ends[cell] : ends[cell + 1]]
        which[cell] = patterns.setdefault(own.tobytes(), len(lists))
        if which[cell] == len(lists):
            lists.append(own)
    tails = np.array([(1.0 - prob) / 2.0, (1.0 + prob) / 2.0])
    limits = np.empty((2, len(lists)))
    sizes = np.array([len(own) + 1 for own in lists])
    begin = 0
    while begin < len(lists):
        room = np.cumsum(sizes[begin:]) * DRAWS <= AT_ONCE
        end = begin + max(1, int(room.sum()))
        shape = np.concatenate(
            [np.append(own + PSEUDO_COUNT, PSEUDO_COUNT) for own in lists[begin:end]]
        )
        starts = np.concatenate([[0], np.cumsum(sizes[begin : end - 1])])
        draws = rng.standard_gamma(np.broadcast_to(shape, (DRAWS, len(shape))))
        total = np.add.reduceat(draws, starts, axis=1)
        # sum p log p = sum g log g / G - log G
        logs = np.add.reduceat(draws * np.log(np.maximum(draws, 1e-300)), starts, axis=1)
        limits[:, begin:end] = np.quantile(logs / total - np.log(total), tails, axis=0)
        begin = end
    low, high = limits[:, which]
    return low, np.minimum(high, 0.0)
