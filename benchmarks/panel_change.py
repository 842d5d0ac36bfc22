"""Coverage and error of item_rate when labels per item or labelers change between rounds.

    python benchmarks/panel_change.py [--repetitions 100] [--jobs 1]

Histories of 400 items, 20 % with gold, labeled by 24 labelers; 200 current items. Three laws of
errors are simulated (independent; an effect of the item that all labelers share; two families,
each with its own effect). Beside them dices350: 24 of its 123 raters, drawn anew in each
repetition; a random 70 % of the items are history, and half of one class is left out of the rest.
dices350 gets 60 % of the repetitions, hero a quarter of what the others get, and "all new" a fifth.
hero is fitted by Laplace's method, unseen labelers left out.
Writes benchmarks/results/panel_change.csv.
"""

import argparse
from pathlib import Path

import numpy as np
from auto_runs import choose, fit_rows, labels_of, run, simulated_round, summary

import hero_bayes as hb

RESULTS = Path(__file__).parent / "results" / "panel_change.csv"
#: Finished repetitions, so that a run that was stopped goes on.
KEPT = Path(".cache") / "panel_change.jsonl"
N_HISTORY, N_CURRENT, GOLD_SHARE = 400, 200, 0.2
HISTORY_RATE, RATE = 0.45, 0.25
PANEL = 24
#: Loading of the effect of the item, and of the family's.
LAWS = {"independent": (0.0, 0.0), "shared": (1.5, 0.0), "families": (0.3, 1.5)}
REAL = "dices350"
#: Labels an item in history, labels an item now, who labels now.
CHANGES = {
    "none": (5, 5, "same"),
    "5 to 3 labels": (5, 3, "same"),
    "3 to 5 labels": (3, 5, "same"),
    "half new": (5, 5, "half new"),
    "weaker": (5, 5, "weaker"),
    "other mix": (5, 5, "mix"),
    "weaker, 5 to 3": (5, 3, "weaker"),
    "half new, 3 to 5": (3, 5, "half new"),
    "all new": (5, 5, "all new"),
}
REAL_SHARE = 0.6
HERO_EVERY = 4
NEW, NEW_SHARE = "all new", 0.2


