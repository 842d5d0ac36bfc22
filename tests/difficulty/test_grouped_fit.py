"""Fits of prompts in groups, and of many prompts: what is resampled, and where it is kept."""

import numpy as np
import pytest
from many import beta_fit, from_counts
from scipy import stats

import hero_bayes as hb
from hero_bayes.difficulty import after
from hero_bayes.difficulty.design_variances import variances
from hero_bayes.difficulty.fitting import fit
from hero_bayes.difficulty.laws import laws
from hero_bayes.difficulty.planning import plan
from hero_bayes.difficulty.reliability import pass_at_k
from hero_bayes.difficulty.score_moments import moments

QUICKLY = {"mode": "laplace", "random_seed": 1}


@pytest.fixture(scope="module")
def grouped():
    """20 groups of 10 prompts, alike within groups; few generations, so that P is shrunk much."""
    rng = np.random.default_rng(1)
    chance = np.repeat(rng.beta(0.8, 0.8, 20), 10)
    return from_counts(rng.binomial(5, chance), 5, prompt_group=np.repeat(np.arange(20), 10))


@pytest.fixture(scope="module")
def fitted(grouped):
    return fit(grouped, **QUICKLY)


def test_score_counts_groups(grouped, fitted):
    draws = fitted["posterior"].to_dataset()
    found = moments(grouped)
    # Student's t with 19 degrees of freedom has sd sqrt(19 / 17); in [0, 1] a little less, and
    # drawn towards one half by less than the prior's one flip among some 35.
    exact = found.standard_error * np.sqrt(19 / 17)
    assert float(draws["mu"].std(ddof=1)) == pytest.approx(exact, rel=0.06)  # 4,000 draws: 1.1 %
    assert float(draws["mu"].mean()) == pytest.approx(found.mu, abs=0.1 * exact)
    assert 0.07 < exact < 0.1
    assert float(draws["mu_law"].std()) < exact / 2  # the law takes prompts as unrelated
    assert "whatever the law" in draws["mu"].attrs["description"]
    assert "prompts come in groups" in fitted.attrs["notes"]


def test_law_of_a_grouped_fit_is_its_own(grouped, fitted):
    draws = fitted["posterior"].to_dataset()
    law = laws(fitted)["model"]
    np.testing.assert_array_equal(law.mu, draws["mu_law"].to_numpy().ravel())
    np.testing.assert_array_equal(law.first, law.mu)
    variance = law.mu * (1 - law.mu) * draws["icc"].to_numpy().ravel()
    np.testing.assert_allclose(law.sigma**2, variance, rtol=1e-9)


def test_unrelated_prompts_count_one_by_one(grouped, fitted):
    plain = from_counts(grouped.n_correct, 5)
    draws = fit(plain, **QUICKLY)["posterior"].to_dataset()
    np.testing.assert_array_equal(draws["mu_law"], fitted["posterior"]["mu_law"])
    error = moments(plain).standard_error
    assert float(draws["mu"].std()) == pytest.approx(error, rel=0.05)


def test_grouped_fits_do_not_plan(fitted):
    for call in (lambda: plan(fitted, k=1), lambda: pass_at_k(fitted)):
        with pytest.raises(hb.Refusal, match="pass the generations: they resample whole groups"):
            call()


def test_remedies_for_groups_name_no_fit(grouped):
    with pytest.raises(hb.Refusal, match="have fewer") as caught:
        pass_at_k(grouped, 6)
    assert "fit" not in str(caught.value)
    with pytest.raises(hb.Refusal, match="not all alike"):
        plan(from_counts([3, 3], 3, prompt_group=["a", "b"]))


def test_groups_that_are_all_alike_count_as_one_generation_each():
    data = from_counts([3] * 30, 3, prompt_group=np.repeat(np.arange(10), 3))
    draws = fit(data, **QUICKLY)["posterior"]["mu"].to_numpy().ravel()
    # Beta(m + 1/2, 1/2) with m = 10 chi^2_9 / 9: its distribution function by quadrature.
    w = (np.arange(2000) + 0.5) / 2000
    trials = 10 * stats.chi2.ppf(w, 9) / 9
    law = np.vectorize(lambda x: stats.beta.cdf(x, trials + 0.5, 0.5).mean())
    assert stats.kstest(draws[::4], law).pvalue > 1e-3


