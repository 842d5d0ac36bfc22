"""Calibration of prompt difficulty: both laws, and generations seen through labelers.

    python benchmarks/calibrate_difficulty.py [--simulations 200] [--jobs 2]

Writes benchmarks/results/calibration: difficulty_uniformity.csv, difficulty_coverage.csv and
difficulty_times.csv.
"""

import argparse
import dataclasses
import time
from pathlib import Path

import numpy as np
import pandas as pd

import hero_bayes as hb
from hero_bayes.calibration import (
    Design,
    coverage,
    coverage_table,
    sbc,
    sbc_difficulty,
    uniformity,
)
from hero_bayes.difficulty.shapes import SHAPES

RESULTS = Path(__file__).parent / "results" / "calibration"
#: Thirty prompts of four generations in either round.
DESIGN = Design(n_history=120, n_current=120, generations_per_prompt=4)
#: Prompts and generations of the largest benchmark of the published table, and its shape.
LARGEST, GENERATIONS, SHAPE = 12_187, 50, (0.16, 0.19)
#: The wrong law's power of icc.
POWER = 0.7
#: A typical pool of judges, for the frequentist coverage.
TYPICAL = {
    "prevalence": 0.3,
    "history_prevalence": 0.4,
    "icc": 0.5,
    "history_icc": 0.5,
    "sensitivity": [0.75, 0.8, 0.7, 0.85, 0.65],
    "specificity": [0.9, 0.85, 0.95, 0.8, 0.9],
}


def wider(counts, row, draw, rng):
    """Prompts that differ more than the model's icc says: a deliberately wrong law."""
    return SHAPES["beta"].prompt_chances(counts, row, {**draw, "icc": draw["icc"] ** POWER}, rng)


def ranks(simulations, jobs, seed):
    """SBC of every layer, and of a wrong law as a check of the check."""
    rows = []
    wrong = dataclasses.replace(SHAPES["beta"], prompt_chances=wider)
    for shape, truth in (("beta", None), ("logit_normal", None), ("beta", wrong)):
        result = sbc_difficulty(shape, simulations, truth_shape=truth, random_seed=seed)
        name = f"difficulty, {shape}" + (f", truth with icc to the power {POWER}" if truth else "")
        divergent = int((result["diagnostics"]["divergences"] > 0).sum())
        rows.append(uniformity(result).assign(model=name, refits_with_divergences=divergent))
        print(rows[-1].nsmallest(3, "p_value").to_string(), flush=True)
    result = sbc("prompt_labels", simulations, design=DESIGN, random_seed=seed, jobs=jobs)
    divergent = int((result["diagnostics"]["divergences"] > 0).sum())
    rows.append(uniformity(result).assign(model="prompt_labels", refits_with_divergences=divergent))
    print(rows[-1].nsmallest(3, "p_value").to_string(), flush=True)
    return pd.concat(rows)


def intervals(simulations, jobs, seed):
    """Coverage of cut and joint posteriors of prompt_labels."""
    rows = []
    for truth in (None, TYPICAL):
        for posterior in ("cut", "joint"):
            result = coverage(
                "prompt_labels",
                posterior,
                simulations,
                truth=truth,
                quantities=("prevalence", "icc", "item_rate"),
                design=DESIGN,
                random_seed=seed,
                jobs=jobs,
            )
            drawn = "drawn from the prior" if truth is None else "fixed"
            rows.append(coverage_table(result).assign(study=f"{posterior}, truth {drawn}"))
            print(rows[-1].to_string(), flush=True)
    return pd.concat(rows)


def times(seed):
    """Wall time of moments and of NUTS on the largest benchmark, compilation included."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "prompt": np.arange(LARGEST),
            "n_correct": rng.binomial(GENERATIONS, rng.beta(*SHAPE, LARGEST)),
            "k": GENERATIONS,
        }
    )
    data = hb.difficulty.Generations.from_frame(table)
    rows = []
    for name, work in (
        ("moments", lambda: hb.difficulty.moments(data)),
        ("fit, beta, NUTS", lambda: hb.difficulty.fit(data, random_seed=seed, progressbar=False)),
        (
            "fit, logit_normal, NUTS",
            lambda: hb.difficulty.fit(
                data, shape="logit_normal", random_seed=seed, progressbar=False
            ),
        ),
    ):
        begin = time.perf_counter()
        work()
        rows.append({"work": name, "seconds": time.perf_counter() - begin})
        print(rows[-1], flush=True)
    return pd.DataFrame(rows).assign(prompts=LARGEST, k=GENERATIONS)


def write(table, name):
    table.to_csv(RESULTS / name, index=False, float_format="%.6g")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--simulations", type=int, default=200)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--random-seed", type=int, default=20261129)
    options = parser.parse_args()
    RESULTS.mkdir(parents=True, exist_ok=True)
    write(times(options.random_seed), "difficulty_times.csv")
    study = options.simulations, options.jobs, options.random_seed
    write(ranks(*study), "difficulty_uniformity.csv")
    write(intervals(*study), "difficulty_coverage.csv")


if __name__ == "__main__":
    main()
