"""Labeler layer ``calibrated score``: an item's labels as one number, read by what gold says of it.

Labelers may share errors in any way, since nothing is said of single labels. The score's meaning,
P(truth 1 | score), is a line on the log-odds scale or one rate a bin.
"""

from dataclasses import dataclass

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from numpy.typing import NDArray
from pytensor.tensor.variable import TensorVariable
from scipy.optimize import minimize
from scipy.special import expit, logit

from hero_bayes.data.labels import Labels
from hero_bayes.data.score_bins import ScoreBins, bin_counts, number_of_bins
from hero_bayes.data.score_table import RoundScores, ScoreTable
from hero_bayes.errors import Refusal
from hero_bayes.likelihoods.latent_class import EDGE
from hero_bayes.models.priors import mean_and_sd, positive_scale

__all__ = ["CalibrationData", "ScoreEvidence", "binned", "calibration_data", "line"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.integer]

#: Fewest gold items of each class.
FEWEST_GOLD = 2
#: The model's prevalence is kept inside these limits where a prior is centred at its logit.
PREVALENCE_LIMITS = (1e-6, 1.0 - 1e-6)


@dataclass(frozen=True)
class CalibrationData:
    """History as the calibration sees it: items that count, of groups with gold.

    Attributes
    ----------
    group_names : list of str
    prevalence : float array (group,)
        The supplying model's.
    items : list of str
    score, gold : float array (item,)
        Gold is NaN where there is none.
    group_idx : int array (item,)
        Position in ``group_names``.
    """

    group_names: list[str]
    prevalence: FloatArray
    items: list[str]
    score: FloatArray
    gold: FloatArray
    group_idx: IntArray

    @property
    def has_gold(self) -> NDArray[np.bool_]:
        """Mask over items."""
        return ~np.isnan(self.gold)

    @property
    def weight(self) -> FloatArray:
        """One over the number of items in the item's group."""
        return 1.0 / np.bincount(self.group_idx)[self.group_idx]

    @property
    def group_weight(self) -> FloatArray:
        """Share of the items in each group."""
        return np.bincount(self.group_idx) / self.group_idx.size


@dataclass(frozen=True)
class ScoreEvidence:
    """What a form of calibration yields, as tensors.

    ``history_prevalence`` (history_group); ``log_ratio`` (item) of the current items.
    """

    history_prevalence: TensorVariable
    log_ratio: TensorVariable


def calibration_data(table: ScoreTable, history: Labels) -> CalibrationData:
    """History's items whose scores count, of the groups with gold."""
    found = table.history_round(history)
    known = history.has_gold & found.used
    for truth in (0, 1):
        count = int((history.gold[known] == truth).sum())
        if count < FEWEST_GOLD:
            raise Refusal(
                f"score needs at least {FEWEST_GOLD} labeled history items with gold {truth} and "
                f"got {count}: the scores cannot be calibrated. Add expert labels to the history; "
                "some 25 of each class make the interval useful"
            )
    present = np.unique(history.group_idx[known])
    place = np.full(history.n_groups, -1)
    place[present] = np.arange(present.size)
    law = np.flatnonzero(found.used & (place[history.group_idx] >= 0))
    names = history.groups("history")
    return CalibrationData(
        group_names=[names[g] for g in present],
        prevalence=np.clip(table.group_prevalence(history)[present], *PREVALENCE_LIMITS),
        items=[str(history.items[k]) for k in law],
        score=found.score[law],
        gold=history.gold[law],
        group_idx=place[history.group_idx[law]],
    )


def _observe_gold(
    past: CalibrationData, log_odds: TensorVariable, error: TensorVariable | None
) -> None:
    """Gold of history, given the log odds of its items and how often gold is wrong."""
    gold = pm.Data("history_gold", past.gold[past.has_gold].astype(np.int8))
    known = {"observed": gold, "dims": "history_gold_item"}
    if error is None:
        pm.Bernoulli("gold", logit_p=log_odds, **known)
    else:
        pm.Bernoulli("gold", p=error + (1.0 - 2.0 * error) * pt.sigmoid(log_odds), **known)


