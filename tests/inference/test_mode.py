"""fit(mode="map"): the mode of the graph, which for hero is HERO-1."""

import numpy as np
import pytest
from scipy.special import expit
from toy import Problem, Round, from_rows, make_labels, simulate

from hero_bayes.data.labels import Labels
from hero_bayes.estimators.anchored_em import anchor
from hero_bayes.estimators.estimate import estimate
from hero_bayes.estimators.prevalence import group_evidence
from hero_bayes.inference.fit import fit


def at_mode(history, current, **options):
    return fit(history, current, **{"model": "hero", "mode": "map", "random_seed": 1, **options})


def value(tree, name):
    return tree["posterior"][name].isel(chain=0, draw=0).to_numpy()


@pytest.fixture(scope="module")
def fitted(case):
    return at_mode(case.history, case.current)


def test_cut_mode_is_hero1(case, fitted):
    assert value(fitted, "prevalence")[0] == pytest.approx(case.expected["hero1"], abs=1e-6)
    np.testing.assert_allclose(
        value(fitted, "history_prevalence")[0], case.expected["history_prevalence"], atol=1e-6
    )
    for name in ("sensitivity", "specificity"):
        np.testing.assert_allclose(value(fitted, name), case.expected[name], atol=1e-6)


def test_item_rate_is_the_mean_truth_probability(case, fitted):
    ratio = fitted["evidence"]["log_likelihood_ratio"].to_numpy()[0, 0]
    rate = value(fitted, "prevalence")[0]
    expected = expit(np.log(rate / (1 - rate)) + ratio).mean()
    assert value(fitted, "item_rate")[0] == pytest.approx(expected, abs=1e-12)
    anchored = anchor(case.history, case.current)
    current = anchored.panel.current
    direct = group_evidence(
        current, np.arange(current.n_items), anchored.sensitivity, anchored.specificity
    ).log_ratio
    # Rates at 1 - 1e-9 have log ratios that move by 1 for a change of 1e-9.
    plain = np.abs(direct) < 10
    np.testing.assert_allclose(ratio[plain], direct[plain], atol=1e-4)


def test_start_owes_nothing_to_the_em(cases, monkeypatch):
    """With EM switched off (no iterations), the mode is still HERO-1."""
    import hero_bayes.estimators.anchored_em as module

    monkeypatch.setattr(module, "MAX_ITERATIONS", 0)
    case = cases["partial_overlap"]
    tree = at_mode(case.history, case.current)
    assert value(tree, "prevalence")[0] == pytest.approx(case.expected["hero1"], abs=1e-6)


def together(problem):
    """History and current as two rounds of one history."""
    past, now = problem.past, problem.now
    n = len(past.items)
    columns = {
        name: [*past.verdicts[name], *(now.verdicts[name] + (n if name == "item" else 0))]
        for name in ("item", "labeler", "label")
    }
    items = {
        "gold": [*past.items["gold"], *now.items["gold"]],
        "round": ["r1"] * n + ["r2"] * len(now.items),
    }
    return make_labels(**columns, items=items)


def test_joint_mode_is_em_over_both_rounds():
    problem = simulate(71, n_history=120, n_current=80, current_gold=0.1)
    tree = at_mode(*problem.rounds, posterior="joint")
    both = together(problem)
    pooled = anchor(both, both.without_gold())
    np.testing.assert_allclose(value(tree, "sensitivity"), pooled.sensitivity, atol=1e-6)
    np.testing.assert_allclose(value(tree, "specificity"), pooled.specificity, atol=1e-6)
    np.testing.assert_allclose(
        [value(tree, "history_prevalence")[0], value(tree, "prevalence")[0]],
        pooled.history_prevalence,
        atol=1e-6,
    )
    cut = at_mode(*problem.rounds)
    assert abs(value(cut, "prevalence")[0] - value(tree, "prevalence")[0]) > 1e-4


@pytest.mark.parametrize("share", [0.3, 1.0])
def test_current_gold_in_the_cut_mode(share):
    problem = simulate(72, n_history=80, n_current=40, current_gold=share)
    history, current = problem.rounds
    tree = at_mode(history, current)
    expected = estimate(history, current, "hero1").value
    assert value(tree, "prevalence")[0] == pytest.approx(expected, abs=1e-6)
    if share == 1.0:
        mean = problem.now.truth.mean()
        assert value(tree, "item_rate")[0] == mean
        assert value(tree, "prevalence")[0] == pytest.approx(mean, abs=1e-8)


def test_several_groups_and_history_rounds():
    problem = simulate(73, n_history=90, n_current=60, arms=("A", "B"))
    problem.past.items["round"] = np.where(np.arange(90) < 40, "r1", "r2")
    history, current = problem.rounds
    tree = at_mode(history, current)
    assert tree["posterior"]["group"].to_numpy().tolist() == ["A", "B"]
    expected = [estimate(history, current, "hero1", group=g).value for g in ("A", "B")]
    np.testing.assert_allclose(value(tree, "prevalence"), expected, atol=1e-6)
    details = estimate(history, current, "hero1", group="A").details
    np.testing.assert_allclose(
        value(tree, "history_prevalence"), details["history_prevalence"], atol=1e-6
    )


