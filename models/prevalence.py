"""Outcome layer ``prevalence``: every (round, arm) group has a rate of its own."""

import pymc as pm
import pytensor.tensor as pt
from pytensor.tensor.variable import TensorVariable

from hero_bayes.data.panel import Panel
from hero_bayes.models.priors import beta_pair
from hero_bayes.models.truth import TruthPrior, independent_items


def prevalence(panel: Panel, prior: tuple[float, float] = (1.0, 1.0)) -> TruthPrior:
    """P(truth 1) of each item is the rate of its group, m_g ~ Beta(prior).

    Parameters
    ----------
    panel : Panel
        The two rounds.
    prior : tuple of float
        The two parameters of the Beta prior of every rate; (1, 1) is flat.

    Returns
    -------
    TruthPrior
        Over ``history_prevalence`` (history_group) and ``prevalence`` (group).
    """
    a, b = beta_pair("prevalence_prior", prior)
    history_rate = pm.Beta("history_prevalence", a, b, dims="history_group")
    rate = pm.Beta("prevalence", a, b, dims="group")
    return independent_items(
        log_class_prior(history_rate)[group_index(panel, "history")],
        log_class_prior(rate)[group_index(panel, "current")],
    )


def log_class_prior(rate: TensorVariable) -> TensorVariable:
    """Log P(truth 0) and log P(truth 1), (..., 2), from P(truth 1)."""
    return pt.stack([pt.log1p(-rate), pt.log(rate)], axis=-1)


def group_index(panel: Panel, role: str) -> TensorVariable:
    """The group of each item of one round, as replaceable data."""
    if role == "history":
        return pm.Data("history_group_idx", panel.history.group_idx, dims="history_item")
    return pm.Data("group_idx", panel.current.group_idx, dims="item")
