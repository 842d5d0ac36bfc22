"""hb.fit with gold that may be wrong: exact posteriors on grids, and what comes after a fit."""

import json

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import expit, logit
from scipy.stats import beta
from toy import from_rows, make_labels, simulate

import hero_bayes as hb
from hero_bayes.calibration.drawing import simulate_rounds
from hero_bayes.inference.criticism import given_gold
from hero_bayes.inference.fit import refit
from hero_bayes.inference.program import make_program
from hero_bayes.models import hero

NAN = np.nan
RATES = ("sensitivity", "specificity")
#: Priors of sensitivity and specificity, of the prevalences, and of the error rate of gold.
RATE_PRIOR, SHARE_PRIOR, PRIOR = (8.0, 4.0), (4.0, 4.0), (5.0, 20.0)


def one_labeler(*cells):
    """A round of labels by "a": (label, gold, how many items)."""
    rows = [(label, gold) for label, gold, number in cells for _ in range(number)]
    return from_rows([{"a": label} for label, _ in rows], gold=[gold for _, gold in rows])


@pytest.fixture(scope="module")
def tiny():
    history = one_labeler((1, 1, 4), (1, 0, 2), (0, 0, 5), (0, 1, 1), (1, NAN, 4), (0, NAN, 3))
    current = one_labeler((1, 1, 2), (1, 0, 1), (0, 0, 2), (1, NAN, 3), (0, NAN, 2))
    return history, current


def nodes(low, high, log_density, size=40):
    """Gauss-Legendre nodes and the prior's weights: exact for polynomials below degree 80."""
    x, w = np.polynomial.legendre.leggauss(size)
    at = low + (high - low) * (x + 1) / 2
    weight = w * np.exp(log_density(at))
    return at, weight / weight.sum()


def chances(labels, a, b, e):
    """P(label and gold | truth 0), the same for truth 1, each (..., item), on a grid."""
    label, gold = labels.label, labels.gold  # one label an item
    given = []
    for truth in (0, 1):
        right = np.where(label == 1, a[..., None], 1 - a[..., None])
        if truth == 0:
            right = np.where(label == 0, b[..., None], 1 - b[..., None])
        said = np.where(gold == truth, 1 - e[..., None], e[..., None])
        given.append(right * np.where(np.isnan(gold), 1.0, said))
    return given


def exact(history, current, gold_error, cut):
    """Posterior means of the current truths (item,), by quadrature over every parameter."""
    prior = beta(*RATE_PRIOR).logpdf
    rate, rate_weight = nodes(0, 1, prior)
    error, error_weight = np.array([gold_error]), np.ones(1)
    if isinstance(gold_error, tuple):
        error, error_weight = nodes(0, 0.5, beta(*gold_error).logpdf)
    m, m_weight = nodes(0, 1, beta(*SHARE_PRIOR).logpdf)
    a, b, e = np.meshgrid(rate, rate, error, indexing="ij")
    weight = rate_weight[:, None, None] * rate_weight[None, :, None] * error_weight

    def by_rate(labels):
        """Likelihood of a round at each rate m, and P(y = 1) of its items, (m, grid[, item])."""
        zero, one = chances(labels, a, b, e)
        for value in m:
            each = value * one + (1 - value) * zero
            yield each.prod(axis=-1), value * one / each

    for labels in (history, current.take_items(current.has_gold)) if cut else (history,):
        likelihood = [value for value, _ in by_rate(labels)]
        weight = weight * np.tensordot(m_weight, likelihood, axes=1)
    total, mean = 0.0, 0.0
    for w, (likelihood, truth) in zip(m_weight, by_rate(current), strict=True):
        total = total + w * likelihood
        mean = mean + w * likelihood[..., None] * truth
    if not cut:
        weight = weight * total
    # Given the labelers, the law of m is normalised at each value of theirs.
    mean = mean / total[..., None]
    return (weight[..., None] * mean).sum(axis=(0, 1, 2)) / weight.sum()


CASES = [
    ("cut", PRIOR),
    pytest.param("cut", 0.2, marks=pytest.mark.slow),
    pytest.param("joint", PRIOR, marks=pytest.mark.slow),
    pytest.param("joint", 0.2, marks=pytest.mark.slow),
]


