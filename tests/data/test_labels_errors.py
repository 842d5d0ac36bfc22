"""Malformed tables are refused with the rows and the fix in the message."""

import numpy as np
import pandas as pd
import pytest

from hero_bayes.data.covariates import TextCovariates
from hero_bayes.data.labels import Labels
from hero_bayes.errors import DataError, Refusal

TABLE = pd.DataFrame({"item": [1, 1, 2], "labeler": list("aba"), "label": [1, 0, 1]})
ITEMS = pd.DataFrame({"item": [1, 2], "gold": [1, 0], "x": [0.5, 1.0]})


def refused(match, labels=TABLE, items=None, labelers=None, **options):
    with pytest.raises(DataError, match=match):
        Labels.from_frames(labels, items, labelers, **options)


def test_errors_are_value_errors():
    assert issubclass(DataError, ValueError)
    assert issubclass(Refusal, ValueError)
    assert not issubclass(Refusal, DataError)


def test_missing_column_lists_found_and_accepted_names():
    refused(
        r"labels table has no column for the labeler: found columns 'item', 'who', 'label'; "
        r"accepted names are 'labeler', 'worker', .*columns=\{'labeler': \.\.\.\}",
        TABLE.rename(columns={"labeler": "who"}),
    )
    refused(r"items table has no column for the item", items=pd.DataFrame({"gold": [1]}))
    refused(r"labelers table has no column for the labeler", labelers=pd.DataFrame({"family": [1]}))


def test_two_aliases_and_no_canonical_name():
    both = TABLE.rename(columns={"item": "task"}).assign(item_id=1)
    refused(r"several columns that could be the item: 'task', 'item_id'.*columns=", both)


def test_two_columns_of_one_name():
    refused(r"several columns named 'label'", pd.concat([TABLE, TABLE[["label"]]], axis=1))


@pytest.mark.parametrize("name", ["labels", "items", "labelers"])
def test_empty_tables(name):
    tables = {"labels": TABLE, name: TABLE.iloc[:0]}
    refused(rf"the {name} table is empty", **tables)


def test_not_a_table():
    refused(r"must be a pandas DataFrame, not list", [1, 2])


def test_renames_of_unknown_roles_and_columns():
    refused(r"columns= knows the names 'item', .*not 'conversation'", columns={"conversation": "x"})
    refused(r"no table has a column 'x'; found 'item'", columns={"item": "x"})


@pytest.mark.parametrize("role", ["item", "labeler"])
@pytest.mark.parametrize("missing", [None, np.nan, "", pd.NA])
def test_missing_ids_name_the_rows(role, missing):
    table = TABLE.astype(object)
    table.loc[1, role] = missing
    refused(rf"missing {role} id in the labels table: row 1 \(counted from 0\)", table)


def test_missing_ids_in_the_other_tables():
    refused(r"missing item id in the items table: row 1", items=ITEMS.assign(item=[1, None]))
    people = pd.DataFrame({"labeler": ["a", None], "family": "f"})
    refused(r"missing labeler id in the labelers table: row 1", labelers=people)


def test_labelers_table_of_other_labelers():
    people = pd.DataFrame({"labeler": ["z"], "family": "f"})
    refused(r"no labeler of the labelers table has a row.*'z'", labelers=people)


def test_label_outside_names_values_counts_rows_and_remedy():
    table = TABLE.assign(label=[1, 3, 3])
    refused(
        r"label outside \{0, 1\} in the labels table: 3 \(2x\) in rows 1, 2 \(counted from 0\); "
        r".*positive=.*abstain=",
        table,
    )
    refused(r"'yes' \(2x\), 'no' \(1x\) in rows 0, 1, 2", TABLE.assign(label=["yes", "no", "yes"]))
    refused(r"nan.*inf", TABLE.assign(label=["nan", np.inf, 1]))
    many = pd.DataFrame({"item": range(9), "labeler": "a", "label": range(2, 11)})
    refused(r"and 1 more value in rows 0, 1, 2, 3, 4 and 4 more", many)


