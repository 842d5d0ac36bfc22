"""Models ``regression`` and ``drift``: log-density by enumeration, build, priors."""

import brute
import numpy as np
import pymc as pm
import pytensor
import pytest
from scipy.special import expit, logit
from scipy.stats import beta, halfnorm, kstest, logistic, norm
from toy import Labels, make_labels, simulate

import hero_bayes.models.independent as independent
from hero_bayes.errors import Refusal
from hero_bayes.inference.graph import QUICK
from hero_bayes.models import MODELS, hero, hero_regression, pooled, pooled_drift

EXACT = {"rtol": 1e-9, "atol": 0.0}
RATES = ("sensitivity", "specificity")
CASES = ("regression", "drift", "drift_with_priors")
# float64, because PyTensor holds Python floats in single precision where that is exact.
PRIORS = {
    "regression": {"slope_prior": 0.7, "sensitivity_prior": (4.0, 2.0)},
    "drift": {"spread": 0.4, "shift_sensitivity": -0.6, "shift_specificity": 0.3},
    "drift_with_priors": {
        "prevalence_prior": (2.0, 3.0),
        "labeler_spread_prior": 0.6,
        "shift_sensitivity": -0.6,
        "shift_prior": 0.8,
        "spread_prior": 0.3,
    },
}
PRIORS = {
    case: {k: np.asarray(v, dtype=np.float64)[()] for k, v in priors.items()}
    for case, priors in PRIORS.items()
}


def model_of(case):
    return MODELS[case.removesuffix("_with_priors")]


@pytest.fixture(scope="module")
def rounds():
    """Two groups in either round, partial gold in both, labeler d unseen in history."""
    past = ["a1 b1", "a0 b0 c1", "a1 c0", "b1", "a0 b1 c0", "c1", "a1 b1 c1", "b0 c0"]
    now = ["a1 b0", "a1 c1 d1", "b0 c0", "a0 d0", "a1 b1 c0", "b1 d1"]
    nan = np.nan
    return (
        table(past, gold=[1, 0, nan, nan, nan, 1, nan, nan], round=["r1"] * 4 + ["r2"] * 4),
        table(now, gold=[nan, nan, 0, nan, 1, nan], arm=["A", "B"] * 3),
    )


def table(rows, **columns):
    x = np.random.default_rng(len(rows)).normal(2, 3, (2, len(rows)))
    columns |= {"x": x[0], "w": x[1] ** 2}
    cells = [(i, cell[0], int(cell[1])) for i, row in enumerate(rows) for cell in row.split()]
    return make_labels(*zip(*cells, strict=True), columns, ["x", "w"])


def draw(case, rng):
    """Values of all free variables."""
    normal = {f"{rate}_mean": () for rate in RATES} | {f"{rate}_offset": 4 for rate in RATES}
    spreads = [f"{rate}_spread" for rate in RATES]
    if case == "regression":
        point = {name: rng.normal(size=2) for name in ("history_intercept", "intercept", "slope")}
        return point | {rate: rng.uniform(0.2, 0.95, 3) for rate in RATES}
    normal |= {f"drift_offset_{rate}": 4 for rate in RATES}
    if case == "drift_with_priors":
        normal |= {f"drift_shift_{rate}": () for rate in RATES}
        spreads.append("drift_spread")
    point = {name: np.asarray(rng.normal(size=size)) for name, size in normal.items()}
    point |= {name: np.asarray(rng.uniform(0.2, 2)) for name in spreads}
    groups = ("history_prevalence", "prevalence")
    return point | {name: rng.uniform(0.1, 0.9, 2) for name in groups}


def labeler_rates(case, point):
    """Rates by labeler name: history's pair, then the current pair."""
    names = "abc" if case == "regression" else "abcd"
    if case == "regression":
        pair = [point[rate] for rate in RATES]
        both = (pair, pair)
    else:
        p = PRIORS[case]
        logits = [
            point[f"{rate}_mean"] + point[f"{rate}_spread"] * point[f"{rate}_offset"]
            for rate in RATES
        ]
        moved = [
            value
            + point.get(f"drift_shift_{rate}", p.get(f"shift_{rate}", 0.0))
            + point.get("drift_spread", p.get("spread")) * point[f"drift_offset_{rate}"]
            for rate, value in zip(RATES, logits, strict=True)
        ]
        both = (map(expit, logits), map(expit, moved))
    return [[dict(zip(names, values, strict=True)) for values in pair] for pair in both]


def chances(case, rounds, point):
    """P(truth 1) of every item of history and of the current round."""
    history, current = rounds
    if case != "regression":
        return (
            point["history_prevalence"][history.group_idx],
            point["prevalence"][current.group_idx],
        )
    raw = [np.stack([r.covariates["x"], r.covariates["w"]], axis=1) for r in rounds]
    past, now = ((x - raw[0].mean(0)) / raw[0].std(0) @ point["slope"] for x in raw)
    return (
        expit(point["history_intercept"][history.group_idx] + past),
        expit(point["intercept"][current.group_idx] + now),
    )


