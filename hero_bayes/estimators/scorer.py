"""Scores of items by fits that never saw them."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hero_bayes.data.labels import Labels
from hero_bayes.data.panel import Panel, align
from hero_bayes.estimators.anchored_em import anchor_data, label_codes
from hero_bayes.estimators.shared_effect import ratio_of
from hero_bayes.estimators.shared_effect_mode import (
    SharedEffect,
    item_weights,
    maximise,
    start_parameters,
)

__all__ = ["SCORES", "ItemScores", "Scorer", "assign_folds", "make_scorer", "vote_logit"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.integer]
BoolArray = NDArray[np.bool_]

#: Items without gold that inform the fit, at most.
FREE_LIMIT = 20_000
#: Log-likelihood ratios are clipped to this many nats on either side.
LARGEST_RATIO = 6.0
#: The scores: vote logit, mean of the two, log-likelihood ratio of the shared-effect model.
SCORES = ("votes", "mean", "model")


@dataclass(frozen=True)
class ItemScores:
    """Scores of both rounds' items.

    Attributes
    ----------
    names : tuple of str
        Which scores there are, of "votes", "mean" and "model".
    history, current : float array (score, item)
        Log-odds scale; 0 for an item without a label.
    history_used, current_used : bool array (item,)
        Items whose scores count: those with a label of a known labeler that was not left out.
    fold : int array (history item,)
        Items of one fold were scored by a fit that saw none of them.
    fit : SharedEffect
        The fit to all history, which scored the current items without gold.
    panel : Panel
        Both rounds on one labeler coordinate.
    notes : tuple of str
        What was done where labels per item or labelers are not those of history.
    """

    names: tuple[str, ...]
    history: FloatArray
    current: FloatArray
    history_used: BoolArray
    current_used: BoolArray
    fold: IntArray
    fit: SharedEffect
    panel: Panel
    notes: tuple[str, ...]


def vote_logit(labels: Labels) -> FloatArray:
    """log((k + 1/2) / (l - k + 1/2)) of each item with k ones among l labels."""
    item_idx = np.repeat(np.arange(labels.n_items), labels.labels_per_item)
    ones = np.bincount(item_idx, weights=labels.label, minlength=labels.n_items)
    zeros = labels.labels_per_item - ones
    return np.asarray(np.log((ones + 0.5) / (zeros + 0.5)))


def assign_folds(gold: FloatArray, folds: int, rng: np.random.Generator) -> IntArray:
    """Fold of each item at random, with gold of each class and items without spread evenly."""
    fold = np.empty(gold.size, dtype=np.int64)
    taken = 0
    for members in (gold == 1.0, gold == 0.0, np.isnan(gold)):
        where = np.flatnonzero(members)
        fold[rng.permutation(where)] = (taken + np.arange(where.size)) % folds
        taken += where.size
    return fold


@dataclass(frozen=True)
class Scorer:
    """Fits of the shared-effect model to all history, and without each fold of items.

    Attributes
    ----------
    panel : Panel
        Both rounds on one labeler coordinate.
    fold : int array (item,)
        Of history items, then of current items with gold.
    fit : SharedEffect
        The fit to all of them.
    others : dict of int to SharedEffect
        The fit without a fold.
    notes : tuple of str
        Which items the fits rest on, where not on all.
    """

    panel: Panel
    fold: IntArray
    fit: SharedEffect
    others: dict[int, SharedEffect]
    notes: tuple[str, ...] = ()

    def ratios(self, labels: Labels, fold: IntArray) -> FloatArray:
        """Log-likelihood ratio of each item from the fit without its fold; fold -1: from all."""
        ratio, code = np.zeros(labels.n_items), label_codes(labels)
        for k in np.unique(fold):
            item_idx = np.flatnonzero(fold == k)
            fit = self.others.get(int(k), self.fit)
            ratio[item_idx] = ratio_of(fit, item_idx, labels.item_ptr, code)
        return ratio

    def scores(
        self, past: Labels, now: Labels, names: tuple[str, ...], notes: tuple[str, ...]
    ) -> ItemScores:
        """Scores of the panel's items by these labels of theirs."""
        folds = self.fold[: past.n_items], np.full(now.n_items, -1)
        folds[1][now.has_gold] = self.fold[past.n_items :]
        by_model = [self.ratios(x, fold) for x, fold in zip((past, now), folds, strict=True)]
        return ItemScores(
            names=names,
            history=_stack(names, vote_logit(past), by_model[0]),
            current=_stack(names, vote_logit(now), by_model[1]),
            history_used=past.labels_per_item > 0,
            current_used=now.labels_per_item > 0,
            fold=folds[0],
            fit=self.fit,
            panel=self.panel,
            notes=(*self.notes, *notes),
        )


def make_scorer(
    history: Labels, current: Labels, folds: int, power: float, rng: np.random.Generator
) -> Scorer:
    """Fit the shared-effect model, then without each fold, starting from there.

    All gold informs it, and as many other items as `FREE_LIMIT`, drawn at random: the scores only
    order the items. Those drawn stand for the others, so that gold weighs as it would among all.
    """
    panel = align(history, current, unseen="drop")
    data = anchor_data(panel)
    fold = assign_folds(data.gold, folds, rng)
    weight = item_weights(data, power)
    notes: tuple[str, ...] = ()
    free = np.flatnonzero(np.isnan(data.gold))
    if free.size > FREE_LIMIT:
        weight[free] *= free.size / FREE_LIMIT
        weight[rng.permutation(free)[FREE_LIMIT:]] = 0.0
        notes = (
            f"scores come from a fit to all gold items and {FREE_LIMIT:,} of the {free.size:,} "
            "history items without gold, drawn at random",
        )
    fit = maximise(data, panel.labelers, start_parameters(data), weight)
    others = {
        int(k): maximise(
            data,
            fit.labelers,
            fit.parameters,
            np.where(fold == k, 0.0, weight),
            information=fit.information,
        )
        for k in np.unique(fold)
    }
    return Scorer(panel, fold, fit, others, notes)


def _stack(names: tuple[str, ...], votes: FloatArray, ratio: FloatArray) -> FloatArray:
    """The named scores of one round, (score, item)."""
    model = np.clip(ratio, -LARGEST_RATIO, LARGEST_RATIO)
    scores = {"votes": votes, "mean": 0.5 * (votes + model), "model": model}
    return np.stack([scores[name] for name in names])
