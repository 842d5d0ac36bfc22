"""Parts of a table, other coordinates, other gold."""

import numpy as np
import pandas as pd
import pytest

from hero_bayes.data.labels import Labels
from hero_bayes.errors import DataError

TABLE = pd.DataFrame(
    {
        "item": [1, 1, 2, 3, 3, 4, 4],
        "labeler": ["a", "b", "a", "b", "c", "a", "b"],
        "label": [1, 0, 1, 0, 1, None, 1],
    }
)
ITEMS = pd.DataFrame(
    {
        "item": [1, 2, 3, 4],
        "gold": [1, np.nan, 0, np.nan],
        "round": [1, 1, 2, 2],
        "arm": ["A", "B", "A", "B"],
        "x": [0.1, 0.2, 0.3, 0.4],
        "prompt": ["p", "q", "r", "s"],
        "gold_prob": [0.5, 0.5, 0.25, 0.25],
    }
)
PEOPLE = pd.DataFrame(
    {"labeler": ["a", "b", "c"], "family": ["f", None, "g"], "version": [1, 2, 3]}
)
LABELS = Labels.from_frames(TABLE, ITEMS, PEOPLE, covariates=["x"])


def rebuilt(items, labelers=("a", "b", "c")):
    """Read the rows of the chosen items and labelers from the start."""
    rows = TABLE[TABLE["item"].isin(items) & TABLE["labeler"].isin(labelers)]
    return Labels.from_frames(rows, ITEMS[ITEMS["item"].isin(items)], PEOPLE, covariates=["x"])


@pytest.mark.parametrize(
    ("options", "items"),
    [
        ({"items": [3, "1"]}, [1, 3]),
        ({"items": "2"}, [2]),
        ({"items": np.array([True, False, True, False])}, [1, 3]),
        ({"items": [True, False, True, False]}, [1, 3]),
        ({"items": pd.array([True, False, True, False], dtype="boolean")}, [1, 3]),
        ({"rounds": 2}, [3, 4]),
        ({"arms": ["A"]}, [1, 3]),
        ({"rounds": ["1", "2"], "arms": "B"}, [2, 4]),
        ({"gold": True}, [1, 3]),
        ({"gold": False}, [2, 4]),
        ({"items": [1, 2], "gold": True}, [1]),
        ({}, [1, 2, 3, 4]),
    ],
)
def test_selection_equals_reading_only_those_rows(options, items):
    assert LABELS.select(**options) == rebuilt(items)


def test_selecting_labelers():
    chosen = LABELS.select(labelers=["b"], unlabeled="drop")
    assert chosen == rebuilt([1, 3, 4], ["b"])
    assert chosen.items_dropped == 1
    assert chosen.labelers.tolist() == ["b"]


def test_labelers_without_a_label_leave_the_coordinate():
    assert LABELS.select(items=[2]).labelers.tolist() == ["a"]
    four = LABELS.select(items=[4])
    assert four.labelers.tolist() == ["b"]
    assert four.abstained_labeler.tolist() == ["a"]


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"items": [1, 9]}, r"unknown item ids: '9'; the table has '1', '2'"),
        ({"labelers": "z"}, r"unknown labeler ids: 'z'"),
        ({"rounds": 3}, r"unknown round ids: '3'"),
        ({"arms": "C"}, r"unknown arm ids: 'C'"),
        ({"items": [True]}, r"mask over items has shape \(1,\)"),
        ({"items": []}, r"leaves no item"),
        ({"rounds": 1, "items": [3]}, r"leaves no item"),
        ({"labelers": "b"}, r"1 item without a label: '2'; pass unlabeled=\"drop\""),
        ({"labelers": "c", "items": [1], "unlabeled": "drop"}, r"leaves no item with a label"),
        ({"unlabeled": "keep"}, r"choose one of"),
    ],
)
def test_selection_errors(options, match):
    with pytest.raises(DataError, match=match):
        LABELS.select(**options)


