"""Expected falls of the variance against enumeration of the answers."""

import numpy as np
import pytest

from hero_bayes.planning.greedy import Question, choose, first_gains


def question(seed=0, draws=50, past=6, now=5, n_items=8, level=0.0):
    """A rate whose current chances and target hang together."""
    rng = np.random.default_rng(seed)
    common = rng.normal(level, 1.0, draws)[:, None]
    history = 1 / (1 + np.exp(-(common + rng.normal(size=(draws, past)))))
    current = 1 / (1 + np.exp(-(common + rng.normal(size=(draws, now)))))
    target = current.sum(axis=1) / n_items
    spread = (current * (1 - current)).mean(axis=0).sum() / n_items**2
    return Question(target, spread, history, current, n_items)


def test_history_gain_is_that_of_the_reweighted_draws():
    asked = question()
    gains = first_gains(asked)[:6]
    for chance, gain in zip(asked.history.T, gains, strict=True):
        left = 0.0
        for weight in (chance, 1 - chance):
            share = weight / weight.sum()
            mean = share @ asked.target
            left += weight.mean() * (share @ (asked.target - mean) ** 2)
        assert gain == pytest.approx(asked.target.var() - left, rel=1e-9)


def test_current_gain_is_the_fall_once_the_item_is_settled():
    asked = question(1)
    gains = first_gains(asked)[6:]
    for i, gain in enumerate(gains):
        rest = np.delete(asked.current, i, axis=1)
        own = (rest * (1 - rest)).mean(axis=0).sum() / asked.n_items**2
        left = (rest.sum(axis=1) / asked.n_items).var() + own
        assert gain == pytest.approx(asked.variance - left, rel=1e-9)


def test_variance_is_that_of_drawn_truths():
    """Law of total variance, against truths drawn from the chances (standard error 1 %)."""
    asked = question(2)
    rng = np.random.default_rng(3)
    row = rng.integers(50, size=20_000)
    drawn = (rng.random((20_000, 5)) < asked.current[row]).sum(axis=1) / asked.n_items
    assert drawn.var() == pytest.approx(asked.variance, rel=0.05)


def test_gains_of_a_sequence_are_those_of_the_gaussian_with_the_same_covariance():
    """History alone: the filter on draws against the conditional variance in closed form."""
    asked = question(4)
    none = Question(asked.target, asked.spread, asked.history, asked.current[:, :0], 8)
    found = choose(none, 6)
    signal = np.cov(np.column_stack([asked.target, asked.history]).T, bias=True)
    noise = (asked.history * (1 - asked.history)).mean(axis=0)
    left = [signal[0, 0]]
    for size in range(1, 7):
        chosen = found.position[:size]
        within = signal[1:, 1:][np.ix_(chosen, chosen)] + np.diag(noise[chosen])
        across = signal[0, 1:][chosen]
        left.append(signal[0, 0] - across @ np.linalg.solve(within, across))
    np.testing.assert_allclose(found.gain, -np.diff(left), rtol=1e-8)


def test_the_first_choice_is_the_best_alone_and_gains_add_up_to_everything():
    asked = question(5)
    now = Question(asked.target, asked.spread, asked.history[:, :0], asked.current, 8)
    found = choose(now, 99)
    assert found.position[0] == np.argmax(first_gains(now))
    assert sorted(found.position) == list(range(5))
    assert found.gain.sum() == pytest.approx(now.variance, rel=1e-9)


def test_repeats_of_one_item_are_not_all_taken():
    """Five copies of the most telling item, and one that tells of something else."""
    rng = np.random.default_rng(6)
    first, second = rng.normal(size=(2, 400))
    chance = 1 / (1 + np.exp(-np.column_stack([2 * first] * 5 + [1.9 * second])))
    target = 0.5 + 0.1 * first + 0.1 * second
    asked = Question(target, 0.0, chance, np.empty((400, 0)), 10)
    alone = first_gains(asked)
    assert alone[5] < alone[:5].min()
    assert 5 in choose(asked, 2).position


def test_given_items_take_their_turns():
    asked = question(7)
    free = choose(asked, 6)
    order = [int(free.position[0]), *range(10, -1, -1)]
    mixed = choose(asked, 6, order, 0.5)
    assert mixed.position[0] == free.position[0]
    assert mixed.at_random.tolist() == [False, True] * 3
    assert len(set(mixed.position)) == 6
    for turn in (1, 3, 5):
        left = [column for column in order if column not in mixed.position[:turn]]
        assert mixed.position[turn] == left[0]
    assert not free.at_random.any()
    assert choose(asked, 4, [], 0.5).position.tolist() == free.position[:4].tolist()


def test_items_that_say_nothing_gain_nothing():
    asked = Question(np.linspace(0, 1, 20), 0.0, np.full((20, 2), [0.3, 1.0]), np.empty((20, 0)), 3)
    assert first_gains(asked) == pytest.approx([0, 0])
    assert choose(asked, 2).gain == pytest.approx([0, 0])
