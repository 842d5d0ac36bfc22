"""pass@k and pass^k against enumeration, closed forms and simulation."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from many import beta_fit, from_counts, normal_fit
from scipy import special, stats

import hero_bayes as hb
from hero_bayes.difficulty.fitting import fit as difficulty_fit
from hero_bayes.difficulty.planning import plan
from hero_bayes.difficulty.prompt_means import mean_over_prompts, squared_error
from hero_bayes.difficulty.reliability import NEW_PROMPTS, THESE_PROMPTS, pass_at_k
from hero_bayes.difficulty.shape import shape_table


def test_equals_the_share_of_all_subsets():
    generations = from_counts([0, 1, 3, 5, 4], [4, 5, 6, 5, 4])
    table = pass_at_k(generations, k=(1, 2, 3, 4)).set_index("k")
    for size in (1, 2, 3, 4):
        any_correct, all_correct = [], []
        for c, n in zip([0, 1, 3, 5, 4], [4, 5, 6, 5, 4], strict=True):
            sets = list(combinations([1] * c + [0] * (n - c), size))
            any_correct.append(np.mean([max(s) for s in sets]))
            all_correct.append(np.mean([min(s) for s in sets]))
        row = table.loc[size]
        assert row["pass_at_k"] == pytest.approx(np.mean(any_correct), abs=1e-14)
        assert row["pass_all_k"] == pytest.approx(np.mean(all_correct), abs=1e-14)
        sd = np.std(all_correct, ddof=1)
        assert row["pass_all_k_se"] == pytest.approx(sd / np.sqrt(5), abs=1e-14)
    assert table.loc[1, "pass_at_k"] == table.loc[1, "pass_all_k"]


def test_estimates_are_unbiased():
    # Exact expectation over all counts of one prompt with P(correct) = p.
    n, p = 7, 0.37
    chance = stats.binom.pmf(np.arange(n + 1), n, p)
    tables = [pass_at_k(from_counts([c, c], n), k=(2, 5)) for c in range(n + 1)]
    for position, size in enumerate((2, 5)):
        any_correct = sum(w * t["pass_at_k"][position] for w, t in zip(chance, tables, strict=True))
        all_correct = sum(
            w * t["pass_all_k"][position] for w, t in zip(chance, tables, strict=True)
        )
        assert any_correct == pytest.approx(1 - (1 - p) ** size, abs=1e-12)
        assert all_correct == pytest.approx(p**size, abs=1e-12)


def test_related_prompts_widen_the_error():
    n_correct, group = [0, 0, 4, 4, 2, 2], ["a", "a", "b", "b", "c", "c"]
    values = np.array([0, 0, 1, 1, 0.5, 0.5])
    single = pass_at_k(from_counts(n_correct, 4), k=1)["pass_at_k_se"][0]
    grouped = pass_at_k(from_counts(n_correct, 4, prompt_group=group), k=1)["pass_at_k_se"][0]
    assert single == pytest.approx(values.std(ddof=1) / np.sqrt(6), abs=1e-14)
    sums = np.array([-1.0, 1.0, 0.0])
    assert grouped == pytest.approx(np.sqrt(3 / 2 * (sums**2).sum()) / 6, abs=1e-14)
    assert squared_error(values, np.arange(6)) == pytest.approx(values.var(ddof=1) / 6, abs=1e-15)


@pytest.mark.parametrize(("count", "end"), [(0, 0.0), (5, 1.0)])
def test_interval_has_width_at_the_ends(count, end):
    n, quantile = 30, stats.t.ppf(0.975, 29)
    row = pass_at_k(from_counts([count] * n, 5), k=5).iloc[0]
    width = quantile**2 / (n + quantile**2)  # Wilson with n trials
    for name in ("pass_at_k", "pass_all_k"):
        limits = (row[f"{name}_low"], row[f"{name}_high"])
        expected = (0.0, width) if end == 0.0 else (1 - width, 1.0)
        assert row[name] == end
        assert row[f"{name}_se"] == 0.0
        assert limits == pytest.approx(expected, abs=1e-12)


def test_interval_is_wilson_where_prompts_are_many():
    rng = np.random.default_rng(4)
    values = rng.beta(0.5, 0.5, size=4000)
    mean = mean_over_prompts(values, np.arange(4000))
    trials = mean.value * (1 - mean.value) / mean.standard_error**2
    low, high = stats.binomtest(round(mean.value * trials), round(trials)).proportion_ci(
        method="wilson"
    )
    # Differences: rounding to whole trials (1/trials), t for normal, one prompt's weight in 4,000.
    assert (mean.low, mean.high) == pytest.approx((low, high), abs=2 / trials)


def test_one_prompt_has_a_reason_and_no_claim():
    row = pass_at_k(from_counts([2], 3), k=1).iloc[0]
    assert np.isnan(row["pass_at_k_se"])
    assert "one prompt" in row["reason"]
    assert (row["pass_at_k_low"], row["pass_at_k_high"]) == (0.0, 1.0)


@pytest.mark.parametrize(
    ("a", "b", "n", "size"), [(0.16, 0.19, 60, 1), (0.67, 0.03, 60, 5), (0.25, 6, 100, 1)]
)
def test_interval_covers(a, b, n, size):
    rng, repeats = np.random.default_rng(7), 400
    truth = float(np.exp(special.betaln(a + size, b) - special.betaln(a, b)))
    covered = 0
    for _ in range(repeats):
        counts = rng.binomial(10, rng.beta(a, b, size=n))
        row = pass_at_k(from_counts(counts, 10), k=size).iloc[0]
        covered += row["pass_all_k_low"] <= truth <= row["pass_all_k_high"]
    # At least 92 % of 95 nominal, less four Monte-Carlo errors.
    assert covered / repeats >= 0.92 - 4 * np.sqrt(0.95 * 0.05 / repeats)


def test_too_few_generations_are_refused_with_numbers():
    generations = from_counts([1, 2, 0], [2, 5, 3])
    with pytest.raises(hb.Refusal, match=r"2 of 3 prompts .* least is 2.*pass a fit"):
        pass_at_k(generations, k=(1, 5))
    assert len(pass_at_k(generations, k=2)) == 1


@pytest.mark.parametrize("k", [0, 1.5, (), (1, -2), True, "2"])
def test_k_must_be_whole(k):
    with pytest.raises(ValueError, match="whole numbers"):
        pass_at_k(from_counts([1, 2], 2), k=k)


def test_beta_fit_has_the_closed_form():
    rng = np.random.default_rng(2)
    mu, icc = rng.uniform(0.1, 0.9, 40), rng.uniform(0.05, 0.95, 40)
    table = pass_at_k(beta_fit(mu, icc), k=(1, 2, 20)).set_index(["estimand", "k"])
    size = (1 - icc) / icc
    a, b = mu * size, (1 - mu) * size
    for k in (1, 2, 20):
        row = table.loc[(NEW_PROMPTS, k)]
        all_correct = np.exp(special.betaln(a + k, b) - special.betaln(a, b))
        none = np.exp(special.betaln(a, b + k) - special.betaln(a, b))
        assert row["pass_all_k"] == pytest.approx(all_correct.mean(), abs=1e-12)
        assert row["pass_at_k"] == pytest.approx(1 - none.mean(), abs=1e-12)
        assert row["pass_all_k_low"] == pytest.approx(np.quantile(all_correct, 0.025), abs=1e-12)
    assert table.loc[(NEW_PROMPTS, 1), "pass_at_k"] == pytest.approx(mu.mean(), abs=1e-14)


def test_logit_normal_fit_is_the_integral():
    location, scale = np.array([-2.0, 0.3, 1.0]), np.array([0.2, 6.0, 15.0])
    table = pass_at_k(normal_fit(location, scale), k=(1, 4)).set_index(["estimand", "k"])
    rng = np.random.default_rng(8)
    z = rng.standard_normal(1_000_000)
    for k in (1, 4):
        p = special.expit(location[:, None] + scale[:, None] * z)
        error = 4 * (p**k).mean(axis=0).std() / 1000  # four Monte-Carlo errors
        assert table.loc[(NEW_PROMPTS, k), "pass_all_k"] == pytest.approx((p**k).mean(), abs=error)
        none = (1 - p) ** k
        error = 4 * none.mean(axis=0).std() / 1000
        assert table.loc[(NEW_PROMPTS, k), "pass_at_k"] == pytest.approx(1 - none.mean(), abs=error)


def test_these_prompts_are_the_draws_of_those_prompts():
    p = np.array([[0.1, 0.9, 0.5], [0.2, 0.8, 0.4]])
    table = pass_at_k(beta_fit([0.5, 0.5], [0.3, 0.3], p), k=3).set_index("estimand")
    row = table.loc[THESE_PROMPTS]
    assert row["n_prompts"] == 3
    assert row["pass_all_k"] == pytest.approx((p**3).mean(), abs=1e-14)
    assert row["pass_at_k"] == pytest.approx(1 - ((1 - p) ** 3).mean(), abs=1e-14)


def test_something_else_is_no_fit():
    fit = beta_fit([0.5], [0.3])
    del fit.attrs["shape"]
    with pytest.raises(hb.DataError, match=r"hb.difficulty.fit"):
        pass_at_k(fit)


@pytest.mark.parametrize("shape", ["beta", "logit_normal"])
def test_fits_are_understood(shape):
    counts = from_counts([0, 1, 1, 3, 4, 6, 7, 8] * 5, 8)
    fit = difficulty_fit(counts, shape=shape, mode="laplace", draws=50, chains=2, random_seed=1)
    table = pass_at_k(fit, k=1).set_index("estimand")["pass_at_k"]
    posterior = fit["posterior"].to_dataset()
    # The fit sums over fixed nodes, 0.08 apart: error below 1e-6 for scales from 0.05 to 7.
    assert table[NEW_PROMPTS] == pytest.approx(posterior["mu_law"].mean().item(), abs=1e-6)
    assert table[THESE_PROMPTS] == pytest.approx(
        posterior["mu_these_prompts"].mean().item(), abs=1e-12
    )
    ends = shape_table(fit)
    assert ends["shape"].tolist() == [shape]
    assert ends["sigma"][0] == pytest.approx(posterior["sigma"].mean().item(), abs=1e-12)
    assert plan(fit, k=8)["n"].tolist() == [40]


@pytest.mark.parametrize(("least", "sizes"), [(1, [1]), (2, [1, 2]), (4, [1, 2]), (7, [1, 2, 5])])
def test_without_k_every_log_is_answered_as_far_as_it_holds(least, sizes):
    rng = np.random.default_rng(least)
    k = rng.integers(least, 30, 40)
    k[3] = least
    counts = pd.DataFrame({"prompt": range(40), "n_correct": rng.binomial(k, 0.4), "k": k})
    table = pass_at_k(counts)
    assert table["k"].to_list() == sizes
    assert f"k up to {sizes[-1]}: some prompt has {least} generation" in table["reason"].iloc[-1]
    pd.testing.assert_frame_equal(
        table.drop(columns="reason"), pass_at_k(counts, sizes).drop(columns="reason")
    )


def test_without_k_each_model_is_answered_as_far_as_it_holds():
    counts = pd.DataFrame(
        {"prompt": list("abab"), "model": list("xxyy"), "n_correct": 1, "k": [2, 3, 10, 12]}
    )
    table = pass_at_k(counts)
    assert table.groupby("model")["k"].max().to_dict() == {"x": 2, "y": 10}
    assert table["reason"].iloc[-1] == ""


@pytest.mark.parametrize(
    ("a", "b", "n", "size"),
    [(2, 0.2, 200, 5), (2, 0.2, 300, 5), (2, 0.2, 100, 5), (1, 0.05, 100, 1), (20, 1, 50, 1)],
)
def test_interval_covers_near_the_edge(a, b, n, size):
    rng, repeats, covered = np.random.default_rng(3), 2000, 0
    truth = 1 - float(np.exp(special.betaln(a, b + size) - special.betaln(a, b)))
    for _ in range(repeats):
        wrong = rng.binomial(10, rng.beta(b, a, n))
        passes = 1 - special.binom(wrong, size) / special.binom(10, size)
        mean = mean_over_prompts(passes, np.arange(n))
        covered += mean.low <= truth <= mean.high
    # Fewer have a chance below 1e-3 where 93.5 % cover; by the sample variance alone 87 % may.
    assert covered >= stats.binom.ppf(1e-3, repeats, 0.935)
