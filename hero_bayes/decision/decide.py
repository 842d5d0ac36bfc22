"""From a fit and a rule to a decision."""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from hero_bayes.decision import wording as say
from hero_bayes.decision.arguments import check_truth
from hero_bayes.decision.draws_error import monte_carlo_error
from hero_bayes.decision.losses import Losses, expected_losses
from hero_bayes.decision.rates import quantiles, rule_draws
from hero_bayes.decision.result import Decision, ExpectedLoss, PartResult
from hero_bayes.decision.rule import JointRule, Rule
from hero_bayes.decision.wording import HOLD, MORE, NONE, SHIP
from hero_bayes.inference.diagnose import Diagnosis, diagnose

__all__ = ["decide"]

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

#: Ends of the interval that is reported.
INTERVAL = (0.025, 0.975)


def decide(
    fit: xr.DataTree,
    rule: Rule | JointRule | str,
    force: bool = False,
    cost_of_more: float | None = None,
) -> Decision:
    """Ship, hold, collect more, or no conclusion: a release rule on a fit.

    Parameters
    ----------
    fit : xarray.DataTree
        What ``hb.fit``, ``hb.adjust`` or ``hb.difficulty.fit`` returned.
    rule : Rule, JointRule or str
        One rule, several (``Rule.all``), or their text.
    force : bool
        Decide although the gate failed; recorded in the decision. A fit at the mode has no
        probabilities and stays inconclusive.
    cost_of_more : float, optional
        Cost of collecting more data, in units of the losses. If even perfect knowledge would be
        worth no more, an undecided rule holds instead of asking for data.

    Returns
    -------
    Decision
        ``outcome``, ``probability``, ``expected_loss``, ``evpi``, ``reasons``; ``print`` shows it,
        ``to_dict`` is ready for JSON.

    Raises
    ------
    DataError
        If ``fit`` is no fit, or has no such metric, group or arm; several groups and none named.
    ValueError
        If the rule cannot be read, or ``cost_of_more`` makes no sense.
    TypeError
        If ``rule`` is no rule, or ``force`` is not True or False.

    Notes
    -----
    With P the posterior probability of the rule's event and p what the rule asks for: ship if
    P >= p, hold if P <= 1 - p, and in between collect more. Several rules: P is that of all events
    together and p the largest of theirs; one rule that holds by itself is enough to hold. A rope
    moves the end of the event to its own far end. If the gate (``hb.diagnose``) fails, the outcome
    is inconclusive.

    Shipping costs ``loss_wrong_ship`` if the event is false, holding ``loss_wrong_hold`` if it is
    true (of several rules, the largest of those that fail, and of all). The losses do not change
    the outcome: the action with the smaller expected loss is reported beside it, and whether it
    disagrees. The Monte-Carlo error of P comes from the effective number of draws; a threshold
    within two of them is said to need more draws.

    Examples
    --------
    >>> import hero_bayes as hb
    >>> rounds = hb.datasets.demo_rounds()
    >>> fitted = hb.fit(rounds.history, rounds.current, model="score", random_seed=1)
    >>> decide(fitted, "P(item_rate <= 0.05) >= 0.95").outcome
    'hold'
    """
    read = Rule.parse(rule) if isinstance(rule, str) else rule
    if not isinstance(read, Rule | JointRule):
        raise TypeError(f"expected a Rule or its text, got {type(rule).__name__}")
    check_truth(force, "force")
    number = isinstance(cost_of_more, Real) and not isinstance(cost_of_more, bool)
    if cost_of_more is not None and not (number and 0.0 <= cost_of_more < math.inf):
        raise ValueError(f"cost_of_more must be a number of at least 0, got {cost_of_more!r}")
    gate = diagnose(fit)
    found = xr.align(*(rule_draws(fit, part) for part in read.parts), join="inner", copy=False)
    values = [part.transpose("chain", "draw").to_numpy().astype(float) for part in found]
    about = _about(fit, read, gate, cost_of_more)
    if gate.mode == "map":
        return _at_mode(read, values, gate, about)
    importance = float(fit.attrs.get("importance_draws", math.inf))
    return _by_draws(read, values, gate, about, force=force, importance=importance)


def _about(
    fit: xr.DataTree, rule: Rule | JointRule, gate: Diagnosis, cost_of_more: float | None
) -> dict[str, Any]:
    """What a decision repeats of the fit, the gate and the question."""
    notes = list(gate.notes)
    if "adjustment" in fit.children and any(
        part.metric == "prevalence_adjusted" for part in rule.parts
    ):
        notes += [
            line for line in str(fit["adjustment"].attrs.get("notes", "")).split("\n") if line
        ]
    return {
        "rule": rule,
        "notes": tuple(notes),
        "gate_passed": gate.passed,
        "gate_reasons": gate.reasons,
        "model": str(fit.attrs.get("model", "")),
        "mode": gate.mode,
        "cost_of_more": cost_of_more,
    }


def _at_mode(
    rule: Rule | JointRule, values: Sequence[FloatArray], gate: Diagnosis, about: Mapping[str, Any]
) -> Decision:
    """No decision: one value has no probability."""
    nan = math.nan
    parts = tuple(
        PartResult(part, nan, nan, float(np.median(own)), nan, nan, nan, nan, nan)
        for part, own in zip(rule.parts, values, strict=True)
    )
    first = "No decision: the fit is the mode alone, which has no probabilities; force=True is no "
    return Decision(
        outcome=NONE,
        probability=nan,
        monte_carlo_error=nan,
        parts=parts,
        expected_loss=ExpectedLoss(nan, nan, nan),
        evpi=nan,
        best_action="",
        reasons=(first + "remedy.", *_sentences(gate.reasons)),
        forced=False,
        **about,
    )


