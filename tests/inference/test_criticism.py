"""What a fit tells ArviZ: log-likelihood, log-prior, predicted labels, and what they speak of."""

import arviz as az
import brute
import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import beta, halfnorm, logistic, norm
from toy import simulate
from wiring import prior_draws

import hero_bayes as hb
from hero_bayes.inference.criticism import pointwise
from hero_bayes.inference.graph import QUICK
from hero_bayes.inference.program import make_program
from hero_bayes.models import MODELS

RATES = ("sensitivity", "specificity")
SHORT = {"draws": 100, "tune": 5, "chains": 2, "progressbar": False, "random_seed": 3}
KINDS = [("hero", "cut"), ("hero", "joint"), ("drift", "joint"), ("regression", "joint")]
GROUPS = {"log_likelihood", "log_prior", "posterior_predictive", "observed_data"}


@pytest.fixture(scope="module")
def problem():
    changes = {"n_labelers": 4, "current_gold": 0.3, "arms": ("A", "B")}
    return simulate(161, n_history=30, n_current=20, **changes)


def wired(problem, **options):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("hero_bayes.inference.fit.sample", prior_draws)
        return hb.fit(*problem.rounds, **{"model": "hero", **SHORT, **options})


@pytest.fixture(scope="module")
def fits(problem):
    return {kind: wired(problem, model=kind[0], posterior=kind[1]) for kind in KINDS}


def at(tree, chain, draw):
    return {
        name: value.to_numpy()[chain, draw]
        for name, value in tree["posterior"].to_dataset().data_vars.items()
    }


def enumerated(problem, kind, value):
    """Log-likelihood of every item of either round at one draw."""
    out = []
    for labels, past in zip(problem.rounds, (True, False), strict=True):
        moved = "current_" if kind == "drift" and not past else ""
        pair = [dict(zip(labels.labelers, value[f"{moved}{rate}"], strict=True)) for rate in RATES]
        prefix = "history_" if past else ""
        if kind == "regression":
            x = problem.rounds[0].covariates["x"]
            part = value["slope"] * (labels.covariates["x"] - x.mean()) / x.std()
            chance = expit(value[f"{prefix}intercept"][labels.group_idx] + part)
        else:
            chance = value[f"{prefix}prevalence"][labels.group_idx]
        out.append(brute.item_log_likelihoods(labels, *pair, chance))
    return out


@pytest.mark.parametrize("kind", KINDS[1:], ids="-".join)
def test_log_likelihood_is_the_enumeration_item_by_item(fits, problem, kind):
    tree = fits[kind]
    table = tree["log_likelihood"]["labels"]
    assert table.dims == ("chain", "draw", "labeled_item")
    for chain, draw in ((0, 0), (1, 99)):
        past, now = enumerated(problem, kind[0], at(tree, chain, draw))
        np.testing.assert_allclose(table[chain, draw], [*past, *now], rtol=1e-9, atol=1e-12)
    names = table["labeled_item"].to_numpy().tolist()
    history, current = problem.rounds
    assert names == [*(f"history_{i}" for i in history.items), *map(str, current.items)]


def test_cut_log_likelihood_is_that_of_stage_one(fits, problem):
    tree = fits["hero", "cut"]
    history, current = problem.rounds
    gold = current.items[current.has_gold]
    table = tree["log_likelihood"]["labels"]
    assert table["labeled_item"].to_numpy()[history.n_items :].tolist() == gold.tolist()
    for chain, draw in ((0, 5), (1, 50)):
        value = at(tree, chain, draw)
        past, _ = enumerated(problem, "hero", value)
        np.testing.assert_allclose(
            table[chain, draw, : history.n_items], past, rtol=1e-9, atol=1e-12
        )


