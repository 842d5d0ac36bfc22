"""Outcome x labelers x transport, put together over the two label tables."""

import pymc as pm
import pytensor.tensor as pt
from pytensor.tensor.variable import TensorVariable

from hero_bayes.data.counts import gold_code
from hero_bayes.data.labels import Labels
from hero_bayes.data.panel import Panel
from hero_bayes.errors import Refusal
from hero_bayes.models.gold import GoldError, fallible, gold_error_rate
from hero_bayes.models.labelers import LabelerLayer
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
    panel: Panel,
    outcome: TruthPrior,
    history_labelers: LabelerLayer,
    current_labelers: LabelerLayer,
    *,
    unlabeled_power: float = 1.0,
    gold_error: GoldError = None,
) -> None:
    """Add the labels and gold of both rounds to the model on the stack.

    Registers the deterministic ``class_log_likelihood`` (item, truth) of the current items, and one
    potential a round, ``history_labels`` and ``current_labels``, with the log-likelihood of each
    item (of each prompt, where the outcome layer ties a prompt's items together), summed over the
    truth where gold is missing. ``unlabeled_power`` multiplies it for items without gold. With
    ``gold_error`` (:func:`hero_bayes.models.gold.gold_error_rate`) gold is evidence in
    ``class_log_likelihood`` like a label, and the sum runs over both truths of every item.
    """
    error = gold_error_rate(gold_error)
    past, now = _gold(panel.history, "history_"), _gold(panel.current, "")
    history, known_past = fallible(
        history_labelers.class_log_likelihood(panel.history, "history_", past.shape[0]), past, error
    )
    current, known_now = fallible(
        current_labelers.class_log_likelihood(panel.current, "", now.shape[0]), now, error
    )
    current = pm.Deterministic("class_log_likelihood", current, dims=("item", "truth"))
    terms, dim = outcome.history.log_likelihood(history, known_past)
    pm.Potential("history_labels", _tempered(terms, dim, past, unlabeled_power), dims=dim)
    terms, dim = outcome.current.log_likelihood(current, known_now)
    pm.Potential("current_labels", _tempered(terms, dim, now, unlabeled_power), dims=dim)


def _tempered(
    terms: TensorVariable, dim: str, gold: TensorVariable, power: float
) -> TensorVariable:
    """The terms, those of items without gold times the power."""
    if power == 1.0:
        return terms
    if dim not in ("history_item", "item"):
        raise Refusal(
            "unlabeled_power speaks of items, and this outcome layer ties the items of a prompt "
            "together; leave it at 1"
        )
    return pt.where(pt.lt(gold, 0), power * terms, terms)


def _gold(labels: Labels, prefix: str) -> TensorVariable:
    """Gold of one round as replaceable data: 1, 0, or -1 where there is none."""
    return pm.Data(f"{prefix}gold", gold_code(labels), dims=f"{prefix}item")
