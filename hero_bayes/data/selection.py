"""Parts of a label table: chosen items and labelers, other coordinates, other gold."""

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from hero_bayes.data.building import UNLABELED, check_choice, compress
from hero_bayes.data.identifiers import contained, id_strings, number_of, read_ids, some
from hero_bayes.data.tables import need_scalars
from hero_bayes.data.verdicts import INVALID, PLAIN, invalid_message, read
from hero_bayes.errors import DataError

if TYPE_CHECKING:
    from hero_bayes.data.labels import Labels

__all__ = ["select", "take_items", "with_gold", "with_labelers"]

Mask = NDArray[np.bool_]


def select(
    labels: "Labels",
    items: Any,
    labelers: Any,
    rounds: Any,
    arms: Any,
    gold: bool | None,
    unlabeled: str,
) -> "Labels":
    """Keep some items and labelers; see `Labels.select`."""
    check_choice("unlabeled", unlabeled, UNLABELED)
    mask = np.ones(labels.n_items, dtype=bool)
    if items is not None:
        mask &= _item_mask(labels, items)
    for role, wanted in (("round", rounds), ("arm", arms)):
        if wanted is not None:
            names = np.array(getattr(labels, f"group_{role}"), dtype=object)
            mask &= _mask(role, names, wanted)[labels.group_idx]
    if gold is not None:
        mask &= labels.has_gold == gold
    result = labels
    if labelers is not None:
        kept = _mask("labeler", labels.labelers, labelers)
        result = with_labelers(labels, labels.labelers[kept])
    result = take_items(result, mask)
    if not result.n_items:
        raise DataError("the selection leaves no item: ask for less at once")
    empty = result.labels_per_item == 0
    if empty.any():
        if unlabeled == "error":
            raise DataError(
                f"the selection leaves {number_of(int(empty.sum()), 'item')} without a label: "
                f'{some(result.items[empty])}; pass unlabeled="drop" to leave them out'
            )
        if empty.all():
            raise DataError("the selection leaves no item with a label")
        result = take_items(result, ~empty)
    result = _without_empty_groups(result)
    result = with_labelers(result, result.labelers[result.labels_per_labeler > 0], abstained=True)
    return dataclasses.replace(result, items_dropped=labels.items_dropped + int(empty.sum()))


def take_items(labels: "Labels", items_idx: ArrayLike) -> "Labels":
    """Keep items by mask or index; labelers and groups stay, the result may be empty."""
    chosen = np.asarray(items_idx)
    if chosen.dtype == bool:
        if len(chosen) != labels.n_items:
            raise DataError(
                f"the mask has {len(chosen):,} entries, the table has {labels.n_items:,} items"
            )
        idx = np.flatnonzero(chosen)
    else:
        idx = np.unique(chosen.astype(np.int64))
        if len(idx) and (idx[0] < 0 or idx[-1] >= labels.n_items):
            raise DataError(f"item positions run from 0 to {labels.n_items - 1:,}")
    if len(idx) == labels.n_items:
        return labels
    in_item = np.zeros(labels.n_items, dtype=bool)
    in_item[idx] = True
    counts = labels.labels_per_item
    rows = np.repeat(in_item, counts)
    abstained = contained(labels.abstained_item, labels.items[idx])
    changes: dict[str, Any] = {
        name: None if getattr(labels, name) is None else getattr(labels, name)[idx]
        for name in (
            "items",
            "gold",
            "group_idx",
            "prompt",
            "prompt_group",
            "generation",
            "gold_prob",
        )
    }
    return dataclasses.replace(
        labels,
        item_ptr=np.concatenate([[0], np.cumsum(counts[idx])]).astype(np.int64),
        labeler_idx=labels.labeler_idx[rows],
        label=labels.label[rows],
        covariates={name: values[idx] for name, values in labels.covariates.items()},
        texts={name: values[idx] for name, values in labels.texts.items()},
        abstained_item=labels.abstained_item[abstained],
        abstained_labeler=labels.abstained_labeler[abstained],
        **changes,
    )


