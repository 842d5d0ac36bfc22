"""Rates of arms that answered the same prompts: prompts resampled jointly."""

import json
from dataclasses import dataclass

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from hero_bayes.data.labels import Labels
from hero_bayes.data.prompts import prompt_codes
from hero_bayes.errors import DataError
from hero_bayes.estimators.prompt_spread import rate_by_prompt
from hero_bayes.estimators.score import clamp_gold
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
        Arm and prompt of each (or group of prompts, see `prompt_codes`); an item without one is a
        prompt of its own.
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
    code = pd.factorize(prompt_codes(current)[item_idx])[0].astype(np.int64)
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
    log_ratio: FloatArray,
    rates: FloatArray,
    items: ItemsOfArms,
    prior: tuple[float, float],
    rng: np.random.Generator,
) -> FloatArray:
    """Rates of arms (draw, arm) over resampled prompts.

    Parameters
    ----------
    log_ratio : array (draw, item)
        Evidence of the items of ``items`` at every draw; gold is +inf or -inf.
    rates : array (draw, arm)
        Rates of the arms at these draws, as if items were unrelated.
    items : ItemsOfArms
    prior : tuple of float
        Beta parameters of a rate.
    rng : numpy.random.Generator

    Notes
    -----
    At every draw one standard exponential weight for each prompt, which all its items carry in all
    arms (Bayesian bootstrap), and the root of each arm's weighted score equation, see
    `rate_by_prompt`. Truths drawn item by item would not do: they know nothing of what the
    generations of a prompt have in common, and the bootstrap would count their noise a second time.
    Where truths are known and a prompt has one item in each arm, the rate of an arm is exactly
    Beta(a + sum y, b + n - sum y): a Gibbs step, which leaves the posterior of every single arm as
    it is, and only joins the arms.
    """
    n_prompts = int(items.prompt_idx.max()) + 1
    members = [np.flatnonzero(items.arm_idx == arm) for arm in range(rates.shape[1])]
    out = np.empty_like(rates)
    for draw, row in enumerate(log_ratio):
        weight = rng.standard_exponential(n_prompts)[items.prompt_idx]
        for arm, own in enumerate(members):
            out[draw, arm] = rate_by_prompt(
                row[own], weight[own], items.prompt_idx[own], float(rates[draw, arm]), prior, rng
            )
    return out


def resampled(
    fit: xr.DataTree, current: Labels, items: ItemsOfArms, fitted: xr.DataArray, random_seed: int
) -> xr.DataArray:
    """Rates (chain, draw, arm) on the draws whose evidence is kept, beside the fit's own."""
    truth = posterior_truth(fit)
    if truth.sizes["item"] != current.n_items:
        raise DataError(
            f"the fit holds evidence on {truth.sizes['item']} items, the current table has "
            f"{current.n_items}; fit again"
        )
    evidence = fit["evidence"].to_dataset()
    log_ratio = evidence["log_likelihood_ratio"].transpose("chain", "draw", "item").to_numpy()
    known = clamp_gold(log_ratio, evidence["gold"].to_numpy())[..., items.item_idx]
    own = fitted.sel(draw=truth["draw"].to_numpy()).transpose("chain", "draw", "arm").to_numpy()
    shape, n_arms = known.shape[:2], own.shape[-1]
    rates = paired_rates(
        known.reshape(-1, items.item_idx.size),
        own.reshape(-1, n_arms),
        items,
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
