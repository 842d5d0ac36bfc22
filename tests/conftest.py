"""Fixtures shared by the rooms: the reference cases and one fit a model."""

import json
from pathlib import Path
from types import SimpleNamespace

import hypothesis
import pandas as pd
import pytest

from hero_bayes.data.labels import Labels

REFERENCE = Path(__file__).parent / "reference"
CASES = ("small", "partial_overlap", "paper_size")


def read_case(name):
    """History, current and expected values of one reference case."""
    case = json.loads((REFERENCE / f"{name}.json").read_text())
    rounds = []
    for role in ("history", "current"):
        columns = case[role]
        verdicts = pd.DataFrame({key: columns[key] for key in ("item", "labeler", "label")})
        items = pd.DataFrame({"item": range(len(columns["x"])), "x": columns["x"]})
        if "gold" in columns:
            items["gold"] = pd.array(columns["gold"], dtype="Int8")
        rounds.append(Labels.from_frames(verdicts, items, covariates=["x"]))
    return SimpleNamespace(
        name=name, history=rounds[0], current=rounds[1], expected=case["expected"]
    )


@pytest.fixture(scope="session", params=CASES)
def case(request):
    """Each reference case in turn."""
    return read_case(request.param)


@pytest.fixture(scope="session")
def cases():
    """All reference cases by name."""
    return {name: read_case(name) for name in CASES}


# The same examples in every run, so that a result never depends on the day.
hypothesis.settings.register_profile("fixed", derandomize=True)
hypothesis.settings.load_profile("fixed")
