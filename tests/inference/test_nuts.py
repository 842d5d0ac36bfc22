"""Sampled posteriors: the reference problem, recovery, cut and joint, rates at the ends."""

import arviz as az
import numpy as np
import pytest
from scipy.stats import kstest
from toy import from_rows, simulate

import hero_bayes as hb
from hero_bayes.inference.kernels import draw_prevalence

pytestmark = pytest.mark.slow
SHORT = {"draws": 500, "tune": 500, "chains": 4, "progressbar": False}


def fit(rounds, **options):
    return hb.fit(*rounds, **{"model": "hero", **SHORT, "random_seed": 1, **options})


def no_divergence(tree):
    return not bool(tree["sample_stats"]["diverging"].any())


def mean(tree, name="prevalence"):
    return tree["posterior"][name].mean(("chain", "draw")).to_numpy()


@pytest.mark.parametrize("seed", range(10))
def test_paper_size_with_flat_priors_never_flips(cases, seed):
    case = cases["paper_size"]
    tree = fit((case.history, case.current), random_seed=seed)
    assert float(az.rhat(tree)["prevalence"].max()) < 1.01
    draws = tree["posterior"]
    by_chain = (draws["sensitivity"] + draws["specificity"]).mean(("draw", "labeler"))
    assert (by_chain > 1).all()
    assert abs(mean(tree)[0] - case.expected["hero1"]) < 0.02
    assert no_divergence(tree)


@pytest.fixture(scope="module")
def problem():
    """Five labels an item by ten labelers, forty gold items."""
    return simulate(
        111,
        n_history=300,
        n_current=200,
        n_labelers=10,
        labels_per_item=5,
        gold_share=0.15,
        strength=0.0,
    )


@pytest.fixture(scope="module", params=["hero", "pooled"])
def fitted(request, problem):
    return fit(problem.rounds, model=request.param)


def test_recovers_truth(fitted, problem):
    names = ["prevalence", "sensitivity", "specificity", "history_prevalence"]
    assert max(float(v.max()) for v in az.rhat(fitted, var_names=names).data_vars.values()) < 1.02
    assert float(az.rhat(fitted)["prevalence"].max()) < 1.01
    assert float(az.ess(fitted)["prevalence"].min()) > 400
    assert no_divergence(fitted)
    draws = fitted["posterior"]
    truth = {
        "prevalence": [0.3],
        "history_prevalence": [0.4],
        "sensitivity": problem.sensitivity,
        "specificity": problem.specificity,
    }
    for name, value in truth.items():
        flat = draws[name].stack(sample=("chain", "draw")).transpose("sample", ...).to_numpy()
        low, high = np.quantile(flat, [0.0005, 0.9995], axis=0)
        assert ((low < value) & (value < high)).all(), name
        assert (np.abs(flat.mean(0) - value) < 4 * flat.std(0)).all(), name
    share = problem.now.truth.mean()
    rate = draws["item_rate"].to_numpy().ravel()
    assert abs(rate.mean() - share) < 4 * rate.std()
    assert rate.std() < draws["prevalence"].to_numpy().std()


def test_cut_and_joint_agree_with_hero1(problem):
    history, current = problem.rounds
    hero1 = hb.estimate(history, current, "hero1")
    joint = fit(problem.rounds, posterior="joint")
    cut = fit(problem.rounds)
    for tree in (cut, joint):
        # Posterior mean against mode: skewness moves it by a fraction of the standard error.
        assert abs(mean(tree)[0] - hero1.value) < 0.5 * hero1.standard_error
        spread = float(tree["posterior"]["prevalence"].std())
        assert 0.6 < spread / hero1.standard_error < 1.6
    assert (cut["posterior"]["sensitivity"] != joint["posterior"]["sensitivity"]).any()


