"""The correlated labeler layer: its integrals against quadrature by other means."""

import numpy as np
import pandas as pd
import pymc as pm
import pytensor
import pytest
from scipy.integrate import dblquad, quad
from scipy.special import expit, log_ndtr, logsumexp
from scipy.stats import halfnorm, norm
from toy import from_rows, make_labels, simulate

import hero_bayes as hb
import hero_bayes.models.shared_effects as module
from hero_bayes.data.panel import align
from hero_bayes.inference.graph import QUICK
from hero_bayes.likelihoods.shared_effect import (
    marginal_rate,
    node_count,
    normal_nodes,
)
from hero_bayes.models import MODELS, correlated
from hero_bayes.models.composition import coordinates, two_rounds
from hero_bayes.models.independent import LabelerRates, flat
from hero_bayes.models.prompt_difficulty import prompt_difficulty
from hero_bayes.models.rigid import rigid

RNG = np.random.default_rng(5)
FREE = {
    "label_logit_mean",
    "label_logit_spread",
    "label_logit_offset",
    "loading",
    "history_prevalence",
    "prevalence",
}


def parameters(n_labelers, loading, family_loading=None):
    """Values of the layer's free variables."""
    values = {
        "label_logit_mean": RNG.normal([-1, 1], 0.3),
        "label_logit_spread": RNG.uniform(0.5, 1.0, 2),
        "label_logit_offset": RNG.normal(size=(2, n_labelers - 1)),
        "loading": np.broadcast_to(np.asarray(loading, dtype=float), 2).copy(),
    }
    if family_loading is not None:
        values["family_loading"] = np.broadcast_to(np.asarray(family_loading, float), 2).copy()
    return values


def evaluate(model, name, values):
    """One variable of the model at given values of the free variables."""
    inputs = [rv for rv in model.free_RVs if rv.name in values]
    function = pytensor.function(
        inputs, model[name], givens=[], mode=QUICK, on_unused_input="ignore"
    )
    return function(*(np.asarray(values[rv.name], dtype=float) for rv in inputs))


def logits(model, values):
    """e (truth, labeler); its law is tested on its own."""
    return evaluate(model, "label_logit", values)


def verdicts(labels, item):
    span = slice(labels.item_ptr[item], labels.item_ptr[item + 1])
    return labels.labeler_idx[span], labels.label[span]


#: Far denser than any integrand here is narrow, and to the ends of the normal law.
DENSE = np.linspace(-9.0, 9.0, 20_001)


def log_integral(who, label, e, loading, shift=0.0):
    """log int phi(u) prod_j P(z_j | u) du, a product over labels on a dense grid."""
    sign = np.where(label == 1, 1.0, -1.0)
    logs = norm.logpdf(DENSE)
    for j, direction in zip(who, sign, strict=True):
        logs = logs - np.logaddexp(0, -direction * (e[j] + loading * DENSE + shift))
    return logsumexp(logs) + np.log(DENSE[1] - DENSE[0])


def test_the_dense_grid_agrees_with_scipy():
    who, label, e = np.arange(3), np.array([1, 0, 1]), np.array([0.5, -1.0, 2.0])

    def density(u):
        return norm.pdf(u) * np.prod(expit(np.array([1, -1, 1]) * (e + 2.5 * u)))

    value = quad(density, -9, 9, epsabs=1e-14, epsrel=1e-12, limit=300)[0]
    assert log_integral(who, label, e, 2.5) == pytest.approx(np.log(value), abs=1e-10)


def votes(n_labelers, n_items, seed, missing=0.0):
    """Rounds whose labels are coin flips with a different bias an item."""
    rng = np.random.default_rng(seed)
    keep = rng.random((n_items, n_labelers)) >= missing
    keep[:, 0] = True
    item, labeler = np.nonzero(keep)
    share = rng.random(n_items)
    label = (rng.random(item.size) < share[item]).astype(int)
    gold = np.where(np.arange(n_items) < 2, np.arange(n_items) % 2, np.nan)
    return make_labels(item, labeler, label, {"item": range(n_items), "gold": gold})


@pytest.mark.parametrize(
    ("n_labelers", "loading", "missing"),
    [(3, 0.4, 0.3), (3, 3.0, 0.0), (9, 1.5, 0.2), (60, 0.7, 0.0), (60, 3.0, 0.1), (1000, 1.0, 0.0)],
)
def test_log_likelihood_matches_adaptive_quadrature(n_labelers, loading, missing):
    labels = votes(n_labelers, 6, n_labelers, missing)
    model = correlated(labels, labels)
    values = parameters(n_labelers, [loading, 0.7 * loading])
    found = evaluate(model, "class_log_likelihood", values)
    e = logits(model, values)
    for item in range(labels.n_items):
        for truth in (0, 1):
            expected = log_integral(*verdicts(labels, item), e[truth], values["loading"][truth])
            assert found[item, truth] == pytest.approx(expected, abs=1e-8)


