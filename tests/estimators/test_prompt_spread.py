"""Where prompts repeat: rates of new prompts carry their spread, items at hand do not."""

import dataclasses
import runpy
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.special import logit
from scipy.stats import beta, binomtest, kstest
from toy import make_labels

import hero_bayes as hb
from hero_bayes.data.covariates import design
from hero_bayes.data.prompts import (
    clustered_variance,
    effective_size,
    prompt_clusters,
    prompt_codes,
)
from hero_bayes.data.shift import covariate_shift
from hero_bayes.decision.paired import ItemsOfArms, paired_rates
from hero_bayes.estimators.anchored_em import anchor
from hero_bayes.estimators.hero1 import hero1_solution
from hero_bayes.estimators.hero2 import adjusted_solution
from hero_bayes.estimators.kernels import score_root
from hero_bayes.estimators.prompt_spread import (
    design_effect,
    in_cells,
    rate_by_prompt,
    rates_by_prompt,
)

FOLDER = Path(__file__).parents[2] / "benchmarks"
QUICK = {"draws": 250, "chains": 4}
HERO = {"model": "hero", "mode": "laplace", **QUICK}


@pytest.fixture(scope="module")
def study():
    sys.path.insert(0, str(FOLDER))
    try:
        return runpy.run_path(str(FOLDER / "repeated_prompts.py"))
    finally:
        sys.path.remove(str(FOLDER))


@pytest.fixture(scope="module")
def rounds(study):
    return study["simulated"]("one arm", "independent", np.random.default_rng(5))


def without(labels, *columns):
    return dataclasses.replace(labels, **dict.fromkeys(columns))


def sd(fit, name):
    return float(fit["posterior"][name].std())


# --- which items are related ---


def table(**columns):
    n = len(next(iter(columns.values())))
    return make_labels(np.arange(n), np.zeros(n, dtype=int), np.ones(n, dtype=int), columns)


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ({"gold": [0, 1, 0, 1]}, None),
        ({"prompt": ["a", "b", "c", "d"]}, None),
        ({"prompt": ["a", "a", "c", "d"]}, [0, 0, 1, 2]),
        ({"prompt": ["a", "b", "a", "b"], "arm": ["A", "A", "B", "B"]}, None),
        ({"prompt": ["a", "a", "a", "b"], "arm": ["A", "A", "B", "B"]}, [0, 0, 0, 1]),
        ({"prompt": ["a", "b", "c", "d"], "prompt_group": ["g", "g", "h", "h"]}, [0, 0, 1, 1]),
        ({"prompt": ["a", "a", None, None]}, [0, 0, 1, 2]),
        ({"prompt": ["a", "a", "b", "b"], "prompt_group": ["g", "g", None, None]}, [1, 1, 0, 0]),
    ],
)
def test_items_of_one_prompt_or_group_are_related(columns, expected):
    labels = table(**columns)
    found = prompt_clusters(labels)
    if expected is None:
        assert found is None
        return
    same = np.equal.outer(found, found)
    np.testing.assert_array_equal(same, np.equal.outer(expected, expected))
    np.testing.assert_array_equal(np.equal.outer(*[prompt_codes(labels)] * 2), same)
    assert sorted(set(found)) == list(range(len(set(expected))))


# --- formulas ---


def test_clustered_variance_by_hand():
    values, group = np.array([1.0, 3.0, 2.0, 6.0]), np.array([4, 4, 9, 9])
    # Sums of deviations from 3: -2 and 2; 2 / (2 - 1) (4 + 4) / 4.
    assert clustered_variance(values, group) == pytest.approx(4.0)
    assert clustered_variance(values, None) == np.var(values)
    alone = clustered_variance(values, np.arange(4))
    assert alone == pytest.approx(np.var(values, ddof=1))
    twice = clustered_variance(np.repeat(values, 2), np.repeat(np.arange(4), 2))
    # A prompt seen twice is one prompt: the squared error of the mean stays.
    assert twice / 8 == pytest.approx(alone / 4)


def test_variance_of_a_weighted_mean_and_its_size():
    """Weights 0 drop items; whole-number weights are copies of prompts, not of items."""
    rng = np.random.default_rng(8)
    values, code = rng.standard_normal(40), np.repeat(np.arange(10), 4)
    chosen = code < 6
    weight = chosen / chosen.sum()
    for cluster_idx, rows in ((None, None), (code, code[chosen])):
        found = clustered_variance(values, cluster_idx, weight)
        assert found == pytest.approx(clustered_variance(values[chosen], rows))
    assert effective_size(weight, None) == 24
    assert effective_size(weight, code) == 6
    assert effective_size(np.full(40, 1 / 40), code) == 10
    assert effective_size(np.repeat([0.75, 0.25], [20, 20]) / 20, None) == round(20 / 0.625)


