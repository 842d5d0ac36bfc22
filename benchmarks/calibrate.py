"""Calibration of the posteriors, a wrong likelihood as a check of the check, and refit times.

    python benchmarks/calibrate.py [--simulations 200] [--jobs 2]

Writes benchmarks/results/calibration: uniformity.csv, rank_histograms.csv, coverage.csv,
studies.csv, refit_time.csv and ranks.png.
"""

import argparse
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pymc as pm

import hero_bayes as hb
from hero_bayes.calibration import Design, coverage, coverage_table, plot_ranks, sbc, uniformity
from hero_bayes.calibration.design import tables
from hero_bayes.calibration.ranks import prior_simulations
from hero_bayes.inference.fit import refit
from hero_bayes.inference.program import make_program
from hero_bayes.models import MODELS, hero

RESULTS = Path(__file__).parent / "results" / "calibration"
MODELS_RANKED = ("hero", "pooled", "drift", "regression")
COVERED = ("hero", "pooled")
#: A labeler pool as one meets it: fixed truth for the frequentist coverage.
TYPICAL = {
    "prevalence": 0.3,
    "history_prevalence": 0.4,
    "sensitivity": [0.75, 0.8, 0.7, 0.85, 0.65],
    "specificity": [0.9, 0.85, 0.95, 0.8, 0.9],
}
DESIGN = Design()
#: The wrong likelihood's power, and refits enough to see what it does to single intervals.
POWER = 0.8
WRONG_REFITS = 800
RATES = ("prevalence", "history_prevalence", "sensitivity", "specificity")


def tempered(history, current):
    """Hero with its log-likelihood multiplied by POWER: a deliberately wrong model."""
    model = hero(history, current)
    with model:
        total = sum(potential.sum() for potential in model.potentials)
        pm.Potential("tempering", (POWER - 1.0) * total)
    return model


def study_row(title, result, seconds):
    """What happened in one study."""
    found = result["diagnostics"].to_dataset()
    return {
        "study": title,
        "refits": result.attrs["n_simulations"],
        "redrawn_without_gold_of_both_classes": result.attrs["redrawn"],
        "refits_with_divergences": int((found["divergences"] > 0).sum()),
        "divergences": int(found["divergences"].sum()),
        "refits_with_flipped_chains": int((found["flipped_chains"] > 0).sum()),
        "median_refit_seconds": float(found["seconds"].median()),
        "wall_seconds": seconds,
        "random_seed": result.attrs["random_seed"],
    }


def timed(function, *arguments, **options):
    begin = time.perf_counter()
    result = function(*arguments, **options)
    return result, time.perf_counter() - begin


def rank_studies(simulations, jobs, seed):
    """SBC of every model, and of the wrong likelihood."""
    rows, tests, trees = [], [], {}
    for model in (*MODELS_RANKED, tempered):
        name = model if isinstance(model, str) else f"hero, likelihood to the power {POWER}"
        truth = None if isinstance(model, str) else "hero"
        result, seconds = timed(
            sbc, model, simulations, truth_model=truth, random_seed=seed, jobs=jobs
        )
        rows.append(study_row(f"sbc {name}", result, seconds))
        trees[name] = result
        tests.append(uniformity(result).assign(model=name))
        print(tests[-1].nsmallest(3, "p_value").to_string(), flush=True)
    return rows, pd.concat(tests), trees


