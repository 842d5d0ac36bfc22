"""Arguments of the wrong kind are named, before any work; a short list says why."""

import pandas as pd
import pytest

import hero_bayes as hb


@pytest.fixture(scope="module")
def rounds():
    made = hb.simulate(n_history=60, n_current=40, gold_rate=0.5, random_seed=1)
    return made.history, made.current


def test_what_is_no_table_is_named(rounds):
    history = rounds[0]
    for wrong in (None, "h", pd.DataFrame()):
        kind = type(wrong).__name__
        with pytest.raises(TypeError, match=f"history must be hb.Labels, got {kind}"):
            hb.plan(wrong)
        with pytest.raises(TypeError, match=f"current must be hb.Labels, got {kind}"):
            hb.next_gold(history, wrong, 5)
    with pytest.raises(TypeError, match=r"current must be hb\.Labels, got int"):
        hb.plan(history, current=5)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"costs": 5}, "costs has item, label, gold, got 5"),
        ({"target_width": "a"}, "target_width must be positive"),
        ({"prob": "a"}, "prob must lie between 0 and 1"),
        ({"random_seed": -1}, "random_seed is a whole number of at least 0"),
        ({"group": "A"}, "group='A' is one of current: give current too"),
    ],
)
def test_options_of_a_plan(rounds, options, message):
    with pytest.raises(ValueError, match=message):
        hb.plan(rounds[0], **options)


def test_one_rule_among_all_is_a_rule(rounds):
    text = "P(prevalence <= 0.5) >= 0.9"
    options = {"n_items": 20, "model": "hero", "n_simulations": 2, "draws": 100}
    found = hb.plan(rounds[0], hb.Rule.all([text]), **options)
    assert str(found.rule) == text
    assert found.sentences[0].startswith("1 design, 2 simulated rounds")


@pytest.mark.parametrize("share", [50, "a", None, True])
def test_share_of_random_items(rounds, share):
    with pytest.raises(ValueError, match="random_share must lie between 0 and 1"):
        hb.next_gold(*rounds, 5, random_share=share)


def test_a_budget_beyond_the_items_is_said(rounds):
    history, current = rounds
    asked = hb.next_gold(history, current, 1_000, where="current", draws=100)
    assert len(asked.items) == current.n_items
    assert any("the budget is 1,000 and only 40 items could be" in note for note in asked.notes)
    unranked = hb.next_gold(history.without_gold(), current, 1_000, draws=100)
    assert any(f"only {history.n_items} items" in note for note in unranked.notes)
    exact = hb.next_gold(history, current, 40, where="current", draws=100)
    assert not any("budget" in note for note in exact.notes)
