"""Covariate shift: whether the current items look like those of history."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import stdtr

from hero_bayes.data.prompts import clustered_variance

#: Family-wise level of the two-sample tests, shared by all covariates (Bonferroni).
LEVEL = 0.01
#: The prompt of each item, in history and now; None where no prompt repeats.
Clusters = tuple[NDArray[np.integer] | None, NDArray[np.integer] | None]


def covariate_shift(
    history: NDArray[np.float64],
    current: NDArray[np.float64],
    names: Sequence[str],
    clusters: Clusters = (None, None),
) -> pd.DataFrame:
    """Standardised mean differences, current minus history, with a two-sample test.

    Parameters
    ----------
    history, current : array (item, covariate)
    names : sequence of str
        Covariate names.
    clusters : pair of int array (item,), or None
        The prompt of each item where prompts repeat: then prompts are tested, not items.

    Returns
    -------
    DataFrame
        Index ``covariate``; ``difference`` in standard deviations (pooled over the two rounds), its
        ``standard_error``, two-sided ``p_value`` and ``significant`` at 1 % over all covariates. A
        constant covariate has difference 0, or infinite where the two constants differ.

    Notes
    -----
    A z test over items; with prompts a t test, their degrees of freedom by Welch and Satterthwaite
    over the numbers of prompts (``degrees``, infinite over items).
    """
    difference = current.mean(axis=0) - history.mean(axis=0)
    variance = history.var(axis=0), current.var(axis=0)
    spread = np.sqrt((variance[0] + variance[1]) / 2.0)
    parts, degrees = [], np.full(len(names), np.inf)
    for values, plain, cluster_idx in zip((history, current), variance, clusters, strict=True):
        if cluster_idx is not None:
            plain = np.array([clustered_variance(column, cluster_idx) for column in values.T])
        parts.append(plain / max(len(values), 1))
    noise = np.sqrt(parts[0] + parts[1])
    spare = [0.0 if c is None else 1.0 / max(np.unique(c).size - 1, 1) for c in clusters]
    if any(spare):
        loss = parts[0] ** 2 * spare[0] + parts[1] ** 2 * spare[1]
        degrees = np.divide(noise**4, loss, out=degrees, where=loss > 0)
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
    p_value = 2.0 * stdtr(degrees, -z)
    return pd.DataFrame(
        {
            "difference": standardised,
            "standard_error": np.where(constant, 0.0, noise / unit),
            "degrees": degrees,
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
