"""The tilt through the front door: one estimate, its notes, and the table of methods."""

import numpy as np
import pandas as pd
import pytest
from toy import make_labels, simulate

from hero_bayes.data.labels import Labels
from hero_bayes.errors import Refusal
from hero_bayes.estimators.estimate import METHODS, compare_methods, estimate
from hero_bayes.estimators.score_method import N_DRAWS
from hero_bayes.estimators.tilt import tilt

SIZES = {"n_history": 150, "n_current": 60, "n_labelers": 5, "labels_per_item": 4}


@pytest.fixture(scope="module")
def rounds():
    return simulate(11, **SIZES).rounds


def test_estimate_is_read_off_the_draws(rounds):
    result = estimate(*rounds, "score")
    drawn = tilt(*rounds, n_draws=N_DRAWS).prevalence[:, 0]
    assert (result.value, result.standard_error) == (drawn.mean(), drawn.std(ddof=1))
    assert result.interval(0.8) == tuple(np.quantile(drawn, [0.1, 0.9]))
    assert (result.method, result.estimand, result.group) == ("score", "prevalence", "current")
    with pytest.raises(ValueError, match="prob must lie between 0 and 1"):
        result.interval(95)


def test_details(rounds):
    details = estimate(*rounds, "score").details
    draws = tilt(*rounds, n_draws=N_DRAWS)
    slope = details["slope"]
    assert slope.index.tolist() == ["votes", "mean", "model", "pooled"]
    row = slope.loc["pooled"]
    assert row["mean"] == draws.slope.mean()
    limits = np.quantile(draws.slope, [0.025, 0.975])
    np.testing.assert_allclose(row[["lower", "upper"]].to_numpy(float), limits, rtol=1e-12)
    first = draws.slope[draws.component == 0]
    assert slope.loc["votes", "mean"] == first.mean()
    assert details["weight"].sum() == pytest.approx(1.0, abs=1e-12)
    assert (details["effective_size"] > 1000).all()
    assert details["history_prevalence"].index.tolist() == ["history"]
    assert "sensitivity" not in details
    assert "sensitivity" in details["rates_left_out"]


def test_same_seed_same_result_and_row_order(rounds):
    problem = simulate(11, **SIZES)
    rng = np.random.default_rng(0)
    shuffled = [
        Labels.from_frames(
            *(frame.iloc[rng.permutation(len(frame))] for frame in (part.verdicts, part.items))
        )
        for part in (problem.past, problem.now)
    ]
    one, two = estimate(*rounds, "score"), estimate(*shuffled, "score")
    assert (one.value, one.interval(), one.notes) == (two.value, two.interval(), two.notes)
    pd.testing.assert_frame_equal(one.details["slope"], two.details["slope"], check_exact=True)
    other = estimate(*rounds, "score", random_seed=1)
    assert other.value != one.value
    assert abs(other.value - one.value) < one.standard_error


def test_groups():
    history, current = simulate(52, n_history=120, n_current=60, arms=("A", "B")).rounds
    results = [estimate(history, current, "score", group=g) for g in ("A", "B")]
    assert [r.group for r in results] == ["A", "B"]
    assert results[0].value != results[1].value
    assert [r.details["n_items"] for r in results] == [30, 30]
    table = compare_methods(history, current, methods=["hero1", "score"], prob=0.8)
    assert table["method"].tolist() == ["hero1", "score"] * 2
    for row, result in zip(table.iloc[[1, 3]].itertuples(), results, strict=True):
        assert (row.estimate, row.standard_error) == (result.value, result.standard_error)
        assert (row.lower, row.upper) == result.interval(0.8)


def test_refusals(rounds):
    history, current = rounds
    with pytest.raises(Refusal, match="majority_vote"):
        estimate(None, current, "score")
    with pytest.raises(Refusal, match="gold"):
        estimate(history.without_gold(), current, "score")
    strangers = make_labels([0, 1], ["new", "other"], [1, 0])
    with pytest.raises(Refusal, match="no labeler of the current round is known"):
        estimate(history, strangers, "score")
    table = compare_methods(history.without_gold(), current, methods=["majority_vote", "score"])
    assert table["note"].iloc[1].startswith("refused: ")
    assert table[["estimate", "lower"]].iloc[1].isna().all()
    assert np.isfinite(table["estimate"].iloc[0])
    with pytest.raises(ValueError, match=r"unknown method 'tilt'.*score"):
        estimate(history, current, "tilt")


def test_default_table_is_that_of_the_closed_forms(rounds):
    assert "score" not in METHODS
    assert compare_methods(*rounds)["method"].tolist() == list(METHODS)


def few_gold(history, each):
    keep = np.full(history.n_items, np.nan)
    for value in (0, 1):
        keep[np.flatnonzero(history.gold == value)[:each]] = value
    return history.with_gold(keep)


def test_notes_of_little_gold_and_unknown_labelers(rounds):
    history, current = rounds
    assert not any("of one class" in note for note in estimate(*rounds, "score").notes)
    scarce = estimate(few_gold(history, 4), current, "score")
    assert any("only 4 labeled history items of one class" in note for note in scarce.notes)
    assert scarce.standard_error > estimate(*rounds, "score").standard_error
    verdicts = current.to_frames().labels
    verdicts["labeler"] = verdicts["labeler"].astype(str).replace({"0": "new"})
    result = estimate(history, Labels.from_frames(verdicts), "score")
    assert any("unseen in history are left out" in note for note in result.notes)
    assert result.details["labelers_left_out"] == ("new",)


def test_labels_that_point_the_wrong_way_are_named(rounds):
    history, current = rounds
    noise = np.random.default_rng(3).integers(0, 2, history.n_labels)
    frames = history.to_frames()
    frames.labels["label"] = noise
    useless = Labels.from_frames(frames.labels, frames.items)
    result = estimate(useless, current, "score")
    assert any("P(slope < 0)" in note for note in result.notes)
    assert not any("P(slope < 0)" in note for note in estimate(*rounds, "score").notes)
    low, high = result.interval(0.9)
    assert high - low > 0.5


def shared_difficulty(seed):
    """Labelers who misjudge the same items: a quarter of the positives looks negative to all."""
    rng = np.random.default_rng(seed)
    tables = []
    for n, rate, share in ((500, 0.5, 0.25), (250, 0.25, 0.0)):
        truth = (rng.random(n) < rate).astype(int)
        looks = np.where((truth == 1) & (rng.random(n) < 0.3), 0, truth)
        label = np.where(rng.random((n, 7)) < 0.88, looks[:, None], 1 - looks[:, None])
        gold = np.where(rng.random(n) < share, truth, np.nan)
        labeler = np.tile(np.arange(7), n)
        item = np.repeat(np.arange(n), 7)
        tables.append((make_labels(item, labeler, label.ravel(), {"gold": gold}), truth.mean()))
    return tables[0][0], tables[1][0], tables[1][1]


def test_covers_where_labelers_share_errors():
    covered = {"score": 0, "hero1": 0}
    for seed in range(12):
        history, current, truth = shared_difficulty(seed)
        for method in covered:
            low, high = estimate(history, current, method).interval(0.95)
            covered[method] += low <= truth <= high
    # At a true coverage of 0.95, fewer than 9 of 12 has probability 2e-3.
    assert covered["score"] >= 9
    assert covered["hero1"] <= 4
