"""Gold that may be wrong: against grids, enumeration, and exact gold."""

import numpy as np
import pytest
from scipy.special import expit, logit
from scipy.stats import beta, norm
from toy import make_labels, simulate

import hero_bayes as hb
from hero_bayes.estimators.anchored_em import anchor
from hero_bayes.estimators.averaging import average, held_out_chances, held_out_log_score
from hero_bayes.estimators.fallible_anchor import GOLD, anchor_fallible, gold_as_labeler
from hero_bayes.estimators.gold_error import EXACT, FalliblePosterior, GoldError, gold_error_of
from hero_bayes.estimators.item_scores import item_scores
from hero_bayes.estimators.score_calibration import PROPOSALS, calibrate
from hero_bayes.estimators.tilt import tilt
from hero_bayes.estimators.tilt_parts import current_draws

PRIOR = (2.0, 18.0)


@pytest.fixture(scope="module")
def rounds():
    return simulate(
        3, n_history=400, n_current=120, gold_share=0.4, strength=0.0, current_gold=0.2
    ).rounds


def flipped(labels, share, seed):
    """The table with a share of its gold turned round."""
    turn = np.random.default_rng(seed).random(labels.n_items) < share
    return labels.with_gold(np.where(turn, 1.0 - labels.gold, labels.gold))


def noisy_gold(seed, n, wrong, slope=1.3):
    rng = np.random.default_rng(seed)
    score = rng.normal(0.0, 2.0, n)
    truth = rng.random(n) < expit(-0.4 + slope * score)
    return score, (truth ^ (rng.random(n) < wrong)).astype(float)


@pytest.mark.parametrize("value", [0.5, -0.1, True, "0.1", (1, 2, 3), (0, 1), (38, 2), (0.1, 0.2)])
def test_bad_error_rates(value):
    with pytest.raises(ValueError, match="gold_error must be None"):
        gold_error_of(value)


def test_points_carry_equal_prior_mass():
    points = GoldError(None, PRIOR).points()
    below = beta.cdf(points, *PRIOR) / beta.cdf(0.5, *PRIOR)
    np.testing.assert_allclose(below, (np.arange(points.size) + 0.5) / points.size, rtol=1e-9)


# --- calibration ---


def grid(score, gold, error):
    """Mean and deviation of (intercept, slope, e) on a grid, and the log evidence."""
    a, b = np.linspace(-4, 3, 71), np.linspace(-1, 4, 71)
    if error.rate is None:
        top = 0.5
        e = (np.arange(60) + 0.5) * top / 60
        law = beta.pdf(e, *error.prior) / beta.cdf(0.5, *error.prior) * top / 60
    else:
        e, law = np.array([error.rate]), np.ones(1)
    A, B, E = np.meshgrid(a, b, e, indexing="ij")
    total = norm.logpdf(A, logit(0.4), 1.0) + norm.logpdf(B, 1.0, 0.5) + np.log(law)
    for s, y in zip(score, gold, strict=True):
        p = expit(A + B * s)
        one = (1 - E) * p + E * (1 - p)
        total += np.log(one if y == 1 else 1 - one)
    top = total.max()
    mass = np.exp(total - top)
    evidence = top + np.log(mass.sum() * (a[1] - a[0]) * (b[1] - b[0]))
    mass /= mass.sum()
    mean = np.array([(mass * x).sum() for x in (A, B, E)])
    sd = np.sqrt([(mass * (x - m) ** 2).sum() for x, m in zip((A, B, E), mean, strict=True)])
    return mean, sd, evidence


@pytest.mark.parametrize("error", [GoldError(0.1), GoldError(None, PRIOR)], ids=["known", "prior"])
@pytest.mark.parametrize("n", [12, 80])
def test_calibration_matches_a_grid(error, n):
    score, gold = noisy_gold(1, n, 0.1)
    mean, sd, evidence = grid(score, gold, error)
    rng = np.random.default_rng(2)
    found = calibrate(score, gold, 0.4, n_draws=PROPOSALS, gold_error=error, rng=rng)
    drawn = np.array([found.intercept.mean(), found.slope.mean(), found.gold_error.mean()])
    # The weights' variance V gives means an error of sd sqrt((1 + V) / S), resampling once more.
    spread = PROPOSALS / found.effective_size - 1
    assert (np.abs(drawn - mean) < 5 * sd * np.sqrt(2 * (1 + spread) / PROPOSALS) + 1e-4).all()
    assert abs(found.log_evidence - evidence) < 5 * np.sqrt(spread / PROPOSALS) + 2e-3
    np.testing.assert_allclose(found.slope.std(), sd[1], rtol=0.1)
    assert found.effective_size > 0.3 * PROPOSALS


