"""Dependence of labelers: against direct formulas, known effects, and independence."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from scipy.stats import binom

import hero_bayes as hb
from hero_bayes.agreement import dependence as module
from hero_bayes.agreement.dependence import dependence
from hero_bayes.data import shared_errors as account
from hero_bayes.plots.dependence import plot_dependence


def table_of(label, gold, families=None):
    """Labels from an (item, labeler) array with NaN where there is no label."""
    item, labeler = np.nonzero(~np.isnan(label))
    verdicts = pd.DataFrame(
        {"item": item, "labeler": labeler, "label": label[item, labeler].astype(int)}
    )
    facts = pd.DataFrame({"item": range(len(gold)), "gold": gold})
    about = None
    if families is not None:
        about = pd.DataFrame({"labeler": range(label.shape[1]), "family": families})
    return hb.Labels.from_frames(verdicts, facts, about, unlabeled="drop")


def simulated(seed, n_items=200, n_labelers=5, loading=1.5, missing=0.0, families=None):
    """Labelers who share an effect of the item, and where wished one of the family."""
    rng = np.random.default_rng(seed)
    gold = (rng.random(n_items) < 0.4).astype(float)
    ability = np.linspace(0.6, 1.4, n_labelers)
    logit = np.where(gold == 1, 1.0, -1.0)[:, None] * ability
    logit = logit + loading * rng.standard_normal(n_items)[:, None]
    if families is not None:
        shared = {name: 3.0 * rng.standard_normal(n_items) for name in families}
        logit = logit + np.column_stack([shared[name] for name in families])
    label = (rng.random(logit.shape) < expit(logit)).astype(float)
    label[rng.random(label.shape) < missing] = np.nan
    return label, gold


def phi(x, y):
    """The phi coefficient from the four cells."""
    n11, n10 = np.sum((x == 1) & (y == 1)), np.sum((x == 1) & (y == 0))
    n01, n00 = np.sum((x == 0) & (y == 1)), np.sum((x == 0) & (y == 0))
    rows, columns = (n11 + n10) * (n01 + n00), (n11 + n01) * (n10 + n00)
    return (n11 * n00 - n10 * n01) / np.sqrt(rows * columns)


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_pairs_pool_the_phi_coefficients_of_the_classes(missing):
    label, gold = simulated(1, missing=missing)
    found = dependence(table_of(label, gold)).table
    assert len(found) == 10
    for row in found.itertuples():
        x, y = (label[:, int(name)] for name in (row.labeler_a, row.labeler_b))
        both = ~np.isnan(x) & ~np.isnan(y)
        assert row.n_common == both.sum()
        top, left, right = 0.0, 0.0, 0.0
        for truth in (0, 1):
            part = both & (gold == truth)
            spread = part.sum() * x[part].std() * y[part].std()
            top += phi(x[part], y[part]) * spread
            left += part.sum() * x[part].var()
            right += part.sum() * y[part].var()
        assert row.correlation == pytest.approx(top / np.sqrt(left * right), abs=1e-12)
        assert row.low < row.correlation < row.high
        assert row.reason == ""


@pytest.mark.parametrize("families", [None, ["x", "y", "x", "y", None]])
@pytest.mark.parametrize("missing", [0.0, 0.5])
@pytest.mark.parametrize("repeated", [False, True])
def test_mean_correlations_match_a_dense_table(missing, repeated, families):
    """Pair by pair and item by item, for two weightings of the items."""
    label, gold = simulated(21, n_items=60, missing=missing)
    label[:, 0] = simulated(21, n_items=60)[0][:, 0]  # no item without a label
    first = table_of(label, gold, families)
    values = label.copy()
    if repeated:
        again = simulated(22, n_items=60, missing=missing)[0]
        rows = [table_of(x, gold, families).to_frames() for x in (label, again)]
        first = hb.Labels.from_frames(
            pd.concat([r.labels for r in rows]), rows[0].items, rows[0].labelers, repeats="keep"
        )
        both = np.stack([label, again])
        count = (~np.isnan(both)).sum(axis=0)
        values = np.where(count > 0, np.nansum(both, axis=0) / np.maximum(count, 1), np.nan)
    known = account.labels_on_gold(first)
    order = np.argsort(gold, kind="stable")
    weights = np.random.default_rng(1).exponential(size=(2, 60))
    found = account.mean_correlations(known, weights)
    for k, weight in enumerate(weights):
        error = np.full_like(values, np.nan)
        by_item = np.empty(60)
        by_item[order] = weight
        for truth in (0, 1):
            for j in range(5):
                rows_j = (gold == truth) & ~np.isnan(values[:, j])
                mean = np.average(values[rows_j, j], weights=by_item[rows_j])
                error[rows_j, j] = values[rows_j, j] - mean
        level = np.nansum(by_item[:, None] * error**2) / (by_item[:, None] * ~np.isnan(error)).sum()
        sums = {"overall": [0.0, 0.0], "within": [0.0, 0.0], "between": [0.0, 0.0]}
        for a in range(5):
            for b in range(5):
                both_known = ~np.isnan(error[:, a] * error[:, b])
                same = families is not None and families[a] == families[b] is not None
                for role in ("overall", "within" if same else "between"):
                    if a != b:
                        product = (error[:, a] * error[:, b])[both_known]
                        sums[role][0] += by_item[both_known] @ product
                        sums[role][1] += by_item[both_known].sum()
        for role, (top, size) in sums.items():
            value = getattr(found, role)[k]
            if size:
                assert value == pytest.approx(top / size / level, abs=1e-12), role
            else:
                assert np.isnan(value)


def test_large_tables_share_weights_among_items(monkeypatch):
    """The pairs' values stay; their intervals are as wide as with a weight an item."""
    labels = table_of(*simulated(23, n_items=600, n_labelers=6))
    exact = dependence(labels)
    monkeypatch.setattr(module, "LARGEST_PAIR_SUMS", 15 * 2 * 60)  # 60 blocks a class
    shared = dependence(labels)
    np.testing.assert_allclose(
        shared.table["correlation"], exact.table["correlation"], rtol=0, atol=1e-12
    )
    width = [found.table["high"] - found.table["low"] for found in (exact, shared)]
    # Variance of a variance from 120 blocks and 400 draws: 13 % of each width; 15 pairs averaged.
    assert 0.85 < (width[1] / width[0]).mean() < 1.15
    assert not np.array_equal(width[0], width[1])
    assert shared.overall == exact.overall


