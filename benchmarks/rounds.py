"""Simulated rounds with known truth: independent labelers, random gold, one informative
covariate."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

import hero_bayes as hb


@dataclass(frozen=True)
class Scenario:
    """One simulated setting; rates are of the population, so ``rate`` is E[y]."""

    n_history: int = 800
    n_current: int = 300
    n_labelers: int = 10
    labels_per_item: int = 5
    gold_share: float = 0.10
    rate: float = 0.24
    history_rate: float = 0.30
    sensitivity: float = 0.75
    specificity: float = 0.85
    concentration: float = 12.0
    covariate_strength: float = 1.0
    n_noise: int = 0


def truth_and_covariate(rng, size, rate, strength):
    """x ~ N(0, 1); log odds of y rise by ``strength`` a unit, intercept set so that E[y] = rate."""
    x = rng.standard_normal(size)
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    low, high = -30.0, 30.0
    for _ in range(80):
        middle = (low + high) / 2
        mean = (weights / weights.sum()) @ (1 / (1 + np.exp(-(middle + strength * nodes))))
        low, high = (middle, high) if mean < rate else (low, middle)
    return (rng.random(size) < 1 / (1 + np.exp(-(low + strength * x)))).astype(int), x


def one_round(rng, scenario, rates, size, rate, gold_share):
    """Labels and items of one round."""
    truth, x = truth_and_covariate(rng, size, rate, scenario.covariate_strength)
    order = np.argsort(rng.random((size, scenario.n_labelers)), axis=1)
    labeler = order[:, : scenario.labels_per_item].ravel()
    item = np.repeat(np.arange(size), scenario.labels_per_item)
    chance = np.where(truth[item] == 1, rates[0][labeler], 1 - rates[1][labeler])
    labels = pd.DataFrame(
        {"item": item, "labeler": labeler, "label": (rng.random(item.size) < chance).astype(int)}
    )
    gold = np.where(rng.permutation(size) < round(gold_share * size), truth, np.nan)
    items = pd.DataFrame({"item": np.arange(size), "gold": gold, "x": x})
    for k in range(scenario.n_noise):
        items[f"noise{k}"] = rng.standard_normal(size)
    return labels, items


def simulate(scenario, seed):
    """History and current ``Labels`` of one repetition; current gold withheld.

    Gold of both classes is ensured by drawing the history again, which is rare (probability below
    1e-6 at 40 gold items).
    """
    rng = np.random.default_rng(seed)
    k = scenario.concentration
    rates = tuple(
        np.clip(rng.beta(k * m, k * (1 - m), scenario.n_labelers), 0.02, 0.98)
        for m in (scenario.sensitivity, scenario.specificity)
    )
    while True:
        past = one_round(
            rng, scenario, rates, scenario.n_history, scenario.history_rate, scenario.gold_share
        )
        if past[1]["gold"].dropna().nunique() == 2:
            break
    now = one_round(rng, scenario, rates, scenario.n_current, scenario.rate, 0.0)
    covariates = ["x", *(f"noise{k}" for k in range(scenario.n_noise))]
    return tuple(hb.Labels.from_frames(*tables, covariates=covariates) for tables in (past, now))