def test_design_effect_of_whole_prompts_and_of_unrelated_items():
    rng = np.random.default_rng(1)
    psi = rng.standard_normal(400)
    assert design_effect(np.repeat(psi, 5), np.repeat(np.arange(400), 5)) == pytest.approx(5.0)
    assert design_effect(psi, np.arange(400)) == 1.0
    assert design_effect(np.full(60, -1.2), np.repeat(np.arange(10), 6)) == pytest.approx(6.0)


@pytest.mark.parametrize(("size", "prior"), [(1, (1.0, 1.0)), (1, (2.0, 5.0)), (4, (1.0, 1.0))])
def test_known_truths_give_beta_over_prompts(size, prior):
    """Prompts of equal truths, all alike in size: Beta in the number of prompts, not of items."""
    rng = np.random.default_rng(2)
    truth = np.repeat(np.arange(40) < 9, size)
    cluster_idx = np.repeat(np.arange(40), size)
    evidence = np.where(truth, np.inf, -np.inf)
    draws = []
    for _ in range(2000):
        weight = rng.standard_exponential(40)[cluster_idx]
        draws.append(rate_by_prompt(evidence, weight, cluster_idx, 9 / 40, prior, rng))
    law = beta(prior[0] + 9, prior[1] + 31)
    if size == 1:
        assert kstest(draws, law.cdf).pvalue > 1e-3
    else:  # the design effect at .225 is near 4, and is estimated
        assert np.std(draws) == pytest.approx(law.std(), rel=0.08)


@pytest.mark.parametrize("right", [0.99, 0.8, 0.65])
def test_spread_is_that_of_the_estimator_however_weak_the_labels(right):
    """Against plain Monte Carlo: sd of the score root over simulated tables of 80 prompts x 5."""
    rng = np.random.default_rng(3)
    strength = np.log(right / (1 - right))
    roots, spreads = [], []
    for repetition in range(300):
        chance = rng.beta(0.6, 1.4, 80)
        truth = rng.random(400) < np.repeat(chance, 5)
        vote = np.where(rng.random(400) < right, truth, ~truth)
        cluster_idx = np.repeat(np.arange(80), 5)
        # One labeler of known rates: the root is a linear function of the share of votes.
        roots.append((vote.mean() - (1 - right)) / (2 * right - 1))
        if repetition % 20 == 0:
            evidence = np.where(vote, strength, -strength)
            draws = [
                rate_by_prompt(
                    evidence, rng.standard_exponential(80)[cluster_idx], cluster_idx, 0.3,
                    (1.0, 1.0), rng,
                )
                for _ in range(200)
            ]  # fmt: skip
            spreads.append(np.std(draws))
    assert np.mean(spreads) == pytest.approx(np.std(roots), rel=0.15)


@pytest.mark.parametrize("right", [0.98, 0.95, 0.85])
def test_a_difference_of_arms_counts_the_spread_of_prompts_once(right):
    """Against plain Monte Carlo: two arms answer the same 50 prompts, 5 generations each."""
    rng = np.random.default_rng(9)
    strength = np.log(right / (1 - right))
    prompt, arm = np.tile(np.repeat(np.arange(50), 5), 2), np.repeat([0, 1], 250)
    items = ItemsOfArms(np.arange(500), arm, prompt, 50)
    gaps, spreads = [], []
    for repetition in range(400):
        chance = rng.beta(0.6, 1.4, 50)
        truth = rng.random(500) < chance[prompt]
        vote = np.where(rng.random(500) < right, truth, ~truth)
        share = [(vote[arm == a].mean() - (1 - right)) / (2 * right - 1) for a in (0, 1)]
        gaps.append(share[1] - share[0])
        if repetition % 25 == 0:
            evidence = np.tile(np.where(vote, strength, -strength), (200, 1))
            drawn = paired_rates(evidence, np.full((200, 2), 0.3), items, (1.0, 1.0), rng)
            spreads.append(np.std(drawn[:, 1] - drawn[:, 0]))
    assert np.mean(spreads) == pytest.approx(np.std(gaps), rel=0.08)


