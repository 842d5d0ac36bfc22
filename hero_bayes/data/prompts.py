"""Which items of a label table belong to one prompt, or one group of prompts."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hero_bayes.data.labels import Labels

__all__ = [
    "PromptSlots",
    "clustered_variance",
    "effective_size",
    "prompt_clusters",
    "prompt_codes",
    "prompt_slots",
]


@dataclass(frozen=True)
class PromptSlots:
    """Items by prompt, a row a prompt.

    Attributes
    ----------
    names : tuple of str
        Prompts, with their group before them where there are several groups. Items without a prompt
        id are prompts of their own, named by the item.
    slots : int64 array (prompt, slot)
        1 + the position of each item of the prompt; 0 where there are no more. The number of slots
        is a power of two.
    group_idx, size : int64 array (prompt)
        The prompt's group, and how many items it has.
    """

    names: tuple[str, ...]
    slots: NDArray[np.int64]
    group_idx: NDArray[np.int64]
    size: NDArray[np.int64]


def prompt_codes(labels: Labels) -> NDArray[np.int64]:
    """Number of each item's prompt group where it has one, else of its prompt; else one of its own.

    Items with the same number are related, also where they are of different (round, arm) groups.
    """
    code = np.full(labels.n_items, -1, dtype=np.int64)
    for names in (labels.prompt_group, labels.prompt):
        if names is not None:
            found = pd.factorize(names)[0].astype(np.int64)  # -1 where there is none
            code = np.where((code < 0) & (found >= 0), found + code.max(initial=-1) + 1, code)
    alone = code < 0
    code[alone] = code.max(initial=-1) + 1 + np.arange(int(alone.sum()))
    return code


def prompt_clusters(labels: Labels) -> NDArray[np.int64] | None:
    """The numbers of `prompt_codes` from 0, or None where no (round, arm) group repeats one."""
    code = np.unique(prompt_codes(labels), return_inverse=True)[1].astype(np.int64)
    size = code.max(initial=-1) + 1
    if np.unique(labels.group_idx * size + code).size == code.size:
        return None
    return code


def clustered_variance(
    values: NDArray[np.float64],
    cluster_idx: NDArray[np.integer] | None,
    weight: NDArray[np.float64] | None = None,
) -> float:
    """Squared standard error of a mean over n items, times n.

    Of a weighted mean, over the sum of the squared weights. With clusters: G / (G - 1) times the
    sum over G clusters of (sum of the values - mean) squared, by item. Without: the variance.
    """
    if weight is None:
        weight = np.full(values.size, 1.0 / values.size)
    centred = values - weight @ values
    if cluster_idx is None:
        return float(weight @ centred**2)
    code = np.unique(cluster_idx[weight > 0], return_inverse=True)[1]
    total = np.bincount(code, weights=(weight * centred)[weight > 0])
    many = total.size / max(total.size - 1, 1)
    return float(total @ total) / float(weight @ weight) * many


def effective_size(weight: NDArray[np.float64], cluster_idx: NDArray[np.integer] | None) -> int:
    """How many items of one weight (prompts, where they repeat) a weighted mean rests on."""
    whole = weight if cluster_idx is None else np.bincount(cluster_idx, weights=weight)
    return round(1.0 / float(whole @ whole))


def prompt_slots(labels: Labels, role: str) -> PromptSlots:
    """Group the items of a round by (round, arm) group and prompt, in order of appearance."""
    groups = labels.groups(role)
    own = np.full(labels.n_items, None) if labels.prompt is None else labels.prompt
    code, names = pd.factorize(own)  # -1 for items without a prompt
    alone = code < 0
    code[alone] = len(names) + np.flatnonzero(alone)
    group = labels.group_idx.astype(np.int64)
    row, first = pd.factorize(group * (len(names) + labels.n_items) + code)
    size = np.bincount(row, minlength=len(first))
    width = 1 << (int(size.max(initial=1)) - 1).bit_length()
    order = np.argsort(row, kind="stable")
    slots = np.zeros((len(first), width), dtype=np.int64)
    slots[row[order], np.arange(row.size) - np.repeat(np.cumsum(size) - size, size)] = order + 1
    leader = slots[:, 0] - 1
    group_idx = group[leader]
    shown = np.where(alone[leader], labels.items[leader], own[leader])
    titles = []
    for name, at, single in zip(shown, group_idx, alone[leader], strict=True):
        place = "" if len(groups) == 1 else f"{groups[at]}/"
        titles.append(f"{place}{name}{' (item)' if single else ''}")
    return PromptSlots(tuple(titles), slots, group_idx, size)
