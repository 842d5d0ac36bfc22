"""Rates of arms that answered the same prompts: prompts resampled jointly."""

import json
from dataclasses import dataclass

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from hero_bayes.data.labels import Labels
from hero_bayes.errors import DataError
from hero_bayes.inference.truth import posterior_truth

__all__ = [
    "ItemsOfArms",
    "check_current",
    "items_of_arms",
    "paired_rates",
    "resampled",
    "with_spread",
]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

#: Resampled rates whose sd is smaller than the fit's by more than this share lack something.
NARROWER = 0.1
#: Beta parameters of the prevalence where the fit was given none.
FLAT = (1.0, 1.0)


@dataclass(frozen=True)
class ItemsOfArms:
    """The items of the compared arms.

    Attributes
    ----------
    item_idx : int64 array (item)
        Positions among the current items.
    arm_idx, prompt_idx : int64 array (item)
        Arm and prompt of each; an item without a prompt id is a prompt of its own.
    n_shared : int
        Prompts that at least two arms answered.
    """

    item_idx: IntArray
    arm_idx: IntArray
    prompt_idx: IntArray
    n_shared: int


def items_of_arms(current: Labels, groups: list[str]) -> ItemsOfArms:
    """Items of the groups by arm and prompt."""
    names = current.groups("current")
    place = np.array([groups.index(name) if name in groups else -1 for name in names])
    arm_idx = place[current.group_idx]
    item_idx = np.flatnonzero(arm_idx >= 0)
    own = np.full(current.n_items, None) if current.prompt is None else current.prompt
    code = pd.factorize(own[item_idx])[0].astype(np.int64)  # -1 for items without a prompt
    alone = code < 0
    code[alone] = code.max(initial=-1) + 1 + np.arange(int(alone.sum()))
    seen = pd.DataFrame({"prompt": code, "arm": arm_idx[item_idx]}).drop_duplicates()
    n_shared = int((seen["prompt"].value_counts() > 1).sum())
    return ItemsOfArms(item_idx, arm_idx[item_idx].astype(np.int64), code, n_shared)


def check_current(fit: xr.DataTree, current: Labels) -> None:
    """Whether the current table is the fitted one.

    Raises
    ------
    DataError
        If its fingerprint differs, or the fit has none.
    """
    recorded = fit.attrs.get("current_fingerprint")
    if recorded != current.fingerprint:
        raise DataError(
            f"the current table is not the one this fit was made from (fingerprint "
            f"{current.fingerprint[:12]}, the fit has {str(recorded)[:12]}); pass the same Labels, "
            "or fit again"
        )


def prior_of_prevalence(fit: xr.DataTree) -> tuple[float, float]:
    """Beta parameters of the prevalence that the fit was given; flat where it was given none."""
    given = json.loads(str(fit.attrs.get("priors", "{}"))).get("prevalence_prior", FLAT)
    if not isinstance(given, list | tuple):
        return FLAT  # a prior that is no pair of numbers is not written down as one
    return float(given[0]), float(given[1])


def paired_rates(
    chance: FloatArray,
    items: ItemsOfArms,
    n_arms: int,
    prior: tuple[float, float],
    rng: np.random.Generator,
) -> FloatArray:
    """Rates of arms (draw, arm) over resampled prompts.

    Parameters
    ----------
    chance : array (draw, item)
        P(y_i = 1) of the items of ``items`` at every draw.
    items : ItemsOfArms
    n_arms : int
    prior : tuple of float
        Beta parameters of a rate.
    rng : numpy.random.Generator

    Notes
    -----
    At every draw: y_i ~ Bernoulli(chance_i), one standard exponential weight for each prompt, which
    all its items carry in all arms (Bayesian bootstrap), and the weighted share of y in each arm.
    The prior enters as two more prompts of average size in each arm, one with y = 1, one with
    y = 0, with Gamma weights. With one item a prompt in each arm the rate of an arm is then exactly
    Beta(a + sum y, b + n - sum y): a Gibbs step, which leaves the posterior of every single arm
    as it is, and only joins the arms.
    """
    n_prompts = int(items.prompt_idx.max()) + 1
    seen = np.unique(np.stack([items.arm_idx, items.prompt_idx]), axis=1)[0]
    size = np.bincount(items.arm_idx, minlength=n_arms)
    per_prompt = size / np.bincount(seen, minlength=n_arms)
    rates = np.empty((chance.shape[0], n_arms))
    for draw, row in enumerate(chance):
        truth = rng.random(row.size) < row
        weight = rng.standard_exponential(n_prompts)[items.prompt_idx]
        added = per_prompt * rng.standard_gamma(np.array(prior)[:, None], (2, n_arms))
        positive = np.bincount(items.arm_idx, weight * truth, n_arms) + added[0]
        total = np.bincount(items.arm_idx, weight, n_arms) + added.sum(axis=0)
        rates[draw] = positive / total
    return rates


def resampled(
    fit: xr.DataTree, current: Labels, items: ItemsOfArms, n_arms: int, random_seed: int
) -> xr.DataArray:
    """Rates (chain, draw, arm) on the draws whose evidence is kept."""
    truth = posterior_truth(fit)
    if truth.sizes["item"] != current.n_items:
        raise DataError(
            f"the fit holds evidence on {truth.sizes['item']} items, the current table has "
            f"{current.n_items}; fit again"
        )
    chance = truth.to_numpy()[..., items.item_idx]
    shape = chance.shape[:2]
    rates = paired_rates(
        chance.reshape(-1, items.item_idx.size),
        items,
        n_arms,
        prior_of_prevalence(fit),
        np.random.default_rng([random_seed, 5]),
    )
    coords = {"chain": truth["chain"].to_numpy(), "draw": truth["draw"].to_numpy()}
    return xr.DataArray(rates.reshape(*shape, n_arms), dims=("chain", "draw", "arm"), coords=coords)


def with_spread(
    resampled_rates: FloatArray, fitted: FloatArray
) -> tuple[FloatArray, NDArray[np.bool_]]:
    """Resampled rates (draw, arm), never surer than the fit's own draws, and which were widened.

    Parameters
    ----------
    resampled_rates, fitted : array (draw, arm)
        From `paired_rates`, and the fit's draws of the same rates; they may differ in number.

    Notes
    -----
    Some fits put uncertainty into the prevalence that the evidence on single items does not have
    (the labelers' rates in `auto`, where it takes them as independent). The rates of such an arm
    are mapped to the quantiles of the fit's draws; their ranks, and so what arms share, stay.
    """
    n, m = resampled_rates.shape[0], fitted.shape[0]
    error = np.sqrt(0.5 / n + 0.5 / m)
    allowed = 1.0 + max(NARROWER, 4.0 * error)
    widened = fitted.std(axis=0) > allowed * resampled_rates.std(axis=0)
    rates = resampled_rates.copy()
    for arm in np.flatnonzero(widened):
        order = np.argsort(rates[:, arm], kind="stable")
        rates[order, arm] = np.quantile(fitted[:, arm], (np.arange(n) + 0.5) / n)
    return rates, widened
