"""What a fit holds: groups, dims, coords, attributes, seeds; the sampler replaced by the prior."""

import json

import arviz as az
import numpy as np
import pymc as pm
import pytensor.tensor as pt
import pytest
from scipy.stats import beta, kstest
from toy import from_rows, simulate
from wiring import prior_draws

import hero_bayes as hb
from hero_bayes.data.panel import align
from hero_bayes.errors import DataError, Refusal
from hero_bayes.inference.current import kept_draws
from hero_bayes.models import hero

SHORT = {"draws": 20, "tune": 5, "chains": 2, "progressbar": False}


@pytest.fixture(autouse=True)
def no_sampler(monkeypatch):
    monkeypatch.setattr("hero_bayes.inference.fit.sample", prior_draws)


@pytest.fixture(scope="module")
def problem():
    return simulate(81, n_history=40, n_current=30, n_labelers=4, current_gold=0.2, arms=("A", "B"))


def fit(problem, **options):
    return hb.fit(*problem.rounds, **{"model": "hero", **SHORT, "random_seed": 3, **options})


@pytest.mark.parametrize("posterior", ["cut", "joint"])
@pytest.mark.parametrize("model", ["hero", "pooled"])
def test_groups_dims_and_coords(problem, model, posterior):
    tree = fit(problem, model=model, posterior=posterior)
    assert set(tree.children) == {
        "posterior",
        "evidence",
        "constant_data",
        "sample_stats",
        "log_likelihood",
        "log_prior",
        "posterior_predictive",
        "observed_data",
    }
    draws = tree["posterior"]
    for name in ("prevalence", "item_rate"):
        assert draws[name].dims == ("chain", "draw", "group")
        assert float(draws[name].min()) >= 0
        assert float(draws[name].max()) <= 1
    assert draws["history_prevalence"].dims == ("chain", "draw", "history_group")
    assert draws["sensitivity"].dims == draws["specificity"].dims == ("chain", "draw", "labeler")
    assert draws["group"].to_numpy().tolist() == ["A", "B"]
    assert draws["labeler"].to_numpy().tolist() == ["0", "1", "2", "3"]
    assert "class_log_likelihood" not in draws
    ratio = tree["evidence"]["log_likelihood_ratio"]
    assert ratio.dims == ("chain", "draw", "item")
    assert ratio.sizes == {"chain": 2, "draw": 20, "item": 30}
    assert tree["evidence"]["item_group"].to_numpy().tolist() == ["A", "B"] * 15
    assert tree["constant_data"]["arm"].to_numpy().tolist() == ["A", "B"]
    assert np.isfinite(ratio).all()


def test_attributes_tell_where_it_came_from(problem):
    history, current = problem.rounds
    tree = fit(problem, priors={"sensitivity_prior": (2.0, 1.0)})
    attrs = tree.attrs
    assert (attrs["model"], attrs["mode"], attrs["posterior"]) == ("hero", "nuts", "cut")
    assert attrs["random_seed"] == 3
    assert attrs["history_fingerprint"] == history.fingerprint
    assert attrs["current_fingerprint"] == current.fingerprint
    assert attrs["hero_bayes_version"] == hb.__version__
    assert json.loads(attrs["priors"]) == {"sensitivity_prior": [2.0, 1.0]}
    assert (attrs["n_history_items"], attrs["n_current_items"]) == (40, 30)
    assert attrs["labels_left_out"] == 0


def test_labels_left_out_are_counted():
    history = from_rows([{"a": 1, "b": 1}, {"a": 0, "b": 0}], gold=[1, 0])
    current = from_rows([{"a": 1, "new": 1}, {"new": 0, "b": 1}])
    tree = hb.fit(history, current, model="hero", random_seed=1, **SHORT)
    assert tree.attrs["labels_left_out"] == 2
    assert json.loads(tree.attrs["labelers_left_out"]) == ["new"]
    pooled = hb.fit(history, current, model="pooled", random_seed=1, **SHORT)
    assert pooled.attrs["labels_left_out"] == 0


def test_seeds(problem):
    one, again, other = fit(problem), fit(problem), fit(problem, random_seed=4)
    assert one.identical(again)
    for name in ("prevalence", "item_rate", "sensitivity"):
        assert (one["posterior"][name] != other["posterior"][name]).any()
    drawn = fit(problem, random_seed=None)
    assert fit(problem, random_seed=drawn.attrs["random_seed"]).identical(drawn)


