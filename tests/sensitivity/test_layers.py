"""The sweep over fits of every layer."""

import numpy as np
import pytest
from scipy.special import expit, logit
from toy import make_labels, simulate

import hero_bayes as hb
from hero_bayes.decision.decide import decide
from hero_bayes.decision.rule import Rule
from hero_bayes.estimators.anchored_em import anchor
from hero_bayes.sensitivity.engine import engine_of
from hero_bayes.sensitivity.labelers import flat_draws, labelers_of
from hero_bayes.sensitivity.questions import question_of
from hero_bayes.sensitivity.shared import SharedErrors
from hero_bayes.sensitivity.transport import transport_sensitivity

LAYERS = ["drift", "regression", "correlated"]


@pytest.fixture(scope="module")
def problem():
    return simulate(
        5, n_history=120, n_current=60, n_labelers=4, labels_per_item=3, arms=("A", "B")
    ).rounds


def open_fit(fit, rounds, group="A", metric="prevalence"):
    question = question_of(fit, None, metric, group)
    return engine_of(fit, *rounds, question, draws=1000, random_seed=1)


def check_layer(fit, rounds):
    """No shift is the fit; shifts move the rate the right way."""
    sweep = transport_sensitivity(fit, *rounds, grid=[-0.5, 0.5], group="A", draws=1000)
    draws = fit["posterior"]["prevalence"].sel(group="A").to_numpy().ravel()
    base = sweep.sel(shift_sensitivity=0.0, shift_specificity=0.0)["mean"].item()
    # Exact but for the weights of history, which a regression draws anew, and draws without
    # evidence.
    assert base == pytest.approx(draws.mean(), abs=4 * draws.std() / np.sqrt(draws.size) + 1e-9)
    assert (sweep["mean"].diff("shift_sensitivity") < 0).all()
    assert (sweep["mean"].diff("shift_specificity") > 0).all()
    assert sweep.attrs["read_as"]
    return sweep


@pytest.mark.slow
@pytest.mark.parametrize("model", LAYERS)
def test_layers_with_rates(problem, model):
    fit = hb.fit(*problem, model=model, mode="laplace", random_seed=1, draws=100, chains=2)
    check_layer(fit, problem)


@pytest.mark.parametrize("model", ["score", "auto"])
def test_layers_without_rates(problem, model):
    fit = hb.fit(*problem, model=model, random_seed=1, draws=200, chains=2)
    sweep = check_layer(fit, problem)
    assert "no labeler rates" in sweep.attrs["read_as"]


def test_the_drift_that_happened_gives_the_rate_that_was():
    rng = np.random.default_rng(12)
    a, b = np.linspace(1.0, 2.0, 5), np.linspace(2.2, 1.2, 5)
    drift, tables, share = (-0.7, 0.8), [], 0.0
    for n, known, moved in ((1500, 1500, (0.0, 0.0)), (1500, 0, drift)):
        truth = (rng.random(n) < 0.3).astype(int)
        chance = np.where(truth[:, None] == 1, expit(a + moved[0]), expit(-b - moved[1]))
        label = (rng.random(chance.shape) < chance).astype(int)
        item, labeler = np.indices(label.shape)
        gold = np.where(np.arange(n) < known, truth, np.nan)
        tables.append(make_labels(item.ravel(), labeler.ravel(), label.ravel(), {"gold": gold}))
        share = truth.mean()
    fit = hb.fit(*tables, model="auto", random_seed=1, draws=200, chains=2)
    sweep = transport_sensitivity(fit, *tables, grid=[[drift[0]], [drift[1]]])
    base = sweep.sel(shift_sensitivity=0.0, shift_specificity=0.0)["mean"].item()
    right = sweep.sel(shift_sensitivity=drift[0], shift_specificity=drift[1])
    low, _, high = right["quantiles"].to_numpy()
    # The interval is 95 %; the mean lies within three of its standard deviations.
    assert abs(right["mean"].item() - share) < 3 * (high - low) / 3.92
    assert abs(base - share) > 3 * (high - low) / 3.92


