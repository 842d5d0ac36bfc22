import json
import random
import shlex

import pandas as pd
import pytest

from hero_bayes.cli.exit_codes import BAD_DATA


@pytest.fixture
def words_file(write):
    """Answers yes, no and unsure, other column names, one repeat."""
    rng = random.Random(1)
    rows = [
        f"{i},rater{j},{rng.choice(['yes', 'no', 'no', 'unsure'] if j else ['yes', 'no'])}"
        for i in range(40)
        for j in range(4)
    ]
    lines = ["conversation_id,annotator,answer", *rows, rows[0]]
    return write("words.csv", "\n".join(lines) + "\n")


def told_as_json(done, code=0):
    assert done.code == code, done.err
    return json.loads(done.out)


def test_history_with_gold(cli, files):
    done = cli("check", files.history, files.history_items)
    assert done.code == 0
    lines = done.out.splitlines()
    assert lines[-1].startswith("FINDING: history.csv can serve as history")
    assert "n_turns, context_chars, response_chars" in done.out
    command = next(line for line in lines if line.startswith("  hero-bayes estimate"))
    named = ["--history", files.history, "--history-items", files.history_items]
    assert shlex.join(named) in command
    short = [x for x in lines if not x.startswith(("FINDING", "  hero-bayes"))]
    assert max(map(len, short)) <= 100


def test_table_without_gold_is_a_current_round(cli, files):
    told = told_as_json(cli("check", files.current, "--json"))
    support = {row["method"]: row for row in told["support"]}
    assert support["majority_vote"]["as_current"] == "yes"
    assert support["hero1"]["as_history"] == "no"
    assert "gold" in support["hero1"]["reason"]
    assert support["fit hero"]["as_history"] == "no"
    assert "current round only" in told["finding"]
    assert "--history" not in told["next_command"]


def test_next_command_runs(cli, files):
    words = ["check", files.history, files.items, "--current", files.current]
    told = told_as_json(cli(*words, "--covariate", "n_turns", "--json"))
    assert all(row["as_current"] == "yes" for row in told["support"])
    command = shlex.split(told["next_command"])
    assert command[:2] == ["hero-bayes", "estimate"]
    assert "--items" in command
    assert "optimal" in command
    done = cli(*command[1:])
    assert done.code == 0, done.err
    assert "no answer" not in done.out


def test_pair_names_missing_covariates(cli, files):
    words = ["check", files.history, files.items, "--current", files.current]
    told = told_as_json(cli(*words, "--json"))
    reason = next(row["reason"] for row in told["support"] if row["method"] == "hero2")
    assert "--covariate n_turns" in reason
    assert set(told["covariate_candidates"]) == {"n_turns", "context_chars", "response_chars"}
    assert "HERO-2 cannot" in told["finding"]


def test_words_are_read_and_the_flags_printed(cli, words_file):
    told = told_as_json(cli("check", words_file, "--json"))
    assert told["flags"] == shlex.split(
        "--column item=conversation_id --column label=answer --positive yes --negative no "
        "--abstain unsure --repeats majority"
    )
    assert {v["value"]: v["read_as"] for v in told["label_values"]} == {
        "yes": "1",
        "no": "0",
        "unsure": "no verdict",
    }
    assert len(told["assumed"]) == 3
    assert cli(*shlex.split(told["next_command"])[1:]).code == 0
    # With the flags, nothing is assumed any more.
    again = told_as_json(cli("check", words_file, *told["flags"], "--json"))
    assert not again["assumed"]
    assert again["data"] == told["data"]


def test_third_value_does_not_end_the_check(cli, write):
    rows = [f"{i},{j},{'0012'[(i * j + i) % 4]}" for i in range(20) for j in range(3)]
    path = write("third.csv", "\n".join(["item,labeler,label", *rows]) + "\n")
    done = cli("check", path)
    assert done.code == 0
    assert "--abstain 2" in done.out
    assert "if the assumption above holds" in done.out.splitlines()[-1]


def test_many_values_say_which_flags(cli, write):
    rows = [f"{i},{j},{1 + (i + j) % 5}" for i in range(20) for j in range(3)]
    path = write("likert.csv", "\n".join(["item,labeler,label", *rows]) + "\n")
    done = cli("check", path)
    assert done.code == 65
    assert "not decided" in done.out
    assert "--positive" in done.out
    assert done.out.splitlines()[-1].startswith("FINDING: ")
    told = told_as_json(cli("check", path, "--json"), code=65)
    assert not told["readable"]
    flags = "--positive 5 --negative 1 --abstain 2 --abstain 3 --abstain 4".split()
    assert cli("check", path, *flags, "--drop-unlabeled").code == 0


