"""The same facts written in other ways give the same object."""

import copy
import dataclasses
import pickle

import numpy as np
import pandas as pd
import pytest

from hero_bayes.data.labels import Labels
from hero_bayes.data.tables import ALIASES
from hero_bayes.errors import DataError

ZERO_ONE = [1, 0, 1, 1, 0]
TABLE = pd.DataFrame({"item": [1, 1, 2, 10, 10], "labeler": list("abaab"), "label": ZERO_ONE})
YES_NO = ["yes", "no", "yes", "yes", "no"]
BASE = Labels.from_frames(TABLE)


def test_arrays_are_in_csr_order():
    assert BASE.items.tolist() == ["1", "2", "10"]
    assert BASE.labelers.tolist() == ["a", "b"]
    assert BASE.item_ptr.tolist() == [0, 2, 3, 5]
    assert BASE.labeler_idx.tolist() == [0, 1, 0, 0, 1]
    assert BASE.label.tolist() == ZERO_ONE
    assert np.isnan(BASE.gold).all()
    assert (BASE.group_round, BASE.group_arm) == ((None,), (None,))
    assert BASE.item_ptr.dtype == np.int64
    assert BASE.labeler_idx.dtype == np.int32
    assert BASE.label.dtype == np.int8
    assert BASE.group_idx.dtype == np.int32


def test_counts_and_shares():
    assert (BASE.n_items, BASE.n_labelers, BASE.n_labels) == (3, 2, 5)
    assert (BASE.n_gold, BASE.n_groups) == (0, 1)
    assert BASE.labels_per_item.tolist() == [2, 1, 2]
    assert BASE.labels_per_labeler.tolist() == [3, 2]
    assert BASE.vote_share.tolist() == [0.5, 1.0, 0.5]
    assert repr(BASE) == "Labels(3 items, 2 labelers, 5 labels, gold on 0, 1 group)"


@pytest.mark.parametrize(
    ("values", "options"),
    [
        (np.array(ZERO_ONE, dtype=bool), {}),
        (np.array(ZERO_ONE, dtype=float), {}),
        (np.array(ZERO_ONE, dtype=np.int8), {}),
        (["true", "FALSE", "True", " true ", "false"], {}),
        (["1", "0", "1", "1", "0"], {}),
        (["1.0", "0.0", "1.0", "1", "0"], {}),
        ([True, 0, "1", 1.0, "False"], {}),
        (pd.array(ZERO_ONE, dtype="Int8"), {}),
        (pd.array([bool(x) for x in ZERO_ONE], dtype="boolean"), {}),
        (pd.array(ZERO_ONE, dtype="int64[pyarrow]"), {}),
        (pd.array(["1", "0", "1", "1", "0"], dtype="string[pyarrow]"), {}),
        (pd.Categorical(["1", "0", "1", "1", "0"]), {}),
        (pd.Categorical(ZERO_ONE), {}),
        (YES_NO, {"positive": "yes"}),
        (["YES", " no", "Yes ", "yes", "No"], {"positive": "yes"}),
        (YES_NO, {"positive": "Yes", "negative": "NO"}),
        (pd.Categorical(YES_NO), {"positive": "yes"}),
        ([1 - x for x in ZERO_ONE], {"positive": 0}),
        ([2 * x for x in ZERO_ONE], {"positive": 2.0}),
    ],
)
def test_labels_mean_the_same_in_any_writing(values, options):
    assert Labels.from_frames(TABLE.assign(label=values), **options) == BASE


@pytest.mark.parametrize(
    "ids",
    [
        ["1", "1", "2", "10", "10"],
        [1.0, 1.0, 2.0, 10.0, 10.0],
        [1, "1", 2.0, np.int8(10), "10"],
        pd.array([1, 1, 2, 10, 10], dtype="Int16"),
        pd.Categorical([1, 1, 2, 10, 10]),
        pd.array(["1", "1", "2", "10", "10"], dtype="string[pyarrow]"),
    ],
)
def test_ids_compare_as_strings(ids):
    assert Labels.from_frames(TABLE.assign(item=ids)) == BASE