def test_take_items_keeps_labelers_and_groups():
    taken = LABELS.take_items([2])
    assert taken.items.tolist() == ["3"]
    assert taken.labelers.tolist() == ["a", "b", "c"]
    assert taken.group_round == LABELS.group_round
    assert taken.item_ptr.tolist() == [0, 2]
    assert taken.labeler_idx.tolist() == [1, 2]
    assert taken.label.tolist() == [0, 1]
    assert taken.covariates["x"].tolist() == [0.3]
    assert taken.texts["prompt"].tolist() == ["r"]
    assert taken.gold_prob.tolist() == [0.25]
    assert len(taken.abstained_item) == 0
    assert LABELS.take_items([3, 0, 3]) == LABELS.take_items([True, False, False, True])
    assert LABELS.take_items(np.ones(4, dtype=bool)) == LABELS


def test_take_items_may_be_empty():
    empty = LABELS.take_items(np.zeros(4, dtype=bool))
    assert (empty.n_items, empty.n_labels, empty.n_labelers) == (0, 0, 3)
    assert empty.item_ptr.tolist() == [0]
    assert empty.take_items([]).n_items == 0


def test_take_items_errors():
    with pytest.raises(DataError, match="mask has 2 entries, the table has 4 items"):
        LABELS.take_items([True, False])
    with pytest.raises(DataError, match="item positions run from 0 to 3"):
        LABELS.take_items([4])


def test_with_labelers_moves_labels_and_keeps_items():
    moved = LABELS.with_labelers(["z", "c", "a"])
    assert moved.labelers.tolist() == ["z", "c", "a"]
    assert moved.items.tolist() == LABELS.items.tolist()
    assert moved.item_ptr.tolist() == [0, 1, 2, 3, 3]
    assert moved.labeler_idx.tolist() == [2, 2, 1]
    assert moved.label.tolist() == [1, 1, 1]
    assert moved.family == (None, "g", "f")
    assert moved.version == (None, "3", "1")
    assert moved.abstained_labeler.tolist() == ["a"]
    assert LABELS.with_labelers(["b"]).abstained_labeler.tolist() == []
    assert np.isnan(moved.vote_share[3])


def test_with_labelers_sorts_within_the_item_on_the_new_coordinate():
    turned = LABELS.with_labelers(["c", "b", "a"])
    assert turned.labeler_idx.tolist() == [1, 2, 2, 0, 1, 1]
    assert turned.label.tolist() == [0, 1, 1, 1, 0, 1]
    assert turned.with_labelers(["a", "b", "c"]) == LABELS
    with pytest.raises(DataError, match="must be distinct"):
        LABELS.with_labelers(["a", "a"])


def test_gold_is_replaced_and_withheld():
    assert LABELS.without_gold().n_gold == 0
    assert LABELS.n_gold == 2
    by_array = LABELS.with_gold([1, 0, None, np.nan])
    np.testing.assert_array_equal(by_array.gold, [1, 0, np.nan, np.nan])
    by_id = LABELS.with_gold(pd.Series([0, True], index=[2, "1"]))
    assert by_id == by_array
    assert LABELS.without_gold().with_gold(LABELS.gold) == LABELS


@pytest.mark.parametrize(
    ("gold", "match"),
    [
        ([1, 0], r"gold has 2 entries, the table has 4 items"),
        ([1, 0, 2, 0], r"gold outside \{0, 1\} in the new gold table: 2 \(1x\) in row 2"),
        (pd.Series([1], index=[9]), r"not in the table: '9'"),
        (pd.Series([1, 0], index=[1, "1"]), r"one item id per row, each once"),
        (pd.Series([1], index=[None]), r"one item id per row"),
    ],
)
def test_gold_errors(gold, match):
    with pytest.raises(DataError, match=match):
        LABELS.with_gold(gold)
