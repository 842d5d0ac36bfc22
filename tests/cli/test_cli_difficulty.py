import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import hero_bayes as hb
from hero_bayes.cli import difficulty_files
from hero_bayes.cli.difficulty import read_generations
from hero_bayes.cli.difficulty_tables import flags_of
from hero_bayes.difficulty.mapping import data_map
from hero_bayes.difficulty.review import review_list
from hero_bayes.errors import DataError

OPTIONS = (
    *("--out", "--overwrite", "--shape", "--mode", "--model", "--column", "--only"),
    *("--ignore", "--key-exact"),
    *("--temperature", "--target-se", "--reference", "--prob", "--seed", "--json"),
)
#: Where null says "none", and is no gap.
FREE = {"target_se", "reference", "temperature", "reason", "note", "sentence", "other_answer"}
PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture(scope="module")
def frame():
    """Two models, 30 prompts, four generations each, with answers."""
    rng = np.random.default_rng(3)
    chance = rng.beta(1.0, 0.7, size=30)
    rows = [
        (f"p{i}", model, g, int(rng.random() < chance[i] ** power))
        for model, power in (("small", 1.5), ("large", 0.7))
        for i in range(30)
        for g in range(4)
    ]
    table = pd.DataFrame(rows, columns=["question", "model", "epoch", "correct"])
    wrong = rng.integers(3, size=len(table))
    return table.assign(answer=np.where(table["correct"] == 1, "7", wrong.astype(str)))


@pytest.fixture(scope="module")
def generations(frame):
    return hb.difficulty.Generations.from_frame(frame)


@pytest.fixture(scope="module")
def fitted(generations):
    return hb.difficulty.fit(generations, mode="laplace", random_seed=1)


@pytest.fixture
def rows_file(frame, tmp_path):
    path = tmp_path / "rows.csv"
    frame.to_csv(path, index=False)
    return path


@pytest.fixture
def counts_file(write):
    lines = [f"p{i},{i % 4},3" for i in range(24)]
    return write("counts.csv", "\n".join(["prompt,n_correct,k", *lines]))


def as_json(done):
    assert done.code == 0, done.err

    def refuse(word):
        raise AssertionError(f"{word} in the JSON object")

    return json.loads(done.out, parse_constant=refuse)


def assert_gaps_are_explained(told):
    """Every object with a null also says why."""
    if isinstance(told, dict):
        gaps = {name for name, value in told.items() if value is None} - FREE
        gaps = {name for name in gaps if not name.endswith("_reason")}
        reasons = [v for name, v in told.items() if name.endswith("reason") and v]
        assert not gaps or reasons, (gaps, told)
    for entry in told.values() if isinstance(told, dict) else told:
        if isinstance(entry, dict | list):
            assert_gaps_are_explained(entry)


def summarised(draws, prob):
    values = draws.to_numpy().ravel()
    return [values.mean(), *np.quantile(values, [(1 - prob) / 2, (1 + prob) / 2])]