def test_arviz_reads_a_fit(problem):
    tree = fit(problem)
    summary = az.summary(tree, var_names=["prevalence", "sensitivity"])
    assert len(summary) == 6
    assert az.rhat(tree)["prevalence"].sizes == {"group": 2}


@pytest.mark.parametrize(("chains", "draws", "kept"), [(4, 1000, 250), (3, 400, 333), (2, 7, 7)])
def test_at_most_a_thousand_draws_of_the_evidence(chains, draws, kept):
    positions = kept_draws(chains, draws)
    assert positions.size == kept
    assert len(set(positions.tolist())) == kept
    assert positions[0] == 0
    assert positions[-1] == draws - 1


def test_evidence_is_that_of_the_kept_draws(problem):
    tree = fit(problem, draws=600)
    evidence = tree["evidence"].to_dataset()
    assert evidence.sizes["draw"] == 500
    draws = tree["posterior"].to_dataset().sel(draw=evidence["draw"])
    history, current = problem.rounds
    now = align(history, current).current
    for chain, draw in ((0, 0), (1, 499), (0, 250)):
        a = draws["sensitivity"][chain, draw].to_numpy()[now.labeler_idx]
        b = draws["specificity"][chain, draw].to_numpy()[now.labeler_idx]
        terms = np.where(now.label == 1, np.log(a / (1 - b)), np.log((1 - a) / b))
        expected = np.add.reduceat(terms, now.item_ptr[:-1])
        np.testing.assert_allclose(
            evidence["log_likelihood_ratio"][chain, draw], expected, rtol=1e-9, atol=1e-9
        )


def test_gold_is_clamped_in_rate_and_prevalence():
    problem = simulate(82, n_history=30, n_current=20, n_labelers=3, labels_per_item=2)
    history, current = problem.rounds
    truth = problem.now.truth.astype(float)
    tree = hb.fit(
        history, current.with_gold(truth), model="hero", random_seed=1, **{**SHORT, "draws": 400}
    )
    assert (tree["posterior"]["item_rate"] == truth.mean()).all()
    law = beta(1 + truth.sum(), 1 + (1 - truth).sum())
    assert kstest(tree["posterior"]["prevalence"].to_numpy().ravel(), law.cdf).pvalue > 1e-4
    priors = {"prevalence_prior": (4.0, 30.0)}
    tree = hb.fit(
        history,
        current.with_gold(truth),
        model="hero",
        priors=priors,
        random_seed=1,
        **{**SHORT, "draws": 400},
    )
    law = beta(4 + truth.sum(), 30 + (1 - truth).sum())
    assert kstest(tree["posterior"]["prevalence"].to_numpy().ravel(), law.cdf).pvalue > 1e-4


def halved(history, current, *, floor=0.0, concentration=2.0):
    """A factory of the user's: ``hero`` with sensitivities near a quantity above ``floor``."""
    model = hero(history, current)
    with model:
        raw = pm.Beta("raw", concentration, 1.0, dims="labeler")
        lifted = pm.Deterministic("lifted", floor + (1 - floor) * raw, dims="labeler")
        pm.Potential("tie", -50 * pt.sum((model["sensitivity"] - lifted) ** 2))
    return model


@pytest.mark.parametrize("mode", ["nuts", "map"])
def test_factory_with_priors_of_its_own(problem, mode):
    tree = fit(problem, model=halved, mode=mode, priors={"floor": 0.6})
    assert tree.attrs["model"] == "halved"
    assert float(tree["posterior"]["lifted"].min()) >= 0.6
    assert tree["posterior"]["raw"].dims == ("chain", "draw", "labeler")


def coordinates(current):
    return {"group": current.groups("current"), "item": list(current.items), "truth": [0, 1]}


def broken(without):
    def factory(history, current):
        coords = {k: v for k, v in coordinates(current).items() if k != without}
        with pm.Model(coords=coords) as model:
            if without != "prevalence":
                pm.Beta("prevalence", 1, 1, shape=current.n_groups)
            if without != "class_log_likelihood":
                pm.Deterministic("class_log_likelihood", pt.zeros((current.n_items, 2)))
        return model

    return factory


