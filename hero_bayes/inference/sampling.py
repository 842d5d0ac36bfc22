"""NUTS on a model's graph, started where the caller says."""

from collections.abc import Mapping
from importlib.util import find_spec

import numpy as np
import pymc as pm
import xarray as xr
from numpy.typing import NDArray

from hero_bayes.inference.graph import stored_variables
from hero_bayes.inference.progress import progress

FloatArray = NDArray[np.float64]


def sample(
    model: pm.Model,
    start: Mapping[str, FloatArray],
    *,
    draws: int,
    tune: int,
    chains: int,
    cores: int | None,
    seed: int,
    progressbar: bool,
) -> xr.DataTree:
    """Posterior draws by nutpie, or by PyMC's own NUTS where nutpie is not installed.

    Chains start around the model's initial values, with ``start`` in place of those it names,
    jittered by up to one on the unconstrained scale.
    """
    if find_spec("nutpie") is None:
        drawn: xr.DataTree = pm.sample(
            draws=draws,
            tune=tune,
            chains=chains,
            cores=cores,
            random_seed=seed,
            initvals=dict(start),
            progressbar=progressbar,
            quiet=not progressbar,
            nuts_sampler="pymc",
            var_names=stored_variables(model),
            model=model,
        )
        return drawn
    import nutpie

    with progress(progressbar, chains * (draws + tune)) as report:
        compiled = nutpie.compile_pymc_model(
            model, freeze_model=False, initial_points=dict(start), var_names=stored_variables(model)
        )
        tree: xr.DataTree = nutpie.sample(
            compiled,
            draws=draws,
            tune=tune,
            chains=chains,
            cores=cores,
            seed=seed,
            save_warmup=False,
            progress_bar=False,
            progress_callback=report,
        )
        return tree
