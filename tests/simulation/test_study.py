"""Studies: reading the file, running it, and what is said of it."""

import dataclasses

import numpy as np
import pandas as pd
import pytest

from hero_bayes.errors import DataError
from hero_bayes.simulation import running
from hero_bayes.simulation.finding import best_methods, finding
from hero_bayes.simulation.running import run_study
from hero_bayes.simulation.study import read_study, study_from_mapping

SMALL = {"n_history": 200, "n_current": 80, "gold_rate": 0.2, "covariate_strength": 2.0}


def small_study(**more):
    content = {"repetitions": 4, "random_seed": 3, "scenario": SMALL}
    return study_from_mapping(content | more)


@pytest.fixture(scope="module")
def result():
    return run_study(small_study(grid={"heterogeneity": [3, 150]}))


def test_grid_and_settings_are_crossed():
    study = study_from_mapping(
        {
            "grid": {"gold_rate": [0.1, 0.2]},
            "setting": [
                {"name": "weak", "sensitivity": 0.4},
                {"sensitivity": 0.6, "heterogeneity": 3},
            ],
        }
    )
    assert [setting.name for setting in study.settings] == [
        "weak, gold_rate 0.1",
        "weak, gold_rate 0.2",
        "sensitivity 0.6, heterogeneity 3, gold_rate 0.1",
        "sensitivity 0.6, heterogeneity 3, gold_rate 0.2",
    ]
    assert study.settings[3].scenario.heterogeneity == 3
    assert study.varied == ("gold_rate", "sensitivity", "heterogeneity")


def test_empty_file_is_one_setting(tmp_path):
    path = tmp_path / "plain.toml"
    path.write_text("")
    study = read_study(path)
    assert study.name == "plain"
    assert [setting.name for setting in study.settings] == ["the only setting"]
    assert study.repetitions == 200


def test_every_problem_is_named(tmp_path):
    path = tmp_path / "bad.toml"
    path.write_text(
        """
        repetitons = 20
        random_seed = -1
        methods = ["majority", "fit:nonsense:guess", "hero1", "hero1"]
        [grid]
        heterogeneity = [3, -1]
        gold_rate = 0.1
        [scenario]
        covariate_strength = "2"
        colour = "red"
        [hero2]
        ridge = -1
        shrink = "much"
        [fit]
        posterior = "all"
        draws = 0
        """
    )
    with pytest.raises(DataError, match=r"bad\.toml") as failure:
        read_study(path)
    said = str(failure.value)
    for word in (
        "'repetitons'",
        "random_seed",
        "'majority'",
        "'nonsense'",
        "'guess'",
        "twice",
        "-1 (at heterogeneity -1)",
        "gold_rate must be a list",
        "covariate_strength must be a number",
        "'colour'",
        "ridge",
        "shrink",
        "posterior",
        "draws",
    ):
        assert word in said, word


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"methods": []}, "list of names"),
        ({"methods": [["hero1"]]}, "unknown method"),
        ({"name": 3}, "name must be a text"),
        ({"repetitions": 1}, "2 or more"),
        ({"scenario": 3}, "must be a table"),
        ({"grid": {"gold_rate": []}}, "list of values"),
        ({"grid": {"gold_rate": [[0.1]]}}, "must be a number"),
        ({"grid": {"gold_rate": [0.1]}, "setting": [{"gold_rate": 0.2}]}, "both in"),
        ({"setting": [3]}, "list of tables"),
        ({"setting": [{"name": 3}]}, "name must be a text"),
        ({"setting": [{"name": "a"}, {"name": "a", "gold_rate": 0.3}]}, "same name"),
        ({"hero2": {"covariates": "x"}}, "list of names"),
        ({"hero2": {"covariates": ["noise0"]}}, "no covariate 'noise0'"),
        ({"hero2": {"text": True}}, "prompts = true"),
        ({"hero2": {"text": "yes"}}, "true or false"),
        ({"hero2": 3}, "must be a table"),
        ({"fit": {"gold_rate": "x"}}, "must be a number"),
        ({"fit": {"gold_rate": 0.3}, "methods": ["fit:hero:map"]}, "none of the settings"),
    ],
)
def test_bad_content(content, message):
    with pytest.raises(DataError, match=message):
        study_from_mapping(content)


@pytest.mark.parametrize("content", [b"a = ", b"\xff\xfe"])
def test_unreadable_files(tmp_path, content):
    path = tmp_path / "bad.toml"
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"bad\.toml"):
        read_study(path)


def test_missing_file(tmp_path):
    with pytest.raises(DataError, match="no file"):
        read_study(tmp_path / "none.toml")


def test_table_of_a_small_study(result):
    table = result.table
    assert len(table) == 10
    assert (table["repetitions"] == 4).all()
    assert table["heterogeneity"].tolist() == [3] * 5 + [150] * 5
    np.testing.assert_allclose(table["rmse"] ** 2, table["bias"] ** 2 + table["sd"] ** 2)
    assert (table.groupby("setting")["behind_best"].min() == 0).all()
    votes = table[table["method"] == "majority_vote"]
    assert (votes["rmse_ratio"] == 1).all()
    assert (votes["bias"] < -0.05).all()


