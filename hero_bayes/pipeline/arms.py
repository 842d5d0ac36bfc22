"""Arms that a rule compares, paired by prompt where the tables tell the prompts."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pandas as pd
import xarray as xr

from hero_bayes.decision.rates import group_name, metric_draws
from hero_bayes.decision.rule import JointRule, Rule

if TYPE_CHECKING:
    from hero_bayes.data.labels import Labels
    from hero_bayes.decision.arm_result import ArmComparison

__all__ = ["ComparedArms", "compare_rule_arms"]

PROB = 0.95


@dataclass(frozen=True)
class ComparedArms:
    """A fit whose rates are those of compared arms.

    Attributes
    ----------
    fit : DataTree
        What the rule is read from; the fit as it was if nothing is compared.
    table : DataFrame or None
        One row an arm of every comparison: metric, reference, arm and the columns of
        ``ArmComparison.table``.
    notes : tuple of str
        What the arms share.
    """

    fit: xr.DataTree
    table: pd.DataFrame | None = None
    notes: tuple[str, ...] = ()


def compare_rule_arms(fit: xr.DataTree, current: "Labels", rule: Rule | JointRule) -> ComparedArms:
    """Compare the arms that a rule names, as ``hb.compare_arms`` does.

    Parameters
    ----------
    fit : DataTree
        With draws; the mode alone is given back as it is.
    current : Labels
        The current table of the fit, with prompts if it has them.
    rule : Rule or JointRule

    Notes
    -----
    Each metric is paired once, "prevalence" first: it keeps the draws whose evidence is kept. Arms
    of different rounds are compared draw by draw, without pairing.
    """
    from hero_bayes.decision.compare_arms import compare_arms

    if str(fit.attrs["mode"]) == "map":
        return ComparedArms(fit)
    asked = [part for part in rule.parts if part.arm is not None]
    asked.sort(key=lambda part: part.metric != "prevalence")
    paired, tables, notes = fit, list[pd.DataFrame](), dict[str, None]()
    done: set[tuple[str, str]] = set()
    for part in asked:
        where = round_of(fit, part)
        if where is None:
            continue
        found = compare_arms(
            fit,
            reference=part.reference,
            metric=part.metric,
            round=where,
            current=current,
            lower_is_better=part.wants_low,
        )
        tables.append(rows_of(found))
        notes |= dict.fromkeys(found.notes)
        if (part.metric, where) not in done:
            done.add((part.metric, where))
            paired = compare_arms(paired, metric=part.metric, round=where, current=current).fit
    if not tables:
        return ComparedArms(fit)
    table = pd.concat(tables, ignore_index=True).drop_duplicates(ignore_index=True)
    return ComparedArms(paired, table, tuple(notes))


def round_of(fit: xr.DataTree, part: Rule) -> str | None:
    """The round that both arms of a rule belong to; None if they belong to two."""
    draws = metric_draws(fit, part.metric)
    names = [str(name) for name in draws["group"].to_numpy()]
    rounds = [str(name) for name in fit["constant_data"]["round"].to_numpy()]
    both = {
        rounds[names.index(group_name(fit, draws, wanted))] for wanted in (part.arm, part.reference)
    }
    return both.pop() if len(both) == 1 else None


def rows_of(found: "ArmComparison") -> pd.DataFrame:
    """The table of one comparison, with what was compared in front."""
    table = found.table(PROB)
    table.insert(0, "reference", found.reference)
    table.insert(0, "metric", found.metric)
    return table
