"""Plans against closed forms, brute force over designs, and their own draws."""

import numpy as np
import pandas as pd
import pytest
from many import beta_fit, from_counts

import hero_bayes as hb
from hero_bayes.difficulty.design_variances import variances
from hero_bayes.difficulty.planning import best_k, plan
from hero_bayes.difficulty.prompt_means import squared_error
from hero_bayes.difficulty.score_moments import moments


def pilot(n=60, k=6, seed=1, **columns):
    rng = np.random.default_rng(seed)
    return from_counts(rng.binomial(k, rng.beta(0.8, 0.6, size=n)), k, **columns)


def fit(draws=400, seed=2):
    rng = np.random.default_rng(seed)
    return beta_fit(rng.beta(60, 40, draws), rng.beta(40, 60, draws))


def test_standard_error_is_lemma_2_1():
    data = pilot()
    found = moments(data)
    p = data.p_hat
    between = p.var(ddof=1) - (p * (1 - p)).mean() / 5
    within = 6 / 5 * (p * (1 - p)).mean()
    table = plan(found, k=(1, 3, 50), n=(10, 500))
    assert len(table) == 6
    expected = np.sqrt(between / table["n"] + within / (table["n"] * table["k"]))
    assert table["standard_error"].to_numpy() == pytest.approx(expected.to_numpy(), rel=1e-12)
    assert table["floor"].to_numpy() == pytest.approx(np.sqrt(between / table["n"]), rel=1e-12)
    share = between / (between + within / table["k"])
    assert table["share_between"].to_numpy() == pytest.approx(share.to_numpy(), rel=1e-12)


def test_own_design_gives_back_the_standard_error():
    data = pilot()
    table = plan(data, k=6)
    assert table["n"].tolist() == [60]
    assert table["standard_error"][0] == pytest.approx(moments(data).standard_error, rel=1e-12)
    group = np.repeat(np.arange(20), 3)
    data = pilot(prompt_group=group)
    expected = squared_error(data.p_hat, group) ** 0.5
    assert plan(data, k=6)["standard_error"][0] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("target", [0.05, 0.011, 0.003])
def test_smallest_n_is_smallest(target):
    table = plan(pilot(), target_se=target, k=(1, 2, 7, 40))
    assert table["meets_target"].all()
    for row in table.itertuples():
        fewer = plan(pilot(), target_se=target, k=row.k, n=row.n - 1)
        assert not fewer["meets_target"][0]
        assert row.standard_error <= target < fewer["standard_error"][0]


def test_n_is_exact_where_the_division_is():
    counts = from_counts([0, 4] * 8, 4)  # s2 = 4/15, no luck within prompts
    assert plan(counts, target_se=np.sqrt(4 / 15 / 100), k=1)["n"][0] == 100


def test_no_design_meets_the_target():
    found = moments(pilot())
    table = plan(found, target_se=0.01, k=(1, 1000), n=(100, 40_000))
    floor = found.sigma / 10
    assert floor > 0.01
    hopeless = table[table["n"] == 100]
    assert not hopeless["meets_target"].any()
    least = int(np.floor(found.sigma_squared / 0.01**2)) + 1
    for note in hopeless["note"]:
        assert f"100 prompts leave {floor:.4g}" in note
        assert f"at least {least:,} prompts" in note
    assert (table.loc[table["n"] == 40_000, "note"] == "").all()
    near = plan(found, target_se=0.01, k=1, n=least)
    assert near["note"][0] == "more generations or more prompts are needed"


def test_cheapest_design_and_best_k():
    data, cost = pilot(), {"prompt": 9.0, "generation": 0.5}
    known = variances(moments(data))
    expected = np.sqrt(known.within / known.between * 18)
    assert best_k(data, cost) == pytest.approx(expected, rel=1e-12)
    # A small target, so that rounding n up costs less than the neighbours differ.
    table = plan(moments(data), target_se=1e-4, k=range(1, 60), cost=cost)
    assert table["cost"].to_numpy() == pytest.approx(table["n"] * (9 + 0.5 * table["k"]))
    winner = table.loc[table["cheapest"], "k"].tolist()
    assert len(winner) == 1
    assert winner[0] in (np.floor(expected), np.ceil(expected))
    assert table["cost"].idxmin() == table["cheapest"].idxmax()
    called = plan(moments(data), target_se=1e-4, k=range(1, 60), cost=lambda n, k: n * (9 + k / 2))
    pd.testing.assert_frame_equal(called, table)


