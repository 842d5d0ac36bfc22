"""Ridge, its leave-one-out closed forms and HERO-2's shift against explicit refits."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge
from toy import simulate

from hero_bayes.estimators import kernels
from hero_bayes.estimators.anchored_em import anchor
from hero_bayes.estimators.control_variate import (
    RIDGE_GRID,
    choose_ridge,
    control_variate,
    leave_one_out_residual,
    ridge_gamma,
    standardise,
)
from hero_bayes.estimators.estimate import estimate
from hero_bayes.estimators.hero1 import hero1_solution

RIDGES = (0.0, 0.05, 3.0)


def problem(weighted, n=40, p=3, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, p)) * [1.0, 50.0, 0.01][:p] + [0.0, 7.0, -2.0][:p]
    score = x @ np.array([0.5, 0.01, 30.0])[:p] + rng.normal(size=n)
    weight = rng.dirichlet(np.ones(n)) if weighted else np.full(n, 1 / n)
    return x, score, weight


def refit(z, score, weight, ridge):
    """Intercept and slopes that minimise sum w (s - a - z g)^2 + ridge |g|^2."""
    rows = np.column_stack([np.ones(len(z)), z])
    penalty = np.diag([0.0, *[ridge] * z.shape[1]])
    return np.linalg.solve(rows.T @ (weight[:, None] * rows) + penalty, rows.T @ (weight * score))


def refits_without_each(z, score, weight, ridge):
    keep = ~np.eye(len(z), dtype=bool)
    return np.array([refit(z[k], score[k], weight[k], ridge) for k in keep])


@pytest.mark.parametrize("ridge", RIDGES)
@pytest.mark.parametrize("weighted", [False, True])
def test_gamma_is_weighted_ridge_regression(weighted, ridge):
    x, score, weight = problem(weighted)
    centre = weight @ x
    z = (x - centre) / np.sqrt(weight @ (x - centre) ** 2)
    gamma = ridge_gamma(standardise(x, weight), score, ridge)
    np.testing.assert_allclose(gamma, refit(z, score, weight, ridge)[1:], rtol=1e-9)
    fitted = Ridge(alpha=ridge).fit(z, score, sample_weight=weight)
    np.testing.assert_allclose(gamma, fitted.coef_, rtol=1e-7)


@pytest.mark.parametrize("ridge", [*RIDGES, np.inf])
@pytest.mark.parametrize("weighted", [False, True])
def test_leave_one_out_residuals_are_those_of_refits(weighted, ridge):
    x, score, weight = problem(weighted)
    cloud = standardise(x, weight)
    residual, _ = leave_one_out_residual(cloud, score, ridge)
    z = cloud.z if np.isfinite(ridge) else np.zeros((len(x), 0))
    beta = refits_without_each(z, score, weight, 0.0 if np.isinf(ridge) else ridge)
    expected = score - beta[:, 0] - np.sum(beta[:, 1:] * z, axis=1)
    np.testing.assert_allclose(residual, expected, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("weighted", [False, True])
def test_chosen_ridge_is_that_of_a_brute_force_loop(weighted):
    chosen = set()
    for seed in range(6):
        x, score, weight = problem(weighted, n=25, seed=seed)
        score = score + np.random.default_rng(seed).normal(size=25) * [0.1, 3.0, 30.0][seed % 3]
        z = standardise(x, weight).z
        errors = []
        for ridge in RIDGE_GRID[:-1]:
            beta = refits_without_each(z, score, weight, ridge)
            errors.append(weight @ (score - beta[:, 0] - np.sum(beta[:, 1:] * z, axis=1)) ** 2)
        means = (weight @ score - weight * score) / (1 - weight)
        errors.append(weight @ (score - means) ** 2)
        chosen.add(choose_ridge(standardise(x, weight), score))
        assert choose_ridge(standardise(x, weight), score) == RIDGE_GRID[np.argmin(errors)]
    assert len(chosen) > 1


@pytest.mark.parametrize("ridge", RIDGES)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("cross_fit", [False, True])
def test_shift_and_variance_against_refits(weighted, ridge, cross_fit):
    x, score, weight = problem(weighted)
    cloud = standardise(x, weight)
    target_mean, factor = np.array([0.2, 9.0, -2.001]), 0.7
    result = control_variate(
        cloud, score, target_mean, ridge=ridge, factor=factor, cross_fit=cross_fit
    )
    target = (target_mean - weight @ x) / cloud.scale
    full = refit(cloud.z, score, weight, ridge)
    beta = (
        refits_without_each(cloud.z, score, weight, ridge) if cross_fit else np.tile(full, (40, 1))
    )
    by_item = np.sum(beta[:, 1:] * (cloud.z - target), axis=1)
    np.testing.assert_allclose(result.shift, factor * weight @ by_item, rtol=1e-8, atol=1e-11)
    fitted = beta[:, 0] + np.sum(beta[:, 1:] * cloud.z, axis=1)
    rest = score - factor * fitted
    np.testing.assert_allclose(
        result.residual_variance, weight @ (rest - weight @ rest) ** 2, rtol=1e-8
    )
    np.testing.assert_allclose(result.gamma, full[1:] / cloud.scale, rtol=1e-8)


def test_constant_and_collinear_columns_change_nothing():
    x, score, weight = problem(False, p=1)
    target = np.array([0.4])
    options = {"ridge": 0.0, "factor": 1.0, "cross_fit": False}
    alone = control_variate(standardise(x, weight), score, target, **options)
    wide = np.column_stack([x, np.full(40, 3.0), 2 * x + 1])
    wider = control_variate(standardise(wide, weight), score, np.array([0.4, 3.0, 1.8]), **options)
    np.testing.assert_allclose(wider.shift, alone.shift, rtol=1e-9)
    np.testing.assert_allclose(wider.residual_variance, alone.residual_variance, rtol=1e-9)
    assert wider.gamma[1] == 0.0
    assert np.isfinite(wider.gamma).all()


@pytest.mark.parametrize("shrink", ["paper", "optimal"])
def test_hero2_equation_and_variance_by_hand(shrink):
    history, current = simulate(31, n_history=150, n_current=70, gold_share=0.5).rounds
    result = estimate(history, current, "hero2", ["x"], ridge=0, shrink=shrink)
    assert result.details["rates_at_edge"] == ()
    anchored = anchor(history, current)
    first, evidence, inner = hero1_solution(anchored, "current", np.arange(70))
    psi = kernels.psi_array(evidence.log_ratio, first.value)
    past, now = (labels.covariates["x"] for labels in (history, current))
    gamma = np.cov(now, psi, bias=True)[0, 1] / now.var()
    factor = 1.0 if shrink == "paper" else 150 / 220
    shift = factor * gamma * (now.mean() - past.mean())
    np.testing.assert_allclose(result.details["gamma"]["x"], gamma, rtol=1e-9)
    np.testing.assert_allclose(
        kernels.psi_array(evidence.log_ratio, result.value).mean(), shift, atol=1e-12
    )
    at_root = kernels.psi_array(evidence.log_ratio, result.value)
    slope = np.mean(at_root**2)
    gradient = inner.slope(result.value)
    expected = (
        np.var(psi - factor * gamma * now) / 70
        + factor**2 * gamma**2 * past.var() / 150
        + gradient @ anchored.covariance[0] @ gradient
    ) / slope**2
    np.testing.assert_allclose(result.standard_error**2, expected, rtol=1e-8)
    low, high = result.interval()
    assert low < result.value < high


@pytest.mark.parametrize("cross_fit", [False, True, None])
@pytest.mark.parametrize("ridge", [1e-3, "cv", np.inf])
def test_more_covariates_than_items(ridge, cross_fit):
    history, current = simulate(32, n_history=80, n_current=30, n_noise=50).rounds
    result = estimate(history, current, "hero2", ridge=ridge, cross_fit=cross_fit)
    low, high = result.interval()
    assert np.isfinite([result.value, result.standard_error, low, high]).all()
    assert 0 <= low <= result.value <= high <= 1
    if ridge == np.inf:
        base = estimate(history, current, "hero1")
        assert result.value == pytest.approx(base.value, abs=1e-12)
        assert (result.details["gamma"] == 0).all()


def rescaled(setting_seed, change):
    problem = simulate(setting_seed)
    for part in (problem.past, problem.now):
        part.items["x"] = change(part.items["x"])
    return problem.rounds


@pytest.mark.parametrize("change", [lambda x: 1e12 * x, lambda x: 1e-12 * x - 3e-12, lambda x: -x])
def test_units_of_a_covariate_do_not_matter(change):
    plain = estimate(*simulate(4).rounds, "hero2", ridge=0.1)
    moved = estimate(*rescaled(4, change), "hero2", ridge=0.1)
    np.testing.assert_allclose(moved.value, plain.value, rtol=1e-10)
    np.testing.assert_allclose(moved.standard_error, plain.standard_error, rtol=1e-10)


def test_covariate_that_knows_the_truth_on_an_all_gold_round():
    truth = np.array([0, 1] * 20)
    problem = simulate(6, n_history=40, n_current=40, n_labelers=3, labels_per_item=3)
    problem.past.items["x"] = 1.0
    problem.now.items["x"] = truth.astype(float)
    problem.now.items["gold"] = truth.astype(float)
    result = estimate(*problem.rounds, "hero2", ridge=0)
    assert np.isfinite([result.value, result.standard_error, *result.interval()]).all()
