"""Fits of generations seen through labelers: perfect judges, biased judges, every mode."""

import dataclasses

import numpy as np
import pandas as pd
import pytest
from wiring import prior_draws

import hero_bayes as hb
from hero_bayes.data.prompts import prompt_slots
from hero_bayes.difficulty import variance_shares

SENSITIVITY, SPECIFICITY = np.array([0.9, 0.8, 0.85]), np.array([0.7, 0.75, 0.65])


def rounds(seed, n_prompts, k, mean, icc, gold=0.0, rates=(SENSITIVITY, SPECIFICITY)):
    """One round of prompts with k generations, judged by everyone; the table and the truth."""
    rng = np.random.default_rng(seed)
    f = (1 - icc) / icc
    q = np.repeat(rng.beta(mean * f, (1 - mean) * f, n_prompts), k)
    truth = (rng.random(q.size) < q).astype(int)
    known = np.where(rng.random(q.size) < gold, truth, np.nan)
    rows = []
    for j, (a, b) in enumerate(zip(*rates, strict=True)):
        label = rng.random(q.size) < np.where(truth == 1, a, 1 - b)
        rows.append(pd.DataFrame({"item": np.arange(q.size), "labeler": j, "label": label * 1}))
    items = pd.DataFrame(
        {"item": np.arange(q.size), "prompt": np.arange(q.size) // k, "gold": known}
    )
    return hb.Labels.from_frames(pd.concat(rows), items), truth


@pytest.fixture(scope="module")
def problem():
    history, _ = rounds(1, 60, 3, 0.5, 0.4, gold=0.3)
    current, truth = rounds(2, 40, 4, 0.3, 0.5)
    return history, current, truth


@pytest.mark.parametrize("posterior", ["cut", "joint"])
@pytest.mark.parametrize("labelers", ["flat", "pooled"])
def test_wired(problem, posterior, labelers, monkeypatch):
    monkeypatch.setattr("hero_bayes.inference.fit.sample", prior_draws)
    options = {"draws": 20, "tune": 5, "chains": 2, "random_seed": 1, "progressbar": False}
    history, current, _ = problem
    tree = hb.fit(
        history,
        current,
        "prompt_labels",
        posterior=posterior,
        priors={"labelers": labelers} | ({"sensitivity_prior": (1.0, 1.0)}),
        **options,
    )
    draws = tree["posterior"].to_dataset()
    for name in ("prevalence", "icc", "sigma", "item_rate"):
        assert draws[name].dims == ("chain", "draw", "group")
    assert draws["history_icc"].dims == ("chain", "draw", "history_group")
    m, icc = draws["prevalence"], draws["icc"]
    np.testing.assert_allclose(draws["sigma"], np.sqrt(m * (1 - m) * icc), atol=1e-9)
    assert hb.posterior_truth(tree).sizes["item"] == 160
    # One term a prompt: 60 in stage 1, which knows no current item, 100 in the joint model.
    terms = tree["log_likelihood"].sizes["labeled_item"]
    assert terms == (60 if posterior == "cut" else 100)
    assert set(variance_shares(tree, current)["source"]) == {"prompts", "generations", "labelers"}
    assert tree["posterior_predictive"]["positive_labels"].max() <= 3


def test_mode_with_perfect_judges_is_the_mode_of_the_counts(problem):
    _, current, truth = problem
    known = current.with_gold(truth.astype(float))
    history, _ = rounds(1, 60, 3, 0.5, 0.4, gold=0.3)
    tree = hb.fit(history, known, "prompt_labels", mode="map", random_seed=1)
    n_correct = truth.reshape(40, 4).sum(axis=1)
    from scipy.optimize import minimize
    from scipy.stats import betabinom

    def cost(x):
        m, icc = 1 / (1 + np.exp(-np.asarray(x)))
        f = (1 - icc) / icc
        return -betabinom.logpmf(n_correct, 4, m * f, (1 - m) * f).sum()

    best = 1 / (1 + np.exp(-minimize(cost, [0.0, 0.0], method="Nelder-Mead", tol=1e-10).x))
    draws = tree["posterior"]
    found = [float(draws[name].squeeze()) for name in ("prevalence", "icc")]
    np.testing.assert_allclose(found, best, atol=1e-5)
    assert float(draws["item_rate"].squeeze()) == pytest.approx(truth.mean())


def test_mode_gives_each_item_its_prompts_evidence(problem):
    history, current, _ = problem
    tree = hb.fit(history, current, "prompt_labels", mode="map", random_seed=1)
    draws = tree["posterior"]
    # The mode's item rate is E[mean y]: near the mean, which the same labels inform.
    assert abs(float(draws["item_rate"].squeeze()) - float(draws["prevalence"].squeeze())) < 0.05
    prior = tree["evidence"]["prior_log_odds"].to_numpy().reshape(40, 4)
    assert np.ptp(prior, axis=1).max() > 0.01  # not the group's rate alone


def test_refit_to_tables_with_more_generations_is_refused(problem):
    from hero_bayes.inference.program import load_tables, make_program
    from hero_bayes.models.prompt_labels import prompt_labels

    history, current, _ = problem
    program = make_program(prompt_labels, history, current)
    load_tables(program, history, rounds(5, 25, 4, 0.5, 0.3)[0])
    with pytest.raises(hb.DataError, match="slot"):
        load_tables(program, history, rounds(5, 25, 5, 0.5, 0.3)[0])


def test_slots_of_prompts():
    labels, _ = rounds(3, 4, 3, 0.5, 0.5)
    table = prompt_slots(labels, "current")
    assert table.slots.shape == (4, 4)
    assert table.names == ("0", "1", "2", "3")
    np.testing.assert_array_equal(table.size, 3)
    np.testing.assert_array_equal(table.slots[1], [4, 5, 6, 0])
    alone = dataclasses.replace(labels, prompt=None)
    single = prompt_slots(alone, "current")
    assert single.slots.shape == (12, 1)
    assert single.names[0] == "0 (item)"


@pytest.mark.slow
@pytest.mark.parametrize("posterior", ["cut", "joint"])
def test_recovers_the_score_where_labels_as_truth_are_far_off(posterior):
    history, _ = rounds(11, 150, 3, 0.5, 0.4, gold=0.4)
    current, truth = rounds(12, 150, 4, 0.15, 0.4)
    naive = current.label.mean()
    assert naive - 0.15 > 0.1
    tree = hb.fit(
        history, current, "prompt_labels", posterior=posterior, random_seed=1, progressbar=False
    )
    assert hb.diagnose(tree).passed
    draws = tree["posterior"].to_dataset()
    for name, value in (("prevalence", 0.15), ("icc", 0.4), ("item_rate", truth.mean())):
        flat = draws[name].to_numpy().ravel()
        low, high = np.quantile(flat, [0.0005, 0.9995])
        assert low < value < high
        assert abs(flat.mean() - value) < 4 * flat.std()
    assert abs(float(draws["prevalence"].mean()) - 0.15) < 0.05


@pytest.mark.slow
def test_perfect_judges_give_the_posterior_of_the_counts():
    history, _ = rounds(21, 40, 2, 0.5, 0.4, gold=0.5)
    current, truth = rounds(22, 80, 5, 0.3, 0.5)
    known = current.with_gold(truth.astype(float))
    joint = hb.fit(history, known, "prompt_labels", random_seed=1, progressbar=False)
    counts = pd.DataFrame(
        {"prompt": np.arange(80), "n_correct": truth.reshape(80, 5).sum(axis=1), "k": 5}
    )
    plain = hb.difficulty.fit(counts, random_seed=1, progressbar=False)["posterior"]
    draws = joint["posterior"]
    for name, other in (("prevalence", "mu_law"), ("icc", "icc"), ("sigma", "sigma")):
        one, two = (d.to_numpy().ravel() for d in (draws[name], plain[other]))
        # Some 4,000 independent draws each: a mean is known to 0.016 sd, an sd to 1.1 %.
        assert abs(one.mean() - two.mean()) < 5 * np.sqrt(2) * 0.016 * two.std()
        assert abs(one.std() / two.std() - 1) < 0.1
    shares = variance_shares(joint, known).set_index("source")["share"]
    assert shares["labelers"] < 1e-9
    assert draws["item_rate"].to_numpy().ravel() == pytest.approx(truth.mean())
