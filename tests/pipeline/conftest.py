from collections.abc import Callable
from pathlib import Path

import pytest

import hero_bayes as hb
from hero_bayes.pipeline.config import Config, read_config
from hero_bayes.pipeline.running import RunResult, run_config

#: A run of a second: one score, few draws, a small sweep.
QUICK = """
[data]
history = {labels = "history_labels.csv", items = "history_items.csv"}
current = {labels = "current_labels.csv", items = "current_items.csv"}
covariates = ["n_turns", "response_chars"]
[model]
name = "score"
random_seed = 4
draws = 200
priors = {score = "votes"}
[[rule]]
metric = "prevalence_adjusted"
direction = "<="
threshold = 0.05
probability = 0.95
[sensitivity]
grid = [-0.5, 0.5]
draws = 50
"""


@pytest.fixture(scope="session")
def rounds():
    return hb.datasets.demo_rounds()


@pytest.fixture(scope="session")
def tables(tmp_path_factory: pytest.TempPathFactory, rounds) -> Path:
    """A folder with the demo rounds as CSV files."""
    folder = tmp_path_factory.mktemp("tables")
    for name, labels in (("history", rounds.history), ("current", rounds.current)):
        frames = labels.to_frames()
        frames.labels.to_csv(folder / f"{name}_labels.csv", index=False)
        frames.items.to_csv(folder / f"{name}_items.csv", index=False)
    return folder


@pytest.fixture
def quick() -> str:
    return QUICK


@pytest.fixture(scope="session")
def configure(tables: Path) -> Callable[..., Config]:
    """The quick config with some of its text replaced, read from a file beside the tables."""

    def make(*changes: tuple[str, str], text: str = QUICK) -> Config:
        for old, new in changes:
            assert old in text
            text = text.replace(old, new)
        path = tables / "release.toml"
        path.write_text(text, encoding="utf-8")
        return read_config(path)

    return make


@pytest.fixture(scope="session")
def result(configure: Callable[..., Config]) -> RunResult:
    return run_config(configure())
