"""Scores, roots and likelihoods against enumeration over all truth vectors."""

import brute
import numpy as np
import pytest
from scipy.optimize import brentq
from toy import from_rows, make_labels

from hero_bayes.data.panel import align
from hero_bayes.estimators import kernels
from hero_bayes.estimators.anchored_em import anchor, anchor_data, log_likelihood
from hero_bayes.estimators.estimate import estimate
from hero_bayes.estimators.prevalence import group_evidence
from hero_bayes.estimators.score import solve

RATES = {"a": (0.8, 0.7), "b": (0.65, 0.9), "c": (0.55, 0.6)}
SENSITIVITY = {name: pair[0] for name, pair in RATES.items()}
SPECIFICITY = {name: pair[1] for name, pair in RATES.items()}
EXACT = {"rtol": 1e-9, "atol": 0.0}


def arrays(labels):
    names = [str(name) for name in labels.labelers]
    return np.array([SENSITIVITY[n] for n in names]), np.array([SPECIFICITY[n] for n in names])


@pytest.fixture(scope="module")
def history():
    rows = [
        {"a": 1, "b": 1},
        {"a": 0, "b": 0, "c": 1},
        {"a": 1, "c": 0},
        {"b": 1},
        {"a": 0, "b": 1, "c": 0},
        {"c": 1},
        {"a": 1, "b": 1, "c": 1},
    ]
    gold = [1, 0, np.nan, np.nan, np.nan, 1, np.nan]
    return from_rows(rows, gold=gold, round=["r1", "r1", "r1", "r2", "r2", "r2", "r2"])


@pytest.fixture(scope="module")
def current():
    rows = [
        {"a": 1, "b": 0},
        {"a": 1, "c": 1},
        {"b": 0, "c": 0},
        {"a": 0, "b": 0, "c": 0},
        {"a": 1, "b": 1, "c": 0},
        {"b": 0},
    ]
    return from_rows(rows, gold=[np.nan] * 6)


@pytest.fixture(scope="module")
def current_with_gold(current):
    return current.with_gold(np.array([np.nan, 1, np.nan, np.nan, np.nan, 0]))


@pytest.mark.parametrize("rate", [0.05, 0.4, 0.93])
def test_mean_score_is_the_slope_of_the_enumerated_likelihood(current, current_with_gold, rate):
    for labels in (current, current_with_gold):
        ratio = group_evidence(labels, np.arange(6), *arrays(labels)).log_ratio
        expected = brute.likelihood_slope(labels, SENSITIVITY, SPECIFICITY, rate)
        np.testing.assert_allclose(kernels.psi_array(ratio, rate).sum(), expected, **EXACT)


def test_root_is_that_of_the_enumerated_likelihood(current, current_with_gold):
    for labels in (current, current_with_gold):
        root, boundary = solve(group_evidence(labels, np.arange(6), *arrays(labels)).log_ratio)

        def slope(rate, labels=labels):
            return brute.likelihood_slope(labels, SENSITIVITY, SPECIFICITY, rate)

        expected = brentq(slope, 1e-9, 1 - 1e-9, xtol=1e-15, rtol=1e-14)
        assert boundary is None
        np.testing.assert_allclose(root, expected, **EXACT)


def test_history_log_likelihood(history, current_with_gold):
    panel = align(history, current_with_gold)
    data = anchor_data(panel)
    rates = np.array([0.3, 0.6])
    value = log_likelihood(data, *arrays(panel.history), rates)
    past = brute.log_likelihood(history, SENSITIVITY, SPECIFICITY, rates)
    # Current gold items inform the labelers, not a history prevalence: P(labels | gold) alone.
    extra = sum(
        np.log(brute.item_chance(current_with_gold, i, gold, SENSITIVITY, SPECIFICITY))
        for i, gold in ((1, 1), (5, 0))
    )
    np.testing.assert_allclose(value, past + extra, **EXACT)


def test_anchored_em_climbs_to_a_stationary_point(history, current_with_gold):
    anchored = anchor(history, current_with_gold)
    theta = [anchored.sensitivity, anchored.specificity, anchored.history_prevalence]
    for k, vector in enumerate(theta):
        for position, value in enumerate(vector):
            if min(value, 1 - value) < 1e-6:
                continue
            sides = []
            for step in (1e-5, -1e-5):
                moved = [part.copy() for part in theta]
                moved[k][position] += step
                sides.append(log_likelihood(anchored.data, *moved))
            # Differences cost 1e-15 / 1e-5; third derivatives times 1e-10 stay below 1e-5.
            assert abs(sides[0] - sides[1]) / 2e-5 < 1e-4


def wide_items(n_labels, n_items=3):
    """Items judged by ``n_labels`` labelers, who all say 1, all 0, or take turns."""
    item = np.repeat(np.arange(n_items), n_labels)
    labeler = np.tile(np.arange(n_labels), n_items)
    label = np.concatenate([np.ones(n_labels), np.zeros(n_labels), np.arange(n_labels) % 2])
    return item, labeler, label.astype(int)


def test_four_hundred_labels_an_item_do_not_overflow():
    item, labeler, label = wide_items(400)
    history = make_labels(item, labeler, label, {"gold": [1, 0, np.nan]})
    current = make_labels(item, labeler, label)
    for method in ("majority_vote", "dawid_skene", "gold_rates", "hero1"):
        result = estimate(history, current, method)
        low, high = result.interval()
        assert np.isfinite([result.value, result.standard_error]).all()
        assert 0 <= low <= result.value <= high <= 1
    ratio = np.array([4000.0, -4000.0, 0.0, 4000.0])
    np.testing.assert_allclose(solve(ratio)[0], 2 / 3, rtol=1e-12)
    assert np.isfinite(kernels.psi_array(ratio, 0.3)).all()


def test_left_out_labelers_carry_no_evidence(history):
    rows = [{"a": 1, "new": 0}, {"a": 0, "b": 0}, {"a": 1, "b": 1, "new": 1}, {"c": 1}]
    with_new, known = (
        from_rows(rows),
        from_rows([{k: v for k, v in r.items() if k != "new"} for r in rows]),
    )
    first, second = estimate(history, with_new, "hero1"), estimate(history, known, "hero1")
    assert first.value == second.value
    assert first.interval() == second.interval()
    assert first.details["labels_left_out"] == 2
    assert first.details["labelers_left_out"] == ("new",)
    assert any("2 labels" in note for note in first.notes)
