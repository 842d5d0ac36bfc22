"""The score model's graph against independent numpy, its tables of scores, and what it refuses."""

import dataclasses
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import root
from scipy.special import betaln, expit, logit
from scipy.stats import norm
from toy import make_labels

from hero_bayes.data.score_bins import ScoreBins, bin_counts, number_of_bins
from hero_bayes.data.score_table import ScoreTable
from hero_bayes.errors import DataError, Refusal
from hero_bayes.estimators.score_calibration import calibrate
from hero_bayes.estimators.tilt_parts import law_of_history
from hero_bayes.inference.graph import QUICK, evidence_function
from hero_bayes.inference.program import make_program
from hero_bayes.models.score import score

EXACT = {"rtol": 1e-9, "atol": 0.0}
N_PAST, N_NOW = 90, 12
#: The supplying model's prevalence by history group; r3 has no gold.
MODEL_RATE = np.array([0.3, 0.6, 0.5])


def tables():
    """Three history rounds, the last without gold; two current arms, some gold, item 5 unused."""
    rng = np.random.default_rng(3)
    group = np.arange(N_PAST) % 3
    truth = (rng.random(N_PAST) < np.array([0.25, 0.65, 0.5])[group]).astype(float)
    gold = np.where((rng.random(N_PAST) < 0.5) & (group < 2), truth, np.nan)
    now_gold = np.full(N_NOW, np.nan)
    now_gold[[0, 3, 7]] = 1.0, 0.0, 1.0
    history = make_labels(
        np.arange(N_PAST), np.repeat("a", N_PAST), truth.astype(int),
        {"gold": gold, "round": np.array(["r1", "r2", "r3"], dtype=object)[group]},
    )  # fmt: skip
    current = make_labels(
        np.arange(N_NOW), np.repeat("a", N_NOW), np.arange(N_NOW) % 2,
        {"gold": now_gold, "arm": np.array(["A", "B"], dtype=object)[np.arange(N_NOW) % 2]},
    )  # fmt: skip
    used = np.ones(N_PAST, dtype=bool)
    used[[4, 8]] = False
    table = ScoreTable(
        name="own",
        history_items=[str(i) for i in history.items],
        history=rng.normal(1.3 * (2 * truth - 1), 1.2),
        history_used=used,
        fold=np.arange(N_PAST) % 5,
        current_items=[str(i) for i in current.items],
        current=rng.normal(0.0, 1.5, N_NOW),
        current_used=np.arange(N_NOW) != 5,
        history_groups=history.groups("history"),
        model_prevalence=MODEL_RATE,
    )
    return history, current, table


@pytest.fixture(scope="module")
def problem():
    history, current, table = tables()
    law = table.history_used & (history.group_idx < 2)
    return SimpleNamespace(
        history=history,
        current=current,
        table=table,
        s=table.history[law],
        group=history.group_idx[law],
        gold=history.gold[law],
    )


def log_density(model, point):
    """Log-density of the model, no Jacobians, at values by name."""
    from pymc.model.transform.conditioning import remove_value_transforms

    plain = remove_value_transforms(model)
    values = {plain.rvs_to_values[plain[name]].name: value for name, value in point.items()}
    return float(plain.compile_logp(jacobian=False, mode=QUICK)(values))


def shares(p):
    """Gold's information on each intercept at the mode, by root finding."""
    known = ~np.isnan(p.gold)
    s, y, g = p.s[known], p.gold[known], p.group[known]

    def gradient(at):
        rest = y - expit(at[g] + at[2] * s)
        prior = (at - np.append(logit(MODEL_RATE[:2]), 1.0)) / np.array([1.0, 1.0, 0.25])
        return np.array([rest[g == 0].sum(), rest[g == 1].sum(), rest @ s]) - prior

    at = root(gradient, np.array([0.0, 0.0, 1.0]), tol=1e-12).x
    chance = expit(at[g] + at[2] * s)
    information = np.array([(chance * (1 - chance))[g == k].sum() for k in (0, 1)])
    return information / information.sum()


