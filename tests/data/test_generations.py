"""Reading generations and counts: values, missing scores, order of rows, parts, round trips."""

import pickle
from types import SimpleNamespace

import hypothesis
import hypothesis.strategies as st
import numpy as np
import pandas as pd
import pytest

import hero_bayes as hb
from hero_bayes.data.generations import Generations

ARRAYS = (
    "prompts",
    "models",
    "prompt_idx",
    "model_idx",
    "n_correct",
    "k",
    "prompt_group",
    "cell_idx",
    "correct",
    "generation",
    "run",
    "answer",
    "answer_cluster",
    "missing_model",
    "missing_prompt",
    "missing_generation",
)


def read(**columns):
    return Generations.from_frame(pd.DataFrame(columns))


def assert_identical(one, other):
    for name in ARRAYS:
        left, right = getattr(one, name), getattr(other, name)
        if left is None or right is None:
            assert left is right, name
        else:
            assert left.dtype == right.dtype, name
            assert left.tolist() == right.tolist(), name
    assert one.n_missing == other.n_missing


@pytest.fixture
def table():
    """Two models, unequal k, a missing score, answers with empty and missing ones."""
    return pd.DataFrame(
        {
            "prompt": ["p2", "p1", "p1", "p10", "p2", "p1", "p3"],
            "generation": [2, 10, 9, 1, 1, 1, 1],
            "model": ["b", "a", "a", "a", "b", "b", "a"],
            "correct": [1, 0, 1, 1, None, 0, None],
            "answer": ["None", "", None, "NA", "x", "7", "y"],
            "answer_cluster": pd.array([1, 2, 3, 4, 5, None, 6], dtype="Int64"),
            "run": ["r", None, "s", "s", "r", "r", "s"],
            "prompt_group": ["g", "h", "h", "g", "g", "h", "i"],
        }
    )


@pytest.fixture
def generations(table):
    return Generations.from_frame(table)


def test_values(generations):
    assert generations.models.tolist() == ["a", "b"]
    assert generations.prompts.tolist() == ["p1", "p10", "p2"]  # p3 has no scored generation
    assert generations.model_idx.tolist() == [0, 0, 1, 1]
    assert generations.prompt_idx.tolist() == [0, 1, 0, 2]
    assert generations.n_correct.tolist() == [1, 1, 0, 1]
    assert generations.k.tolist() == [2, 1, 1, 1]
    assert generations.p_hat.tolist() == [0.5, 1.0, 0.0, 1.0]
    assert generations.prompt_group.tolist() == ["h", "g", "g"]
    assert generations.cell_idx.tolist() == [0, 0, 1, 2, 3]
    assert generations.generation.tolist() == ["9", "10", "1", "1", "2"]  # by number
    assert generations.correct.tolist() == [1, 0, 1, 0, 1]
    assert generations.correct.dtype == np.int8
    assert generations.answer.tolist() == [None, "", "NA", "7", "None"]
    assert generations.answer_cluster.tolist() == ["3", "2", "4", None, "1"]
    assert generations.run.tolist() == ["s", None, "s", "r", "r"]
    assert generations.n_missing == 2
    assert generations.missing_model.tolist() == ["a", "b"]
    assert generations.missing_prompt.tolist() == ["p3", "p2"]
    assert generations.missing_generation.tolist() == ["1", "1"]
    assert (generations.n_prompts, generations.n_models, generations.n_generations) == (3, 2, 5)
    assert generations.has_rows
    assert repr(generations) == "Generations(3 prompts, 2 models, k = 1 to 2)"


def test_counts():
    found = read(task_id=[10, 9, 2], n_correct=[1, 2.0, 0], k=["3", "2", "0"])
    assert found.prompts.tolist() == ["9", "10"]
    assert found.models.tolist() == ["model"]
    assert found.n_correct.tolist() == [2, 1]
    assert found.k.tolist() == [2, 3]
    assert not found.has_rows
    assert found.correct is None
    assert (found.n_missing, found.missing_prompt.tolist()) == (0, ["2"])


