"""The rates of the current groups under changed evidence, on the random numbers of the fit."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy.special import expit, logit

from hero_bayes.data.covariates import design
from hero_bayes.data.labels import Labels
from hero_bayes.errors import Refusal
from hero_bayes.estimators.score import clamp_gold
from hero_bayes.sensitivity import kernels
from hero_bayes.sensitivity.labelers import FlatDraws

__all__ = ["CurrentGroup", "GroupRates", "current_groups"]

FloatArray = NDArray[np.float64]

#: The fit's log odds of the items and those of its covariates must agree this well.
AGREEMENT = 1e-6
#: Draws of a rate stay this far from 0 and 1 where their logit is taken.
EDGE = 1e-300


@dataclass(frozen=True)
class GroupRates:
    """Draws (draw,) of the rates of one group; ``item_rate`` only where it was asked for."""

    prevalence: FloatArray
    item_rate: FloatArray | None


@dataclass(frozen=True)
class CurrentGroup:
    """One current group with what stays the same when its evidence changes.

    Attributes
    ----------
    item_idx : int array (item of the group)
    gold : array (item of the group)
    log_ratio : array (draw, item of the group)
        Evidence of the fit, exact gold not looked at.
    offset : array (draw, item of the group)
        Log odds of an item beyond those of the group.
    prior : tuple of float
        Beta parameters of the group's rate (of expit of its intercept).
    start : array (draw,)
        Logits of the fit's draws of the rate (its intercepts).
    rank, distance : array (draw,)
        Where each draw of the fit lies in the posterior of the group's rate given the evidence: its
        CDF (-1 in the far tails), and its distance from the mode in standard deviations.
    uniform : array (draw, item of the group)
        Draws the items' truths.
    past, weight : arrays (draw, history item), or None
        With covariates: log odds of the history items beyond the intercept, and weights.
    """

    item_idx: NDArray[np.integer]
    gold: FloatArray
    log_ratio: FloatArray
    offset: FloatArray
    prior: tuple[float, float]
    start: FloatArray
    rank: FloatArray
    distance: FloatArray
    uniform: FloatArray
    past: FloatArray | None
    weight: FloatArray | None

    def rates(self, change: FloatArray | None, *, items: bool) -> GroupRates:
        """Rates after the evidence of all current items (draw, item) changed.

        Each draw keeps its place in the posterior of the rate, so that no change gives back the
        draws of the fit, and a small change small moves.
        """
        ratio = self.log_ratio if change is None else self.log_ratio + change[:, self.item_idx]
        clamped = clamp_gold(ratio, self.gold)
        x = np.empty(self.rank.size)
        place = self.rank, self.distance
        kernels.carry(clamped, self.offset, *self.prior, self.start, x, *place, False)
        rate = expit(x)
        if self.past is not None and self.weight is not None:
            rate = (self.weight * expit(x[:, None] + self.past)).sum(axis=1)
        share = kernels.item_shares(clamped, self.offset, x, self.uniform) if items else None
        return GroupRates(np.asarray(rate), share)


def current_groups(
    fit: xr.DataTree,
    draws: FlatDraws,
    history: Labels,
    current: Labels,
    wanted: Sequence[int],
    random_seed: int,
) -> dict[int, CurrentGroup]:
    """The wanted current groups of a fit, by position.

    Raises
    ------
    Refusal
        If prompts tie the items of a group together, or its covariates are not in the tables.
    """
    if "icc" in draws.posterior:
        raise Refusal(
            "the items of this fit are generations of prompts and share their chance; the sweep "
            'treats items one by one. Fit with model="hero" or "auto" for it'
        )
    regression = "intercept" in draws.posterior
    prior = (1.0, 1.0) if regression else prevalence_prior(fit)
    past = weight = None
    if regression:
        past = history_part(draws, history, current)
        rng = np.random.default_rng([random_seed, 11])
        raw = rng.standard_exponential(past.shape)
        weight = raw / raw.sum(axis=1, keepdims=True)
    found = {}
    for group in wanted:
        item_idx = np.flatnonzero(current.group_idx == group)
        ratio = draws.log_ratio[:, item_idx]
        if regression:
            x = draws.posterior["intercept"].isel(group=group).to_numpy().astype(float)
            offset = draws.prior_log_odds[:, item_idx] - x[:, None]
        else:
            rate = draws.posterior["prevalence"].isel(group=group).to_numpy()
            x = logit(np.clip(rate, EDGE, 1.0 - 1e-16))
            offset = np.zeros_like(ratio)
        rank, distance = np.empty((2, x.size))
        gold = draws.gold[item_idx]
        kernels.carry(clamp_gold(ratio, gold), offset, *prior, x, x, rank, distance, True)
        found[group] = CurrentGroup(
            item_idx=item_idx,
            gold=gold,
            log_ratio=ratio,
            offset=offset,
            prior=prior,
            start=x,
            rank=rank,
            distance=distance,
            uniform=np.random.default_rng([random_seed, 12, group]).random(ratio.shape),
            past=past,
            weight=weight,
        )
    return found


def prevalence_prior(fit: xr.DataTree) -> tuple[float, float]:
    """Beta parameters of the current rates, flat unless the fit was told otherwise."""
    given = json.loads(str(fit.attrs.get("priors", "{}"))).get("prevalence_prior", (1.0, 1.0))
    return float(given[0]), float(given[1])


def history_part(draws: FlatDraws, history: Labels, current: Labels) -> FloatArray:
    """Log odds of every history item beyond the intercept, (draw, history item).

    Raises
    ------
    Refusal
        If the fit's covariates are not numeric columns of the tables.
    """
    names = [str(name) for name in draws.posterior["covariate"].to_numpy()]
    if not set(names) <= set(history.covariates) & set(current.covariates):
        raise Refusal(
            "the sweep needs the covariates of a regression fit as numeric columns of both "
            f"tables; it has {', '.join(names[:5])}. Fit with numeric covariates, or another model"
        )
    features = design(history, current, names)
    centre, scale = features.history.mean(axis=0), features.history.std(axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    slope = draws.posterior["slope"].transpose("sample", "covariate").to_numpy()
    now = slope @ ((features.current - centre) / scale).T
    own = draws.posterior["intercept"].transpose("sample", "group").to_numpy()
    away = np.abs(own[:, current.group_idx] + now - draws.prior_log_odds)
    if float(away.max(initial=0.0)) > AGREEMENT:
        raise Refusal(
            "the log odds of the fit's items do not follow from its intercept and slope; the "
            'sweep knows the outcome layers of "hero" and "regression"'
        )
    return np.asarray(slope @ ((features.history - centre) / scale).T)
