"""Solutions on the boundary, labelers without error, intervals inside [0, 1]."""

import numpy as np
import pytest
from scipy.stats import chi2
from toy import from_rows, make_labels, simulate

from hero_bayes.estimators.anchored_em import anchor
from hero_bayes.estimators.estimate import compare_methods, estimate
from hero_bayes.estimators.information import inside, with_flat_prior
from hero_bayes.estimators.score import Profile, interior, solve

ANCHORED = ("gold_rates", "hero1", "hero2")


@pytest.fixture(scope="module")
def history():
    return simulate(11, n_history=150).rounds[0]


def all_say(label, n=40):
    x = np.linspace(-1, 1, n)
    item = [i for i in range(n) for _ in range(3)]
    return make_labels(item, ["0", "1", "2"] * n, [label] * len(item), {"x": x}, ["x"])


@pytest.mark.parametrize(("label", "value", "side"), [(0, 0.0, "lower"), (1, 1.0, "upper")])
@pytest.mark.parametrize("method", ANCHORED)
def test_unanimous_round_is_a_boundary_solution(history, method, label, value, side):
    current = all_say(label)
    result = estimate(history, current, method)
    low, high = result.interval(0.95)
    assert result.value == value
    assert result.details["boundary"] == side
    assert any("boundary" in note for note in result.notes)
    assert (low, high)[label] == value, "the interval is one-sided"
    assert 0 <= low < high <= 1
    assert high - low < 0.6
    assert np.isfinite(result.standard_error)
    assert result.standard_error > 0


@pytest.mark.parametrize(("label", "side"), [(0, "lower"), (1, "upper")])
@pytest.mark.parametrize("method", ["majority_vote", "dawid_skene"])
def test_methods_without_history_at_the_boundary(method, label, side):
    result = estimate(None, all_say(label), method)
    low, high = result.interval()
    assert result.value == label
    assert result.details["boundary"] == side
    assert 0 <= low <= high <= 1
    assert high - low > 0.01


@pytest.mark.parametrize("wrong", [(), ("specificity",), ("sensitivity",)])
def test_labeler_without_error_breaks_nothing(wrong):
    """Labeler p is right on all gold; q is always wrong on one class."""
    rng = np.random.default_rng(3)
    truth = np.arange(40) % 2
    noisy = np.where(rng.random((2, 40)) < 0.8, truth, 1 - truth)
    q = truth.copy()
    if "specificity" in wrong:
        q[:] = 1
    if "sensitivity" in wrong:
        q[:] = 0
    rows = [
        {"p": int(truth[i]), "q": int(q[i]), "r": int(noisy[0, i]), "s": int(noisy[1, i])}
        for i in range(40)
    ]
    history = from_rows(rows, gold=np.where(np.arange(40) < 30, truth, np.nan))
    current = from_rows(rows[:20])
    for method in ("dawid_skene", "gold_rates", "hero1"):
        result = estimate(history, current, method)
        low, high = result.interval()
        assert 0 <= low <= result.value <= high <= 1
        assert 0 < result.standard_error < 1
        assert np.isfinite(result.standard_error)
    assert abs(estimate(history, current, "hero1").value - 0.5) < 1e-6


def test_perfect_labelers_give_the_share_of_ones():
    truth = np.array([0, 1] * 12 + [1] * 6)
    rows = [{"p": int(t), "q": int(t)} for t in truth]
    history, current = from_rows(rows, gold=truth), from_rows(rows[:25])
    result = estimate(history, current, "hero1")
    # The EM keeps rates 1e-9 away from 1.
    np.testing.assert_allclose(result.value, truth[:25].mean(), atol=1e-8)


def test_profile_interval_of_known_truth_is_the_binomial_likelihood_ratio():
    truth = np.array([1] * 3 + [0] * 297)
    ratio = np.where(truth == 1, np.inf, -np.inf)
    low, high = Profile(ratio, 0.0, 0.01, 1.0).interval(0.95)

    def drop(m):
        return 2 * (3 * np.log(0.01 / m) + 297 * np.log(0.99 / (1 - m)))

    assert low < 0.01 < high
    np.testing.assert_allclose([drop(low), drop(high)], chi2.ppf(0.95, 1), rtol=1e-7)


