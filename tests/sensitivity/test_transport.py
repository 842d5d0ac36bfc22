"""The sweep over shifts of sensitivity and specificity."""

import numpy as np
import pytest
import xarray as xr
from scipy.special import expit, logit
from toy import simulate

import hero_bayes as hb
from hero_bayes.decision.rule import Rule
from hero_bayes.sensitivity.transport import transport_sensitivity

GRID = [-0.8, -0.4, -0.2, 0.2, 0.4, 0.8]
RULE = Rule.parse("P(prevalence <= 0.36) >= 0.8")


@pytest.fixture(scope="module")
def problem():
    return simulate(
        31, n_history=150, n_current=70, n_labelers=4, labels_per_item=3, current_gold=0.1
    ).rounds


@pytest.fixture(scope="module")
def fitted(problem):
    return hb.fit(*problem, model="hero", mode="laplace", random_seed=1, draws=100, chains=2)


@pytest.fixture(scope="module")
def sweep(fitted, problem):
    return transport_sensitivity(fitted, *problem, RULE, GRID, random_seed=4)


def class_logs(current, labelers, sensitivity, specificity):
    """Log p(labels | truth) by item, from loops."""
    position = {name: k for k, name in enumerate(labelers)}
    out = np.zeros((2, current.n_items))
    for i in range(current.n_items):
        for k in range(current.item_ptr[i], current.item_ptr[i + 1]):
            j = position[current.labelers[current.labeler_idx[k]]]
            a, b = sensitivity[j], specificity[j]
            out[1, i] += np.log(a if current.label[k] == 1 else 1 - a)
            out[0, i] += np.log(b if current.label[k] == 0 else 1 - b)
    return out


def rate_cdf(ratio, gold):
    """CDF of the rate on a fine grid, flat prior; gold counts as truth."""
    m = np.linspace(0, 1, 4_001)[1:-1]
    log = np.zeros(m.size)
    for value, truth in zip(ratio, gold, strict=True):
        if np.isnan(truth):
            log += np.log(m * np.exp(value) + 1 - m)
        else:
            log += np.log(m if truth == 1 else 1 - m)
    density = np.exp(log - log.max())
    cdf = np.cumsum(0.5 * (density[1:] + density[:-1]))
    return m, np.concatenate([[0.0], cdf]) / cdf[-1]


@pytest.mark.parametrize("shift", [(0.0, -0.8), (0.4, 0.2)])
def test_every_point_is_the_posterior_at_moved_rates(fitted, problem, sweep, shift):
    current = problem[1]
    posterior = fitted["posterior"].to_dataset().stack(sample=("chain", "draw"))
    labelers = list(posterior["labeler"].to_numpy())
    values = []
    for d in range(posterior.sizes["sample"]):
        one = posterior.isel(sample=d)
        a, b = one["sensitivity"].to_numpy(), one["specificity"].to_numpy()
        plain = class_logs(current, labelers, a, b)
        moved = class_logs(
            current, labelers, expit(logit(a) + shift[0]), expit(logit(b) + shift[1])
        )
        m, cdf = rate_cdf(plain[1] - plain[0], current.gold)
        rank = np.interp(one["prevalence"].item(), m, cdf)
        m, cdf = rate_cdf(moved[1] - moved[0], current.gold)
        values.append(np.interp(rank, cdf, m))
    at = sweep.sel(shift_sensitivity=shift[0], shift_specificity=shift[1])
    # The table of a posterior has cells of a fifth of a standard deviation (here 0.07), with the
    # density linear within: draws are right to a hundredth of one.
    assert at["mean"].item() == pytest.approx(np.mean(values), abs=7e-4)
    np.testing.assert_allclose(at["quantiles"], np.quantile(values, [0.025, 0.5, 0.975]), atol=2e-3)
    held = np.mean(np.array(values) <= RULE.threshold)
    assert at["probability"].item() == pytest.approx(held, abs=2.5 / len(values))


def test_no_shift_gives_the_fit_itself(fitted, sweep):
    draws = fitted["posterior"]["prevalence"].to_numpy().ravel()
    base = sweep.sel(shift_sensitivity=0.0, shift_specificity=0.0)
    # All 200 draws have evidence, and each keeps its place.
    assert sweep.attrs["n_draws"] == draws.size
    assert base["mean"].item() == pytest.approx(draws.mean(), abs=1e-9)
    assert base["probability"].item() == np.mean(draws <= RULE.threshold)


