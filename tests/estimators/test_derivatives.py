"""Derivatives against differences, and the sandwich against an independent formula."""

import numpy as np
import pytest
from scores import item_scores, split, theta_of
from toy import from_rows, simulate

from hero_bayes.estimators import em_kernels, kernels
from hero_bayes.estimators.anchored_em import anchor, log_likelihood
from hero_bayes.estimators.estimate import estimate
from hero_bayes.estimators.information import UNIFORM_INFORMATION, inside, parameter_covariance
from hero_bayes.estimators.prevalence import group_evidence, score_solution

# Central differences with step 1e-5: truncation of order 1e-10 f''', rounding 1e-16 |f| / 1e-5.
STEP = 1e-5


@pytest.fixture(scope="module")
def anchored():
    """Two history groups, gold in both rounds, no rate at 0 or 1."""
    problem = simulate(21, n_history=160, n_current=60, current_gold=0.2, arms=("A", "B"))
    items = problem.past.items
    items["round"] = np.where(np.arange(160) < 70, "r1", "r2")
    items["arm"] = "A"
    result = anchor(*problem.rounds)
    assert np.minimum(result.sensitivity, 1 - result.sensitivity).min() > 0.01
    assert np.minimum(result.specificity, 1 - result.specificity).min() > 0.01
    return result


def numeric_gradient(function, theta):
    columns = []
    for k in range(theta.size):
        ahead, behind = theta.copy(), theta.copy()
        ahead[k] += STEP
        behind[k] -= STEP
        columns.append((function(ahead) - function(behind)) / (2 * STEP))
    return np.stack(columns, axis=-1)


def test_scores_are_the_gradient_of_the_log_likelihood(anchored):
    theta = theta_of(anchored) * 0.95
    gradient = numeric_gradient(lambda t: log_likelihood(anchored.data, *split(t, anchored)), theta)
    scores = item_scores(anchored, theta).sum(axis=0)
    np.testing.assert_allclose(scores, gradient, rtol=1e-5, atol=1e-5)


def test_information_is_minus_the_slope_of_the_scores(anchored):
    theta = theta_of(anchored) * 0.97
    data, parts = anchored.data, split(theta, anchored)
    truth = np.zeros(len(data.gold))
    em_kernels.expected_counts(
        data.item_ptr,
        data.code,
        data.gold,
        data.group_idx,
        kernels.log_ratio_table(*parts[:2]),
        parts[2],
        truth,
    )
    complete, missing, outer = kernels.information_matrices(
        data.item_ptr, data.code, data.group_idx, truth, *parts
    )
    slope = numeric_gradient(lambda t: item_scores(anchored, t).sum(axis=0), theta)
    # Entries run to 1e4; differences are good to 1e-6 of that.
    np.testing.assert_allclose(np.diag(complete) - missing, -slope, rtol=1e-5, atol=1e-3)
    scores = item_scores(anchored, theta)
    np.testing.assert_allclose(outer, scores.T @ scores, rtol=1e-10, atol=1e-9)


def test_sandwich_is_the_inverse_slope_times_outer_scores(anchored):
    theta = theta_of(anchored)
    slope = numeric_gradient(lambda t: item_scores(anchored, t).sum(axis=0), theta)
    scores = item_scores(anchored, theta)
    assert np.linalg.eigvalsh(-slope).min() > UNIFORM_INFORMATION
    bread = np.linalg.inv(-slope)
    expected = bread @ (scores.T @ scores) @ bread.T
    covariance, remarks = parameter_covariance(anchored.data, *split(theta, anchored))
    np.testing.assert_allclose(covariance, expected, rtol=1e-4, atol=1e-8)
    assert remarks == ()
    size = 2 * len(anchored.panel.labelers)
    np.testing.assert_allclose(anchored.covariance[0], expected[:size, :size], rtol=1e-4, atol=1e-8)


@pytest.mark.parametrize("rate", [0.1, 0.5, 0.8])
def test_gradient_of_the_mean_score(anchored, rate):
    current, size = anchored.panel.current, len(anchored.panel.labelers)
    for group in range(current.n_groups):
        item_idx = np.flatnonzero(current.group_idx == group)

        def mean_score(t, item_idx=item_idx):
            ratio = group_evidence(current, item_idx, t[:size], t[size:]).log_ratio
            return kernels.psi_array(ratio, rate).mean()

        theta = theta_of(anchored)[: 2 * size]
        slope = group_evidence(current, item_idx, theta[:size], theta[size:]).slope(rate)
        np.testing.assert_allclose(slope, numeric_gradient(mean_score, theta), rtol=1e-6, atol=1e-8)