def test_json_equals_the_library(cli, rows_file, generations, fitted):
    words = ["--target-se", "0.03", "--prob", "0.9", "--seed", "1", "--json"]
    told = as_json(cli("difficulty", rows_file, *words))
    assert_gaps_are_explained(told)
    assert told["command"] == "difficulty"
    assert told["data"]["fingerprint"] == generations.fingerprint
    assert told["gate"]["passed"] == hb.diagnose(fitted).passed
    table = hb.difficulty.moments_table(generations, prob=0.9).set_index("model")
    for row in told["summary"]:
        own = table.loc[row["model"]]
        for name, other in (("score", "mu"), ("standard_error",) * 2, ("low",) * 2, ("high",) * 2):
            assert row[name] == own[other]
        for name in ("sigma", "icc", "between", "within", "se_floor", "k_min", "k_max"):
            assert row[name] == own[name]
        draws = fitted["posterior"].to_dataset().sel(model=row["model"])
        for name, variable in (
            ("new_prompts", "mu"),
            ("these_prompts", "mu_these_prompts"),
            ("posterior_sigma", "sigma"),
            ("posterior_icc", "icc"),
        ):
            numbers = [row[name], row[f"{name}_low"], row[f"{name}_high"]]
            assert numbers == summarised(draws[variable], 0.9)
    passes = hb.difficulty.pass_at_k(generations, (1, 2), 0.9)
    assert [row["pass_at_k"] for row in told["pass_at_k"]] == passes["pass_at_k"].to_list()
    pairs = hb.difficulty.compare(fitted, prob=0.9, random_seed=1)
    assert [row["difference"] for row in told["comparison"]] == pairs["difference"].to_list()
    for row in told["enough"]:
        curve = hb.difficulty.k_curve(generations, model=row["model"])
        assert row["k"] == hb.difficulty.enough(curve).k
    plans = hb.difficulty.plan(fitted, target_se=0.03, prob=0.9, model="large")
    assert [row["n"] for row in told["plan"] if row["model"] == "large"] == plans["n"].to_list()
    listed = review_list(generations, rule="paper", random_seed=1).table
    assert [row["prompt"] for row in told["review"]["rows"]] == listed["prompt"].to_list()[:10]
    assert [row["p_key_wrong"] for row in told["review"]["rows"]] == pytest.approx(
        listed["p_key_wrong"].to_list()[:10]
    )
    assert told["files"] == []


def test_report_warns_before_it_tells_numbers(cli, frame, tmp_path):
    path = tmp_path / "holes.parquet"
    frame.astype({"correct": float}).replace({"epoch": {3: 9}}).assign(
        correct=lambda t: t["correct"].mask((t["epoch"] == 9) & (t["model"] == "large"))
    ).to_parquet(path)
    done = cli("difficulty", path, "--target-se", "0.03", "--key-exact")
    assert done.code == 0, done.err
    lines = done.out.splitlines()
    assert max(len(line) for line in lines[:-1] if str(path) not in line) <= 100
    assert lines[-1].startswith("FINDING: large scores ")
    assert "read the 1 warning above" in lines[-1]
    headings = ["GENERATIONS", "WHAT TO WATCH", "SCORES", "DIFFICULTY AND LUCK"]
    headings += ["ONE OF K RIGHT, ALL OF K RIGHT", "MODELS, PAIRED BY PROMPT"]
    headings += ["HOW MANY GENERATIONS ARE ENOUGH", "DESIGNS WITH SE 3.00", "DATA MAP"]
    headings += ["PROMPTS TO REVIEW FIRST"]
    assert [line for line in lines if line in headings] == headings
    assert "30 generations without a score ('large' 30)" in done.out
    assert "nan" not in done.out.lower()


def test_files_hold_the_whole_tables(cli, rows_file, generations, fitted, tmp_path):
    folder = tmp_path / "out"
    done = cli("difficulty", rows_file, "--out", folder, "--key-exact")
    assert done.code == 0, done.err
    names = ["data_map.png", "prompts.csv", "review_list.csv", "summary.csv"]
    assert sorted(path.name for path in folder.iterdir()) == names
    assert all(str(folder / name) in done.out for name in names)
    assert (folder / "data_map.png").read_bytes().startswith(PNG)
    drawn = data_map(generations, fitted, random_seed=1)
    listed = review_list(generations, rule="paper", key_exact=True).table
    for name, table in (("prompts", drawn), ("review_list", listed)):
        read = pd.read_csv(folder / f"{name}.csv", keep_default_na=False)
        assert list(read.columns) == list(table.columns)
        assert read["prompt"].to_list() == table["prompt"].to_list()
    assert np.array_equal(pd.read_csv(folder / "prompts.csv")["p_mean"], drawn["p_mean"])
    means = pd.read_csv(folder / "summary.csv")
    assert means["score"].to_list() == hb.difficulty.moments_table(generations)["mu"].to_list()


