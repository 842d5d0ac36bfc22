"""CSV and Parquet files give what the frames give."""

import numpy as np
import pandas as pd
import pytest

from hero_bayes.data.covariates import TextCovariates
from hero_bayes.data.generations import Generations
from hero_bayes.data.labels import Labels
from hero_bayes.errors import DataError

TABLE = pd.DataFrame({"item": [1, 1, 2, 3], "labeler": list("abab"), "label": [1, 0, 1, None]})
ITEMS = pd.DataFrame({"item": [1, 2, 3], "gold": [1, np.nan, 0], "x": [0.1, 2.0, -3.5]})
PEOPLE = pd.DataFrame({"labeler": ["a", "b"], "family": ["f", "g"]})


@pytest.fixture
def paths(tmp_path):
    for name, frame in (("labels", TABLE), ("items", ITEMS), ("labelers", PEOPLE)):
        frame.to_csv(tmp_path / f"{name}.csv", index=False)
        frame.to_parquet(tmp_path / f"{name}.parquet", index=False)
    return tmp_path


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_files_give_what_frames_give(paths, kind):
    options = {"covariates": ["x"], "unlabeled": "drop"}
    read = Labels.from_csv if kind == "csv" else Labels.from_parquet
    names = [paths / f"{name}.{kind}" for name in ("labels", "items", "labelers")]
    expected = Labels.from_frames(TABLE, ITEMS, PEOPLE, **options)
    assert read(*names, **options) == expected
    assert read(*map(str, names), **options) == expected
    assert expected.items_dropped == 1


def test_ids_called_na_stay_ids_and_empty_labels_are_missing(tmp_path):
    path = tmp_path / "labels.csv"
    path.write_text(
        "task,worker,label,gold,round,text\nNA,None,1,NaN,null,None\nNA,nan,,,null,None\n"
        "None,None,None,0,NA,NA\nNone,nan,0,0,NA,NA\n"
    )
    labels = Labels.from_csv(path, covariates=[TextCovariates("text")])
    assert labels.items.tolist() == ["NA", "None"]
    assert labels.labelers.tolist() == ["None", "nan"]
    assert labels.label.tolist() == [1, 0]
    assert labels.abstained_labeler.tolist() == ["nan", "None"]
    assert labels.group_round == ("NA", "null")
    assert labels.texts["text"].tolist() == ["None", "NA"]
    np.testing.assert_array_equal(labels.gold, [np.nan, 0])


def test_renamed_id_columns_keep_their_words(tmp_path):
    path = tmp_path / "labels.csv"
    path.write_text("chat,labeler,label\nNA,a,1\n01,a,0\n")
    labels = Labels.from_csv(path, columns={"item": "chat"})
    assert labels.items.tolist() == ["01", "NA"]


def test_byte_order_mark_is_no_part_of_the_name(tmp_path):
    path = tmp_path / "labels.csv"
    path.write_text("item,labeler,label\n1,a,1\n", encoding="utf-8-sig")
    assert Labels.from_csv(path).n_labels == 1


@pytest.mark.parametrize("read", [Labels.from_csv, Labels.from_parquet])
def test_missing_file_is_named(tmp_path, read):
    with pytest.raises(DataError, match=r"there is no file '.*absent\.data'"):
        read(tmp_path / "absent.data")


@pytest.mark.parametrize(
    ("content", "match"),
    [
        (b"", "not a readable CSV table"),
        (b"item,labeler,label\n1,a,1,9\n2,b,0\n", "not a readable CSV table"),
        (b"item,labeler,label\n1,a,1\n1,b,1,2,3\n", "not a readable CSV table"),
        (b"item,labeler,label\n1,\xff,1\n", "not UTF-8"),
        (b"item,labeler,label\n", "table is empty"),
    ],
)
def test_unreadable_csv(tmp_path, content, match):
    path = tmp_path / "labels.csv"
    path.write_bytes(content)
    with pytest.raises(DataError, match=match):
        Labels.from_csv(path)


def test_unreadable_parquet(tmp_path):
    path = tmp_path / "labels.parquet"
    path.write_bytes(b"item,labeler,label\n")
    with pytest.raises(DataError, match="not a readable Parquet table"):
        Labels.from_parquet(path)


def test_parquet_in_parts(tmp_path):
    folder = tmp_path / "parts"
    folder.mkdir()
    TABLE.iloc[:2].to_parquet(folder / "0.parquet", index=False)
    TABLE.iloc[2:3].to_parquet(folder / "1.parquet", index=False)
    assert Labels.from_parquet(folder) == Labels.from_frames(TABLE.iloc[:3])