def log_prior(case, point):
    p = PRIORS[case]
    if case == "regression":
        intercepts = np.concatenate([point["history_intercept"], point["intercept"]])
        return (
            logistic.logpdf(intercepts).sum()
            + norm.logpdf(point["slope"], 0, p["slope_prior"]).sum()
            + beta.logpdf(point["sensitivity"], *p["sensitivity_prior"]).sum()
        )
    rates = np.concatenate([point["history_prevalence"], point["prevalence"]])
    total = beta.logpdf(rates, *p.get("prevalence_prior", (1, 1))).sum()
    for rate in RATES:
        total += norm.logpdf(point[f"{rate}_mean"], 1, 1)
        total += halfnorm.logpdf(point[f"{rate}_spread"], scale=p.get("labeler_spread_prior", 1.0))
        total += norm.logpdf(point[f"{rate}_offset"]).sum()
        total += norm.logpdf(point[f"drift_offset_{rate}"]).sum()
        if "shift_prior" in p:
            mean = p.get(f"shift_{rate}", 0.0)
            total += norm.logpdf(point[f"drift_shift_{rate}"], mean, p["shift_prior"])
    if "spread_prior" in p:
        total += halfnorm.logpdf(point["drift_spread"], scale=p["spread_prior"])
    return total


def unconstrained(model, point):
    """Values by name of the value variables."""
    out = {}
    for rv in model.free_RVs:
        value, name = point[rv.name], model.rvs_to_values[rv].name
        out[name] = value
        if name.endswith("_log__"):
            out[name] = np.log(value)
        elif name.endswith("_logodds__"):
            out[name] = logit(value)
    return out


@pytest.mark.parametrize("layout", ["dense", "sparse"])
@pytest.mark.parametrize("case", CASES)
def test_logp_matches_enumeration(case, layout, rounds, monkeypatch):
    if layout == "sparse":
        monkeypatch.setattr(independent, "DENSE_SHARE", 10.0)
    model = model_of(case)(*rounds, **PRIORS[case])
    plain = model.compile_logp(jacobian=False, mode=QUICK)
    rng = np.random.default_rng(8)
    for _ in range(3):
        point = draw(case, rng)
        assert set(point) == {rv.name for rv in model.free_RVs}
        expected = log_prior(case, point)
        for labels, pair, chance in zip(
            rounds, labeler_rates(case, point), chances(case, rounds, point), strict=True
        ):
            expected += sum(brute.item_log_likelihoods(labels, *pair, chance))
        np.testing.assert_allclose(plain(unconstrained(model, point)), expected, **EXACT)


def evaluated(model, names, point):
    inputs = list(model.free_RVs)
    function = pytensor.function(
        inputs, [model[name] for name in names], mode=QUICK, on_unused_input="ignore"
    )
    return function(*(np.asarray(point[rv.name], dtype=float) for rv in inputs))


@pytest.mark.parametrize("case", CASES)
def test_dense_and_sparse_class_log_likelihood(case, rounds, monkeypatch):
    point = draw(case, np.random.default_rng(9))
    dense = evaluated(model_of(case)(*rounds, **PRIORS[case]), ["class_log_likelihood"], point)[0]
    monkeypatch.setattr(independent, "DENSE_SHARE", 10.0)
    model = model_of(case)(*rounds, **PRIORS[case])
    assert "item_idx" in model.named_vars
    sparse = evaluated(model, ["class_log_likelihood"], point)[0]
    np.testing.assert_allclose(sparse, dense, rtol=1e-12, atol=1e-14)
    current, pair = rounds[1], labeler_rates(case, point)[1]
    expected = [
        [np.log(brute.item_chance(current, item, truth, *pair)) for truth in (0, 1)]
        for item in range(current.n_items)
    ]
    np.testing.assert_allclose(dense, expected, rtol=1e-9, atol=1e-12)


def test_rates_of_the_regression_average_over_history(rounds):
    point = draw("regression", np.random.default_rng(10))
    model = hero_regression(*rounds, **PRIORS["regression"])
    rate, history_rate, part, past_part = evaluated(
        model,
        ["prevalence", "history_prevalence", "covariate_log_odds", "history_covariate_log_odds"],
        point,
    )
    np.testing.assert_allclose(
        rate, expit(point["intercept"][:, None] + past_part).mean(axis=1), **EXACT
    )
    past, now = chances("regression", rounds, point)
    group = rounds[0].group_idx
    np.testing.assert_allclose(history_rate, [past[group == g].mean() for g in (0, 1)], **EXACT)
    np.testing.assert_allclose(
        part, logit(now) - point["intercept"][rounds[1].group_idx], rtol=1e-9, atol=1e-12
    )