def test_several_problems_are_told_at_once():
    refused(r"missing item id(.|\n)*label outside", TABLE.assign(item=[None, 1, 2], label=5))


def test_more_than_one_negative_word():
    table = TABLE.assign(label=["yes", "no", "never"])
    refused(
        r"label is neither 'yes' nor one single other value.*'no' \(1x\), 'never' \(1x\) in rows "
        r"1, 2 .*negative=",
        table,
        positive="yes",
    )
    refused(r"'never' \(1x\) in row 2", table, positive="yes", negative="no")


def test_positive_negative_and_abstain_must_differ():
    refused(r"negative= needs positive=", negative="no")
    refused(r"the same value, 'Yes'", positive="Yes", negative="yes")
    refused(r"abstain= is also named by positive=", positive=1, abstain=[True])


def test_gold_outside():
    refused(
        r"gold outside \{0, 1\} in the items table: 2 \(1x\) in row 1",
        TABLE,
        ITEMS.assign(gold=[1, 2]),
    )
    refused(r"gold outside .*labels table: 'maybe' \(3x\)", TABLE.assign(gold="maybe"))
    words = TABLE.assign(label=["yes", "no", "yes"])
    refused(r"gold is neither 'yes'", words, ITEMS.assign(gold=["yes", "never"]), positive="yes")


def test_gold_contradicting_itself_names_both_places():
    refused(
        r"gold contradicts itself for items: '1' has 0 in row 1 \(counted from 0\) of the labels "
        r"table, 1 in row 0 \(counted from 0\) of the labels table",
        TABLE.assign(gold=[1, 0, 1]),
    )
    refused(
        r"'2' has 1 in row 2 .* of the labels table, 0 in row 1 .* of the items table",
        TABLE.assign(gold=[1, 1, 1]),
        ITEMS,
    )
    refused(r"gold contradicts itself", items=pd.DataFrame({"item": [1, 1, 2], "gold": [1, 0, 1]}))


def test_gold_of_dropped_items_must_not_contradict_itself():
    items = pd.DataFrame({"item": [1, 2, 3, 3], "gold": [1, 0, 1, 0]})
    refused(r"gold contradicts itself for items: '3'", items=items, unlabeled="drop")


@pytest.mark.parametrize("role", ["round", "arm"])
def test_rounds_and_arms_contradicting_themselves(role):
    refused(
        rf"{role} contradicts itself for items: '1' has 'u' in row 0.*'v' in row 1.*"
        rf"make item ids unique per round and arm, and use `prompt`",
        TABLE.assign(**{role: ["u", "v", "u"]}),
    )


def test_other_columns_contradicting_themselves():
    refused(r"x contradicts itself.*0.5 in.*1 in", TABLE.assign(x=[0.5, 1, 1]), covariates="x")
    refused(r"prompt contradicts itself", TABLE.assign(prompt=["p", "q", "p"]))
    people = pd.DataFrame({"labeler": ["a", "a"], "family": ["f", "g"]})
    refused(r"family contradicts itself for labelers: 'a'", labelers=people)


def test_many_contradictions_are_cut_short():
    table = pd.DataFrame({"item": np.repeat(range(9), 2), "labeler": [1, 2] * 9, "label": 1})
    refused(r"'2' has .*; 6 more; leave one value", table.assign(gold=[0, 1] * 9))


def test_missing_round_of_some_items():
    items = ITEMS.assign(round=["r", None])
    refused(r"missing round for items '2': give every item its round", items=items)
    refused(r"missing arm for items '2'", items=ITEMS.iloc[:1].assign(arm="A"))


def test_repeats_name_pairs_and_rows():
    table = pd.concat([TABLE, TABLE.iloc[[2, 0]]], ignore_index=True)
    refused(
        r"duplicated \(item, labeler\) in the labels table: '1 / a', '2 / a' in rows 0, 2, 3, 4 "
        r"\(counted from 0\).*repeats=\"majority\"",
        table,
    )
    refused(r"repeats='mean': choose one of 'error'", repeats="mean")


