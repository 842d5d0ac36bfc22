"""A release rule as data: which rate, which limit, how sure one must be."""

import dataclasses
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hero_bayes.decision.rule_checks import (
    CONTRASTS,
    DIRECTIONS,
    METRICS,
    check_reach,
    check_threshold,
    checked_rope,
    compare,
    finite_number,
)
from hero_bayes.decision.rule_text import EXAMPLES, quantity_text, read_rules, rule_text

__all__ = ["METRICS", "JointRule", "Rule"]

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]


@dataclass(frozen=True)
class Rule:
    """Ship if P(rate direction threshold) >= probability.

    Attributes
    ----------
    metric : str
        "prevalence" (new items of the same source), "item_rate" (the items at hand),
        "prevalence_adjusted" (after ``hb.adjust``); of ``hb.difficulty.fit``: "mu" (new prompts),
        "mu_these_prompts", "mu_law".
    direction : {"<=", "<", ">=", ">"}
        On which side of the threshold the rate must lie.
    threshold : float
        A share between 0 and 1; for a comparison a difference of shares, or a ratio.
    probability : float
        How sure one must be, in [0.5, 1).
    group : str, optional
        The current group, "round/arm", or its arm; of generations the model. May be left out where
        there is one.
    rope : float or (low, high), optional
        Region of practical equivalence around the threshold: half its width, or its ends. A rate on
        the wrong side of the threshold but inside counts as good enough, so that the rule's event
        reaches to the far end of the region.
    loss_wrong_ship, loss_wrong_hold : float
        Losses of shipping though the event is false, and of holding though it is true.
    arm, reference : str, optional
        Compare two arms of the current round instead of looking at one group.
    contrast : {"difference", "ratio", "odds_ratio"}
        How ``arm`` is compared with ``reference``.

    Raises
    ------
    ValueError
        If a field makes no sense; the message says which and gives an example.

    Examples
    --------
    >>> rule = Rule("prevalence", "<=", 0.05, probability=0.95)
    >>> str(rule)
    'P(prevalence <= 0.05) >= 0.95'
    >>> Rule.parse("P(B - A <= 0) >= 0.9").reference
    'A'
    """

    metric: str = "prevalence"
    direction: str = "<="
    threshold: float = 0.05
    probability: float = 0.95
    group: str | None = None
    rope: float | tuple[float, float] | None = None
    loss_wrong_ship: float = 1.0
    loss_wrong_hold: float = 1.0
    arm: str | None = None
    reference: str | None = None
    contrast: str = "difference"

    def __post_init__(self) -> None:
        """Check the fields and make numbers floats."""
        for role, allowed in (
            ("metric", METRICS),
            ("direction", DIRECTIONS),
            ("contrast", CONTRASTS),
        ):
            if getattr(self, role) not in allowed:
                raise ValueError(
                    f"{role} {getattr(self, role)!r} is none of {', '.join(allowed)}; {EXAMPLES}"
                )
        for role in ("threshold", "probability", "loss_wrong_ship", "loss_wrong_hold"):
            object.__setattr__(self, role, finite_number(getattr(self, role), role))
        if not 0.5 <= self.probability < 1.0:
            raise ValueError(
                f"probability must be at least 0.5 and below 1, got {self.probability:g} "
                f"(95 % is 0.95); {EXAMPLES}"
            )
        for role in ("loss_wrong_ship", "loss_wrong_hold"):
            if getattr(self, role) <= 0.0:
                raise ValueError(f"{role} must be positive, got {getattr(self, role):g}")
        self._check_names()
        check_threshold(self.threshold, self.limits)
        if self.rope is not None:
            object.__setattr__(self, "rope", checked_rope(self.rope, self.threshold))
            check_reach(self.limit, self.limits)

    def _check_names(self) -> None:
        for role in ("group", "arm", "reference"):
            value = getattr(self, role)
            if value is not None and not (isinstance(value, str) and value.strip()):
                raise ValueError(f"{role} must be a name, got {value!r}; {EXAMPLES}")
        if (self.arm is None) != (self.reference is None):
            raise ValueError(f"a comparison needs both arm and reference; {EXAMPLES}")
        if self.arm is not None and self.group is not None:
            raise ValueError("group is for a rule on one group; a comparison has arm and reference")
        if self.arm is not None and self.arm == self.reference:
            raise ValueError(f"arm and reference are both {self.arm!r}: name two arms")
        if self.arm is None and self.contrast != "difference":
            raise ValueError(f"contrast {self.contrast!r} needs arm and reference; {EXAMPLES}")

    @property
    def limits(self) -> tuple[float, float]:
        """Smallest and largest value that the rule's quantity can have."""
        if self.arm is None:
            return 0.0, 1.0
        return (-1.0, 1.0) if self.contrast == "difference" else (0.0, math.inf)

    @property
    def parts(self) -> tuple["Rule", ...]:
        """The rule itself, so that one rule and several are read alike."""
        return (self,)

    @property
    def quantity(self) -> str:
        """What is held against the threshold, such as "prevalence" or "B - A"."""
        return quantity_text(vars(self))

    @property
    def region(self) -> tuple[float, float] | None:
        """Ends of the region of practical equivalence, or None."""
        if self.rope is None or isinstance(self.rope, tuple):
            return self.rope
        return self.threshold - self.rope, self.threshold + self.rope

    @property
    def limit(self) -> float:
        """How far the rate may go: the threshold, or the far end of the rope."""
        if self.region is None:
            return self.threshold
        return self.region[1] if self.wants_low else self.region[0]

    @property
    def wants_low(self) -> bool:
        """Whether small values are good."""
        return self.direction in ("<", "<=")

    def holds(self, values: FloatArray) -> BoolArray:
        """Where the rule's event is true, the rope counted in."""
        direction = self.direction if self.rope is None else self.direction[0] + "="
        return compare(values, direction, self.limit)

    def inside_rope(self, values: FloatArray) -> BoolArray:
        """Where the value is practically at the threshold; nowhere without a rope."""
        if self.region is None:
            return np.zeros(np.shape(values), dtype=bool)
        return np.asarray((values >= self.region[0]) & (values <= self.region[1]))

    @classmethod
    def parse(cls, text: str) -> "Rule | JointRule":
        """Read a rule.

        Parameters
        ----------
        text : str
            ``P(prevalence <= 0.05) >= 0.95``; ``P(item_rate[r2/A] <= 5 %) >= 0.95``;
            ``P(B - A <= 0) >= 0.9``, with ``B / A`` a ratio (spaces around the sign), ``odds(B) /
            odds(A)`` an odds ratio and ``item_rate[B] - item_rate[A]`` another metric. ``and``
            joins events inside the brackets, and rules. Unusual names stand in double quotes.
            Settings follow a rule: ``; rope=0.01; loss_wrong_ship=5``.

        Returns
        -------
        Rule or JointRule
            What ``str`` turns into an equal text; JointRule where there are several.

        Raises
        ------
        ValueError
            If the text is no rule.

        Examples
        --------
        >>> Rule.parse("P(item_rate[r2/A] <= 5 %) >= 0.9").group
        'r2/A'
        """
        rules = [cls(**fields) for fields in read_rules(text)]
        return rules[0] if len(rules) == 1 else JointRule(tuple(rules))

    @classmethod
    def all(cls, rules: "Iterable[Rule | JointRule | str] | Rule | JointRule | str") -> "JointRule":
        """Several rules at once: ship only if all events hold together.

        Parameters
        ----------
        rules : iterable of Rule, JointRule or str
            Or one of them.

        Returns
        -------
        JointRule
            Asks for the largest of their probabilities, of all events together.

        Raises
        ------
        TypeError
            If something among them is no rule.
        ValueError
            If a text cannot be read, there is no rule, or one stands twice.
        """
        listed = rules if isinstance(rules, Iterable) and not isinstance(rules, str) else [rules]
        read = [cls.parse(rule) if isinstance(rule, str) else rule for rule in listed]
        for rule in read:
            if not isinstance(rule, Rule | JointRule):
                raise TypeError(f"expected a Rule or its text, got {type(rule).__name__}")
        return JointRule(tuple(part for rule in read for part in rule.parts))

    def to_dict(self) -> dict[str, Any]:
        """The fields that are set, ready for TOML and JSON."""
        fields = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        if isinstance(self.rope, tuple):
            fields["rope"] = list(self.rope)
        if self.arm is None:
            del fields["contrast"]
        return {name: value for name, value in fields.items() if value is not None}

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> "Rule | JointRule":
        """A rule from its fields, as in a [[rule]] table; or ``{"all": [fields, ...]}``.

        Raises
        ------
        ValueError
            If a field is unknown or makes no sense.
        """
        if set(fields) == {"all"}:
            return cls.all(cls.from_dict(part) for part in fields["all"])
        names = [f.name for f in dataclasses.fields(cls)]
        unknown = [str(name) for name in fields if name not in names]
        if unknown:
            raise ValueError(
                f"a rule has no {', '.join(unknown)}; its fields are {', '.join(names)}"
            )
        return cls(**fields)

    def __str__(self) -> str:
        """The rule as text, which ``parse`` reads back."""
        return rule_text(vars(self))


@dataclass(frozen=True)
class JointRule:
    """Several rules whose events must hold together; made by ``Rule.all``.

    Attributes
    ----------
    parts : tuple of Rule

    Raises
    ------
    ValueError
        If there is no rule, or one stands twice.
    """

    parts: tuple[Rule, ...]

    def __post_init__(self) -> None:
        """Refuse nothing and repetitions."""
        if not self.parts:
            raise ValueError(f"no rule was given; {EXAMPLES}")
        if len(set(self.parts)) < len(self.parts):
            raise ValueError("a rule stands twice among those that must hold together")

    @property
    def probability(self) -> float:
        """Asked for of all events together: the largest of the parts' probabilities."""
        return max(part.probability for part in self.parts)

    def to_dict(self) -> dict[str, Any]:
        """The parts, ready for JSON."""
        return {"all": [part.to_dict() for part in self.parts]}

    def __str__(self) -> str:
        """The rules as text, joined by "and"."""
        return " and ".join(map(str, self.parts))
