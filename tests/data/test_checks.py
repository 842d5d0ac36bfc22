"""Each finding appears when its cause does, and only then."""

import dataclasses

import numpy as np
import pandas as pd
import pytest

import hero_bayes as hb
from hero_bayes.data.checks import Finding, Findings, check
from hero_bayes.data.covariates import TextCovariates
from hero_bayes.data.labels import Labels

NAMES = ["a", "b", "c", "d"]


def frames(n, seed, prefix):
    """A clean round: four fair labelers, half of the items with gold, one covariate."""
    rng = np.random.default_rng(seed)
    truth = np.arange(n) % 2
    ids = [f"{prefix}{number}" for number in range(n)]
    items = pd.DataFrame({"item": ids, "gold": truth, "x": rng.normal(size=n)})
    items["text"] = "a word"
    right = rng.random((n, 4)) < 0.8
    label = np.where(right, truth[:, None], 1 - truth[:, None])
    table = pd.DataFrame(
        {"item": np.repeat(ids, 4), "labeler": NAMES * n, "label": label.ravel()}
    ).astype({"label": object})
    return table, items


H_TABLE, H_ITEMS = frames(80, 1, "h")
C_TABLE, C_ITEMS = frames(60, 2, "c")
C_ITEMS = C_ITEMS.drop(columns="gold")


def read(table, items, **options):
    return Labels.from_frames(table, items, **{"covariates": ["x"], **options})


HISTORY = read(H_TABLE, H_ITEMS)
CURRENT = read(C_TABLE, C_ITEMS)


def only(findings, code):
    """Return the finding, and insist that nothing else was found."""
    assert findings.codes == (code,), str(findings)
    return findings.findings[0]


def test_clean_rounds_give_nothing():
    findings = check(HISTORY, CURRENT)
    assert len(findings) == 0
    assert str(findings) == "Nothing found among the things checked."
    assert len(check(HISTORY)) == 0


def test_no_gold_and_gold_of_one_class():
    finding = only(check(HISTORY.without_gold(), CURRENT), "no_gold")
    assert finding.severity == "error"
    assert "experts" in finding.remedy
    ones = HISTORY.with_gold(np.where(HISTORY.gold == 1, 1, np.nan))
    finding = only(check(ones, CURRENT), "gold_one_class")
    assert finding.severity == "error"
    assert "no gold of class 0" in finding.message


def test_gold_in_the_current_round_counts():
    current = read(C_TABLE, C_ITEMS.assign(gold=np.arange(60) % 2))
    assert len(check(HISTORY, current)) == 0
    assert only(check(HISTORY.without_gold(), current), "gold_in_current_only").severity == (
        "warning"
    )


def test_few_gold():
    few = np.where((HISTORY.gold == 0) | (np.cumsum(HISTORY.gold == 1) <= 9), HISTORY.gold, np.nan)
    finding = only(check(HISTORY.with_gold(few), CURRENT), "few_gold")
    assert "only 9 gold items of class 1" in finding.message


def test_no_shared_labeler():
    current = read(C_TABLE.assign(labeler=C_TABLE["labeler"] + "2"), C_ITEMS)
    findings = check(HISTORY, current)
    assert findings.codes[0] == "no_shared_labeler"
    assert findings.findings[0].severity == "error"


def test_unseen_labelers_with_their_share():
    renamed = C_TABLE.assign(labeler=C_TABLE["labeler"].replace("d", "new"))
    findings = check(HISTORY, read(renamed, C_ITEMS))
    assert set(findings.codes) == {"unseen_labelers", "labelers_without_gold"}
    by_code = {finding.code: finding.message for finding in findings}
    assert "1 of 4 current labelers" in by_code["unseen_labelers"]
    assert "'new', with 25% of the current labels" in by_code["unseen_labelers"]


def test_labelers_without_gold_of_a_class():
    on_ones = H_TABLE["item"].isin(H_ITEMS.loc[H_ITEMS["gold"] == 1, "item"])
    history = read(H_TABLE[~(on_ones & (H_TABLE["labeler"] == "b"))], H_ITEMS)
    finding = only(check(history, CURRENT), "labelers_without_gold")
    assert "1 of 4 labelers has no label on gold of class 1: 'b'" in finding.message


def test_constant_covariate():
    findings = check(HISTORY, read(C_TABLE, C_ITEMS.assign(x=H_ITEMS["x"].mean())))
    finding = only(findings, "constant_covariate")
    assert "current: covariate 'x'" in finding.message