@pytest.mark.parametrize(
    "scores",
    [
        [1, 0, None],
        [True, False, None],
        ["true", " FALSE ", ""],
        ["C", "I", np.nan],
        [1.0, 0.0, np.nan],
        ["1.0", "0", None],
        pd.array([True, False, pd.NA], dtype="boolean"),
        pd.Categorical(["C", "I", None]),
    ],
)
def test_words_for_a_score(scores):
    found = read(prompt=["a", "b", "a"], correct=scores)
    assert found.correct.tolist() == [1, 0]
    assert found.n_missing == 1


def test_types_of_ids_do_not_matter():
    def of(kind):
        return read(prompt=[kind(2), kind(10)], generation=[1, 1], correct=[1, 0])

    for kind in (str, float, np.int8):
        assert_identical(of(kind), of(int))
    assert of(int).prompts.tolist() == ["2", "10"]


@pytest.mark.parametrize("alias", ["prompt_id", "question", "question_id", "task_id", "problem"])
@pytest.mark.parametrize("index", ["epoch", "repeat", "sample", "repetition"])
def test_aliases(alias, index):
    found = read(**{alias: ["a", "a"], index: [1, 2], "correct": [1, 0]})
    assert found.prompts.tolist() == ["a"]
    assert found.generation.tolist() == ["1", "2"]


def test_own_names_and_the_index_is_no_run():
    table = {"my_id": ["a", "a"], "epoch": [1, 2], "ok": [1, 0]}
    columns = {"prompt": "my_id", "correct": "ok"}
    found = Generations.from_frame(pd.DataFrame(table), columns=columns)
    assert found.run is None
    found = Generations.from_frame(pd.DataFrame(table), columns={**columns, "run": "epoch"})
    assert found.run.tolist() == found.generation.tolist() == ["1", "2"]
    found = Generations.from_frame(pd.DataFrame(table), columns={**columns, "model": "epoch"})
    assert found.models.tolist() == ["1", "2"]
    assert found.generation is None


def test_two_id_columns_need_a_choice():
    columns = dict(prompt=["x", "x"], prompt_id=["a", "b"], correct=[1, 0])
    with pytest.raises(hb.DataError, match=r"'prompt', 'prompt_id'; choose one with columns="):
        read(**columns)
    frame = pd.DataFrame(columns)
    for name, prompts in (("prompt", ["x"]), ("prompt_id", ["a", "b"])):
        found = Generations.from_frame(frame, columns={"prompt": name})
        assert found.prompts.tolist() == prompts
    runs = pd.DataFrame(dict(prompt=["a", "a"], generation=[0, 1], epoch=[0, 1], correct=[1, 0]))
    assert Generations.from_frame(runs, columns={"run": "epoch"}).run.tolist() == ["0", "1"]


@pytest.mark.parametrize(
    ("frame", "columns", "match"),
    [
        (dict(prompt=["a", "b"], n_correct=[1, 0], k=[3, 2**53]), None, r"k is too large .* row 1"),
        (dict(prompt=["a"], n_correct=[1], k=[np.inf]), None, r"not a whole number .* row 0"),
        (dict(prompt=["a", "b"], correct=[1, [0]]), None, r"holds \[0\] in row 1"),
        (dict(prompt=["a"], correct=[1]), ["prompt"], "names of ours and of yours"),
        (dict(prompt=["a"], correct=[1]), {"prompt": []}, "names of ours and of yours"),
        ({("a", "prompt"): ["a"], ("b", "correct"): [1]}, None, "2 levels"),
    ],
    ids=["above 2^53", "infinite", "a list", "columns a list", "column a list", "levels"],
)
def test_odd_tables_are_refused(frame, columns, match):
    with pytest.raises(hb.DataError, match=match):
        Generations.from_frame(pd.DataFrame(frame), columns=columns)