@pytest.mark.parametrize("error", [GoldError(0.1), GoldError(None, PRIOR)], ids=["known", "prior"])
def test_gradient_of_the_posterior(error):
    score, gold = noisy_gold(1, 30, 0.1)
    group = np.arange(30) % 2
    mean, sd = np.array([0.2, -0.3, 1.0]), np.array([1.0, 1.0, 0.5])
    posterior = FalliblePosterior(score, gold, group, mean, sd, error)
    at = posterior.start + 0.3
    gradient, hessian, information = posterior.slopes(at)
    step = 1e-5 * np.eye(at.size)
    by_difference = (posterior.log_density(at + step) - posterior.log_density(at - step)) / 2e-5
    np.testing.assert_allclose(gradient, by_difference, rtol=1e-6, atol=1e-7)
    assert (np.linalg.eigvalsh(hessian) > 0).all()
    assert (information > 0).all()


def test_no_error_is_exact_gold(rounds):
    one = tilt(*rounds, n_draws=100)
    two = tilt(*rounds, n_draws=100, gold_error=gold_error_of(0.0))
    np.testing.assert_array_equal(one.item_rate, two.item_rate)
    score, gold = noisy_gold(4, 60, 0.0)
    exact, tiny = (
        calibrate(score, gold, 0.4, gold_error=error, rng=np.random.default_rng(1))
        for error in (EXACT, GoldError(1e-12))
    )
    # The same proposals (the expected curvature is the observed one of a logistic line at e = 0).
    np.testing.assert_allclose(tiny.log_evidence, exact.log_evidence, rtol=1e-8)
    np.testing.assert_allclose(tiny.slope, exact.slope, rtol=1e-6)
    np.testing.assert_allclose(tiny.information, exact.information, rtol=1e-6)


def test_slope_is_recovered_from_wrong_gold():
    """10 % of gold flipped: taken as exact it flattens the line, allowed for it does not."""
    slopes = {"exact": [], "known": [], "prior": []}
    for seed in range(12):
        score, gold = noisy_gold(seed, 400, 0.1, slope=1.3)
        for name, value in (("exact", None), ("known", 0.1), ("prior", PRIOR)):
            found = calibrate(
                score, gold, 0.4, slope_sd=2.0, n_draws=400, gold_error=gold_error_of(value),
                rng=np.random.default_rng(seed),
            )  # fmt: skip
            slopes[name].append((found.slope.mean(), found.slope.std()))
    mean = {name: np.mean([m for m, _ in pairs]) for name, pairs in slopes.items()}
    error = {name: np.std([m for m, _ in pairs]) / np.sqrt(12) for name, pairs in slopes.items()}
    assert mean["exact"] < 1.3 - 8 * error["exact"]
    assert abs(mean["known"] - 1.3) < 3 * error["known"]
    # The prior leaves some of the flattening to either cause.
    inside = [abs(m - 1.3) < 2.6 * s for m, s in slopes["prior"]]
    assert sum(inside) >= 11
    assert mean["prior"] > mean["exact"] + 3 * error["prior"]


# --- the current round ---


def test_current_gold_is_evidence():
    """Three items, of which two carry gold: posterior means by enumeration over truth."""
    gold = np.array([1.0, 0.0, np.nan])
    now = make_labels([0, 1, 2], [0, 0, 0], [1, 1, 0], {"gold": gold})
    ratio, e, n = np.array([0.4, -0.2, 0.8]), 0.2, 40_000
    rng = np.random.default_rng(1)
    shape = np.full(n, 1.0)
    m, share = current_draws(
        np.zeros(n), shape, ratio, np.ones(3, dtype=bool), now, rng, np.full(n, e)
    )
    weight = np.log((1 - e) / e)
    full = ratio + np.array([weight, -weight, 0.0])
    rates = (np.arange(20_000) + 0.5) / 20_000
    density = np.prod(rates[:, None] * np.exp(full) + 1 - rates[:, None], axis=1)
    density /= density.sum()
    chance = expit(logit(rates)[:, None] + full).mean(axis=1)
    assert abs(m.mean() - density @ rates) < 5 * m.std() / np.sqrt(n)
    assert abs(share.mean() - density @ chance) < 5 * share.std() / np.sqrt(n)
    assert share.min() == 0.0


def test_evidence_holds_current_gold(rounds):
    history, current = rounds
    error = gold_error_of(0.1)
    draws = tilt(history, current, n_draws=50, gold_error=error)
    score = draws.scores.current[draws.component]
    plain = draws.intercept[:, None] + draws.slope[:, None] * score
    sign = np.nan_to_num(2 * current.gold - 1)
    np.testing.assert_allclose(draws.log_ratio, plain + sign * np.log(9.0), rtol=1e-12)
    assert (draws.gold_error == 0.1).all()


# --- independent errors ---


