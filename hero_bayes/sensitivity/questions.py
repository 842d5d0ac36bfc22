"""What is asked of transported draws: a rate, or whether a release rule still holds."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from hero_bayes.decision.rates import contrast_of, group_name
from hero_bayes.decision.rule import JointRule, Rule
from hero_bayes.errors import DataError, Refusal
from hero_bayes.sensitivity.rounds import GroupRates

__all__ = ["Answer", "Part", "Question", "outcome", "question_of"]

FloatArray = NDArray[np.float64]
#: Rates that the sweeps can follow.
METRICS = ("prevalence", "item_rate")


@dataclass(frozen=True)
class Part:
    """One rate, or one comparison of arms.

    ``groups`` holds the position of the group, or of arm and reference.
    """

    metric: str
    groups: tuple[int, ...]
    contrast: str
    name: str
    rule: Rule | None

    def value(self, drawn: Mapping[int, GroupRates]) -> FloatArray:
        """Draws (draw,) of the quantity."""
        values = [getattr(drawn[g], self.metric) for g in self.groups]
        if len(values) == 1:
            return np.asarray(values[0])
        return contrast_of(values[0], values[1], self.contrast)


@dataclass(frozen=True)
class Answer:
    """What draws say.

    Attributes
    ----------
    values : array (draw,)
        The quantity asked for.
    probability : float
        Of the rule's event; NaN without a rule.
    decision : str
        What the rule says; "" without one.
    """

    values: FloatArray
    probability: float
    decision: str


@dataclass(frozen=True)
class Question:
    """Rates asked for, with the rule that reads them.

    Attributes
    ----------
    parts : tuple of Part
        The first is the one whose mean and quantiles are reported.
    rule : Rule, JointRule or None
    """

    parts: tuple[Part, ...]
    rule: Rule | JointRule | None

    @property
    def groups(self) -> tuple[int, ...]:
        """Positions of all groups asked about."""
        return tuple(sorted({g for part in self.parts for g in part.groups}))

    @property
    def needs_items(self) -> bool:
        """Whether the truths of the items at hand must be drawn."""
        return any(part.metric == "item_rate" for part in self.parts)

    def answer(self, drawn: Mapping[int, GroupRates]) -> "Answer":
        """Draws of the first part's quantity, and how often the rule's events hold."""
        value = self.parts[0].value(drawn)
        if self.rule is None:
            return Answer(value, np.nan, "")
        held = [part.rule.holds(part.value(drawn)) for part in self.parts if part.rule is not None]
        chance = float(np.mean(np.all(held, axis=0)))
        refuted = any(
            np.mean(one) <= 1.0 - part.probability
            for one, part in zip(held, self.rule.parts, strict=True)
        )
        return Answer(value, chance, outcome(chance, self.rule.probability, refuted=refuted))

    def answer_of_fit(self, fit: xr.DataTree) -> "Answer":
        """The answer of all draws of the fit."""
        posterior = fit["posterior"].to_dataset()
        drawn = {
            g: GroupRates(*(posterior[name].isel(group=g).to_numpy().ravel() for name in METRICS))
            for g in self.groups
        }
        return self.answer(drawn)

    @property
    def event(self) -> str:
        """The event whose probability the rule looks at, as text."""
        rules = [part.rule for part in self.parts if part.rule is not None]
        return "P(" + " and ".join(f"{r.quantity} {r.direction} {r.limit:g}" for r in rules) + ")"


def outcome(probability: float, needed: float, *, refuted: bool = False) -> str:
    """Ship where the event is sure enough, hold where its opposite is, else collect more.

    ``refuted`` says that one of several events is surely false. The rule of ``hb.decide``, without
    its gate.
    """
    if probability >= needed:
        return "ship"
    return "hold" if probability <= 1.0 - needed or refuted else "collect more"


def question_of(
    fit: xr.DataTree, rule: "Rule | JointRule | str | None", metric: str, group: str | None
) -> Question:
    """The question behind a rule, or behind a metric and a group.

    Raises
    ------
    ValueError
        If the metric is unknown.
    Refusal
        If a rule speaks of a rate that the sweeps cannot follow.
    DataError
        If there is no such group, or more than one.
    TypeError
        If ``rule`` is no rule.
    """
    if metric not in METRICS:
        raise ValueError(f"metric must be one of {', '.join(METRICS)}, got {metric!r}")
    if rule is not None and group is not None:
        raise ValueError("give a rule, which names its group, or a group, not both")
    if isinstance(rule, str):
        rule = Rule.parse(rule)
    if rule is not None and not isinstance(rule, Rule | JointRule):
        raise TypeError(f"expected a Rule or its text, got {type(rule).__name__}")
    if not {"posterior", "evidence"} <= set(getattr(fit, "children", ())):
        raise DataError("the tree has no posterior and evidence; pass what hb.fit returned")
    posterior = fit["posterior"].to_dataset()
    names = [str(name) for name in posterior["group"].to_numpy()]

    def position(wanted: str | None, rate: str) -> int:
        return names.index(group_name(fit, posterior[rate].transpose(..., "group"), wanted))

    if rule is None:
        place = position(group, metric)
        return Question((Part(metric, (place,), "", f"{metric} of {names[place]}", None),), None)
    parts = []
    for part in rule.parts:
        if part.metric not in METRICS:
            raise Refusal(
                f"the sweep follows {' and '.join(METRICS)}, and the rule is about {part.metric}; "
                "ask with a rule on prevalence"
            )
        wanted = (part.group,) if part.arm is None else (part.arm, part.reference)
        places = tuple(position(name, part.metric) for name in wanted)
        name = f"{part.metric} of {names[places[0]]}" if part.arm is None else part.quantity
        parts.append(Part(part.metric, places, part.contrast, name, part))
    return Question(tuple(parts), rule)
