"""What is simulated has the moments that were asked for."""

import numpy as np
import pandas as pd
import pytest

import hero_bayes as hb
from hero_bayes.simulation.scenario import Scenario
from hero_bayes.simulation.simulate import RATE_LIMITS, intercept, pool_weights, simulate_scenario

#: Half-width of an acceptance region in standard errors: one false alarm in 30,000 tests.
WIDE = 4.0


def within(share, expected, trials):
    """Whether a share of trials is within its binomial error of what was expected."""
    return abs(share - expected) < WIDE * np.sqrt(expected * (1 - expected) / trials)


def frames(simulation, which):
    """The simulated round as tables."""
    return getattr(simulation, which).to_frames()


def test_same_seed_same_rounds():
    first, again, other = (hb.simulate(random_seed=seed) for seed in (5, 5, 6))
    assert first.history == again.history
    assert first.current == again.current
    assert np.array_equal(first.truth_current, again.truth_current)
    assert first.history != other.history


def test_seed_may_be_several_numbers():
    assert hb.simulate(random_seed=[1, 2]).current == hb.simulate(random_seed=(1, 2)).current


def test_labeler_seed_keeps_the_labelers():
    first, second = (hb.simulate(random_seed=r, labeler_seed=9) for r in (1, 2))
    pd.testing.assert_series_equal(first.sensitivity, second.sensitivity)
    pd.testing.assert_series_equal(first.specificity, second.specificity)
    assert first.history != second.history


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"pool_shift": 0.9, "n_noise_covariates": 2, "covariate_strength": 1.0},
        {"pool_shift": 1.0, "n_labelers": 4, "n_current": 3, "labels_per_item": 2},
        {"prompts": True, "covariate": "binary"},
    ],
)
def test_direct_path_equals_from_frames(arguments):
    rounds = hb.simulate(random_seed=3, **arguments)
    noise = [f"noise{k}" for k in range(arguments.get("n_noise_covariates", 0))]
    covariates = ["x", *noise]
    if arguments.get("prompts"):
        covariates.append(hb.TextCovariates("prompt_text"))
    for labels in (rounds.history, rounds.current):
        labels_frame, items_frame, _ = labels.to_frames()
        read = hb.Labels.from_frames(labels_frame, items_frame, covariates=covariates)
        assert read == labels
        for name in ("item_ptr", "labeler_idx", "label", "gold", "group_idx"):
            direct, checked = getattr(labels, name), getattr(read, name)
            assert direct.dtype == checked.dtype, name
            np.testing.assert_array_equal(direct, checked)


def test_sizes_and_gold():
    rounds = hb.simulate(
        n_history=400, n_current=90, n_labelers=7, labels_per_item=4, gold_rate=0.15, random_seed=1
    )
    assert rounds.history.n_items == 400
    assert rounds.current.n_items == 90
    assert set(rounds.history.labels_per_item) == {4}
    assert rounds.history.n_gold == 60
    assert rounds.current.n_gold == 0
    known = rounds.history.has_gold
    np.testing.assert_array_equal(rounds.history.gold[known], rounds.truth_history[known])
    assert rounds.item_rate == rounds.truth_current.mean()
    assert list(rounds.sensitivity.index) == [str(j) for j in range(7)]
    assert hb.simulate(gold_rate=0.0, random_seed=1).history.n_gold == 0


@pytest.mark.parametrize("covariate", ["normal", "binary"])
@pytest.mark.parametrize("strength", [0.0, 2.0])
def test_rates_of_both_rounds(covariate, strength):
    rounds = hb.simulate(
        n_history=40_000,
        n_current=40_000,
        prevalence=0.2,
        history_prevalence=0.4,
        covariate=covariate,
        covariate_strength=strength,
        random_seed=2,
    )
    assert rounds.prevalence == 0.2
    assert within(rounds.truth_current.mean(), 0.2, 40_000)
    assert within(rounds.truth_history.mean(), 0.4, 40_000)
    means = [labels.covariates["x"].mean() for labels in (rounds.history, rounds.current)]
    assert abs(means[0] - means[1]) < WIDE * np.sqrt(2 / 40_000)


def test_covariate_strength_is_a_log_odds_ratio():
    rounds = hb.simulate(
        n_current=40_000, covariate="binary", covariate_strength=1.5, random_seed=4
    )
    x, y = rounds.current.covariates["x"], rounds.truth_current
    counts = np.array([[np.sum((x == a) & (y == b)) for b in (0, 1)] for a in (0, 1)])
    log_odds_ratio = np.log(counts[1, 1] * counts[0, 0] / (counts[1, 0] * counts[0, 1]))
    # Woolf: the variance of a log odds ratio is the sum of the inverse counts.
    assert abs(log_odds_ratio - 1.5) < WIDE * np.sqrt((1 / counts).sum())
    assert within(x.mean(), 0.3, 40_000)


