"""Bias of the estimators when gold was not chosen at random.

    python benchmarks/gold_selection.py [--repetitions 40]

Rounds of the published size (800 past items, 300 current ones, ten labelers, three labels an item,
rate 0.31, log odds of the truth rising by 1.5 a standard deviation of a covariate). A fifth of the
past items gets gold: at random, more readily where a label is positive, more readily at large
values of the covariate, or more readily where the truth is 1 (odds ratio 4 each; the covariate's a
standard deviation). Likelihood methods: HERO-1, HERO-1 told the odds ratio (4 by the truth), and
the regression on the covariate (mode); then gold rates and the anchored tilt.

Writes benchmarks/results/gold_selection.csv: bias against the rate, its standard error, root mean
squared error, and how often the 90 % interval holds the rate, one row a choice and method; after
every repetition, so that a run that is stopped leaves what it has.
"""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.special import expit

import hero_bayes as hb
from hero_bayes.inference.fit import refit
from hero_bayes.inference.program import make_program
from hero_bayes.models import hero_regression
from hero_bayes.sensitivity.gold_selection import gold_selection_sensitivity

RESULTS = Path(__file__).parent / "results" / "gold_selection.csv"
CHOICES = ("random", "labels", "covariate", "truth")
SHARE = 0.2
ODDS_RATIO = 4.0
PROB = 0.9
RATE = 0.31


def chosen(choice, simulation, rng):
    """Mask of the past items that get gold."""
    history = simulation.history
    drive = {
        "random": np.zeros(history.n_items),
        "labels": (history.vote_share > 0).astype(float),
        "covariate": history.covariates["x"],
        "truth": simulation.truth_history.astype(float),
    }[choice]
    low, high = -20.0, 20.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        share = expit(middle + np.log(ODDS_RATIO) * drive).mean()
        low, high = (middle, high) if share < SHARE else (low, middle)
    return rng.random(history.n_items) < expit(middle + np.log(ODDS_RATIO) * drive)


def answers(history, current, program, seed):
    """Value and interval of every method."""
    found = {}
    for method in ("hero1", "gold_rates", "score"):
        result = hb.estimate(history, current, method=method, random_seed=seed)
        found[method] = (result.value, *result.interval(PROB))
    swept = gold_selection_sensitivity(history, current, [ODDS_RATIO], prob=PROB, score=False)
    row = swept.loc[ODDS_RATIO]
    found["hero1, odds ratio 4"] = (row["estimate"], row["lower"], row["upper"])
    mode = refit(program, history, current, mode="map", random_seed=seed)
    found["regression"] = (float(mode["posterior"]["prevalence"].item()), np.nan, np.nan)
    return found


def summarise(rows):
    """One row a choice and method."""
    table = pd.DataFrame(rows, columns=["gold_chosen_by", "method", "error", "held"])
    groups = table.groupby(["gold_chosen_by", "method"], sort=False)
    return groups.agg(
        repetitions=("error", "size"),
        bias=("error", "mean"),
        standard_error=("error", lambda e: e.std(ddof=1) / np.sqrt(len(e))),
        rmse=("error", lambda e: np.sqrt(np.mean(e**2))),
        coverage=("held", "mean"),
    ).reset_index()


def main():
    """Run and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=40)
    parser.add_argument("--random-seed", type=int, default=1)
    options = parser.parse_args()
    rows, program = [], None
    for repetition in range(options.repetitions):
        seed = [options.random_seed, repetition]
        simulation = hb.simulate(
            gold_rate=1.0, prevalence=RATE, covariate_strength=1.5, random_seed=seed
        )
        for choice in CHOICES:
            rng = np.random.default_rng([*seed, CHOICES.index(choice)])
            gold = np.where(chosen(choice, simulation, rng), simulation.truth_history, np.nan)
            history, current = simulation.history.with_gold(gold), simulation.current
            if program is None:
                program = make_program(hero_regression, history, current)
            for method, (value, low, high) in answers(
                history, current, program, repetition
            ).items():
                held = np.nan if np.isnan(low) else float(low <= RATE <= high)
                rows.append((choice, method, value - RATE, held))
        summary = summarise(rows)
        summary.round(4).to_csv(RESULTS, index=False)
        print(f"{repetition + 1} of {options.repetitions}", end="\r", flush=True)
    print(summary.round(3).to_string(index=False))


if __name__ == "__main__":
    main()