def test_common_random_numbers(result):
    estimates = result.estimates
    per_round = estimates.groupby(["setting", "repetition"])["item_rate"].nunique()
    assert (per_round == 1).all()
    by_setting = estimates.groupby(["repetition", "setting"])["item_rate"].first().unstack()
    assert by_setting.notna().all(axis=None)


@pytest.mark.slow
def test_workers_do_not_change_the_result(result):
    again = run_study(result.study, jobs=2)
    pd.testing.assert_frame_equal(again.estimates, result.estimates)
    pd.testing.assert_frame_equal(again.table, result.table)


def test_refusals_are_counted():
    found = run_study(small_study(methods=["majority_vote", "hero1"], grid={"gold_rate": [0.0]}))
    row = found.table.set_index("method").loc["hero1"]
    assert row["refused"] == 4
    assert row["repetitions"] == 0
    assert np.isnan(row["rmse"])
    assert "majority vote has the smallest RMSE" in finding(found.table)


def test_text_covariates():
    study = small_study(
        methods=["hero1", "hero2"],
        scenario=SMALL | {"prompts": True},
        hero2={"text": True, "max_features": 20},
    )
    assert study.hero2.arguments()["covariates"][0].max_features == 20
    assert (run_study(study).table["repetitions"] == 4).all()


@pytest.mark.slow
def test_fits_by_name():
    study = small_study(
        methods=["hero1", "fit:hero:map"],
        grid={"gold_rate": [0.1, 0.2]},
        fit={"gold_rate": 0.2, "repetitions": 2},
    )
    found = run_study(study)
    fits = found.estimates[found.estimates["method"] == "fit:hero:map"]
    assert fits["repetition"].tolist() == [0, 1]
    assert set(fits["setting"]) == {"gold_rate 0.2"}
    same = found.estimates[
        (found.estimates["method"] == "hero1") & (found.estimates["setting"] == "gold_rate 0.2")
    ]
    np.testing.assert_allclose(fits["estimate"], same["estimate"][:2], atol=1e-5)
    assert len(found.table) == 3
    assert found.table["coverage_95"].isna().sum() == 1


def test_plain_progress(capsys, monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: False)
    run_study(small_study(methods=["majority_vote"], name="tiny"), progressbar=True)
    told = capsys.readouterr().err.splitlines()
    assert told == ["tiny: 4 repetitions", "tiny: 100 %"]


def made_up(rows):
    """A table with settings, methods, bias, RMSE and distance to the best."""
    return pd.DataFrame(rows, columns=["setting", "method", "bias", "rmse", "behind_best"])


def test_finding_names_where_the_majority_wins():
    table = made_up(
        [
            ("good votes", "majority_vote", 0.001, 0.02, 0.0),
            ("good votes", "hero1", 0.0, 0.03, 5.0),
            ("poor votes", "majority_vote", -0.15, 0.15, 9.0),
            ("poor votes", "hero1", 0.0, 0.04, 0.5),
            ("poor votes", "hero2", 0.0, 0.03, 0.0),
        ]
    )
    assert best_methods(table) == {
        "good votes": ("majority_vote",),
        "poor votes": ("hero2", "hero1"),
    }
    said = finding(table)
    assert 'Majority vote wins at "good votes", where its bias is only +0.001' in said
    assert 'HERO-2 has the smallest RMSE at "poor votes" (0.030), HERO-1 within' in said


def test_finding_when_the_majority_never_wins():
    table = made_up([("a", "majority_vote", -0.1, 0.1, 9.0), ("a", "hero1", 0.0, 0.04, 0.0)])
    assert finding(table).endswith("which costs more than the spread of the others.")
    table = made_up([("a", "hero1", 0.0, 0.04, 0.0)])
    assert finding(table).endswith("Majority vote was not among the methods.")
    assert finding(made_up([("a", "hero1", np.nan, np.nan, np.nan)])).startswith("No method")


def test_study_is_plain_data(result):
    assert dataclasses.is_dataclass(result.study)
    assert running.BATCH > 0


def test_models_without_a_sampler_take_part():
    content = {
        "repetitions": 2,
        "random_seed": 1,
        "methods": ["hero1", "score", "fit:auto"],
        "scenario": {"n_history": 120, "n_current": 60, "n_labelers": 5},
        "fit": {"draws": 100, "chains": 2},
    }
    study = study_from_mapping(content)
    table = run_study(study, jobs=1, progressbar=False).table
    assert set(table["method"]) == {"hero1", "score", "fit:auto"}
    assert np.isfinite(table["rmse"]).all()
    with pytest.raises(DataError, match=r"unknown mode 'nuts'; one of exact"):
        study_from_mapping(content | {"methods": ["fit:auto:nuts"]})
