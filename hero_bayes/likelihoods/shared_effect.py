"""Labels of one item that share an effect: the labelers err together, given the truth.

Logit P(label 1 | truth y, u) = e_jy + l_y u with u ~ Normal(0, 1) for the item. Because all
labelers have one loading l_y, u meets the labels only through their number of positives s:

    log p(z | y) = sum_j z_j e_jy + log int phi(u) exp(s l_y u - sum_j softplus(e_jy + l_y u)) du,

so that the integral is done once for every distinct (set of labelers, s), not once an item. It is a
sum over fixed nodes (trapezoid rule). ``xp`` is ``numpy`` or ``pytensor.tensor``.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logsumexp

FloatArray = NDArray[np.float64]
#: From a table (labeler + 2, column) to (row, column): the sum of the rows of a row's labelers,
#: plus its number of positive labels times the last row but one, plus the last row.
Combine = Callable[[Any], Any]

#: The nodes go from minus this to this; beyond it lies 1e-15 of a normal law.
REACH = 8.0
#: Within this the nodes are evenly spaced, beyond it their spacing grows.
EVEN = 2.0
#: The node count is made for loadings up to this one (HalfNormal(1) exceeds it once in 16,000).
LOADING_BOUND = 4.0
#: A logit as large as this is certainty; the exponential of a larger one overflows.
LARGEST = 700.0


def node_count(n_labels: int, loading: float = LOADING_BOUND) -> int:
    """Number of nodes for items with up to ``n_labels`` labels.

    Parameters
    ----------
    n_labels : int
    loading : float
        The largest loading.

    Notes
    -----
    The trapezoid rule with step h errs by about exp(-2 pi^2 s^2 / h^2) for a Gaussian integrand of
    width s, and the narrowest has 1 / s^2 = 1 + l^2 L / 4 (L labels, all at probability one half).
    With few labels the poles of the logistic function at distance pi / l bind instead, and act as
    four more labels would: 1 / h^2 = 1.1 (1 + l^2 (L + 4) / 4) in the middle. Away from it
    integrands are wide, since e_jy + l u = 0 at large u means a small l: the nodes u = 2 sinh(t), t
    evenly spaced, are half as many. log p(z | y) is then right to 1e-8 for loadings up to 3 and
    abs(e) up to 5, to 1e-6 at the bound of 4 (L = 1 .. 1,000); the error grows slowly beyond.

    The nodes end at 8. Labels that would need u beyond it (60 positives where e = -5 and l = 0.5)
    have probabilities below 1e-14 and get smaller ones still.

    Examples
    --------
    >>> node_count(3), node_count(30), node_count(1000)
    (49, 104, 558)
    """
    step = 1.0 / np.sqrt(1.1 * (1.0 + loading**2 * (n_labels + 4.0) / 4.0))
    return int(np.ceil(2.0 * EVEN * np.arcsinh(REACH / EVEN) / step)) + 1


def normal_nodes(n_nodes: int) -> tuple[FloatArray, FloatArray]:
    """Nodes of a standard normal law and the logs of their weights, which sum to one."""
    even = np.linspace(-1.0, 1.0, n_nodes) * np.arcsinh(REACH / EVEN)
    nodes = EVEN * np.sinh(even)
    log_weight = np.log(np.cosh(even)) - 0.5 * nodes**2
    return nodes, log_weight - logsumexp(log_weight)


def softplus(value: Any, xp: Any) -> Any:
    """log(1 + exp(value)), up to values of 700."""
    # As a logarithm of the logistic function: PyTensor's own softplus is a Python loop wherever a
    # graph is evaluated without compiling.
    return -xp.log(sigmoid(-xp.minimum(value, LARGEST), xp))


def sigmoid(value: Any, xp: Any) -> Any:
    """1 / (1 + exp(-value))."""
    return expit(value) if xp is np else xp.sigmoid(value)


def log_sum_exp(terms: Any, xp: Any) -> Any:
    """Log of the sum of exponentials along the last axis, without overflow."""
    largest = terms.max(axis=-1, keepdims=True)
    if xp is not np:
        from pytensor.gradient import disconnected_grad

        largest = disconnected_grad(largest)
    return xp.log(xp.exp(terms - largest).sum(axis=-1)) + largest[..., 0]


def shared_effect(
    logit: Any, loading: Any, combine: Combine, grid: tuple[Any, Any], xp: Any, more: Any = 0.0
) -> Any:
    """The integral over u of every (set of labelers, number of positives), (row, 2).

    Parameters
    ----------
    logit : array (2, labeler)
        e of truth 0 and of truth 1.
    loading : array (2,)
    combine : callable
        See :data:`Combine`; the positive labels of a row include those of families.
    grid : tuple of arrays (node,)
        Nodes and log-weights.
    xp : module
    more : array (row, 2, node), optional
        Log-likelihood of the row's families at every node.

    Returns
    -------
    array (row, 2)
        Without the part sum_j z_j e_jy, which is linear and belongs to the item.
    """
    nodes, log_weight = grid
    shift = loading[:, None] * nodes
    never = -softplus(logit.T[:, :, None] + shift[None], xp)
    stacked = _stack(never, shift, log_weight + 0.0 * shift, xp)
    terms = combine(stacked).reshape((-1, 2, nodes.shape[0]))
    return log_sum_exp(terms + more, xp)


def family_effect(
    logit: Any,
    loading: Any,
    family_loading: Any,
    combine: Combine,
    grids: tuple[tuple[Any, Any], tuple[Any, Any]],
    xp: Any,
) -> Any:
    """The inner integral over a family's own effect v, at every node of u, (cell, 2, node).

    Parameters
    ----------
    logit : array (2, member)
        e of the labelers that belong to families.
    loading, family_loading : array (2,)
    combine : callable
        See :data:`Combine`, over the labelers of a cell and its own positive labels.
    grids : two tuples of arrays
        Nodes and log-weights of u, and of v.
    xp : module
    """
    (outer, _), (inner, log_weight) = grids
    effect = family_loading[:, None, None] * inner
    shift = loading[:, None, None] * outer[None, :, None] + effect
    never = -softplus(logit.T[:, :, None, None] + shift[None], xp)
    stacked = _stack(never, effect + 0.0 * shift, log_weight + 0.0 * shift, xp)
    return log_sum_exp(combine(stacked).reshape((-1, *_shape(outer, inner))), xp)


def _shape(outer: Any, inner: Any) -> tuple[Any, ...]:
    return 2, outer.shape[0], inner.shape[0]


def _stack(never: Any, positive: Any, weight: Any, xp: Any) -> Any:
    """The table of a :data:`Combine`: labelers, one positive label, log-weights."""
    whole = xp.concatenate([never, positive[None], weight[None]], axis=0)
    return whole.reshape((whole.shape[0], -1))


def marginal_rate(logit: Any, scale: Any, grid: tuple[Any, Any], xp: Any) -> Any:
    """P(label 1) with a normal effect of standard deviation ``scale`` averaged over, (labeler,).

    Independent effects add up to one normal effect, with scale^2 the sum of squared loadings.
    """
    nodes, log_weight = grid
    value = logit[:, None] + scale * nodes[None, :]
    return (sigmoid(value, xp) * xp.exp(log_weight)).sum(axis=-1)


@dataclass(frozen=True)
class QuadratureError:
    """Largest change of log p(z | y) when the nodes are doubled, and how many nodes there were."""

    largest: float
    n_nodes: int


def quadrature_error(
    logit: FloatArray,
    loading: FloatArray,
    presence: FloatArray,
    n_positive: FloatArray,
    n_nodes: int | None = None,
) -> QuadratureError:
    """What the sum over nodes is worth at given parameters: compared with twice the nodes.

    Parameters
    ----------
    logit : array (2, labeler)
    loading : array (2,)
    presence : array (row, labeler)
        Labels of each labeler in the row (0 or 1).
    n_positive : array (row,)
    n_nodes : int, optional
        Default: :func:`node_count` of the longest row.

    Returns
    -------
    QuadratureError
        Above 1e-6, raise ``loading_bound`` of the model.

    Examples
    --------
    >>> import numpy as np
    >>> logit, presence = np.zeros((2, 9)), np.ones((1, 9))
    >>> found = quadrature_error(logit, np.full(2, 2.0), presence, np.array([4.0]))
    >>> found.largest < 1e-8, found.n_nodes
    (True, 65)
    """
    if n_nodes is None:
        n_nodes = node_count(int(presence.sum(axis=1).max()))
    matrix = np.column_stack([presence, n_positive, np.ones(len(n_positive))])
    values = [
        shared_effect(logit, loading, lambda table: matrix @ table, normal_nodes(n), np)
        for n in (n_nodes, 2 * n_nodes - 1)
    ]
    return QuadratureError(float(np.abs(values[0] - values[1]).max()), n_nodes)
