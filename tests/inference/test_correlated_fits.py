"""Fits of labelers who err on the same items: every mode, cut and joint, recovery, calibration."""

import arviz as az
import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from wiring import prior_draws

import hero_bayes as hb
from hero_bayes.calibration import Design, uniformity
from hero_bayes.calibration.design import tables
from hero_bayes.calibration.drawing import simulate_rounds
from hero_bayes.calibration.ranks import prior_simulations
from hero_bayes.inference.criticism import replicate
from hero_bayes.inference.fit import refit
from hero_bayes.inference.program import make_program
from hero_bayes.models import correlated

FAMILIES = ("x", "x", "x", "y", "y", "y", None, None)


def one_round(rng, n_items, rate, loading, gold, n_labelers=8, families=None, family_loading=0.0):
    """Everyone labels everything; e = 1 given truth 1, -1 given truth 0."""
    truth = (rng.random(n_items) < rate).astype(int)
    e = np.where(truth == 1, 1.2, -1.2)[:, None] * np.ones(n_labelers)
    logit = e + loading * rng.standard_normal(n_items)[:, None]
    if families is not None:
        shared = {name: rng.standard_normal(n_items) for name in sorted(set(families) - {None})}
        for j, name in enumerate(families):
            logit[:, j] += family_loading * shared.get(name, np.zeros(n_items))
    label = (rng.random(logit.shape) < expit(logit)).astype(int)
    item, labeler = np.indices(label.shape)
    table = {"item": item.ravel(), "labeler": labeler.ravel(), "label": label.ravel()}
    known = np.where(rng.random(n_items) < gold, truth, np.nan)
    facts = pd.DataFrame({"item": range(n_items), "gold": known})
    about = None
    if families is not None:
        about = pd.DataFrame({"labeler": range(n_labelers), "family": families})
    return hb.Labels.from_frames(pd.DataFrame(table), facts, about), truth


def problem(seed, *, n_history=200, n_current=120, gold=0.3, **options):
    rng = np.random.default_rng(seed)
    history, _ = one_round(rng, n_history, 0.4, gold=gold, **options)
    current, truth = one_round(rng, n_current, 0.25, gold=0.0, **options)
    return history, current, truth.mean()


@pytest.fixture(scope="module")
def small():
    return problem(1, n_history=40, n_current=25, loading=1.5, n_labelers=4)


@pytest.fixture(scope="module")
def with_families():
    return problem(
        2, n_history=40, n_current=25, loading=0.5, families=FAMILIES, family_loading=1.5
    )


@pytest.mark.parametrize("posterior", ["cut", "joint"])
@pytest.mark.parametrize("name", ["small", "with_families"])
def test_wired(name, posterior, request, monkeypatch):
    monkeypatch.setattr("hero_bayes.inference.fit.sample", prior_draws)
    history, current, _ = request.getfixturevalue(name)
    options = {"draws": 5, "tune": 5, "chains": 2, "random_seed": 1, "progressbar": False}
    tree = hb.fit(history, current, "correlated", posterior=posterior, **options)
    draws = tree["posterior"].to_dataset()
    assert draws["item_rate"].dims == draws["prevalence"].dims == ("chain", "draw", "group")
    assert draws["loading"].dims == ("chain", "draw", "truth")
    assert draws["label_logit"].dims == ("chain", "draw", "truth", "labeler")
    assert ("family_loading" in draws) == (name == "with_families")
    n_items = history.n_items + (current.n_items if posterior == "joint" else 0)
    assert tree["log_likelihood"].sizes["labeled_item"] == n_items
    assert set(tree["log_prior"].data_vars) >= {"loading", "label_logit_offset"}
    n_labels = history.n_labels + (current.n_labels if posterior == "joint" else 0)
    assert tree["posterior_predictive"].sizes["verdict"] == n_labels
    assert hb.posterior_truth(tree).sizes["item"] == current.n_items
    evidence = tree["evidence"]["log_likelihood_ratio"]
    assert np.isfinite(evidence).all()


