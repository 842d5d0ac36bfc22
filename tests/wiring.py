"""Prior draws in place of the sampler, so that everything after it runs in a second."""

import numpy as np
import pymc as pm
import xarray as xr

from hero_bayes.inference.graph import QUICK
from hero_bayes.inference.sampling import stored_variables


def prior_draws(model, start, *, draws, tune, chains, cores, seed, progressbar):
    """What ``hero_bayes.inference.sampling.sample`` returns, from the prior."""
    names = stored_variables(model)
    values = pm.draw(
        [model[name] for name in names], draws=chains * draws, random_seed=seed, mode=QUICK
    )
    dims = model.named_vars_to_dims
    posterior = xr.Dataset(
        {
            name: (
                ("chain", "draw", *dims.get(name, ())),
                np.reshape(value, (chains, draws, *np.shape(value)[1:])),
            )
            for name, value in zip(names, values, strict=True)
        },
        coords={
            "chain": np.arange(chains),
            "draw": np.arange(draws),
            **{d: list(model.coords[d]) for name in names for d in dims.get(name, ())},
        },
    )
    flat = np.zeros((chains, draws))
    statistics = xr.Dataset(
        {"diverging": (("chain", "draw"), flat.astype(bool)), "energy": (("chain", "draw"), flat)},
        attrs={"inference_library": "prior"},
    )
    return xr.DataTree.from_dict({"posterior": posterior, "sample_stats": statistics})
