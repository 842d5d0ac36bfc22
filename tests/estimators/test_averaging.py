"""Averaging of independent and shared errors: the Bayes factor, the draws, and what they do."""

import numpy as np
import pytest
from scipy.special import expit, logit
from toy import simulate

import hero_bayes as hb
from hero_bayes.estimators.anchored_em import anchor
from hero_bayes.estimators.averaging import (
    HELD_OUT_DRAWS,
    average,
    held_out_log_score,
    label_evidence,
)
from hero_bayes.estimators.fallible_anchor import anchor_fallible
from hero_bayes.estimators.gold_error import gold_error_of
from hero_bayes.estimators.independent import rate_draws
from hero_bayes.estimators.item_scores import item_scores


def shared_errors(seed, n=400, loading=2.5):
    """Two rounds whose labelers stumble over the same items; truth of the current round."""
    import pandas as pd

    rng = np.random.default_rng(seed)
    rounds, truths = [], []
    for gold_share, rate in ((0.3, 0.4), (0.0, 0.55)):
        y = (rng.random(n) < rate).astype(int)
        u = rng.standard_normal(n)
        rows = []
        for j in range(8):
            chance = expit(np.where(y == 1, 1.6, -1.8) + loading * u)
            label = (rng.random(n) < chance).astype(int)
            rows.append(pd.DataFrame({"item": np.arange(n), "labeler": j, "label": label}))
        gold = np.where(rng.random(n) < gold_share, y, np.nan)
        items = pd.DataFrame({"item": np.arange(n), "gold": gold})
        rounds.append(hb.Labels.from_frames(pd.concat(rows), items))
        truths.append(y.mean())
    return rounds[0], rounds[1], truths[1]


@pytest.fixture(scope="module")
def independent():
    return simulate(5, n_history=500, n_current=250, gold_share=0.3, strength=0.0).rounds


def test_held_out_score_by_hand(independent):
    history, current = independent
    scores = item_scores(history, current)
    found, notes = held_out_log_score(scores, history, current)
    expected = 0.0
    for fold in range(5):
        training = history.take_items(scores.fold != fold)
        fitted = anchor(training, current)
        generator = np.random.default_rng(fold)
        sensitivity, specificity = rate_draws(fitted, HELD_OUT_DRAWS, generator)
        place = {name: j for j, name in enumerate(fitted.panel.labelers)}
        for i in np.flatnonzero((scores.fold == fold) & history.has_gold):
            chances = []
            for d in range(len(sensitivity)):
                odds = logit(fitted.history_prevalence[0])
                for e in range(history.item_ptr[i], history.item_ptr[i + 1]):
                    j = place[history.labelers[history.labeler_idx[e]]]
                    one, zero = sensitivity[d, j], 1 - specificity[d, j]
                    odds += np.log(one / zero if history.label[e] else (1 - one) / (1 - zero))
                chances.append(expit(odds))
            chance = np.mean(chances)
            expected += np.log(chance if history.gold[i] == 1 else 1 - chance)
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    assert notes == ()


def test_an_items_own_gold_does_not_enter_its_score(independent):
    """Turning one item's gold round changes its own term alone, not its prediction."""
    history, current = independent
    scores = item_scores(history, current)
    where = int(np.flatnonzero(history.has_gold)[0])
    fold = scores.fold[where]
    gold = history.gold.copy()
    gold[where] = 1 - gold[where]
    turned = history.with_gold(gold)
    same = [
        anchor(labels.take_items(scores.fold != fold), current).sensitivity
        for labels in (history, turned)
    ]
    np.testing.assert_array_equal(*same)
    one, two = (held_out_log_score(scores, labels, current)[0] for labels in (history, turned))
    assert one != two


def test_weight_is_the_bayes_factor(independent):
    history, current = independent
    draws = average(history, current, n_draws=400, prior=0.3)
    score, _ = held_out_log_score(draws.tilt.scores, history, current)
    evidence = np.log(np.mean(np.exp(draws.tilt.log_evidence - score))) + score
    odds = 0.3 / 0.7 * np.exp(draws.log_labels_independent + score - evidence)
    assert draws.log_labels_independent == label_evidence(anchor(history, current))
    expected = odds / (1.0 + odds)
    np.testing.assert_allclose(draws.probability_independent, expected, rtol=1e-9)
    assert draws.independent.sum() == round(400 * draws.probability_independent)


