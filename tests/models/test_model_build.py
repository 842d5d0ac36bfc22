"""Names, dimensions and coordinates of the complete models, and what their priors reach."""

import numpy as np
import pymc as pm
import pytest
from toy import from_rows, simulate

from hero_bayes.models import MODELS, hero, pooled

FREE = {
    "hero": {"sensitivity", "specificity", "history_prevalence", "prevalence"},
    "pooled": {
        "sensitivity_mean",
        "sensitivity_spread",
        "sensitivity_offset",
        "specificity_mean",
        "specificity_spread",
        "specificity_offset",
        "history_prevalence",
        "prevalence",
    },
}
NAMES = ("hero", "pooled")


@pytest.fixture(scope="module")
def rounds():
    return simulate(61, n_history=30, n_current=20, current_gold=0.2, arms=("A", "B")).rounds


@pytest.mark.parametrize("name", NAMES)
def test_variables_dims_and_coords(name, rounds):
    history, current = rounds
    model = MODELS[name](history, current)
    assert isinstance(model, pm.Model)
    assert {rv.name for rv in model.free_RVs} == FREE[name]
    assert list(model.coords["group"]) == ["A", "B"]
    assert list(model.coords["history_group"]) == ["history"]
    assert list(model.coords["labeler"]) == list(history.labelers)
    assert list(model.coords["item"]) == list(current.items)
    assert list(model.coords["history_item"]) == list(history.items)
    dims = model.named_vars_to_dims
    assert dims["prevalence"] == ("group",)
    assert dims["history_prevalence"] == ("history_group",)
    assert dims["sensitivity"] == dims["specificity"] == ("labeler",)
    assert dims["class_log_likelihood"] == ("item", "truth")
    unnamed = [v for v in FREE[name] if model[v].ndim and v not in dims]
    assert unnamed == []


@pytest.mark.parametrize(
    ("model", "argument", "value", "variable"),
    [
        (hero, "prevalence_prior", (3.0, 9.0), "prevalence"),
        (hero, "prevalence_prior", (3.0, 9.0), "history_prevalence"),
        (hero, "sensitivity_prior", (7.0, 2.0), "sensitivity"),
        (hero, "specificity_prior", (8.0, 3.0), "specificity"),
        (pooled, "prevalence_prior", (3.0, 9.0), "prevalence"),
        (pooled, "sensitivity_prior", (2.5, 0.3), "sensitivity_mean"),
        (pooled, "specificity_prior", (-1.5, 0.3), "specificity_mean"),
    ],
)
def test_priors_reach_the_graph(model, argument, value, variable, rounds):
    built = model(*rounds, **{argument: value})
    op = built[variable].owner.op
    for parameter, number in zip(op.dist_params(built[variable].owner), value, strict=True):
        assert (parameter.eval() == number).all()


def test_spread_prior_reaches_the_graph(rounds):
    built = pooled(*rounds, spread_prior=0.25)
    for name in ("sensitivity_spread", "specificity_spread"):
        owner = built[name].owner
        assert float(owner.op.dist_params(owner)[1].eval()) == 0.25


def test_labelers_unseen_in_history():
    history = from_rows([{"a": 1, "b": 1}, {"a": 0, "b": 0}], gold=[1, 0])
    current = from_rows([{"a": 1, "new": 1}, {"new": 0}])
    assert list(hero(history, current).coords["labeler"]) == ["a", "b"]
    assert list(pooled(history, current).coords["labeler"]) == ["a", "b", "new"]
    counted = pooled(history, current)["label_counts"].get_value()
    assert counted.sum() == 3
    assert hero(history, current)["label_counts"].get_value().sum() == 1
    marked = current.with_gold(np.array([np.nan, 0.0]))
    assert list(hero(history, marked).coords["labeler"]) == ["a", "b", "new"]


@pytest.mark.parametrize("name", NAMES)
def test_gold_enters_as_data(name, rounds):
    model = MODELS[name](*rounds)
    gold = model["gold"].get_value()
    assert ((gold == -1) == np.isnan(rounds[1].gold)).all()
    assert (gold[gold >= 0] == rounds[1].gold[rounds[1].has_gold]).all()


@pytest.mark.parametrize("name", NAMES)
def test_unknown_priors_are_refused_by_name(name, rounds):
    with pytest.raises(TypeError, match="spread"):
        MODELS[name](*rounds, spread=1.0)
