"""The bundled data sets, the demo rounds, and the scripts that build them."""

import runpy
import sys
from importlib import resources
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from hero_bayes.data import datasets
from hero_bayes.errors import DataError

SCRIPTS = Path(__file__).parents[2] / "scripts"
SCRIPT = SCRIPTS / "build_dices350.py"
#: Items of each subset, as published, and how many of them have gold 1.
LLMBAR = {
    "Natural": (100, 42),
    "Neighbor": (134, 75),
    "GPTInst": (92, 45),
    "GPTOut": (47, 22),
    "Manual": (46, 22),
}
GENERATIONS = ("game24_gpt4", "cruxeval")


@pytest.fixture(scope="module")
def dices():
    return datasets.load("dices350")


@pytest.fixture(scope="module")
def llmbar():
    return datasets.load("llmbar")


@pytest.fixture(scope="module")
def demo():
    return datasets.demo_rounds()


def test_sizes_match_the_catalogue(dices):
    entry = datasets.available().set_index("name").loc["dices350"]
    assert (dices.n_items, dices.n_labelers) == (entry["items"], entry["labelers"]) == (350, 123)
    assert dices.n_labels == entry["labels"]
    assert dices.n_gold == entry["gold"] == 350
    assert dices.n_labels + len(dices.abstained_item) == 43_050
    assert entry["licence"].startswith("CC BY 4.0")


def test_published_facts(dices):
    assert dices.gold.sum() == 175
    majority = np.mean(dices.vote_share > 0.5) + np.mean(dices.vote_share == 0.5) / 2
    assert majority == pytest.approx(0.229, abs=0.001)
    assert sorted(dices.covariates) == ["context_chars", "file_order", "n_turns", "response_chars"]
    assert sorted(dices.covariates["file_order"]) == list(range(350))


def test_attribution():
    said = datasets.describe("dices350")
    for words in ("Google LLC", "CC BY 4.0", "Aroyo et al. (2023)", "2306.11247", "Changes made"):
        assert words in said
    with pytest.raises(DataError, match="no data set 'dices'; available are dices350"):
        datasets.load("dices")


def test_files_are_small_and_carry_the_licence():
    folder = resources.files("hero_bayes.data.datasets")
    files = [entry for entry in folder.iterdir() if entry.name.endswith(".parquet")]
    assert len(files) == 7
    assert sum(len(entry.read_bytes()) for entry in files) < 300_000
    readme = (folder / "README.md").read_text()
    assert "Attribution 4.0" in readme
    notice = (SCRIPTS.parent / "NOTICE").read_text()
    assert notice.count("Permission is hereby granted, free of charge") == 1
    for holder in (
        "Copyright (c) 2023 Shunyu Yao",
        "Copyright (c) Meta Platforms, Inc.",
        "Copyright (c) 2023 Princeton Natural Language Processing",
    ):
        assert holder in readme
        assert holder in notice


def test_llmbar_has_the_published_counts(llmbar):
    entry = datasets.available().set_index("name").loc["llmbar"]
    assert (llmbar.n_items, llmbar.n_labelers, llmbar.n_labels) == (419, 36, 15_032)
    assert (entry["items"], entry["labelers"], entry["labels"]) == (419, 36, 15_032)
    assert llmbar.n_gold == entry["gold"] == 419
    assert llmbar.n_groups == 1
    for subset, (items, ones) in LLMBAR.items():
        here = llmbar.prompt_group == subset
        assert (here.sum(), llmbar.gold[here].sum()) == (items, ones)
    assert set(llmbar.prompt_group) == set(LLMBAR)
    assert llmbar.label.mean() == pytest.approx(0.4855, abs=5e-5)
    said = datasets.describe("llmbar")
    for words in ("MIT (Copyright (c) 2023 Princeton", "Zeng et al. (2023)", "Changes made"):
        assert words in said