def test_boolean_ids_are_not_numbers():
    labels = Labels.from_frames(
        pd.DataFrame({"item": [True, 1, "True"], "labeler": list("abc"), "label": [1, 0, 1]})
    )
    assert labels.items.tolist() == ["1", "True"]
    assert labels.labels_per_item.tolist() == [1, 2]


def test_canonical_order_is_numeric_only_when_all_ids_are_integers():
    table = pd.DataFrame({"item": ["10", "9", "b"], "labeler": [10, 9, -1], "label": 1})
    labels = Labels.from_frames(table)
    assert labels.items.tolist() == ["10", "9", "b"]
    assert labels.labelers.tolist() == ["-1", "9", "10"]
    zeros = Labels.from_frames(table.assign(item=["2", "01", "1"]))
    assert zeros.items.tolist() == ["01", "1", "2"]
    long = Labels.from_frames(table.assign(item=["9" * 25, "8" * 26, "1"]))
    assert long.items.tolist() == ["1", "9" * 25, "8" * 26]


def test_days_are_the_same_id_with_and_without_a_time():
    days = pd.to_datetime(["2024-05-01", "2024-05-02", "2024-05-01"])
    table = pd.DataFrame({"item": [1, 2, 3], "labeler": "a", "label": 1})
    dated = Labels.from_frames(table.assign(round=days))
    assert dated == Labels.from_frames(table.assign(round=days.strftime("%Y-%m-%d")))
    assert dated.group_round == ("2024-05-01", "2024-05-02")


ALIAS_PAIRS = [(role, alias) for role, names in ALIASES.items() for alias in names]


@pytest.mark.parametrize(("role", "alias"), ALIAS_PAIRS)
def test_aliases(role, alias):
    assert Labels.from_frames(TABLE.rename(columns={role: alias})) == BASE


def test_canonical_name_wins_over_aliases():
    assert Labels.from_frames(TABLE.assign(task=7, worker="z", rating="?")) == BASE


def test_columns_names_the_columns_of_the_caller():
    renamed = TABLE.rename(columns={"item": "conversation_id", "label": "is_bad"})
    items = pd.DataFrame({"item": [1, 2, 10], "truth": [1, 0, np.nan]})
    columns = {"item": "conversation_id", "label": "is_bad", "gold": "truth"}
    labels = Labels.from_frames(renamed.assign(item="noise"), items, columns=columns)
    assert labels == BASE.with_gold([1, 0, None])


def test_tables_may_be_mappings_or_have_to_pandas():
    import pyarrow as pa

    assert Labels.from_frames(TABLE.to_dict("list")) == BASE
    assert Labels.from_frames(pa.Table.from_pandas(TABLE)) == BASE


@pytest.mark.parametrize("missing", [None, "", np.nan, pd.NA, " "])
def test_missing_labels_are_abstentions(missing):
    table = pd.concat(
        [TABLE.astype(object), pd.DataFrame({"item": [2], "labeler": ["b"], "label": [missing]})]
    )
    labels = Labels.from_frames(table)
    assert labels.n_labels == 5
    assert labels.abstained_item.tolist() == ["2"]
    assert labels.abstained_labeler.tolist() == ["b"]
    assert labels.gold_counts()["abstentions"].to_dict() == {"a": 0, "b": 1}


@pytest.mark.parametrize("abstain", [2, "2", 2.0, [2], {"2"}, (2.0, "unsure")])
@pytest.mark.parametrize("written", [2, "2", 2.0, "2.0"])
def test_abstain_values_compare_like_labels(abstain, written):
    table = TABLE.astype(object)
    table.loc[len(table)] = [2, "b", written]
    labels = Labels.from_frames(table, abstain=abstain)
    assert labels.n_labels == 5
    assert labels.abstained_item.tolist() == ["2"]


