"""Build the bundled DICES-350 tables from a folder with labels.csv, gold.csv and items.csv.

    python scripts/build_dices350.py SOURCE_FOLDER [--output FOLDER]

labels.csv has item, labeler and label (1 unsafe, 0 not unsafe, 2 unsure), gold.csv has item and
gold, items.csv has item, file_order, n_turns, context_chars and response_chars.
"""

import argparse
from pathlib import Path

import pandas as pd

PACKAGE_FOLDER = Path(__file__).resolve().parents[1] / "hero_bayes" / "data" / "datasets"
COVARIATES = ["file_order", "n_turns", "context_chars", "response_chars"]
SIZES = {"items": 350, "labelers": 123, "verdicts": 43_050}


def build(source: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the labels and the items table, sorted and in small integer types."""
    labels = pd.read_csv(source / "labels.csv")[["item", "labeler", "label"]]
    gold = pd.read_csv(source / "gold.csv")[["item", "gold"]]
    items = pd.read_csv(source / "items.csv")[["item", *COVARIATES]]
    items = gold.merge(items, on="item", how="outer", validate="one_to_one").sort_values("item")
    labels = labels.sort_values(["item", "labeler"])
    found = {
        "items": len(items),
        "labelers": labels["labeler"].nunique(),
        "verdicts": len(labels),
    }
    if found != SIZES or items.isna().any(axis=None) or set(labels["item"]) != set(items["item"]):
        raise SystemExit(f"not the DICES-350 tables: expected {SIZES}, found {found}")
    labels = labels.astype({"item": "int16", "labeler": "category", "label": "int8"})
    items = items.astype({"item": "int16", "gold": "int8", **dict.fromkeys(COVARIATES, "int32")})
    return labels.reset_index(drop=True), items.reset_index(drop=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("source", type=Path, help="folder with labels.csv, gold.csv, items.csv")
    parser.add_argument("--output", type=Path, default=PACKAGE_FOLDER)
    arguments = parser.parse_args()
    arguments.output.mkdir(parents=True, exist_ok=True)
    for name, table in zip(("labels", "items"), build(arguments.source), strict=True):
        path = arguments.output / f"dices350_{name}.parquet"
        table.to_parquet(path, compression="zstd", compression_level=19, index=False)
        print(f"{path.name}: {len(table):,} rows, {path.stat().st_size / 1000:.1f} kB")


if __name__ == "__main__":
    main()
