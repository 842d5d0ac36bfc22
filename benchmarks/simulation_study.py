"""Coverage and gains of the estimators on simulated rounds, written as tables.

    python benchmarks/simulation_study.py [--only coverage covariate noise] [--output
    benchmarks/results]

``coverage``: 95 % intervals for E[y], with and without the term for labeler parameters.
``covariate``: standard deviation of HERO-2 against HERO-1 as the covariate grows stronger.
``noise``: what twenty pure-noise covariates cost HERO-2, on paired repetitions.
"""

import argparse
import pathlib
from dataclasses import replace

import numpy as np
import pandas as pd
from joblib import Parallel, delayed

import hero_bayes as hb
from hero_bayes.simulation.scenario import Scenario
from hero_bayes.simulation.simulate import simulate_scenario

#: Five fairly good labels an item, a covariate of middling strength.
PAPER_SIZE = Scenario(
    labels_per_item=5,
    prevalence=0.24,
    history_prevalence=0.30,
    sensitivity=0.75,
    specificity=0.85,
    covariate_strength=1.0,
)
SEED = 20260629


def one(scenario, repetition, runs):
    """Numbers of every run (name -> arguments of hb.estimate) on one repetition."""
    rounds = simulate_scenario(scenario, [SEED, repetition])
    rows = []
    for name, arguments in runs.items():
        result = hb.estimate(rounds.history, rounds.current, **arguments)
        low, high = result.interval(0.95)
        half = 1.96 * np.sqrt(result.details["variance_sampling"])
        rows.append(
            {
                "run": name,
                "repetition": repetition,
                "value": result.value,
                "standard_error": result.standard_error,
                "covered": low <= scenario.prevalence <= high,
                "covered_without_labeler_term": abs(result.value - scenario.prevalence) <= half,
                "width": high - low,
                "inside": low >= 0.0 and high <= 1.0,
            }
        )
    return rows


def repeat(scenario, repetitions, runs):
    """All repetitions of one scenario."""
    parts = Parallel(n_jobs=2)(delayed(one)(scenario, r, runs) for r in range(repetitions))
    return pd.DataFrame([row for part in parts for row in part])


def summary(draws, scenario):
    """Bias, spread and coverage by run, with the Monte-Carlo error of the coverage."""
    rows = []
    for run, part in draws.groupby("run", sort=False):
        error = part["value"] - scenario.prevalence
        covered = part["covered"].mean()
        rows.append(
            {
                "run": run,
                "repetitions": len(part),
                "bias": error.mean(),
                "sd": part["value"].std(ddof=0),
                "rmse": np.sqrt((error**2).mean()),
                "mean_standard_error": part["standard_error"].mean(),
                "coverage_95": covered,
                "coverage_mc_error": np.sqrt(covered * (1 - covered) / len(part)),
                "coverage_without_labeler_term": part["covered_without_labeler_term"].mean(),
                "mean_width": part["width"].mean(),
                "all_inside_0_1": bool(part["inside"].all()),
            }
        )
    return pd.DataFrame(rows)


HERO = {"hero1": {"method": "hero1"}, "hero2": {"method": "hero2", "covariates": ["x"]}}


def coverage():
    """Coverage at the paper's size, where history is short, and at small rates."""
    scenarios = {
        "N=800, n=300, rate 0.24": PAPER_SIZE,
        "N=400, n=4000, rate 0.24": replace(PAPER_SIZE, n_history=400, n_current=4000),
        "N=800, n=300, rate 0.01, history 0.30": replace(PAPER_SIZE, prevalence=0.01),
        "N=800, n=300, rate 0.01, history 0.05": replace(
            PAPER_SIZE, prevalence=0.01, history_prevalence=0.05
        ),
    }
    tables = []
    for name, scenario in scenarios.items():
        table = summary(repeat(scenario, 200, HERO), scenario)
        table.insert(0, "scenario", name)
        tables.append(table)
    return pd.concat(tables, ignore_index=True)


def covariate():
    """HERO-2 against HERO-1 by covariate strength; items saved at equal variance."""
    rows = []
    for strength in (0.0, 0.5, 1.0, 2.0, 4.0):
        scenario = replace(PAPER_SIZE, covariate_strength=strength)
        runs = {
            **HERO,
            "hero2_optimal": {"method": "hero2", "covariates": ["x"], "shrink": "optimal"},
        }
        values = repeat(scenario, 400, runs).pivot(
            index="repetition", columns="run", values="value"
        )
        sd = values.std(ddof=0)
        for run in ("hero2", "hero2_optimal"):
            removed = 1 - (sd[run] / sd["hero1"]) ** 2
            rows.append(
                {
                    "strength": strength,
                    "shrink": "paper" if run == "hero2" else "optimal",
                    "repetitions": len(values),
                    "sd_hero1": sd["hero1"],
                    "sd_hero2": sd[run],
                    "mc_error_of_sd": sd[run] / np.sqrt(2 * len(values)),
                    "variance_removed_percent": 100 * removed,
                    "items_saved_of_300": 300 * removed,
                }
            )
    return pd.DataFrame(rows)


def noise():
    """RMSE with twenty covariates that know nothing, against none."""
    scenario = replace(PAPER_SIZE, n_noise_covariates=20)
    names = [f"noise{k}" for k in range(scenario.n_noise_covariates)]
    runs = {
        "hero1": {"method": "hero1"},
        "hero2, 20 noise covariates, ridge cv": {"method": "hero2", "covariates": names},
    }
    table = summary(repeat(scenario, 1000, runs), scenario)
    table["rmse_ratio"] = table["rmse"] / table["rmse"].iloc[0]
    return table


STUDIES = {"coverage": coverage, "covariate": covariate, "noise": noise}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="*", choices=STUDIES, default=list(STUDIES))
    parser.add_argument("--output", type=pathlib.Path, default=pathlib.Path("benchmarks/results"))
    arguments = parser.parse_args()
    arguments.output.mkdir(parents=True, exist_ok=True)
    for name in arguments.only:
        table = STUDIES[name]()
        table.to_csv(arguments.output / f"{name}.csv", index=False, float_format="%.5g")
        print(f"{name}\n{table.to_string(index=False)}\n", flush=True)


if __name__ == "__main__":
    main()