@pytest.mark.parametrize(("posterior", "gold_error"), CASES)
def test_truth_and_item_rate_match_the_exact_posterior(tiny, posterior, gold_error):
    priors = {f"{rate}_prior": RATE_PRIOR for rate in RATES}
    priors |= {"prevalence_prior": SHARE_PRIOR, "gold_error": gold_error}
    options = {"mode": "laplace", "draws": 1000, "chains": 4, "random_seed": 2}
    tree = hb.fit(*tiny, model="hero", posterior=posterior, priors=priors, **options)
    assert tree.attrs["importance_corrected"] == 1
    expected = exact(*tiny, gold_error, posterior == "cut")
    truth = hb.posterior_truth(tree)
    flat = truth.to_numpy().reshape(-1, truth.sizes["item"])
    worth = min(len(flat), tree.attrs["importance_draws"])
    error = flat.std(axis=0) / np.sqrt(worth)
    assert (np.abs(flat.mean(axis=0) - expected) < 4 * error).all()
    rate = tree["posterior"]["item_rate"].to_numpy().ravel()
    error = rate.std() / np.sqrt(tree.attrs["importance_draws"])
    assert abs(rate.mean() - expected.mean()) < 4 * error
    # Were gold clamped, its items would be at 0 and 1.
    assert np.abs(expected - tiny[1].gold)[tiny[1].has_gold].min() > 10 * error


@pytest.fixture(scope="module")
def problem():
    return simulate(
        161, n_history=40, n_current=24, n_labelers=3, labels_per_item=2, current_gold=0.3
    )


@pytest.fixture(scope="module")
def at_mode(problem):
    options = {"mode": "map", "random_seed": 1, "priors": {"gold_error": PRIOR}}
    return hb.fit(*problem.rounds, model="hero", **options)


def evidence(labels, rates, error):
    """log p(labels, gold | truth 1) - log p(labels, gold | truth 0) of each item."""
    out = np.zeros(labels.n_items)
    item_idx = np.repeat(np.arange(labels.n_items), labels.labels_per_item)
    a, b = (rates[rate][labels.labeler_idx] for rate in RATES)
    by_label = np.where(labels.label == 1, np.log(a / (1 - b)), np.log((1 - a) / b))
    np.add.at(out, item_idx, by_label)
    return out + np.select([labels.gold == 1, labels.gold == 0], [1, -1], 0) * -logit(error)


def test_everything_after_a_fit_takes_gold_as_evidence(at_mode, problem):
    current = problem.rounds[1]
    assert current.n_gold > 4
    draws = at_mode["posterior"].to_dataset().isel(chain=0, draw=0)
    error = draws["gold_error"].item()
    ratio = evidence(current, {rate: draws[rate].to_numpy() for rate in RATES}, error)
    held = at_mode["evidence"].to_dataset().isel(chain=0, draw=0)
    np.testing.assert_allclose(held["log_likelihood_ratio"], ratio, rtol=1e-9, atol=1e-12)
    assert np.isnan(held["gold"]).all()
    np.testing.assert_array_equal(held["fallible_gold"], current.gold)
    rate = draws["prevalence"].item()
    truth = hb.posterior_truth(at_mode)[0, 0]
    np.testing.assert_allclose(truth, expit(ratio + logit(rate)), rtol=1e-9)
    assert draws["item_rate"].item() == pytest.approx(truth.mean().item(), abs=1e-12)

    def slope(m):
        r = np.exp(ratio)
        return np.mean((r - 1) / (m * r + 1 - m))

    # Flat prior: the mode of the rate is the root of the score equation, gold no more than evidence
    root = brentq(slope, 1e-6, 1 - 1e-6, xtol=1e-12)
    assert rate == pytest.approx(root, abs=1e-6)
    adjusted = hb.adjust(at_mode, *problem.rounds, ["x"])["posterior"]
    assert adjusted["prevalence_unadjusted"].item() == pytest.approx(root, abs=1e-9)
    assert json.loads(at_mode.attrs["priors"]) == {"gold_error": list(PRIOR)}


