"""NUTS on a model's graph, started where the caller says."""

import dataclasses
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from typing import Any

import numpy as np
import pymc as pm
import xarray as xr
from numpy.typing import NDArray

from hero_bayes.inference.graph import stored_variables
from hero_bayes.inference.progress import progress
from hero_bayes.inference.unconstrained import unconstrained_point

FloatArray = NDArray[np.float64]

#: Half-width of the uniform jitter on the unconstrained start of every chain.
JITTER = 1.0


def compile_nuts(model: pm.Model) -> Any:
    """The model compiled by nutpie; its data stay replaceable."""
    import nutpie

    return nutpie.compile_pymc_model(model, freeze_model=False, var_names=stored_variables(model))


def around(flat: FloatArray) -> Callable[[int], FloatArray]:
    """Starting points of chains: the flat unconstrained point with uniform jitter, by seed."""

    def start(seed: int | None = None) -> FloatArray:
        return flat + np.random.default_rng(seed).uniform(-JITTER, JITTER, flat.size)

    return start


def sample_compiled(
    compiled: Any,
    model: pm.Model,
    start: Mapping[str, FloatArray],
    *,
    draws: int,
    tune: int,
    chains: int,
    cores: int | None,
    seed: int,
    report: Callable[[list[Any]], None] | None = None,
) -> xr.DataTree:
    """Draws of a compiled model on the data that its ``pm.Model`` holds now.

    Parameters
    ----------
    compiled : nutpie model
        What :func:`compile_nuts` returned for ``model``.
    model : pm.Model
        Its data containers replace those that were compiled in.
    start : mapping of str to array
        Starting values by variable name.
    draws, tune, chains, cores, seed : int
    report : callable, optional
        Called with the chains' progress.
    """
    import nutpie

    known = {variable.name for variable in compiled.shared_var_keys}
    values = {v.name: v.get_value() for v in model.data_vars if v.name in known}
    values |= {d: len(model.coords[d]) for d in model.coords if d in known}
    ready = compiled.with_data(**values)
    flat = unconstrained_point(model, start)
    tree: xr.DataTree = nutpie.sample(
        dataclasses.replace(ready, initial_point_func=around(flat)),
        draws=draws,
        tune=tune,
        chains=chains,
        cores=cores,
        seed=seed,
        save_warmup=False,
        progress_bar=False,
        progress_callback=report,
    )
    done = tree["posterior"].sizes["draw"]
    if done < draws:
        raise KeyboardInterrupt(f"sampling was interrupted after {done} of {draws} draws a chain")
    return tree


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
    with progress(progressbar, chains * (draws + tune)) as report:
        return sample_compiled(
            compile_nuts(model),
            model,
            start,
            draws=draws,
            tune=tune,
            chains=chains,
            cores=cores,
            seed=seed,
            report=report,
        )