def _by_draws(
    rule: Rule | JointRule,
    values: Sequence[FloatArray],
    gate: Diagnosis,
    about: Mapping[str, Any],
    *,
    force: bool,
    importance: float,
) -> Decision:
    """The outcome by the probability of the event among the draws."""
    held = [part.holds(own) for part, own in zip(rule.parts, values, strict=True)]
    together = np.logical_and.reduce(held)
    parts = tuple(
        part_result(part, own, where, importance)
        for part, own, where in zip(rule.parts, values, held, strict=True)
    )
    probability, cost_of_more = float(together.mean()), about["cost_of_more"]
    error = monte_carlo_error(together, values, importance)
    losses = expected_losses(*losses_of(rule, held))
    outcome = outcome_of(rule, probability, parts)
    if outcome == MORE and cost_of_more is not None and losses.evpi <= cost_of_more:
        outcome = HOLD
    reasons = _reasons(rule, values, parts, (probability, error), losses, outcome, cost_of_more)
    forced = force and not gate.passed
    if forced:
        said = "The gate failed and was overridden (force=True); the numbers may be wrong."
        reasons = [said, *_sentences(gate.reasons), *reasons]
    elif not gate.passed:
        said = f"No decision: the gate failed. Otherwise the outcome would be: {outcome}."
        reasons = [said, *_sentences(gate.reasons), *reasons[1:]]
        outcome = NONE
    return Decision(
        outcome=outcome,
        probability=probability,
        monte_carlo_error=error,
        parts=parts,
        expected_loss=ExpectedLoss(
            losses.ship, losses.hold, losses.ship if outcome == SHIP else losses.hold
        ),
        evpi=losses.evpi,
        best_action=losses.best,
        reasons=tuple(reasons),
        forced=forced,
        **about,
    )


def outcome_of(rule: Rule | JointRule, probability: float, parts: Sequence[PartResult]) -> str:
    """Ship, hold or collect more, by the probabilities alone."""
    if probability >= rule.probability:
        return SHIP
    if probability <= 1.0 - rule.probability or refuted(parts):
        return HOLD
    return MORE


def refuted(parts: Sequence[PartResult]) -> list[Rule]:
    """The rules whose events are surely false."""
    return [part.rule for part in parts if part.probability <= 1.0 - part.rule.probability]


def losses_of(rule: Rule | JointRule, held: Sequence[BoolArray]) -> tuple[FloatArray, FloatArray]:
    """Loss of shipping and of holding at every draw, flat."""
    flat = np.stack([one.ravel() for one in held])
    wrong_ship = np.array([part.loss_wrong_ship for part in rule.parts])
    wrong_hold = max(part.loss_wrong_hold for part in rule.parts)
    ship = np.where(flat, 0.0, wrong_ship[:, None]).max(axis=0)
    return ship, np.where(flat.all(axis=0), wrong_hold, 0.0)


def part_result(
    rule: Rule, values: FloatArray, held: BoolArray, importance: float = math.inf
) -> PartResult:
    """One rule on its draws (chain, draw)."""
    flat = values.ravel()
    finite = bool(np.isfinite(flat).all())
    low, middle, high = quantiles(flat, [INTERVAL[0], 0.5, INTERVAL[1]])
    strict = dataclasses.replace(rule, rope=None).holds(values)
    return PartResult(
        rule=rule,
        probability=float(held.mean()),
        monte_carlo_error=monte_carlo_error(held, [values], importance),
        median=float(middle),
        sd=float(flat.std(ddof=1)) if finite and flat.size > 1 else math.nan,
        lower=float(low),
        upper=float(high),
        at_threshold=float(strict.mean()),
        inside_rope=float(rule.inside_rope(values).mean()),
    )


def _sentences(reasons: Sequence[str]) -> list[str]:
    return [f"{reason[0].upper()}{reason[1:].rstrip('.')}." for reason in reasons]


def _reasons(
    rule: Rule | JointRule,
    values: Sequence[FloatArray],
    parts: Sequence[PartResult],
    found: tuple[float, float],
    losses: Losses,
    outcome: str,
    cost_of_more: float | None,
) -> list[str]:
    """Why, in sentences: probability, estimates, what is needed, draws, losses."""
    probability, error = found
    by_rule = outcome_of(rule, probability, parts)
    said = [say.verdict_sentence(by_rule, rule, probability, error, refuted(parts))]
    if len(parts) > 1:
        said += [say.own_sentence(part) for part in parts]
    said += [say.estimate_sentence(part) for part in parts]
    said += [say.rope_sentence(part) for part in parts if part.rule.rope is not None]
    if by_rule == MORE:
        open_parts = [
            say.needed_sentence(part.rule, own.ravel())
            for part, own in zip(parts, values, strict=True)
            if 1.0 - part.rule.probability < part.probability < part.rule.probability
        ]
        said += open_parts or [
            "Every rule holds by itself; together they are not sure enough yet: more evidence on "
            "any of them helps."
        ]
    close = say.draws_sentence(probability, error, rule.probability)
    said += [close] if close else []
    said += say.loss_sentences(losses, outcome, rule, cost_of_more)
    if outcome != by_rule:
        said.append("More data cannot pay, and nothing ships that is not sure enough: hold.")
    return said
