"""A program compiled once: refits equal fits, whatever was loaded before."""

import dataclasses

import numpy as np
import pymc as pm
import pytensor.tensor as pt
import pytest
from scipy.stats import ks_2samp
from toy import simulate

import hero_bayes as hb
from hero_bayes.inference.fit import refit
from hero_bayes.inference.program import make_program
from hero_bayes.models import MODELS

SIZES = ((60, 30), (45, 41))


def tables(seed, sizes=SIZES[0], **changes):
    setting = {"n_labelers": 4, "labels_per_item": 3, "current_gold": 0.2, "arms": ("A", "B")}
    return simulate(seed, n_history=sizes[0], n_current=sizes[1], **{**setting, **changes}).rounds


A, B = tables(131), tables(132, SIZES[1])


def same(one, two):
    """Posterior and evidence agree to the last bits (another graph may sum in another order)."""
    for group in ("posterior", "evidence"):
        first, second = one[group].to_dataset(), two[group].to_dataset()
        assert set(first.data_vars) == set(second.data_vars)
        for name in first.data_vars:
            if first[name].dtype.kind == "f":
                np.testing.assert_allclose(first[name], second[name], rtol=1e-8, atol=1e-10)
    assert (
        one["evidence"]["item"].to_numpy().tolist() == two["evidence"]["item"].to_numpy().tolist()
    )
    assert one.attrs["current_fingerprint"] == two.attrs["current_fingerprint"]


@pytest.mark.parametrize(
    ("model", "posterior"),
    [
        ("hero", "cut"),
        pytest.param("regression", "joint", marks=pytest.mark.slow),
        pytest.param("hero", "joint", marks=pytest.mark.slow),
        pytest.param("regression", "cut", marks=pytest.mark.slow),
        pytest.param("pooled", "cut", marks=pytest.mark.slow),
        pytest.param("drift", "joint", marks=pytest.mark.slow),
    ],
)
def test_refit_of_the_mode_is_the_fit(model, posterior):
    program = make_program(MODELS[model], *A, posterior=posterior)
    refit(program, *A, mode="laplace", random_seed=2, draws=5, chains=1)
    other = refit(program, *B, mode="map", random_seed=2)
    same(other, hb.fit(*B, model, mode="map", posterior=posterior, random_seed=2))


@pytest.mark.parametrize(
    ("model", "posterior"),
    [
        ("hero", "cut"),
        pytest.param("regression", "cut", marks=pytest.mark.slow),
        pytest.param("drift", "joint", marks=pytest.mark.slow),
    ],
)
def test_nothing_of_one_table_leaks_into_the_next(model, posterior):
    program = make_program(MODELS[model], *A, posterior=posterior)
    options = {"mode": "laplace", "random_seed": 2, "draws": 60, "chains": 2}
    first, other, again = (refit(program, *rounds, **options) for rounds in (A, B, A))
    assert again.identical(first)
    assert other["evidence"].sizes["item"] == 41
    assert (other["posterior"]["prevalence"] != first["posterior"]["prevalence"]).any()
    fresh = hb.fit(*B, model, posterior=posterior, **options)
    np.testing.assert_allclose(
        fresh["posterior"]["prevalence"], other["posterior"]["prevalence"], rtol=1e-6
    )


@pytest.mark.parametrize(
    "changes", [{"n_labelers": 5}, {"arms": ()}, {"arms": ("A", "C")}], ids=str
)
def test_other_coordinates_need_another_program(changes):
    program = make_program(MODELS["hero"], *A)
    with pytest.raises(hb.DataError, match="make a new program"):
        refit(program, *tables(133, **changes), mode="map", random_seed=1)


@pytest.mark.slow
def test_current_gold_may_come_and_go():
    history, current = A
    program = make_program(MODELS["hero"], *A)
    bare = history, current.without_gold()
    same(
        refit(program, *bare, mode="map", random_seed=1),
        hb.fit(*bare, model="hero", mode="map", random_seed=1),
    )


def frozen(history, current):
    """A factory that keeps the labels as constants, which a refit cannot replace."""
    coords = {
        "group": current.groups("current"),
        "item": [str(name) for name in current.items],
        "truth": [0, 1],
    }
    votes = np.add.reduceat(current.label, current.item_ptr[:-1]).astype(float)
    with pm.Model(coords=coords) as model:
        pm.Beta("prevalence", 1, 1, dims="group")
        strength = pm.HalfNormal("strength", 1.0)
        terms = strength * pt.stack([-pt.as_tensor(votes), pt.as_tensor(votes)], axis=1)
        pm.Deterministic("class_log_likelihood", terms, dims=("item", "truth"))
    return model


def test_constants_of_a_users_factory_do_not_leak():
    rounds = tables(134)
    program = make_program(frozen, *A, posterior="joint")
    try:
        again = refit(program, *rounds, mode="map", random_seed=1)
    except hb.DataError:
        return
    fresh = hb.fit(*rounds, frozen, mode="map", posterior="joint", random_seed=1)
    same(again, fresh)


def with_prompts(labels):
    """The same items, four a prompt."""
    prompt = np.array([str(i // 4) for i in range(labels.n_items)], dtype=object)
    return dataclasses.replace(labels, prompt=prompt)


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS)
def test_modes_of_one_table_do_not_leak_into_the_next(model):
    one, two = (
        [with_prompts(labels) if model == "prompt_labels" else labels for labels in rounds]
        for rounds in (A, B)
    )
    program = make_program(MODELS[model], *one)
    first, _, again = (refit(program, *r, mode="map", random_seed=2) for r in (one, two, one))
    assert again.identical(first)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "posterior"), [("hero", "cut"), ("pooled", "joint"), ("regression", "joint")]
)
def test_sampled_refit_equals_fit_in_distribution(model, posterior):
    program = make_program(MODELS[model], *A, posterior=posterior)
    options = {"draws": 1000, "tune": 500, "chains": 2}
    refit(program, *A, random_seed=1, **options)
    again = refit(program, *B, random_seed=2, **options)["posterior"]
    fresh = hb.fit(*B, model, posterior=posterior, random_seed=3, progressbar=False, **options)[
        "posterior"
    ]
    for name in ("prevalence", "history_prevalence", "sensitivity"):
        one, two = (tree[name].to_numpy()[..., 0].ravel()[::4] for tree in (again, fresh))
        assert ks_2samp(one, two).pvalue > 1e-4, name
