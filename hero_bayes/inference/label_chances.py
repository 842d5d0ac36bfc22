"""P(label 1) of every label, given the truth and one draw of a model's parameters."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pymc as pm
from numpy.typing import NDArray
from scipy.special import expit

from hero_bayes.data.labels import Labels
from hero_bayes.inference.graph import GOLD_ERROR

__all__ = ["LABEL_PARTS", "label_data", "positive_chances"]

FloatArray = NDArray[np.float64]
#: What the labeler layer ``correlated`` says of labels, beside the rates.
LABEL_PARTS = ("label_logit", "loading", "family_loading")
#: Known numbers of a model that labels and gold arise from.
LABEL_DATA = ("labeler_family", GOLD_ERROR)


def label_data(model: pm.Model) -> dict[str, NDArray[Any]]:
    """Data of the model that simulated labels and gold are made from, beside the draws."""
    return {v.name: v.get_value() for v in model.data_vars if v.name in LABEL_DATA}


def positive_chances(
    labels: Labels,
    where: NDArray[np.integer],
    truth: FloatArray,
    draw: Mapping[str, FloatArray],
    rates: str,
    rng: np.random.Generator,
) -> FloatArray:
    """P(label 1) of every label (label,).

    Parameters
    ----------
    labels : Labels
    where : int array (label,)
        Who gave each label, on the coordinate of the draw.
    truth : array (item,)
        0 or 1.
    draw : mapping
        ``sensitivity`` and ``specificity`` (labeler). Where it also holds ``label_logit`` (truth,
        labeler) and ``loading`` (truth), every item gets an effect, drawn here, that all its labels
        share; with ``family_loading`` (truth) and ``labeler_family`` (labeler), another for each
        family.
    rates : str
        Put before the names of the rates.
    rng : Generator
    """
    item_idx = np.repeat(np.arange(labels.n_items), labels.labels_per_item)
    y = np.asarray(truth, dtype=float)[item_idx].astype(np.int64)
    if not {"label_logit", "loading"} <= set(draw):
        right, wrong = draw[f"{rates}sensitivity"][where], 1.0 - draw[f"{rates}specificity"][where]
        return np.asarray(np.where(y == 1, right, wrong))
    logit = draw["label_logit"][y, where]
    logit = logit + draw["loading"][y] * rng.standard_normal(labels.n_items)[item_idx]
    if "family_loading" in draw:
        family = draw["labeler_family"].astype(np.int64)
        effect = rng.standard_normal((labels.n_items, int(family.max()) + 1))
        own = family[where]
        shared = effect[item_idx, np.maximum(own, 0)]
        logit = logit + np.where(own >= 0, draw["family_loading"][y] * shared, 0.0)
    return np.asarray(expit(logit))
