"""Two rounds on one labeler coordinate."""

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hero_bayes.data.building import check_choice
from hero_bayes.data.identifiers import canonical_order

if TYPE_CHECKING:
    from hero_bayes.data.labels import Labels

__all__ = ["Panel", "align", "swap_hint"]


@dataclass(frozen=True)
class Panel:
    """History and current round on one labeler coordinate.

    Attributes
    ----------
    labelers : object array of str
        The shared coordinate, in canonical order.
    history, current : Labels
        Both on that coordinate; all items stay, even without a label.
    unseen : tuple of str
        Labelers with current labels whose quality nothing informs: none in history, none on
        current items with gold.
    labelers_left_out : tuple of str
        The unseen labelers when their labels were dropped, else empty.
    labels_left_out : int
        How many labels that were.
    """

    labelers: NDArray[np.object_]
    history: "Labels"
    current: "Labels"
    unseen: tuple[str, ...]
    labelers_left_out: tuple[str, ...]
    labels_left_out: int


def swap_hint(history: "Labels", current: "Labels") -> str:
    """Say that gold is in the current round only, as it is where two rounds change places."""
    if history.n_gold or not current.n_gold:
        return ""
    return "gold is in the current table only: are history and current swapped?"


def align(history: "Labels", current: "Labels", unseen: str = "drop") -> Panel:
    """Put two rounds on one labeler coordinate.

    Parameters
    ----------
    history, current : Labels
        The two rounds.
    unseen : {"drop", "include"}
        Whether labels of unseen labelers are left out (and counted) or kept.

    Returns
    -------
    Panel
        The two rounds on the shared coordinate.
    """
    check_choice("unseen", unseen, ("drop", "include"))
    on_gold = np.repeat(current.has_gold, current.labels_per_item)
    informed = np.bincount(current.labeler_idx[on_gold], minlength=current.n_labelers) > 0
    seen = set(history.labelers[history.labels_per_labeler > 0]) | set(current.labelers[informed])
    active = current.labels_per_labeler > 0
    is_new = np.array([name not in seen for name in current.labelers], dtype=bool) & active
    new = tuple(current.labelers[is_new])
    everyone = {*history.labelers, *current.labelers}
    names = sorted(everyone if unseen == "include" else seen)
    labelers = np.array(names, dtype=object)[canonical_order(names)]
    past, now = history.with_labelers(labelers), current.with_labelers(labelers)
    for role in ("family", "version"):
        merged = tuple(
            a if a is not None else b
            for a, b in zip(getattr(past, role), getattr(now, role), strict=True)
        )
        past = dataclasses.replace(past, **{role: merged})  # type: ignore[arg-type]
        now = dataclasses.replace(now, **{role: merged})  # type: ignore[arg-type]
    return Panel(
        labelers=past.labelers,
        history=past,
        current=now,
        unseen=new,
        labelers_left_out=new if unseen == "drop" else (),
        labels_left_out=int(current.n_labels - now.n_labels),
    )