def test_items_without_labels_are_left_out_and_said(cli, files, write):
    items = write("items.csv", "item,gold\n4,1\n6,0\nnowhere,1\n")
    told = told_as_json(cli("check", files.current, items, "--json"))
    assert "--drop-unlabeled" in told["flags"]
    assert told["data"]["table"]["items_dropped"] == 1
    assert "'nowhere'" in " ".join(told["assumed"])


def test_missing_columns_name_the_flag(cli, write):
    path = write("strange.csv", "a,b,c\n1,2,1\n")
    done = cli("check", path)
    assert done.code == 65
    assert "--column item=YOUR_COLUMN" in " ".join(done.out.split())
    assert (
        cli("check", path, *"--column item=a --column labeler=b --column label=c".split()).code == 0
    )


def test_wrong_separator_is_named(cli, write):
    done = cli("check", write("semi.csv", "item;labeler;label\n1;a;1\n"))
    assert done.code == 65
    assert "semicolons" in done.err


def test_strangers_in_the_current_round(cli, files, write):
    rows = [f"{i},new{j},{(i + j) % 2}" for i in range(20) for j in range(4)]
    path = write("strangers.csv", "\n".join(["item,labeler,label", *rows]) + "\n")
    words = ["check", files.history, files.history_items, "--current", path]
    support = {r["method"]: r for r in told_as_json(cli(*words, "--json"))["support"]}
    assert support["hero1"]["as_current"] == "no"
    assert support["fit hero"]["as_current"] == "no"
    assert support["fit pooled"]["as_current"] == "yes"
    assert support["majority_vote"]["as_current"] == "yes"


def test_gzip_and_parquet(cli, files, tmp_path):
    import gzip

    import pandas as pd

    frame = pd.read_csv(files.history)
    frame.to_parquet(tmp_path / "h.parquet")
    with gzip.open(tmp_path / "h.csv.gz", "wt") as target:
        frame.to_csv(target, index=False)
    plain = told_as_json(cli("check", files.history, "--json"))["data"]
    for name in ("h.parquet", "h.csv.gz"):
        assert told_as_json(cli("check", tmp_path / name, "--json"))["data"] == plain


def test_gold_does_not_slip_into_a_round_with_the_same_ids(cli, write):
    rows = [f"{i},r{j},{(i + j) % 2}" for i in range(12) for j in range(3)]
    table = "\n".join(["item,labeler,label", *rows]) + "\n"
    first, second = write("one.csv", table), write("two.csv", table)
    items = write("items.csv", "item,gold\n" + "".join(f"{i},{i % 2}\n" for i in range(12)))
    told = told_as_json(cli("check", first, items, "--current", second, "--json"))
    assert told["data"]["history"]["gold_positive"] == 6
    assert told["data"]["current"]["gold_positive"] == 0
    assert "--history-items" in told["next_command"]
    assert "shared_items" in {entry["code"] for entry in told["findings"]}


def test_gold_is_guessed_only_when_it_can_be_gold(cli, write):
    rows = [f"{i},r{j},{(i + j) % 2},{i % 2},text {i}" for i in range(12) for j in range(3)]
    path = write("g.csv", "\n".join(["item,labeler,label,expert_label,truth", *rows]) + "\n")
    told = told_as_json(cli("check", path, "--json"))
    uses = {use["column"]: use["serves_as"] for use in told["columns"]}
    assert uses["truth"] == "not used"
    assert uses["expert_label"] == "gold"
    assert "gold=expert_label" in told["next_command"]


def test_negative_values_can_abstain(cli, write):
    path = write("neg.csv", "item,labeler,label\n1,a,1\n1,b,0\n1,c,-1\n2,a,0\n2,b,1\n2,c,1\n")
    told = told_as_json(cli("check", path, "--json"))
    assert told["flags"] == ["--abstain", "-1"]
    assert cli(*shlex.split(told["next_command"])[1:]).code == 0