@pytest.mark.parametrize("without", ["prevalence", "class_log_likelihood", "group"])
def test_factory_that_lacks_what_fit_needs(problem, without):
    with pytest.raises(DataError, match=without):
        fit(problem, model=broken(without))


def test_factory_that_returns_no_model(problem):
    with pytest.raises(DataError, match=r"pm\.Model, got dict"):
        fit(problem, model=lambda history, current: {})


def normal_prevalence(history, current):
    with pm.Model(coords=coordinates(current)) as model:
        rate = pm.LogitNormal("prevalence", 0.0, 1.0, dims="group")
        pm.Deterministic(
            "class_log_likelihood",
            pt.zeros((current.n_items, 2)) + 0 * rate.sum(),
            dims=("item", "truth"),
        )
    return model


def test_cut_needs_a_beta_prior(problem):
    with pytest.raises(Refusal, match='posterior="joint"'):
        fit(problem, model=normal_prevalence)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"model": "heroic"}, r"unknown model 'heroic'; one of .*hero.*pooled"),
        ({"model": 3}, "a name or a factory"),
        ({"mode": "vi"}, "unknown mode 'vi'; one of"),
        ({"posterior": "full"}, "unknown posterior 'full'; one of cut, joint"),
        ({"priors": {"spread_prior": 1.0}}, "unknown priors spread_prior; this model takes"),
        ({"draws": 0}, "draws must be at least 1"),
        ({"tune": 0}, "tune must be at least 1"),
        ({"chains": 0}, "chains must be at least 1"),
    ],
)
def test_arguments_not_understood(problem, options, message):
    with pytest.raises(ValueError, match=message):
        fit(problem, **options)


@pytest.mark.parametrize("mode", ["nuts", "map"])
@pytest.mark.parametrize("model", ["hero", "pooled"])
def test_no_gold_of_a_class(problem, model, mode):
    history, current = problem.rounds
    for gold in (np.full(40, np.nan), np.where(history.gold == 1, 1.0, np.nan)):
        with pytest.raises(Refusal, match="gold"):
            hb.fit(history.with_gold(gold), current.without_gold(), model=model, mode=mode, **SHORT)


@pytest.mark.parametrize("mode", ["nuts", "map"])
def test_no_shared_labeler(mode):
    history = from_rows([{"a": 1, "b": 1}, {"a": 0, "b": 0}, {"a": 1}], gold=[1, 0, np.nan])
    current = from_rows([{"new": 1}, {"new": 0, "other": 1}])
    with pytest.raises(Refusal, match="pooled"):
        hb.fit(history, current, model="hero", mode=mode, **SHORT)
    tree = hb.fit(history, current, model="pooled", mode=mode, **SHORT)
    assert np.isfinite(tree["posterior"]["prevalence"]).all()
    assert tree["posterior"].sizes["labeler"] == 4


def test_the_default_model_lets_errors_be_shared():
    rounds = hb.datasets.demo_rounds()
    history, current = rounds.history, rounds.current
    tree = hb.fit(history, current, random_seed=4, draws=50)
    assert (tree.attrs["model"], tree.attrs["mode"]) == ("auto", "exact")
    assert tree.identical(hb.fit(history, current, model="auto", random_seed=4, draws=50))
    with pytest.raises(ValueError, match=r"mode 'exact' alone.*model=\"hero\""):
        hb.fit(history, current, mode="map")


def test_a_fit_records_and_tells_what_labels_are_worth():
    rounds = hb.datasets.demo_rounds()
    history, current = rounds.history, rounds.current
    found = hb.dependence(history)
    for tree in (
        hb.fit(history, current, random_seed=4, draws=50),
        hb.fit(history, current, model="hero", mode="laplace", random_seed=4, draws=50),
    ):
        assert tree.attrs["dependence"].startswith(found.sentence)
        assert found.sentence in str(hb.summary(tree))
    few = history.with_gold(np.where(np.arange(history.n_items) < 12, history.gold, np.nan))
    told = hb.fit(few, current, model="hero", mode="laplace", random_seed=4, draws=50).attrs
    assert "not measured" in told["dependence"]