def test_items_sum_to_the_likelihood_of_the_model(problem):
    """Stage 1 of a cut, its own prevalence included: all of logp but the priors."""
    program = make_program(MODELS["hero"], *problem.rounds)
    learned = prior_draws(
        program.learning, {}, draws=4, tune=1, chains=1, cores=1, seed=1, progressbar=False
    )["posterior"].to_dataset()
    likelihood, prior = pointwise(program.learning, learned, True)
    whole = program.learning.compile_logp(jacobian=False, mode=QUICK)
    for draw in range(4):
        point = {}
        for rv in program.learning.free_RVs:
            p = learned[rv.name].to_numpy()[0, draw]
            point[program.learning.rvs_to_values[rv].name] = np.log(p) - np.log1p(-p)
        # The prior of the current prevalence, left out of log_prior, is flat: log density 0.
        total = likelihood["labels"][0, draw].sum() + sum(
            v[0, draw] for v in prior.data_vars.values()
        )
        assert float(total) == pytest.approx(float(whole(point)), rel=1e-9)
    assert set(prior.data_vars) == {"sensitivity", "specificity", "history_prevalence"}


def prior_laws(kind, value):
    """Log prior density by variable, by scipy."""
    laws = {}
    for name, x in value.items():
        if name.endswith(("_mean", "_shift")):
            laws[name] = norm.logpdf(x, 1, 1)
        elif "offset" in name:
            laws[name] = norm.logpdf(x)
        elif name == "slope":
            laws[name] = norm.logpdf(x)
        elif name.endswith("_spread"):
            laws[name] = halfnorm.logpdf(x)
        elif name.endswith("intercept"):
            laws[name] = logistic.logpdf(x)
        elif name in ("prevalence", "history_prevalence", *RATES):
            laws[name] = beta.logpdf(x, 1, 1)
    return {name: float(np.sum(v)) for name, v in laws.items()}


@pytest.mark.parametrize("kind", KINDS, ids="-".join)
def test_log_prior_is_that_of_scipy(fits, kind):
    tree = fits[kind]
    table = tree["log_prior"]
    for chain, draw in ((0, 0), (1, 99)):
        laws = prior_laws(kind[0], at(tree, chain, draw))
        for name in table.data_vars:
            # PyTensor's constants of the default priors are in single precision.
            assert table[name][chain, draw].item() == pytest.approx(
                laws[name], rel=1e-6, abs=1e-9
            ), name
    assert ("prevalence" in table.data_vars) == (kind in KINDS[1:3])


def test_own_priors_reach_the_log_prior(problem):
    priors = {"prevalence_prior": (2.0, 5.0), "sensitivity_prior": (4.0, 2.0)}
    tree = wired(problem, posterior="joint", priors=priors, draws=3)
    value = at(tree, 1, 2)
    for name, prior in (("prevalence", (2, 5)), ("sensitivity", (4, 2)), ("specificity", (1, 1))):
        expected = beta.logpdf(value[name], *prior).sum()
        found = tree["log_prior"][name][1, 2].item()
        # PyTensor's normalising constants of the priors are in single precision: 2^-23 a labeler.
        assert found == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("kind", KINDS, ids="-".join)
def test_groups_say_what_they_speak_of(fits, problem, kind):
    tree = fits[kind]
    assert set(tree.children) >= GROUPS
    told = {tree[name].attrs["speaks_of"] for name in GROUPS}
    assert len(told) == 1
    assert told.pop().startswith("stage 1" if kind[1] == "cut" else "both rounds")
    history, current = problem.rounds
    items = history.n_items + (current.n_gold if kind[1] == "cut" else current.n_items)
    for name in GROUPS - {"log_prior"}:
        assert tree[name].sizes["labeled_item"] == items
    now = current.take_items(current.has_gold) if kind[1] == "cut" else current
    seen = np.concatenate([history.label, now.label])
    assert (tree["observed_data"]["label"] == seen).all()
    sums = np.add.reduceat(seen, np.r_[history.item_ptr[:-1], history.n_labels + now.item_ptr[:-1]])
    assert (tree["observed_data"]["positive_labels"] == sums).all()
    drawn = tree["posterior_predictive"]
    assert (drawn["label"].sum("verdict") == drawn["positive_labels"].sum("labeled_item")).all()


