"""Gold chosen by hb.next_gold against gold chosen at random.

    python benchmarks/next_gold.py [--repetitions 20]

Histories of 400 items, 40 of them with gold at random, 200 current items without, nine judges who
label every item. They err independently, or share an effect of the item with loading 1 or 2. Then
20, 40 and 80 more items get gold, from history or from the current round: chosen by hb.next_gold at
once; at random; or, in the current round, chosen with random_share=0 ("greedy"). `auto` is fitted
after each.

Writes benchmarks/results/next_gold.csv, one row a case, where and budget: of each choice the mean
width of the 90 % interval of item_rate, the root mean squared error and the coverage; `needed`: how
many such labels give the width that as many random ones give as the row says, by interpolation of
the mean widths, empty where not even 80 do; `saved`, the share of labels that this saves (as if 80
were needed where they do not do), with a 90 % bootstrap interval over repetitions; and the standard
deviation that hb.next_gold expected beside the one that was found. Rows of the case "all" are over
the cases. Written after every repetition, so that a run that is stopped leaves what it has.
"""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd
from auto_runs import PROB, labels_of, simulated_round

from hero_bayes.estimators.averaging import average
from hero_bayes.planning.next_gold import next_gold

RESULTS = Path(__file__).parent / "results" / "next_gold.csv"
CASES = {"independent": 0.0, "loading 1": 1.0, "loading 2": 2.0}
WHERE = ("history", "current")
CHOICES = ("random", "chosen", "greedy")
BUDGETS = (20, 40, 80)
JUDGES, N_HISTORY, N_CURRENT, N_GOLD = 9, 400, 200, 40
HISTORY_RATE, RATE = 0.4, 0.25
DRAWS = 600
RESAMPLES = 500


def rounds(loading, rng):
    """History with gold everywhere, and the current round with gold everywhere."""
    right = rng.normal([[1.1], [1.1]], 0.6, size=(2, JUDGES))
    logit = np.stack([-right[0], right[1]])
    made = []
    for n, rate in ((N_HISTORY, HISTORY_RATE), (N_CURRENT, RATE)):
        truth = (rng.random(n) < rate).astype(int)
        who = np.tile(np.arange(JUDGES), (n, 1))
        label = simulated_round(rng, truth, who, logit, loading)
        item = np.repeat(np.arange(n), JUDGES)
        made.append(labels_of(item, who.ravel(), label.ravel(), truth.astype(float)))
    return made


def with_gold_at(full, past, now):
    """Both rounds with gold at these positions alone."""
    out = []
    for labels, known in zip(full, (past, now), strict=True):
        gold = np.full(labels.n_items, np.nan)
        gold[known] = labels.gold[known]
        out.append(labels.with_gold(gold))
    return out


def scored(full, past, now, seed):
    """Fit with gold at these positions alone."""
    fitted = average(*with_gold_at(full, past, now), n_draws=DRAWS, random_seed=seed)
    draws, share = fitted.item_rate[:, 0], full[1].gold.mean()
    low, high = np.quantile(draws, [(1 - PROB) / 2, (1 + PROB) / 2])
    return {
        "error": draws.mean() - share,
        "width": high - low,
        "sd": draws.std(),
        "covered": bool(low - 1e-9 <= share <= high + 1e-9),
    }


