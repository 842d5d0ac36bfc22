"""Coverage and error of item_rate when labelers err on the same items.

    python benchmarks/shared_errors.py [--repetitions 100] [--models hero correlated ...]

Nine judges label everything; 30 % of 150 history items carry gold, the 100 current ones none. Given
the truth, an item's labels share a normal effect with the loading of the scenario (and families of
three another one). Every model is fitted by NUTS (cut posterior) and compiled once: all scenarios
have tables of one make. Families are slow and get fewer repetitions.

Each finished fit is a line of the file --cells; a run that was stopped goes on from there. Writes
benchmarks/results/shared_errors.csv.
"""

import argparse
import time
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.special import expit

import hero_bayes as hb
from hero_bayes.inference.fit import refit
from hero_bayes.inference.program import make_program
from hero_bayes.models import correlated, hero, pooled

RESULTS = Path(__file__).parent / "results" / "shared_errors.csv"
CELLS = Path(__file__).parents[1] / ".cache" / "shared_errors_cells.csv"
N_HISTORY, N_CURRENT, N_GOLD = 150, 100, 45
HISTORY_RATE, RATE = 0.5, 0.3
SENSITIVITY_LOGIT = np.linspace(0.6, 1.8, 9)
SPECIFICITY_LOGIT = np.linspace(1.9, 0.9, 9)
FAMILIES = np.repeat(["x", "y", "z"], 3)
#: Loading and family loading.
SCENARIOS = {
    "loading 0": (0.0, 0.0),
    "loading 1": (1.0, 0.0),
    "loading 2": (2.0, 0.0),
    "loading 3": (3.0, 0.0),
    "families": (0.7, 2.0),
}
#: Factory and priors; "families" is the correlated model told who belongs to which family.
MODELS = {
    "hero": (hero, {}),
    "pooled": (pooled, {}),
    "correlated": (correlated, {}),
    "families": (correlated, {"loading_bound": 3.0}),
}
PROB = 0.9
#: Share of the repetitions that the model with families gets.
FAMILY_SHARE = 0.4
CHAINS = {"draws": 300, "tune": 300, "chains": 2, "cores": 2}


def one_round(rng, n_items, rate, loading, family_loading, n_gold):
    """Label table, item table and share of positive items of one round."""
    truth = (rng.random(n_items) < rate).astype(int)
    logit = np.where(truth[:, None] == 1, SENSITIVITY_LOGIT, -SPECIFICITY_LOGIT)
    logit = logit + loading * rng.standard_normal(n_items)[:, None]
    logit = logit + family_loading * np.repeat(rng.standard_normal((n_items, 3)), 3, axis=1)
    label = (rng.random(logit.shape) < expit(logit)).astype(int)
    item, labeler = np.indices(label.shape)
    table = {"item": item.ravel(), "labeler": labeler.ravel(), "label": label.ravel()}
    gold = np.where(np.arange(n_items) < n_gold, truth, np.nan)
    return pd.DataFrame(table), pd.DataFrame({"item": range(n_items), "gold": gold}), truth.mean()


def rounds(scenario, repetition, seed, known):
    """History and current round, and the true share; with families if they are known."""
    rng = np.random.default_rng([seed, repetition])
    about = pd.DataFrame({"labeler": range(9), "family": FAMILIES}) if known else None
    past = one_round(rng, N_HISTORY, HISTORY_RATE, *SCENARIOS[scenario], N_GOLD)
    now = one_round(rng, N_CURRENT, RATE, *SCENARIOS[scenario], 0)
    history, current = (hb.Labels.from_frames(*tables[:2], about) for tables in (past, now))
    return history, current, now[2]


@cache
def program(model):
    """The model, compiled at first use."""
    factory, priors = MODELS[model]
    history, current, _ = rounds("families", 0, 0, model == "families")
    return make_program(factory, history, current, priors=priors)


def one_fit(scenario, model, repetition, seed):
    """What one fit says of the share among the current items."""
    history, current, share = rounds(scenario, repetition, seed, model == "families")
    begin = time.perf_counter()
    tree = refit(program(model), history, current, random_seed=repetition, **CHAINS)
    seconds = time.perf_counter() - begin
    draws = tree["posterior"]["item_rate"].to_numpy().ravel()
    low, high = np.quantile(draws, [(1 - PROB) / 2, (1 + PROB) / 2])
    return {
        "error": draws.mean() - share,
        "covered": low <= share <= high,
        "below": (draws < share).mean() + (draws == share).mean() / 2,
        "width": high - low,
        "divergences": int(tree["sample_stats"]["diverging"].sum()),
        "seconds": seconds,
    }


def plan(repetitions, models):
    """Every (repetition, scenario, model), balanced wherever a run is stopped."""
    for repetition in range(repetitions):
        for scenario in SCENARIOS:
            for model in models:
                few = repetition >= round(FAMILY_SHARE * repetitions)
                if model == "families" and (scenario != "families" or few):
                    continue
                yield scenario, model, repetition


def summary(cells):
    """One row a scenario and model, in their order above."""
    order = {name: k for k, name in enumerate([*SCENARIOS, *MODELS])}
    cells = cells.sort_values(["scenario", "model", "repetition"], key=lambda c: c.replace(order))
    return cells.groupby(["scenario", "model"], sort=False).agg(
        repetitions=("error", "size"),
        bias=("error", "mean"),
        rmse=("error", lambda e: np.sqrt(np.mean(e**2))),
        coverage=("covered", "mean"),
        width=("width", "mean"),
        divergent_fits=("divergences", lambda n: (n > 0).mean()),
        seconds=("seconds", "median"),
    )


def main():
    """Run what is missing, and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=100)
    parser.add_argument("--models", nargs="*", choices=list(MODELS), default=list(MODELS))
    parser.add_argument("--random-seed", type=int, default=1)
    parser.add_argument("--cells", type=Path, default=CELLS)
    options = parser.parse_args()
    seed = options.random_seed
    keys = ["scenario", "model", "repetition", "random_seed"]
    options.cells.parent.mkdir(parents=True, exist_ok=True)
    done = pd.read_csv(options.cells) if options.cells.exists() else pd.DataFrame(columns=keys)
    known = set(done[keys].itertuples(index=False, name=None))
    for cell in plan(options.repetitions, options.models):
        if (*cell, seed) in known:
            continue
        row = dict(zip(keys, (*cell, seed), strict=True)) | one_fit(*cell, seed)
        first = not options.cells.exists()
        pd.DataFrame([row]).to_csv(options.cells, mode="a", header=first, index=False)
        print(*cell, f"{row['error']:+.3f} {row['seconds']:.1f} s", flush=True)
    cells = pd.read_csv(options.cells).query("random_seed == @seed")
    table = summary(cells)
    print(table.round(3).to_string())
    table.round(4).reset_index().to_csv(RESULTS, index=False)


if __name__ == "__main__":
    main()
