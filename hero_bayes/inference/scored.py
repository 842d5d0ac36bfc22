"""``score`` as a PyMC model inside ``hb.fit``: the scores are computed first, then the factory."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import pymc as pm

from hero_bayes.data.labels import Labels
from hero_bayes.data.score_table import ScoreTable
from hero_bayes.estimators.item_scores import item_scores
from hero_bayes.inference.resolve import SCORE, resolve_model
from hero_bayes.models.score import score

__all__ = ["ChosenModel", "choose_model", "scored_factory"]

Factory = Callable[..., pm.Model]

#: The score that is calibrated unless another is asked for.
DEFAULT_SCORE = "mean"


@dataclass(frozen=True)
class ChosenModel:
    """The factory of a fit, its name, and what the fit says about it in its attributes."""

    name: str
    factory: Factory
    attributes: Mapping[str, str] = field(default_factory=dict)


def choose_model(
    model: str | Factory,
    history: Labels,
    current: Labels,
    priors: Mapping[str, Any] | None,
    random_seed: int,
) -> ChosenModel:
    """The factory that ``hb.fit`` samples from."""
    priors = priors or {}
    if model != SCORE or "scores" in priors:
        return ChosenModel(*resolve_model(model if model != SCORE else score))
    return scored_factory(history, current, priors.get("score"), random_seed, priors)


def scored_factory(
    history: Labels,
    current: Labels,
    name: str | None,
    random_seed: int,
    priors: Mapping[str, Any],
) -> ChosenModel:
    """``models.score`` with the scores of these tables: those of an exact fit at the same seed.

    Parameters
    ----------
    history, current : Labels
    name : str or None
        Which score; by default the mean of votes and model. Where labels or labelers changed, it
        rests on a random part of the labels that both rounds could have had alike.
    random_seed : int
        Draws the folds of items.
    priors : mapping
        ``form`` is told.

    Returns
    -------
    ChosenModel

    Raises
    ------
    Refusal
        If there is no labeled item with gold of one of the classes.
    ValueError
        If there is no score of that name.
    """
    fold_seed, _ = np.random.SeedSequence(random_seed).generate_state(2)
    scores = item_scores(history, current, random_seed=int(fold_seed))
    if name is None:
        name = DEFAULT_SCORE if DEFAULT_SCORE in scores.names else scores.names[-1]
    form = priors.get("form", "line")
    said = f"labelers may share errors; score {name}, {form} calibrated on gold"
    return ChosenModel(
        SCORE,
        partial(score, scores=ScoreTable.of(scores, name)),
        {"chosen": said, "notes": "\n".join(scores.notes)},
    )
