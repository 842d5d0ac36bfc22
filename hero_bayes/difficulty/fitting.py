"""From scored generations to posterior draws of scores and prompt difficulty."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import numpy as np
import pymc as pm
import xarray as xr
from numpy.typing import NDArray

from hero_bayes._version import __version__
from hero_bayes.data.count_table import CountTable, count_table
from hero_bayes.data.generations import Generations
from hero_bayes.difficulty.score_moments import moments
from hero_bayes.difficulty.shapes import Draw, Shape, shape_of
from hero_bayes.inference.density import Density
from hero_bayes.inference.fit import named_dataset
from hero_bayes.inference.laplace import laplace
from hero_bayes.inference.sampling import sample
from hero_bayes.inference.unconstrained import unconstrained_point

__all__ = ["fit"]

FloatArray = NDArray[np.float64]

MODES = ("nuts", "laplace")
#: Draws of P(correct) kept for every prompt, over all chains, and their number times prompts.
PROMPT_DRAWS = 1000
PROMPT_VALUES = 5_000_000
#: Log-likelihood values (draws x prompts) kept for ``az.loo``.
LOG_LIKELIHOOD_VALUES = 10_000_000
#: Draws for which counts are predicted, over all chains.
PREDICTED_DRAWS = 100
#: Starting values of mean score and icc stay inside these limits.
LIMITS = (0.01, 0.99)


def fit(
    generations: Generations | Any,
    shape: str = "beta",
    mode: str | None = None,
    priors: Mapping[str, Any] | None = None,
    random_seed: int | None = None,
    draws: int = 1000,
    tune: int = 1000,
    chains: int = 4,
    cores: int | None = None,
    progressbar: bool = True,
) -> xr.DataTree:
    """Posterior of each model's score, of how prompts differ, and of every prompt's P(correct).

    Parameters
    ----------
    generations : Generations or DataFrame
        One or several models on the same prompts; unequal k is fine.
    shape : {"beta", "logit_normal"}
        The law of P(correct) over prompts. Compare the two with ``az.compare({"beta": a,
        "logit_normal": b})``, which leaves out one prompt at a time.
    mode : {"nuts", "laplace"}, optional
        NUTS (default), or importance-corrected draws from the Gaussian at the mode.
    priors : mapping, optional
        ``mu_prior`` and ``icc_prior`` (Beta parameters), or ``scale_prior`` (logit_normal).
    random_seed : int, optional
        The same seed gives the same draws. Chosen and recorded when None.
    draws, tune, chains, cores, progressbar
        As in ``hb.fit``.

    Returns
    -------
    xarray.DataTree
        ``posterior``: ``mu`` (model), the score over new prompts of the same kind;
        ``mu_these_prompts`` (model), the mean P(correct) of the prompts at hand; ``sigma`` and
        ``icc`` (model), how prompts differ. ``prompts``: ``p_correct`` (chain, draw, cell), with
        ``cell_model`` and ``cell_prompt`` on ``cell``. ``log_likelihood``: ``correct`` (chain,
        draw, prompt), all models of a prompt together. ``posterior_predictive`` and
        ``observed_data``: ``n_correct`` (cell) of prompts drawn anew. What is dangerous in the data
        is said in the attribute ``notes``.

    Raises
    ------
    ValueError
        If an argument is not understood.
    DataError
        If the table is malformed.

    Notes
    -----
    Counts are Beta-Binomial [1]_ (or binomial with normal log odds), each distinct count evaluated
    once; P(correct) of a prompt is drawn afterwards given its count, in closed form. Several models
    have laws of their own; :func:`hero_bayes.difficulty.compare` pairs them by prompt. With k = 1
    throughout the data say nothing of ``icc`` and ``sigma``, which keep their prior.

    References
    ----------
    .. [1] Zhang, W., Cai, H., Chen, W. (2026). Beyond the Singular: Revealing the Value of Multiple
       Generations in Benchmark Evaluation. arXiv:2502.08943

    Examples
    --------
    >>> import hero_bayes as hb
    >>> generations = hb.datasets.load("game24_gpt4")
    >>> options = {"mode": "laplace", "random_seed": 1, "draws": 200}
    >>> fitted = hb.difficulty.fit(generations, **options)
    >>> fitted["posterior"]["mu"].mean(("chain", "draw")).round(2).values
    array([0.04, 0.07])
    """
    if not isinstance(generations, Generations):
        generations = Generations.from_frame(generations)
    law, mode = shape_of(shape), mode or "nuts"
    if mode not in MODES:
        raise ValueError(f"unknown mode {mode!r}; one of {', '.join(MODES)}")
    for name, value in (("draws", draws), ("tune", tune), ("chains", chains)):
        if value < 1:
            raise ValueError(f"{name} must be at least 1, got {value}")
    if random_seed is None:
        random_seed = int(np.random.default_rng().integers(2**31))
    counts = count_table(generations)
    model = law.factory(counts, **dict(priors or {}))
    start = law.start(*starting_moments(generations))
    seeds = np.random.SeedSequence(random_seed).spawn(2)
    if mode == "nuts":
        sampled = sample(
            model,
            start,
            draws=draws,
            tune=tune,
            chains=chains,
            cores=cores,
            seed=int(seeds[0].generate_state(1)[0]),
            progressbar=progressbar,
        )
        posterior = sampled["posterior"].to_dataset()
        statistics: xr.Dataset | None = sampled["sample_stats"].to_dataset()
        attributes: dict[str, Any] = {}
    else:
        posterior, attributes = _by_laplace(model, start, draws, chains, seeds[0])
        statistics = None
    after = after_draws(law, counts, generations, posterior, np.random.default_rng(seeds[1]))
    groups = {"posterior": posterior.assign(mu_these_prompts=after.mean_of_prompts), **after.groups}
    if statistics is not None:
        groups["sample_stats"] = statistics
    tree = xr.DataTree.from_dict(groups)
    tree.attrs = {
        "hero_bayes_version": __version__,
        "pymc_version": pm.__version__,
        "arviz_version": version("arviz"),
        "model": "prompt_difficulty",
        "shape": shape,
        "mode": mode,
        "posterior": "joint",
        "random_seed": random_seed,
        "priors": json.dumps(dict(priors or {}), default=str),
        "generations_fingerprint": generations.fingerprint,
        "n_prompts": generations.n_prompts,
        "n_generations": generations.n_generations,
        "n_missing": generations.n_missing,
        "notes": "\n".join(f.message for f in generations.findings if f.severity != "note"),
        **attributes,
    }
    return tree


def starting_moments(generations: Generations) -> tuple[FloatArray, FloatArray]:
    """Mean score and icc of every model by the method of moments, inside (0, 1)."""
    found = [moments(generations, str(name)) for name in generations.models]
    mu = np.array([m.mu for m in found])
    icc = np.array([m.icc if np.isfinite(m.icc) else 0.5 for m in found])
    return np.clip(mu, *LIMITS), np.clip(icc, *LIMITS)


def _by_laplace(
    model: pm.Model,
    start: Mapping[str, FloatArray],
    draws: int,
    chains: int,
    seed: np.random.SeedSequence,
) -> tuple[xr.Dataset, dict[str, Any]]:
    """Importance-corrected Gaussian draws, dealt out to chains."""
    density, flat = Density(model), unconstrained_point(model, start)
    found = laplace(density, flat, chains * draws, np.random.default_rng(seed))
    stored = density.stored(found.flat)
    values = {name: v.reshape(chains, draws, *v.shape[1:]) for name, v in stored.items()}
    attributes = {
        "pareto_k_hat": found.k_hat,
        "importance_draws": found.effective_draws,
        "importance_corrected": int(found.corrected),
        "hessian_positive_definite": int(found.positive_definite),
        "largest_gradient": found.largest_gradient,
    }
    return named_dataset(values, model), attributes


@dataclass(frozen=True)
class After:
    """What is computed from the draws of the law."""

    mean_of_prompts: xr.DataArray
    groups: dict[str, xr.Dataset]


def after_draws(
    law: Shape,
    counts: CountTable,
    generations: Generations,
    posterior: xr.Dataset,
    rng: np.random.Generator,
) -> After:
    """P(correct) of every prompt, log-likelihoods and predicted counts, draw by draw."""
    shape = posterior.sizes["chain"], posterior.sizes["draw"]
    n_cells, n_models = generations.k.size, generations.n_models
    kept = evenly(shape, max(1, min(PROMPT_DRAWS, PROMPT_VALUES // n_cells)))
    scored = evenly(shape, max(1, LOG_LIKELIHOOD_VALUES // generations.n_prompts))
    predicted = evenly(shape, PREDICTED_DRAWS)
    chances = np.empty((shape[0], kept.size, n_cells))
    log_likelihood = np.zeros((shape[0], scored.size, generations.n_prompts))
    replicas = np.empty((shape[0], predicted.size, n_cells), dtype=np.int64)
    mean = np.empty((*shape, n_models))
    size = np.bincount(generations.model_idx, minlength=n_models)
    values = {str(n): posterior[n].transpose("chain", "draw", ...).to_numpy() for n in posterior}
    none = CountTable(
        counts.models,
        np.arange(n_models),
        np.zeros(n_models, dtype=np.int64),
        np.zeros(n_models, dtype=np.int64),
        np.ones(n_models),
        np.empty(0, dtype=np.int64),
    )
    for chain in range(shape[0]):
        for draw in range(shape[1]):
            now: Draw = {name: value[chain, draw] for name, value in values.items()}
            p = law.prompt_chances(counts, counts.row, now, rng)
            mean[chain, draw] = np.bincount(generations.model_idx, p, n_models) / size
            if (slot := position(kept, draw)) is not None:
                chances[chain, slot] = p
            if (slot := position(scored, draw)) is not None:
                of_cell = law.log_probability(counts, now)[counts.row]
                log_likelihood[chain, slot] = np.bincount(
                    generations.prompt_idx, of_cell, generations.n_prompts
                )
            if (slot := position(predicted, draw)) is not None:
                fresh = law.prompt_chances(none, generations.model_idx, now, rng)
                replicas[chain, slot] = rng.binomial(generations.k, fresh)
    return _groups(
        generations, posterior, mean, (chances, log_likelihood, replicas), (kept, scored, predicted)
    )


def evenly(shape: tuple[int, int], most: int) -> NDArray[np.int64]:
    """Evenly spaced draws of each chain, at most ``most`` over all chains."""
    per_chain = min(shape[1], max(1, most // shape[0]))
    return np.linspace(0, shape[1] - 1, per_chain).round().astype(np.int64)


def position(kept: NDArray[np.int64], draw: int) -> int | None:
    """Where a draw is kept, or None."""
    slot = int(np.searchsorted(kept, draw))
    return slot if slot < kept.size and kept[slot] == draw else None


def _groups(
    generations: Generations,
    posterior: xr.Dataset,
    mean: FloatArray,
    arrays: tuple[FloatArray, FloatArray, NDArray[np.int64]],
    draws: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]],
) -> After:
    """Arrays with names and coordinates."""
    models = [str(name) for name in generations.models]
    prompts = np.array([str(name) for name in generations.prompts], dtype=object)
    cells = {
        "cell_model": ("cell", np.array(models, dtype=object)[generations.model_idx].astype(str)),
        "cell_prompt": ("cell", prompts[generations.prompt_idx].astype(str)),
    }
    chain = posterior["chain"].to_numpy()
    names = (("p_correct", "cell"), ("correct", "prompt"), ("n_correct", "cell"))
    groups = []
    for (name, dim), array, kept in zip(names, arrays, draws, strict=True):
        own: dict[str, Any] = cells if dim == "cell" else {"prompt": prompts.astype(str)}
        coords = {**own, "chain": chain, "draw": kept}
        groups.append(xr.Dataset({name: (("chain", "draw", dim), array)}, coords=coords))
    groups[0] = groups[0].assign(
        n_correct=("cell", generations.n_correct), k=("cell", generations.k)
    )
    if generations.prompt_group is not None:
        group = np.array([str(g) for g in generations.prompt_group])
        groups[0] = groups[0].assign_coords(cell_group=("cell", group[generations.prompt_idx]))
    observed = xr.Dataset({"n_correct": ("cell", generations.n_correct)}, coords=cells)
    of_model = xr.DataArray(
        mean,
        dims=("chain", "draw", "model"),
        coords={"chain": chain, "draw": posterior["draw"], "model": models},
    )
    of_model.attrs["description"] = "mean P(correct) of the prompts at hand"
    names_of_groups = ("prompts", "log_likelihood", "posterior_predictive")
    named = dict(zip(names_of_groups, groups, strict=True))
    return After(of_model, {**named, "observed_data": observed})
