"""What follows the draws of the law: scores, P(correct) of every prompt, predicted counts."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from hero_bayes.data.count_table import CountTable, no_counts
from hero_bayes.data.generations import Generations
from hero_bayes.data.identifiers import number_of
from hero_bayes.difficulty.prompt_means import group_codes, score_draws
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
#: Bins of shares between 0 and 1 in the predictive check, and the rounding of a share.
BINS, EQUAL = 10, 1e-9


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
        f"prompts come in groups: mu counts the {groups}, not prompts; sigma, icc and mu_law are "
        "those of a law that takes prompts as unrelated"
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
    free = free_scores(generations, shape, rng.spawn(1)[0])
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
    scores = _scores(posterior, mean, averaged, free)
    groups["law_check"] = law_check(generations, scores, replicas)
    if few:
        groups["these_prompts"] = xr.Dataset({"mu_these_prompts": scores.pop("mu_these_prompts")})
    return After(scores, groups)


def position(kept: NDArray[np.int64], draw: int) -> int | None:
    """Where a draw is kept, or None."""
    slot = int(np.searchsorted(kept, draw))
    return slot if slot < kept.size and kept[slot] == draw else None


def free_scores(
    generations: Generations, shape: tuple[int, int], rng: np.random.Generator
) -> FloatArray:
    """Scores over new prompts (chain, draw, model) that rest on no law: see `score_draws`.

    Observed shares (`fair_share`), because draws of P(correct) are drawn towards the law's mean one
    prompt at a time, and hold the luck of the generations once more.
    """
    unit, _ = units_of(generations)
    cells = [generations.cells_of(str(name)) for name in generations.models]
    if generations.prompt_group is not None:
        for name, own in zip(generations.models, cells, strict=True):
            if np.unique(unit[own]).size < 2:
                raise Refusal(
                    f"all prompts of model {str(name)!r} are in one prompt group, which does not "
                    "show how groups differ; leave out prompt_group if its prompts are unrelated"
                )
    shares, units = [generations.fair_share[own] for own in cells], [unit[own] for own in cells]
    return score_draws(shares, units, shape[0] * shape[1], rng).reshape(*shape, -1)


def units_of(generations: Generations) -> tuple[NDArray[np.int64], str]:
    """What counts as independent, by cell, alike for all models; and what it is called."""
    every = np.arange(generations.k.size)
    noun = "prompt" if generations.prompt_group is None else "prompt group"
    return group_codes(generations, every), noun


def law_check(
    generations: Generations, scores: dict[str, xr.DataArray], replicas: NDArray[np.int64]
) -> xr.Dataset:
    """How far the law is from what it was fitted to, by model.

    Parameters
    ----------
    generations : Generations
    scores : dict of DataArray
        ``mu`` and ``mu_law``.
    replicas : int array (chain, draw, cell)
        Predicted counts of new prompts.

    Returns
    -------
    Dataset
        ``distance`` of the law's mean from the law-free one, in sd of the latter; ``tail``, the
        share of replicas whose histogram of shares (0, ten bins, 1) is as far from the predicted
        one, by sum (o - e)^2 / (e + 1), as the observed: NaN with k = 1 throughout, where only the
        mean is seen, for related prompts, which differ more than replicas of unrelated ones, and
        where sampling stopped at an outcome, which no replica does; ``units``, how many prompts (or
        groups) there are.
    """
    unit, noun = units_of(generations)
    mean = {name: scores[name].mean(("chain", "draw")).to_numpy() for name in ("mu", "mu_law")}
    spread = scores["mu"].std(("chain", "draw")).to_numpy()
    tail, units = np.full(generations.n_models, np.nan), []
    drawn = replicas.reshape(-1, replicas.shape[-1])
    for place, name in enumerate(generations.models):
        cells = generations.cells_of(str(name))
        units.append(np.unique(unit[cells]).size)
        known = generations.prompt_group is None and generations.stopping[place] is None
        if known and generations.k[cells].max() > 1:
            share = (
                np.vstack([generations.n_correct[cells], drawn[:, cells]]) / generations.k[cells]
            )
            bin_idx = np.ceil(BINS * share - EQUAL).astype(int) + (share >= 1.0)
            counts = np.stack([(bin_idx == one).sum(axis=1) for one in range(BINS + 2)], axis=1)
            expected = counts[1:].mean(axis=0)
            far = ((counts - expected) ** 2 / (expected + 1.0)).sum(axis=1)
            tail[place] = np.mean(far[1:] >= far[0])
    distance = np.abs(mean["mu_law"] - mean["mu"]) / spread
    return xr.Dataset(
        {"distance": ("model", distance), "tail": ("model", tail), "units": ("model", units)},
        coords={"model": scores["mu"]["model"]},
        attrs={"unit": noun},
    )


def _scores(
    posterior: xr.Dataset, mean: FloatArray, averaged: NDArray[np.int64], free: FloatArray
) -> dict[str, xr.DataArray]:
    """The scores that the prompts at hand give, in the place of the law's own."""
    dims, law = ("chain", "draw", "model"), posterior["mu"]
    coords = {"chain": posterior["chain"], "model": law["model"]}
    draw = posterior["draw"].to_numpy()
    of_model = xr.DataArray(mean, dims=dims, coords={**coords, "draw": draw[averaged]})
    of_model.attrs["description"] = "mean P(correct) of the prompts at hand"
    mu = xr.DataArray(free, dims=dims, coords={**coords, "draw": draw})
    mu.attrs["description"] = "score over new prompts, whatever the law of difficulty"
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
        n_correct=("cell", generations.n_correct),
        k=("cell", generations.k),
        fair_share=("cell", generations.fair_share),
    )
    if generations.prompt_group is not None:
        group = np.array([str(g) for g in generations.prompt_group])
        groups[0] = groups[0].assign_coords(cell_group=("cell", group[generations.prompt_idx]))
    observed = xr.Dataset({"n_correct": ("cell", generations.n_correct)}, coords=cells)
    names_of_groups = ("prompts", "log_likelihood", "posterior_predictive")
    named = dict(zip(names_of_groups, groups, strict=True))
    return {**named, "observed_data": observed}
