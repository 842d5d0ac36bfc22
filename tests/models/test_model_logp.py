"""Log-density of the complete models against enumeration over every truth vector."""

import brute
import numpy as np
import pytest
from scipy.special import expit, logit
from scipy.stats import beta, halfnorm, norm
from toy import from_rows

import hero_bayes.models.independent as independent
from hero_bayes.inference.graph import QUICK
from hero_bayes.models import MODELS

EXACT = {"rtol": 1e-9, "atol": 0.0}
RNG = np.random.default_rng(7)
NAMES = ("hero", "pooled")


@pytest.fixture(scope="module")
def rounds():
    """Two groups in either round, gold in both, labeler d unseen in history and without gold."""
    past = [
        {"a": 1, "b": 1},
        {"a": 0, "b": 0, "c": 1},
        {"a": 1, "c": 0},
        {"b": 1},
        {"a": 0, "b": 1, "c": 0},
        {"c": 1},
        {"a": 1, "b": 1, "c": 1},
        {"b": 0, "c": 0},
    ]
    now = [
        {"a": 1, "b": 0},
        {"a": 1, "c": 1, "d": 1},
        {"b": 0, "c": 0},
        {"a": 0, "d": 0},
        {"a": 1, "b": 1, "c": 0},
        {"b": 1, "d": 1},
    ]
    history = from_rows(
        past,
        gold=[1, 0, np.nan, np.nan, np.nan, 1, np.nan, np.nan],
        round=["r1", "r1", "r1", "r1", "r2", "r2", "r2", "r2"],
    )
    gold = [np.nan, np.nan, 0, np.nan, 1, np.nan]
    return history, from_rows(now, gold=gold, arm=["A", "B", "A", "B", "A", "B"])


# As arrays of float64: PyTensor holds a Python float constant in single precision where that is
# exact, and the normalising constants of the priors with it.
PRIORS = {
    "hero": {
        "prevalence_prior": (2.0, 3.0),
        "sensitivity_prior": (4.0, 2.0),
        "specificity_prior": (5.0, 1.5),
    },
    "pooled": {
        "prevalence_prior": (2.0, 3.0),
        "sensitivity_prior": (0.5, 0.7),
        "specificity_prior": (1.5, 0.4),
        "spread_prior": 0.6,
    },
}


def draw(name):
    """Values of all free variables."""
    point = {"history_prevalence": RNG.uniform(0.1, 0.9, 2), "prevalence": RNG.uniform(0.1, 0.9, 2)}
    for rate in ("sensitivity", "specificity"):
        if name == "hero":
            point[rate] = RNG.uniform(0.2, 0.95, 3)
        else:
            point[f"{rate}_mean"] = RNG.normal()
            point[f"{rate}_spread"] = RNG.uniform(0.2, 2)
            point[f"{rate}_offset"] = RNG.normal(size=4)
    return point


def rates(name, point, rate):
    """One rate by labeler name."""
    values = point.get(rate)
    if name == "pooled":
        values = expit(point[f"{rate}_mean"] + point[f"{rate}_spread"] * point[f"{rate}_offset"])
    return dict(zip("abcd", values, strict=False))


def log_prior(name, point, priors):
    first = priors.get("prevalence_prior", (1, 1))
    total = sum(
        beta.logpdf(point[key], *first).sum() for key in ("history_prevalence", "prevalence")
    )
    for rate in ("sensitivity", "specificity"):
        prior = priors.get(f"{rate}_prior", (1.0, 1.0))
        if name == "hero":
            total += beta.logpdf(point[rate], *prior).sum()
        else:
            total += norm.logpdf(point[f"{rate}_mean"], *prior)
            total += halfnorm.logpdf(point[f"{rate}_spread"], scale=priors.get("spread_prior", 1.0))
            total += norm.logpdf(point[f"{rate}_offset"]).sum()
    return total


def expected_logp(name, rounds, point, priors):
    """Priors plus the enumerated likelihood of both rounds."""
    pair = [rates(name, point, rate) for rate in ("sensitivity", "specificity")]
    return (
        log_prior(name, point, priors)
        + brute.log_likelihood(rounds[0], *pair, point["history_prevalence"])
        + brute.log_likelihood(rounds[1], *pair, point["prevalence"])
    )


