"""Covariates that moved, and the estimate under several historical means."""

import numpy as np
import pytest
from toy import simulate

import hero_bayes as hb
from hero_bayes.data.shift import covariate_shift as moments
from hero_bayes.sensitivity.covariate_means import covariate_shift, mixed


def shifted(labels, by, names=None):
    """The same labels, covariate x moved by ``by`` (item,), rounds by name."""
    frames = labels.to_frames()
    frames.items["x"] = frames.items["x"] + by
    if names is not None:
        frames.items["round"] = names
    return hb.Labels.from_frames(frames.labels, frames.items, covariates=["x"])


@pytest.fixture(scope="module")
def rounds():
    history, current = simulate(17, n_history=400, n_current=150, strength=1.5).rounds
    names = np.array(["old", "new"], dtype=object)[np.arange(400) % 2]
    return shifted(history, np.where(names == "old", 2.0, 0.0), names), current


def test_all_history_is_hero2(rounds):
    found = covariate_shift(*rounds, shrink="paper", ridge=0.3)
    for name, method in (("all history", "hero2"), ("not adjusted", "hero1")):
        own = hb.estimate(*rounds, method=method, ridge=0.3)
        row = found.estimates.loc[name]
        assert row["estimate"] == pytest.approx(own.value, rel=1e-12)
        np.testing.assert_allclose(row[["lower", "upper"]].astype(float), own.interval(0.95))


def test_matching_rounds_take_the_bias_of_other_prompts_away(rounds):
    history, current = rounds
    table = covariate_shift(history, current, shrink="paper").estimates
    assert list(table.index) == [
        "not adjusted",
        "all history",
        "matching rounds",
        "mixed rounds",
        "round new",
        "round old",
    ]
    assert (table["reason"] == "").all()
    assert table.loc["matching rounds", "estimate"] == table.loc["round new", "estimate"]
    away = (table["estimate"] - table.loc["not adjusted", "estimate"]).abs()
    assert away["matching rounds"] < 0.5 * away["all history"] < away["round old"]
    # The round alone: m_X of its items, HERO-2's formula.
    alone = history.select(rounds=["new"])
    own = moments(alone.covariates["x"][:, None], current.covariates["x"][:, None], ["x"])[
        "difference"
    ]
    assert table.loc["round new", "largest_difference"] == pytest.approx(
        abs(own["x"])
        * np.sqrt((alone.covariates["x"].var() + current.covariates["x"].var()) / 2)
        / history.covariates["x"].std(),
        rel=1e-9,
    )


def test_differences_come_with_their_interval(rounds):
    found = covariate_shift(*rounds).covariates.loc["x"]
    own = moments(
        rounds[0].covariates["x"][:, None], rounds[1].covariates["x"][:, None], ["x"]
    ).loc["x"]
    assert found["difference"] == own["difference"]
    half = 1.959963984540054 * own["standard_error"]
    assert found["upper"] - found["difference"] == pytest.approx(half, rel=1e-9)
    assert found["significant"]
    assert "x (" in covariate_shift(*rounds).sentence


def test_no_matching_round_says_so(rounds):
    history, current = rounds
    table = covariate_shift(history, shifted(current, 5.0)).estimates
    assert np.isnan(table.loc["matching rounds", "estimate"])
    assert "every past round" in table.loc["matching rounds", "reason"]


def test_mixed_rounds_meet_the_current_mean_where_they_can():
    rng = np.random.default_rng(1)
    past = np.concatenate([rng.normal(0, 1, 60), rng.normal(4, 1, 40)])[:, None]
    own = np.array(["a"] * 60 + ["b"] * 40, dtype=object)
    alone = {name: (own == name) / (own == name).sum() for name in ("a", "b")}
    x = np.full((30, 1), 3.0)
    weight = mixed(alone, own, past, x)
    assert weight.sum() == pytest.approx(1.0)
    # Held near the rounds' sizes by 1e-4 of the squared distance.
    assert (weight @ past)[0] == pytest.approx(3.0, abs=0.01)
    assert (weight >= 0).all()
    beyond = mixed(alone, own, past, np.full((30, 1), 9.0))
    assert beyond[own == "a"].sum() == pytest.approx(0.0, abs=1e-3)


def test_misuse(rounds):
    bare = hb.Labels.from_frames(rounds[0].to_frames().labels, rounds[0].to_frames().items)
    with pytest.raises(hb.Refusal, match="needs covariates"):
        covariate_shift(bare, rounds[1])
    with pytest.raises(hb.DataError, match="no current group"):
        covariate_shift(*rounds, group="B")
