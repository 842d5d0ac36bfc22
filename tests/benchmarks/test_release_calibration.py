"""Simulated releases: the checks of P(rule holds), and a small run of the study."""

import runpy
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "release_calibration.py"
N_HISTORIES, N_ROUNDS = 100, 10


@pytest.fixture(scope="module")
def study():
    return runpy.run_path(str(SCRIPT))


def stated_and_true(seed, spread):
    """P(m <= threshold) of a normal posterior with sd 1 where the error's sd is ``spread``.

    Half of an error is its history's: rounds of one history are dependent.
    """
    rng = np.random.default_rng(seed)
    shape = (N_HISTORIES, N_ROUNDS)
    error = (rng.standard_normal((N_HISTORIES, 1)) + rng.standard_normal(shape)) / np.sqrt(2)
    threshold = rng.uniform(-2.0, 2.0, shape)
    return pd.DataFrame(
        {
            "history": np.repeat(np.arange(N_HISTORIES), N_ROUNDS),
            "probability": stats.norm.cdf(threshold).ravel(),
            "holds": (spread * error <= threshold).astype(int).ravel(),
        }
    )


def test_right_probabilities_pass_at_the_nominal_rate(study):
    """60 calibrated studies: the tests reject few, the bounds hold."""
    tables = [study["calibration"](stated_and_true(seed, 1.0)) for seed in range(60)]
    in_bins = np.array([table["p_bins"].iloc[0] for table in tables])
    z = np.array([table["z_sureness"].iloc[0] for table in tables])
    assert stats.kstest(z, "norm").pvalue > 0.001
    assert (in_bins < 0.05).sum() <= stats.binom.ppf(0.999, 60, 0.05)
    assert 0.2 < np.median(in_bins) < 0.8
    outside = sum((~table["inside"]).sum() for table in tables)
    assert outside <= stats.binom.ppf(0.999, sum(map(len, tables)), 0.01)


def test_no_rare_event_among_few_rounds_is_no_evidence(study):
    """22 rounds at P = 0.03, none of which holds: to be expected every second time."""
    assert study["bin_test"](np.arange(22) // 2, np.full(22, 0.03), np.zeros(22)) > 0.3


@pytest.mark.parametrize(("spread", "sign"), [(1.6, -1), (0.5, 1)])
def test_wrong_widths_are_found_on_both_sides(study, spread, sign):
    """A posterior that is too narrow is too sure, one that is too wide not sure enough."""
    table = study["calibration"](stated_and_true(1, spread))
    assert sign * table["z_sureness"].iloc[0] > 4.0
    assert table["p_bins"].iloc[0] < 0.001
    assert not table["inside"].all()
    low, high = table.iloc[0], table.iloc[-1]
    assert sign * (low["observed"] - low["stated"]) < 0
    assert sign * (high["observed"] - high["stated"]) > 0


def test_bounds_are_binomial_where_errors_of_a_history_do_not_add_up(study):
    """With every round its own history and as many errors as stated, n rounds are worth n."""
    holds = np.repeat([1, 0], [30, 70])
    found = study["bin_bounds"](np.arange(100), np.full(100, 0.3), holds)
    assert found["worth"] == 100
    low, high = stats.binom.interval(0.99, 100, 0.3)
    assert (found["low"], found["high"]) == pytest.approx((low / 100, high / 100))
    one = study["bin_bounds"](np.repeat([0, 1], [30, 70]), np.full(100, 0.3), holds)
    assert one["worth"] < 5  # two histories, each all right or all wrong


def test_the_simulated_drift_is_what_the_model_is_told(study):
    """Votes on positive items of a round vary with the drift, and not without it."""

    def variance(drift):
        shares = []
        for number in range(30):
            _, current, _ = study["releases"](drift, [5, number])
            rate = np.bincount(
                current.group_idx[np.repeat(np.arange(current.n_items), 7)] * 7
                + current.labeler_idx,
                weights=current.label,
                minlength=70,
            ).reshape(10, 7)
            shares.append((rate / 150).std(axis=0).mean())
        return np.mean(shares)

    assert variance(3.0) > 1.3 * variance(0.0)
    history, current, _ = study["releases"](0.0, [5, 0])
    assert (history.n_items, current.n_items, current.n_gold) == (300, 1500, 0)
    assert 10 <= np.nansum(history.gold) <= 80


@pytest.mark.slow
def test_small_run_keeps_its_promise_until_labelers_drift(study):
    """Rounds with P below 0.2 or above 0.8: as often wrong as stated; drift shows in the errors."""
    for drift in (0.0, 2.0):
        parts = [study["one_history"]("rigid", k, 3, drift=drift) for k in range(5)]
        cells = pd.concat(parts, ignore_index=True)
        assert len(cells) == 50
        assert (abs(cells["threshold"] - cells["mean"]) <= 2.0 * cells["sd"]).all()
        says = cells["probability"] > 0.5
        chance = np.minimum(cells["probability"], 1.0 - cells["probability"])
        sure = chance < 0.2
        wrong = (says != cells["holds"].astype(bool))[sure].sum()
        most = stats.binom.ppf(0.999, sure.sum(), chance[sure].mean())
        assert wrong <= most or drift > 0.0
        gap = (cells["prevalence"] - cells["mean"]) / cells["sd"]
        assert (np.sqrt((gap**2).mean()) < 2.0) == (drift == 0.0)
