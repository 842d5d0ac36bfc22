"""How much the tables of a fit can tell: counts that the gate reads, kept in the fit."""

from collections.abc import Iterable, Sequence
from itertools import combinations

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from hero_bayes.data.labels import Labels

#: Labelers that are counted together; larger sets are never needed to reach the parameters.
LARGEST_SET = 3


def information_counts(
    history: Labels, current: Labels, labelers: Sequence[str], *, cut: bool
) -> xr.Dataset:
    """What informs each labeler, and what the label patterns of each group can tell.

    Parameters
    ----------
    history, current : Labels
    labelers : sequence of str
        The model's labeler coordinate.
    cut : bool
        Whether the current labels without gold stay out of what informs the labelers.

    Returns
    -------
    Dataset
        ``positive_gold_labels`` and ``negative_gold_labels`` (labeler): labels on items with gold 1
        and 0, both rounds. ``informing_labels`` (labeler): labels that inform the labeler.
        ``current_labels`` (labeler). ``pattern_degrees_of_freedom`` (history_group) and, in a joint
        fit, ``current_pattern_degrees_of_freedom`` (group).

    Notes
    -----
    Patterns of J labelers who all label every item have 2^J - 1 degrees of freedom: one for each
    non-empty set of labelers. Where items are labeled by different sets, a set counts once some
    item was labeled by all of it. No more than the distinct patterns seen are counted, and
    counting stops at the number of parameters.
    """
    position = {name: k for k, name in enumerate(labelers)}
    past, now = (_positions(labels, position) for labels in (history, current))
    gold = {1: np.zeros(len(labelers)), 0: np.zeros(len(labelers))}
    informing = np.zeros(len(labelers))
    for labels, where, all_of_it in ((history, past, True), (current, now, not cut)):
        truth = np.repeat(labels.gold, labels.labels_per_item)
        known = where >= 0
        for value, counts in gold.items():
            counts += np.bincount(where[known & (truth == value)], minlength=len(labelers))
        informs = known & (all_of_it | ~np.isnan(truth))
        informing += np.bincount(where[informs], minlength=len(labelers))
    enough = 2 * len(labelers) + history.n_groups + current.n_groups
    variables = {
        "positive_gold_labels": ("labeler", gold[1].astype(np.int64)),
        "negative_gold_labels": ("labeler", gold[0].astype(np.int64)),
        "informing_labels": ("labeler", informing.astype(np.int64)),
        "current_labels": (
            "labeler",
            np.bincount(now[now >= 0], minlength=len(labelers)).astype(np.int64),
        ),
        "pattern_degrees_of_freedom": (
            "history_group",
            _degrees_of_freedom(history, past, enough),
        ),
    }
    if not cut:
        variables["current_pattern_degrees_of_freedom"] = (
            "group",
            _degrees_of_freedom(current, now, enough),
        )
    coords = {
        "labeler": list(labelers),
        "history_group": history.groups("history"),
        "group": current.groups("current"),
    }
    return xr.Dataset(variables, coords=coords)


def _positions(labels: Labels, position: dict[str, int]) -> NDArray[np.int64]:
    """Who gave each label, as a position on the model's labeler coordinate; -1 if unknown to it."""
    by_labeler = np.array([position.get(str(name), -1) for name in labels.labelers], dtype=np.int64)
    return by_labeler[labels.labeler_idx]


def _degrees_of_freedom(labels: Labels, where: NDArray[np.int64], enough: int) -> NDArray[np.int64]:
    """By group, the smaller of labeler sets seen together and distinct patterns seen."""
    out = np.zeros(labels.n_groups, dtype=np.int64)
    for group in range(labels.n_groups):
        rows = (
            (where[low:high], labels.label[low:high])
            for low, high in (
                labels.item_ptr[item : item + 2]
                for item in np.flatnonzero(labels.group_idx == group)
            )
        )
        out[group] = _count(rows, enough)
    return out


def _count(
    rows: Iterable[tuple[NDArray[np.int64], NDArray[np.int8]]],
    enough: int,
) -> int:
    """Labeler sets or distinct patterns, whichever are fewer; stops when both are enough."""
    sets: set[tuple[int, ...]] = set()
    patterns: set[tuple[bytes, bytes]] = set()
    for who, verdict in rows:
        known = who >= 0
        pattern = (who[known].tobytes(), verdict[known].tobytes())
        if not known.any() or pattern in patterns:
            continue
        patterns.add(pattern)
        members = sorted(set(who[known].tolist()))
        for size in range(1, LARGEST_SET + 1):
            if len(sets) >= enough:
                break
            sets.update(combinations(members, size))
        if min(len(sets), len(patterns)) >= enough:
            break
    return min(len(sets), len(patterns), enough)