VALUES = {
    "moderation": "Safe Safe Unsafe 'Off topic'",
    "likert": "1 2 3 4 4",
    "mixed": "good good fair poor unsure",
}
THREE = "item,labeler,label\n"


def told_problem(cli, path, *flags):
    """The problem and the words of the command proposed against it."""
    told = told_as_json(cli("check", path, *flags, "--json"), code=65)
    return told, shlex.split(told["next_command"] or "")


@pytest.mark.parametrize(
    ("values", "flags"),
    [
        ("moderation", ["--positive", "Unsafe"]),
        ("moderation", ["--positive", "Off topic", "--repeats", "majority"]),
        ("moderation", ["--positive", "Unsafe", "--covariate", "turns so far"]),
        ("likert", ["--positive", "1", "--drop-unlabeled"]),
        ("likert", ["--positive", "2", "--abstain", "3"]),
        ("likert", ["--abstain", "4"]),
        ("mixed", ["--positive", "poor", "--column", "item=item"]),
        ("mixed", ["--abstain", "unsure", "--column", "label=label"]),
    ],
)
def test_a_remedy_keeps_what_was_asked(cli, write, values, flags):
    rows = [f"{i},a,{value}" for i, value in enumerate(shlex.split(VALUES[values]))]
    path = write("v.csv", THREE + "\n".join(rows) + "\n")
    told, command = told_problem(cli, path, *flags)
    assert command[:3] == ["hero-bayes", "check", str(path)]
    for single in ("--positive", "--negative"):
        assert command.count(single) == 1, command
    asked = [flags[i : i + 2] for i in range(len(flags)) if flags[i].startswith("--")]
    pairs = [command[i : i + 2] for i in range(len(command))]
    for pair in asked:
        assert pair in pairs or pair[0] == "--drop-unlabeled" in command
    if "--positive" in flags:
        chosen = flags[flags.index("--positive") + 1]
        assert f"--positive {shlex.quote(chosen)}" in told["problem"]
    if "--covariate" not in flags:  # that column is in no table here
        assert cli(*command[1:]).code == 0


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--positive", "Unsfae"], "--positive Unsfae names"),
        (["--positive", "very bad"], "--positive 'very bad' names"),
    ],
)
def test_a_positive_that_no_label_has_is_named(cli, write, flags, said):
    path = write("v.csv", THREE + "1,a,Safe\n2,a,Unsafe\n3,a,Other\n")
    told, command = told_problem(cli, path, *flags)
    assert said in told["problem"]
    assert not command


def test_repeats_error_is_no_default_to_be_replaced(cli, write):
    path = write("v.csv", THREE + "1,a,1\n1,a,0\n2,a,1\n")
    assert cli("check", path).code == 0
    assert cli("check", path, "--repeats", "error").code == 65


def test_missing_columns_keep_the_other_options(cli, write):
    path, items = write("s.csv", "a,b,c\n1,2,yes\n"), write("i.csv", "a,gold\n1,yes\n")
    flags = ["--column", "item=a", "--positive", "yes", "--covariate", "x y"]
    told, command = told_problem(cli, path, items, *flags)
    assert command[1:4] == ["check", str(path), str(items)]
    for pair in (flags[:2], flags[2:4], flags[4:], ["--column", "label=YOUR_COLUMN"]):
        assert pair in [command[i : i + 2] for i in range(len(command))]
    assert "item=YOUR_COLUMN" not in told["next_command"]


def test_a_column_given_for_another_table_is_not_asked_again(cli, write):
    path, items = write("s.csv", "q,labeler,label\n1,2,1\n"), write("i.csv", "conv,gold\n1,1\n")
    told, command = told_problem(cli, path, items, "--column", "item=conv")
    assert "--column item=conv: give that name" in told["problem"]
    assert not command


def test_covariates_ask_for_the_items_of_the_current_round(cli, write):
    rows = [f"{i},r{j},{(i + j) % 2}" for i in range(12) for j in range(3)]
    path = write("h.csv", THREE + "\n".join(rows) + "\n")
    lines = [f"{i},{i % 2},{i}" for i in range(12)]
    items = write("i.csv", "\n".join(["item,gold,turns so far", *lines]) + "\n")
    told = told_as_json(cli("check", path, items, "--covariate", "turns so far", "--json"))
    command = shlex.split(told["next_command"])
    assert command[-2:] == ["--covariate", "turns so far"]
    assert command[command.index("--current-items") + 1] == "CURRENT_ITEMS.csv"