ROWS = "a,x,1\nb,x,0\n"
GENERATIONS = "prompt,model,correct\np,m,1\nq,m,0\n"


@pytest.mark.parametrize(
    ("content", "match"),
    [
        (f"# version=1\nitem,labeler,label\n{ROWS}", r"line 1 .* is a comment above .* in line 2"),
        (f"# study, wave, 2\nitem,labeler,label\n{ROWS}", "line 1 .* is a comment above"),
        (f"# one\n# two\nconv,who,said\n{ROWS}", "line 1 .* is a comment above"),
        (f"My study,,\n\nitem,labeler,label\n{ROWS}", r"line 1 .* is a title above .* in line 3"),
        (f"sep=,\nitem,labeler,label\n{ROWS}", "line 1 .* is a title above"),
        (f",,\nitem,labeler,label\n{ROWS}", "line 1 .* is empty above"),
        (f"My study\nconv,who,said\n{ROWS}", "line 2 has 3 fields, line 1 .* has 1"),
        (ROWS, "line 1 .* looks like values"),
        ("a,x,yes\nb,x,no\n", "line 1 .* looks like values"),
        ("a,x,\nb,x,0\n", "line 1 .* looks like values"),
        ("\ufeffitem;labeler;label\na;x;1\n", "separated by semicolons"),
        ("item;labeler;label;p\na;x;1;0,5\n", "separated by semicolons"),
        ("item\tlabeler\tlabel\na\tx\t1\n", "separated by tabs"),
        ("item,labeler,label,label,,\na,x,1,0,,\n", r"twice: 'label' \(columns 3 and 4\)"),
        ("item,,labeler,label\na,7,x,1\nb,,x,0\n", "no name .*: column 2 holds '7'"),
        ("item,labeler,label,\na,x,1,late\n", "no name .*: column 4 holds 'late'"),
        (",labeler,label\na,x,1\nb,x,0\n", "no name .*: column 1 holds 'a', 'b'"),
        ("item,labeler,label\na,x,1\nb,x,0,9\n", "line 3 has 4 fields"),
    ],
)
def test_headers_are_named_for_what_they_are(tmp_path, content, match):
    path = tmp_path / "labels.csv"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(DataError, match=match) as raised:
        Labels.from_csv(path)
    assert "index_col" not in str(raised.value)


@pytest.mark.parametrize(
    ("content", "left_out"),
    [
        (f"item,labeler,label\n{ROWS}", (0, 0)),
        ("item,labeler,label,,\na,x,1,,\nb,x,0,,\n", (2, 0)),
        ("item,,labeler,label,\na,,x,1,\n,,,,\nb,,x,0,\n,,,,\n", (2, 2)),
        (",item,labeler,label\n0,a,x,1\n5,b,x,0\n", (0, 0)),
        ('"","item","labeler","label"\n"1","a","x",1\n"2","b","x",0\n', (0, 0)),
        ('\ufeff"item","labeler","label"\na,x,1\nb,x,0\n', (0, 0)),
        (f"\n\nitem,labeler,label\n{ROWS}", (0, 0)),
        ("#,item,labeler,label\n1,a,x,1\n2,b,x,0\n", (0, 0)),
        ("item,labeler,label,2023\na,x,1,7\nb,x,0,8\n", (0, 0)),
    ],
)
def test_empty_rows_and_nameless_columns_are_left_out_and_said(tmp_path, content, left_out):
    path = tmp_path / "labels.csv"
    path.write_text(content, encoding="utf-8")
    labels = Labels.from_csv(path)
    plain = pd.DataFrame({"item": ["a", "b"], "labeler": "x", "label": [1, 0]})
    assert labels == Labels.from_frames(plain)
    assert (labels.reading.empty_columns, labels.reading.empty_rows) == left_out
    assert ("left out" in str(labels.summary())) == any(left_out)


@pytest.mark.parametrize(
    ("content", "match"),
    [
        (f"# log\n{GENERATIONS}", "is a comment above"),
        (f"Run 3,,\n{GENERATIONS}", "is a title above"),
        ("p,m,1\nq,m,0\n", "looks like values"),
        (GENERATIONS.replace(",", ";"), "separated by semicolons"),
        (GENERATIONS.replace("model", ""), "no name .*: column 2 holds 'm'"),
    ],
)
def test_headers_of_generations(tmp_path, content, match):
    path = tmp_path / "log.csv"
    path.write_text(content)
    with pytest.raises(DataError, match=match):
        Generations.from_csv(path)
    path.write_text(GENERATIONS.replace("\n", ",\n") + ",,,\n")
    read = Generations.from_csv(path)
    assert read.k.tolist() == [1, 1]
    assert str(read.reading) == "1 empty row and 1 empty column left out"
