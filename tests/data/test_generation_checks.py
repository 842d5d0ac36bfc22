"""Findings of generations: which tables alarm, which do not, and the tests against enumeration."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom, norm

import hero_bayes as hb
from hero_bayes.data import generation_checks
from hero_bayes.data.generations import Generations


def table_of(y, kept, order="index"):
    """One model: scores (prompt, generation), of which some are kept."""
    prompt, generation = np.nonzero(kept)
    table = pd.DataFrame({"prompt": prompt, "correct": y[prompt, generation]})
    if order == "index":
        table["generation"] = generation
    if order == "counts":
        table = table.groupby("prompt")["correct"].agg(n_correct="sum", k="size").reset_index()
    return table


def codes_of(y, kept, order="index"):
    return Generations.from_frame(table_of(y, kept, order)).findings.codes


def draw(seed, n=150, k=8, a=0.5, b=0.7):
    rng = np.random.default_rng(seed)
    return rng, rng.random((n, k)) < rng.beta(a, b, n)[:, None]


def until_first(y, stop):
    """Which generations are made if sampling stops after the first that is ``stop``."""
    hit = y == stop
    return np.cumsum(hit, axis=1) - hit == 0


@pytest.mark.parametrize("order", ["index", "none", "counts"])
@pytest.mark.parametrize("stop", [True, False])
def test_stopping_at_an_outcome_is_found(order, stop):
    _, y = draw(1)
    found = Generations.from_frame(table_of(y, until_first(y, stop), order)).findings
    assert found.codes == ("informative_k",)
    (finding,) = found
    assert finding.severity == "warning"
    assert ("last generations are correct" in finding.message) == (order == "index")
    if order == "index":
        share = "100.0%" if stop else "0.0%"
        assert f"there {share} of the last generations are correct" in finding.message


def test_failures_that_go_missing_are_found():
    rng, y = draw(2, n=300)
    kept = rng.random(y.shape) < np.where(y, 0.99, 0.75)
    assert "informative_k" in codes_of(y, kept)


@pytest.mark.parametrize("order", ["index", "none", "counts"])
def test_balanced_never_alarms(order):
    _, y = draw(3)
    assert codes_of(y, np.ones_like(y), order) == ()


def truncated(rng, y):
    return np.arange(y.shape[1]) < rng.integers(1, y.shape[1] + 1, len(y))[:, None]


def at_random(rng, y):
    kept = rng.random(y.shape) < 0.8
    kept[:, 0] = True
    return kept


@pytest.mark.parametrize("order", ["index", "counts"])
@pytest.mark.parametrize("pattern", [truncated, at_random])
def test_k_missing_at_random_alarms_rarely(order, pattern):
    repeats, alarms = 300, 0
    for seed in range(repeats):
        # Skewed, and with a trend over the index: what trips a rank correlation or a run test.
        rng, y = draw(1000 + seed, n=60, k=6, a=0.3, b=2.0)
        y &= rng.random(y.shape) < np.linspace(1, 0.6, y.shape[1])
        alarms += "informative_k" in codes_of(y, pattern(rng, y), order)
    # At a rate of 1 % more than this many have a chance below 1e-4.
    assert alarms <= binom.ppf(1 - 1e-4, repeats, 0.01)


def test_few_short_prompts_of_skewed_difficulty_do_not_alarm():
    """Ten prompts with fewer generations, all wrong as most are: no evidence, small squares."""
    alarms = 0
    for seed in range(100):
        rng, y = draw(seed, n=300, k=5, a=0.2, b=5.0)
        kept = np.ones_like(y)
        kept[rng.permutation(300)[:10], 2:] = False
        alarms += "informative_k" in codes_of(y, kept, "counts")
    assert alarms <= binom.ppf(1 - 1e-4, 100, 0.01)


def test_order_is_noted_and_does_not_look_like_stopping():
    found = hb.datasets.load("cruxeval").findings
    assert found.codes == ("ordered_generations",)
    (finding,) = found
    assert finding.severity == "note"
    assert "'codellama-34b' is correct in 44.5% of the first generations and 28.6%" in str(found)
    assert "gpt" not in finding.message
    assert hb.datasets.load("game24_gpt4").findings.codes == ()


def test_order_needs_numbers_as_index():
    llama = hb.datasets.load("cruxeval").select("codellama-34b").to_frame()
    named = llama.assign(generation="g" + llama["generation"].astype(str))
    assert Generations.from_frame(named).findings.codes == ()
    assert Generations.from_frame(llama.drop(columns="generation")).findings.codes == ()


def test_order_statistic_by_enumeration():
    """Mean and variance over all orders within prompts, with the true index values."""
    numbers = [(0, 1, 5), (1, 2, 5, 7)]
    scores = [(1, 0, 0), (1, 1, 0, 0)]
    rank = {0: 1, 1: 2, 2: 3, 5: 4, 7: 5}
    orders = [sorted(set(itertools.permutations(s))) for s in scores]

    def statistic(chosen):
        total = 0.0
        for index, outcome in zip(numbers, chosen, strict=True):
            x = np.array([rank[i] for i in index])
            total += float((x - x.mean()) @ np.array(outcome))
        return total

    values = [statistic(chosen) for chosen in itertools.product(*orders)]
    assert np.mean(values) == pytest.approx(0.0, abs=1e-12)
    rows = [
        (prompt, index, score)
        for prompt, (indices, outcome) in enumerate(zip(numbers, scores, strict=True))
        for index, score in zip(indices, outcome, strict=True)
    ]
    found = Generations.from_frame(pd.DataFrame(rows, columns=["prompt", "generation", "correct"]))
    expected = 2 * norm.cdf(-abs(statistic(scores)) / np.std(values))
    assert generation_checks.order_p_value(found, np.arange(2)) == pytest.approx(expected, rel=1e-9)


def test_stopping_statistic_by_hand():
    # Index 0: 5 prompts, 3 correct, 2 stop, both correct. Index 1: 3 prompts, all stop.
    y = np.array([[1, 0], [1, 0], [1, 1], [0, 1], [0, 0]], dtype=bool)
    kept = np.array([[1, 0], [1, 0], [1, 1], [1, 1], [1, 1]], dtype=bool)
    found = Generations.from_frame(table_of(y, kept))
    expected, variance = 2 * 3 / 5, 2 * 3 * 3 * 2 / (25 * 4)
    p = 2 * norm.cdf(-(2 - expected - 0.5) / math.sqrt(variance))
    assert generation_checks.stopping_p_value(found, np.arange(5)) == pytest.approx(p, rel=1e-9)


def test_p_values_of_the_order_are_uniform():
    values = []
    for seed in range(400):
        _, y = draw(seed, n=80, k=5)
        found = Generations.from_frame(table_of(y, np.ones_like(y)))
        values.append(generation_checks.order_p_value(found, np.arange(80)))
    for level in (0.05, 0.25, 0.5):
        low, high = binom.ppf([1e-4, 1 - 1e-4], len(values), level)
        assert low <= np.sum(np.array(values) <= level) <= high


def test_missing_scores_say_where():
    table = pd.DataFrame(
        {
            "prompt": ["a", "a", "b", "b", "c", "c"],
            "model": ["x", "x", "x", "y", "y", "y"],
            "correct": [1, None, None, None, 1, 0],
        }
    )
    found = Generations.from_frame(table).findings
    (finding,) = (f for f in found if f.code == "missing_scores")
    assert "3 generations without a score ('x' 2, 'y' 1), in 2 prompts: 'a', 'b'" in finding.message
    counts = pd.DataFrame({"prompt": ["a", "b"], "n_correct": [1, 0], "k": [2, 0]})
    (finding,) = Generations.from_frame(counts).findings
    assert "1 cell with k = 0 ('model' 1), in 1 prompt: 'b'" in finding.message


def test_one_generation():
    table = pd.DataFrame(
        {"prompt": list("abab"), "model": list("xxyy"), "n_correct": 1, "k": [1, 1, 1, 2]}
    )
    (finding,) = Generations.from_frame(table).findings
    assert finding.code == "one_generation"
    assert finding.message.endswith("(k = 1): 'x'")


def test_models_on_different_prompts():
    table = pd.DataFrame(
        {"prompt": list("abcbcd"), "model": list("xxxyyy"), "n_correct": 1, "k": 2}
    )
    (finding,) = Generations.from_frame(table).findings
    assert finding.code == "models_on_different_prompts"
    assert "the 2 models share 2 of 4 prompts" in finding.message


def until_agreement(answers, votes):
    """Which generations are made if sampling stops once an answer was given ``votes`` times."""
    kept = np.ones(answers.shape, dtype=bool)
    for row, given in enumerate(answers):
        for place in range(len(given)):
            if (given[: place + 1] == given[place]).sum() == votes:
                kept[row, place + 1 :] = False
                break
    return kept


def answered(rng, n=300, k=10, concentration=1.0):
    """Answers 0 (right), 1 ... 3, with a law of its own for each prompt."""
    law = rng.dirichlet([2 * concentration, *[concentration] * 3], n)
    return (rng.random((n, k, 1)) > law.cumsum(axis=1)[:, None, :]).sum(axis=2)


@pytest.mark.parametrize("votes", [2, 3, 4])
@pytest.mark.parametrize("with_answers", [True, False])
def test_stopping_at_agreement_is_found(votes, with_answers):
    rng = np.random.default_rng(votes)
    answers = answered(rng) if with_answers else rng.integers(0, 2, (300, 10))
    kept = until_agreement(answers, votes)
    table = table_of(answers == 0, kept)
    if with_answers:
        table["answer"] = answers[kept].astype(str)
    found = Generations.from_frame(table)
    assert generation_checks.agreement_p_value(found, np.arange(300)) < 1e-6
    (finding,) = (f for f in found.findings if f.code == "informative_k")
    assert "of all last ones give the prompt's most frequent answer" in finding.message


@pytest.mark.parametrize("pattern", [truncated, at_random, "by difficulty"])
def test_agreement_alarms_rarely_where_k_was_set_beforehand(pattern):
    values = []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        law = rng.dirichlet([1.0, 0.5, 0.5, 0.5], 80)
        answers = (rng.random((80, 8, 1)) > law.cumsum(axis=1)[:, None, :]).sum(axis=2)
        if pattern == "by difficulty":
            kept = np.arange(8) < 2 + np.round(6 * (1 - law.max(axis=1)))[:, None]
        else:
            kept = pattern(rng, answers)
        table = table_of(answers == 0, kept).assign(answer=answers[kept].astype(str))
        found = Generations.from_frame(table)
        values.append(generation_checks.agreement_p_value(found, np.arange(80)))
    for level in (0.01, 0.05, 0.2):
        assert np.sum(np.array(values) <= level) <= binom.ppf(1 - 1e-4, len(values), level)


def until(votes, which):
    """Counts of sampling that stopped once so many were right, wrong, or of either."""

    def counts(rng, p, k):
        y = rng.random((len(p), k)) < p[:, None]
        right, wrong = y.cumsum(axis=1), (~y).cumsum(axis=1)
        seen = {"right": right, "wrong": wrong, "either": np.maximum(right, wrong)}[which]
        kept = np.ones_like(y)
        kept[:, 1:] = seen[:, :-1] < votes
        return pd.DataFrame(
            {"prompt": range(len(p)), "n_correct": (y & kept).sum(axis=1), "k": kept.sum(axis=1)}
        )

    return counts


RULES = [(1, "right"), (2, "right"), (1, "wrong"), (3, "wrong"), (2, "either"), (4, "either")]


@pytest.mark.parametrize(("votes", "which"), RULES)
def test_shares_are_fair_where_sampling_stopped_at_an_outcome(votes, which):
    p = np.random.default_rng(1).beta(0.8, 0.8, 4000)
    found = Generations.from_frame(until(votes, which)(np.random.default_rng(2), p, 9))
    assert found.stopping[0] is not None
    (finding,) = found.findings
    assert "sampling stopped once" in finding.message
    p = p[found.prompts[found.prompt_idx].astype(int)]
    off = found.fair_share - p
    assert abs(off.mean()) < 4 * off.std() / 4000**0.5
    biased = found.p_hat - p
    assert which == "either" or abs(biased.mean()) > 6 * biased.std() / 4000**0.5
    near = p > 0.7  # agreement hardly biases the mean of all, but that of the easy ones
    assert abs(off[near].mean()) < 4 * off[near].std() / near.sum() ** 0.5


@pytest.mark.parametrize("votes", [2, 3])
def test_shares_are_fair_where_answers_agreed(votes):
    rng = np.random.default_rng(votes)
    law = rng.dirichlet([2.0, 1.0, 1.0, 1.0], 1500)
    answers = (rng.random((1500, 10, 1)) > law.cumsum(axis=1)[:, None, :]).sum(axis=2)
    kept = until_agreement(answers, votes)
    found = Generations.from_frame(table_of(answers == 0, kept).assign(answer=answers[kept]))
    assert "gave one answer" in found.stopping[0].when
    off = found.fair_share - law[found.prompts[found.prompt_idx].astype(int), 0]
    assert abs(off.mean()) < 4 * off.std() / 1500**0.5


def designs(rng, p):
    """Numbers of generations that were set before any outcome was seen."""
    yield rng.integers(1, 9, p.size)
    yield np.where(p < 0.5, 8, 4)
    yield np.where(rng.random(p.size) < 0.3, 2, 3)
    yield np.where(p > 0.9, 2, 3)
    yield 1 + rng.binomial(7, 1 - p)
    yield np.where(rng.random(p.size) < 0.1, 4, 5)


@pytest.mark.parametrize("shape", [(0.5, 0.5), (5, 5), (20, 1), (1, 20), (0.05, 0.05)])
def test_k_set_beforehand_does_not_look_like_stopping(shape):
    rng = np.random.default_rng(0)
    for _ in range(40):
        p = rng.beta(*shape, 60)
        for k in designs(rng, p):
            table = pd.DataFrame({"prompt": range(60), "n_correct": rng.binomial(k, p), "k": k})
            assert Generations.from_frame(table).stopping == (None,)
