"""P(B better) over many simulated rounds whose two arms are equally good: uniform on (0, 1)."""

import numpy as np
import pytest
from decision.trees import known_fit, round_of
from scipy import stats

from hero_bayes.decision.compare_arms import compare_arms

N_ROUNDS, N_DRAWS = 220, 300
#: Below this a p-value of the Kolmogorov-Smirnov test is no accident.
RARE = 1e-3
SPREAD_ERROR = np.sqrt(0.8 / N_ROUNDS)
SENSITIVITY, SPECIFICITY, N_LABELERS = 0.8, 0.85, 3


def perfect_round(rng, n=120):
    """Known truths; prompts differ strongly, and are equally hard for both arms."""
    truth = (rng.random((2, n)) < rng.beta(0.3, 0.7, n)).astype(int)
    current = round_of(truth)
    return current, known_fit(current, np.zeros(2 * n), rng, N_DRAWS)


def noisy_round(rng, n=120):
    """Truths seen through three labelers with known rates; no gold, prompts do not matter."""
    truth = (rng.random((2, n)) < 0.3).astype(int)
    chance = np.where(truth.ravel() == 1, SENSITIVITY, 1 - SPECIFICITY)
    labels = (rng.random((2 * n, N_LABELERS)) < chance[:, None]).astype(int)
    current = round_of(truth, labels=labels, gold=False)
    votes = np.add.reduceat(current.label, current.item_ptr[:-1])
    ratio = votes * np.log(SENSITIVITY / (1 - SPECIFICITY))
    ratio += (N_LABELERS - votes) * np.log((1 - SENSITIVITY) / SPECIFICITY)
    return current, known_fit(current, ratio, rng, N_DRAWS)


def chances(make, seed, pairings):
    """P(B better) in every round, by whether arms are paired."""
    rng = np.random.default_rng(seed)
    found = {paired: [] for paired in pairings}
    for number in range(N_ROUNDS):
        current, fit = make(rng)
        for paired, values in found.items():
            result = compare_arms(fit, current=current, paired=paired, random_seed=number)
            values.append(result.probability_better("B"))
    return found


def spread(values):
    """Variance against that of the uniform law; standard error sqrt((1.8 - 1) / n)."""
    return 12 * np.var(values)


@pytest.mark.slow
def test_pairing_by_prompt_is_calibrated_and_its_absence_is_not():
    found = chances(perfect_round, 1, (True, False))
    assert stats.kstest(found[True], "uniform").pvalue > RARE
    assert spread(found[True]) == pytest.approx(1, abs=4 * SPREAD_ERROR)
    # Too wide intervals keep the chances near one half.
    assert spread(found[False]) < 1 - 4 * SPREAD_ERROR


@pytest.mark.slow
def test_noisy_labels_are_calibrated():
    found = chances(noisy_round, 2, (True,))
    assert stats.kstest(found[True], "uniform").pvalue > RARE
    assert spread(found[True]) == pytest.approx(1, abs=4 * SPREAD_ERROR)
