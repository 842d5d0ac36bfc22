"""One simulated future: every design fitted, its interval and its decision scored."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hero_bayes.data.labels import Labels
from hero_bayes.decision.rule import Rule
from hero_bayes.errors import Refusal
from hero_bayes.estimators.anchored_em import anchor
from hero_bayes.estimators.averaging import average
from hero_bayes.estimators.independent import independent_draws
from hero_bayes.estimators.tilt import tilt
from hero_bayes.planning.redrawn import drawn_round, known_gold

__all__ = ["MODELS", "Design", "Settings", "one_future"]

FloatArray = NDArray[np.float64]
Row = dict[str, Any]

MODELS = ("auto", "score", "hero")


@dataclass(frozen=True)
class Design:
    """What could be collected: items, labels of each (None: as in history), gold to add."""

    n_items: int
    labels_per_item: int | None
    gold: int


@dataclass(frozen=True)
class Settings:
    """How every future is fitted and scored.

    Attributes
    ----------
    model : {"auto", "score", "hero"}
    metric : {"prevalence", "item_rate"}
        The rate whose interval and rule are looked at.
    rule : Rule, optional
    prob : float
        Probability of the interval.
    draws : int
        Posterior draws of a fit.
    """

    model: str
    metric: str
    rule: Rule | None
    prob: float
    draws: int


def one_future(
    history: Labels,
    truth: NDArray[np.int8],
    rate: float,
    designs: tuple[Design, ...],
    settings: Settings,
    seed: tuple[int, int],
) -> list[Row]:
    """Every design in one future: width, whether it holds the rate, and the decision.

    Parameters
    ----------
    history : Labels
    truth : int array (item,)
        Drawn truth of history.
    rate : float
        Drawn rate of the next source.
    designs : tuple of Design
        All see the same truths and, as far as they reach, the same items and gold.
    settings : Settings
    seed : tuple of int
        Of the plan, and of the future.
    """
    order = np.random.default_rng([*seed, 1]).permutation(history.n_items)
    rows = []
    for design in designs:
        current, y = drawn_round(
            history, truth, rate, design.n_items, design.labels_per_item,
            np.random.default_rng([*seed, 2]),
        )  # fmt: skip
        past = known_gold(history, truth, design.gold, order)
        row: Row = {"simulation": seed[1], **vars(design)}
        right = rate if settings.metric == "prevalence" else float(y.mean())
        try:
            draws = rate_draws(past, current, settings, int(seed[1]))
        except Refusal as refusal:
            rows.append(row | {"refused": str(refusal)})
            continue
        rows.append(row | {"refused": ""} | scored(draws, right, settings))
    return rows


def rate_draws(history: Labels, current: Labels, settings: Settings, seed: int) -> FloatArray:
    """Posterior draws of the metric, (draw,)."""
    found: Any
    if settings.model == "auto":
        found = average(history, current, n_draws=settings.draws, random_seed=seed)
    elif settings.model == "score":
        found = tilt(history, current, n_draws=settings.draws, random_seed=seed)
    else:
        rng = np.random.default_rng([seed, 1])
        found = independent_draws(anchor(history, current), settings.draws, rng)
    return np.asarray(getattr(found, settings.metric)[:, 0])


def scored(draws: FloatArray, right: float, settings: Settings) -> Row:
    """Width and cover of the interval; the decision, and whether it is right."""
    low, high = np.quantile(draws, [(1.0 - settings.prob) / 2.0, (1.0 + settings.prob) / 2.0])
    row: Row = {"width": float(high - low), "covered": bool(low - 1e-9 <= right <= high + 1e-9)}
    rule = settings.rule
    if rule is None:
        return row
    chance = float(rule.holds(draws).mean())
    ship, hold = chance >= rule.probability, chance <= 1.0 - rule.probability
    good = bool(rule.holds(np.array([right]))[0])
    return row | {
        "ship": bool(ship),
        "hold": bool(hold and not ship),
        "correct": bool((ship and good) or (hold and not ship and not good)),
        "wrong": bool((ship and not good) or (hold and not ship and good)),
    }
