"""Findings about the history and the current round seen together."""

import math
from collections import defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from hero_bayes.data.findings import Finding
from hero_bayes.data.identifiers import contained, number_of, some
from hero_bayes.data.panel import align, swap_hint

if TYPE_CHECKING:
    from hero_bayes.data.labels import Labels

__all__ = ["labeler_id_findings", "round_findings"]

#: Columns that say what an item is, and are no covariates.
ROLES = {"prompt", "prompt_group", "generation", "round", "arm"}
LABELS_PER_ITEM_RATIO = 1.5
ABSTENTION_DIFFERENCE = 0.10
ABSTENTION_Z = 3.0


def round_findings(history: "Labels", current: "Labels", shrink: str | None) -> Iterator[Finding]:
    """Yield what is dangerous in reading the current round by the history.

    ``shrink`` is the factor on the covariates that is in use, None where there is none.
    """
    if not (history.n_items and current.n_items):
        return
    if swap_hint(history, current):
        yield Finding(
            "warning",
            "gold_in_current_only",
            swap_hint(history, current),
            "pass the table with gold as history and the round to judge as current; if only the "
            "round to judge has gold, nothing is wrong",
        )
    yield from _labelers(history, current)
    yield from _shared_items(history, current)
    yield from _covariates(history, current)
    yield from _abstentions(history, current)
    yield from _labels_per_item(history, current)
    yield from _sizes(history, current, shrink)


def labeler_id_findings(*rounds: "Labels") -> Iterator[Finding]:
    """Yield labelers whose ids differ only by case."""
    spellings: dict[str, set[str]] = defaultdict(set)
    for labels in rounds:
        for name in labels.labelers:
            spellings[name.casefold()].add(name)
    twins = [sorted(names) for names in spellings.values() if len(names) > 1]
    if twins:
        yield Finding(
            "warning",
            "similar_labeler_ids",
            "labeler ids that differ only by case are different labelers: "
            + "; ".join(some(names) for names in sorted(twins)[:5]),
            "spell each labeler one way in all tables, if they are the same",
        )


def _labelers(history: "Labels", current: "Labels") -> Iterator[Finding]:
    panel = align(history, current, unseen="include")
    shared = contained(current.labelers, history.labelers)
    if not shared.any():
        yield Finding(
            "error",
            "no_shared_labeler",
            f"no labeler of the current round ({some(current.labelers)}) has a label in history "
            f"({some(history.labelers)})",
            "spell labeler ids alike in both rounds, or let the current labelers judge some "
            "history items, those with gold above all",
        )
    if panel.unseen:
        labels = current.labels_per_labeler[contained(current.labelers, panel.unseen)].sum()
        yield Finding(
            "warning",
            "unseen_labelers",
            f"{len(panel.unseen):,} of {current.n_labelers:,} current labelers "
            f"{'is' if len(panel.unseen) == 1 else 'are'} unseen in history and "
            f"{'has' if len(panel.unseen) == 1 else 'have'} no gold: {some(panel.unseen)}, with "
            f"{labels / max(current.n_labels, 1):.0%} of the current labels",
            'their labels are left out, except by models that pool labelers (model="pooled"); let '
            "them judge history items with gold",
        )


def _shared_items(history: "Labels", current: "Labels") -> Iterator[Finding]:
    shared = current.items[contained(current.items, history.items)]
    if len(shared):
        yield Finding(
            "warning",
            "shared_items",
            f"{number_of(len(shared), 'item id')} both in history and in the current round: "
            f"{some(shared)}; "
            "if they are the same items, their labels count twice",
            "leave them out of one round with select(items=); if ids merely start anew each "
            "round, make them unique",
        )


def _covariates(history: "Labels", current: "Labels") -> Iterator[Finding]:
    from hero_bayes.data.shift import covariate_shift

    for kind in ("covariates", "texts"):
        ours, theirs = getattr(history, kind), getattr(current, kind)
        for name in sorted((set(ours) ^ set(theirs)) - ROLES):
            side = "current round" if name in ours else "history"
            yield Finding(
                "warning",
                "covariate_not_shared",
                f"covariate {name!r} is missing in the {side}",
                "declare it on both with Labels.from_frames(..., covariates=[...])",
            )
    shared = [name for name in history.covariates if name in current.covariates]
    if not shared:
        return
    past = np.column_stack([history.covariates[name] for name in shared])
    now = np.column_stack([current.covariates[name] for name in shared])
    groups = current.groups("current")
    moves = []
    for position, group in enumerate(groups):
        shift = covariate_shift(past, now[current.group_idx == position], shared)
        moved = shift[shift["significant"].astype(bool)]
        where = "the current round" if len(groups) == 1 else f"current group {group}"
        moves += [(name, difference, where) for name, difference in moved["difference"].items()]
    for name, difference, where in moves:
        yield Finding(
            "warning",
            "covariate_shifted",
            f"covariate {name!r} moved by {difference:+.2f} standard deviations from history to "
            f"{where}",
            "hero2 and adjust pull towards the history mean: use features of the prompt only, "
            "never of the answer, and compare with history rounds of the same mix",
        )


def _abstentions(history: "Labels", current: "Labels") -> Iterator[Finding]:
    silent = np.array([len(labels.abstained_item) for labels in (history, current)])
    asked = silent + np.array([history.n_labels, current.n_labels])
    rate = silent / np.maximum(asked, 1)
    pooled = silent.sum() / max(asked.sum(), 1)
    noise = math.sqrt(pooled * (1 - pooled) * (1 / np.maximum(asked, 1)).sum())
    gap = abs(rate[0] - rate[1])
    if gap > ABSTENTION_DIFFERENCE and gap > ABSTENTION_Z * noise:
        yield Finding(
            "warning",
            "abstention_rate",
            f"abstentions went from {rate[0]:.0%} of the verdicts in history to {rate[1]:.0%}",
            "see whether verdicts are parsed alike; abstaining on hard items changes what the "
            "remaining labels mean",
        )


def _labels_per_item(history: "Labels", current: "Labels") -> Iterator[Finding]:
    medians = [float(np.median(labels.labels_per_item)) for labels in (history, current)]
    if max(medians) >= LABELS_PER_ITEM_RATIO * min(medians):
        yield Finding(
            "warning",
            "labels_per_item",
            f"median labels per item: {medians[0]:g} in history, {medians[1]:g} in the current "
            "round",
            "shares of votes do not carry over: score and auto thin both rounds to labels alike, "
            "which costs width; give both rounds as many labels an item",
        )


def _sizes(history: "Labels", current: "Labels", shrink: str | None) -> Iterator[Finding]:
    """A history that is too small for covariates with factor 1, where these are in use."""
    past, now = ({*labels.covariates, *labels.texts} - ROLES for labels in (history, current))
    if shrink == "paper" and past & now and history.n_items <= current.n_items:
        yield Finding(
            "warning",
            "small_history",
            f"history has {number_of(history.n_items, 'item')}, the current round "
            f"{current.n_items:,}: a covariate with factor 1 (hero2) removes no variance, or adds "
            "some",
            'use shrink="optimal" with covariates, or a longer history',
        )
