"""Counts, words, datasets and frames."""

import numpy as np
import pandas as pd

from hero_bayes.data.covariates import TextCovariates
from hero_bayes.data.labels import Labels

TABLE = pd.DataFrame(
    {
        "item": [1, 1, 2, 2, 3, 3],
        "labeler": ["a", "b", "a", "b", "a", "c"],
        "label": [1, 0, 1, None, 0, 1],
    }
)
ITEMS = pd.DataFrame(
    {
        "item": [1, 2, 3],
        "gold": [1, 0, np.nan],
        "round": ["r1", "r1", "r2"],
        "x": [1.0, 2.0, 3.0],
        "note": ["n one", "n two", "n three"],
        "generation": [1, None, 2],
    }
)
PEOPLE = pd.DataFrame({"labeler": ["a", "b"], "family": ["f", "g"]})
COVARIATES = ["x", TextCovariates("note")]
LABELS = Labels.from_frames(TABLE, ITEMS, PEOPLE, covariates=COVARIATES)


def test_gold_counts():
    counts = LABELS.gold_counts()
    assert counts.index.name == "labeler"
    assert counts.index.tolist() == ["a", "b", "c"]
    assert counts["n_labels"].tolist() == [3, 1, 1]
    assert counts["n_gold_positive"].tolist() == [1, 1, 0]
    assert counts["n_gold_negative"].tolist() == [1, 0, 0]
    assert counts["abstentions"].tolist() == [0, 1, 0]
    assert counts["family"].tolist() == ["f", "g", None]


def test_summary_fields():
    history = LABELS.select(labelers=["a"])
    summary = LABELS.summary(history)
    assert (summary.items, summary.labelers, summary.labels) == (3, 3, 5)
    assert summary.labels_per_item == (1, 2.0, 2)
    assert (summary.gold_positive, summary.gold_negative) == (1, 1)
    assert summary.abstentions == 1
    assert summary.without_gold_positive == ("c",)
    assert summary.without_gold_negative == ("b", "c")
    assert summary.groups == {"r1": (2, 2), "r2": (1, 0)}
    assert summary.unseen == ("b", "c")
    assert summary.unseen_labels == 2
    assert LABELS.summary().unseen is None


def test_summary_reads_like_a_paragraph():
    assert str(LABELS.summary(LABELS.select(labelers=["a"]))).splitlines() == [
        "3 items, 3 labelers, 5 labels",
        "labels per item: min 1, median 2, max 2",
        "gold: 2 items (1 of class 1, 1 of class 0)",
        "abstentions: 1",
        "labelers without gold of class 1: 1 (c)",
        "labelers without gold of class 0: 2 (b, c)",
        "groups: r1: 2 items, 2 gold; r2: 1 item, 0 gold",
        "labelers unseen in history: 2 ('b', 'c'), with 40.0% of the labels",
    ]


def test_summary_tells_what_reading_left_out():
    table = pd.concat([TABLE, TABLE.iloc[[1]].assign(label=1), TABLE.iloc[[0]]])
    items = pd.concat([ITEMS, ITEMS.iloc[[0]].assign(item=9)])
    labels = Labels.from_frames(table, items, unlabeled="drop", repeats="majority")
    said = str(labels.summary())
    assert "1 item without a label left out, 2 repeated verdicts resolved, 1 tie dropped" in said
    assert "labelers without gold" not in str(labels.without_gold().summary())


def test_dataset_has_named_dims():
    dataset = LABELS.to_dataset()
    assert dict(dataset.sizes) == {"verdict": 5, "item": 3, "labeler": 3, "group": 2}
    for name in ("item_idx", "labeler_idx", "label"):
        assert dataset[name].dims == ("verdict",)
    for name in ("gold", "group_idx", "x", "note", "generation"):
        assert dataset[name].dims == ("item",)
    assert dataset["item_idx"].values.tolist() == [0, 0, 1, 2, 2]
    assert dataset["generation"].values.tolist() == ["1", "", "2"]
    assert dataset.coords["round"].values.tolist() == ["r1", "r2"]
    assert dataset.coords["group"].values.tolist() == ["r1", "r2"]
    assert dataset.coords["arm"].values.tolist() == ["", ""]
    assert dataset.coords["family"].values.tolist() == ["f", "g", ""]
    assert dataset.sel(item="2")["gold"].item() == 0
    assert dataset.attrs["fingerprint"] == LABELS.fingerprint


def test_dataset_can_be_written(tmp_path):
    import xarray as xr

    LABELS.to_dataset().to_netcdf(tmp_path / "labels.nc", engine="h5netcdf")
    with xr.open_dataset(tmp_path / "labels.nc", engine="h5netcdf") as read:
        assert read["label"].values.tolist() == LABELS.label.tolist()


def test_frames_go_round():
    frames = LABELS.to_frames()
    assert len(frames.labels) == 6
    assert frames.labels["label"].isna().sum() == 1
    assert frames.items.columns.tolist() == ["item", "gold", "round", "generation", "x", "note"]
    assert frames.labelers.columns.tolist() == ["labeler", "family"]
    assert Labels.from_frames(*frames, covariates=COVARIATES) == LABELS
    frames.items.loc[0, "x"] = 9.0  # a copy: the table itself does not move
    assert LABELS.covariates["x"][0] == 1.0


def test_frames_go_round_with_repeats():
    twice = Labels.from_frames(pd.concat([TABLE, TABLE]), ITEMS, repeats="keep")
    assert Labels.from_frames(*twice.to_frames(), repeats="keep") == twice
