"""Consistency of answers against closed forms, quadrature and simulation."""

import numpy as np
import pandas as pd
import pytest
from scipy.integrate import dblquad, quad
from scipy.special import betaln, xlogy
from scipy.stats import beta

import hero_bayes as hb
from hero_bayes.difficulty.answer_consistency import PSEUDO_COUNT, consistency, expected_consistency
from hero_bayes.errors import Refusal


def frame_of(counts, prompt="a"):
    """A table whose answers of one prompt have these counts."""
    answers = [f"answer {place}" for place, n in enumerate(counts) for _ in range(n)]
    return pd.DataFrame(
        {"prompt": prompt, "generation": range(len(answers)), "correct": 0, "answer": answers}
    )


def test_values_by_hand():
    table = consistency(pd.concat([frame_of([4]), frame_of([1] * 4, "b"), frame_of([2, 1], "c")]))
    expected = [0.0, -np.log(4), 2 / 3 * np.log(2 / 3) + 1 / 3 * np.log(1 / 3)]
    assert table["S"].to_numpy() == pytest.approx(expected, abs=1e-14)
    assert table["n_clusters"].tolist() == [1, 4, 2]
    assert table["k"].tolist() == [4, 4, 3]


def beta_of_angle(t, a, b):
    """Density of t where sin(t)^2 ~ Beta(a, b): no poles at the ends."""
    weight = (2 * a - 1) * np.log(np.sin(t)) + (2 * b - 1) * np.log(np.cos(t))
    return 2 * np.exp(weight - betaln(a, b))


@pytest.mark.parametrize("count", [1, 3, 10])
def test_mean_against_quadrature_one_seen_cell(count):
    def inside(t):
        p = np.sin(t) ** 2
        density = beta_of_angle(t, count + PSEUDO_COUNT, PSEUDO_COUNT)
        return density * (xlogy(p, p) + xlogy(1 - p, 1 - p))

    expected = quad(inside, 0, np.pi / 2, epsabs=1e-12, epsrel=1e-12)[0]
    found = expected_consistency(np.array([count]), np.array([0]), 1)[0]
    assert found == pytest.approx(expected, rel=1e-9)


def test_mean_against_quadrature_two_seen_cells():
    first, second = np.array([3, 2]) + PSEUDO_COUNT

    def inside(s, t):  # break the stick: sin(t)^2 is p_1, sin(s)^2 the part of the rest that is p_2
        p = np.array([np.sin(t) ** 2, np.cos(t) ** 2 * np.sin(s) ** 2])
        rest = np.cos(t) ** 2 * np.cos(s) ** 2
        density = beta_of_angle(t, first, second + PSEUDO_COUNT)
        density *= beta_of_angle(s, second, PSEUDO_COUNT)
        return density * (xlogy(p, p).sum() + xlogy(rest, rest))

    expected = dblquad(inside, 0, np.pi / 2, 0, np.pi / 2, epsabs=1e-9, epsrel=1e-9)[0]
    found = expected_consistency(np.array([3, 2]), np.array([0, 0]), 1)[0]
    assert found == pytest.approx(expected, rel=1e-8)


def test_interval_against_exact_quantiles():
    # one seen cluster: S is monotone in max(p, 1 - p), so its quantiles follow from a Beta
    table = consistency(frame_of([50]), prob=0.9).iloc[0]
    law = beta(50 + PSEUDO_COUNT, PSEUDO_COUNT)

    def chance_below(s):
        p = law.ppf(np.linspace(0, 1, 200_001)[1:-1])
        return np.mean(xlogy(p, p) + xlogy(1 - p, 1 - p) <= s)

    # 1000 draws: a quantile's level is off by sqrt(q (1 - q) / 1000) = 0.0069; four of these
    assert abs(chance_below(table["S_low"]) - 0.05) < 0.028
    assert abs(chance_below(table["S_high"]) - 0.95) < 0.028


def test_three_equal_answers_are_not_certain():
    table = consistency(pd.concat([frame_of([3]), frame_of([300], "b")]))
    few, many = table.iloc[0], table.iloc[1]
    assert few["S"] == many["S"] == 0.0
    assert few["S_low"] < -0.6  # near log 2 with the unseen cell at one half
    assert many["S_low"] > -0.1
    assert few["S_mean"] < many["S_mean"] < 0.0
    assert (table["S_low"] <= table["S_mean"]).all()
    assert (table["S_mean"] <= table["S_high"]).all()


def test_answers_missing():
    frame = frame_of([2, 1])
    frame.loc[0, "answer"] = None
    only = frame_of([2], "b").assign(answer=None)
    table = consistency(pd.concat([frame, only]))
    assert table["n_answers"].tolist() == [2, 0]
    assert table["S"].iloc[0] == pytest.approx(-np.log(2))
    assert table.loc[1, ["S", "S_mean", "S_low", "S_high"]].isna().all()
    assert table["reason"].tolist() == ["", "no generation has an answer"]


def test_seeds_and_arguments():
    frame = frame_of([5, 3, 1])
    same = [consistency(frame, random_seed=4)["S_low"].item() for _ in range(2)]
    assert same[0] == same[1] != consistency(frame, random_seed=5)["S_low"].item()
    with pytest.raises(ValueError, match="prob"):
        consistency(frame, prob=1.0)
    with pytest.raises(Refusal, match="answer"):
        consistency(frame.drop(columns="answer"))
    one = consistency(frame, cluster=lambda answers: [0] * len(answers))
    assert one["n_clusters"].item() == 1


def test_low_end_covers_the_truth_of_simulated_answers():
    # S of a known law, from k = 10 answers; the interval speaks of seen answers plus one cell
    rng = np.random.default_rng(20)
    law = np.array([0.7, 0.2, 0.1])
    truth = xlogy(law, law).sum()
    draws = rng.multinomial(10, law, size=300)
    frames = [frame_of(row, f"p{place}") for place, row in enumerate(draws)]
    table = consistency(pd.concat(frames))
    covered = ((table["S_low"] <= truth) & (truth <= table["S_high"])).mean()
    # nominal 0.95 averaged over the prior, here at one law: 300 sets, 0.90 is four errors away
    assert covered > 0.90


def test_bundled_answers():
    table = consistency(hb.datasets.load("cruxeval"))
    assert len(table) == 2400
    assert (table["S"] >= -np.log(10) - 1e-12).all()
    assert (table["S"] <= 0.0).all()