def test_a_folder_that_holds_something_is_not_touched(cli, counts_file, tmp_path):
    folder = tmp_path / "out"
    folder.mkdir()
    (folder / "data_map.png").write_text("of an earlier run")
    (folder / "mine.txt").write_text("mine")
    refused = cli("difficulty", counts_file, "--out", folder)
    assert refused.code == 64
    assert "--overwrite" in refused.err
    assert len(list(folder.iterdir())) == 2
    done = cli("difficulty", counts_file, "--out", folder, "--overwrite")
    assert done.code == 0, done.err
    # counts have no answers, so there is no data map, and the old one would mislead
    assert "no data_map.png" in done.out
    left = sorted(path.name for path in folder.iterdir())
    assert left == ["mine.txt", "prompts.csv", "review_list.csv", "summary.csv"]
    assert (folder / "mine.txt").read_text() == "mine"


@pytest.mark.parametrize(("error", "code"), [(RuntimeError, 70), (KeyboardInterrupt, 130)])
def test_nothing_is_left_when_writing_fails(cli, rows_file, tmp_path, monkeypatch, error, code):
    import hero_bayes.plots.data_map as plots

    def fail(table):
        raise error

    monkeypatch.setattr(plots, "plot_data_map", fail)
    before = set(tmp_path.iterdir())
    done = cli("difficulty", rows_file, "--out", tmp_path / "out", "--key-exact")
    assert done.code == code
    assert not done.out
    assert set(tmp_path.iterdir()) == before


def test_counts_say_why_keys_have_no_probability(cli, counts_file):
    told = as_json(cli("difficulty", counts_file, "--json"))
    assert_gaps_are_explained(told)
    assert not told["data"]["rows"]
    assert told["review"]["error_rate"] is None
    assert told["review"]["rows"][0]["p_key_wrong"] is None
    assert "no answers" in told["review"]["rows"][0]["reason"]
    assert sum(told["regions"][0][name] for name in ("easy", "mixed", "hard", "review")) == 24
    assert told["comparison"] is None
    assert "two models" in told["comparison_reason"]


def test_one_generation_is_said_and_gaps_have_reasons(cli, write):
    lines = [f"p{i},{i % 3 // 2}" for i in range(24)]
    path = write("one.csv", "\n".join(["prompt,correct", *lines]))
    told = as_json(cli("difficulty", path, "--target-se", "0.05", "--json"))
    assert_gaps_are_explained(told)
    [row] = told["summary"]
    assert row["score"] == pytest.approx(1 / 3)
    assert row["sigma"] is None
    assert row["posterior_sigma"] is None
    assert "k = 1" in row["reason"]
    assert told["findings"][0]["code"] == "one_generation"
    assert [entry["k"] for entry in told["plan"]] == [1]
    assert told["enough"][0]["k"] is None
    assert "at least twice" in told["enough"][0]["reason"]


def test_a_failed_gate_names_the_other_mode(cli, write):
    lines = [f"p{i},{i % 2}" for i in range(30)]  # k = 1: the posterior of icc is its flat prior
    path = write("one.csv", "\n".join(["prompt,correct", *lines]))
    done = cli("difficulty", path)
    assert done.code == 0
    assert "gate FAILED" in done.out
    assert "fit with --mode nuts" in done.out
    assert "did not pass the gate: use --mode nuts" in done.out.splitlines()[-1]


def test_model_and_column_choose(cli, frame, tmp_path):
    path = tmp_path / "renamed.csv"
    frame.rename(columns={"question": "nr", "correct": "ok"}).to_csv(path, index=False)
    words = ["--column", "prompt=nr", "--column", "correct=ok", "--key-exact", "--json"]
    told = as_json(cli("difficulty", path, *words, "--model", "large"))
    assert told["data"]["models"] == ["large"]
    assert {row["p_key_wrong"] for row in told["review"]["rows"]} == {0.0}
    assert told["summary"][0]["score"] == frame.loc[frame["model"] == "large", "correct"].mean()
    wrong = cli("difficulty", path, *words, "--model", "larger")
    assert wrong.code == 65
    assert "'large', 'small'" in wrong.err


