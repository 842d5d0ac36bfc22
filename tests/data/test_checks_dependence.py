"""Shared errors and shift by group: findings that an interval hangs on."""

import numpy as np
import pandas as pd
import pytest

from hero_bayes.agreement.dependence import dependence, worth_of_labels
from hero_bayes.data.checks import check
from hero_bayes.data.labels import Labels


def panel(seed, hard_share):
    """Six labelers; on hard items all of them err with chance 0.8, elsewhere with chance 0.1."""
    rng = np.random.default_rng(seed)
    n = 300
    truth = rng.random(n) < 0.4
    wrong = np.where(rng.random(n) < hard_share, 0.8, 0.1)
    if hard_share == 0:
        wrong = np.full(n, 0.3)
    label = truth[:, None] ^ (rng.random((n, 6)) < wrong[:, None])
    table = pd.DataFrame(
        {
            "item": np.repeat(np.arange(n), 6),
            "labeler": np.tile([f"j{k}" for k in range(6)], n),
            "label": label.ravel().astype(int),
        }
    )
    gold = np.where(rng.random(n) < 0.3, truth, np.nan)
    return Labels.from_frames(table, pd.DataFrame({"item": np.arange(n), "gold": gold}))


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_labelers_that_err_on_the_same_items(seed):
    found = check(panel(seed, 0.35))
    assert "errors_shared" in found.codes
    message = next(f.message for f in found if f.code == "errors_shared")
    assert "6.0 labels an item are worth about" in message


def test_independent_errors_are_rarely_called_shared():
    # The test has level 0.05: more than 4 of 20 has probability below 0.003.
    called = sum("errors_shared" in check(panel(seed, 0)).codes for seed in range(20))
    assert called <= 4


def test_arms_that_move_apart_are_each_named():
    rng = np.random.default_rng(0)

    def table(n, x, arm=None):
        items = pd.DataFrame({"item": np.arange(n), "x": x})
        if arm is not None:
            items["arm"] = arm
        labels = pd.DataFrame(
            {"item": np.repeat(np.arange(n), 3), "labeler": ["a", "b", "c"] * n}
        ).assign(label=rng.integers(0, 2, 3 * n))
        return Labels.from_frames(labels, items, covariates=["x"])

    history = table(400, rng.normal(size=400))
    arm = np.repeat(["A", "B"], 100)
    current = table(200, rng.normal(size=200) + np.where(arm == "A", 1.0, -1.0), arm)
    moved = [f.message for f in check(history, current) if f.code == "covariate_shifted"]
    assert len(moved) == 2
    assert "current group A" in moved[0]
    assert "current group B" in moved[1]


@pytest.mark.parametrize("seed", [1, 2])
def test_check_and_dependence_say_the_same(seed):
    labels = panel(seed, 0.35)
    message = next(f.message for f in check(labels) if f.code == "errors_shared")
    found = dependence(labels)
    assert found.visible
    assert f"correlation {found.overall.value:.2f} within a class" in message
    assert f"of the {found.n_items} gold items" in message
    assert f"worth about {found.effective_judges.value:.1f} independent" in message
    assert worth_of_labels(labels).startswith(found.sentence)


def test_check_says_nothing_where_dependence_refuses():
    labels = panel(1, 0.35)
    few = np.where(np.cumsum(labels.gold == 1) > 4, np.nan, labels.gold)
    assert "errors_shared" not in check(labels.with_gold(few)).codes
