"""Properties over random tables: row order, id types, round trips."""

import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hero_bayes.data.covariates import TextCovariates
from hero_bayes.data.labels import Labels
from hero_bayes.errors import DataError

WORD = st.text(st.characters(codec="utf-8"), min_size=1, max_size=4).filter(str.strip)
ARRAYS = ("items", "labelers", "item_ptr", "labeler_idx", "label", "gold", "group_idx")
COVARIATES = ["x", TextCovariates("text")]
EXAMPLES = settings(max_examples=40, deadline=None)


@st.composite
def tables(draw, ids=WORD):
    """Labels, items and labelers tables of matching ids; every item has a label."""
    items = draw(st.lists(ids, min_size=1, max_size=6, unique=True))
    labelers = draw(st.lists(ids, min_size=1, max_size=4, unique=True))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    rows = [(i, j) for i in items for j in labelers if j == labelers[0] or rng.random() < 0.6]
    verdicts = rng.choice([0, 1, None], size=len(rows), p=[0.4, 0.4, 0.2])
    verdicts[[j == labelers[0] for _, j in rows]] = 1
    labels = pd.DataFrame(rows, columns=["item", "labeler"])
    labels["label"] = pd.array(verdicts, dtype="Int8")
    facts = pd.DataFrame({"item": items})
    facts["gold"] = rng.choice([0, 1, np.nan], size=len(items))
    facts["round"] = draw(st.lists(ids, min_size=len(items), max_size=len(items)))
    facts["arm"] = rng.choice(["A", "B"], size=len(items))
    facts["x"] = rng.normal(size=len(items))
    facts["prompt"] = rng.choice(["p", "q"], size=len(items))
    facts["text"] = rng.choice(["good day", "bad day"], size=len(items))
    facts["gold_prob"] = rng.choice([0.5, np.nan], size=len(items))
    people = pd.DataFrame({"labeler": labelers, "family": rng.choice(["f", "g"], len(labelers))})
    return labels, facts, people


def build(labels, items, labelers):
    return Labels.from_frames(labels, items, labelers, covariates=COVARIATES)


@EXAMPLES
@given(tables(), st.integers(0, 2**32 - 1))
def test_row_order_never_matters(frames, seed):
    rng = np.random.default_rng(seed)
    expected = build(*frames)
    shuffled = build(*(frame.iloc[rng.permutation(len(frame))] for frame in frames))
    assert shuffled.fingerprint == expected.fingerprint
    for name in ARRAYS:
        np.testing.assert_array_equal(getattr(shuffled, name), getattr(expected, name))


@EXAMPLES
@given(tables(ids=st.integers(-(2**40), 2**40)), st.sampled_from([str, float, object]))
def test_the_type_of_ids_never_matters(frames, kind):
    expected = build(*frames)
    cast = [
        frame.astype({name: kind for name in ("item", "labeler", "round") if name in frame})
        for frame in frames
    ]
    for frame, table in zip(frames, cast, strict=True):
        assert (frame.dtypes != table.dtypes).any()
    assert build(*cast) == expected


@EXAMPLES
@given(tables())
def test_round_trip_through_frames(frames):
    labels = build(*frames)
    again = build(*labels.to_frames())
    assert again.fingerprint == labels.fingerprint
    assert again.family == labels.family


@EXAMPLES
@given(tables(), st.data())
def test_messages_name_the_rows(frames, data):
    labels, items, _ = frames
    row = data.draw(st.integers(0, len(labels) - 1))
    broken = labels.astype({"label": object}).reset_index(drop=True)
    broken.loc[row, "label"] = 7
    with pytest.raises(DataError, match=rf"7 \(1x\) in row {row} \(counted from 0\)"):
        Labels.from_frames(broken)
    repeated = pd.concat([labels.fillna({"label": 1}), labels.iloc[[row]].assign(label=0)])
    match = re.escape(f"in rows {row}, {len(labels)} (counted from 0)")
    with pytest.raises(DataError, match=match):
        Labels.from_frames(repeated)
    row = data.draw(st.integers(0, len(items) - 1))
    gap = items.assign(x=items["x"].where(np.arange(len(items)) != row))
    with pytest.raises(DataError, match=rf"and row {row} \(counted from 0\) of the items table"):
        Labels.from_frames(labels, gap, covariates=["x"])


@EXAMPLES
@given(tables())
def test_vote_share_is_the_mean_of_the_labels(frames):
    labels = build(*frames)
    table = labels.to_frames().labels.dropna()
    means = table.astype({"label": float}).groupby("item")["label"].mean()
    np.testing.assert_allclose(labels.vote_share, means.loc[list(labels.items)])