@pytest.mark.parametrize("case", CASES)
def test_dims_and_coords(case, rounds):
    model = model_of(case)(*rounds, **PRIORS[case])
    dims = model.named_vars_to_dims
    for name in ("prevalence", "history_prevalence", *RATES):
        assert len(dims[name]) == 1
    assert dims["class_log_likelihood"] == ("item", "truth")
    assert [v.name for v in model.free_RVs if v.ndim and v.name not in dims] == []
    assert list(model.coords["group"]) == ["A", "B"]
    assert list(model.coords["history_group"]) == ["r1", "r2"]
    assert list(model.coords["labeler"]) == list("abc" if case == "regression" else "abcd")
    if case == "regression":
        assert list(model.coords["covariate"]) == ["x", "w"]
        assert dims["slope"] == ("covariate",)
        assert dims["covariate_log_odds"] == ("item",)
    else:
        assert dims["current_sensitivity"] == dims["current_specificity"] == ("labeler",)
        assert dims["drift_offset_sensitivity"] == ("labeler",)


@pytest.mark.parametrize(
    ("model", "argument", "value", "variable", "parameters"),
    [
        (hero_regression, "slope_prior", 0.3, "slope", (0.0, 0.3)),
        (hero_regression, "sensitivity_prior", (7.0, 2.0), "sensitivity", (7.0, 2.0)),
        (hero_regression, "specificity_prior", (8.0, 3.0), "specificity", (8.0, 3.0)),
        (pooled_drift, "prevalence_prior", (3.0, 9.0), "prevalence", (3.0, 9.0)),
        (pooled_drift, "sensitivity_prior", (2.5, 0.3), "sensitivity_mean", (2.5, 0.3)),
        (pooled_drift, "specificity_prior", (-1.5, 0.3), "specificity_mean", (-1.5, 0.3)),
        (pooled_drift, "labeler_spread_prior", 0.25, "sensitivity_spread", (0.0, 0.25)),
        (pooled_drift, "spread_prior", 0.125, "drift_spread", (0.0, 0.125)),
        (pooled_drift, "shift_prior", 0.5, "drift_shift_specificity", (0.0, 0.5)),
    ],
)
def test_priors_reach_the_graph(model, argument, value, variable, parameters, rounds):
    owner = model(*rounds, **{argument: value})[variable].owner
    found = [float(np.mean(p.eval())) for p in owner.op.dist_params(owner)]
    np.testing.assert_allclose(found, parameters, rtol=1e-6)


def test_shift_is_the_mean_of_its_prior(rounds):
    built = pooled_drift(*rounds, shift_sensitivity=-0.75, shift_prior=0.5)
    owner = built["drift_shift_sensitivity"].owner
    assert float(owner.op.dist_params(owner)[0].eval()) == -0.75
    assert "drift_spread" not in built.named_vars


def test_regression_without_covariates(rounds):
    history, current = rounds
    bare = make_labels([0, 0, 1], ["a", "b", "a"], [1, 0, 1])
    for pair in ((history, bare), (bare, current), (bare, bare)):
        with pytest.raises(Refusal, match="regression needs covariates"):
            hero_regression(*pair)
    assert list(hero_regression(*rounds, covariates=["w"]).coords["covariate"]) == ["w"]


def test_constant_covariate_in_history_stays_finite():
    problem = simulate(62, n_history=12, n_current=6, n_labelers=2, labels_per_item=2)
    problem.past.items["x"] = 3.0
    history, current = (
        Labels.from_frames(r.verdicts, r.items, covariates=["x"])
        for r in (problem.past, problem.now)
    )
    model = hero_regression(history, current)
    assert (model["history_covariates"].get_value() == 0).all()
    assert np.isfinite(model.compile_logp(mode=QUICK)(model.initial_point()))


@pytest.mark.parametrize("model", [hero, pooled, pooled_drift])
def test_prior_of_prevalence_is_flat(model, rounds):
    names = ("prevalence", "history_prevalence")
    built = model(*rounds)
    for values in pm.draw([built[n] for n in names], draws=2000, random_seed=1, mode=QUICK):
        for group in range(2):
            assert kstest(values[:, group], "uniform").pvalue > 1e-4


def test_intercept_prior_is_flat_on_the_rate(rounds):
    built = hero_regression(*rounds)
    values = pm.draw(built["intercept"], draws=4000, random_seed=1, mode=QUICK)
    assert kstest(expit(values.ravel()), "uniform").pvalue > 1e-4


def test_pooled_prior_of_rates_is_above_chance_but_may_go_below(rounds):
    for factory, names in ((pooled, RATES), (pooled_drift, [f"current_{r}" for r in RATES])):
        built = factory(*rounds)
        for values in pm.draw([built[n] for n in names], draws=1000, random_seed=2, mode=QUICK):
            assert values.mean() > 0.6
            assert 0.05 < (values < 0.5).mean() < 0.35