BROKEN = {
    "no prompt": (dict(x=[1], correct=[1]), "no column for the prompt"),
    "neither": (dict(prompt=[1], score=[1]), "neither scored rows .* nor counts"),
    "half of the counts": (dict(prompt=[1], k=[1]), "neither scored rows"),
    "both": (dict(prompt=[1], correct=[1], n_correct=[1], k=[1]), "both scored rows .* and counts"),
    "empty": (dict(prompt=[], correct=[]), "table of generations is empty"),
    "two aliases": (
        dict(question=["a", "a"], problem=["b", "c"], correct=[1, 0]),
        "could be the prompt: 'question', 'problem'; choose one with columns=",
    ),
    "missing prompt": (dict(prompt=["a", None, ""], correct=[1, 1, 0]), "missing prompt .* 1, 2 "),
    "missing model": (dict(prompt=["a"], model=[None], correct=[1]), "missing model id in row 0"),
    "missing index": (
        dict(prompt=["a", "a"], epoch=[1, None], correct=[1, 1]),
        "missing generation id in row 1",
    ),
    "other scores": (
        dict(prompt=["a", "b", "c"], correct=[1, 0.5, "P"]),
        r"'correct' holds 0.5, 'P' in rows 1, 2 \(counted from 0\)",
    ),
    "no score": (dict(prompt=["a"], correct=[None]), "no generation has a score"),
    "repeated": (
        dict(prompt=["a", "b", "a"], epoch=[1, 1, 1.0], model=["m"] * 3, correct=[1, 1, None]),
        "model 'm', prompt 'a', generation '1' stands in rows 0, 2 ",
    ),
    "repeated counts": (
        dict(prompt=["a", "a"], n_correct=[1, 1], k=[1, 1]),
        "prompt 'a' stands in rows 0, 1 .* one row of counts",
    ),
    "too many": (dict(prompt=["a", "b"], n_correct=[1, 3], k=[1, 2]), "3 of 2' in row 1"),
    "negative": (dict(prompt=["a", "b"], n_correct=[1, -1], k=[1, 2]), "n_correct .*-1.* in row 1"),
    "fraction": (dict(prompt=["a"], n_correct=[0], k=[1.5]), "k is not a whole number"),
    "missing count": (dict(prompt=["a"], n_correct=[0], k=[None]), "k is not a whole number"),
    "nothing generated": (dict(prompt=["a"], n_correct=[0], k=[0]), "no cell has a generation"),
    "two groups": (
        dict(prompt=["a", "b", "a"], prompt_group=["g", "g", "h"], correct=[1, 1, 1]),
        "1 prompt in two prompt groups: 'a' is in 'g', 'h', rows 0, 2",
    ),
    "some without a group": (
        dict(prompt=["a", "b"], prompt_group=["g", None], correct=[1, 1]),
        "1 prompt without a prompt group: 'b'",
    ),
}


@pytest.mark.parametrize(("columns", "message"), BROKEN.values(), ids=BROKEN.keys())
def test_malformed_tables(columns, message):
    with pytest.raises(hb.DataError, match=message):
        read(**columns)


def test_malformed_arguments(tmp_path):
    frame = pd.DataFrame({"prompt": ["a"], "correct": [1]})
    with pytest.raises(hb.DataError, match=r"columns= knows the names .* not 'quest'"):
        Generations.from_frame(frame, columns={"quest": "prompt"})
    with pytest.raises(hb.DataError, match="there is no column 'id'; found 'prompt', 'correct'"):
        Generations.from_frame(frame, columns={"prompt": "id"})
    with pytest.raises(hb.DataError, match="must be a pandas DataFrame, not list"):
        Generations.from_frame([1])
    twice = pd.DataFrame([[1, 1, 1]], columns=["prompt", "correct", "correct"])
    with pytest.raises(hb.DataError, match="several columns named 'correct'"):
        Generations.from_frame(twice)
    with pytest.raises(hb.DataError, match="there is no file"):
        Generations.from_csv(tmp_path / "no.csv")


