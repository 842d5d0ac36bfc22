"""Large tables: items counted by their evidence, and a part of them, say what all of them say."""

import numpy as np
import pytest
from scipy.special import logit
from toy import make_labels, simulate

import hero_bayes as hb
from hero_bayes.data.labels import Labels
from hero_bayes.estimators import bins, independent, scorer, tilt_parts
from hero_bayes.estimators.anchored_em import anchor
from hero_bayes.estimators.averaging import average
from hero_bayes.estimators.independent import independent_draws
from hero_bayes.estimators.prevalence_draws import draw_counted, draw_prevalence
from hero_bayes.estimators.score_calibration import Calibration
from hero_bayes.estimators.tilt import tilt
from hero_bayes.estimators.tilt_parts import counted, current_draws, law_of_history
from hero_bayes.inference.current import evidence_draws, kept_draws


def count_items(monkeypatch, limit=0):
    """Count items from this size on."""
    for module in (tilt_parts, independent, bins):
        monkeypatch.setattr(module, "ITEM_LIMIT", limit)


@pytest.mark.parametrize(("alpha", "beta"), [(1.0, 1.0), (4.0, 1.0), (1.0, 30.0)])
@pytest.mark.parametrize("count", [[1, 1, 1, 1], [3, 40, 1, 7], [0, 200, 5000, 2]])
def test_a_count_stands_for_its_items(count, alpha, beta):
    value = np.array([-3.0, -0.2, 0.5, 6.0])
    every = np.repeat(value, count)
    for u in (1e-4, 0.2, 0.5, 0.93):
        one = draw_prevalence(every, alpha, beta, u)
        assert draw_counted(value, np.array(count, dtype=float), alpha, beta, u) == pytest.approx(
            one, rel=1e-7
        )


def test_cells_hold_all_items_of_one_kind(monkeypatch):
    rng = np.random.default_rng(1)
    value, kind = 3.0 * rng.standard_normal(900), rng.integers(0, 3, 900)
    same = counted(value, kind)
    np.testing.assert_array_equal(same[0], value)
    assert (same[1] == 1).all()
    count_items(monkeypatch)
    mean, count, first = counted(value, kind)
    assert mean.size < 600
    for k in range(3):
        cells = kind[first] == k
        assert count[cells].sum() == (kind == k).sum()
        assert mean[cells] @ count[cells] == pytest.approx(value[kind == k].sum(), abs=1e-9)
        assert (np.diff(mean[cells]) > 0).all()
    assert (np.abs(mean - value[first]) < tilt_parts.CELL_WIDTH).all()
    assert (np.diff(kind[first]) >= 0).all()


def a_round(n=900, seed=2):
    """Two groups, the second with more positives, some gold, and a score that fits."""
    rng = np.random.default_rng(seed)
    group = np.arange(n) % 2
    truth = rng.random(n) < np.array([0.2, 0.6])[group]
    score = rng.normal(np.where(truth, 1.0, -1.0), 1.0)
    gold = np.where(rng.random(n) < 0.05, truth, np.nan)
    arms = np.array(["a", "b"])[group]
    now = make_labels(np.arange(n), np.zeros(n), np.ones(n), {"gold": gold, "arm": arms})
    return now, score, rng.random(n) < 0.9


@pytest.mark.parametrize("error", [None, 0.1])
@pytest.mark.parametrize("votes", [True, False])
def test_a_counted_round_is_drawn_as_item_by_item(monkeypatch, error, votes):
    now, score, used = a_round()
    if votes:
        score = np.round(score)
    n = 2_000
    rng = np.random.default_rng(3)
    line = 0.1 * rng.standard_normal(n), 1.5 + 0.3 * rng.standard_normal(n)
    rates = None if error is None else np.full(n, error)
    m, share = current_draws(*line, score, used, now, np.random.default_rng(4), rates)
    count_items(monkeypatch)
    counted_m, counted_share = current_draws(
        *line, score, used, now, np.random.default_rng(4), rates
    )
    # The same uniform numbers: draw by draw, within the width of a cell or, for votes, exactly.
    tolerance = 1e-6 if votes else 1e-3
    np.testing.assert_allclose(logit(counted_m), logit(m), rtol=0, atol=tolerance)
    for g in range(2):
        noise = share[:, g].std() * np.sqrt(2 / n)
        assert abs(counted_share[:, g].mean() - share[:, g].mean()) < 4 * noise
        assert counted_share[:, g].std() == pytest.approx(share[:, g].std(), rel=4 / np.sqrt(n))


