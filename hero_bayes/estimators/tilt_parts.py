"""The steps of one tilt draw: law of the history's scores, then the current round."""

from collections.abc import Sequence

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy.special import expit, logit

from hero_bayes.data.labels import Labels
from hero_bayes.estimators.gold_error import BLOCK, gold_weight, with_gold_evidence
from hero_bayes.estimators.kernels import class_probability
from hero_bayes.estimators.prevalence_draws import draw_counted, draw_prevalence
from hero_bayes.estimators.score_calibration import Calibration

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.integer]

#: Up to so many items a round is gone through item by item; above, items of nearly equal evidence
#: are counted.
ITEM_LIMIT = 1_000
#: Items of one cell differ by less than this in their score or log ratio. The prevalence moves by
#: less than 1e-4 on the logit scale: WIDTH^2 / 24 max |p (1 - p) (1 - 2 p)| over the information.
CELL_WIDTH = 0.04


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


@njit(cache=True)
def fill_prevalences(
    ratio: FloatArray,
    gold: FloatArray,
    exact: bool,
    group_idx: IntArray,
    count: FloatArray,
    at_prevalence: FloatArray,
    prevalence: FloatArray,
) -> None:
    """Fill prevalence (draw, group) given the log ratios (draw, cell); cells sorted by group."""
    end = 0
    for g in range(prevalence.shape[1]):
        begin = end
        while end < group_idx.size and group_idx[end] == g:
            end += 1
        alpha, beta = 1.0, 1.0
        chosen = np.ones(end - begin, dtype=np.bool_)
        for cell in range(begin, end):
            if exact and not np.isnan(gold[cell]):
                chosen[cell - begin] = False
                alpha += count[cell] * gold[cell]
                beta += count[cell] * (1.0 - gold[cell])
        size = count[begin:end][chosen]
        for d in range(len(ratio)):
            evidence = ratio[d, begin:end][chosen]
            prevalence[d, g] = draw_counted(evidence, size, alpha, beta, at_prevalence[d, g])


def counted(value: FloatArray, kind: IntArray) -> tuple[FloatArray, IntArray, IntArray]:
    """Items of one kind with nearly equal values as one cell, sorted by kind and value.

    Returns the mean value of each cell, how many items it has, and one of them. Up to `ITEM_LIMIT`
    items every item is a cell of its own, in its place.
    """
    if value.size <= ITEM_LIMIT:
        return value, np.ones(value.size, dtype=np.int64), np.arange(value.size)
    place = np.floor(value / CELL_WIDTH).astype(np.int64)
    place -= place.min()
    _, first, cell, count = np.unique(
        kind * (place.max() + 1) + place,
        return_index=True,
        return_inverse=True,
        return_counts=True,
    )
    return np.bincount(cell, value) / count, count, first


def draw_cells(
    ratio: FloatArray,
    gold: FloatArray,
    exact: bool,
    group_idx: IntArray,
    count: IntArray,
    n_groups: int,
    rng: np.random.Generator,
) -> tuple[FloatArray, FloatArray]:
    """`draw_round` for rows of log ratios (draw, cell) of cells of ``count`` items each.

    Cells are sorted by group. The number of positives in a cell is binomial.
    """
    prevalence = np.empty((len(ratio), n_groups))
    at_prevalence = rng.random(prevalence.shape)
    fill_prevalences(ratio, gold, exact, group_idx, count.astype(float), at_prevalence, prevalence)
    chance = expit(ratio + logit(prevalence)[:, group_idx])
    if exact:
        chance = np.where(np.isnan(gold), chance, gold)
    positive = rng.binomial(count, chance).astype(float)
    by_group = np.stack([np.bincount(group_idx, row, n_groups) for row in positive])
    return prevalence, by_group / np.maximum(np.bincount(group_idx, count, n_groups), 1.0)


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
    alpha_g. Items with nearly equal scores share a weight: the sum of theirs, which is Gamma(n).
    """
    score, count, first = counted(score, group_idx)
    group_idx = group_idx[first]
    n_draws, n_groups = calibration.intercept.shape
    log_odds, prevalence = np.empty((2, n_draws, n_groups))
    block = max(1, BLOCK // max(score.size, 1))
    for begin in range(0, n_draws, block):
        rows = slice(begin, begin + block)
        slope = calibration.slope[rows]
        weight = rng.standard_gamma(count, (slope.size, score.size))
        for g in range(n_groups):
            chosen = group_idx == g
            line = calibration.intercept[rows, g][:, None] + slope[:, None] * score[chosen]
            positive = (weight[:, chosen] * expit(line)).sum(axis=1)
            negative = (weight[:, chosen] * expit(-line)).sum(axis=1)
            log_odds[rows, g] = np.log(positive) - np.log(negative)
            prevalence[rows, g] = positive / (positive + negative)
    share = calibration.information / calibration.information.sum()
    return (calibration.intercept - log_odds) @ share, prevalence


def kinds(labels: Labels) -> IntArray:
    """A number for each group and gold label (1, 0 or none), which sorts items by group."""
    gold = np.where(np.isnan(labels.gold), 0, 1 + (labels.gold == 1.0))
    return np.asarray(3 * labels.group_idx.astype(np.int64) + gold)


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
    many = current.n_items > ITEM_LIMIT
    value, count, first = counted(np.where(used, score, 0.0), 2 * kinds(current) + used)
    gold, group_idx, used = current.gold[first], current.group_idx[first], used[first]
    block = max(1, BLOCK // max(value.size, 1))
    for begin in range(0, slope.size, block):
        rows = slice(begin, begin + block)
        n_rows = slope[rows].size
        if many:
            ratio = intercept[rows, None] + slope[rows, None] * value
            ratio = np.where(used, ratio, 0.0)
            if gold_error is not None:
                ratio = with_gold_evidence(ratio, gold, error[rows])
            prevalence[rows], item_rate[rows] = draw_cells(
                ratio, gold, gold_error is None, group_idx, count, current.n_groups, rng
            )
            continue
        draw_rounds(
            intercept[rows],
            slope[rows],
            value,
            used,
            gold,
            gold_weight(error[rows]),
            group_idx,
            rng.random((n_rows, current.n_groups)),
            rng.random((n_rows, current.n_items)),
            prevalence[rows],
            item_rate[rows],
        )
    return prevalence, item_rate
