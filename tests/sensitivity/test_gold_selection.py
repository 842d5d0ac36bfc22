"""Gold chosen by the truth: likelihood, profile, sweep."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, logit
from toy import make_labels, simulate

import hero_bayes as hb
from hero_bayes.estimators.anchored_em import anchor
from hero_bayes.sensitivity.gold_selection import gold_selection_sensitivity
from hero_bayes.sensitivity.selected_gold import best_odds_ratio, fit_selected
from hero_bayes.sensitivity.selected_score import log_selection, selected_score


def chosen(seed, n=1500, odds_ratio=1.0, n_current=800, rate=0.3, current_gold=0.0, k=5):
    """k labelers; history gets gold by logit p = -1.2 + y log w. Also the current share of ones."""
    rng = np.random.default_rng(seed)
    a, b = np.linspace(0.7, 0.85, k), np.linspace(0.9, 0.8, k)
    rounds, share = [], 0.0
    for size in (n, n_current):
        truth = (rng.random(size) < rate).astype(int)
        chance = np.where(truth[:, None] == 1, a, 1 - b)
        label = (rng.random(chance.shape) < chance).astype(int)
        known = rng.random(size) < expit(-1.2 + np.log(odds_ratio) * truth)
        if size == n_current:
            known = rng.random(size) < current_gold
            share = truth.mean()
        item, labeler = np.indices(label.shape)
        facts = {"gold": np.where(known, truth, np.nan)}
        rounds.append(make_labels(item.ravel(), labeler.ravel(), label.ravel(), facts))
    return rounds, share


@pytest.mark.parametrize("odds_ratio", [0.4, 1.0, 3.0])
def test_em_is_the_maximum_of_the_written_likelihood(odds_ratio):
    rounds = simulate(3, n_history=120, n_current=30, n_labelers=3, labels_per_item=3).rounds
    anchored = anchor(*rounds)
    history = anchored.panel.history
    found = fit_selected(anchored, float(np.log(odds_ratio)))
    table = np.full((history.n_items, 3), -1)
    item_idx = np.repeat(np.arange(history.n_items), history.labels_per_item)
    table[item_idx, history.labeler_idx] = history.label

    def log_likelihood(x):
        a, b, m, p0 = expit(x[:3]), expit(x[3:6]), expit(x[6]), expit(x[7])
        p1 = expit(x[7] + np.log(odds_ratio))
        one = np.where(table == 1, a, np.where(table == 0, 1 - a, 1)).prod(axis=1)
        zero = np.where(table == 0, b, np.where(table == 1, 1 - b, 1)).prod(axis=1)
        terms = np.where(
            history.gold == 1,
            m * one * p1,
            np.where(
                history.gold == 0,
                (1 - m) * zero * p0,
                m * one * (1 - p1) + (1 - m) * zero * (1 - p0),
            ),
        )
        return np.log(terms).sum()

    start = np.concatenate(
        [logit(found.sensitivity), logit(found.specificity), logit(found.prevalence), [-1.0]]
    )
    best = minimize(lambda x: -log_likelihood(x), start, method="BFGS", options={"gtol": 1e-7})
    assert found.log_likelihood == pytest.approx(-best.fun, abs=1e-6)
    np.testing.assert_allclose(found.sensitivity, expit(best.x[:3]), atol=1e-4)
    np.testing.assert_allclose(found.specificity, expit(best.x[3:6]), atol=1e-4)
    assert found.prevalence[0] == pytest.approx(expit(best.x[6]), abs=1e-4)


def test_without_selection_it_is_the_anchored_em():
    anchored = anchor(*simulate(5, n_history=150, n_current=30).rounds)
    found = fit_selected(anchored, 0.0)
    np.testing.assert_allclose(found.sensitivity, anchored.sensitivity, atol=1e-7)
    np.testing.assert_allclose(found.specificity, anchored.specificity, atol=1e-7)
    np.testing.assert_allclose(found.prevalence, anchored.history_prevalence, atol=1e-7)


def test_the_profile_is_highest_at_its_best():
    anchored = anchor(*chosen(7, n=400, odds_ratio=2.0)[0])
    best = best_odds_ratio(anchored)
    for step in (-0.05, 0.05):
        other = fit_selected(anchored, best.log_odds_ratio + step)
        assert other.log_likelihood < best.log_likelihood


def test_the_right_odds_ratio_takes_the_bias_away():
    plain, right = [], []
    for seed in range(8):
        rounds, share = chosen(seed, odds_ratio=8.0, k=2)
        table = gold_selection_sensitivity(*rounds, [8.0], score=False)
        plain.append(table.loc[1.0, "estimate"] - share)
        right.append(table.loc[8.0, "estimate"] - share)
        assert table["lower"].loc[8.0] < table["estimate"].loc[8.0] < table["upper"].loc[8.0]
    error = np.std(right, ddof=1) / np.sqrt(8)
    assert abs(np.mean(right)) < 4 * error
    assert abs(np.mean(plain)) > 5 * error


def test_the_profile_covers_the_odds_ratio_that_made_the_gold():
    held = 0
    for seed in range(20, 40):
        rounds, _ = chosen(seed, n=800, odds_ratio=3.0, n_current=50)
        anchored = anchor(*rounds)
        drop = best_odds_ratio(anchored).log_likelihood
        held += 2 * (drop - fit_selected(anchored, np.log(3.0)).log_likelihood) < 3.84
    # 19 of 20 expected; below 15 has probability 3e-4.
    assert held >= 15


def test_at_one_it_is_hero1():
    rounds, _ = chosen(11, n=300, n_current=120)
    table = gold_selection_sensitivity(*rounds, [2.0], score=False)
    own = hb.estimate(*rounds, method="hero1")
    assert table.loc[1.0, "estimate"] == pytest.approx(own.value, abs=1e-6)
    low, high = own.interval(0.95)
    # Gold's share says nothing of the prevalence here: a little wider.
    assert table.loc[1.0, "lower"] == pytest.approx(low, abs=0.01)
    assert table.loc[1.0, "upper"] == pytest.approx(high, abs=0.01)
    assert table["profile_log_likelihood"].max() <= 1e-9


def test_gold_of_the_current_round_counts_with_its_truth():
    rounds, _ = chosen(12, n=300, n_current=120, current_gold=0.5)
    table = gold_selection_sensitivity(*rounds, score=False)
    current = rounds[1]
    anchored = anchor(*rounds)
    from hero_bayes.estimators.prevalence import group_evidence
    from hero_bayes.estimators.score import solve

    rest = np.flatnonzero(~anchored.panel.current.has_gold)
    ratio = group_evidence(
        anchored.panel.current, rest, anchored.sensitivity, anchored.specificity
    ).log_ratio
    share = current.n_gold / current.n_items
    expected = share * np.nanmean(current.gold) + (1 - share) * solve(ratio)[0]
    assert table.loc[1.0, "estimate"] == pytest.approx(expected, abs=1e-6)


def test_selection_of_a_known_share():
    m, share = np.array([0.1, 0.4, 0.8]), 0.25
    for w in (0.2, 1.0, 5.0):
        ratio = np.exp(log_selection(m, share, np.log(w)))
        p0 = share / (m * ratio + 1 - m)
        p1 = ratio * p0
        np.testing.assert_allclose(p1 / (1 - p1) / (p0 / (1 - p0)), w, rtol=1e-9)


def test_score_model_at_one_is_itself_and_moves_as_hero1_does():
    rounds, _ = chosen(13, n=500, n_current=200)
    opened = selected_score(*rounds, 0, 300, 4)
    own = opened.draws.prevalence[:, 0]
    np.testing.assert_allclose(opened.prevalence(0.0), own, rtol=1e-9)
    table = gold_selection_sensitivity(*rounds, [0.2, 5.0])
    assert table.attrs["score_reason"] == ""
    moves = table[["estimate", "score"]].diff().dropna()
    assert (np.sign(moves["estimate"]) == np.sign(moves["score"])).all()


def test_the_score_model_that_cannot_answer_says_why():
    rounds, _ = chosen(14, n=300, n_current=100)
    gold = np.full(300, np.nan)
    truth = rounds[0].gold
    one = np.flatnonzero(truth == 1)[:1]
    zero = np.flatnonzero(truth == 0)[:20]
    gold[one], gold[zero] = 1.0, 0.0
    table = gold_selection_sensitivity(rounds[0].with_gold(gold), rounds[1], [2.0])
    assert table["score"].isna().all()
    assert "gold" in table.attrs["score_reason"]
    assert table["estimate"].notna().all()


def test_misuse():
    rounds, _ = chosen(15, n=100, n_current=50)
    with pytest.raises(ValueError, match="positive"):
        gold_selection_sensitivity(*rounds, [0.0])
    with pytest.raises(hb.DataError, match="no current group"):
        gold_selection_sensitivity(*rounds, group="A")
    with pytest.raises(hb.Refusal, match="gold"):
        gold_selection_sensitivity(rounds[0].without_gold(), rounds[1])
