"""Labeler rates from history: gold rates, and the anchored EM that starts from them."""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hero_bayes.data.labels import Labels
from hero_bayes.data.panel import Panel, align, swap_hint
from hero_bayes.errors import Refusal
from hero_bayes.estimators import em_kernels, kernels
from hero_bayes.estimators.information import Interior, interior_parameters, labeler_covariance

if TYPE_CHECKING:
    from scipy.sparse.linalg import LinearOperator

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.integer]

#: The EM starts at gold rates kept inside these limits.
START_LIMITS = (0.01, 0.99)
#: Largest change of any probability at which the EM stops.
TOLERANCE = 1e-11
MAX_ITERATIONS = 3_000


@dataclass(frozen=True)
class AnchorData:
    """All items that inform the labelers: history, then the current items with gold.

    ``group_idx`` is the history group, or -1 for a current item with gold: its class is known, and
    the prevalence of its own round is estimated elsewhere. ``hint`` is added to a refusal.
    """

    item_ptr: IntArray
    code: IntArray
    gold: FloatArray
    group_idx: IntArray
    n_labelers: int
    n_groups: int
    hint: str = ""


@dataclass(frozen=True)
class GoldRates:
    """Sensitivity and specificity of each labeler on gold items, NaN where it has no gold."""

    sensitivity: FloatArray
    specificity: FloatArray
    n_positive: FloatArray
    n_negative: FloatArray
    pooled_sensitivity: float
    pooled_specificity: float

    def filled(self) -> tuple[FloatArray, FloatArray]:
        """Rates with the pooled rate in place of the missing ones."""
        return (
            np.where(np.isnan(self.sensitivity), self.pooled_sensitivity, self.sensitivity),
            np.where(np.isnan(self.specificity), self.pooled_specificity, self.specificity),
        )

    def start(self) -> tuple[FloatArray, FloatArray]:
        """Filled rates kept away from 0 and 1: where EM and optimisers begin."""
        sensitivity, specificity = self.filled()
        return np.clip(sensitivity, *START_LIMITS), np.clip(specificity, *START_LIMITS)


@dataclass(frozen=True)
class Anchored:
    """Labeler parameters learned from history, on the shared labeler coordinate of ``panel``."""

    panel: Panel
    data: AnchorData
    gold_rates: GoldRates
    sensitivity: FloatArray
    specificity: FloatArray
    history_prevalence: FloatArray
    truth: FloatArray
    iterations: int
    converged: bool

    @cached_property
    def interior(self) -> Interior:
        """The parameters with those on the boundary moved inside."""
        return interior_parameters(
            self.data, self.sensitivity, self.specificity, self.history_prevalence
        )

    @cached_property
    def covariance(self) -> tuple["FloatArray | LinearOperator", tuple[str, ...]]:
        """Covariance of (sensitivity, specificity) and remarks on how it was had."""
        return labeler_covariance(
            self.data, self.sensitivity, self.specificity, self.history_prevalence
        )

    @cached_property
    def log_likelihood(self) -> float:
        """Log-likelihood of the history (labels and gold) at the estimate."""
        return log_likelihood(
            self.data, self.sensitivity, self.specificity, self.history_prevalence
        )


def label_codes(labels: Labels) -> IntArray:
    """``2 * labeler_idx + label`` for every label."""
    return (2 * labels.labeler_idx + labels.label).astype(np.int32)


def anchor_data(panel: Panel) -> AnchorData:
    """History and gold items of the current round, as one set of index arrays."""
    history, extra = panel.history, panel.current.take_items(panel.current.has_gold)
    ptr = np.concatenate([history.item_ptr, history.item_ptr[-1] + extra.item_ptr[1:]])
    return AnchorData(
        item_ptr=ptr.astype(np.int64),
        code=np.concatenate([label_codes(history), label_codes(extra)]),
        gold=np.concatenate([history.gold, extra.gold]),
        group_idx=np.concatenate(
            [history.group_idx, np.full(extra.n_items, -1, dtype=np.int32)]
        ).astype(np.int32),
        n_labelers=len(panel.labelers),
        n_groups=history.n_groups,
        hint=swap_hint(history, panel.current),
    )


