"""Fallible gold in every complete model: log-density by enumeration over every truth vector."""

import itertools
import math

import brute
import numpy as np
import pytensor
import pytest
from pymc.model.transform.conditioning import remove_value_transforms
from scipy.special import betaln, expit, logsumexp
from scipy.stats import beta, norm
from toy import make_labels

from hero_bayes.inference.graph import QUICK
from hero_bayes.models import MODELS, correlated, hero

NAMES = tuple(name for name in MODELS if name != "score")
NAN = np.nan
KNOWN, PRIOR = 0.15, (2.0, 7.0)
#: What the enumeration reads of a model; the labelers' layers have tests of their own.
READ = (
    "sensitivity",
    "specificity",
    "current_sensitivity",
    "current_specificity",
    "label_logit",
    "loading",
    "history_prevalence",
    "prevalence",
    "history_icc",
    "icc",
    "history_intercept",
    "intercept",
    "history_covariate_log_odds",
    "covariate_log_odds",
    "gold_error",
)


def table(rows, **columns):
    columns["x"] = np.random.default_rng(len(rows)).normal(size=len(rows))
    cells = [(i, cell[0], int(cell[1])) for i, row in enumerate(rows) for cell in row.split()]
    return make_labels(*zip(*cells, strict=True), columns, ["x"])


@pytest.fixture(scope="module")
def rounds():
    """Two groups and three prompts a round; gold of both classes, also against all labels."""
    past = ["a1 b1 c1", "a0 b0", "a1 c0", "b1", "a0 b0 c0", "a1 b1 c0", "c1"]
    now = ["a1 b0 c1", "a1 b1", "b0 c0", "a0", "a1 b1 c0", "b1"]
    return (
        table(
            past,
            gold=[1, 0, NAN, 0, 1, NAN, NAN],
            round=["r1"] * 4 + ["r2"] * 3,
            prompt=["p", "p", "q", "q", "p", "p", "q"],
        ),
        table(
            now,
            gold=[NAN, 0, 0, NAN, 1, NAN],
            arm=["A", "B"] * 3,
            prompt=["p", "p", "p", "q", "q", "q"],
        ),
    )


def point_of(model, seed):
    """A value of every free variable, inside its range whatever that is."""
    rng = np.random.default_rng(seed)
    return {rv.name: rng.uniform(0.1, 0.45, rv.shape.eval()) for rv in model.free_RVs}


def evaluate(model, names, point):
    """Variables of the model by name, at values of its free variables."""
    names = [name for name in names if name in model.named_vars]
    function = pytensor.function(
        list(model.free_RVs), [model[n] for n in names], mode=QUICK, on_unused_input="ignore"
    )
    values = function(*(point[rv.name] for rv in model.free_RVs))
    return dict(zip(names, map(np.asarray, values), strict=True))


def log_density(model, variables=None):
    """Log-density on the scale of the variables; of all, or of some."""
    plain = remove_value_transforms(model)
    chosen = None if variables is None else [plain[v.name] for v in variables]
    return plain.compile_logp(vars=chosen, jacobian=False, mode=QUICK)


DENSE = np.linspace(-9.0, 9.0, 4001)


def labels_chance(labels, item, truth, values, prefix):
    """P(labels of one item | truth), by the labelers of one round."""
    if "loading" in values:
        logs = norm.logpdf(DENSE) + math.log(DENSE[1] - DENSE[0])
        for name, label in brute.verdicts_of(labels, item):
            logit = values["label_logit"][truth, "abc".index(name)]
            logit = logit + values["loading"][truth] * DENSE
            logs -= np.logaddexp(0.0, -logit if label else logit)
        return math.exp(logsumexp(logs))
    now = "current_" if prefix == "" and "current_sensitivity" in values else ""
    rates = (values[f"{now}{rate}"] for rate in ("sensitivity", "specificity"))
    return brute.item_chance(
        labels, item, truth, *(dict(zip("abc", rate, strict=True)) for rate in rates)
    )


def truth_chance(labels, truths, values, prefix):
    """P(truth vector) of one round under its outcome layer."""
    if f"{prefix}icc" in values:
        total = 0.0
        for group, prompt in set(zip(labels.group_idx.tolist(), labels.prompt, strict=True)):
            own = (labels.group_idx == group) & (labels.prompt == prompt)
            mean, icc = values[f"{prefix}prevalence"][group], values[f"{prefix}icc"][group]
            one, zero = mean * (1 - icc) / icc, (1 - mean) * (1 - icc) / icc
            k, n = np.sum(np.array(truths)[own]), own.sum()
            total += betaln(one + k, zero + n - k) - betaln(one, zero)
        return math.exp(total)
    if f"{prefix}intercept" in values:
        part = values[f"{prefix}covariate_log_odds"]
        rate = expit(values[f"{prefix}intercept"][labels.group_idx] + part)
    else:
        rate = values[f"{prefix}prevalence"][labels.group_idx]
    return float(np.prod(np.where(np.array(truths) == 1, rate, 1 - rate)))


def gold_chance(gold, truth, error):
    """P(gold | truth): one where there is none."""
    if np.isnan(gold):
        return 1.0
    return 1.0 - error if gold == truth else error


