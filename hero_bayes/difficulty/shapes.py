"""The two laws of prompt difficulty that can be fitted, with all a fit needs of them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import pymc as pm
from numpy.typing import NDArray

from hero_bayes.data.count_table import CountTable
from hero_bayes.likelihoods import logit_normal
from hero_bayes.likelihoods.prompt_counts import (
    beta_parameters,
    count_log_probability,
    rising_logs,
)
from hero_bayes.models.beta_difficulty import beta_difficulty
from hero_bayes.models.logit_normal_difficulty import logit_normal_difficulty

FloatArray = NDArray[np.float64]
#: One draw of the model's variables.
Draw = Mapping[str, FloatArray]


@dataclass(frozen=True)
class Shape:
    """One law of P(correct) over prompts.

    Attributes
    ----------
    factory : callable
        From counts to the ``pm.Model``.
    start : callable
        From moments (mean and icc by model) to starting values.
    log_probability : callable
        Log-probability (distinct,) of every distinct count at one draw.
    prompt_chances : callable
        P(correct) drawn for cells that show the given distinct counts, at one draw.
    """

    factory: Callable[..., pm.Model]
    start: Callable[[FloatArray, FloatArray], dict[str, FloatArray]]
    log_probability: Callable[[CountTable, Draw], FloatArray]
    prompt_chances: Callable[[CountTable, NDArray[np.int64], Draw, np.random.Generator], FloatArray]


def _beta_start(mu: FloatArray, icc: FloatArray) -> dict[str, FloatArray]:
    return {"mu": mu, "icc": icc}


def _beta_log_probability(counts: CountTable, draw: Draw) -> FloatArray:
    logs = rising_logs(draw["mu"], draw["icc"], counts.k_max, np)
    return np.asarray(count_log_probability(counts.n_correct, counts.k, counts.model_idx, logs))


def _beta_chances(
    counts: CountTable, row: NDArray[np.int64], draw: Draw, rng: np.random.Generator
) -> FloatArray:
    """P(correct) given its count is Beta(mu f + c, (1 - mu) f + k - c)."""
    a, b = beta_parameters(draw["mu"][counts.model_idx], draw["icc"][counts.model_idx])
    success, failure = a + counts.n_correct, b + counts.k - counts.n_correct
    return np.asarray(rng.beta(success[row], failure[row]))


def _logit_normal_start(mu: FloatArray, icc: FloatArray) -> dict[str, FloatArray]:
    return {"centre": np.log(mu) - np.log1p(-mu), "spread": 1.7 * np.sqrt(icc / (1.0 - icc))}


@lru_cache(maxsize=4)
def _node_likelihood(counts: CountTable) -> FloatArray:
    """The likelihood at the nodes, which all draws of one table share."""
    return logit_normal.node_likelihood(counts.n_correct, counts.k)


def _node_weights(counts: CountTable, draw: Draw) -> FloatArray:
    weights = logit_normal.node_weights(draw["location"], draw["scale"], np)
    return np.asarray(weights[counts.model_idx])


def _logit_normal_log_probability(counts: CountTable, draw: Draw) -> FloatArray:
    likelihood = _node_likelihood(counts)
    chance = (likelihood * _node_weights(counts, draw)).sum(axis=1)
    return np.asarray(np.log(chance + logit_normal.TINY))


def _logit_normal_chances(
    counts: CountTable, row: NDArray[np.int64], draw: Draw, rng: np.random.Generator
) -> FloatArray:
    """P(correct) given its count, a node drawn from its posterior over the grid."""
    likelihood = _node_likelihood(counts)
    reached = np.cumsum(likelihood * _node_weights(counts, draw), axis=1)
    reached /= reached[:, -1:]
    uniform, node = rng.random(row.size), np.empty(row.size, dtype=np.int64)
    order = np.argsort(row, kind="stable")
    ends = np.searchsorted(row[order], np.arange(counts.weight.size + 1))
    for distinct in range(counts.weight.size):
        cells = order[ends[distinct] : ends[distinct + 1]]
        node[cells] = np.searchsorted(reached[distinct], uniform[cells])
    return np.asarray(logit_normal.CHANCE[np.minimum(node, logit_normal.NODES.size - 1)])


#: By the name that ``hb.difficulty.fit(shape=...)`` takes.
SHAPES: dict[str, Shape] = {
    "beta": Shape(beta_difficulty, _beta_start, _beta_log_probability, _beta_chances),
    "logit_normal": Shape(
        logit_normal_difficulty,
        _logit_normal_start,
        _logit_normal_log_probability,
        _logit_normal_chances,
    ),
}


def shape_of(name: Any) -> Shape:
    """The shape of a name; a shape of one's own is returned as it is."""
    if isinstance(name, Shape):
        return name
    if name not in SHAPES:
        raise ValueError(f"shape must be one of {', '.join(SHAPES)}, got {name!r}")
    return SHAPES[name]
