"""Calibration and draws of the tilt: grids, independent loops, and what may not matter."""

import dataclasses

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, logit
from scipy.stats import beta, kstest, norm
from toy import make_labels, simulate

from hero_bayes.data.labels import Labels
from hero_bayes.errors import DataError, Refusal
from hero_bayes.estimators.item_scores import item_scores
from hero_bayes.estimators.score_calibration import PROPOSALS, calibrate
from hero_bayes.estimators.shared_effect import fit_shared_effect
from hero_bayes.estimators.tilt import tilt, tilt_draws
from hero_bayes.estimators.tilt_parts import dealt, law_of_history

SIZES = {"n_history": 150, "n_current": 60, "n_labelers": 5, "labels_per_item": 4}


@pytest.fixture(scope="module")
def rounds():
    return simulate(11, **SIZES).rounds


def gold_of(seed, n, groups=1):
    rng = np.random.default_rng(seed)
    group = np.arange(n) % groups
    gold = (rng.random(n) < np.array([0.3, 0.7])[group]).astype(float)
    gold[:4] = 0, 0, 1, 1
    return rng.normal(1.5 * (2 * gold - 1), 1.6), gold, group


# --- calibration ---


def grid_posterior(score, gold, group, prevalence, size=141):
    """Posterior over a grid of (intercepts, slope): mean and sd of each, and log evidence."""
    axes = [np.linspace(logit(m) - 5, logit(m) + 5, size) for m in prevalence]
    axes.append(np.linspace(-1.5, 4.5, size))
    mesh = np.meshgrid(*axes, indexing="ij")
    total = sum(
        norm.logpdf(mesh[g], logit(m), 1.0) for g, m in enumerate(prevalence)
    ) + norm.logpdf(mesh[-1], 1.0, 0.5)
    for s, y, g in zip(score, gold, group, strict=True):
        line = mesh[g] + mesh[-1] * s
        total = total + y * line - np.logaddexp(0, line)
    top = total.max()
    mass = np.exp(total - top)
    cell = np.prod([a[1] - a[0] for a in axes])
    evidence = top + np.log(mass.sum() * cell)
    mass /= mass.sum()
    means = np.array([(mass * m).sum() for m in mesh])
    return (
        means,
        np.sqrt([(mass * (m - mu) ** 2).sum() for m, mu in zip(mesh, means, strict=True)]),
        evidence,
        mass[mesh[-1] < 0].sum(),
    )


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("n", [6, 60, 300])
def test_calibration_matches_a_grid(seed, n):
    score, gold, group = gold_of(seed, n)
    mean, deviation, evidence, negative = grid_posterior(score, gold, group, [0.4])
    rng = np.random.default_rng(seed)
    result = calibrate(score, gold, 0.4, n_draws=PROPOSALS, rng=rng)
    assert result.effective_size > 0.6 * PROPOSALS
    # Importance sampling: weights of variance V give means an error of sd sqrt((1 + V) / S) and
    # the evidence a relative error of sqrt(V / S); resampling adds at most as much again.
    spread = PROPOSALS / result.effective_size - 1
    drawn = np.array([result.intercept.mean(), result.slope.mean()])
    error = deviation * np.sqrt(2 * (1 + spread) / PROPOSALS)
    assert (np.abs(drawn - mean) < 5 * error).all()
    assert abs(result.log_evidence - evidence) < 5 * np.sqrt(spread / PROPOSALS) + 1e-3
    assert abs(result.negative_slope - negative) < 5 * np.sqrt(
        2 * max(negative, 1e-4) / result.effective_size
    )
    np.testing.assert_allclose(result.slope.std(), deviation[1], rtol=0.1)


def test_groups_share_the_slope():
    score, gold, group = gold_of(3, 50, groups=2)
    mean, deviation, evidence, _ = grid_posterior(score, gold, group, [0.3, 0.6], 61)
    result = calibrate(
        score, gold, [0.3, 0.6], group, n_draws=PROPOSALS, rng=np.random.default_rng(1)
    )
    spread = PROPOSALS / result.effective_size - 1
    drawn = np.append(result.intercept.mean(axis=0), result.slope.mean())
    assert (np.abs(drawn - mean) < 5 * deviation * np.sqrt(2 * (1 + spread) / PROPOSALS)).all()
    assert abs(result.log_evidence - evidence) < 5 * np.sqrt(spread / PROPOSALS) + 1e-3