def test_abstentions_work_with_words():
    table = TABLE.assign(label=["yes", "no", "yes", "yes", "Unsure"])
    labels = Labels.from_frames(table, positive="yes", abstain=["unsure"])
    assert labels.label.tolist() == [1, 0, 1, 1]
    assert labels.abstained_item.tolist() == ["10"]


@pytest.mark.parametrize("gold", [["yes", "no", None], [1, 0, np.nan], ["1", "0", ""]])
def test_gold_may_use_the_words_of_the_labels_or_zero_and_one(gold):
    items = pd.DataFrame({"item": [1, 2, 10], "gold": gold})
    labels = Labels.from_frames(TABLE.assign(label=YES_NO), items, positive="yes")
    np.testing.assert_array_equal(labels.gold, [1, 0, np.nan])


def test_gold_of_one_class_in_plain_numbers_is_not_read_as_the_negative_word():
    items = pd.DataFrame({"item": [1, 2, 10], "gold": [1, 1, None]})
    labels = Labels.from_frames(TABLE.assign(label=YES_NO), items, positive="yes")
    np.testing.assert_array_equal(labels.gold, [1, 1, np.nan])


def test_repeats_by_majority():
    table = pd.DataFrame(
        {"item": 1, "labeler": list("aaabbc"), "label": [1, 1, 0, 1, 0, 1]},
    )
    labels = Labels.from_frames(table, repeats="majority")
    assert labels.labelers.tolist() == ["a", "c"]
    assert labels.label.tolist() == [1, 1]
    assert (labels.repeats_resolved, labels.ties_dropped) == (2, 1)


def test_repeats_first_and_keep():
    table = pd.DataFrame({"item": 1, "labeler": list("aab"), "label": [1, 0, 0]})
    first = Labels.from_frames(table, repeats="first")
    assert first.label.tolist() == [1, 0]
    assert first.repeats_resolved == 1
    assert Labels.from_frames(table[::-1], repeats="first").label.tolist() == [0, 0]
    keep = Labels.from_frames(table, repeats="keep")
    assert keep.label.tolist() == [0, 1, 0]
    assert keep.labeler_idx.tolist() == [0, 0, 1]


def test_item_columns_may_sit_in_either_table():
    facts = pd.DataFrame(
        {
            "item": [1, 2, 10],
            "gold": [1, 0, np.nan],
            "round": ["r1", "r2", "r2"],
            "arm": ["A", "A", "B"],
            "x": [0.5, 1.5, -2.0],
            "prompt": ["p", "q", "p"],
            "generation": [1, 1, 2],
            "prompt_group": ["g", None, "g"],
            "gold_prob": [0.5, 1.0, np.nan],
        }
    )
    apart = Labels.from_frames(TABLE, facts, covariates="x")
    assert Labels.from_frames(TABLE.merge(facts, on="item"), covariates=["x"]) == apart
    half = facts.columns[:5]
    other = facts[["item", *facts.columns[5:]]]
    assert Labels.from_frames(TABLE.merge(facts[half]), other, covariates=["x"]) == apart
    assert apart.groups("history") == ["r1/A", "r2/A", "r2/B"]
    assert apart.group_idx.tolist() == [0, 1, 2]
    assert apart.prompt.tolist() == ["p", "q", "p"]
    assert apart.texts["prompt"].tolist() == ["p", "q", "p"]
    assert apart.prompt_group.tolist() == ["g", None, "g"]
    assert apart.generation.tolist() == ["1", "1", "2"]
    np.testing.assert_array_equal(apart.gold_prob, [0.5, 1.0, np.nan])
    np.testing.assert_array_equal(apart.covariates["x"], [0.5, 1.5, -2.0])


def test_one_missing_and_one_present_is_present():
    table = TABLE.assign(gold=[np.nan, 1, np.nan, np.nan, np.nan])
    items = pd.DataFrame({"item": [1, 2], "gold": [np.nan, 0]})
    np.testing.assert_array_equal(Labels.from_frames(table, items).gold, [1, 0, np.nan])


