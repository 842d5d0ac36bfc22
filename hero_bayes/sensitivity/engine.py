"""The answer to a question at any change of the labelers, on one set of random numbers."""

from dataclasses import dataclass

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from hero_bayes.data.labels import Labels
from hero_bayes.inference.provenance import check_same_data
from hero_bayes.sensitivity.labelers import FlatDraws, Labelers, flat_draws, labelers_of
from hero_bayes.sensitivity.questions import Answer, Question
from hero_bayes.sensitivity.rounds import CurrentGroup, current_groups

__all__ = ["Engine", "engine_of"]

FloatArray = NDArray[np.float64]
#: Draws where none are asked for; with many items fewer, so that tables (draws x items) stay below
#: a size, but no fewer than this.
DRAWS = 400
TABLE = 3_000_000
FEWEST = 100


@dataclass(frozen=True)
class Engine:
    """A fit opened for sweeps.

    Attributes
    ----------
    question : Question
    draws : FlatDraws
    labelers : Labelers
    groups : dict of int to CurrentGroup
    positive, negative : array (draw, item)
        Log-likelihood of the current labels given truth 1 and truth 0, nothing moved.
    """

    question: Question
    draws: FlatDraws
    labelers: Labelers
    groups: dict[int, CurrentGroup]
    positive: FloatArray
    negative: FloatArray

    def base(self) -> Answer:
        """The answer of the fit itself."""
        return self._ask(None)

    def at(self, positive: FloatArray | None, negative: FloatArray | None) -> Answer:
        """The answer where the class log-likelihoods (draw, item) are these; None: unmoved."""
        change = np.zeros_like(self.positive)
        if positive is not None:
            change += positive - self.positive
        if negative is not None:
            change -= negative - self.negative
        return self._ask(self.labelers.discount[:, None] * change)

    def moved(self, sensitivity: "float | FloatArray", specificity: "float | FloatArray") -> Answer:
        """The answer after shifts on the logit scale, for all labelers or (draw, labeler)."""
        same = (np.ndim(s) == 0 and float(s) == 0.0 for s in (sensitivity, specificity))
        still, quiet = same
        return self.at(
            None if still else self.labelers.positive(sensitivity),
            None if quiet else self.labelers.negative(specificity),
        )

    def _ask(self, change: FloatArray | None) -> Answer:
        items = self.question.needs_items
        drawn = {g: group.rates(change, items=items) for g, group in self.groups.items()}
        return self.question.answer(drawn)


def engine_of(
    fit: xr.DataTree,
    history: Labels,
    current: Labels,
    question: Question,
    *,
    draws: int | None,
    random_seed: int,
) -> Engine:
    """Open a fit for sweeps.

    Raises
    ------
    DataError
        If the tables are not those of the fit.
    Refusal
        If the fit has no draws, or its layers cannot be followed.
    """
    check_same_data(fit, history, current)
    if draws is None:
        draws = max(min(DRAWS, TABLE // max(current.n_items, 1)), FEWEST)
    kept = flat_draws(fit, draws)
    labelers = labelers_of(fit, kept, history, current)
    groups = current_groups(fit, kept, history, current, question.groups, random_seed)
    return Engine(
        question=question,
        draws=kept,
        labelers=labelers,
        groups=groups,
        positive=labelers.positive(0.0),
        negative=labelers.negative(0.0),
    )