@pytest.mark.parametrize("posterior", ["cut", "joint"])
def test_only_joint_learns_from_the_current_labels(problem, posterior):
    """The current round replaced by one of quite other labelers under the same names."""
    history, current = problem.rounds
    other = simulate(112, n_history=2, n_current=200, n_labelers=10, labels_per_item=5).rounds[1]
    one, two = (fit((history, now), posterior=posterior)["posterior"] for now in (current, other))
    furthest = 0.0
    for name in ("sensitivity", "specificity"):
        gap = np.abs(one[name].mean(("chain", "draw")) - two[name].mean(("chain", "draw")))
        # 2000 draws each, worth at least 1000.
        error = one[name].std(("chain", "draw")) * np.sqrt(2 / 1000)
        furthest = max(furthest, float((gap / error).max()))
    # The largest of twenty: 5 standard errors happen once in 10^5 runs.
    assert (furthest < 5) == (posterior == "cut")


def test_cut_against_a_brute_force_nested_computation():
    """Prevalence given each stage-1 draw, from the stage-1 model of history alone."""
    history, current = simulate(
        113, n_history=60, n_current=40, n_labelers=3, labels_per_item=3
    ).rounds
    tree = fit((history, current))
    draws = tree["posterior"]
    now = current
    m = (np.arange(4000) + 0.5) / 4000
    rng = np.random.default_rng(0)
    nested = []
    pairs = zip(
        draws["sensitivity"].to_numpy().reshape(-1, 3)[::4],
        draws["specificity"].to_numpy().reshape(-1, 3)[::4],
        strict=True,
    )
    for a, b in pairs:
        a, b = a[now.labeler_idx], b[now.labeler_idx]
        positive = np.multiply.reduceat(np.where(now.label == 1, a, 1 - a), now.item_ptr[:-1])
        negative = np.multiply.reduceat(np.where(now.label == 1, 1 - b, b), now.item_ptr[:-1])
        density = np.exp(
            np.log(m[:, None] * positive + (1 - m[:, None]) * negative).sum(axis=1)
            - np.log(np.maximum(positive, negative)).sum()
        )
        nested.append(rng.choice(m, p=density / density.sum()))
    drawn = draws["prevalence"].to_numpy().ravel()
    # 500 nested draws, and 2000 of the fit worth at least 500: D has a standard error of 0.055;
    # autocorrelation cancels, both hang on the same stage-1 draws.
    assert kstest(nested, drawn).pvalue > 1e-4
    assert abs(np.mean(nested) - drawn.mean()) < 4 * drawn.std() * np.sqrt(2 / 500)


@pytest.mark.parametrize("posterior", ["cut", "joint"])
def test_gold_in_the_current_round_is_clamped(posterior):
    problem = simulate(114, n_history=60, n_current=40, n_labelers=4, current_gold=0.5)
    history, current = problem.rounds
    all_gold = current.with_gold(problem.now.truth.astype(float))
    tree = fit((history, all_gold), posterior=posterior, draws=200, tune=300)
    assert (tree["posterior"]["item_rate"] == problem.now.truth.mean()).all()
    law = np.sort(
        [
            draw_prevalence(
                np.empty(0), 1 + problem.now.truth.sum(), 1 + (1 - problem.now.truth).sum(), u
            )
            for u in (np.arange(800) + 0.5) / 800
        ]
    )
    assert kstest(tree["posterior"]["prevalence"].to_numpy().ravel()[::2], law).pvalue > 1e-4
    known = current.has_gold
    tree = fit((history, current), posterior=posterior, draws=200, tune=300)
    lowest = problem.now.truth[known].sum() / 40
    highest = 1 - (1 - problem.now.truth[known]).sum() / 40
    assert float(tree["posterior"]["item_rate"].min()) >= lowest - 1e-12
    assert float(tree["posterior"]["item_rate"].max()) <= highest + 1e-12


def test_current_gold_informs_the_labelers_in_a_cut():
    problem = simulate(115, n_history=30, n_current=150, n_labelers=3, labels_per_item=3)
    history, current = problem.rounds
    gold = np.where(np.arange(150) < 100, problem.now.truth, np.nan)
    before = fit((history, current), draws=200, tune=300)["posterior"]["sensitivity"].std(
        ("chain", "draw")
    )
    after = fit((history, current.with_gold(gold)), draws=200, tune=300)["posterior"]["sensitivity"]
    assert (after.std(("chain", "draw")) < before).all()
    assert (np.abs(after.mean(("chain", "draw")) - problem.sensitivity) < 4 * before).all()