def coverage_studies(simulations, jobs, seed):
    """Coverage of cut and joint, at drawn and at fixed truth, and of the wrong likelihood."""
    rows, covered = [], []
    plan = [
        (model, posterior, truth)
        for truth in (None, TYPICAL)
        for model in COVERED
        for posterior in ("cut", "joint")
    ]
    for model, posterior, truth in plan:
        title = (
            f"{model}, {posterior}, truth {'drawn from the prior' if truth is None else 'fixed'}"
        )
        result, seconds = timed(
            coverage, model, posterior, simulations, truth=truth, random_seed=seed, jobs=jobs
        )
        rows.append(study_row(f"coverage {title}", result, seconds))
        covered.append(coverage_table(result).assign(study=title))
        print(covered[-1].query("not inside").to_string(), flush=True)
    title = f"hero, joint, likelihood to the power {POWER}"
    result, seconds = timed(
        coverage,
        tempered,
        "joint",
        WRONG_REFITS,
        truth_model="hero",
        quantities=RATES,
        random_seed=seed,
        jobs=jobs,
    )
    rows.append(study_row(f"coverage {title}", result, seconds))
    covered.append(coverage_table(result).assign(study=title))
    print(covered[-1].query("not inside").to_string(), flush=True)
    return rows, pd.concat(covered)


def refit_times(seed, repeats=7):
    """Median wall time of hb.fit and of refit, same process, same tables, same chains."""
    rows = []
    for posterior in ("cut", "joint"):
        for label, length in (
            ("2 chains of 300 + 250, as in the studies", {"draws": 250, "tune": 300, "chains": 2}),
            ("4 chains of 1000 + 1000, the default", {}),
        ):
            base = tables(DESIGN)
            graph = hero(*base)
            rounds, _ = prior_simulations(graph, base, repeats + 1, seed)
            options = {"random_seed": seed, "cores": 1, **length}
            cold = [
                timed(
                    hb.fit, r.history, r.current, posterior=posterior, progressbar=False, **options
                )[1]
                for r in rounds[:3]
            ]
            program = make_program(MODELS["hero"], *base, posterior=posterior)
            warm = [timed(refit, program, r.history, r.current, **options)[1] for r in rounds]
            rows.append(
                {
                    "posterior": posterior,
                    "chains": label,
                    "fit_seconds": float(np.median(cold)),
                    "refit_seconds": float(np.median(warm[1:])),
                    "ratio": float(np.median(warm[1:]) / np.median(cold)),
                }
            )
            print(rows[-1], flush=True)
    return pd.DataFrame(rows)


def write(table, name):
    table.to_csv(RESULTS / name, index=False, float_format="%.6g")


def rank_histograms(trees):
    """How many of the ranks 0..L fall into each tenth."""
    rows = []
    for name, tree in trees.items():
        cells = tree.attrs["kept_draws"] + 1
        for variable, values in tree["rank"].to_dataset().data_vars.items():
            flat = values.transpose("simulation", ...).to_numpy().reshape(values.shape[0], -1)
            for element, ranks in enumerate(flat.T):
                counts = np.bincount(10 * ranks // cells, minlength=10)
                tenths = {f"tenth_{k + 1}": int(count) for k, count in enumerate(counts)}
                rows.append({"model": name, "variable": variable, "element": element, **tenths})
    return pd.DataFrame(rows)


def plot(tree, path):
    """Rank plot of every scalar of one model."""
    size = {"figsize": (12, 11), "layout": "constrained"}
    figure = plot_ranks(tree, backend="matplotlib", figure_kwargs=size)
    figure.savefig(path, dpi=60)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--simulations", type=int, default=200)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--random-seed", type=int, default=20261129)
    options = parser.parse_args()
    RESULTS.mkdir(parents=True, exist_ok=True)
    times = refit_times(options.random_seed)
    write(times, "refit_time.csv")
    rows, tests, trees = rank_studies(options.simulations, options.jobs, options.random_seed)
    write(tests, "uniformity.csv")
    write(rank_histograms(trees), "rank_histograms.csv")
    write(pd.DataFrame(rows), "studies.csv")
    plot(trees["hero"], RESULTS / "ranks.png")
    more, covered = coverage_studies(options.simulations, options.jobs, options.random_seed)
    write(covered, "coverage.csv")
    write(pd.DataFrame(rows + more), "studies.csv")


if __name__ == "__main__":
    main()
