"""Whether the current round looks as if its labelers were those of history."""

import numpy as np
import pytest
from toy import make_labels, simulate

import hero_bayes as hb
from hero_bayes.sensitivity.carryover import transport_check, two_sided
from hero_bayes.sensitivity.gold_checks import calibration_test, gold_tests
from hero_bayes.sensitivity.labelers import FlatDraws, flat_draws

ALL = [
    "positive labels",
    "labelers",
    "labels of one item",
    "sensitivity",
    "specificity",
    "calibration",
]


def two_rounds(seed, change=0.0, only=None, current_gold=0.0, n_current=300):
    """Five labelers; ``change`` is added to the specificity of all, or of one, in the current."""
    rng = np.random.default_rng(seed)
    a, b = np.full(5, 0.8), np.full(5, 0.85)
    rounds = []
    for n, gold, moved in ((400, 0.5, 0.0), (n_current, current_gold, change)):
        truth = (rng.random(n) < 0.35).astype(int)
        now = b.copy()
        if only is None:
            now += moved
        else:
            now[only] += moved
        chance = np.where(truth[:, None] == 1, a, 1 - now)
        label = (rng.random(chance.shape) < chance).astype(int)
        item, labeler = np.indices(label.shape)
        known = rng.random(n) < gold
        facts = {"gold": np.where(known, truth, np.nan)}
        rounds.append(make_labels(item.ravel(), labeler.ravel(), label.ravel(), facts))
    return rounds


def check(rounds, **options):
    fit = hb.fit(*rounds, model="auto", random_seed=1, draws=100, chains=2)
    return transport_check(fit, *rounds, **options)


def test_one_labeler_who_drifted_is_found():
    found = check(two_rounds(1, change=-0.25, only=3))
    assert found.tests.loc["labelers", "p_value"] < 0.01
    assert found.labelers.index[0] == "3"
    # The others are right within their own intervals or nearly so; labeler 3 is far out.
    row = found.labelers.loc["3"]
    assert row["observed"] > row["upper"] > row["expected"]
    assert "labeler 3 stands out" in found.sentence


def test_a_common_drift_shows_on_gold_alone():
    rounds = two_rounds(2, change=-0.2, current_gold=0.4)
    silver = [rounds[0], rounds[1].without_gold()]
    without = check(silver)
    assert without.tests.index.tolist() == ALL
    assert without.tests.loc["specificity", "reason"] == "the current round has 0 gold items"
    assert np.isnan(without.tests.loc["specificity", "p_value"])
    assert "common to all labelers cannot show" in without.sentence
    found = check(rounds)
    row = found.tests.loc["specificity"]
    assert row["p_value"] < 1e-6
    assert row["observed"] < row["expected"]
    assert found.tests.loc["sensitivity", "p_value"] > 1e-3
    assert "specificity" in found.sentence


def test_fewer_positive_labels_than_any_prevalence_gives():
    history, current = two_rounds(8)
    frames = current.to_frames()
    silent = hb.Labels.from_frames(frames.labels.assign(label=0), frames.items)
    found = check([history, silent])
    row = found.tests.loc["positive labels"]
    # A round without a positive item would have 15 % positive labels.
    assert row["observed"] == 0.0
    assert row["expected"] == pytest.approx(0.15, abs=0.03)
    assert row["p_value"] < 0.01
    assert check([history, current]).tests.loc["positive labels", "p_value"] > 0.05


@pytest.mark.parametrize(("draws", "reaches"), [(110, False), (150, False), (400, True)])
def test_draws_that_cannot_reach_the_level_are_said(draws, reaches):
    """Two tests are made here: a level of .005, and p-values of at least 1 / (draws + 1)."""
    found = check(two_rounds(2), draws=draws) if draws < 400 else enough_draws(draws)
    assert np.nanmin(found.tests["p_value"]) >= 1 / (draws + 1)
    assert ("can be below the level" in found.sentence) != reaches


