import dataclasses
import json

import numpy as np
import pytest

import hero_bayes as hb
from hero_bayes.cli import demo as command
from hero_bayes.cli.demo_report import assumption, covariate_words, finding
from hero_bayes.data.shared_errors import Ranged


@pytest.fixture(scope="module")
def at_mode(rounds):
    """The posterior mode stands in for the draws."""
    return hb.fit(rounds.history, rounds.current, model="hero", mode="map", random_seed=1)


@pytest.fixture
def quick(monkeypatch, at_mode):
    monkeypatch.setattr(command, "full_posterior", lambda rounds, seed, model: at_mode)


def test_story_fits_the_terminal(cli, quick):
    done = cli("demo")
    assert done.code == 0, done.err
    lines = done.out.splitlines()
    assert lines[-1].startswith("FINDING: Majority vote says ")
    assert max(len(line) for line in lines[:-1]) <= 100
    assert "…" not in done.out
    assert "gate (map): FAILED" in done.out
    assert "never enough for a decision" in " ".join(done.out.split())
    for word in ("HERO-2", "posterior, adjusted", "R-hat", "WHAT IT RESTS ON", "CC BY"):
        assert word in done.out


def test_json_holds_the_numbers(cli, quick, rounds, at_mode):
    told = json.loads(cli("demo", "--json").out)
    assert told["truth"] == rounds.truth
    table = hb.compare_methods(
        rounds.history, rounds.current, covariates=list(command.COVARIATES), shrink="optimal"
    )
    numbers = [row["estimate"] for row in told["estimates"]]
    np.testing.assert_allclose(numbers, table["estimate"])
    for row in told["estimates"]:
        assert row["covers_truth"] == (row["lower"] <= rounds.truth <= row["upper"])
    rates = {(row["method"], row["estimand"]): row["estimate"] for row in told["posterior"]}
    mode = at_mode["posterior"]
    assert rates["posterior", "item_rate"] == pytest.approx(mode["item_rate"].item())
    assert rates["posterior", "prevalence"] == pytest.approx(mode["prevalence"].item())
    assert ("posterior_adjusted", "prevalence") in rates
    assert told["gate"]["passed"] is False
    assert "never enough" in told["gate"]["reasons"][0]


def test_posterior_file(cli, quick, tmp_path):
    path = tmp_path / "posterior.nc"
    assert cli("demo", "--posterior", path).code == 0
    assert hb.load(path).attrs["model"] == "hero"
    again = cli("demo", "--posterior", path)
    assert again.code == 64
    assert "--overwrite" in again.err
    assert not again.out
    assert cli("demo", "--posterior", path, "--overwrite", "--json").code == 0


def story(rounds, low, high, visible, vote=0.26, model="hero"):
    shared = hb.dependence(rounds.history)
    correlation = Ranged(0.2, 0.1 if visible else -0.1, 0.3)
    shared = dataclasses.replace(shared, overall=correlation)
    row = {"method": "posterior", "estimand": "item_rate", "lower": low, "upper": high}
    row["estimate"] = (low + high) / 2
    votes = [{"method": "majority_vote", "estimate": vote}]
    return command.Story(rounds, votes, [row], shared, model, "chosen so" * (model == "auto"))


@pytest.mark.parametrize(
    ("upper", "share", "words"),
    [
        (0.7, 2.2, "remove 2.2 % of the variance; the adjusted interval is narrower"),
        (0.9, 2.2, "remove 2.2 % of the variance; the adjusted interval is no narrower"),
        (0.9, -1.0, "add 1.0 % of the variance; the adjusted interval is no narrower"),
    ],
)
def test_widths_are_compared_as_they_are_shown(upper, share, words):
    plain = {"method": "posterior", "estimand": "prevalence", "lower": 0.4, "upper": 0.8}
    items = {**plain, "estimand": "item_rate", "upper": 2.0}
    removed = {"upper": upper, "variance_removed_percent": share}
    adjusted = {**plain, "method": "posterior_adjusted", **removed}
    assert words in covariate_words(adjusted, [items, plain, adjusted])


def test_words_follow_the_numbers(rounds):
    truth = rounds.truth
    hit, miss = (truth - 0.05, truth + 0.04), (truth + 0.02, truth + 0.1)
    assert "covers the truth this time" in assumption(story(rounds, *hit, True))
    assert "misses the truth" in assumption(story(rounds, *miss, True))
    assert "do not show that raters err together" in assumption(story(rounds, *hit, False))
    assert "something else" in assumption(story(rounds, *miss, False))
    assert "which covers the truth" in finding(story(rounds, *hit, True))
    assert "which misses the truth" in finding(story(rounds, *miss, True))
    assert "bring it to" in finding(story(rounds, *hit, True))
    assert "only move it to" in finding(story(rounds, *miss, True, vote=truth))
    assert "share errors" in finding(story(rounds, *hit, True))
    assert "share errors" not in finding(story(rounds, *hit, False))
    assert "share errors" not in finding(story(rounds, *hit, True, model="auto"))
    told = assumption(story(rounds, *hit, True, model="auto"))
    assert "chosen so" in told
    assert "and covers the truth" in told
    assert "independent:" not in told


def test_default_model_and_another(cli):
    told = json.loads(cli("demo", "--json").out)
    assert told["model"] == "auto"
    assert told["chosen"].startswith("P(labelers err independently | labels, gold)")
    assert told["gate"]["passed"] is True
    assert (
        told["dependence"]["sentence"] == hb.dependence(hb.datasets.demo_rounds().history).sentence
    )
    wrong = cli("demo", "--model", "heroine")
    assert wrong.code == 64
    assert "auto" in wrong.err
    assert not wrong.out


@pytest.mark.slow
def test_full_demo(cli, tmp_path):
    path = tmp_path / "posterior.nc"
    done = cli("demo", "--json", "--model", "hero", "--posterior", path, "--seed", "3")
    assert done.code == 0, done.err
    told = json.loads(done.out)
    assert "sampling: 100 %" in done.err
    assert all(row["r_hat"] < 1.01 for row in told["posterior"])
    assert hb.load(path)["posterior"].sizes["draw"] == 1000