def test_cheapest_only_among_designs_that_meet_the_target():
    table = plan(
        pilot(), target_se=0.01, k=(1, 5), n=(10, 9000), cost={"prompt": 1, "generation": 1}
    )
    assert table.loc[table["cheapest"], ["n", "k"]].to_numpy().tolist() == [[9000, 1]]
    none = plan(pilot(), target_se=0.01, k=1, n=10, cost={"prompt": 1, "generation": 1})
    assert not none["cheapest"].any()


def test_best_k_ends():
    data = pilot()
    assert best_k(data, {"prompt": 0, "generation": 1}) == 1.0
    assert best_k(data, {"prompt": 1, "generation": 0}) == np.inf
    assert best_k(from_counts([2] * 9, 4), {"prompt": 1, "generation": 1}) == np.inf


def test_a_fit_gives_draws():
    tree = fit()
    posterior = tree["posterior"].to_dataset()
    mu, sigma = (posterior[name].to_numpy().ravel() for name in ("mu", "sigma"))
    errors = np.sqrt(sigma**2 / 300 + (mu - mu**2 - sigma**2) / (300 * 4))
    row = plan(tree, target_se=0.02, k=4, n=300).iloc[0]
    assert row["standard_error"] == pytest.approx(np.sqrt(np.median(errors**2)), rel=1e-12)
    assert row["low"] == pytest.approx(np.quantile(errors, 0.025), rel=1e-12)
    assert row["probability"] == (errors <= 0.02).mean()
    assert plan(tree, k=4)["n"].tolist() == [2]  # prompts of the fit


def test_assurance_is_the_probability():
    for source in (fit(), pilot()):
        row = plan(source, target_se=0.02, k=4, assurance=0.9).iloc[0]
        assert row["probability"] >= 0.9
        fewer = plan(source, target_se=0.02, k=4, n=int(row["n"]) - 1, assurance=0.9).iloc[0]
        assert fewer["probability"] < 0.9
        assert not fewer["meets_target"]
        assert row["n"] > plan(source, target_se=0.02, k=4)["n"][0]
    with pytest.raises(hb.Refusal, match="pass the generations or a fit"):
        plan(moments(pilot()), target_se=0.02, assurance=0.9)


def test_bootstrap_interval_covers_the_true_error():
    a, b, n, k = 0.8, 0.6, 40, 6
    mu = a / (a + b)
    sigma_squared = mu * (1 - mu) / (a + b + 1)
    truth = np.sqrt((sigma_squared + (mu - mu**2 - sigma_squared) / 2) / 1000)
    hits = []
    for seed in range(60):
        row = plan(pilot(n, k, seed), k=2, n=1000, prob=0.9, random_seed=seed).iloc[0]
        hits.append(row["low"] <= truth <= row["high"])
    # Nominal 0.9; a bootstrap of 40 prompts may fall to 0.85, less four Monte-Carlo errors.
    assert np.mean(hits) >= 0.85 - 4 * np.sqrt(0.85 * 0.15 / 60)


def test_same_seed_same_plan():
    one, two = (plan(pilot(), k=2, n=50, random_seed=3) for _ in range(2))
    pd.testing.assert_frame_equal(one, two)
    assert plan(pilot(), k=2, n=50, random_seed=4)["low"][0] != one["low"][0]


def test_one_generation_plans_one_generation():
    data = from_counts([0, 1, 1, 0, 1], 1)
    table = plan(data, target_se=0.1, k=1)
    assert table["n"][0] == 30  # s2 = 0.3
    assert np.isnan(table["floor"][0])
    assert plan(data, target_se=0.1, k=1, n=9)["note"][0] == "more prompts are needed"
    with pytest.raises(hb.Refusal, match="ask for k=1"):
        plan(data, k=(1, 2))
    with pytest.raises(hb.Refusal, match="at least twice"):
        best_k(data, {"prompt": 1, "generation": 1})