def current_terms(p, log_ratio, q, m, error=None):
    """Log-likelihood of the current items relative to the law of history's scores, by hand."""
    overall = q[0] * np.mean(p.group == 0) + q[1] * np.mean(p.group == 1)
    total = 0.0
    for i in range(N_NOW):
        rate, r = m[p.current.group_idx[i]], np.exp(log_ratio[i])
        one, zero, y = rate * r, 1 - rate, p.current.gold[i]
        if error is not None and not np.isnan(y):
            one, zero = one * (error, 1 - error)[int(y)], zero * (1 - error, error)[int(y)]
            y = np.nan
        mass = one + zero if np.isnan(y) else (zero, one)[int(y)]
        total += np.log(mass) - np.log(overall * r + 1 - overall)
    return total


def line_by_hand(p, alpha, slope):
    """q by group and log r of the current items."""
    q = np.array([expit(alpha[g] + slope * p.s[p.group == g]).mean() for g in (0, 1)])
    ratio = (alpha - logit(q)) @ shares(p) + slope * p.table.current
    return q, np.where(p.table.current_used, ratio, 0.0)


@pytest.mark.parametrize("error", [None, 0.1])
def test_logp_of_the_line_is_the_sum_by_hand(problem, error):
    p = problem
    alpha, slope, m = np.array([-0.7, 0.9]), 0.8, np.array([0.2, 0.7])
    model = score(p.history, p.current, scores=p.table, gold_error=error)
    found = log_density(
        model, {"score_intercept": alpha, "score_slope": np.array(slope), "prevalence": m}
    )
    q, ratio = line_by_hand(p, alpha, slope)
    known = ~np.isnan(p.gold)
    chance = expit(alpha[p.group] + slope * p.s)[known]
    if error is not None:
        chance = (1 - error) * chance + error * (1 - chance)
    gold = np.log(np.where(p.gold[known] == 1, chance, 1 - chance)).sum()
    prior = norm.logpdf(alpha, logit(MODEL_RATE[:2]), 1.0).sum() + norm.logpdf(slope, 1.0, 0.5)
    expected = prior + gold + current_terms(p, ratio, q, m, error)
    # The shares come from a quasi-Newton search that stops at a gradient of 1e-8.
    np.testing.assert_allclose(found, expected, rtol=1e-7)


def test_priors_reach_the_graph(problem):
    p = problem
    settings = {"intercept_sd": 0.3, "slope_prior": (2.0, 0.1), "prevalence_prior": (2.0, 5.0)}
    point = {"score_intercept": np.zeros(2), "score_slope": np.array(2.0)}
    point["prevalence"] = np.array([0.5, 0.1])
    one, two = (log_density(score(p.history, p.current, scores=p.table, **k), point)
                for k in ({}, settings))  # fmt: skip
    beta = (np.log([0.5, 0.1]) + 4 * np.log1p([-0.5, -0.1]) - betaln(2, 5)).sum()
    centre = logit(MODEL_RATE[:2])
    change = norm.logpdf(0, centre, 0.3).sum() - norm.logpdf(0, centre, 1.0).sum() + beta
    change += norm.logpdf(2, 2, 0.1) - norm.logpdf(2, 1, 0.5)
    # The shares depend on the priors, and the current items on the shares: take that part out.
    ratios = [ratio_at(p, point, **k) for k in ({}, settings)]
    q = np.array([expit(2 * p.s[p.group == g]).mean() for g in (0, 1)])
    parts = [current_terms(p, ratio, q, point["prevalence"]) for ratio in ratios]
    np.testing.assert_allclose(two - one, change + parts[1] - parts[0], rtol=1e-8)


def ratio_at(p, point, **settings):
    evidence = evidence_function(score(p.history, p.current, scores=p.table, **settings))
    return evidence({name: value[None] for name, value in point.items()})["log_ratio"][0]