def test_llmbar_families_are_the_base_models(llmbar):
    models, sizes = np.unique(llmbar.family, return_counts=True)
    assert models.tolist() == ["ChatGPT", "ChatGPT-0301", "Falcon", "GPT-4", "LLaMA2", "PaLM2"]
    assert sizes.tolist() == [6] * 6
    for labeler, family in zip(llmbar.labelers, llmbar.family, strict=True):
        assert labeler.split("|")[0] == family
    # Judges of one model agree with each other more than with the others, given the truth.
    vote = np.full((llmbar.n_items, 36), np.nan)
    item_idx = np.repeat(np.arange(llmbar.n_items), llmbar.labels_per_item)
    vote[item_idx, llmbar.labeler_idx] = llmbar.label
    residual = pd.DataFrame(vote).sub(pd.DataFrame(vote).groupby(llmbar.gold).transform("mean"))
    between = residual.corr().to_numpy()
    same = np.equal.outer(np.array(llmbar.family), np.array(llmbar.family))
    assert between[~same].mean() < between[same & ~np.eye(36, dtype=bool)].mean()


def test_llmbar_facts_of_the_readme(llmbar):
    item_idx = np.repeat(np.arange(llmbar.n_items), llmbar.labels_per_item)
    right = pd.Series(llmbar.label == llmbar.gold[item_idx])
    natural = llmbar.prompt_group[item_idx] == "Natural"
    adversarial = right[~natural].groupby(llmbar.labeler_idx[~natural]).mean()
    assert right[natural].groupby(llmbar.labeler_idx[natural]).mean().median() == 0.785
    assert adversarial.median() == pytest.approx(0.429, abs=5e-4)
    assert (adversarial < 0.5).sum() == 22
    assert sorted(llmbar.covariates) == ["output_1_chars", "output_2_chars"]


@pytest.mark.parametrize("name", GENERATIONS)
def test_generations_match_the_catalogue(name):
    loaded = datasets.load(name)
    table = datasets.available().set_index("name")
    entry = table.loc[name]
    assert (loaded.n_prompts, loaded.n_models) == (entry["prompts"], entry["models"])
    assert loaded.n_generations == entry["generations"]
    assert loaded.is_balanced
    assert entry["kind"] == "generations"
    assert table.loc["dices350", "kind"] == "labels"
    assert pd.isna(entry["labels"])
    assert pd.isna(table.loc["dices350", "prompts"])
    said = datasets.describe(name)
    assert entry["citation"] in said
    assert "MIT (Copyright (c)" in said
    assert "Changes made" in said


def correct_by_model(generations):
    return np.bincount(generations.model_idx, weights=generations.n_correct).tolist()


def test_facts_of_the_generations():
    game = datasets.load("game24_gpt4")
    assert game.models.tolist() == ["gpt-4+cot", "gpt-4+io"]
    assert correct_by_model(game) == [403, 734]  # of 10,000: .0403 and .0734
    assert game.summary()["never_correct"].tolist() == [0.51, 0.67]
    crux = datasets.load("cruxeval")
    assert crux.models.tolist() == ["codellama-34b", "gpt-3.5-turbo-0613", "gpt-4-0613+cot"]
    assert correct_by_model(crux) == [3146, 3798, 6178]  # of 8,000: .3933, .4748 and .7723
    assert (crux.answer == "None").sum() > 0
    llama = crux.select("codellama-34b")
    by_index = [llama.correct[llama.generation == str(index)].mean() for index in range(10)]
    assert by_index[0] == pytest.approx(0.445, abs=5e-4)
    assert by_index[-1] == pytest.approx(0.286, abs=5e-4)


def test_script_rebuilds_the_generations(tmp_path, monkeypatch):
    for name, file in zip(GENERATIONS, ("game24_gpt4_k100", "cruxeval_output_t08"), strict=True):
        frame = datasets.load(name).to_frame().sample(frac=1, random_state=2)
        frame.rename(columns={"prompt": "prompt_id"}).to_csv(tmp_path / f"{file}.csv", index=False)
    script = SCRIPTS / "build_generation_sets.py"
    run_script(monkeypatch, tmp_path, "--output", tmp_path / "built", script=script)
    folder = resources.files("hero_bayes.data.datasets")
    for name in GENERATIONS:
        with (folder / f"{name}.parquet").open("rb") as bundled:
            expected = pd.read_parquet(bundled)
        built = pd.read_parquet(tmp_path / "built" / f"{name}.parquet")
        pd.testing.assert_frame_equal(built, expected)
    frame.iloc[1:].to_csv(tmp_path / "cruxeval_output_t08.csv", index=False)
    with pytest.raises(SystemExit, match="not the cruxeval table"):
        run_script(monkeypatch, tmp_path, script=script)


