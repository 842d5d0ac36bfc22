"""fit(mode="laplace"): conjugate cases, honest flags, seeds, agreement with NUTS."""

import numpy as np
import pytest
from scipy.stats import beta, kstest
from toy import from_rows, simulate

import hero_bayes as hb
from hero_bayes.inference.laplace import K_HAT_LIMIT, laplace

DRAWS = {"draws": 2000, "chains": 2, "random_seed": 3}


def all_gold(hits, misses, rejects, false_alarms):
    """History in which labeler a is judged by gold alone."""
    rows = (
        [{"a": 1}] * hits + [{"a": 0}] * misses + [{"a": 0}] * rejects + [{"a": 1}] * false_alarms
    )
    gold = [1] * (hits + misses) + [0] * (rejects + false_alarms)
    return from_rows(rows, gold=gold)


@pytest.fixture(scope="module")
def conjugate():
    """Everything observed: each rate has a Beta posterior of its own."""
    current = from_rows([{"a": 1}] * 12 + [{"a": 0}] * 18, gold=[1] * 9 + [0] * 21)
    # Labels on the current gold: sensitivity 9 of 9, specificity 18 of 21.
    history = all_gold(15, 5, 32, 8)
    return hb.fit(history, current, model="hero", mode="laplace", **DRAWS)


def test_conjugate_case_matches_beta_posteriors(conjugate):
    draws = conjugate["posterior"]
    worth = conjugate.attrs["importance_draws"]
    laws = {
        "sensitivity": beta(1 + 24, 1 + 5),
        "specificity": beta(1 + 50, 1 + 11),
        "history_prevalence": beta(1 + 20, 1 + 40),
        "prevalence": beta(1 + 9, 1 + 21),
    }
    for name, law in laws.items():
        value = draws[name].to_numpy().ravel()
        # Resampled: worth at most what the weights are worth.
        assert abs(value.mean() - law.mean()) < 5 * law.std() / np.sqrt(worth), name
        assert abs(value.std() / law.std() - 1) < 5 / np.sqrt(2 * worth), name
    assert (draws["item_rate"] == 0.3).all()


def test_flags_of_a_good_approximation(conjugate):
    attrs = conjugate.attrs
    assert attrs["pareto_k_hat"] < K_HAT_LIMIT
    assert attrs["importance_corrected"] == 1
    assert attrs["hessian_positive_definite"] == 1
    assert 1000 < attrs["importance_draws"] <= 4000
    assert attrs["largest_gradient"] < 1e-3
    assert "pareto_k_hat" not in conjugate["posterior"]


@pytest.mark.slow
def test_same_seed_same_draws(conjugate):
    history = all_gold(15, 5, 32, 8)
    current = from_rows([{"a": 1}] * 12 + [{"a": 0}] * 18, gold=[1] * 9 + [0] * 21)
    again = hb.fit(history, current, model="hero", mode="laplace", **DRAWS)
    assert again.identical(conjugate)
    few = {"draws": 50, "chains": 2, "random_seed": 4}
    other = hb.fit(history, current, model="hero", mode="laplace", **few)["posterior"].to_dataset()
    first = conjugate["posterior"].to_dataset().isel(draw=slice(50))
    assert (other["sensitivity"].to_numpy() != first["sensitivity"].to_numpy()).any()


def test_one_perfect_labeler():
    """Rates known by their prior to 1e-5: the current prevalence has a Beta posterior."""
    known = {"sensitivity_prior": (1e5, 1.0), "specificity_prior": (1e5, 1.0)}
    current = from_rows([{"a": 1}] * 7 + [{"a": 0}] * 13)
    tree = hb.fit(
        all_gold(3, 0, 3, 0), current, model="hero", mode="laplace", priors=known, **DRAWS
    )
    law = beta(1 + 7, 1 + 13)
    drawn = tree["posterior"]["prevalence"].to_numpy().ravel()
    assert kstest(drawn, law.cdf).pvalue > 1e-4
    assert abs(drawn.mean() - law.mean()) < 4 * law.std() / np.sqrt(4000)
    assert abs(drawn.std() / law.std() - 1) < 4 / np.sqrt(8000)
    assert (tree["posterior"]["item_rate"].to_numpy() > 0.3).all()