def test_groups_are_in_canonical_order_and_named():
    by_round = Labels.from_frames(TABLE.assign(round=[10, 10, 9, 9, 9]))
    assert by_round.group_round == ("9", "10")
    assert by_round.groups("history") == ["9", "10"]
    assert by_round.group_idx.tolist() == [1, 0, 0]
    assert Labels.from_frames(TABLE.assign(arm="B")).groups("current") == ["B"]
    assert BASE.groups("current") == ["current"]


def test_families_and_versions():
    people = pd.DataFrame({"worker": ["b", "z"], "family": ["gpt", "x"], "version": [2, 3]})
    labels = Labels.from_frames(TABLE, labelers=people)
    assert labels.family == (None, "gpt")
    assert labels.version == (None, "2")
    assert labels.gold_counts()["family"].tolist() == [None, "gpt"]
    family = TABLE["labeler"].map({"b": "gpt"})
    assert Labels.from_frames(TABLE.assign(family=family)).family == (None, "gpt")


def test_arrays_are_read_only_also_after_copying():
    for labels in (BASE, pickle.loads(pickle.dumps(BASE)), copy.deepcopy(BASE)):
        assert labels == BASE
        assert hash(labels) == hash(BASE)
        with pytest.raises(ValueError, match="read-only"):
            labels.label[0] = 0
        with pytest.raises(AttributeError):
            labels.label = None


def test_fingerprint_sees_every_kind_of_content():
    facts = {"gold": 1, "x": 2.0, "prompt": "p", "round": 1, "gold_prob": 0.5}
    prints = {BASE.fingerprint, Labels.from_frames(TABLE.assign(label=1)).fingerprint}
    for name, value in facts.items():
        covariates = ["x"] if name == "x" else []
        table = TABLE.assign(**{name: value})
        prints.add(Labels.from_frames(table, covariates=covariates).fingerprint)
    table = TABLE.assign(family="f")
    prints.add(Labels.from_frames(table).fingerprint)
    table = TABLE.assign(label=[1, 0, 1, 1, None])
    prints.add(Labels.from_frames(table).fingerprint)
    assert len(prints) == len(facts) + 4
    assert BASE != "labels"


def test_fingerprint_sees_single_fields():
    base = Labels.from_frames(TABLE.assign(prompt="p", version=1, family="f", arm="A"))
    none = np.array([None] * 3, dtype=object)
    words = np.array(["u", "v", "w"], dtype=object)
    changes = [
        {"texts": {"prompt": words}},
        {"texts": {"other": base.prompt}},
        {"prompt": words},
        {"prompt": none},
        {"prompt": None},
        {"prompt_group": none},
        {"generation": words},
        {"version": ("1", "2")},
        {"family": ("f", None)},
        {"group_arm": ("B",)},
        {"group_round": ("A",), "group_arm": (None,)},
        {"abstained_item": words[:1], "abstained_labeler": words[:1]},
        {"abstained_item": words[1:2], "abstained_labeler": words[:1]},
        {"abstained_item": words[:1], "abstained_labeler": words[1:2]},
        {"covariates": {"x": np.zeros(3)}},
        {"covariates": {"x": np.ones(3)}},
        {"gold": np.array([0.0, 1.0, np.nan])},
        {"gold_prob": np.ones(3)},
    ]
    prints = {dataclasses.replace(base, **change).fingerprint for change in changes}
    assert len(prints | {base.fingerprint}) == len(changes) + 1
    same = {"gold": -base.gold, "ties_dropped": 1, "repeats_resolved": 2, "items_dropped": 3}
    assert dataclasses.replace(base, **same) == base


def test_gold_words_need_no_positive_only_when_plain():
    with pytest.raises(DataError, match="gold outside"):
        Labels.from_frames(TABLE.assign(gold="yes"))
