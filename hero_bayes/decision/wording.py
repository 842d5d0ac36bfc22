"""The sentences of a decision."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hero_bayes.decision.losses import Losses
from hero_bayes.decision.rates import quantiles
from hero_bayes.decision.result import PartResult
from hero_bayes.decision.rule import JointRule, Rule
from hero_bayes.inference.summary import ESTIMANDS

__all__ = [
    "HOLD",
    "MORE",
    "NONE",
    "SHIP",
    "draws_sentence",
    "estimate_sentence",
    "loss_sentences",
    "needed_sentence",
    "own_sentence",
    "rope_sentence",
    "verdict_sentence",
]

FloatArray = NDArray[np.float64]

SHIP, HOLD, MORE, NONE = "ship", "hold", "collect more", "inconclusive"
#: A threshold this many Monte-Carlo errors away from the probability needs more draws.
CLOSE = 2.0
#: Beyond this many times the evidence no practical amount decides.
PRACTICAL = 100.0


def amount(value: float, rule: Rule) -> str:
    """A rate in percent, a difference in points, a ratio as it is."""
    if rule.arm is None:
        return f"{100 * value:.2f} %"
    if rule.contrast == "difference":
        return f"{100 * value:+.2f} points"
    return f"{value:.3f}"


def chance(value: float) -> str:
    """A probability, never rounded to a certainty that it is not."""
    text = f"{value:.3f}"
    if text == "1.000" and value < 1.0:
        return "above 0.999"
    return "below 0.001" if text == "0.000" and value > 0.0 else text


def verdict_sentence(
    outcome: str, rule: Rule | JointRule, probability: float, error: float, refuted: Sequence[Rule]
) -> str:
    """The probability against what the rule asks for."""
    event = events(rule)
    said = f"P({event}) is {chance(probability)} (Monte-Carlo error {error:.3f})"
    asked, against = rule.probability, 1.0 - rule.probability
    if outcome == SHIP:
        return f"{said}, at least the {asked:g} that the rule asks for: ship."
    if outcome == HOLD and probability <= against:
        return f"{said}, at most {against:.3g}: the event is as surely false; hold."
    if outcome == HOLD and refuted:
        return f"{said}; {', '.join(events(part) for part in refuted)} is surely false: hold."
    return f"{said}, between {against:.3g} and the {asked:g} that the rule asks for: undecided."


def events(rule: Rule | JointRule) -> str:
    """The events of a rule, in words of the rule."""
    said = []
    for part in rule.parts:
        rope = "" if part.region is None else f", up to {amount(part.limit, part)} counted in"
        said.append(f"{part.quantity} {part.direction} {amount(part.threshold, part)}{rope}")
    return " and ".join(said)


def estimate_sentence(part: PartResult) -> str:
    """The quantity with its interval."""
    rule = part.rule
    meaning = f" ({ESTIMANDS[rule.metric]})" if rule.metric in ESTIMANDS else ""
    said = f"{rule.quantity}{meaning}: {amount(part.median, rule)}"
    if not math.isfinite(part.upper):
        return f"{said}, no finite interval."
    low, high = amount(part.lower, rule), amount(part.upper, rule)
    return f"{said}, 95 % credible interval {low} to {high}."


def own_sentence(part: PartResult) -> str:
    """One of several rules by itself."""
    return (
        f"By itself P({events(part.rule)}) is {chance(part.probability)} "
        f"({part.rule.probability:g} asked for)."
    )


def rope_sentence(part: PartResult) -> str:
    """What the region of practical equivalence holds."""
    low, high = part.rule.region or (math.nan, math.nan)
    said = (
        f"P({part.rule.quantity} practically at the threshold, {amount(low, part.rule)} to "
        f"{amount(high, part.rule)}) is {chance(part.inside_rope)}; without the rope the event has "
        f"{chance(part.at_threshold)}"
    )
    if part.inside_rope >= part.rule.probability:
        said += ": practically equal to the threshold"
    return said + "."


def needed_sentence(rule: Rule, values: FloatArray) -> str:
    """How much more evidence would decide a rule, if the median stayed where it is.

    Notes
    -----
    Intervals shrink with the square root of the evidence, so that the ratio of squares says how
    many times as much is needed.
    """
    middle = float(quantiles(values, [0.5])[0])
    towards_ship = bool(rule.holds(np.array([middle]))[0])
    upper = rule.wants_low == towards_ship
    (edge,) = quantiles(values, [rule.probability if upper else 1.0 - rule.probability])
    reach, room = abs(edge - middle), abs(rule.limit - middle)
    factor = (reach / room) ** 2 if room > 0.0 else math.inf
    where = f"the median of {rule.quantity} ({amount(middle, rule)})"
    if not factor < PRACTICAL:
        return (
            f"{where[0].upper()}{where[1:]} lies so close to {amount(rule.limit, rule)} that no "
            "practical amount of data will decide: give the rule a rope, or ask for less certainty."
        )
    verdict = SHIP if towards_ship else HOLD
    return (
        f"If {where} stays where it is, about {max(factor, 1.0):.1f} times the evidence (items, "
        f"labels, gold) would settle on {verdict}."
    )


def draws_sentence(probability: float, error: float, asked: float) -> str | None:
    """Whether the number of draws decides; None if it does not."""
    for limit in (asked, 1.0 - asked):
        if abs(probability - limit) <= CLOSE * error:
            return (
                f"The probability lies within {CLOSE:g} Monte-Carlo errors of {limit:.3g}: more "
                "draws are needed to say on which side it is (draws=4000)."
            )
    return None


def loss_sentences(
    losses: Losses, outcome: str, rule: Rule | JointRule, cost_of_more: float | None
) -> list[str]:
    """Expected losses, whether they disagree with the rule, and what more data can be worth."""
    custom = any((p.loss_wrong_ship, p.loss_wrong_hold) != (1.0, 1.0) for p in rule.parts)
    said = []
    if custom:
        said.append(
            f"Expected loss: shipping {losses.ship:.3g}, holding {losses.hold:.3g}; "
            f"the smaller is that of {'shipping' if losses.best == SHIP else 'holding'}."
        )
        if outcome in (SHIP, HOLD) and losses.best != outcome:
            said.append(f"The losses disagree with the rule, which says {outcome}.")
        elif outcome == MORE:
            said.append(
                f"Of the two actions the losses prefer to {losses.best}; the rule is undecided."
            )
    if cost_of_more is not None:
        relation = "more" if losses.evpi > cost_of_more else "no more"
        said.append(
            f"Perfect knowledge would be worth {losses.evpi:.3g}, {relation} than the "
            f"{cost_of_more:g} that further data cost."
        )
    return said