def marginal(history, sensitivity, specificity, prevalence, e):
    """Log p(labels, gold) of a history by enumeration over each item's truth."""
    total = 0.0
    for i in range(history.n_items):
        rows = slice(history.item_ptr[i], history.item_ptr[i + 1])
        j, z = history.labeler_idx[rows], history.label[rows]
        one = prevalence * np.prod(np.where(z == 1, sensitivity[j], 1 - sensitivity[j]))
        zero = (1 - prevalence) * np.prod(np.where(z == 0, specificity[j], 1 - specificity[j]))
        if history.has_gold[i]:
            right = history.gold[i] == 1
            one, zero = one * (1 - e if right else e), zero * (e if right else 1 - e)
        total += np.log(one + zero)
    return total


def test_fallible_anchor_is_the_most_likely(rounds):
    history, current = rounds
    found = anchor_fallible(history, current, GoldError(0.1))
    assert found.converged
    assert found.panel.labelers[-1] == GOLD
    a, b, m = found.sensitivity[:-1], found.specificity[:-1], found.history_prevalence[0]
    np.testing.assert_allclose([found.sensitivity[-1], found.specificity[-1]], 0.9)
    past = history.with_labelers([str(name) for name in found.panel.labelers[:-1]])
    best = marginal(past, a, b, m, 0.1)
    for k in range(a.size):
        for step in (-1e-3, 1e-3):
            moved = a.copy()
            moved[k] += step
            assert marginal(past, moved, b, m, 0.1) < best
            moved = b.copy()
            moved[k] += step
            assert marginal(past, a, moved, m, 0.1) < best
    assert max(marginal(past, a, b, m + step, 0.1) for step in (-1e-3, 1e-3)) < best
    # Exact gold is another optimum.
    assert np.abs(anchor(history, current).sensitivity - a).max() > 1e-3


def test_gold_as_labels(rounds):
    history, _ = rounds
    table = gold_as_labeler(history)
    assert table.n_labels == history.n_labels + history.n_gold
    counts = table.labels_per_item - history.labels_per_item
    np.testing.assert_array_equal(counts, history.has_gold)
    last = table.label[table.item_ptr[1:] - 1]
    np.testing.assert_array_equal(last[history.has_gold], history.gold[history.has_gold])
    assert not table.has_gold.any()


@pytest.mark.parametrize("value", [0.1, (2, 18)], ids=["known", "prior"])
def test_held_out_score_allows_for_errors(rounds, value):
    history, current = rounds
    scores, error = item_scores(history, current), gold_error_of(value)
    found, _ = held_out_log_score(scores, history, current, error)
    chances = np.concatenate(held_out_chances(scores, history, current, error)[0])
    if error.rate is not None:
        expected = np.log(0.1 + 0.8 * chances).sum()
    else:
        e = (np.arange(4000) + 0.5) / 8000
        law = beta.pdf(e, 2, 18) / beta.pdf(e, 2, 18).sum()
        expected = np.log(law @ np.exp(np.log(e[:, None] + (1 - 2 * e[:, None]) * chances).sum(1)))
    # 100 points of equal prior mass against a fine grid.
    np.testing.assert_allclose(found, expected, atol=1e-9 if error.rate is not None else 0.05)


def test_average_reads_the_error_rate(rounds):
    history, current = rounds
    wrong = flipped(history, 0.15, 1)
    exact = average(wrong, current, n_draws=300)
    allowed = average(wrong, current, n_draws=300, gold_error=gold_error_of((3, 17)))
    assert exact.gold_error is None
    assert 0.08 < allowed.gold_error.mean() < 0.25
    # One wrong gold item against confident labelers costs exact gold dearly.
    assert allowed.log_score_independent > exact.log_score_independent + 5
    assert np.isfinite(allowed.log_ratio).all()


def test_estimate_takes_the_error_rate(rounds):
    history, current = rounds
    plain = hb.estimate(history, current, method="score")
    same = hb.estimate(history, current, method="score", gold_error=0.0)
    other = hb.estimate(history, current, method="score", gold_error=(2, 18))
    assert plain.value == same.value != other.value
    assert 0.0 < other.details["gold_error"] < 0.5
    with pytest.raises(ValueError, match="gold_error is for method='score'"):
        hb.estimate(history, current, method="hero1", gold_error=0.1)


def test_slope_prior_is_untouched():
    """Without gold's say (e near 1/2) the posterior is the prior."""
    score, gold = noisy_gold(1, 40, 0.0)
    error = GoldError(0.4999)
    found = calibrate(
        score, gold, 0.4, n_draws=3000, gold_error=error, rng=np.random.default_rng(3)
    )
    # 3,000 proposals worth some 2,000, drawn from once more.
    assert abs(found.slope.mean() - 1.0) < 5 * 0.5 / np.sqrt(1000)
    assert abs(found.slope.std() - 0.5) < 5 * 0.5 / np.sqrt(2 * 1000)
