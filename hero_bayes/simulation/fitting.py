"""Posterior fits inside a study: compiled once a process, refitted to every repetition."""

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from hero_bayes.errors import DataError, Refusal
from hero_bayes.simulation.options import FitOptions
from hero_bayes.simulation.simulate import Simulation

if TYPE_CHECKING:
    import xarray as xr

    from hero_bayes.inference.program import Program

__all__ = ["fitted_rate"]

DEFAULT_MODE = "nuts"


def fitted_rate(
    rounds: Simulation, method: str, options: FitOptions, random_seed: int, prob: float
) -> dict[str, float]:
    """Posterior mean and equal-tailed interval of the prevalence; missing where a model refuses.

    Parameters
    ----------
    rounds : Simulation
        The data.
    method : str
        ``fit:MODEL`` or ``fit:MODEL:MODE``.
    options : FitOptions
        Draws and so on.
    random_seed : int
        Of the sampler.
    prob : float
        Of the interval; a mode has none.
    """
    from hero_bayes.inference.exact import EXACT_MODELS

    _, model, *mode = method.split(":")
    try:
        if model in EXACT_MODELS:
            tree = _drawn(rounds, model, options, random_seed)
        else:
            tree = _fit(rounds, model, mode[0] if mode else DEFAULT_MODE, options, random_seed)
    except Refusal:
        return {"estimate": np.nan, "lower": np.nan, "upper": np.nan}
    draws = np.asarray(tree["posterior"]["prevalence"]).ravel()
    low, high = np.quantile(draws, [(1 - prob) / 2, (1 + prob) / 2])
    if draws.size == 1:
        low = high = np.nan
    return {"estimate": float(draws.mean()), "lower": float(low), "upper": float(high)}


def _drawn(rounds: Simulation, model: str, options: FitOptions, random_seed: int) -> "xr.DataTree":
    """A model without a sampler: nothing to compile."""
    from hero_bayes.inference.fit import fit

    return fit(
        rounds.history,
        rounds.current,
        model=model,
        random_seed=random_seed,
        draws=options.draws,
        chains=options.chains,
    )


def _fit(
    rounds: Simulation, model: str, mode: str, options: FitOptions, random_seed: int
) -> "xr.DataTree":
    """Refit what this process has compiled; start afresh where the labelers changed."""
    from hero_bayes.inference.fit import fit, refit

    arguments: dict[str, Any] = options.arguments()
    posterior = arguments.pop("posterior")
    arguments |= {"mode": mode, "random_seed": random_seed, "cores": 1}
    known = _programs().get((model, posterior))
    try:
        if known is None:
            known = _compile(rounds, model, posterior)
        return refit(known, rounds.history, rounds.current, **arguments)
    except DataError:
        return fit(
            rounds.history,
            rounds.current,
            model=model,
            posterior=posterior,
            progressbar=False,
            **arguments,
        )


@lru_cache(maxsize=1)
def _programs() -> "dict[tuple[str, str], Program]":
    """What this process has compiled, by model and posterior."""
    return {}


def _compile(rounds: Simulation, model: str, posterior: str) -> "Program":
    from hero_bayes.inference.program import make_program
    from hero_bayes.models import MODELS

    made = make_program(
        MODELS[model], rounds.history, rounds.current, priors={}, posterior=posterior
    )
    _programs()[(model, posterior)] = made
    return made