def test_demo_rounds(demo, dices):
    ten = [f"r{number:03d}" for number in range(1, 11)]
    assert demo.history.labelers.tolist() == demo.current.labelers.tolist() == ten
    assert demo.history.n_items + demo.history.items_dropped == 175
    assert demo.current.n_items + demo.current.items_dropped == 175
    assert demo.history.n_gold == 40
    assert demo.current.n_gold == 0
    order = dict(zip(dices.items, dices.covariates["file_order"], strict=True))
    assert max(order[item] for item in demo.history.items) < 175
    assert min(order[item] for item in demo.current.items) >= 175
    gold = dict(zip(dices.items, dices.gold, strict=True))
    assert demo.truth == np.mean([gold[item] for item in demo.current.items])
    known = demo.history.has_gold
    assert [gold[item] for item in demo.history.items[known]] == demo.history.gold[known].tolist()
    assert "file_order" not in demo.history.covariates


def test_demo_rounds_are_the_same_each_time(demo):
    again = datasets.demo_rounds()
    assert (again.history, again.current, again.truth) == (demo.history, demo.current, demo.truth)


@pytest.fixture
def source(tmp_path, dices):
    """Write the source tables back, as the script reads them."""
    codes = {name: int(name) for name in dices.items}
    labels, items, _ = dices.to_frames()
    labels["label"] = labels["label"].fillna(2)
    for frame in (labels, items):
        frame["item"] = frame["item"].map(codes)
    labels.sample(frac=1, random_state=1).to_csv(tmp_path / "labels.csv", index=False)
    items.astype({"gold": int})[["item", "gold"]].to_csv(tmp_path / "gold.csv", index=False)
    items.drop(columns="gold").assign(n_yes=0).to_csv(tmp_path / "items.csv", index=False)
    return tmp_path


def run_script(monkeypatch, *arguments, script=SCRIPT):
    monkeypatch.setattr(sys, "argv", [str(script), *map(str, arguments)])
    runpy.run_path(str(script), run_name="__main__")


def test_script_rebuilds_the_bundled_tables(source, tmp_path, monkeypatch):
    output = tmp_path / "built"
    run_script(monkeypatch, source, "--output", output)
    folder = resources.files("hero_bayes.data.datasets")
    for name in ("labels", "items"):
        file = f"dices350_{name}.parquet"
        with (folder / file).open("rb") as bundled:
            expected = pd.read_parquet(bundled)
        pd.testing.assert_frame_equal(pd.read_parquet(output / file), expected)


def test_llmbar_script_rebuilds_the_bundled_tables(llmbar, tmp_path, monkeypatch):
    labels, items, _ = llmbar.to_frames()
    names = {"prompt_group": "subset", "output_1_chars": "len_1", "output_2_chars": "len_2"}
    labels.sample(frac=1, random_state=1).to_csv(tmp_path / "labels.csv", index=False)
    items.astype({"gold": int})[["item", "gold"]].to_csv(tmp_path / "gold.csv", index=False)
    items.rename(columns=names).drop(columns="gold").to_csv(tmp_path / "items.csv", index=False)
    script = SCRIPTS / "build_llmbar.py"
    run_script(monkeypatch, tmp_path, "--output", tmp_path / "built", script=script)
    folder = resources.files("hero_bayes.data.datasets")
    for name in ("labels", "items", "labelers"):
        file = f"llmbar_{name}.parquet"
        with (folder / file).open("rb") as bundled:
            expected = pd.read_parquet(bundled)
        pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "built" / file), expected)
    items.iloc[1:].to_csv(tmp_path / "gold.csv", index=False)
    with pytest.raises(SystemExit, match="not the LLMBar tables"):
        run_script(monkeypatch, tmp_path, script=script)


def test_script_refuses_other_tables(source, monkeypatch):
    labels = pd.read_csv(source / "labels.csv")
    labels.iloc[1:].to_csv(source / "labels.csv", index=False)
    with pytest.raises(SystemExit, match="not the DICES-350 tables"):
        run_script(monkeypatch, source)
