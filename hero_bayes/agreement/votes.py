"""Variance of an item's number of positive labels, against that of independent labelers."""

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hero_bayes.data.shared_errors import GoldLabels

__all__ = ["vote_checks"]

REPLICATIONS = 500
#: Labels drawn at most, over all replications of one class.
LABEL_LIMIT = 50_000_000
FEWEST_REPLICATIONS = 50


def vote_checks(gold: GoldLabels, prob: float, rng: np.random.Generator) -> pd.DataFrame:
    """Variance of the number of positive labels within each class, against independence.

    Parameters
    ----------
    gold : GoldLabels
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
    for truth in (0, 1):
        table = gold.of_class(truth)
        observed, replicated = _replicate(table, rng)
        low, high = np.quantile(replicated, [(1 - prob) / 2, (1 + prob) / 2])
        rows.append(
            {
                "gold": truth,
                "n_items": int((table.per_item > 0).sum()),
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
    table: GoldLabels, rng: np.random.Generator
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Variances of observed and of replicated numbers of positive labels, one a draw of rates."""
    item, labeler, used = table.item_idx, table.labeler_idx, table.per_item > 0
    positive = np.bincount(labeler, table.value, table.n_labelers)
    size, votes = table.per_labeler, np.bincount(item, table.value, used.size)
    number = int(np.clip(LABEL_LIMIT // max(item.size, 1), FEWEST_REPLICATIONS, REPLICATIONS))
    observed, replicated = np.empty(number), np.empty(number)
    for draw in range(number):
        rate = rng.beta(1.0 + positive, 1.0 + size - positive)
        expected = np.bincount(item, rate[labeler], used.size)
        label = rng.random(item.size) < rate[labeler]
        again = np.bincount(item, label, used.size)
        observed[draw] = np.mean((votes - expected)[used] ** 2)
        replicated[draw] = np.mean((again - expected)[used] ** 2)
    return observed, replicated