def test_covariate_constant_within_a_group():
    arm = np.where(np.arange(80) < 40, "A", "B")
    x = np.where(arm == "A", H_ITEMS["x"].mean(), H_ITEMS["x"])
    findings = check(read(H_TABLE, H_ITEMS.assign(arm=arm, x=x)), CURRENT)
    finding = only(findings, "covariate_constant_in_group")
    assert "'x' has one value within 'A' of history" in finding.message


def test_shifted_covariate():
    finding = only(
        check(HISTORY, read(C_TABLE, C_ITEMS.assign(x=C_ITEMS["x"] + 2))), "covariate_shifted"
    )
    assert "'x' moved by +" in finding.message
    assert finding.severity == "warning"


def test_covariate_in_one_round_only():
    finding = only(check(HISTORY, read(C_TABLE, C_ITEMS, covariates=[])), "covariate_not_shared")
    assert "'x' is missing in the current round" in finding.message
    text = read(C_TABLE, C_ITEMS, covariates=["x", TextCovariates("text")])
    assert (
        "'text' is missing in the history"
        in only(check(HISTORY, text), "covariate_not_shared").message
    )


def test_repeats_kept():
    twice = pd.concat([C_TABLE, C_TABLE.iloc[:3]])
    finding = only(check(HISTORY, read(twice, C_ITEMS, repeats="keep")), "repeats_kept")
    assert "3 labels in current repeating" in finding.message


def test_labeler_ids_that_differ_by_case_but_not_by_blanks():
    renamed = C_TABLE.assign(labeler=C_TABLE["labeler"].replace({"d": "D", "c": " c"}))
    messages = {f.code: f.message for f in check(HISTORY, read(renamed, C_ITEMS))}
    assert "labelers: 'D', 'd'" in messages["similar_labeler_ids"]


def test_items_in_both_rounds():
    table = C_TABLE.assign(item=C_TABLE["item"].replace("c0", "h0"))
    items = C_ITEMS.assign(item=C_ITEMS["item"].replace("c0", "h0"))
    finding = only(check(HISTORY, read(table, items)), "shared_items")
    assert "1 item id both in history and in the current round: 'h0'" in finding.message


def test_abstention_rates_that_differ():
    label = C_TABLE["label"].where(np.arange(len(C_TABLE)) % 5 != 0, None)
    findings = check(HISTORY, read(C_TABLE.assign(label=label), C_ITEMS))
    assert "from 0% of the verdicts in history to 20%" in only(findings, "abstention_rate").message
    rare = C_TABLE["label"].where(np.arange(len(C_TABLE)) % 12 != 0, None)
    assert len(check(HISTORY, read(C_TABLE.assign(label=rare), C_ITEMS))) == 0


def test_abstention_rates_of_few_verdicts_do_not_count():
    few = C_TABLE.iloc[:8].assign(label=[0, 1, 1, None, 0, 1, 1, None])
    codes = check(HISTORY, read(few, C_ITEMS.iloc[:2])).codes
    assert "abstention_rate" in codes
    quiet = few.assign(label=[0, 1, 1, None, 0, 1, 1, 0])
    history = HISTORY.select(items=HISTORY.items[:2])
    assert "abstention_rate" not in check(history, read(quiet, C_ITEMS.iloc[:2])).codes


def test_constant_labeler():
    label = C_TABLE["label"].where(C_TABLE["labeler"] != "b", 0)
    finding = only(check(HISTORY, read(C_TABLE.assign(label=label), C_ITEMS)), "constant_labeler")
    assert "same label in current" in finding.message
    assert finding.message.endswith("'b'")


def test_labelers_no_better_than_chance():
    flipped = H_TABLE["label"].where(H_TABLE["labeler"] != "c", 1 - H_TABLE["label"])
    history = read(H_TABLE.assign(label=flipped), H_ITEMS)
    finding = only(check(history, CURRENT), "no_better_than_chance")
    assert "1 of 4 labelers" in finding.message
    assert finding.message.endswith("'c'")


