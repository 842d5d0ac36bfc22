"""P(truth 1) of every item of a round, before its labels, at one draw of a model's parameters."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from hero_bayes.data.labels import Labels
from hero_bayes.data.prompts import prompt_slots
from hero_bayes.likelihoods.prompt_counts import beta_parameters

__all__ = ["truth_chances"]

FloatArray = NDArray[np.float64]


def truth_chances(
    labels: Labels, role: str, draw: Mapping[str, FloatArray], rng: np.random.Generator
) -> FloatArray:
    """P(truth 1) of every item (item,).

    Parameters
    ----------
    labels : Labels
    role : {"history", "current"}
    draw : mapping
        By name, ``history_`` before the names of history: ``prevalence`` (group); with ``icc``
        (group) every prompt has a chance of its own, drawn here; or ``intercept`` (group) and
        ``covariate_log_odds`` (item).
    rng : Generator
    """
    prefix = "history_" if role == "history" else ""
    if f"{prefix}icc" in draw:
        table = prompt_slots(labels, role)
        rates = (draw[f"{prefix}{name}"][table.group_idx] for name in ("prevalence", "icc"))
        chance = np.zeros(labels.n_items + 1)
        chance[table.slots] = rng.beta(*beta_parameters(*rates))[:, None]
        return chance[1:]
    if f"{prefix}intercept" in draw:
        logit = draw[f"{prefix}intercept"][labels.group_idx] + draw[f"{prefix}covariate_log_odds"]
        return np.asarray(1.0 / (1.0 + np.exp(-logit)))
    return np.asarray(draw[f"{prefix}prevalence"][labels.group_idx])
