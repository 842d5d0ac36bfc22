import re
import tomllib

import pandas as pd
import pytest

import hero_bayes as hb
from hero_bayes.decision.rule import JointRule
from hero_bayes.pipeline.config import config_from_mapping, read_config
from hero_bayes.pipeline.running import read_checked
from hero_bayes.pipeline.template import TEMPLATE

WRONG = """
folder = "out"
[data]
history = {labels = "gone.csv", item = "history_items.csv"}
current = {labels = 3}
covariates = "n_turns"
negative = "no"
repeats = "sometimes"
columns = {item = 1}
[model]
name = "herox"
random_seed = -1
draws = 2.5
mode = "gibbs"
[adjust]
enabled = "yes"
ridge = -1
[[rule]]
metric = "mu"
[[rule]]
metric = "prevalence"
direction = "<="
threshold = 5
[sensitivity]
drift_sd = [0.1, "x"]
[output]
folder = 3
"""


def problems_of(text, base):
    with pytest.raises(hb.DataError) as caught:
        config_from_mapping(tomllib.loads(text), base)
    return str(caught.value).split("\n  - ")[1:]


def test_every_problem_is_named_at_once(tables):
    problems = problems_of(WRONG, tables)
    expected = [
        "unknown table or key 'folder'",
        r"\[data\] history: item: unknown key; known are labels, items, labelers",
        r"\[data\] history: labels: there is no file .*gone\.csv",
        r"\[data\] current: labels: must be a text, got 3",
        r"\[data\] columns: item: must be the name of a column",
        r"\[data\] negative: needs positive",
        r"\[data\] repeats: must be one of error, majority, first, keep, got 'sometimes'",
        r"\[model\] mode: must be one of nuts, laplace, map, exact",
        r"\[model\] random_seed: must be a whole number, 0 or more, got -1",
        r"\[model\] draws: must be a whole number, 1 or more, got 2\.5",
        r"\[model\] name: must be one of .*auto.*hero.*got 'herox'",
        r"\[adjust\] ridge: must be \"cv\" or a number",
        r"\[adjust\] enabled: must be true or false",
        r"\[\[rule\]\] number 1: metric must be one of prevalence, item_rate",
        r"\[\[rule\]\] number 2: the threshold must lie between 0 and 1, got 5",
        r"\[sensitivity\] drift_sd: must be a list of numbers",
        r"\[output\] folder: must be a text, got 3",
    ]
    for pattern in expected:
        assert any(re.match(pattern, said) for said in problems), (pattern, problems)
    assert len(problems) == len(expected)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("[[rule]]", "[other]\n[[rule]]"), "unknown table or key 'other'"),
        (('name = "score"', 'name = "auto"\nmode = "nuts"'), "has the mode 'exact' alone"),
        (('name = "score"', 'name = "hero"\nmode = "exact"'), "hero has nuts, laplace and map"),
        (('score = "votes"', "shape = 3"), "priors: shape: score takes form, score"),
        (('name = "score"', 'name = "hero"'), "priors: score: hero takes .*sensitivity_prior"),
        (("draws = 200", 'posterior = "joint"'), "cut posterior alone"),
        (("[[rule]]", "[adjust]\nenabled = false\n[[rule]]"), "prevalence_adjusted needs covari"),
        (("[[rule]]", '[adjust]\ncovariates = ["x"]\n[[rule]]'), "x must be in covariates"),
        (("probability = 0.95", "probability = 0.4"), "probability must be at least 0.5"),
        (("probability = 0.95", "chance = 0.95"), "a rule has no chance; its fields are"),
        (('covariates = ["n', 'labelers = "l.csv"\ncovariates = ["n'), "one table for both rounds"),
        (('"history_items.csv"', '"release.toml"'), "the ending must be one of .csv"),
    ],
)
def test_one_problem(configure, change, said):
    with pytest.raises(hb.DataError, match=said):
        configure(change)


def test_no_rule_no_data_no_file(tables, tmp_path):
    assert len(problems_of("", tables)) == 3
    with pytest.raises(hb.DataError, match="hero-bayes init writes one"):
        read_config(tmp_path / "none.toml")
    broken = tmp_path / "broken.toml"
    broken.write_text("[data")
    with pytest.raises(hb.DataError, match="is not TOML"):
        read_config(broken)
    broken.write_bytes(b"\xff\xfe")
    with pytest.raises(hb.DataError, match="cannot be read"):
        read_config(broken)


def test_template_is_valid_and_so_are_its_further_keys(tables):
    config = config_from_mapping(tomllib.loads(TEMPLATE), tables)
    assert str(config.rule) == "P(prevalence <= 0.05) >= 0.95"
    assert config.model.name == "auto"
    assert config.folder == tables / "out"
    assert not config.adjust.runs
    for line in re.findall(r"(?m)^# (\w+ = .*)$", TEMPLATE):
        tomllib.loads(line)
    # Every key that stands as a comment is known: only values and combinations may be wrong.
    everything = re.sub(r"(?m)^# (\w+ = )", r"\1", TEMPLATE)
    assert not any("unknown" in said for said in problems_of(everything, tables))