def test_mappings_and_other_frames():
    columns = {"prompt": ["a", "b"], "correct": [1, 0]}
    other = SimpleNamespace(to_pandas=lambda: pd.DataFrame(columns))
    assert Generations.from_frame(columns) == Generations.from_frame(other) == read(**columns)


def test_group_missing_in_some_rows_is_known():
    found = read(prompt=["a", "a"], prompt_group=[None, "g"], correct=[1, 1])
    assert found.prompt_group.tolist() == ["g"]
    assert read(prompt=["a"], prompt_group=[None], correct=[1]).prompt_group is None


row = st.fixed_dictionaries(
    {
        "prompt": st.sampled_from(["1", "2", "10", "x"]),
        "model": st.sampled_from(["m", "n"]),
        "correct": st.sampled_from([0, 1, None]),
        "answer": st.sampled_from(["", "None", "a", None]),
        "run": st.sampled_from(["r", "s", None]),
    }
)


@hypothesis.given(st.lists(row, min_size=1, max_size=12), st.booleans(), st.randoms())
def test_order_of_rows_changes_nothing(rows, indexed, random):
    hypothesis.assume(any(entry["correct"] is not None for entry in rows))
    for number, entry in enumerate(rows):
        if indexed:
            entry["generation"] = number
    shuffled = random.sample(rows, len(rows))
    one, other = (Generations.from_frame(pd.DataFrame(part)) for part in (rows, shuffled))
    assert_identical(one, other)
    assert one.fingerprint == other.fingerprint
    back = Generations.from_frame(one.to_frame())
    assert_identical(back, one)


def test_without_an_index_the_rows_keep_together():
    found = read(prompt=["a"] * 3, correct=[1, 0, 0], answer=["x", "z", "y"], run=[1, 2, 3])
    assert found.generation is None
    rows = sorted(zip(found.correct.tolist(), found.answer, found.run, strict=True))
    assert rows == [(0, "y", "3"), (0, "z", "2"), (1, "x", "1")]


def test_round_trip_of_counts():
    found = read(
        prompt=["a", "b", "c"],
        model=["m", "n", "m"],
        n_correct=[1, 2, 0],
        k=[1, 4, 0],
        prompt_group=["g", "g", "g"],
    )
    assert_identical(Generations.from_frame(found.to_frame()), found)
    assert list(found.to_frame()) == ["model", "prompt", "prompt_group", "n_correct", "k"]


def test_files(tmp_path, table, generations):
    table.to_parquet(tmp_path / "table.parquet")
    assert_identical(Generations.from_parquet(tmp_path / "table.parquet"), generations)
    table["answer"] = table["answer"].fillna("")  # a CSV file knows no missing answer
    table.rename(columns={"answer": "reply", "prompt": "NA"}).to_csv(tmp_path / "t.csv")
    columns = {"answer": "reply", "prompt": "NA"}
    found = Generations.from_csv(tmp_path / "t.csv", columns=columns)
    assert_identical(found, Generations.from_frame(table))
    assert found.answer.tolist() == ["", "", "NA", "7", "None"]


def test_fingerprint_is_content(table, generations):
    for name, value in {
        "prompt": "p9",
        "generation": 11,
        "model": "c",
        "correct": 1,
        "answer": "z",
        "answer_cluster": 9,
        "run": "q",
    }.items():
        other = table.astype({name: object})
        other.loc[1, name] = value
        assert Generations.from_frame(other) != generations, name
    other = table.assign(prompt_group=table["prompt"])
    assert Generations.from_frame(other) != generations
    assert Generations.from_frame(table.dropna(subset="correct")) != generations
    assert len({generations, Generations.from_frame(table)}) == 1


def test_copies_stay_read_only(generations):
    copy = pickle.loads(pickle.dumps(generations))
    assert copy == generations
    assert_identical(copy, generations)
    for name in ARRAYS:
        with pytest.raises(ValueError, match="read-only"):
            getattr(copy, name)[0] = 0