def test_error_of_zero_is_exact_gold(problem):
    fits = [
        hb.fit(*problem.rounds, model="hero", mode="map", priors=priors, random_seed=1)
        for priors in ({}, {"gold_error": 0.0})
    ]
    for group in ("posterior", "evidence"):
        assert fits[0][group].to_dataset().identical(fits[1][group].to_dataset())
    assert "fallible_gold" not in fits[0]["evidence"]
    np.testing.assert_array_equal(fits[0]["evidence"]["gold"], problem.rounds[1].gold)


@pytest.mark.slow
def test_tables_are_replaced_in_a_compiled_program(problem, at_mode):
    other = simulate(
        162, n_history=30, n_current=20, n_labelers=3, labels_per_item=2, current_gold=0.4
    )
    program = make_program(hero, *other.rounds, priors={"gold_error": PRIOR})
    refit(program, *other.rounds, mode="map", random_seed=1)
    again = refit(program, *problem.rounds, mode="map", random_seed=1)
    for name, value in at_mode["posterior"].data_vars.items():
        np.testing.assert_allclose(again["posterior"][name], value, atol=1e-7, err_msg=name)
    np.testing.assert_array_equal(again["evidence"]["fallible_gold"], problem.rounds[1].gold)


def test_truth_given_fallible_gold():
    """Bayes' rule for replicated labels; without gold the prior alone."""
    found = given_gold(np.full(3, 0.2), np.array([1.0, 0.0, NAN]), np.array(0.1))
    one, zero = 0.2 * 0.9 / (0.2 * 0.9 + 0.8 * 0.1), 0.2 * 0.1 / (0.2 * 0.1 + 0.8 * 0.9)
    np.testing.assert_allclose(found, [one, zero, 0.2], rtol=1e-12)


def test_simulated_gold_is_wrong_as_often_as_the_model_says():
    n = 4000
    labels = from_rows([{"a": 1}] * n, gold=[1, 0] * (n // 2))
    values = {
        "sensitivity": np.ones(1),
        "specificity": np.ones(1),  # labels are the truth
        "history_prevalence": np.array([0.3]),
        "prevalence": np.array([0.3]),
        "gold_error": np.array(0.2),
    }
    past, _, _ = simulate_rounds(values, ["a"], (labels, labels), np.random.default_rng(8))
    for truth in (0, 1):
        wrong = past.gold[past.label == truth] != truth
        assert abs(wrong.mean() - 0.2) < 4 * np.sqrt(0.2 * 0.8 / wrong.size)


def with_wrong_gold(seed, n=500, n_labelers=4, share=0.1):
    """Labelers right with 0.9 on either truth; a tenth of the gold is wrong, half has no gold."""
    rng = np.random.default_rng(seed)
    rounds = []
    for size, gold_share in ((n, 0.6), (150, 0.0)):
        truth = (rng.random(size) < 0.5).astype(int)
        item = np.repeat(np.arange(size), n_labelers)
        right = rng.random(item.size) < 0.9
        label = np.where(right, truth[item], 1 - truth[item])
        gold = np.where(rng.random(size) < share, 1 - truth, truth).astype(float)
        gold[rng.random(size) >= gold_share] = NAN
        labeler = np.tile(np.arange(n_labelers), size)
        rounds.append(make_labels(item, labeler, label, {"item": range(size), "gold": gold}))
    return rounds


@pytest.mark.slow
def test_wrong_gold_biases_the_labelers_unless_the_model_allows_for_it():
    options = {"model": "hero", "mode": "laplace", "draws": 1000, "chains": 2, "random_seed": 3}
    rounds = with_wrong_gold(21)
    pull = {}
    for name, priors in (("exact", {}), ("fallible", {"gold_error": (1, 9)})):
        tree = hb.fit(*rounds, priors=priors, **options)
        assert tree.attrs["hessian_positive_definite"] == 1
        draws = tree["posterior"].to_dataset()
        for rate in RATES:
            mean = draws[rate].mean("labeler").to_numpy()  # over four labelers alike
            pull[name, rate] = (mean.mean() - 0.9) / mean.std()
    # P(label = gold) = 0.9 * 0.9 + 0.1 * 0.1 = 0.82 on the items with gold.
    assert max(pull["exact", rate] for rate in RATES) < -3
    assert max(abs(pull["fallible", rate]) for rate in RATES) < 3
    low, high = np.quantile(draws["gold_error"], [0.005, 0.995])
    assert low < 0.1 < high
    assert high < 0.2
