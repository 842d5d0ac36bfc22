"""The list of items for gold: what is in it, and that it helps."""

import numpy as np
import pytest
from gold_rounds import shuffled, simulated

import hero_bayes as hb
from hero_bayes.estimators.averaging import average
from hero_bayes.planning.beliefs import beliefs
from hero_bayes.planning.next_gold import next_gold
from hero_bayes.planning.redrawn import thinned


@pytest.fixture(scope="module")
def rounds():
    return simulated(1)


@pytest.fixture(scope="module")
def asked(rounds):
    return next_gold(*rounds, 30, draws=300, random_seed=3)


def test_items_are_without_gold_and_once(rounds, asked):
    history, current = rounds
    assert len(set(zip(asked.table["round"], asked.table["item"], strict=True))) == 30
    known = {"history": history, "current": current}
    for row in asked.table.itertuples():
        labels = known[row.round]
        i = list(labels.items).index(row.item)
        assert np.isnan(labels.gold[i])
        assert row.vote_share == labels.vote_share[i]
        assert row.labels == labels.labels_per_item[i]
    assert asked.table["probability"].between(0, 1).all()


def test_expected_deviation_falls_and_starts_at_that_of_the_fit(rounds, asked):
    deviation = average(*rounds, n_draws=1_000, random_seed=5).item_rate.std()
    # Standard error of a standard deviation from 300 draws: 4 %; of 1,000: 2 %.
    assert asked.sd_now == pytest.approx(deviation, rel=0.15)
    best = next_gold(*rounds, 30, draws=300, random_seed=3, random_share=0.0)
    falls = -np.diff([best.sd_now, *best.table["expected_sd"]])
    assert (falls > 0).all()
    assert best.sd_after < asked.sd_after
    assert asked.sd_after == asked.table["expected_sd"].iloc[-1]
    removed = 1 - (asked.sd_after / asked.sd_now) ** 2
    assert asked.table["variance_removed"].sum() == pytest.approx(removed, rel=1e-9)


def test_smaller_budgets_are_first_parts(rounds, asked):
    few = next_gold(*rounds, 10, draws=300, random_seed=3)
    assert few.table.equals(asked.table.head(10))


@pytest.mark.parametrize("where", ["history", "current"])
def test_where(rounds, where):
    found = next_gold(*rounds, 8, where=where, draws=200)
    assert set(found.table["round"]) == {where}
    assert f"8 of {'history' if where == 'history' else 'the current round'}" in str(found)


def test_every_second_item_of_the_current_round_comes_at_random(rounds, asked):
    drawn = asked.table["at_random"]
    assert drawn.tolist() == [False, True] * 15
    assert set(asked.table["round"][drawn]) == {"current"}
    # Drawn from all, they are spread over the votes; 1.36 is the 5 % point of Kolmogorov's law.
    many = next_gold(*rounds, 60, where="current", draws=100).table
    share = np.sort(many["vote_share"][many["at_random"]])
    everyone = np.sort(rounds[1].vote_share)
    at = np.unique(everyone)
    gap = np.searchsorted(share, at, "right") / share.size
    gap -= np.searchsorted(everyone, at, "right") / everyone.size
    assert np.abs(gap).max() < 1.36 / np.sqrt(share.size)
    assert not next_gold(*rounds, 8, where="history", draws=100).table["at_random"].any()


def test_order_of_rows_does_not_matter(rounds, asked):
    again = next_gold(*map(shuffled, rounds), 30, draws=300, random_seed=3)
    assert again.table.equals(asked.table)


def test_score_alone_can_be_asked(rounds):
    found = next_gold(*rounds, 5, model="score", where="history", draws=200)
    assert len(found.items) == 5


def test_prevalence_keeps_what_new_items_leave_open(rounds):
    """With everything settled, the prevalence is Beta(1 + k, 1 + n - k)."""
    current = rounds[1]
    settings = {"where": "current", "draws": 200}
    rate = next_gold(*rounds, 30, **settings)
    source = next_gold(*rounds, current.n_items, target="prevalence", **settings)
    assert source.items[:30] == rate.items
    mean = source.table["probability"].mean()
    n = current.n_items
    k = n * mean
    beta = (k + 1) * (n - k + 1) / ((n + 2) ** 2 * (n + 3))
    assert source.sd_after**2 == pytest.approx(beta, rel=1e-6)


def test_chances_of_history_agree_with_gold(rounds):
    """Held-out gold is positive as often as the chances say, within 4 standard errors."""
    history, current = simulated(2, gold_everywhere=True)
    known = np.arange(history.n_items) % 3 == 0
    gold = np.where(known, history.gold, np.nan)
    for model in ("auto", "score"):
        found = beliefs(history.with_gold(gold), current, model, 300, 1)
        hidden = np.flatnonzero(found.calibrates)
        assert (hidden == np.flatnonzero(~known)).all()
        chance = found.history_chance(hidden).mean(axis=0)
        truth = history.gold[hidden]
        assert np.corrcoef(chance, truth)[0, 1] > 0.5
        error = np.sqrt((chance * (1 - chance)).sum()) / hidden.size
        spread = found.history_chance(hidden).mean(axis=1).std()
        assert abs((chance - truth).mean()) < 4 * np.hypot(error, spread)


