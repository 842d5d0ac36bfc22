"""Does the review list find wrong keys, and do its probabilities hold? Keys swapped on purpose.

    python benchmarks/review_list.py [--data cruxeval_output_t08.csv] [--seeds 20]

CRUXEval's keys come from running code, so they are right. For 5 % of the prompts the key is
replaced by another answer that the models gave at least twice: the most frequent one ("modal"), or
any of them ("any"). Without --data the bundled subset (three models) is used.

Rows of results/review_list.csv: per group of models and kind of swap, one row a bin of P(key wrong)
with mean probability and observed share of swapped prompts over all seeds (and the 99 % binomial
range around the mean; prompts recur between seeds, so it is somewhat too narrow), and one row "all"
with the AUC. Kind "none": the list on the right keys, 0 wrong ones.
"""

import argparse
import pathlib
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from scipy.stats import binom, rankdata

import hero_bayes as hb
from hero_bayes.data.generations import Generations
from hero_bayes.difficulty.answers import clusters
from hero_bayes.difficulty.review import review_list

RESULTS = pathlib.Path(__file__).parent / "results" / "review_list.csv"
RATE = 0.05
BINS = (0.0, 0.05, 0.2, 0.5, 0.8, 1.0)
GROUPS = {
    "six models": None,
    "gpt-4-0613+cot": ["gpt-4-0613+cot"],
    "three models": ["gpt-4-0613+cot", "gpt-3.5-turbo-0613", "codellama-34b"],
}


def swap_keys(generations, codes, kind, seed, rate=RATE):
    """Generations scored by swapped keys, and which prompts were swapped."""
    rng = np.random.default_rng(seed)
    prompt = generations.prompt_idx[generations.cell_idx]
    answers = pd.DataFrame({"prompt": prompt, "code": codes, "correct": generations.correct})
    counted = answers[codes >= 0].groupby(["prompt", "code"])["correct"].agg(["size", "max"])
    able = counted[(counted["size"] >= 2) & (counted["max"] == 0)].reset_index()
    n_swapped = round(rate * generations.n_prompts)
    chosen = rng.choice(able["prompt"].unique(), n_swapped, replace=False)
    correct = generations.correct.copy()
    for one in chosen:
        others = able[able["prompt"] == one]
        row = others["size"].argmax() if kind == "modal" else rng.integers(len(others))
        correct[prompt == one] = codes[prompt == one] == others["code"].iloc[row]
    n_correct = np.bincount(generations.cell_idx, correct, minlength=len(generations.k))
    swapped = np.isin(np.arange(generations.n_prompts), chosen)
    scored = replace(generations, correct=correct, n_correct=n_correct.astype(np.int64))
    return scored, swapped


def area(score, truth):
    """Area under the ROC curve."""
    ranks, n = rankdata(score), truth.sum()
    return (ranks[truth].sum() - n * (n + 1) / 2) / (n * (~truth).sum())


def one(generations, codes, kind, seed):
    """P(key wrong) in the order of the prompts, which were swapped, and the stated error rate."""
    swapped = np.zeros(generations.n_prompts, dtype=bool)
    if kind != "none":
        generations, swapped = swap_keys(generations, codes, kind, seed)
    found = review_list(generations)
    chance = found.table.set_index("prompt")["p_key_wrong"].loc[list(generations.prompts)]
    return chance.to_numpy(), swapped, found.error_rate


def rows_of(name, kind, runs):
    """Calibration by bin, and the row for all prompts."""
    chance = np.concatenate([run[0] for run in runs])
    truth = np.concatenate([run[1] for run in runs])
    areas = [area(*run[:2]) for run in runs] if truth.any() else [np.nan]
    head = {"models": name, "swap": kind}
    rows = []
    for low, high in pairwise(BINS):
        inside = (chance >= low) & ((chance < high) | (high == BINS[-1]))
        n, mean = int(inside.sum()), float(chance[inside].mean()) if inside.any() else np.nan
        bounds = binom.ppf([0.005, 0.995], n, mean) / n if n else (np.nan, np.nan)
        rows.append(
            {
                **head,
                "bin": f"{low:g} to {high:g}",
                "prompts": n,
                "mean_p": mean,
                "observed": float(truth[inside].mean()) if n else np.nan,
                "low_99": bounds[0],
                "high_99": bounds[1],
            }
        )
    whole = {**head, "bin": "all", "prompts": len(chance), "mean_p": chance.mean()}
    whole |= {"observed": truth.mean(), "auc": np.mean(areas), "auc_lowest": np.min(areas)}
    whole |= {"above_half": int((chance > 0.5).sum())}
    return [*rows, whole | {"error_rate": np.mean([run[2] for run in runs])}]


def main():
    """Run and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=pathlib.Path)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--output", type=pathlib.Path, default=RESULTS)
    options = parser.parse_args()
    whole = Generations.from_csv(options.data) if options.data else hb.datasets.load("cruxeval")
    rows = []
    for name, models in GROUPS.items():
        if models is None and whole.n_models < 6:
            continue
        generations = whole if models is None else whole.select(models=models)
        codes = clusters(generations)
        for kind in ("none", "modal", "any"):
            seeds = range(1 if kind == "none" else options.seeds)
            runs = Parallel(n_jobs=options.jobs)(
                delayed(one)(generations, codes, kind, seed) for seed in seeds
            )
            rows += rows_of(name, kind, runs)
            print(pd.DataFrame(rows[-6:]).to_string(index=False), flush=True)
    pd.DataFrame(rows).round(4).to_csv(options.output, index=False)


if __name__ == "__main__":
    main()
