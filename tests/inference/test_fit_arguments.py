"""Arguments that a fit, or what comes after it, cannot understand: told before anything runs."""

import numpy as np
import pytest
from toy import simulate

import hero_bayes as hb


@pytest.fixture(scope="module")
def rounds():
    return simulate(7, n_history=120, n_current=40, gold_share=0.4).rounds


@pytest.mark.parametrize(
    ("options", "kind", "match"),
    [
        ({"draws": 1.5}, TypeError, "draws must be a whole number, got 1.5"),
        ({"draws": True}, TypeError, "draws must be a whole number"),
        ({"chains": "2"}, TypeError, "chains must be a whole number, got '2'"),
        ({"random_seed": -1}, ValueError, "random_seed must lie between 0"),
        ({"random_seed": 2**70}, ValueError, "random_seed must lie between 0"),
        ({"random_seed": 1.5}, TypeError, "random_seed must be a whole number or None"),
        ({"random_seed": True}, TypeError, "random_seed must be a whole number or None"),
        ({"priors": "gold_error"}, TypeError, "priors must be a dict"),
        ({"priors": {1: 2}}, TypeError, "priors must be a dict"),
        ({"priors": {"prior_independent": 2}}, ValueError, "prior_independent.* got 2"),
        ({"priors": {"prior_independent": "x"}}, ValueError, "prior_independent.* got 'x'"),
        ({"priors": {"prior_independent": None}}, ValueError, "prior_independent.* got None"),
        ({"priors": {"gold_error": (1, (2, 3))}}, ValueError, "gold_error must be None"),
        ({"posterior": "joint"}, ValueError, "got 'joint'.*model=\"hero\""),
    ],
)
def test_fit_names_the_argument(rounds, options, kind, match):
    with pytest.raises(kind, match=match):
        hb.fit(*rounds, **{"draws": 10, "chains": 1, "random_seed": 1} | options)


def test_seeds_of_numpy_are_seeds_and_can_be_saved(rounds, tmp_path):
    plain = hb.fit(*rounds, random_seed=3, draws=50, chains=2)
    other = hb.fit(*rounds, random_seed=np.int64(3), draws=50, chains=2)
    assert plain["posterior"].to_dataset().identical(other["posterior"].to_dataset())
    largest = hb.fit(*rounds, random_seed=2**63 - 1, draws=50, chains=2)
    for fitted in (other, largest):
        path = hb.save(fitted, tmp_path / "fit.nc", overwrite=True)
        assert hb.load(path).attrs["random_seed"] == fitted.attrs["random_seed"]


def test_save_to_a_folder(rounds, tmp_path):
    fitted = hb.fit(*rounds, model="hero", mode="map", random_seed=1)
    with pytest.raises(IsADirectoryError, match=r"is a folder; name a file in it"):
        hb.save(fitted, tmp_path, overwrite=True)


@pytest.mark.parametrize("thing", [None, "fit", 3])
def test_functions_of_a_fit_say_that_it_is_none(rounds, thing):
    functions = (hb.summary, hb.diagnose, hb.posterior_truth, hb.power_scaling)
    for function in functions:
        with pytest.raises(hb.DataError, match=r"pass what hb\.fit returned"):
            function(thing)
    with pytest.raises(hb.DataError, match=r"pass what hb\.fit returned"):
        hb.adjust(thing, *rounds, covariates=["x"])


def test_functions_of_tables_say_that_they_are_none(rounds):
    history, current = rounds
    frame, _, _ = history.to_frames()
    calls = (
        lambda: hb.check(frame),
        lambda: hb.check(history, frame),
        lambda: hb.dependence(frame),
        lambda: hb.estimate(frame, current, method="score"),
        lambda: hb.estimate(history, frame, method="hero1"),
        lambda: hb.compare_methods(history, frame),
        lambda: hb.fit(frame, current),
    )
    for call in calls:
        with pytest.raises(TypeError, match=r"must be hb\.Labels, got DataFrame"):
            call()


@pytest.mark.parametrize("model", ["score", "auto"])
def test_labels_left_out_and_silent_groups_are_said(model):
    history, current = simulate(
        7, n_history=120, n_current=80, gold_share=0.4, arms=("A", "B")
    ).rounds
    verdicts, items, _ = current.to_frames()
    silent = verdicts["item"].isin(items.loc[items["arm"] == "B", "item"])
    verdicts["labeler"] = verdicts["labeler"].astype(str).where(~silent, "new")
    strange = hb.Labels.from_frames(verdicts, items, repeats="keep")
    fitted = hb.fit(history, strange, model=model, random_seed=1, draws=200, chains=2)
    told = str(hb.summary(fitted))
    assert told.count("nothing is known of B: no label is from a labeler whom history knows") == 1
    assert f"{int(silent.sum())} labels of the current round are left out" in told
    assert "their 1 labeler\n" in told
    notes = {
        group: " ".join(hb.estimate(history, strange, method="score", group=group).notes)
        for group in ("A", "B")
    }
    assert "nothing is known of B" in notes["B"]
    assert "nothing is known" not in notes["A"]


@pytest.mark.parametrize(
    ("priors", "match"),
    [
        ({"prevalence_prior": "x"}, "prevalence_prior must be a pair of numbers"),
        ({"prevalence_prior": "xy"}, "prevalence_prior must be a pair of numbers"),
        ({"prevalence_prior": 1}, "prevalence_prior must be a pair of numbers"),
        ({"sensitivity_prior": (1, 2, 3)}, "sensitivity_prior must be a pair of numbers"),
        ({"prevalence_prior": (-1, 1)}, "prevalence_prior must be two positive numbers"),
        ({"specificity_prior": (1, np.nan)}, "specificity_prior must be two positive numbers"),
    ],
)
def test_pairs_of_a_prior(rounds, priors, match):
    with pytest.raises(ValueError, match=match):
        hb.fit(*rounds, model="hero", mode="map", priors=priors, random_seed=1)


def test_mean_and_deviation_of_a_prior(rounds):
    name = "positive_mean_prior"
    with pytest.raises(ValueError, match=f"{name} must be a mean and a positive sd"):
        hb.fit(*rounds, model="correlated", mode="map", priors={name: (1, 0)}, random_seed=1)


def test_few_importance_draws_without_calibration_name_gold_as_the_remedy(rounds):
    history, current = rounds
    fitted = hb.fit(history.without_gold(), current, random_seed=1, draws=50, chains=2)
    fitted.attrs["importance_draws"] = 73.0
    (reason,) = (r for r in hb.diagnose(fitted).reasons if "importance draws" in r)
    assert "worth 73, fewer than 200: more draws do not help, more gold in the history" in reason
    assert "nuts" not in reason
