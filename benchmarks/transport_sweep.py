"""What a sweep over 15 x 15 shifts of the labelers costs, against the fit that it opens.

    python benchmarks/transport_sweep.py

Rounds of the published size (800 past items, 300 current ones, ten labelers). Seconds of wall time
in one process: hb.fit of ``hero`` by NUTS (4 chains of 1,000 draws) cold and again, the same
program refitted without compiling, and hb.transport_sensitivity with a rule (tipping points
included) on the first call, which compiles or loads its loops, and again.

Writes benchmarks/results/transport_sweep.csv.
"""

import argparse
import time
from pathlib import Path

import pandas as pd

import hero_bayes as hb
from hero_bayes.inference.fit import refit
from hero_bayes.inference.program import make_program
from hero_bayes.models import hero
from hero_bayes.sensitivity.transport import transport_sensitivity

RESULTS = Path(__file__).parent / "results" / "transport_sweep.csv"
RULE = "P(prevalence <= 0.4) >= 0.9"


def main():
    """Run and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=3)
    options = parser.parse_args()
    rounds = hb.simulate(gold_rate=0.3, random_seed=3)
    tables = rounds.history, rounds.current
    rows = []

    def timed(work, call, function):
        begin = time.perf_counter()
        value = function()
        rows.append({"work": work, "call": call, "seconds": time.perf_counter() - begin})
        return value

    def fit():
        return hb.fit(*tables, model="hero", random_seed=1, progressbar=False)

    fitted = timed("fit", 1, fit)
    program = make_program(hero, *tables)
    timed("refit", 1, lambda: refit(program, *tables, random_seed=1))
    for call in range(1, options.repetitions + 1):
        timed("fit", call + 1, fit)
        timed("refit", call + 1, lambda: refit(program, *tables, random_seed=1))
        sweep = timed("sweep", call, lambda: transport_sensitivity(fitted, *tables, RULE))
    table = pd.DataFrame(rows).sort_values(["work", "call"])
    warm = table[table["call"] > 1].groupby("work")["seconds"].median()
    print(table.round(2).to_string(index=False))
    print(f"{sweep['mean'].size} points cost {warm['sweep'] / warm['fit']:.2f} warm fits")
    print(f"and {warm['sweep'] / warm['refit']:.2f} refits of a compiled program")
    table.round(3).to_csv(RESULTS, index=False)


if __name__ == "__main__":
    main()
