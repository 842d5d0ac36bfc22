import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import pandas as pd
import pytest

import hero_bayes as hb
from hero_bayes.cli import printing
from hero_bayes.cli.config import in_config
from hero_bayes.pipeline import running
from hero_bayes.pipeline.config import read_config
from hero_bayes.pipeline.files import sha256_of

COMMAND = [sys.executable, "-c", "from hero_bayes.cli.main import run; run()"]
CONFIG = """
rule = "P(prevalence {rule}) >= 0.9"
[data]
history = {{labels = "history.csv", items = "history_items.csv"}}
current = {{labels = "current.csv", items = "current_items.csv"}}
[model]
name = "score"
draws = 200
priors = {{score = "votes"}}
[sensitivity]
grid = [-0.5, 0.5]
draws = 50
[output]
folder = "{folder}"
"""
OUTCOMES = (("<= 0.99", "ship", 0), ("<= 0.05", "hold", 1), ("<= 0.6", "collect more", 1))


@pytest.fixture
def write_config(files, tmp_path):
    """A config beside the tables, its results in a folder of the test's own."""

    def make(rule="<= 0.05", folder="out", old="", new=""):
        text = CONFIG.format(rule=rule, folder=tmp_path / folder).replace(old or "\0", new)
        path = files.folder / f"{tmp_path.name}.toml"
        path.write_text(text, encoding="utf-8")
        return path

    return make


@pytest.fixture(scope="module")
def found(files):
    path = files.folder / "found.toml"
    path.write_text(CONFIG.format(rule="<= 0.05", folder="never"), encoding="utf-8")
    return running.run_config(read_config(path))


@pytest.fixture
def fitted(found, monkeypatch):
    """One fit stands in for all; rules are decided on it."""

    def quick(config, *, force, tell, progressbar):
        decision = hb.decide(found.fit, config.rule, force=force)
        return replace(found, config=config, decision=decision)

    monkeypatch.setattr(running, "run_config", quick)


def test_a_run_from_files_to_a_decision(cli, write_config, tmp_path):
    done = cli("run", write_config())
    assert done.code == 1, done.err
    assert done.out.splitlines()[0].endswith(": HOLD")
    last = done.out.splitlines()[-1]
    assert last.startswith("FINDING: hold. P(prevalence <= 5.00 %) is ")
    for part in ("DECISION", "DATA", "POSTERIOR", "WITHOUT SAMPLING", "FILES", "gate (exact)"):
        assert part in done.out
    assert "HAVE CHANGED SINCE HISTORY" in done.out
    assert "hero-bayes: fitting score" in done.err
    document = json.loads((tmp_path / "out" / "decision.json").read_text())
    assert document["outcome"] == "hold"
    for name, told in document["files"].items():
        assert sha256_of(tmp_path / "out" / name) == told
    assert hb.load(tmp_path / "out" / "posterior.nc").attrs["model"] == "score"


@pytest.mark.parametrize(("rule", "outcome", "code"), OUTCOMES)
def test_exit_codes_tell_the_outcome(cli, write_config, fitted, tmp_path, rule, outcome, code):
    done = cli("run", write_config(rule), "--json")
    assert done.code == code
    told = json.loads(done.out)
    assert told["outcome"] == outcome
    assert told == json.loads((tmp_path / "out" / "decision.json").read_text())


def test_compared_arms_are_shown(cli, write_config, found, monkeypatch):
    row = {"rate": 0.2, "probability_best": 0.75, "probability_better": 0.75, "note": ""}
    row |= {"difference": -0.1, "difference_lower": -0.3, "difference_upper": 0.05}
    arms = pd.DataFrame([row | {"arm": "A", "note": "the reference"}, row | {"arm": "B"}])
    monkeypatch.setattr(running, "run_config", lambda config, **how: replace(found, arms=arms))
    lines = [" ".join(line.split()) for line in cli("run", write_config()).out.splitlines()]
    assert "A 20.0 % the reference 0.750" in lines
    assert "B 20.0 % -10.0 -30.0 to +5.0 0.750 0.750" in lines


def test_a_failed_gate_is_2_unless_forced(cli, write_config, fitted, found, monkeypatch):
    monkeypatch.setitem(found.fit.attrs, "importance_draws", 12.0)
    done = cli("run", write_config("<= 0.99"))
    assert done.code == 2
    assert "FINDING: inconclusive. No decision: the gate failed." in done.out
    done = cli("run", write_config("<= 0.99", "forced"), "--force")
    assert done.code == 0
    assert "FINDING: ship (the gate failed and was overridden). P(prev" in done.out


def test_results_are_replaced_only_if_asked(cli, write_config, fitted, tmp_path):
    path = write_config()
    assert cli("run", path).code == 1
    before = (tmp_path / "out" / "decision.json").read_bytes()
    done = cli("run", write_config("<= 0.99"))
    assert done.code == 64
    assert "not empty; add --overwrite" in done.err
    assert (tmp_path / "out" / "decision.json").read_bytes() == before
    assert cli("run", write_config("<= 0.99"), "--overwrite").code == 0
    assert b'"ship"' in (tmp_path / "out" / "decision.json").read_bytes()


