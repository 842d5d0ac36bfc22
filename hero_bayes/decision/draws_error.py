"""How far a share among posterior draws is off because the draws are finitely many."""

import math
import warnings
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["effective_size", "monte_carlo_error"]

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

#: ArviZ needs this many draws of a chain for an effective sample size.
FEW = 4


def monte_carlo_error(
    held: BoolArray, values: Sequence[FloatArray], importance_draws: float = math.inf
) -> float:
    """Standard error of a share among draws (chain, draw).

    Parameters
    ----------
    held : bool array (chain, draw)
    values : sequence of array (chain, draw)
        The quantities behind it, whose effective sample size stands in where ``held`` is the same
        in every draw.
    importance_draws : float
        What the importance draws behind resampled draws are worth.

    Notes
    -----
    sqrt(q (1 - q) / n) with q = (P n + 1) / (n + 2), so that a share of 0 or 1 among finitely many
    draws has an error too; 1 / n = 1 / ESS + 1 / importance draws.
    """
    constant = bool(held.all() or not held.any())
    arrays = list(values) if constant else [held.astype(float)]
    size = 1.0 / (1.0 / min(effective_size(array) for array in arrays) + 1.0 / importance_draws)
    share = (float(held.mean()) * size + 1.0) / (size + 2.0)
    return math.sqrt(share * (1.0 - share) / size)


def effective_size(values: FloatArray) -> float:
    """Effective number of draws for a mean, at most the number of draws."""
    import arviz

    if values.shape[1] < FEW or not np.isfinite(values).all() or np.ptp(values) == 0.0:
        return float(values.size)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        # A chain that is constant divides by zero; the number of draws then stands in.
        warnings.simplefilter("ignore", RuntimeWarning)
        size = float(arviz.ess(values, chain_axis=0, draw_axis=1, method="mean"))
    return min(size, float(values.size)) if size >= 1.0 else float(values.size)
