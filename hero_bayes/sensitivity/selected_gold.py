"""Anchored EM where gold was chosen by the truth: the likelihood of which items carry gold."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import expit, logit

from hero_bayes.estimators import em_kernels, kernels
from hero_bayes.estimators.anchored_em import AnchorData, Anchored
from hero_bayes.estimators.kernels import FLOOR

__all__ = ["SelectedFit", "best_odds_ratio", "fit_selected"]

FloatArray = NDArray[np.float64]

#: Largest change of any probability at which the EM stops, and the most steps it takes.
TOLERANCE = 1e-10
MOST_STEPS = 5_000
#: Plain steps before pairs are extrapolated.
PLAIN_STEPS = 20
BISECTIONS = 60
#: Odds ratios looked through for the most likely one.
WIDEST = np.log(100.0)


@dataclass(frozen=True)
class SelectedFit:
    """Labeler rates and history prevalences at one odds ratio of being chosen for gold.

    Attributes
    ----------
    log_odds_ratio : float
        Log of odds(gold | y = 1) / odds(gold | y = 0).
    sensitivity, specificity : array (labeler,)
    prevalence : array (history group,)
        Of all items of the group.
    without_gold : array (history group,)
        Of its items without gold.
    log_likelihood : float
        Of labels, gold, and which items carry it, the chance of gold maximised out.
    """

    log_odds_ratio: float
    sensitivity: FloatArray
    specificity: FloatArray
    prevalence: FloatArray
    without_gold: FloatArray
    log_likelihood: float


def fit_selected(
    anchored: Anchored, log_odds_ratio: float, start: SelectedFit | None = None
) -> SelectedFit:
    """Maximum likelihood given the odds ratio.

    Notes
    -----
    An item is given gold with probability p_y, logit p_1 = logit p_0 + log w; each group has its
    own p_0 ~ Beta(1, 1). With mu the prevalence among items without gold and pi that among items
    with gold, w = odds(pi) / odds(mu) by Bayes' theorem, and the likelihood is that of items
    without gold at prevalence mu, of gold at pi = expit(logit mu + log w), and of the number of
    items with gold, which is free of mu. The EM therefore runs on (sensitivity, specificity, mu).
    """
    data = anchored.data
    counts = _counts(data)
    if start is None:
        at = np.concatenate(
            [
                anchored.sensitivity,
                anchored.specificity,
                _shifted(anchored.history_prevalence, -log_odds_ratio),
            ]
        )
    else:
        at = np.concatenate([start.sensitivity, start.specificity, start.without_gold])
    at = np.clip(at, FLOOR, 1.0 - FLOOR)
    for step in range(MOST_STEPS):
        first, _ = _step(data, counts, log_odds_ratio, at)
        change = np.abs(first - at).max()
        if step < PLAIN_STEPS or change <= TOLERANCE:
            at = first
            if change <= TOLERANCE:
                break
            continue
        second, reached = _step(data, counts, log_odds_ratio, first)
        candidate = em_kernels.extrapolate(at, first, second)
        stable, found = _step(data, counts, log_odds_ratio, candidate)
        at = stable if found >= reached else second
    _, value = _step(data, counts, log_odds_ratio, at)
    size = data.n_labelers
    mu = at[2 * size :]
    share = counts.gold.sum(axis=0) / np.maximum(counts.size, 1.0)
    value += float(_binomial_entropy(counts.gold.sum(axis=0), counts.size).sum())
    return SelectedFit(
        log_odds_ratio=log_odds_ratio,
        sensitivity=at[:size],
        specificity=at[size : 2 * size],
        prevalence=share * _shifted(mu, log_odds_ratio) + (1.0 - share) * mu,
        without_gold=mu,
        log_likelihood=value,
    )


@dataclass(frozen=True)
class _Counts:
    """``label`` by code, ``gold`` (truth, group), ``size`` of each group."""

    label: FloatArray
    gold: FloatArray
    size: FloatArray


def _counts(data: AnchorData) -> _Counts:
    inside = data.group_idx >= 0
    gold = np.zeros((2, data.n_groups))
    for truth in (0, 1):
        chosen = data.group_idx[inside & (data.gold == truth)]
        gold[truth] = np.bincount(chosen, minlength=data.n_groups)
    return _Counts(
        label=np.bincount(data.code, minlength=2 * data.n_labelers).astype(float),
        gold=gold,
        size=np.bincount(data.group_idx[inside], minlength=data.n_groups).astype(float),
    )


def _shifted(rate: FloatArray, shift: float) -> FloatArray:
    """Probabilities moved on the logit scale."""
    return np.asarray(expit(logit(np.clip(rate, FLOOR, 1.0 - FLOOR)) + shift))


def _step(
    data: AnchorData, counts: _Counts, log_odds_ratio: float, at: FloatArray
) -> tuple[FloatArray, float]:
    """One EM step, and the log-likelihood of the old parameters."""
    size = data.n_labelers
    a, b, mu = at[:size], at[size : 2 * size], at[2 * size :]
    truth = np.zeros(data.item_ptr.size - 1)
    table = kernels.log_ratio_table(a, b)
    positives, group_positives, value = em_kernels.expected_counts(
        data.item_ptr, data.code, data.gold, data.group_idx, table, mu, truth
    )
    value += float(counts.label[0::2] @ np.log(b) + counts.label[1::2] @ np.log1p(-b))
    pi = np.clip(_shifted(mu, log_odds_ratio), FLOOR, 1.0 - FLOOR)
    # The kernel counts gold at mu.
    value += float(counts.gold[1] @ (np.log(pi) - np.log(mu)))
    value += float(counts.gold[0] @ (np.log1p(-pi) - np.log1p(-mu)))
    right, wrong = positives[1::2], positives[0::2]
    n_positive = right + wrong
    n_negative = counts.label[0::2] + counts.label[1::2] - n_positive
    new_a = np.divide(right, n_positive, out=a.copy(), where=n_positive > 0)
    true_negative = counts.label[0::2] - wrong
    new_b = np.divide(true_negative, n_negative, out=b.copy(), where=n_negative > 0)
    new_mu = _prevalence(group_positives, counts, log_odds_ratio, mu)
    new = np.concatenate([new_a, new_b, new_mu])
    return np.clip(new, FLOOR, 1.0 - FLOOR), value


def _prevalence(
    positives: FloatArray, counts: _Counts, log_odds_ratio: float, before: FloatArray
) -> FloatArray:
    """Solve expected positives = n_without mu + n_gold expit(logit mu + log w) in each group."""
    n_gold = counts.gold.sum(axis=0)
    n_without = counts.size - n_gold
    low, high = np.full(before.size, logit(FLOOR)), np.full(before.size, -logit(FLOOR))
    for _ in range(BISECTIONS):
        middle = 0.5 * (low + high)
        expected = n_without * expit(middle) + n_gold * expit(middle + log_odds_ratio)
        above = expected > positives
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    found = expit(0.5 * (low + high))
    return np.asarray(np.where(counts.size > 0, found, before))


def _binomial_entropy(count: FloatArray, size: FloatArray) -> FloatArray:
    """Log-likelihood of which items carry gold, at the observed share."""
    share = count / np.maximum(size, 1.0)
    inside = (share > 0.0) & (share < 1.0)
    safe = np.where(inside, share, 0.5)
    value = count * np.log(safe) + (size - count) * np.log1p(-safe)
    return np.asarray(np.where(inside, value, 0.0))


def best_odds_ratio(anchored: Anchored) -> SelectedFit:
    """The fit at the most likely odds ratio between 1/100 and 100."""
    found = minimize_scalar(
        lambda log_w: -fit_selected(anchored, float(log_w)).log_likelihood,
        bounds=(-WIDEST, WIDEST),
        method="bounded",
        options={"xatol": 1e-3},
    )
    return fit_selected(anchored, float(found.x))


def with_gold_apart(data: AnchorData) -> AnchorData:
    """Gold outside of the groups: their prevalences are those of items without gold."""
    return replace(data, group_idx=np.where(np.isnan(data.gold), data.group_idx, -1))
