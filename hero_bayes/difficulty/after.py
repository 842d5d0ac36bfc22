"""What follows the draws of the law: scores, P(correct) of every prompt, predicted counts."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from hero_bayes.data.count_table import CountTable, no_counts
from hero_bayes.data.generations import Generations
from hero_bayes.data.identifiers import number_of
from hero_bayes.difficulty.shapes import Draw, Shape
from hero_bayes.errors import Refusal
from hero_bayes.inference.current import kept_draws

__all__ = ["After", "after_draws", "groups_note"]

FloatArray = NDArray[np.float64]

#: Draws of P(correct) kept for every prompt, over all chains, and their number times prompts.
PROMPT_DRAWS = 1000
PROMPT_VALUES = 5_000_000
#: Log-likelihood values (draws x prompts) kept for ``az.loo``.
LOG_LIKELIHOOD_VALUES = 10_000_000
#: Draws for which counts are predicted, over all chains.
PREDICTED_DRAWS = 100
#: Above this many cells, the mean over the prompts at hand has this many draws, over all chains.
MANY_CELLS = 20_000
MEAN_DRAWS = 400
#: Weights of groups held at once, and how little shares of equal groups differ.
AT_ONCE = 5_000_000
EQUAL = 1e-12


@dataclass(frozen=True)
class After:
    """What is computed from the draws of the law.

    Attributes
    ----------
    scores : dict of str to DataArray (chain, draw, model)
        Variables to add to the posterior, or to put in the place of its own.
    groups : dict of str to Dataset
        Further groups of the fit.
    """

    scores: dict[str, xr.DataArray]
    groups: dict[str, xr.Dataset]


def groups_note(generations: Generations) -> list[str]:
    """What a fit says of prompt groups, if there are any."""
    if generations.prompt_group is None:
        return []
    groups = number_of(len(set(generations.prompt_group)), "group")
    return [
        f"prompts come in groups: mu resamples the {groups} whole; sigma, icc and mu_law are those "
        "of a law that takes prompts as unrelated"
    ]


def after_draws(
    law: Shape,
    counts: CountTable,
    generations: Generations,
    posterior: xr.Dataset,
    rng: np.random.Generator,
) -> After:
    """P(correct) of every prompt, scores, log-likelihoods and predicted counts, draw by draw."""
    shape = posterior.sizes["chain"], posterior.sizes["draw"]
    n_cells, n_models = generations.k.size, generations.n_models
    kept = kept_draws(*shape, max(1, min(PROMPT_DRAWS, PROMPT_VALUES // n_cells)))
    scored = kept_draws(*shape, max(1, LOG_LIKELIHOOD_VALUES // generations.n_prompts))
    predicted = kept_draws(*shape, PREDICTED_DRAWS)
    few = n_cells > MANY_CELLS
    averaged = kept_draws(*shape, MEAN_DRAWS) if few else np.arange(shape[1])
    chances = np.empty((shape[0], kept.size, n_cells))
    log_likelihood = np.zeros((shape[0], scored.size, generations.n_prompts))
    replicas = np.empty((shape[0], predicted.size, n_cells), dtype=np.int64)
    mean = np.empty((shape[0], averaged.size, n_models))
    values = {str(n): posterior[n].transpose("chain", "draw", ...).to_numpy() for n in posterior}
    size, none = np.bincount(generations.model_idx), no_counts(counts.models)
    for chain in range(shape[0]):
        for draw in range(shape[1]):
            now: Draw = {name: value[chain, draw] for name, value in values.items()}
            places = position(averaged, draw), position(kept, draw)
            if places != (None, None):
                p = law.prompt_chances(counts, counts.row, now, rng)
                if (slot := places[0]) is not None:
                    mean[chain, slot] = np.bincount(generations.model_idx, p, n_models) / size
                if (slot := places[1]) is not None:
                    chances[chain, slot] = p
            if (slot := position(scored, draw)) is not None:
                of_cell = law.log_probability(counts, now)[counts.row]
                log_likelihood[chain, slot] = np.bincount(
                    generations.prompt_idx, of_cell, generations.n_prompts
                )
            if (slot := position(predicted, draw)) is not None:
                fresh = law.prompt_chances(none, generations.model_idx, now, rng)
                replicas[chain, slot] = rng.binomial(generations.k, fresh)
    groups = _groups(
        generations, posterior, (chances, log_likelihood, replicas), (kept, scored, predicted)
    )
    scores = _scores(posterior, mean, averaged, resampled_scores(generations, shape, rng))
    if few:
        groups["these_prompts"] = xr.Dataset({"mu_these_prompts": scores.pop("mu_these_prompts")})
    return After(scores, groups)


def position(kept: NDArray[np.int64], draw: int) -> int | None:
    """Where a draw is kept, or None."""
    slot = int(np.searchsorted(kept, draw))
    return slot if slot < kept.size and kept[slot] == draw else None


def resampled_scores(
    generations: Generations, shape: tuple[int, int], rng: np.random.Generator
) -> FloatArray | None:
    """Scores over new prompts where prompts come in groups; None where they do not.

    Parameters
    ----------
    generations : Generations
    shape : tuple of int
        Chains, and draws of each.
    rng : numpy.random.Generator

    Returns
    -------
    float array (chain, draw, model), or None

    Notes
    -----
    The share correct of the prompts, with a standard exponential weight on each group that all its
    prompts carry: a Bayesian bootstrap. Observed shares, because draws of P(correct) are drawn
    towards the law's mean one prompt at a time, which hides part of how groups differ. Where all
    groups of a model have one share m there is nothing to resample: G groups then count as G
    generations, Beta(G m + 1/2, G (1 - m) + 1/2).
    """
    if generations.prompt_group is None:
        return None
    _, code = np.unique(generations.prompt_group.astype(str), return_inverse=True)
    n_groups, n_models = int(code.max()) + 1, generations.n_models
    cell = code.reshape(-1)[generations.prompt_idx] * n_models + generations.model_idx
    size, total = (
        np.bincount(cell, weights, n_groups * n_models).reshape(n_groups, n_models)
        for weights in (None, generations.p_hat)
    )
    scores = np.empty((*shape, n_models))
    for chain in range(shape[0]):
        for begin in range(0, shape[1], step := max(1, AT_ONCE // n_groups)):
            weight = rng.exponential(size=(min(step, shape[1] - begin), n_groups))
            scores[chain, begin : begin + step] = (weight @ total) / (weight @ size)
    for at, name in enumerate(generations.models):
        own = size[:, at] > 0
        share, groups = total[own, at] / size[own, at], int(own.sum())
        if groups < 2:
            raise Refusal(
                f"all prompts of model {str(name)!r} are in one prompt group, which does not show "
                "how groups differ; leave out prompt_group if its prompts are unrelated"
            )
        if np.ptp(share) <= EQUAL:
            right = min(max(float(share.mean()), 0.0), 1.0) * groups
            scores[..., at] = rng.beta(right + 0.5, groups - right + 0.5, shape)
    return scores


def _scores(
    posterior: xr.Dataset,
    mean: FloatArray,
    averaged: NDArray[np.int64],
    resampled: FloatArray | None,
) -> dict[str, xr.DataArray]:
    """The scores that the prompts at hand give, beside or in the place of the law's own."""
    dims, law = ("chain", "draw", "model"), posterior["mu"]
    coords = {"chain": posterior["chain"], "model": law["model"]}
    draw = posterior["draw"].to_numpy()
    of_model = xr.DataArray(mean, dims=dims, coords={**coords, "draw": draw[averaged]})
    of_model.attrs["description"] = "mean P(correct) of the prompts at hand"
    if resampled is None:
        return {"mu_these_prompts": of_model}
    mu = xr.DataArray(resampled, dims=dims, coords={**coords, "draw": draw})
    mu.attrs["description"] = "score over new prompts, whole prompt groups resampled"
    mu_law = law.assign_attrs(description="mean of the law, which takes prompts as unrelated")
    return {"mu": mu, "mu_law": mu_law, "mu_these_prompts": of_model}


def _groups(
    generations: Generations,
    posterior: xr.Dataset,
    arrays: tuple[FloatArray, FloatArray, NDArray[np.int64]],
    draws: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]],
) -> dict[str, xr.Dataset]:
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
    names_of_groups = ("prompts", "log_likelihood", "posterior_predictive")
    named = dict(zip(names_of_groups, groups, strict=True))
    return {**named, "observed_data": observed}
