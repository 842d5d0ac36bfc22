"""The command ``hero-bayes simulate``."""

import json

import pandas as pd
import pytest

from hero_bayes.cli.main import main

STUDY = """
name = "a small study"
description = "Two settings."
repetitions = 3
methods = ["majority_vote", "hero1"]
[scenario]
n_history = 200
n_current = 80
gold_rate = 0.2
[grid]
heterogeneity = [3, 150]
"""


@pytest.fixture
def study(tmp_path):
    path = tmp_path / "study.toml"
    path.write_text(STUDY)
    return path


@pytest.fixture
def run(capsys):
    def call(*words):
        code = main(["simulate", *map(str, words)])
        said = capsys.readouterr()
        return code, said.out, said.err

    return call


def test_report(run, study, tmp_path):
    target = tmp_path / "table.csv"
    code, out, _ = run(study, "--output", target)
    assert code == 0
    lines = out.splitlines()
    assert lines[-1].startswith("FINDING: ")
    assert "HERO-1" in out
    assert "HETEROGENEITY 150" in out
    assert max(len(line) for line in lines[:-1]) <= 100
    assert len(pd.read_csv(target)) == 4


def test_json(run, study):
    code, out, _ = run(study, "--json")
    told = json.loads(out)
    assert code == 0
    assert told["study"] == "a small study"
    assert len(told["table"]) == 4
    assert told["settings"][0]["scenario"]["heterogeneity"] == 3
    assert told["finding"].endswith(".")


def test_existing_file_is_kept(run, study, tmp_path):
    target = tmp_path / "table.csv"
    target.write_text("precious")
    code, out, err = run(study, "--output", target)
    assert code == 64
    assert "--overwrite" in err
    assert not out
    assert target.read_text() == "precious"
    assert run(study, "--output", target, "--overwrite")[0] == 0
    assert "rmse" in target.read_text()


@pytest.mark.parametrize(
    "words", [["--output", "."], ["--output", "no/such/folder/t.csv"], ["--jobs", "0"], ["--odd"]]
)
def test_bad_usage_is_64(run, study, words):
    code, out, err = run(study, *words)
    assert code == 64
    assert err.startswith("hero-bayes: usage error: ")
    assert not out


def test_no_file_named_is_64(run):
    assert run()[0] == 64


def test_bad_study_is_65(run, tmp_path):
    code, _, err = run(tmp_path / "none.toml")
    assert code == 65
    path = tmp_path / "bad.toml"
    path.write_text("repetitions = 0\nmethods = ['guess']\n")
    code, out, err = run(path)
    assert code == 65
    assert "repetitions" in err
    assert "guess" in err
    assert not out
