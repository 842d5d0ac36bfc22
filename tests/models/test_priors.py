"""Every prior of every model: the kinds of parameters it takes, and those it refuses by name."""

import inspect

import numpy as np
import pandas as pd
import pymc as pm
import pytest

import hero_bayes as hb
from hero_bayes.data.count_table import count_table
from hero_bayes.data.generations import Generations
from hero_bayes.estimators.item_scores import item_scores
from hero_bayes.inference.resolve import build
from hero_bayes.models import MODELS, hero, score
from hero_bayes.models.beta_difficulty import beta_difficulty
from hero_bayes.models.logit_normal_difficulty import logit_normal_difficulty

BETA, NORMAL, SCALE, NUMBER, SPREAD = "Beta pair", "normal pair", "scale", "number", "spread"
RATES = {"prevalence_prior": BETA, "sensitivity_prior": BETA, "specificity_prior": BETA}
POPULATION = RATES | {"sensitivity_prior": NORMAL, "specificity_prior": NORMAL}
#: What stands for a law or a strength, by model; the rest are settings.
PRIORS = {
    "hero": RATES,
    "pooled": POPULATION | {"spread_prior": SCALE},
    "correlated": {
        "prevalence_prior": BETA,
        "positive_mean_prior": NORMAL,
        "negative_mean_prior": NORMAL,
        **dict.fromkeys(("spread_prior", "loading_prior", "family_loading_prior"), SCALE),
        "loading_bound": SCALE,
        "unlabeled_power": SPREAD,
    },
    "regression": {
        "slope_prior": SCALE,
        "sensitivity_prior": BETA,
        "specificity_prior": BETA,
    },
    "drift": POPULATION
    | dict.fromkeys(("labeler_spread_prior", "shift_prior", "spread_prior"), SCALE)
    | dict.fromkeys(("shift_sensitivity", "shift_specificity"), NUMBER)
    | {"spread": SPREAD},
    "prompt_labels": RATES | {"icc_prior": BETA},
    "score": {
        "intercept_sd": SCALE,
        "bin_weight": SCALE,
        "slope_prior": NORMAL,
        "prevalence_prior": BETA,
    },
    "beta_difficulty": {"mu_prior": BETA, "icc_prior": BETA},
    "logit_normal_difficulty": {"scale_prior": SCALE},
}
#: Arguments that are no parameters of a law; gold_error has a check and tests of its own.
SETTINGS = {"gold_error", "covariates", "family", "labelers", "scores", "score", "form"}
NO_PAIR = [(1, 2, 3), (1,), (), "xy", "x", 1.0, None, (True, 1), ("1", 2), np.ones((2, 2))]
LEGAL = {
    BETA: [(1e-3, 1e-3), (2, 300), [1, 1], np.array([0.5, 2.0])],
    NORMAL: [(0.0, 1.0), (-3, 0.1), [0, 2], np.array([1.0, 1e-3])],
    SCALE: [1e-3, 1, np.float64(4.0), 9],
    NUMBER: [0.0, -1, 2.5, np.float32(0.5)],
    SPREAD: [0.0, 0, 0.5, 2],
}
ILLEGAL = {
    BETA: [*NO_PAIR, (0, 1), (1, 0), (-1, 1), (np.nan, 1), (1, np.inf)],
    NORMAL: [*NO_PAIR, (0, 0), (1, -1), (np.nan, 1), (0, np.nan), (np.inf, 1)],
    SCALE: [0, 0.0, -1.0, np.nan, np.inf, "1", (1.0, 1.0), True],
    NUMBER: [np.nan, np.inf, "1", (0.0,), True, [0, 1]],
    SPREAD: [-0.1, np.nan, np.inf, "1", (0.0,), True],
}
DIFFICULTY = {
    "beta_difficulty": beta_difficulty,
    "logit_normal_difficulty": logit_normal_difficulty,
}
CASES = [(model, name, kind) for model, own in PRIORS.items() for name, kind in own.items()]


def table(seed):
    """Twenty items of ten prompts with gold, three labelers in two families."""
    rng = np.random.default_rng(seed)
    truth = np.arange(20) % 2
    labels = {"item": np.repeat(np.arange(20), 3), "labeler": np.tile(["a", "b", "c"], 20)}
    label = np.where(rng.random((20, 3)) < 0.8, truth[:, None], 1 - truth[:, None]).ravel()
    items = {"item": np.arange(20), "gold": truth, "x": rng.standard_normal(20)}
    return hb.Labels.from_frames(
        pd.DataFrame({**labels, "label": label}),
        pd.DataFrame({**items, "prompt": np.arange(20) // 2}),
        pd.DataFrame({"labeler": ["a", "b", "c"], "family": ["f", "f", "g"]}),
        covariates=["x"],
    )


@pytest.fixture(scope="module")
def make():
    """The graph of a model by its name, not compiled."""
    history, current = table(1), table(2)
    scores = item_scores(history, current)
    counts = count_table(
        Generations.from_frame(
            pd.DataFrame({"prompt": range(4), "n_correct": [0, 1, 2, 2], "k": [2] * 4})
        )
    )

    def made(model, priors):
        if model in DIFFICULTY:
            return DIFFICULTY[model](counts, **priors)
        if model == "score":
            return score(history, current, scores=scores, **priors)
        return build(MODELS[model], history, current, priors)

    return made


@pytest.mark.parametrize("model", PRIORS)
def test_every_argument_of_a_model_has_its_kind(model):
    factory = {**MODELS, **DIFFICULTY, "score": score}[model]
    names = inspect.signature(factory).parameters
    assert {n for n in names if names[n].kind is names[n].KEYWORD_ONLY} - SETTINGS == set(
        PRIORS[model]
    )


@pytest.mark.parametrize(("model", "name", "kind"), CASES)
def test_legal_parameters(make, model, name, kind):
    for value in LEGAL[kind]:
        assert isinstance(make(model, {name: value}), pm.Model), value


@pytest.mark.parametrize(("model", "name", "kind"), CASES)
def test_illegal_parameters_are_named(make, model, name, kind):
    for value in ILLEGAL[kind]:
        if value is None and kind == SCALE:
            continue
        with pytest.raises(ValueError, match=f"^{name} must be"):
            make(model, {name: value})


@pytest.mark.parametrize("rate", ["sensitivity_prior", "specificity_prior"])
def test_kind_follows_the_labeler_layer(make, rate):
    pooled, flat = {"labelers": "pooled"}, {"labelers": "flat"}
    assert isinstance(make("prompt_labels", {**pooled, rate: (0.0, 1.0)}), pm.Model)
    with pytest.raises(ValueError, match=f"{rate} must be two positive numbers"):
        make("prompt_labels", {**flat, rate: (0.0, 1.0)})


@pytest.mark.parametrize("value", [(0.0, 1.0), (-2.0, 1.0), (1.0, 2.0, 3.0), "any", 0.0, None])
def test_priors_of_a_factory_of_ones_own_are_its_own(value):
    """Names do not tell what a prior is: a user's model may call anything ``sensitivity_prior``."""
    seen = []

    def own(history, current, *, sensitivity_prior=(1.0, 1.0), prevalence_prior=(1.0, 1.0)):
        seen.extend([sensitivity_prior, prevalence_prior])
        return hero(history, current)

    priors = {"sensitivity_prior": value, "prevalence_prior": value}
    assert isinstance(build(own, table(1), table(2), priors), pm.Model)
    assert seen == [value, value]