def test_rates_move_as_the_confusion_of_labels_says(sweep):
    # m = (p + b - 1) / (a + b - 1) falls with a and rises with b where labelers beat chance.
    mean = sweep["mean"]
    assert (mean.diff("shift_sensitivity") < 0).all()
    assert (mean.diff("shift_specificity") > 0).all()
    assert (sweep["probability"].diff("shift_sensitivity") >= 0).all()


def test_decisions_are_the_rules(sweep):
    chance, said = sweep["probability"].to_numpy(), sweep["decision"].to_numpy()
    np.testing.assert_array_equal(said == "ship", chance >= 0.8)
    np.testing.assert_array_equal(said == "hold", 1 - chance >= 0.8)
    assert set(np.unique(said)) == {"ship", "hold", "collect more"}


def test_tipping_points_lie_where_the_sweep_changes(fitted, problem, sweep):
    base = sweep["decision"].sel(shift_sensitivity=0.0, shift_specificity=0.0).item()
    found = 0
    for direction in sweep["direction"].to_numpy():
        one = sweep.sel(direction=direction)
        rate, way = direction.split()
        sign = 1.0 if way == "up" else -1.0
        other = "specificity" if rate == "sensitivity" else "sensitivity"
        line = sweep["decision"].sel({f"shift_{other}": 0.0})
        values = sweep[f"shift_{rate}"].to_numpy()
        outward = sorted((abs(v), v) for v in values if sign * v > 0)
        changed = [v for _, v in outward if line.sel({f"shift_{rate}": v}).item() != base]
        point = one["tipping_point"].item()
        if not changed:
            assert np.isnan(point)
            assert "would leave the decision" in one["sentence"].item()
            continue
        found += 1
        before = max((abs(v) for _, v in outward if abs(v) < abs(changed[0])), default=0.0)
        assert before < abs(point) <= abs(changed[0])
        assert np.sign(point) == sign
        # A fine sweep around the point changes there and not before.
        near = [point - sign * 0.002, point]
        fine = [near, []] if rate == "sensitivity" else [[], near]
        again = transport_sensitivity(fitted, *problem, RULE, fine, random_seed=4)
        words = again["decision"].sel({f"shift_{other}": 0.0, f"shift_{rate}": near}).to_numpy()
        assert words[0] == base or before > abs(near[0])
        assert words[1] == one["tipping_decision"].item() != base
        assert f"{abs(one['tipping_points_percent'].item()):.1f} points" in one["sentence"].item()
    assert found >= 2


def test_percentage_points_are_those_of_the_labels_mean_rate(fitted, problem, sweep):
    posterior = fitted["posterior"].to_dataset()
    current = problem[1].with_labelers(list(posterior["labeler"].to_numpy()))
    weight = current.labels_per_labeler / current.n_labels
    for rate in ("sensitivity", "specificity"):
        logits = logit(posterior[rate].transpose("chain", "draw", "labeler").to_numpy())
        for way in ("up", "down"):
            one = sweep.sel(direction=f"{rate} {way}")
            if np.isnan(one["tipping_point"].item()):
                continue
            change = expit(logits + one["tipping_point"].item()) - expit(logits)
            points = 100 * (change.mean((0, 1)) @ weight)
            assert one["tipping_points_percent"].item() == pytest.approx(points, rel=1e-6)


def test_own_moves_widen_the_rate(fitted, problem):
    wide = transport_sensitivity(fitted, *problem, grid=[0.0], drift_sd=(0.0, 1.0))
    low, _, high = wide["drift_quantiles"].to_numpy().T
    spread = high - low
    assert spread[1] > 1.1 * spread[0]
    assert wide["drift_mean"].sel(drift_sd=0.0).item() == pytest.approx(
        wide["mean"].item(), abs=1e-9
    )
    assert "tipping_point" not in wide


def test_item_rate_speaks_of_the_items_at_hand(fitted, problem):
    rule = Rule("item_rate", "<=", 0.42, probability=0.8)
    found = transport_sensitivity(fitted, *problem, rule, [-0.4], random_seed=2)
    draws = fitted["posterior"]["item_rate"].to_numpy().ravel()
    base = found.sel(shift_sensitivity=0.0, shift_specificity=0.0)
    # Truths are drawn anew given the same rates: their part of the spread is below that of the
    # draws, which bounds the error of either mean.
    bound = 4 * draws.std() * np.sqrt(2 / draws.size)
    assert base["mean"].item() == pytest.approx(draws.mean(), abs=bound)
    down = found.sel(shift_sensitivity=-0.4, shift_specificity=0.0)["mean"].item()
    assert down > base["mean"].item()