def test_unanimous_items_at_extreme_logits_match():
    rows = [dict.fromkeys(range(60), value) for value in (0, 1)]
    labels = from_rows(rows, gold=[0, 1])
    values = parameters(60, [3.0, 2.0])
    values["label_logit_mean"] = np.array([-4.0, 4.0])
    model = correlated(labels, labels)
    found = evaluate(model, "class_log_likelihood", values)
    for item in (0, 1):
        for truth in (0, 1):
            e, loading = logits(model, values)[truth], values["loading"][truth]
            expected = log_integral(*verdicts(labels, item), e, loading)
            assert found[item, truth] == pytest.approx(expected, abs=1e-8)


def family_rounds():
    """Two families of two and three, a labeler alone in a family, one without."""
    rng = np.random.default_rng(3)
    keep = rng.random((8, 7)) < 0.8
    item, labeler = np.nonzero(keep)
    table = pd.DataFrame(
        {"item": item, "labeler": labeler, "label": (rng.random(item.size) < 0.5).astype(int)}
    )
    facts = pd.DataFrame({"item": range(8), "gold": [0, 1, *[np.nan] * 6]})
    labelers = pd.DataFrame({"labeler": range(7), "family": [*"aabbb", "c", None]})
    return hb.Labels.from_frames(table, facts, labelers)


def log_family_integral(item_verdicts, families, e, loading, family_loading):
    """The double integral on dense grids: for every u, a product over families of sums over v."""
    who, label = item_verdicts
    sign, own = np.where(label == 1, 1.0, -1.0), families[who]
    u, v = np.linspace(-8.5, 8.5, 1201), np.linspace(-8.5, 8.5, 901)
    logs = norm.logpdf(u) + np.log(u[1] - u[0])
    for j, direction in zip(who[own < 0], sign[own < 0], strict=True):
        logs = logs - np.logaddexp(0, -direction * (e[j] + loading * u))
    for f in np.unique(own[own >= 0]):
        inner = np.broadcast_to(norm.logpdf(v) + np.log(v[1] - v[0]), (u.size, v.size))
        for j, direction in zip(who[own == f], sign[own == f], strict=True):
            logit = e[j] + loading * u[:, None] + family_loading * v
            inner = inner - np.logaddexp(0, -direction * logit)
        logs = logs + logsumexp(inner, axis=1)
    return logsumexp(logs)


def test_families_match_a_double_integral():
    labels = family_rounds()
    model = correlated(labels, labels)
    families = np.array([0, 0, 1, 1, 1, -1, -1])
    assert (model["labeler_family"].get_value() == families).all()
    values = parameters(7, [1.2, 0.6], [0.8, 1.7])
    found = evaluate(model, "class_log_likelihood", values)
    e = logits(model, values)
    for item in range(4):
        for truth in (0, 1):
            pair = values["loading"][truth], values["family_loading"][truth]
            expected = log_family_integral(verdicts(labels, item), families, e[truth], *pair)
            assert found[item, truth] == pytest.approx(expected, abs=1e-8)


@pytest.mark.slow
def test_the_double_integral_agrees_with_scipy():
    who, label = np.arange(3), np.array([1, 0, 1])
    families, e = np.array([0, 0, -1]), np.array([0.5, -1.0, 2.0])
    sign, member = np.array([1, -1, 1]), np.array([1, 1, 0])

    def density(v, u):
        logit = e + 0.9 * u + 1.1 * v * member
        return np.exp(-(u**2 + v**2) / 2) / (2 * np.pi) * np.prod(1 / (1 + np.exp(-sign * logit)))

    expected = dblquad(density, -8, 8, -8, 8, epsabs=1e-9, epsrel=1e-8)[0]
    found = log_family_integral((who, label), families, e, 0.9, 1.1)
    assert found == pytest.approx(np.log(expected), abs=1e-7)


@pytest.mark.parametrize("share", [0.1, 10.0])
def test_without_loading_the_layer_is_independent(share, monkeypatch):
    monkeypatch.setattr(module, "DENSE_SHARE", share)
    history, current = simulate(3, n_history=20, n_current=15, n_labelers=5).rounds
    model = correlated(history, current)
    values = parameters(5, 0.0)
    found = evaluate(model, "class_log_likelihood", values)
    panel = align(history, current, unseen="include")
    e = logits(model, values)
    with pm.Model(coords=coordinates(panel)):
        rates = LabelerRates(pytensor.shared(expit(e[1])), pytensor.shared(expit(-e[0])))
        expected = rates.class_log_likelihood(panel.current).eval()
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)


