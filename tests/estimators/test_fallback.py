"""The posterior without calibration: its laws, what scarce gold does, and that it is wide."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from scipy.stats import beta, kstest, lognorm
from toy import make_labels, simulate

import hero_bayes as hb
from hero_bayes.data.panel import align
from hero_bayes.estimators.fallback import (
    LOG_SLOPE_SD,
    SHARE_PRIOR,
    comparable,
    fallback,
    intercepts,
    prior_line,
    shortfall,
)
from hero_bayes.estimators.gold_error import EXACT, GoldError, gold_error_of
from hero_bayes.estimators.item_scores import vote_logit
from hero_bayes.estimators.placed_votes import placed

SIZES = {"n_history": 150, "n_current": 60, "n_labelers": 5, "labels_per_item": 4}


@pytest.fixture(scope="module")
def rounds():
    return simulate(11, **SIZES).rounds


def with_counts(history, negative, positive):
    """The history with that many gold items of each class, the first ones."""
    gold = np.full(history.n_items, np.nan)
    for truth, n in ((0, negative), (1, positive)):
        gold[np.flatnonzero(history.gold == truth)[:n]] = truth
    return history.with_gold(gold)


def strangers(current):
    """The current round as labeled by people whom history does not know."""
    verdicts, items, _ = current.to_frames()
    renamed = verdicts.assign(labeler="new" + verdicts["labeler"].astype(str))
    return hb.Labels.from_frames(renamed, items)


def drawn(history, current, **options):
    panel = align(history, current)
    return fallback(panel, shortfall(panel), **options)


@pytest.mark.parametrize(
    ("counts", "lacking"),
    [
        ((0, 0), "gold 0 and gold 1 to"),
        ((1, 9), "gold 0 to"),
        ((9, 1), "gold 1 to"),
        ((2, 2), None),
    ],
)
def test_shortfall_names_the_class(rounds, counts, lacking):
    history, current = rounds
    found = shortfall(align(with_counts(history, *counts), current))
    if lacking is None:
        assert found is None
        return
    assert found.kind == "gold"
    assert found.value == min(counts)
    assert lacking in found.reason


def test_gold_without_labels_does_not_count():
    table = make_labels(range(6), list("aaabbb"), [0, 1, 0, 1, 1, 0], {"gold": [0, 0, 0, 1, 1, 1]})
    assert shortfall(align(table, table)) is None
    silent = table.with_labelers(["a"])
    assert shortfall(align(silent, silent)).value == 0.0


def test_no_known_labeler(rounds):
    history, current = rounds
    assert shortfall(align(history, strangers(current))).kind == "labelers"


def test_intercepts_solve_their_equation():
    rng = np.random.default_rng(1)
    value = np.sort(rng.normal(0, 2, 30))
    share = rng.dirichlet(np.ones(30))
    slope, positive = np.exp(1.5 * rng.standard_normal(300)), rng.beta(0.5, 0.5, 300)
    positive = np.clip(positive, 1e-9, 1 - 1e-9)
    alpha = intercepts(value, share, slope, positive)
    reached = expit(alpha[:, None] + slope[:, None] * value) @ share
    np.testing.assert_allclose(reached, positive, rtol=1e-6)
    # Its slope is 1 where all items look alike: then the intercept is known.
    alone = intercepts(np.zeros(1), np.ones(1), np.ones(1), np.array([0.3]))
    np.testing.assert_allclose(alone, np.log(3 / 7), rtol=1e-9)


def test_without_gold_the_line_follows_its_prior(rounds):
    history, current = rounds
    panel = align(history.without_gold(), current)
    line = prior_line(panel.history, panel.current, 2000, EXACT, np.random.default_rng(1))
    score = vote_logit(panel.history)
    share = expit(line.intercept + line.slope[:, None] * score).mean(axis=1)
    # Rows are drawn from 16,000 proposals: at most a few are alike.
    assert kstest(line.slope, lognorm(LOG_SLOPE_SD).cdf).pvalue > 1e-3
    assert kstest(share, beta(SHARE_PRIOR, SHARE_PRIOR).cdf).pvalue > 1e-3


def on_grid(panel, error, how):
    """Posterior means of (share of positives, log slope), by a grid of prior quantiles."""
    size = 200
    level = (np.arange(size) + 0.5) / size
    q = np.clip(np.repeat(beta(SHARE_PRIOR, SHARE_PRIOR).ppf(level), size), 1e-9, 1 - 1e-9)
    b = np.tile(lognorm(LOG_SLOPE_SD).ppf(level), size)
    past, now = panel.history, panel.current
    value, count = np.unique(vote_logit(past), return_counts=True)
    alpha = intercepts(value, count / count.sum(), b, q)
    log = np.zeros(q.size)
    for labels, whose in ((past, "past"), (now, "now")):
        for s, y in zip(vote_logit(labels), labels.gold, strict=True):
            if np.isnan(y):
                continue
            line = alpha + b * s if y else -(alpha + b * s)
            log += np.log(error + (1 - 2 * error) * expit(line))
            if whose == "now" or how == "class":
                log -= np.log(error + (1 - 2 * error) * (q if y else 1 - q))
    if how == "left out":
        log *= 0.0
    weight = np.exp(log - log.max())
    weight /= weight.sum()
    return np.array([weight @ q, weight @ np.log(b)])


@pytest.mark.parametrize("error", [0.0, 0.1])
@pytest.mark.parametrize("counts", [(3, 0), (1, 5)])
def test_scarce_gold_matches_a_grid(rounds, counts, error):
    history, current = rounds
    gold = np.where(np.arange(current.n_items) == 0, 1.0, np.nan)
    panel = align(with_counts(history, *counts), current.with_gold(gold))
    rng, n = np.random.default_rng(3), 4000
    line = prior_line(panel.history, panel.current, n, GoldError(error), rng, n_proposals=60_000)
    accounts = [on_grid(panel, error, how) for how in ("left out", "random", "class")]
    expected = np.array([0.5, 0.25, 0.25]) @ accounts
    score = vote_logit(panel.history)
    share = expit(line.intercept + line.slope[:, None] * score).mean(axis=1)
    found = np.array([share.mean(), np.log(line.slope).mean()])
    sd = np.array([share.std(), np.log(line.slope).std()])
    # As above: importance weights and resampling, each account with its own.
    size = min(line.effective_size, n / 4)
    assert (np.abs(found - expected) < 5 * sd * np.sqrt(2 / size)).all()


def test_unknown_labelers_are_not_read(rounds):
    history, current = rounds
    draws = drawn(history, strangers(current), n_draws=2000)
    assert (draws.log_ratio == 0.0).all()
    assert kstest(draws.prevalence[:, 0], "uniform").pvalue > 1e-3
    sd = draws.item_rate[:, 0].std()
    assert abs(draws.item_rate[:, 0].mean() - 0.5) < 5 * sd / np.sqrt(2000)


def test_history_without_any_label(rounds):
    _, current = rounds
    empty = hb.Labels.from_frames(
        pd.DataFrame({"item": ["a"], "labeler": ["w"], "label": [1]}),
        pd.DataFrame({"item": ["a"], "gold": [1.0]}),
    ).take_items(np.zeros(1, dtype=bool))
    draws = drawn(empty, current, n_draws=200)
    assert draws.shortfall.kind == "labelers"
    assert np.ptp(np.quantile(draws.item_rate, [0.05, 0.95])) > 0.7


@pytest.mark.parametrize("counts", [(0, 0), (1, 1)])
def test_intervals_hold_the_truth(counts):
    """Independent labelers, shared errors, weak judges; history and current rates anywhere."""
    inside = []
    for seed in range(30):
        rng = np.random.default_rng([seed, 9])
        loading, quality = (0.0, 1.5, 3.0)[seed % 3], (1.7, 0.4)[seed % 2]
        first, second = rng.uniform(0.05, 0.95, 2)
        past, truth_past = shared_errors(rng, loading, quality, first)
        now, truth = shared_errors(rng, loading, quality, second)
        history = with_counts(past.with_gold(truth_past.astype(float)), *counts)
        draws = drawn(history, now, n_draws=300, random_seed=seed)
        low, high = np.quantile(draws.item_rate, [0.05, 0.95])
        inside.append(low - 1e-9 <= truth.mean() <= high + 1e-9)
    # With coverage .9 fewer than 23 of 30 have probability .008.
    assert sum(inside) >= 23


def shared_errors(rng, loading, quality, rate, n=150, judges=5):
    """One round of judges who stumble over the same items."""
    truth = (rng.random(n) < rate).astype(int)
    effect = loading * rng.standard_normal(n)
    chance = expit(quality * (2 * truth - 1) + effect)[:, None]
    label = (rng.random((n, judges)) < chance).astype(int)
    item, judge = np.repeat(np.arange(n), judges), np.tile(np.arange(judges), n)
    return make_labels(item, judge, label.ravel(), {"item": np.arange(n)}), truth


def test_labels_order_the_items(rounds):
    history, current = rounds
    draws = drawn(history.without_gold(), current, n_draws=200)
    assert (draws.slope > 0).all()
    order = np.argsort(vote_logit(align(history, current).current))
    mean = draws.log_ratio.mean(axis=0)[order]
    assert (np.diff(mean) > -1e-9).all()


def compared(history, current):
    panel = align(history, current)
    return comparable(panel.history, panel.current, np.random.default_rng(1))


@pytest.mark.parametrize("more", ["history", "current"])
def test_rounds_with_other_numbers_of_labels_are_matched(more):
    long, short = (simulate(2, **{**SIZES, "labels_per_item": n}).past.labels() for n in (5, 2))
    history, current = (long, short) if more == "history" else (short, long)
    past, now, notes = compared(history, current)
    assert set(past.labels_per_item) == set(now.labels_per_item) == {2}
    assert len(notes) == 1
    assert compared(long, long)[2] == ()


def test_rounds_of_other_labelers_are_matched():
    history = simulate(2, **SIZES).past.labels()
    current = history.without_gold().with_labelers(["0", "1"])
    past, _, notes = compared(history, current)
    assert len(notes) == 1
    assert set(past.labelers[past.labels_per_labeler > 0]) == {"0", "1"}


def test_draws_depend_on_the_seed_not_on_the_order_of_rows(rounds):
    history, current = rounds
    scarce = with_counts(history, 1, 0)
    verdicts, items, _ = scarce.to_frames()
    again = hb.Labels.from_frames(
        verdicts.sample(frac=1.0, random_state=1), items.sample(frac=1.0, random_state=2)
    )
    one, two = (drawn(h, current, n_draws=50, random_seed=4) for h in (scarce, again))
    np.testing.assert_array_equal(one.item_rate, two.item_rate)
    other = drawn(scarce, current, n_draws=50, random_seed=5)
    assert not np.array_equal(one.item_rate, other.item_rate)


def test_fallible_gold_of_the_current_round_is_evidence(rounds):
    history, current = rounds
    gold = np.where(np.arange(current.n_items) < 10, 1.0, np.nan)
    known = current.with_gold(gold)
    scarce = with_counts(history, 0, 1)
    exact = drawn(scarce, known, n_draws=300)
    fallible = drawn(scarce, known, n_draws=300, gold_error=gold_error_of((2, 8)))
    assert exact.gold_error is None
    assert exact.item_rate.min() >= 10 / current.n_items
    assert np.ptp(fallible.gold_error) > 0
    plain = fallible.intercept[:, None] + fallible.slope[:, None] * fallible.score
    weight = np.log(1 / fallible.gold_error - 1)
    difference = fallible.log_ratio - np.where(fallible.used, plain, 0.0)
    np.testing.assert_allclose(difference[:, :10], np.repeat(weight[:, None], 10, axis=1))
    np.testing.assert_allclose(difference[:, 10:], 0.0)


@pytest.mark.parametrize("word", [0, 1])
@pytest.mark.parametrize("n_items", [1, 9, 150])
def test_history_voted_alike_does_not_make_other_votes_certain(rounds, word, n_items):
    history, current = rounds
    verdicts, items, _ = history.to_frames()
    some = items.iloc[:n_items].assign(gold=np.nan)
    few = verdicts[verdicts["item"].isin(some["item"])]
    panel = align(hb.Labels.from_frames(few.assign(label=word), some), current)
    draws = fallback(panel, shortfall(panel), n_draws=1000)
    assert not draws.used.any()
    assert any("not read" in note for note in draws.notes)
    # Nothing is known of the rate: Beta(1, 1).
    assert kstest(draws.prevalence[:, 0], beta(1, 1).cdf).pvalue > 1e-3
    assert placed(history) == (history.n_items >= 10)
    assert not placed(panel.history)
