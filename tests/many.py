"""Several generations per prompt and fits of them, made by hand."""

import numpy as np
import pandas as pd
import xarray as xr

from hero_bayes.data.generations import Generations


def from_counts(n_correct, k, **columns):
    """One model; ``columns`` may hold model, prompt or prompt_group."""
    n_correct = np.asarray(n_correct)
    table = {"prompt": np.arange(len(n_correct)), "n_correct": n_correct}
    return Generations.from_frame(pd.DataFrame({**table, "k": k, **columns}))


def from_outcomes(outcomes, run=None, **columns):
    """A (prompt, generation) table of 0, 1 and NaN; ``run`` names its columns if they are runs."""
    outcomes = np.asarray(outcomes, dtype=float)
    n, k = outcomes.shape
    table = pd.DataFrame(
        {
            "prompt": np.repeat(np.arange(n), k),
            "generation": np.tile(np.arange(k), n),
            "correct": outcomes.ravel(),
            **columns,
        }
    )
    if run is not None:
        table["run"] = np.tile(np.asarray(run), n)
    return Generations.from_frame(table)


def beta_fit(mu, icc, p_correct=None, model=("m",)):
    """A fit with Beta law; mu and icc (draw, model), p_correct (draw, prompt) of every model."""
    mu, icc = (np.asarray(x, dtype=float).reshape(-1, len(model)) for x in (mu, icc))
    variables = {"mu": mu, "icc": icc, "sigma": np.sqrt(mu * (1 - mu) * icc)}
    return _fit("beta", variables, p_correct, model)


def normal_fit(location, scale, p_correct=None, model=("m",)):
    """A fit with logit-normal law; its moments by brute force."""
    location, scale = (np.asarray(x, float).reshape(-1, len(model)) for x in (location, scale))
    nodes, weights = np.polynomial.hermite_e.hermegauss(180)
    p = 1 / (1 + np.exp(-(location[..., None] + scale[..., None] * nodes)))
    weights = weights / weights.sum()
    mu = p @ weights
    variance = p**2 @ weights - mu**2
    variables = {"location": location, "scale": scale, "mu": mu, "sigma": np.sqrt(variance)}
    variables["icc"] = variance / (mu * (1 - mu))
    return _fit("logit_normal", variables, p_correct, model)


def _fit(shape, variables, p_correct, model):
    posterior = xr.Dataset(
        {name: (("chain", "draw", "model"), x[None]) for name, x in variables.items()},
        coords={"model": list(model)},
    )
    if p_correct is None:
        p_correct = np.full((posterior.sizes["draw"], 2), 0.5)
    p_correct = np.tile(np.asarray(p_correct, dtype=float), (1, len(model)))
    cells = p_correct.shape[1] // len(model)
    prompts = xr.Dataset(
        {"p_correct": (("chain", "draw", "cell"), p_correct[None])},
        coords={
            "cell_model": ("cell", np.repeat(list(model), cells)),
            "cell_prompt": ("cell", np.tile([str(i) for i in range(cells)], len(model))),
        },
    )
    tree = xr.DataTree.from_dict({"posterior": posterior, "prompts": prompts})
    tree.attrs["shape"] = shape
    return tree
