"""Layers and complete models: what is assumed, one assumption a file.

A complete model is a sentence of three layers: outcome (how often is the truth 1), labelers (how
labels arise from the truth) and transport (what the current round inherits from history). Each
factory takes ``(history, current, **priors)`` and returns a plain ``pm.Model``; nothing here
samples, plots or reads files.

A labeler layer of one's own takes a dozen lines and has the rights of ours. Labelers who are right
with one probability whatever the truth ("one coin"):

>>> import pymc as pm
>>> import hero_bayes as hb
>>> from hero_bayes.data.panel import align
>>> from hero_bayes.models.composition import coordinates, two_rounds
>>> from hero_bayes.models.independent import LabelerRates
>>> from hero_bayes.models.prevalence import prevalence
>>> from hero_bayes.models.rigid import rigid
>>> def one_coin(history, current, *, accuracy_prior=(2.0, 1.0)):
...     panel = align(history, current, unseen="drop")
...     with pm.Model(coords=coordinates(panel)) as model:
...         accuracy = pm.Beta("accuracy", *accuracy_prior, dims="labeler")
...         rates = LabelerRates(
...             pm.Deterministic("sensitivity", 1.0 * accuracy, dims="labeler"),
...             pm.Deterministic("specificity", 1.0 * accuracy, dims="labeler"),
...         )
...         two_rounds(panel, prevalence(panel), rates, rigid(rates))
...     return model
>>> rounds = hb.datasets.demo_rounds()
>>> fit = hb.fit(rounds.history, rounds.current, model=one_coin, mode="map", random_seed=1)
>>> fit["posterior"]["accuracy"].sizes["labeler"]
10

``two_rounds`` registers what ``hb.fit`` reads; notebooks/03_write_your_own_layer.ipynb writes it
out by hand.
"""

from collections.abc import Callable
from typing import Any

from hero_bayes.models.correlated import correlated
from hero_bayes.models.hero import hero
from hero_bayes.models.hero_regression import hero_regression
from hero_bayes.models.pooled import pooled
from hero_bayes.models.pooled_drift import pooled_drift
from hero_bayes.models.prompt_labels import prompt_labels
from hero_bayes.models.score import score

#: Complete models by the name that ``hb.fit(model=...)`` takes. ``score`` is not among them, since
#: it takes scores that were computed beforehand; ``hb.fit(model="score")`` computes them.
MODELS: dict[str, Callable[..., Any]] = {
    "hero": hero,
    "pooled": pooled,
    "correlated": correlated,
    "regression": hero_regression,
    "drift": pooled_drift,
    "prompt_labels": prompt_labels,
}

__all__ = [
    "MODELS",
    "correlated",
    "hero",
    "hero_regression",
    "pooled",
    "pooled_drift",
    "prompt_labels",
    "score",
]
