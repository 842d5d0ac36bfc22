"""Comparisons of arms: contrasts, ranks, pairing by prompt, and what is refused."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from decision.trees import known_fit, round_of, tree
from scipy import stats
from toy import simulate

import hero_bayes as hb
from hero_bayes.decision.compare_arms import compare_arms
from hero_bayes.decision.decide import decide
from hero_bayes.decision.paired import items_of_arms, paired_rates

#: Relative standard error of an sd from n independent draws is 1 / sqrt(2 n).
DRAWS = 4000
SD_ERROR = 1 / np.sqrt(2 * DRAWS)


def truths(rng, n, shape=None, rate=0.25, arms=2):
    """Truths (arm, prompt); prompts share a chance Beta(shape) where it is given."""
    chance = np.full(n, rate) if shape is None else rng.beta(*shape, n)
    return (rng.random((arms, n)) < chance).astype(int)


def difference(comparison, arm="B"):
    return comparison.draws["difference"].sel(arm=arm).to_numpy().ravel()


@pytest.fixture(scope="module")
def three():
    rng = np.random.default_rng(4)
    rates = rng.beta([8, 10, 14], [192, 190, 186], (4, 500, 3))
    rates[0, :50, 1] = rates[0, :50, 0]  # ties
    rates[0, 50:60, 0] = 0.0
    return tree({"prevalence": rates}, ("r2/A", "r2/B", "r2/C"), ("A", "B", "C"), random_seed=3)


@pytest.mark.parametrize("lower_is_better", [True, False])
def test_contrasts_ranks_and_chances(three, lower_is_better):
    found = compare_arms(three, reference="B", lower_is_better=lower_is_better)
    rates = three["posterior"]["prevalence"].to_numpy()
    a, b, c = np.moveaxis(rates, -1, 0)
    draws = found.draws
    assert np.array_equal(draws["difference"].sel(arm="A"), a - b)
    assert np.array_equal(draws["ratio"].sel(arm="C"), c / b)
    odds = c / (1 - c) / (b / (1 - b))
    np.testing.assert_allclose(draws["odds_ratio"].sel(arm="C"), odds, rtol=1e-12)
    sign = 1 if lower_is_better else -1
    better = np.mean(sign * a < sign * b) + 0.5 * np.mean(a == b)
    assert found.probability_better("A") == pytest.approx(better, abs=1e-12)
    assert found.probability_better("B", than="A") == pytest.approx(1 - better, abs=1e-12)
    # Ties go either way at random: the shares lie between those of the two strict readings.
    lowest = stats.rankdata(sign * rates, axis=-1, method="min").reshape(-1, 3)
    highest = stats.rankdata(sign * rates, axis=-1, method="max").reshape(-1, 3)
    best = draws["probability_best"].to_numpy()
    assert (best <= (lowest == 1).mean(0) + 1e-12).all()
    assert (best >= ((lowest == 1) & (highest == 1)).mean(0) - 1e-12).all()
    ranks = draws["rank_probability"].to_numpy()
    np.testing.assert_allclose(ranks.sum(axis=0), 1, atol=1e-12)
    np.testing.assert_allclose(ranks.sum(axis=1), 1, atol=1e-12)
    assert np.array_equal(ranks[:, 0], best)


def test_table(three):
    found = compare_arms(three)
    table = found.table(prob=0.9).set_index("arm")
    rates = three["posterior"]["prevalence"].to_numpy().reshape(-1, 3)
    gap = rates[:, 2] - rates[:, 0]
    row = table.loc["C"]
    assert row["difference"] == pytest.approx(gap.mean(), rel=1e-12)
    ends = [row["difference_lower"], row["difference_upper"]]
    np.testing.assert_allclose(ends, np.quantile(gap, [0.05, 0.95]), rtol=1e-12)
    # A rate of 0 makes a ratio infinite, never no number.
    assert np.isinf(found.draws["ratio"].sel(arm="C").to_numpy()).sum() == 10
    missing = table.drop(columns="note").isna().any(axis=1)
    assert missing.to_dict() == {"A": True, "B": False, "C": False}
    assert table.loc["A", "note"] == "the reference"
    order = found.draws["rank_probability"].to_numpy()
    for k, arm in enumerate("ABC"):
        low, high = table.loc[arm, ["rank_lower", "rank_upper"]]
        assert order[k, : low - 1].sum() < 0.05 <= order[k, :low].sum()
        assert order[k, : high - 1].sum() < 0.95 <= order[k, :high].sum() + 1e-12
    assert "joint posterior" in str(found)
    assert "flattered by the choice" in str(found)
    assert "<table" in found._repr_html_()
    with pytest.raises(ValueError, match="prob must lie between 0 and 1"):
        found.table(prob=95)


def test_labeler_draws_are_shared_unless_told_otherwise():
    """Two arms moved alike by the labelers: sd of the difference 0.002 paired, 0.05 sqrt(2) not."""
    rng = np.random.default_rng(5)
    moved = rng.normal(0.3, 0.05, (4, 1000))
    rates = np.stack([moved, moved + rng.normal(0, 0.002, (4, 1000))], axis=-1)
    fit = tree({"prevalence": rates}, ("A", "B"), random_seed=1)
    paired, naive = compare_arms(fit), compare_arms(fit, paired=False)
    assert difference(paired).std() == pytest.approx(0.002, rel=4 * SD_ERROR)
    assert difference(naive).std() == pytest.approx(0.05 * np.sqrt(2), rel=4 * SD_ERROR)
    assert np.array_equal(np.sort(naive.draws["rate"], None), np.sort(rates, None))
    assert (paired.pairing, naive.pairing) == ("labelers", "none")
    assert "pass current=" in paired.notes[0]
    assert "naive" in naive.notes[0]


@pytest.mark.parametrize("prior", [(1.0, 1.0), (2.0, 9.0)])
def test_single_arms_keep_their_posterior(prior):
    """One item a prompt and known truths: Beta(a + k, b + n - k), 0 positives included."""
    rng = np.random.default_rng(6)
    truth = truths(rng, 60)
    truth[1] = 0
    current = round_of(truth)
    items = items_of_arms(current, ["A", "B"])
    known = np.tile(np.where(current.gold == 1, np.inf, -np.inf), (DRAWS, 1))
    rates = paired_rates(known[:, items.item_idx], np.full((DRAWS, 2), 0.3), items, prior, rng)
    for arm, k in enumerate(truth.sum(axis=1)):
        law = stats.beta(prior[0] + k, prior[1] + 60 - k)
        assert stats.kstest(rates[:, arm], law.cdf).pvalue > 1e-3


@pytest.mark.parametrize("shape", [(0.2, 0.6), None])
def test_prompts_narrow_the_difference_by_their_correlation(shape):
    """The variance of a paired difference is that of two means less twice their covariance."""
    rng = np.random.default_rng(7)
    truth = truths(rng, 400, shape)
    current = round_of(truth)
    fit = known_fit(current, np.zeros(800), rng, draws=DRAWS)
    paired = compare_arms(fit, current=current)
    naive = compare_arms(fit, current=current, paired=False)
    assert (paired.pairing, paired.n_shared) == ("prompts", 400)
    ratio = difference(paired).std() / difference(naive).std()
    covariance = np.cov(truth)
    expected = np.sqrt(1 - 2 * covariance[0, 1] / np.trace(covariance))
    # Errors of two sds, and the prior's two items among 400.
    assert ratio == pytest.approx(expected, rel=4 * SD_ERROR * np.sqrt(2) + 2 / 400)
    narrow = paired.table()["difference_upper"] - paired.table()["difference_lower"]
    wide = naive.table()["difference_upper"] - naive.table()["difference_lower"]
    # A width between two quantiles has 1.5 % error, a ratio of two 2.1 %.
    assert narrow[1] / wide[1] == pytest.approx(expected, rel=4 * 0.021 + 2 / 400)
    assert bool(expected < 0.75) is (shape is not None)


def test_generations_of_a_prompt_are_resampled_together():
    """Five equal answers a prompt are worth one: the sd of a rate is that of n prompts, not 5 n."""
    rng = np.random.default_rng(8)
    truth = np.repeat(truths(rng, 80), 5, axis=1)
    current = round_of(truth, prompts=np.tile(np.repeat(np.arange(80), 5), 2))
    fit = known_fit(current, np.zeros(800), rng, draws=DRAWS)
    rate = compare_arms(fit, current=current).draws["rate"].sel(arm="A").to_numpy()
    k = truth[0].sum() // 5
    law = stats.beta(1 + k, 81 - k)
    assert rate.mean() == pytest.approx(law.mean(), abs=4 * law.std() / np.sqrt(DRAWS))
    assert rate.std() == pytest.approx(law.std(), rel=4 * SD_ERROR)


def test_rates_are_never_surer_than_the_fit():
    """Evidence without the labelers' uncertainty: the fit's own law stays, and so do the ranks."""
    rng = np.random.default_rng(12)
    truth = truths(rng, 200, (0.2, 0.6))
    current = round_of(truth)
    fit = known_fit(current, np.zeros(400), rng, draws=DRAWS)
    plain = compare_arms(fit, current=current)
    assert not any("widened" in note for note in plain.notes)
    own = fit["posterior"]["prevalence"]
    wide = own.copy(data=own.to_numpy())
    wide[..., 1] = 0.2 + 2 * (own[..., 1] - 0.2)
    fit["posterior"] = fit["posterior"].to_dataset().assign(prevalence=wide)
    found = compare_arms(fit, current=current)
    assert any("widened to it: 'B'" in note for note in found.notes)
    a, b = (found.draws["rate"].sel(arm=arm).to_numpy().ravel() for arm in "AB")
    assert np.array_equal(a, plain.draws["rate"].sel(arm="A").to_numpy().ravel())
    assert np.quantile(b, [0.05, 0.5, 0.95]) == pytest.approx(
        np.quantile(wide[..., 1], [0.05, 0.5, 0.95]), abs=1e-3
    )
    before = plain.draws["rate"].sel(arm="B").to_numpy().ravel()
    assert np.array_equal(np.argsort(b), np.argsort(before))


def test_a_rule_on_paired_draws():
    rng = np.random.default_rng(9)
    truth = truths(rng, 200, (0.2, 0.6))
    current = round_of(truth)
    found = compare_arms(known_fit(current, np.zeros(400), rng), current=current)
    decision = decide(found.fit, "P(B - A <= 0.02) >= 0.9")
    assert decision.probability == np.mean(difference(found) <= 0.02)


def test_prompts_that_are_not_shared():
    rng = np.random.default_rng(10)
    truth = truths(rng, 50)
    current = round_of(truth, prompts=np.arange(100))
    fit = known_fit(current, np.zeros(100), rng)
    found = compare_arms(fit, current=current)
    assert (found.pairing, found.n_shared) == ("labelers", 0)
    assert "no prompt was answered by two arms" in found.notes[0]
    assert np.array_equal(found.draws["rate"], fit["posterior"]["prevalence"])
    # Items without a prompt id are prompts of their own.
    partly = round_of(truth, prompts=np.where(np.arange(100) % 50 < 20, np.arange(100) % 50, None))
    items = items_of_arms(partly, ["A", "B"])
    assert items.n_shared == 20
    assert np.unique(items.prompt_idx).tolist() == list(range(80))


def test_through_a_fit_with_rows_in_any_order():
    history, current = simulate(13, n_current=90, arms=("A", "B", "C"), current_gold=0.1).rounds
    frames = current.to_frames()
    items = frames.items.assign(prompt=np.arange(90) // 3)
    tables = [
        hb.Labels.from_frames(frames.labels.iloc[::step], items.iloc[::step], covariates=["x"])
        for step in (1, -1)
    ]
    found = []
    for table in tables:
        fit = hb.fit(history, table, model="score", random_seed=1, draws=250)
        found.append(compare_arms(fit, "C", current=table))
    assert found[0].table().equals(found[1].table())
    assert found[0].n_shared == 30
    adjusted = hb.adjust(fit, history, table)
    by_item = compare_arms(adjusted, metric="prevalence_adjusted", current=table)
    assert (by_item.pairing, by_item.arms) == ("labelers", ("A", "B", "C"))
    other = table.without_gold()
    with pytest.raises(hb.DataError, match="not the one this fit was made from"):
        compare_arms(fit, current=other)


def test_what_cannot_be_compared(three):
    with pytest.raises(hb.DataError, match=r"no arm 'D' in this round; there are 'A', 'B', 'C'"):
        compare_arms(three, reference="D")
    assert compare_arms(three, reference="r2/B").reference == "B"
    with pytest.raises(ValueError, match="metric 'recall' is none of"):
        compare_arms(three, metric="recall")
    one = tree({"prevalence": np.full((2, 9, 1), 0.1) + np.arange(9)[:, None] / 99})
    with pytest.raises(hb.Refusal, match="at least two arms, this round has 1"):
        compare_arms(one)
    mode = tree({"prevalence": np.full((1, 1, 2), 0.1)}, ("A", "B"))
    mode.attrs["mode"] = "map"
    with pytest.raises(hb.Refusal, match="mode alone"):
        compare_arms(mode)
    generations = hb.datasets.load("game24_gpt4")
    scored = hb.difficulty.fit(generations, mode="laplace", random_seed=1, draws=50)
    with pytest.raises(hb.DataError, match=r"hb\.difficulty\.compare"):
        compare_arms(scored)


def test_rounds_are_kept_apart(three):
    rates = three["posterior"]["prevalence"].to_numpy()[..., [0, 1, 2, 0]]
    groups = ("r2/A", "r2/B", "r3/A", "r3/B")
    fit = tree({"prevalence": rates}, groups, ("A", "B", "A", "B"))
    fit["constant_data"] = (
        fit["constant_data"].to_dataset().assign(round=("group", ["r2", "r2", "r3", "r3"]))
    )
    with pytest.raises(hb.DataError, match=r"several current rounds \('r2', 'r3'\)"):
        compare_arms(fit)
    with pytest.raises(hb.DataError, match="no current round 'r4'; there are 'r2', 'r3'"):
        compare_arms(fit, round="r4")
    found = compare_arms(fit, round="r3")
    assert np.array_equal(difference(found), (rates[..., 3] - rates[..., 2]).ravel())
    failed = fit.copy()
    failed.attrs["importance_draws"] = 10.0
    assert compare_arms(failed, round="r3").notes[0].startswith("The gate failed: the importance")


@pytest.mark.parametrize("wrong", [None, "fit", pd.DataFrame(), xr.Dataset()])
def test_what_is_no_fit_is_refused(wrong):
    with pytest.raises(hb.DataError, match="expected a fit"):
        compare_arms(wrong)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"current": pd.DataFrame()}, TypeError, "current must be hb.Labels, got DataFrame"),
        ({"paired": "no"}, TypeError, "paired must be True or False"),
        ({"lower_is_better": None}, TypeError, "lower_is_better must be True or False"),
        ({"random_seed": -1}, ValueError, "random_seed is a whole number of at least 0"),
        ({"random_seed": 1.5}, ValueError, "random_seed is a whole number of at least 0"),
    ],
)
def test_arguments_of_the_wrong_kind_are_named(three, options, error, message):
    with pytest.raises(error, match=message):
        compare_arms(three, **options)


def test_an_arm_that_was_not_compared_is_named(three):
    found = compare_arms(three)
    with pytest.raises(hb.DataError, match="no arm 'Z' was compared; there are 'A', 'B', 'C'"):
        found.probability_better("Z")
    with pytest.raises(ValueError, match="prob must lie between 0 and 1, got '95'"):
        found.table(prob="95")