class EvenWeights:
    """In place of a generator: every item weighs the same, no bootstrap."""

    def standard_gamma(self, count, shape):
        return np.broadcast_to(count, shape).astype(float)


def test_evidence_is_the_tilts_without_bootstrap_weights(problem):
    p = problem
    known = ~np.isnan(p.gold)
    line = calibrate(
        p.s[known], p.gold[known], MODEL_RATE[:2], p.group[known], n_draws=50,
        rng=np.random.default_rng(1),
    )  # fmt: skip
    constant, q = law_of_history(line, p.s, p.group, EvenWeights())
    model = score(p.history, p.current, scores=p.table)
    draws = {"score_intercept": line.intercept, "score_slope": line.slope}
    ratio = evidence_function(model)(draws)["log_ratio"]
    expected = constant[:, None] + line.slope[:, None] * p.table.current
    # Both shares come from searches for the mode: 1e-7 of a share, times constants of order one.
    np.testing.assert_allclose(ratio[:, p.table.current_used], expected[:, p.table.current_used],
                               atol=1e-6)  # fmt: skip
    assert (ratio[:, 5] == 0.0).all()
    assert not np.allclose(q[:, 0], q[:, 1])


def test_logp_of_bins_is_conjugate(problem):
    p = problem
    known = ~np.isnan(p.gold)
    edges = ScoreBins.at_quantiles(p.s, number_of_bins(p.gold)).edges
    b, n_bins = np.searchsorted(edges, p.s, side="right"), edges.size + 1
    rng = np.random.default_rng(2)
    rate, m = rng.uniform(0.1, 0.9, (2, n_bins)), np.array([0.3, 0.6])
    model = score(p.history, p.current, scores=p.table, form="bins")
    found = log_density(model, {"bin_rate": rate, "prevalence": m})
    total, q, information = 0.0, np.empty(2), np.empty((2, n_bins))
    for g in (0, 1):
        first, second = 2 * MODEL_RATE[g], 2 * (1 - MODEL_RATE[g])
        q[g] = rate[g, b[p.group == g]].mean()
        for k in range(n_bins):
            y = p.gold[known & (p.group == g) & (b == k)]
            one, zero = first + y.sum(), second + (1 - y).sum()
            total += (one - 1) * np.log(rate[g, k]) + (zero - 1) * np.log1p(-rate[g, k])
            total -= betaln(first, second)
            information[g, k] = 1 / (1 / one + 1 / zero)
    share = information / information.sum(axis=0)
    by_bin = (share * (logit(rate) - logit(q)[:, None])).sum(axis=0)
    ratio = by_bin[np.searchsorted(edges, p.table.current, side="right")]
    ratio[5] = 0.0
    np.testing.assert_allclose(found, total + current_terms(p, ratio, q, m), **EXACT)


def test_names_and_dimensions(problem):
    p = problem
    model = score(p.history, p.current, scores=p.table)
    assert {rv.name for rv in model.free_RVs} == {"score_intercept", "score_slope", "prevalence"}
    assert list(model.coords["history_group"]) == ["r1", "r2"]  # r3 has no gold
    dims = model.named_vars_to_dims
    assert dims["history_prevalence"] == ("history_group",)
    assert dims["class_log_likelihood"] == ("item", "truth")
    assert dims["current_labels"] == ("item",)
    terms = model["class_log_likelihood"].eval({}, mode=QUICK)
    assert (terms[:, 0] == 0.0).all()
    binned = score(p.history, p.current, scores=p.table, form="bins")
    assert binned.named_vars_to_dims["bin_rate"] == ("history_group", "bin")
    weights = model["history_weight"].get_value()
    np.testing.assert_allclose([weights[p.group == g].sum() for g in (0, 1)], 1.0)