def test_balance():
    complete = dict(prompt=list("abab"), model=list("mmnn"), n_correct=[1] * 4)
    assert read(**complete, k=[2] * 4).is_balanced
    assert not read(**complete, k=[2, 2, 2, 3]).is_balanced
    assert not read(prompt=["a", "b", "a"], model=list("mmn"), n_correct=[0] * 3, k=2).is_balanced


def test_select_is_reading_less(table, generations):
    for models, prompts in (("a", None), (None, ["p1", "p2"]), (["b"], "p2"), (None, "p10")):
        kept = table
        if models is not None:
            kept = kept[kept["model"].isin(list(models))]
        if prompts is not None:
            kept = kept[kept["prompt"].isin([prompts] if isinstance(prompts, str) else prompts)]
        expected = Generations.from_frame(kept)
        assert_identical(generations.select(models=models, prompts=prompts), expected)
    assert_identical(generations.select(), generations)


def test_select_counts():
    found = read(prompt=[1, 2, 3], model=list("mmn"), n_correct=[1, 2, 3], k=[3, 3, 3])
    assert found.select(prompts=[2, 3]).n_correct.tolist() == [2, 3]
    assert found.select("n").prompts.tolist() == ["3"]


def test_select_errors(generations):
    with pytest.raises(hb.DataError, match="no model 'z'; there are 'a', 'b'"):
        generations.select(models=["a", "z"])
    with pytest.raises(hb.DataError, match="no prompt 'p3'"):
        generations.select(prompts="p3")
    with pytest.raises(hb.DataError, match="leaves no generation"):
        generations.select(models="a", prompts="p2")


def test_cells_of(generations):
    assert generations.cells_of("b").tolist() == [2, 3]
    with pytest.raises(hb.Refusal, match="there are 2 models: choose one"):
        generations.cells_of()
    with pytest.raises(hb.DataError, match="no model 'z'"):
        generations.cells_of("z")


def test_summary(generations):
    table = generations.summary().set_index("model")
    assert table.loc["a"].to_dict() == {
        "prompts": 2,
        "generations": 3,
        "k_min": 1,
        "k_median": 1.5,
        "k_max": 2,
        "missing": 1,
        "mean": 0.75,
        "never_correct": 0.0,
        "always_correct": 0.5,
    }
    assert table.loc["b", ["prompts", "missing", "never_correct"]].tolist() == [2, 1, 0.5]


ROWS = pd.DataFrame(
    {
        "prompt": ["a", "a", "b", "b"], "model": "m", "generation": [1, 2, 1, 2], "correct": 1,
        "answer": "x", "run": 1, "prompt_group": "g", "answer_cluster": "c",
    }
)  # fmt: skip


@pytest.mark.parametrize("cell", [[1], (1, 0), {1}, {"v": 1}, np.array([1])], ids=str)
@pytest.mark.parametrize("column", ROWS.columns)
def test_cells_hold_one_value(column, cell):
    table = ROWS.astype(object)
    table.at[2, column] = cell
    with pytest.raises(hb.DataError, match=rf"column '{column}' of the generations .* in row 2"):
        Generations.from_frame(table)


COUNTED = pd.DataFrame({"prompt": ["a", "b"], "n_correct": [1, 2], "k": [3, 3]})


@pytest.mark.parametrize(
    ("table", "columns", "match"),
    [
        (ROWS, {"generation": "correct"}, "as correct and as generation"),
        (ROWS, {"prompt_group": "prompt"}, "as prompt and as prompt_group"),
        (ROWS, {"answer": "correct"}, "as answer and as correct"),
        (ROWS.drop(columns="model"), {"model": "prompt"}, "as prompt and as model"),
        (COUNTED, {"k": "n_correct"}, "as n_correct and as k"),
        (COUNTED, {"model": "k"}, "as model and as k"),
    ],
)
def test_one_column_serves_one_role(table, columns, match):
    with pytest.raises(hb.DataError, match=f"of the generations would serve {match}"):
        Generations.from_frame(table, columns=columns)


def test_ids_that_differ_by_blanks_at_the_ends_are_one():
    spaced = ROWS.assign(prompt=["a", "a ", " b", "b"], model=["m", "m ", " m", "m"])
    assert Generations.from_frame(spaced) == Generations.from_frame(ROWS)


