import json
import math

import pytest

import hero_bayes as hb

COVARIATES = ["n_turns", "context_chars"]


def pair(files):
    return [
        *("--history", files.history, "--history-items", files.history_items),
        *("--current", files.current, "--current-items", files.current_items),
    ]


def flags():
    return [word for name in COVARIATES for word in ("--covariate", name)]


def as_json(done):
    assert done.code == 0, done.err
    return json.loads(done.out)


def test_json_equals_the_python_numbers(cli, files, rounds):
    told = as_json(cli("estimate", *pair(files), *flags(), "--prob", "0.9", "--json"))
    assert told["schema_version"] == 1
    assert [row["method"] for row in told["estimates"]] == [
        "majority_vote",
        "dawid_skene",
        "gold_rates",
        "hero1",
        "hero2",
        "score",
    ]
    for row in told["estimates"]:
        result = hb.estimate(
            rounds.history, rounds.current, method=row["method"], covariates=COVARIATES
        )
        low, high = result.interval(0.9)
        numbers = [row[name] for name in ("estimate", "standard_error", "lower", "upper")]
        assert numbers == pytest.approx([result.value, result.standard_error, low, high])
        assert row["estimand"] == result.estimand
        assert row["reason"] is None
    assert told["data"]["history"]["items"] == rounds.history.n_items
    assert told["data"]["current"]["fingerprint"]
    assert {entry["code"] for entry in told["findings"]} >= {"small_history", "errors_shared"}
    # Raters share errors here, so that the method which allows for it leads.
    assert told["finding"].startswith("calibrated score puts the rate at ")
    assert told["finding"].endswith(".")


def test_one_items_file_serves_both_rounds(cli, files):
    words = ["--history", files.history, "--current", files.current, "--items", files.items]
    one = as_json(cli("estimate", *words, *flags(), "--json"))
    two = as_json(cli("estimate", *pair(files), *flags(), "--json"))
    assert one["estimates"] == two["estimates"]
    assert one["data"]["item_rows_unused"] == 1


def test_an_items_file_of_one_round_alone_names_the_flags_for_two(cli, files):
    words = ["--history", files.history, "--current", files.current]
    done = cli("estimate", *words, "--items", files.history_items)
    assert done.code == 65
    assert "--history-items and --current-items" in " ".join(done.err.split())


def test_refusals_are_null_with_a_reason(cli, files):
    told = as_json(cli("estimate", "--current", files.current, "--json"))
    by_method = {row["method"]: row for row in told["estimates"]}
    assert by_method["hero1"]["refused"]
    assert by_method["hero1"]["estimate"] is None
    assert "--method majority_vote" in by_method["hero1"]["reason"]
    assert by_method["majority_vote"]["estimate"] is not None
    assert told["data"]["history"] is None
    assert "without a history" in told["finding"]


def test_a_refused_method_alone_is_65(cli, files):
    done = cli("estimate", *pair(files), "--method", "hero2")
    assert done.code == 65
    assert "refused" in done.err
    assert "--covariate" in done.err
    assert not done.out


def test_report_is_whole_and_ends_with_the_finding(cli, files):
    done = cli("estimate", *pair(files), *flags())
    assert done.code == 0
    lines = done.out.splitlines()
    assert lines[-1].startswith("FINDING: ")
    body = [line for line in lines if not line.startswith("FINDING: ")]
    assert max(map(len, body)) <= 100
    assert "\x1b" not in done.out
    assert "…" not in done.out
    for word in ("HISTORY", "CURRENT ROUND", "METHODS", "HERO-2", "WHAT TO WATCH"):
        assert word in done.out


def test_method_ridge_and_shrink_reach_the_estimator(cli, files, rounds):
    words = [*pair(files), *flags(), "--method", "hero2", "--shrink", "optimal", "--ridge", "3"]
    row = as_json(cli("estimate", *words, "--json"))["estimates"]
    assert len(row) == 1
    result = hb.estimate(
        rounds.history, rounds.current, covariates=COVARIATES, ridge=3.0, shrink="optimal"
    )
    assert row[0]["estimate"] == pytest.approx(result.value)


