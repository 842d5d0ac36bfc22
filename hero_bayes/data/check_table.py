"""Findings about one label table on its own."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from hero_bayes.data.findings import Finding
from hero_bayes.data.identifiers import number_of, some

if TYPE_CHECKING:
    from hero_bayes.data.labels import Labels

__all__ = ["table_findings"]

MIN_GROUP_ITEMS = 30
MIN_LABELS_TO_CALL_CONSTANT = 20
MIN_LABELERS = 3


def table_findings(labels: "Labels", role: str) -> Iterator[Finding]:
    """Yield what is dangerous in one table.

    Parameters
    ----------
    labels : Labels
        The table.
    role : {"history", "current"}
        Which round it is, for the messages.
    """
    if not labels.n_items:
        return
    yield from _repeats(labels, role)
    yield from _constant_labelers(labels, role)
    yield from _constant_covariates(labels, role)
    yield from _small_groups(labels, role)


def few_labelers(labels: "Labels", role: str) -> Iterator[Finding]:
    """Yield a finding when Dawid-Skene on the table alone is not identified."""
    if labels.n_labelers < MIN_LABELERS:
        yield Finding(
            "warning",
            "few_labelers",
            f"{role} has {number_of(labels.n_labelers, 'labeler')}: "
            "without gold their quality cannot be told from the truth, so dawid_skene is not "
            "identified",
            f"use a method anchored in gold, or add labelers ({MIN_LABELERS} at least)",
        )


def _repeats(labels: "Labels", role: str) -> Iterator[Finding]:
    item_idx = np.repeat(np.arange(labels.n_items), labels.labels_per_item)
    pair = item_idx * max(labels.n_labelers, 1) + labels.labeler_idx
    extra = len(pair) - len(np.unique(pair))
    if extra:
        yield Finding(
            "warning",
            "repeats_kept",
            f"{number_of(extra, 'label')} in {role} repeating another of the same labeler on the "
            "same item, counted as independent",
            'repeated verdicts rarely are independent: read the table with repeats="majority" or '
            '"first"',
        )


def _constant_labelers(labels: "Labels", role: str) -> Iterator[Finding]:
    counts = labels.labels_per_labeler
    ones = np.bincount(labels.labeler_idx, weights=labels.label, minlength=labels.n_labelers)
    constant = (counts >= MIN_LABELS_TO_CALL_CONSTANT) & ((ones == 0) | (ones == counts))
    if constant.any():
        yield Finding(
            "warning",
            "constant_labeler",
            f"always the same label in {role}, over {MIN_LABELS_TO_CALL_CONSTANT} labels or more: "
            f"{some(labels.labelers[constant])}",
            "look at how these verdicts are parsed; leave the labelers out with select(labelers=)",
        )


def _constant_covariates(labels: "Labels", role: str) -> Iterator[Finding]:
    constant = [name for name, x in labels.covariates.items() if x.min() == x.max()]
    if constant:
        yield Finding(
            "warning",
            "constant_covariate",
            f"the same value for every item in {role}: covariate {some(constant)}",
            "leave the covariate out: it cannot explain anything",
        )
    if labels.n_groups == 1:
        return
    for name, x in labels.covariates.items():
        if name in constant:
            continue
        within = [
            group
            for idx, group in enumerate(labels.groups(role))
            if (values := x[labels.group_idx == idx]).size and values.min() == values.max()
        ]
        if within:
            yield Finding(
                "warning",
                "covariate_constant_in_group",
                f"covariate {name!r} has one value within {some(within)} of {role}",
                "leave it out if it only names the group; its mean must not depend on the arm",
            )


def _small_groups(labels: "Labels", role: str) -> Iterator[Finding]:
    sizes = np.bincount(labels.group_idx, minlength=labels.n_groups)
    small = [
        f"{name} ({size})"
        for name, size in zip(labels.groups(role), sizes, strict=True)
        if size < MIN_GROUP_ITEMS
    ]
    if small:
        yield Finding(
            "note",
            "small_group",
            f"fewer than {MIN_GROUP_ITEMS} items in a group of {role}: "
            + ", ".join(small[:5])
            + (f" and {len(small) - 5:,} more" if len(small) > 5 else ""),
            "expect wide intervals; prefer a posterior to a standard error here",
        )
