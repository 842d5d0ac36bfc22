"""Exact draws of one prevalence: Beta in closed form, integration otherwise."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.stats import beta, kstest

from hero_bayes.inference.kernels import draw_prevalence

UNIFORM = np.array([0.001, 0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 0.999])


def quantiles(ratio, a, b, at=UNIFORM):
    return np.array([draw_prevalence(np.asarray(ratio, dtype=float), a, b, u) for u in at])


CLOSED = [
    ([], 1.0, 1.0),
    ([], 0.5, 0.5),
    ([], 3.0, 40.0),
    ([-np.inf] * 7, 1.0, 1.0),
    ([np.inf] * 3 + [-np.inf] * 2, 1.0, 1.0),
    ([np.inf] * 4, 0.5, 0.5),
    ([60.0, 80.0, -70.0], 1.0, 1.0),
    ([700.0] * 5 + [-700.0] * 9, 2.0, 1.0),
    ([0.0] * 50, 2.0, 5.0),
]


def closed_form(ratio, a, b):
    ratio = np.asarray(ratio)
    return beta(a + (ratio > 1).sum(), b + (ratio < -1).sum())


@pytest.mark.parametrize(("ratio", "a", "b"), CLOSED)
def test_quantiles_of_known_truth_are_those_of_a_beta(ratio, a, b):
    # 161 points over 50 nats: trapezoids are good to 1e-4 of the CDF; the limit asked for is 1e-3.
    law = closed_form(ratio, a, b)
    np.testing.assert_allclose(law.cdf(quantiles(ratio, a, b)), UNIFORM, atol=1e-3)
    np.testing.assert_allclose(quantiles(ratio, a, b), law.ppf(UNIFORM), atol=1e-3)


@pytest.mark.parametrize(("ratio", "a", "b"), CLOSED)
def test_draws_pass_a_kolmogorov_test(ratio, a, b):
    uniform = np.random.default_rng(17).random(4000)
    assert kstest(quantiles(ratio, a, b, uniform), closed_form(ratio, a, b).cdf).pvalue > 1e-4


FINITE = [
    (np.random.default_rng(1).normal(-1, 2, 30), 1.0, 1.0),
    (np.random.default_rng(2).normal(0, 0.3, 200), 1.0, 1.0),
    (np.array([0.7]), 1.0, 1.0),
    (np.array([-3.0]), 0.5, 0.5),
    (np.random.default_rng(3).normal(6, 1, 25), 1.0, 2.0),
    (np.array([5.0, -5.0, 1.0, -1.0]), 8.0, 3.0),
]


@pytest.mark.parametrize(("ratio", "a", "b"), FINITE)
def test_quantiles_by_numeric_integration(ratio, a, b):
    def log_density(m):
        return np.log(m * np.exp(ratio) + 1 - m).sum() + beta.logpdf(m, a, b)

    grid = np.linspace(1e-6, 1 - 1e-6, 2001)
    top = max(log_density(m) for m in grid)
    peak = grid[np.argmax([log_density(m) for m in grid])]

    def mass(high):
        points = [p for p in (1e-3, 0.05, peak, 0.95) if p < high]
        return quad(lambda m: np.exp(log_density(m) - top), 0, high, points=points, limit=400)[0]

    total = mass(1.0)
    for u in (0.05, 0.5, 0.95):
        expected = brentq(lambda m, u=u: mass(m) / total - u, 1e-9, 1 - 1e-9, xtol=1e-8)
        assert draw_prevalence(ratio, a, b, u) == pytest.approx(expected, abs=1e-3)


def test_ten_thousand_negatives_are_a_narrow_beta():
    law = beta(1, 10_001)
    drawn = quantiles(np.full(10_000, -40.0), 1.0, 1.0)
    np.testing.assert_allclose(law.cdf(drawn), UNIFORM, atol=1e-3)
    mirrored = quantiles(np.full(10_000, 40.0), 1.0, 1.0)
    np.testing.assert_allclose(law.cdf(1 - mirrored[::-1]), 1 - UNIFORM[::-1], atol=1e-3)


@pytest.mark.parametrize("ratio", [[-0.1], [30.0], [-800.0, 800.0], [0.0] * 3])
def test_draws_rise_with_the_uniform_number(ratio):
    at = np.linspace(0, 1, 41)
    drawn = quantiles(ratio, 0.5, 0.5, at)
    assert np.isfinite(drawn).all()
    assert ((drawn >= 0) & (drawn <= 1)).all()
    assert (np.diff(drawn) > 0).all()
