"""Bundled real data, with licence and attribution."""

import dataclasses
from dataclasses import dataclass
from importlib import resources

import numpy as np
import pandas as pd

from hero_bayes.data.identifiers import contained
from hero_bayes.data.labels import Labels
from hero_bayes.errors import DataError

__all__ = ["DemoRounds", "available", "demo_rounds", "describe", "load"]

DEMO_HISTORY_ITEMS = 175
DEMO_GOLD_ITEMS = 40
DEMO_RATERS = 10
DEMO_SEED = 0


@dataclass(frozen=True)
class _Dataset:
    """What is known of a bundled data set; the field names are the columns of `available`."""

    name: str
    items: int
    labelers: int
    labels: int
    gold: int
    licence: str
    source: str
    citation: str
    covariates: tuple[str, ...]
    abstain: tuple[int, ...]
    about: str
    changes: str


DATASETS = {
    "dices350": _Dataset(
        name="dices350",
        items=350,
        labelers=123,
        labels=40_356,
        gold=350,
        licence="CC BY 4.0 (Google LLC)",
        source="https://github.com/google-research-datasets/dices-dataset",
        citation=(
            "Aroyo et al. (2023). DICES Dataset: Diversity in Conversational AI Evaluation for "
            "Safety. arXiv:2306.11247"
        ),
        covariates=("n_turns", "context_chars", "response_chars", "file_order"),
        abstain=(2,),
        about=(
            "Safety of the last reply in 350 adversarial conversations with a chatbot: 123 crowd "
            "raters judge every conversation (1 unsafe, 0 not unsafe, unsure an abstention); gold "
            "is the verdict of an expert panel."
        ),
        changes=(
            "texts, all answers but the overall verdict, and raters' demographic data left out; "
            "lengths of the texts added; raters numbered by the position of their rating; all "
            "raters kept"
        ),
    )
}


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
    """List the bundled data sets: sizes, licence, source, citation.

    Returns
    -------
    pandas.DataFrame
        One row a data set; ``labels`` does not count abstentions, ``gold`` counts items.
    """
    columns = ["name", "items", "labelers", "labels", "gold", "licence", "source", "citation"]
    rows = [[getattr(entry, column) for column in columns] for entry in DATASETS.values()]
    return pd.DataFrame(rows, columns=columns)


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


def load(name: str) -> Labels:
    """Load a bundled data set with all its labels, gold and covariates.

    Parameters
    ----------
    name : str
        A name listed by `available`.

    Returns
    -------
    Labels
        The whole set as one table.

    Raises
    ------
    DataError
        If there is no such data set.

    Examples
    --------
    >>> load("dices350").n_items
    350
    """
    entry = _entry(name)
    folder = resources.files(__name__)
    frames = []
    for table in ("labels", "items"):
        with (folder / f"{name}_{table}.parquet").open("rb") as file:
            frames.append(pd.read_parquet(file))
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


def _entry(name: str) -> _Dataset:
    if name not in DATASETS:
        raise DataError(f"there is no data set {name!r}; available are {', '.join(DATASETS)}")
    return DATASETS[name]