@pytest.mark.parametrize("call", [lambda: Generations(ROWS), lambda: Generations("g.csv")])
def test_the_constructor_names_from_frame(call):
    with pytest.raises(TypeError, match=r"hb\.difficulty\.Generations\.from_frame\("):
        call()


N = 20


def laid_out(column, values, k=1, seed=0):
    """Each of the values on every prompt, k rows of each."""
    rng = np.random.default_rng(seed)
    parts = [
        pd.DataFrame(
            {
                "prompt": np.repeat([f"p{i}" for i in range(N)], k),
                "correct": rng.integers(0, 2, N * k),
                column: value,
            }
        )
        for value in values
    ]
    return pd.concat(parts, ignore_index=True)


def use_of(generations, column):
    (use,) = (use for use in generations.column_uses if use.column == column)
    return use


@pytest.mark.parametrize(
    "column", ["model_name", "model_id", "llm", "llm_name", "Model", "modelName", "Model Name"]
)
def test_other_names_of_the_model(column):
    found = Generations.from_frame(laid_out(column, ["big", "small"]))
    assert found.models.tolist() == ["big", "small"]
    assert set(found.k) == {1}
    assert use_of(found, column).serves_as == "model"


@pytest.mark.parametrize(
    "column", ["trial", "trial_index", "attempt", "epoch", "seed", "rollout", "Trial", "trialIndex"]
)
def test_other_names_of_the_generation(column):
    found = Generations.from_frame(laid_out(column, [1, 2, 3]))
    assert found.generation.tolist() == ["1", "2", "3"] * N
    assert use_of(found, column).serves_as == "generation"
    assert not found.findings


def test_doc_id_is_the_prompt():
    found = Generations.from_frame(laid_out("epoch", [1, 2]).rename(columns={"prompt": "doc_id"}))
    assert found.n_prompts == N


@pytest.mark.parametrize(
    "column", ["filter", "scorer", "metric", "judge", "task", "Judge Model", "temperature"]
)
def test_settings_are_no_repeats(column):
    frame = laid_out(column, ["a", "b"])
    match = rf"{column}.* takes 2 values .*'p0': rows 0, 20 .*only=.*ignore="
    with pytest.raises(hb.DataError, match=match):
        Generations.from_frame(frame)
    one = Generations.from_frame(frame, only={column: "b"})
    assert one.correct.tolist() == Generations.from_frame(frame[N:]).correct.tolist()
    assert use_of(one, column).how == "'b': 20 of 40 rows"
    assert use_of(Generations.from_frame(frame[N:]), column).serves_as == "setting"
    pooled = Generations.from_frame(frame, ignore=column)
    assert set(pooled.k) == {2}
    by_model = Generations.from_frame(frame, columns={"model": column})
    assert by_model.models.tolist() == ["a", "b"]


def test_a_setting_that_each_prompt_has_one_of_is_harmless():
    frame = laid_out("epoch", [1, 2])
    frame["task"] = np.where(frame["prompt"] < "p3", "sums", "words")
    found = Generations.from_frame(frame)
    assert use_of(found, "task").how == "one value for each model and prompt"


@pytest.mark.parametrize(
    ("only", "match"),
    [
        ({"filter": "c"}, "no row has 'c'; there are 'a', 'b'"),
        ({"filters": "a"}, "no column 'filters'"),
        ({"filter": []}, "no row has"),
        ("filter", "give columns and values"),
    ],
)
def test_wrong_choices_of_rows(only, match):
    with pytest.raises(hb.DataError, match=match):
        Generations.from_frame(laid_out("filter", ["a", "b"]), only=only)


