"""A labeler layer of the user's own, through every mode of hb.fit."""

import numpy as np
import pymc as pm
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp
from toy import simulate
from wiring import prior_draws

import hero_bayes as hb
from hero_bayes.data.panel import align
from hero_bayes.models import hero
from hero_bayes.models.composition import coordinates, two_rounds
from hero_bayes.models.independent import LabelerRates
from hero_bayes.models.prevalence import group_index, log_class_prior, prevalence
from hero_bayes.models.rigid import rigid
from hero_bayes.models.truth import independent_items


def one_coin(history, current, *, accuracy_prior=(2.0, 1.0)):
    """Every labeler is right with a probability of its own, whatever the truth."""
    panel = align(history, current)
    with pm.Model(coords=coordinates(panel)) as model:
        accuracy = pm.Beta("accuracy", *accuracy_prior, dims="labeler")
        rates = LabelerRates(
            pm.Deterministic("sensitivity", accuracy, dims="labeler"),
            pm.Deterministic("specificity", accuracy, dims="labeler"),
        )
        two_rounds(panel, prevalence(panel), rates, rigid(rates))
    return model


@pytest.fixture(scope="module")
def problem():
    """All of history is gold, so that each accuracy is a plain count."""
    return simulate(151, n_history=80, n_current=40, n_labelers=4, gold_share=1.0)


def accuracies(history, prior):
    """Posterior mode of each labeler's accuracy under a Beta prior."""
    right = history.label == np.repeat(history.gold, history.labels_per_item)
    hits = np.bincount(history.labeler_idx, weights=right)
    return (hits + prior[0] - 1) / (history.labels_per_labeler + sum(prior) - 2)


def mode_of_prevalence(current, accuracy):
    """Maximum of the likelihood of the current labels at known accuracies."""
    a = accuracy[current.labeler_idx]
    item = np.repeat(np.arange(current.n_items), current.labels_per_item)
    logs = [
        np.bincount(item, weights=np.log(np.where(current.label == truth, a, 1 - a)))
        for truth in (0, 1)
    ]

    def cost(m):
        return -logsumexp([logs[0] + np.log1p(-m), logs[1] + np.log(m)], axis=0).sum()

    return minimize_scalar(cost, bounds=(1e-6, 1 - 1e-6), options={"xatol": 1e-10}).x


@pytest.mark.parametrize("prior", [(2.0, 1.0), pytest.param((6.0, 3.0), marks=pytest.mark.slow)])
def test_mode_of_the_cut_is_known(problem, prior):
    history, current = problem.rounds
    priors = {"accuracy_prior": prior}
    tree = hb.fit(history, current, one_coin, mode="map", priors=priors, random_seed=1)
    expected = accuracies(history, prior)
    for name in ("accuracy", "sensitivity", "specificity"):
        np.testing.assert_allclose(tree["posterior"][name][0, 0], expected, atol=1e-6)
    assert tree["posterior"]["prevalence"].item() == pytest.approx(
        mode_of_prevalence(current, expected), abs=1e-6
    )
    assert tree.attrs["model"] == "one_coin"


@pytest.mark.slow
def test_joint_mode_differs_from_the_cut(problem):
    joint = hb.fit(*problem.rounds, one_coin, mode="map", posterior="joint", random_seed=1)
    cut = accuracies(problem.rounds[0], (2.0, 1.0))
    assert np.abs(joint["posterior"]["accuracy"][0, 0].to_numpy() - cut).max() > 1e-4


@pytest.mark.parametrize("posterior", ["cut", pytest.param("joint", marks=pytest.mark.slow)])
def test_laplace(problem, posterior):
    options = {"mode": "laplace", "draws": 500, "chains": 2, "random_seed": 1}
    tree = hb.fit(*problem.rounds, one_coin, posterior=posterior, **options)
    assert tree.attrs["importance_corrected"] == 1
    mean = tree["posterior"]["accuracy"].mean(("chain", "draw")).to_numpy()
    # Posterior mean against mode: of the order 1 / n.
    np.testing.assert_allclose(mean, accuracies(problem.rounds[0], (2.0, 1.0)), atol=0.08)
    assert {"log_likelihood", "log_prior", "posterior_predictive"} <= set(tree.children)
    assert set(tree["log_prior"].data_vars) >= {"accuracy", "history_prevalence"}


@pytest.mark.parametrize("posterior", ["cut", "joint"])
def test_wired_nuts(problem, posterior, monkeypatch):
    monkeypatch.setattr("hero_bayes.inference.fit.sample", prior_draws)
    options = {"draws": 30, "tune": 5, "chains": 2, "random_seed": 1, "progressbar": False}
    tree = hb.fit(*problem.rounds, one_coin, posterior=posterior, **options)
    draws = tree["posterior"].to_dataset()
    assert (draws["sensitivity"] == draws["accuracy"]).all()
    assert (draws["specificity"] == draws["accuracy"]).all()
    assert draws["prevalence"].dims == ("chain", "draw", "group")
    assert hb.posterior_truth(tree).sizes["item"] == 40
    items = tree["log_likelihood"].sizes["labeled_item"]
    assert items == (80 if posterior == "cut" else 120)


def hierarchical(history, current):
    """Current rates that come from a population: no Beta prior of their own."""
    panel = align(history, current)
    with pm.Model(coords=coordinates(panel)) as model:
        accuracy = pm.Beta("accuracy", 2.0, 1.0, dims="labeler")
        past = pm.Beta("history_prevalence", 1.0, 1.0, dims="history_group")
        logit = pm.Normal("mean") + pm.Normal("offset", dims="group")
        rate = pm.Deterministic("prevalence", pm.math.sigmoid(logit), dims="group")
        truth = independent_items(
            log_class_prior(past)[group_index(panel, "history")],
            log_class_prior(rate)[group_index(panel, "current")],
        )
        rates = LabelerRates(accuracy, accuracy)
        two_rounds(panel, truth, rates, rigid(rates))
    return model


@pytest.mark.parametrize("mode", ["map", "laplace"])
def test_cut_of_a_rate_without_a_prior_of_its_own(problem, mode):
    with pytest.raises(hb.Refusal, match='posterior="joint"'):
        hb.fit(*problem.rounds, hierarchical, mode=mode, random_seed=1, draws=20, chains=1)


def with_odds(history, current):
    """``hero`` with a quantity derived from the current rate."""
    model = hero(history, current)
    rate = model["prevalence"]
    with model:
        pm.Deterministic("odds", rate / (1 - rate), dims="group")
    return model


def test_derived_quantities_follow_the_second_stage(problem, monkeypatch):
    monkeypatch.setattr("hero_bayes.inference.fit.sample", prior_draws)
    options = {"draws": 10, "tune": 5, "chains": 1, "random_seed": 1, "progressbar": False}
    draws = hb.fit(*problem.rounds, with_odds, **options)["posterior"].to_dataset()
    if "odds" in draws:
        rate = draws["prevalence"]
        np.testing.assert_allclose(draws["odds"], rate / (1 - rate))