@pytest.mark.parametrize("posterior", ["cut", pytest.param("joint", marks=pytest.mark.slow)])
def test_mode(small, posterior):
    history, current, rate = small
    tree = hb.fit(history, current, "correlated", mode="map", posterior=posterior, random_seed=1)
    draws = tree["posterior"].to_dataset()
    assert tree.attrs["largest_gradient"] < 1e-3
    assert abs(draws["item_rate"].item() - rate) < 0.25
    assert (draws["sensitivity"] + draws["specificity"] > 1).all()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["small", "with_families"])
@pytest.mark.parametrize("posterior", ["cut", "joint"])
def test_laplace(name, posterior, request):
    history, current, rate = request.getfixturevalue(name)
    options = {"mode": "laplace", "draws": 300, "chains": 2, "random_seed": 1}
    tree = hb.fit(history, current, "correlated", posterior=posterior, **options)
    low, high = np.quantile(tree["posterior"]["item_rate"], [0.001, 0.999])
    assert low <= rate <= high
    assert tree.attrs["hessian_positive_definite"] == 1


def sums(labels, label):
    return np.bincount(np.repeat(np.arange(labels.n_items), labels.labels_per_item), label)


@pytest.mark.parametrize("family_loading", [0.0, 2.0])
def test_replicas_share_an_effect_of_the_item(family_loading):
    rng = np.random.default_rng(3)
    labels, truth = one_round(rng, 6000, 0.0, 0.0, gold=1.0, families=FAMILIES)
    draw = {
        "history_prevalence": np.array([0.3]),
        "sensitivity": np.full(8, 0.8),
        "specificity": np.full(8, 0.7),
        "label_logit": np.repeat([[-0.5], [1.0]], 8, axis=1),
        "loading": np.array([1.5, 0.2]),
        "family_loading": np.array([family_loading, 0.0]),
        "labeler_family": np.array([0, 0, 0, 1, 1, 1, -1, -1]),
    }
    table = replicate(labels, "history", draw, rng).reshape(6000, 8)
    nodes = np.linspace(-8, 8, 801)
    weight = np.exp(-(nodes**2) / 2)
    weight /= weight.sum()

    def both(inner):
        """Mean of P(label 1) and of the product of two labels of one item."""
        chance = expit(-0.5 + 1.5 * nodes[:, None] + family_loading * nodes)
        alone = chance @ weight
        pair = (chance**2 @ weight) if inner else alone**2
        return weight @ alone, weight @ pair

    for (a, b), inner in (((0, 1), True), ((0, 4), False)):
        mean, pair = both(inner)
        # Five standard errors of a share of 6,000 items.
        assert table[:, a].mean() == pytest.approx(mean, abs=5 * 0.5 / 6000**0.5)
        assert (table[:, a] * table[:, b]).mean() == pytest.approx(pair, abs=5 * 0.5 / 6000**0.5)
    assert truth.sum() == 0


def test_simulated_tables_follow_the_layer():
    """Labels for calibration: variance of the number of positives as the effect makes it."""
    base = tables(Design(n_history=8000, n_current=50, n_labelers=4, labels_per_item=4))
    values = {
        "history_prevalence": np.array([1e-9]),
        "prevalence": np.array([0.5]),
        "sensitivity": np.full(4, 0.5),
        "specificity": np.full(4, 0.5),
        "label_logit": np.zeros((2, 4)),
        "loading": np.array([2.0, 0.0]),
    }
    history, _, _ = simulate_rounds(values, list("0123"), base, np.random.default_rng(4))
    nodes = np.random.default_rng(5).standard_normal(200_000)
    chance = expit(2.0 * nodes)
    expected = 4 * (chance * (1 - chance)).mean() + 16 * chance.var()
    found = sums(history, history.label).var()
    # The fourth moment of counts in 0..4 is at most 16: standard error below 4 / sqrt(8,000).
    assert found == pytest.approx(expected, abs=4 * 4 / 8000**0.5)
    assert found > 1.5  # independent labels of chance one half have variance 1