def test_sparse_equals_dense(monkeypatch):
    history, current = simulate(4, n_history=25, n_current=20, n_labelers=6).rounds
    tables = (history, current), (family_rounds(), family_rounds())
    for pair, family in zip(tables, (None, [0.7, 1.1]), strict=True):
        values = parameters(align(*pair).labelers.size, [0.5, 1.8], family)
        values |= {"prevalence": [0.3], "history_prevalence": [0.4]}
        found = []
        for share in (0.0, 10.0):
            monkeypatch.setattr(module, "DENSE_SHARE", share)
            model = correlated(*pair)
            assert ("row_counts" in model.named_vars) == (share == 0.0)
            parts = ("class_log_likelihood", "history_labels", "current_labels")
            found.append([evaluate(model, name, values) for name in parts])
        for dense, sparse in zip(*found, strict=True):
            np.testing.assert_allclose(dense, sparse, rtol=0, atol=1e-12)


def test_rates_are_averages_over_the_effects():
    labels = family_rounds()
    values = parameters(7, [1.5, 2.5], [1.0, 0.5])
    model = correlated(labels, labels)
    e, normal = logits(model, values), np.random.default_rng(8).standard_normal((2, 400_000))
    for name, truth in (("sensitivity", 1), ("specificity", 0)):
        rate = evaluate(model, name, values)
        for j in (0, 5, 6):
            k = values["family_loading"][truth] * (j < 5)
            chance = expit(e[truth, j] + values["loading"][truth] * normal[0] + k * normal[1])
            chance = chance if truth else 1 - chance
            # Four standard errors of the simulated mean.
            assert rate[j] == pytest.approx(chance.mean(), abs=4 * chance.std() / 400_000**0.5)
    grid = normal_nodes(node_count(3))
    # int Phi(a + b u) phi(u) du = Phi(a / sqrt(1 + b^2)); expit is close to Phi(x / 1.70) to .01.
    wide = marginal_rate(np.array([1.7]), 1.7, grid, np)
    assert wide[0] == pytest.approx(np.exp(log_ndtr(1 / np.sqrt(2))), abs=0.01)


def test_variables_dims_and_coords():
    history, current = simulate(61, n_history=30, n_current=20, arms=("A", "B")).rounds
    model = MODELS["correlated"](history, current)
    assert {rv.name for rv in model.free_RVs} == FREE
    dims = model.named_vars_to_dims
    for name in ("label_logit_mean", "label_logit_spread", "loading"):
        assert dims[name] == ("truth",)
    assert dims["label_logit_offset"] == ("truth", "labeler_contrast")
    assert dims["label_logit"] == ("truth", "labeler")
    assert dims["sensitivity"] == dims["specificity"] == ("labeler",)
    assert dims["class_log_likelihood"] == ("item", "truth")
    assert list(model.coords["group"]) == ["A", "B"]


def test_priors_and_arguments_reach_the_graph():
    labels = family_rounds()
    model = correlated(
        labels,
        labels,
        positive_mean_prior=(2.0, 0.3),
        negative_mean_prior=(-3.0, 0.4),
        spread_prior=0.25,
        loading_prior=0.5,
        family_loading_prior=0.75,
        prevalence_prior=(2.0, 5.0),
    )

    def prior(name):
        owner = model[name].owner
        return [np.asarray(p.eval()).tolist() for p in owner.op.dist_params(owner)]

    mean, scale = model["label_logit_mean"].owner.inputs[-2:]
    assert np.asarray(mean.eval()).tolist() == [-3.0, 2.0]
    spread = {model["label_logit_spread"]: np.zeros(2)}
    assert scale.eval(spread).tolist() == [0.4, 0.3]
    assert prior("prevalence") == [[2.0], [5.0]]
    for name, scale in (("label_logit_spread", 0.25), ("loading", 0.5), ("family_loading", 0.75)):
        assert np.ravel(prior(name)[1]).tolist() in ([scale], [scale, scale])
    plain = correlated(labels, labels, family=False)
    assert "family_loading" not in plain.named_vars
    wide = correlated(labels, labels, loading_bound=8.0)
    assert wide["effect_nodes"].get_value().size > model["effect_nodes"].get_value().size


