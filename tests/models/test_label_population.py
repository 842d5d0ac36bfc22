"""The population that the correlated layer draws its logits from, and its coordinates."""

import numpy as np
import pytensor
import pytest
from toy import make_labels, simulate

from hero_bayes.inference.graph import QUICK
from hero_bayes.models import correlated
from hero_bayes.models.shared_effects import zero_sum


def votes(n_labelers, n_items):
    """Everyone labels every item at random; two items have gold."""
    item, labeler = (k.ravel() for k in np.indices((n_items, n_labelers)))
    label = np.random.default_rng(1).integers(0, 2, item.size)
    gold = np.where(np.arange(n_items) < 2, np.arange(n_items) % 2, np.nan)
    return make_labels(item, labeler, label, {"item": range(n_items), "gold": gold})


def logits(model, values):
    """e (truth, labeler) at given values of the free variables that determine it."""
    inputs = [rv for rv in model.free_RVs if rv.name in values]
    function = pytensor.function(inputs, model["label_logit"], mode=QUICK)
    return function(*(np.asarray(values[rv.name], dtype=float) for rv in inputs))


@pytest.mark.parametrize("n_labelers", [1, 2, 7])
def test_logits_are_draws_from_the_population(n_labelers):
    """Given the spread they are linear in normal variables: cov(e_j, e_k) = 1.5^2 + s^2 [j = k]."""
    labels = votes(n_labelers, 9)
    model = correlated(labels, labels)
    spread = np.array([0.3, 1.7])
    zero = {
        "label_logit_mean": np.zeros(2),
        "label_logit_spread": spread,
        "label_logit_offset": np.zeros((2, n_labelers - 1)),
    }
    size = {"label_logit_mean": 1, "label_logit_offset": n_labelers - 1}
    covariance = np.zeros((2, n_labelers, n_labelers))
    for name, width in size.items():
        sd = model[name].owner.inputs[-1].eval({model["label_logit_spread"]: spread})
        sd = np.broadcast_to(np.reshape(sd, (2, -1)), (2, width))
        for k in range(width):
            moved = zero[name].reshape(2, width).copy()
            moved[:, k] = 1.0
            e = logits(model, zero | {name: moved.reshape(zero[name].shape)})
            covariance += np.einsum("t,tj,tk->tjk", sd[:, k] ** 2, e, e)
    expected = 1.5**2 + spread[:, None, None] ** 2 * np.eye(n_labelers)
    # Sums of at most seven terms below 6.
    np.testing.assert_allclose(covariance, expected, rtol=0, atol=1e-12)


def test_contrasts_are_a_reflection_without_its_last_column():
    """Householder: I - 2 w w' / w'w with w = 1 / sqrt(J) + (0, ..., 0, 1)."""
    w = np.full(6, 6**-0.5) + np.eye(6)[-1]
    reflection = np.eye(6) - 2 * np.outer(w, w) / (w @ w)
    found = zero_sum(pytensor.shared(np.eye(5)), 6).eval(mode=QUICK)
    np.testing.assert_allclose(found, reflection[:5], rtol=0, atol=1e-14)


@pytest.mark.parametrize("n_items", [20, 500])
def test_the_scale_of_offsets_given_labels_does_not_depend_on_the_spread(n_items):
    """If labels leave the variance d^2 to a deviation, they leave d^2 to its offset."""
    labels = votes(5, n_items)
    model = correlated(labels, labels)
    left = model["label_logit_variance"].get_value()
    assert left == pytest.approx(12.0 / (1.0 + n_items), rel=1e-12)
    for spread in (0.02, 0.5, 3.0):
        values = {
            "label_logit_mean": np.zeros(2),
            "label_logit_spread": np.full(2, spread),
            "label_logit_offset": np.eye(4)[:2],
        }
        # One offset moves the deviations by a vector of this squared length.
        length = (logits(model, values)[0] ** 2).sum()
        given_labels = 1 / (1 / (spread**2 + left) + length / left)
        assert given_labels == pytest.approx(left, rel=1e-9)


def test_both_models_of_a_cut_have_the_same_coordinates():
    history, current = simulate(6, n_history=12, n_current=10, n_labelers=4).rounds
    few = correlated(history, current.take_items(np.arange(1)))
    values = {
        "label_logit_mean": np.array([-1.2, 0.4]),
        "label_logit_spread": np.array([0.6, 1.1]),
        "label_logit_offset": np.random.default_rng(5).normal(size=(2, 3)),
    }
    np.testing.assert_array_equal(logits(few, values), logits(correlated(history, current), values))