def test_abstentions_are_not_repeats():
    table = pd.concat([TABLE, TABLE.iloc[[0]].assign(label=None)], ignore_index=True)
    assert Labels.from_frames(table).n_labels == 3


def test_items_without_a_label():
    items = pd.DataFrame({"item": [1, 2, 3, 4], "gold": 1})
    table = pd.concat([TABLE, pd.DataFrame({"item": [4], "labeler": ["b"], "label": [None]})])
    refused(
        r"1 item without a row in the labels table: '3'; 1 item with only abstentions or ties, no "
        r"label: '4'; pass unlabeled=\"drop\"",
        table,
        items,
    )
    dropped = Labels.from_frames(table, items, unlabeled="drop")
    assert dropped.items.tolist() == ["1", "2"]
    assert dropped.items_dropped == 2
    assert len(dropped.abstained_item) == 0
    assert dropped == Labels.from_frames(TABLE, items.iloc[:2])
    refused(r"no item has a label", TABLE.assign(label=None), unlabeled="drop")
    refused(r"unlabeled='keep': choose one of 'error', 'drop'", unlabeled="keep")


def test_items_missing_in_the_items_table_have_no_gold():
    labels = Labels.from_frames(TABLE, ITEMS.iloc[:1])
    np.testing.assert_array_equal(labels.gold, [1, np.nan])
    refused(
        r"covariate 'x' is missing for items '2', in row 2 .* of the labels table; give every item",
        items=ITEMS.iloc[:1],
        covariates=["x"],
    )


def test_covariates_must_exist_and_be_finite_numbers():
    refused(r"no table has the covariate column 'z'; found 'item'", covariates=["z"])
    refused(
        r"covariate 'x' is not a finite number in the items table: 'long' for items 2 in row 1",
        items=ITEMS.assign(x=[1, "long"]),
        covariates=["x"],
    )
    refused(r"inf for items 1 in row 0", items=ITEMS.assign(x=[np.inf, 1]), covariates=["x"])
    refused(
        r"covariate 'x' is missing for items '1', in rows 0, 1 .* of the labels table and row 0",
        items=ITEMS.assign(x=[None, 1.0]),
        covariates=["x"],
    )
    times = ITEMS.assign(x=pd.to_datetime(["2024-01-01", "2024-01-02"]))
    refused(r"covariate 'x' is not a finite number", items=times, covariates=["x"])


@pytest.mark.parametrize("x", [[True, False], ["1", "0"], pd.Categorical([1, 0])])
def test_covariates_in_other_writings(x):
    labels = Labels.from_frames(TABLE, ITEMS.assign(x=x), covariates="x")
    assert labels.covariates["x"].tolist() == [1.0, 0.0]


def test_covariates_argument():
    refused(r"'gold' cannot be a covariate", items=ITEMS, covariates=["gold"])
    refused(r"names a column twice", items=ITEMS, covariates=["x", "x"])
    refused(r"holds column names and TextCovariates, not 3", items=ITEMS, covariates=[3])


def test_text_covariates_must_be_complete():
    text = TextCovariates("text")
    refused(r"no table has the covariate column 'text'", items=ITEMS, covariates=[text])
    items = ITEMS.assign(text=["a b", None])
    refused(r"covariate 'text' is missing for items '2'", items=items, covariates=[text])
    refused(r"covariate 'text' is missing", items=ITEMS.assign(text=None), covariates=text)
    labels = Labels.from_frames(TABLE, ITEMS.assign(text=["a b", "b"]), covariates=text)
    assert labels.texts["text"].tolist() == ["a b", "b"]
    assert not labels.covariates


@pytest.mark.parametrize("bad", [0, 1.2, -0.1, "often"])
def test_gold_prob_outside(bad):
    items = ITEMS.assign(gold_prob=[0.5, bad])
    refused(r"gold_prob outside \(0, 1\] in the items table: .* for items 2 in row 1", items=items)


WIDE = ITEMS.assign(label=[0, 1], arm=["A", "B"], q=["u", "v"])
PEOPLE = pd.DataFrame({"labeler": ["a", "b"], "version": [1, 2]})


