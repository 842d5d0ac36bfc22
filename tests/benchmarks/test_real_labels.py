"""The runner on real labels: its splits, its reading of folders, its restarts."""

import runpy
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import hero_bayes as hb

FOLDER = Path(__file__).parents[2] / "benchmarks" / "real_labels"
N_ITEMS = 200


@pytest.fixture
def protocol():
    return runpy.run_path(str(FOLDER / "protocol.py"))


@pytest.fixture
def sets(tmp_path):
    """Two binary sets, one of them with abstentions, and one with three classes."""
    rng = np.random.default_rng(3)
    truth = rng.integers(0, 2, N_ITEMS)
    item, labeler = (part.ravel() for part in np.indices((N_ITEMS, 4)))
    label = np.where(rng.random(len(item)) < 0.8, truth[item], 1 - truth[item])
    for name in ("plain", "unsure", "three"):
        folder = tmp_path / "sets" / name
        folder.mkdir(parents=True)
        said, gold = label.copy(), truth.copy()
        if name == "unsure":
            said[::20] = 2
        if name == "three":
            gold[:5] = 2
        table = pd.DataFrame({"item": item, "labeler": labeler, "label": said})
        table.to_csv(folder / "labels.csv", index=False)
        pd.DataFrame({"item": range(N_ITEMS), "gold": gold}).to_csv(
            folder / "gold.csv", index=False
        )
    return tmp_path / "sets"


def run(monkeypatch, *arguments):
    monkeypatch.syspath_prepend(str(FOLDER))
    monkeypatch.delitem(sys.modules, "protocol", raising=False)
    monkeypatch.setattr(sys, "argv", ["run.py", *map(str, arguments)])
    try:
        runpy.run_path(str(FOLDER / "run.py"), run_name="__main__")
    finally:
        sys.modules.pop("protocol", None)


def test_split_hides_gold_and_thins_one_class(protocol):
    labels = hb.datasets.load("llmbar")
    truth = dict(zip(labels.items, labels.gold, strict=True))
    for repetition in (0, 1):
        few, much = (protocol["split"](labels, repetition, share, 1) for share in (0.1, 0.3))
        history, current, rate, _ = few
        assert history.n_items == int(0.7 * 419)
        assert not set(history.items) & set(current.items)
        assert current.n_gold == 0
        gold = np.array([truth[item] for item in current.items])
        assert rate == gold.mean()
        rest = [truth[i] for i in set(labels.items) - set(history.items) - set(current.items)]
        assert set(rest) == {repetition}  # left out: of one class, about half of it
        # Five standard deviations of Binomial(n, 1/2) around n / 2.
        left, all_of_it = len(rest), len(rest) + (gold == repetition).sum()
        assert abs(left - all_of_it / 2) < 5 * np.sqrt(all_of_it) / 2
        assert few[1] == much[1]
        assert set(history.items[history.has_gold]) < set(much[0].items[much[0].has_gold])
        kept = history.gold[history.has_gold]
        assert kept.tolist() == [truth[item] for item in history.items[history.has_gold]]


def test_folders_with_other_classes_are_refused_and_rare_labels_are_abstentions(protocol, sets):
    assert protocol["read_folder"](sets / "plain").n_labels == 4 * N_ITEMS
    unsure = protocol["read_folder"](sets / "unsure")
    assert unsure.n_labels == 4 * N_ITEMS * 19 // 20
    assert len(unsure.abstained_item) == 4 * N_ITEMS // 20
    with pytest.raises(protocol["NotBinaryError"], match="gold has the classes 0, 1, 2"):
        protocol["read_folder"](sets / "three")


def test_run_names_what_it_leaves_out_and_computes_only_what_is_missing(
    sets, tmp_path, monkeypatch, capsys
):
    out = tmp_path / "out" / "results.csv"
    base = ("--data", sets, "--reps", 3, "--out", out, "--models")
    run(monkeypatch, *base)
    assert "three: left out, gold has the classes 0, 1, 2" in capsys.readouterr().err
    table = pd.read_csv(out)
    assert sorted(set(table["set"])) == ["plain", "unsure"]
    assert set(table["fits"]) == {3}
    assert set(table["method"]) == {"majority_vote", "dawid_skene", "gold_rates", "hero1", "score"}
    first = out.read_text()
    run(monkeypatch, *base)
    assert "repetitions" not in capsys.readouterr().err
    run(monkeypatch, *base, "score", "--sets", "plain")
    more = pd.read_csv(out)
    assert len(more) == len(table) + 1
    posterior = more[more["kind"] == "posterior"].iloc[0]
    assert (posterior["set"], posterior["mode"], posterior["fits"]) == ("plain", "exact", 3)
    assert 0 < posterior["width"] < 1
    out.unlink()
    run(monkeypatch, *base)
    assert out.read_text() == first


def test_rmse_and_coverage_are_those_of_the_records(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    row_of = runpy.run_path(str(FOLDER / "run.py"))["row_of"]
    sys.modules.pop("protocol", None)
    records = pd.DataFrame(
        {
            "error": [0.3, -0.4, np.nan, 0.0],
            "covered": [True, False, np.nan, True],
            "width": [0.2, 0.4, np.nan, 0.6],
            "gate": [True, True, np.nan, False],
            "refusal": [None, None, "no gold: get some", None],
        }
    )
    row = row_of(records)
    assert (row["fits"], row["refused"], row["refusals"]) == (3, 1, "no gold (1)")
    assert row["rmse"] == pytest.approx(np.sqrt(0.25 / 3))
    assert row["bias"] == pytest.approx(-0.1 / 3)
    assert row["coverage"] == pytest.approx(2 / 3)
    assert row["coverage_se"] == pytest.approx(np.sqrt(2 / 27))
    assert row["width"] == pytest.approx(0.4)
