"""Moments against hand computation, enumeration of all outcomes, and exact binomial bounds."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from scipy.stats import beta, binom, t

import hero_bayes as hb
from hero_bayes.data.generations import Generations
from hero_bayes.difficulty.difference import difference_moments
from hero_bayes.difficulty.score_moments import moments, moments_table

#: Sums of a few dozen doubles near 1 are right to this.
ROUNDING = 1e-12


def counts(n_correct, k, **columns):
    table = {"prompt": range(len(n_correct)), "n_correct": n_correct, "k": k, **columns}
    return Generations.from_frame(pd.DataFrame(table))


def test_by_hand():
    found = moments(counts([2, 1], [3, 3]))
    # p_hat = 2/3, 1/3: s2 = 1/18, noise = 2/9/2 = 1/9, SE = sqrt(1/36).
    assert found.mu == pytest.approx(0.5, abs=ROUNDING)
    assert found.standard_error == pytest.approx(1 / 6, abs=ROUNDING)
    assert found.sigma_squared == pytest.approx(1 / 18 - 1 / 9, abs=ROUNDING)
    assert found.sigma == 0.0
    assert found.between == pytest.approx(-1 / 36, abs=ROUNDING)
    assert found.within == pytest.approx(1 / 18, abs=ROUNDING)
    assert (found.icc, found.se_floor) == (0.0, 0.0)
    assert (found.n_prompts, found.n_generations, found.k) == (2, 6, (3, 3))
    assert (found.identified, found.reason, found.clustered) == (True, "", False)
    low, high = found.interval(0.9)
    half = min(t.ppf(0.95, 1) / 6, 0.5)
    assert (low, high) == pytest.approx((0.5 - half, 0.5 + half), abs=ROUNDING)


def test_score_is_the_mean_over_prompts_not_over_generations():
    found = moments(counts([1, 0, 9], [1, 4, 10]))
    assert found.mu == pytest.approx((1 + 0 + 0.9) / 3, abs=ROUNDING)
    assert found.k == (1, 10)


def test_equal_k_is_lemma_2_1_and_the_standard_error_of_epoch_means():
    rng = np.random.default_rng(5)
    n, k = 40, 7
    n_correct = rng.binomial(k, rng.beta(0.5, 0.7, n))
    found = moments(counts(n_correct, np.full(n, k)))
    p_hat = n_correct / k
    assert found.standard_error == pytest.approx(p_hat.std(ddof=1) / math.sqrt(n), abs=ROUNDING)
    # Lemma 2.1 with mu - mu^2 - sigma^2 by its unbiased estimate k/(n(k-1)) sum p_hat(1 - p_hat).
    within = k / (n * (k - 1)) * (p_hat * (1 - p_hat)).sum() / (n * k)
    assert found.within == pytest.approx(within, abs=ROUNDING)
    assert found.between == pytest.approx(found.sigma**2 / n, abs=ROUNDING)
    assert found.within + found.between == pytest.approx(found.standard_error**2, abs=ROUNDING)
    assert found.se_floor == pytest.approx(found.sigma / math.sqrt(n), abs=ROUNDING)
    icc = found.sigma_squared / (found.mu - found.mu**2)
    assert found.icc == pytest.approx(icc, abs=ROUNDING)


def test_one_generation():
    found = moments(counts([1, 0, 1, 1], [1] * 4))
    # s2 = mu (1 - mu) n / (n - 1) for zeros and ones.
    assert found.standard_error == pytest.approx(math.sqrt(0.75 * 0.25 / 3), abs=ROUNDING)
    assert not found.identified
    unknown = (found.sigma, found.sigma_squared, found.within, found.between, found.icc)
    assert np.isnan([*unknown, found.se_floor]).all()
    assert "k = 1" in found.reason


def enumerated(k, law, statistic):
    """Exact expectation of a statistic: every p of every prompt, every outcome."""
    total = 0.0
    values, weights = zip(*law, strict=True)
    for chosen in itertools.product(range(len(law)), repeat=len(k)):
        p = np.array([values[i] for i in chosen])
        weight = math.prod(weights[i] for i in chosen)
        for outcome in itertools.product(*(range(size + 1) for size in k)):
            chance = float(np.prod(binom.pmf(outcome, k, p)))
            total += weight * chance * statistic(moments(counts(outcome, k)))
    return total


LAW = ((0.1, 0.3), (0.6, 0.5), (1.0, 0.2))
MEAN = sum(p * w for p, w in LAW)
VARIANCE = sum((p - MEAN) ** 2 * w for p, w in LAW)
LUCK = sum(p * (1 - p) * w for p, w in LAW)


@pytest.mark.parametrize("k", [(2, 2), (2, 4), (1, 3), (1, 2, 2)])
def test_unbiased_by_enumeration(k):
    n = len(k)

    def all_three(found):
        return np.array([found.sigma_squared, found.standard_error**2, found.within])

    sigma_squared, squared_error, within = enumerated(k, LAW, all_three)
    luck = LUCK * np.mean([1 / size for size in k])
    assert sigma_squared == pytest.approx(VARIANCE, abs=ROUNDING)
    assert squared_error == pytest.approx((VARIANCE + luck) / n, abs=ROUNDING)
    assert within == pytest.approx(luck / n, abs=ROUNDING)


def test_k_of_at_least_two_may_depend_on_the_prompt():
    # k = 2 where p = .9, k = 4 where p = .2: still unbiased, given the two prompts' own p.
    p, k = np.array([0.9, 0.2]), (2, 4)
    total = 0.0
    for outcome in itertools.product(range(3), range(5)):
        total += binom.pmf(outcome, k, p).prod() * moments(counts(outcome, k)).sigma_squared
    assert total == pytest.approx(np.var(p, ddof=1), abs=ROUNDING)


@pytest.mark.parametrize(("share", "n"), [(1, 20), (0, 20), (1, 2)])
def test_all_alike_gives_clopper_and_pearson(share, n):
    found = moments(counts([3 * share] * n, [3] * n))
    assert (found.mu, found.standard_error, found.sigma) == (share, 0.0, 0.0)
    assert math.isnan(found.icc)
    assert "do not differ" in found.reason
    assert "no icc" in found.reason
    low, high = found.interval(0.9)
    hits = n * share
    exact = (
        beta.ppf(0.05, hits, 1) if share else 0.0,
        1.0 if share else beta.ppf(0.95, 1, n),
    )
    assert (low, high) == pytest.approx(exact, abs=ROUNDING)


def test_equal_means_inside_get_width_too():
    found = moments(counts([1, 2, 3], [2, 4, 6]))  # all 1/2
    low, high = found.interval()
    assert found.standard_error == 0.0
    assert found.mu == 0.5
    assert 0 < low < 0.5 < high < 1
    third = moments(counts([1, 2, 3] * 7, [3, 6, 9] * 7))  # 1/3 does not sum exactly
    assert (third.mu, third.standard_error) == (1 / 3, 0.0)


def test_one_prompt():
    found = moments(counts([3], [4]))
    assert found.mu == 0.75
    assert math.isnan(found.standard_error)
    assert math.isnan(found.sigma)
    assert "needs two prompts" in found.reason
    low, high = found.interval()
    assert low < 0.05
    assert high > 0.95


def test_interval_stays_inside_and_covers_more_at_higher_prob():
    found = moments(counts([0, 0, 0, 1], [4] * 4))
    assert found.interval()[0] == 0.0
    assert found.interval(0.99)[1] > found.interval(0.5)[1]
    with pytest.raises(ValueError, match="prob must lie between 0 and 1, got 95"):
        found.interval(95)


def test_groups_of_one_change_nothing():
    n_correct, k = [0, 1, 4, 2, 3], [4] * 5
    plain = moments(counts(n_correct, k))
    single = moments(counts(n_correct, k, prompt_group=list("abcde")))
    assert single.clustered
    assert single.standard_error == pytest.approx(plain.standard_error, abs=ROUNDING)
    assert single.between == pytest.approx(plain.between, abs=ROUNDING)


def test_groups_by_hand():
    found = moments(counts([4, 4, 0, 0, 2], [4] * 5, prompt_group=list("aabbc")))
    # Deviations from mu = 1/2: 1/2 1/2 | -1/2 -1/2 | 0; sums 1, -1, 0; G = 3, n = 5.
    assert found.standard_error**2 == pytest.approx(3 / 2 * 2 / 25, abs=ROUNDING)
    plain = moments(counts([4, 4, 0, 0, 2], [4] * 5))
    assert found.within == plain.within
    assert found.between == pytest.approx(3 / 25 - plain.within, abs=ROUNDING)
    assert found.se_floor == pytest.approx(math.sqrt(found.between), abs=ROUNDING)
    assert found.sigma == plain.sigma
    assert (found.clustered, found.n_groups) == (True, 3)


def test_one_group_has_no_standard_error():
    found = moments(counts([4, 0, 2], [4] * 3, prompt_group=["a"] * 3))
    assert math.isnan(found.standard_error)
    assert "two prompt groups" in found.reason
    assert found.identified
    low, high = found.interval()
    assert low < 0.05
    assert high > 0.95


def two_models():
    rows = [("x", p, n) for p, n in zip("abcd", (4, 2, 0, 1), strict=True)]
    rows += [("y", p, n) for p, n in zip("bcde", (1, 1, 1, 4), strict=True)]
    return pd.DataFrame(rows, columns=["model", "prompt", "n_correct"]).assign(k=4)


def test_paired_difference_by_hand():
    found = difference_moments(two_models(), "x", "y")
    d = np.array([1, -1, 0]) / 4  # b, c, d
    assert found.difference == pytest.approx(0.0, abs=ROUNDING)
    assert found.standard_error == pytest.approx(d.std(ddof=1) / math.sqrt(3), abs=ROUNDING)
    assert (found.n_prompts, found.only_model, found.only_reference) == (3, 1, 1)
    assert (found.mu, found.mu_reference) == pytest.approx((0.25, 0.25), abs=ROUNDING)
    half = t.ppf(0.975, 2) * found.standard_error
    assert found.interval() == pytest.approx((-half, half), abs=ROUNDING)
    turned = difference_moments(two_models(), "y", "x")
    assert (turned.only_model, turned.standard_error) == (1, found.standard_error)


def test_difference_in_groups():
    table = two_models()
    table["prompt_group"] = table["prompt"].map(dict(a="g", b="g", c="g", d="h", e="h"))
    found = difference_moments(table, "x", "y")
    # Deviations 1/4 and -1/4 are in one group: they cancel, and no error is left.
    assert found.clustered
    assert found.n_groups == 2
    assert found.standard_error == 0.0
    assert "do not differ" in found.reason


def test_models_that_agree_get_a_bound():
    n = 30
    table = pd.DataFrame(
        {"model": ["x"] * n + ["y"] * n, "prompt": [*range(n)] * 2, "n_correct": 1, "k": 3}
    )
    found = difference_moments(table, "x", "y")
    low, high = found.interval()
    assert found.difference == 0.0
    assert "the differences are all equal" in found.reason
    assert high == -low == pytest.approx(1 - 0.025 ** (1 / n), abs=ROUNDING)


def test_difference_errors():
    table = two_models()
    with pytest.raises(hb.DataError, match="both 'x'"):
        difference_moments(table, "x", "x")
    with pytest.raises(hb.DataError, match="no model 'z'"):
        difference_moments(table, "x", "z")
    apart = table[~((table["model"] == "y") & table["prompt"].isin(list("bcd")))]
    with pytest.raises(hb.Refusal, match="share no prompt"):
        difference_moments(apart, "x", "y")
    with pytest.raises(hb.Refusal, match="choose one with model="):
        moments(table)


def test_table_holds_every_model():
    table = moments_table(two_models(), prob=0.8).set_index("model")
    found = moments(two_models(), "y")
    row = table.loc["y"]
    assert (row["low"], row["high"]) == found.interval(0.8)
    for name in ("mu", "sigma", "standard_error", "within", "between", "icc", "n_prompts"):
        assert row[name] == getattr(found, name)
    assert (row["k_min"], row["k_max"]) == found.k
    assert table.index.tolist() == ["x", "y"]


def test_published_facts():
    table = moments_table(hb.datasets.load("game24_gpt4")).set_index("model").round(4)
    assert table.loc["gpt-4+cot", ["mu", "standard_error"]].tolist() == [0.0403, 0.0081]
    assert table.loc["gpt-4+cot", "sigma"].round(3) == 0.079
    assert table.loc["gpt-4+io", ["mu", "standard_error"]].tolist() == [0.0734, 0.0191]
    crux = moments(hb.datasets.load("cruxeval"), "gpt-4-0613+cot")
    assert (round(crux.sigma, 3), round(crux.standard_error, 4)) == (0.342, 0.0124)