def test_bad_tables_are_65_and_name_the_row_and_the_flag(cli, write):
    path = write("third.csv", "prompt,correct\na,1\na,0\nb,2\n")
    done = cli("difficulty", path)
    assert done.code == 65
    assert "third.csv" in done.err
    assert "row 2" in done.err
    assert not done.out
    nameless = cli("difficulty", write("items.csv", "item,correct\na,1\n"))
    assert nameless.code == 65
    assert "--column prompt=YOUR_COLUMN" in nameless.err
    broken = cli("difficulty", write("broken.csv", "prompt,correct\na,1\nb,1,0\n"))
    assert broken.code == 65
    assert broken.err.count("broken.csv") == 1
    assert cli("difficulty", write("x.json", "{}")).code == 65
    missing = cli("difficulty", "there/is/none.csv")
    assert missing.code == 65
    assert "game24_gpt4 and cruxeval" in missing.err


def test_a_bundled_set_is_taken_only_where_no_file_has_its_name(cli, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found, bundled = read_generations(tmp_path.joinpath("game24_gpt4").relative_to(tmp_path), {})
    assert bundled
    assert found == hb.datasets.load("game24_gpt4")
    (tmp_path / "game24_gpt4").write_text("prompt,correct\na,1\n")
    with pytest.raises(DataError, match="the ending says the format"):
        read_generations(tmp_path.joinpath("game24_gpt4").relative_to(tmp_path), {})
    (tmp_path / "game24_gpt4").unlink()
    assert cli("difficulty", "game24_gpt4", "--column", "prompt=x").code == 64


@pytest.mark.parametrize(
    ("said", "flags"),
    [
        ('say which with columns={"prompt": ...}', "say which with --column prompt=YOUR_COLUMN"),
        (
            "choose one with columns={'prompt': 'task_id'}",
            "choose one with --column prompt=task_id",
        ),
        ('ask for more draws (draws=4000), or fit with mode="nuts"', "fit with --mode nuts"),
        ("forms, pass cluster= to join them", "forms, a column answer_cluster joins them"),
    ],
)
def test_remedies_are_flags(said, flags):
    assert flags_of(said) == flags


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["x.csv", "--mode", "map"],
        ["x.csv", "--shape", "normal"],
        ["x.csv", "--prob", "95"],
        ["x.csv", "--target-se", "0"],
        ["x.csv", "--target-se", "nan"],
        ["x.csv", "--temperature", "-1"],
        ["x.csv", "--seed", "-1"],
        ["x.csv", "--column", "prompt"],
        ["x.csv", "--out", "no/such/folder"],
        ["x.csv", "--out", "/dev/null"],
    ],
)
def test_bad_usage_is_64_before_the_file_is_read(cli, words):
    done = cli("difficulty", *words)
    assert done.code == 64
    assert done.err.startswith("hero-bayes: usage error: ")
    assert not done.out


def test_groups_reach_every_number(cli, tmp_path):
    rng = np.random.default_rng(2)
    chance = np.repeat(rng.beta(0.8, 0.8, 12), 8)
    table = pd.DataFrame({"prompt": range(96), "n_correct": rng.binomial(6, chance), "k": 6})
    table["prompt_group"] = np.repeat(np.arange(12), 8)
    path = tmp_path / "groups.csv"
    table.to_csv(path, index=False)
    told = as_json(cli("difficulty", path, "--target-se", "0.05", "--json"))
    [row] = told["summary"]
    width = row["new_prompts_high"] - row["new_prompts_low"]
    assert width == pytest.approx(2 * stats.t.ppf(0.975, 11) * row["standard_error"], rel=0.12)
    plans = hb.difficulty.plan(table, target_se=0.05, random_seed=1)
    assert [design["n"] for design in told["plan"]] == plans["n"].to_list()


def test_names_are_one_line_and_the_reference_is_chosen(cli, frame, tmp_path):
    path = tmp_path / "names.csv"
    odd = frame.replace({"model": {"small": "sm\n\x1b[31mall"}, "question": {"p0": "p\n0"}})
    odd.to_csv(path, index=False)
    done = cli("difficulty", path, "--key-exact", "--reference", "sm\n\x1b[31mall")
    assert done.code == 0, done.err
    assert "\x1b" not in done.out
    assert r"large - sm\n\x1b[31mall" in done.out
    assert "the first of the two is better" in done.out
    assert "Publish the line new prompts (posterior), if the gate passed" in done.out
    wrong = cli("difficulty", path, "--reference", "larger")
    assert wrong.code == 65
    assert "--reference 'larger': no such model; there are 'large'" in wrong.err


