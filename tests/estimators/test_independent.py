"""Draws under independent errors: the labelers' rates are drawn too, and gold is clamped."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, logit
from scipy.stats import beta
from toy import simulate

import hero_bayes as hb
from hero_bayes.estimators import wide_information
from hero_bayes.estimators.anchored_em import anchor
from hero_bayes.estimators.independent import independent_draws, rate_draws

HITS, MISSES = (40, 34), (10, 16)


def one_labeler(n_current=200, n_positive=90, gold=None):
    """Full gold of 50 items a class, of which one labeler gets 40 and 34 right."""
    truth = np.repeat([1, 0], [HITS[0] + MISSES[0], HITS[1] + MISSES[1]])
    label = np.repeat([1, 0, 0, 1], [HITS[0], MISSES[0], HITS[1], MISSES[1]])
    item = np.arange(truth.size)
    history = hb.Labels.from_frames(
        pd.DataFrame({"item": item, "labeler": "a", "label": label}),
        pd.DataFrame({"item": item, "gold": truth}),
    )
    now = np.arange(n_current)
    verdicts = pd.DataFrame({"item": now, "labeler": "a", "label": (now < n_positive).astype(int)})
    facts = pd.DataFrame(
        {"item": now, "gold": np.full(n_current, np.nan) if gold is None else gold}
    )
    return history, hb.Labels.from_frames(verdicts, facts)


def test_rates_spread_as_gold_says():
    history, current = one_labeler()
    sensitivity, specificity = rate_draws(
        anchor(history, current), 40_000, np.random.default_rng(1)
    )
    for draws, hits, misses in zip((sensitivity, specificity), HITS, MISSES, strict=True):
        p, n = hits / (hits + misses), hits + misses
        deviation = 1 / np.sqrt(n * p * (1 - p))
        error = deviation * np.sqrt(1 / (2 * draws.size))
        assert np.std(logit(draws)) == pytest.approx(deviation, abs=5 * error)
        assert np.median(draws) == pytest.approx(p, abs=5 * 1.2533 * deviation * p / 200)


def test_rate_of_the_round_against_a_grid_over_the_labeler():
    n, k = 200, 90
    history, current = one_labeler(n, k)
    draws = independent_draws(anchor(history, current), 20_000, np.random.default_rng(2))
    rng = np.random.default_rng(3)
    m = np.linspace(0.0005, 0.9995, 1000)
    mean, square, share, share_square = 0.0, 0.0, 0.0, 0.0
    n_rates = 3000
    logits = [logit(h / (h + w)) for h, w in zip(HITS, MISSES, strict=True)]
    spreads = [1 / np.sqrt(h * w / (h + w)) for h, w in zip(HITS, MISSES, strict=True)]
    for _ in range(n_rates):
        a, b = (expit(rng.normal(c, s)) for c, s in zip(logits, spreads, strict=True))
        chance = m * a + (1 - m) * (1 - b)
        log_density = k * np.log(chance) + (n - k) * np.log(1 - chance)
        weight = np.exp(log_density - log_density.max())
        weight /= weight.sum()
        mean += weight @ m / n_rates
        square += weight @ m**2 / n_rates
        if_positive, if_negative = m * a / chance, m * (1 - a) / (1 - chance)
        rate = (k * if_positive + (n - k) * if_negative) / n
        noise = k * if_positive * (1 - if_positive) + (n - k) * if_negative * (1 - if_negative)
        share += weight @ rate / n_rates
        share_square += weight @ (rate**2 + noise / n**2) / n_rates
    for found, one, two in (
        (draws.prevalence, mean, square),
        (draws.item_rate, share, share_square),
    ):
        deviation = np.sqrt(two - one**2)
        # 400 draws of the rates stand behind the draws, 3,000 behind the grid.
        assert found.mean() == pytest.approx(one, abs=5 * deviation / np.sqrt(350))
        assert found.std() == pytest.approx(deviation, rel=5 / np.sqrt(2 * 350))


def test_evidence_is_that_of_the_drawn_rates():
    history, current = one_labeler(20, 8)
    anchored = anchor(history, current)
    draws = independent_draws(anchored, 500, np.random.default_rng(4))
    sensitivity, specificity = rate_draws(anchored, 400, np.random.default_rng(4))
    expected = np.log(sensitivity / (1 - specificity))
    np.testing.assert_allclose(draws.log_ratio[:, 0], expected[draws.rate_idx, 0], rtol=1e-12)
    np.testing.assert_array_equal(draws.log_ratio_at(np.array([7, 3])), draws.log_ratio[[7, 3]])
    assert draws.log_ratio.shape == (500, 20)
    assert np.bincount(draws.rate_idx).max() == 2


def test_gold_of_the_round_is_clamped():
    gold = np.where(np.arange(60) < 25, 1.0, 0.0)
    history, current = one_labeler(60, 30, gold)
    draws = independent_draws(anchor(history, current), 4000, np.random.default_rng(5))
    np.testing.assert_allclose(draws.item_rate, 25 / 60)
    law = beta(26, 36)
    assert draws.prevalence.mean() == pytest.approx(law.mean(), abs=5 * law.std() / np.sqrt(4000))


def test_many_labelers_get_the_covariance_of_the_operator():
    problem = simulate(3, n_history=60, n_current=20, n_labelers=4, labels_per_item=3)
    anchored = anchor(*problem.rounds)
    at = anchored.interior
    place = at.truth, at.sensitivity, at.specificity, at.prevalence
    score = wide_information.item_scores(at.data, *place).toarray()
    expected = np.linalg.inv(score.T @ score + 12.0 * np.eye(score.shape[1]))
    drawn = wide_information.wide_deviations(at.data, *place, 4000, np.random.default_rng(6))
    spread = np.sqrt(np.diag(expected))
    correlation = (drawn.T @ drawn / 4000) / np.outer(spread, spread)
    np.testing.assert_allclose(
        correlation, expected / np.outer(spread, spread), atol=5 * np.sqrt(2 / 4000)
    )


@pytest.mark.slow
def test_intervals_of_the_items_at_hand_cover():
    inside = 0
    for seed in range(60):
        made = hb.simulate(
            n_history=300, n_current=200, n_labelers=6, gold_rate=0.15, random_seed=seed
        )
        draws = independent_draws(
            anchor(made.history, made.current), 400, np.random.default_rng(seed)
        )
        low, high = np.quantile(draws.item_rate, [0.05, 0.95])
        inside += low <= made.item_rate <= high
    # At a coverage of 0.85 fewer than 43 of 60 come with probability 1e-3; fixed rates give 42.
    assert inside >= 43
