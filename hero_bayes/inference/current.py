"""The current round, given draws of the labelers: prevalence, item rate, and the evidence kept."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from hero_bayes.data.labels import Labels
from hero_bayes.estimators.score import clamp_gold
from hero_bayes.inference import kernels
from hero_bayes.inference.graph import SLICE
from hero_bayes.inference.outcome import GroupState, Outcome, history_weights

FloatArray = NDArray[np.float64]
#: From draws of the free variables to what the second stage needs (see graph.evidence_function).
EvidenceFunction = Callable[[Mapping[str, FloatArray]], Mapping[str, FloatArray]]

#: Draws of the evidence kept in a fit, over all chains; fewer where items are many, so that it
#: holds no more than so many numbers, as long as so many draws are left.
EVIDENCE_DRAWS, EVIDENCE_VALUES, FEWEST_EVIDENCE_DRAWS = 1000, 20_000_000, 100


@dataclass(frozen=True)
class CurrentRound:
    """Draws about the current round, chains first.

    ``prevalence`` and ``item_rate`` are (chain, draw, group), and so are the further ``parameters``
    of the groups, by name; ``log_ratio`` and ``prior_log_odds`` are (chain, kept draw, item), with
    ``kept`` the positions of the kept draws.
    """

    prevalence: FloatArray
    item_rate: FloatArray
    parameters: Mapping[str, FloatArray]
    log_ratio: FloatArray
    prior_log_odds: FloatArray
    kept: NDArray[np.integer]


def kept_draws(n_chains: int, n_draws: int, most: int = EVIDENCE_DRAWS) -> NDArray[np.int64]:
    """Evenly spaced draws of each chain, at most ``most`` over all chains, but one of each."""
    per_chain = min(n_draws, max(1, most // n_chains))
    return np.linspace(0, n_draws - 1, per_chain).round().astype(np.int64)


def evidence_draws(n_chains: int, n_draws: int, n_items: int) -> NDArray[np.int64]:
    """Draws of each chain whose evidence a fit keeps, by the number of current items."""
    most = np.clip(EVIDENCE_VALUES // max(n_items, 1), FEWEST_EVIDENCE_DRAWS, EVIDENCE_DRAWS)
    return kept_draws(n_chains, n_draws, int(most))


def current_round(
    draws: xr.Dataset,
    evidence: EvidenceFunction,
    current: Labels,
    outcome: Outcome,
    *,
    cut: bool,
    rng: np.random.Generator,
) -> CurrentRound:
    """Draw prevalence and item rate of every current group, given draws of everything else.

    Parameters
    ----------
    draws : Dataset
        Posterior draws (chain, draw, ...) of the model's stored variables.
    evidence : callable
        From draws to ``log_ratio`` (draw, item) and what the outcome layer needs.
    current : Labels
        The current round; its gold is clamped, so that fallible gold must not be in it.
    outcome : Outcome
        How a group's rate is drawn.
    cut : bool
        Whether the rate is drawn exactly from its one-dimensional posterior given the draw (cut),
        or is the one drawn with everything else (joint).
    rng : Generator

    Returns
    -------
    CurrentRound
    """
    n_chains, n_draws = draws.sizes["chain"], draws.sizes["draw"]
    names = [str(name) for name in draws.data_vars]
    stored = {name: draws[name].to_numpy() for name in names}
    kept = evidence_draws(n_chains, n_draws, current.n_items)
    position = {int(draw): k for k, draw in enumerate(kept)}
    items = [np.flatnonzero(current.group_idx == g) for g in range(current.n_groups)]
    prevalence = np.full((n_chains, n_draws, current.n_groups), np.nan)
    item_rate = np.full_like(prevalence, np.nan)
    more = [name for name in outcome.own if name != "prevalence"]
    parameters = {name: np.full_like(prevalence, np.nan) for name in more}
    log_ratio = np.empty((n_chains, kept.size, current.n_items))
    prior_log_odds = np.empty_like(log_ratio)
    for chain in range(n_chains):
        for draw in range(n_draws):
            if draw % SLICE == 0:
                part = slice(draw, draw + SLICE)
                slices = {name: stored[name][chain, part] for name in names}
                slices |= evidence(slices)
            values = {name: value[draw % SLICE] for name, value in slices.items()}
            values |= history_weights(values, rng)
            slot = position.get(draw)
            if slot is not None:
                log_ratio[chain, slot] = values["log_ratio"]
            for g, item_idx in enumerate(items):
                clamped = clamp_gold(values["log_ratio"][item_idx], current.gold[item_idx])
                draw_group = outcome.exact if cut else outcome.given
                drawn = draw_group(GroupState(g, item_idx, clamped, values), rng)
                chance = kernels.truth_probability(clamped, drawn.prior_log_odds)
                prevalence[chain, draw, g] = drawn.prevalence
                for name, value in drawn.parameters.items():
                    parameters[name][chain, draw, g] = value
                item_rate[chain, draw, g] = np.mean(rng.random(item_idx.size) < chance)
                if slot is not None:
                    prior_log_odds[chain, slot, item_idx] = drawn.prior_log_odds
    return CurrentRound(
        prevalence=prevalence,
        item_rate=item_rate,
        parameters=parameters,
        log_ratio=log_ratio,
        prior_log_odds=prior_log_odds,
        kept=kept,
    )


def at_mode(
    values: Mapping[str, FloatArray],
    evidence: Mapping[str, FloatArray],
    current: Labels,
    outcome: Outcome,
) -> CurrentRound:
    """The current round at one value of everything: item rates are mean P(y_i = 1)."""
    shape = (1, 1, current.n_groups)
    item_rate = np.empty(shape)
    prior_log_odds = np.empty(current.n_items)
    everything = {**values, **evidence}
    for g in range(current.n_groups):
        item_idx = np.flatnonzero(current.group_idx == g)
        clamped = clamp_gold(evidence["log_ratio"][item_idx], current.gold[item_idx])
        prior = outcome.prior_log_odds(GroupState(g, item_idx, clamped, everything))
        item_rate[0, 0, g] = kernels.truth_probability(clamped, prior).mean()
        prior_log_odds[item_idx] = prior
    return CurrentRound(
        prevalence=np.reshape(values["prevalence"], shape),
        item_rate=item_rate,
        parameters={n: np.reshape(values[n], shape) for n in outcome.own if n != "prevalence"},
        log_ratio=evidence["log_ratio"][None, None],
        prior_log_odds=prior_log_odds[None, None],
        kept=np.array([0]),
    )
