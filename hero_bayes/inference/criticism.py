"""What ArviZ needs beside the posterior: log-likelihood, log-prior, labels seen and predicted."""

from collections.abc import Mapping

import numpy as np
import pymc as pm
import pytensor.tensor as pt
import xarray as xr
from numpy.typing import NDArray
from pymc.model.transform.conditioning import remove_value_transforms

from hero_bayes.data.labels import Labels
from hero_bayes.inference.current import kept_draws
from hero_bayes.inference.graph import GOLD_ERROR, batched, evidence_function
from hero_bayes.inference.label_chances import label_data, positive_chances
from hero_bayes.inference.outcome import outcome_of
from hero_bayes.inference.program import Program
from hero_bayes.inference.truth_chances import truth_chances

FloatArray = NDArray[np.float64]

#: Entries (draws x items) above which the pointwise log-likelihood is left out of a fit.
LOG_LIKELIHOOD_LIMIT = 20_000_000
#: Draws for which labels are predicted, over all chains.
PREDICTED_DRAWS = 100
#: Predicted labels (draws x labels) above which they are left out.
PREDICTED_LIMIT = 20_000_000
#: What the log-likelihood of a round may run over: items, or prompts whose items hang together.
ROUND_DIMS = ("history_item", "history_gold_item", "history_prompt", "item", "prompt")
#: What the groups of a fit speak of.
STAGE = {
    "cut": "stage 1: history, and current items with gold",
    "joint": "both rounds",
}


def pointwise(
    model: pm.Model, draws: xr.Dataset, cut: bool
) -> tuple[xr.Dataset, xr.Dataset] | None:
    """Log-likelihood of every item and log-prior of every variable, for each draw.

    Parameters
    ----------
    model : pm.Model
        The model that was sampled. Its potentials over items, or prompts, are their
        log-likelihoods, and so are the terms of variables observed over items.
    draws : Dataset
        Its draws (chain, draw, ...).
    cut : bool
        Whether the groups speak of stage 1 alone; the prior of the current prevalence, which stage
        1 does not inform, is then left out.

    Returns
    -------
    tuple of Dataset, or None
        ``labels`` (chain, draw, labeled_item), and one variable (chain, draw) a free variable. None
        where the model has no such potentials, or the table would be too large.
    """
    rounds = [
        (p, role)
        for p in (*model.observed_RVs, *model.potentials)
        for role in ROUND_DIMS
        if tuple(model.named_vars_to_dims.get(p.name, ())) == (role,)
    ]
    size = sum(len(model.coords[role]) for _, role in rounds)
    n_chains, n_draws = draws.sizes["chain"], draws.sizes["draw"]
    if not rounds or size * n_chains * n_draws > LOG_LIKELIHOOD_LIMIT:
        return None
    plain = remove_value_transforms(model)
    own = set(outcome_of(model, cut=False).own) | {"prevalence"} if cut else set()
    names = [rv.name for rv in plain.free_RVs if rv.name not in own]
    inputs = [plain.rvs_to_values[rv] for rv in plain.free_RVs]
    observed = [plain[rv.name] for rv, _ in rounds if rv in model.observed_RVs]
    potentials = [plain[p.name] for p, _ in rounds if p in model.potentials]
    terms = plain.logp(vars=observed, sum=False) if observed else []
    terms = [*terms, *plain.replace_rvs_by_values(potentials)]
    priors = plain.logp(vars=[plain[n] for n in names], jacobian=False, sum=False)
    function = batched(inputs, [pt.concatenate(terms), pt.stack([p.sum() for p in priors])])
    stored = [draws[rv.name].to_numpy() for rv in plain.free_RVs]
    parts = [function([value[chain] for value in stored]) for chain in range(n_chains)]
    likelihood, prior = (np.stack([part[k] for part in parts]) for k in range(2))
    items = [
        f"{'history_' if role.startswith('history_') else ''}{name}"
        for _, role in rounds
        for name in model.coords[role]
    ]
    coords = {"chain": draws["chain"], "draw": draws["draw"]}
    stage = {"speaks_of": STAGE["cut" if cut else "joint"]}
    return (
        xr.Dataset(
            {"labels": (("chain", "draw", "labeled_item"), likelihood)},
            coords={**coords, "labeled_item": items},
            attrs=stage,
        ),
        xr.Dataset(
            {name: (("chain", "draw"), prior[..., k]) for k, name in enumerate(names)},
            coords=coords,
            attrs=stage,
        ),
    )


