from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

import hero_bayes as hb
from hero_bayes.cli.main import main


class Outcome(NamedTuple):
    code: int
    out: str
    err: str


class Files(NamedTuple):
    """The demo rounds as files, with yes/no words in a second set."""

    folder: Path
    history: str
    history_items: str
    current: str
    current_items: str
    items: str


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> Callable[..., Outcome]:
    """Run a command line in this process."""

    def call(*words: object) -> Outcome:
        code = main([str(word) for word in words])
        said = capsys.readouterr()
        return Outcome(code, said.out, said.err)

    return call


@pytest.fixture(scope="session")
def rounds():
    return hb.datasets.demo_rounds()


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory, rounds) -> Files:
    import pandas as pd

    folder = tmp_path_factory.mktemp("tables")
    paths, items = [], []
    for name, labels in (("history", rounds.history), ("current", rounds.current)):
        frames = labels.to_frames()
        frames.labels.to_csv(folder / f"{name}.csv", index=False)
        frames.items.to_csv(folder / f"{name}_items.csv", index=False)
        paths += [str(folder / f"{name}.csv"), str(folder / f"{name}_items.csv")]
        items.append(frames.items)
    both = pd.concat(items)
    extra = both.tail(1).assign(item="nowhere")
    pd.concat([both, extra]).to_csv(folder / "items.csv", index=False)
    return Files(folder, *paths, str(folder / "items.csv"))


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, str], Path]:
    """Write a small text file."""

    def make(name: str, text: str) -> Path:
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return make
