"""Anchored EM with gold that may be wrong: gold is one more labeler, whose error rate is shared."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from hero_bayes.data.labels import Labels
from hero_bayes.estimators import kernels
from hero_bayes.estimators.anchored_em import AnchorData, Anchored, anchor, anchor_data
from hero_bayes.estimators.gold_error import LARGEST_RATE, GoldError

FloatArray = NDArray[np.float64]

#: Name of the labeler that stands for gold.
GOLD = "(gold)"
MAX_ITERATIONS = 3_000
TOLERANCE = 1e-9
#: An estimated error rate starts at its prior mean and stays between these.
RATE_LIMITS = (1e-6, LARGEST_RATE - 1e-3)


def gold_as_labeler(labels: Labels) -> Labels:
    """The table with its gold as labels of one more labeler, at the end of the coordinate."""
    known = np.flatnonzero(labels.has_gold)
    at = labels.item_ptr[known + 1]
    names = np.append(labels.labelers, GOLD).astype(object)
    added = np.concatenate([[0], np.cumsum(labels.has_gold)])
    place = np.full(known.size, labels.n_labelers, dtype=np.int32)
    return replace(
        labels,
        labelers=names,
        item_ptr=labels.item_ptr + added,
        labeler_idx=np.insert(labels.labeler_idx, at, place),
        label=np.insert(labels.label, at, labels.gold[known].astype(np.int8)),
        gold=np.full(labels.n_items, np.nan),
        family=(*labels.family, None),
        version=(*labels.version, None),
    )


def anchor_fallible(history: Labels, current: Labels, error: GoldError) -> Anchored:
    """Labeler rates by EM from those of exact gold, gold then no longer taken for the truth.

    Parameters
    ----------
    history, current : Labels
    error : GoldError
        How often gold is wrong; an estimated rate is at its most probable value.

    Returns
    -------
    Anchored
        With "(gold)" as the last labeler, whose sensitivity and specificity are 1 - e. Gold of the
        current round is a label there, and no longer informs the labelers.

    Raises
    ------
    Refusal
        If there is no labeled gold item of one of the classes.
    """
    start = anchor(history, current)
    panel = replace(
        start.panel,
        labelers=np.append(start.panel.labelers, GOLD).astype(object),
        history=gold_as_labeler(start.panel.history),
        current=gold_as_labeler(start.panel.current),
    )
    data = anchor_data(panel)
    rate = error.rate if error.rate is not None else error.prior[0] / sum(error.prior)
    rates = np.stack([start.sensitivity, start.specificity])
    prevalence = start.history_prevalence
    change, iterations = np.inf, 0
    while change >= TOLERANCE and iterations < MAX_ITERATIONS:
        iterations += 1
        everyone = np.column_stack([rates, np.full(2, 1.0 - rate)])
        truth = expected_truth(data, everyone, prevalence)
        new_rates, new_prevalence, wrong = maximised(data, truth, everyone, prevalence)
        new_rate = rate if error.rate is not None else likely_rate(error, wrong, data)
        change = max(
            np.abs(new_rates - rates).max(),
            np.abs(new_prevalence - prevalence).max(),
            abs(new_rate - rate),
        )
        rates, prevalence, rate = new_rates, new_prevalence, new_rate
    everyone = np.column_stack([rates, np.full(2, 1.0 - rate)])
    return Anchored(
        panel=panel,
        data=data,
        gold_rates=start.gold_rates,
        sensitivity=everyone[0],
        specificity=everyone[1],
        history_prevalence=prevalence,
        truth=expected_truth(data, everyone, prevalence),
        iterations=iterations,
        converged=bool(change < TOLERANCE),
    )


def expected_truth(data: AnchorData, rates: FloatArray, prevalence: FloatArray) -> FloatArray:
    """P(y = 1 | labels and gold) of each item."""
    table = kernels.log_ratio_table(rates[0], rates[1])
    evidence = kernels.sum_by_item(data.item_ptr, data.code, table)
    return np.asarray(expit(logit(prevalence)[data.group_idx] + evidence))


def maximised(
    data: AnchorData, truth: FloatArray, rates: FloatArray, prevalence: FloatArray
) -> tuple[FloatArray, FloatArray, float]:
    """Rates of the true labelers, prevalences, and the expected number of wrong gold labels."""
    by_label = np.repeat(truth, np.diff(data.item_ptr))
    size = 2 * data.n_labelers
    ones = np.bincount(data.code, by_label, size)
    zeros = np.bincount(data.code, 1.0 - by_label, size)
    right = np.stack([ones[1::2], zeros[0::2]])
    total = np.stack([ones[0::2] + ones[1::2], zeros[0::2] + zeros[1::2]])
    share = np.divide(right, total, out=rates.copy(), where=total > 0.0)
    share = np.clip(share, kernels.FLOOR, 1.0 - kernels.FLOOR)
    items = np.bincount(data.group_idx, minlength=data.n_groups)
    positive = np.bincount(data.group_idx, truth, data.n_groups)
    new = np.divide(positive, items, out=prevalence.copy(), where=items > 0)
    new = np.clip(new, kernels.FLOOR, 1.0 - kernels.FLOOR)
    return share[:, :-1], new, float((total - right)[:, -1].sum())


def likely_rate(error: GoldError, wrong: float, data: AnchorData) -> float:
    """Most probable error rate given the expected number of wrong gold labels."""
    a, b = error.prior
    n = int((data.code >= 2 * (data.n_labelers - 1)).sum())
    return float(np.clip((a - 1.0 + wrong) / max(a + b - 2.0 + n, 1.0), *RATE_LIMITS))
