"""Coverage and error of item_rate when labelers err on the same items.

    python benchmarks/shared_errors.py [--repetitions 100]

Nine judges label everything; 30 % of 150 history items carry gold, the 100 current ones none. Given
the truth, an item's labels share a normal effect with the loading of the scenario (and families of
three another one). Every model is fitted by NUTS (cut posterior), compiled once a scenario: Laplace
is as fast, but its k-hat is above the limit for pooled and correlated. Families are slow and get
fewer repetitions. Writes benchmarks/results/shared_errors.csv.
"""

import argparse
import time
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.special import expit

import hero_bayes as hb
from hero_bayes.inference.fit import refit
from hero_bayes.inference.program import make_program
from hero_bayes.models import MODELS

RESULTS = Path(__file__).parent / "results" / "shared_errors.csv"
N_HISTORY, N_CURRENT, N_GOLD = 150, 100, 45
HISTORY_RATE, RATE = 0.5, 0.3
SENSITIVITY_LOGIT = np.linspace(0.6, 1.8, 9)
SPECIFICITY_LOGIT = np.linspace(1.9, 0.9, 9)
FAMILIES = np.repeat(["x", "y", "z"], 3)
#: Loading, family loading, and the models with their priors.
SINGLE = {"hero": {}, "pooled": {}, "correlated": {}}
SCENARIOS = {
    "loading 0": (0.0, 0.0, SINGLE),
    "loading 1": (1.0, 0.0, SINGLE),
    "loading 2": (2.0, 0.0, SINGLE),
    "loading 3": (3.0, 0.0, SINGLE),
    "families": (
        0.7,
        2.0,
        {**SINGLE, "correlated": {"family": False}, "families": {"loading_bound": 3.0}},
    ),
}
PROB = 0.9
#: Share of the repetitions that the scenario with families gets.
FAMILY_SHARE = 0.4


def one_round(rng, n_items, rate, loading, family_loading, n_gold, known):
    """Labels of one round, and its share of positive items."""
    truth = (rng.random(n_items) < rate).astype(int)
    logit = np.where(truth[:, None] == 1, SENSITIVITY_LOGIT, -SPECIFICITY_LOGIT)
    logit = logit + loading * rng.standard_normal(n_items)[:, None]
    logit = logit + family_loading * np.repeat(rng.standard_normal((n_items, 3)), 3, axis=1)
    label = (rng.random(logit.shape) < expit(logit)).astype(int)
    item, labeler = np.indices(label.shape)
    table = {"item": item.ravel(), "labeler": labeler.ravel(), "label": label.ravel()}
    gold = np.where(np.arange(n_items) < n_gold, truth, np.nan)
    facts = pd.DataFrame({"item": range(n_items), "gold": gold})
    about = pd.DataFrame({"labeler": range(9), "family": FAMILIES}) if known else None
    return hb.Labels.from_frames(pd.DataFrame(table), facts, about), truth.mean()


def scenario(name, repetitions, seed):
    """One row a repetition and model."""
    loading, family_loading, models = SCENARIOS[name]
    programs, rows = {}, []
    for repetition in range(repetitions):
        rng = np.random.default_rng([seed, repetition])
        strength = (loading, family_loading)
        known = family_loading > 0
        history, _ = one_round(rng, N_HISTORY, HISTORY_RATE, *strength, N_GOLD, known)
        current, share = one_round(rng, N_CURRENT, RATE, *strength, 0, known)
        for model, priors in models.items():
            factory = MODELS["correlated" if model == "families" else model]
            if model not in programs:
                programs[model] = make_program(factory, history, current, priors=priors)
            begin = time.perf_counter()
            tree = refit(
                programs[model],
                history,
                current,
                random_seed=repetition,
                draws=300,
                tune=300,
                chains=2,
                cores=2,
            )
            draws = tree["posterior"]["item_rate"].to_numpy().ravel()
            low, high = np.quantile(draws, [(1 - PROB) / 2, (1 + PROB) / 2])
            rows.append(
                {
                    "scenario": name,
                    "model": model,
                    "error": draws.mean() - share,
                    "covered": low <= share <= high,
                    "width": high - low,
                    "divergences": int(tree["sample_stats"]["diverging"].sum()),
                    "seconds": time.perf_counter() - begin,
                }
            )
    return rows


def main():
    """Run and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=100)
    parser.add_argument("--random-seed", type=int, default=1)
    options = parser.parse_args()
    rows = []
    for name in SCENARIOS:
        share = FAMILY_SHARE if name == "families" else 1.0
        rows += scenario(name, round(share * options.repetitions), options.random_seed)
        table = pd.DataFrame(rows)
        groups = table.groupby(["scenario", "model"], sort=False)
        summary = groups.agg(
            repetitions=("error", "size"),
            bias=("error", "mean"),
            rmse=("error", lambda e: np.sqrt(np.mean(e**2))),
            coverage=("covered", "mean"),
            width=("width", "mean"),
            divergent_fits=("divergences", lambda n: (n > 0).mean()),
            seconds=("seconds", "median"),
        )
        print(
            summary.loc[[name]].round(3).to_string(header=name == next(iter(SCENARIOS))), flush=True
        )
    summary.round(4).reset_index().to_csv(RESULTS, index=False)


if __name__ == "__main__":
    main()
