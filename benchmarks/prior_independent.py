"""How far independent errors should be believed beforehand, and what the labels add to the gold.

    python benchmarks/prior_independent.py [--data FOLDER] [--repetitions 40]

Each split of a real label set (see real_labels/README.md; the bundled ones without --data) and each
simulated round of independent judges (see auto_simulated.py) is drawn under both accounts that
`auto` averages. One pair of fits serves every prior probability, with the Bayes factor of the
labels and without. Writes benchmarks/results/prior_independent.csv: RMSE of item_rate, its ratio to
that of HERO-1, and coverage and width of 90 % intervals. Prior 0 is `score`.
"""

import argparse
import sys
from pathlib import Path

import auto_simulated
import numpy as np
import pandas as pd
from scipy.special import expit, logit

import hero_bayes as hb
from hero_bayes.estimators.averaging import average
from hero_bayes.estimators.independent import independent_draws

sys.path.insert(0, str(Path(__file__).parent / "real_labels"))
from protocol import cap, split
from run import binary_sets

RESULTS = Path(__file__).parent / "results" / "prior_independent.csv"
SHARES = (0.05, 0.1, 0.2)
#: Prior probability, and whether the labels count.
OPTIONS = ((0.0, False), (0.5, False), (0.1, False), (0.5, True), (0.1, True))
DRAWS, PROB = 1_000, 0.9


def split_rows(history, current, truth, seed):
    """One row an option, or none where there is too little gold to calibrate."""
    try:
        found = average(history, current, n_draws=DRAWS, prior=0.0, random_seed=seed)
        hero1 = hb.estimate(history, current, method="hero1").value - truth
    except hb.Refusal:
        return []
    plain = independent_draws(found.anchored, DRAWS, np.random.default_rng(seed))
    rate = np.concatenate([found.tilt.item_rate[:, 0], plain.item_rate[:, 0]])
    order = np.argsort(rate)
    by_gold = found.log_score_independent - found.log_evidence_shared
    rows = []
    for prior, labels in OPTIONS:
        added = found.log_labels_independent if labels else 0.0
        chance = float(expit(logit(prior) + by_gold + added)) if prior and not found.notes else 0.0
        weight = np.repeat([(1.0 - chance) / DRAWS, chance / DRAWS], DRAWS)
        below = np.cumsum(weight[order])
        low, high = rate[order][np.searchsorted(below, [(1 - PROB) / 2, (1 + PROB) / 2])]
        rows.append(
            {
                "prior": prior,
                "labels_count": labels,
                "error": weight @ rate - truth,
                "hero1": hero1,
                "covered": low - 1e-9 <= truth <= high + 1e-9,
                "width": high - low,
                "independent": chance,
            }
        )
    return rows


def real_rounds(folder, repetitions):
    """(set, gold share, history, current, truth, seed)."""
    for name, labels in binary_sets(folder, None):
        capped = cap(labels, 1)
        for share in SHARES:
            for k in range(repetitions):
                if (parts := split(capped, k, share, 1)) is not None:
                    yield name, share, *parts


def simulated_rounds(repetitions):
    """The same of independent judges."""
    for place, (name, case) in enumerate(auto_simulated.CASES.items()):
        if name.startswith("independent"):
            for share in SHARES:
                auto_simulated.GOLD_SHARE = share
                for k in range(repetitions):
                    rng = np.random.default_rng([1, place, k])
                    yield name, share, *auto_simulated.rounds(case, rng), k


def root_mean_square(error):
    return float(np.sqrt(np.mean(np.square(error))))


def main():
    """Run and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--repetitions", type=int, default=40)
    options = parser.parse_args()
    rows = []
    for rounds in (
        simulated_rounds(options.repetitions),
        real_rounds(options.data, options.repetitions),
    ):
        for name, share, history, current, truth, seed in rounds:
            key = {"set": name, "gold_share": share}
            rows += [key | row for row in split_rows(history, current, truth, seed)]
    groups = pd.DataFrame(rows).groupby(["set", "gold_share", "prior", "labels_count"], sort=False)
    table = groups.agg(
        splits=("error", "size"),
        rmse=("error", root_mean_square),
        hero1=("hero1", root_mean_square),
        coverage=("covered", "mean"),
        width=("width", "mean"),
        independent=("independent", "mean"),
    )
    table.insert(2, "ratio_to_hero1", table["rmse"] / table.pop("hero1"))
    table.reset_index().round(4).to_csv(RESULTS, index=False)


if __name__ == "__main__":
    main()