def test_labels_per_item_that_differ():
    less = C_TABLE[~C_TABLE["labeler"].isin(["d"])]
    assert len(check(HISTORY, read(less, C_ITEMS))) == 0
    rows = np.arange(len(C_TABLE))
    half = C_TABLE[(rows + rows // 4) % 2 == 0]
    finding = only(check(HISTORY, read(half, C_ITEMS)), "labels_per_item")
    assert "4 in history, 2 in the current round" in finding.message


def test_small_groups():
    arm = np.where(np.arange(60) < 31, "A", "B")
    finding = only(check(HISTORY, read(C_TABLE, C_ITEMS.assign(arm=arm))), "small_group")
    assert finding.severity == "note"
    assert finding.message.endswith("of current: B (29)")


def test_few_labelers():
    two = CURRENT.select(labelers=["a", "b"])
    codes = check(HISTORY, two).codes
    assert "few_labelers" in codes
    assert "few_labelers" not in check(two, CURRENT).codes
    assert check(HISTORY.select(labelers=["a", "b"])).codes == ("few_labelers",)


def test_small_history():
    history = HISTORY.select(items=HISTORY.items[:60])
    assert only(check(history, CURRENT), "small_history").severity == "warning"
    for shrink in ("optimal", None):
        assert len(check(history, CURRENT, shrink=shrink)) == 0
    bare = [dataclasses.replace(labels, covariates={}) for labels in (history, CURRENT)]
    assert len(check(*bare)) == 0
    texts = [
        dataclasses.replace(labels, texts={"words": labels.items.astype(object)}) for labels in bare
    ]
    assert only(check(*texts), "small_history").severity == "warning"


def test_empty_rounds_raise_nothing():
    empty = CURRENT.take_items([])
    assert "no_gold" not in check(HISTORY, empty).codes
    assert "no_gold" in check(empty, CURRENT).codes


def test_findings_are_a_table_with_the_gravest_first():
    findings = Findings(
        (
            Finding("note", "n", "a <b>", "do"),
            Finding("error", "e", "bad", "fix"),
            Finding("warning", "w", "hm", "look"),
            Finding("error", "f", "worse", "mend"),
        )
    )
    assert findings.codes == ("e", "f", "w", "n")
    assert [finding.code for finding in findings] == list(findings.codes)
    assert findings.table.columns.tolist() == ["severity", "code", "message", "remedy"]
    assert findings.table["severity"].tolist() == ["error", "error", "warning", "note"]
    assert str(findings).startswith("Found 2 errors, 1 warning, 1 note.\nERROR e: bad\n    -> fix")
    assert "<td>a &lt;b&gt;</td>" in findings._repr_html_()
    assert Findings(()).table.shape == (0, 4)


@pytest.mark.parametrize("labels", [HISTORY, HISTORY.without_gold(), CURRENT])
def test_every_finding_has_a_remedy(labels):
    for finding in check(labels, labels):
        assert finding.message
        assert finding.remedy


def test_one_table_without_gold_may_be_a_current_round():
    assert only(check(CURRENT), "no_gold").severity == "note"
    assert all(f.severity != "error" for f in check(CURRENT))


def test_rounds_that_changed_places():
    finding = next(f for f in check(CURRENT, HISTORY) if f.code == "gold_in_current_only")
    assert "are history and current swapped?" in finding.message
    assert "pass the table with gold as history" in finding.remedy
    assert "gold_in_current_only" not in check(HISTORY, HISTORY).codes
    assert "gold_in_current_only" not in check(HISTORY.without_gold(), CURRENT).codes


@pytest.mark.parametrize("method", ["score", "gold_rates", "hero1", "hero2"])
def test_refusals_of_rounds_that_changed_places_say_so(method):
    ones = HISTORY.with_gold(np.where(HISTORY.gold == 1, 1, np.nan))
    with pytest.raises(hb.Refusal, match="current table only: are history and current swapped"):
        hb.estimate(CURRENT, ones, method)
    with pytest.raises(hb.Refusal) as caught:
        hb.estimate(ones, CURRENT, method)
    assert "swapped" not in str(caught.value)


def test_fits_of_rounds_that_changed_places_say_so():
    gate = hb.diagnose(hb.fit(CURRENT, HISTORY, random_seed=1))
    assert any("are history and current swapped?" in reason for reason in gate.reasons)
    with pytest.raises(hb.Refusal, match="are history and current swapped"):
        hb.fit(CURRENT, HISTORY, model="score", random_seed=1)
    for rounds, said in (((CURRENT, HISTORY), True), ((HISTORY, CURRENT), False)):
        fitted = hb.fit(*rounds, model="hero", mode="map", random_seed=1)
        assert ("swapped?" in str(hb.summary(fitted))) is said
