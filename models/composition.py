"""Outcome x labelers x transport, put together over the two label tables."""

import pymc as pm
from pytensor.tensor.variable import TensorVariable

from hero_bayes.data.counts import gold_code
from hero_bayes.data.labels import Labels
from hero_bayes.data.panel import Panel
from hero_bayes.models.independent import LabelerRates, class_log_likelihood
from hero_bayes.models.truth import TruthPrior


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
    panel: Panel, outcome: TruthPrior, history_rates: LabelerRates, current_rates: LabelerRates
) -> None:
    """Add the labels and gold of both rounds to the model on the stack.

    Registers the deterministic ``class_log_likelihood`` (item, truth) of the current items, and one
    potential a round, ``history_labels`` and ``current_labels``, with the log-likelihood of each
    item (of each prompt, where the outcome layer ties a prompt's items together), summed over the
    truth where gold is missing.
    """
    past, now = _gold(panel.history, "history_"), _gold(panel.current, "")
    history = class_log_likelihood(panel.history, history_rates, "history_", past.shape[0])
    current = pm.Deterministic(
        "class_log_likelihood",
        class_log_likelihood(panel.current, current_rates, "", now.shape[0]),
        dims=("item", "truth"),
    )
    terms, dim = outcome.history.log_likelihood(history, past)
    pm.Potential("history_labels", terms, dims=dim)
    terms, dim = outcome.current.log_likelihood(current, now)
    pm.Potential("current_labels", terms, dims=dim)


def _gold(labels: Labels, prefix: str) -> TensorVariable:
    """Gold of one round as replaceable data: 1, 0, or -1 where there is none."""
    return pm.Data(f"{prefix}gold", gold_code(labels), dims=f"{prefix}item")
