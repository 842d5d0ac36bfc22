"""Build the bundled LLMBar tables from a folder with labels.csv, gold.csv and items.csv.

    python scripts/build_llmbar.py SOURCE_FOLDER [--output FOLDER]

labels.csv has item, labeler (model|prompt|order) and label (1: output 1 is better), gold.csv has
item and gold, items.csv has item, subset, len_1 and len_2 (characters of the outputs).
"""

import argparse
from pathlib import Path

import pandas as pd

PACKAGE_FOLDER = Path(__file__).resolve().parents[1] / "hero_bayes" / "data" / "datasets"
SIZES = {"items": 419, "labelers": 36, "verdicts": 15_032}
NAMES = {"subset": "prompt_group", "len_1": "output_1_chars", "len_2": "output_2_chars"}
SMALL = {"gold": "int8", "output_1_chars": "int16", "output_2_chars": "int16"}


def build(source: Path) -> dict[str, pd.DataFrame]:
    """Return the labels, items and labelers tables, sorted and in small types."""
    labels = pd.read_csv(source / "labels.csv")[["item", "labeler", "label"]]
    gold = pd.read_csv(source / "gold.csv")[["item", "gold"]]
    items = pd.read_csv(source / "items.csv")[["item", *NAMES]].rename(columns=NAMES)
    items = gold.merge(items, on="item", how="outer", validate="one_to_one").sort_values("item")
    labels = labels.sort_values(["item", "labeler"])
    labelers = pd.DataFrame({"labeler": sorted(labels["labeler"].unique())})
    found = {"items": len(items), "labelers": len(labelers), "verdicts": len(labels)}
    if found != SIZES or items.isna().any(axis=None) or set(labels["item"]) != set(items["item"]):
        raise SystemExit(f"not the LLMBar tables: expected {SIZES}, found {found}")
    labelers["family"] = labelers["labeler"].str.split("|").str[0]
    return {
        "labels": labels.astype({"item": "category", "labeler": "category", "label": "int8"}),
        "items": items.astype({**SMALL, "item": "str", "prompt_group": "category"}),
        "labelers": labelers.astype("str"),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("source", type=Path, help="folder with labels.csv, gold.csv, items.csv")
    parser.add_argument("--output", type=Path, default=PACKAGE_FOLDER)
    arguments = parser.parse_args()
    arguments.output.mkdir(parents=True, exist_ok=True)
    for name, table in build(arguments.source).items():
        path = arguments.output / f"llmbar_{name}.parquet"
        table.reset_index(drop=True).to_parquet(
            path, compression="zstd", compression_level=19, index=False
        )
        print(f"{path.name}: {len(table):,} rows, {path.stat().st_size / 1000:.1f} kB")


if __name__ == "__main__":
    main()
