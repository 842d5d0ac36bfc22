"""Few prompts, and laws of difficulty that are neither Beta nor logit-normal."""

import json

import arviz as az
import numpy as np
import pandas as pd
import pytest
from many import from_counts
from scipy import stats

import hero_bayes as hb
from hero_bayes.difficulty.comparing import Pair, on_new_prompts
from hero_bayes.difficulty.fitting import fit
from hero_bayes.difficulty.prompt_means import score_draws

QUICKLY = {"mode": "laplace", "random_seed": 1, "progressbar": False}
#: P(correct) of n prompts, and its mean.
LAWS = {
    "two points": (lambda r, n: np.where(r.random(n) < 0.7, 0.995, 0.4), 0.8165),
    "mostly never": (lambda r, n: np.where(r.random(n) < 0.75, 0.02, 0.6), 0.165),
    "three points": (lambda r, n: r.choice([0.05, 0.5, 0.97], n, p=[0.2, 0.4, 0.4]), 0.598),
}


def drawn(share, unit, rng, n_draws=1000):
    return score_draws([share], [unit], n_draws, rng)[:, 0]


@pytest.mark.slow
@pytest.mark.parametrize("k", [5, 20])
@pytest.mark.parametrize("n", [50, 300])
@pytest.mark.parametrize("law", LAWS)
def test_score_covers_whatever_the_law(law, n, k):
    rng, covered = np.random.default_rng([n, k]), 0
    chance, truth = LAWS[law]
    for _ in range(300):
        share = rng.binomial(k, chance(rng, n)) / k
        low, high = np.quantile(drawn(share, np.arange(n), rng), [0.025, 0.975])
        covered += low <= truth <= high
    # 0.95 has a binomial error of 0.013 here
    assert covered / 300 >= 0.90


def test_published_score_of_a_fit_covers_where_the_law_does_not():
    chance, truth = LAWS["two points"]
    covered = {"mu": 0, "mu_law": 0}
    for seed in range(10):
        rng = np.random.default_rng(seed)
        tree = fit(from_counts(rng.binomial(20, chance(rng, 300)), 20), **QUICKLY)
        for name in covered:
            low, high = np.quantile(tree["posterior"][name], [0.025, 0.975])
            covered[name] += low <= truth <= high
    assert covered["mu"] >= 8
    assert covered["mu_law"] <= 5
    found = hb.diagnose(tree)
    assert not found.passed
    assert any("mean is" in reason and "law does not fit" in reason for reason in found.reasons)
    assert any("does not predict" in reason for reason in found.reasons)


@pytest.mark.parametrize(("a", "b"), [(2.0, 2.0), (0.16, 0.19), (8.0, 2.0)])
def test_a_law_that_fits_costs_little_and_passes(a, b):
    rng, ratio = np.random.default_rng(3), []
    for _ in range(4):
        tree = fit(from_counts(rng.binomial(10, rng.beta(a, b, 150)), 10), **QUICKLY)
        widths = [np.ptp(np.quantile(tree["posterior"][v], [0.025, 0.975])) for v in LAW]
        ratio.append(widths[0] / widths[1])
        names = set(hb.diagnose(tree).table.query("~passed")["check"])
        assert not names & {"mean of the law", "counts predicted by the law"}
    assert np.mean(ratio) <= 1.1


LAW = ("mu", "mu_law")


@pytest.mark.slow
@pytest.mark.parametrize("k", [1, 3, 10])
@pytest.mark.parametrize("n", [3, 5, 10, 20])
def test_a_model_against_itself(n, k):
    against_itself(n, k, 300)


def test_three_prompts_of_a_model_against_itself():
    against_itself(3, 3, 60)


def against_itself(n, k, rounds):
    rng, out = np.random.default_rng([n, k]), 0
    for _ in range(rounds):
        p = rng.beta(2, 2, n)
        own, other = rng.binomial(k, p, (2, n)) / k
        pair = Pair(np.zeros((2, n)), np.zeros((2, n)), own, other, np.arange(n))
        draws, _ = on_new_prompts(pair, rng)
        low, high = np.quantile(draws, [0.025, 0.975])
        out += not low <= 0 <= high
    # 0.05 and 2.5 binomial errors of 300 rounds
    assert out / rounds <= 0.085


