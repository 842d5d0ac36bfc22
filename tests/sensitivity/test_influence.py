"""One labeler out, one round out."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, logit
from toy import simulate

import hero_bayes as hb
from hero_bayes.sensitivity.influence import labeler_influence, round_influence


@pytest.fixture(scope="module")
def problem():
    return simulate(41, n_history=200, n_current=80, n_labelers=4, labels_per_item=3).rounds


@pytest.fixture(scope="module")
def fitted(problem):
    priors = {"prior_independent": 1.0}
    return hb.fit(*problem, model="auto", priors=priors, random_seed=1, draws=150, chains=2)


def test_a_labeler_out_is_the_posterior_without_its_labels(fitted, problem):
    table = labeler_influence(fitted, *problem, draws=300)
    assert sorted(table.index) == sorted(problem[1].labelers)
    current = problem[1]
    found = hb.estimate(*problem, method="hero1")
    rates = found.details["sensitivity"], found.details["specificity"]
    draws = fitted["posterior"]["prevalence"].to_numpy().ravel()
    m = np.linspace(0, 1, 4_001)[1:-1]

    def cdf(skip):
        ratio = np.zeros(current.n_items)
        for i in range(current.n_items):
            for k in range(current.item_ptr[i], current.item_ptr[i + 1]):
                name = current.labelers[current.labeler_idx[k]]
                if name != skip:
                    a, b = rates[0][name], rates[1][name]
                    z = current.label[k]
                    ratio[i] += np.log(a / (1 - b)) if z else np.log((1 - a) / b)
        log = np.log(m[:, None] * np.exp(ratio) + 1 - m[:, None]).sum(axis=1)
        total = np.cumsum(np.exp(log - log.max()))
        return total / total[-1]

    rank = np.interp(draws, m, cdf(None))
    for name in table.index[:2]:
        mean = np.interp(rank, cdf(name), m).mean()
        # Cells of 0.00025 here, and tables whose draws are right to a hundredth of a deviation.
        assert table.loc[name, "mean"] == pytest.approx(mean, abs=1.5e-3)
        change = table.loc[name, "mean"] - draws.mean()
        assert table.loc[name, "change"] == pytest.approx(change, abs=1e-6)
    assert table["change"].abs().is_monotonic_decreasing
    assert str(table.index[0]) in table.attrs["sentence"]


def test_the_labeler_who_drifted_moves_most(problem):
    history, current = problem
    frames = current.to_frames()
    bad = frames.labels["labeler"] == current.labelers[2]
    frames.labels.loc[bad, "label"] = 1
    drifted = hb.Labels.from_frames(frames.labels, frames.items, covariates=["x"])
    fit = hb.fit(history, drifted, model="auto", random_seed=1, draws=150, chains=2)
    table = labeler_influence(fit, history, drifted, "P(prevalence <= 0.5) >= 0.7")
    assert table.index[0] == current.labelers[2]
    assert {"probability", "decision"} <= set(table)
    assert "decision" in table.attrs["sentence"]


def with_rounds(labels, names):
    frames = labels.to_frames()
    frames.items["round"] = names
    return hb.Labels.from_frames(frames.labels, frames.items)


def test_a_round_out_is_the_estimate_without_it(problem):
    history, current = problem
    names = np.array(["r1", "r2", "r3"])[np.arange(history.n_items) % 3]
    past = with_rounds(history, names)
    table = round_influence(past, current)
    assert table.index.tolist() == ["(all)", "r1", "r2", "r3"]
    kept = past.select(rounds=["r1", "r3"])
    alone = hb.estimate(kept, current, method="hero1")
    assert table.loc["r2", "estimate"] == pytest.approx(alone.value, rel=1e-12)
    assert (table.loc["r2", "lower"], table.loc["r2", "upper"]) == alone.interval(0.95)
    whole = hb.estimate(past, current, method="hero1").value
    assert table.loc["r2", "change"] == pytest.approx(alone.value - whole, abs=1e-12)
    assert table.loc["r2", "n_items"] == (names == "r2").sum()
    assert (table["reason"] == "").all()


def test_a_round_that_holds_the_gold_says_why_there_is_no_estimate(problem):
    history, current = problem
    past = with_rounds(history, np.where(history.has_gold, "gold", "silver"))
    table = round_influence(past, current, method="hero1")
    assert np.isnan(table.loc["gold", "estimate"])
    assert "gold" in table.loc["gold", "reason"]
    assert np.isfinite(table.loc["silver", "estimate"])


def test_rounds_by_auto(problem):
    history, current = problem
    past = with_rounds(history, np.where(np.arange(history.n_items) < 100, "a", "b"))
    table = round_influence(past, current, method="auto", random_seed=3)
    alone = hb.fit(past.select(rounds=["b"]), current, model="auto", random_seed=3, draws=250)
    assert table.loc["a", "estimate"] == float(alone["posterior"]["prevalence"].mean())


def test_misuse(problem):
    with pytest.raises(hb.Refusal, match="one round"):
        round_influence(*problem)
    with pytest.raises(ValueError, match="method must be"):
        round_influence(*problem, method="hero2")
    two = simulate(3, n_history=60, n_current=40, arms=("A", "B")).rounds
    with pytest.raises(hb.DataError, match="several groups"):
        round_influence(*two)
    with pytest.raises(hb.DataError, match="no current group"):
        round_influence(*two, group="C")


def test_logit_shift_is_not_a_labeler_out(fitted, problem):
    """A labeler's labels gone is what remains as its rates come to chance."""
    from hero_bayes.sensitivity.engine import engine_of
    from hero_bayes.sensitivity.questions import question_of

    question = question_of(fitted, None, "prevalence", None)
    engine = engine_of(fitted, *problem, question, draws=50, random_seed=1)
    labels = engine.labelers.labels
    chance = np.zeros((50, labels.n_labelers))
    # a = 1 - b = 0.5 makes a label worth nothing.
    chance[:, 1] = -logit(np.clip(expit(engine.labelers.sensitivity[:, 1]), 1e-9, 1 - 1e-9))
    other = np.zeros_like(chance)
    other[:, 1] = -engine.labelers.specificity[:, 1]
    blind = engine.moved(chance, other).values
    out = engine.labelers.without(1)
    gone = engine.at(out.positive(0.0), out.negative(0.0)).values
    np.testing.assert_allclose(blind, gone, rtol=1e-9)
    assert isinstance(pd.Series(gone).mean(), float)
