"""The steps of one tilt draw: law of the history's scores, then the current round."""

from collections.abc import Sequence

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy.special import expit

from hero_bayes.data.labels import Labels
from hero_bayes.estimators.gold_error import gold_weight
from hero_bayes.estimators.kernels import class_probability
from hero_bayes.estimators.prevalence_draws import draw_prevalence
from hero_bayes.estimators.score_calibration import BLOCK, Calibration

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.integer]


@njit(cache=True)
def draw_round(
    ratio: FloatArray,
    gold: FloatArray,
    exact: bool,
    group_idx: IntArray,
    at_prevalence: FloatArray,
    at_item: FloatArray,
    prevalence: FloatArray,
    item_rate: FloatArray,
) -> None:
    """Fill one draw of prevalence and item rate (group,) from uniform numbers.

    Each prevalence is drawn exactly from its posterior under a Beta(1, 1) prior, given the items'
    log-likelihood ratios, then the truth of every item. Where gold is ``exact`` it is clamped.
    """
    for g in range(prevalence.size):
        members = np.flatnonzero(group_idx == g)
        known = gold[members]
        positive, chosen = 0.0, members
        if exact:
            positive = float((known == 1.0).sum())
            chosen = members[np.isnan(known)]
        negative = members.size - positive - chosen.size
        evidence = ratio[chosen]
        m = draw_prevalence(evidence, 1.0 + positive, 1.0 + negative, at_prevalence[g])
        count = positive
        for place in range(chosen.size):
            if at_item[chosen[place]] < class_probability(evidence[place], m):
                count += 1.0
        prevalence[g] = m
        item_rate[g] = count / max(members.size, 1)


@njit(cache=True)
def draw_rounds(
    intercept: FloatArray,
    slope: FloatArray,
    score: FloatArray,
    used: NDArray[np.bool_],
    gold: FloatArray,
    gold_weight: FloatArray,
    group_idx: IntArray,
    at_prevalence: FloatArray,
    at_item: FloatArray,
    prevalence: FloatArray,
    item_rate: FloatArray,
) -> None:
    """Fill prevalence and item rate (draw, group) from uniform numbers, item by item.

    ``gold_weight`` (draw,) is the evidence of one gold label in nats, infinite where gold is exact.
    """
    exact = not np.isfinite(gold_weight).any()
    for d in range(intercept.size):
        ratio = np.where(used, intercept[d] + slope[d] * score, 0.0)
        if not exact:
            for i in range(gold.size):
                if gold[i] == 1.0:
                    ratio[i] += gold_weight[d]
                elif gold[i] == 0.0:
                    ratio[i] -= gold_weight[d]
        draw_round(
            ratio, gold, exact, group_idx, at_prevalence[d], at_item[d], prevalence[d], item_rate[d]
        )


def dealt(weight: FloatArray, n_draws: int) -> IntArray:
    """Whole numbers that sum to ``n_draws`` in proportion to the weights (largest remainder)."""
    exact = weight * n_draws
    count = np.floor(exact).astype(np.int64)
    order = np.argsort(-(exact - count), kind="stable")
    count[order[: n_draws - count.sum()]] += 1
    return count


def interleaved(sizes: Sequence[int]) -> IntArray:
    """Order in which parts of these sizes, one after the other, take turns."""
    turn = np.concatenate([np.arange(size) for size in sizes])
    return np.argsort(turn, kind="stable")


def law_of_history(
    calibration: Calibration, score: FloatArray, group_idx: IntArray, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Evidence at score 0 of each draw, and the prevalence of each history group.

    Parameters
    ----------
    calibration : Calibration
        Draws of the line.
    score : array (item,)
        Scores of the history items, with gold or without.
    group_idx : int array (item,)
        Position of the item's group among the calibrated ones.
    rng : numpy.random.Generator
        Draws the bootstrap weights.

    Returns
    -------
    tuple of array
        (draw,) and (draw, group).

    Notes
    -----
    With w ~ Dirichlet(1, ..., 1) over a group's items, q_g = sum w expit(alpha_g + beta s) and
    log f1(s)/f0(s) = alpha_g + log((1 - q_g)/q_g) + beta s. Groups share f1 and f0, so that their
    constants estimate one number; they are averaged in proportion to gold's information on each
    alpha_g.
    """
    n_draws, n_groups = calibration.intercept.shape
    log_odds, prevalence = np.empty((2, n_draws, n_groups))
    block = max(1, BLOCK // max(score.size, 1))
    for begin in range(0, n_draws, block):
        rows = slice(begin, begin + block)
        slope = calibration.slope[rows]
        weight = rng.standard_exponential((slope.size, score.size))
        for g in range(n_groups):
            chosen = group_idx == g
            line = calibration.intercept[rows, g][:, None] + slope[:, None] * score[chosen]
            positive = (weight[:, chosen] * expit(line)).sum(axis=1)
            negative = (weight[:, chosen] * expit(-line)).sum(axis=1)
            log_odds[rows, g] = np.log(positive) - np.log(negative)
            prevalence[rows, g] = positive / (positive + negative)
    share = calibration.information / calibration.information.sum()
    return (calibration.intercept - log_odds) @ share, prevalence


def current_draws(
    intercept: FloatArray,
    slope: FloatArray,
    score: FloatArray,
    used: NDArray[np.bool_],
    current: Labels,
    rng: np.random.Generator,
    gold_error: FloatArray | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Prevalence and item rate (draw, group) given the lines of each draw.

    ``gold_error`` (draw,) is P(gold != truth); None where gold is exact.
    """
    error = np.zeros(slope.size) if gold_error is None else gold_error
    prevalence, item_rate = np.empty((2, slope.size, current.n_groups))
    block = max(1, BLOCK // max(current.n_items, 1))
    for begin in range(0, slope.size, block):
        rows = slice(begin, begin + block)
        n_rows = slope[rows].size
        draw_rounds(
            intercept[rows],
            slope[rows],
            score,
            used,
            current.gold,
            gold_weight(error[rows]),
            current.group_idx,
            rng.random((n_rows, current.n_groups)),
            rng.random((n_rows, current.n_items)),
            prevalence[rows],
            item_rate[rows],
        )
    return prevalence, item_rate
