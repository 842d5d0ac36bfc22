"""HERO-2 on a fitted posterior: the reference at the mode, and what draws must show."""

import numpy as np
import pytest
import xarray as xr
from toy import simulate
from wiring import prior_draws

import hero_bayes as hb
from hero_bayes.adjustment.adjust import weighted_roots
from hero_bayes.data.covariates import TextCovariates
from hero_bayes.estimators import kernels
from hero_bayes.inference.provenance import check_same_data

SIZES = {"n_history": 400, "n_current": 200, "n_labelers": 5}


def settled(problem, draws=250, chains=2):
    """A fit whose draws of the labelers are the anchored estimate with a little noise.

    Stands in for NUTS, so that adjusting costs no sampling.
    """
    history, current = problem.rounds
    rng = np.random.default_rng(5)

    def sample(model, start, **settings):
        tree = prior_draws(model, start, **settings)
        posterior = tree["posterior"].to_dataset()
        for name in ("sensitivity", "specificity", "history_prevalence", "prevalence"):
            noise = rng.normal(0, 0.02, posterior[name].shape)
            posterior[name] = (posterior[name].dims, np.clip(start[name] + noise, 0.01, 0.99))
        return xr.DataTree.from_dict(
            {"posterior": posterior, "sample_stats": tree["sample_stats"].to_dataset()}
        )

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("hero_bayes.inference.fit.sample", sample)
        tree = hb.fit(
            history,
            current,
            model="hero",
            draws=draws,
            tune=1,
            chains=chains,
            random_seed=2,
            progressbar=False,
        )
    return tree, history, current


@pytest.fixture(scope="module")
def strong():
    return settled(simulate(101, strength=2.5, **SIZES))


@pytest.fixture(scope="module")
def noise():
    return settled(simulate(102, strength=0.0, **SIZES))


def test_mode_with_the_papers_factor_is_hero2(case):
    """Against the reference, and against the fast path to 1e-9 (both on the graph's evidence)."""
    tree = hb.fit(case.history, case.current, model="hero", mode="map", random_seed=1)
    adjusted = hb.adjust(tree, case.history, case.current, ["x"], ridge=0, shrink="paper")
    value = adjusted["posterior"]["prevalence_adjusted"].item()
    fast = hb.estimate(case.history, case.current, "hero2", ["x"], ridge=0)
    assert value == pytest.approx(case.expected["hero2"], abs=1e-9)
    assert value == pytest.approx(fast.value, abs=1e-9)
    gamma = adjusted["adjustment"]["gamma"].item()
    assert gamma == pytest.approx(case.expected["gamma"][0], abs=1e-7)
    assert adjusted["posterior"]["prevalence_unadjusted"].item() == pytest.approx(
        case.expected["hero1"], abs=1e-9
    )
    assert adjusted["adjustment"]["variance_removed_percent"].item() == 0.0


def test_groups_dims_and_what_is_kept(strong):
    tree, history, current = strong
    adjusted = hb.adjust(tree, history, current)
    posterior = adjusted["posterior"]
    for name in ("prevalence_adjusted", "prevalence_unadjusted"):
        assert posterior[name].dims == ("chain", "draw", "group")
        assert ((posterior[name] >= 0) & (posterior[name] <= 1)).all()
    assert adjusted.attrs == tree.attrs
    kept = tree["evidence"]["draw"]
    xr.testing.assert_equal(posterior["prevalence"], tree["posterior"]["prevalence"].sel(draw=kept))
    assert "prevalence_adjusted" not in tree["posterior"], "the fit itself stays as it was"
    assert adjusted["adjustment"]["covariate"].to_numpy().tolist() == ["x"]
    assert adjusted["adjustment"]["shrink_factor"].item() == 400 / 600


def test_strong_covariate_removes_variance(strong):
    tree, history, current = strong
    adjusted = hb.adjust(tree, history, current)
    posterior, adjustment = adjusted["posterior"], adjusted["adjustment"]
    before = posterior["prevalence_unadjusted"].to_numpy().var()
    after = posterior["prevalence_adjusted"].to_numpy().var()
    removed = 100 * (1 - after / before)
    assert adjustment["variance_removed_percent"].item() == pytest.approx(removed, rel=1e-9)
    assert adjustment["items_saved"].item() == pytest.approx(2 * removed, rel=1e-9)
    # HERO-2's own formula, the same factor: 500 draws leave a relative error of 2 * 0.063.
    fast = hb.estimate(history, current, "hero2", shrink="optimal")
    assert removed > 10
    assert abs(removed - fast.details["variance_removed_percent"]) < 25


def test_pure_noise_removes_about_nothing(noise):
    tree, history, current = noise
    removed = hb.adjust(tree, history, current)["adjustment"]["variance_removed_percent"].item()
    # A noise covariate explains 1/n of the variance by chance; pairs of 500 draws add little.
    assert -3 < removed < 5


def test_unadjusted_roots_have_the_spread_of_the_posterior(noise):
    """Bayesian bootstrap roots against exact draws of the prevalence, given the same rates.

    The bootstrap has the sandwich variance Var(psi)/(n A^2), the posterior 1/(n A), equal under the
    model. Relative standard error of an sd from 500 draws: 3.2 % each; four of both, and 10 % for
    the difference of the two formulas at n = 200.
    """
    tree, history, current = noise
    posterior = hb.adjust(tree, history, current)["posterior"]
    ratio = posterior["prevalence_unadjusted"].to_numpy().std() / posterior["prevalence"].std()
    assert abs(float(ratio) - 1) < 0.28
    shift = posterior["prevalence_unadjusted"].mean() - posterior["prevalence"].mean()
    assert abs(float(shift)) < 0.02


