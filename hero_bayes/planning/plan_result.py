"""What simulated rounds say of each design."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hero_bayes.data.identifiers import number_of
from hero_bayes.decision.rule import Rule
from hero_bayes.planning.simulated import Design, Row, Settings

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Goal", "Plan", "planned"]


@dataclass(frozen=True)
class Goal:
    """Costs of an item, a label and a gold label, and what is to be reached."""

    costs: Mapping[str, float] | None
    width: float | None
    correct: float | None

    @property
    def any(self) -> bool:
        """Whether there is a target."""
        return self.width is not None or self.correct is not None


@dataclass(frozen=True)
class Plan:
    """Designs of the next round, simulated.

    Attributes
    ----------
    table : DataFrame
        One row a design: ``n_items``, ``labels_per_item`` (mean of history where all are kept),
        ``gold`` (added), ``labels`` (all together), ``width`` of the interval with ``width_error``
        (Monte-Carlo standard error), ``coverage``, ``refused`` (share of simulations that could not
        be fitted; they count as no decision, and against the design); with a rule ``ship``,
        ``hold``, ``correct`` and ``wrong`` (shares of the simulations) and ``correct_error``; with
        costs ``cost``; with a target ``meets_target``.
    cheapest : dict or None
        The row of the cheapest design that meets the targets (without costs: the one with the
        fewest labels and gold labels); None if none does, or there is no target.
    rule : Rule or None
    metric : str
    prob : float
        Probability of the interval.
    rate : (float, float, float)
        Mean of the rates that were simulated, their 5 % and their 95 % quantile.
    n_simulations : int
    goal : Goal
    """

    table: "pd.DataFrame"
    cheapest: dict[str, Any] | None
    rule: Rule | None
    metric: str
    prob: float
    rate: tuple[float, float, float]
    n_simulations: int
    goal: Goal

    @property
    def sentences(self) -> tuple[str, ...]:
        """What the plan says."""
        mean, low, high = self.rate
        said = [
            f"{number_of(len(self.table), 'design')}, {self.n_simulations} simulated rounds each, "
            f"at rates of {mean:.3f} ({low:.3f} to {high:.3f})."
        ]
        if not self.goal.any:
            if self.table["width"].notna().any():
                best = _row(self.table, int(self.table["width"].argmin()))
                said.append(
                    f"The narrowest {self.prob:.0%} interval of {self.metric}, {best['width']:.3f} "
                    f"wide on average, comes with {_design(best)}."
                )
            return tuple(said)
        if self.cheapest is None:
            said.append(f"No design reaches {self._target}; ask for larger ones.")
            return tuple(said)
        price = f" at a cost of {self.cheapest['cost']:g}" if "cost" in self.cheapest else ""
        best_is = "cheapest" if price else "smallest"
        said.append(
            f"The {best_is} design that reaches {self._target} has {_design(self.cheapest)}"
            f"{price}: the {self.prob:.0%} interval is {self.cheapest['width']:.3f} wide on "
            "average."
        )
        if self.rule is not None:
            said.append(
                f"{self.rule} is decided correctly in {self.cheapest['correct']:.0%} of the "
                f"simulations and wrongly in {self.cheapest['wrong']:.0%}."
            )
        return tuple(said)

    @property
    def _target(self) -> str:
        parts = []
        if self.goal.width is not None:
            parts.append(f"a width of {self.goal.width:g}")
        if self.goal.correct is not None:
            parts.append(f"a correct decision in {self.goal.correct:.0%}")
        return " and ".join(parts)

    def __str__(self) -> str:
        """The sentences."""
        return "\n".join(self.sentences)


def planned(
    rows: Sequence[Row],
    designs: Sequence[Design],
    settings: Settings,
    goal: Goal,
    mean_labels: float,
    rates: NDArray[np.float64],
) -> Plan:
    """Average the simulations of each design."""
    import pandas as pd

    by_design: dict[Design, list[Row]] = {design: [] for design in designs}
    for row in sorted(rows, key=lambda row: row["simulation"]):
        by_design[Design(row["n_items"], row["labels_per_item"], row["gold"])].append(row)
    found = [_averaged(d, own, goal, mean_labels) for d, own in by_design.items()]
    table = pd.DataFrame(found)
    low, high = np.quantile(rates, [0.05, 0.95])
    return Plan(
        table=table,
        cheapest=_cheapest(table, goal),
        rule=settings.rule,
        metric=settings.metric,
        prob=settings.prob,
        rate=(float(rates.mean()), float(low), float(high)),
        n_simulations=len(rates),
        goal=goal,
    )


def _averaged(design: Design, rows: Sequence[Row], goal: Goal, mean_labels: float) -> Row:
    """One row of the table."""
    per_item = mean_labels if design.labels_per_item is None else design.labels_per_item
    answered = [row for row in rows if not row["refused"]]
    width = np.array([row["width"] for row in answered])
    labels = design.n_items * per_item
    out: Row = {
        "n_items": design.n_items,
        "labels_per_item": per_item,
        "gold": design.gold,
        "labels": round(labels),
        "width": float(width.mean()) if answered else math.nan,
        "width_error": _error(width),
        "coverage": float(np.mean([r["covered"] for r in answered])) if answered else math.nan,
        "refused": 1.0 - len(answered) / len(rows),
    }
    if any("correct" in row for row in rows):
        for name in ("ship", "hold", "correct", "wrong"):
            out[name] = float(np.mean([row.get(name, False) for row in rows]))
        out["correct_error"] = math.sqrt(out["correct"] * (1.0 - out["correct"]) / len(rows))
    if goal.costs is not None:
        price = goal.costs
        out["cost"] = (
            price["item"] * design.n_items + price["label"] * labels + price["gold"] * design.gold
        )
    if goal.any:
        narrow = goal.width is None or out["width"] <= goal.width
        right = goal.correct is None or out.get("correct", 0.0) >= goal.correct
        out["meets_target"] = bool(narrow and right and len(answered) == len(rows))
    return out


def _error(values: NDArray[np.float64]) -> float:
    """Standard error of a mean; NaN of fewer than two values."""
    return float(values.std(ddof=1) / np.sqrt(values.size)) if values.size > 1 else math.nan


def _cheapest(table: "pd.DataFrame", goal: Goal) -> dict[str, Any] | None:
    if not goal.any or not table["meets_target"].any():
        return None
    price = table["cost"] if goal.costs is not None else table["labels"] + table["gold"]
    return _row(table, int(price.where(table["meets_target"]).argmin()))


def _row(table: "pd.DataFrame", position: int) -> dict[str, Any]:
    return {str(name): _plain(table[name].iloc[position]) for name in table}


def _plain(value: Any) -> Any:
    """A number of numpy as one of Python."""
    return value.item() if isinstance(value, np.generic) else value


def _design(row: Mapping[str, Any]) -> str:
    return (
        f"{number_of(int(row['n_items']), 'item')}, {row['labels_per_item']:.3g} labels each and "
        f"{int(row['gold'])} more gold labels"
    )
