"""Two rounds on one labeler coordinate."""

import pandas as pd
import pytest

from hero_bayes.data.labels import Labels
from hero_bayes.data.panel import align
from hero_bayes.errors import DataError


def table(rows, **extra):
    frame = pd.DataFrame(rows, columns=["item", "labeler", "label"])
    return Labels.from_frames(frame.assign(**extra))


HISTORY = table([("h1", "10", 1), ("h1", "9", 0), ("h2", "10", 1)])
CURRENT = table([("c1", "9", 1), ("c1", "7", 0), ("c2", "8", 1), ("c2", "7", 1), ("c3", "8", 1)])


def test_unseen_labelers_are_left_out_and_counted():
    panel = align(HISTORY, CURRENT)
    assert panel.labelers.tolist() == ["9", "10"]
    assert panel.history.labelers.tolist() == panel.current.labelers.tolist() == ["9", "10"]
    assert panel.history == HISTORY
    assert panel.unseen == panel.labelers_left_out == ("7", "8")
    assert panel.labels_left_out == 4
    assert panel.current.items.tolist() == ["c1", "c2", "c3"]
    assert panel.current.labels_per_item.tolist() == [1, 0, 0]
    assert panel.current.labeler_idx.tolist() == [0]


def test_unseen_labelers_are_included_on_demand():
    panel = align(HISTORY, CURRENT, unseen="include")
    assert panel.labelers.tolist() == ["7", "8", "9", "10"]
    assert panel.unseen == ("7", "8")
    assert panel.labelers_left_out == ()
    assert panel.labels_left_out == 0
    assert panel.current.n_labels == CURRENT.n_labels
    assert panel.history.n_labels == HISTORY.n_labels


def test_gold_in_the_current_round_makes_a_labeler_seen():
    panel = align(HISTORY, CURRENT.with_gold([None, None, 1]))
    assert panel.labelers.tolist() == ["8", "9", "10"]
    assert panel.unseen == ("7",)
    assert panel.labels_left_out == 2


def test_labelers_without_a_label_in_history_are_not_seen():
    panel = align(HISTORY.with_labelers(["7", "9", "10"]), CURRENT)
    assert panel.unseen == ("7", "8")


def test_current_labelers_without_a_label_are_not_unseen():
    panel = align(HISTORY, CURRENT.with_labelers(["5", "7", "9"]))
    assert panel.unseen == ("7",)


def test_families_are_known_in_both_rounds():
    current = table([("c1", "9", 1)], family="f")
    panel = align(HISTORY, current)
    assert panel.history.family == panel.current.family == ("f", None)


def test_unknown_policy():
    with pytest.raises(DataError, match="unseen='keep': choose one of 'drop', 'include'"):
        align(HISTORY, CURRENT, unseen="keep")