def line(
    past: CalibrationData,
    now: RoundScores,
    intercept_sd: float,
    slope_prior: tuple[float, float],
    error: TensorVariable | None,
) -> ScoreEvidence:
    """A line in the score, an intercept by history group."""
    # As arrays: PyTensor holds a Python float constant in single precision where that is exact.
    slope_mean, slope_sd = map(np.float64, mean_and_sd("slope_prior", slope_prior))
    centre, sd = logit(past.prevalence), np.float64(positive_scale("intercept_sd", intercept_sd))
    intercept = pm.Normal("score_intercept", centre, sd, dims="history_group")
    slope = pm.Normal("score_slope", slope_mean, slope_sd)
    gold = past.has_gold
    _observe_gold(
        past,
        intercept[pm.Data("history_gold_group_idx", past.group_idx[gold])]
        + slope * pm.Data("history_gold_score", past.score[gold]),
        error,
    )
    group_idx = pm.Data("history_group_idx", past.group_idx, dims="history_item")
    weight = pm.Data("history_weight", past.weight, dims="history_item")
    log_odds = intercept[group_idx] + slope * pm.Data(
        "history_score", past.score, dims="history_item"
    )
    zeros = pt.zeros(len(past.group_names))
    positive = zeros[group_idx].inc(weight * pt.sigmoid(log_odds))
    negative = zeros[group_idx].inc(weight * pt.sigmoid(-log_odds))
    share = pm.Data("group_share", _group_share(past, sd, slope_mean, slope_sd))
    constant = ((intercept - pt.log(positive) + pt.log(negative)) * share).sum()
    used = pm.Data("score_used", now.used.astype(np.int8), dims="item")
    ratio = constant + slope * pm.Data("score", now.score, dims="item")
    history_prevalence = positive / (positive + negative)
    return ScoreEvidence(history_prevalence, pt.where(pt.eq(used, 1), ratio, 0.0))


def _group_share(
    past: CalibrationData, sd: np.float64, slope_mean: np.float64, slope_sd: np.float64
) -> FloatArray:
    """Gold's information on each intercept at the posterior mode of the line, summing to one."""
    known = past.has_gold
    s, y, group = past.score[known], past.gold[known], past.group_idx[known]
    n_groups = len(past.group_names)
    mean = np.append(logit(past.prevalence), slope_mean)
    spread = np.append(np.full(n_groups, sd), slope_sd)

    def cost(at: FloatArray) -> tuple[float, FloatArray]:
        line = at[group] + at[-1] * s
        rest = expit(line) - y
        z = (at - mean) / spread
        gradient = z / spread
        gradient[:-1] += np.bincount(group, rest, n_groups)
        gradient[-1] += rest @ s
        return float(0.5 * z @ z + (np.logaddexp(0.0, line) - y * line).sum()), gradient

    if n_groups == 1:
        return np.ones(1)
    best = minimize(cost, mean, jac=True, method="BFGS", options={"gtol": 1e-8}).x
    chance = expit(best[group] + best[-1] * s)
    information = np.bincount(group, chance * (1.0 - chance), n_groups)
    return np.asarray(information / information.sum())


def binned(
    past: CalibrationData, now: RoundScores, weight: float, error: TensorVariable | None
) -> ScoreEvidence:
    """A rate of its own for every bin of the score and history group.

    ``score_slope`` is that of the least-squares line through the items' rates.
    """
    bins = ScoreBins.at_quantiles(past.score, number_of_bins(past.gold))
    bin_idx, n_bins = bins.of(past.score), bins.n_bins
    if n_bins == 1:
        raise Refusal(
            f"all history items have the score {past.score[0]:g}: there are no bins to tell "
            "apart. Take another score"
        )
    counts = bin_counts(n_bins, bin_idx, past.gold, past.group_idx, past.prevalence, weight=weight)
    pm.modelcontext(None).add_coord("bin", bins.names)
    rate = pm.Beta("bin_rate", counts.first, counts.second, dims=("history_group", "bin"))
    inside = pt.clip(rate, EDGE, 1.0 - EDGE)
    log_odds = pt.log(inside) - pt.log1p(-inside)
    middle = past.score - past.score.mean()
    away = np.zeros_like(counts.items)
    np.add.at(away, (past.group_idx, bin_idx), middle / (middle @ bins.centre(past.score)[bin_idx]))
    pm.Deterministic("score_slope", (inside * pm.Data("slope_weight", away)).sum())
    gold = past.has_gold
    group_idx = pm.Data("history_gold_group_idx", past.group_idx[gold])
    _observe_gold(past, log_odds[group_idx, pm.Data("history_gold_bin", bin_idx[gold])], error)
    items = counts.items / counts.items.sum(axis=1, keepdims=True)
    law = pm.Data("history_bin_weight", items, dims=("history_group", "bin"))
    positive, negative = (law * inside).sum(axis=1), (law * (1.0 - inside)).sum(axis=1)
    by_group = log_odds - (pt.log(positive) - pt.log(negative))[:, None]
    ratio = (by_group * pm.Data("group_share", counts.share)).sum(axis=0)
    used = pm.Data("score_used", now.used.astype(np.int8), dims="item")
    by_item = ratio[pm.Data("score_bin", bins.of(now.score), dims="item")]
    history_prevalence = positive / (positive + negative)
    return ScoreEvidence(history_prevalence, pt.where(pt.eq(used, 1), by_item, 0.0))
