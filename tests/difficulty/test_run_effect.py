"""The run effect: exact under exchangeability, visible when runs differ."""

from itertools import permutations, product

import numpy as np
import pandas as pd
import pytest
from many import from_counts, from_outcomes
from scipy import stats

import hero_bayes as hb
from hero_bayes.data.generations import Generations
from hero_bayes.difficulty.runs import run_effect
from hero_bayes.difficulty.single_runs import normal_range, single_run_spread


def simulate(seed, n=80, runs=8, effect=0.0, missing=0.0):
    """U-shaped difficulties; run r adds effect x z_r to every chance on the logit scale."""
    rng = np.random.default_rng(seed)
    p = rng.beta(0.7, 0.7, size=n)
    logit = np.log(p / (1 - p))[:, None] + effect * rng.standard_normal(runs)
    y = (rng.random((n, runs)) < 1 / (1 + np.exp(-logit))).astype(float)
    y[rng.random((n, runs)) < missing] = np.nan
    return y


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_p_values_are_uniform_without_effect(missing):
    values = []
    for seed in range(300):
        y = simulate(seed, missing=missing)
        values.append(run_effect(from_outcomes(y, range(8)), n_permutations=99).p_value)
    # Ties make p-values of complete runs a little large: never too small, never far off.
    assert stats.kstest(values, "uniform", alternative="greater").pvalue > 1e-3
    assert stats.kstest(values, "uniform").statistic < 0.15


def test_a_run_effect_is_found():
    values = [
        run_effect(from_outcomes(simulate(seed, effect=0.7), range(8)), n_permutations=99).p_value
        for seed in range(40)
    ]
    assert np.mean(np.array(values) <= 0.05) > 0.8


def test_a_failed_run_stands_out():
    y = simulate(3, n=200, runs=10)
    y[:, 4] *= np.random.default_rng(1).random(200) < 0.5
    effect = run_effect(from_outcomes(y, list("abcdefghij")))
    assert effect.run_scores.idxmin() == "e"
    assert effect.p_value == pytest.approx(1 / 2001)
    assert effect.visible
    assert "more than sampling allows" in effect.sentence


def test_expected_sd_is_the_within_part():
    y = simulate(5, n=300, runs=12)
    effect = run_effect(from_outcomes(y, range(12)))
    p_hat = y.mean(axis=1)
    sigma_squared = p_hat.var(ddof=1) - (p_hat * (1 - p_hat)).mean() / 11
    mu = p_hat.mean()
    # mu - mu^2 of the estimate falls short of the unbiased one by its squared error, s^2 / n.
    within = mu - mu**2 + p_hat.var(ddof=1) / 300 - sigma_squared
    assert effect.expected_sd == pytest.approx(np.sqrt(within / 300), rel=1e-12)
    assert effect.run_scores.to_numpy() == pytest.approx(y.mean(axis=0), abs=1e-14)
    assert effect.sd == pytest.approx(y.mean(axis=0).std(ddof=1), abs=1e-14)


def test_expected_spread_is_the_range_of_normals():
    y = simulate(6, n=400, runs=50)
    effect = run_effect(from_outcomes(y, range(50)), n_permutations=400)
    p_hat = y.mean(axis=1)
    sigma_squared = p_hat.var(ddof=1) - (p_hat * (1 - p_hat)).mean() / 49
    expected = single_run_spread(p_hat.mean(), np.sqrt(sigma_squared), 400, runs=50)
    mean, sd = normal_range(50)
    # Four Monte-Carlo errors of 400 permutations, and 1 % for 400 prompts being not yet normal.
    tolerance = expected * (4 * sd / mean / np.sqrt(400) + 0.01)
    assert effect.expected_spread == pytest.approx(expected, abs=tolerance)


def test_expected_sd_with_gaps_is_the_mean_over_all_permutations():
    y = np.array([[1, 0, 0], [1, 1, np.nan], [np.nan, 0, 1]])
    runs = ["u", "v", "w"]
    seen = [np.flatnonzero(~np.isnan(row)) for row in y]
    residual = [row[s] - row[s].mean() for row, s in zip(y, seen, strict=True)]
    size = (~np.isnan(y)).sum(axis=0)
    variances, spreads, totals = [], [], []
    for orders in product(*(permutations(r) for r in residual)):
        total = np.zeros(3)
        for values, s in zip(orders, seen, strict=True):
            total[s] += values
        variances.append((total / size).var(ddof=1))
        spreads.append(np.ptp(total / size))
        totals.append(total)
    effect = run_effect(from_outcomes(y, runs), n_permutations=4000)
    assert effect.expected_sd == pytest.approx(np.sqrt(np.mean(variances)), abs=1e-13)
    error = np.std(spreads) / np.sqrt(4000)
    assert effect.expected_spread == pytest.approx(np.mean(spreads), abs=4 * error)
    deviations = np.array(totals) / size
    inverse = np.linalg.pinv(np.cov(deviations.T, bias=True), rcond=1e-9)
    statistics = np.einsum("di,ij,dj->d", deviations, inverse, deviations)
    score = effect.run_scores.to_numpy()
    seen_now = score - np.nanmean(y, axis=1).mean()
    exact = np.mean(statistics >= seen_now @ inverse @ seen_now - 1e-9)
    assert effect.run_errors.to_numpy() == pytest.approx(deviations.std(axis=0), abs=1e-13)
    assert effect.p_value == pytest.approx(exact, abs=4 * np.sqrt(exact * (1 - exact) / 4000))


