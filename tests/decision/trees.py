"""Fits made by hand: given draws, with what the gate reads."""

import json

import numpy as np
import pandas as pd
import xarray as xr
from scipy import stats

from hero_bayes.data.labels import Labels
from hero_bayes.estimators.score import clamp_gold
from hero_bayes.inference.kernels import draw_prevalence


def tree(rates, groups=("current",), arms=None, importance_draws=1e9, **attrs):
    """A fit by exact draws; ``rates`` are (chain, draw, group) by metric."""
    dims = ("chain", "draw", "group")
    posterior = xr.Dataset(
        {name: (dims, np.asarray(values)) for name, values in rates.items()},
        coords={"group": list(groups)},
    )
    constant = xr.Dataset({"arm": ("group", list(arms or groups))}, coords={"group": list(groups)})
    made = xr.DataTree.from_dict({"posterior": posterior, "constant_data": constant})
    made.attrs = {
        "mode": "exact",
        "model": "by hand",
        "importance_draws": importance_draws,
        **attrs,
    }
    return made


def beta_quantiles(positive, negative, size=4000, chains=4):
    """Draws (chain, draw) of Beta(1 + positive, 1 + negative), equally spaced in probability."""
    at = (np.arange(size) + 0.5) / size
    values = stats.beta(1 + positive, 1 + negative).ppf(at)
    # Dealt in random order, so that chains agree and draws are not a trend.
    return np.random.default_rng(0).permutation(values).reshape(chains, -1)


def beta_fit(positive, negative, **attrs):
    """The fit of a round whose truths are all known: the Beta posterior, as exact quantiles."""
    return tree({"prevalence": beta_quantiles(positive, negative)[..., None]}, **attrs)


def round_of(truth, prompts=None, arms=("A", "B"), labels=None, gold=True):
    """Labels of one round from truths (arm, prompt); one labeler, or ``labels`` (item, labeler)."""
    n_arms, n = truth.shape
    names = [f"{arm}{k}" for arm in arms for k in range(n)]
    items = pd.DataFrame({"item": names, "arm": np.repeat(list(arms), n)})
    items["prompt"] = np.tile(np.arange(n), n_arms) if prompts is None else prompts
    if gold:
        items["gold"] = truth.ravel()
    given = truth.reshape(-1, 1) if labels is None else labels
    verdicts = pd.DataFrame(
        {
            "item": np.repeat(names, given.shape[1]),
            "labeler": np.tile(np.arange(given.shape[1]), given.shape[0]),
            "label": given.ravel(),
        }
    )
    return Labels.from_frames(verdicts, items)


def known_fit(current, log_ratio, rng, draws=500, prior=(1.0, 1.0)):
    """The exact posterior of a round given log-likelihood ratios (item); gold is clamped."""
    groups = current.groups("current")
    clamped = clamp_gold(log_ratio, current.gold)
    rates = np.empty((1, draws, len(groups)))
    for g in range(len(groups)):
        own = clamped[current.group_idx == g]
        a, b = prior[0] + (own == np.inf).sum(), prior[1] + (own == -np.inf).sum()
        unknown = own[np.isfinite(own)]
        rates[0, :, g] = [draw_prevalence(unknown, a, b, u) for u in rng.random(draws)]
    odds = np.log(rates) - np.log1p(-rates)
    dims = ("chain", "draw", "item")
    made = tree({"prevalence": rates}, groups, current.group_arm, random_seed=1)
    made["evidence"] = xr.DataTree(
        xr.Dataset(
            {
                "log_likelihood_ratio": (dims, np.tile(log_ratio, (1, draws, 1))),
                "prior_log_odds": (dims, odds[..., current.group_idx]),
                "gold": ("item", current.gold),
            },
            coords={"draw": np.arange(draws), "item": current.items.astype(str)},
        )
    )
    made.attrs["current_fingerprint"] = current.fingerprint
    made.attrs["priors"] = json.dumps({"prevalence_prior": prior})
    return made
