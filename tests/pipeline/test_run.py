import json
from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pandas as pd
import pytest

import hero_bayes as hb
from hero_bayes.decision.compare_arms import compare_arms
from hero_bayes.pipeline.arms import compare_rule_arms
from hero_bayes.pipeline.document import decision_document
from hero_bayes.pipeline.files import sha256_of, write_run
from hero_bayes.pipeline.running import followed, run_config
from hero_bayes.pipeline.sweep_table import sweep_table

COVARIATES = ["n_turns", "response_chars"]


def test_a_run_is_the_package_called_step_by_step(result, configure, rounds):
    tables = []
    for labels in (rounds.history, rounds.current):
        frames = labels.to_frames()
        tables.append(hb.Labels.from_frames(frames.labels, frames.items, covariates=COVARIATES))
    fitted = hb.fit(*tables, model="score", random_seed=4, draws=200, priors={"score": "votes"})
    adjusted = hb.adjust(fitted, *tables, COVARIATES)
    decision = hb.decide(adjusted, "P(prevalence_adjusted <= 0.05) >= 0.95")
    assert result.decision == decision
    for name in ("prevalence", "prevalence_adjusted"):
        np.testing.assert_array_equal(result.fit["posterior"][name], adjusted["posterior"][name])
    asked = hb.compare_methods(*tables, COVARIATES, shrink="optimal", random_seed=4)
    got = result.methods.set_index("method")["estimate"]
    np.testing.assert_array_equal(got.loc[asked["method"]], asked["estimate"])
    assert "score" in got.index
    assert result.findings.codes == hb.check(*tables, shrink="optimal").codes
    sweep = hb.transport_sensitivity(
        adjusted,
        *tables,
        rule="P(prevalence <= 0.05) >= 0.95",
        grid=[-0.5, 0.5],
        draws=50,
        random_seed=4,
    )
    np.testing.assert_array_equal(result.sweep["mean"], sweep["mean"])


def test_documents_tell_what_was_found(result):
    document = decision_document(result, {"posterior.nc": "abc"}, datetime(2026, 1, 2, tzinfo=UTC))
    json.dumps(document, allow_nan=False)
    decided = result.decision.to_dict()
    for name in ("outcome", "probability", "rules", "reasons", "expected_loss", "forced"):
        assert document[name] == decided[name]
    assert document["schema"] == "hero_bayes.run"
    assert document["schema_version"] == 1
    assert document["created_at"] == "2026-01-02T00:00:00+00:00"
    assert document["files"] == {"posterior.nc": "abc"}
    assert document["data"]["history"]["fingerprint"] == result.history.fingerprint
    assert document["data"]["history"]["gold_positive"] == int((result.history.gold == 1).sum())
    rates = {row["estimand"]: row for row in document["estimates"]}
    draws = result.fit["posterior"]["prevalence_adjusted"].to_numpy()
    assert rates["prevalence_adjusted"]["mean"] == pytest.approx(draws.mean(), rel=1e-12)
    assert document["gate"]["checks"][0]["check"] == "importance draws"
    part = document["sensitivity"]
    assert len(part["tipping_points"]) == 4
    assert "follows the rate without covariates" in part["asked_instead"]
    assert document["settings"]["priors"] == {"score": "votes"}
    assert set(document["versions"]) >= {"hero_bayes", "python", "numpy", "pymc"}


def test_sweep_as_a_table(result):
    table = sweep_table(result.sweep)
    common = table[table["kind"] == "all labelers alike"]
    assert len(common) == 9
    assert len(table) == 9 + 3
    at = common.set_index(["shift_sensitivity", "shift_specificity"]).loc[(0.5, -0.5)]
    own = result.sweep.sel(shift_sensitivity=0.5, shift_specificity=-0.5)
    assert at["mean"] == float(own["mean"])
    assert at["probability"] == float(own["probability"])
    assert at["upper"] == float(own["quantiles"][2])
    last = table.iloc[-1]
    assert last["drift_sd"] == 0.5
    assert last["mean"] == float(result.sweep["drift_mean"][2])


def test_twice_the_same_run_is_twice_the_same_bytes(result, configure, tables, tmp_path):
    write_run(result, tmp_path / "one")
    write_run(run_config(configure()), tmp_path / "two")
    texts = []
    for folder in (tmp_path / "one", tmp_path / "two"):
        text = (folder / "decision.json").read_text()
        stamp = json.loads(text)["created_at"]
        assert text.count(stamp) == 1
        texts.append(text.replace(stamp, ""))
    assert texts[0] == texts[1]
    other = run_config(configure(("random_seed = 4", "random_seed = 5")))
    files = write_run(other, tmp_path / "three")["files"]
    assert files["posterior.nc"] != json.loads(texts[0])["files"]["posterior.nc"]


