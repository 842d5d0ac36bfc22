"""The two laws of prompt difficulty against scipy: beta-binomial, and integrals over log odds."""

import numpy as np
import pytest
from pymc.model.transform.conditioning import remove_value_transforms
from scipy.integrate import quad
from scipy.special import betaln, expit
from scipy.stats import halfnorm, logistic, norm

from hero_bayes.data.count_table import count_table, every_count
from hero_bayes.data.generations import Generations
from hero_bayes.inference.graph import QUICK
from hero_bayes.likelihoods.logit_normal import CHANCE, moments, node_likelihood, node_weights
from hero_bayes.models.beta_difficulty import beta_difficulty
from hero_bayes.models.logit_normal_difficulty import logit_normal_difficulty

#: Mean and icc, extreme shapes included: Beta(.16, .19), Beta(.67, .03), nearly all alike.
BETA_SHAPES = [(0.3, 0.4), (0.16 / 0.35, 1 / 1.35), (0.67 / 0.7, 1 / 1.7), (0.5, 1e-9), (0.02, 0.9)]


def generations(seed=0):
    """Two models, unequal k."""
    import pandas as pd

    rng = np.random.default_rng(seed)
    k = rng.integers(1, 8, 24)
    table = {"prompt": np.tile(np.arange(12), 2), "model": np.repeat(["a", "b"], 12)}
    return Generations.from_frame(
        pd.DataFrame({**table, "k": k, "n_correct": rng.integers(0, k + 1)})
    )


@pytest.mark.parametrize(("mu", "icc"), BETA_SHAPES)
def test_beta_logp_matches_scipy(mu, icc):
    data = generations()
    model = beta_difficulty(count_table(data))
    point = {"mu": np.array([mu, 0.4]), "icc": np.array([icc, 0.2])}
    expected = 0.0
    for c, k, m in zip(data.n_correct, data.k, data.model_idx, strict=True):
        f = (1 - point["icc"][m]) / point["icc"][m]
        a, b = point["mu"][m] * f, (1 - point["mu"][m]) * f
        expected += betaln(a + c, b + k - c) - betaln(a, b)
    found = remove_value_transforms(model).compile_logp(jacobian=False, mode=QUICK)(point)
    # The beta functions lose digits at f = 1e9.
    np.testing.assert_allclose(found, expected, rtol=1e-9 if icc > 1e-6 else 1e-5)


@pytest.mark.parametrize(("location", "scale"), [(0.0, 1.0), (-3.0, 0.3), (2.0, 6.0), (0.5, 15.0)])
def test_logit_normal_matches_integrals(location, scale):
    def law(f):
        points = [-0.5 * location / scale, 0.0]
        value = quad(
            lambda z: norm.pdf(z) * f(expit(location + scale * z)), -9, 9, points=points, limit=500
        )
        return value[0]

    weights = node_weights(np.array([location]), np.array([scale]), np)
    mean, variance = moments(weights)
    np.testing.assert_allclose(mean[0], law(lambda p: p), atol=1e-7)
    np.testing.assert_allclose(variance[0], law(lambda p: (p - mean[0]) ** 2), atol=1e-7)
    for c, k in ((0, 5), (5, 5), (3, 10), (50, 100)):
        found = weights[0] @ node_likelihood(np.array([c]), np.array([k]))[0]
        expected = law(lambda p, c=c, k=k: p**c * (1 - p) ** (k - c))
        # The quadrature behind it is right to 1e-9 of the largest chance there is.
        np.testing.assert_allclose(found, expected, rtol=2e-6, atol=1e-30)


def test_logit_normal_logp():
    data = generations(1)
    model = logit_normal_difficulty(count_table(data), scale_prior=2.0)
    point = {"centre": np.array([0.3, -1.0]), "spread": np.array([1.45, 0.65])}
    scale = point["spread"] + 0.05
    expected = (
        logistic.logpdf(point["centre"]).sum() + halfnorm.logpdf(point["spread"], scale=2).sum()
    )
    location = point["centre"] * np.sqrt(1 + np.pi / 8 * scale**2)
    for c, k, m in zip(data.n_correct, data.k, data.model_idx, strict=True):

        def term(z, c=c, k=k, m=m):
            p = expit(location[m] + scale[m] * z)
            return norm.pdf(z) * p**c * (1 - p) ** (k - c)

        expected += np.log(quad(term, -9, 9)[0])
    found = remove_value_transforms(model).compile_logp(jacobian=False, mode=QUICK)(point)
    np.testing.assert_allclose(found, expected, rtol=1e-8)


@pytest.mark.parametrize("factory", [beta_difficulty, logit_normal_difficulty])
def test_build(factory):
    model = factory(every_count(["a", "b", "c"], 4))
    assert {"mu", "sigma", "icc"} <= set(model.named_vars)
    for name in ("mu", "sigma", "icc"):
        assert model.named_vars_to_dims[name] == ("model",)
    assert list(model.coords["model"]) == ["a", "b", "c"]


def test_prior_of_the_score_is_nearly_flat_under_either_law():
    import pymc as pm

    for factory in (beta_difficulty, logit_normal_difficulty):
        model = factory(every_count(["a"], 1))
        mu = pm.draw(model["mu"], draws=2000, random_seed=1, mode=QUICK).ravel()
        # Deciles of 2,000 draws have a standard error of at most 0.011; the logit-normal is flat
        # only nearly.
        deciles = np.quantile(mu, np.arange(0.1, 1.0, 0.1))
        np.testing.assert_allclose(deciles, np.arange(0.1, 1.0, 0.1), atol=0.05)


def test_counts_are_kept_once():
    data = generations(2)
    table = count_table(data)
    assert table.weight.sum() == 24
    np.testing.assert_array_equal(table.n_correct[table.row], data.n_correct)
    np.testing.assert_array_equal(table.k[table.row], data.k)
    np.testing.assert_array_equal(table.model_idx[table.row], data.model_idx)
    assert np.all((CHANCE > 0) & (CHANCE <= 1))