@pytest.mark.parametrize("gold", [0.0, 0.2, 1.0])
def test_many_items_of_nearly_equal_evidence_are_one_cell(gold):
    """The root moves by less than 1e-4 on the logit scale; gold stays gold."""
    rng = np.random.default_rng(10)
    truth = rng.random(3000) < 0.3
    evidence = np.where(truth, 1.5, -1.5) + 2 * rng.standard_normal(3000)
    known = rng.random(3000) < gold
    evidence[known] = np.where(truth, np.inf, -np.inf)[known]
    weight = rng.standard_exponential(3000)
    value, whole = in_cells(evidence, weight)
    assert value.size < 800
    assert whole.sum() == pytest.approx(weight.sum())
    roots = [score_root(v, w / w.sum(), 0.0) for v, w in ((evidence, weight), (value, whole))]
    assert logit(roots[1]) == pytest.approx(logit(roots[0]), abs=1e-4)
    few = in_cells(evidence[:1000], weight[:1000])
    assert few[0].size == 1000


# --- fits ---


@pytest.mark.parametrize("settings", [{"model": "auto", **QUICK}, {"model": "score", **QUICK}, HERO,
                                      HERO | {"model": "pooled"}])  # fmt: skip
def test_new_prompts_are_less_certain_than_items_at_hand(rounds, settings):
    history, current = rounds[:2]
    plain = without(current, "prompt")
    related = hb.fit(history, current, random_seed=1, **settings)
    alone = hb.fit(history, plain, random_seed=1, **settings)
    psi = np.where(np.isnan(current.vote_share), 0, current.vote_share - current.vote_share.mean())
    wanted = np.sqrt(design_effect(psi, prompt_clusters(current)))
    assert wanted > 1.3
    assert sd(related, "prevalence") / sd(alone, "prevalence") == pytest.approx(wanted, rel=0.2)
    # What is said of the items at hand, and of each of them, does not depend on their prompts.
    np.testing.assert_allclose(sd(related, "item_rate"), sd(alone, "item_rate"), rtol=0.15)
    truth = [hb.posterior_truth(fit).mean(("chain", "draw")) for fit in (related, alone)]
    np.testing.assert_allclose(truth[0], truth[1], atol=0.02)
    shift = related["posterior"]["prevalence"].mean() - alone["posterior"]["prevalence"].mean()
    assert abs(float(shift)) < 0.01


@pytest.mark.parametrize("method", ["hero1", "hero2", "gold_rates", "score"])
def test_standard_errors_are_clustered(rounds, method):
    history, current = rounds[:2]
    errors = [
        hb.estimate(history, table, method=method).standard_error
        for table in (current, without(current, "prompt"))
    ]
    assert 1.25 < errors[0] / errors[1] < 1.9
    values = [
        hb.estimate(history, table, method=method).value
        for table in (current, without(current, "prompt"))
    ]
    assert values[0] == pytest.approx(values[1], abs=0.01 if method == "score" else 1e-12)


@pytest.mark.parametrize(("past", "now"), [(True, True), (True, False), (False, True)])
def test_covariates_are_known_from_prompts_not_from_items(rounds, past, now):
    history, current = rounds[:2]
    history = history if past else without(history, "prompt")
    current = current if now else without(current, "prompt")
    sizes = (120 if past else 480), (60 if now else 360)
    found = hb.estimate(history, current, method="hero2", shrink="optimal").details
    assert found["shrink_factor"] == pytest.approx(sizes[0] / sum(sizes))


def test_standard_error_of_hero2_by_plain_resampling(study):
    """Against prompts drawn anew with their generations, labelers' rates held."""
    history, current, _ = study["simulated"]("one arm", "independent", np.random.default_rng(11))
    anchored = anchor(history, current)
    features = design(history, current)
    item_idx = np.arange(current.n_items)
    first, evidence, inside = hero1_solution(anchored, "current", item_idx)
    zero = np.zeros_like(anchored.covariance[0])
    even = np.full(history.n_items, 1 / history.n_items)
    past = prompt_clusters(history)
    settings = {"ridge": 0, "factor": 1.0, "cross_fit": False}
    analytic, at = adjusted_solution(
        (first, evidence, inside), zero, features.current, features.history, even,
        cluster_idx=past, **settings,
    )  # fmt: skip
    rng = np.random.default_rng(12)
    roots = []
    own = prompt_clusters(current)
    for _ in range(300):
        weight = rng.standard_exponential(own.max() + 1)[own]
        before = rng.standard_exponential(past.max() + 1)[past]
        target = before @ features.history / before.sum()
        shift = (weight @ features.current / weight.sum() - target) @ at.gamma
        roots.append(score_root(evidence.log_ratio, weight / weight.sum(), shift))
    assert analytic.standard_error == pytest.approx(np.std(roots), rel=0.15)


def test_prompts_of_one_item_each_change_nothing(rounds):
    history, current = (without(labels, "prompt") for labels in rounds[:2])
    names = np.array([f"p{i}" for i in range(current.n_items)], dtype=object)
    single = dataclasses.replace(current, prompt=names)
    for settings in ({"model": "auto", **QUICK}, HERO):
        one, two = (hb.fit(history, x, random_seed=3, **settings) for x in (current, single))
        np.testing.assert_array_equal(
            one["posterior"]["prevalence"], two["posterior"]["prevalence"]
        )
    error = [hb.estimate(history, x, method="hero2").standard_error for x in (current, single)]
    assert error[0] == error[1]


