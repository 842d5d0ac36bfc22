"""P(y_i = 1 | labels): each item's truth under the fitted labelers."""

import numpy as np
import xarray as xr

from hero_bayes.errors import DataError


def posterior_truth(fit: xr.DataTree) -> xr.DataArray:
    """Probability that each current item's truth is 1, for every kept draw.

    Parameters
    ----------
    fit : xarray.DataTree
        What ``hb.fit`` returned; only its ``evidence`` group is read.

    Returns
    -------
    xarray.DataArray
        P(y_i = 1 | labels, parameters), (chain, draw, item): its mean over draws is the posterior
        probability, its spread the part of the uncertainty that comes from labelers and prevalence.
        Gold items are 1 or 0 exactly, unless the fit allowed for errors of gold (``gold_error``).

    Raises
    ------
    DataError
        If ``fit`` has no evidence.

    Notes
    -----
    expit(log r_i + prior log odds of item i), r_i the likelihood ratio of the item's labels.

    Examples
    --------
    >>> import hero_bayes as hb
    >>> rounds = hb.datasets.demo_rounds()
    >>> fitted = hb.fit(rounds.history, rounds.current, model="hero", mode="map", random_seed=1)
    >>> hb.posterior_truth(fitted).sizes["item"]
    175
    """
    if not isinstance(fit, xr.DataTree) or "evidence" not in fit.children:
        raise DataError("the tree has no evidence group; pass what hb.fit returned")
    evidence = fit["evidence"].to_dataset()
    logit = evidence["log_likelihood_ratio"] + evidence["prior_log_odds"]
    probability = xr.apply_ufunc(lambda x: np.exp(-np.logaddexp(0.0, -x)), logit)
    gold = evidence["gold"]
    out: xr.DataArray = probability.where(np.isnan(gold), gold)
    return out.transpose("chain", "draw", "item").rename("truth_probability")
