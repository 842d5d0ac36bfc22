"""Tables and plots from the results on real labels.

    python benchmarks/real_labels/report.py [--results FOLDER]

Reads real_labels.csv, and correlated.csv (fewer repetitions, so a table of its own) where there is
one. Writes summary.csv, coverage.png and rmse_ratio.png, and the tables into README.md.
"""

import argparse
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from scipy.stats import beta

HERE = Path(__file__).parent
NOMINAL, ENOUGH = 0.9, 0.85
#: Of the bars: equal-tailed, from the binomial counts with Jeffreys' prior.
BAR = 0.9
ORDER = [
    ("majority_vote", "estimate"),
    ("dawid_skene", "estimate"),
    ("gold_rates", "estimate"),
    ("hero1", "estimate"),
    ("hero2", "estimate"),
    ("score", "estimate"),
    ("hero", "posterior"),
    ("pooled", "posterior"),
    ("correlated", "posterior"),
    ("score", "posterior"),
    ("auto", "posterior"),
]
COLOURS = {
    "majority_vote": "#999999",
    "dawid_skene": "#56B4E9",
    "gold_rates": "#F0E442",
    "hero1": "#E69F00",
    "hero": "#D55E00",
    "correlated": "#CC79A7",
    "score": "#009E73",
    "auto": "#0072B2",
}


def with_ratio(table: pd.DataFrame) -> pd.DataFrame:
    """Add the ratio of each RMSE to the smallest of its set and gold share."""
    best = table.groupby(["set", "gold_share"])["rmse"].transform("min")
    return table.assign(ratio=table["rmse"] / best)


def summary(table: pd.DataFrame) -> pd.DataFrame:
    """One row a gold share and method, over the sets."""
    rows = []
    for share, part in table.groupby("gold_share", sort=False):
        for method, kind in ORDER:
            one = part[(part["method"] == method) & (part["kind"] == kind) & part["fits"].gt(0)]
            if one.empty:
                continue
            row = {
                "gold_share": share,
                "method": method,
                "kind": kind,
                "sets": len(one),
                "repetitions": int(one["asked"].iloc[0]),
                "refused": int(one["refused"].sum()),
                "mean_ratio": one["ratio"].mean(),
                "worst_ratio": one["ratio"].max(),
                "worst_set": one.loc[one["ratio"].idxmax(), "set"],
            }
            if one["coverage"].notna().any():
                row |= {
                    "mean_coverage": one["coverage"].mean(),
                    "lowest_coverage": one["coverage"].min(),
                    "lowest_set": one.loc[one["coverage"].idxmin(), "set"],
                    "sets_covered": one["coverage"].ge(ENOUGH).mean(),
                    "mean_width": one["width"].mean(),
                    "gate_passed": one["gate_passed"].mean(),
                }
            rows.append(row)
    return pd.DataFrame(rows)