def unconstrained(point):
    """Values under the names and on the scale of the model's value variables, log Jacobian."""
    out, jacobian = {}, 0.0
    for key, value in point.items():
        if key.endswith("spread"):
            out[f"{key}_log__"] = np.log(value)
            jacobian += np.log(value)
        elif key.endswith(("mean", "offset")):
            out[key] = np.asarray(value)
        else:
            out[f"{key}_logodds__"] = logit(value)
            jacobian += np.log(value * (1 - value)).sum()
    return {key: np.asarray(value, dtype=float) for key, value in out.items()}, jacobian


@pytest.mark.parametrize("layout", ["dense", "sparse"])
@pytest.mark.parametrize("own_priors", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_logp_matches_enumeration(name, own_priors, layout, rounds, monkeypatch):
    if layout == "sparse":
        monkeypatch.setattr(independent, "DENSE_SHARE", 10.0)
    priors = PRIORS[name] if own_priors else {}
    priors = {key: np.asarray(value, dtype=np.float64) for key, value in priors.items()}
    model = MODELS[name](*rounds, **priors)
    assert ("label_counts" in model.named_vars) == (layout == "dense")
    plain = model.compile_logp(jacobian=False, mode=QUICK)
    full = model.compile_logp(mode=QUICK)
    for _ in range(3):
        point = draw(name)
        values, jacobian = unconstrained(point)
        expected = expected_logp(name, rounds, point, priors)
        np.testing.assert_allclose(plain(values), expected, **EXACT)
        np.testing.assert_allclose(full(values), expected + jacobian, **EXACT)


@pytest.mark.parametrize("name", NAMES)
def test_gradient_matches_differences_of_the_enumeration(name, rounds):
    model = MODELS[name](*rounds, **PRIORS[name])
    gradient = model.compile_dlogp(mode=QUICK)
    point = draw(name)
    values, _ = unconstrained(point)
    flat = {var.name: values[var.name] for var in model.value_vars}

    def target(moved):
        back = {}
        for key, value in moved.items():
            stem = key.removesuffix("_logodds__").removesuffix("_log__")
            scale = expit if "logodds" in key else np.exp if "_log__" in key else np.asarray
            back[stem] = scale(value)
        return expected_logp(name, rounds, back, PRIORS[name]) + unconstrained(back)[1]

    expected = []
    for key, value in flat.items():
        for position in np.ndindex(value.shape):
            sides = []
            for step in (1e-5, -1e-5):
                moved = {k: v.copy() for k, v in flat.items()}
                moved[key][position] += step
                sides.append(target(moved))
            expected.append((sides[0] - sides[1]) / 2e-5)
    # Rounding 1e-15 * 60 / 1e-5 and truncation 1e-10 times third derivatives of order one.
    np.testing.assert_allclose(gradient(flat), expected, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("name", NAMES)
def test_class_log_likelihood_of_every_current_item(name, rounds):
    model = MODELS[name](*rounds)
    inputs = [rv for rv in model.free_RVs if rv.name in draw(name) and "prevalence" not in rv.name]
    import pytensor

    function = pytensor.function(inputs, model["class_log_likelihood"], mode=QUICK)
    point = draw(name)
    value = function(*(np.asarray(point[rv.name], dtype=float) for rv in inputs))
    pair = [rates(name, point, rate) for rate in ("sensitivity", "specificity")]
    for item in range(rounds[1].n_items):
        for truth in (0, 1):
            expected = np.log(brute.item_chance(rounds[1], item, truth, *pair))
            np.testing.assert_allclose(value[item, truth], expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_four_hundred_labels_and_rates_at_the_ends_stay_finite(name):
    labelers = [f"j{k:03d}" for k in range(400)]
    rows = [dict.fromkeys(labelers, value) for value in (0, 1)]
    model = MODELS[name](from_rows(rows, gold=[0, 1]), from_rows(rows))
    logp = model.compile_logp(mode=QUICK)
    gradient = model.compile_dlogp(mode=QUICK)
    point = model.initial_point()
    for scale in (0.0, 8.0, 30.0):
        moved = {k: v + scale * (not k.endswith("_log__")) for k, v in point.items()}
        assert np.isfinite(logp(moved))
        assert np.isfinite(gradient(moved)).all()