def test_words_and_other_column_names(cli, files, rounds, tmp_path):
    import pandas as pd

    for name in ("history", "current"):
        frame = pd.read_csv(files.folder / f"{name}.csv")
        frame["label"] = frame["label"].map({1: "yes", 0: "no"}).fillna("unsure")
        frame.columns = ["conversation_id", "labeler", "label"]
        frame.to_parquet(tmp_path / f"{name}.parquet")
    words = ["--history", tmp_path / "history.parquet", "--current", tmp_path / "current.parquet"]
    words += ["--history-items", files.history_items, "--positive", "yes", "--negative", "no"]
    words += ["--abstain", "unsure", "--column", "item=conversation_id", "--method", "hero1"]
    row = as_json(cli("estimate", *words, "--json"))["estimates"][0]
    assert row["estimate"] == pytest.approx(
        hb.estimate(rounds.history, rounds.current, method="hero1").value
    )


def test_group_is_chosen_or_named(cli, write):
    text = "item,labeler,label,arm\n" + "".join(
        f"{i},{j},{(i + j) % 2 if i % 3 else 1},{'AB'[i % 2]}\n"
        for i in range(40)
        for j in range(3)
    )
    path = write("arms.csv", text)
    told = as_json(cli("estimate", "--current", path, "--method", "majority_vote", "--json"))
    assert [row["group"] for row in told["estimates"]] == ["A", "B"]
    one = as_json(
        cli("estimate", "--current", path, "--method", "majority_vote", "--group", "B", "--json")
    )
    assert one["estimates"] == told["estimates"][1:]
    report = cli("estimate", "--current", path)
    assert " for A" in report.out.splitlines()[-1]
    wrong = cli("estimate", "--current", path, "--group", "C")
    assert wrong.code == 65
    assert "A, B" in wrong.err


def test_bad_data_is_said_in_flags(cli, write):
    path = write("third.csv", "item,labeler,label\n1,a,1\n1,b,0\n2,a,2\n")
    done = cli("estimate", "--current", path)
    assert done.code == 65
    assert "--abstain" in done.err
    assert "third.csv" in done.err
    twice = write("twice.csv", "item,labeler,label\n1,a,1\n1,a,0\n1,b,1\n")
    assert "--repeats majority" in cli("estimate", "--current", twice).err
    assert "--column" in cli("estimate", "--current", path, "--column", "item=nope").err


def test_no_number_is_nan(cli, files):
    done = cli("estimate", *pair(files), "--json")

    def refuse(word):
        raise AssertionError(word)

    told = json.loads(done.out, parse_constant=refuse)
    assert all(
        row["estimate"] is None or math.isfinite(row["estimate"]) for row in told["estimates"]
    )


def test_headline_leaves_hero2_where_the_covariate_moved(cli, write):
    import numpy as np
    import pandas as pd

    rng = np.random.default_rng(0)

    def tables(name, n, shift, gold):
        truth = rng.random(n) < 0.4
        label = truth[:, None] ^ (rng.random((n, 4)) < 0.2)
        labels = pd.DataFrame(
            {
                "item": np.repeat([f"{name}{i}" for i in range(n)], 4),
                "labeler": ["a", "b", "c", "d"] * n,
                "label": label.ravel().astype(int),
            }
        )
        items = pd.DataFrame(
            {"item": [f"{name}{i}" for i in range(n)], "x": truth + rng.normal(size=n) + shift}
        )
        if gold:
            items["gold"] = np.where(rng.random(n) < 0.4, truth, np.nan)
        return (
            write(f"{name}.csv", labels.to_csv(index=False)),
            write(f"{name}_items.csv", items.to_csv(index=False)),
        )

    past, now = tables("past", 300, 0.0, True), tables("now", 150, 1.5, False)
    files = ["--history", past[0], "--history-items", past[1]]
    files += ["--current", now[0], "--current-items", now[1]]
    done = cli("estimate", *files, "--covariate", "x")
    assert done.code == 0
    assert "FINDING: HERO-1 puts the rate at" in done.out


def test_no_anchored_answer_is_no_debiased_answer(cli, files):
    import pandas as pd

    strangers = pd.read_csv(files.current)
    strangers["labeler"] = "new " + strangers["labeler"]
    path = files.folder / "strangers.csv"
    strangers.to_csv(path, index=False)
    command = ["--history", files.history, "--history-items", files.history_items]
    done = cli("estimate", *command, "--current", path)
    assert "FINDING: no debiased answer" in done.out
