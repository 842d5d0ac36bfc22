"""Which answers count as the same."""

import numpy as np
import pandas as pd
import pytest

from hero_bayes.data.generations import Generations
from hero_bayes.difficulty.answers import clusters, merged, normalise
from hero_bayes.difficulty.review import review_list
from hero_bayes.errors import DataError, Refusal


def long(answers, **columns):
    """One model; answers by prompt, in the order of the generations."""
    rows = [
        (prompt, place, answer)
        for prompt, given in answers.items()
        for place, answer in enumerate(given)
    ]
    frame = pd.DataFrame(rows, columns=["prompt", "generation", "answer"])
    return frame.assign(correct=0, **columns)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("18", "18.0"),
        ("18", " 18. "),
        ("1800", "1,800"),
        ("1800", "$1,800.00"),
        ("-3.50", "-$3.5"),
        ("0", "-0.0"),
        (".5", "0.50"),
        ("18 %", "18.0%"),
        ("Paris", "  paris. "),
        ("a  b\tc", "A b\nc"),
        ('["a", "b"]', "['a', 'b']"),
        ("Straße", "STRASSE"),
        ("7", "$7$"),
        ("7", r"\boxed{7}"),
        ("7", r"$\boxed{7.0}$"),
        ("7", r"\(7\)"),
        ("7", "**7**"),
        ("-7", "\u22127"),
        ("-7", "$\u20137$"),
        ("18%", r"$18\%$"),
        ("A", "(A)"),
        ("A", "A."),
        ("A", r"\text{A}"),
        ("A", "[a]"),
        ("Paris", r"\text{paris}"),
        ("['a', 'b']", "['a','b']"),
        (r"['a\ b']", r'["a\ b"]'),
        ("{'a': {'b', 1}}", '{"a":{"b",1}}'),
    ],
)
def test_same_answer(one, other):
    assert normalise(one) == normalise(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("18", "18%"),
        ("18", "180"),
        ("1,2", "12"),
        ("1,2,3", "123"),
        ("12,34", "1234"),
        ("007", "7"),
        ("18", "18 apples"),
        ("1,800 apples", "1800 apples"),
        ("-5", "5"),
        ("", "None"),
        ("wait...", "wait.."),
        ('"it\'s"', "'it's'"),
        ("'A'", "'a'"),
        ("'a b'", "'a  b'"),
        ("' a'", "'a'"),
        ("x = A", "x = a"),
        ("if a:\n  b()", "if a: b()"),
        ("['A']", "['a']"),
        ("'7'", "7"),
        ("(7, 8)", "[7, 8]"),
        ("$7$", "$70$"),
        ("AB", "(A)"),
    ],
)
def test_other_answer(one, other):
    assert normalise(one) != normalise(other)


def test_normalising_twice_changes_nothing():
    for text in ("$1,800.50", "A.", "18.", " x  y ", '"a"', "..", ".", "-0", "1e5"):
        assert normalise(normalise(text)) == normalise(text)


def test_codes_start_at_zero_in_every_prompt_and_are_shared_by_models():
    first = long({"a": ["x", "y", "X "], "b": ["y", "z"]}, model="m1")
    second = long({"a": ["y", "w"], "b": ["z", "z"]}, model="m2")
    data = Generations.from_frame(pd.concat([first, second]))
    assert clusters(data).tolist() == [0, 1, 0, 0, 1, 1, 2, 1, 1]


@pytest.mark.parametrize("cluster", [None, lambda answers: answers])
def test_missing_and_empty_are_no_answers(cluster):
    data = Generations.from_frame(long({"a": ["", None, "x", "None"], "b": ["  "]}))
    assert clusters(data, cluster).tolist() == [-1, -1, 0, 1, -1]