def test_score_falls_with_slope_minus_its_square():
    ratio = np.array([-5.0, -0.3, 0.0, 1.7, 40.0])
    for rate in (0.05, 0.5, 0.9):
        ahead, behind = (kernels.psi_array(ratio, rate + h) for h in (1e-6, -1e-6))
        # Third derivatives reach 6 / 0.05^4 = 1e6, times 1e-12.
        np.testing.assert_allclose(
            (ahead - behind) / 2e-6, -(kernels.psi_array(ratio, rate) ** 2), rtol=1e-4, atol=1e-6
        )


def test_hero1_variance_term_by_term(anchored):
    """A^-1 [Var(psi)/n + G' S G] A^-1, each piece by hand; G by differences at the root."""
    current, size = anchored.panel.current, len(anchored.panel.labelers)
    item_idx = np.flatnonzero(current.group_idx == 0)
    theta = theta_of(anchored)[: 2 * size]
    evidence = group_evidence(current, item_idx, theta[:size], theta[size:])
    solution = score_solution(evidence, evidence, anchored.covariance[0])
    psi = kernels.psi_array(evidence.log_ratio, solution.value)
    slope = np.mean(psi**2)

    def mean_score(t):
        ratio = group_evidence(current, item_idx, t[:size], t[size:]).log_ratio
        return kernels.psi_array(ratio, solution.value).mean()

    gradient = numeric_gradient(mean_score, theta)
    np.testing.assert_allclose(
        solution.sampling_variance, psi.var() / item_idx.size / slope**2, rtol=1e-9
    )
    np.testing.assert_allclose(
        solution.labeler_variance,
        gradient @ anchored.covariance[0] @ gradient / slope**2,
        rtol=1e-5,
    )
    assert solution.covariate_variance == 0
    total = solution.sampling_variance + solution.labeler_variance
    np.testing.assert_allclose(solution.standard_error, np.sqrt(total), rtol=1e-12)


def test_labeler_term_is_the_delta_method(anchored):
    """The root moves by G / A when a rate moves: refit of the root at moved rates."""
    current, size = anchored.panel.current, len(anchored.panel.labelers)
    item_idx = np.arange(current.n_items)
    theta = theta_of(anchored)[: 2 * size]

    def root(t):
        weight = np.full(item_idx.size, 1 / item_idx.size)
        ratio = group_evidence(current, item_idx, t[:size], t[size:]).log_ratio
        return kernels.score_root(ratio, weight, 0.0)

    moved = numeric_gradient(lambda t: np.float64(root(t)), theta)
    evidence = group_evidence(current, item_idx, theta[:size], theta[size:])
    solution = score_solution(evidence, evidence, anchored.covariance[0])
    expected = moved @ anchored.covariance[0] @ moved
    np.testing.assert_allclose(solution.labeler_variance, expected, rtol=1e-4)


def test_rates_on_the_boundary_move_to_the_flat_prior_mean():
    rate, count = np.array([1.0, 0.0, 0.97, 0.5, 1.0]), np.array([8.0, 8.0, 10.0, 10.0, 0.0])
    moved, flagged = inside(rate, count)
    np.testing.assert_allclose(moved[:3], [9 / 10, 1 / 10, 10.7 / 12])
    assert moved[3] == 0.5
    assert flagged.tolist() == [True, True, True, False, False]


def test_unidentified_directions_get_the_variance_of_a_uniform_distribution():
    """A labeler without gold of a class and without company: nothing informs it."""
    rows = [{"a": 1}, {"a": 0}, {"a": 1}, {"b": 1}, {"b": 0}]
    anchored = anchor(from_rows(rows, gold=[1, 0, 0, 1, np.nan]), from_rows([{"a": 1}]))
    covariance, remarks = anchored.covariance
    assert np.diag(covariance).max() <= 0.5
    assert any("not identified" in remark for remark in remarks)


def test_gold_rates_error_does_not_explode_at_a_labeler_without_gold_errors():
    """Spread of the estimate over 40 simulations against the median standard error.

    Relative standard error of an sd from 40 values: 11 %; four of them and the skewness of the
    standard errors leave a factor of 1.8.
    """
    values, errors = [], []
    for seed in range(40):
        result = estimate(*simulate(seed, strength=0.0, n_current=150).rounds, "gold_rates")
        values.append(result.value)
        errors.append(result.standard_error)
    assert 1 / 1.8 < np.median(errors) / np.std(values) < 1.8
