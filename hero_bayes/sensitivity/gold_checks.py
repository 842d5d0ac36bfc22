"""Gold of the current round against what the fit and the labelers of history say of it."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from scipy.stats import chi2, norm

from hero_bayes.data.labels import Labels
from hero_bayes.errors import Refusal
from hero_bayes.estimators.anchored_em import Anchored, anchor
from hero_bayes.sensitivity.labelers import FlatDraws
from hero_bayes.words import number_of

__all__ = ["calibration_test", "gold_tests", "no_test", "row_of"]

FloatArray = NDArray[np.float64]
#: Fewest gold items of the current round for a test.
FEWEST_GOLD = 5


def gold_tests(draws: FlatDraws, history: Labels, current: Labels) -> dict[str, dict[str, Any]]:
    """Labels on current gold against rates from history alone."""
    names = ("sensitivity", "specificity")
    if current.n_gold and not np.isfinite(draws.gold).any():
        return {n: no_test("the fit takes gold to be fallible") for n in names}
    if current.n_gold < FEWEST_GOLD:
        return {
            n: no_test(f"the current round has {number_of(current.n_gold, 'gold item')}")
            for n in names
        }
    try:
        anchored = anchor(history, current.without_gold())
    except Refusal as refusal:
        return {name: no_test(str(refusal)) for name in names}
    size = len(anchored.panel.labelers)
    return {
        name: _gold_test(anchored, current.gold, truth, slice(k * size, (k + 1) * size))
        for k, (name, truth) in enumerate(zip(names, (1.0, 0.0), strict=True))
    }


def _gold_test(anchored: Anchored, gold: FloatArray, truth: float, part: slice) -> dict[str, Any]:
    """Z-test of the mean rate on gold items of one class."""
    labels = anchored.panel.current
    item_idx = np.repeat(np.arange(labels.n_items), labels.labels_per_item)
    chosen = gold[item_idx] == truth
    n_items = np.unique(item_idx[chosen]).size
    if n_items < FEWEST_GOLD:
        return no_test(f"{n_items} labeled current items have gold {truth:g}")
    both = np.concatenate([anchored.sensitivity, anchored.specificity])
    rate = both[part][labels.labeler_idx[chosen]]
    right = labels.label[chosen] == truth
    error = np.bincount(item_idx[chosen], right - rate, labels.n_items)
    n = int(chosen.sum())
    gradient = np.zeros(both.size)
    gradient[part] = np.bincount(labels.labeler_idx[chosen], minlength=part.stop - part.start) / n
    variance = float((error**2).sum()) / n**2
    variance += float(gradient @ (anchored.covariance[0] @ gradient))
    z = (right.mean() - rate.mean()) / np.sqrt(max(variance, 1e-300))
    return row_of(right.mean(), rate.mean(), 2.0 * norm.sf(abs(z)), n_items)


def calibration_test(draws: FlatDraws) -> dict[str, Any]:
    """Score test of logit P(gold) = 0 + 1 * logit P(truth | labels) on current gold items."""
    known = np.isfinite(draws.gold)
    n = int(known.sum())
    if n < FEWEST_GOLD:
        return no_test(f"the current round has {n} gold items that are taken for the truth")
    logits = (draws.log_ratio + draws.prior_log_odds)[:, known]
    chance = np.clip(expit(logits).mean(axis=0), 1e-9, 1.0 - 1e-9)
    x = np.column_stack([np.ones(n), np.log(chance) - np.log1p(-chance)])
    score = x.T @ (draws.gold[known] - chance)
    information = (x * (chance * (1.0 - chance))[:, None]).T @ x
    value, vector = np.linalg.eigh(information)
    sound = value > 1e-9 * value.max()
    statistic = float((((vector.T @ score)[sound]) ** 2 / value[sound]).sum())
    freedom = int(sound.sum())
    return row_of(statistic, freedom, chi2.sf(statistic, freedom), n)


def row_of(observed: Any, expected: Any, p_value: Any, n: int) -> dict[str, Any]:
    """One row of the table of tests."""
    return {
        "observed": float(observed),
        "expected": float(expected),
        "p_value": float(p_value),
        "n": int(n),
        "reason": "",
    }


def no_test(reason: str) -> dict[str, Any]:
    """The row of a test that cannot be made, with the reason."""
    nothing = dict.fromkeys(("observed", "expected", "p_value"), np.nan)
    return {**nothing, "n": 0, "reason": reason}
