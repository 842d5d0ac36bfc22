"""Outcome x labelers x transport, put together over the two label tables."""

from collections.abc import Callable

import pymc as pm
import pytensor.tensor as pt
from pytensor.tensor.variable import TensorVariable

from hero_bayes.data.counts import gold_code
from hero_bayes.data.labels import Labels
from hero_bayes.data.panel import Panel
from hero_bayes.likelihoods.latent_class import mixture_log_likelihood
from hero_bayes.models.independent import LabelerRates, class_log_likelihood
from hero_bayes.models.prevalence import log_class_prior, prevalence


def coordinates(panel: Panel) -> dict[str, object]:
    """Coordinates of every two-round model."""
    return {
        "labeler": [str(name) for name in panel.labelers],
        "history_group": panel.history.groups("history"),
        "group": panel.current.groups("current"),
        "history_item": [str(name) for name in panel.history.items],
        "item": [str(name) for name in panel.current.items],
        "truth": [0, 1],
    }


def two_rounds(
    panel: Panel,
    rates: LabelerRates,
    transport: Callable[[LabelerRates], LabelerRates],
    prevalence_prior: tuple[float, float],
) -> None:
    """Add prevalences and the labels of both rounds to the model on the stack.

    Registers ``history_prevalence`` (history_group), ``prevalence`` (group), the deterministic
    ``class_log_likelihood`` (item, truth) of the current items, and one potential a round with the
    log-likelihood of each item, summed over its truth where gold is missing.
    """
    history_rate = prevalence("history_prevalence", "history_group", prevalence_prior)
    current_rate = prevalence("prevalence", "group", prevalence_prior)
    history = class_log_likelihood(panel.history, rates, "history_")
    current = pm.Deterministic(
        "class_log_likelihood",
        class_log_likelihood(panel.current, transport(rates), ""),
        dims=("item", "truth"),
    )
    _labels_potential("history_labels", panel.history, history, history_rate, "history_")
    _labels_potential("current_labels", panel.current, current, current_rate, "")


def _labels_potential(
    name: str,
    labels: Labels,
    class_terms: TensorVariable,
    rate: TensorVariable,
    prefix: str,
) -> None:
    """The log-likelihood of one round's labels and gold, one term an item."""
    gold = pm.Data(f"{prefix}gold", gold_code(labels), dims=f"{prefix}item")
    group_idx = pm.Data(f"{prefix}group_idx", labels.group_idx, dims=f"{prefix}item")
    terms = mixture_log_likelihood(class_terms, log_class_prior(rate, group_idx), gold, pt)
    pm.Potential(name, terms, dims=f"{prefix}item")
