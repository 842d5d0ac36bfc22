"""The law of P(correct) across prompts: its density, and how much of it is next to 0 and 1."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from hero_bayes.difficulty.laws import Law, laws
from hero_bayes.difficulty.prompt_means import Floats, check_prob
from hero_bayes.errors import DataError

__all__ = ["density", "shape_table"]

#: Below and above these, prompts count as (nearly) never and always solved.
LOW, HIGH = 0.01, 0.99
POINTS = 201

Fits = xr.DataTree | Mapping[str, xr.DataTree]


def density(
    fit: Fits, grid: Sequence[float] | NDArray[np.float64] | None = None, prob: float = 0.9
) -> pd.DataFrame:
    """Density of P(correct) across prompts, with a band.

    Parameters
    ----------
    fit : DataTree, or mapping of str to DataTree
        Fits of ``hb.difficulty.fit``; a mapping (of benchmarks, say) gives a column ``source``.
    grid : sequence of float, optional
        Points in (0, 1). Default: 201 points from 0.01 to 0.99, dense near the ends.
    prob : float
        Posterior probability of the band, at each point.

    Returns
    -------
    DataFrame
        One row a (source,) model and point: ``model``, ``p``, ``density`` (posterior mean),
        ``low``, ``high``.

    Raises
    ------
    ValueError
        If the grid leaves (0, 1), where U and J shapes are infinite.
    DataError
        If this is no such fit.

    Notes
    -----
    Over the default grid the density integrates to 1 less the shares beyond 0.01 and 0.99, which
    `shape_table` gives; they can hold most prompts.
    """
    check_prob(prob)
    points = _default_grid() if grid is None else np.asarray(grid, dtype=np.float64)
    if points.ndim != 1 or not points.size or not ((points > 0.0) & (points < 1.0)).all():
        raise ValueError("grid needs points between 0 and 1, without the ends")
    parts = []
    for labels, law in _each(fit):
        draws = law.density(points)
        low, high = np.quantile(draws, [(1 - prob) / 2, (1 + prob) / 2], axis=0)
        columns = {"p": points, "density": draws.mean(axis=0), "low": low, "high": high}
        parts.append(pd.DataFrame({**labels, **columns}))
    return pd.concat(parts, ignore_index=True)


def shape_table(fit: Fits, prob: float = 0.9) -> pd.DataFrame:
    """Mean, spread and ends of the law of P(correct), by model.

    Parameters
    ----------
    fit : DataTree, or mapping of str to DataTree
        As for `density`.
    prob : float
        Posterior probability of the intervals.

    Returns
    -------
    DataFrame
        One row a (source,) model: ``model``, ``shape`` ("beta" or "logit_normal"); ``mu``,
        ``sigma``, ``icc`` = sigma^2 / (mu - mu^2), ``share_below_0.01`` and ``share_above_0.99``
        (shares of prompts), each a posterior mean with ``_low`` and ``_high``. ``mu`` is
        that of the law (``mu_law`` of the fit), right only if the law fits (``hb.diagnose``).

    Raises
    ------
    DataError
        If this is no such fit.
    """
    check_prob(prob)
    rows = []
    for labels, law in _each(fit):
        row: dict[str, object] = {**labels, "shape": law.shape}
        for name, draws in _summaries(law).items():
            low, high = np.quantile(draws, [(1 - prob) / 2, (1 + prob) / 2])
            row |= {name: draws.mean(), f"{name}_low": low, f"{name}_high": high}
        rows.append(row)
    return pd.DataFrame(rows)


def _default_grid() -> Floats:
    """Points equally spaced in arcsin(sqrt(p)), which flattens the ends of U shapes."""
    angle = np.linspace(np.arcsin(LOW**0.5), np.arcsin(HIGH**0.5), POINTS)
    return np.asarray(np.sin(angle) ** 2, dtype=np.float64)


def _summaries(law: Law) -> dict[str, Floats]:
    return {
        "mu": law.mu,
        "sigma": law.sigma,
        "icc": law.sigma**2 / (law.mu - law.mu**2),
        f"share_below_{LOW}": law.below(LOW),
        f"share_above_{HIGH}": law.above(HIGH),
    }


def _each(fit: Fits) -> Iterator[tuple[dict[str, str], Law]]:
    """Every law with its labels: model, and source where there are several fits."""
    if isinstance(fit, Mapping) and not isinstance(fit, xr.DataTree):
        if not fit:
            raise DataError("there are no fits in the mapping: pass {name: fit}")
        for source, one in fit.items():
            for model, law in laws(one).items():
                yield {"source": str(source), "model": model}, law
        return
    for model, law in laws(fit).items():
        yield {"model": model}, law