def test_evidence_of_the_labels_by_hand(independent):
    """Pair by pair, item by item, at rates that lie inside (0, 1)."""
    history, current = independent
    found = anchor(history, current)
    assert 0.01 < min(found.sensitivity.min(), found.specificity.min())
    assert max(found.sensitivity.max(), found.specificity.max()) < 0.99
    scores = []
    for i in range(history.n_items):
        labels = range(history.item_ptr[i], history.item_ptr[i + 1])
        chance = [[], []]
        for e in labels:
            j = history.labeler_idx[e]
            chance[0].append(1.0 - found.specificity[j])
            chance[1].append(found.sensitivity[j])
        seen = [history.label[e] for e in labels]
        weight = [
            np.prod([p if z else 1 - p for p, z in zip(ps, seen, strict=True)]) for ps in chance
        ]
        odds = found.history_prevalence[0] * weight[1] / weight[0]
        truth = odds / (odds + 1 - found.history_prevalence[0])
        if history.has_gold[i]:
            truth = history.gold[i]
        pairs = [
            sum(
                (seen[a] - ps[a]) * (seen[b] - ps[b])
                for a in range(len(seen))
                for b in range(a + 1, len(seen))
            )
            for ps in chance
        ]
        if len(seen) > 1:
            scores.append((1 - truth) * pairs[0] + truth * pairs[1])
    scores = np.array(scores)
    z = scores.sum() / np.sqrt(np.sum((scores - scores.mean()) ** 2))
    expected = 0.5 * np.log(scores.size) - 0.5 * max(z, 0.0) ** 2
    np.testing.assert_allclose(label_evidence(found), expected, rtol=1e-8)


@pytest.mark.parametrize("loading", [0.8, 1.5, 2.5])
def test_labels_alone_speak_against_independence(loading):
    """Twelve items with gold are too few to tell; four hundred items with labels are not."""
    history, current, _ = shared_errors(4, loading=loading)
    classes = [np.flatnonzero(history.gold == y)[:6] for y in (0, 1)]
    gold = np.full(history.n_items, np.nan)
    gold[np.concatenate(classes)] = history.gold[np.concatenate(classes)]
    draws = average(history.with_gold(gold), current, n_draws=200)
    assert draws.log_labels_independent < -5.0
    assert draws.probability_independent < 0.01


def test_labels_of_independent_labelers_speak_for_them():
    """log(n) / 2 - max(z, 0)^2 / 2 with z standard normal: in 99 % above log(n) / 2 - 2.7."""
    found = [
        label_evidence(
            anchor(
                *simulate(seed, n_history=500, n_current=50, gold_share=0.2, strength=0.0).rounds
            )
        )
        for seed in range(40)
    ]
    short = 0.5 * np.log(500) - np.array(found)
    assert (short > 2.71).sum() <= 3
    # The mean of max(z, 0)^2 / 2 is 1/4, its standard deviation 0.56.
    assert abs(short.mean() - 0.25) < 4 * 0.56 / np.sqrt(40)


def test_one_judge_says_nothing_of_shared_errors(independent):
    history, current = (
        table.select(labelers=[independent[0].labelers[0]], unlabeled="drop")
        for table in independent
    )
    assert label_evidence(anchor(history, current)) == 0.0


def test_fallible_gold_is_no_labeler_in_the_evidence_of_the_labels(independent):
    """The column that stands for gold makes no pairs with labels."""
    history, current = independent
    exact = label_evidence(anchor(history, current))
    fallible = label_evidence(anchor_fallible(history, current, gold_error_of(1e-6)))
    np.testing.assert_allclose(fallible, exact, rtol=1e-3)


@pytest.mark.parametrize("prior", [0.0, 1.0])
def test_a_certain_prior_leaves_one_account(independent, prior):
    history, current = independent
    draws = average(history, current, n_draws=200, prior=prior)
    assert draws.probability_independent == prior
    if prior == 0.0:
        np.testing.assert_array_equal(draws.item_rate, draws.tilt.item_rate)
    else:
        assert draws.independent.all()
        np.testing.assert_array_equal(draws.log_ratio, draws.plain.log_ratio)
        np.testing.assert_array_equal(draws.item_rate, draws.plain.item_rate)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_shared_errors_are_recognised(seed):
    history, current, truth = shared_errors(seed)
    draws = average(history, current, n_draws=600)
    assert draws.probability_independent < 0.01
    low, high = np.quantile(draws.item_rate, [0.005, 0.995])
    assert low < truth < high


def test_independent_errors_are_recognised():
    chances = []
    for seed in range(6):
        rounds = simulate(seed, n_history=500, n_current=250, gold_share=0.3, strength=0.0).rounds
        chances.append(average(*rounds, n_draws=50).probability_independent)
    assert np.median(chances) > 0.7


def test_independence_is_recognised_with_many_labelers_and_little_history():
    """Rates of thirty judges from 300 items are uncertain, and the prediction of gold knows it."""
    chances = []
    for seed in range(6):
        made = hb.simulate(
            n_history=300, n_current=60, n_labelers=30, gold_rate=0.2, random_seed=seed
        )
        drawn = average(made.history, made.current, n_draws=20)
        chances.append(drawn.probability_independent)
    # At the anchored rates themselves every one of these is below 1e-10.
    assert np.median(chances) > 0.1


def test_draws_do_not_depend_on_the_order_of_rows(independent):
    history, current = independent
    verdicts, items, _ = history.to_frames()
    again = hb.Labels.from_frames(
        verdicts.sample(frac=1.0, random_state=1), items.sample(frac=1.0, random_state=2)
    )
    one = average(history.with_gold(history.gold), current, n_draws=100)
    two = average(again, current, n_draws=100)
    np.testing.assert_array_equal(one.item_rate, two.item_rate)


def test_bad_prior(independent):
    with pytest.raises(ValueError, match="between 0 and 1"):
        average(*independent, prior=1.5)
