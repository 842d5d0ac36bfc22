"""Fits made by hand: given draws, with what the gate reads."""

import numpy as np
import xarray as xr
from scipy import stats


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
