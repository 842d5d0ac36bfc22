"""The k-curve: exact expectation over subsamples, Monte-Carlo runs of it, real generations."""

from itertools import product
from math import comb

import numpy as np
import pandas as pd
import pytest
from many import from_counts, from_outcomes
from scipy import stats

import hero_bayes as hb
from hero_bayes.difficulty.prompt_means import squared_error
from hero_bayes.difficulty.score_moments import moments
from hero_bayes.difficulty.subsamples import enough, expected_squared_error, k_curve

SIZES = (2, 5, 10, 20, 50)


def laws(n_correct, k, size):
    """Hypergeometric law of every prompt's count in a subsample."""
    return [
        {c: comb(a, c) * comb(b - a, size - c) / comb(b, size) for c in range(size + 1)}
        for a, b in zip(n_correct, k, strict=True)
    ]


@pytest.mark.parametrize("group", [[0, 1, 2, 3], [0, 0, 1, 2], [0, 0, 0, 1]])
@pytest.mark.parametrize("size", [1, 2, 4])
def test_prediction_is_the_mean_over_all_subsamples(group, size):
    n_correct, k, group = np.array([1, 3, 0, 4]), np.array([4, 5, 4, 6]), np.array(group)
    expected = 0.0
    for counts in product(range(size + 1), repeat=4):
        chance = np.prod([law[c] for law, c in zip(laws(n_correct, k, size), counts, strict=True)])
        expected += chance * squared_error(np.array(counts) / size, group)
    found = expected_squared_error(n_correct, k, group, size)
    assert found == pytest.approx(expected, abs=1e-14)


@pytest.fixture(scope="module", params=["gpt-4+cot", "gpt-4+io"])
def game24(request):
    data = hb.datasets.load("game24_gpt4")
    return request.param, data, k_curve(data, SIZES, model=request.param).set_index("k")


def test_game24_is_the_exact_hypergeometric_expectation(game24):
    model, data, table = game24
    cells = data.cells_of(model)
    n_correct, n = data.n_correct[cells], len(cells)
    assert set(data.k[cells]) == {100}
    for size in SIZES:
        counts = np.arange(size + 1)
        chance = stats.hypergeom.pmf(counts, 100, n_correct[:, None], size)
        mean = chance @ (counts / size)
        variance = chance @ (counts / size) ** 2 - mean**2
        exact = (mean.var(ddof=1) + variance.mean()) / n
        assert table.loc[size, "standard_error"] ** 2 == pytest.approx(exact, abs=1e-10)
        assert table.loc[size, "standard_error"] ** 2 == pytest.approx(exact, rel=1e-9)


def test_game24_follows_lemma_2_1_within_monte_carlo_error(game24):
    model, data, table = game24
    found = moments(data, model)
    # mu - mu^2 - sigma^2, with the squared error of mu that mu^2 carries.
    within = found.mu - found.mu**2 + found.standard_error**2 - found.sigma_squared
    for size in SIZES:
        row = table.loc[size]
        lemma = found.sigma_squared / found.n_prompts + within / (found.n_prompts * size)
        assert row["standard_error"] ** 2 == pytest.approx(lemma, rel=1e-9)
        error = 2 * row["subsampled"] * row["mc_error"]
        assert 0 < error < 0.1 * lemma
        assert row["subsampled"] ** 2 == pytest.approx(lemma, abs=4 * error)


def test_columns(game24):
    model, data, table = game24
    found = moments(data, model)
    assert table["floor"].to_numpy() == pytest.approx(found.se_floor, rel=1e-12)
    width = 2 * stats.norm.ppf(0.975) * table["standard_error"]
    assert table["interval_width"].to_numpy() == pytest.approx(width.to_numpy(), rel=1e-12)
    share = (found.se_floor / table["standard_error"]) ** 2
    assert table["precision_share"].to_numpy() == pytest.approx(share.to_numpy(), rel=1e-9)
    assert (table["reason"] == "").all()