def test_negative_sigma_squared_is_no_spread():
    table = plan(from_counts([2] * 9, 4), k=(1, 4), n=10)
    assert table["floor"].tolist() == [0.0, 0.0]
    assert table["share_between"].tolist() == [0.0, 0.0]
    assert table["standard_error"][0] == pytest.approx(2 * table["standard_error"][1], rel=1e-12)


def test_refusals_and_bad_arguments():
    with pytest.raises(hb.Refusal, match="every generation is correct"):
        plan(from_counts([3, 3], 3))
    with pytest.raises(hb.Refusal, match="at least two"):
        plan(from_counts([1], 3))
    with pytest.raises(hb.Refusal, match="needs two prompt groups"):
        plan(from_counts([1, 2], 3, prompt_group=["a", "a"]))
    two = beta_fit(np.full((9, 2), 0.4), np.full((9, 2), 0.2), model=("a", "b"))
    with pytest.raises(hb.Refusal, match="2 models"):
        plan(two)
    with pytest.raises(hb.DataError, match="no model 'c'"):
        plan(two, model="c")
    assert len(plan(two, model="b", k=1)) == 1
    for arguments in ({"target_se": 0.0}, {"target_se": 0.1, "assurance": 1.0}, {"n": 0}):
        with pytest.raises(ValueError, match=r"target_se|assurance|whole numbers"):
            plan(pilot(), **arguments)
    with pytest.raises(ValueError, match="give target_se"):
        plan(pilot(), assurance=0.9)
    for cost in ({"prompt": 1}, {"prompt": -1, "generation": 1}, {"prompt": 0, "generation": 0}):
        with pytest.raises(ValueError, match="cost"):
            plan(pilot(), cost=cost)


@pytest.mark.slow
@pytest.mark.parametrize("groups", [8, 20, 100])
def test_assurance_of_groups_is_kept(groups):
    def chances(count, rng):
        centre = np.repeat(rng.beta(2, 2, count), 10)
        return rng.beta(centre * 7 / 3, (1 - centre) * 7 / 3)

    many = chances(20_000, np.random.default_rng(0))
    by_group = many.reshape(-1, 10)
    truth = by_group.sum(axis=1).var() / 10 + (many * (1 - many)).mean() / 10
    kept = inside = 0
    for seed in range(150):
        rng = np.random.default_rng([groups, seed])
        counts = rng.binomial(5, chances(groups, rng))
        data = from_counts(counts, 5, prompt_group=np.repeat(np.arange(groups), 10))
        row = plan(data, target_se=0.02, k=10, assurance=0.9, random_seed=seed).iloc[0]
        error = np.sqrt(truth / row["n"])
        kept += error <= 0.02
        inside += row["low"] <= error <= row["high"]
    # binomial error 0.024 of the first, 0.018 of the second
    assert kept / 150 >= 0.85
    assert inside / 150 >= 0.90


def sure_and_mixed(seed, sure=0.98):
    """150 prompts with one generation each, 150 mixed ones with five."""
    rng = np.random.default_rng(seed)
    p = np.r_[np.full(150, sure), rng.beta(2, 2, 150)]
    k = np.repeat([1, 5], 150)
    return from_counts(rng.binomial(k, p), k), p


@pytest.mark.parametrize("seed", range(4))
def test_noise_of_prompts_with_one_generation_is_bounded(seed):
    data, p = sure_and_mixed(seed)
    found = moments(data)
    assert found.sigma == pytest.approx(p.std(), abs=0.05)
    assert "150 prompts with one generation" in found.reason
    assert found.borrowed < 0.5 * found.sigma_squared
    planned = plan(data, k=50)["standard_error"][0]
    exact = np.sqrt((p.var() + (p * (1 - p)).mean() / 50) / 300)
    assert planned == pytest.approx(exact, rel=0.25)


def test_plans_that_rest_on_prompts_with_one_generation_are_refused():
    data, _ = sure_and_mixed(1, sure=0.5)
    with pytest.raises(hb.Refusal, match="how noisy prompts with one generation are"):
        plan(data, k=5)
    assert len(plan(data, k=1)) == 1
