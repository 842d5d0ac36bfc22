"""From scored generations to posterior draws of scores and prompt difficulty."""

import json
import warnings
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any

import numpy as np
import pymc as pm
import xarray as xr
from numpy.typing import NDArray

from hero_bayes._version import __version__
from hero_bayes.data.count_table import count_table
from hero_bayes.data.generations import Generations
from hero_bayes.difficulty.after import after_draws, groups_note
from hero_bayes.difficulty.prompt_means import as_generations, check_seed
from hero_bayes.difficulty.score_moments import moments
from hero_bayes.difficulty.shapes import SHAPES, shape_of
from hero_bayes.inference.density import Density
from hero_bayes.inference.fit import dealt_draws
from hero_bayes.inference.sampling import sample

__all__ = ["fit"]

FloatArray = NDArray[np.float64]

MODES = ("nuts", "laplace")
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
    shape : {"beta", "logit_normal", "auto"}
        The law of P(correct) over prompts. "auto" fits both and keeps the one that predicts prompts
        left out one at a time better (``az.loo``); the attribute ``shape`` names it.
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
        ``icc`` (model), how prompts differ by the law, and ``mu_law`` (model), the law's mean.
        ``mu`` rests on no law. ``law_check``: how far the law is from the counts, which
        ``hb.diagnose`` judges. Above 20,000 cells
        ``mu_these_prompts`` is worked out for 400 draws only, and is in ``these_prompts``.
        ``prompts``: ``p_correct`` (chain, draw, cell), with
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
    Refusal
        If all prompts of a model are in one prompt group.

    Notes
    -----
    Counts are Beta-Binomial [1]_ (or binomial with normal log odds), each distinct count evaluated
    once; P(correct) of a prompt is drawn afterwards given its count, in closed form. Several models
    have laws of their own; :func:`hero_bayes.difficulty.compare` pairs them by prompt. With k = 1
    throughout the data say nothing of ``icc`` and ``sigma``, which keep their prior.

    ``mu`` rests on the shares correct alone: Beta(m v + 1/2, m (1 - v) + 1/2), v their mean, m the
    number of coin flips it is worth by its standard error over prompts (or groups of them), with
    the tails of Student's t for few prompts; prompts that models share move their scores together.
    Everything else rests on the law: ``hb.diagnose`` fails where ``mu_law`` is far from ``mu``, or
    the counts from those that the law predicts.

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
    array([0.04, 0.08])
    """
    generations = as_generations(generations)
    if random_seed is None:
        random_seed = int(np.random.default_rng().integers(2**31))
    if shape == "auto":
        common = (mode, priors, random_seed, draws, tune, chains, cores, progressbar)
        return _best([fit(generations, name, *common) for name in SHAPES])
    law, mode = shape_of(shape), mode or "nuts"
    _check(mode, random_seed, draws=draws, tune=tune, chains=chains)
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
        rng = np.random.default_rng(seeds[0])
        posterior, attributes = dealt_draws(model, Density(model), start, (chains, draws), rng)
        statistics = None
    after = after_draws(law, counts, generations, posterior, np.random.default_rng(seeds[1]))
    groups = {"posterior": posterior.assign(after.scores), **after.groups}
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
        "notes": "\n".join(_notes(generations)),
        **attributes,
    }
    return tree


def _best(fits: Sequence[xr.DataTree]) -> xr.DataTree:
    """The fit that predicts prompts left out best, with the scores of all in ``shapes``."""
    import arviz as az

    with warnings.catch_warnings():
        # Prompts that weigh much leave a rough estimate: enough to choose by.
        warnings.filterwarnings("ignore", message="Estimated shape parameter of Pareto")
        scores = [float(az.loo(one, var_name="correct").elpd) for one in fits]
    best = fits[int(np.argmax(scores))]
    named = {str(one.attrs["shape"]): value for one, value in zip(fits, scores, strict=True)}
    best.attrs["shapes"] = json.dumps(named)
    return best


def _check(mode: str, random_seed: int, **sizes: int) -> None:
    if mode not in MODES:
        raise ValueError(f"unknown mode {mode!r}; one of {', '.join(MODES)}")
    for name, value in sizes.items():
        if value < 1:
            raise ValueError(f"{name} must be at least 1, got {value}")
    check_seed(random_seed)


def _notes(generations: Generations) -> list[str]:
    found = [one.message for one in generations.findings if one.severity != "note"]
    return found + groups_note(generations)


def starting_moments(generations: Generations) -> tuple[FloatArray, FloatArray]:
    """Mean score and icc of every model by the method of moments, inside (0, 1)."""
    found = [moments(generations, str(name)) for name in generations.models]
    mu = np.array([m.mu for m in found])
    icc = np.array([m.icc if np.isfinite(m.icc) else 0.5 for m in found])
    return np.clip(mu, *LIMITS), np.clip(icc, *LIMITS)
