"""Labeler layer ``independent``: given the truth, labelers err independently (Dawid and Skene).

``flat`` gives every sensitivity and specificity a Beta prior of its own; ``partially_pooled`` draws
their logits from a population, so that labelers with little gold, or none, borrow from the others.
"""

from dataclasses import dataclass

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pytensor.tensor.variable import TensorVariable

from hero_bayes.data.counts import label_counts
from hero_bayes.data.labels import Labels
from hero_bayes.likelihoods.latent_class import label_log_probabilities
from hero_bayes.models.priors import beta_pair, mean_and_sd, positive_scale

#: A label table is held densely, as counts, while its rows are at least this full.
DENSE_SHARE = 0.1


@dataclass(frozen=True)
class LabelerRates:
    """P(label 1 | truth 1) and P(label 0 | truth 0), each (labeler,)."""

    sensitivity: TensorVariable
    specificity: TensorVariable

    def class_log_likelihood(
        self, labels: Labels, prefix: str = "", n_items: int | TensorVariable | None = None
    ) -> TensorVariable:
        """Log p(labels | truth 0) and log p(labels | truth 1) of each item, (item, 2)."""
        return class_log_likelihood(labels, self, prefix, n_items)


def flat(
    sensitivity_prior: tuple[float, float] = (1.0, 1.0),
    specificity_prior: tuple[float, float] = (1.0, 1.0),
) -> LabelerRates:
    """Rates with a Beta prior for each labeler; (1, 1) is uniform on the probability."""
    return LabelerRates(
        pm.Beta("sensitivity", *beta_pair("sensitivity_prior", sensitivity_prior), dims="labeler"),
        pm.Beta("specificity", *beta_pair("specificity_prior", specificity_prior), dims="labeler"),
    )


def partially_pooled(
    sensitivity_prior: tuple[float, float] = (1.0, 1.0),
    specificity_prior: tuple[float, float] = (1.0, 1.0),
    spread_prior: float = 1.0,
) -> LabelerRates:
    """Rates whose logits come from a normal population, non-centred.

    logit rate_j = mean + spread * offset_j, with mean ~ Normal(prior), spread ~
    HalfNormal(spread_prior), offset ~ Normal(0, 1), for sensitivity and specificity alike. The
    default mean, Normal(1, 1), sits above chance (0.73) and leaves one sixth of its mass below one
    half. A labeler without labels is a draw from the population.
    """
    return LabelerRates(
        _population("sensitivity", sensitivity_prior, spread_prior),
        _population("specificity", specificity_prior, spread_prior),
    )


def _population(name: str, mean_prior: tuple[float, float], spread_prior: float) -> TensorVariable:
    """One partially pooled rate by labeler."""
    mean = pm.Normal(f"{name}_mean", *mean_and_sd(f"{name}_prior", mean_prior))
    spread = pm.HalfNormal(f"{name}_spread", positive_scale("spread_prior", spread_prior))
    offset = pm.Normal(f"{name}_offset", 0.0, 1.0, dims="labeler")
    return pm.Deterministic(name, pm.math.sigmoid(mean + spread * offset), dims="labeler")


def class_log_likelihood(
    labels: Labels,
    rates: LabelerRates,
    prefix: str = "",
    n_items: int | TensorVariable | None = None,
) -> TensorVariable:
    """Log p(labels | truth 0) and log p(labels | truth 1) of each item, (item, 2).

    Parameters
    ----------
    labels : Labels
        On the labeler coordinate of the rates.
    rates : LabelerRates
    prefix : str
        Put before the names of the data containers, so that one model can hold two label tables.
    n_items : int or scalar tensor, optional
        The number of items, where it may change with the data of a compiled model.

    Notes
    -----
    Sums log P(label | truth) over an item's labels: a product of counts with the table of
    log-probabilities where the table is small, a gather and a sum by item where it is wide and
    thin.
    """
    logs = label_log_probabilities(rates.sensitivity, rates.specificity, pt)
    table = pt.stack(logs, axis=-1)
    if labels.n_labels >= DENSE_SHARE * labels.n_items * labels.n_labelers:
        counts = pm.Data(f"{prefix}label_counts", label_counts(labels))
        return pt.dot(counts, table)
    column = pm.Data(
        f"{prefix}label_column",
        labels.label.astype(np.int64) * labels.n_labelers + labels.labeler_idx,
    )
    item_idx = pm.Data(
        f"{prefix}item_idx", np.repeat(np.arange(labels.n_items), np.diff(labels.item_ptr))
    )
    zeros = pt.zeros((labels.n_items if n_items is None else n_items, 2))
    return zeros[item_idx].inc(table[column])