def enough_draws(draws):
    rounds = two_rounds(2)
    fit = hb.fit(*rounds, model="auto", random_seed=1, draws=draws // 2, chains=2)
    return transport_check(fit, *rounds, draws=draws)


def test_a_p_value_counts_the_data_among_the_draws():
    draws = np.arange(9.0)
    assert [two_sided(value, draws) for value in (4.0, 0.0, 8.0, 20.0)] == [1.0, 0.3, 0.3, 0.1]


def test_no_drift_is_rarely_called_one():
    tests = [
        gold_tests(FlatDraws(None, np.zeros((1, 1)), np.zeros((1, 1)), rounds[1].gold), *rounds)
        for rounds in (two_rounds(seed, current_gold=0.3) for seed in range(100, 160))
    ]
    for rate in ("sensitivity", "specificity"):
        p = np.array([one[rate]["p_value"] for one in tests])
        # 60 uniform p-values: 6 below 0.1, standard deviation 2.3.
        assert 1 <= (p < 0.1).sum() <= 15


def test_gold_test_is_the_z_test_of_the_mean_rate():
    history, current = two_rounds(5, current_gold=0.5)
    rates = hb.estimate(history, current.without_gold(), method="hero1").details
    row = gold_tests(FlatDraws(None, np.zeros(1), np.zeros(1), current.gold), history, current)
    found = row["sensitivity"]
    positive = np.repeat(current.gold == 1, current.labels_per_item)
    names = current.labelers[current.labeler_idx[positive]]
    assert found["observed"] == pytest.approx(current.label[positive].mean())
    assert found["expected"] == pytest.approx(rates["sensitivity"].loc[names].mean())
    assert found["n"] == int((current.gold == 1).sum())


def test_calibration_on_gold():
    rng = np.random.default_rng(3)
    logits = rng.normal(0, 2, 400)
    honest = (rng.random(400) < 1 / (1 + np.exp(-logits))).astype(float)
    twice = (rng.random(400) < 1 / (1 + np.exp(-0.5 * logits))).astype(float)
    high = (rng.random(400) < 1 / (1 + np.exp(-logits + 1))).astype(float)

    def p_value(gold):
        draws = FlatDraws(None, logits[None], np.zeros((1, 400)), gold)
        return calibration_test(draws)["p_value"]

    assert p_value(honest) > 0.01
    assert p_value(twice) < 1e-4
    assert p_value(high) < 1e-4


def test_score_test_has_its_law():
    rng = np.random.default_rng(4)
    values = []
    for _ in range(400):
        logits = rng.normal(0, 1.5, 80)
        gold = (rng.random(80) < 1 / (1 + np.exp(-logits))).astype(float)
        draws = FlatDraws(None, logits[None], np.zeros((1, 80)), gold)
        values.append(calibration_test(draws)["observed"])
    # Mean 2 and variance 4 of chi-square with 2 degrees: four standard errors.
    assert abs(np.mean(values) - 2.0) < 4 * 2 / 20


@pytest.mark.slow
def test_fits_with_rates_predict_labels_of_one_item():
    rounds = two_rounds(6, n_current=150)
    fit = hb.fit(*rounds, model="hero", mode="laplace", random_seed=1, draws=100, chains=2)
    honest = transport_check(fit, *rounds)
    assert (honest.tests["p_value"].dropna() > 0.001).all()
    frames = rounds[1].to_frames()
    first = frames.labels.groupby("item")["label"].transform("first")
    copied = hb.Labels.from_frames(frames.labels.assign(label=first), frames.items)
    other = hb.fit(
        rounds[0], copied, model="hero", mode="laplace", random_seed=1, draws=100, chains=2
    )
    found = transport_check(other, rounds[0], copied)
    assert found.tests.loc["labels of one item", "p_value"] < 0.02
    assert np.isnan(check(rounds).tests.loc["labels of one item", "p_value"])


def test_refusals():
    rounds = simulate(4, n_history=100, n_current=40).rounds
    fit = hb.fit(*rounds, model="auto", random_seed=1, draws=100, chains=1)
    with pytest.raises(hb.DataError, match="not the one"):
        transport_check(fit, rounds[0].without_gold(), rounds[1])
    fit.attrs["model"] = "other"
    with pytest.raises(hb.Refusal, match="no labeler rates"):
        transport_check(fit, *rounds)
    assert flat_draws(fit, 10).n_draws == 10