def test_all_generations_give_the_standard_error():
    data = from_counts([0, 1, 4, 5, 2], 5)
    row = k_curve(data, 5).iloc[0]
    assert row["standard_error"] == pytest.approx(moments(data).standard_error, rel=1e-12)
    assert row["subsampled"] == pytest.approx(row["standard_error"], rel=1e-12)
    assert row["mc_error"] == pytest.approx(0.0, abs=1e-15)


def test_order_of_generations_does_not_matter():
    # Accuracy falls with the index: the first two generations are always correct.
    outcomes = np.tile([1, 1, 0, 0, 0, 0], (30, 1))
    outcomes[:10] = 0
    shuffled = np.random.default_rng(1).permuted(outcomes, axis=1)
    one, two = (k_curve(from_outcomes(y), (2, 6)) for y in (outcomes, shuffled))
    pd.testing.assert_frame_equal(one, two)


def test_more_than_there_is_gets_a_prediction_and_a_reason():
    row = k_curve(from_counts([0, 1, 3], [3, 2, 4]), 3).iloc[0]
    assert np.isfinite(row["standard_error"])
    assert np.isnan(row["subsampled"])
    assert row["reason"] == "1 of 3 prompts have fewer than 3 generations"


def test_enough_is_the_smallest():
    data = from_counts([0, 1, 2, 3, 4, 4], 4)
    for tolerance in (0.01, 0.1, 0.3):
        result = enough(k_curve(data, (3, 7)), tolerance)
        errors = k_curve(data, (max(result.k - 1, 1), result.k))["standard_error"]
        assert result.standard_error == pytest.approx(errors.iloc[-1], rel=1e-12)
        assert errors.iloc[-1] <= (1 + tolerance) * result.floor < errors.iloc[0]
        assert f"{result.k} generations" in result.sentence
    assert enough(k_curve(data), 9).k == 1


def test_enough_without_a_floor():
    result = enough(k_curve(from_counts([2, 2, 2, 2], 4)))
    assert result.k == 0
    assert "no k is enough" in str(result)
    with pytest.raises(ValueError, match="tolerance"):
        enough(k_curve(from_counts([1, 2], 2)), 0.0)


def test_no_spread_at_all_has_a_reason():
    row = k_curve(from_counts([3, 3, 3], 3), 2).iloc[0]
    assert row["standard_error"] == 0.0
    assert np.isnan(row["precision_share"])
    assert row["reason"] == "no prompt differs from another"


def test_refusals():
    with pytest.raises(hb.Refusal, match="at least twice"):
        k_curve(from_counts([0, 1], 1))
    with pytest.raises(hb.Refusal, match="one prompt"):
        k_curve(from_counts([1], 2))


def test_seeds():
    data = from_counts([0, 1, 2, 3, 4, 4], 4)
    one, two, other = (k_curve(data, 2, random_seed=seed) for seed in (1, 1, 2))
    pd.testing.assert_frame_equal(one, two)
    assert one["subsampled"][0] != other["subsampled"][0]


@pytest.mark.parametrize(
    ("n", "k", "true"), [(40, 5, 20), (100, 2, 5), (100, 10, 20), (300, 5, 60)]
)
def test_the_interval_of_enough_covers(n, k, true):
    """Difficulty Beta(s / 2, s / 2): one generation's luck is s times the spread of prompts."""
    rng, repeats, covered, inside = np.random.default_rng(n + k), 60, 0, 0
    s = true * (1.1**2 - 1)
    for _ in range(repeats):
        data = from_counts(rng.binomial(k, rng.beta(s / 2, s / 2, n)), k)
        found = enough(k_curve(data, 1, repeats=1, prob=0.9))
        covered += found.low <= true <= found.high
        inside += found.k == 0 or found.low <= found.k <= found.high
    assert inside == repeats
    # With a coverage of 0.85 or more fewer have a chance below 1e-3; a point covers in under 0.2.
    assert covered >= stats.binom.ppf(1e-3, repeats, 0.85)


def test_enough_says_where_no_k_may_be():
    found = enough(k_curve(from_counts([1, 2, 2, 1, 3, 0], 4)))
    assert found.high == np.inf
    assert "without a limit" in found.sentence or found.k == 0
