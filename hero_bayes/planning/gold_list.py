"""The chosen items as a table, with what is expected of them."""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hero_bayes.data.identifiers import number_of
from hero_bayes.data.labels import Labels
from hero_bayes.planning.beliefs import Beliefs
from hero_bayes.planning.greedy import Chosen, Question

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["NextGold", "listed", "listed_unranked"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

SELECTED = (
    "the items were chosen by their labels: hb.fit stays honest, but the share of positives among "
    "them and the labelers' rates on them say nothing of other items"
)


@dataclass(frozen=True)
class NextGold:
    """Items to label by experts next, in order.

    Attributes
    ----------
    table : DataFrame
        One row an item, the most useful first: ``item``, ``round`` ("history" or "current"),
        ``group``, ``labels`` and ``vote_share``, ``at_random`` (drawn, not chosen),
        ``probability`` (that its truth is 1),
        ``variance_removed`` (share of today's variance that its gold is expected to take away after
        those above it) and ``expected_sd`` (of the rate, with gold down to this row).
    group, target : str
        The current group and the rate that is to be sharpened.
    sd_now, sd_after : float
        Standard deviation of the rate today, and expected with all gold of the table. NaN where
        nothing is calibrated; ``notes`` says why.
    notes : tuple of str
        What to mind.
    """

    table: "pd.DataFrame"
    group: str
    target: str
    sd_now: float
    sd_after: float
    notes: tuple[str, ...]

    @property
    def items(self) -> list[str]:
        """Ids of the items, in order."""
        return [str(item) for item in self.table["item"]]

    def __str__(self) -> str:
        """What to do and what it brings, in sentences."""
        count = self.table["round"].value_counts()
        present = [where for where in ("history", "current") if where in count]
        rounds = " and ".join(f"{count[where]} of {_name(where)}" for where in present)
        lines = [f"Give gold to {number_of(len(self.table), 'item')}: {rounds}."]
        if math.isfinite(self.sd_now):
            lines.append(
                f"The standard deviation of {self.target} ({self.group}) is expected to fall from "
                f"{self.sd_now:.4f} to {self.sd_after:.4f}."
            )
        return "\n".join([*lines, *(f"Note: {note}." for note in self.notes)])


def _name(where: str) -> str:
    return "history" if where == "history" else "the current round"


def listed(
    question: Question,
    chosen: Chosen,
    found: Beliefs,
    candidates: tuple[IntArray, IntArray],
    *,
    group: str,
    position: int,
    target: str,
    where: str,
    model: str,
    random_seed: int,
    budget: int,
) -> NextGold:
    """The choice as a table."""
    import pandas as pd

    n_past = candidates[0].size
    chance = np.concatenate([question.history.mean(axis=0), question.current.mean(axis=0)])
    rows = []
    for column in chosen.position:
        past = bool(column < n_past)
        labels = found.history if past else found.current
        i = int(candidates[0][column] if past else candidates[1][column - n_past])
        rows.append(_row(labels, i, "history" if past else "current"))
    table = pd.DataFrame(rows)
    left = question.variance - np.cumsum(chosen.gain)
    deviation = _deviation(np.append(question.variance, left), question, target)
    table["at_random"] = chosen.at_random
    table["probability"] = chance[chosen.position]
    table["variance_removed"] = chosen.gain / question.variance
    table["expected_sd"] = deviation[1:]
    notes = [SELECTED]
    if len(table) < budget:
        notes.append(all_of_them(len(table), budget))
    skipped = int((~found.history.has_gold & ~found.calibrates).sum())
    if skipped and where != "current":
        notes.append(
            f"{number_of(skipped, 'history item')} without gold could not be chosen: no label of a "
            "known labeler, or no gold at all in the item's group, whose own share of positives "
            "would have to be found first"
        )
    return NextGold(table, group, target, float(deviation[0]), float(deviation[-1]), tuple(notes))


def all_of_them(n_items: int, budget: int) -> str:
    """Why the list is shorter than the budget."""
    return f"the budget is {budget:,} and only {number_of(n_items, 'item')} could be chosen"


def listed_unranked(
    labels: Labels,
    item_idx: IntArray,
    where: str,
    reason: str,
    group: str,
    target: str,
    budget: int,
) -> NextGold:
    """Items whose gains are not known."""
    import pandas as pd

    table = pd.DataFrame([_row(labels, int(i), where) for i in item_idx])
    table["at_random"] = False
    for name in ("probability", "variance_removed", "expected_sd"):
        table[name] = math.nan
    notes = (
        f"no gain can be told. {reason}",
        "the items are spread over the range of votes, positive ones first; ask again with their "
        "gold",
        SELECTED,
        *([all_of_them(len(table), budget)] if len(table) < budget else []),
    )
    return NextGold(table, group, target, math.nan, math.nan, notes)


def _row(labels: Labels, i: int, where: str) -> dict[str, object]:
    begin, end = labels.item_ptr[i], labels.item_ptr[i + 1]
    return {
        "item": str(labels.items[i]),
        "round": where,
        "group": labels.groups(where)[labels.group_idx[i]],
        "labels": int(end - begin),
        "vote_share": float(labels.label[begin:end].mean()) if end > begin else math.nan,
    }


def _deviation(variance: FloatArray, question: Question, target: str) -> FloatArray:
    """Standard deviation of the target, where the share has these variances.

    Given k positives among n items the prevalence is Beta(1 + k, 1 + n - k).
    """
    left = np.maximum(variance, 0.0)
    if target == "item_rate":
        return np.sqrt(left)
    n, mean = question.n_items, float(question.target.mean())
    product = n**2 * (mean * (1.0 - mean) - left) + n + 1.0
    within = np.maximum(product, 0.0) / ((n + 2.0) ** 2 * (n + 3.0))
    return np.asarray(np.sqrt(within + (n / (n + 2.0)) ** 2 * left))
