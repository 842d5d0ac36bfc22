"""Arms of one round labeled by different judges: rates of the arms and their difference.

    python benchmarks/judges_by_arm.py [--repetitions 200] [--models auto score]

Ten judges, five strict and five lenient, labeled all of history (400 items, 25 % with gold, rate
.4). Two arms of 150 items have the same rate, .30. Who labels them:

    halves          arm A the five strict judges, arm B the five lenient ones
    pools           five judges for each arm, at random
    pools by item   five judges for each item, at random
    all             all ten

Errors are independent, or judges share an effect of the item. Writes
benchmarks/results/judges_by_arm.csv: by law, design, model and target (a rate of an arm, B - A) the
bias, the RMSE, the mean posterior sd and coverage of 90 % intervals, and how often P(B - A < 0)
leaves .05 to .95.
"""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd
from auto_runs import choose, simulated_round

import hero_bayes as hb

RESULTS = Path(__file__).parent / "results" / "judges_by_arm.csv"
N_HISTORY, N_ARM, GOLD_SHARE = 400, 150, 0.25
HISTORY_RATE, RATE = 0.4, 0.3
LAWS = {"independent": 0.0, "shared": 1.5}
DESIGNS = ("halves", "pools", "pools by item", "all")
STRICT = np.arange(10) < 5
DRAWS, CHAINS = 250, 4


def simulated(law, design, rng):
    """History, current round, and the shares of positive items in both arms."""
    logit = np.where(STRICT, [[-3.0], [0.3]], [[-1.2], [2.2]]) + rng.normal(0.0, 0.3, (2, 10))
    tables, truths = [], []
    for arm, rate, n in (("", HISTORY_RATE, N_HISTORY), ("A", RATE, N_ARM), ("B", RATE, N_ARM)):
        truth = (rng.random(n) < rate).astype(int)
        weight, size = np.ones(10), 5
        if arm == "" or design == "all":
            size = 10
        elif design == "halves":
            weight = (STRICT == (arm == "A")).astype(float)
        elif design == "pools":
            weight = (rng.permutation(10) < 5).astype(float)
        who = choose(rng, n, size, weight)
        label = simulated_round(rng, truth, who, logit, LAWS[law])
        item = np.repeat([f"{arm}{i:03d}" for i in range(n)], size)
        tables.append(
            pd.DataFrame({"item": item, "labeler": who.ravel(), "label": label.ravel(), "arm": arm})
        )
        truths.append(truth)
    gold = np.where(rng.random(N_HISTORY) < GOLD_SHARE, truths[0], np.nan)
    facts = pd.DataFrame({"item": tables[0]["item"].unique(), "gold": gold})
    history = hb.Labels.from_frames(tables[0].drop(columns="arm"), facts)
    return history, hb.Labels.from_frames(pd.concat(tables[1:])), [t.mean() for t in truths[1:]]


def rows_of(law, design, model, repetition):
    """One row a target."""
    rng = np.random.default_rng([1, list(LAWS).index(law), DESIGNS.index(design), repetition])
    history, current, shares = simulated(law, design, rng)
    settings = {"random_seed": repetition, "draws": DRAWS, "chains": CHAINS}
    fit = hb.fit(history, current, model=model, **settings)
    posterior = fit["posterior"]
    rows = []
    for metric, truth in (("prevalence", [RATE, RATE]), ("item_rate", shares)):
        drawn = posterior[metric].to_numpy().reshape(-1, 2)
        targets = {"A": drawn[:, 0] - truth[0], "B": drawn[:, 1] - truth[1]}
        targets["B - A"] = targets["B"] - targets["A"]
        for target, error in targets.items():
            low, high = np.quantile(error, [0.05, 0.95])
            chance = float((error < 0).mean())
            rows.append(
                {
                    "law": law, "design": design, "model": model, "metric": metric,
                    "target": target, "error": error.mean(), "sd": error.std(),
                    "covered": bool(low <= 0 <= high),
                    "sure": not 0.05 <= chance <= 0.95,
                }
            )  # fmt: skip
    return rows


def summary(rows):
    """Bias, RMSE, mean sd, coverage by design, model and target."""
    by = ["law", "design", "model", "metric", "target"]
    return (
        pd.DataFrame(rows)
        .groupby(by, sort=False)
        .agg(
            repetitions=("error", "size"),
            bias=("error", "mean"),
            rmse=("error", lambda e: np.sqrt(np.mean(e**2))),
            sd=("sd", "mean"),
            coverage=("covered", "mean"),
            sure=("sure", "mean"),
        )
        .round(4)
        .reset_index()
    )


def main():
    """Run and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=200)
    parser.add_argument("--laws", nargs="+", default=list(LAWS))
    parser.add_argument("--designs", nargs="+", default=list(DESIGNS))
    parser.add_argument("--models", nargs="+", default=["auto", "score"])
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args()
    rows = [
        row
        for law in options.laws
        for design in options.designs
        for model in options.models
        for repetition in range(options.repetitions)
        for row in rows_of(law, design, model, repetition)
    ]
    summary(rows).to_csv(options.out, index=False)
    print(summary(rows).to_string())


if __name__ == "__main__":
    main()
