"""Rank plots."""

from typing import Any

import xarray as xr

__all__ = ["plot_ranks"]


def plot_ranks(result: xr.DataTree, var_names: list[str] | None = None, **options: Any) -> Any:
    """Difference between the PITs' distribution and the uniform one, a panel a scalar.

    Parameters
    ----------
    result : xarray.DataTree
        From :func:`sbc`.
    var_names : list of str, optional
    **options
        Passed to ``arviz_plots.plot_ecdf_pit``.

    Returns
    -------
    arviz_plots.PlotCollection
        A curve outside its band says that the ranks are not uniform. Save with ``.savefig(path)``.
    """
    from arviz_plots import plot_ecdf_pit

    return plot_ecdf_pit(
        result, var_names=var_names, group="pit", sample_dims="simulation", **options
    )