@pytest.mark.parametrize("posterior", ["cut", "joint"])
@pytest.mark.parametrize("model", ["hero", "pooled"])
def test_labelers_without_error(model, posterior):
    truth = np.arange(60) % 3 == 0
    rows = [{"p": int(t), "q": int(t), "r": int(not t)} for t in truth]
    history = from_rows(rows, gold=np.where(np.arange(60) < 40, truth, np.nan))
    tree = fit((history, from_rows(rows[:30])), model=model, posterior=posterior)
    draws = tree["posterior"]
    assert all(np.isfinite(draws[name]).all() for name in draws.data_vars)
    assert np.isfinite(tree["evidence"]["log_likelihood_ratio"]).all()
    assert (mean(tree, "sensitivity")[:2] > 0.85).all()
    assert mean(tree, "sensitivity")[2] < 0.15
    assert abs(mean(tree, "item_rate")[0] - truth[:30].mean()) < 0.03


def test_pooled_labeler_without_labels_is_a_draw_from_the_population():
    """Labeler z labels only the current round, which a cut does not learn from."""
    problem = simulate(116, n_history=200, n_current=60, n_labelers=6)
    verdicts = problem.now.verdicts.astype({"labeler": str})
    problem.now.verdicts["labeler"] = verdicts["labeler"].replace("5", "z")
    tree = fit(problem.rounds, model="pooled", draws=1000)
    draws = tree["posterior"]
    rng = np.random.default_rng(1)
    for name in ("sensitivity", "specificity"):
        rate = draws[name].sel(labeler="z").to_numpy()
        value = np.log(rate) - np.log1p(-rate)
        population = draws[f"{name}_mean"] + draws[f"{name}_spread"] * rng.standard_normal(
            (4, 1000)
        )
        # Every fourth draw, against autocorrelation.
        assert kstest(value.ravel()[::4], population.to_numpy().ravel()[::4]).pvalue > 1e-4
        offset = draws[f"{name}_offset"].sel(labeler="z").to_numpy().ravel()[::4]
        assert kstest(offset, "norm").pvalue > 1e-4


def test_pooled_counts_the_labels_of_unseen_labelers():
    """Same items; a new labeler who says 1 everywhere raises the rate in pooled, not in hero."""
    problem = simulate(117, n_history=150, n_current=40, n_labelers=4, labels_per_item=3)
    history, current = problem.rounds
    verdicts = problem.now.verdicts.astype({"labeler": str})
    rows = [
        {
            **dict(verdicts[verdicts["item"] == i][["labeler", "label"]].itertuples(index=False)),
            "z": 1,
        }
        for i in range(40)
    ]
    more = from_rows(rows)
    hero = [fit((history, now), draws=300, tune=400) for now in (current, more)]
    np.testing.assert_array_equal(
        hero[0]["posterior"]["prevalence"], hero[1]["posterior"]["prevalence"]
    )
    assert hero[1].attrs["labels_left_out"] == 40
    pooled = [fit((history, now), model="pooled", draws=300, tune=400) for now in (current, more)]
    assert mean(pooled[1])[0] > mean(pooled[0])[0]
    assert pooled[1].attrs["labels_left_out"] == 0


def test_same_seed_same_draws(problem):
    one, again, other = (
        fit(problem.rounds, random_seed=seed, draws=50, tune=100) for seed in (5, 5, 6)
    )
    xs = [tree["posterior"]["prevalence"].to_numpy() for tree in (one, again, other)]
    assert (xs[0] == xs[1]).all()
    assert (xs[0] != xs[2]).any()
    assert (one["posterior"]["sensitivity"] == again["posterior"]["sensitivity"]).all()


@pytest.mark.parametrize("model", ["hero", "pooled"])
@pytest.mark.parametrize("posterior", ["cut", "joint"])
def test_smallest_problem(model, posterior):
    history, current = from_rows([{"a": 1}, {"a": 0}], gold=[1, 0]), from_rows([{"a": 1}])
    tree = fit((history, current), model=model, posterior=posterior, draws=200, tune=300)
    draws = tree["posterior"]["prevalence"]
    assert np.isfinite(draws).all()
    assert 0.4 < float(draws.mean()) < 0.75
    assert float(draws.std()) > 0.2
