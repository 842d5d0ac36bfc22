"""Gold is read by what the words of the labels mean, in all tables of a call alike."""

import itertools

import numpy as np
import pandas as pd
import pytest

from hero_bayes.data.checks import check
from hero_bayes.data.labels import Labels
from hero_bayes.data.verdicts import settle
from hero_bayes.errors import DataError

NONE = np.nan


def read(said, gold, in_labels=0, **options):
    """Labels with these words on one item each, the gold of the first ``in_labels`` beside them."""
    gold = pd.Series([*gold, *[None] * (len(said) - len(gold))], dtype=object)
    beside = gold.where(np.arange(len(said)) < in_labels, None)
    labels = pd.DataFrame({"item": range(len(said)), "labeler": "r", "label": said, "gold": beside})
    items = pd.DataFrame({"item": range(len(said)), "gold": gold})[in_labels:]
    return Labels.from_frames(labels, items if len(items) else None, **options)


# Labels, gold, options, and what the gold means.
READINGS = {
    "classes 1 and 2, only 1 in gold": ([1, 2], [1, 1], dict(positive=2, negative=1), [0, 0]),
    "the negative word is inferred": ([1, 2], [1, 1], dict(positive=2), [0, 0]),
    "labels hold the negative word only": ([1, 1], [1, 1], dict(positive=2), [0, 0]),
    "classes 1 and 2, both in gold": ([1, 2], [2, 1], dict(positive=2), [1, 0]),
    "written as numbers and texts": (["1.0", "2"], [1.0, " 1 "], dict(positive="2.0"), [0, 0]),
    "classes 1 and 2, the 1s counted": ([1, 2], [1, 2], dict(positive=1), [1, 0]),
    "the 1s counted, plain gold": ([1, 2], [1, 0], dict(positive=1), [1, 0]),
    "the 0s counted": ([0, 1], [0, 1], dict(positive=0), [1, 0]),
    "the 0s counted, as text, one class": (["0", "1"], ["0", "0"], dict(positive="0"), [1, 1]),
    "the 0s counted, labels hold only them": ([0, 0], [1, 1], dict(positive=0), [0, 0]),
    "booleans, False counted": ([True, False], [True, True], dict(positive=False), [0, 0]),
    "booleans": ([True, False], [True, False], {}, [1, 0]),
    "words, plain gold": (["yes", "no"], [0, 1], dict(positive="yes"), [0, 1]),
    "words, plain gold, no counted": (["yes", "no"], [0, 1], dict(positive="no"), [0, 1]),
    "words, booleans as gold": (["yes", "no"], [True, False], dict(positive="yes"), [1, 0]),
    "words, only the negative one": (["yes", "no"], ["no", "no"], dict(positive="yes"), [0, 0]),
    "one word in the labels": (["yes", "yes"], ["no", "yes"], dict(positive="yes"), [0, 1]),
    "one word in the labels, plain gold": (["yes", "yes"], [1, 1], dict(positive="yes"), [1, 1]),
    "one number in the labels": ([2, 2], [1, 2], dict(positive=2), [0, 1]),
    "one number, the other named": ([2, 2], [1, 1], dict(positive=2, negative=1), [0, 0]),
    "one number, plain gold by name": ([2, 2], [1, 1], dict(positive=2, negative=0), [1, 1]),
    "-1 and 1": ([-1, 1], [-1, 1], dict(positive=1), [0, 1]),
    "-1 and 1, plain gold": ([-1, 1], [0, 1], dict(positive=1), [0, 1]),
    "-1 and 1, the -1s counted": ([-1, 1], [1, 1], dict(positive=-1), [0, 0]),
    "0 is no verdict": ([-1, 1], [0, 1], dict(positive=1, abstain=[0]), [NONE, 1]),
    "0 is no verdict, no positive": ([1, 1], [0, 1], dict(abstain=[0]), [NONE, 1]),
    "a word is no verdict": (["y", "n"], ["?", "n"], dict(positive="y", abstain="?"), [NONE, 0]),
    "2 is no verdict": ([0, 1], [2, 1], dict(abstain=2), [NONE, 1]),
}  # fmt: skip


@pytest.mark.parametrize("in_labels", [0, 1, 2])
@pytest.mark.parametrize("case", READINGS)
def test_gold_means_what_the_labels_mean(case, in_labels):
    said, gold, options, meaning = READINGS[case]
    labels = read(said, gold, in_labels, **options)
    np.testing.assert_array_equal(labels.gold, meaning)
    assert labels.gold_abstained == np.isnan(meaning).sum()