def test_a_group_without_items_or_all_gold_counts_too(monkeypatch):
    count_items(monkeypatch)
    now, score, used = a_round(200)
    gold = np.where(now.group_idx == 0, (score > 0).astype(float), np.nan)
    now = now.with_gold(gold).take_items(now.group_idx == 0)
    at, n = now.group_idx.size, 4_000
    m, share = current_draws(
        np.zeros(n), np.ones(n), score[:at], used[:at], now, np.random.default_rng(1)
    )
    known = now.gold.mean()
    np.testing.assert_allclose(share[:, 0], known, atol=1e-12)
    assert (share[:, 1] == 0.0).all()
    # Beta(1, 1) for the group without items.
    assert m[:, 1].mean() == pytest.approx(0.5, abs=4 / np.sqrt(12 * n))
    assert m[:, 1].var() == pytest.approx(1 / 12, rel=0.1)
    assert m[:, 0].mean() == pytest.approx((known * at + 1) / (at + 2), abs=0.005)


def test_the_law_of_a_counted_history(monkeypatch):
    rng = np.random.default_rng(5)
    n = 3_000
    line = Calibration(
        intercept=rng.normal([-0.5, 0.5], 0.05, (n, 2)),
        slope=rng.normal(1.2, 0.05, n),
        information=np.array([3.0, 5.0]),
        log_evidence=0.0,
        negative_slope=0.0,
        effective_size=1.0,
    )
    score, group = 1.5 * rng.standard_normal(800), np.repeat([0, 1], 400)
    found = [law_of_history(line, score, group, np.random.default_rng(6))]
    count_items(monkeypatch)
    found.append(law_of_history(line, score, group, np.random.default_rng(6)))
    for one, other in zip(*found, strict=True):
        error = one.std(axis=0) / np.sqrt(n)
        # A cell adds at most CELL_WIDTH^2 / 24 to the logit.
        assert (np.abs(one.mean(axis=0) - other.mean(axis=0)) < 5 * error + 1e-4).all()
        np.testing.assert_allclose(other.std(axis=0), one.std(axis=0), rtol=5 / np.sqrt(n))


def test_independent_draws_of_a_counted_round(monkeypatch):
    problem = simulate(21, n_history=300, n_current=500, n_labelers=6, labels_per_item=5)
    anchored = anchor(*problem.rounds)
    n = 4_000
    one = independent_draws(anchored, n, np.random.default_rng(7))
    count_items(monkeypatch)
    other = independent_draws(anchored, n, np.random.default_rng(7))
    np.testing.assert_array_equal(one.log_ratio[:20], other.log_ratio[:20])
    for name in ("prevalence", "item_rate"):
        a, b = getattr(one, name)[:, 0], getattr(other, name)[:, 0]
        # The 400 draws of the rates are the same ones.
        assert abs(a.mean() - b.mean()) < 5 * a.std() * np.sqrt(2 / n)
        assert b.std() == pytest.approx(a.std(), rel=5 / np.sqrt(n))


def test_bins_of_a_counted_round(monkeypatch):
    problem = simulate(25, n_history=300, n_current=400, n_labelers=6, labels_per_item=5)
    n = 2_000
    one = bins.scored_draws(*problem.rounds, form="bins", n_draws=n)
    count_items(monkeypatch)
    other = bins.scored_draws(*problem.rounds, form="bins", n_draws=n)
    for name in ("prevalence", "item_rate"):
        a, b = getattr(one, name)[:, 0], getattr(other, name)[:, 0]
        assert abs(a.mean() - b.mean()) < 5 * a.std() * np.sqrt(2 / n)
        assert b.std() == pytest.approx(a.std(), rel=6 / np.sqrt(n))