def test_priors_reach_the_calibration():
    score, gold, _ = gold_of(4, 30)
    tight = calibrate(
        score, gold, 0.2, intercept_sd=1e-3, slope_mean=2.0, slope_sd=1e-3,
        rng=np.random.default_rng(1),
    )  # fmt: skip
    np.testing.assert_allclose(tight.intercept, logit(0.2), atol=0.02)
    np.testing.assert_allclose(tight.slope, 2.0, atol=0.02)


def test_a_score_that_points_the_wrong_way_is_seen():
    score, gold, _ = gold_of(5, 80)
    rng = np.random.default_rng(0)
    assert calibrate(score, gold, 0.3, rng=rng).negative_slope < 0.01
    assert calibrate(-score, gold, 0.3, rng=rng).negative_slope > 0.9


def test_calibration_refuses_and_rejects():
    rng = np.random.default_rng(0)
    with pytest.raises(Refusal, match=r"at least 2 labeled history items with gold 1 and got 1"):
        calibrate([0.0, 1.0, 2.0], [0, 0, 1], 0.5, rng=rng)
    with pytest.raises(DataError, match="one entry"):
        calibrate([0.0, 1.0], [0, 0, 1], 0.5, rng=rng)
    with pytest.raises(DataError, match="gold 0 or 1"):
        calibrate([0.0, 1.0], [0, np.nan], 0.5, rng=rng)
    with pytest.raises(DataError, match="groups must run from 0 to 0"):
        calibrate([0.0, 1.0], [0, 1], 0.5, [0, 1], rng=rng)
    with pytest.raises(DataError, match="between 0 and 1"):
        calibrate([0.0, 1.0], [0, 1], 1.0, rng=rng)


# --- the law of history ---


def test_evidence_is_the_same_from_groups_of_any_prevalence():
    """s ~ N(1, 1) or N(-1, 1) given y = 1 or 0: log f1 / f0 = 2 s at any prevalence."""
    rng = np.random.default_rng(6)
    rates = np.array([0.15, 0.5, 0.8])
    group = np.arange(12_000) % 3
    truth = (rng.random(group.size) < rates[group]).astype(float)
    score = rng.normal(2 * truth - 1, 1.0)
    line = calibrate(score, truth, rates, group, slope_sd=5.0, n_draws=500, rng=rng)
    constant, prevalence = law_of_history(line, score, group, rng)
    alone = [
        law_of_history(
            dataclasses.replace(
                line, intercept=line.intercept[:, [g]], information=line.information[[g]]
            ),
            score[group == g],
            np.zeros((group == g).sum(), dtype=int),
            rng,
        )[0]
        for g in range(3)
    ]
    for drawn in (constant, *alone):
        # The exact constant is 0; each draw is within its own posterior spread of it.
        assert abs(drawn.mean()) < 4 * drawn.std() + 1e-3
        assert drawn.std() < 0.25
    assert constant.std() < min(d.std() for d in alone)
    np.testing.assert_allclose(prevalence.mean(axis=0), rates, atol=0.03)


# --- draws ---


