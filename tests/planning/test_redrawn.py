"""Simulated rounds keep what they are drawn from."""

import numpy as np
import pytest
from gold_rounds import simulated

from hero_bayes.planning.redrawn import drawn_round, known_gold, thinned


@pytest.fixture(scope="module")
def history():
    return simulated(1)[0]


@pytest.fixture(scope="module")
def truth(history):
    return (np.random.default_rng(0).random(history.n_items) < 0.4).astype(np.int8)


def rows(labels):
    """The labels of each item as a tuple of (labeler, label)."""
    ends = zip(labels.item_ptr[:-1], labels.item_ptr[1:], strict=True)
    return [
        tuple(zip(labels.labeler_idx[a:b].tolist(), labels.label[a:b].tolist(), strict=True))
        for a, b in ends
    ]


def test_items_have_the_labels_of_one_history_item_of_their_truth(history, truth):
    made, y = drawn_round(history, truth, 0.3, 60, None, np.random.default_rng(1))
    known = rows(history)
    pools = {value: {known[i] for i in np.flatnonzero(truth == value)} for value in (0, 1)}
    assert made.n_gold == 0
    assert len(y) == made.n_items == 60
    for own, value in zip(rows(made), y, strict=True):
        assert own in pools[int(value)]


def test_truths_come_at_the_rate(history, truth):
    _, y = drawn_round(history, truth, 0.2, 4_000, None, np.random.default_rng(2))
    assert y.mean() == pytest.approx(0.2, abs=4 * np.sqrt(0.16 / 4_000))


def test_a_larger_round_begins_with_the_smaller(history, truth):
    small, large = (
        drawn_round(history, truth, 0.3, n, None, np.random.default_rng(5)) for n in (20, 50)
    )
    assert rows(large[0])[:20] == rows(small[0])
    assert (large[1][:20] == small[1]).all()


def test_thinning_keeps_some_of_an_items_own_labels_at_random(history):
    few = thinned(history, 2, np.random.default_rng(3))
    assert (few.labels_per_item == 2).all()
    for own, all_ in zip(rows(few), rows(history), strict=True):
        assert set(own) <= set(all_)
        assert list(own) == sorted(own)
    # Each of five labelers stays with probability 2 / 5.
    expected = 0.4 * history.n_items
    assert np.abs(few.labels_per_labeler - expected).max() < 4 * np.sqrt(0.24 * history.n_items)
    assert rows(thinned(history, 9, np.random.default_rng(3))) == rows(history)


def test_gold_is_added_in_the_given_order_where_there_is_none(history, truth):
    order = np.random.default_rng(4).permutation(history.n_items)
    more = known_gold(history, truth, 15, order)
    added = np.flatnonzero(more.has_gold & ~history.has_gold)
    open_ = [i for i in order if not history.has_gold[i]]
    assert sorted(added) == sorted(open_[:15])
    assert (more.gold[added] == truth[added]).all()
    same = history.has_gold
    assert (more.gold[same] == history.gold[same]).all()
