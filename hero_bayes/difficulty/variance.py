"""Where the uncertainty of a score comes from: prompts, generations, labelers."""

from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

from hero_bayes.data.labels import Labels
from hero_bayes.data.prompts import prompt_slots
from hero_bayes.errors import DataError, Refusal

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["variance_shares"]

ONE_EACH = "every prompt has one generation: prompts and generations cannot be told apart"


def variance_shares(fit: xr.DataTree, current: Labels) -> "pd.DataFrame":
    """Shares of the variance of a rate due to prompts, to generations, and to labelers.

    Parameters
    ----------
    fit : xarray.DataTree
        What ``hb.fit(..., model="prompt_labels")`` returned, with draws.
    current : Labels
        The current round of that fit.

    Returns
    -------
    DataFrame
        One row a group and source: ``group``, ``source`` ("prompts", "generations", "labelers"),
        ``variance``, ``share`` of their sum; ``posterior_variance``, that of the prevalence itself,
        which their sum approximates; ``remedy``, what would make the part smaller; and ``reason``,
        why prompts and generations are NaN: with one generation of every prompt they cannot be told
        apart. The share of the labelers is given all the same.

    Raises
    ------
    DataError
        If ``current`` is not the table of the fit, or the fit has no ``icc``.
    Refusal
        If the fit is a mode without draws.

    Notes
    -----
    By Lemma 2.1 [1]_ prompts give sigma^2 / n, generations (mu - mu^2 - sigma^2) times the mean of
    1 / k_p, over n; both at their posterior means. Labelers give the posterior variance of the mean
    over prompts of the share of true generations, which would be known if labels were never wrong;
    read off ``item_rate``, it holds their unknown error rates and their errors alike. Read the
    shares only if the fit passed the gate (``hb.diagnose``).

    References
    ----------
    .. [1] Zhang, W., Cai, H., Chen, W. (2026). Beyond the Singular: Revealing the Value of Multiple
       Generations in Benchmark Evaluation. arXiv:2502.08943
    """
    import pandas as pd

    if not isinstance(fit, xr.DataTree) or "posterior" not in fit.children:
        raise DataError('this is no fit: pass what hb.fit(..., model="prompt_labels") returned')
    if not isinstance(current, Labels):
        raise DataError(f"current must be Labels, not {type(current).__name__}")
    if fit.attrs.get("current_fingerprint") != current.fingerprint:
        raise DataError("current is not the table this fit was made from; pass the same Labels")
    posterior = fit["posterior"].to_dataset()
    if "icc" not in posterior:
        raise DataError('the fit has no icc: fit with model="prompt_labels"')
    if posterior.sizes["chain"] * posterior.sizes["draw"] < 2:
        raise Refusal('a mode has no variance: fit with mode="nuts"')
    table, rows = prompt_slots(current, "current"), []
    for position, group in enumerate(posterior["group"].to_numpy()):
        one = posterior.isel(group=position)
        size = table.size[table.group_idx == position]
        mean, icc = one["prevalence"].to_numpy(), one["icc"].to_numpy()
        spread = float((mean * (1 - mean) * icc).mean())
        noise = float((mean * (1 - mean) * (1 - icc)).mean())
        parts = {
            "prompts": (spread / size.size, "more prompts"),
            "generations": (noise * float(np.mean(1 / size)) / size.size, "more generations"),
            "labelers": (
                float(one["item_rate"].to_numpy().var(ddof=1)),
                "more labels per generation, or more gold",
            ),
        }
        # With one generation of every prompt the first two parts are known as a sum only.
        total = sum(variance for variance, _ in parts.values())
        for source, (variance, remedy) in parts.items():
            untold = bool((size == 1).all()) and source != "labelers"
            known = float("nan") if untold else variance
            rows.append(
                {
                    "group": str(group),
                    "source": source,
                    "variance": known,
                    "share": known / total,
                    "posterior_variance": float(mean.var(ddof=1)),
                    "remedy": "several generations per prompt" if untold else remedy,
                    "reason": ONE_EACH if untold else "",
                }
            )
    return pd.DataFrame(rows)