def test_adjustment_resamples_prompts_and_is_measured_against_the_same(rounds):
    history, current = rounds[:2]
    fit = hb.fit(history, current, random_seed=1, **HERO)
    found = hb.adjust(fit, history, current)
    plain = sd(found, "prevalence_unadjusted")
    assert plain == pytest.approx(sd(fit, "prevalence"), rel=0.15)
    removed = 100 * (1 - (sd(found, "prevalence_adjusted") / plain) ** 2)
    assert found["adjustment"]["variance_removed_percent"].item() == pytest.approx(removed)
    # 120 and 60 prompts, not 480 and 360 items.
    assert found["adjustment"]["shrink_factor"].item() == pytest.approx(120 / 180)


def test_groups_share_the_weights_of_prompts():
    rng = np.random.default_rng(4)
    labels = table(prompt=np.tile(np.repeat(np.arange(30), 4), 2), arm=np.repeat(["A", "B"], 120))
    truth = np.tile(np.repeat(rng.random(30) < 0.4, 4), 2)
    evidence = np.tile(np.where(truth, 4.0, -4.0), (500, 1))
    rates = rates_by_prompt(
        evidence.__getitem__, np.full((500, 2), 0.4), labels, np.full(240, np.nan), rng
    )
    assert np.corrcoef(rates.T)[0, 1] > 0.8


def test_check_names_repeated_prompts(rounds):
    history, current = rounds[:2]
    found = {f.code: f for f in hb.check(history, current)}
    assert "360 current items of 60 prompts" in found["repeated_prompts"].message
    assert found["repeated_prompts"].severity == "note"
    few = current.take_items(np.isin(current.prompt, [f"c{k}" for k in range(8)]))
    finding = {f.code: f for f in hb.check(history, few)}["repeated_prompts"]
    assert (finding.severity, "only 8" in finding.message) == ("warning", True)
    kinds = dataclasses.replace(
        without(current, "prompt"),
        prompt_group=np.array([f"k{i % 40}" for i in range(current.n_items)], dtype=object),
    )
    finding = {f.code: f for f in hb.check(history, kinds)}["repeated_prompts"]
    assert "groups of prompts repeat" in finding.message
    assert "leave out prompt_group" in finding.remedy
    codes = hb.check(history, without(current, "prompt")).codes
    assert "repeated_prompts" not in codes


# --- covariate shift ---


@pytest.mark.parametrize(
    ("k", "n"), [((4, 6), (120, 60)), ((1, 6), (300, 40)), ((5, 1), (60, 200))]
)
def test_covariates_of_prompts_do_not_move_by_repetition(k, n):
    """P-values under no shift are uniform: share below .01 and .1 within binomial bounds."""
    rng = np.random.default_rng(6)
    found = []
    for _ in range(400):
        x = [np.repeat(rng.standard_exponential(m), j)[:, None] for m, j in zip(n, k, strict=True)]
        clusters = tuple(
            None if j == 1 else np.repeat(np.arange(m), j) for m, j in zip(n, k, strict=True)
        )
        found.append(covariate_shift(*x, ["x"], clusters)["p_value"].item())
    for level in (0.01, 0.1):
        below = int((np.array(found) < level).sum())
        assert binomtest(below, 400, level).pvalue > 1e-3
    rows = covariate_shift(*x, ["x"])["p_value"].item()
    assert rows != found[-1]


def test_a_real_shift_of_prompts_is_found():
    rng = np.random.default_rng(7)
    past, now = np.repeat(rng.standard_normal(120), 4), np.repeat(1.0 + rng.standard_normal(60), 6)
    clusters = np.repeat(np.arange(120), 4), np.repeat(np.arange(60), 6)
    table = covariate_shift(past[:, None], now[:, None], ["x"], clusters)
    assert table["significant"].item()
    assert table["degrees"].item() < 200


@pytest.mark.slow
@pytest.mark.parametrize(
    ("design", "law"), [("one arm", "independent"), ("two arms", "independent")]
)
def test_intervals_cover(study, design, law):
    rate = study["true_rate"]()
    rows = [row for r in range(60) for row in study["rows_of"](design, law, "auto", 500 + r, rate)]
    table = study["summary"](rows)
    assert (table["coverage"] >= 0.85).all()
    new = table[table["target"] != "item_rate"]
    assert (new["sd"] < 1.5 * new["rmse"]).all()