def test_same_seed_same_numbers(fitted, problem, sweep):
    again = transport_sensitivity(fitted, *problem, RULE, GRID, random_seed=4)
    assert again.identical(sweep)


def test_other_tables_are_refused(fitted, problem):
    history, current = problem
    with pytest.raises(hb.DataError, match="not the one this fit was made from"):
        transport_sensitivity(fitted, history, current.without_gold(), RULE)


def test_a_tree_that_is_no_fit_is_refused(fitted, problem):
    tree = xr.DataTree.from_dict({"posterior": fitted["posterior"].to_dataset()})
    with pytest.raises(hb.DataError, match="the tree is no fit"):
        transport_sensitivity(tree, *problem, RULE)


def test_fits_and_sweeps_go_to_disk(fitted, problem, sweep, tmp_path):
    again = hb.load(hb.save(fitted, tmp_path / "fit.nc"))
    found = transport_sensitivity(again, *problem, RULE, GRID, random_seed=4)
    np.testing.assert_array_equal(found["mean"], sweep["mean"])
    sweep.to_netcdf(tmp_path / "sweep.nc", engine="h5netcdf")
    back = xr.load_dataset(tmp_path / "sweep.nc", engine="h5netcdf")
    assert back["sentence"].to_numpy().tolist() == sweep["sentence"].to_numpy().tolist()
    assert back.attrs["read_as"] == sweep.attrs["read_as"]


def test_a_mode_has_no_draws(problem):
    mode = hb.fit(*problem, model="hero", mode="map", random_seed=1)
    with pytest.raises(hb.Refusal, match="needs draws"):
        transport_sensitivity(mode, *problem, RULE)


def changed_posterior(fit, **variables):
    tree = fit.copy()
    posterior = tree["posterior"].to_dataset()
    tree["posterior"] = xr.DataTree(posterior.assign(variables))
    return tree


def test_evidence_that_does_not_follow_from_the_rates_is_refused(fitted, problem):
    other = changed_posterior(fitted, sensitivity=0.9 * fitted["posterior"]["sensitivity"])
    with pytest.raises(hb.Refusal, match="does not follow from its sensitivities"):
        transport_sensitivity(other, *problem, RULE)
    tree = fitted.copy()
    tree["posterior"] = xr.DataTree(fitted["posterior"].to_dataset().drop_vars("specificity"))
    with pytest.raises(hb.Refusal, match="holds no sensitivity and specificity"):
        transport_sensitivity(tree, *problem, RULE)


def test_prompts_are_refused(fitted, problem):
    other = changed_posterior(fitted, icc=fitted["posterior"]["prevalence"])
    with pytest.raises(hb.Refusal, match="generations of prompts"):
        transport_sensitivity(other, *problem, RULE)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"grid": [[0.1], 0.2]}, "one sequence of shifts, or two"),
        ({"grid": [np.inf]}, "finite"),
        ({"drift_sd": [-1.0]}, "negative"),
        ({"draws": 1}, "at least 2"),
        ({"metric": "mu", "rule": None}, "metric must be"),
        ({"group": "A"}, "not both"),
    ],
)
def test_misuse(fitted, problem, options, match):
    with pytest.raises(ValueError, match=match):
        transport_sensitivity(fitted, *problem, **{"rule": RULE, **options})


def test_a_rule_on_another_rate_is_refused(fitted, problem):
    rule = Rule("prevalence_adjusted", "<=", 0.3)
    with pytest.raises(hb.Refusal, match="follows prevalence and item_rate"):
        transport_sensitivity(fitted, *problem, rule)


def test_a_direction_without_points_says_so(fitted, problem):
    found = transport_sensitivity(fitted, *problem, RULE, [[-0.1], [0.1]])
    line = found["sentence"].sel(direction="sensitivity up").item()
    assert "no point at which the judges are more sensitive" in line
    assert np.isnan(found["tipping_point"].sel(direction="sensitivity up").item())