def with_labelers(
    labels: "Labels", labelers: Sequence[str] | NDArray[np.object_], abstained: bool = False
) -> "Labels":
    """Put the labels on the given labeler coordinate; all items stay.

    Parameters
    ----------
    labels : Labels
        The table.
    labelers : sequence of str
        The new coordinate, in its order. Labels of labelers not in it are dropped.
    abstained : bool
        Keep the abstentions of labelers that are not in it.
    """
    new = np.empty(len(labelers), dtype=object)
    new[:] = [str(name) for name in labelers]
    position = {name: i for i, name in enumerate(new)}
    if len(position) < len(new):
        raise DataError("the labelers must be distinct")
    if np.array_equal(new, labels.labelers) and abstained:
        return labels
    moved = np.array([position.get(name, -1) for name in labels.labelers], dtype=np.int64)
    labeler_idx = moved[labels.labeler_idx]
    rows = labeler_idx >= 0
    item_idx = np.repeat(np.arange(labels.n_items), labels.labels_per_item)
    known = dict(zip(labels.labelers, zip(labels.family, labels.version, strict=True), strict=True))
    about = [known.get(name, (None, None)) for name in new]
    silent = np.ones(len(labels.abstained_item), dtype=bool)
    if not abstained:
        silent = contained(labels.abstained_labeler, new)
    arrays = compress(
        item_idx[rows],
        labeler_idx[rows],
        labels.label[rows],
        labels.n_items,
        np.ones(len(new), dtype=bool),
    )
    return dataclasses.replace(
        labels,
        labelers=new,
        family=tuple(family for family, _ in about),
        version=tuple(version for _, version in about),
        abstained_item=labels.abstained_item[silent],
        abstained_labeler=labels.abstained_labeler[silent],
        **arrays,
    )


def with_gold(labels: "Labels", gold: Any) -> "Labels":
    """Replace the gold: a Series by item id (absent ids have none), or an array over items."""
    values = gold if isinstance(gold, pd.Series) else pd.Series(np.asarray(gold, dtype=object))
    need_scalars("the new gold", values.to_frame("gold"), ["gold"])
    parsed = read(values, PLAIN, frozenset())
    if (parsed.code == INVALID).any():
        raise DataError(invalid_message("gold", "new gold", parsed, None))
    numbers = np.where(parsed.code >= 0, parsed.code.astype(np.float64), np.nan)
    if not isinstance(gold, pd.Series):
        if len(numbers) != labels.n_items:
            raise DataError(
                f"the gold has {len(numbers):,} entries, the table has {labels.n_items:,} items; "
                "pass a Series indexed by item id to give gold for some"
            )
        return dataclasses.replace(labels, gold=numbers, gold_abstained=0)
    codes, ids = read_ids(pd.Series(gold.index.to_numpy()))
    found = ids[codes[codes >= 0]]
    if len(found) < len(codes) or len(set(found)) < len(found):
        raise DataError("the index of the gold must hold one item id per row, each once")
    position = {name: i for i, name in enumerate(labels.items)}
    unknown = [name for name in found if name not in position]
    if unknown:
        raise DataError(f"gold for items that are not in the table: {some(unknown)}")
    result = np.full(labels.n_items, np.nan)
    result[[position[name] for name in found]] = numbers
    return dataclasses.replace(labels, gold=result, gold_abstained=0)


def _item_mask(labels: "Labels", items: Any) -> Mask:
    is_mask = str(getattr(items, "dtype", "")).startswith("bool")  # nullable ones too
    array = np.asarray(items, dtype=bool if is_mask else None)
    if array.dtype == bool:
        if array.shape != (labels.n_items,):
            raise DataError(
                f"the mask over items has shape {array.shape}, the table has "
                f"{labels.n_items:,} items"
            )
        return array
    return _mask("item", labels.items, items)


def _mask(role: str, known: NDArray[np.object_], wanted: Any) -> Mask:
    ids = set(id_strings(wanted))
    unknown = ids - set(known)
    if unknown:
        raise DataError(
            f"unknown {role} ids: {some(sorted(unknown))}; the table has {some(known[:5])}"
            + (f" and {len(known) - 5:,} more" if len(known) > 5 else "")
        )
    return contained(known, ids)


def _without_empty_groups(labels: "Labels") -> "Labels":
    present, group_idx = np.unique(labels.group_idx, return_inverse=True)
    return dataclasses.replace(
        labels,
        group_idx=group_idx.astype(np.int32),
        group_round=tuple(labels.group_round[i] for i in present),
        group_arm=tuple(labels.group_arm[i] for i in present),
    )
