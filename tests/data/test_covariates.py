"""Covariate matrices of two rounds."""

import numpy as np
import pandas as pd
import pytest

from hero_bayes.data.covariates import TextCovariates, design
from hero_bayes.data.labels import Labels
from hero_bayes.errors import DataError, Refusal

TEXTS = ["red cat", "red dog", "cat naps", "dog naps red"]


def labels(covariates, **columns):
    n = len(next(iter(columns.values())))
    table = pd.DataFrame({"item": range(n), "labeler": "a", "label": 1, **columns})
    return Labels.from_frames(table, covariates=covariates)


HISTORY = labels(["x", "y"], x=[1.0, 2.0, 3.0, 4.0], y=[0.0, 1.0, 0.0, 1.0], prompt=TEXTS)
CURRENT = labels(["y", "x"], x=[5.0, 6.0], y=[1.0, 1.0], prompt=["red zebra", "quokka"])


def test_numeric_columns():
    found = design(HISTORY, CURRENT, ["y"])
    assert found.names == ("y",)
    assert found.history.tolist() == [[0.0], [1.0], [0.0], [1.0]]
    assert found.current.tolist() == [[1.0], [1.0]]
    assert design(HISTORY, CURRENT, "y").names == ("y",)


def test_none_takes_the_numeric_covariates_of_both():
    assert design(HISTORY, CURRENT).names == ("x", "y")
    only_y = labels(["y"], y=[0.0])
    assert design(HISTORY, only_y).names == ("y",)
    nothing = design(labels([], z=[0]), CURRENT)
    assert nothing.names == ()
    assert nothing.history.shape == (1, 0)
    assert nothing.current.shape == (2, 0)


def test_undeclared_names_say_which_table_and_how():
    with pytest.raises(
        DataError, match=r"'z' is not declared on the history labels.*covariates=\['z'\]"
    ):
        design(HISTORY, CURRENT, ["z"])
    with pytest.raises(DataError, match=r"'x' is not declared on the current labels"):
        design(HISTORY, labels(["y"], y=[0.0]), ["x"])
    with pytest.raises(DataError, match=r"'t' is not declared.*TextCovariates\('t'\)"):
        design(HISTORY, CURRENT, TextCovariates("t"))
    with pytest.raises(DataError, match="names a column twice"):
        design(HISTORY, CURRENT, ["x", "x"])


def test_text_features_are_learnt_from_history_alone():
    found = design(HISTORY, CURRENT, ["x", TextCovariates("prompt")])
    assert found.names == ("x", "prompt: cat", "prompt: dog", "prompt: naps", "prompt: red")
    assert found.history.shape == (4, 5)
    np.testing.assert_allclose(np.linalg.norm(found.history[:, 1:], axis=1), 1.0)
    np.testing.assert_allclose(found.current[:, 1:], [[0, 0, 0, 1], [0, 0, 0, 0]])


def test_repeated_words_count_less_than_proportionally():
    spec = TextCovariates("prompt", min_df=1)
    often = design(labels([], prompt=["cat " * 50 + "dog", "cat dog"]), CURRENT, spec).history
    assert often[0, 0] / often[0, 1] == pytest.approx(1 + np.log(50))


def test_text_options():
    few = design(HISTORY, CURRENT, TextCovariates("prompt", max_features=1))
    assert few.names == ("prompt: red",)
    pairs = design(HISTORY, CURRENT, TextCovariates("prompt", min_df=1, ngram_range=(2, 2)))
    assert "prompt: red cat" in pairs.names


def test_no_word_is_frequent_enough():
    with pytest.raises(Refusal, match=r"no word of the 4 history texts in 'prompt'.*lower min_df"):
        design(HISTORY, CURRENT, TextCovariates("prompt", min_df=4))


def test_prompts_missing_for_some_items():
    partly = labels([], prompt=["red", None])
    with pytest.raises(
        DataError, match=r"'prompt' is missing for current items, the first: \['1'\]"
    ):
        design(HISTORY, partly, TextCovariates("prompt"))
