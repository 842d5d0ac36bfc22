"""One score an item, computed beforehand and held out by item, as a model takes it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from hero_bayes.data.labels import Labels
from hero_bayes.errors import DataError, Refusal

__all__ = ["RoundScores", "ScoreTable"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.integer]
BoolArray = NDArray[np.bool_]


@dataclass(frozen=True)
class RoundScores:
    """Scores of one round's items, in the order of its label table.

    Attributes
    ----------
    score : float array (item,)
        0 where the score does not count.
    used : bool array (item,)
        Whether it counts.
    """

    score: FloatArray
    used: BoolArray


@dataclass(frozen=True)
class ScoreTable:
    """Scores of both rounds' items by id, with the proof that history was held out.

    Attributes
    ----------
    name : str
        What the score is called.
    history_items, current_items : sequence of str
        Ids, each at most once.
    history, current : float array (item,)
        The scores, on the log-odds scale: larger speaks for truth 1.
    history_used, current_used : bool array (item,)
        Items whose scores count, those with a label of a known labeler.
    fold : int array (history item,), or None
        Items of one fold were scored by a rule that saw none of them. None is refused.
    history_groups : sequence of str
        History's groups.
    model_prevalence : float array (history group,)
        Rate of truth 1 in each, as the model that supplied the scores has it.

    Raises
    ------
    Refusal
        If there are no fold ids, or but one fold.
    DataError
        If columns differ in length, ids repeat, or a number is missing or out of range.

    Examples
    --------
    >>> import numpy as np
    >>> table = ScoreTable(
    ...     name="own", history_items=["a", "b"], history=np.array([2.0, -1.0]),
    ...     history_used=np.array([True, True]), fold=np.array([0, 1]), current_items=["c"],
    ...     current=np.array([0.5]), current_used=np.array([True]),
    ...     history_groups=["history"], model_prevalence=np.array([0.4]),
    ... )
    >>> table.name
    'own'
    """

    name: str
    history_items: Sequence[str]
    history: FloatArray
    history_used: BoolArray
    fold: IntArray | None
    current_items: Sequence[str]
    current: FloatArray
    current_used: BoolArray
    history_groups: Sequence[str]
    model_prevalence: FloatArray

    def __post_init__(self) -> None:
        """Check the columns against each other."""
        used = np.asarray(self.history_used, dtype=bool)
        self._check_round("history", self.history_items, self.history, used)
        self._check_round(
            "current", self.current_items, self.current, np.asarray(self.current_used, dtype=bool)
        )
        fold = np.zeros(used.size) if self.fold is None else np.asarray(self.fold)
        if fold.shape != used.shape:
            raise DataError(
                f"fold has {fold.size} entries and history {used.size} items; give one by item"
            )
        if used.sum() > 1 and np.unique(fold[used]).size < 2:
            raise Refusal(
                f"score {self.name!r} comes without fold ids, or with one fold: history items must "
                "be scored by a rule that never saw them, else gold calibrates scores that are "
                "sharper than those of the current round. Compute them with "
                "hero_bayes.estimators.item_scores.item_scores, or pass the fold of each item "
                "(item numbers where the score is a fixed function of an item's own labels)"
            )
        rate = np.asarray(self.model_prevalence, dtype=float)
        if rate.shape != (len(self.history_groups),) or not ((rate >= 0) & (rate <= 1)).all():
            raise DataError(
                f"model_prevalence must hold a rate in [0, 1] for each of the "
                f"{len(self.history_groups)} history groups, got {rate.tolist()}"
            )

    def _check_round(
        self, role: str, items: Sequence[str], score: FloatArray, used: BoolArray
    ) -> None:
        if not len(items) == len(score) == len(used):
            raise DataError(
                f"the {role} has {len(items)} ids, {len(score)} scores and {len(used)} marks of "
                "use; give one of each by item"
            )
        if len(set(map(str, items))) < len(items):
            raise DataError(f"an id occurs twice among the {role} items of the scores")
        bad = [
            str(i) for i, s, u in zip(items, score, used, strict=True) if u and not np.isfinite(s)
        ]
        if bad:
            raise DataError(
                f"scores of {role} items {', '.join(bad[:5])} are not finite; mark them as not used"
            )

    @classmethod
    def of(cls, scores: Any, name: str = "mean") -> Self:
        """One score of an `ItemScores`, or a table as it is.

        Parameters
        ----------
        scores : ItemScores or ScoreTable
            Anything with the attributes of `hero_bayes.estimators.item_scores.ItemScores`.
        name : str
            Which of its scores: "votes", "mean" or "model".

        Returns
        -------
        ScoreTable

        Raises
        ------
        Refusal
            If the scores have no fold ids.
        ValueError
            If there is no score of that name.
        """
        if isinstance(scores, cls):
            return scores
        names = tuple(scores.names)
        if name not in names:
            raise ValueError(
                f"there is no score {name!r} in these tables; one of {', '.join(names)}"
            )
        row = names.index(name)
        past, now = scores.panel.history, scores.panel.current
        return cls(
            name=name,
            history_items=[str(i) for i in past.items],
            history=scores.history[row],
            history_used=scores.history_used,
            fold=getattr(scores, "fold", None),
            current_items=[str(i) for i in now.items],
            current=scores.current[row],
            current_used=scores.current_used,
            history_groups=past.groups("history"),
            model_prevalence=scores.fit.prevalence,
        )

    def history_round(self, history: Labels) -> RoundScores:
        """The scores of a history table's items."""
        return _look_up(history, "history", self.history_items, self.history, self.history_used)

    def current_round(self, current: Labels) -> RoundScores:
        """The scores of a current table's items, which may be some of those scored."""
        return _look_up(current, "current", self.current_items, self.current, self.current_used)

    def group_prevalence(self, history: Labels) -> FloatArray:
        """The supplying model's rate in each of a history table's groups."""
        known = dict(zip(map(str, self.history_groups), self.model_prevalence, strict=True))
        names = history.groups("history")
        missing = [name for name in names if name not in known]
        if missing:
            raise DataError(f"the scores know no history group {', '.join(missing[:5])}")
        return np.array([known[name] for name in names], dtype=float)


def _look_up(
    labels: Labels, role: str, items: Sequence[str], score: FloatArray, used: BoolArray
) -> RoundScores:
    """Scores by item id."""
    place = {str(name): k for k, name in enumerate(items)}
    missing = [str(name) for name in labels.items if str(name) not in place]
    if missing:
        raise DataError(
            f"{len(missing)} {role} items have no score ({', '.join(missing[:5])}); compute the "
            "scores from the same tables as the fit"
        )
    where = np.array([place[str(name)] for name in labels.items], dtype=np.int64)
    counts = np.asarray(used, dtype=bool)[where]
    return RoundScores(np.where(counts, np.asarray(score, dtype=float)[where], 0.0), counts)
