"""Tests of whether PITs are uniform."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy.stats import kstest, t

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["uniformity"]

FloatArray = NDArray[np.float64]


def uniformity(result: xr.DataTree) -> "pd.DataFrame":
    """P-values of uniform ranks, and what they are after the number of tests.

    Parameters
    ----------
    result : xarray.DataTree
        From :func:`sbc`.

    Returns
    -------
    DataFrame
        One row a test: variable, element, test, statistic, p_value, p_adjusted. A right model has
        its smallest ``p_adjusted`` uniform or larger; below 1e-3 something is wrong.

    Notes
    -----
    ``ks`` (each scalar): Kolmogorov-Smirnov, D = sup |F_n(u) - u|, of the PITs over simulations.
    ``spread`` (each variable, and all together): s_i = mean over elements of 12 (u_i - 1/2)^2 in
    simulation i has expectation 1 whatever the dependence between elements; the statistic is
    t = (mean s - 1)/(sd s/sqrt(n)), held against Student's t with n - 1 degrees. Negative:
    intervals too wide; positive: too narrow. It is far more powerful than KS against a wrong width.
    ``p_adjusted`` = min(1, p times the number of rows) (Bonferroni).
    """
    import pandas as pd

    pit = result["pit"].to_dataset()
    rows: list[tuple[str, str, str, float, float]] = []
    parts = []
    for name, values in pit.data_vars.items():
        flat = values.transpose("simulation", ...).to_numpy().reshape(pit.sizes["simulation"], -1)
        for element, column in _elements(values, flat):
            found = kstest(column, "uniform")
            rows.append((str(name), element, "ks", float(found.statistic), float(found.pvalue)))
        rows.append((str(name), "", "spread", *_spread(flat)))
        parts.append(flat)
    rows.append(("all variables", "", "spread", *_spread(np.concatenate(parts, axis=1))))
    table = pd.DataFrame(rows, columns=["variable", "element", "test", "statistic", "p_value"])
    table["p_adjusted"] = np.minimum(1.0, table["p_value"] * len(table))
    return table


def _elements(values: xr.DataArray, flat: FloatArray) -> Iterator[tuple[str, FloatArray]]:
    """Each scalar of a variable with its name."""
    dims = [dim for dim in values.dims if dim != "simulation"]
    shape = tuple(values.sizes[dim] for dim in dims)
    for k, index in enumerate(np.ndindex(*shape)):
        names = [str(values[dim].to_numpy()[i]) for dim, i in zip(dims, index, strict=True)]
        yield ", ".join(names), flat[:, k]


def _spread(flat: FloatArray) -> tuple[float, float]:
    """Student's t and two-sided p-value of the PITs' spread."""
    by_simulation = (12.0 * (flat - 0.5) ** 2).mean(axis=1)
    error = by_simulation.std(ddof=1) / np.sqrt(len(by_simulation))
    statistic = float((by_simulation.mean() - 1.0) / error)
    return statistic, float(2.0 * t.sf(abs(statistic), len(by_simulation) - 1))
