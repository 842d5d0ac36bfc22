"""Gold in the current round: it stands in for labels, and informs the labelers."""

import numpy as np
import pytest
from toy import from_rows, make_labels, simulate

from hero_bayes.estimators import kernels
from hero_bayes.estimators.anchored_em import anchor
from hero_bayes.estimators.estimate import estimate


@pytest.fixture(scope="module")
def problem():
    return simulate(41, n_history=120, n_current=60)


@pytest.mark.parametrize("method", ["gold_rates", "hero1"])
def test_all_current_gold_is_the_gold_mean_without_labeler_variance(problem, method):
    history, current = problem.rounds
    truth = problem.now.truth.astype(float)
    result = estimate(history, current.with_gold(truth), method)
    n, share = truth.size, truth.mean()
    assert result.value == pytest.approx(share, abs=4e-16)
    assert result.details["variance_labelers"] == 0.0
    assert result.details["n_gold_current"] == n
    # psi is 1/m or -1/(1-m): A = 1/(m(1-m)), Var(psi) = A, so Var = m(1-m)/n.
    np.testing.assert_allclose(result.standard_error, np.sqrt(share * (1 - share) / n), rtol=1e-9)


@pytest.mark.parametrize("value", [0, 1])
def test_all_current_gold_alike_is_a_boundary_solution(problem, value):
    history, current = problem.rounds
    result = estimate(history, current.with_gold(np.full(60, float(value))), "hero1")
    assert result.value == value
    assert result.details["boundary"] == ("lower", "upper")[value]
    # Profile likelihood of n equal draws: n log(1 - m) has fallen by 1.92 at 0.031.
    low, high = result.interval()
    assert high - low == pytest.approx(1 - np.exp(-3.841458820694124 / 120), rel=1e-6)


def with_one_gold(problem, item=7):
    history, current = problem.rounds
    gold = np.full(60, np.nan)
    gold[item] = problem.now.truth[item]
    return history, current, current.with_gold(gold)


def test_one_gold_item_informs_the_labelers_as_a_history_item_would(problem):
    """Its labels move to a history round of its own, which cannot move another prevalence."""
    history, _, marked = with_one_gold(problem)
    verdicts = problem.now.verdicts[problem.now.verdicts["item"] == 7]
    past = problem.past
    item = [*past.verdicts["item"], *[120] * len(verdicts)]
    labeler = [*past.verdicts["labeler"], *verdicts["labeler"]]
    label = [*past.verdicts["label"], *verdicts["label"]]
    gold = [*past.items["gold"], problem.now.truth[7]]
    moved = make_labels(item, labeler, label, {"gold": gold, "round": ["r"] * 120 + ["s"]})
    one = anchor(history, marked)
    two = anchor(moved, marked.without_gold())
    np.testing.assert_allclose(one.sensitivity, two.sensitivity, atol=1e-9)
    np.testing.assert_allclose(one.specificity, two.specificity, atol=1e-9)
    np.testing.assert_allclose(one.history_prevalence[0], two.history_prevalence[0], atol=1e-9)
    plain = anchor(history, marked.without_gold())
    assert np.abs(one.sensitivity - plain.sensitivity).max() > 1e-6


def test_one_gold_item_changes_its_own_score_alone(problem):
    """At the rates learned with it, only its evidence is replaced by gold."""
    history, current, marked = with_one_gold(problem)
    rates = anchor(history, marked)
    table = kernels.log_ratio_table(rates.sensitivity, rates.specificity)
    code = 2 * current.labeler_idx + current.label
    ratio = kernels.sum_by_item(current.item_ptr, code, table)
    ratio[7] = np.inf if problem.now.truth[7] else -np.inf
    expected = kernels.score_root(ratio, np.full(60, 1 / 60), 0.0)
    result = estimate(history, marked, "hero1")
    assert result.value == expected
    assert result.details["n_gold_current"] == 1


def test_gold_item_of_a_labeler_of_its_own_leaves_all_other_rates_untouched(problem):
    """Labeler z labels nothing else: the rates of the others stay as they were, to the bit."""
    history, current = problem.rounds
    verdicts, n = problem.now.verdicts, 60
    item, labeler = [*verdicts["item"], n], [*verdicts["labeler"].astype(str), "z"]
    label = [*verdicts["label"], 1]
    marked = make_labels(item, labeler, label, {"gold": [*[np.nan] * n, 1]})
    plain, extra = anchor(history, current), anchor(history, marked)
    known = [str(name) in plain.panel.labelers for name in extra.panel.labelers]
    assert (extra.sensitivity[known] == plain.sensitivity).all()
    assert (extra.specificity[known] == plain.specificity).all()
    table = kernels.log_ratio_table(plain.sensitivity, plain.specificity)
    code = 2 * current.labeler_idx + current.label
    ratio = np.append(kernels.sum_by_item(current.item_ptr, code, table), np.inf)
    expected = kernels.score_root(ratio, np.full(n + 1, 1 / (n + 1)), 0.0)
    assert estimate(history, marked, "hero1").value == pytest.approx(expected, abs=1e-14)


def test_current_gold_can_be_the_only_gold():
    rows = [{"a": 1, "b": 1}, {"a": 0, "b": 0}, {"a": 1, "b": 0}, {"a": 1, "b": 1}]
    history, current = from_rows(rows), from_rows(rows, gold=[1, 0, np.nan, np.nan])
    result = estimate(history, current, "hero1")
    assert 0 <= result.value <= 1
    assert np.isfinite(result.standard_error)