@pytest.mark.parametrize(
    ("tables", "options", "match"),
    [
        ({}, {"gold": "label"}, r"column 'label' of the labels table is the label already"),
        ({}, {"gold": "labeler"}, r"column 'labeler' of the labels table is the labeler already"),
        ({}, {"arm": "label"}, r"column 'label' .* is the label already, one column serves one"),
        ({"items": WIDE}, {"gold": "item"}, r"column 'item' of the items table is the item"),
        ({"items": WIDE}, {"gold": "arm"}, r"'arm' of the items table .* as gold and as arm"),
        ({"items": WIDE}, {"round": "arm"}, r"'arm' of the items table .* as round and as arm"),
        (
            {"items": WIDE},
            {"prompt": "q", "prompt_group": "q"},
            r"'q' .* prompt and as prompt_group",
        ),
        ({}, {"item": "label"}, r"'label' of the labels table .* as item and as label"),
        ({"labels": TABLE.assign(gold=1)}, {"label": "gold"}, r"'gold' .* as label and as gold"),
        (
            {"labelers": PEOPLE},
            {"family": "labeler"},
            r"'labeler' of the labelers table is the lab",
        ),
        (
            {"labelers": PEOPLE},
            {"family": "version"},
            r"'version' of the labelers .* as family and",
        ),
    ],
)
def test_one_column_serves_one_role(tables, options, match):
    refused(match, **{"labels": TABLE, **tables}, columns=options)


@pytest.mark.parametrize(
    ("covariates", "columns", "match"),
    [
        ("x", {"gold": "x"}, r"'x' of the items table would serve as gold and as covariate 'x'"),
        ("x", {"arm": "x"}, r"'x' .* as arm and as covariate 'x'"),
        (TextCovariates("q"), {"round": "q"}, r"'q' .* as round and as covariate 'q'"),
        (
            "rating",
            {"label": "rating"},
            r"'rating' of the labels .* label and as covariate 'rating'",
        ),
        ("arm", {}, r"'arm' cannot be a covariate, it has a role of its own"),
        (TextCovariates("gold"), {}, r"'gold' cannot be a covariate"),
        (
            TextCovariates("prompt"),
            {"prompt": "q"},
            r"prompt .* is column 'q', and its text column",
        ),
    ],
)
def test_a_covariate_has_no_other_role(covariates, columns, match):
    items = WIDE.assign(prompt="a text")
    labels = TABLE.assign(rating=TABLE["label"])
    refused(match, labels, items, covariates=covariates, columns=columns)


def test_the_text_of_a_prompt_may_be_its_id():
    for columns, name in (({}, "prompt"), ({"prompt": "q"}, "q")):
        items = WIDE.rename(columns={"q": name})
        labels = Labels.from_frames(TABLE, items, covariates=TextCovariates(name), columns=columns)
        assert labels.texts[name].tolist() == labels.prompt.tolist() == ["u", "v"]


def test_a_name_that_both_tables_have_is_looked_for_among_the_items():
    labels = TABLE.assign(model="judge", label=[1, 1, 1])
    items = WIDE.drop(columns="gold").assign(model=["m", "n"])
    for columns in ({"gold": "label"}, {"gold": "label", "round": "model"}):
        read = Labels.from_frames(labels, items, columns=columns)
        assert read.gold.tolist() == [0, 1]
        assert read.label.tolist() == [1, 1, 1]
    assert read.group_round == ("m", "n")


def test_gold_by_another_name_reaches_the_labels_only_without_items():
    labels = TABLE.assign(truth=[1, 1, 0])
    columns = {"gold": "truth"}
    assert Labels.from_frames(labels, columns=columns).gold.tolist() == [1, 0]
    refused(
        r"the gold is looked for in the items table .* has no column 'truth'",
        labels,
        ITEMS[["item", "x"]],
        columns=columns,
    )
    read = Labels.from_frames(labels.assign(a=["u", "u", "v"]), ITEMS, columns={"arm": "a"})
    assert read.group_arm == ("u", "v")