def test_problems_are_said_in_keys_of_the_config(cli, write_config, files):
    done = cli("run", write_config(old="[model]", new="[mod]"))
    assert done.code == 65
    assert "unknown table or key 'mod'" in done.err
    frame = pd.read_csv(files.current)
    frame["label"] = frame["label"].map({0: "fine", 1: "bad"})
    frame.to_csv(files.folder / "worded.csv", index=False)
    done = cli("run", write_config(old='"current.csv"', new='"worded.csv"'))
    assert done.code == 65
    assert 'positive = "yes"' in done.err
    assert "--positive" not in done.err
    assert cli("run", files.folder / "none.toml").code == 65
    assert cli("run").code == 64


def test_remedies_in_keys_of_the_config():
    for said, expected in (
        ('fit with model="auto"', 'fit with name = "auto" in [model]'),
        ("fit with mode='nuts'", "fit with mode = 'nuts'"),
        ('Labels.from_frames(..., covariates=["x"])', 'covariates = ["x"] in [data]'),
        ("columns={'item': 'id'}", 'columns = {item = "id"}'),
        ("as in Rule(..., group='r2/A')", "as in group = 'r2/A' in [[rule]]".replace("'", '"')),
        ("overridden (force=True)", "overridden (--force)"),
    ):
        assert in_config(said) == expected


def test_a_closed_pipe_keeps_the_exit_code(cli, write_config, fitted, monkeypatch):
    """A reader that stops early must not turn hold into ship."""

    def closed(content):
        raise BrokenPipeError

    monkeypatch.setattr(printing, "print_json", closed)
    assert cli("run", write_config(), "--json").code == 1


@pytest.mark.slow
def test_a_closed_pipe_of_the_console_script(write_config):
    with subprocess.Popen(
        [*COMMAND, "run", str(write_config())],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        said = process.stderr.read()
    assert process.returncode == 1, said
    assert "Broken" not in said


def test_sensitivity_of_a_stored_posterior(cli, write_config, fitted, found, tmp_path):
    path = write_config()
    cli("run", path)
    stored = tmp_path / "out" / "posterior.nc"
    table = tmp_path / "sweep.csv"
    done = cli("sensitivity", path, "--posterior", stored, "--output", table, "--json")
    assert done.code == 0, done.err
    told = json.loads(done.out)
    assert told["sentences"] == str(found.sweep.attrs["sentences"]).split("\n")
    assert [row["direction"] for row in told["tipping_points"]] == list(
        found.sweep["direction"].to_numpy()
    )
    assert len(told["table"]) == 9 + 3
    written = pd.read_csv(table)
    run_table = pd.read_csv(tmp_path / "out" / "sensitivity.csv")
    pd.testing.assert_frame_equal(written, run_table)
    assert cli("sensitivity", path, "--posterior", stored, "--output", table).code == 64
    report = cli("sensitivity", path, "--posterior", stored)
    assert report.code == 0
    assert report.out.splitlines()[-1] == f"FINDING: {told['finding']}"
    assert "EACH LABELER ON ITS OWN" in report.out
    missing = cli("sensitivity", path, "--posterior", tmp_path / "none.nc")
    assert missing.code == 65


def test_sensitivity_of_other_tables_is_bad_data(cli, write_config, fitted, files, tmp_path):
    cli("run", write_config())
    fewer = pd.read_csv(files.history)
    fewer[fewer["item"] != fewer["item"].iloc[0]].to_csv(files.folder / "fewer.csv", index=False)
    items = pd.read_csv(files.history_items)
    items[items["item"] != fewer["item"].iloc[0]].to_csv(
        files.folder / "fewer_items.csv", index=False
    )
    path = write_config(
        old='"history.csv", items = "history_items.csv"',
        new='"fewer.csv", items = "fewer_items.csv"',
    )
    done = cli("sensitivity", path, "--posterior", tmp_path / "out" / "posterior.nc")
    assert done.code == 65
    assert "not the one this fit was made from" in done.err


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [1.0, 4.0, 8.0])
def test_a_killed_command_leaves_the_old_result(cli, write_config, tmp_path, seconds):
    path = write_config()
    assert cli("run", path).code == 1
    before = {p.name: p.read_bytes() for p in (tmp_path / "out").iterdir()}
    with subprocess.Popen(
        [*COMMAND, "run", str(write_config("<= 0.99")), "--overwrite"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        time.sleep(seconds)
        os.kill(process.pid, signal.SIGKILL)
    after = tmp_path / "out" / "decision.json"
    if after.exists():
        document = json.loads(after.read_text())
        for name, told in document["files"].items():
            assert sha256_of(tmp_path / "out" / name) == told
        assert document["outcome"] in ("hold", "ship")
    assert set(p.name for p in (tmp_path / "out").iterdir()) <= set(before)


@pytest.mark.slow
def test_sampled_posteriors_are_the_same_bytes_twice(write_config, tmp_path):
    """In processes of their own, so that nothing but the seed is shared."""
    texts = []
    for folder in ("one", "two"):
        path = write_config(
            folder=folder,
            old='name = "score"\ndraws = 200\npriors = {score = "votes"}',
            new='name = "hero"\ndraws = 100\ntune = 100\nchains = 2',
        )
        done = subprocess.run([*COMMAND, "run", str(path)], capture_output=True, check=False)
        assert done.returncode in (1, 2), done.stderr
        text = (tmp_path / folder / "decision.json").read_text()
        document = json.loads(text)
        for changing in ("created_at", "config_sha256"):
            text = text.replace(document[changing], "")
        texts.append(text)
    assert texts[0] == texts[1]