def test_one_group_is_refused():
    with pytest.raises(hb.Refusal, match="one prompt group"):
        fit(from_counts([1, 2, 3], 3, prompt_group=["a"] * 3), **QUICKLY)


def test_many_prompts_have_fewer_draws_of_their_mean(monkeypatch):
    data = from_counts([0, 1, 2, 3] * 10, 3)
    exact = fit(data, **QUICKLY)
    monkeypatch.setattr(after, "MANY_CELLS", 39)
    monkeypatch.setattr(after, "MEAN_DRAWS", 80)
    few = fit(data, **QUICKLY)
    assert "mu_these_prompts" in exact["posterior"]
    assert "mu_these_prompts" not in few["posterior"]
    draws = few["these_prompts"]["mu_these_prompts"]
    assert draws.sizes == {"chain": 4, "draw": 20, "model": 1}
    np.testing.assert_array_equal(
        few["posterior"]["mu"].sel(draw=draws["draw"]), exact["posterior"]["mu"][:, draws["draw"]]
    )
    assert 0.4 < float(draws.mean()) < 0.6


@pytest.mark.parametrize("counts", [[2] * 9, [1, 2, 3, 2, 1, 3, 2, 2, 2], [0, 4] * 5])
@pytest.mark.parametrize("groups", [None, 3])
def test_point_lies_among_its_draws(counts, groups):
    columns = {} if groups is None else {"prompt_group": np.arange(len(counts)) % groups}
    known = variances(from_counts(counts, 4, **columns))
    for k in (1, 4, 50):
        low, high = np.quantile(known.drawn(k), [0.005, 0.995])
        rounding = 1e-12
        assert low - rounding <= known.per_prompt(k) <= high + rounding


def test_unreachable_targets_are_refused_at_once():
    data = from_counts([0, 1, 2, 3, 4, 4], 4)
    with pytest.raises(hb.Refusal, match=r"1,000,000,000 prompts leave a standard error of"):
        plan(data, target_se=1e-9, k=1)
    note = plan(data, target_se=1e-300, k=1, n=5)["note"][0]
    assert "more than 1,000,000,000 prompts" in note
    n = plan(data, target_se=2e-5, k=1)["n"][0]
    needed = variances(data).per_prompt(1) / 4e-10
    assert needed - 1e-3 < n < needed + 1.0  # some 7e8: a rounding error of 1e-12 is 7e-4


@pytest.mark.parametrize(("mu", "icc"), [(0.3, 0.4), (0.9, 0.02), (0.02, 0.9)])
def test_many_terms_have_a_closed_form(mu, icc):
    law = laws(beta_fit([mu], [icc]))["m"]
    j = np.arange(1000)
    terms = (mu * (1 - icc) + j * icc) / (1 - icc + j * icc)
    # Differences of log Gamma functions near 1e4 lose 1e-12 each.
    assert law.all_correct(1000)[0] == pytest.approx(np.prod(terms), rel=1e-9)
    table = pass_at_k(beta_fit([mu, mu], [icc, icc]), 10**6)
    assert np.isfinite(table["pass_at_k"]).all()
    counts = from_counts([900, 1000], 1000)
    subset = np.prod((900 - np.arange(500)) / (1000 - np.arange(500)))
    assert pass_at_k(counts, 500)["pass_all_k"][0] == pytest.approx((subset + 1) / 2, rel=1e-9)


def test_the_command_reads_both_homes_of_the_mean(monkeypatch):
    from hero_bayes.cli.difficulty_tables import summary_table

    data = from_counts([0, 1, 2, 3] * 10, 3)
    exact = summary_table(data, fit(data, **QUICKLY), 0.9)
    monkeypatch.setattr(after, "MANY_CELLS", 39)
    few = summary_table(data, fit(data, **QUICKLY), 0.9)
    sd = (exact["these_prompts_high"] - exact["these_prompts_low"])[0] / 3.29
    # 400 of the 4,000 draws know the mean to a twentieth of the sd.
    assert few["these_prompts"][0] == pytest.approx(exact["these_prompts"][0], abs=0.25 * sd)
    assert few["new_prompts"][0] == exact["new_prompts"][0]
