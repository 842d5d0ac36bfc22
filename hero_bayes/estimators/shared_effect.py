"""Labelers that share the difficulty of an item: a latent class model with a random effect.

The likelihood-ratio supplier of the anchored tilt, fitted at its mode.
"""

import numpy as np
from numpy.typing import NDArray

from hero_bayes.data.labels import Labels
from hero_bayes.data.panel import align
from hero_bayes.errors import DataError
from hero_bayes.estimators.anchored_em import anchor_data, label_codes
from hero_bayes.estimators.shared_effect_mode import (
    FIT_NODES,
    SharedEffect,
    item_weights,
    maximise,
    nodes_and_weights,
    start_parameters,
)
from hero_bayes.estimators.shared_effect_ratio import class_log_likelihood

__all__ = ["SharedEffect", "fit_shared_effect", "log_ratio", "ratio_of"]

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
IntArray = NDArray[np.integer]

#: Items without gold enter the likelihood to this power.
POWER = 0.3
#: Nodes of a log-likelihood ratio, moved to each item's own mode.
RATIO_NODES = 15


def fit_shared_effect(
    history: Labels,
    current: Labels | None = None,
    *,
    power: float = POWER,
    held_out: BoolArray | None = None,
    start: SharedEffect | None = None,
    nodes: int = FIT_NODES,
) -> SharedEffect:
    """Labeler parameters when all labelers of an item share its difficulty, at the mode.

    Gold anchors the classes; unlabeled history speaks with the given power, so that it cannot
    outvote gold.

    Parameters
    ----------
    history : Labels
        Past rounds, some items with gold.
    current : Labels, optional
        The round to judge; only its items with gold inform.
    power : float
        Power of the likelihood of items without gold, in [0, 1].
    held_out : bool array (history item,), optional
        History items that the fit must not see.
    start : SharedEffect, optional
        Where the search begins, on the same labelers; default: the gold rates.
    nodes : int
        Gauss-Hermite nodes.

    Returns
    -------
    SharedEffect
        The mode. Labelers of the current round that nothing informs are left out.

    Raises
    ------
    Refusal
        If there is no labeled item with gold of one of the classes.
    DataError
        If ``held_out`` or ``start`` does not fit the tables.
    ValueError
        If ``power`` is outside [0, 1].

    Notes
    -----
    The latent class model with a random effect of Qu, Tan and Kutner [1]_; priors and
    parameterisation are in `log_posterior`. The mode is that of the standardised intercepts, the
    means, the logs of spreads and loadings, and the prevalences themselves; the spreads are at the
    mode of their marginal posterior, to first order.

    References
    ----------
    .. [1] Qu, Y., Tan, M., Kutner, M. H. (1996). Random effects models in latent class analysis for
       evaluating accuracy of diagnostic tests. Biometrics 52(3), 797-810.

    Examples
    --------
    >>> import hero_bayes as hb
    >>> rounds = hb.datasets.demo_rounds()
    >>> fit = fit_shared_effect(rounds.history)
    >>> fit.converged, fit.intercept.shape == (2, rounds.history.n_labelers)
    (True, True)
    """
    if not 0.0 <= power <= 1.0:
        raise ValueError(f"power must lie between 0 and 1, got {power!r}")
    panel = align(history, history.take_items([]) if current is None else current, unseen="drop")
    data = anchor_data(panel)
    hidden = np.zeros(data.gold.size, dtype=bool)
    if held_out is not None:
        if np.shape(held_out) != (history.n_items,):
            raise DataError(
                f"held_out has shape {np.shape(held_out)}, the history has {history.n_items:,} "
                "items; pass one entry by item"
            )
        hidden[: history.n_items] = held_out
    if start is not None and not np.array_equal(start.labelers, panel.labelers):
        raise DataError("the start was fitted to other labelers; fit it to the same tables")
    return maximise(
        data,
        panel.labelers,
        start_parameters(data) if start is None else start.parameters,
        item_weights(data, power, hidden),
        information=None if start is None else start.information,
        nodes=nodes,
    )


def log_ratio(fit: SharedEffect, labels: Labels, nodes: int = RATIO_NODES) -> FloatArray:
    """Log p(labels | y=1) - log p(labels | y=0) of every item, the effect integrated out.

    Parameters
    ----------
    fit : SharedEffect
        Labeler parameters.
    labels : Labels
        Any items; labels of labelers that the fit does not know are left out.
    nodes : int
        Gauss-Hermite nodes, moved to the mode of each item's effect and scaled by its curvature.

    Returns
    -------
    float array (item,)
        Nats; 0 for an item without a label of a known labeler.

    Notes
    -----
    Adaptive quadrature [1]_. Fixed nodes are off by nats for long items: at 60 labels and loading
    3 the default here is within 1e-3.

    References
    ----------
    .. [1] Liu, Q., Pierce, D. A. (1994). A note on Gauss-Hermite quadrature. Biometrika 81(3),
       624-629.

    Examples
    --------
    >>> import hero_bayes as hb
    >>> rounds = hb.datasets.demo_rounds()
    >>> fit = fit_shared_effect(rounds.history)
    >>> log_ratio(fit, rounds.current).shape == (rounds.current.n_items,)
    True
    """
    known = labels.with_labelers(fit.labelers)
    return ratio_of(fit, np.arange(known.n_items), known.item_ptr, label_codes(known), nodes)


def ratio_of(
    fit: SharedEffect,
    item_idx: IntArray,
    item_ptr: IntArray,
    code: IntArray,
    nodes: int = RATIO_NODES,
) -> FloatArray:
    """`log_ratio` of chosen items of an index table on the fit's own labelers."""
    by_class = class_log_likelihood(
        item_idx, item_ptr, code, fit.intercept, fit.loading, *nodes_and_weights(nodes)
    )
    return np.asarray(by_class[:, 1] - by_class[:, 0])