@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("column", ["system", "variant", "prompt_version", "config"])
@pytest.mark.parametrize("holes", [False, True])
def test_unread_columns_that_tell_rows_apart_are_named(column, k, holes):
    frame = laid_out(column, ["a", "b"], k)
    if holes:
        frame = frame.drop(index=[3, 30])
    found = Generations.from_frame(frame)
    (finding,) = (f for f in found.findings if f.code == "unread_column")
    assert finding.severity == "warning"
    assert f"{column!r} was not read" in finding.message
    assert "'a', 'b'" in finding.message
    silenced = Generations.from_frame(frame, ignore=[column])
    assert "unread_column" not in silenced.findings.codes


def test_unread_columns_that_fall_by_chance_are_not_named():
    alarms = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        frame = laid_out("epoch", range(3), seed=seed)
        frame["reason"] = rng.choice(["stop", "length"], len(frame), p=[0.6, 0.4])
        frame["host"] = rng.choice(list("abcd"), len(frame))
        frame["latency"] = rng.random(len(frame))
        frame["target"] = frame["prompt"] + "!"
        alarms += "unread_column" in Generations.from_frame(frame).findings.codes
    assert alarms == 0


def test_a_second_name_of_the_index_is_not_needed():
    frame = laid_out("generation", [0, 1, 2]).assign(seed=lambda d: d["generation"] + 40, n=3)
    frame["file"] = "run" + frame["generation"].astype(str)
    found = Generations.from_frame(frame)
    assert found.generation.tolist() == ["0", "1", "2"] * N
    assert not found.findings
    assert Generations.from_frame(laid_out("seed", [42], 3)).generation is None
    crossed = pd.concat([laid_out("trial", [1, 2]).assign(attempt=a) for a in (1, 2)])
    with pytest.raises(hb.DataError, match=r"'trial', 'attempt'; choose one .* or join them"):
        Generations.from_frame(crossed)


def copies():
    one = laid_out("system", ["x"])
    three = laid_out("system", ["x"], 3)
    timed = three.assign(time=np.random.default_rng(1).random(len(three)))
    other = laid_out("system", ["x"], 2, seed=5)
    return {
        "the file twice": (pd.concat([one, one]), 20),
        "in any order": (pd.concat([one, one]).sample(frac=1, random_state=1), 20),
        "three times": (pd.concat([one] * 3), 40),
        "of several generations": (pd.concat([three, three]), 60),
        "with row numbers": (pd.concat([three, three], ignore_index=True).reset_index(), 60),
        "one model of two": (
            pd.concat([other.assign(model="a"), *[three.assign(model="b")] * 2]),
            60,
        ),
        "some rows, by their time": (pd.concat([timed, timed[:7]]), 7),
        "cells that are lists": (
            pd.concat([timed.assign(x=[["t"]] * 60), timed[:7].assign(x=[["t"]] * 7)]),
            7,
        ),
    }


@pytest.mark.parametrize(("frame", "extra"), copies().values(), ids=copies())
def test_the_same_rows_twice_are_refused(frame, extra):
    with pytest.raises(hb.DataError, match=rf"{extra} rows repeated: .*columns=.*generation"):
        Generations.from_frame(frame)
    numbered = frame.assign(epoch=range(len(frame)))
    assert Generations.from_frame(numbered).n_generations == len(frame)


@pytest.mark.parametrize(
    ("prompts", "k", "scores"),
    [(20, 2, "all right"), (4, 2, "as drawn"), (40, 3, "as drawn"), (40, 10, "as drawn")],
)
def test_generations_that_come_out_alike_are_read(prompts, k, scores):
    rng = np.random.default_rng(2)
    p = np.ones(prompts) if scores == "all right" else rng.beta(0.3, 0.3, prompts)
    frame = pd.DataFrame({"prompt": np.repeat(range(prompts), k)})
    frame["correct"] = (rng.random(len(frame)) < np.repeat(p, k)).astype(int)
    assert set(Generations.from_frame(frame).k) == {k}


BROKEN_ROWS = {
    "status": ("ok", "error"),
    "Status": ("success", "Timed Out"),
    "error": (None, "RateLimitError: slow down"),
    "error_message": ("", "boom"),
    "scoring_failed": (False, True),
    "failed": (0, 1),
    "is_error": ("no", "yes"),
}


