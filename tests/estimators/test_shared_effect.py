"""The shared-effect model against integration, differences, and what it must ignore."""

import dataclasses
import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import minimize
from scipy.stats import norm
from toy import make_labels, simulate

from hero_bayes.data.panel import align
from hero_bayes.errors import DataError, Refusal
from hero_bayes.estimators.anchored_em import anchor_data
from hero_bayes.estimators.shared_effect import SharedEffect, fit_shared_effect, log_ratio
from hero_bayes.estimators.shared_effect_mode import (
    GRADIENT_TOLERANCE,
    item_weights,
    log_posterior,
    maximise,
    start_parameters,
)


def logistic(x):
    return 1.0 / (1.0 + math.exp(-x))


def chance_of_labels(verdicts, intercept, loading):
    """P(labels | class) by adaptive integration over the effect."""

    def integrand(u):
        p = norm.pdf(u)
        for j, z in verdicts:
            one = logistic(intercept[j] + loading * u)
            p *= one if z else 1.0 - one
        return p

    return quad(integrand, -9, 9, epsabs=0, epsrel=1e-11, limit=500)[0]


def verdicts_of(data, i):
    span = slice(data.item_ptr[i], data.item_ptr[i + 1])
    return [(code // 2, code % 2) for code in data.code[span]]


def density_by_hand(parameters, data, power):
    """The posterior density written out item by item."""
    J = data.n_labelers
    x = parameters[: 2 * J].reshape(2, J)
    mean, spread, loading = (
        parameters[2 * J : 2 * J + 2],
        np.exp(parameters[2 * J + 2 : 2 * J + 4]),
        np.exp(parameters[2 * J + 4 : 2 * J + 6]),
    )
    m = [logistic(v) for v in parameters[2 * J + 6 :]]
    total = 0.0
    for i, (y, g) in enumerate(zip(data.gold, data.group_idx, strict=True)):
        like = [
            chance_of_labels(verdicts_of(data, i), mean[c] + spread[c] * x[c], loading[c])
            for c in (0, 1)
        ]
        rate = m[g] if g >= 0 else None
        if np.isnan(y):
            total += power * math.log(rate * like[1] + (1 - rate) * like[0])
        else:
            total += math.log(like[int(y)])
            if rate is not None:
                total += math.log(rate if y else 1 - rate)
    for c in (0, 1):
        total -= 0.5 * ((mean[c] - (2 * c - 1)) / 1.5) ** 2
        total -= 0.5 * ((math.log(spread[c]) + 0.5) / 0.7) ** 2
        total -= 0.5 * ((math.log(loading[c]) + 0.7) / 0.7) ** 2
    return total - 0.5 * (x**2).sum()


@pytest.fixture(scope="module")
def tiny():
    problem = simulate(
        3, n_history=14, n_current=8, n_labelers=3, labels_per_item=2, current_gold=0.4
    )
    history, current = problem.rounds
    table = history.to_frames()
    items = table.items.assign(round=np.arange(len(table.items)) % 2)
    history = type(history).from_frames(table.labels, items)
    data = anchor_data(align(history, current))
    assert (data.group_idx == -1).any()
    assert data.n_groups == 2
    parameters = np.random.default_rng(8).normal(0, 0.7, 2 * 3 + 6 + 2)
    return data, parameters


def test_density_matches_integration_item_by_item(tiny):
    data, parameters = tiny
    value, _ = log_posterior(parameters, data, item_weights(data, 0.3), nodes=80)
    # 80 Gauss-Hermite nodes integrate products of two sigmoids far below this.
    assert value == pytest.approx(density_by_hand(parameters, data, 0.3), abs=1e-6)


def test_gradient_matches_differences(tiny):
    data, parameters = tiny
    weight = item_weights(data, 0.3)
    information = np.random.default_rng(4).uniform(0, 9, (2, 3))
    _, gradient = log_posterior(parameters, data, weight, information)
    step = 1e-5
    for k in range(parameters.size):
        move = np.zeros(parameters.size)
        move[k] = step
        ahead, behind = (
            log_posterior(parameters + s * move, data, weight, information)[0] for s in (1, -1)
        )
        # Rounding: 1e-15 x 60 / 1e-5; truncation: third derivatives of order 10 times step^2 / 6.
        assert gradient[k] == pytest.approx((ahead - behind) / (2 * step), abs=1e-7)


def test_spread_is_charged_for_the_intercepts_it_leaves_open(tiny):
    data, parameters = tiny
    weight = item_weights(data, 1.0)
    information = np.array([[1.0, 2.0, 3.0], [0.0, 5.0, 50.0]])
    plain = log_posterior(parameters, data, weight)[0]
    charged = log_posterior(parameters, data, weight, information)[0]
    variance = np.exp(2 * parameters[8:10])
    expected = -0.5 * np.log(1 + variance[:, None] * information).sum()
    assert charged - plain == pytest.approx(expected, abs=1e-10)


@pytest.fixture(scope="module")
def rounds():
    return simulate(5, n_history=150, n_current=40, n_labelers=6, current_gold=0.2).rounds


def test_mode_is_a_mode_and_another_optimiser_finds_it(rounds):
    data = anchor_data(align(*rounds))
    fit = fit_shared_effect(*rounds)
    weight = item_weights(data, 0.3)
    value, gradient = log_posterior(fit.parameters, data, weight, fit.information)
    assert fit.converged
    assert value == pytest.approx(fit.log_posterior, abs=1e-10)
    assert np.abs(gradient).max() <= GRADIENT_TOLERANCE * (1 + 1e-6)

    def objective(x):
        found, slope = log_posterior(x, data, weight, fit.information)
        return -found, -slope

    start = start_parameters(data) + np.random.default_rng(0).normal(0, 0.2, fit.parameters.size)
    other = minimize(objective, start, jac=True, method="BFGS", options={"gtol": 1e-6})
    # Both are within tolerance / curvature of the mode; priors alone give a curvature of 1 / 2.25.
    np.testing.assert_allclose(other.x, fit.parameters, atol=1e-4 * 2.25 * np.sqrt(start.size))


def test_information_is_that_of_the_labels_at_the_mode(rounds):
    data = anchor_data(align(*rounds))
    fit = fit_shared_effect(*rounds)
    again = maximise(
        data, fit.labelers, fit.parameters, item_weights(data, 0.3), information=fit.information
    )
    assert again.iterations == 0
    np.testing.assert_allclose(again.information, fit.information, rtol=1e-9)


def test_spread_shrinks_labelers_with_few_labels():
    rng = np.random.default_rng(1)
    n, J = 400, 40
    truth = rng.integers(0, 2, n)
    labeler = rng.integers(0, J, (n, 3))
    labeler[:, 1:] = (labeler[:, :1] + [[7, 19]]) % J
    right = rng.random((n, 3)) < 0.8
    label = np.where(right, truth[:, None], 1 - truth[:, None])
    gold = np.where(rng.random(n) < 0.5, truth, np.nan)
    history = make_labels(
        np.repeat(np.arange(n), 3), labeler.ravel(), label.ravel(), {"gold": gold}
    )
    fit = fit_shared_effect(history)
    # All labelers are alike: 15 gold labels each give a raw spread of some 0.7 logits.
    assert (fit.spread < 0.6).all()
    assert (fit.spread > 0.05).all()


def test_recovers_loading_and_prevalence():
    rng = np.random.default_rng(2)
    n, J = 1500, 8
    truth = (rng.random(n) < 0.35).astype(int)
    e, loading = np.array([[-1.5], [1.2]]) + rng.normal(0, 0.5, (2, J)), np.array([0.6, 1.4])
    u = rng.standard_normal(n)
    logit = e[truth] + (loading[truth] * u)[:, None]
    label = (rng.random((n, J)) < 1 / (1 + np.exp(-logit))).astype(int)
    gold = np.where(rng.random(n) < 0.5, truth, np.nan)
    history = make_labels(
        np.repeat(np.arange(n), J), np.tile(np.arange(J), n), label.ravel(), {"gold": gold}
    )
    data = anchor_data(align(history, history.take_items([])))
    fit = fit_shared_effect(history, power=1.0, nodes=25)
    weight, at = item_weights(data, 1.0), fit.parameters
    columns = []
    for k in range(at.size):
        step = np.zeros(at.size)
        step[k] = 1e-4
        ahead, behind = (
            log_posterior(at + s * step, data, weight, fit.information, nodes=25)[1]
            for s in (1, -1)
        )
        columns.append(-(ahead - behind) / 2e-4)
    deviation = np.sqrt(np.diag(np.linalg.inv(np.array(columns))))
    truth_of = [*np.log(loading), np.log(0.35 / 0.65)]
    found, scale = at[2 * J + 4 :], deviation[2 * J + 4 :]
    assert (np.abs(found - truth_of) < 4 * scale).all()
    assert (scale < 0.3).all()


@pytest.mark.parametrize("ones", [0, 1, 20, 45, 59, 60])
@pytest.mark.parametrize("loading", [0.3, 3.0])
def test_log_ratio_of_long_items(ones, loading):
    J = 60
    rng = np.random.default_rng(ones)
    intercept = np.array([[-1.5], [1.0]]) + rng.normal(0, 1, (2, J))
    loadings = np.array([loading, 0.8 * loading])
    labels = make_labels([0] * J, range(J), [1] * ones + [0] * (J - ones))
    fit = known_fit(labels.labelers, intercept, loadings)
    verdicts = list(zip(labels.labeler_idx, labels.label, strict=True))
    exact = 0.0
    for c, sign in ((1, 1), (0, -1)):
        exact += sign * log_chance(verdicts, intercept[c], loadings[c])
    assert log_ratio(fit, labels)[0] == pytest.approx(exact, abs=1e-3)
    assert log_ratio(fit, labels, nodes=60)[0] == pytest.approx(exact, abs=1e-6)


def log_chance(verdicts, intercept, loading):
    """Log P(labels | class) by a fine sum over the effect, in logs."""
    u = np.linspace(-12, 12, 48_001)
    total = norm.logpdf(u)
    for j, z in verdicts:
        logit = (intercept[j] + loading * u) * (1 if z else -1)
        total -= np.logaddexp(0, -logit)
    return np.logaddexp.reduce(total) + np.log(u[1] - u[0])


def known_fit(labelers, intercept, loading):
    return SharedEffect(
        labelers=labelers,
        intercept=intercept,
        loading=loading,
        mean=intercept.mean(axis=1),
        spread=np.ones(2),
        prevalence=np.array([0.5]),
        information=np.zeros(intercept.shape),
        log_posterior=0.0,
        iterations=0,
        converged=True,
    )


def test_log_ratio_leaves_out_unknown_labelers(rounds):
    history, current = rounds
    fit = fit_shared_effect(history)
    less = dataclasses.replace(
        fit, labelers=fit.labelers[1:], intercept=fit.intercept[:, 1:], information=None
    )
    expected = log_ratio(less, current.with_labelers(fit.labelers[1:]))
    np.testing.assert_array_equal(log_ratio(less, current), expected)
    assert (log_ratio(fit, current) != expected).any()
    nobody = make_labels([0, 1], ["new", "new"], [0, 1])
    assert log_ratio(fit, nobody).tolist() == [0.0, 0.0]


def with_flipped_labels(labels, items):
    """The same table with every label of some items turned round."""
    rows = np.isin(np.repeat(np.arange(labels.n_items), labels.labels_per_item), items)
    return dataclasses.replace(labels, label=np.where(rows, 1 - labels.label, labels.label))


def test_a_held_out_item_changes_no_bit(rounds):
    history, _ = rounds
    hidden = np.arange(history.n_items) % 5 == 2
    one = fit_shared_effect(history, held_out=hidden)
    other = with_flipped_labels(history, np.flatnonzero(hidden))
    unlabeled = other.with_gold(np.where(hidden, np.nan, history.gold))
    # The start reads gold rates: hide the gold of held-out items from it in both.
    base = fit_shared_effect(
        history.with_gold(np.where(hidden, np.nan, history.gold)), held_out=hidden
    )
    two = fit_shared_effect(unlabeled, held_out=hidden)
    np.testing.assert_array_equal(base.parameters, two.parameters)
    np.testing.assert_allclose(one.parameters, base.parameters, atol=1e-3)
    assert (fit_shared_effect(history).parameters != base.parameters).all()


def test_power_zero_listens_to_gold_alone(rounds):
    history, _ = rounds
    other = with_flipped_labels(history, np.flatnonzero(~history.has_gold))
    one, two = (fit_shared_effect(table, power=0.0) for table in (history, other))
    np.testing.assert_array_equal(one.parameters, two.parameters)
    assert (fit_shared_effect(other).parameters != fit_shared_effect(history).parameters).any()


def test_current_gold_informs(rounds):
    history, current = rounds
    assert (fit_shared_effect(history).parameters != fit_shared_effect(*rounds).parameters).any()
    hidden = current.without_gold()
    np.testing.assert_array_equal(
        fit_shared_effect(history).parameters, fit_shared_effect(history, hidden).parameters
    )


def test_what_it_refuses(rounds):
    history, current = rounds
    with pytest.raises(Refusal, match="gold"):
        fit_shared_effect(history.without_gold())
    with pytest.raises(DataError, match="held_out has shape"):
        fit_shared_effect(history, held_out=np.zeros(3, dtype=bool))
    with pytest.raises(ValueError, match="power must lie between 0 and 1"):
        fit_shared_effect(history, power=1.5)
    other = fit_shared_effect(history.select(labelers=history.labelers[:4], unlabeled="drop"))
    with pytest.raises(DataError, match="other labelers"):
        fit_shared_effect(history, current, start=other)
