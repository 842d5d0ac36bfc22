"""What the fields of a rule may be."""

import math
from collections.abc import Iterable
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hero_bayes.decision.rule_text import EXAMPLES

__all__ = ["CONTRASTS", "DIRECTIONS", "METRICS", "checked_rope", "compare", "finite_number"]

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

#: Rates that a rule may speak of: of fits of labels, then of fits of generations.
METRICS = ("prevalence", "item_rate", "prevalence_adjusted", "mu", "mu_these_prompts", "mu_law")
DIRECTIONS = ("<=", "<", ">=", ">")
CONTRASTS = ("difference", "ratio", "odds_ratio")


def compare(values: FloatArray, direction: str, limit: float) -> BoolArray:
    """Values against a limit."""
    functions = {"<=": np.less_equal, "<": np.less, ">=": np.greater_equal, ">": np.greater}
    return np.asarray(functions[direction](values, limit), dtype=bool)


def finite_number(value: Any, role: str) -> float:
    """The number as a float; refuses what is none, or not finite."""
    if isinstance(value, bool) or not isinstance(value, Real) or not math.isfinite(value):
        raise ValueError(f"{role} must be a finite number, got {value!r}; {EXAMPLES}")
    return float(value)


def checked_rope(rope: Any, threshold: float) -> float | tuple[float, float]:
    """Half the width of the region around the threshold, or its two ends."""
    if isinstance(rope, Iterable) and not isinstance(rope, str):
        ends = [finite_number(end, "rope") for end in rope]
        if len(ends) != 2 or not ends[0] <= threshold <= ends[1] or ends[0] == ends[1]:
            raise ValueError(
                f"rope must be two ends with the threshold {threshold:g} between them, got {ends}"
            )
        return ends[0], ends[1]
    width = finite_number(rope, "rope")
    if width <= 0.0:
        raise ValueError(f"rope must be positive, got {width:g}; leave it out for no region")
    return width