@pytest.mark.parametrize(
    ("posterior", "label"),
    [("cut", 0), pytest.param("cut", 1, marks=pytest.mark.slow), ("joint", 1)],
)
def test_unanimous_round(posterior, label):
    history = simulate(74, n_history=80, n_labelers=3, labels_per_item=3).rounds[0]
    current = from_rows([{"0": label, "1": label, "2": label}] * 30)
    rate = value(at_mode(history, current, posterior=posterior), "prevalence")[0]
    assert abs(rate - label) < 1e-6
    assert 0 <= rate <= 1


@pytest.mark.parametrize(
    ("model", "posterior"),
    [("hero", "cut"), ("hero", "joint"), pytest.param("pooled", "cut", marks=pytest.mark.slow)],
)
def test_labelers_without_error(posterior, model):
    """p and q are right on every item, r is always wrong: rates at 0 and 1."""
    truth = np.arange(30) % 2
    rows = [{"p": int(t), "q": int(t), "r": int(1 - t)} for t in truth]
    history = from_rows(rows, gold=np.where(np.arange(30) < 20, truth, np.nan))
    tree = at_mode(history, from_rows(rows[:15]), posterior=posterior, model=model)
    for name in tree["posterior"].data_vars:
        assert np.isfinite(tree["posterior"][name]).all()
    assert np.isfinite(tree["evidence"]["log_likelihood_ratio"]).all()
    tolerance = 1e-6 if model == "hero" else 0.05
    assert value(tree, "prevalence")[0] == pytest.approx(7 / 15, abs=tolerance)


def shuffled(part, seed):
    rng = np.random.default_rng(seed)
    frames = [f.iloc[rng.permutation(len(f))] for f in (part.verdicts, part.items)]
    return Round(*frames, part.truth, part.covariates)


@pytest.mark.parametrize("model", ["hero", pytest.param("pooled", marks=pytest.mark.slow)])
def test_row_order_changes_no_bit(model):
    problem = simulate(75, n_history=40, n_current=20, n_labelers=4, current_gold=0.1)
    first = at_mode(*problem.rounds, model=model)
    other = Problem(shuffled(problem.past, 1), shuffled(problem.now, 2), None, None)
    assert at_mode(*other.rounds, model=model).identical(first)


@pytest.mark.slow
def test_renaming_moves_the_mode_by_less_than_its_own_error():
    problem = simulate(75, n_history=60, n_current=30, n_labelers=5)
    renamed = []
    for part in (problem.past, problem.now):
        verdicts = part.verdicts.copy()
        verdicts["labeler"] = [f"w{(3 * k + 2) % 5}" for k in verdicts["labeler"]]
        renamed.append(Labels.from_frames(verdicts, part.items))
    one, two = at_mode(*problem.rounds), at_mode(*renamed)
    np.testing.assert_allclose(value(one, "prevalence"), value(two, "prevalence"), atol=1e-8)


@pytest.mark.slow
def test_exchanging_the_classes():
    problem = simulate(76, n_history=60, n_current=30, n_labelers=4)
    flipped = [
        Labels.from_frames(
            part.verdicts.assign(label=1 - part.verdicts["label"]),
            part.items.assign(gold=1 - part.items["gold"]),
        )
        for part in (problem.past, problem.now)
    ]
    one, two = at_mode(*problem.rounds), at_mode(*flipped)
    np.testing.assert_allclose(value(two, "prevalence"), 1 - value(one, "prevalence"), atol=1e-6)
    np.testing.assert_allclose(value(two, "sensitivity"), value(one, "specificity"), atol=1e-6)


def test_priors_pull_the_mode():
    """One-dimensional: known labelers by heavy priors, Beta prior on the prevalence."""
    history = from_rows([{"a": 1}, {"a": 0}], gold=[1, 0])
    current = from_rows([{"a": 1}] * 6 + [{"a": 0}] * 4)
    heavy = {"sensitivity_prior": (8e7, 2e7), "specificity_prior": (9e7, 1e7)}
    tree = at_mode(history, current, priors={**heavy, "prevalence_prior": (5.0, 9.0)})
    m = np.linspace(1e-4, 1 - 1e-4, 400_001)
    positive = 0.8 * m + 0.1 * (1 - m)
    density = 6 * np.log(positive) + 4 * np.log1p(-positive) + 4 * np.log(m) + 8 * np.log1p(-m)
    assert value(tree, "prevalence")[0] == pytest.approx(m[density.argmax()], abs=1e-5)


def test_pooled_unseen_labeler_sits_at_the_population_mean():
    history = simulate(77, n_history=100, n_labelers=4).rounds[0]
    current = from_rows([{"0": 1, "1": 1, "new": 1}, {"2": 0, "3": 0}, {"1": 0, "2": 0}])
    tree = at_mode(history, current, model="pooled")
    sensitivity = tree["posterior"]["sensitivity"].sel(labeler="new").item()
    assert sensitivity == pytest.approx(expit(value(tree, "sensitivity_mean")), abs=1e-6)
    assert value(tree, "sensitivity_offset")[-1] == pytest.approx(0.0, abs=1e-6)
    assert tree.attrs["labels_left_out"] == 0
