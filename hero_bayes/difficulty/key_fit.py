"""P(key wrong) of every prompt: fit of the model of wrong keys, averaged over its rates."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit, logit

from hero_bayes.difficulty.key_counts import KeyCounts
from hero_bayes.difficulty.key_model import KeyModel
from hero_bayes.difficulty.key_rates import FlagRate

__all__ = ["KeyFit", "fit_keys"]

FloatArray = NDArray[np.float64]
Held = Mapping[str, FloatArray | float]

#: Rates over which results are averaged.
GRID = np.array(
    [0.0005, 0.001, 0.003, 0.007, 0.013, 0.022, 0.035, 0.05, 0.07, 0.1, 0.14, 0.19, 0.25, 0.32, 0.4]
)
#: Log density below its highest value at which the grid ends.
NEGLIGIBLE = 12.0
TOLERANCE = 1e-8
RATES = ("fresh_rate", "popular_rate")
#: Parameters of the right answers' law, and the rate at which they are found.
RIGHT_LAW = ("ability", "icc", "loading")
NO_RATE = 1e-12
RATE_DRAWS = 4000


@dataclass(frozen=True)
class KeyFit:
    """What the model says of the keys.

    Attributes
    ----------
    p_key_wrong : float array (prompt)
    error_rate : tuple of float
        Share of wrong keys: mean and a 95 % interval.
    parameters : dict
        The mode, on the scale searched (logits of rates and icc, logs of spreads).
    evaluations : int
        Evaluations of the density.
    """

    p_key_wrong: FloatArray
    error_rate: tuple[float, float, float]
    parameters: dict[str, FloatArray]
    evaluations: int


@dataclass(frozen=True)
class Profile:
    """Weights and log odds (rate, prompt) along one rate, the other parameters at their best."""

    rate: FloatArray
    weight: FloatArray
    log_odds: FloatArray


def fit_keys(
    counts: KeyCounts,
    prior: tuple[float, float],
    look_alike: tuple[float, float],
    random_seed: int,
) -> KeyFit:
    """Fit the model and average P(key wrong) over the rate of wrong keys.

    Parameters
    ----------
    counts : KeyCounts
    prior, look_alike : tuple of float
        Beta priors of the rate of wrong keys, and of prompts that only look so.
    random_seed : int
        For the interval of the error rate.

    Returns
    -------
    KeyFit

    Notes
    -----
    Maximum a posteriori by L-BFGS. The law of right answers is fitted with all keys taken as right,
    and then held: otherwise models that are mostly wrong in the same way turn the tables, their
    answers right and most keys wrong. Along a grid of each of the two rates all other parameters
    are optimised again (a profile), so that the split between wrong keys and hard prompts, on which
    the data often say little, is not taken as known. A prompt whose key no model gave follows the
    first rate, the others follow the second one.
    """
    rate = FlagRate(prior, look_alike)
    model = KeyModel(counts, rate)
    start = _start(model)
    flat, spent = _mode(model, start, dict.fromkeys(RATES, logit(NO_RATE)))
    held = {name: model.layout.split(flat)[name].copy() for name in RIGHT_LAW}
    for name in RATES:
        model.layout.split(flat)[name][:] = model.layout.split(start)[name]
    flat, used = _mode(model, flat, held)
    spent += used
    chance = np.empty(counts.n_prompts)
    fresh = counts.fresh[: counts.n_prompts] > 0
    profiles = {}
    for name, rows in (("fresh_rate", fresh), ("popular_rate", ~fresh)):
        profile, used = _profile(model, flat, name, held)
        spent += used
        scale = model.scale_of(name)
        share = np.array([rate.wrong_share(value * scale) for value in profile.rate])
        chance[rows] = (profile.weight * share) @ expit(profile.log_odds[:, rows])
        profiles[name] = profile
    return KeyFit(
        p_key_wrong=chance,
        error_rate=_error_rate(model, profiles, np.random.default_rng(random_seed)),
        parameters={name: value.copy() for name, value in model.layout.split(flat).items()},
        evaluations=spent,
    )


def _start(model: KeyModel) -> FloatArray:
    """Ability at the score that the keys give."""
    start = model.layout.flat(0)
    model.layout.split(start)["ability"][:] = logit(np.clip(model.counts.score, 0.01, 0.99))
    return start


def _mode(model: KeyModel, start: FloatArray, fixed: Held) -> tuple[FloatArray, int]:
    low, high, start = model.bounds[0].copy(), model.bounds[1].copy(), start.copy()
    for name, value in fixed.items():
        for vector in (low, high, start):
            model.layout.split(vector)[name][:] = value
    found = minimize(
        model,
        np.clip(start, low, high),
        jac=True,
        method="L-BFGS-B",
        bounds=list(zip(low, high, strict=True)),
        options={"maxiter": 400, "ftol": TOLERANCE, "maxcor": 20},
    )
    return found.x, int(found.nfev)


def _profile(model: KeyModel, mode: FloatArray, name: str, held: Held) -> tuple[Profile, int]:
    grid = GRID[model.highest(name) >= GRID]
    centre = expit(model.layout.split(mode)[name][0])
    middle = int(np.argmin(np.abs(np.log(grid) - np.log(centre))))
    density = np.full(len(grid), -np.inf)
    odds = np.zeros((len(grid), model.counts.n_prompts))
    spent = 0
    for path in (range(middle, -1, -1), range(middle + 1, len(grid))):
        flat = mode
        for place in path:
            flat, used = _mode(model, flat, {**held, name: logit(grid[place])})
            spent += used
            density[place] = -model(flat)[0]
            odds[place] = model.log_odds(flat)
            if density[place] < density.max() - NEGLIGIBLE:
                break
    # the density is per unit of the rate; trapezoid weights on the uneven grid
    weight = np.exp(density - density.max()) * np.gradient(grid)
    return Profile(grid, weight / weight.sum(), odds), spent


def _error_rate(
    model: KeyModel, profiles: dict[str, Profile], rng: np.random.Generator
) -> tuple[float, float, float]:
    """Mean and 95 % interval of the share of wrong keys among all prompts."""
    draws = np.zeros(RATE_DRAWS)
    for name, profile in profiles.items():
        scale = model.scale_of(name)
        known = np.concatenate([[0.0], np.cumsum(profile.weight)])
        edges = np.concatenate(
            [[0.0], (profile.rate[1:] + profile.rate[:-1]) / 2.0, profile.rate[-1:]]
        )
        total = np.maximum(np.interp(rng.random(RATE_DRAWS), known, edges) * scale, 1e-6)
        levels = profile.rate * scale
        nearest = np.searchsorted(levels, total).clip(max=len(levels) - 1)
        uniform = rng.random(RATE_DRAWS)
        for level, value in enumerate(levels):
            rows = nearest == level
            draws[rows] += total[rows] * model.rate.draw_share(float(value), uniform[rows])
    low, high = np.quantile(draws, [0.025, 0.975])
    return float(draws.mean()), float(low), float(high)
