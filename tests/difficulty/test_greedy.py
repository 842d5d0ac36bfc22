"""Greedy against sampled scores: hand-made cases, pairing, coverage."""

import numpy as np
import pandas as pd
import pytest
from many import from_counts
from scipy import stats

import hero_bayes as hb
from hero_bayes.data.generations import Generations
from hero_bayes.difficulty.greedy import greedy_against_sampled


def test_by_hand():
    result = greedy_against_sampled(from_counts([0, 1, 3, 4], 4), from_counts([0, 1, 1, 1], 1))
    difference = np.array([0, 0.75, 0.25, 0])
    assert (result.greedy, result.sampled) == (0.75, 0.5)
    assert result.greedy_se == pytest.approx(np.sqrt(0.75 * 0.25 / 4), abs=1e-15)
    p_hat = np.array([0, 0.25, 0.75, 1])
    assert result.sampled_se == pytest.approx(p_hat.std(ddof=1) / 2, abs=1e-15)
    assert result.difference == pytest.approx(0.25, abs=1e-15)
    assert result.standard_error == pytest.approx(difference.std(ddof=1) / 2, abs=1e-15)
    assert -1 <= result.low < 0.25 < result.high <= 1
    assert "no difference is visible" in result.sentence


def test_greedy_error_is_the_one_printed_for_gsm8k():
    result = greedy_against_sampled(
        from_counts([1] * 1319, 2), from_counts([1] * 1136 + [0] * 183, 1)
    )
    assert round(100 * result.greedy_se, 2) == 0.95  # 86.1 % of 1,319 prompts


def test_interval_is_paired_and_covers():
    rng, n, k, repeats = np.random.default_rng(1), 80, 5, 400
    covered, paired, unpaired = 0, [], []
    for _ in range(repeats):
        p = rng.beta(0.3, 0.3, size=n)
        lift = np.where(p > 0.5, p + 0.3 * (1 - p), 0.7 * p)  # greedy: the mode more often
        result = greedy_against_sampled(
            from_counts(rng.binomial(k, p), k), from_counts(rng.binomial(1, lift), 1)
        )
        covered += result.low <= 0.0 <= result.high  # symmetric: no difference on average
        paired.append(result.standard_error)
        unpaired.append(np.hypot(result.greedy_se, result.sampled_se))
    error = np.sqrt(0.95 * 0.05 / repeats)
    assert 0.95 - 4 * error <= covered / repeats
    assert np.mean(paired) < 0.7 * np.mean(unpaired)


def test_equal_answers_still_leave_an_interval():
    result = greedy_against_sampled(from_counts([3] * 20, 3), from_counts([1] * 20, 1))
    assert result.standard_error == 0.0
    half = stats.t.ppf(0.975, 19) / 20  # one prompt's weight
    assert (result.low, result.high) == pytest.approx((-half, half), abs=1e-12)


def test_a_clear_difference_is_said():
    result = greedy_against_sampled(from_counts([1] * 60, 3), from_counts([1] * 60, 1))
    assert "greedy answers score higher" in result.sentence
    assert result.low > 0


def test_only_shared_prompts_count():
    sampled = from_counts([2, 0, 1], 2, prompt=["a", "b", "c"])
    greedy = from_counts([1, 0, 0, 1], 1, prompt=["c", "a", "x", "y"])
    result = greedy_against_sampled(sampled, greedy)
    assert (result.n_prompts, result.only_sampled, result.only_greedy) == (2, 1, 2)
    assert (result.greedy, result.sampled) == (0.5, 0.75)
    assert "3 prompts left out" in result.sentence
    with pytest.raises(hb.Refusal, match="share no prompt"):
        greedy_against_sampled(sampled, from_counts([1], 1, prompt=["z"]))


def test_related_prompts_count_as_groups():
    group = ["a", "a", "b", "b"]
    result = greedy_against_sampled(
        from_counts([0, 0, 2, 2], 2), from_counts([1, 1, 1, 1], 1, prompt_group=group)
    )
    assert result.standard_error == pytest.approx(np.sqrt(2 * (1 + 1)) / 4, abs=1e-15)


def test_models_are_matched_by_name():
    table = pd.DataFrame({"prompt": [1, 2, 1, 2], "model": list("aabb"), "n_correct": [2, 0, 1, 1]})
    sampled = Generations.from_frame(table.assign(k=2))
    only_b = from_counts([1, 1], 1, prompt=[1, 2], model="b")
    assert greedy_against_sampled(sampled, only_b, model="b").sampled == 0.5
    with pytest.raises(hb.DataError, match="no answers of model 'a'"):
        greedy_against_sampled(sampled, only_b, model="a")
    with pytest.raises(hb.Refusal, match="2 models"):
        greedy_against_sampled(sampled, only_b)
    unnamed = from_counts([1, 1], 1, prompt=[1, 2])
    assert greedy_against_sampled(sampled, unnamed, model="a").model == "a"


def test_one_prompt_has_a_reason():
    result = greedy_against_sampled(from_counts([1], 2), from_counts([1], 1))
    assert np.isnan(result.standard_error)
    assert "one prompt" in result.reason
    assert (result.low, result.high) == (-1.0, 1.0)


@pytest.mark.parametrize(
    ("groups", "size", "a", "b"), [(10, 5, 1, 1), (20, 1, 8, 1), (10, 1, 1, 1), (12, 4, 1, 1)]
)
def test_interval_is_no_wider_than_it_must(groups, size, a, b):
    rng, repeats, covered, width, errors = np.random.default_rng(groups), 200, 0, [], []
    group = np.repeat(np.arange(groups), size)
    for _ in range(repeats):
        p = np.repeat(rng.beta(a, b, groups), size)
        result = greedy_against_sampled(
            from_counts(rng.binomial(5, p), 5, prompt_group=group),
            from_counts(rng.binomial(1, p), 1, prompt_group=group),
        )
        covered += result.low <= 0.0 <= result.high
        width.append(result.high - result.low)
        errors.append(result.difference)
    assert covered / repeats >= 0.92 - 4 * np.sqrt(0.95 * 0.05 / repeats)
    exact = 2 * stats.t.ppf(0.975, groups - 1) * np.std(errors)  # of a known standard error
    assert np.mean(width) < 1.25 * exact
