"""Labelers whose labels of one item share an effect, draw by draw."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hero_bayes.data.labels import Labels
from hero_bayes.likelihoods.label_scores import label_scores
from hero_bayes.likelihoods.shared_effect import (
    marginal_rate,
    node_count,
    normal_nodes,
    shared_effect,
)

__all__ = ["SharedErrors"]

FloatArray = NDArray[np.float64]
#: Draws whose marginal rates are averaged.
RATE_DRAWS = 50
NODES = 61


@dataclass(frozen=True)
class SharedErrors:
    """Logit P(label 1 | truth y, u) = e_jy + l_y u, u ~ Normal(0, 1) shared by an item's labels.

    Attributes
    ----------
    labels : Labels
        The current labels, on the coordinate of the logits.
    logit : array (draw, truth, labeler)
    loading : array (draw, truth)
    n_nodes : int
        Of the sum that replaces the integral over u.
    item_row : int array (item)
        Which distinct set of labelers and number of positive labels each item has.
    sets : array (row, labeler + 2)
        Those sets as counts, their positive labels, and a column of ones.
    read_as : str
    """

    labels: Labels
    logit: FloatArray
    loading: FloatArray
    n_nodes: int
    item_row: NDArray[np.int64]
    sets: FloatArray
    read_as: str

    @classmethod
    def of(
        cls,
        labels: Labels,
        logit: FloatArray,
        loading: FloatArray,
        longest: int,
        read_as: str,
    ) -> "SharedErrors":
        """With the node count of items of up to ``longest`` labels."""
        scores = label_scores(labels)
        rows = scores.rows
        ones = np.ones(rows.n_positive.size)
        sets = np.column_stack([rows.dense(labels.n_labelers), rows.n_positive, ones])
        return cls(labels, logit, loading, node_count(longest), scores.item_row, sets, read_as)

    @property
    def discount(self) -> FloatArray:
        """The labelers' evidence is the fit's."""
        return np.ones(self.logit.shape[0])

    def positive(self, shift: float | FloatArray) -> FloatArray:
        """Log p(labels | truth 1), (draw, item), the logits of label 1 raised by the shift."""
        return self._class(1, self.logit[:, 1] + shift)

    def negative(self, shift: float | FloatArray) -> FloatArray:
        """Log p(labels | truth 0), (draw, item), the logits of label 1 lowered by the shift."""
        return self._class(0, self.logit[:, 0] - shift)

    def rates(self, sensitivity: float, specificity: float) -> tuple[FloatArray, FloatArray]:
        """Mean rates (labeler,), the effect averaged over, after the shifts."""
        chosen = np.unique(np.linspace(0, len(self.logit) - 1, RATE_DRAWS).round().astype(int))
        grid = normal_nodes(NODES)
        found = [
            np.mean(
                [
                    marginal_rate(sign * self.logit[d, y] + shift, self.loading[d, y], grid, np)
                    for d in chosen
                ],
                axis=0,
            )
            for sign, y, shift in ((1.0, 1, sensitivity), (-1.0, 0, specificity))
        ]
        return found[0], found[1]

    def without(self, labeler: int) -> "SharedErrors":
        """One labeler's labels left out."""
        names = [str(name) for name in self.labels.labelers]
        others = self.labels.with_labelers(names[:labeler] + names[labeler + 1 :])
        labels = others.with_labelers(names)
        other = SharedErrors.of(labels, self.logit, self.loading, 1, self.read_as)
        return replace(other, n_nodes=self.n_nodes)

    def _class(self, truth: int, logit: FloatArray) -> FloatArray:
        """One class's log-likelihood; two draws at once, as the formula has room for two."""
        n_draws, grid = len(logit), normal_nodes(self.n_nodes)
        out = np.empty((n_draws, self.labels.n_items))
        linear = np.zeros((self.labels.n_items, self.labels.n_labelers))
        item_idx = np.repeat(np.arange(self.labels.n_items), self.labels.labels_per_item)
        np.add.at(linear, (item_idx, self.labels.labeler_idx), self.labels.label)
        for first in range(0, n_draws, 2):
            pair = np.minimum([first, first + 1], n_draws - 1)
            rows = shared_effect(
                logit[pair], self.loading[pair, truth], lambda t: self.sets @ t, grid, np
            )
            out[pair] = rows[self.item_row].T + logit[pair] @ linear.T
        return out
