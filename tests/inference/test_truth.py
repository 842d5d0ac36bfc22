"""P(y_i = 1 | labels) from the evidence of a fit."""

import brute
import numpy as np
import pytest
import xarray as xr
from toy import simulate

import hero_bayes as hb


@pytest.fixture(scope="module")
def problem():
    return simulate(
        121, n_history=50, n_current=24, n_labelers=4, current_gold=0.3, arms=("A", "B")
    )


@pytest.fixture(scope="module", params=["hero", pytest.param("regression", marks=pytest.mark.slow)])
def fitted(request, problem):
    return hb.fit(*problem.rounds, model=request.param, mode="map", random_seed=1)


def test_matches_brute_force_at_the_mode(fitted, problem):
    history, current = problem.rounds
    draws = fitted["posterior"].to_dataset().isel(chain=0, draw=0)
    pair = [
        dict(zip(draws["labeler"].to_numpy(), draws[rate].to_numpy(), strict=True))
        for rate in ("sensitivity", "specificity")
    ]
    chance = draws["prevalence"].to_numpy()[current.group_idx]
    if fitted.attrs["model"] == "regression":
        x = current.covariates["x"] - history.covariates["x"].mean()
        part = draws["slope"].item() * x / history.covariates["x"].std()
        chance = 1 / (1 + np.exp(-(draws["intercept"].to_numpy()[current.group_idx] + part)))
    truth = hb.posterior_truth(fitted)
    assert truth.dims == ("chain", "draw", "item")
    for item in range(current.n_items):
        one = chance[item] * brute.item_chance(current, item, 1, *pair)
        zero = (1 - chance[item]) * brute.item_chance(current, item, 0, *pair)
        expected = one / (one + zero) if np.isnan(current.gold[item]) else current.gold[item]
        assert truth[0, 0, item].item() == pytest.approx(expected, rel=1e-9, abs=1e-15)
    for group, name in enumerate(("A", "B")):
        mean = truth.to_numpy()[0, 0, current.group_idx == group].mean()
        assert draws["item_rate"].sel(group=name).item() == pytest.approx(mean, abs=1e-12)


def test_gold_is_exact(fitted, problem):
    current = problem.rounds[1]
    truth = hb.posterior_truth(fitted).to_numpy()[0, 0]
    assert current.n_gold > 3
    assert (truth[current.has_gold] == current.gold[current.has_gold]).all()


def test_needs_only_the_evidence(fitted):
    alone = xr.DataTree.from_dict({"evidence": fitted["evidence"].to_dataset()})
    assert hb.posterior_truth(alone).identical(hb.posterior_truth(fitted))
    with pytest.raises(hb.DataError, match="no evidence"):
        hb.posterior_truth(xr.DataTree.from_dict({"posterior": fitted["posterior"].to_dataset()}))


def test_evidence_beyond_all_floats_is_certainty():
    evidence = xr.Dataset(
        {
            "log_likelihood_ratio": (("chain", "draw", "item"), [[[900.0, -900.0, 0.0]]]),
            "prior_log_odds": (("chain", "draw", "item"), np.zeros((1, 1, 3))),
            "gold": ("item", [np.nan] * 3),
        }
    )
    truth = hb.posterior_truth(xr.DataTree.from_dict({"evidence": evidence}))
    assert truth.to_numpy().ravel().tolist() == [1.0, 0.0, 0.5]
