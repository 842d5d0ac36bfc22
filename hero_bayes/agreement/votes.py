"""Variance of an item's number of positive labels, against that of independent labelers."""

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hero_bayes.agreement.residuals import ClassTable

__all__ = ["vote_checks"]

REPLICATIONS = 500
#: Labels drawn at most, over all replications of one class.
LABEL_LIMIT = 50_000_000
FEWEST_REPLICATIONS = 50


def vote_checks(tables: list[ClassTable], prob: float, rng: np.random.Generator) -> pd.DataFrame:
    """Variance of the number of positive labels within each class, against independence.

    Parameters
    ----------
    tables : list of ClassTable
    prob : float
        Of the interval of the replications.
    rng : Generator

    Returns
    -------
    DataFrame
        One row a class: ``gold``, ``n_items``, ``observed`` variance (mean squared distance of an
        item's number of positive labels from its expectation), ``independent`` with ``low`` and
        ``high``, ``ratio``, and ``p_value``, the share of replications with at least the observed
        variance.

    Notes
    -----
    A posterior predictive check: every labeler's rate in the class is drawn from Beta(1 + positive
    labels, 1 + negative labels), then its labels anew, independently.
    """
    rows = []
    for table in tables:
        observed, replicated = _replicate(table, rng)
        low, high = np.quantile(replicated, [(1 - prob) / 2, (1 + prob) / 2])
        rows.append(
            {
                "gold": table.truth,
                "n_items": int((table.seen.sum(axis=1) > 0).sum()),
                "observed": float(observed.mean()),
                "independent": float(replicated.mean()),
                "low": float(low),
                "high": float(high),
                "ratio": float(observed.mean() / replicated.mean()),
                "p_value": float((1 + (replicated >= observed).sum()) / (1 + observed.size)),
            }
        )
    return pd.DataFrame(rows)


def _replicate(
    table: ClassTable, rng: np.random.Generator
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Variances of observed and of replicated numbers of positive labels, one a draw of rates."""
    item, labeler = np.nonzero(table.seen)
    used = table.seen.sum(axis=1) > 0
    positive, size = table.label.sum(axis=0), table.seen.sum(axis=0)
    votes = table.label.sum(axis=1)
    number = int(np.clip(LABEL_LIMIT // max(item.size, 1), FEWEST_REPLICATIONS, REPLICATIONS))
    observed, replicated = np.empty(number), np.empty(number)
    for draw in range(number):
        rate = rng.beta(1.0 + positive, 1.0 + size - positive)
        expected = table.seen @ rate
        label = rng.random(item.size) < rate[labeler]
        again = np.bincount(item, label, minlength=votes.size)
        observed[draw] = np.mean((votes - expected)[used] ** 2)
        replicated[draw] = np.mean((again - expected)[used] ** 2)
    return observed, replicated
