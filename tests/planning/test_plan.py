"""Plans against closed forms, and what they promise: order, costs, seeds, workers."""

import numpy as np
import pytest
from gold_rounds import simulated
from scipy.stats import beta, binom
from toy import make_labels

import hero_bayes as hb
from hero_bayes.planning.plan import plan

PERFECT_RATE = 0.2


def perfect(n=300, labelers=4):
    """Every labeler says the truth, and all of it is known."""
    truth = (np.arange(n) % 3 == 0).astype(int)
    item, who = np.divmod(np.arange(n * labelers), labelers)
    return make_labels(item, who, np.repeat(truth, labelers), {"gold": truth})


@pytest.fixture(scope="module")
def known():
    return plan(
        perfect(),
        "P(prevalence <= 0.3) >= 0.9",
        n_items=(40, 160),
        rate=PERFECT_RATE,
        model="hero",
        n_simulations=80,
        random_seed=1,
    )


@pytest.fixture(scope="module")
def rounds():
    return simulated(1)


def quick(rounds, rule=None, **changes):
    settings = {"n_items": (40, 120), "model": "hero", "n_simulations": 6, "draws": 200}
    return plan(rounds[0], rule, **settings | changes)


def test_width_with_perfect_labels_is_that_of_the_beta_posterior(known):
    for row in known.table.itertuples():
        n = row.n_items
        k = np.arange(n + 1)
        low, high = beta.ppf([[0.05], [0.95]], 1 + k, 1 + n - k)
        expected = binom.pmf(k, n, PERFECT_RATE) @ (high - low)
        # Quantiles of 400 draws are biased by less than 1 % of the width.
        assert abs(row.width - expected) < 4 * row.width_error + 0.01 * expected


def test_correct_decisions_with_perfect_labels_are_binomial(known):
    for row in known.table.itertuples():
        n = row.n_items
        k = np.arange(n + 1)
        most = k[beta.cdf(0.3, 1 + k, 1 + n - k) >= 0.9].max()
        # P(event) of 400 draws has a standard error of 0.015: one count more or less may do.
        low, high = binom.cdf([most - 1, most + 1], n, PERFECT_RATE)
        error = 4 * np.sqrt(0.25 / known.n_simulations)
        assert low - error < row.correct < high + error
        assert row.correct == row.ship
    assert known.table["correct"].is_monotonic_increasing


def test_coverage_and_rate(known):
    assert known.rate == pytest.approx((PERFECT_RATE,) * 3)
    # 80 simulations at 0.9: 4 standard errors are 0.134.
    assert (known.table["coverage"] > 0.9 - 0.134).all()


def test_more_items_and_labels_are_narrower(rounds):
    found = quick(rounds, n_items=(40, 200), labels_per_item=(1, 5), n_simulations=10)
    width = found.table.set_index(["n_items", "labels_per_item"])["width"]
    assert width[40, 1] > width[40, 5] > width[200, 5]
    assert width[40, 1] > width[200, 1] > width[200, 5]


def test_more_gold_is_narrower_where_gold_is_scarce():
    scarce = simulated(2, gold=15)
    found = quick(scarce, n_items=200, gold=(0, 120), model="score").table["width"]
    assert found[0] > 1.1 * found[1]


def test_designs_are_every_combination_with_their_costs(rounds):
    found = quick(
        rounds, labels_per_item=(2, 3), gold=(0, 10), n_simulations=2,
        costs={"label": 0.5, "gold": 4},
    ).table  # fmt: skip
    assert len(found) == 8
    assert (found["labels"] == found["n_items"] * found["labels_per_item"]).all()
    assert (found["cost"] == 0.5 * found["labels"] + 4 * found["gold"]).all()


