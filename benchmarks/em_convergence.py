"""How fast do the labelers' rates converge? The anchored EM against the size of the history.

    python benchmarks/em_convergence.py [--output benchmarks/results]

Root mean squared error of sensitivity and specificity over labelers and repetitions, by N, with the
slope of log RMSE on log N. Theory says -1/2. Writes ``em_convergence.csv``, ``em_slopes.csv`` and
``em_convergence.png``.
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

HERE = pathlib.Path(__file__).parent
SEED = 20260629
REPETITIONS = 100
SIZES = (200, 400, 800, 1600, 3200, 6400, 12800)
BASE = Scenario(n_current=30, gold_rate=0.1, heterogeneity=12.0)
RATES = ("sensitivity", "specificity")


def squared_errors(n_history, repetition):
    """Mean squared error over labelers, for each rate and each estimator."""
    scenario = replace(BASE, n_history=n_history)
    rounds = simulate_scenario(scenario, [SEED, n_history, repetition])
    row = {"n_history": n_history, "repetition": repetition}
    for method in ("gold_rates", "hero1"):
        details = hb.estimate(rounds.history, rounds.current, method=method).details
        for name in RATES:
            error = details[name] - getattr(rounds, name)
            row[f"{name}_{method}"] = float((error**2).mean())
    return row


def convergence(squares):
    """RMSE and its Monte-Carlo error by N, rate and estimator."""
    rows = []
    for n_history, part in squares.groupby("n_history"):
        for column in squares.columns.drop(["n_history", "repetition"]):
            rate, method = column.split("_", 1)
            mean = part[column].mean()
            rows.append(
                {
                    "n_history": n_history,
                    "rate": rate,
                    "estimator": method,
                    "repetitions": len(part),
                    "rmse": np.sqrt(mean),
                    "rmse_mc_error": part[column].std() / np.sqrt(len(part)) / (2 * np.sqrt(mean)),
                }
            )
    return pd.DataFrame(rows)


def slopes(table):
    """Weighted least squares of log RMSE on log N; its error from the Monte-Carlo errors."""
    rows = []
    for (rate, method), part in table.groupby(["rate", "estimator"]):
        for least in (min(SIZES), 800):
            kept = part[part["n_history"] >= least]
            x, y = np.log(kept["n_history"]), np.log(kept["rmse"])
            weight = (kept["rmse"] / kept["rmse_mc_error"]) ** 2
            centred = x - np.average(x, weights=weight)
            information = (weight * centred**2).sum()
            rows.append(
                {
                    "rate": rate,
                    "estimator": method,
                    "n_from": least,
                    "slope": (weight * centred * y).sum() / information,
                    "slope_mc_error": 1 / np.sqrt(information),
                }
            )
    return pd.DataFrame(rows)


def plot(table, path):
    """RMSE against N on logarithmic axes, with a line of slope -1/2."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(8, 3.4), sharey=True, layout="constrained")
    labels = {"hero1": "anchored EM", "gold_rates": "gold alone"}
    for axis, rate in zip(axes, RATES, strict=True):
        for method, style in (("hero1", "o-"), ("gold_rates", "s--")):
            part = table[(table["rate"] == rate) & (table["estimator"] == method)]
            axis.errorbar(
                part["n_history"],
                part["rmse"],
                2 * part["rmse_mc_error"],
                fmt=style,
                ms=4,
                label=labels[method],
            )
        anchor = table[(table["rate"] == rate) & (table["estimator"] == "hero1")].iloc[-1]
        sizes = np.array(SIZES, dtype=float)
        axis.plot(
            sizes,
            anchor["rmse"] * (sizes / anchor["n_history"]) ** -0.5,
            color="0.6",
            lw=1,
            label="slope -1/2",
            zorder=0,
        )
        axis.set(xscale="log", yscale="log", xlabel="history items N", title=rate)
        axis.grid(alpha=0.3, which="both")
    axes[0].set_ylabel("RMSE over labelers")
    axes[0].legend(frameon=False)
    figure.savefig(path, dpi=110, metadata={"Software": None})


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=pathlib.Path, default=HERE / "results")
    folder = parser.parse_args().output
    folder.mkdir(parents=True, exist_ok=True)
    tasks = [(size, repetition) for size in SIZES for repetition in range(REPETITIONS)]
    squares = pd.DataFrame(Parallel(n_jobs=2)(delayed(squared_errors)(*task) for task in tasks))
    table = convergence(squares)
    table.to_csv(folder / "em_convergence.csv", index=False, float_format="%.5g")
    found = slopes(table)
    found.to_csv(folder / "em_slopes.csv", index=False, float_format="%.4g")
    plot(table, folder / "em_convergence.png")
    print(f"{table.to_string(index=False)}\n\n{found.to_string(index=False)}")


if __name__ == "__main__":
    main()
