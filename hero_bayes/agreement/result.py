"""What ``hb.dependence`` returns."""

import html
from dataclasses import dataclass
from typing import Any

import pandas as pd

from hero_bayes.data.shared_errors import Ranged, worth_sentence
from hero_bayes.words import number_of

__all__ = ["Dependence", "Ranged"]

#: Pairs shown in print.
SHOWN = 5


@dataclass(frozen=True)
class Dependence:
    """How far labelers err on the same items, given the truth.

    Attributes
    ----------
    table : DataFrame
        One row a pair: ``labeler_a``, ``labeler_b``, ``correlation`` of their errors within gold
        classes with ``low`` and ``high``, ``n_common`` gold items, ``same_family`` where families
        are known, and ``reason`` where there is no correlation.
    overall : Ranged
        Mean correlation of two labels of one item, given the truth; 0 if labelers err
        independently.
    effective_judges : Ranged
        n / (1 + (n - 1) r) with n the labels of a gold item and r the mean correlation (0 where it
        is negative).
    votes : DataFrame
        Variance of an item's number of positive labels in each class, against independence.
    families : DataFrame, or None
        Mean correlation within and between families, where families are known.
    labels_per_item : float
        Mean number of labels of a gold item.
    n_items, n_judges : int
        Gold items and labelers used.
    left_out : str
        Who or what was left out, and why; empty if nothing.
    prob : float
        Of the intervals.
    """

    table: pd.DataFrame
    overall: Ranged
    effective_judges: Ranged
    votes: pd.DataFrame
    families: pd.DataFrame | None
    labels_per_item: float
    n_items: int
    n_judges: int
    left_out: str
    prob: float

    @property
    def sentence(self) -> str:
        """What the labels are worth, in one sentence."""
        return worth_sentence(self.labels_per_item, self.n_judges, self.effective_judges)

    @property
    def visible(self) -> bool:
        """Whether gold shows that labelers err together: the interval lies above 0."""
        return self.overall.low > 0.0

    def __str__(self) -> str:
        """The sentence, the mean correlation, the vote counts, families, the closest pairs."""
        lines = [
            f"{self.sentence}.",
            f"Mean correlation of two labelers' errors, given the truth: {self.overall} "
            f"({100 * self.prob:g} % interval, {number_of(self.n_items, 'gold item')}).",
        ]
        lines += [
            f"Gold {row.gold}: the number of positive labels varies {row.ratio:.1f} times as much "
            f"as under independence (p = {row.p_value:.3f})."
            for row in self.votes.itertuples()
        ]
        if self.families is not None:
            lines += [_told(row, f"{row['pairs'].capitalize()}: ") for row in _rows(self.families)]
        known = self.table[self.table["reason"] == ""].nlargest(SHOWN, "correlation")
        lines += [
            _told(row, f"  {row['labeler_a']} and {row['labeler_b']}: ") for row in _rows(known)
        ]
        without = len(self.table) - int((self.table["reason"] == "").sum())
        if without:
            lines.append(f"{without} of {len(self.table)} pairs have no correlation (see reason).")
        if self.left_out:
            lines.append(f"{self.left_out}.")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """The sentence and the pairs."""
        body = html.escape(str(self)).replace("\n", "<br>")
        return f"<p>{body}</p>{self.table.to_html(index=False, max_rows=20)}"


def _rows(table: pd.DataFrame) -> list[dict[str, Any]]:
    return [{str(key): value for key, value in row.items()} for row in table.to_dict("records")]


def _told(row: dict[str, Any], title: str) -> str:
    """A correlation with its interval, or why there is none."""
    value = row["reason"] or Ranged(row["correlation"], row["low"], row["high"])
    return f"{title}{value}"
