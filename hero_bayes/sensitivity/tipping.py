"""The smallest change of the labelers that changes the decision, by bisection."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hero_bayes.sensitivity.engine import Engine
from hero_bayes.sensitivity.questions import Answer

__all__ = ["DIRECTIONS", "Tip", "sentences", "tip"]

FloatArray = NDArray[np.float64]
DIRECTIONS = ("sensitivity up", "sensitivity down", "specificity up", "specificity down")
WORDS = {
    "sensitivity up": "more sensitive",
    "sensitivity down": "less sensitive",
    "specificity up": "more specific",
    "specificity down": "less specific",
}
#: Tipping points are bisected to this width on the logit scale.
TOLERANCE = 1e-3


@dataclass(frozen=True)
class Tip:
    """Where the decision changes in one direction.

    Attributes
    ----------
    direction : str
    shift : float
        The smallest shift, up to the tolerance, at which the decision is another; NaN if none is.
    decision : str
        What it is there; "" if there is no such shift.
    probability : float
        P(rule) there; NaN if there is no such shift.
    points : float
        Change of the labelers' mean rate in percentage points; NaN if there is no such shift.
    rates : tuple of float
        Mean rate without the shift, and with it (with the furthest shift if none changes it).
    reach : float
        The furthest shift tried, 0 if the grid has none in this direction.
    """

    direction: str
    shift: float
    decision: str
    probability: float
    points: float
    rates: tuple[float, float]
    reach: float


def tip(
    engine: Engine,
    axes: tuple[FloatArray, FloatArray],
    answers: Sequence[Sequence[Answer]],
    base: Answer,
    direction: str,
) -> Tip:
    """Look outward along one axis of the grid for another decision, then bisect the last step."""
    rate, way = direction.split()
    which = ("sensitivity", "specificity").index(rate)
    sign = 1.0 if way == "up" else -1.0
    values = axes[which]
    zero = [int(np.argmin(np.abs(axis))) for axis in axes]
    start = base.decision
    outward = [k for k in np.argsort(np.abs(values), kind="stable") if sign * values[k] > 0.0]
    near = 0.0
    for k in outward:
        place = (k, zero[1]) if which == 0 else (zero[0], k)
        answer = answers[place[0]][place[1]]
        if answer.decision != start:
            shift, answer = bisect(engine, which, near, float(values[k]), answer, start)
            rates = mean_rates(engine, which, shift)
            points = 100.0 * (rates[1] - rates[0])
            found = answer.decision, answer.probability
            return Tip(direction, shift, *found, points, rates, float(abs(shift)))
        near = float(values[k])
    rates = mean_rates(engine, which, near)
    return Tip(direction, np.nan, "", np.nan, np.nan, rates, abs(near))


def bisect(
    engine: Engine, which: int, same: float, other: float, answer: Answer, start: str
) -> tuple[float, Answer]:
    """Narrow a stretch at whose ends the decisions differ; its far end and the answer there."""
    while abs(other - same) > TOLERANCE:
        middle = 0.5 * (same + other)
        found = engine.moved(*((middle, 0.0) if which == 0 else (0.0, middle)))
        if found.decision == start:
            same = middle
        else:
            other, answer = middle, found
    return other, answer


def mean_rates(engine: Engine, which: int, shift: float) -> tuple[float, float]:
    """Mean sensitivity (0) or specificity (1) over the current labels, before and after a shift."""
    weight = engine.labelers.labels.labels_per_labeler.astype(float)
    weight /= max(weight.sum(), 1.0)
    before = engine.labelers.rates(0.0, 0.0)[which]
    after = engine.labelers.rates(*((shift, 0.0) if which == 0 else (0.0, shift)))[which]
    return float(weight @ before), float(weight @ after)


def sentences(engine: Engine, tips: Sequence[Tip], base: Answer) -> list[str]:
    """One sentence a direction, for a release meeting."""
    return [_sentence(one, base.decision, engine.question.event) for one in tips]


def _sentence(one: Tip, start: str, event: str) -> str:
    before, after = (f"{100.0 * rate:.1f} %" for rate in one.rates)
    rate = one.direction.split()[0]
    moved = f"{100.0 * abs(one.rates[1] - one.rates[0]):.1f} points {WORDS[one.direction]}"
    if np.isfinite(one.shift):
        return (
            f"If the judges had become {moved} ({rate} {before} to {after}), the decision would "
            f"change from {start} to {one.decision}: {event} = {one.probability:.3f}."
        )
    if one.reach == 0.0:
        return f"The grid has no point at which the judges are {WORDS[one.direction]}; widen it."
    return (
        f"Judges up to {moved} ({rate} {before} to {after}, the edge of the grid) would leave the "
        f"decision at {start}."
    )