def test_blocks_of_weights_give_the_same_interval(monkeypatch):
    labels = table_of(*simulated(24, missing=0.3))
    exact = dependence(labels).overall
    monkeypatch.setattr(account, "BLOCK", 3_000)  # 15 draws of 200 items at once
    assert dependence(labels).overall.low == pytest.approx(exact.low, abs=1e-12)
    assert dependence(labels).overall.high == pytest.approx(exact.high, abs=1e-12)


def test_mean_correlation_is_what_the_vote_counts_say():
    label, gold = simulated(2)
    found = dependence(table_of(label, gold))
    between, single = 0.0, 0.0
    for truth in (0, 1):
        part = label[gold == truth]
        between += len(part) * part.sum(axis=1).var()
        single += len(part) * part.var(axis=0).sum()
    expected = (between / single - 1) / 4
    assert found.overall.value == pytest.approx(expected, abs=1e-12)
    worth = 5 / (1 + 4 * expected)
    assert found.effective_judges.value == pytest.approx(worth, abs=1e-12)
    assert found.effective_judges.low < worth < found.effective_judges.high
    assert found.sentence.startswith(f"5 judges carry the information of {worth:.1f} (")


def test_identical_labelers_are_worth_one():
    label, gold = simulated(3, n_labelers=1)
    found = dependence(table_of(np.repeat(label, 4, axis=1), gold))
    assert found.overall.value == pytest.approx(1.0)
    assert found.effective_judges.value == pytest.approx(1.0)
    np.testing.assert_allclose(found.table["correlation"], 1.0)


def test_independent_labelers_keep_their_number_and_shared_errors_are_seen():
    alone, together = (
        dependence(table_of(*simulated(4, n_items=600, loading=loading))) for loading in (0.0, 2.0)
    )
    assert alone.overall.low < 0.0 < alone.overall.high
    assert alone.effective_judges.high == 5.0
    assert (alone.votes["p_value"] > 0.01).all()
    assert together.overall.low > 0.2
    assert together.effective_judges.high < 3.0
    assert (together.votes["p_value"] < 0.01).all()
    assert (together.votes["observed"] > together.votes["high"]).all()


def test_vote_checks_match_the_observed_variance_and_that_of_independence():
    label, gold = simulated(5, n_items=2000)
    votes = dependence(table_of(label, gold)).votes.set_index("gold")
    for truth in (0, 1):
        part = label[gold == truth]
        rate = part.mean(axis=0)
        independent = (rate * (1 - rate)).sum()
        # Rates are redrawn: expectations move by sqrt(independent / n) around the fitted ones.
        noise = 10 * independent / len(part) + 0.02
        assert votes.loc[truth, "observed"] == pytest.approx(part.sum(axis=1).var(), abs=noise)
        # Variance of 500 means of n squared distances, whose own variance is below 2 V^2 + V.
        error = 5 * np.sqrt((2 * independent**2 + independent) / len(part))
        assert votes.loc[truth, "independent"] == pytest.approx(independent, abs=error)