@pytest.mark.parametrize("column", BROKEN_ROWS)
@pytest.mark.parametrize("kind", ["rows", "counts", "csv"])
def test_rows_that_broke_have_no_score(column, kind, tmp_path):
    fine, broken = BROKEN_ROWS[column]
    frame = laid_out("model", ["a", "b"])
    if kind == "counts":
        frame = frame.assign(n_correct=frame.pop("correct"), k=2)
    frame[column] = [broken if row in (1, 2, 3, 25) else fine for row in range(len(frame))]
    if kind == "csv":
        frame.to_csv(tmp_path / "t.csv", index=False)
        found = Generations.from_csv(tmp_path / "t.csv")
    else:
        found = Generations.from_frame(frame)
    (finding,) = (f for f in found.findings if f.code == "missing_scores")
    assert "('a' 3, 'b' 1)" in finding.message
    assert f"(4 by column {column!r})" in finding.message
    assert found.missing_prompt.tolist() == ["p1", "p2", "p3", "p5"]
    ignored = Generations.from_frame(frame, ignore=[column])
    assert ignored.missing_prompt is None


@pytest.mark.parametrize(
    ("column", "values", "codes"),
    [
        ("status", ("fail", "pass"), ("unclear_column",)),
        ("status", ("wrong", "correct"), ("unclear_column",)),
        ("error", (0.25, 0.5), ("unclear_column",)),
        ("status", (200, 200), ()),
        ("error", (None, None), ()),
    ],
)
def test_columns_that_say_nothing_of_missing_scores(column, values, codes):
    frame = laid_out("epoch", [1, 2])
    frame[column] = [values[score] for score in frame["correct"]]
    found = Generations.from_frame(frame)
    assert found.n_missing == 0
    assert found.findings.codes == codes


@pytest.mark.parametrize(
    ("column", "values"), [("status", ("failed", "success")), ("failed", (True, False))]
)
def test_failures_that_repeat_the_score_need_a_word(column, values):
    frame = laid_out("epoch", [1, 2])
    frame[column] = [values[score] for score in frame["correct"]]
    with pytest.raises(hb.DataError, match=rf"{column}.*exactly where 'correct' is 0.*ignore="):
        Generations.from_frame(frame)
    assert Generations.from_frame(frame, ignore=column).n_missing == 0


def test_wide_tables_are_told_the_call_that_makes_them_long():
    counts = pd.DataFrame({"prompt": list("ab"), "gpt": [1, 2], "cl": [2, 3], "k": 3, "x": 0.5})
    rows = pd.DataFrame({"prompt": list("aabb"), "epoch": [1, 2] * 2, "gpt": 1, "cl": True})
    for frame, shape in ((counts, (2, 3)), (rows, (2, 2))):
        with pytest.raises(hb.DataError, match=r"frame\.melt\(") as caught:
            Generations.from_frame(frame)
        call = str(caught.value).partition("one column each: ")[2]
        found = Generations.from_frame(eval(call, {"frame": frame}))
        assert found.models.tolist() == ["cl", "gpt"]
        assert (found.n_prompts, found.k.max()) == shape


def test_repeated_ids_name_the_columns_that_differ():
    frame = pd.DataFrame(
        {"prompt": list("abab"), "system": list("xxyy"), "n_correct": [1, 2, 1, 0], "k": 3}
    )
    with pytest.raises(hb.DataError, match=r"not read and could: 'system'"):
        Generations.from_frame(frame)


@pytest.mark.parametrize("column", ["answer", "answer_cluster", "response"])
def test_texts_that_came_out_alike_once_are_no_copies(column):
    texts = [f"the answer to question {n // 2} is, after long thought, {n} " * 2 for n in range(20)]
    texts[7] = texts[6]
    frame = pd.DataFrame({"prompt": np.arange(20) // 2, "correct": 1, column: texts})
    frame.loc[:5, "correct"] = 0
    assert Generations.from_frame(frame).n_generations == 20
