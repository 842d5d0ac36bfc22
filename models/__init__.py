"""Layers and complete models: what is assumed, one assumption a file.

A complete model is a sentence of three layers: outcome (how often is the truth 1), labelers (how
labels arise from the truth) and transport (what the current round inherits from history). Each
factory takes ``(history, current, **priors)`` and returns a plain ``pm.Model``; nothing here
samples, plots or reads files.
"""

from collections.abc import Callable
from typing import Any

from hero_bayes.models.hero import hero
from hero_bayes.models.hero_regression import hero_regression
from hero_bayes.models.pooled import pooled
from hero_bayes.models.pooled_drift import pooled_drift

#: Complete models by the name that ``hb.fit(model=...)`` takes.
MODELS: dict[str, Callable[..., Any]] = {
    "hero": hero,
    "pooled": pooled,
    "regression": hero_regression,
    "drift": pooled_drift,
}

__all__ = ["MODELS", "hero", "hero_regression", "pooled", "pooled_drift"]
