"""A label table as tidy frames, and as a dataset with named dims."""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

if TYPE_CHECKING:
    import xarray as xr

    from hero_bayes.data.labels import Labels

__all__ = ["LabelFrames", "to_dataset", "to_frames"]


class LabelFrames(NamedTuple):
    """The three tidy tables of a label table."""

    labels: pd.DataFrame
    items: pd.DataFrame
    labelers: pd.DataFrame


def to_frames(labels: "Labels") -> LabelFrames:
    """Return tidy tables; abstentions are rows whose label is missing."""
    item_idx = np.repeat(np.arange(labels.n_items), labels.labels_per_item)
    silent = len(labels.abstained_item)
    verdicts = pd.DataFrame(
        {
            "item": np.concatenate([labels.items[item_idx], labels.abstained_item]),
            "labeler": np.concatenate(
                [labels.labelers[labels.labeler_idx], labels.abstained_labeler]
            ),
            "label": pd.array(
                np.concatenate([labels.label.astype(object), [pd.NA] * silent]), dtype="Int8"
            ),
        }
    )
    columns: dict[str, Any] = {"item": labels.items, "gold": labels.gold}
    for role in ("round", "arm"):
        names = np.array(getattr(labels, f"group_{role}"), dtype=object)
        if any(name is not None for name in names):
            columns[role] = names[labels.group_idx]
    for name in ("prompt", "prompt_group", "generation", "gold_prob"):
        if getattr(labels, name) is not None:
            columns[name] = getattr(labels, name)
    columns |= {**labels.covariates, **labels.texts}
    items = pd.DataFrame({name: np.array(values) for name, values in columns.items()})
    people: dict[str, Any] = {"labeler": labels.labelers}
    for name in ("family", "version"):
        values = getattr(labels, name)
        if any(value is not None for value in values):
            people[name] = np.array(values, dtype=object)
    return LabelFrames(verdicts, items, pd.DataFrame(people))


def to_dataset(labels: "Labels") -> "xr.Dataset":
    """Return the arrays as a dataset: one entry of dim ``verdict`` per label."""
    import xarray as xr

    item_idx = np.repeat(np.arange(labels.n_items), labels.labels_per_item)
    data: dict[str, Any] = {
        "item_idx": ("verdict", item_idx),
        "labeler_idx": ("verdict", np.array(labels.labeler_idx)),
        "label": ("verdict", np.array(labels.label)),
        "gold": ("item", np.array(labels.gold)),
        "group_idx": ("item", np.array(labels.group_idx)),
    }
    for name in ("prompt", "prompt_group", "generation", "gold_prob"):
        if getattr(labels, name) is not None:
            data[name] = ("item", _filled(getattr(labels, name)))
    for name, values in {**labels.texts, **labels.covariates}.items():
        data[name] = ("item", _filled(values))
    coords: dict[str, Any] = {
        "item": ("item", np.array(labels.items)),
        "labeler": ("labeler", np.array(labels.labelers)),
        "group": ("group", np.array(labels.groups("history"), dtype=object)),
    }
    for name, dim in (
        ("round", "group"),
        ("arm", "group"),
        ("family", "labeler"),
        ("version", "labeler"),
    ):
        words = getattr(labels, f"group_{name}" if dim == "group" else name)
        coords[name] = (dim, _filled(np.array(words, dtype=object)))
    return xr.Dataset(data, coords, attrs={"fingerprint": labels.fingerprint})


def _filled(values: NDArray[Any]) -> NDArray[Any]:
    """Copy, with empty strings for missing words, so that the dataset can be written."""
    if values.dtype != object:
        return np.array(values)
    return np.array(["" if value is None else value for value in values], dtype=object)