REFUSED = {
    "plain gold, but 1 is a label": (
        [1, 2], [0, 1], dict(positive=2),
        r"gold '0', '1' in rows 0, 1 .* of the items table can be read in two ways: in the words "
        r"of the labels, where '2' means 1 and '1' means 0, or as plain 0 and 1",
    ),
    "labels hold one number": (
        [2, 2], [1, 1], dict(positive=2),
        r"gold '1' in rows 0, 1 .*two ways.*negative=.1. takes the first, negative=.0. the second",
    ),
    "labels hold one number, 0 and 1": ([2, 2], [0, 1], dict(positive=2), r'negative="1" takes'),
    "labels hold -1 only": ([-1, -1], [1, 1], dict(positive=-1), r"the label that is not '-1'"),
    "0 is no verdict, 1 is no label": (
        ["yes", "no"], [0, 1], dict(positive="yes", abstain=[0]),
        r"'yes' means 1 and 'no' means 0, '0' no verdict, or as plain",
    ),
    "both ways": (["yes", "no"], ["yes", 0], dict(positive="yes"), r"written in two ways: .*'yes'"),
    "a neutral 0": ([-1, 1], [-1, 0], dict(positive=1), r"'-1' in row 0 .*'0' in row 1 .*abstain="),
    "a third word": (["yes", "no"], ["no", "so"], dict(positive="yes"), r"gold is neither.*'so'"),
    "words for plain labels": ([1, 0], ["yes", "no"], {}, r"gold outside .*write gold as 0 and 1"),
    "labels of several classes come first": (
        [1, 3], [1, 1], dict(positive=2), r"label is neither 2 nor one single other value",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_can_be_read_in_two_ways_is_refused(case):
    said, gold, options, match = REFUSED[case]
    with pytest.raises(DataError, match=match):
        read(said, gold, **options)


def test_one_reading_for_the_gold_of_both_tables():
    with pytest.raises(
        DataError, match=r"'yes' in row 0 .* of the labels table.*'0' in row 0 .*item"
    ):
        read(["yes", "no"], ["yes", 0], in_labels=1, positive="yes")


@pytest.mark.parametrize("said", [[1, 2], [2, 2], [0, 1], [-1, 1], ["yes", "no"], ["yes", "yes"]])
def test_what_a_word_means_does_not_depend_on_the_other_gold(said):
    words = ["0", "1", "2", "-1", "yes", "no", "?"]
    labels = [("the labels", pd.Series(said, dtype=object))]
    for positive, abstain in itertools.product(set(said), [(), ("?",), (0,)]):
        if set(abstain) & set(said):
            continue
        meanings = {}
        for size in (1, 2, 3):
            for gold in itertools.combinations(words, size):
                try:
                    told = settle(labels, [("the gold", pd.Series(gold))], positive, None, abstain)
                except DataError:
                    continue
                spoken = set(gold) - told.unsure
                for word in spoken if spoken <= told.gold.keys() else ():  # others are refused
                    meanings.setdefault(word, set()).add(told.gold[word])
        assert len(meanings) >= 2
        assert all(len(found) == 1 for found in meanings.values()), (positive, abstain, meanings)


def test_abstentions_in_gold_are_told():
    labels = read(["yes", "no", "no"], ["?", "yes", "no"], positive="yes", abstain="?")
    assert "no verdict of the expert on 1 more item" in str(labels.summary())
    finding = next(f for f in check(labels) if f.code == "gold_abstained")
    assert "no verdict of the expert on 1 item" in finding.message
    assert labels.without_gold().gold_abstained == 0
    assert labels.with_gold([1, 0, None]).gold_abstained == 0
    assert read(["yes", "no"], ["?", "no"], positive="yes", abstain="?") == read(
        ["yes", "no"], [None, "no"], positive="yes"
    )


@pytest.mark.parametrize(
    ("said", "remedy"),
    [
        ([1, 2, 3, 4, 5], r"those from 4 on: table\.label >= 4"),
        ([1, 2, 3], r"those from 3 on: table\.label >= 3"),
        (["0.5", "1.5", "9"], r"those from 9 on: table\.label >= 9"),
        (["safe", "unsafe", "toxic"], r"table\.label\.isin\(\['safe', 'toxic'\]\)"),
    ],
)
def test_labels_of_several_classes_may_be_merged(said, remedy):
    with pytest.raises(DataError, match=f"abstain=.*or merge values .*{remedy}"):
        read(said, [])


def test_labels_of_two_words_are_not_merged():
    with pytest.raises(DataError, match="positive=") as caught:
        read(["yes", "no"], [])
    assert "merge" not in str(caught.value)
