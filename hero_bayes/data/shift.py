"""Covariate shift: whether the current items look like those of history."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import ndtr

#: Family-wise level of the two-sample tests, shared by all covariates (Bonferroni).
LEVEL = 0.01


def covariate_shift(
    history: NDArray[np.float64], current: NDArray[np.float64], names: Sequence[str]
) -> pd.DataFrame:
    """Standardised mean differences, current minus history, with a two-sample z test.

    Parameters
    ----------
    history, current : array (item, covariate)
    names : sequence of str
        Covariate names.

    Returns
    -------
    DataFrame
        Index ``covariate``; ``difference`` in standard deviations (pooled over the two rounds), its
        ``standard_error``, two-sided ``p_value`` and ``significant`` at 1 % over all covariates. A
        constant covariate has difference 0, or infinite where the two constants differ.
    """
    difference = current.mean(axis=0) - history.mean(axis=0)
    variance = history.var(axis=0), current.var(axis=0)
    spread = np.sqrt((variance[0] + variance[1]) / 2.0)
    noise = np.sqrt(variance[0] / len(history) + variance[1] / len(current))
    tiny = 1e-12 * np.maximum(np.abs(history).max(axis=0, initial=0.0), 1e-300)
    constant = spread <= tiny
    moved = np.abs(difference) > tiny
    unit = np.where(constant, 1.0, spread)
    standardised = np.where(
        constant, np.where(moved, np.copysign(np.inf, difference), 0.0), difference / unit
    )
    z = np.where(
        constant, np.where(moved, np.inf, 0.0), np.abs(difference) / np.where(constant, 1.0, noise)
    )
    p_value = 2.0 * ndtr(-z)
    return pd.DataFrame(
        {
            "difference": standardised,
            "standard_error": np.where(constant, 0.0, noise / unit),
            "p_value": p_value,
            "significant": p_value < LEVEL / max(len(names), 1),
        },
        index=pd.Index(list(names), name="covariate"),
    )


def shift_notes(shift: pd.DataFrame) -> tuple[str, ...]:
    """A sentence when any covariate moved, naming the largest movers."""
    moved = shift[shift["significant"]]
    if moved.empty:
        return ()
    order = moved["difference"].abs().sort_values(ascending=False).index[:3]
    named = ", ".join(f"{name} ({moved.loc[name, 'difference']:+.2f} sd)" for name in order)
    return (
        f"covariate shift between history and the current round: {named}; the adjustment pulls "
        "towards the historical mean and is biased unless the shift is mere chance. Use covariates "
        "of the prompt only, or take the historical mean over matching rounds",
    )