def test_independent_draws_of_auto_use_the_anchored_rates(problem):
    fit = hb.fit(
        *problem,
        model="auto",
        priors={"prior_independent": 1.0},
        random_seed=1,
        draws=100,
        chains=1,
    )
    engine = open_fit(fit, problem)
    # The rates of each draw lie around the anchored ones, and so does the worth of a nat.
    assert np.median(engine.labelers.discount) == pytest.approx(1.0, abs=0.1)
    found = anchor(*problem)
    current = found.panel.current
    shift = 0.7
    moved = expit(logit(found.sensitivity) + shift)
    change = engine.labelers.positive(shift) - engine.labelers.positive(0.0)
    item_idx = np.repeat(np.arange(current.n_items), current.labels_per_item)
    a, b = found.sensitivity[current.labeler_idx], moved[current.labeler_idx]
    part = np.where(current.label == 1, np.log(b / a), np.log((1 - b) / (1 - a)))
    expected = np.bincount(item_idx, part, current.n_items)
    np.testing.assert_allclose(change[0], expected, rtol=1e-9, atol=1e-12)


def test_shared_errors_are_discounted():
    # Six labelers who copy each other: their evidence is worth less than independence claims.
    rng = np.random.default_rng(2)
    rounds = []
    for n, known in ((300, 150), (150, 0)):
        truth = (rng.random(n) < 0.4).astype(int)
        shared = np.where(rng.random(n) < 0.8, truth, 1 - truth)
        label = np.where(rng.random((n, 6)) < 0.93, shared[:, None], 1 - shared[:, None])
        item, labeler = np.indices(label.shape)
        gold = np.where(np.arange(n) < known, truth, np.nan)
        rounds.append(make_labels(item.ravel(), labeler.ravel(), label.ravel(), {"gold": gold}))
    fit = hb.fit(*rounds, model="score", random_seed=1, draws=100, chains=1)
    engine = open_fit(fit, rounds, group=None)
    assert float(engine.labelers.discount.mean()) < 0.5


def test_draws_far_out_in_the_tails_stay_where_they_are(problem):
    fit = hb.fit(*problem, model="score", random_seed=1, draws=50, chains=1)
    posterior = fit["posterior"].to_dataset()
    posterior["prevalence"] = posterior["prevalence"] * 0.0 + 1e-40
    fit["posterior"].dataset = posterior
    engine = open_fit(fit, problem)
    assert (engine.groups[0].rank < 0).all()
    np.testing.assert_allclose(engine.base().values, 1e-40, rtol=1e-9)
    assert (engine.moved(1.0, 0.0).values < 1e-10).all()


def test_arms_are_compared_on_the_same_draws(problem):
    fit = hb.fit(*problem, model="auto", random_seed=1, draws=200, chains=2)
    rule = Rule.parse("P(B - A <= 0.1) >= 0.8")
    sweep = transport_sensitivity(fit, *problem, rule, [-0.5, 0.5])
    draws = fit["posterior"].to_dataset().stack(sample=("chain", "draw"))
    rates = draws["prevalence"]
    difference = (rates.sel(group="B") - rates.sel(group="A")).to_numpy()
    base = sweep.sel(shift_sensitivity=0.0, shift_specificity=0.0)
    assert base["mean"].item() == pytest.approx(difference.mean(), abs=1e-6)
    assert base["probability"].item() == pytest.approx(np.mean(difference <= 0.1), abs=1e-9)


def test_joint_rules_need_all_events(problem):
    fit = hb.fit(*problem, model="auto", random_seed=1, draws=200, chains=2)
    parts = ["P(prevalence[A] <= 0.42) >= 0.8", "P(prevalence[B] <= 0.42) >= 0.8"]
    both = transport_sensitivity(fit, *problem, Rule.all(parts), [-0.5])
    rates = fit["posterior"]["prevalence"].to_numpy().reshape(-1, 2)
    base = both.sel(shift_sensitivity=0.0, shift_specificity=0.0)
    assert base["probability"].item() == pytest.approx(np.mean((rates <= 0.42).all(1)), abs=1e-9)
    for part in parts:
        alone = transport_sensitivity(fit, *problem, part, [-0.5])
        assert (alone["probability"] >= both["probability"]).all()


