"""Second-stage draws against fine grids: prevalence, intercept, and the average over history."""

import numpy as np
import pytest
import xarray as xr
from scipy.special import expit
from scipy.stats import beta, kstest
from toy import from_rows

from hero_bayes.inference.current import current_round
from hero_bayes.inference.kernels import draw_intercept, draw_prevalence
from hero_bayes.inference.outcome import RegressionOutcome

INF = np.inf
UNIFORM = np.random.default_rng(17).random(20_000)


def log_posterior(at, ratio, offset, location, scale):
    """Log-density of the intercept, written from the two terms of every item."""
    z = (at - location) / scale
    total = -np.abs(z) - 2 * np.log1p(np.exp(-np.abs(z)))
    for r, o in zip(ratio, offset, strict=True):
        one, zero = -np.logaddexp(0, -(at + o)), -np.logaddexp(0, at + o)
        total += one if r == INF else zero if r == -INF else np.logaddexp(zero, r + one)
    return total


def grid_law(ratio, offset, location, scale):
    """CDF on a grid of 200,001 points over everything within 40 nats of the top."""
    far = 60 * scale + np.abs(offset).max(initial=0.0)
    at = np.linspace(location - far, location + far, 20_001)
    height = log_posterior(at, ratio, offset, location, scale)
    inside = at[height > height.max() - 40]
    step = at[1] - at[0]
    at = np.linspace(inside[0] - step, inside[-1] + step, 200_001)
    height = log_posterior(at, ratio, offset, location, scale)
    density = np.exp(height - height.max())
    mass = np.concatenate([[0], np.cumsum((density[1:] + density[:-1]) / 2)])
    return lambda x: np.interp(x, at, mass / mass[-1])


RNG = np.random.default_rng(3)
INTERCEPTS = {
    "no items": ([], [], 0.0, 1.0),
    "no items, own prior": ([], [], 2.0, 0.5),
    "labels": (RNG.normal(0, 3, 4), RNG.normal(0, 1, 4), 0.0, 1.0),
    "gold": ([INF, -INF, -INF, 1.0, -2.0], [0.5, -1.0, 2.0, 0.0, 0.0], 0.0, 1.0),
    "gold of one class": ([INF] * 3, np.zeros(3), 0.0, 1.0),
    "far offsets": ([INF, -INF, 3.0, -4.0], [30.0, -30.0, 20.0, -20.0], 0.0, 1.0),
    "mode far outside the prior": ([-INF] * 3, RNG.normal(40, 1, 3), 0.0, 1.0),
    "certain labels": ([700.0, 700.0, -700.0], [1.0, -1.0, 0.0], 1.0, 2.0),
}


@pytest.mark.parametrize("name", INTERCEPTS)
def test_intercept_passes_a_kolmogorov_test(name):
    ratio, offset, location, scale = INTERCEPTS[name]
    ratio, offset = np.asarray(ratio, dtype=float), np.asarray(offset, dtype=float)
    drawn = [draw_intercept(ratio, offset, location, scale, u) for u in UNIFORM]
    assert kstest(drawn, grid_law(ratio, offset, location, scale)).pvalue > 1e-4


@pytest.mark.parametrize(
    ("n", "shift"),
    [(1, 0.0), (30, -2.9), (3_000, 0.42), (40_000, 0.42)]
    + [pytest.param(200_000, shift, marks=pytest.mark.slow) for shift in (0.0, 0.42, -2.9)],
)
def test_intercept_without_offsets_is_the_logit_of_a_prevalence(n, shift):
    """Logistic(0, 1) on the log odds is flat on the rate; any number of items, any place."""
    chance = np.random.default_rng(n).random(n) < expit(shift)
    ratio = np.where(chance, 2.5, -1.5)
    at = np.array([0.01, 0.2, 0.8])
    rate = np.array([draw_prevalence(ratio, 1.0, 1.0, u) for u in at])
    zero = np.zeros(n)
    drawn = expit([draw_intercept(ratio, zero, 0.0, 1.0, u) for u in at])
    # Both are good to 1e-3 of the CDF; the 1 % quantile moves by 0.04 sd for that.
    np.testing.assert_allclose(drawn, rate, atol=0.1 * (rate[2] - rate[1]))


