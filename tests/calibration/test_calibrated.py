"""Small calibration runs; the full ones are `make calibrate`."""

import numpy as np
import pytest
from toy import simulate

import hero_bayes as hb
from hero_bayes.calibration import coverage_table, uniformity

pytestmark = pytest.mark.slow


def test_hero_is_calibrated():
    result = hb.calibration.sbc("hero", 100, random_seed=11, jobs=2, progressbar=False)
    assert uniformity(result)["p_adjusted"].min() > 1e-3
    assert int(result["diagnostics"]["flipped_chains"].sum()) == 0


def test_cut_intervals_cover():
    result = hb.calibration.coverage("hero", "cut", 60, random_seed=12, jobs=1, progressbar=False)
    table = coverage_table(result)
    assert table["inside"].all(), table.query("not inside")


def test_result_does_not_depend_on_jobs():
    options = {"n_simulations": 6, "random_seed": 13, "draws": 60, "kept": 50, "mode": "laplace"}
    one, two = (
        hb.calibration.sbc("hero", jobs=jobs, progressbar=False, **options) for jobs in (1, 2)
    )
    assert one["pit"].to_dataset().equals(two["pit"].to_dataset())


def spread(rounds, posterior):
    tree = hb.fit(
        *rounds, mode="laplace", posterior=posterior, draws=1000, random_seed=1, progressbar=False
    )
    draws = tree["posterior"]["sensitivity"]
    return draws.mean(("chain", "draw")).to_numpy(), draws.std(("chain", "draw")).to_numpy()


def test_joint_and_cut_agree_when_history_is_huge_and_differ_when_it_is_small():
    huge = simulate(14, n_history=4000, gold_share=0.5, n_current=100, strength=0.0).rounds
    small = simulate(14, n_history=30, gold_share=0.5, n_current=400, strength=0.0).rounds
    cut, joint = spread(huge, "cut"), spread(huge, "joint")
    # Monte-Carlo error of a mean of 4,000 draws: 0.016 standard deviations, of a sd: 1.1 %.
    assert (np.abs(cut[0] - joint[0]) < 0.25 * cut[1]).all()
    assert (np.abs(joint[1] / cut[1] - 1) < 0.1).all()
    cut, joint = spread(small, "cut"), spread(small, "joint")
    assert (joint[1] < 0.8 * cut[1]).mean() > 0.5