def test_decisions_are_those_of_decide(problem):
    fit = hb.fit(*problem, model="auto", random_seed=1, draws=200, chains=2)
    parts = ["P(prevalence[A] <= 0.6) >= 0.8", "P(prevalence[B] <= {}) >= 0.9"]
    for limit in np.linspace(0.05, 0.95, 10):
        rule = Rule.all([parts[0], parts[1].format(limit)])
        own = decide(fit, rule, force=True)
        sweep = transport_sensitivity(fit, *problem, rule, [-0.5])
        base = sweep.sel(shift_sensitivity=0.0, shift_specificity=0.0)
        assert sweep.attrs["fit_decision"] == own.outcome == base["decision"].item()
        assert sweep.attrs["fit_probability"] == pytest.approx(own.probability, abs=1e-12)
        assert base["probability"].item() == pytest.approx(own.probability, abs=1e-9)


def test_few_draws_that_decide_otherwise_are_said(problem):
    fit = hb.fit(*problem, model="auto", random_seed=1, draws=200, chains=2)
    rates = fit["posterior"]["prevalence"].sel(group="A").to_numpy()
    said = set()
    for limit in np.quantile(rates, np.linspace(0.76, 0.84, 9)):
        rule = Rule("prevalence", "<=", float(limit), 0.8, group="A")
        sweep = transport_sensitivity(fit, *problem, rule, [-0.5], draws=10)
        base = sweep.sel(shift_sensitivity=0.0, shift_specificity=0.0)["decision"].item()
        warned = "hangs on the number of draws" in sweep.attrs["sentences"]
        assert warned == (base != sweep.attrs["fit_decision"])
        said.add(warned)
    assert said == {True, False}


def test_a_group_must_be_named(problem):
    fit = hb.fit(*problem, model="auto", random_seed=1, draws=20, chains=1)
    with pytest.raises(hb.DataError, match="say which one"):
        transport_sensitivity(fit, *problem)


def test_shared_effect_of_one_item_by_hand(problem):
    current = problem[1]
    rng = np.random.default_rng(3)
    names = [str(name) for name in current.labelers]
    e, loading = rng.normal(size=(3, 2, len(names))), np.abs(rng.normal(size=(3, 2)))
    found = SharedErrors.of(current.with_labelers(names), e, loading, 3, "")
    u = np.linspace(-9, 9, 4001)
    weight = np.exp(-0.5 * u**2)
    weight /= weight.sum()
    for item in (0, 7):
        span = slice(current.item_ptr[item], current.item_ptr[item + 1])
        who, label = current.labeler_idx[span], current.label[span]
        for d in range(3):
            for y, shift, function in ((1, 0.6, found.positive), (0, -0.6, found.negative)):
                # More sensitive: label 1 more often; more specific: less often.
                logits = e[d, y, who] + (shift if y == 1 else -shift)
                chance = expit(logits[:, None] + loading[d, y] * u)
                part = np.where(label[:, None] == 1, chance, 1 - chance).prod(axis=0)
                assert function(shift)[d, item] == pytest.approx(np.log(part @ weight), abs=1e-6)


def test_family_effects_are_refused(problem):
    fit = hb.fit(*problem, model="score", random_seed=1, draws=20, chains=1)
    fit.attrs["model"] = "correlated"
    posterior = fit["posterior"].to_dataset()
    for name in ("label_logit", "loading", "family_loading"):
        posterior[name] = posterior["prevalence"]
    fit["posterior"].dataset = posterior
    with pytest.raises(hb.Refusal, match="families share an effect"):
        labelers_of(fit, flat_draws(fit, 10), *problem)


def test_gold_that_may_be_wrong_stays_evidence():
    rounds = simulate(8, n_history=120, n_current=60, current_gold=0.3).rounds
    options = {"random_seed": 1, "draws": 100, "chains": 2}
    fit = hb.fit(*rounds, model="auto", priors={"gold_error": 0.1}, **options)
    sweep = transport_sensitivity(fit, *rounds, grid=[-0.5])
    base = sweep.sel(shift_sensitivity=0.0, shift_specificity=0.0)["mean"].item()
    assert base == pytest.approx(float(fit["posterior"]["prevalence"].mean()), abs=1e-9)
    assert np.isnan(fit["evidence"]["gold"]).all()
