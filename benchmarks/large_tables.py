"""What `check`, `dependence` and the default fit cost on large tables.

    python benchmarks/large_tables.py [--output FILE] [--cases NAME ...] [--limit SECONDS]

Every call has a process of its own, which first makes the same call on a small table, so that
compiling is not counted. Seconds by the clock depend on what else runs; CPU seconds and the peak of
the memory hardly do. Writes ``benchmarks/results/large_tables.csv``.
"""

import argparse
import json
import pathlib
import resource
import subprocess
import sys
import time

import numpy as np
import pandas as pd

import hero_bayes as hb

RESULTS = pathlib.Path(__file__).parent / "results" / "large_tables.csv"
SEED = 20260712
#: History items, current items, labelers, labels an item, loading of shared errors, share of gold.
TABLES = {
    "crowd": (8_300, 0, 176, 3, 0.5, 1.0),
    "thin crowd": (2_000, 0, 2_000, 3, 0.5, 1.0),
    "sparse crowd": (60_000, 0, 10_000, 4, 0.5, 1.0),
    "judges": (20_000, 0, 50, 50, 0.5, 1.0),
    "140k shared": (10_000, 4_000, 100, 10, 1.5, 0.1),
    "140k alone": (10_000, 4_000, 100, 10, 0.0, 0.1),
    "700k shared": (50_000, 20_000, 100, 10, 1.5, 0.1),
    "700k alone": (50_000, 20_000, 100, 10, 0.0, 0.1),
    "700k all gold": (50_000, 20_000, 100, 10, 1.0, 1.0),
    "700k long": (100_000, 40_000, 100, 5, 0.3, 0.02),
}
SMALL = (120, 60, 6, 6, 0.5, 0.5)


def rounds(n_history, n_current, n_labelers, per_item, loading, gold):
    """History and current round; labelers share an effect of the item, on the logit scale."""
    rng = np.random.default_rng(SEED)
    right = rng.normal([1.6, 1.2], 0.5, (n_labelers, 2))
    made = []
    for role, n, rate in (("h", n_history, 0.4), ("c", n_current, 0.3)):
        if not n:
            continue
        truth = (rng.random(n) < rate).astype(int)
        chosen = [rng.choice(n_labelers, per_item, replace=False) for _ in range(n)]
        labeler = np.concatenate(chosen)
        item = np.repeat(np.arange(n), per_item)
        logit = (2 * truth[item] - 1) * right[labeler, truth[item]]
        logit = logit + loading * rng.standard_normal(n)[item]
        label = (rng.random(item.size) < 1 / (1 + np.exp(-logit))).astype(int)
        known = rng.random(n) < (gold if role == "h" else 0.0)
        names = np.array([f"{role}{i}" for i in range(n)])
        made.append(
            hb.Labels.from_frames(
                pd.DataFrame({"item": names[item], "labeler": labeler, "label": label}),
                pd.DataFrame({"item": names, "gold": np.where(known, truth, np.nan)}),
            )
        )
    return made


def measure(name):
    """Cost of the calls that suit the table, one row each."""
    sizes = TABLES[name]
    calls = ("check", "dependence") if sizes[1] == 0 else ("fit",)
    for call in calls:
        options = {"random_seed": 1} if call == "fit" else {}
        small = rounds(*SMALL)
        getattr(hb, call)(*small[: 1 + (call == "fit")], **options)
        made = rounds(*sizes)
        begin, cpu = time.perf_counter(), time.process_time()
        try:
            found = getattr(hb, call)(*made, **options)
        except hb.Refusal as refusal:
            found = str(refusal)
        row = {
            "table": name,
            "call": call,
            "labels": sum(labels.n_labels for labels in made),
            "seconds": round(time.perf_counter() - begin, 1),
            "cpu_seconds": round(time.process_time() - cpu, 1),
            "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        }
        if call == "fit":
            rate = found["posterior"]["item_rate"]
            row |= {"item_rate": round(float(rate.mean()), 5), "sd": round(float(rate.std()), 5)}
        print(json.dumps(row), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=pathlib.Path, default=RESULTS)
    parser.add_argument("--cases", nargs="+", default=list(TABLES), choices=TABLES)
    parser.add_argument("--limit", type=float, default=900.0)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        measure(options.one)
        return
    rows = []
    for name in options.cases:
        command = [sys.executable, __file__, "--one", name]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=options.limit, check=True
            )
            rows += [json.loads(line) for line in done.stdout.splitlines()]
        except subprocess.TimeoutExpired:
            rows.append({"table": name, "seconds": options.limit, "call": "not ended"})
        print(pd.DataFrame(rows).tail(2).to_string(index=False), flush=True)
        pd.DataFrame(rows).to_csv(options.output, index=False)


if __name__ == "__main__":
    main()
