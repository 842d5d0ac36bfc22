"""Rates of new prompts where items share prompts: what the spread of prompts adds."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from hero_bayes.data.labels import Labels
from hero_bayes.data.prompts import prompt_clusters
from hero_bayes.estimators import kernels
from hero_bayes.estimators.gold_error import BLOCK
from hero_bayes.estimators.score import clamp_gold, interior
from hero_bayes.estimators.tilt_parts import CELL_WIDTH, ITEM_LIMIT

__all__ = [
    "design_effect",
    "dirichlet",
    "rate_by_prompt",
    "rates_by_prompt",
]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.integer]
#: Beta parameters of a rate with a flat prior.
FLAT = (1.0, 1.0)


def design_effect(psi: FloatArray, cluster_idx: IntArray) -> float:
    """How many times the variance of a sum over items is that of unrelated items; at least 1.

    Scores are not centred: where all are alike, prompts are taken to be alike all through.
    """
    total = np.bincount(cluster_idx, weights=psi)
    return max(float(total @ total) / max(float(psi @ psi), 1e-300), 1.0)


def dirichlet(
    size: int,
    rng: np.random.Generator,
    cluster_idx: IntArray | None,
    chosen: IntArray | None = None,
) -> FloatArray:
    """Weights of items that sum to 1: Dirichlet(1, ..., 1) over items, or one weight a cluster.

    ``cluster_idx`` may be of more items, of which some are ``chosen``; others draw along.
    """
    if cluster_idx is None:
        draws = rng.exponential(size=size)
    else:
        draws = rng.exponential(size=int(cluster_idx.max(initial=-1)) + 1)[cluster_idx]
        draws = draws if chosen is None else draws[chosen]
    return np.asarray(draws / draws.sum())


def in_cells(log_ratio: FloatArray, weight: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Of many items: mean evidence and whole weight of those of nearly equal evidence."""
    if log_ratio.size <= ITEM_LIMIT:
        return log_ratio, weight
    known = np.isinf(log_ratio)
    value, of_value = log_ratio[~known], weight[~known]
    cell = np.floor(value / CELL_WIDTH).astype(np.int64)
    cell -= cell.min(initial=0)
    whole = np.bincount(cell, weights=of_value)
    held = whole > 0
    mean = np.bincount(cell, weights=of_value * value)[held] / whole[held]
    of_gold = [weight[log_ratio == end].sum() for end in (np.inf, -np.inf)]
    return np.concatenate([mean, [np.inf, -np.inf]]), np.concatenate([whole[held], of_gold])


def rate_by_prompt(
    log_ratio: FloatArray,
    weight: FloatArray,
    cluster_idx: IntArray,
    rate: float,
    prior: tuple[float, float],
    rng: np.random.Generator,
) -> float:
    """One draw of a rate, prompts weighted at random.

    Parameters
    ----------
    log_ratio : array (item,)
        Evidence of each item; gold is +inf or -inf.
    weight : array (item,)
        Exponential weight of the item's prompt.
    cluster_idx : int array (item,)
        The prompt.
    rate : float
        A draw of the rate as if items were unrelated; where the design effect is found.
    prior : tuple of float
        Beta parameters.
    rng : numpy.random.Generator
        Draws the prior's weights.

    Notes
    -----
    The root of the weighted score equation: the Bayesian bootstrap over prompts of the estimate
    that takes items as unrelated, which relations within a prompt do not bias. Its variance is the
    sandwich, clustered by prompt, however weak the labels. The prior enters as one item of either
    class with Gamma weights, times the design effect: as many prompts are known as there are items
    over it. Where truths are known and each prompt has one item, the draw is exactly
    Beta(a + sum y, b + n - sum y).
    """
    psi = np.asarray(kernels.psi_array(log_ratio, interior(rate, log_ratio.size)))
    added = design_effect(psi, cluster_idx) * rng.standard_gamma(prior)
    log_ratio, weight = in_cells(log_ratio, weight)
    weights = np.concatenate([weight, added])
    evidence = np.concatenate([log_ratio, [np.inf, -np.inf]])
    return float(kernels.score_root(evidence, weights / weights.sum(), 0.0))


def rates_by_prompt(
    log_ratio_at: Callable[[IntArray], FloatArray],
    rates: FloatArray,
    current: Labels,
    gold: FloatArray,
    rng: np.random.Generator,
    prior: tuple[float, float] = FLAT,
) -> FloatArray:
    """Draws of the rates (draw, group) with the spread of prompts, where a group repeats prompts.

    Parameters
    ----------
    log_ratio_at : callable
        From positions of draws to their evidence (draw, item).
    rates : array (draw, group)
        Draws as if items were unrelated. They are handed back where no prompt repeats.
    current : Labels
    gold : array (item,)
        The truth where it is known, else NaN.
    rng : numpy.random.Generator
    prior : tuple of float
        Beta parameters of a rate.
    """
    cluster_idx = prompt_clusters(current)
    if cluster_idx is None:
        return rates
    n_clusters = int(cluster_idx.max()) + 1
    members = [np.flatnonzero(current.group_idx == g) for g in range(current.n_groups)]
    out = np.empty_like(rates)
    block = max(1, BLOCK // max(current.n_items, 1))
    for begin in range(0, len(rates), block):
        draw_idx = np.arange(begin, min(begin + block, len(rates)))
        for d, row in zip(draw_idx, log_ratio_at(draw_idx), strict=True):
            evidence = clamp_gold(row, gold)
            weight = rng.standard_exponential(n_clusters)[cluster_idx]
            for g, own in enumerate(members):
                out[d, g] = rate_by_prompt(
                    evidence[own], weight[own], cluster_idx[own], float(rates[d, g]), prior, rng
                )
    return out