def test_a_nameless_column_is_not_guessed(cli, write):
    path = write("n.csv", ",labeler,label\n1,x,1\n2,y,0\n")
    done = cli("check", path)
    assert done.code == 65
    assert "--column item=YOUR_COLUMN" in done.out
    assert "the file gives it no name" in done.out
    path = write("e.csv", "item,labeler,label,,\n1,x,1,,\n2,y,0,,\n,,,,\n")
    assert "1 empty row and 2 empty columns left out" in cli("check", path).out


LONG = "a folder whose name is long and has blanks, " + "x" * 110


@pytest.mark.parametrize("folder", ["short", "with blanks", "y" * 120, LONG])
def test_paths_and_commands_stay_on_one_line(cli, tmp_path, folder):
    (tmp_path / folder).mkdir()
    path = tmp_path / folder / "my labels.csv"
    path.write_text("item,who said it,label,n\n1,a,Safe,0\n2,a,Unsafe,0\n3,b,Other,0\n")
    done = cli("check", path, "--positive", "Unsafe", "--column", "labeler=who said it")
    lines = done.out.splitlines()
    assert any("my labels.csv" in line for line in lines)
    command = next(line for line in lines if line.startswith("  hero-bayes check "))
    assert shlex.split(command)[2] == str(path)
    strange = tmp_path / folder / "strange.csv"
    strange.write_text("p,q,r\n1,2,1\n")
    assert any(str(strange) in line for line in cli("check", strange).out.splitlines())


LABELS = "item,labeler,label\n" + "".join(
    f"{i},{r},{(i + r) % 2}\n" for i in range(6) for r in (0, 1)
)
ITEMS = "item,label\n" + "".join(f"{i},{i % 2}\n" for i in range(6))


def test_gold_by_a_name_that_the_labels_have_comes_from_the_items(cli, write):
    past, items = write("past.csv", LABELS), write("gold.csv", ITEMS)
    now = write("now.csv", LABELS.replace("\n", "\nc").removesuffix("c"))
    told = told_as_json(
        cli("check", past, items, "--current", now, "--column", "gold=label", "--json")
    )
    serves = {(use["file"], use["column"]): use["serves_as"] for use in told["columns"]}
    assert serves["past.csv", "label"] == serves["now.csv", "label"] == "label"
    assert serves["gold.csv", "label"] == "gold"
    counts = {role: data["gold_positive"] for role, data in told["data"].items()}
    assert counts == {"history": 3, "current": 0}
    command = shlex.split(told["next_command"])
    done = cli(*command[1:], "--method", "gold_rates", "--json")
    assert done.code == 0, done.err
    assert json.loads(done.out)["data"]["history"]["gold_positive"] == 3


@pytest.mark.parametrize("command", [["check"], ["estimate", "--current"]])
@pytest.mark.parametrize(
    ("column", "said"),
    [
        (
            "gold=label",
            "--column gold=label: column 'label' of the labels table is the label already",
        ),
        ("arm=item", "column 'item' of the labels table is the item already"),
        ("item=label", "column 'label' of the labels table would serve as item and as label"),
        ("gold=other", "--column gold=other: no table has a column 'other'; found 'item'"),
    ],
)
def test_a_column_in_two_roles_is_refused(cli, write, command, column, said):
    done = cli(*command, write("v.csv", LABELS), "--column", column)
    assert done.code == BAD_DATA
    assert said in " ".join((done.out + done.err).split())


def test_gold_is_not_guessed_in_the_labels_where_there_are_items(cli, write):
    lines = LABELS.splitlines()
    beside = "\n".join([f"{lines[0]},truth", *(f"{line},1" for line in lines[1:])]) + "\n"
    items = write("items.csv", "item,x\n" + "".join(f"{i},{i}\n" for i in range(6)))
    told = told_as_json(cli("check", write("v.csv", beside), items, "--json"))
    assert told["data"]["table"]["gold_positive"] == 0
    assert told_as_json(cli("check", write("v.csv", beside), "--json"))["flags"] == [
        "--column",
        "gold=truth",
    ]


