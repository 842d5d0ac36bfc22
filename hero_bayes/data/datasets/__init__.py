"""Bundled real data, with licence and attribution."""

import dataclasses
from dataclasses import dataclass
from importlib import resources
from typing import Literal, overload

import numpy as np
import pandas as pd

from hero_bayes.data.datasets.catalogue import (
    GENERATION_SETS,
    LABEL_SETS,
    GenerationSet,
    LabelSet,
)
from hero_bayes.data.generations import Generations
from hero_bayes.data.identifiers import contained
from hero_bayes.data.labels import Labels
from hero_bayes.errors import DataError

__all__ = ["DemoRounds", "available", "demo_rounds", "describe", "load"]

DEMO_HISTORY_ITEMS = 175
DEMO_GOLD_ITEMS = 40
DEMO_RATERS = 10
DEMO_SEED = 0
SIZES = ("items", "labelers", "labels", "gold", "prompts", "models", "generations")
DATASETS: dict[str, LabelSet | GenerationSet] = {**LABEL_SETS, **GENERATION_SETS}


@dataclass(frozen=True)
class DemoRounds:
    """Two rounds cut from dices350, with the truth that was held back.

    Attributes
    ----------
    history : Labels
        The earlier conversations; a few carry gold.
    current : Labels
        The later conversations, without gold.
    truth : float
        Share of unsafe replies among the current conversations, by the withheld gold.
    """

    history: Labels
    current: Labels
    truth: float


def available() -> pd.DataFrame:
    """List the bundled data sets: kind, sizes, licence, source, citation.

    Returns
    -------
    pandas.DataFrame
        One row a data set. ``kind`` is "labels" or "generations"; sizes of the other kind are
        missing. ``labels`` does not count abstentions, ``gold`` counts items.
    """
    columns = ["name", "kind", *SIZES, "licence", "source", "citation"]
    rows = [[getattr(entry, column, None) for column in columns] for entry in DATASETS.values()]
    return pd.DataFrame(rows, columns=columns).astype(dict.fromkeys(SIZES, "Int64"))


def describe(name: str) -> str:
    """Say what a data set is, where it comes from, and whom to credit.

    Parameters
    ----------
    name : str
        A name listed by `available`.
    """
    entry = _entry(name)
    return (
        f"{entry.name}: {entry.about}\nSource: {entry.source}\nLicence: {entry.licence}\n"
        f"Citation: {entry.citation}\nChanges made: {entry.changes}."
    )


@overload
def load(name: Literal["dices350", "llmbar"]) -> Labels: ...
@overload
def load(name: Literal["game24_gpt4", "cruxeval"]) -> Generations: ...
@overload
def load(name: str) -> Labels | Generations: ...
def load(name: str) -> Labels | Generations:
    """Load a bundled data set.

    Parameters
    ----------
    name : str
        A name listed by `available`.

    Returns
    -------
    Labels or Generations
        By the ``kind`` of the set; with all its labels, gold, covariates and labeler families, or
        all its scored generations and their answers.

    Raises
    ------
    DataError
        If there is no such data set.

    Examples
    --------
    >>> load("dices350").n_items
    350
    >>> sorted(set(load("llmbar").family))
    ['ChatGPT', 'ChatGPT-0301', 'Falcon', 'GPT-4', 'LLaMA2', 'PaLM2']
    >>> load("game24_gpt4")
    Generations(100 prompts, 2 models, k = 100)
    """
    entry = _entry(name)
    if isinstance(entry, GenerationSet):
        return Generations.from_frame(_table(name))
    tables = ("labels", "items", "labelers") if entry.families else ("labels", "items")
    frames = (_table(f"{name}_{table}") for table in tables)
    return Labels.from_frames(*frames, covariates=entry.covariates, abstain=entry.abstain)


def demo_rounds() -> DemoRounds:
    """Cut dices350 into the two rounds of the demo; nothing is chosen by result.

    History is the first 175 conversations in file order, 40 of them, drawn at random, with gold.
    The current round is the other 175, gold withheld. The labelers are the first 10 raters. A
    conversation on which all ten were unsure is left out, and counted in ``items_dropped``.

    Returns
    -------
    DemoRounds
        History, current round, and the withheld truth.
    """
    full = load("dices350")
    panel = full.select(labelers=full.labelers[:DEMO_RATERS], unlabeled="drop")
    earlier = panel.covariates["file_order"] < DEMO_HISTORY_ITEMS
    in_order = full.covariates["file_order"] < DEMO_HISTORY_ITEMS
    # The place in the file separates the rounds by construction: no covariate of the demo.
    kept = {name: x for name, x in panel.covariates.items() if name != "file_order"}
    panel = dataclasses.replace(panel, covariates=kept)
    dropped = ~contained(full.items, panel.items)
    history = dataclasses.replace(
        panel.select(items=earlier), items_dropped=int((dropped & in_order).sum())
    )
    current = dataclasses.replace(
        panel.select(items=~earlier), items_dropped=int((dropped & ~in_order).sum())
    )
    chosen = np.random.default_rng(DEMO_SEED).choice(
        history.n_items, size=DEMO_GOLD_ITEMS, replace=False
    )
    gold = np.full(history.n_items, np.nan)
    gold[chosen] = history.gold[chosen]
    return DemoRounds(
        history=history.with_gold(gold),
        current=current.without_gold(),
        truth=float(current.gold.mean()),
    )


def _entry(name: str) -> LabelSet | GenerationSet:
    if name not in DATASETS:
        raise DataError(f"there is no data set {name!r}; available are {', '.join(DATASETS)}")
    return DATASETS[name]


def _table(name: str) -> pd.DataFrame:
    with (resources.files(__name__) / f"{name}.parquet").open("rb") as file:
        return pd.read_parquet(file)