@pytest.mark.parametrize(
    ("answers", "correct", "codes"),
    [
        (["7", "7.0", "7"], [1, 0, 1], [0, 1, 0]),
        (["Paris", "paris", "PARIS"], [1, 0, 0], [0, 1, 1]),
        (["A", "(A)", "(A)"], [1, 0, 0], [0, 1, 1]),
        (["['a']", '["a"]', "['a']"], [0, 1, 0], [0, 1, 0]),
        (["7", "7", "8"], [1, 0, 0], [0, 0, 1]),  # one text scored both ways stays one answer
        (["7", "7", "7.0"], [1, 0, 1], [0, 0, 1]),
    ],
)
def test_answers_with_other_verdicts_are_never_joined(answers, correct, codes):
    frame = long({"a": answers}).assign(correct=correct)
    assert clusters(Generations.from_frame(frame)).tolist() == codes


@pytest.mark.parametrize(
    ("answers", "correct", "n_codes"),
    [
        (["return x", "Return X", "RETURN  x"], [1, 1, 1], 1),
        (["x = 'a'", "Abc", "abc"], [1, 0, 0], 3),  # the key is code: case counts everywhere
        (["abc", "ABC", "x = 'a'"], [1, 1, 0], 2),  # the key is a word
        (["x = 'a'", "Abc", "abc"], [0, 0, 0], 3),  # no key is known: as exact as any answer
        (["{'a': 1}", "{'a':1}", "{'A': 1}"], [0, 0, 0], 2),
    ],
)
def test_case_and_blanks_count_where_the_key_is_code(answers, correct, n_codes):
    frame = long({"a": answers}).assign(correct=correct)
    assert len(set(clusters(Generations.from_frame(frame)))) == n_codes


def test_what_is_joined_is_named():
    data = Generations.from_frame(long({"a": ["7", "$7$", "8"], "b": ["x", "y"], "c": ["", "z"]}))
    assert merged(data, clusters(data)) == ["read as one answer: '$7$', '7'", "", ""]
    notes = review_list(data, random_seed=1).table.set_index("prompt")["note"]
    assert "read as one answer: '$7$', '7'" in notes["a"]
    assert "1 generation without an answer" in notes["c"]
    assert notes["b"] == ""


def test_column_of_clusters_goes_before_spelling():
    frame = long({"a": ["seven", "7", "8"]}).assign(answer_cluster=["s", "s", "e"])
    assert clusters(Generations.from_frame(frame)).tolist() == [0, 0, 1]
    alone = Generations.from_frame(frame.drop(columns="answer"))
    assert clusters(alone).tolist() == [0, 0, 1]


def test_own_function_goes_first_and_sees_each_prompt_once():
    seen = []

    def by_length(answers):
        seen.append(list(answers))
        return [len(answer) for answer in answers]

    frame = long({"a": ["xx", "yy", "z", "xx"], "b": ["q", None]}).assign(answer_cluster="all")
    codes = clusters(Generations.from_frame(frame), by_length)
    assert codes.tolist() == [0, 0, 1, 0, 0, -1]
    assert seen == [["xx", "yy", "z"], ["q"]]


def test_own_function_must_label_every_answer():
    data = Generations.from_frame(long({"a": ["x", "y"]}))
    with pytest.raises(DataError, match="1 label for 2 answers of prompt 'a'"):
        clusters(data, lambda answers: answers[:1])


def test_without_answers():
    counts = pd.DataFrame({"prompt": ["a"], "n_correct": [1], "k": [2]})
    with pytest.raises(Refusal, match="'answer' column"):
        clusters(Generations.from_frame(counts))
    rows = Generations.from_frame(long({"a": ["x"]}).drop(columns="answer"))
    with pytest.raises(Refusal, match="'answer' column"):
        clusters(rows)


def test_order_of_rows_changes_nothing():
    frame = long({"a": list("xyxz"), "b": list("zzyx")})
    codes = clusters(Generations.from_frame(frame))
    shuffled = frame.sample(frac=1.0, random_state=3)
    assert np.array_equal(codes, clusters(Generations.from_frame(shuffled)))
