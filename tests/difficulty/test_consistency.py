"""Consistency of answers against closed forms, enumeration and simulation."""

import itertools

import numpy as np
import pandas as pd
import pytest
from scipy.special import xlogy

import hero_bayes as hb
from hero_bayes.difficulty.answer_consistency import (
    CONCENTRATION,
    NUMBER,
    consistency,
    consistency_draws,
    partition_log_probability,
)
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


@pytest.mark.parametrize("answers", ["a", "ab", "aab", "abc", "aabb"])
def test_partition_against_enumeration(answers):
    # Polya's urn with M labels: sum over all sequences of labels with this pattern of ties.
    found = np.exp(
        partition_log_probability(np.sort(np.unique(list(answers), return_counts=True)[1]))
    )
    for at in np.flatnonzero((NUMBER <= 3) & (CONCENTRATION <= 5)):
        size, a, total = int(NUMBER[at]), CONCENTRATION[at], 0.0
        for labels in itertools.product(range(size), repeat=len(answers)):
            tied = [[x == y for y in labels] for x in labels]
            if tied == [[x == y for y in answers] for x in answers]:
                chance = 1.0
                for place, label in enumerate(labels):
                    seen = labels[:place].count(label)
                    chance *= (a + seen) / (size * a + place)
                total += chance
        assert found[at] == pytest.approx(total, rel=1e-9, abs=1e-15)


def test_draws_against_rejection():
    # M, concentration and law from the prior; those whose three answers are tied as "aab" are kept.
    rng = np.random.default_rng(4)
    kept = []
    while len(kept) < 3000:
        at, common = rng.integers(len(NUMBER)), rng.random() < 0.5
        p = rng.dirichlet(np.full(int(NUMBER[at]), CONCENTRATION[at]))
        if common:
            q = rng.beta(1.0, 0.5)
            p = np.concatenate([[q], (1 - q) * p])
        three = rng.choice(len(p), 3, p=p / p.sum())
        pair = [x for x in set(three.tolist()) if (three == x).sum() == 2]
        if pair and (not common or pair == [0]):
            kept.append(xlogy(p, p).sum())
    found = consistency_draws(np.array([1, 2]), np.random.default_rng(1), 3000)
    # the S of unseen answers is taken at its mean, which moves no decile by more than 0.06
    levels = np.linspace(0.1, 0.9, 9)
    assert np.quantile(found, levels) == pytest.approx(np.quantile(kept, levels), abs=0.2)


TAIL = [0.9, *[0.005] * 20]


@pytest.mark.parametrize("k", [5, 10, 40])
@pytest.mark.parametrize("law", [[1.0], [1 / 2] * 2, [1 / 4] * 4, [0.1] * 10, [0.01] * 100, TAIL])
def test_interval_covers(law, k):
    rng = np.random.default_rng([len(law), k])
    truth = xlogy(law, law).sum()
    frames = [
        frame_of(row[row > 0], f"p{at}") for at, row in enumerate(rng.multinomial(k, law, 200))
    ]
    table = consistency(pd.concat(frames))
    covered = (table["S_low"] <= truth + 1e-12) & (truth - 1e-12 <= table["S_high"])
    assert covered.mean() >= 0.88  # nominal 0.95, binomial error 0.015
    assert (table.loc[table["n_clusters"] == 1, "S_high"] == 0.0).all()


@pytest.mark.parametrize("k", [5, 10, 40])
def test_answers_that_all_differ_lie_inside(k):
    row = consistency(frame_of([1] * k)).iloc[0]
    assert row["S_low"] < row["S"] <= row["S_high"]


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


def test_bundled_answers():
    table = consistency(hb.datasets.load("cruxeval"))
    assert len(table) == 2400
    assert (table["S"] >= -np.log(10) - 1e-12).all()
    assert (table["S"] <= 0.0).all()
