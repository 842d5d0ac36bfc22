"""Ids as strings, in one order, and rows in words."""

import decimal

import numpy as np
import pandas as pd
import pytest

from hero_bayes.data.identifiers import (
    canonical_order,
    contained,
    id_string,
    id_strings,
    number_of,
    read_ids,
    row_list,
    shared_coordinate,
    some,
)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (1, "1"),
        ("1", "1"),
        (1.0, "1"),
        (np.int8(1), "1"),
        (np.float32(1), "1"),
        (-0.0, "0"),
        (1.5, "1.5"),
        (True, "True"),
        (np.False_, "False"),
        (" a ", "a"),
        ("a b\n", "a b"),
        (decimal.Decimal("1.5"), "1.5"),
        (pd.Timestamp("2024-05-01 10:00"), "2024-05-01 10:00:00"),
        (None, None),
        (np.nan, None),
        (pd.NA, None),
        (pd.NaT, None),
        ("", None),
        ("  ", None),
    ],
)
def test_id_string(value, expected):
    assert id_string(value) == expected


def test_id_strings_takes_one_or_many():
    assert id_strings("ab") == ["ab"]
    assert id_strings(3) == ["3"]
    assert id_strings([1.0, None, "x"]) == ["1", "x"]


def test_read_ids_codes_missing_as_minus_one():
    codes, ids = read_ids(pd.Series(["b", None, "a", "b"]))
    assert codes[1] == -1
    assert [ids[code] for code in codes[[0, 2, 3]]] == ["b", "a", "b"]


def test_shared_coordinate_is_the_ordered_union():
    first = read_ids(pd.Series([10, 2]))
    second = read_ids(pd.Series(["9", None, "10"]))
    ids, (one, two) = shared_coordinate([first, second])
    assert ids.tolist() == ["2", "9", "10"]
    assert one.tolist() == [2, 0]
    assert two.tolist() == [1, -1, 2]


def test_canonical_order():
    assert canonical_order(["10", "9", "-3"]).tolist() == [2, 1, 0]
    assert canonical_order(["2", "1", "01"]).tolist() == [2, 1, 0]
    assert canonical_order(["10", "9", "x"]).tolist() == [0, 1, 2]
    assert canonical_order(["1.5", "10", "9"]).tolist() == [0, 1, 2]
    assert canonical_order([]).tolist() == []


def test_contained():
    assert contained(np.array(["a", "b"], dtype=object), ["b", "c"]).tolist() == [False, True]


def test_words_for_messages():
    assert row_list([3]) == "row 3 (counted from 0)"
    assert row_list(np.arange(7)) == "rows 0, 1, 2, 3, 4 and 2 more (counted from 0)"
    assert number_of(1, "item") == "1 item"
    assert number_of(2000, "item") == "2,000 items"
    assert some(range(7)) == "0, 1, 2, 3, 4 and 2 more"
    assert some(np.array([1, 2])) == "1, 2"