def test_prior_simulations_carry_effects_and_families(with_families):
    history, current, _ = with_families
    model = correlated(history, current)
    simulations, _ = prior_simulations(model, (history, current), 3, 1)
    for simulation in simulations:
        assert {"label_logit", "loading", "family_loading"} <= set(simulation.truth)
        assert simulation.truth["labeler_family"].tolist() == [0, 0, 0, 1, 1, 1, -1, -1]


#: True loadings, sizes and chains: families cost a double integral, and get a smaller problem.
RECOVERY = {
    "one effect": (
        {"n_history": 400, "n_current": 300, "loading": 1.5},
        {},
        {"draws": 400, "tune": 500, "chains": 4},
    ),
    "families": (
        {
            "n_history": 250,
            "n_current": 150,
            "gold": 0.5,
            "loading": 0.8,
            "n_labelers": 5,
            "families": ("x", "x", "y", "y", None),
            "family_loading": 1.5,
        },
        {"loading_bound": 3.0},
        {"draws": 300, "tune": 300, "chains": 2},
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", RECOVERY)
def test_recovers_truth(name):
    setting, priors, length = RECOVERY[name]
    history, current, rate = problem(12, **setting)
    options = {"posterior": "joint", "random_seed": 1, "progressbar": False, **length}
    tree = hb.fit(history, current, "correlated", priors=priors, **options)
    true = {"item_rate": rate, "loading": setting["loading"]}
    if name == "families":
        true["family_loading"] = setting["family_loading"]
    draws = tree["posterior"].to_dataset()
    # Two chains of some 60 independent draws each have R-hat beyond 1.1 in 2e-4 of runs.
    assert float(az.rhat(draws[list(true)]).to_array().max()) < 1.1
    assert (tree["sample_stats"]["diverging"].mean() < 0.01).item()
    for variable, value in true.items():
        # Some 200 independent draws know no 99.9 % interval; a normal law has 6e-5 beyond 4 sd.
        mean, sd = draws[variable].mean(("chain", "draw")), draws[variable].std(("chain", "draw"))
        assert (abs(mean - value) < 4 * sd).all()


@pytest.mark.slow
@pytest.mark.parametrize("posterior", ["cut", "joint"])
def test_refit_to_tables_with_other_sets_of_labelers_equals_a_fresh_fit(small, posterior):
    history, current, _ = small
    thin = history.take_items(np.arange(30)), current.take_items(np.arange(5, 25))
    program = make_program(correlated, history, current, posterior=posterior)
    options = {"mode": "map", "random_seed": 1}
    refit(program, history, current, **options)
    again = refit(program, *thin, **options)["posterior"]
    fresh = hb.fit(*thin, "correlated", posterior=posterior, **options)["posterior"]
    for name in ("sensitivity", "specificity", "prevalence", "loading"):
        # Two searches from one start on the same density.
        np.testing.assert_allclose(again[name], fresh[name], atol=1e-6)


@pytest.mark.slow
def test_independence_is_too_sure_where_labelers_err_together():
    inside = {"hero": 0, "correlated": 0}
    for seed in range(8):
        history, current, rate = problem(seed, loading=2.0)
        for model in inside:
            tree = hb.fit(history, current, model, mode="laplace", draws=500, random_seed=1)
            low, high = np.quantile(tree["posterior"]["item_rate"], [0.05, 0.95])
            inside[model] += low <= rate <= high
    # At a coverage of 0.9, five or fewer of eight have probability 0.04.
    assert inside["hero"] <= 4
    assert inside["correlated"] >= 6


@pytest.mark.slow
def test_is_calibrated():
    result = hb.calibration.sbc("correlated", 40, random_seed=43, progressbar=False)
    assert uniformity(result)["p_adjusted"].min() > 1e-3
