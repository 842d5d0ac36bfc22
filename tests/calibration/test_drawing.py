"""Simulated tables: canonical, and labels that follow the layers' own rates."""

import numpy as np
import pandas as pd
import pymc as pm
import pytest

import hero_bayes as hb
from hero_bayes.calibration.design import Design, tables
from hero_bayes.calibration.drawing import both_classes, draw_simulations, simulate_rounds
from hero_bayes.calibration.intervals import covariate_chances, fixed_values
from hero_bayes.calibration.ranks import prior_simulations
from hero_bayes.models import MODELS

WIDE = Design(n_history=20_000, n_current=20_000, n_labelers=3, labels_per_item=2)
LABELERS = ["0", "1", "2"]
VALUES = {
    "prevalence": np.array([0.2]),
    "history_prevalence": np.array([0.6]),
    "sensitivity": np.array([0.9, 0.7, 0.3]),
    "specificity": np.array([0.8, 0.95, 0.4]),
}


def rebuilt(labels):
    """The same table through the front door."""
    item_idx = np.repeat(np.arange(labels.n_items), labels.labels_per_item)
    verdicts = pd.DataFrame(
        {
            "item": labels.items[item_idx],
            "labeler": labels.labelers[labels.labeler_idx],
            "label": labels.label,
        }
    )
    items = pd.DataFrame({"item": labels.items, "gold": labels.gold, "x": labels.covariates["x"]})
    return hb.Labels.from_frames(verdicts, items, covariates=["x"])


def test_simulated_tables_are_canonical():
    base = tables(Design(n_history=30, n_current=20, current_gold_share=0.2))
    rng = np.random.default_rng(1)
    values = {**VALUES, "sensitivity": np.full(5, 0.8), "specificity": np.full(5, 0.7)}
    history, current, more = simulate_rounds(values, list("01234"), base, rng)
    for labels in (history, current):
        assert labels.fingerprint == rebuilt(labels).fingerprint
    assert history.n_gold == 12
    assert current.n_gold == 4
    assert more["item_rate"].shape == (1,)


def shares(labels, truth_known):
    """Share of positive labels by labeler on gold items of one class."""
    truth = np.repeat(labels.gold, labels.labels_per_item)
    return [labels.label[(labels.labeler_idx == j) & (truth == truth_known)].mean() for j in (0, 1)]


def test_labels_follow_rates_and_current_labels_follow_drifted_rates():
    base = tables(Design(**{**vars(WIDE), "gold_share": 1.0, "current_gold_share": 1.0}))
    moved = {
        "current_sensitivity": np.array([0.5, 0.6, 0.7]),
        "current_specificity": np.array([0.55, 0.65, 0.75]),
    }
    # Binomial with about 4,000 trials or more: 0.03 is at least four standard errors.
    for values, now in ((VALUES, ""), ({**VALUES, **moved}, "current_")):
        rng = np.random.default_rng(2)
        history, current, more = simulate_rounds(values, LABELERS, base, rng)
        np.testing.assert_allclose(shares(history, 1.0), VALUES["sensitivity"][:2], atol=0.03)
        np.testing.assert_allclose(shares(history, 0.0), 1 - VALUES["specificity"][:2], atol=0.03)
        np.testing.assert_allclose(shares(current, 1.0), values[f"{now}sensitivity"][:2], atol=0.03)
        specificity = 1 - values[f"{now}specificity"][:2]
        np.testing.assert_allclose(shares(current, 0.0), specificity, atol=0.03)
        assert abs(history.gold.mean() - 0.6) < 0.02
        assert more["item_rate"] == pytest.approx(current.gold.mean())


def test_covariates_leave_the_rate_exact():
    labels = tables(WIDE)[1]
    chance, rate = covariate_chances(VALUES, labels, "", 1.5)
    assert rate.item() == 0.2
    assert abs(chance.mean() - 0.2) < 0.01
    assert np.corrcoef(chance, labels.covariates["x"])[0, 1] > 0.8
    regression = {"intercept": np.array([-1.0]), "slope": np.array([2.0])}
    chance, rate = covariate_chances(regression, labels, "", 0.0)
    assert abs(chance.mean() - rate.item()) < 0.015
    assert chance[0] == pytest.approx(1 / (1 + np.exp(1.0 - 2.0 * labels.covariates["x"][0])))


def test_simulations_without_gold_of_both_classes_are_drawn_again_and_counted():
    base = tables(Design(n_history=10, gold_share=0.2))

    def make(values, rng):
        return simulate_rounds(values, [*LABELERS, "3", "4"], base, rng)

    values = {**VALUES, "sensitivity": np.full(5, 0.8), "specificity": np.full(5, 0.7)}
    kept, redrawn = draw_simulations(lambda attempt: values, make, 50, 3)
    assert all(both_classes(s.history, s.current) for s in kept)
    # P(two gold items alike) = 0.36 + 0.16 = 0.52.
    assert 25 < redrawn < 100
    with pytest.raises(hb.Refusal, match="more gold"):
        draw_simulations(lambda a: {**values, "history_prevalence": np.zeros(1)}, make, 1, 3)


@pytest.mark.parametrize("model", ["drift", "regression"])
def test_prior_simulations_are_reproducible_and_hold_the_truth(model):
    base = tables(Design())
    graph = MODELS[model](*base)
    first, _ = prior_simulations(graph, base, 3, 4)
    again, _ = prior_simulations(graph, base, 3, 4)
    assert [s.history.fingerprint for s in first] == [s.history.fingerprint for s in again]
    assert [s.seed for s in first] == [s.seed for s in again]
    assert len({s.history.fingerprint for s in first}) == 3
    for simulation in first:
        assert {rv.name for rv in graph.free_RVs} <= set(simulation.truth)
        assert "sensitivity" in simulation.truth


def test_refusals():
    with pm.Model(coords={"group": ["current"]}) as model:
        pm.Beta("prevalence", 1, 1, dims="group")

    def factory(history, current):
        with model:
            if "class_log_likelihood" not in model.named_vars:
                pm.Deterministic("class_log_likelihood", model["prevalence"])
        return model

    with pytest.raises(hb.Refusal, match="sensitivity and specificity"):
        hb.calibration.sbc(factory, 1, random_seed=1)
    graph = MODELS["hero"](*tables(Design()))
    with pytest.raises(ValueError, match="truth lacks specificity"):
        fixed_values(graph, {k: v for k, v in VALUES.items() if k != "specificity"})
    with pytest.raises(ValueError, match="no 'typo'"):
        fixed_values(graph, {**VALUES, "sensitivity": 0.8, "specificity": 0.7, "typo": 1})
    with pytest.raises(ValueError, match="labels_per_item"):
        tables(Design(n_labelers=2, labels_per_item=3))
