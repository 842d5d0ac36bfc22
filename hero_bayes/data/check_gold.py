"""Findings about the gold of all rounds together."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from hero_bayes.data.findings import Finding
from hero_bayes.data.identifiers import number_of, some
from hero_bayes.data.shared_errors import shared_errors
from hero_bayes.errors import Refusal

if TYPE_CHECKING:
    from hero_bayes.data.labels import Labels

__all__ = ["gold_findings"]

FEW_GOLD = 10
MIN_GOLD_TO_JUDGE = 5


def gold_findings(rounds: Sequence["Labels"]) -> Iterator[Finding]:
    """Yield what is dangerous about the gold.

    Parameters
    ----------
    rounds : sequence of Labels
        History, and the current round where there is one: its gold is used too. One table alone
        may be a current round, which needs no gold.
    """
    silent = sum(labels.gold_abstained for labels in rounds)
    if silent:
        yield Finding(
            "note",
            "gold_abstained",
            f"no verdict of the expert on {number_of(silent, 'item')}: no gold there",
            "if the word is a verdict in the gold, leave it out of abstain=",
        )
    gold = np.concatenate([labels.gold for labels in rounds])
    counts = {cls: int((gold == cls).sum()) for cls in (1, 0)}
    if not sum(counts.values()):
        yield Finding(
            "error" if len(rounds) > 1 else "note",
            "no_gold",
            "no item has gold: only majority_vote and dawid_skene can answer"
            + ("" if len(rounds) > 1 else " without a history that has"),
            "have experts judge some history items of each kind and pass them as the gold column",
        )
        return
    for cls, count in counts.items():
        if not count:
            yield Finding(
                "error",
                "gold_one_class",
                f"no gold of class {cls}: the "
                f"{'sensitivity' if cls else 'specificity'} of the labelers cannot be learnt, so "
                "methods anchored in gold refuse",
                f"have experts judge items that are likely of class {cls}",
            )
        elif count < FEW_GOLD:
            yield Finding(
                "warning",
                "few_gold",
                f"only {number_of(count, 'gold item')} of class {cls}",
                f"add gold of class {cls} ({FEW_GOLD} at least; some 25 make intervals useful)",
            )
    if min(counts.values()):
        yield from _errors_shared(rounds[0])
    table = _by_labeler(rounds)
    if min(counts.values()):
        yield from _without_class(table)
    yield from _no_better_than_chance(table)


def _by_labeler(rounds: Sequence["Labels"]) -> pd.DataFrame:
    """Count, by labeler: labels on gold of each class, and the right ones among them."""
    parts = []
    for labels in rounds:
        gold = np.repeat(labels.gold, labels.labels_per_item)
        counts = {}
        for cls in (1, 0):
            for name, rows in (
                ("n", gold == cls),
                ("right", (gold == cls) & (labels.label == cls)),
            ):
                counts[f"{name}_{cls}"] = np.bincount(
                    labels.labeler_idx[rows], minlength=labels.n_labelers
                )
        parts.append(pd.DataFrame(counts, index=pd.Index(labels.labelers, dtype=object)))
    return pd.concat(parts).groupby(level=0, sort=True).sum()


def _without_class(table: pd.DataFrame) -> Iterator[Finding]:
    for cls in (1, 0):
        names = table.index[table[f"n_{cls}"] == 0]
        if len(names):
            yield Finding(
                "warning",
                "labelers_without_gold",
                f"{len(names):,} of {number_of(len(table), 'labeler')} "
                f"{'has' if len(names) == 1 else 'have'} no label on gold of class {cls}: "
                f"{some(names)}",
                "give them gold items to label, or use a model that pools labelers",
            )


def _no_better_than_chance(table: pd.DataFrame) -> Iterator[Finding]:
    judged = table[(table["n_1"] >= MIN_GOLD_TO_JUDGE) & (table["n_0"] >= MIN_GOLD_TO_JUDGE)]
    sensitivity = judged["right_1"] / judged["n_1"]
    specificity = judged["right_0"] / judged["n_0"]
    poor = judged.index[sensitivity + specificity <= 1]
    if len(poor):
        yield Finding(
            "warning",
            "no_better_than_chance",
            f"{len(poor):,} of {number_of(len(judged), 'labeler')} with {MIN_GOLD_TO_JUDGE} gold "
            f"items of each class {'does' if len(poor) == 1 else 'do'} no better on them than "
            f"chance: {some(poor)}",
            "see whether their labels are flipped (positive=); else leave them out",
        )


def _errors_shared(history: "Labels") -> Iterator[Finding]:
    """Labelers that err on the same items, where gold shows it beyond chance."""
    try:
        errors = shared_errors(history, 0.95, np.random.default_rng(0))
    except Refusal:
        return
    if errors.visible:
        yield Finding(
            "warning",
            "errors_shared",
            f"labelers err on the same items: correlation {errors.overall.value:.2f} within a "
            f"class of the {errors.n_items} gold items, so that {errors.labels_per_item:.1f} "
            f"labels an item are worth about {errors.effective_judges.value:.1f} independent ones",
            'keep to model="auto", which lets errors be shared; intervals of hero1, hero2 and '
            "models that take errors to be independent given the truth are too narrow",
        )