def test_seeds(strong):
    tree, history, current = strong
    one, again = (hb.adjust(tree, history, current) for _ in range(2))
    assert one.identical(again)
    other = hb.adjust(tree, history, current, random_seed=99)
    assert not other["posterior"].identical(one["posterior"])
    gap = (
        other["posterior"]["prevalence_adjusted"].mean()
        - one["posterior"]["prevalence_adjusted"].mean()
    )
    # Two means of 500 draws with sd below 0.05: four standard errors.
    assert abs(float(gap)) < 4 * 0.05 * np.sqrt(2 / 500)


def test_infinite_penalty_adjusts_nothing(strong):
    tree, history, current = strong
    posterior = hb.adjust(tree, history, current, ridge=np.inf)["posterior"]
    np.testing.assert_array_equal(
        posterior["prevalence_adjusted"], posterior["prevalence_unadjusted"]
    )


def test_weighted_roots_by_hand():
    """Uneven weights: the equation, gamma by weighted least squares, and the shifted root."""
    from hero_bayes.adjustment.adjust import Settings

    rng = np.random.default_rng(4)
    ratio, x = rng.normal(0, 2, 60), rng.normal(size=(60, 2))
    weight, target = rng.dirichlet(np.ones(60)), np.array([0.2, -0.1])
    root, moved, _ = weighted_roots(ratio, x, target, weight, Settings(0.0, 0.8, False))
    assert weight @ kernels.psi_array(ratio, root) == pytest.approx(0, abs=1e-12)
    psi = kernels.psi_array(ratio, root)
    rows = np.column_stack([np.ones(60), x])
    beta = np.linalg.solve(rows.T @ (weight[:, None] * rows), rows.T @ (weight * psi))
    shift = 0.8 * beta[1:] @ (weight @ x - target)
    assert weight @ kernels.psi_array(ratio, moved) == pytest.approx(shift, abs=1e-10)


def test_several_groups_share_the_history_weights():
    problem = simulate(103, n_history=100, n_current=80, n_labelers=4, arms=("A", "B"))
    tree, history, current = settled(problem, draws=100, chains=1)
    adjusted = hb.adjust(tree, history, current)
    assert adjusted["posterior"]["prevalence_adjusted"].sizes == {
        "chain": 1,
        "draw": 100,
        "group": 2,
    }
    assert adjusted["adjustment"]["gamma"].dims == ("group", "covariate")
    assert adjusted["adjustment"]["shrink_factor"].to_numpy().tolist() == [100 / 140] * 2
    a, b = adjusted["posterior"]["prevalence_adjusted"].to_numpy()[0].T
    assert (a != b).all()


def shifted(problem, by):
    problem.now.items["x"] += by
    return settled(problem, draws=20, chains=1)


def test_covariate_shift_is_told():
    quiet = shifted(simulate(104, n_history=100, n_current=80, n_labelers=4), 0.0)
    loud = shifted(simulate(104, n_history=100, n_current=80, n_labelers=4), 3.0)
    assert "covariate shift" not in hb.adjust(*quiet)["adjustment"].attrs["notes"]
    told = hb.adjust(*loud)["adjustment"]
    assert "covariate shift" in told.attrs["notes"]
    assert told["standardized_difference"].item() > 2
    assert told["shift_p_value"].item() < 1e-6


def test_short_history_with_the_papers_factor_is_told():
    problem = simulate(105, n_history=50, n_current=80, n_labelers=4)
    fitted = settled(problem, draws=20, chains=1)
    assert "optimal" in hb.adjust(*fitted, shrink="paper")["adjustment"].attrs["notes"]
    assert "optimal" not in hb.adjust(*fitted)["adjustment"].attrs["notes"]


@pytest.mark.parametrize("ridge", ["cv", 0, 1.0])
def test_many_and_awkward_covariates_stay_finite(ridge):
    problem = simulate(106, n_history=60, n_current=30, n_labelers=4, n_noise=40)
    for part in (problem.past, problem.now):
        part.items["noise0"] = 3.0
        part.items["noise1"] = 1e12 * part.items["noise2"]
    fitted = settled(problem, draws=20, chains=1)
    adjusted = hb.adjust(*fitted, ridge=ridge)
    for name in ("prevalence_adjusted", "prevalence_unadjusted"):
        assert np.isfinite(adjusted["posterior"][name]).all()
    assert np.isfinite(adjusted["adjustment"]["gamma"]).all()


def test_tables_must_be_the_fitted_ones(strong):
    tree, history, current = strong
    with pytest.raises(hb.DataError, match="current table is not the one"):
        hb.adjust(tree, history, current.without_gold().select(items=current.items[:50]))
    with pytest.raises(hb.DataError, match="history table is not the one"):
        hb.adjust(tree, history.without_gold(), current)
    with pytest.raises(hb.DataError, match="history table"):
        check_same_data(tree, current, history)
    with pytest.raises(hb.DataError, match="no data fingerprint"):
        hb.adjust(xr.DataTree(), history, current)


def test_covariates_must_be_there(strong):
    tree, history, current = strong
    with pytest.raises(hb.DataError, match="'y' is not declared"):
        hb.adjust(tree, history, current, ["y"])
    with pytest.raises(hb.DataError, match="TextCovariates"):
        hb.adjust(tree, history, current, [TextCovariates("prompt")])
    with pytest.raises(hb.Refusal, match="adjust needs covariates"):
        hb.adjust(tree, history, current, [])


@pytest.mark.parametrize(
    ("options", "message"),
    [({"ridge": -1.0}, "ridge"), ({"ridge": "auto"}, "ridge"), ({"shrink": "none"}, "shrink")],
)
def test_arguments_not_understood(strong, options, message):
    with pytest.raises(ValueError, match=message):
        hb.adjust(*strong, **options)
