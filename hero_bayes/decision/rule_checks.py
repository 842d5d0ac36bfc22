"""What the fields of a rule may be."""

import math
from collections.abc import Iterable
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hero_bayes.decision.rule_text import EXAMPLES

__all__ = [
    "CONTRASTS",
    "DIRECTIONS",
    "METRICS",
    "check_reach",
    "check_threshold",
    "checked_rope",
    "compare",
    "finite_number",
]

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


def check_threshold(threshold: float, limits: tuple[float, float]) -> None:
    """Refuse a threshold that the rule's quantity cannot reach."""
    low, high = limits
    if not low <= threshold <= high:
        said = (
            f"lie between {low:g} and {high:g}" if math.isfinite(high) else f"be at least {low:g}"
        )
        raise ValueError(f"the threshold must {said}, got {threshold:g} (5 % is 0.05); {EXAMPLES}")


def check_reach(limit: float, limits: tuple[float, float]) -> None:
    """Refuse a rope up to an end beyond all values, under which the event is always true."""
    low, high = limits
    if not low <= limit <= high:
        raise ValueError(
            f"the rope reaches to {limit:g}, and values lie between {low:g} and {high:g}: the "
            "rule would always ship; make the rope narrower (0.5 % is 0.005)"
        )


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