def repetition_rows(name, repetition, seed):
    """Rows of one repetition: one a where, choice and budget."""
    rng = np.random.default_rng([seed, list(CASES).index(name), repetition])
    full = rounds(CASES[name], rng)
    order = rng.permutation(N_HISTORY)
    first, start = order[:N_GOLD], with_gold_at(full, order[:N_GOLD], [])
    at_random = {"history": order[N_GOLD:], "current": rng.permutation(N_CURRENT)}
    before = scored(full, first, [], repetition)
    rows = []
    for where in WHERE:
        facts = {"case": name, "repetition": repetition, "where": where}
        rows.append(facts | {"choice": "random", "budget": 0, "expected_sd": np.nan} | before)
        asked = {"where": where, "random_seed": repetition}
        tables = {"chosen": next_gold(*start, max(BUDGETS), **asked).table}
        if where == "current":
            asked["random_share"] = 0.0
            tables["greedy"] = next_gold(*start, max(BUDGETS), **asked).table
        picks = {c: table["item"].astype(int).to_numpy() for c, table in tables.items()}
        picks["random"] = at_random[where]
        for choice, picked in picks.items():
            for budget in BUDGETS:
                added = picked[:budget]
                past = [*first, *added] if where == "history" else first
                now = added if where == "current" else []
                expected = np.nan
                if choice in tables:
                    expected = tables[choice]["expected_sd"].iloc[budget - 1]
                row = facts | {"choice": choice, "budget": budget, "expected_sd": expected}
                rows.append(row | scored(full, past, now, repetition))
    return rows


def needed(widths, goal):
    """Chosen labels whose mean width is the goal, by linear interpolation on their number."""
    numbers = np.array((0, *BUDGETS), dtype=float)
    falling = np.minimum.accumulate(widths)
    if goal < falling[-1]:
        return np.nan
    return float(np.interp(-goal, -falling, numbers))


def widths_of(part):
    """Widths (repetition, budget) of each choice; no label at all is the same for all."""
    wide = part.pivot(index=["case", "repetition"], columns=["choice", "budget"], values="width")
    made = [c for c in CHOICES if c in set(part["choice"])]
    columns = {c: [wide[("random", 0)], *(wide[(c, b)] for b in BUDGETS)] for c in made}
    return {c: np.stack(columns[c], axis=1) for c in made}


def summarise(case, where, part):
    """One row a budget."""
    widths = widths_of(part)
    rng = np.random.default_rng(0)
    n = len(widths["random"])
    picks = [np.arange(n), *rng.integers(n, size=(RESAMPLES, n))]
    before = part[part["budget"] == 0]
    for position, budget in enumerate(BUDGETS, start=1):
        row = {"case": case, "where": where, "budget": budget, "repetitions": n}
        row["width_before"] = before["width"].mean()
        row["coverage_before"] = before["covered"].mean()
        for choice in widths:
            own = part[(part["choice"] == choice) & (part["budget"] == budget)]
            row[f"width_{choice}"] = own["width"].mean()
            row[f"rmse_{choice}"] = np.sqrt((own["error"] ** 2).mean())
            row[f"coverage_{choice}"] = own["covered"].mean()
            if choice == "chosen":
                row["sd_found"], row["sd_expected"] = own["sd"].mean(), own["expected_sd"].mean()
        for choice in widths:
            if choice == "random":
                continue
            means = [{c: widths[c][pick].mean(axis=0) for c in widths} for pick in picks]
            labels = np.array([needed(m[choice], m["random"][position]) for m in means])
            # What not even all of the labels reach counts as that many needed.
            saved = 1.0 - np.nan_to_num(labels, nan=BUDGETS[-1]) / budget
            row[f"needed_{choice}"], row[f"saved_{choice}"] = labels[0], saved[0]
            low, high = np.quantile(saved[1:], [0.05, 0.95])
            row[f"saved_{choice}_low"], row[f"saved_{choice}_high"] = low, high
        yield row


def main():
    """Run and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=20)
    parser.add_argument("--random-seed", type=int, default=1)
    options = parser.parse_args()
    rows = []
    for repetition in range(options.repetitions):
        for name in CASES:
            rows += repetition_rows(name, repetition, options.random_seed)
        table = pd.DataFrame(rows)
        found = [
            row
            for where in WHERE
            for case in (*CASES, "all")
            for row in summarise(
                case,
                where,
                table[(table["where"] == where) & ((table["case"] == case) | (case == "all"))],
            )
        ]
        pd.DataFrame(found).round(4).to_csv(RESULTS, index=False)
        print(f"{repetition + 1} of {options.repetitions}", flush=True)


if __name__ == "__main__":
    main()
