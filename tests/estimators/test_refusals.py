"""What a method that cannot answer says, and arguments nobody understands."""

import numpy as np
import pytest
from toy import from_rows, make_labels, simulate

from hero_bayes.data.covariates import TextCovariates
from hero_bayes.errors import DataError, Refusal
from hero_bayes.estimators.estimate import METHODS, compare_methods, estimate

ANCHORED = ("gold_rates", "hero1", "hero2")


@pytest.fixture(scope="module")
def rounds():
    return simulate(51, n_history=60, n_current=30, n_labelers=4, labels_per_item=3).rounds


@pytest.mark.parametrize("method", ANCHORED)
def test_no_gold(rounds, method):
    history, current = rounds
    with pytest.raises(Refusal, match="gold") as caught:
        estimate(history.without_gold(), current, method)
    assert "expert labels" in str(caught.value)


@pytest.mark.parametrize("method", ANCHORED)
@pytest.mark.parametrize("value", [0, 1])
def test_gold_of_one_class(rounds, method, value):
    history, current = rounds
    gold = np.where(history.gold == value, history.gold, np.nan)
    with pytest.raises(Refusal, match=f"no labeled item with gold {1 - value}"):
        estimate(history.with_gold(gold), current, method)


@pytest.mark.parametrize("method", ANCHORED)
def test_no_shared_labeler(rounds, method):
    history, _ = rounds
    current = make_labels([0, 1], ["new", "other"], [1, 0], {"x": [0.0, 1.0]}, ["x"])
    with pytest.raises(Refusal, match=r"new, other.*pooled"):
        estimate(history, current, method)


def test_labels_that_do_not_depend_on_the_truth():
    rows = [{"a": 1}, {"a": 0}, {"a": 1}, {"a": 0}]
    history = from_rows(rows, gold=[1, 1, 0, 0])
    with pytest.raises(Refusal, match="do not depend on the truth"):
        estimate(history, from_rows(rows), "hero1")


@pytest.mark.parametrize("method", ANCHORED)
def test_no_history(rounds, method):
    with pytest.raises(Refusal, match="majority_vote"):
        estimate(None, rounds[1], method)


def test_hero2_without_covariates():
    rows = [{"a": 1, "b": 1}, {"a": 0, "b": 0}]
    history = from_rows(rows, gold=[1, 0])
    with pytest.raises(Refusal, match=r"covariates.*hero1"):
        estimate(history, from_rows(rows), "hero2")


@pytest.mark.parametrize("method", METHODS)
def test_several_groups_need_a_name(method):
    history, current = simulate(52, n_history=60, n_current=30, arms=("A", "B")).rounds
    with pytest.raises(DataError, match=r"2 groups \(A, B\).*group="):
        estimate(history, current, method)
    with pytest.raises(DataError, match="no group 'C'"):
        estimate(history, current, method, group="C")
    values = [estimate(history, current, method, group=g).value for g in ("A", "B")]
    assert values[0] != values[1]
    assert estimate(history, current, method, group="B").group == "B"


def test_dawid_skene_needs_three_labels_an_item(rounds):
    rows = [{"a": 1, "b": 1}, {"a": 0, "b": 1}, {"a": 1}]
    with pytest.raises(Refusal, match=r"3 labels.*hero1"):
        estimate(None, from_rows(rows), "dawid_skene")
    # Gold, or one item with three labels, lifts the count.
    estimate(None, from_rows(rows, gold=[1, np.nan, np.nan]), "dawid_skene")
    estimate(None, from_rows([*rows, {"a": 1, "b": 0, "c": 1}]), "dawid_skene")


def test_unknown_method_names_the_known(rounds):
    with pytest.raises(ValueError, match=r"hero3.*hero1"):
        estimate(*rounds, "hero3")


@pytest.mark.parametrize("ridge", [-1, -1e-9, float("nan"), "auto", None, True])
def test_ridge_must_be_cv_or_not_negative(rounds, ridge):
    with pytest.raises(ValueError, match="ridge must be"):
        estimate(*rounds, "hero2", ridge=ridge)


def test_unknown_shrink(rounds):
    with pytest.raises(ValueError, match="shrink must be"):
        estimate(*rounds, "hero2", shrink="none")


@pytest.mark.parametrize("prob", [0.0, 1.0, -0.1, 95, float("nan")])
@pytest.mark.parametrize("method", METHODS)
def test_prob_outside_the_unit_interval(rounds, method, prob):
    with pytest.raises(ValueError, match="prob must lie between 0 and 1"):
        estimate(*rounds, method).interval(prob)


def test_missing_covariates(rounds):
    with pytest.raises(DataError, match="'y' is not declared on the history"):
        estimate(*rounds, "hero2", ["x", "y"])
    with pytest.raises(DataError, match="'prompt' is not declared"):
        estimate(*rounds, "hero2", [TextCovariates("prompt")])
    with pytest.raises(DataError, match="twice"):
        estimate(*rounds, "hero2", ["x", "x"])


def test_compare_methods_reports_each_group_as_estimate_does():
    history, current = simulate(52, n_history=60, n_current=30, arms=("A", "B")).rounds
    table = compare_methods(history, current, prob=0.8)
    assert table["method"].tolist() == [*METHODS, *METHODS]
    assert table["group"].tolist() == ["A"] * 5 + ["B"] * 5
    for row in table.itertuples():
        result = estimate(history, current, row.method, group=row.group)
        assert (row.estimate, row.standard_error) == (result.value, result.standard_error)
        assert (row.lower, row.upper) == result.interval(0.8)
        assert row.estimand == result.estimand


def test_compare_methods_gives_the_reason_of_a_refusal(rounds):
    history, current = rounds
    table = compare_methods(history.without_gold(), current).set_index("method")
    refused = table.loc[list(ANCHORED)]
    assert refused["note"].str.startswith("refused: ").all()
    assert refused["note"].str.contains("gold").all()
    assert refused[["estimate", "standard_error", "lower", "upper"]].isna().all(axis=None)
    assert table.loc[["majority_vote", "dawid_skene"], "estimate"].notna().all()


def test_compare_methods_without_history_or_covariates(rounds):
    table = compare_methods(None, rounds[1]).set_index("method")
    assert table.loc[list(ANCHORED), "note"].str.contains("history").all()
    two = [{"a": 1, "b": 1}, {"a": 0, "b": 0}, {"a": 1, "b": 0}]
    history = from_rows(two, gold=[1, 0, np.nan])
    table = compare_methods(history, from_rows(two)).set_index("method")
    assert table.loc["hero2", "note"].startswith("refused: hero2 needs covariates")
    assert table.loc["dawid_skene", "note"].startswith("refused: dawid_skene is not identified")
    assert np.isfinite(table.loc["hero1", "estimate"])


@pytest.mark.parametrize("method", ["hero3", "all"])
def test_compare_methods_rejects_unknown_methods(rounds, method):
    with pytest.raises(ValueError, match="unknown method"):
        compare_methods(*rounds, methods=[method])
