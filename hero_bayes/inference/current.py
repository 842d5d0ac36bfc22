"""The current round, given draws of the labelers: prevalence, item rate, and the evidence kept."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from hero_bayes.data.labels import Labels
from hero_bayes.estimators.score import clamp_gold
from hero_bayes.inference import kernels

FloatArray = NDArray[np.float64]
EvidenceFunction = Callable[[Mapping[str, FloatArray]], FloatArray]

#: Draws of the evidence kept in a fit, over all chains.
EVIDENCE_DRAWS = 1000


@dataclass(frozen=True)
class CurrentRound:
    """Draws about the current round, chains first.

    ``prevalence`` and ``item_rate`` are (chain, draw, group); ``log_ratio`` is (chain, kept draw,
    item), with ``kept`` the positions of the kept draws.
    """

    prevalence: FloatArray
    item_rate: FloatArray
    log_ratio: FloatArray
    kept: NDArray[np.integer]


def kept_draws(n_chains: int, n_draws: int) -> NDArray[np.integer]:
    """Evenly spaced draws of each chain, at most EVIDENCE_DRAWS over all chains."""
    per_chain = min(n_draws, max(1, EVIDENCE_DRAWS // n_chains))
    return np.linspace(0, n_draws - 1, per_chain).round().astype(np.int64)


def current_round(
    draws: xr.Dataset,
    evidence: EvidenceFunction,
    current: Labels,
    *,
    prior: tuple[FloatArray, FloatArray] | None,
    rng: np.random.Generator,
) -> CurrentRound:
    """Draw prevalence and item rate of every current group, given draws of everything else.

    Parameters
    ----------
    draws : Dataset
        Posterior draws (chain, draw, ...); ``prevalence`` among them where ``prior`` is None.
    evidence : callable
        From one draw to the log-likelihood ratio of each item.
    current : Labels
        The current round; its gold is clamped.
    prior : tuple of arrays (group,) or None
        Beta parameters of the prevalences, for the cut posterior: prevalence is then drawn exactly
        from its one-dimensional posterior. None keeps the drawn prevalences (joint posterior).
    rng : Generator

    Returns
    -------
    CurrentRound
    """
    n_chains, n_draws = draws.sizes["chain"], draws.sizes["draw"]
    names = [str(name) for name in draws.data_vars]
    values = {name: draws[name].to_numpy() for name in names}
    kept = kept_draws(n_chains, n_draws)
    position = {int(draw): k for k, draw in enumerate(kept)}
    items = [np.flatnonzero(current.group_idx == g) for g in range(current.n_groups)]
    prevalence = np.full((n_chains, n_draws, current.n_groups), np.nan)
    item_rate = np.full_like(prevalence, np.nan)
    log_ratio = np.empty((n_chains, kept.size, current.n_items))
    for chain in range(n_chains):
        for draw in range(n_draws):
            ratio = evidence({name: values[name][chain, draw] for name in names})
            if draw in position:
                log_ratio[chain, position[draw]] = ratio
            for g, item_idx in enumerate(items):
                gold = current.gold[item_idx]
                if prior is None:
                    rate = float(values["prevalence"][chain, draw, g])
                else:
                    positive, negative = float((gold == 1).sum()), float((gold == 0).sum())
                    rate = kernels.draw_prevalence(
                        ratio[item_idx][np.isnan(gold)],
                        prior[0][g] + positive,
                        prior[1][g] + negative,
                        rng.random(),
                    )
                chance = kernels.truth_probability(clamp_gold(ratio[item_idx], gold), rate)
                prevalence[chain, draw, g] = rate
                item_rate[chain, draw, g] = np.mean(rng.random(item_idx.size) < chance)
    return CurrentRound(prevalence, item_rate, log_ratio, kept)
