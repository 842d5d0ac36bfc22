"""Simulation-based calibration: ranks of true parameters among posterior draws."""

import json
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
import pymc as pm
import xarray as xr
from numpy.typing import NDArray

from hero_bayes.calibration.design import Design, tables
from hero_bayes.calibration.drawing import (
    Simulated,
    check_layers,
    draw_simulations,
    prior_draws,
    simulate_rounds,
)
from hero_bayes.calibration.running import (
    Chains,
    Outcome,
    Task,
    diagnostics,
    evenly_spaced,
    rank_among,
    run,
)
from hero_bayes.data.labels import Labels
from hero_bayes.inference.graph import LONG_DIMS
from hero_bayes.inference.resolve import build, resolve_model

__all__ = ["sbc"]

FloatArray = NDArray[np.float64]


def sbc(
    model: str | Callable[..., pm.Model] = "hero",
    n_simulations: int = 200,
    *,
    design: Design | tuple[Labels, Labels] | None = None,
    priors: Mapping[str, Any] | None = None,
    mode: str = "nuts",
    draws: int = 250,
    tune: int = 300,
    chains: int = 2,
    kept: int = 100,
    truth_model: str | Callable[..., pm.Model] | None = None,
    random_seed: int,
    jobs: int = 1,
    progressbar: bool = True,
) -> xr.DataTree:
    """Ranks of prior draws among the posterior draws that their own labels lead to.

    If the model and the sampler are right, every rank is uniform. It is about the joint posterior:
    a cut posterior is no posterior of one model, and gets :func:`coverage` instead.

    Parameters
    ----------
    model : str or callable
        A name in ``hero_bayes.models.MODELS`` or a factory, with sensitivity and specificity by
        labeler.
    n_simulations : int
        Refits.
    design : Design, or two Labels, optional
        Who labels what and which items carry gold; labels and gold of given tables are replaced.
    priors : mapping, optional
        Keyword arguments of the factory.
    mode : {"nuts", "laplace"}
    draws, tune, chains : int
        Length of every refit.
    kept : int
        Draws kept of each, evenly spaced, so that they are close to independent.
    truth_model : str or callable, optional
        The model whose prior gives the truth, where it is not ``model``: a check of the check.
    random_seed : int
    jobs : int
        Worker processes; the result does not depend on it.
    progressbar : bool

    Returns
    -------
    xarray.DataTree
        ``pit`` and ``rank`` (simulation, ...) of every free variable, of sensitivity and
        specificity, and of ``item_rate``; ``truth``; ``diagnostics``. ``redrawn`` in the attributes
        counts simulations without gold of both classes, which were drawn anew.

    Notes
    -----
    The rank is the number of kept draws below the truth, ties broken at random, an integer in
    0..L. PIT = (rank + U)/(L + 1) with U uniform is uniform if the ranks are [1]_.

    References
    ----------
    .. [1] Talts, S. et al. (2018). Validating Bayesian inference algorithms with simulation-based
       calibration. arXiv:1804.06788
    """
    name, factory = resolve_model(model)
    base = tables(design or Design()) if not isinstance(design, tuple) else design
    graph = build(factory, *base, dict(priors or {}))
    source = graph
    if truth_model is not None:
        source = build(resolve_model(truth_model)[1], *base, dict(priors or {}))
    check_layers(source)
    simulations, redrawn = prior_simulations(source, base, n_simulations, random_seed)
    names = ranked_variables(graph)
    length = Chains(draws, tune, chains)
    task = Task(factory, dict(priors or {}), "joint", mode, base, length, names, kept)
    title = f"SBC of {name}"
    found = run(task, simulations, _ranks, jobs=jobs, progressbar=progressbar, name=title)
    tree = _tree(found, simulations, graph, names, kept, random_seed)
    tree.attrs = {
        "study": "sbc",
        "model": name,
        "posterior": "joint",
        "mode": mode,
        "n_simulations": n_simulations,
        "kept_draws": kept,
        "redrawn": redrawn,
        "random_seed": random_seed,
        "design": json.dumps(vars(design or Design()) if not isinstance(design, tuple) else {}),
    }
    return tree


def prior_simulations(
    model: pm.Model, base: tuple[Labels, Labels], n_simulations: int, random_seed: int
) -> tuple[list[Simulated], int]:
    """Simulations at parameters drawn from the model's prior."""
    labelers = [str(name) for name in model.coords["labeler"]]
    pool: list[dict[str, FloatArray]] = []

    def next_values(attempt: int) -> dict[str, FloatArray]:
        if attempt >= len(pool):
            pool.extend(prior_draws(model, n_simulations, random_seed + 7919 * (len(pool) + 1)))
        return pool[attempt]

    make = partial(simulate_rounds, labelers=labelers, base=base)
    return draw_simulations(
        next_values,
        lambda values, rng: make(values, rng=rng),
        n_simulations,
        random_seed,
    )


def ranked_variables(model: pm.Model) -> tuple[str, ...]:
    """Free variables, rates by labeler, and the share of positive items."""
    names = [rv.name for rv in model.free_RVs]
    rates = ("sensitivity", "specificity", "current_sensitivity", "current_specificity")
    names += [n for n in rates if n in model.named_vars and n not in names]
    short = [n for n in names if not LONG_DIMS & set(model.named_vars_to_dims.get(n, ()))]
    return (*short, "item_rate")


def _ranks(tree: xr.DataTree, simulation: Simulated, task: Task) -> Outcome:
    """Ranks of the truth, ties broken at random."""
    rng = np.random.default_rng([simulation.seed, 1])
    posterior, out = tree["posterior"].to_dataset(), {}
    for name in task.names:
        draws, truth = evenly_spaced(posterior[name], task.kept), simulation.truth[name]
        out[name] = rank_among(draws, truth, rng)
    return out


def _tree(
    found: Mapping[str, FloatArray],
    simulations: list[Simulated],
    model: pm.Model,
    names: tuple[str, ...],
    kept: int,
    random_seed: int,
) -> xr.DataTree:
    """Ranks, PITs, truth and diagnostics as one tree."""
    rng = np.random.default_rng([random_seed, 2])
    known = {**model.named_vars_to_dims, "item_rate": ("group",)}
    dims = {name: ("simulation", *known.get(name, ())) for name in names}
    used = {dim for value in dims.values() for dim in value[1:]}
    coords: dict[str, Any] = {dim: list(model.coords[dim]) for dim in used}
    coords["simulation"] = np.arange(len(simulations))
    ranks = {name: (dims[name], found[name].astype(np.int64)) for name in names}
    pit = {
        name: (dims[name], (found[name] + rng.random(found[name].shape)) / (kept + 1))
        for name in names
    }
    truth = {name: (dims[name], np.stack([s.truth[name] for s in simulations])) for name in names}
    return xr.DataTree.from_dict(
        {
            "pit": xr.Dataset(pit, coords=coords),
            "rank": xr.Dataset(ranks, coords=coords),
            "truth": xr.Dataset(truth, coords=coords),
            "diagnostics": diagnostics(found),
        }
    )
