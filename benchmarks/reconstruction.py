"""Run the studies and set the reconstruction beside the published figures.

    python benchmarks/reconstruction.py [--only NAME ...] [--jobs 2] [--compare-only]

Every ``benchmarks/studies/NAME.toml`` gives ``benchmarks/results/NAME.csv``. The reconstructions
(one_setting, by_k, same_labelers) are then compared with ``source_figures.csv``:
``against_source.csv`` and ``.md`` hold every published figure beside ours, ``ordering_NAME.csv``
the differences (worse minus better) between neighbours in the published order with paired
Monte-Carlo errors, and ``gold_rates.png`` shows the sweep over gold rates.
"""

import argparse
import itertools
import pathlib
import time

import numpy as np
import pandas as pd

from hero_bayes.simulation.finding import finding
from hero_bayes.simulation.running import run_study
from hero_bayes.simulation.scoring import rmse_difference, sd_difference, write_table
from hero_bayes.simulation.study import read_study

HERE = pathlib.Path(__file__).parent
RESULTS = HERE / "results"
STUDIES = sorted(path.stem for path in (HERE / "studies").glob("*.toml"))
RECONSTRUCTIONS = ("one_setting", "by_k", "same_labelers")
#: The published order, best first.
ORDER = ("hero2", "hero1", "gold_rates", "dawid_skene", "majority_vote")
LARGEST_RATIO = 0.40
FIGURES = ("abs_bias", "sd", "rmse")


def run(name, jobs):
    """Run one study, write its table, and for a reconstruction the table of its order."""
    started = time.perf_counter()
    study = read_study(HERE / "studies" / f"{name}.toml")
    result = run_study(study, jobs=jobs, progressbar=True)
    write_table(result.table, RESULTS / f"{name}.csv", overwrite=True)
    print(f"{name}: {time.perf_counter() - started:.0f} s\n{finding(result.table)}\n", flush=True)
    if name in (*RECONSTRUCTIONS, "gold_rates"):
        write_table(ordering(result, name), RESULTS / f"ordering_{name}.csv", overwrite=True)


def ordering(result, name):
    """Every pair of neighbours in the published order, on the same simulated rounds."""
    rows = []
    for position, setting in enumerate(result.study.settings):
        cell = result.estimates[result.estimates["position"] == position]
        error = cell.pivot(index="repetition", columns="method", values="estimate")
        error = (error - setting.scenario.prevalence).dropna()
        varied = {field: getattr(setting.scenario, field) for field in result.study.varied}
        pairs = [("rmse", *pair) for pair in itertools.pairwise(ORDER)]
        pairs.append(("sd", "hero2", "hero1"))
        for figure, better, worse in pairs:
            compare = rmse_difference if figure == "rmse" else sd_difference
            difference, mc_error = compare(error[worse], error[better])
            rows.append(
                {
                    "study": name,
                    **varied,
                    "figure": figure,
                    "better": better,
                    "worse": worse,
                    "difference": difference,
                    "mc_error": mc_error,
                    "verdict": verdict(difference, mc_error),
                }
            )
        rmse = np.sqrt((error**2).mean())
        ratio = rmse["hero1"] / rmse["majority_vote"]
        rows.append(
            {
                "study": name,
                **varied,
                "figure": "rmse ratio",
                "better": "hero1",
                "worse": "majority_vote",
                "difference": ratio,
                "verdict": "holds" if ratio <= LARGEST_RATIO else "fails",
            }
        )
    return pd.DataFrame(rows)


def verdict(difference, mc_error):
    """Whether the published order holds: beyond two Monte-Carlo errors, within them, or not."""
    if difference > 2 * mc_error:
        return "holds"
    return "level" if difference >= -2 * mc_error else "fails"


def against_source():
    """Every published figure beside those of the reconstructions."""
    source = pd.read_csv(HERE / "source_figures.csv")
    rows = []
    for name in RECONSTRUCTIONS:
        path = RESULTS / f"{name}.csv"
        if not path.exists():
            continue
        ours = pd.read_csv(path).set_index(["heterogeneity", "method"])
        for published in source.to_dict("records"):
            found = ours.loc[(published["heterogeneity"], published["method"])]
            row = {key: published[key] for key in ("heterogeneity", "method")}
            row["study"] = name
            for figure in FIGURES:
                error = "bias" if figure == "abs_bias" else figure
                row[f"{figure}_published"] = published[figure]
                row[figure] = found[figure]
                row[f"{figure}_mc_error"] = found[f"{error}_mc_error"]
            row["rmse_difference"] = row["rmse"] - row["rmse_published"]
            rows.append(row)
    return pd.DataFrame(rows)


TITLES = {
    "majority_vote": "majority vote",
    "dawid_skene": "Dawid-Skene, current only",
    "gold_rates": "gold rates",
    "hero1": "HERO-1",
    "hero2": "HERO-2",
}


def write_markdown(table, path):
    """Published and obtained figures side by side, for people."""
    lines = [
        "# Published figures and reconstructions",
        "",
        "Each cell: published / obtained, ± one Monte-Carlo error. `within`: the RMSEs differ by "
        "at most 0.01.",
    ]
    for name in RECONSTRUCTIONS:
        part = table[table["study"] == name]
        lines += ["", f"## {name}", "", "| k | method | abs. bias | SD | RMSE | within |"]
        lines.append("|--:|---|---|---|---|---|")
        for row in part.to_dict("records"):
            cells = [
                f"{row[f'{figure}_published']:.3f} / {row[figure]:.3f} "
                f"± {row[f'{figure}_mc_error']:.3f}"
                for figure in FIGURES
            ]
            near = "yes" if abs(row["rmse_difference"]) <= 0.01 else "no"
            title = TITLES[row["method"]]
            lines.append(f"| {row['heterogeneity']:g} | {title} | {' | '.join(cells)} | {near} |")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def plot_gold_rates(path):
    """RMSE by gold rate, a panel a level of heterogeneity."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    table = pd.read_csv(RESULTS / "gold_rates.csv")
    levels = sorted(table["heterogeneity"].unique())
    figure, axes = plt.subplots(1, len(levels), figsize=(9, 3.2), sharey=True, layout="constrained")
    for axis, k in zip(axes, levels, strict=True):
        for method in reversed(ORDER):
            part = table[(table["heterogeneity"] == k) & (table["method"] == method)]
            axis.errorbar(
                part["gold_rate"],
                part["rmse"],
                2 * part["rmse_mc_error"],
                fmt="o-",
                ms=3,
                label=method.replace("_", " "),
            )
        axis.set(title=f"k = {k:g}", xlabel="gold rate", ylim=(0, None))
        axis.grid(alpha=0.3)
    axes[0].set_ylabel("RMSE")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside right", frameon=False)
    figure.savefig(path, dpi=110, metadata={"Software": None})


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="*", choices=STUDIES, default=STUDIES)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--compare-only", action="store_true")
    arguments = parser.parse_args()
    RESULTS.mkdir(exist_ok=True)
    for name in () if arguments.compare_only else arguments.only:
        run(name, arguments.jobs)
    compared = against_source()
    write_table(compared, RESULTS / "against_source.csv", overwrite=True)
    write_markdown(compared, RESULTS / "against_source.md")
    orderings = [RESULTS / f"ordering_{name}.csv" for name in RECONSTRUCTIONS]
    table = pd.concat([pd.read_csv(path) for path in orderings if path.exists()])
    print(table[table["verdict"] != "holds"].to_string(index=False))
    if (RESULTS / "gold_rates.csv").exists():
        plot_gold_rates(RESULTS / "gold_rates.png")


if __name__ == "__main__":
    main()
