"""Simulation-based calibration of the laws of prompt difficulty."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pymc as pm
import xarray as xr
from numpy.typing import NDArray

from hero_bayes.calibration.running import evenly_spaced, rank_among
from hero_bayes.data.count_table import CountTable, every_count, no_counts
from hero_bayes.difficulty.shapes import Draw, Shape, shape_of
from hero_bayes.inference.graph import QUICK
from hero_bayes.inference.sampling import compile_nuts, sample_compiled
from hero_bayes.simulation.progress import progress

__all__ = ["sbc_difficulty"]

FloatArray = NDArray[np.float64]


def sbc_difficulty(
    shape: str | Shape = "beta",
    n_simulations: int = 200,
    *,
    n_prompts: int = 50,
    k: int = 5,
    models: Sequence[str] = ("a", "b"),
    draws: int = 250,
    tune: int = 300,
    chains: int = 2,
    kept: int = 100,
    truth_shape: str | Shape | None = None,
    random_seed: int,
    progressbar: bool = True,
) -> xr.DataTree:
    """Ranks of prior draws of score and difficulty among the draws that their counts lead to.

    Parameters
    ----------
    shape : {"beta", "logit_normal"}, or Shape
    n_simulations : int
        Refits, of one compiled model.
    n_prompts, k : int
        Prompts a model, and generations a prompt.
    models : sequence of str
    draws, tune, chains, kept
        As in :func:`hero_bayes.calibration.sbc`.
    truth_shape : {"beta", "logit_normal"}, or Shape, optional
        The law that counts are simulated from, where it is not ``shape``: a check of the check.
    random_seed : int
    progressbar : bool

    Returns
    -------
    xarray.DataTree
        ``pit`` and ``rank`` (simulation, model) of ``mu`` and ``sigma``, and of
        ``mu_these_prompts`` and ``p_first``, the P(correct) of each model's first prompt;
        ``truth``; ``diagnostics``.

    References
    ----------
    .. [1] Talts, S. et al. (2018). Validating Bayesian inference algorithms with simulation-based
       calibration. arXiv:1804.06788
    """
    law, source = shape_of(shape), shape_of(truth_shape or shape)
    name = shape if isinstance(shape, str) else "own law of"
    counts = every_count(models, k)
    model, truth_model = law.factory(counts), source.factory(counts)
    names = sorted({rv.name for rv in truth_model.free_RVs} | {"mu", "sigma"})
    names += [name for name in ("location", "scale") if name in truth_model.named_vars]
    columns = pm.draw(
        [truth_model[name] for name in names],
        draws=n_simulations,
        random_seed=random_seed,
        mode=QUICK,
    )
    compiled = compile_nuts(model)
    ranks: dict[str, list[NDArray[np.int64]]] = {}
    truths: dict[str, list[FloatArray]] = {}
    divergences = []
    with progress(progressbar, n_simulations, f"SBC of {name} difficulty") as advance:
        for simulation in range(n_simulations):
            rng = np.random.default_rng([random_seed, simulation])
            values = {
                name: np.asarray(column[simulation], dtype=float)
                for name, column in zip(names, columns, strict=True)
            }
            truth, observed = simulate(source, counts, values, n_prompts, rng)
            model["weight"].set_value(observed.weight)
            tree = sample_compiled(
                compiled,
                model,
                {},
                draws=draws,
                tune=tune,
                chains=chains,
                cores=1,
                seed=int(rng.integers(2**31)),
            )
            divergences.append(int(tree["sample_stats"]["diverging"].sum()))
            found = quantities(law, observed, tree["posterior"].to_dataset(), kept, rng)
            for name, drawn in found.items():
                ranks.setdefault(name, []).append(rank_among(drawn, truth[name], rng))
                truths.setdefault(name, []).append(truth[name])
            advance(1)
    return _tree(ranks, truths, divergences, list(models), kept, random_seed, name)


def simulate(
    source: Shape, counts: CountTable, values: Draw, n_prompts: int, rng: np.random.Generator
) -> tuple[dict[str, FloatArray], CountTable]:
    """P(correct) of prompts and their counts; everything that is true of them."""
    n_models, k = len(counts.models), counts.k_max
    model_idx = np.repeat(np.arange(n_models), n_prompts)
    p = source.prompt_chances(no_counts(counts.models), model_idx, values, rng)
    row = model_idx * (k + 1) + rng.binomial(k, p)
    weight = np.bincount(row, minlength=counts.weight.size).astype(float)
    by_model = p.reshape(n_models, n_prompts)
    truth = {
        "mu": values["mu"],
        "sigma": values["sigma"],
        "mu_these_prompts": by_model.mean(axis=1),
        "p_first": by_model[:, 0],
    }
    return truth, replace(counts, weight=weight, row=row)


def quantities(
    law: Shape, counts: CountTable, posterior: xr.Dataset, kept: int, rng: np.random.Generator
) -> dict[str, FloatArray]:
    """Evenly spaced draws (draw, model) of what is ranked."""
    names = [str(name) for name in posterior.data_vars]
    values = {name: evenly_spaced(posterior[name], kept) for name in names}
    n_models = len(counts.models)
    chances = np.stack(
        [
            law.prompt_chances(counts, counts.row, {n: v[d] for n, v in values.items()}, rng)
            for d in range(kept)
        ]
    ).reshape(kept, n_models, -1)
    return {
        "mu": values["mu"],
        "sigma": values["sigma"],
        "mu_these_prompts": chances.mean(axis=2),
        "p_first": chances[:, :, 0],
    }


def _tree(
    ranks: dict[str, list[NDArray[np.int64]]],
    truths: dict[str, list[FloatArray]],
    divergences: list[int],
    models: list[str],
    kept: int,
    random_seed: int,
    shape: str,
) -> xr.DataTree:
    """Ranks, PITs and truth as one tree."""
    rng = np.random.default_rng([random_seed, 2**20])
    coords = {"simulation": np.arange(len(divergences)), "model": models}
    dims = ("simulation", "model")
    rank = {name: np.stack(value).astype(np.int64) for name, value in ranks.items()}
    pit = {name: (value + rng.random(value.shape)) / (kept + 1) for name, value in rank.items()}
    tree = xr.DataTree.from_dict(
        {
            "pit": xr.Dataset({n: (dims, v) for n, v in pit.items()}, coords=coords),
            "rank": xr.Dataset({n: (dims, v) for n, v in rank.items()}, coords=coords),
            "truth": xr.Dataset({n: (dims, np.stack(v)) for n, v in truths.items()}, coords=coords),
            "diagnostics": xr.Dataset({"divergences": ("simulation", divergences)}),
        }
    )
    tree.attrs = {
        "study": "sbc",
        "model": f"difficulty ({shape})",
        "posterior": "joint",
        "mode": "nuts",
        "n_simulations": len(divergences),
        "kept_draws": kept,
        "random_seed": random_seed,
    }
    return tree