@pytest.mark.slow
@pytest.mark.parametrize("missing", [0.0, 0.4])
def test_intervals_cover(missing):
    truth = dependence(table_of(*simulated(6, n_items=40_000, missing=missing))).overall.value
    inside = 0
    for seed in range(60):
        label, gold = simulated(100 + seed, n_items=100, missing=missing)
        found = dependence(table_of(label, gold), prob=0.9).overall
        inside += found.low <= truth <= found.high
    # The chance of fewer than this at a coverage of 0.87 is 1e-4.
    assert inside >= binom.ppf(1e-4, 60, 0.87)


def test_families_err_together():
    families = ["x", "x", "y", "y", None]
    label, gold = simulated(7, loading=0.3, families=["x", "x", "y", "y", "z"])
    found = dependence(table_of(label, gold, families))
    within, between = found.families["correlation"]
    assert within > between + 0.2
    table = found.table.set_index(["labeler_a", "labeler_b"])
    assert table["same_family"].sum() == 2
    assert table.loc[("0", "1"), "same_family"]
    assert not table.loc[("0", "4"), "same_family"]
    # All pairs: two within, eight between, weighted by pairs.
    assert found.overall.value == pytest.approx((2 * within + 8 * between) / 10, abs=1e-12)
    assert "Within families" in str(found)
    assert dependence(table_of(label, gold)).families is None


def test_pairs_without_enough_in_common_get_a_reason():
    label, gold = simulated(8, n_labelers=4)
    label[:100, 0] = np.nan
    label[103:, 1] = np.nan
    label[:, 3] = np.where(gold == 1, 1.0, 0.0)
    found = dependence(table_of(label, gold)).table.set_index(["labeler_a", "labeler_b"])
    few, constant = found.loc[("0", "1")], found.loc[("2", "3")]
    assert np.isnan(few["correlation"])
    assert few["reason"] == "3 gold items in common, fewer than 5"
    assert np.isnan(constant["correlation"])
    assert "labels of 3" in constant["reason"]
    assert (found["correlation"].notna() == (found["reason"] == "")).all()
    assert found.loc[("1", "2"), "reason"] == ""


def test_refusals():
    label, gold = simulated(9, n_items=60)
    few = np.where(np.cumsum(gold == 1) > 4, np.where(gold == 1, np.nan, gold), gold)
    with pytest.raises(hb.Refusal, match="4 of class 1: give more gold"):
        dependence(table_of(label, few))
    alone = np.full_like(label, np.nan)
    alone[np.arange(60), np.arange(60) % 2] = 1.0
    with pytest.raises(hb.Refusal, match="several labelers judge the same"):
        dependence(table_of(alone, gold))
    perfect = np.repeat(gold[:, None], 3, axis=1)
    with pytest.raises(hb.Refusal, match="differ within a class"):
        dependence(table_of(perfect, gold))
    with pytest.raises(ValueError, match="prob"):
        dependence(table_of(label, gold), prob=1.5)


def test_seeds_and_print():
    labels = table_of(*simulated(10))
    first, again, other = (dependence(labels, seed) for seed in (1, 1, 2))
    pd.testing.assert_frame_equal(first.table, again.table)
    assert first.overall == again.overall
    assert first.overall.value == other.overall.value
    assert first.overall.low != other.overall.low
    assert first.sentence in str(first)
    assert "<table" in first._repr_html_()


def test_labelers_with_few_gold_labels_are_named_as_left_out():
    label, gold = simulated(11)
    label[3:, 4] = np.nan
    found = dependence(table_of(label, gold))
    assert found.n_judges == 4
    assert found.left_out.startswith("1 labeler")
    assert "4" not in set(found.table["labeler_b"])


def test_heat_map():
    pytest.importorskip("matplotlib")
    found = dependence(table_of(*simulated(12)))
    figure = plot_dependence(found)
    axes = figure.axes[0]
    grid = np.asarray(axes.images[0].get_array().filled(np.nan))
    row = found.table.iloc[0]
    assert grid[0, 1] == grid[1, 0] == row["correlation"]
    assert np.isnan(np.diag(grid)).all()
    assert [tick.get_text() for tick in axes.get_xticklabels()] == list("01234")