def test_order_of_asked_items_is_kept(rounds):
    found = beliefs(*rounds, "auto", 200, 1)
    some = np.flatnonzero(found.calibrates)[[7, 2, 5]]
    np.testing.assert_array_equal(
        found.history_chance(some), found.history_chance(np.sort(some))[:, [2, 0, 1]]
    )


def test_history_groups_without_gold_are_left_out_and_said(rounds):
    frames = rounds[0].to_frames()
    late = np.arange(len(frames.items)) >= 100
    frames.items["round"] = np.where(late, "r2", "r1")
    frames.items.loc[late, "gold"] = np.nan
    history = hb.Labels.from_frames(frames.labels, frames.items)
    found = next_gold(history, rounds[1], 10, where="history", draws=100)
    assert set(found.table["group"]) == {"r1"}
    assert "50 history items without gold could not be chosen" in " ".join(found.notes)


def test_rounds_with_other_numbers_of_labels(rounds):
    """Scores then rest on random parts of the labels; every part has its say."""
    few = thinned(rounds[1], 2, np.random.default_rng(0))
    for model in ("auto", "score"):
        found = beliefs(rounds[0], few, model, 300, 1)
        assert len(found.tilt.parts) == 5
        hidden = np.flatnonzero(found.calibrates)
        chance = found.history_chance(hidden)
        assert np.isfinite(chance).all()
        assert np.corrcoef(chance.mean(axis=0), rounds[0].vote_share[hidden])[0, 1] > 0.8
    assert len(next_gold(rounds[0], few, 6, draws=200).items) == 6


def test_without_enough_gold_items_are_spread_over_votes(rounds):
    history, current = rounds
    bare = history.without_gold()
    found = next_gold(bare, current, 12)
    assert set(found.table["round"]) == {"history"}
    assert np.isnan(found.sd_now)
    assert "at least 2 of each class" in " ".join(found.notes)
    share = found.table["vote_share"]
    assert share.min() < 0.15
    assert share.max() > 0.85
    # Positive ones first: the scarce class must not be missed.
    assert share.iloc[0] == bare.vote_share.max()


def test_unknown_labelers_leave_only_the_current_round(rounds):
    history, current = rounds
    strangers = current.to_frames()
    strangers.labels["labeler"] = "new " + strangers.labels["labeler"].astype(str)
    current = hb.Labels.from_frames(strangers.labels, strangers.items)
    found = next_gold(history, current, 4)
    assert set(found.table["round"]) == {"current"}
    with pytest.raises(hb.Refusal, match='where="current"'):
        next_gold(history, current, 4, where="history")


def test_nothing_left():
    history, current = simulated(2, gold_everywhere=True)
    with pytest.raises(hb.Refusal, match="no item of history is left"):
        next_gold(history, current, 4, where="history", draws=100)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"budget": 0}, "budget"),
        ({"budget": 2.5}, "budget"),
        ({"draws": 10}, "draws"),
        ({"where": "past"}, "where"),
        ({"target": "mean"}, "target"),
        ({"model": "hero"}, "model"),
        ({"random_share": 1.5}, "random_share"),
    ],
)
def test_misuse(rounds, changes, message):
    with pytest.raises(ValueError, match=message):
        next_gold(*rounds, **({"budget": 3} | changes))


def test_unknown_group(rounds):
    with pytest.raises(hb.DataError, match="no group 'x'"):
        next_gold(*rounds, 3, group="x")


def deviations(where, chosen, at_random, share=0.5):
    """Mean deviation of auto's item_rate over four rounds, by chosen and by random gold."""
    found = {"chosen": [], "random": []}
    for seed in range(4):
        full = dict(zip(("history", "current"), both_with_gold(10 + seed), strict=True))
        order = np.random.default_rng(seed).permutation(full["history"].n_items)
        start = {"history": order[:30], "current": []}
        rounds = {name: gold_at(full[name], start[name]) for name in full}
        asked = next_gold(*rounds.values(), chosen, where=where, draws=300, random_share=share)
        picks = {"chosen": np.flatnonzero(np.isin(full[where].items, asked.items))}
        picks["random"] = order[30 : 30 + at_random]
        if where == "current":
            picks["random"] = np.arange(at_random)
        for choice, picked in picks.items():
            known = {**rounds, where: gold_at(full[where], [*start[where], *picked])}
            draws = average(*known.values(), n_draws=300, random_seed=seed).item_rate
            found[choice].append(draws.std())
    return np.mean(found["chosen"]), np.mean(found["random"])


def both_with_gold(seed):
    return simulated(seed, n_history=200, n_current=200, gold_everywhere=True, current_gold=True)


def gold_at(labels, known):
    gold = np.full(labels.n_items, np.nan)
    gold[known] = labels.gold[known]
    return labels.with_gold(gold)


def test_the_best_of_the_current_round_are_worth_twice_as_many_at_random():
    chosen, at_random = deviations("current", 20, 40, share=0.0)
    assert chosen < at_random


@pytest.mark.parametrize("where", ["history", "current"])
def test_chosen_gold_is_worth_more_than_as_much_at_random(where):
    chosen, at_random = deviations(where, 20, 20)
    assert chosen < at_random