@pytest.mark.parametrize("column", ["item", "labeler", "label", "gold", "x"])
@pytest.mark.parametrize("command", ["check", "estimate"])
def test_cells_that_hold_lists_are_named(cli, tmp_path, command, column):
    table = pd.DataFrame(
        {"item": [1, 2], "labeler": "r", "label": [1, 0], "gold": [1, 0], "x": [0.5, 1.0]}
    ).astype(object)
    table[column] = table[column].map(lambda value: [value])
    table.to_parquet(tmp_path / "v.parquet")
    words = [tmp_path / "v.parquet", "--covariate", "x"]
    done = cli(command, *(["--current"] if command == "estimate" else []), *words)
    assert done.code == BAD_DATA
    said = " ".join((done.out + done.err).split())
    assert f"v.parquet: column '{column}' of the labels table holds array([" in said
    assert "in rows 0, 1 (counted from 0), where one value is needed: give each value" in said
    assert f"table.explode('{column}')" in said


def test_lists_in_columns_that_are_not_read_are_passed_over(cli, tmp_path):
    labels = pd.DataFrame({"item": [1, 2], "labeler": "r", "label": [1, 0], "t": [[1], [2, 3]]})
    items = pd.DataFrame({"item": [1, 2], "truth": [[1], [0]], "d": [{"a": 1}, {"a": 2}]})
    labels.to_parquet(tmp_path / "v.parquet")
    items.to_parquet(tmp_path / "i.parquet")
    told = told_as_json(cli("check", tmp_path / "v.parquet", tmp_path / "i.parquet", "--json"))
    assert told["readable"]
    assert told["covariate_candidates"] == []


def coded(name, values, prefix=""):
    return "item,labeler,label\n" + "".join(
        f"{prefix}{i},r{j},{values[(i + j) % len(values)]}\n" for i in range(8) for j in range(3)
    )


def test_both_rounds_are_read_by_the_words_of_both(cli, write):
    past, now = write("past.csv", coded("past", "12")), write("now.csv", coded("now", "2", "c"))
    gold = write("gold.csv", "item,gold\n" + "".join(f"{i},{1 + i % 2}\n" for i in range(8)))
    ones = write("now_gold.csv", "item,gold\nc0,1\nc1,1\n")
    words = ["--current", now, "--current-items", ones, "--positive", "2", "--json"]
    told = told_as_json(cli("check", past, gold, *words))
    assert told["data"]["current"]["gold_negative"] == 2
    done = cli("estimate", "--history", past, "--history-items", gold, *words)
    assert json.loads(done.out)["data"]["current"]["gold_negative"] == 2
    alone = cli("estimate", *words, "--method", "majority_vote")
    assert alone.code == BAD_DATA
    assert "--negative 1 takes the first, --negative 0 the second" in alone.err


def test_rounds_with_another_negative_word_each_are_refused(cli, write):
    past, now = write("past.csv", coded("past", "yn")), write("now.csv", coded("now", "ym", "c"))
    words = ["--current", now, "--positive", "y"]
    done = cli("estimate", "--history", past, *words)
    assert done.code == BAD_DATA
    assert "'n' in the labels table of past.csv, 'm' in the labels table of now.csv" in done.err
    assert cli("check", past, *words).code == BAD_DATA


def test_rounds_that_changed_places_are_told(cli, files):
    words = ["--current", files.history, "--current-items", files.history_items]
    told = told_as_json(cli("check", files.current, *words, "--json"))
    assert "gold_in_current_only" in [f["code"] for f in told["findings"]]
    done = cli("estimate", "--history", files.current, *words, "--method", "hero1")
    assert "gold is in the current table only: are history and current swapped?" in done.out
    assert "swapped" not in cli("check", files.history, files.items, "--current", files.current).out


def test_small_history_is_told_where_covariates_have_factor_1(cli, files):
    words = ["--history", files.history, "--items", files.items, "--current", files.current]
    options = ["--covariate", "n_turns", "--json"]

    def codes(*more):
        return [f["code"] for f in told_as_json(cli("estimate", *words, *more))["findings"]]

    assert "small_history" in codes(*options)
    assert "small_history" not in codes(*options, "--shrink", "optimal")
    assert "small_history" not in codes(*options, "--method", "hero1")
    assert "small_history" not in codes("--json")


def test_one_table_without_gold_gives_no_error(cli, files):
    told = told_as_json(cli("check", files.current, "--json"))
    assert not [f for f in told["findings"] if f["severity"] == "error"]