def test_intercept_rises_with_the_uniform_number():
    ratio, offset = RNG.normal(0, 2, 40), RNG.normal(0, 5, 40)
    drawn = [draw_intercept(ratio, offset, 0.0, 1.0, u) for u in np.linspace(0, 1, 41)]
    assert np.isfinite(drawn).all()
    assert (np.diff(drawn) > 0).all()


PREVALENCES = {
    "labels": (np.random.default_rng(1).normal(-1, 2, 12), 1.0, 1.0),
    "weak labels": (np.random.default_rng(2).normal(0, 0.3, 20), 1.0, 1.0),
    "one label": (np.array([0.7]), 1.0, 1.0),
    "gold and a prior": (np.random.default_rng(4).normal(1, 2, 10), 3.5, 7.0),
    "half prior": (np.array([-3.0, 2.0]), 0.5, 0.5),
}


@pytest.mark.parametrize("name", PREVALENCES)
def test_prevalence_passes_a_kolmogorov_test(name):
    ratio, a, b = PREVALENCES[name]
    # Equal masses of the prior: no end of the interval is lost, whatever its density there.
    m = beta.ppf((np.arange(200_000) + 0.5) / 200_000, a, b)
    mass = np.exp(sum(np.logaddexp(np.log1p(-m), np.log(m) + r) for r in ratio))
    below = np.cumsum(mass) / mass.sum()
    drawn = [draw_prevalence(ratio, a, b, u) for u in UNIFORM]
    assert kstest(drawn, lambda x: np.interp(x, m, below)).pvalue > 1e-4


def second_stage(past, intercept, n_draws, current, *, cut=False, ratio=None):
    """Draws of the current round under a regression outcome with known offsets."""
    n, groups = current.n_items, current.n_groups
    fixed = {
        "log_ratio": np.zeros(n) if ratio is None else np.asarray(ratio, dtype=float),
        "covariate_log_odds": np.zeros(n),
        "history_covariate_log_odds": np.asarray(past, dtype=float),
    }
    draws = xr.Dataset(
        {"intercept": (("chain", "draw", "group"), np.full((1, n_draws, groups), intercept))}
    )

    def evidence(values):
        size = len(values["intercept"])
        return {k: np.broadcast_to(v, (size, *v.shape)) for k, v in fixed.items()}

    outcome = RegressionOutcome(np.zeros(groups), np.ones(groups))
    return current_round(draws, evidence, current, outcome, cut=cut, rng=np.random.default_rng(5))


def test_prevalence_of_a_regression_averages_over_dirichlet_weighted_history():
    past = np.random.default_rng(6).normal(0, 2, 25)
    now = second_stage(past, -0.7, 5000, from_rows([{"a": 1}, {"a": 0}]))
    chance = expit(-0.7 + past)
    drawn = now.prevalence.ravel()
    # Dirichlet(1, ..., 1): variance of the weighted mean = population variance / (N + 1).
    spread = chance.std() / np.sqrt(26)
    assert abs(drawn.mean() - chance.mean()) < 4 * spread / np.sqrt(5000)
    assert abs(drawn.std() / spread - 1) < 4 / np.sqrt(2 * 5000)


def test_groups_of_a_draw_share_the_history_weights():
    """A difference of arms must not be widened by the covariates' law that they share."""
    current = from_rows([{"a": 1}, {"a": 0}] * 3, arm=["A", "B", "C"] * 2)
    now = second_stage(RNG.normal(0, 2, 10), 0.3, 50, current)
    assert now.prevalence.std() > 0
    np.testing.assert_array_equal(now.prevalence[..., 0], now.prevalence[..., 1])
    np.testing.assert_array_equal(now.prevalence[..., 0], now.prevalence[..., 2])


def test_cut_regression_without_slopes_is_the_prevalence_posterior():
    current = from_rows([{"a": 1}] * 6 + [{"a": 0}] * 4, gold=[1, 0, *[np.nan] * 8])
    ratio = np.where(np.arange(10) < 6, 2.0, -1.0)
    now = second_stage(np.zeros(5), np.nan, 4000, current, cut=True, ratio=ratio)
    law = [draw_prevalence(ratio[2:], 2.0, 2.0, u) for u in (np.arange(2000) + 0.5) / 2000]
    assert kstest(now.prevalence.ravel(), law).pvalue > 1e-4
    np.testing.assert_allclose(expit(now.parameters["intercept"]), now.prevalence, rtol=1e-12)
    assert now.item_rate.min() >= 0.1
    assert now.item_rate.max() <= 0.9
