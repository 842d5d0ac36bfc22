"""What ``hb.decide`` returns."""

import html
import math
from dataclasses import dataclass, field
from typing import Any

from hero_bayes.decision.rule import JointRule, Rule

__all__ = ["Decision", "ExpectedLoss", "PartResult"]

SCHEMA, SCHEMA_VERSION = "hero_bayes.decision", 1


@dataclass(frozen=True)
class PartResult:
    """One rule on the draws of a fit.

    Attributes
    ----------
    rule : Rule
    probability, monte_carlo_error : float
        P(the rule's event), the rope counted in, and its Monte-Carlo standard error.
    median, sd, lower, upper : float
        Of what the rule speaks of; lower and upper end the 95 % equal-tailed interval.
    at_threshold : float
        P(the event without the rope); the same as ``probability`` where there is no rope.
    inside_rope : float
        P(practically at the threshold); 0 where there is no rope.
    """

    rule: Rule
    probability: float
    monte_carlo_error: float
    median: float
    sd: float
    lower: float
    upper: float
    at_threshold: float
    inside_rope: float

    def to_dict(self) -> dict[str, Any]:
        """The numbers, None for those that are not finite."""
        numbers = {
            name: finite(getattr(self, name))
            for name in ("probability", "monte_carlo_error", "median", "sd", "lower", "upper")
        }
        if self.rule.rope is not None:
            numbers |= {n: finite(getattr(self, n)) for n in ("at_threshold", "inside_rope")}
        return {
            "rule": str(self.rule),
            "metric": self.rule.metric,
            "quantity": self.rule.quantity,
            "threshold": self.rule.threshold,
            "required_probability": self.rule.probability,
            **numbers,
        }


@dataclass(frozen=True)
class ExpectedLoss:
    """Expected losses: of shipping, of holding, and of what the outcome amounts to for now.

    Nothing ships unless the outcome is "ship", so that ``chosen`` is the loss of holding otherwise.
    """

    ship: float
    hold: float
    chosen: float


@dataclass(frozen=True)
class Decision:
    """The outcome of a rule on a fit, with what it rests on.

    Attributes
    ----------
    outcome : {"ship", "hold", "collect more", "inconclusive"}
    rule : Rule or JointRule
    probability : float
        P(the rule's event; of several rules, all events together). NaN for a fit at the mode, which
        has no probability; ``reasons`` says so.
    monte_carlo_error : float
        Standard error of ``probability`` that comes from the number of draws.
    parts : tuple of PartResult
        One a rule.
    expected_loss : ExpectedLoss
    evpi : float
        Expected value of perfect information, in units of the losses: more than this no further
        data can be worth.
    best_action : str
        "ship" or "hold", whichever has the smaller expected loss; "" at the mode.
    reasons : tuple of str
        Sentences that say why.
    notes : tuple of str
        What a reader should know beside: remarks of the gate and of the adjustment.
    gate_passed : bool
    gate_reasons : tuple of str
        Why the gate failed.
    forced : bool
        Whether a failed gate was overridden.
    model, mode : str
        Of the fit.
    cost_of_more : float or None
    """

    outcome: str
    rule: Rule | JointRule
    probability: float
    monte_carlo_error: float
    parts: tuple[PartResult, ...] = field(repr=False)
    expected_loss: ExpectedLoss = field(repr=False)
    evpi: float
    best_action: str
    reasons: tuple[str, ...] = field(repr=False)
    notes: tuple[str, ...] = field(repr=False)
    gate_passed: bool
    gate_reasons: tuple[str, ...] = field(repr=False)
    forced: bool
    model: str
    mode: str
    cost_of_more: float | None = None

    @property
    def probabilities(self) -> dict[str, float]:
        """P(event) of every rule, by its text."""
        return {str(part.rule): part.probability for part in self.parts}

    def to_dict(self) -> dict[str, Any]:
        """Everything, ready for JSON: numbers that do not exist are None, with the reason."""
        loss = self.expected_loss
        result: dict[str, Any] = {
            "schema": SCHEMA,
            "schema_version": SCHEMA_VERSION,
            "outcome": self.outcome,
            "rule": str(self.rule),
            "rules": [part.rule.to_dict() for part in self.parts],
            "probability": finite(self.probability),
            "required_probability": self.rule.probability,
            "monte_carlo_error": finite(self.monte_carlo_error),
            "parts": [part.to_dict() for part in self.parts],
            "expected_loss": {n: finite(getattr(loss, n)) for n in ("ship", "hold", "chosen")},
            "evpi": finite(self.evpi),
            "best_action": self.best_action or None,
            "cost_of_more": self.cost_of_more,
            "reasons": list(self.reasons),
            "notes": list(self.notes),
            "gate": {
                "passed": self.gate_passed,
                "mode": self.mode,
                "reasons": list(self.gate_reasons),
            },
            "forced": self.forced,
            "model": self.model,
            "missing": None,
        }
        if not math.isfinite(self.probability):
            result["missing"] = "the fit is the mode alone, which has no probabilities"
        elif any(not math.isfinite(part.upper + part.sd) for part in self.parts):
            result["missing"] = (
                "a spread does not exist: the reference's rate is 0 in some draws, so that a ratio "
                "is infinite, or there is one draw"
            )
        return result

    def __str__(self) -> str:
        """The outcome and the rule, then a reason or note a line."""
        lines = [f"{self.outcome.upper()}: {self.rule}", *(f"  {r}" for r in self.reasons)]
        return "\n".join([*lines, *(f"  note: {note}" for note in self.notes)])

    def _repr_html_(self) -> str:
        """The same, for notebooks."""
        said = [*self.reasons, *(f"note: {note}" for note in self.notes)]
        items = "".join(f"<li>{html.escape(line)}</li>" for line in said)
        head = f"<b>{html.escape(self.outcome.upper())}</b>: {html.escape(str(self.rule))}"
        return f"<p>{head}</p><ul>{items}</ul>"


def finite(value: float) -> float | None:
    """The number, or None where it is not finite."""
    return float(value) if math.isfinite(value) else None