def test_stage_one_finds_its_items_by_id(problem):
    """The cut calls the factory on the current items with gold alone; the history stays."""
    p = problem
    program = make_program(score, p.history, p.current, priors={"scores": p.table})
    held = np.flatnonzero(p.current.has_gold)
    learned = program.learning["score"].get_value()
    np.testing.assert_array_equal(learned, p.table.current[held])
    np.testing.assert_array_equal(
        program.learning["history_score"].get_value(), program.full["history_score"].get_value()
    )


def test_the_order_of_the_scores_does_not_matter(problem):
    p, order = problem, np.random.default_rng(4).permutation(N_PAST)
    shuffled = dataclasses.replace(
        p.table,
        history_items=[p.table.history_items[k] for k in order],
        history=p.table.history[order],
        history_used=p.table.history_used[order],
        fold=p.table.fold[order],
    )
    point = {"score_intercept": np.zeros(2), "score_slope": np.array(1.0)}
    point["prevalence"] = np.array([0.5, 0.1])
    one, two = (log_density(score(p.history, p.current, scores=t), point)
                for t in (p.table, shuffled))  # fmt: skip
    assert one == two


# --- refusals ---


def test_scores_that_were_not_held_out_are_refused(problem):
    for fold in (None, np.zeros(N_PAST)):
        with pytest.raises(Refusal, match="without fold ids, or with one fold"):
            dataclasses.replace(problem.table, fold=fold)
    p = problem
    scores = SimpleNamespace(
        names=("votes",), history=p.table.history[None], current=p.table.current[None],
        history_used=p.table.history_used, current_used=p.table.current_used, fold=None,
        panel=SimpleNamespace(history=p.history, current=p.current),
        fit=SimpleNamespace(prevalence=MODEL_RATE),
    )  # fmt: skip
    with pytest.raises(Refusal, match="fold ids"):
        score(p.history, p.current, scores=scores, score="votes")
    scores.fold = p.table.fold
    assert score(p.history, p.current, scores=scores, score="votes").free_RVs
    with pytest.raises(ValueError, match="no score 'mean' in these tables; one of votes"):
        score(p.history, p.current, scores=scores)


def test_tables_of_scores_are_checked(problem):
    p = problem
    with pytest.raises(DataError, match="90 ids, 89 scores"):
        dataclasses.replace(p.table, history=p.table.history[1:])
    with pytest.raises(DataError, match="id occurs twice among the current items"):
        dataclasses.replace(p.table, current_items=["0"] * N_NOW)
    bad = p.table.history.copy()
    bad[0] = np.nan
    with pytest.raises(DataError, match="history items 0 are not finite"):
        dataclasses.replace(p.table, history=bad)
    with pytest.raises(DataError, match="fold has 3 entries"):
        dataclasses.replace(p.table, fold=np.arange(3))
    with pytest.raises(DataError, match="each of the 3 history groups"):
        dataclasses.replace(p.table, model_prevalence=np.array([0.5]))
    other = dataclasses.replace(p.table, current_items=[f"x{k}" for k in range(N_NOW)])
    with pytest.raises(DataError, match="12 current items have no score"):
        score(p.history, p.current, scores=other)


def test_bad_arguments_and_too_little_gold(problem):
    p = problem
    with pytest.raises(ValueError, match="unknown form 'spline'; one of line, bins"):
        score(p.history, p.current, scores=p.table, form="spline")
    gold = np.where(p.history.gold == 1.0, np.nan, p.history.gold)
    with pytest.raises(Refusal, match="gold 1 and got 0"):
        score(p.history.with_gold(gold), p.current, scores=p.table)
    flat = dataclasses.replace(p.table, history=np.zeros(N_PAST))
    with pytest.raises(Refusal, match="no bins to tell apart"):
        score(p.history, p.current, scores=flat, form="bins")


def test_the_prior_of_bins_stays_away_from_the_ends():
    counts = bin_counts(2, np.array([0, 1]), np.array([1.0, 0.0]), np.zeros(2, int), np.zeros(1))
    assert counts.first.tolist() == [[0.1, 0.1]]
    assert counts.second.tolist() == [[1.9, 1.9]]