def markdown(header: list[str], rows: list[list[str]]) -> str:
    """A table."""
    lines = [header, ["---", *["--:"] * (len(header) - 1)], *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def number(value: float, digits: int = 2) -> str:
    return "" if pd.isna(value) else f"{value:.{digits}f}"


def name(method: str, kind: str) -> str:
    return f"`{method}`" + (" (posterior)" if kind == "posterior" else "")


def summary_table(table: pd.DataFrame) -> str:
    """The summary of one gold share."""
    header = [
        "method",
        "mean ratio",
        "worst ratio",
        "mean coverage",
        "lowest coverage",
        "sets at .85 or more",
        "mean width",
        "refused",
    ]
    rows = [
        [
            name(row["method"], row["kind"]),
            number(row["mean_ratio"]),
            f"{number(row['worst_ratio'])} ({row['worst_set']})",
            number(row["mean_coverage"]),
            ""
            if pd.isna(row["lowest_coverage"])
            else f"{number(row['lowest_coverage'])} ({row['lowest_set']})",
            ""
            if pd.isna(row["sets_covered"])
            else f"{round(row['sets_covered'] * row['sets'])} of {row['sets']}",
            number(row["mean_width"], 3),
            str(row["refused"]),
        ]
        for row in table.to_dict("records")
    ]
    return markdown(header, rows)


def set_table(table: pd.DataFrame) -> str:
    """RMSE, and for posteriors coverage, by set; the best RMSE in bold."""
    methods = [m for m in ORDER if (table["method"].eq(m[0]) & table["kind"].eq(m[1])).any()]
    rows = []
    for label, part in table.groupby("set"):
        found = part.set_index(["method", "kind"])
        line = [str(label)]
        for method in methods:
            if method not in found.index or not found.loc[method, "fits"]:
                line.append("")
                continue
            at = found.loc[method]
            text = number(at["rmse"], 3)
            text = f"**{text}**" if at["ratio"] == 1 else text
            line.append(text if pd.isna(at["coverage"]) else f"{text} [{number(at['coverage'])}]")
        rows.append(line)
    return markdown(["set", *(name(*m) for m in methods)], rows)


def bars(coverage: pd.Series, fits: pd.Series) -> np.ndarray:
    """Lower and upper distance of the binomial interval from the coverage."""
    hits = coverage * fits
    low = beta.ppf((1 - BAR) / 2, hits + 0.5, fits - hits + 0.5)
    high = beta.ppf((1 + BAR) / 2, hits + 0.5, fits - hits + 0.5)
    return np.clip([coverage - low, high - coverage], 0, None)


def panels(table: pd.DataFrame):
    """One axis a gold share, sets from left to right."""
    shares = sorted(table["gold_share"].unique(), reverse=True)
    figure, axes = plt.subplots(
        len(shares), 1, figsize=(9, 2.9 * len(shares) + 0.6), sharex=True, squeeze=False
    )
    sets = sorted(table["set"].unique())
    axes[-1, 0].set_xticks(range(len(sets)), sets, rotation=25, ha="right")
    for share, axis in zip(shares, axes[:, 0], strict=True):
        axis.set_title(f"gold on {share:.0%} of the history", fontsize=10, loc="left")
        axis.spines[["top", "right"]].set_visible(False)
        for place in np.arange(len(sets) - 1) + 0.5:
            axis.axvline(place, color="0.92", lw=0.8, zorder=0)
    return figure, dict(zip(shares, axes[:, 0], strict=True)), sets


def places(rows: pd.DataFrame, sets: list[str], shift: float) -> np.ndarray:
    """Where the sets of these rows stand on the horizontal axis."""
    return np.array([sets.index(label) + shift for label in rows["set"]], dtype=float)


def plot_coverage(table: pd.DataFrame, path: Path) -> None:
    """Coverage of the 90 % interval by set and posterior."""
    table = table[table["coverage"].notna()]
    methods = [m for m, kind in ORDER if kind == "posterior" and m in set(table["method"])]
    figure, axes, sets = panels(table)
    for share, axis in axes.items():
        axis.axhline(NOMINAL, color="0.3", lw=1, ls="--", zorder=1)
        axis.set(ylim=(-0.03, 1.03), ylabel="coverage")
        for k, method in enumerate(methods):
            one = table[table["method"].eq(method) & table["gold_share"].eq(share)]
            x = places(one, sets, 0.16 * (k - (len(methods) - 1) / 2))
            axis.errorbar(
                x,
                one["coverage"],
                yerr=bars(one["coverage"], one["fits"]),
                fmt="os^D"[k % 4],
                ms=5,
                lw=1.2,
                color=COLOURS.get(method, "black"),
                label=_legend(method, one),
            )
    next(iter(axes.values())).legend(
        ncols=4, fontsize=8, frameon=False, loc="lower right", bbox_to_anchor=(1, 1)
    )
    _save(figure, path)


def _legend(method: str, rows: pd.DataFrame) -> str:
    return f"{method} ({int(rows['asked'].max())} splits)" if len(rows) else method


def plot_ratio(table: pd.DataFrame, path: Path) -> None:
    """RMSE over the best of the set, by method."""
    order = [
        ("majority_vote", "estimate"),
        ("dawid_skene", "estimate"),
        ("gold_rates", "estimate"),
        ("hero1", "estimate"),
        ("hero", "posterior"),
        ("score", "posterior"),
        ("auto", "posterior"),
    ]
    figure, axes, sets = panels(table)
    for share, axis in axes.items():
        axis.axhline(1, color="0.3", lw=1, ls="--", zorder=1)
        axis.set_yscale("log")
        axis.set_ylabel("RMSE / best RMSE")
        ticks = [1, 1.5, 2, 3, 5, 8, 12]
        axis.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
        axis.yaxis.minorticks_off()
        for k, (method, kind) in enumerate(order):
            one = table[
                table["method"].eq(method)
                & table["kind"].eq(kind)
                & table["gold_share"].eq(share)
                & table["fits"].gt(0)
            ]
            error = one["ratio"] * one["rmse_se"] / one["rmse"]
            axis.errorbar(
                places(one, sets, 0.11 * (k - 3)),
                one["ratio"],
                yerr=error,
                fmt="vP*osXD"[k],
                ms=5,
                lw=1,
                color=COLOURS[method],
                label=method if kind == "estimate" else f"{method} (posterior)",
            )
    next(iter(axes.values())).legend(
        ncols=4, fontsize=8, frameon=False, loc="lower right", bbox_to_anchor=(1, 1)
    )
    _save(figure, path)


def _save(figure, path: Path) -> None:
    figure.tight_layout()
    figure.savefig(path, dpi=100, metadata={"Software": None})
    plt.close(figure)
    print(f"{path.name}: {path.stat().st_size / 1000:.0f} kB")


def fill(readme: Path, tables: dict[str, str]) -> None:
    """Replace what stands between the marks of each table."""
    text = readme.read_text()
    for key, table in tables.items():
        begin, end = f"<!-- {key} -->", f"<!-- end {key} -->"
        if begin not in text:
            continue
        head, rest = text.split(begin, 1)
        tail = rest.split(end, 1)[1]
        text = f"{head}{begin}\n{table}\n{end}{tail}"
    readme.write_text(text)


def main() -> None:
    """Write tables and plots."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--results", type=Path, default=HERE / "results")
    parser.add_argument("--readme", type=Path, default=HERE / "README.md")
    options = parser.parse_args()
    mpl.use("Agg")
    table = with_ratio(pd.read_csv(options.results / "real_labels.csv"))
    summaries, shown, tables = [summary(table)], table, {}
    for share in table["gold_share"].unique():
        part, at = table[table["gold_share"].eq(share)], summaries[0]
        tables[f"summary {share:g}"] = summary_table(at[at["gold_share"].eq(share)])
        tables[f"sets {share:g}"] = set_table(part)
    second = options.results / "correlated.csv"
    if second.exists():
        few = with_ratio(pd.read_csv(second))
        summaries.append(summary(few))
        tables["summary correlated"] = summary_table(summaries[1])
        tables["sets correlated"] = set_table(few)
        shown = pd.concat([table, few[few["method"].eq("correlated")]], ignore_index=True)
    pd.concat(summaries).to_csv(options.results / "summary.csv", index=False, float_format="%.4g")
    plot_coverage(shown, options.results / "coverage.png")
    plot_ratio(table, options.results / "rmse_ratio.png")
    if options.readme.exists():
        fill(options.readme, tables)
    print(pd.concat(summaries).round(3).to_string(index=False))


if __name__ == "__main__":
    main()