@pytest.mark.parametrize("kind", KINDS[1:], ids="-".join)
def test_predicted_labels_have_the_rates_of_the_draws(fits, problem, kind):
    """Sum of (label - chance) over draws and verdicts; on gold the truth is clamped."""
    tree = fits[kind]
    predicted = tree["posterior_predictive"]
    thin = tree["posterior"].to_dataset().sel(draw=predicted["draw"])
    start = 0
    for labels, past in zip(problem.rounds, (True, False), strict=True):
        moved = "current_" if kind[0] == "drift" and not past else ""
        a, b = (thin[f"{moved}{r}"].to_numpy()[..., labels.labeler_idx] for r in RATES)
        gold = np.repeat(labels.gold, labels.labels_per_item)
        drawn = predicted["label"].to_numpy()[..., start : start + labels.n_labels]
        start += labels.n_labels
        for value, chance in ((1, a), (0, 1 - b)):
            chosen = gold == value
            p = chance[..., chosen]
            z = (drawn[..., chosen] - p).sum() / np.sqrt((p * (1 - p)).sum())
            assert abs(z) < 4.5
        if kind[0] == "regression":
            continue
        prefix = "history_" if past else ""
        m = thin[f"{prefix}prevalence"].to_numpy()[
            ..., np.repeat(labels.group_idx, labels.labels_per_item)
        ]
        # One label an item: labels of one item hang together through its truth.
        one = np.zeros(labels.n_labels, dtype=bool)
        one[labels.item_ptr[:-1]] = True
        chosen = one & np.isnan(gold)
        p = (m * a + (1 - m) * (1 - b))[..., chosen]
        z = (drawn[..., chosen] - p).sum() / np.sqrt((p * (1 - p)).sum())
        assert abs(z) < 4.5


# ArviZ remarks that predicted labels are discrete, and that prior draws fit badly.
@pytest.mark.filterwarnings("ignore::UserWarning:arviz")
@pytest.mark.parametrize("kind", [("hero", "cut"), ("drift", "joint")], ids="-".join)
def test_arviz_reads_a_fit_as_it_is(fits, kind):
    tree = fits[kind]
    assert len(az.summary(tree, var_names=["prevalence", "sensitivity"])) == 6
    assert np.isfinite(az.loo(tree).elpd)
    az.plot_trace_dist(tree, var_names=["prevalence"], backend="none")
    for name in ("label", "positive_labels"):
        az.plot_ppc_dist(tree, var_names=[name], backend="none", kind="ecdf")


@pytest.mark.filterwarnings("ignore::UserWarning:arviz")
def test_power_scaling(fits):
    cut, joint = fits["hero", "cut"], fits["hero", "joint"]
    for name in ("prevalence", "item_rate"):
        with pytest.raises(hb.Refusal, match='posterior="joint"'):
            hb.power_scaling(cut, [name])
    rows = [str(name) for name in hb.power_scaling(cut).index]
    assert any(name.startswith("sensitivity") for name in rows)
    assert not any(name.startswith(("prevalence", "item_rate")) for name in rows)
    table = hb.power_scaling(joint, ["prevalence", "sensitivity"])
    assert len(table) == 6
    # Flat priors: scaling them moves nothing.
    assert (table["prior"] == 0).all()
    assert np.isfinite(table["likelihood"]).all()
    informed = hb.power_scaling(fits["drift", "joint"], ["prevalence", "sensitivity_mean"])
    assert list(informed.columns) == list(table.columns)
    assert (informed["prior"] > 0).any()


def test_large_tables_leave_the_groups_out(problem, monkeypatch):
    limits = {"LOG_LIKELIHOOD_LIMIT": {"log_likelihood", "log_prior"}}
    limits["PREDICTED_LIMIT"] = {"posterior_predictive", "observed_data"}
    for name, absent in limits.items():
        with monkeypatch.context() as patch:
            patch.setattr(f"hero_bayes.inference.criticism.{name}", 1)
            tree = wired(problem, draws=3)
        assert GROUPS - set(tree.children) == absent
        if name == "LOG_LIKELIHOOD_LIMIT":
            with pytest.raises(hb.Refusal, match="too large"):
                hb.power_scaling(tree)


def test_mode_has_none_of_them(problem):
    tree = hb.fit(*problem.rounds, model="hero", mode="map", random_seed=1)
    assert not GROUPS & set(tree.children)
    with pytest.raises(hb.Refusal, match="'map'"):
        hb.power_scaling(tree)
