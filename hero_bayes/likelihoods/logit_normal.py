"""Correct generations of a prompt whose log odds of success are normal over prompts.

The integral over the log odds is a sum over a fixed grid (trapezoid rule: exact to rounding for a
spread above its step), and what lies beyond the grid is certain success or failure. Counts then
need one product of two tables: the binomial likelihood of every distinct count at every node, which
is data, and the normal weights of the nodes. ``xp`` is ``numpy`` or ``pytensor.tensor``.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

FloatArray = NDArray[np.float64]

STEP = 0.05
#: Log odds at which P(correct) is looked at.
NODES = np.linspace(-20.0, 20.0, 801)
#: P(correct) at the nodes, and its complement without cancellation.
CHANCE = np.where(NODES < 0, np.exp(np.minimum(NODES, 0)), 1.0) / (1.0 + np.exp(-np.abs(NODES)))
FAILURE = CHANCE[::-1]
#: Added to a probability before its logarithm.
TINY = 1e-300


def node_likelihood(n_correct: NDArray[np.int64], k: NDArray[np.int64]) -> FloatArray:
    """Probability of one given order of successes at every node, (distinct, node)."""
    log = n_correct[:, None] * np.log(CHANCE) + (k - n_correct)[:, None] * np.log(FAILURE)
    return np.asarray(np.exp(log))


def node_weights(location: Any, scale: Any, xp: Any) -> Any:
    """Normal weights of the nodes, (..., node), summing to one; the tails sit on the end nodes."""
    erfc = special.erfc if xp is np else xp.erfc
    location, scale = location[..., None], scale[..., None]
    z = (NODES - location) / scale
    inner = STEP / np.sqrt(2.0 * np.pi) / scale * xp.exp(-0.5 * z**2)
    edge = NODES[-1] + STEP / 2.0
    below = erfc((edge + location) / (np.sqrt(2.0) * scale)) / 2.0
    above = erfc((edge - location) / (np.sqrt(2.0) * scale)) / 2.0
    weight = xp.concatenate(
        [inner[..., :1] + below, inner[..., 1:-1], inner[..., -1:] + above], axis=-1
    )
    return weight / weight.sum(axis=-1, keepdims=True)


def moments(weights: Any) -> tuple[Any, Any]:
    """Mean and variance of P(correct) under the weights (..., node)."""
    mean = (weights * CHANCE).sum(axis=-1)
    variance = (weights * (CHANCE - mean[..., None]) ** 2).sum(axis=-1)
    return mean, variance