@pytest.mark.parametrize("strength", [0.0, 0.5, 6.0, -3.0])
def test_intercept_is_exact(strength):
    base = intercept(0.07, strength, "normal", 0.3)
    grid = np.linspace(-9, 9, 20_001)
    density = np.exp(-(grid**2) / 2)
    mean = (density / (1 + np.exp(-(base + strength * grid)))).sum() / density.sum()
    assert mean == pytest.approx(0.07, abs=1e-4)


def test_labelers_follow_their_rates():
    rounds = hb.simulate(n_history=30_000, prevalence=0.4, random_seed=6)
    labels = rounds.history
    truth = np.repeat(rounds.truth_history, labels.labels_per_item)
    for position, name in enumerate(labels.labelers):
        for y, rate in ((1, rounds.sensitivity[name]), (0, 1 - rounds.specificity[name])):
            verdicts = labels.label[(labels.labeler_idx == position) & (truth == y)]
            assert within(verdicts.mean(), rate, len(verdicts))


@pytest.mark.parametrize("k", [3.0, 12.0, 150.0])
def test_spread_between_labelers(k):
    rounds = hb.simulate(
        n_history=10,
        n_current=10,
        n_labelers=20_000,
        labels_per_item=1,
        sensitivity=0.6,
        specificity=0.5,
        heterogeneity=k,
        gold_rate=0.0,
        random_seed=7,
    )
    for rates, mean in ((rounds.sensitivity, 0.6), (rounds.specificity, 0.5)):
        variance = mean * (1 - mean) / (k + 1)
        # The limits cut the tails of a wide law: allow for them at k = 3.
        assert rates.mean() == pytest.approx(mean, abs=WIDE * np.sqrt(variance / 20_000) + 0.001)
        assert rates.var() == pytest.approx(variance, rel=0.05)
        assert rates.between(*RATE_LIMITS).all()


def test_pool_shift_hands_work_to_weak_labelers():
    settings = {"n_history": 20_000, "n_current": 20_000, "labels_per_item": 1, "random_seed": 8}
    still, shifted = (hb.simulate(pool_shift=s, **settings) for s in (0.0, 0.8))
    assert still.history == shifted.history
    weights = pool_weights(
        *(np.asarray(r) for r in (shifted.sensitivity, shifted.specificity)), 0.8
    )
    quality = (shifted.sensitivity + shifted.specificity).to_numpy()
    assert weights[quality.argmin()] == 1.0
    assert weights[quality.argmax()] == pytest.approx(0.2)
    shares = shifted.current.labels_per_labeler / shifted.current.n_labels
    for share, expected in zip(shares, weights / weights.sum(), strict=True):
        assert within(share, expected, 20_000)
    for share in still.current.labels_per_labeler / still.current.n_labels:
        assert within(share, 0.1, 20_000)


def test_full_shift_drops_the_best_labeler():
    rounds = hb.simulate(pool_shift=1.0, random_seed=9)
    best = (rounds.sensitivity + rounds.specificity).idxmax()
    assert best not in rounds.current.labelers
    assert best in rounds.history.labelers


def test_prompts_tell_of_the_item():
    rounds = hb.simulate(prompts=True, covariate_strength=3.0, n_current=2000, random_seed=10)
    texts = rounds.current.texts["prompt_text"]
    risky = np.array([text.count("attack") + text.count("fraud") for text in texts])
    assert risky[rounds.truth_current == 1].mean() > 2 * risky[rounds.truth_current == 0].mean()


def test_gold_of_both_classes_where_it_can_be():
    for seed in range(20):
        rounds = hb.simulate(n_history=60, gold_rate=0.05, prevalence=0.1, random_seed=seed)
        assert set(rounds.history.gold[rounds.history.has_gold]) == {0.0, 1.0}


def test_every_problem_is_named():
    with pytest.raises(ValueError, match="gold_rate") as failure:
        hb.simulate(n_history=0, gold_rate=1.5, sensitivity=1.0, heterogeneity=0, covariate="odd")
    for word in ("n_history", "sensitivity", "heterogeneity", "covariate"):
        assert word in str(failure.value)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"labels_per_item": 11}, "more than the 10 labelers"),
        ({"labels_per_item": 10, "pool_shift": 1.0}, "more than the 9 labelers"),
        ({"n_labelers": 2.5}, "whole number"),
        ({"prevalence": "high"}, "must be a number"),
        ({"prompts": 1}, "true or false"),
        ({"labeler_seed": -1}, "labeler_seed"),
        ({"pool_shift": float("nan")}, "pool_shift must be a number"),
        ({"n_noise_covariates": -1}, "must not be negative"),
        ({"history_prevalence": 0.0}, "history_prevalence"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        hb.simulate(random_seed=1, **arguments)


def test_defaults_of_function_and_scenario_agree():
    assert simulate_scenario(Scenario(), 3).current == hb.simulate(random_seed=3).current
