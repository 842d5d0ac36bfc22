"""Fits of ``score`` and ``auto``: contract, gate, and everything that comes after a fit."""

import numpy as np
import pytest
from toy import simulate

import hero_bayes as hb
from hero_bayes.estimators.averaging import average
from hero_bayes.estimators.tilt import tilt


@pytest.fixture(scope="module")
def problem():
    return simulate(7, n_history=300, n_current=150, gold_share=0.3, arms=("A", "B"))


@pytest.fixture(scope="module", params=["score", "auto"])
def fitted(request, problem):
    return hb.fit(*problem.rounds, model=request.param, random_seed=3, draws=200, chains=2)


def test_contract(fitted, problem):
    history, current = problem.rounds
    draws = fitted["posterior"].to_dataset()
    for name in ("prevalence", "item_rate"):
        assert draws[name].dims == ("chain", "draw", "group")
        assert list(draws["group"].to_numpy()) == current.groups("current")
        assert ((draws[name] >= 0) & (draws[name] <= 1)).all()
    ratio = fitted["evidence"]["log_likelihood_ratio"]
    assert ratio.dims == ("chain", "draw", "item")
    assert ratio.sizes["item"] == current.n_items
    assert fitted.attrs["mode"] == "exact"
    assert fitted.attrs["history_fingerprint"] == history.fingerprint
    assert np.isclose(float(fitted["calibration"]["weight"].sum()), 1.0)


def test_draws_are_those_of_the_estimators(fitted, problem):
    function = tilt if fitted.attrs["model"] == "score" else average
    direct = function(*problem.rounds, n_draws=400, random_seed=3)
    found = fitted["posterior"]["item_rate"].to_numpy().reshape(400, -1)
    np.testing.assert_array_equal(found, direct.item_rate)


def test_everything_after_a_fit(fitted, problem, tmp_path):
    history, current = problem.rounds
    assert hb.diagnose(fitted).mode == "exact"
    chance = hb.posterior_truth(fitted).mean(("chain", "draw"))
    # The mean over items of P(y = 1) is E[item rate], up to the draws that were kept.
    for g, group in enumerate(current.groups("current")):
        mean = float(fitted["posterior"]["item_rate"].sel(group=group).mean())
        assert abs(float(chance[current.group_idx == g].mean()) - mean) < 0.02
    adjusted = hb.adjust(fitted, history, current, covariates=["x"])
    assert np.isfinite(adjusted["posterior"]["prevalence_adjusted"]).all()
    again = hb.load(hb.save(fitted, tmp_path / "fit.nc"))
    assert again["posterior"]["item_rate"].equals(fitted["posterior"]["item_rate"])
    assert fitted.attrs["chosen"] in str(hb.summary(fitted))


def test_same_seed_same_draws(problem):
    one, two, three = (
        hb.fit(*problem.rounds, model="auto", random_seed=seed, draws=50, chains=1)
        for seed in (1, 1, 2)
    )
    assert one["posterior"].to_dataset().equals(two["posterior"].to_dataset())
    assert not one["posterior"]["item_rate"].equals(three["posterior"]["item_rate"])


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"mode": "nuts"}, "'exact' alone"),
        ({"posterior": "joint"}, "cut posterior alone"),
        ({"priors": {"prevalence_prior": (1, 1)}}, "unknown priors prevalence_prior"),
        ({"draws": 0}, "at least 1"),
    ],
)
def test_bad_arguments(problem, options, match):
    with pytest.raises(ValueError, match=match):
        hb.fit(*problem.rounds, model="auto", random_seed=1, **options)


def test_prior_of_independence_reaches_the_average(problem):
    priors = {"prior_independent": 1.0}
    tree = hb.fit(*problem.rounds, model="auto", priors=priors, random_seed=1, draws=50, chains=1)
    assert tree.attrs["probability_independent"] == 1.0
    assert tree.attrs["negative_slope"] == 0.0


def test_scores_that_point_nowhere_fail_the_gate():
    rng = np.random.default_rng(4)
    rows = simulate(9, n_history=200, n_current=80, gold_share=0.2, strength=0.0)
    history, current = rows.rounds
    gold = np.where(history.has_gold, rng.integers(0, 2, history.n_items), np.nan)
    flipped = np.where(history.has_gold, 1 - history.gold, np.nan)
    for labels in (history.with_gold(gold), history.with_gold(flipped)):
        tree = hb.fit(labels, current, model="score", random_seed=1, draws=200, chains=1)
        if tree.attrs["negative_slope"] > 0.05:
            verdict = hb.diagnose(tree)
            assert not verdict.passed
            assert "slope" in " ".join(verdict.reasons)
            return
    raise AssertionError("neither table gave a doubtful slope")


def test_too_little_gold_is_refused(problem):
    history, current = problem.rounds
    gold = np.full(history.n_items, np.nan)
    gold[:2] = [0.0, 1.0]
    with pytest.raises(hb.Refusal, match="gold"):
        hb.fit(history.with_gold(gold), current, model="score", random_seed=1)