def test_scores_come_from_a_part_of_the_items(monkeypatch):
    problem = simulate(22, n_history=900, n_current=100, n_labelers=6, labels_per_item=5)
    rng = np.random.default_rng(8)
    history, current = problem.rounds
    gold = np.where(rng.random(900) < 0.2, history.gold, np.nan)
    history = history.with_gold(gold)
    made = [scorer.make_scorer(history, current, 5, 0.3, np.random.default_rng(9))]
    weights = []
    monkeypatch.setattr(scorer, "FREE_LIMIT", 400)
    plain = scorer.maximise
    monkeypatch.setattr(
        scorer,
        "maximise",
        lambda data, names, start, weight, **more: (
            weights.append(weight) or plain(data, names, start, weight, **more)
        ),
    )
    made.append(scorer.make_scorer(history, current, 5, 0.3, np.random.default_rng(9)))
    every, part = made
    np.testing.assert_array_equal(every.fold, part.fold)
    assert every.notes == ()
    free = int(np.isnan(gold).sum())
    assert f"400 of the {free} history items" in part.notes[0]
    known = ~np.isnan(gold)
    assert (weights[0][known] == 1.0).all()
    assert (weights[0][~known] > 0).sum() == 400
    assert weights[0][~known].sum() == pytest.approx(0.3 * free)
    for fold, weight in zip(np.unique(part.fold), weights[1:], strict=True):
        np.testing.assert_array_equal(weight, np.where(part.fold == fold, 0.0, weights[0]))
    a, b = (one.ratios(current, np.full(100, -1)) for one in made)
    assert np.corrcoef(a, b)[0, 1] > 0.995
    scores = part.scores(part.panel.history, part.panel.current, scorer.SCORES, ("more",))
    assert scores.notes == (*part.notes, "more")


def test_row_order_changes_no_bit_of_a_large_table(monkeypatch):
    count_items(monkeypatch, 20)
    monkeypatch.setattr(scorer, "FREE_LIMIT", 30)
    problem = simulate(23, n_history=150, n_current=60, n_labelers=5, labels_per_item=4)
    found = []
    for seed in (None, 1, 2):
        rounds = []
        for labels in problem.rounds:
            frames = labels.to_frames()
            verdicts, items = (
                table if seed is None else table.sample(frac=1.0, random_state=seed)
                for table in (frames.labels, frames.items)
            )
            rounds.append(Labels.from_frames(verdicts, items))
        draws = average(*rounds, n_draws=200)
        found.append((draws.prevalence, draws.item_rate, draws.log_ratio))
    for other in found[1:]:
        for one, again in zip(found[0], other, strict=True):
            np.testing.assert_array_equal(one, again)


@pytest.mark.parametrize("seed", [1, 2])
def test_a_large_table_is_fitted_as_in_full(monkeypatch, seed):
    problem = simulate(seed, n_history=1_500, n_current=700, n_labelers=8, labels_per_item=5)
    rng = np.random.default_rng(seed)
    history, current = problem.rounds
    history = history.with_gold(np.where(rng.random(1_500) < 0.15, history.gold, np.nan))
    current = current.without_gold()
    full = hb.fit(history, current, random_seed=seed)
    count_items(monkeypatch, 500)
    monkeypatch.setattr(scorer, "FREE_LIMIT", 800)
    part = hb.fit(history, current, random_seed=seed)
    for name in ("prevalence", "item_rate"):
        a, b = (tree["posterior"][name].to_numpy().ravel() for tree in (full, part))
        # 4,000 draws each: 0.022 sd of Monte-Carlo error; the scorer saw two thirds of the items.
        assert abs(a.mean() - b.mean()) < 0.15 * a.std()
        assert b.std() == pytest.approx(a.std(), rel=0.1)
    assert "drawn at random" in part.attrs["notes"]
    assert "drawn at random" not in full.attrs["notes"]


def test_evidence_of_many_items_keeps_fewer_draws():
    np.testing.assert_array_equal(evidence_draws(4, 1_000, 20_000), kept_draws(4, 1_000))
    assert evidence_draws(4, 1_000, 50_000).size == 100
    assert evidence_draws(4, 1_000, 2_000_000).size == 25
    assert evidence_draws(2, 10, 2_000_000).size == 10


def test_chosen_draws_of_the_evidence():
    """Also where the rounds had to be matched, so that parts of the labels take turns."""
    problem = simulate(24, n_history=200, n_current=60, n_labelers=6, labels_per_item=5)
    history, current = problem.rounds
    rows = np.random.default_rng(1).permutation(90)[:31]
    thinner = current.select(labelers=list(current.labelers[:2]), unlabeled="drop")
    for now in (current, thinner):
        draws = tilt(history, now, n_draws=90)
        assert bool(draws.parts) == (now is thinner)
        np.testing.assert_array_equal(draws.log_ratio_at(rows), draws.log_ratio[rows])
        both = average(history, now, n_draws=90, prior=0.5)
        np.testing.assert_array_equal(both.log_ratio_at(rows), both.log_ratio[rows])