def gold_rates(data: AnchorData) -> GoldRates:
    """Share of right labels of each labeler on gold items of each class.

    Raises
    ------
    Refusal
        If there is no gold of one of the classes.
    """
    counts = np.zeros((2, 2 * data.n_labelers))
    gold_by_label = np.repeat(data.gold, np.diff(data.item_ptr))
    for truth in (0, 1):
        chosen = data.code[gold_by_label == truth]
        counts[truth] = np.bincount(chosen, minlength=2 * data.n_labelers)
    n_negative, n_positive = (c[0::2] + c[1::2] for c in counts)
    for truth, total in ((0, n_negative.sum()), (1, n_positive.sum())):
        if total == 0:
            n_gold = int(np.isfinite(data.gold).sum())
            raise Refusal(
                f"no labeled item with gold {truth}: the {n_gold} gold labels cannot anchor both "
                "sensitivity and specificity. Add expert labels until both classes occur, or use "
                'method="dawid_skene" or "majority_vote", which need no gold (and correct no bias).'
                + (data.hint and f" Note: {data.hint}")
            )
    right_positive, right_negative = counts[1, 1::2], counts[0, 0::2]
    return GoldRates(
        sensitivity=np.divide(
            right_positive, n_positive, out=np.full(data.n_labelers, np.nan), where=n_positive > 0
        ),
        specificity=np.divide(
            right_negative, n_negative, out=np.full(data.n_labelers, np.nan), where=n_negative > 0
        ),
        n_positive=n_positive,
        n_negative=n_negative,
        pooled_sensitivity=float(right_positive.sum() / n_positive.sum()),
        pooled_specificity=float(right_negative.sum() / n_negative.sum()),
    )


def gold_prevalence(data: AnchorData) -> FloatArray:
    """Share of positive gold in each history group, the pooled share where a group has none."""
    known = np.isfinite(data.gold) & (data.group_idx >= 0)
    group = data.group_idx[known]
    size = np.bincount(group, minlength=data.n_groups).astype(float)
    positive = np.bincount(group, weights=data.gold[known], minlength=data.n_groups)
    pooled = float(np.nanmean(data.gold))
    share = np.divide(positive, size, out=np.full(data.n_groups, pooled), where=size > 0)
    return np.asarray(np.clip(share, *START_LIMITS))


def log_likelihood(
    data: AnchorData,
    sensitivity: FloatArray,
    specificity: FloatArray,
    prevalence: FloatArray,
) -> float:
    """Log-likelihood of labels and gold at the given parameters."""
    table = kernels.log_ratio_table(sensitivity, specificity)
    if_negative = np.empty_like(table)
    if_negative[0::2], if_negative[1::2] = np.log(specificity), np.log1p(-specificity)
    evidence = kernels.sum_by_item(data.item_ptr, data.code, table)
    total = float(kernels.sum_by_item(data.item_ptr, data.code, if_negative).sum())
    in_group = data.group_idx >= 0
    m = np.where(in_group, prevalence[data.group_idx], 0.5)
    log_positive = np.where(in_group, np.log(m), 0.0) + evidence
    log_negative = np.where(in_group, np.log1p(-m), 0.0)
    unseen = np.logaddexp(log_positive, log_negative)
    known = np.where(data.gold == 1.0, log_positive, log_negative)
    return total + float(np.where(np.isnan(data.gold), unseen, known).sum())


def run_em(
    data: AnchorData, sensitivity: FloatArray, specificity: FloatArray, prevalence: FloatArray
) -> tuple[FloatArray, int, bool]:
    """The EM from the given start, which it updates in place.

    Returns P(y=1 | labels) of every item, the EM steps taken, and whether they converged.
    """
    truth, iterations, change = em_kernels.anchored_em_loop(
        data.item_ptr,
        data.code,
        data.gold,
        data.group_idx,
        sensitivity,
        specificity,
        prevalence,
        TOLERANCE,
        MAX_ITERATIONS,
    )
    return truth, int(iterations), bool(change <= TOLERANCE)


def anchor(history: Labels, current: Labels) -> Anchored:
    """Labeler sensitivity and specificity by EM over history, anchored at gold.

    Starts at the gold rates clipped to [0.01, 0.99]; a labeler without gold of a class starts at
    the pooled rate; gold stays clamped; probabilities stay in [1e-9, 1 - 1e-9]. Gold items of the
    current round inform the labelers too.
    """
    panel = align(history, current, unseen="drop")
    data = anchor_data(panel)
    rates = gold_rates(data)
    sensitivity, specificity = rates.start()
    prevalence = gold_prevalence(data)
    truth, iterations, converged = run_em(data, sensitivity, specificity, prevalence)
    return Anchored(
        panel=panel,
        data=data,
        gold_rates=rates,
        sensitivity=sensitivity,
        specificity=specificity,
        history_prevalence=prevalence,
        truth=truth,
        iterations=iterations,
        converged=converged,
    )
