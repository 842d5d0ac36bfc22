"""``score`` by a sampler: the fit's contract, and draws against a grid written out here."""

import functools

import arviz as az
import numpy as np
import pytest
import xarray as xr
from scipy.special import expit, logit
from toy import simulate
from wiring import prior_draws

import hero_bayes as hb
from hero_bayes.estimators.item_scores import item_scores
from hero_bayes.estimators.score_calibration import PROPOSALS, calibrate
from hero_bayes.estimators.tilt_parts import current_draws, law_of_history
from hero_bayes.inference import fit as fit_module
from hero_bayes.inference.scored import choose_model
from hero_bayes.models.score import score

SEED = 3


@pytest.fixture(scope="module")
def problem():
    return simulate(7, n_history=160, n_current=60, gold_share=0.3)


@pytest.fixture(scope="module")
def scores(problem):
    fold_seed, _ = np.random.SeedSequence(SEED).generate_state(2)
    return item_scores(*problem.rounds, random_seed=int(fold_seed))


# --- the posterior on a grid ---


def weighted(values, mass):
    mean = (values * mass).sum()
    return mean, np.sqrt((((values - mean) ** 2) * mass).sum())


def second_stage(odds_at_zero, slope, s, size=160):
    """First two moments of prevalence and item rate given one line, on a grid of prevalences."""
    m = (np.arange(size) + 0.5) / size
    log_odds = odds_at_zero + slope * s
    joint = np.logaddexp(np.log(m)[:, None] + log_odds, np.log1p(-m)[:, None])
    mass = np.exp(joint.sum(axis=1) - joint.sum(axis=1).max())
    mass /= mass.sum()
    chance = expit(logit(m)[:, None] + log_odds)
    mean = chance.mean(axis=1)
    square = mean**2 + (chance * (1 - chance)).sum(axis=1) / s.size**2
    return [(mass * v).sum() for v in (m, m**2, mean, square)]


@pytest.fixture(scope="module")
def grid(problem, scores):
    """Mean and sd of intercept, slope, prevalence and item rate, by integration.

    History's items weigh the same; 71 x 71 cells over more than eight posterior deviations leave
    an error far below that of any draws, since the density is smooth and dies out inside.
    """
    past, now = scores.panel.history, scores.panel.current
    row = scores.names.index("mean")
    s, gold = scores.history[row], past.gold
    known = past.has_gold
    centre = logit(scores.fit.prevalence[0])
    a, b = np.meshgrid(
        np.linspace(centre - 3.5, centre + 3.0, 71), np.linspace(0.0, 4.0, 71), indexing="ij"
    )
    log_mass = -0.5 * (a - centre) ** 2 - 0.5 * ((b - 1.0) / 0.5) ** 2
    for one, y in zip(s[known], gold[known], strict=True):
        log_mass += y * (a + b * one) - np.logaddexp(0.0, a + b * one)
    mass = np.exp(log_mass - log_mass.max())
    assert max(mass[0].max(), mass[-1].max(), mass[:, 0].max(), mass[:, -1].max()) < 1e-4
    mass[mass < 1e-6] = 0.0
    mass /= mass.sum()
    moments = np.zeros(4)
    for i, j in np.argwhere(mass > 0):
        q = expit(a[i, j] + b[i, j] * s).mean()
        found = second_stage(a[i, j] - logit(q), b[i, j], scores.current[row])
        moments += mass[i, j] * np.array(found)
    assert not now.has_gold.any()
    assert scores.history_used.all()
    assert scores.current_used.all()
    return {
        "score_intercept": weighted(a, mass),
        "score_slope": weighted(b, mass),
        "prevalence": (moments[0], np.sqrt(moments[1] - moments[0] ** 2)),
        "item_rate": (moments[2], np.sqrt(moments[3] - moments[2] ** 2)),
    }


def agrees(draws, size, expected):
    """Mean and sd of draws worth ``size`` independent ones, within five standard errors.

    The sd of a mean is sd / sqrt(n), that of an sd about sd / sqrt(2 n) for kurtosis 3; 1.5 allows
    for a kurtosis up to 5.5.
    """
    mean, deviation = expected
    assert abs(draws.mean() - mean) < 5 * deviation / np.sqrt(size)
    assert abs(draws.std() - deviation) < 5 * 1.5 * deviation / np.sqrt(2 * size)