class Target:
    """A log-density with its gradient, as ``Density`` gives them."""

    def __init__(self, value, gradient):
        self._value, self._gradient = value, gradient

    def values(self, flat):
        return np.array([self._value(row) for row in flat])

    def with_gradient(self, flat):
        return float(self._value(flat)), self._gradient(flat)


def run(target, size, n_draws=1000):
    return laplace(target, np.full(size, 0.3), n_draws, np.random.default_rng(1))


def test_gaussian_target_is_drawn_exactly():
    precision = np.array([[4.0, 1.0], [1.0, 0.5]])
    target = Target(lambda x: -0.5 * x @ precision @ x, lambda x: -precision @ x)
    found = run(target, 2, 4000)
    assert found.positive_definite
    assert found.corrected
    assert found.k_hat < K_HAT_LIMIT
    assert found.effective_draws == pytest.approx(4000, rel=0.05)
    np.testing.assert_allclose(np.cov(found.flat.T), np.linalg.inv(precision), rtol=0.15)


def test_too_few_draws_to_judge_are_uncorrected():
    """As on the far side of k-hat: the tail of the weights cannot be fitted."""
    target = Target(lambda x: -(x**4).sum(), lambda x: -4 * x**3)
    found = run(target, 2, n_draws=12)
    assert found.k_hat == np.inf
    assert not found.corrected
    assert found.flat.shape == (12, 2)


def test_flat_direction_is_flagged():
    target = Target(lambda x: -0.5 * x[0] ** 2, lambda x: np.array([-x[0], 0.0]))
    assert not run(target, 2).positive_definite


def test_saddle_is_flagged():
    """The second coordinate has a minimum at zero, where the search starts and stays."""

    def value(x):
        return -0.5 * x[0] ** 2 + 0.5 * x[1] ** 2 - 0.25 * x[1] ** 4

    target = Target(value, lambda x: np.array([-x[0], x[1] - x[1] ** 3]))
    found = laplace(target, np.array([0.5, 0.0]), 500, np.random.default_rng(1))
    assert not found.positive_definite


def test_heavy_tails_are_flagged_and_left_uncorrected():
    target = Target(lambda x: -np.log1p(x**2).sum(), lambda x: -2 * x / (1 + x**2))
    found = run(target, 10)
    assert found.k_hat > K_HAT_LIMIT
    assert not found.corrected
    assert len(np.unique(found.flat[:, 0])) == 1000


@pytest.mark.slow
@pytest.mark.parametrize("model", ["hero", "pooled"])
def test_agrees_with_nuts_on_paper_size(cases, model):
    case = cases["paper_size"]
    rounds = case.history, case.current
    quick = hb.fit(*rounds, model, mode="laplace", draws=1000, random_seed=1)
    long = hb.fit(*rounds, model, draws=1000, random_seed=1, progressbar=False)
    one, two = (tree["posterior"]["prevalence"].to_numpy().ravel() for tree in (quick, long))
    # Both worth at least 400 draws.
    assert abs(one.mean() - two.mean()) < 5 * two.std() * np.sqrt(2 / 400)
    assert abs(one.std() / two.std() - 1) < 5 / np.sqrt(400)
    # The population's spreads make pooled far from Gaussian: flagged, drawn uncorrected.
    assert (quick.attrs["pareto_k_hat"] < K_HAT_LIMIT) == (model == "hero")
    assert quick.attrs["importance_corrected"] == int(model == "hero")


@pytest.mark.slow
def test_every_model_in_cut_and_joint():
    rounds = simulate(122, n_history=120, n_current=60, current_gold=0.1).rounds
    for model in ("hero", "pooled", "drift", "regression"):
        for posterior in ("cut", "joint"):
            tree = hb.fit(*rounds, model, mode="laplace", posterior=posterior, **DRAWS)
            assert all(np.isfinite(v).all() for v in tree["posterior"].data_vars.values())
            assert tree.attrs["hessian_positive_definite"] == 1
            assert 0.1 < tree["posterior"]["prevalence"].mean() < 0.6