def test_logp_is_priors_plus_likelihood():
    history, current = simulate(6, n_history=12, n_current=10, n_labelers=4).rounds
    model = correlated(history, current)
    values = parameters(4, [0.6, 1.4])
    point = {**values, "prevalence": np.array([0.3]), "history_prevalence": np.array([0.45])}
    spread = values["label_logit_spread"]
    left = 12.0 / (1.0 + history.n_labels / 4)
    scale = np.sqrt(spread**2 + left)[:, None]
    prior = (
        norm.logpdf(values["label_logit_mean"], [-1, 1], np.sqrt(1.5**2 + spread**2 / 4)).sum()
        + norm.logpdf(values["label_logit_offset"], 0.0, scale).sum()
        + halfnorm.logpdf([values["label_logit_spread"], values["loading"]]).sum()
    )
    e, total = logits(model, values), prior
    for labels, rate in ((history, 0.45), (current, 0.3)):
        for item in range(labels.n_items):
            who, label = verdicts(labels, item)
            terms = [
                np.log([1 - rate, rate][y]) + log_integral(who, label, e[y], values["loading"][y])
                for y in (0, 1)
            ]
            gold = labels.gold[item]
            total += logsumexp(terms) if np.isnan(gold) else terms[int(gold)]
    transformed = {
        "prevalence": "prevalence_logodds__",
        "history_prevalence": "history_prevalence_logodds__",
        "loading": "loading_log__",
        "label_logit_spread": "label_logit_spread_log__",
    }
    scale = {"logodds__": lambda p: np.log(p / (1 - p)), "log__": np.log}
    unconstrained = {}
    for name, value in point.items():
        new = transformed.get(name, name)
        unconstrained[new] = scale.get(new.rsplit("_", 3)[-3] + "__", np.asarray)(value)
    found = model.compile_logp(jacobian=False, mode=QUICK)(unconstrained)
    # PyTensor holds priors' constants in single precision where that is exact.
    assert found == pytest.approx(total, abs=1e-6)


def test_power_counts_items_without_gold_for_less():
    history, current = simulate(6, n_history=12, n_current=10, n_labelers=4).rounds
    values = parameters(4, 1.0) | {"prevalence": [0.3], "history_prevalence": [0.4]}
    full, less = (correlated(history, current, unlabeled_power=p) for p in (1.0, 0.3))
    for name, labels in (("history_labels", history), ("current_labels", current)):
        factor = np.where(labels.has_gold, 1.0, 0.3)
        np.testing.assert_allclose(
            evaluate(less, name, values), factor * evaluate(full, name, values), rtol=1e-12
        )
    parts = [evaluate(model, "class_log_likelihood", values) for model in (full, less)]
    np.testing.assert_array_equal(*parts)


def test_gradient_is_finite_and_right_at_the_start_and_far_out():
    history, current = simulate(6, n_history=12, n_current=10, n_labelers=4).rounds
    model = correlated(history, current)
    logp, gradient = model.compile_logp(mode=QUICK), model.compile_dlogp(mode=QUICK)
    start = model.initial_point()
    for shift in (0.0, 2.0, -8.0):
        point = {k: v + shift for k, v in start.items()}
        found = gradient(point)
        assert np.isfinite(found).all()
        numeric = []
        for var in model.value_vars:
            for index in np.ndindex(point[var.name].shape):
                sides = []
                for step in (1e-5, -1e-5):
                    moved = {k: v.copy() for k, v in point.items()}
                    moved[var.name][index] += step
                    sides.append(float(logp(moved)))
                numeric.append((sides[0] - sides[1]) / 2e-5)
        # Rounding 1e-16 |logp| / 1e-5 and truncation 1e-10 times third derivatives.
        size = abs(float(logp(point)))
        np.testing.assert_allclose(found, numeric, rtol=1e-6, atol=1e-6 + 1e-10 * size)


def test_unseen_labelers_are_drawn_from_the_population():
    history = from_rows([{"a": 1, "b": 1}, {"a": 0, "b": 0}], gold=[1, 0])
    current = from_rows([{"a": 1, "new": 1}, {"new": 0}])
    model = correlated(history, current)
    assert list(model.coords["labeler"]) == ["a", "b", "new"]


def test_refusals():
    history, current = simulate(6, n_history=12, n_current=10, n_labelers=4).rounds
    with pytest.raises(hb.Refusal, match="family"):
        correlated(history, current, family=True)
    with pytest.raises(TypeError, match="bogus"):
        correlated(history, current, bogus=1)


def test_too_large_family_tables_are_refused(monkeypatch):
    monkeypatch.setattr(module, "FAMILY_LIMIT", 1000)
    with pytest.raises(hb.Refusal, match="'family': False"):
        correlated(family_rounds(), family_rounds())


def test_power_is_refused_where_items_of_a_prompt_hang_together():
    rows = [{"a": 1, "b": 1}, {"a": 0, "b": 0}, {"a": 1, "b": 0}]
    history, current = from_rows(rows, gold=[1, 0, 1]), from_rows(rows, prompt=["p", "p", "q"])
    panel = align(history, current)
    with pm.Model(coords=coordinates(panel)):
        rates, outcome = flat(), prompt_difficulty(panel)
        with pytest.raises(hb.Refusal, match="leave it at 1"):
            two_rounds(panel, outcome, rates, rigid(rates), unlabeled_power=0.5)