class EvenWeights(np.random.Generator):
    """A generator without bootstrap: every item weighs the same."""

    def standard_exponential(self, size=None):
        return np.ones(size)


def test_exact_draws_of_one_score_match_the_grid(problem, scores, grid):
    past, now = scores.panel.history, scores.panel.current
    row, known = scores.names.index("mean"), past.has_gold
    rng = EvenWeights(np.random.PCG64(1))
    line = calibrate(
        scores.history[row][known], past.gold[known], scores.fit.prevalence[0],
        n_draws=PROPOSALS, rng=rng,
    )  # fmt: skip
    constant, _ = law_of_history(line, scores.history[row], past.group_idx, rng)
    prevalence, item_rate = current_draws(
        constant, line.slope, scores.current[row], scores.current_used, now, rng
    )
    # Resampling from weighted proposals: worth no fewer than half of the effective size.
    size = line.effective_size / 2
    agrees(line.intercept, size, grid["score_intercept"])
    agrees(line.slope, size, grid["score_slope"])
    agrees(prevalence, size, grid["prevalence"])
    agrees(item_rate, size, grid["item_rate"])


@pytest.mark.slow
def test_nuts_draws_match_the_grid(problem, grid):
    tree = hb.fit(
        *problem.rounds, model="score", mode="nuts", random_seed=SEED, draws=500, tune=500,
        progressbar=False,
    )  # fmt: skip
    assert hb.diagnose(tree).passed
    posterior = tree["posterior"].to_dataset()
    size = az.ess(tree, method="bulk")
    for name, expected in grid.items():
        draws = posterior[name].to_numpy()
        agrees(draws, min(float(size[name].min()), draws.size), expected)


# --- the contract, with prior draws in place of the sampler ---


WIRED = {"random_seed": SEED, "draws": 60, "chains": 2, "progressbar": False}


@pytest.fixture
def wired(monkeypatch):
    monkeypatch.setattr(fit_module, "sample", prior_draws)
    return WIRED


@pytest.fixture(scope="module")
def named(problem):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fit_module, "sample", prior_draws)
        return hb.fit(*problem.rounds, model="score", mode="nuts", **WIRED)


def test_a_fit_by_name_computes_the_scores(problem, named, scores, tmp_path):
    history, current = problem.rounds
    tree = named
    assert (tree.attrs["model"], tree.attrs["mode"], tree.attrs["posterior"]) == (
        "score", "nuts", "cut",
    )  # fmt: skip
    assert tree.attrs["chosen"].startswith("labelers may share errors; score mean, line")
    draws = tree["posterior"].to_dataset()
    assert {"prevalence", "item_rate", "history_prevalence", "score_slope"} <= set(draws)
    ratio = tree["evidence"]["log_likelihood_ratio"]
    flat = draws.stack(sample=("chain", "draw")).isel(sample=[0])
    line = flat["score_intercept"].to_numpy().ravel(), flat["score_slope"].to_numpy()
    row = scores.names.index("mean")
    q = expit(line[0] + line[1] * scores.history[row]).mean()
    expected = line[0] - logit(q) + line[1] * scores.current[row]
    np.testing.assert_allclose(ratio[0, 0], expected, rtol=1e-9)
    np.testing.assert_allclose(flat["history_prevalence"].to_numpy().ravel(), q, rtol=1e-9)
    assert hb.posterior_truth(tree).sizes["item"] == current.n_items
    assert np.isfinite(
        hb.adjust(tree, history, current, covariates=["x"])["posterior"]["prevalence_adjusted"]
    ).all()
    again = hb.load(hb.save(tree, tmp_path / "fit.nc"))
    assert again["posterior"]["item_rate"].equals(tree["posterior"]["item_rate"])


def test_gold_is_what_model_criticism_reads(problem, named):
    history = problem.rounds[0]
    likelihood = named["log_likelihood"]["labels"]
    assert likelihood.sizes["labeled_item"] == history.n_gold
    gold = [f"history_{i}" for i in history.items[history.has_gold]]
    assert likelihood["labeled_item"].to_numpy().tolist() == gold
    assert (likelihood <= 0).all()
    assert set(named["log_prior"].data_vars) == {"score_intercept", "score_slope"}


