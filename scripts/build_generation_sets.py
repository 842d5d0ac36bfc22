"""Build the bundled tables of generations from a folder with the two source tables.

    python scripts/build_generation_sets.py SOURCE_FOLDER [--output FOLDER]

game24_gpt4_k100.csv and cruxeval_output_t08.csv have prompt_id, generation, answer, correct, model.
"""

import argparse
from pathlib import Path

import pandas as pd

from hero_bayes.data.generations import Generations

PACKAGE_FOLDER = Path(__file__).resolve().parents[1] / "hero_bayes" / "data" / "datasets"
SMALL = {"generation": "int8", "correct": "int8"}
REPEATED = ("model", "prompt", "answer")
#: Name of the bundled set: source table, models kept (None: all), rows kept.
SETS: dict[str, tuple[str, list[str] | None, int]] = {
    "game24_gpt4": ("game24_gpt4_k100.csv", None, 20_000),
    "cruxeval": (
        "cruxeval_output_t08.csv",
        ["codellama-34b", "gpt-3.5-turbo-0613", "gpt-4-0613+cot"],
        24_000,
    ),
}


def build(source: Path, name: str) -> pd.DataFrame:
    """Return one table, sorted and in small types."""
    file, models, rows = SETS[name]
    generations = Generations.from_csv(source / file)
    if models is not None:
        generations = generations.select(models)
    if generations.n_generations != rows or not generations.is_balanced:
        raise SystemExit(f"not the {name} table: expected {rows:,} rows, found {generations}")
    return generations.to_frame().astype({**SMALL, **dict.fromkeys(REPEATED, "category")})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("source", type=Path, help="folder with the two CSV tables")
    parser.add_argument("--output", type=Path, default=PACKAGE_FOLDER)
    arguments = parser.parse_args()
    arguments.output.mkdir(parents=True, exist_ok=True)
    for name in SETS:
        table = build(arguments.source, name)
        path = arguments.output / f"{name}.parquet"
        table.to_parquet(path, compression="zstd", compression_level=19, index=False)
        print(f"{path.name}: {len(table):,} rows, {path.stat().st_size / 1000:.1f} kB")


if __name__ == "__main__":
    main()
