"""Complete model ``logit_normal``: prompt difficulty with observed truth, normal on log odds."""

import numpy as np
import pymc as pm
import pytensor.tensor as pt

from hero_bayes.data.count_table import CountTable
from hero_bayes.likelihoods.logit_normal import (
    STEP,
    TINY,
    moments,
    node_likelihood,
    node_weights,
)
from hero_bayes.models.priors import positive_scale


def logit_normal_difficulty(counts: CountTable, *, scale_prior: float = 5.0) -> pm.Model:
    """Logit of a prompt's P(correct) ~ Normal(location, scale^2), by model.

    Parameters
    ----------
    counts : CountTable
        From :func:`hero_bayes.data.count_table.count_table`.
    scale_prior : float
        Scale of the half-normal prior of the standard deviation on the logit scale (less 0.05).
        Wide, because benchmarks with prompts that are always or never solved need it.

    Returns
    -------
    pm.Model
        Free variables ``centre`` and ``spread`` (model); deterministics ``location``, ``scale``,
        ``mu``, ``sigma`` and ``icc`` (model).

    Notes
    -----
    location = centre * sqrt(1 + pi scale^2 / 8) with centre ~ Logistic(0, 1): for any scale the
    mean score has then nearly a flat prior, because E[expit] of a normal is close to
    expit(location / sqrt(1 + pi scale^2 / 8)). The scale begins at 0.05, the step of the grid that
    the integral is taken on: prompts so alike (sigma at most 0.0125) look equal.
    """
    with pm.Model(coords={"model": list(counts.models)}) as model:
        centre = pm.Logistic("centre", 0.0, 1.0, dims="model")
        spread = pm.HalfNormal("spread", positive_scale("scale_prior", scale_prior), dims="model")
        scale = pm.Deterministic("scale", STEP + spread, dims="model")
        location = pm.Deterministic(
            "location", centre * pt.sqrt(1.0 + np.pi / 8.0 * scale**2), dims="model"
        )
        weights = node_weights(location, scale, pt)
        mu, variance = moments(weights)
        pm.Deterministic("mu", mu, dims="model")
        pm.Deterministic("sigma", pt.sqrt(variance), dims="model")
        pm.Deterministic("icc", variance / (mu * (1.0 - mu)), dims="model")
        likelihood = pm.Data("node_likelihood", node_likelihood(counts.n_correct, counts.k))
        rows = np.arange(counts.model_idx.size)
        chance = pt.dot(likelihood, weights.T)[rows, counts.model_idx]
        weight = pm.Data("weight", counts.weight)
        pm.Potential("counts", weight * pt.log(chance + TINY))
    return model