def test_interval_widens_with_the_variance_and_with_prob():
    ratio = np.array([2.0, -1.0, 0.5, -3.0, 1.0, -0.7])
    top = solve(ratio)[0]
    narrow, wide = Profile(ratio, 0.0, top, 1.0), Profile(ratio, 0.0, top, 0.25)
    assert wide.interval(0.9)[0] <= narrow.interval(0.9)[0]
    assert wide.interval(0.5)[1] > narrow.interval(0.5)[1]
    assert narrow.interval(0.99)[1] >= narrow.interval(0.9)[1]
    assert wide.drop(0.2) == pytest.approx(narrow.drop(0.2) / 4, rel=1e-12)


@pytest.mark.parametrize("value", [0.0, 1.0, 0.4])
def test_interior_is_half_an_item_inside(value):
    assert interior(value, 9) == min(max(value, 0.05), 0.95)


@pytest.mark.parametrize("label", [0, 1])
@pytest.mark.parametrize("method", ANCHORED)
def test_one_item_one_labeler_one_gold_of_each_class(method, label):
    history = make_labels([0, 1], ["a", "a"], [1, 0], {"gold": [1, 0], "x": [0.0, 1.0]}, ["x"])
    current = make_labels([0], ["a"], [label], {"x": [0.5]}, ["x"])
    result = estimate(history, current, method)
    low, high = result.interval()
    assert result.value == label
    assert high - low > 0.7, "one item and two gold labels say next to nothing"
    assert 0 <= low <= high <= 1


@pytest.mark.parametrize("size", [200, pytest.param(2000, marks=pytest.mark.slow)])
def test_many_labelers(size):
    """Every labeler is on few items, most of them never on gold."""
    rng = np.random.default_rng(8)
    item, labeler = np.repeat(np.arange(300), 10), (7 * np.arange(3000)) % size
    truth = rng.random(300) < 0.4
    label = np.where(rng.random(3000) < 0.8, truth[item], ~truth[item]).astype(int)
    gold = np.where(np.arange(300) < 100, truth, np.nan)
    result = estimate(
        make_labels(item, labeler, label, {"gold": gold}),
        make_labels(item, labeler, label),
        "gold_rates",
    )
    assert abs(result.value - truth.mean()) < 0.15
    assert np.isfinite(result.standard_error)


def test_fifty_thousand_items():
    problem = simulate(5, n_history=20_000, n_current=50_000, gold_share=0.05, strength=0.0)
    history, current = problem.rounds
    result = estimate(history, current, "hero1")
    # Four standard errors; the population rate is 0.3 exactly at strength 0.
    assert abs(result.value - 0.3) < 4 * result.standard_error
    assert result.standard_error < 0.02


def with_edges(seed, n_labelers=10, n_gold=40, n=300, unlabeled=0):
    """Labelers who err independently; rates of 0 and 1 are frequent among so few gold items."""
    rng = np.random.default_rng(seed)
    rates = rng.uniform(0.5, 0.85, n_labelers), rng.uniform(0.8, 0.95, n_labelers)

    def table(size, share, gold):
        x = rng.standard_normal(size)
        truth = (rng.random(size) + 0.2 * np.tanh(x)) < share
        right = rng.random((size, n_labelers)) < np.where(truth[:, None], *rates)
        item, labeler = np.indices(right.shape)
        label = np.where(right, truth[:, None], ~truth[:, None]).astype(int)
        known = np.where(np.arange(size) < gold, truth, np.nan)
        facts = {"gold": known, "x": x}
        return make_labels(item.ravel(), labeler.ravel(), label.ravel(), facts, ["x"])

    return table(n_gold + unlabeled, 0.35, n_gold), table(n, 0.2, 0)