def enumerated(labels, values, prefix, error):
    """Log of the sum over every truth vector of P(truth) P(labels | truth) P(gold | truth)."""
    chance = [
        [
            labels_chance(labels, i, y, values, prefix) * gold_chance(labels.gold[i], y, error)
            for y in (0, 1)
        ]
        for i in range(labels.n_items)
    ]
    return math.log(
        sum(
            truth_chance(labels, truths, values, prefix)
            * math.prod(chance[i][y] for i, y in enumerate(truths))
            for truths in itertools.product((0, 1), repeat=labels.n_items)
        )
    )


CASES = [
    *((name, PRIOR) for name in NAMES),
    ("hero", KNOWN),
    *(pytest.param(name, KNOWN, marks=pytest.mark.slow) for name in NAMES if name != "hero"),
]


@pytest.mark.parametrize(("name", "gold_error"), CASES)
def test_matches_enumeration(name, gold_error, rounds):
    """The log-likelihood of both rounds, and the class log-likelihood of every current item."""
    model = MODELS[name](*rounds, gold_error=gold_error)
    assert ("gold_error" in {rv.name for rv in model.free_RVs}) == (gold_error == PRIOR)
    # Quadrature of the shared effect is made for 1e-8 an item.
    slack = 1e-8 if name == "correlated" else 1e-12
    point = point_of(model, 1)
    terms = ("class_log_likelihood", "history_labels", "current_labels")
    values = evaluate(model, (*READ, *terms), point)
    error = float(values["gold_error"])
    for labels, prefix in zip(rounds, ("history_", ""), strict=True):
        found = values["history_labels" if prefix else "current_labels"].sum()
        expected = enumerated(labels, values, prefix, error)
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=slack)
    current = rounds[1]
    for item, truth in itertools.product(range(current.n_items), (0, 1)):
        chance = labels_chance(current, item, truth, values, "")
        expected = math.log(chance * gold_chance(current.gold[item], truth, error))
        found = values["class_log_likelihood"][item, truth]
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=slack)


def test_prior_of_the_error_rate_is_a_beta_cut_off_at_one_half(rounds):
    free = hero(*rounds, gold_error=PRIOR)
    density = log_density(free, [free["gold_error"]])
    point = point_of(free, 4)
    whole = beta(*PRIOR)
    for error in (1e-4, KNOWN, 0.4999):
        expected = whole.logpdf(error) - whole.logcdf(0.5)
        assert density(point | {"gold_error": np.array(error)}) == pytest.approx(expected, abs=1e-9)
    value = free.rvs_to_values[free["gold_error"]].name
    full, slope = free.compile_logp(mode=QUICK), free.compile_dlogp(mode=QUICK)
    for far in (-30.0, 30.0):
        at = {**free.initial_point(), value: np.array(far)}
        assert np.isfinite(full(at))
        assert np.isfinite(slope(at)).all()


@pytest.mark.parametrize("name", NAMES)
def test_no_error_is_exact_gold(name, rounds):
    exact, zero, tiny = (MODELS[name](*rounds, gold_error=e) for e in (None, 0, 1e-14))
    assert "gold_error" not in zero.named_vars
    point = point_of(exact, 5)
    first, second, third = (
        evaluate(model, ("history_labels", "current_labels"), point)
        for model in (exact, zero, tiny)
    )
    for role, expected in first.items():
        assert (second[role] == expected).all()
        # Odds of labels and prompts are below 1e4 here: 1e-14 moves a term by 1e-10 at most.
        np.testing.assert_allclose(third[role], expected, rtol=0.0, atol=1e-9)


def test_items_with_gold_keep_their_full_weight(rounds):
    """``unlabeled_power`` speaks of items without gold, fallible or not."""
    point, terms = None, []
    for power in (1.0, 0.25):
        model = correlated(*rounds, gold_error=KNOWN, unlabeled_power=power)
        point = point or point_of(model, 6)
        terms.append(evaluate(model, ("history_labels", "current_labels"), point))
    for labels, name in zip(rounds, ("history_labels", "current_labels"), strict=True):
        weight = np.where(labels.has_gold, 1.0, 0.25)
        np.testing.assert_allclose(terms[1][name], weight * terms[0][name], rtol=1e-12)


def test_gold_and_its_error_rate_are_replaceable_data(rounds):
    history, current = rounds
    model = hero(history, current, gold_error=KNOWN)
    point = point_of(model, 7)
    other = hero(history, current.with_gold(np.array([1, NAN, 1, 0, NAN, NAN])), gold_error=0.3)
    before, expected = (evaluate(m, ("current_labels",), point) for m in (model, other))
    model["gold"].set_value(other["gold"].get_value())
    model["gold_error"].set_value(0.3)
    after = evaluate(model, ("current_labels",), point)["current_labels"]
    np.testing.assert_allclose(after, expected["current_labels"], rtol=1e-12)
    assert (np.abs(after - before["current_labels"]) > 1e-3).any()


@pytest.mark.parametrize(
    "wrong",
    [-0.1, 0.5, 1.0, NAN, True, "0.1", (1.0,), (2.0, -1.0), (9.0, 2.0), (0.0, 3.0), {"a": 1}],
)
def test_what_is_no_error_rate(wrong, rounds):
    with pytest.raises(ValueError, match="a number in"):
        hero(*rounds, gold_error=wrong)


def test_two_rates_are_no_prior(rounds):
    with pytest.raises(ValueError, match="one error rate a class"):
        hero(*rounds, gold_error=(0.05, 0.1))