def predicted_labels(
    learning: pm.Model,
    tables: tuple[Labels, Labels],
    draws: xr.Dataset,
    cut: bool,
    rng: np.random.Generator,
) -> tuple[xr.Dataset, xr.Dataset] | None:
    """Labels that the fitted labelers would give to the same items, beside those they gave.

    Truth is drawn anew from its prior (gold stays, or is evidence where it may be wrong), then
    every label from its labeler's rates (and, under ``correlated``, from an effect of the item
    drawn anew): a replication of the tables, whose numbers of positive labels an item show whether
    labelers err as the model says.

    Returns
    -------
    tuple of Dataset, or None
        ``posterior_predictive`` and ``observed_data``, each with ``label`` (verdict) and
        ``positive_labels`` (labeled_item). None where the model has no sensitivity and specificity
        by labeler.
    """
    needed = {"sensitivity", "specificity"}
    history, current = tables
    rounds = [(history, "history")]
    now = current.take_items(current.has_gold) if cut else current
    rounds.append((now, "current"))
    n_verdicts = sum(labels.n_labels for labels, _ in rounds)
    if not needed <= set(draws.data_vars) or PREDICTED_DRAWS * n_verdicts > PREDICTED_LIMIT:
        return None
    n_chains, n_draws = draws.sizes["chain"], draws.sizes["draw"]
    kept = kept_draws(n_chains, n_draws, PREDICTED_DRAWS)
    thin = draws.isel(draw=kept)
    values = {str(name): thin[name].to_numpy() for name in thin.data_vars}
    evidence = evidence_function(learning)
    known = label_data(learning)
    label = np.empty((n_chains, kept.size, n_verdicts), dtype=np.int8)
    for chain in range(n_chains):
        stacked = {name: value[chain] for name, value in values.items()}
        stacked |= evidence(stacked)
        for draw in range(kept.size):
            now_values = known | {name: value[draw] for name, value in stacked.items()}
            replicas = [replicate(labels, role, now_values, rng) for labels, role in rounds]
            label[chain, draw] = np.concatenate(replicas)
    return _label_groups(rounds, label, thin, cut)


def replicate(
    labels: Labels, role: str, draw: Mapping[str, FloatArray], rng: np.random.Generator
) -> NDArray[np.int8]:
    """New labels of one round at one draw of the parameters."""
    rates = "current_" if role == "current" and "current_sensitivity" in draw else ""
    chance = truth_chances(labels, role, draw, rng)
    if GOLD_ERROR in draw:
        chance = given_gold(chance, labels.gold, draw[GOLD_ERROR])
    drawn = (rng.random(labels.n_items) < chance).astype(float)
    truth = drawn if GOLD_ERROR in draw else np.where(labels.has_gold, labels.gold, drawn)
    positive = positive_chances(labels, labels.labeler_idx, truth, draw, rates, rng)
    return (rng.random(labels.n_labels) < positive).astype(np.int8)


def given_gold(chance: FloatArray, gold: FloatArray, error: FloatArray) -> FloatArray:
    """P(truth 1) of every item given gold that is wrong with this probability, where it has any."""
    one = chance * np.where(gold == 1.0, 1.0 - error, error)
    zero = (1.0 - chance) * np.where(gold == 0.0, 1.0 - error, error)
    return np.where(np.isnan(gold), chance, one / (one + zero))


def sums_between(values: NDArray[np.int8], ends: NDArray[np.int64]) -> NDArray[np.int64]:
    """Sums along the last axis between consecutive ends."""
    start = np.zeros((*values.shape[:-1], 1), dtype=np.int64)
    total = np.concatenate([start, np.cumsum(values, axis=-1, dtype=np.int64)], axis=-1)
    return np.diff(total[..., ends], axis=-1)


def _label_groups(
    rounds: list[tuple[Labels, str]], label: NDArray[np.int8], thin: xr.Dataset, cut: bool
) -> tuple[xr.Dataset, xr.Dataset]:
    """Predicted and observed labels, with their sums by item, as two groups."""
    items = np.concatenate(
        [[f"{'history_' if r == 'history' else ''}{i}" for i in la.items] for la, r in rounds]
    ).astype(str)
    per_item = np.concatenate([labels.labels_per_item for labels, _ in rounds])
    observed = np.concatenate([labels.label for labels, _ in rounds])
    ends = np.concatenate([[0], np.cumsum(per_item)])
    stage = {"speaks_of": STAGE["cut" if cut else "joint"]}
    coords = {"labeled_item": items, "verdict": np.arange(observed.size)}
    predicted = xr.Dataset(
        {
            "label": (("chain", "draw", "verdict"), label),
            "positive_labels": (("chain", "draw", "labeled_item"), sums_between(label, ends)),
        },
        coords={**coords, "chain": thin["chain"], "draw": thin["draw"]},
        attrs=stage,
    )
    given = xr.Dataset(
        {
            "label": ("verdict", observed),
            "positive_labels": ("labeled_item", sums_between(observed, ends)),
        },
        coords=coords,
        attrs=stage,
    )
    return predicted, given


def criticism_groups(
    program: Program,
    learned: xr.Dataset,
    history: Labels,
    current: Labels,
    rng: np.random.Generator,
) -> dict[str, xr.Dataset]:
    """The groups ``log_likelihood``, ``log_prior``, ``posterior_predictive``, ``observed_data``.

    Each is left out where the model or the size of the tables does not allow it.
    """
    groups = {}
    found = pointwise(program.learning, learned, program.cut)
    if found is not None:
        groups["log_likelihood"], groups["log_prior"] = found
    if "labeler" in program.learning.coords:
        labelers = [str(name) for name in program.learning.coords["labeler"]]
        rounds = history.with_labelers(labelers), current.with_labelers(labelers)
        predicted = predicted_labels(program.learning, rounds, learned, program.cut, rng)
        if predicted is not None:
            groups["posterior_predictive"], groups["observed_data"] = predicted
    return groups
