import json

import pandas as pd
import pytest

import hero_bayes as hb
from hero_bayes.cli.config import in_config
from hero_bayes.pipeline.config import read_config
from hero_bayes.pipeline.tables import read_rounds
from hero_bayes.planning.plan import plan

CONFIG = """
rule = "{rule}"
[data]
history = {{labels = "history.csv", items = "history_items.csv"}}
current = {{labels = "current.csv", items = "current_items.csv"}}
[model]
name = "{model}"
random_seed = 7
"""
QUICK = ("--simulations", 3, "--n-items", "30,60")


@pytest.fixture
def config(files, tmp_path):
    def make(rule="P(prevalence <= 0.5) >= 0.9", model="hero"):
        path = files.folder / f"{tmp_path.name}.toml"
        path.write_text(CONFIG.format(rule=rule, model=model), encoding="utf-8")
        return path

    return make


def test_json_equals_the_python_numbers(cli, config, tmp_path):
    path, written = config(), tmp_path / "plan.csv"
    done = cli(
        "plan", path, *QUICK, "--labels-per-item", "2", "--gold", "0,5", "--cost", "label=0.5",
        "--cost", "gold=3", "--target-width", 0.9, "--output", written, "--json",
    )  # fmt: skip
    assert done.code == 0, done.err
    told = json.loads(done.out)
    history, current = read_rounds(read_config(path).data)
    found = plan(
        *(history, "P(prevalence <= 0.5) >= 0.9", current),
        n_items=(30, 60),
        labels_per_item=2,
        gold=(0, 5),
        costs={"label": 0.5, "gold": 3},
        target_width=0.9,
        model="hero",
        n_simulations=3,
        random_seed=7,
    )
    assert told["schema_version"] == 1
    assert told["table"] == found.table.to_dict("records")
    assert told["cheapest"] == found.cheapest
    assert told["finding"] == found.sentences[1]
    assert pd.read_csv(written)["width"].tolist() == pytest.approx(found.table["width"].tolist())


def test_report(cli, config):
    done = cli("plan", config(), *QUICK, "--target-width", 0.9)
    assert done.code == 0, done.err
    assert "2 designs, 3 simulated rounds each" in done.out
    assert "The smallest design that reaches a width of 0.9 has 30 items" in done.out
    assert "labels each" in done.out
    assert "simulating the next round" in done.err


def test_other_models_and_adjusted_rules_are_said(cli, config):
    path = config(model="pooled")
    done = cli("plan", path, "--simulations", 2, "--n-items", 20, "--json")
    assert done.code == 0, done.err
    assert "planning with auto" in done.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--n-items", "many"), "--n-items many"),
        (("--cost", "label"), "label=0.5"),
        (("--cost", "prompt=1"), "--cost has item, label, gold"),
        (("--model", "pooled"), "--model must be one of"),
        (("--rule", "P(prevalence <= 5"), "cannot be read"),
        (("--rule", "P(prevalence <= 0.5 and item_rate <= 0.5) >= 0.9"), "one rule"),
        (("--simulations", 1), "--simulations is"),
        (("--output", "no/such/plan.csv"), "there is no folder"),
    ],
)
def test_usage(cli, config, words, message):
    done = cli("plan", config(), "--simulations", 2, "--n-items", 20, *words)
    assert done.code == 64
    assert message in done.err


def test_what_history_cannot_show_is_refused(cli, config):
    most = max(hb.datasets.demo_rounds().history.labels_per_item)
    done = cli("plan", config(), *QUICK, "--labels-per-item", most + 1)
    assert done.code == 65
    assert "0 history items have so many labels" in done.err


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("--n-items", "0"), 64, "--n-items is a whole number of at least 1"),
        (("--gold", "100000"), 64, "--gold=100000: only"),
        (("--simulations", "1"), 64, "--simulations is a whole number of at least 2"),
        (("--jobs", "0"), 64, "--jobs is a whole number of at least 1"),
        (("--cost", "item=nan"), 64, "--cost['item'] is a number"),
        (("--labels-per-item", "99"), 65, "--labels-per-item=99: 0 history items"),
    ],
)
def test_messages_name_options(cli, config, words, code, said):
    done = cli("plan", config(), "--simulations", 2, *words)
    assert done.code == code
    assert said in done.err


def test_keys_without_a_value_have_no_sign():
    said = in_config("name the value that means 0 with negative=, and others with abstain=[...]")
    assert said == "name the value that means 0 with negative, and others with abstain = [...]"