def test_scores_do_not_depend_on_which_prompts_a_run_misses():
    # Run 0 misses the easy prompts; no prompt has a run effect.
    y = np.array([[0.0, 0, 0]] * 20 + [[np.nan, 1, 1]] * 20)
    effect = run_effect(from_outcomes(y, range(3)))
    assert effect.spread == 0.0
    assert effect.run_scores.to_numpy() == pytest.approx([0.5] * 3)
    assert effect.p_value == 1.0


def test_one_model_of_several():
    tables = []
    for model, seed in (("a", 1), ("b", 2)):
        frame = from_outcomes(simulate(seed, n=20), range(8)).to_frame()
        tables.append(frame.assign(model=model))
    both = Generations.from_frame(pd.concat(tables))
    for model, table in zip("ab", tables, strict=True):
        alone, chosen = run_effect(table), run_effect(both, model=model)
        assert chosen.model == model
        assert (alone.p_value, alone.spread) == (chosen.p_value, chosen.spread)
    with pytest.raises(hb.Refusal, match="2 models"):
        run_effect(both)


def test_refusals_name_the_remedy():
    with pytest.raises(hb.Refusal, match=r"columns=\{'run': 'generation'\}"):
        run_effect(from_outcomes([[1, 0], [0, 1]]))
    with pytest.raises(hb.Refusal, match="no column run"):
        run_effect(from_counts([1, 2], 2))
    with pytest.raises(hb.Refusal, match="no prompt has two"):
        run_effect(from_outcomes([[1], [0]], ["a"]))
    with pytest.raises(hb.Refusal, match="one run"):
        run_effect(from_outcomes([[1, 0], [0, 1]], ["a", "a"]))
    with pytest.raises(hb.Refusal, match="1 generation without a run"):
        run_effect(
            pd.DataFrame(
                {"prompt": [1, 1, 2, 2], "correct": [0, 1, 1, 1], "run": [*list("aba"), None]}
            )
        )
    assert run_effect(from_outcomes([[1, 0], [np.nan, 1], [1, 1]], ["a", "b"])).n_left_out == 1


def test_normal_range_against_simulation_and_tables():
    assert normal_range(2)[0] == pytest.approx(2 / np.sqrt(np.pi), abs=1e-9)
    assert normal_range(2)[1] == pytest.approx(np.sqrt(2 - 4 / np.pi), abs=1e-9)
    assert normal_range(3)[0] == pytest.approx(3 / np.sqrt(np.pi), abs=1e-9)
    draws = np.ptp(np.random.default_rng(3).standard_normal((40_000, 50)), axis=1)
    mean, sd = normal_range(50)
    assert draws.mean() == pytest.approx(mean, abs=4 * sd / 200)
    assert draws.std() == pytest.approx(sd, abs=4 * sd / 200)


@pytest.mark.parametrize(("mu", "sigma"), [(0.5, 0.6), (1.2, 0.0), (0.5, -0.1)])
def test_impossible_moments_are_refused(mu, sigma):
    with pytest.raises(ValueError, match="no chance of success"):
        single_run_spread(mu, sigma, 100)


@pytest.mark.parametrize(("model", "ordered"), [("codellama-34b", True), ("gpt-4-0613+cot", False)])
def test_ordered_generations_are_found_in_real_logs(model, ordered):
    # The index of codellama's generations is an order (accuracy falls with it), not a run.
    table = hb.datasets.load("cruxeval").select(models=model).to_frame()
    generations = Generations.from_frame(table, columns={"run": "generation"})
    effect = run_effect(generations, n_permutations=200)
    assert effect.n_runs == 10
    assert (effect.spread > 4 * effect.expected_spread) == ordered
    assert effect.visible == ordered


@pytest.mark.parametrize("tiny", [1, 3, 6, 12])
def test_a_run_of_few_generations_does_not_drown_the_others(tiny):
    found, false = 0, 0
    for seed in range(40):
        y = simulate(seed, n=200, runs=5)
        y[:, 4] = np.where(np.arange(200) < tiny, y[:, 4], np.nan)
        false += run_effect(from_outcomes(y, range(5)), n_permutations=199).visible
        y[:, 1] *= np.random.default_rng(seed).random(200) < 0.7
        effect = run_effect(from_outcomes(y, range(5)), n_permutations=199)
        found += effect.visible
        assert effect.tiny == ("4",)
        assert f"say little: '4' ({tiny})" in effect.sentence
    assert found >= 38
    assert false <= stats.binom.ppf(1 - 1e-4, 40, 0.05)


def test_runs_of_one_size_are_not_called_tiny():
    assert run_effect(from_outcomes(simulate(1, missing=0.3), range(8))).tiny == ()