CELLS = {
    "list": [1, 0],
    "tuple": (1, 0),
    "set": {1},
    "dict": {"v": 1},
    "array": np.array([1, 0]),
    "array of no dimension": np.array(1),
    "series": pd.Series([1, 0]),
}
FULL = TABLE.assign(
    gold=[1, 1, 0], x=0.5, arm="A", round=1, prompt="p", prompt_group="g", generation=1,
    gold_prob=0.5, family="f", version=1, text="t",
)  # fmt: skip


@pytest.mark.parametrize("kind", CELLS)
@pytest.mark.parametrize("column", FULL.columns)
def test_cells_hold_one_value(column, kind):
    table = FULL.astype(object)
    table.at[1, column] = CELLS[kind]
    remedy = r"keep one entry .*\.str\['v'\]" if kind == "dict" else r"table\.explode"
    refused(
        rf"column '{column}' of the labels table holds .* in row 1 \(counted .*{remedy}",
        table,
        covariates=["x", TextCovariates("text")],
    )


@pytest.mark.parametrize("name", ["items", "labelers"])
def test_cells_of_the_other_tables_hold_one_value(name):
    listed = pd.DataFrame({"item": [1, 2], "labeler": ["a", "b"], "gold": [[1], [1, 0]]})
    listed["family"] = listed["gold"]
    refused(rf"of the {name} table holds \[1\] in rows 0, 1", **{name: listed})


def test_nested_columns_of_arrow_and_categories():
    import pyarrow as pa

    for cells in ([[1], [0]], [{"v": 1}, {"v": 0}]):
        table = pa.table({"item": ["a", "b"], "labeler": ["u", "v"], "label": cells})
        refused(r"column 'label' .* in rows 0, 1", table)
        refused(r"column 'label' .* in rows 0, 1", table.to_pandas(types_mapper=pd.ArrowDtype))
    refused(r"in rows 0, 2", TABLE.assign(label=pd.Categorical([(1,), None, (2,)])))


def test_columns_that_are_not_read_may_hold_anything():
    assert Labels.from_frames(TABLE.assign(tokens=[[1, 2]] * 3)) == Labels.from_frames(TABLE)


def test_new_gold_holds_one_value_a_cell():
    with pytest.raises(DataError, match=r"new gold holds \[0, 1\] in row 1"):
        Labels.from_frames(TABLE).with_gold(pd.Series([1, [0, 1]], index=["1", "2"]))


def test_ragged_columns_are_no_table():
    refused(r"the labels table is no table", {"item": [1, 2], "labeler": ["a"], "label": [1, 0]})


@pytest.mark.parametrize(
    "call",
    [
        lambda: Labels(TABLE),
        lambda: Labels(TABLE, ITEMS, positive=1),
        lambda: Labels(labels=TABLE, items=ITEMS),
        lambda: Labels("labels.csv"),
        lambda: Labels(TABLE.to_dict("list")),
        lambda: Labels(),
    ],
)
def test_the_constructor_names_from_frames(call):
    with pytest.raises(TypeError, match=r"make it from tables with hb\.Labels\.from_frames\("):
        call()


def test_ids_that_differ_by_blanks_at_the_ends_are_one():
    table = pd.DataFrame(
        {"item": ["a", "a ", " b\t"], "labeler": ["u", "v\n", " u"], "label": [1, 0, 1]}
    )
    items = pd.DataFrame({"item": [" a", "b "], "gold": [1, 0], "arm": ["A ", " A"]})
    people = pd.DataFrame({"labeler": ["u ", " v"], "family": ["f", "f "]})
    labels = Labels.from_frames(table, items, people)
    clean = [frame.map(lambda v: v.strip() if isinstance(v, str) else v) for frame in
             (table, items, people)]  # fmt: skip
    assert labels == Labels.from_frames(*clean)
    assert labels.select(items=[" b "]).items.tolist() == ["b"]
    assert labels.with_gold(pd.Series([0], index=["a "])).gold[0] == 0
    refused(r"duplicated \(item, labeler\)", table.assign(labeler=["u", "u ", "v"]))
