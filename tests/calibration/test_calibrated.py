"""Small calibration runs; the full ones are `make calibrate`."""

import dataclasses

import numpy as np
import pytest
from toy import simulate

import hero_bayes as hb
from hero_bayes.calibration import coverage_table, uniformity
from hero_bayes.difficulty.shapes import SHAPES

pytestmark = pytest.mark.slow


def test_hero_is_calibrated():
    result = hb.calibration.sbc("hero", 100, random_seed=11, jobs=2, progressbar=False)
    assert uniformity(result)["p_adjusted"].min() > 1e-3
    assert int(result["diagnostics"]["flipped_chains"].sum()) == 0


@pytest.mark.parametrize("shape", ["beta", "logit_normal"])
def test_laws_of_difficulty_are_calibrated(shape):
    result = hb.calibration.sbc_difficulty(shape, 100, random_seed=21, progressbar=False)
    assert uniformity(result)["p_adjusted"].min() > 1e-3


def test_a_wrong_law_of_difficulty_is_noticed():
    beta = SHAPES["beta"]

    def wider(counts, row, draw, rng):
        return beta.prompt_chances(counts, row, {**draw, "icc": draw["icc"] ** 0.7}, rng)

    wrong = dataclasses.replace(beta, prompt_chances=wider)
    result = hb.calibration.sbc_difficulty(
        "beta", 100, truth_shape=wrong, random_seed=22, progressbar=False
    )
    found = uniformity(result).groupby("variable")["p_adjusted"].min()
    assert found["sigma"] < 1e-3


def test_generations_seen_through_labelers_are_calibrated():
    design = hb.calibration.Design(n_history=120, n_current=120, generations_per_prompt=4)
    result = hb.calibration.sbc(
        "prompt_labels", 40, design=design, random_seed=23, jobs=2, progressbar=False
    )
    assert uniformity(result)["p_adjusted"].min() > 1e-3


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
        *rounds,
        model="hero",
        mode="laplace",
        posterior=posterior,
        draws=1000,
        random_seed=1,
        progressbar=False,
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
