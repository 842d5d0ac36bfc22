"""Complete model ``beta``: prompt difficulty with observed truth, Beta over prompts."""

import pymc as pm
import pytensor.tensor as pt

from hero_bayes.data.count_table import CountTable
from hero_bayes.likelihoods.prompt_counts import count_log_probability, rising_logs
from hero_bayes.models.priors import beta_pair


def beta_difficulty(
    counts: CountTable,
    *,
    mu_prior: tuple[float, float] = (1.0, 1.0),
    icc_prior: tuple[float, float] = (1.0, 1.0),
) -> pm.Model:
    """P(correct) of a prompt is q ~ Beta(mu f, (1 - mu) f) with f = (1 - icc) / icc, by model.

    Parameters
    ----------
    counts : CountTable
        From :func:`hero_bayes.data.count_table.count_table`.
    mu_prior, icc_prior : tuple of float
        Beta parameters of the mean score and of icc = Var(q) / (mu (1 - mu)); (1, 1) is flat. A
        flat icc holds U and J shapes (f < 1).

    Returns
    -------
    pm.Model
        Free variables ``mu`` and ``icc`` (model); deterministic ``sigma`` (model), the standard
        deviation of q. The q are integrated out: counts are beta-binomial.

    References
    ----------
    .. [1] Zhang, W., Cai, H., Chen, W. (2026). Beyond the Singular: Revealing the Value of Multiple
       Generations in Benchmark Evaluation. arXiv:2502.08943
    """
    with pm.Model(coords={"model": list(counts.models)}) as model:
        mu = pm.Beta("mu", *beta_pair("mu_prior", mu_prior), dims="model")
        icc = pm.Beta("icc", *beta_pair("icc_prior", icc_prior), dims="model")
        pm.Deterministic("sigma", pt.sqrt(mu * (1.0 - mu) * icc), dims="model")
        logs = rising_logs(mu, icc, counts.k_max, pt)
        terms = count_log_probability(counts.n_correct, counts.k, counts.model_idx, logs)
        weight = pm.Data("weight", counts.weight)
        pm.Potential("counts", weight * terms)
    return model
