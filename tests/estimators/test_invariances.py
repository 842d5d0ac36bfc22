"""What must change nothing: row order, names, duplicates; and what the classes are called."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from toy import Problem, Round, simulate

from hero_bayes.data.covariates import TextCovariates
from hero_bayes.data.labels import Labels
from hero_bayes.estimators.estimate import METHODS, estimate

EXAMPLES = settings(max_examples=8, deadline=None)
SEEDS = st.integers(0, 2**32 - 1)
SIZES = {"n_history": 60, "n_current": 30, "n_labelers": 5, "n_noise": 5}
WORDS = np.array(["good", "bad", "long", "short", "odd", "even"])


def tables(seed):
    """Both rounds with seven covariates (one of them text) and an informative one."""
    problem = simulate(seed, **SIZES)
    for part in (problem.past, problem.now):
        rng = np.random.default_rng([seed, len(part.items)])
        part.items["prompt"] = [" ".join(rng.choice(WORDS, 3)) for _ in range(len(part.items))]
    return problem


def rebuilt(problem, change):
    """Labels of both rounds after a change of the two tables."""
    out = []
    for part in (problem.past, problem.now):
        verdicts, items = change(part.verdicts.copy(), part.items.copy())
        covariates = [*part.covariates, TextCovariates("prompt", min_df=1)]
        out.append(Labels.from_frames(verdicts, items, covariates=covariates))
    return out


def same(problem):
    return rebuilt(problem, lambda verdicts, items: (verdicts, items))


def every_result(rounds):
    """Results of all methods; hero2 with six columns, with text, with and without cross-fitting."""
    history, current = rounds
    for method in METHODS[:-1]:
        yield method, estimate(history, current, method)
    numeric = list(history.covariates)
    text = TextCovariates("prompt", min_df=1)
    for covariates, ridge, cross_fit in (
        (numeric, "cv", None),
        (numeric, "cv", False),
        (numeric, 0.01, True),
        (["x", text], "cv", None),
    ):
        yield (
            f"hero2 {len(covariates)} {ridge} {cross_fit}",
            estimate(history, current, "hero2", covariates, ridge=ridge, cross_fit=cross_fit),
        )


def numbers(result):
    return np.array([result.value, result.standard_error, *result.interval(0.9)])


def assert_same_details(one, two):
    assert one.keys() == two.keys()
    for key, value in one.items():
        if isinstance(value, pd.Series):
            pd.testing.assert_series_equal(value, two[key], check_exact=True)
        elif isinstance(value, pd.DataFrame):
            pd.testing.assert_frame_equal(value, two[key], check_exact=True)
        else:
            assert value == two[key], key


@EXAMPLES
@given(SEEDS)
def test_row_order_changes_no_bit(seed):
    problem = tables(seed % 5)
    rng = np.random.default_rng(seed)

    def shuffle(verdicts, items):
        return (frame.iloc[rng.permutation(len(frame))] for frame in (verdicts, items))

    pairs = zip(every_result(same(problem)), every_result(rebuilt(problem, shuffle)), strict=True)
    for (name, one), (_, two) in pairs:
        assert (numbers(one) == numbers(two)).all(), name
        assert one.notes == two.notes
        assert_same_details(one.details, two.details)


def assert_close(rounds, other):
    for (name, one), (_, two) in zip(every_result(rounds), every_result(other), strict=True):
        np.testing.assert_allclose(one.value, two.value, rtol=0, atol=1e-12, err_msg=name)
        np.testing.assert_allclose(numbers(one), numbers(two), rtol=0, atol=1e-9, err_msg=name)
        if "ridge" in one.details:
            assert one.details["ridge"] == two.details["ridge"]


@EXAMPLES
@given(SEEDS)
def test_renaming_items_and_labelers(seed):
    problem = tables(seed % 5)
    rng = np.random.default_rng(seed)
    people = rng.permutation(SIZES["n_labelers"])
    places = {n: rng.permutation(n) for n in (60, 30)}

    def rename(verdicts, items):
        place = places[len(items)]
        verdicts["labeler"] = [f"person {k}" for k in people[verdicts["labeler"]]]
        verdicts["item"] = [f"thing {k}" for k in place[verdicts["item"]]]
        items["item"] = [f"thing {k}" for k in place[items["item"]]]
        return verdicts, items

    assert_close(same(problem), rebuilt(problem, rename))


@pytest.mark.parametrize("kind", [str, float, "category"])
def test_type_of_ids(kind):
    problem = tables(2)

    def convert(verdicts, items):
        verdicts = verdicts.astype({"item": kind, "labeler": kind})
        return verdicts, items.astype({"item": kind})

    for (_, one), (_, two) in zip(
        every_result(same(problem)), every_result(rebuilt(problem, convert)), strict=True
    ):
        assert (numbers(one) == numbers(two)).all()


def test_order_of_covariates():
    history, current = same(tables(1))
    names = list(history.covariates)
    for cross_fit in (False, True):
        one = estimate(history, current, "hero2", names, cross_fit=cross_fit)
        two = estimate(history, current, "hero2", names[::-1], cross_fit=cross_fit)
        np.testing.assert_allclose(numbers(one), numbers(two), rtol=0, atol=1e-10)
        np.testing.assert_allclose(
            one.details["gamma"][names], two.details["gamma"][names], rtol=1e-8
        )


def flipped(problem):
    """The same tables with the classes exchanged."""

    def flip(verdicts, items):
        verdicts["label"] = 1 - verdicts["label"]
        items["gold"] = 1 - items["gold"]
        return verdicts, items

    return rebuilt(problem, flip)


@EXAMPLES
@given(SEEDS)
def test_exchanging_the_classes(seed):
    problem = tables(seed % 20)
    pairs = zip(every_result(same(problem)), every_result(flipped(problem)), strict=True)
    for (name, one), (_, two) in pairs:
        # EM stops at 1e-11 changes; slow directions multiply that by up to 1e3.
        np.testing.assert_allclose(two.value, 1 - one.value, atol=1e-7, err_msg=name)
        np.testing.assert_allclose(
            two.interval(), 1 - np.array(one.interval())[::-1], atol=1e-5, err_msg=name
        )
        np.testing.assert_allclose(two.standard_error, one.standard_error, rtol=1e-5, err_msg=name)
        if "sensitivity" in one.details:
            np.testing.assert_allclose(
                one.details["sensitivity"], two.details["specificity"], atol=1e-7
            )


def doubled(part):
    """Every item twice, under two arms that hold the same."""
    n = len(part.items)
    verdicts = pd.concat(
        [part.verdicts, part.verdicts.assign(item=part.verdicts["item"] + n)], ignore_index=True
    )
    items = pd.concat(
        [part.items.assign(arm="A"), part.items.assign(item=part.items["item"] + n, arm="B")],
        ignore_index=True,
    )
    return Round(verdicts, items, np.tile(part.truth, 2), part.covariates)


def test_two_equal_groups_give_equal_results_as_one():
    problem = simulate(9, **SIZES)
    history, current = problem.rounds
    twice = Problem(problem.past, doubled(problem.now), problem.sensitivity, problem.specificity)
    _, both = twice.rounds
    for method in ("majority_vote", "gold_rates", "hero1", "hero2"):
        alone = estimate(history, current, method)
        parts = [estimate(history, both, method, group=g) for g in ("A", "B")]
        for part in parts:
            np.testing.assert_allclose(numbers(part), numbers(alone), rtol=0, atol=1e-12)


def test_doubled_current_round_leaves_the_point_and_shrinks_the_sampling_variance():
    problem = simulate(9, **SIZES)
    history, current = problem.rounds
    double = doubled(problem.now)
    part = Round(double.verdicts, double.items.drop(columns="arm"), double.truth, double.covariates)
    one, two = estimate(history, current, "hero1"), estimate(history, part.labels(), "hero1")
    np.testing.assert_allclose(two.value, one.value, atol=1e-12)
    ratio = two.details["variance_sampling"] / one.details["variance_sampling"]
    assert ratio == pytest.approx(0.5, rel=1e-9)
    assert two.details["variance_labelers"] == pytest.approx(
        one.details["variance_labelers"], rel=1e-9
    )