def test_a_factory_with_its_scores(problem, wired, scores, named):
    tree = hb.fit(
        *problem.rounds, model=functools.partial(score, scores=scores), mode="nuts", **wired
    )
    assert tree.attrs["model"] == "score"
    assert tree["posterior"]["item_rate"].equals(named["posterior"]["item_rate"])
    own = hb.fit(*problem.rounds, model="score", mode="nuts", priors={"scores": scores}, **wired)
    assert own["posterior"]["item_rate"].equals(named["posterior"]["item_rate"])
    assert own.attrs["priors"] == '{"scores": "ItemScores"}'


def test_settings_reach_the_model(problem, wired, named):
    history, current = problem.rounds
    asked = {"form": "bins", "score": "votes", "prevalence_prior": (300.0, 100.0)}
    tree = hb.fit(history, current, model="score", mode="nuts", priors=asked, **wired)
    assert {"bin_rate", "score_slope"} <= set(tree["posterior"].data_vars)
    assert "score votes, bins" in tree.attrs["chosen"]
    # 60 items against a prior worth 400 around 0.75; the flat prior stays near the rate of 0.3.
    assert float(tree["posterior"]["prevalence"].mean()) > 0.6
    assert float(named["posterior"]["prevalence"].mean()) < 0.5
    with pytest.raises(ValueError, match="no score 'own' in these tables"):
        hb.fit(history, current, model="score", mode="nuts", priors={"score": "own"}, **wired)
    with pytest.raises(ValueError, match="unknown priors spread"):
        hb.fit(history, current, model="score", mode="nuts", priors={"spread": 1}, **wired)


def test_the_default_stays_exact_and_auto_has_no_other_mode(problem):
    tree = hb.fit(*problem.rounds, model="score", random_seed=1, draws=50, chains=1)
    assert tree.attrs["mode"] == "exact"
    with pytest.raises(ValueError, match="'exact' alone"):
        hb.fit(*problem.rounds, model="auto", mode="nuts", random_seed=1)
    with pytest.raises(ValueError, match="cut posterior alone"):
        hb.fit(*problem.rounds, model="score", posterior="joint", random_seed=1)


def test_scores_that_point_the_wrong_way_fail_the_gate(named):
    flipped = named.copy()
    draws = named["posterior"].to_dataset()
    flipped["posterior"] = xr.DataTree(draws.assign(score_slope=-draws["score_slope"]))
    for tree, passed in ((named, True), (flipped, False)):
        check = {check.name: check for check in hb.diagnose(tree).checks}["P(slope < 0)"]
        assert check.passed is passed
        assert check.value == float((tree["posterior"]["score_slope"] < 0).mean())
    assert "labels hardly tell the classes apart" in check.told


def test_what_was_done_about_other_labels_is_said(problem):
    """Four labels an item in history, two labelers now."""
    history, current = problem.rounds
    fewer = current.select(labelers=current.labelers[:2], unlabeled="drop")
    chosen = choose_model("score", history, fewer, None, SEED)
    fold_seed, _ = np.random.SeedSequence(SEED).generate_state(2)
    notes = item_scores(history, fewer, random_seed=int(fold_seed)).notes
    assert notes
    assert chosen.attributes["notes"] == "\n".join(notes)
    assert choose_model("score", history, current, None, SEED).attributes["notes"] == ""


@pytest.mark.slow
def test_joint_posterior_is_not_pulled_by_the_size_of_the_ratio():
    """Many current items from the law of history hardly move the line, whatever their number."""
    rounds = simulate(
        31, n_history=300, n_current=900, gold_share=0.3, rate=0.4, history_rate=0.4
    ).rounds
    options = {"model": "score", "mode": "map", "random_seed": 1}
    cut, joint = (hb.fit(*rounds, posterior=p, **options)["posterior"] for p in ("cut", "joint"))

    def change(name):
        return (joint[name] - cut[name]).item()

    # The prior allows the slope a deviation of 0.5, its posterior has about 0.3. Without the law of
    # history in the likelihood of current items the slope of these rounds goes beyond 200.
    assert abs(change("score_slope")) < 0.3
    assert abs(change("prevalence")) < 0.03
