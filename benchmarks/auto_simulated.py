"""`auto` beside `hero` where labelers err independently and where they share errors.

    python benchmarks/auto_simulated.py [--repetitions 200] [--jobs 1]

Independent errors: J judges label every item (30 judges: 10 of them each item), histories of 300
or 800 items, 20 % with gold, 200 current items. Shared errors: nine judges, 400 history items, and
an effect of the item with loading 1, 2 or 3, or three families of three with an effect of 2 each.
`hero` by Laplace's method, cut. Ratios are auto over hero, paired by repetition, with a bootstrap
interval of 90 %. Writes benchmarks/results/auto_simulated.csv.
"""

import argparse
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from auto_runs import (
    choose,
    fit_rows,
    labels_of,
    paired_ratio,
    run,
    simulated_round,
    summary,
)

RESULTS = Path(__file__).parent / "results" / "auto_simulated.csv"
#: Finished repetitions, so that a run that was stopped goes on.
KEPT = Path(".cache") / "auto_simulated.jsonl"
N_CURRENT, GOLD_SHARE = 200, 0.2
HISTORY_RATE, RATE = 0.4, 0.25


@dataclass(frozen=True)
class Case:
    """One setting."""

    judges: int
    labels: int
    n_history: int
    loading: float = 0.0
    families: int = 1
    family_loading: float = 0.0


CASES = {
    **{f"independent J={j} N={n}": Case(j, min(j, 10), n) for j in (5, 10, 30) for n in (300, 800)},
    **{f"loading {k}": Case(9, 9, 400, float(k)) for k in (1, 2, 3)},
    "families": Case(9, 9, 400, 0.0, 3, 2.0),
}


def rounds(case, rng):
    """History, current round and its share of positive items."""
    right = rng.normal([[1.1], [1.1]], 0.6, size=(2, case.judges))
    logit = np.stack([-right[0], right[1]])
    family = np.arange(case.judges) * case.families // case.judges
    tables, truths = [], []
    for n, rate in ((case.n_history, HISTORY_RATE), (N_CURRENT, RATE)):
        truth = (rng.random(n) < rate).astype(int)
        who = choose(rng, n, case.labels, np.ones(case.judges))
        label = simulated_round(rng, truth, who, logit, case.loading, family, case.family_loading)
        tables.append((np.repeat(np.arange(n), case.labels), who.ravel(), label.ravel()))
        truths.append(truth)
    known = rng.permutation(case.n_history) < GOLD_SHARE * case.n_history
    history = labels_of(*tables[0], np.where(known, truths[0], np.nan))
    return history, labels_of(*tables[1]), truths[1].mean()


def task(name, repetition, seed, *_):
    """Rows of one repetition."""
    rng = np.random.default_rng([seed, list(CASES).index(name), repetition])
    facts = {"task": [name, repetition, seed], "case": name, "repetition": repetition}
    return [facts | row for row in fit_rows(*rounds(CASES[name], rng), seed=repetition)]


def main():
    """Run and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=200)
    parser.add_argument("--random-seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--kept", type=Path, default=KEPT)
    options = parser.parse_args()
    planned = [(name, k, options.random_seed) for k in range(options.repetitions) for name in CASES]
    kept = options.kept.with_suffix(f".{options.random_seed}.jsonl")
    run(task, planned, options.jobs, kept, report)


def report(table):
    """Write the summary, and the ratios of auto to hero."""
    places = {name: k for k, name in enumerate(CASES)}
    table = table.sort_values("case", key=lambda x: x.map(places), kind="stable")
    found = summary(table, ["case", "model"]).reset_index()
    for measure in ("rmse", "width"):
        ratio = paired_ratio(table, ["case"], measure).assign(model="auto")
        found = found.merge(ratio, how="left")
    found.round(4).to_csv(RESULTS, index=False)


if __name__ == "__main__":
    main()