def loop_draws(scores, n_draws, seed):
    """The recipe draw by draw with grids, independent of the package's code."""
    rng = np.random.default_rng(seed)
    past, now = scores.panel.history, scores.panel.current
    known = past.has_gold
    prevalence0 = scores.fit.prevalence[0]
    alphas = np.linspace(logit(prevalence0) - 4, logit(prevalence0) + 4, 321)
    betas = np.linspace(-0.8, 3.5, 321)
    grids, evidence = [], []
    for row in scores.history:
        a, b = np.meshgrid(alphas, betas, indexing="ij")
        total = norm.logpdf(a, logit(prevalence0), 1) + norm.logpdf(b, 1, 0.5)
        for s, y in zip(row[known], past.gold[known], strict=True):
            total = total + y * (a + b * s) - np.logaddexp(0, a + b * s)
        mass = np.exp(total - total.max())
        evidence.append(total.max() + np.log(mass.sum()))
        grids.append(mass.ravel() / mass.sum())
    weight = np.exp(0.5 * (np.array(evidence) - max(evidence)))
    weight /= weight.sum()
    m_grid = (np.arange(500) + 0.5) / 500
    out = []
    for c in rng.choice(len(weight), n_draws, p=weight):
        place = rng.choice(grids[c].size, p=grids[c])
        a, b = alphas[place // 321], betas[place % 321]
        w = rng.exponential(size=past.n_items)
        mh = np.average(expit(a + b * scores.history[c]), weights=w)
        r = np.exp(a + b * scores.current[c]) * (1 - mh) / mh
        free = ~now.has_gold
        log_m = np.log(m_grid[:, None] * r[free] + 1 - m_grid[:, None]).sum(axis=1)
        log_m += np.log(m_grid) * (now.gold == 1).sum() + np.log1p(-m_grid) * (now.gold == 0).sum()
        density = np.exp(log_m - log_m.max())
        m = rng.choice(m_grid, p=density / density.sum()) + rng.uniform(-0.5, 0.5) / 500
        y = rng.random(free.sum()) < m * r[free] / (m * r[free] + 1 - m)
        out.append((m, (y.sum() + (now.gold == 1).sum()) / now.n_items, b))
    return np.array(out), weight


def test_draws_match_an_independent_loop():
    history, current = simulate(13, **SIZES, current_gold=0.2).rounds
    scores = item_scores(history, current, transport="none")
    draws = tilt_draws(scores, n_draws=3000, rng=np.random.default_rng(5))
    expected, weight = loop_draws(scores, 3000, 6)
    np.testing.assert_allclose(draws.weight, weight, atol=0.02)
    found = np.stack([draws.prevalence[:, 0], draws.item_rate[:, 0], draws.slope], axis=1)
    # Resampled lines repeat some draws, so that the first sample is worth a little less: 5 errors.
    error = np.sqrt((found.var(axis=0) * 1.5 + expected.var(axis=0)) / 3000)
    assert (np.abs(found.mean(axis=0) - expected.mean(axis=0)) < 5 * error).all()
    np.testing.assert_allclose(found.std(axis=0), expected.std(axis=0), rtol=0.1)
    assert kstest(found[:, 0], expected[:, 0]).pvalue > 1e-4


def test_all_current_gold_leaves_a_beta():
    history, current = simulate(14, **SIZES).rounds
    gold = np.arange(60) % 3 == 0
    current = current.with_gold(gold.astype(float))
    draws = tilt(history, current, n_draws=2000)
    np.testing.assert_array_equal(draws.item_rate, gold.mean())
    law = beta(1 + gold.sum(), 1 + (~gold).sum())
    assert kstest(draws.prevalence[:, 0], law.cdf).pvalue > 1e-4


def test_groups_share_the_line_of_a_draw():
    history, current = simulate(15, **SIZES, arms=("A", "B")).rounds
    draws = tilt(history, current, n_draws=400)
    assert draws.groups == ("A", "B")
    ratio = draws.log_ratio
    for d in (0, 7, 399):
        score = draws.scores.current[draws.component[d]]
        np.testing.assert_allclose(ratio[d], draws.intercept[d] + draws.slope[d] * score)
    alone = tilt(history, current.select(arms="B"), n_draws=400)
    error = np.sqrt(2 * draws.prevalence[:, 1].var() / 400)
    assert abs(alone.prevalence.mean() - draws.prevalence[:, 1].mean()) < 5 * error
    assert abs(draws.prevalence[:, 0].mean() - draws.prevalence[:, 1].mean()) > 0


def test_history_groups_with_their_own_prevalence():
    """Three rounds at 10, 40 and 70 %: the current rate is found, and unknown groups are named."""
    tables = []
    for k, rate in enumerate((0.1, 0.4, 0.7)):
        past = simulate(
            20 + k, n_history=150, n_current=5, n_labelers=6, labels_per_item=5,
            history_rate=rate, labeler_sd=0.0, strength=0.0, gold_share=0.0 if k == 1 else 0.4,
        ).past  # fmt: skip
        past.verdicts["item"] += 1000 * k
        past.items["item"] += 1000 * k
        past.items["round"] = f"r{k}"
        tables.append(past)
    history = Labels.from_frames(
        pd.concat([t.verdicts for t in tables]), pd.concat([t.items for t in tables])
    )
    now = simulate(
        30, n_history=20, n_current=400, n_labelers=6, labels_per_item=5, rate=0.25,
        labeler_sd=0.0, strength=0.0,
    ).now  # fmt: skip
    draws = tilt(history, now.labels(), n_draws=1000)
    assert draws.gold_groups == ("r0", "r2")
    assert draws.alpha.shape == (1000, 2)
    truth = [tables[k].truth.mean() for k in (0, 2)]
    deviation = draws.history_prevalence.std(axis=0)
    assert (np.abs(draws.history_prevalence.mean(axis=0) - truth) < 4 * deviation).all()
    rate = draws.item_rate[:, 0]
    assert abs(rate.mean() - now.truth.mean()) < 4 * rate.std()
    assert rate.std() < 0.06


def test_items_without_a_known_label_say_nothing():
    history, current = simulate(16, **SIZES).rounds
    rows = current.to_frames().labels
    gone = rows["item"].isin(["0", "1", "2"])
    rows.loc[gone, "labeler"] = "stranger " + rows.loc[gone, "labeler"].astype(str)
    other = Labels.from_frames(rows)
    draws = tilt(history, other, n_draws=50)
    silent = np.isin(other.items, ["0", "1", "2"])
    assert (draws.log_ratio[:, silent] == 0).all()
    assert (draws.log_ratio[:, ~silent] != 0).all()
    strangers = make_labels([0, 1], ["new", "new"], [0, 1])
    with pytest.raises(Refusal, match="no labeler of the current round is known"):
        tilt(history, strangers)


def test_dealing_by_largest_remainder():
    assert dealt(np.array([0.5, 0.3, 0.2]), 10).tolist() == [5, 3, 2]
    assert dealt(np.array([0.34, 0.33, 0.33]), 10).tolist() == [4, 3, 3]
    assert dealt(np.array([1.0, 0.0, 0.0]), 7).tolist() == [7, 0, 0]
    draws = tilt(*simulate(17, **SIZES).rounds, n_draws=101)
    assert np.bincount(draws.component, minlength=3).tolist() == dealt(draws.weight, 101).tolist()
    half = np.exp(0.5 * (draws.log_evidence - draws.log_evidence.max()))
    np.testing.assert_allclose(draws.weight, half / half.sum(), rtol=1e-12)


def test_too_little_gold(rounds):
    history, current = rounds
    one = np.flatnonzero(history.gold == 1)[0]
    gold = np.where(history.gold == 1, np.nan, history.gold)
    gold[one] = 1.0
    with pytest.raises(Refusal, match=r"score needs at least 2.*gold 1 and got 1"):
        tilt(history.with_gold(gold), current)


def test_order_of_rows_changes_no_bit_and_the_seed_does(rounds):
    problem = simulate(11, **SIZES)
    rng = np.random.default_rng(0)
    shuffled = [
        Labels.from_frames(
            *(frame.iloc[rng.permutation(len(frame))] for frame in (part.verdicts, part.items))
        )
        for part in (problem.past, problem.now)
    ]
    one, two = tilt(*rounds, n_draws=60), tilt(*shuffled, n_draws=60)
    for name in ("prevalence", "item_rate", "component", "log_ratio", "weight", "alpha"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))
    other = tilt(*rounds, n_draws=60, random_seed=1)
    assert (other.prevalence != one.prevalence).any()
    assert (other.scores.fold != one.scores.fold).any()


def test_names_of_items_and_labelers_do_not_matter(rounds):
    history, current = rounds
    renamed = []
    for labels in rounds:
        frames = labels.to_frames()
        verdicts, items = frames.labels, frames.items
        verdicts["labeler"] = "person " + verdicts["labeler"].astype(str).map(
            lambda x: str(9 - int(x))
        )
        renamed.append(Labels.from_frames(verdicts, items))
    one, two = (fit_shared_effect(h, c) for h, c in ((history, current), renamed))
    # The same climb with sums in another order: both stop within 1e-4 in slope of one mode.
    np.testing.assert_allclose(one.prevalence, two.prevalence, atol=1e-4)
    first, second = tilt(history, current, n_draws=1500), tilt(*renamed, n_draws=1500)
    error = np.sqrt(2 * 1.5 * first.prevalence.var() / 1500)
    assert abs(first.prevalence.mean() - second.prevalence.mean()) < 5 * error