def test_rules_as_text_and_several_tables(configure, quick):
    start = quick.split("[[rule]]")[0]
    text = 'rule = ["P(prevalence <= 0.05) >= 0.9", "P(item_rate <= 0.1) >= 0.95"]\n' + start
    joint = configure(text=text).rule
    assert isinstance(joint, JointRule)
    assert joint.probability == 0.95
    tables_of = start + "[[rule]]\nthreshold = 0.1\nrope = [0.05, 0.2]\n[[rule]]\nthreshold = 0.2\n"
    assert [part.threshold for part in configure(text=tables_of).rule.parts] == [0.1, 0.2]
    with pytest.raises(hb.DataError, match="a rule stands twice"):
        configure(text=start + "[[rule]]\n[[rule]]\n")


def test_labels_are_read_as_asked(configure, rounds, tables):
    history, current = read_checked(configure())
    covariates = ["n_turns", "response_chars"]
    for got, source in ((history, rounds.history), (current, rounds.current)):
        frames = source.to_frames()
        assert got == hb.Labels.from_frames(frames.labels, frames.items, covariates=covariates)
    frames = rounds.current.to_frames()
    words = frames.labels.rename(columns={"item": "id"})
    words["label"] = words["label"].map({0: "fine", 1: "bad"})
    odd = pd.DataFrame({"id": words["id"][:1], "labeler": "extra", "label": "unsure"})
    pd.concat([words, odd]).to_csv(tables / "words.csv", index=False)
    changed = configure(
        (
            'current = {labels = "current_labels.csv", items = "current_items.csv"}',
            'current = "words.csv"\npositive = "bad"\nabstain = "unsure"\ncolumns = {item = "id"}',
        ),
        (
            'history = {labels = "history_labels.csv", items = "history_items.csv"}',
            'history = {labels = "words.csv"}',
        ),
        ('covariates = ["n_turns", "response_chars"]', ""),
        ('"prevalence_adjusted"', '"prevalence"'),
    )
    _, current = read_checked(changed)
    assert current.n_labels == rounds.current.n_labels
    assert (current.label == rounds.current.label).all()


def test_one_table_with_rounds(configure, rounds, tables):
    parts = []
    for name, labels in (("r1", rounds.history), ("r2", rounds.current)):
        frames = labels.to_frames()
        parts.append((frames.labels, frames.items.assign(round=name)))
    pd.concat([p[0] for p in parts]).to_csv(tables / "labels.csv", index=False)
    pd.concat([p[1] for p in parts]).to_csv(tables / "items.csv", index=False)
    text = """
    rule = "P(prevalence[r2] <= 0.05) >= 0.95"
    [data]
    labels = "labels.csv"
    items = "items.csv"
    history_rounds = ["r1"]
    current_rounds = {}
    """
    history, current = read_checked(configure(text=text.format('["r2"]')))
    assert (history.n_items, current.n_items) == (175, 175)
    assert current.groups("current") == ["r2"]
    assert history.n_gold == 40
    with pytest.raises(hb.DataError, match="r1 is in history_rounds too"):
        configure(text=text.format('["r1"]'))
    with pytest.raises(hb.DataError, match="unknown round ids: 'r3'"):
        read_checked(configure(text=text.format('["r3"]')))


def test_groups_of_rules_are_found_before_the_fit(configure):
    rule = ("probability = 0.95", 'probability = 0.95\ngroup = "B"')
    with pytest.raises(hb.DataError, match="does not match the current round"):
        read_checked(configure(rule))


def test_columns_that_no_table_has(configure):
    change = ("covariates =", 'columns = {gold = "expert"}\ncovariates =')
    with pytest.raises(hb.DataError, match=r"gold.*no table has a column 'expert'"):
        read_checked(configure(change))


def test_wrong_shapes_are_named():
    with pytest.raises(hb.DataError) as caught:
        config_from_mapping({"data": 5, "rule": 3})
    lines = str(caught.value).split("\n")
    assert "  - data: must be a table, got 5" in lines
    assert "  - rule: must be tables [[rule]] or rules as text, got 3" in lines


def test_a_name_without_its_ending(tmp_path):
    (tmp_path / "release.toml").write_text("", encoding="utf-8")
    with pytest.raises(hb.DataError, match=r"there is no file '.*release'; there is '.*\.toml'"):
        read_config(tmp_path / "release")
    with pytest.raises(hb.DataError, match="hero-bayes init writes one"):
        read_config(tmp_path / "other")


def test_rounds_of_a_config_are_read_alike(tmp_path):
    gold = "".join(f"{i},{1 + i % 2}\n" for i in range(8))
    tables = {
        "past.csv": ("item,labeler,label", "".join(f"{i},r,{1 + i % 2}\n" for i in range(8))),
        "now.csv": ("item,labeler,label", "".join(f"c{i},r,2\n" for i in range(8))),
        "past_items.csv": ("item,label", gold),
        "now_items.csv": ("item,label", "c0,1\n"),
    }
    for name, (head, rows) in tables.items():
        (tmp_path / name).write_text(f"{head}\n{rows}", encoding="utf-8")
    (tmp_path / "release.toml").write_text(
        '[data]\nhistory = {labels = "past.csv", items = "past_items.csv"}\n'
        'current = {labels = "now.csv", items = "now_items.csv"}\n'
        'positive = "2"\ncolumns = {gold = "label"}\n'
        '[[rule]]\nmetric = "prevalence"\ndirection = "<="\nthreshold = 0.5\nprobability = 0.9\n',
        encoding="utf-8",
    )
    history, current = read_checked(read_config(tmp_path / "release.toml"))
    assert history.gold.tolist() == [0, 1] * 4
    assert current.gold[0] == 0
    assert current.n_gold == 1
