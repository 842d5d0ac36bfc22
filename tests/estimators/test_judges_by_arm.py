"""Groups of one round labeled by different labelers: compared, matched and calibrated apart."""

import runpy
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from toy import make_labels

import hero_bayes as hb
from hero_bayes.data.panel import align
from hero_bayes.errors import Refusal
from hero_bayes.estimators import bins, tilt_parts
from hero_bayes.estimators.bins import scored_draws
from hero_bayes.estimators.fallback import fallback, shortfall
from hero_bayes.estimators.item_scores import item_scores, score_sets
from hero_bayes.estimators.label_laws import kinds_of_groups
from hero_bayes.estimators.tilt import tilt
from hero_bayes.planning.beliefs import beliefs

FOLDER = Path(__file__).parents[2] / "benchmarks"
ALL = range(10)
STRICT, LENIENT = range(5), range(5, 10)


@pytest.fixture(scope="module")
def study():
    sys.path.insert(0, str(FOLDER))
    try:
        return runpy.run_path(str(FOLDER / "judges_by_arm.py"))
    finally:
        sys.path.remove(str(FOLDER))


@pytest.fixture(scope="module")
def halves(study):
    return study["simulated"]("shared", "halves", np.random.default_rng(3))


def round_by(pools, sizes=5, n=60, seed=0):
    """One arm a pool of labelers: each item by so many of them, at random."""
    rng = np.random.default_rng(seed)
    sizes = np.broadcast_to(sizes, len(pools))
    item, who, arm = [], [], []
    for a, (pool, size) in enumerate(zip(pools, sizes, strict=True)):
        for k in range(n):
            item += [a * n + k] * size
            who += rng.permutation(pool)[:size].tolist()
        arm += [f"a{a}"] * n
    return make_labels(item, who, rng.integers(0, 2, len(who)), {"arm": arm})


@pytest.mark.parametrize(
    ("pools", "sizes", "kinds"),
    [
        ([ALL, ALL, ALL], 5, [[0, 1, 2]]),
        ([STRICT, LENIENT], 5, [[0], [1]]),
        ([STRICT, LENIENT, STRICT], 5, [[0, 2], [1]]),
        ([range(8), range(2, 10)], 4, [[0], [1]]),
        ([ALL, ALL], (3, 6), [[0], [1]]),
        ([ALL, ALL], (5, 5), [[0, 1]]),
    ],
)
def test_groups_of_one_law_are_together(pools, sizes, kinds):
    found = kinds_of_groups(round_by(pools, sizes))
    assert [kind.tolist() for kind in found] == kinds


def test_groups_by_one_pool_differ_by_chance_only():
    found = [kinds_of_groups(round_by([ALL] * 4, 3, n=25, seed=s)) for s in range(40)]
    assert [len(kinds) for kinds in found] == [1] * 40


def test_a_group_without_a_label_joins_the_largest():
    current = round_by([STRICT, LENIENT, LENIENT])
    only = current.take_items(np.flatnonzero(current.group_idx != 1))
    assert [kind.tolist() for kind in kinds_of_groups(only)] == [[0, 1], [2]]


def test_each_arm_is_matched_by_its_own_labelers(halves):
    history, current, _ = halves
    every, kinds = score_sets(history, current)
    assert [kind.groups.tolist() for kind in kinds] == [[0], [1]]
    assert len(every.notes) == 2
    for kind, name in zip(kinds, "AB", strict=True):
        own = current.group_idx == kind.groups[0]
        assert any(note.startswith(f"'{name}': ") for note in every.notes)
        for part in kind.sets:
            # Five labels give six vote logits in both rounds, and other arms are not read.
            assert part.current_used.tolist() == own.tolist()
            logits = [np.unique(x) for x in (part.history[0], part.current[0, own])]
            assert len(logits[0]) == 6
            assert np.isin(logits[1], logits[0]).all()
    with pytest.raises(Refusal, match="labeled by different labelers"):
        item_scores(history, current)


@pytest.mark.parametrize(
    "draws_of",
    [
        lambda h, c: tilt(h, c, n_draws=1000),
        lambda h, c: scored_draws(h, c, form="bins", n_draws=1000),
        lambda h, c: scored_draws(h, c, score="votes", n_draws=1000),
        lambda h, c: tilt(h, c, n_draws=1000, gold_error=hb.estimators.gold_error.GoldError(0.02)),
    ],
)
def test_an_arm_is_read_as_if_it_were_alone(halves, draws_of):
    history, current, _ = halves
    draws = draws_of(history, current)
    assert len(draws.kinds) == 2
    assert draws.log_ratio.shape == (1000, current.n_items)
    rows = np.array([7, 3, 801])
    np.testing.assert_array_equal(draws.log_ratio_at(rows), draws.log_ratio[rows])
    for g, arm in enumerate("AB"):
        alone = draws_of(history, current.select(arms=[arm]))
        own = current.group_idx == g
        # Other random parts of the labels, and Monte Carlo error.
        assert abs(draws.prevalence[:, g].mean() - alone.prevalence[:, 0].mean()) < 0.03
        assert abs(draws.item_rate[:, g].mean() - alone.item_rate[:, 0].mean()) < 0.03
        seen = draws.log_ratio[:, own].mean(axis=0), alone.log_ratio.mean(axis=0)
        assert np.corrcoef(*seen)[0, 1] > 0.98