@pytest.mark.slow
@pytest.mark.parametrize("groups", [4, 6])
def test_few_groups_of_many_prompts(groups):
    rng, out, covered = np.random.default_rng(groups), 0, 0
    unit = np.repeat(np.arange(groups), 20)
    for _ in range(300):
        p = np.repeat(rng.beta(2, 2, groups), 20)
        tilt = np.repeat(rng.normal(0, 0.1, groups), 20)
        own, other = (rng.binomial(3, np.clip(p + s * tilt, 0, 1)) / 3 for s in (0.5, -0.5))
        pair = Pair(np.zeros((2, p.size)), np.zeros((2, p.size)), own, other, unit)
        low, high = np.quantile(on_new_prompts(pair, rng)[0], [0.025, 0.975])
        out += not low <= 0 <= high
        low, high = np.quantile(drawn(own, unit, rng), [0.025, 0.975])
        covered += low <= 0.5 <= high
    assert out / 300 <= 0.085
    assert covered / 300 >= 0.92


@pytest.mark.parametrize("other", [[1, 0, 0], [0, 0, 0], [1, 1, 1], [2, 1, 1]])
def test_few_generations_make_nothing_certain(other):
    share = np.array(other) / 3
    pair = Pair(np.zeros((2, 3)), np.zeros((2, 3)), share, np.zeros(3), np.arange(3))
    draws, _ = on_new_prompts(pair, np.random.default_rng(1))
    assert 0.4 < (draws > 0).mean() < 0.99


def test_the_gate_counts_prompts():
    for n, enough in ((3, False), (8, True)):
        tree = fit(from_counts([1, 2, 0, 3] * 2, 3).select(prompts=range(n)), **QUICKLY)
        row = hb.diagnose(tree).table.set_index("check").loc["prompts"]
        assert (row["value"], row["passed"]) == (n, enough)
    table = pd.DataFrame({"prompt": range(40), "n_correct": [0, 1, 2, 3] * 10, "k": 3})
    table["prompt_group"] = table["prompt"] % 4
    found = hb.diagnose(fit(table, **QUICKLY))
    assert any("has 4 prompt groups, fewer than 5" in reason for reason in found.reasons)


def test_scores_of_models_move_together():
    rng = np.random.default_rng(1)
    p = rng.beta(0.5, 0.5, 100)
    first, second = rng.binomial(10, p, (2, 100)) / 10
    unit = np.arange(100)
    draws = score_draws([first, second], [unit, unit], 4000, rng)
    seen = np.corrcoef(first, second)[0, 1]
    # a correlation r from 4,000 draws has error (1 - r^2) / 63
    assert np.corrcoef(draws.T)[0, 1] == pytest.approx(seen, abs=0.02)
    apart = np.std(first - second, ddof=1) / 10
    assert np.std(draws[:, 0] - draws[:, 1]) == pytest.approx(apart, rel=0.15)


@pytest.mark.parametrize(("n", "right"), [(12, 9), (20, 1), (6, 3)])
def test_one_generation_each_is_beta_with_the_tails_of_t(n, right):
    share = np.r_[np.ones(right), np.zeros(n - right)]
    draws = drawn(share, np.arange(n), np.random.default_rng(2), 8000)
    v, away = right / n, min(right, n - right)
    squared = v * (1 - v) / (n - 1)
    size = (away**2 + 1) / (away**2 * squared / (v * (1 - v)) + 1 / n)
    trials = size * stats.chi2.ppf((np.arange(2000) + 0.5) / 2000, n - 1) / (n - 1)
    law = np.vectorize(lambda x: stats.beta.cdf(x, trials * v + 0.5, trials * (1 - v) + 0.5).mean())
    assert stats.kstest(draws[::4], law).pvalue > 1e-3


def test_auto_picks_the_law_that_predicts_prompts():
    rng = np.random.default_rng(4)
    data = from_counts(rng.binomial(20, 1 / (1 + np.exp(-rng.normal(1.0, 1.0, 400)))), 20)
    tree = fit(data, shape="auto", **QUICKLY)
    told = json.loads(tree.attrs["shapes"])
    for name, score in told.items():
        alone = fit(data, shape=name, **QUICKLY)
        assert az.loo(alone, var_name="correct").elpd == pytest.approx(score, abs=1e-6)
    assert tree.attrs["shape"] == max(told, key=told.get) == "logit_normal"
    assert set(told) == {"beta", "logit_normal"}
