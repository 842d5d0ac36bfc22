"""How much prior and likelihood each move a fit: power scaling, where it means something."""

from collections.abc import Sequence

import pandas as pd
import xarray as xr

from hero_bayes.errors import DataError, Refusal

#: A log-prior that varies by less than this over the draws is flat.
CONSTANT = 1e-8
#: Variables that the second stage of a cut draws; stage 1's groups say nothing of them.
SECOND_STAGE = ("prevalence", "item_rate", "intercept")


def power_scaling(fit: xr.DataTree, var_names: Sequence[str] | None = None) -> pd.DataFrame:
    """Sensitivity of the posterior to power-scaled prior and likelihood, by ArviZ.

    Parameters
    ----------
    fit : xarray.DataTree
        A fit by NUTS or Laplace.
    var_names : sequence of str, optional
        Default: every variable that the fit's ``log_likelihood`` and ``log_prior`` speak of.

    Returns
    -------
    DataFrame
        ``prior`` and ``likelihood`` sensitivities and ArviZ's diagnosis; above 0.05 the posterior
        moves.

    Raises
    ------
    Refusal
        For the current prevalence and item rate of a cut fit: its log-likelihood and log-prior
        describe stage 1, which does not hold the current labels. Fit with ``posterior="joint"`` to
        ask.

    References
    ----------
    .. [1] Kallioinen, N. et al. (2024). Detecting and diagnosing prior and likelihood sensitivity
    with
       power-scaling. Statistics and Computing 34, 57. doi:10.1007/s11222-023-10366-5
    """
    import arviz as az

    if not isinstance(fit, xr.DataTree):
        raise DataError(f"expected a fit, got {type(fit).__name__}; pass what hb.fit returned")
    missing = [g for g in ("log_likelihood", "log_prior") if g not in fit.children]
    if missing:
        raise Refusal(
            f"the fit has no {' and no '.join(missing)} group (mode 'map', or tables too large); "
            "fit with mode='nuts'"
        )
    cut = fit.attrs.get("posterior") == "cut"
    names = list(var_names or fit["posterior"].data_vars)
    second = [name for name in names if name in SECOND_STAGE]
    if cut and var_names is None:
        names = [name for name in names if name not in SECOND_STAGE]
    elif cut and second:
        raise Refusal(
            f"power scaling of {', '.join(second)} in a cut fit: its log-likelihood and log-prior "
            'describe stage 1, not the current labels; fit with posterior="joint"'
        )
    log_prior = fit["log_prior"].to_dataset().to_array().sum("variable")
    if float(log_prior.max() - log_prior.min()) < CONSTANT:
        return _under_flat_priors(az.psense(fit, var_names=names, group="likelihood"))
    table: pd.DataFrame = az.psense_summary(fit, var_names=names)
    return table


def _under_flat_priors(likelihood: xr.Dataset) -> pd.DataFrame:
    """ArviZ's table where every prior is flat: scaling them does nothing, and ArviZ stops at it."""
    from arviz_base import dataset_to_dataframe

    both = xr.concat([xr.zeros_like(likelihood), likelihood], dim="component")
    both = both.assign_coords(component=["prior", "likelihood"])
    table: pd.DataFrame = dataset_to_dataframe(both, sample_dims=["component"]).T.round(3)
    table["diagnosis"] = "✓"
    return table