@pytest.mark.parametrize("options", [{}, {"form": "bins"}, {"score": "votes"}])
def test_arms_of_large_tables_are_counted_apart(monkeypatch, halves, options):
    """Items of nearly equal evidence in one cell: the rates of both arms stay, and so do gaps."""
    history, current, _ = halves
    gold = np.where(np.arange(current.n_items) % 7 == 0, 1.0, np.nan)
    current = current.with_gold(gold)
    n = 1000
    one = scored_draws(history, current, n_draws=n, **options)
    for module in (bins, tilt_parts):
        monkeypatch.setattr(module, "ITEM_LIMIT", 0)
    other = scored_draws(history, current, n_draws=n, **options)
    assert len(other.kinds) == 2
    for name in ("prevalence", "item_rate"):
        a, b = getattr(one, name), getattr(other, name)
        for g in (0, 1):
            spread = a[:, g].std()
            assert abs(a[:, g].mean() - b[:, g].mean()) < 5 * spread * np.sqrt(2 / n)
            assert b[:, g].std() == pytest.approx(spread, rel=6 / np.sqrt(n))


def test_the_fit_and_the_comparison_say_so(halves):
    history, current, _ = halves
    fit = hb.fit(history, current, random_seed=1, draws=200)
    found = hb.compare_arms(fit, current=current)
    assert any("labeled by different labelers" in note and "'A'; 'B'" in note
               for note in found.notes)  # fmt: skip
    assert "'A': " in fit.attrs["notes"]
    whole = hb.fit(history, round_by([ALL, ALL]), random_seed=1, draws=200)
    assert "calibrated_apart" not in whole.attrs
    assert not any("different labelers" in note for note in hb.compare_arms(whole).notes)


def test_chances_of_history_items_are_those_of_the_kinds(halves):
    history, current, _ = halves
    known = beliefs(history, current, "score", 400, 1)
    items = np.flatnonzero(~history.has_gold)[:30]
    chance = known.history_chance(items)
    assert chance.shape == (400, 30)
    assert np.isfinite(chance).all()
    alone = [
        beliefs(history, current.select(arms=[arm]), "score", 400, 1).history_chance(items)
        for arm in "AB"
    ]
    expected = np.mean([one.mean(axis=0) for one in alone], axis=0)
    assert np.corrcoef(chance.mean(axis=0), expected)[0, 1] > 0.95


def test_a_crowd_with_few_labels_each_is_taken_together_and_told():
    """Each labeler has a few items of one arm: to match arms would leave hardly a label."""
    rng = np.random.default_rng(5)
    history = crowd_round(rng, 300, 60, gold=0.3)
    tables = [crowd_round(rng, 60, 60, people) for people in (range(8), range(30, 38))]
    frames = [table.to_frames() for table in tables]
    for arm, frame in zip("AB", frames, strict=True):
        frame.labels["item"] = arm + frame.labels["item"].astype(str)
        frame.labels["arm"] = arm
    current = hb.Labels.from_frames(pd.concat([frame.labels for frame in frames]))
    every, kinds = score_sets(history, current)
    assert len(kinds) == 1
    assert sum("too few labels of these labelers" in note for note in every.notes) == 2


def crowd_round(rng, n, n_people, people=None, gold=0.0):
    truth = rng.integers(0, 2, n)
    pool = np.arange(n_people) if people is None else np.array(people)
    who = np.array([rng.permutation(pool)[:3] for _ in range(n)])
    label = np.where(rng.random(who.shape) < 0.75, truth[:, None], 1 - truth[:, None])
    known = np.where(rng.random(n) < gold, truth, np.nan)
    return make_labels(np.repeat(np.arange(n), 3), who.ravel(), label.ravel(), {"gold": known})


def test_without_gold_arms_are_read_apart_too(study):
    """Strict and lenient halves of equal rate: votes without calibration must not tell them."""
    history, current, _ = study["simulated"]("shared", "halves", np.random.default_rng(4))
    panel = align(history.without_gold(), current)
    draws = fallback(panel, shortfall(panel), n_draws=2000)
    assert len(draws.notes) == 1
    gap = draws.prevalence.mean(axis=0)
    shares = [current.vote_share[current.group_idx == g].mean() for g in (0, 1)]
    assert shares[1] - shares[0] > 0.1
    assert abs(gap[1] - gap[0]) < 0.15
    rows = np.array([7, 3, 801])
    np.testing.assert_array_equal(draws.log_ratio_at(rows), draws.log_ratio[rows])
    for lines, own in zip(draws.lines, draws.items, strict=True):
        expected = lines[0][:, None] + lines[1][:, None] * draws.score[own]
        np.testing.assert_allclose(draws.log_ratio[:, own], expected)
    # They share the rate of history: its prior is wide, but moves both arms.
    assert np.corrcoef(draws.prevalence.T)[0, 1] > 0.5


@pytest.mark.slow
@pytest.mark.parametrize(("law", "design"), [("shared", "halves")])
def test_difference_of_arms_is_covered(study, law, design):
    rows = [row for r in range(60) for row in study["rows_of"](law, design, "auto", 1000 + r)]
    table = study["summary"](rows).query("target == 'B - A'")
    # Bias of .02 is 2 se.
    assert (table["coverage"] >= 0.85).all()
    assert (table["bias"].abs() < 0.035).all()