def test_the_decision_can_be_repeated_from_the_files(result, tmp_path):
    document = write_run(result, tmp_path / "out")
    again = hb.decide(hb.load(tmp_path / "out" / "posterior.nc"), document["rule"])
    assert again.probability == document["probability"]
    assert again.outcome == document["outcome"]
    for name, told in document["files"].items():
        assert sha256_of(tmp_path / "out" / name) == told
    estimates = pd.read_csv(tmp_path / "out" / "estimates.csv")
    assert estimates["mean"].tolist() == [row["mean"] for row in document["estimates"]]


def test_arms_are_compared_by_prompt(configure, rounds, tables, tmp_path):
    """Two arms answer the same prompts, in one of two current rounds."""
    frames = rounds.current.to_frames()
    order = np.arange(len(frames.items))
    items = frames.items.assign(
        arm=np.where(order % 2, "A", "B"),
        prompt=order // 2,
        round=np.where(order < 120, "r2", "r3"),
    )
    items.to_csv(tables / "arms_items.csv", index=False)
    config = configure(
        ("current_items.csv", "arms_items.csv"),
        ('"prevalence_adjusted"', '"prevalence"\narm = "r2/B"\nreference = "r2/A"'),
        ("threshold = 0.05", "threshold = 0.0"),
        ("[sensitivity]", "[adjust]\nenabled = false\n[sensitivity]\nenabled = false"),
    )
    found = run_config(config)
    fitted = hb.fit(found.history, found.current, **config.model.arguments())
    by_hand = compare_arms(fitted, reference="A", round="r2", current=found.current)
    assert by_hand.pairing == "prompts"
    assert found.decision.probability == hb.decide(by_hand.fit, str(config.rule)).probability
    assert set(by_hand.notes) <= set(found.decision.notes)
    table = found.arms.set_index("arm")
    assert table.loc["B", "difference"] == by_hand.table().set_index("arm").loc["B", "difference"]
    document = write_run(found, tmp_path / "out")
    assert "arms.csv" in document["files"]
    again = hb.decide(hb.load(tmp_path / "out" / "posterior.nc"), document["rule"])
    assert again.probability == document["probability"]
    across = hb.Rule(arm="r3/B", reference="r2/B", threshold=0.0)
    assert compare_rule_arms(fitted, found.current, across).fit is fitted


def test_the_mode_decides_nothing(configure, tmp_path):
    config = configure(
        ('name = "score"', 'name = "hero"\nmode = "map"'),
        ('priors = {score = "votes"}', ""),
        ('"prevalence_adjusted"', '"prevalence"'),
        ('["n_turns", "response_chars"]', "[]"),
    )
    found = run_config(config, force=True)
    assert found.decision.outcome == "inconclusive"
    assert "hero2" not in set(found.methods["method"])
    assert found.sweep is None
    document = write_run(found, tmp_path / "out")
    assert "needs draws" in document["sensitivity"]["missing"]
    assert document["probability"] is None
    for row in document["estimates"]:
        assert row["lower"] is None
        assert "the mode alone" in row["note"]
    assert not (tmp_path / "out" / "sensitivity.csv").exists()


def test_settings_that_a_model_refuses_are_bad_data(configure):
    with pytest.raises(hb.DataError, match=r"\[model\] priors: .*gold_error"):
        run_config(configure(('score = "votes"', "gold_error = 0.9")))


def test_rules_on_the_adjusted_rate_are_swept_without_covariates():
    adjusted = hb.Rule("prevalence_adjusted", "<=", 0.05)
    plain = hb.Rule("prevalence", "<=", 0.05)
    assert followed(adjusted) == plain
    assert followed(hb.Rule.all([adjusted, plain])) == plain
    both = hb.Rule.all([adjusted, hb.Rule("item_rate", "<=", 0.1)])
    assert followed(both).parts == (plain, both.parts[1])


def test_no_sweep_that_was_not_asked_for(result):
    without = replace(result, sweep=None, sweep_missing="not asked for")
    assert decision_document(without, {})["sensitivity"] == {"missing": "not asked for"}