def test_a_malformed_column_shows_a_role_of_this_command(cli):
    done = cli("difficulty", "none.csv", "--column", "prompt")
    assert "such as prompt=question_nr" in done.err


def test_without_matplotlib_out_says_what_to_install(cli, monkeypatch, tmp_path):
    monkeypatch.setattr(difficulty_files, "find_spec", lambda name: None)
    done = cli("difficulty", "none.csv", "--out", tmp_path / "out")
    assert done.code == 64
    assert "pip install 'hero-bayes[plots]'" in done.err
    assert cli("difficulty", "none.csv").code == 65


def test_help_lists_the_options_and_loads_nothing_heavy():
    code = (
        "import sys\nfrom hero_bayes.cli.main import main\nassert main(['difficulty', '-h']) == 0\n"
        "heavy = {'numpy', 'pandas', 'pymc', 'scipy', 'matplotlib'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert all(option in done.stdout for option in OPTIONS)


@pytest.fixture
def log_file(frame, tmp_path):
    """A log with a model of another name, two filters, and generations that broke."""
    log = frame.rename(columns={"model": "model_name"})
    log["status"] = np.where(log.index % 11 == 0, "error", "ok")
    log["note"] = "n"
    both = [log.assign(filter=name) for name in ("strict-match", "flexible-extract")]
    pd.concat(both).to_csv(tmp_path / "log.csv", index=False)
    return tmp_path / "log.csv"


def test_columns_are_listed_with_their_use(cli, log_file):
    done = cli("difficulty", log_file)
    assert done.code != 0
    assert "--only 'filter=strict-match'" in done.err
    assert "--ignore 'filter'" in done.err
    done = cli("difficulty", log_file, "--only", "filter=strict-match")
    assert done.code == 0, done.err
    table = done.out.partition("\nCOLUMNS\n")[2].partition("WHAT TO WATCH")[0]
    cells = [line.split(maxsplit=1) for line in table.splitlines() if line.strip()]
    told = dict(cell for cell in cells if len(cell) == 2)
    assert told["model_name"].split() == ["model", *"known as another name".split()]
    assert told["epoch"].split()[0] == "generation"
    assert "22 rows without a score" in told["status"]
    assert "240 of 480 rows" in told["filter"]
    assert told["note"].strip() == "not read"
    flat = " ".join(done.out.split())
    assert "without a score ('large' 11, 'small' 11) (22 by column 'status'), in" in flat


def test_columns_in_json(cli, log_file):
    told = as_json(cli("difficulty", log_file, "--only", "filter=strict-match", "--json"))
    uses = {use["column"]: use["serves_as"] for use in told["columns"]}
    assert uses["model_name"] == "model"
    assert (uses["filter"], uses["status"], uses["note"]) == (
        "chosen",
        "missing scores",
        "not read",
    )
    assert told["pass_at_k"][-1]["reason"].startswith("k up to 2: some prompt has ")
    pooled = as_json(
        cli("difficulty", log_file, "--ignore", "epoch", "--ignore", "filter", "--json")
    )
    assert pooled["data"]["generations"] == 436


def test_unread_column_is_told_before_any_number(cli, frame, tmp_path):
    frame.rename(columns={"model": "system"}).drop(columns="epoch").to_csv(
        tmp_path / "t.csv", index=False
    )
    done = cli("difficulty", tmp_path / "t.csv")
    assert done.code == 0, done.err
    flat = " ".join(done.out.split())
    assert "column 'system' was not read" in flat
    assert "--column model=system" in flat
    assert done.out.index("not read, but") < done.out.index("SCORES")


@pytest.mark.parametrize("pair", ["filter", "=x", "filter="])
def test_only_wants_a_pair(cli, rows_file, pair):
    done = cli("difficulty", rows_file, "--only", pair)
    assert done.code == 64
    assert "write COLUMN=VALUE" in done.err