def test_cheapest_is_the_cheapest_of_those_that_reach_the_target(rounds):
    free = quick(rounds, n_items=(20, 60, 180))
    target = float(free.table["width"].iloc[1]) * 1.001
    found = quick(rounds, n_items=(20, 60, 180), target_width=target, costs={"item": 2})
    assert found.table["meets_target"].tolist() == [False, True, True]
    assert found.cheapest["n_items"] == 60
    assert found.cheapest["cost"] == 120.0
    assert "60 items, 5 labels each" in str(found)
    none = quick(rounds, target_width=1e-6)
    assert none.cheapest is None
    assert "No design reaches" in str(none)


def test_target_of_decisions(known):
    found = plan(
        perfect(), "P(prevalence <= 0.3) >= 0.9", n_items=(10, 160), rate=PERFECT_RATE,
        model="hero", n_simulations=20, target_correct=0.8,
    )  # fmt: skip
    assert found.cheapest["n_items"] == 160
    assert "decided correctly" in str(found)


def test_seeds(rounds):
    first, again, other = (quick(rounds, random_seed=seed).table for seed in (1, 1, 2))
    assert first.equals(again)
    assert not first.equals(other)


def test_a_design_does_not_depend_on_the_others(rounds):
    both, one = quick(rounds), quick(rounds, n_items=120)
    assert both.table.tail(1).reset_index(drop=True).equals(one.table)


def test_workers_give_the_same_numbers(rounds):
    assert quick(rounds).table.equals(quick(rounds, n_workers=2).table)


def test_progress_goes_to_standard_error(rounds, capsys):
    quick(rounds, n_simulations=2, progressbar=True)
    said = capsys.readouterr()
    assert said.out == ""
    assert "plan: 100 %" in said.err


@pytest.mark.parametrize("model", ["auto", "score"])
def test_models_and_the_current_rate(rounds, model):
    found = plan(
        *(rounds[0], "P(item_rate <= 0.6) >= 0.8", rounds[1]),
        n_items=60,
        model=model,
        n_simulations=3,
        draws=200,
    )
    assert found.metric == "item_rate"
    assert found.rate[0] < 0.4  # the current round's, which is 0.3; history's is 0.4
    assert np.isfinite(found.table["width"]).all()


def test_the_groups_of_rules_and_arms(rounds):
    frames = rounds[1].to_frames()
    frames.items["arm"] = np.where(np.arange(len(frames.items)) % 2, "A", "B")
    current = hb.Labels.from_frames(frames.labels, frames.items)
    by_rule = quick(rounds, "P(prevalence[A] <= 0.3) >= 0.9", current=current)
    by_name = quick(rounds, "P(prevalence <= 0.3) >= 0.9", current=current, group="A")
    assert by_rule.table.equals(by_name.table)
    with pytest.raises(hb.DataError, match="name one with group="):
        quick(rounds, current=current)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rule": "P(B - A <= 0) >= 0.9"}, "of one group"),
        ({"rule": "P(mu <= 0.1) >= 0.9"}, "prevalence or item_rate"),
        ({"rule": "P(prevalence <= 0.1 and item_rate <= 0.1) >= 0.9"}, "one rule"),
        ({"metric": "mu"}, "metric"),
        ({"model": "pooled"}, "model"),
        ({"n_items": ()}, "n_items is empty"),
        ({"n_items": (0,)}, "n_items"),
        ({"labels_per_item": 0}, "labels_per_item"),
        ({"gold": 10_000}, "only 110 history items are without gold"),
        ({"costs": {"prompt": 1}}, "costs has item, label, gold"),
        ({"costs": {"item": -1}}, "not negative"),
        ({"target_width": 0}, "target_width"),
        ({"target_correct": 0.9}, "give a rule"),
        ({"rate": 1.0}, "rate"),
        ({"prob": 0}, "prob"),
        ({"n_simulations": 1}, "n_simulations"),
        ({"n_workers": 0}, "n_workers"),
    ],
)
def test_misuse(rounds, changes, message):
    with pytest.raises(ValueError, match=message):
        quick(rounds, **changes)


def test_more_labels_than_any_item_has(rounds):
    with pytest.raises(hb.Refusal, match="labels_per_item=6: 0 history items"):
        quick(rounds, labels_per_item=6)
