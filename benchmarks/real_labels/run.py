"""How close, and how honest, each method is on real labels with known truth.

    python benchmarks/real_labels/run.py [--data FOLDER] [--sets NAME ...] [--gold-share 0.2 0.1]

In every repetition 70 % of the items, drawn at random, are history, and a share of them keeps its
gold; of the others half of one class (0 and 1 in turn) is left out, so that the rates differ, and
they are the current round, their gold hidden. Scored: the share of ones among the current items.
--data holds folders with labels.csv (item, labeler, label), gold.csv (item, gold) and perhaps
labelers.csv; without it the bundled sets are taken. Sets with other classes than 0 and 1 are left
out by name. Every set and gold share is written when it is done; run again, and only what is
missing is computed. The same seed gives the same numbers, on any number of jobs.
"""

import argparse
import sys
from pathlib import Path

import numpy as np
import pandas as pd
from protocol import EXACT, NotBinaryError, Setting, cap, methods_of, read_folder, repetitions

import hero_bayes as hb
from hero_bayes.simulation.progress import progress
from hero_bayes.simulation.workers import in_parallel

RESULTS = Path(__file__).parent / "results" / "real_labels.csv"
BATCH = 5
KEY = ["set", "gold_share", "method", "kind"]
#: A row is kept when these are what is asked for now.
SAME = ["mode", "asked", "seed", "items", "labelers", "labels"]
TOLD = ["method", "kind", "fits", "bias", "rmse"]


def binary_sets(folder: Path | None, names: list[str] | None):
    """(name, labels) of the sets to run; those left out are told."""
    if folder is None:
        found = hb.datasets.available().query("kind == 'labels'")["name"].tolist()
        readers = {name: lambda name=name: hb.datasets.load(name) for name in found}
    else:
        paths = sorted(path.parent for path in folder.glob("*/labels.csv"))
        readers = {path.name: lambda path=path: read_folder(path) for path in paths}
    unknown = set(names or ()) - set(readers)
    if unknown or not readers:
        raise SystemExit(f"no such set: {', '.join(sorted(unknown)) or folder}")
    for name in names or readers:
        try:
            yield name, readers[name]()
        except NotBinaryError as reason:
            print(f"{name}: left out, {reason}", file=sys.stderr, flush=True)


def row_of(records: pd.DataFrame) -> dict:
    """Scores of one method from its records."""
    refusal = records.get("refusal", pd.Series(index=records.index, dtype=object))
    done = records[refusal.isna()]
    reasons = refusal.dropna().str.split(r"[:;]").str[0].value_counts()
    row = {
        "fits": len(done),
        "refused": len(records) - len(done),
        "refusals": "; ".join(f"{text} ({count})" for text, count in reasons.items()),
    }
    if len(done):
        squared = done["error"].to_numpy(dtype=float) ** 2
        rmse = np.sqrt(squared.mean())
        # Delta method: the standard error of a root of a mean.
        spread = squared.std(ddof=1) if len(done) > 1 else np.nan
        row |= {
            "bias": done["error"].mean(),
            "rmse": rmse,
            "rmse_se": spread / (2 * rmse * np.sqrt(len(done))),
        }
    if len(done) and "covered" in done and done["covered"].notna().all():
        coverage = done["covered"].astype(float).mean()
        row |= {
            "coverage": coverage,
            "coverage_se": np.sqrt(coverage * (1 - coverage) / len(done)),
            "width": done["width"].mean(),
            "gate_passed": done["gate"].astype(float).mean(),
        }
    return row


def run_set(name, labels, setting, asked, number, jobs):
    """Rows of one set and gold share, one a method."""
    numbers = [list(range(k, min(k + BATCH, number))) for k in range(0, number, BATCH)]
    tasks = [(labels, part, setting, asked) for part in numbers]
    records = []
    with progress(True, number, f"{name}, gold {setting.gold_share:g}") as advance:
        found = (
            (repetitions(*task) for task in tasks)
            if jobs == 1
            else in_parallel(repetitions, tasks, jobs)
        )
        for batch in found:
            records += batch
            advance(len({record["repetition"] for record in batch}))
    table = pd.DataFrame(records).sort_values("repetition", kind="stable")
    skipped = int(table["skipped"].notna().sum()) if "skipped" in table else 0
    if skipped == number:
        return []
    groups = dict(list(table.groupby(["method", "kind"])))
    return [
        {
            **_identity(name, labels, setting, method, kind, number),
            "skipped": skipped,
            **row_of(groups[method, kind].dropna(axis=1, how="all")),
        }
        for method, kind in asked
    ]


def _identity(name, labels, setting, method, kind, number):
    own = "" if kind == "estimate" else "exact" if method in EXACT else setting.mode
    return {
        "set": name,
        "gold_share": setting.gold_share,
        "method": method,
        "kind": kind,
        "mode": own,
        "asked": number,
        "seed": setting.seed,
        "items": labels.n_items,
        "labelers": labels.n_labelers,
        "labels": labels.n_labels,
        "rate": round(float(labels.gold.mean()), 4),
    }


def missing(kept: pd.DataFrame, name, labels, setting, number):
    """The methods of this set without a row of the same make."""
    have = set(kept[KEY + SAME].itertuples(index=False, name=None)) if len(kept) else set()
    return [
        (method, kind)
        for method, kind in methods_of(labels, setting)
        if tuple(_identity(name, labels, setting, method, kind, number)[c] for c in KEY + SAME)
        not in have
    ]


def write(table: pd.DataFrame, path: Path) -> None:
    """Write beside the file, then put it in its place."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    table.sort_values([*KEY[:2], "kind"], kind="stable").to_csv(
        part, index=False, float_format="%.5g"
    )
    part.replace(path)


def main() -> None:
    """Run what is missing, set by set."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder of sets (default: the bundled ones)")
    parser.add_argument("--sets", nargs="+")
    parser.add_argument("--reps", type=int, default=40)
    parser.add_argument("--models", nargs="*", default=["hero", "score", "auto"])
    parser.add_argument("--mode", default="laplace", help="of models other than score and auto")
    parser.add_argument("--gold-share", type=float, nargs="+", default=[0.2])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args()
    kept = pd.DataFrame()
    if options.out.exists():
        words = ["mode", "refusals"]
        kept = pd.read_csv(options.out, dtype=dict.fromkeys(words, str)).fillna(
            dict.fromkeys(words, "")
        )
    for name, full in binary_sets(options.data, options.sets):
        labels = cap(full, options.seed)
        for share in options.gold_share:
            setting = Setting(tuple(options.models), options.mode, share, options.seed)
            asked = missing(kept, name, labels, setting, options.reps)
            if not asked:
                continue
            rows = run_set(name, labels, setting, asked, options.reps, options.jobs)
            if not rows:
                print(f"{name}: no repetition has gold of both classes at {share:g}")
                continue
            fresh = pd.DataFrame(rows)
            stale = set(fresh[KEY].itertuples(index=False, name=None))
            if len(kept):
                old = [t in stale for t in kept[KEY].itertuples(index=False, name=None)]
                kept = kept[~np.array(old)]
            kept = pd.concat([kept, fresh], ignore_index=True) if len(kept) else fresh
            write(kept, options.out)
            told = [
                c for c in ("method", "kind", "fits", "rmse", "coverage", "width") if c in fresh
            ]
            print(fresh[told].round(4).to_string(index=False), flush=True)


if __name__ == "__main__":
    main()