@pytest.mark.parametrize("n", [1, 3, 14, 100])
def test_moved_rate_has_the_information_of_its_beta_posterior(n):
    """n hits of n: near the Beta(n + 1, 1) posterior, whose variance is p (1 - p) / (n + 3)."""
    label = [1] * n + [0] * n
    history = make_labels(range(2 * n), ["a"] * 2 * n, label, {"gold": label})
    anchored = anchor(history, make_labels([0], ["a"], [1]))
    p = (n + 1) / (n + 2)
    at = anchored.interior
    assert at.n_moved == 2
    np.testing.assert_allclose([at.sensitivity[0], at.specificity[0]], p, rtol=1e-9)
    expected = min(p * (1 - p) / (n + 2), 1 / 12)
    np.testing.assert_allclose(np.diag(anchored.covariance[0]), expected, rtol=1e-6)


def test_flat_prior_is_one_hit_and_one_miss_as_gold_items():
    history, current = with_edges(3)
    data = anchor(history, current).data
    chosen = np.arange(10) == 4
    none = np.zeros(10, dtype=bool)
    more = with_flat_prior(data, chosen, none, np.array([True]))
    assert more.code[-2:].tolist() == [8, 9]
    assert more.gold[-4:].tolist() == [1, 1, 1, 0]
    assert more.group_idx[-4:].tolist() == [-1, -1, 0, 0]
    assert np.diff(more.item_ptr)[-4:].tolist() == [1, 1, 0, 0]
    same = with_flat_prior(data, none, none, np.array([False]))
    assert same.gold.size == data.gold.size


def test_rate_of_hardly_any_item_is_moved():
    moved, flagged = inside(np.array([1.0, 1.0]), np.array([0.2, 0.0]))
    assert flagged.tolist() == [True, False]
    np.testing.assert_allclose(moved[0], 1.2 / 2.2)


@pytest.mark.parametrize("method", ["gold_rates", "hero1", "hero2"])
def test_rates_at_an_edge_are_flagged_and_the_error_holds_the_distance(method):
    result = estimate(*with_edges(1, n_gold=20), method)
    centre, terms = result.details["centre"], ("sampling", "labelers", "covariate_mean")
    assert result.details["rates_at_edge"]
    assert any('Prefer model="auto"' in note for note in result.notes)
    low, high = result.interval()
    assert min(low, high) <= min(result.value, centre)
    assert max(result.value, centre) <= high
    variance = sum(result.details[f"variance_{term}"] for term in terms)
    np.testing.assert_allclose(
        result.standard_error**2, variance + (result.value - centre) ** 2, rtol=1e-9
    )


def test_without_a_rate_at_an_edge_nothing_is_flagged():
    rounds = with_edges(1, n_gold=600)
    for method in ANCHORED:
        result = estimate(*rounds, method)
        assert result.details["rates_at_edge"] == ()
        assert result.details["centre"] == result.value
        assert "0 or 1" not in " ".join(result.notes)


def test_compare_methods_counts_and_names_the_remedy():
    table = compare_methods(*with_edges(1, n_gold=20)).set_index("method")
    assert (table.loc[list(ANCHORED), "rates_at_edge"] > 0).all()
    assert table.loc["majority_vote", "rates_at_edge"] == 0
    assert table.loc["hero1", "note"].count('method="score"') == 1


@pytest.mark.slow
@pytest.mark.parametrize("n_labelers", [3, 10, 15])
@pytest.mark.parametrize(("n_gold", "unlabeled", "n"), [(40, 0, 300), (20, 40, 50), (20, 0, 3000)])
def test_intervals_cover_with_a_rate_at_an_edge(n_labelers, n_gold, unlabeled, n):
    """Nominal .95; at least .90 less three Monte Carlo errors of the rounds with such a rate."""
    hits = {"hero1": [], "hero2": [], "gold_rates": []}
    rng = np.random.default_rng(0)
    rate = np.mean(rng.random(400_000) + 0.2 * np.tanh(rng.standard_normal(400_000)) < 0.2)
    for seed in range(25):
        rounds = with_edges(seed, n_labelers, n_gold, n, unlabeled)
        for method, inside_interval in hits.items():
            result = estimate(*rounds, method)
            if result.details["rates_at_edge"]:
                low, high = result.interval(0.95)
                inside_interval.append(low <= rate <= high)
    for method, inside_interval in hits.items():
        if len(inside_interval) >= 10:
            allowed = 3 * np.sqrt(0.9 * 0.1 / len(inside_interval))
            assert np.mean(inside_interval) >= 0.9 - allowed, method
