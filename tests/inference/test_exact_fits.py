"""Fits of ``score`` and ``auto``: contract, gate, and everything that comes after a fit."""

import numpy as np
import pytest
from toy import simulate

import hero_bayes as hb
from hero_bayes.decision.decide import decide
from hero_bayes.decision.rule import Rule
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


def scarce(history, negative, positive):
    gold = np.full(history.n_items, np.nan)
    for truth, n in ((0, negative), (1, positive)):
        gold[np.flatnonzero(history.gold == truth)[:n]] = truth
    return history.with_gold(gold)


def test_score_refuses_too_little_gold(problem):
    history, current = problem.rounds
    with pytest.raises(hb.Refusal, match="gold"):
        hb.fit(scarce(history, 1, 1), current, model="score", random_seed=1)


@pytest.mark.parametrize(
    ("counts", "lacking"),
    [
        ((0, 0), "gold 0 and gold 1"),
        ((1, 0), "gold 0 and gold 1"),
        ((0, 30), "gold 0 to"),
        ((30, 1), "gold 1 to"),
    ],
)
def test_auto_without_enough_gold_is_wide_and_fails_the_gate(problem, counts, lacking, tmp_path):
    history, current = problem.rounds
    history = scarce(history, *counts)
    fit = hb.fit(history, current, model="auto", random_seed=1, draws=300, chains=2)
    low, high = fit["posterior"]["item_rate"].quantile([0.05, 0.95], dim=("chain", "draw"))
    assert (high - low > 0.3).all()
    verdict = hb.diagnose(fit)
    assert not verdict.passed
    assert any(f"Add expert labels of {lacking}" in reason for reason in verdict.reasons)
    assert "not calibrated" in fit.attrs["chosen"]
    assert fit.attrs["chosen"] in str(hb.summary(fit))
    decision = decide(fit, Rule("item_rate", "<=", 1.0, probability=0.5, group="A"))
    assert decision.outcome == "inconclusive"
    assert any("Add expert labels" in reason for reason in decision.reasons)
    chance = hb.posterior_truth(fit)
    assert ((chance >= 0) & (chance <= 1)).all()
    adjusted = hb.adjust(fit, history, current, covariates=["x"])
    assert np.isfinite(adjusted["posterior"]["prevalence_adjusted"]).all()
    again = hb.load(hb.save(fit, tmp_path / "fit.nc"))
    assert hb.diagnose(again).reasons == verdict.reasons


def test_enough_gold_has_no_shortfall(fitted):
    assert "shortfall" not in fitted.attrs
    assert not any("gold" in check.name for check in hb.diagnose(fitted).checks)


def test_auto_without_a_known_labeler(problem):
    history, current = problem.rounds
    verdicts, items, _ = current.to_frames()
    verdicts["labeler"] = "new" + verdicts["labeler"].astype(str)
    strangers = hb.Labels.from_frames(verdicts, items)
    fit = hb.fit(history, strangers, model="auto", random_seed=1, draws=500, chains=2)
    low, high = fit["posterior"]["item_rate"].quantile([0.05, 0.95], dim=("chain", "draw"))
    assert (high - low > 0.85).all()
    assert (fit["evidence"]["log_likelihood_ratio"] == 0).all()
    assert fit.attrs["labels_left_out"] == current.n_labels
    (reason,) = hb.diagnose(fit).reasons
    assert "known labelers label the current round" in reason


def test_auto_where_the_rounds_cannot_be_matched(problem):
    """All gold items were judged by labelers who left; only one labeler of history stayed."""
    history, current = problem.rounds
    verdicts, items, _ = history.to_frames()
    with_gold = set(items.loc[items["gold"].notna(), "item"])
    stayed = verdicts["labeler"] == "0"
    kept = hb.Labels.from_frames(
        verdicts[~(stayed & verdicts["item"].isin(with_gold))], items, covariates=["x"]
    )
    alone = current.with_labelers(["0"])
    with pytest.raises(hb.Refusal, match="alike"):
        hb.fit(kept, alone, model="score", random_seed=1)
    fit = hb.fit(kept, alone, model="auto", random_seed=1, draws=200, chains=2)
    low, high = fit["posterior"]["item_rate"].quantile([0.05, 0.95], dim=("chain", "draw"))
    assert (high - low > 0.3).all()
    assert "too few labels alike" in fit.attrs["chosen"]
    assert any("alike" in reason for reason in hb.diagnose(fit).reasons)


def test_a_group_of_unknown_labelers_alone(problem):
    """The other group's labels are read; this one has what nobody knows."""
    history, current = problem.rounds
    verdicts, items, _ = current.to_frames()
    arm = items.set_index("item")["arm"]
    mine = verdicts["item"].map(arm) == "B"
    names = verdicts["labeler"].astype(str)
    verdicts["labeler"] = names.where(~mine, "new" + names)
    mixed = hb.Labels.from_frames(verdicts, items)
    priors = {"prior_independent": 0.9}
    fit = hb.fit(history, mixed, model="auto", priors=priors, random_seed=1, draws=500, chains=2)
    width = fit["posterior"]["item_rate"].std(("chain", "draw"))
    assert float(width.sel(group="B")) > 0.25 > float(width.sel(group="A"))
    assert "nothing is known of B" in fit.attrs["notes"]


@pytest.mark.parametrize("model", ["score", "auto"])
@pytest.mark.parametrize("value", [0.05, (2, 38)])
def test_gold_error_reaches_everything(problem, model, value, tmp_path):
    history, current = problem.rounds
    known = current.with_gold(np.where(np.arange(current.n_items) < 20, 1.0, np.nan))
    fit = hb.fit(
        history, known, model=model, priors={"gold_error": value}, random_seed=1, draws=200,
        chains=2,
    )  # fmt: skip
    rate = fit["posterior"]["gold_error"]
    assert rate.dims == ("chain", "draw")
    assert ((rate > 0) & (rate < 0.5)).all()
    assert np.isnan(fit["evidence"]["gold"]).all()
    assert np.nansum(fit["evidence"]["fallible_gold"]) == 20
    chance = hb.posterior_truth(fit)
    assert float(chance.max()) < 1.0
    for g, group in enumerate(known.groups("current")):
        mean = float(fit["posterior"]["item_rate"].sel(group=group).mean())
        assert abs(float(chance.mean(("chain", "draw"))[known.group_idx == g].mean()) - mean) < 0.02
    assert hb.load(hb.save(fit, tmp_path / "fit.nc"))["posterior"]["gold_error"].equals(rate)


def test_no_gold_error_changes_no_draw(problem):
    one, two = (
        hb.fit(*problem.rounds, model="auto", priors=priors, random_seed=1, draws=50, chains=1)
        for priors in (None, {"gold_error": 0})
    )
    assert one["posterior"].to_dataset().equals(two["posterior"].to_dataset())
    with pytest.raises(ValueError, match="gold_error must be None"):
        hb.fit(*problem.rounds, model="auto", priors={"gold_error": 0.7}, random_seed=1)
