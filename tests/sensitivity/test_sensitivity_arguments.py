"""Arguments of the wrong kind are named, before any work."""

import pandas as pd
import pytest

import hero_bayes as hb


@pytest.fixture(scope="module")
def rounds():
    made = hb.simulate(n_history=60, n_current=40, gold_rate=0.5, random_seed=1)
    return made.history, made.current


@pytest.fixture(scope="module")
def fit(rounds):
    return hb.fit(*rounds, model="score", random_seed=1, draws=100)


@pytest.mark.parametrize("wrong", [None, "fit", pd.DataFrame()])
def test_what_is_no_fit_or_no_table_is_named(fit, rounds, wrong):
    history, current = rounds
    kind = type(wrong).__name__
    for function in (hb.transport_sensitivity, hb.transport_check, hb.labeler_influence):
        with pytest.raises(hb.DataError, match=f"expected a fit, got {kind}"):
            function(wrong, history, current)
        with pytest.raises(TypeError, match=f"history must be hb.Labels, got {kind}"):
            function(fit, wrong, current)
    for function in (hb.round_influence, hb.gold_selection_sensitivity, hb.covariate_shift):
        with pytest.raises(TypeError, match=f"current must be hb.Labels, got {kind}"):
            function(history, wrong)


@pytest.mark.parametrize("prob", [95, 1.0, 0, "0.95", True])
def test_probabilities_of_intervals_lie_between_0_and_1(fit, rounds, prob):
    for function in (hb.round_influence, hb.gold_selection_sensitivity, hb.covariate_shift):
        with pytest.raises(ValueError, match="prob must lie between 0 and 1"):
            function(*rounds, prob=prob)
    with pytest.raises(ValueError, match="prob must lie between 0 and 1"):
        hb.labeler_influence(fit, *rounds, prob=prob)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"grid": 5}, ValueError, "grid must be a sequence of shifts"),
        ({"grid": "ab"}, ValueError, "grid must be a sequence of shifts"),
        ({"drift_sd": 0.1}, ValueError, "drift_sd must be a sequence of numbers"),
        ({"drift_sd": ["a"]}, ValueError, "drift_sd must be a sequence of numbers"),
        ({"draws": 2.5}, ValueError, "draws is a whole number of at least 2"),
        ({"random_seed": -1}, ValueError, "random_seed is a whole number of at least 0"),
        ({"rule": 5}, TypeError, "expected a Rule or its text, got int"),
    ],
)
def test_options_of_the_sweep(fit, rounds, options, error, message):
    with pytest.raises(error, match=message):
        hb.transport_sensitivity(fit, *rounds, **options)


def test_odds_ratios_are_numbers(rounds):
    for wrong in (2, "ab", None):
        with pytest.raises(ValueError, match="odds_ratios must be a sequence of numbers"):
            hb.gold_selection_sensitivity(*rounds, wrong, score=False)


def test_p_values_need_draws(fit, rounds):
    for draws in (0, 2, 99, 2.5, None):
        with pytest.raises(ValueError, match="draws is a whole number of at least 100"):
            hb.transport_check(fit, *rounds, draws=draws)
    few = hb.fit(*rounds, model="score", random_seed=1, draws=20, chains=2)
    with pytest.raises(hb.Refusal, match="evidence of 40 draws, and p-values need 100"):
        hb.transport_check(few, *rounds)


def test_ratios_to_zero_have_no_missing_numbers(rounds):
    history = rounds[0]
    names = [f"{arm}{k}" for arm in "AB" for k in range(8)]
    items = pd.DataFrame({"item": names, "arm": [name[0] for name in names], "gold": 0.0})
    items.loc[items["item"].isin(["A0", "B0", "B1"]), "gold"] = float("nan")
    labelers = [str(name) for name in history.labelers[:3]]
    labels = pd.DataFrame(
        [(name, who, int(who == labelers[0])) for name in names for who in labelers],
        columns=["item", "labeler", "label"],
    )
    current = hb.Labels.from_frames(labels, items)
    fit = hb.fit(history, current, model="score", random_seed=1, draws=100)
    shares = fit["posterior"]["item_rate"].to_numpy()
    assert (shares[..., 0] == 0.0).any()
    rule = "P(item_rate[B] / item_rate[A] <= 1) >= 0.9"
    sweep = hb.transport_sensitivity(fit, history, current, rule, grid=[-0.5])
    assert sweep["mean"].notnull().all()
    assert sweep["quantiles"].notnull().all()
    assert "in the median" in sweep.attrs["sentences"]
    table = hb.labeler_influence(fit, history, current, rule)
    assert table[["mean", "lower", "upper", "change"]].notna().all(axis=None)
    said = hb.decide(fit, rule)
    assert said.parts[0].probability == pytest.approx(
        (shares[..., 1] <= shares[..., 0]).mean(), abs=1e-12
    )