def current_weights(who, quality, rng):
    """Odds of each of 2 x PANEL labelers to label now; history knows the first PANEL only."""
    weight = np.zeros(2 * PANEL)
    known = np.arange(2 * PANEL) < PANEL
    if who == "same":
        weight[known] = 1.0
    elif who == "half new":
        weight[rng.permutation(PANEL)[: PANEL // 2]] = 1.0
        weight[PANEL : PANEL + PANEL // 2] = 1.0
    elif who == "weaker":
        # The weaker a labeler, the more labels: odds fall from 1 to 0 with the rank of quality.
        rank = np.argsort(np.argsort(quality[:PANEL]))
        weight[:PANEL] = 1.0 - rank / PANEL
        weight[:PANEL][rank >= PANEL // 2] *= 0.25
    elif who == "mix":
        weight[known] = rng.standard_exponential(PANEL) ** 2
    else:
        weight[~known] = 1.0
    return weight


def simulated(law, change, rng):
    """History, current round and its share of positive items under one law of errors."""
    loading, family_loading = LAWS[law]
    before, now, who = CHANGES[change]
    right = rng.normal([[1.1], [0.9]], 0.6, size=(2, 2 * PANEL))
    logit = np.stack([-right[0], right[1]])
    family = rng.integers(0, 2, 2 * PANEL) if family_loading else None
    weights = (
        (np.arange(2 * PANEL) < PANEL).astype(float),
        current_weights(who, right.sum(axis=0), rng),
    )
    tables, truths = [], []
    for n, rate, size, weight in (
        (N_HISTORY, HISTORY_RATE, before, weights[0]),
        (N_CURRENT, RATE, now, weights[1]),
    ):
        truth = (rng.random(n) < rate).astype(int)
        chosen = choose(rng, n, size, weight)
        label = simulated_round(rng, truth, chosen, logit, loading, family, family_loading)
        tables.append((np.repeat(np.arange(n), size), chosen.ravel(), label.ravel()))
        truths.append(truth)
    gold = np.where(rng.permutation(N_HISTORY) < GOLD_SHARE * N_HISTORY, truths[0], np.nan)
    return labels_of(*tables[0], gold), labels_of(*tables[1]), truths[1].mean()


def real(change, repetition, rng):
    """The same from dices350."""
    before, now, who = CHANGES[change]
    full = hb.datasets.load(REAL)
    table = np.full((full.n_items, full.n_labelers), -1)
    table[np.repeat(np.arange(full.n_items), full.labels_per_item), full.labeler_idx] = full.label
    people = rng.permutation(full.n_labelers)[: 2 * PANEL]
    table, gold = table[:, people], full.gold
    order = rng.permutation(full.n_items)
    past, rest = np.split(order, [round(0.7 * full.n_items)])
    rest = rest[~((gold[rest] == repetition % 2) & (rng.random(rest.size) < 0.5))]
    seen = np.where(table < 0, np.nan, table)
    right = [np.nanmean(seen[gold == truth], axis=0) for truth in (0, 1)]
    weight = current_weights(who, right[1] - right[0], rng)
    known = np.where(rng.random(past.size) < GOLD_SHARE, gold[past], np.nan)
    history = _drawn(table[past], before, (np.arange(2 * PANEL) < PANEL).astype(float), rng, known)
    return history, _drawn(table[rest], now, weight, rng), gold[rest].mean()


def _drawn(table, size, weight, rng, gold=None):
    """So many labels of each item, from those whom it has a verdict of."""
    key = np.log(rng.random(table.shape)) / np.maximum(weight, 1e-300)
    key[(table < 0) | (weight <= 0)] = -np.inf
    chosen = np.argsort(-key, axis=1)[:, :size]
    item = np.repeat(np.arange(len(table)), size)
    possible = np.isfinite(np.take_along_axis(key, chosen, axis=1)).ravel()
    label = np.take_along_axis(table, chosen, axis=1).ravel()
    return labels_of(item[possible], chosen.ravel()[possible], label[possible], gold)


def task(name, change, repetition, seed, with_hero):
    """Rows of one repetition."""
    rng = np.random.default_rng([seed, [*LAWS, REAL].index(name), repetition])
    made = real(change, repetition, rng) if name == REAL else simulated(name, change, rng)
    facts = {"task": [name, change, repetition], "labels": name, "change": change}
    return [facts | row for row in fit_rows(*made, seed=repetition, with_hero=with_hero)]


def tasks(repetitions, seed):
    """All repetitions, first of every setting, then second, and so on."""
    out = []
    for repetition in range(repetitions):
        for name in (*LAWS, REAL):
            for change in CHANGES:
                share = (REAL_SHARE if name == REAL else 1.0) * (
                    NEW_SHARE if change == NEW else 1.0
                )
                if repetition < round(share * repetitions):
                    out.append((name, change, repetition, seed, repetition % HERO_EVERY == 0))
    return out


def main():
    """Run and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=100)
    parser.add_argument("--random-seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--kept", type=Path, default=KEPT)
    options = parser.parse_args()
    planned = tasks(options.repetitions, options.random_seed)
    kept = options.kept.with_suffix(f".{options.random_seed}.jsonl")
    run(task, planned, options.jobs, kept, report)


def report(table):
    """Write the summary."""
    results(table).round(4).to_csv(RESULTS, index=False)


def results(table):
    """One row a set of labels, change and model, with the commonest reason to refuse."""
    by = ["labels", "change", "model"]
    places = {name: k for k, name in enumerate([*LAWS, REAL, *CHANGES])}
    table = table.sort_values(["labels", "change"], key=lambda x: x.map(places), kind="stable")
    found = summary(table, by).reset_index()
    refused = table[table["refused"] != ""].groupby(by)["refused"]
    reason = refused.agg(lambda r: r.mode()[0]).rename("reason")
    return found.merge(reason.reset_index(), how="left")


if __name__ == "__main__":
    main()
