"""The run itself: read, check, fit, diagnose, adjust, decide."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

from hero_bayes.decision.rates import group_name
from hero_bayes.decision.rule import JointRule, Rule
from hero_bayes.errors import DataError, Refusal
from hero_bayes.pipeline.arms import compare_rule_arms
from hero_bayes.pipeline.config import Config
from hero_bayes.pipeline.tables import read_rounds

if TYPE_CHECKING:
    import pandas as pd

    from hero_bayes.data.findings import Findings
    from hero_bayes.data.labels import Labels
    from hero_bayes.decision.result import Decision
    from hero_bayes.inference.diagnose import Diagnosis

__all__ = ["RunResult", "fit_rounds", "read_checked", "run_config", "sweep_of"]

Tell = Callable[[str], None]
PROB = 0.95
NO_INTERVAL = "the fit is the mode alone, which has no interval"


@dataclass(frozen=True)
class RunResult:
    """All that a run found.

    Attributes
    ----------
    config : Config
    history, current : Labels
    findings : Findings
        What is dangerous in the tables.
    methods : DataFrame
        The estimators without sampling, one row a group and method.
    fit : DataTree
        The posterior; the adjusted one if there are covariates, with the rates of compared arms.
    estimates : DataFrame
        Rates of the posterior: group, estimand, mean, sd, lower, upper, note.
    diagnosis : Diagnosis
        The gate's verdict.
    decision : Decision
    sweep : Dataset or None
        Transport sensitivity.
    sweep_missing : str
        Why there is no sweep; "" if there is one.
    arms : DataFrame or None
        The arms that the rule compares.
    """

    config: Config
    history: "Labels"
    current: "Labels"
    findings: "Findings"
    methods: "pd.DataFrame"
    fit: xr.DataTree
    estimates: "pd.DataFrame"
    diagnosis: "Diagnosis"
    decision: "Decision"
    sweep: xr.Dataset | None
    sweep_missing: str
    arms: "pd.DataFrame | None" = None


def silent(step: str) -> None:
    """Say nothing."""


def run_config(
    config: Config, *, force: bool = False, tell: Tell = silent, progressbar: bool = False
) -> RunResult:
    """Read, check, fit, diagnose, adjust and decide what a config asks for.

    Parameters
    ----------
    config : Config
        From ``read_config``.
    force : bool
        Decide though the gate failed; recorded in the decision.
    tell : callable
        Gets a line before every step.
    progressbar : bool
        Whether a sampler shows its progress on standard error.

    Returns
    -------
    RunResult
        Nothing is written.

    Raises
    ------
    DataError
        If a table is malformed, or a rule names a group that there is not.
    Refusal
        If the tables cannot answer.

    Notes
    -----
    With covariates the posterior is that of ``hb.adjust``, on the draws whose evidence is kept (at
    most 1,000), and so it is with arms that are compared by prompt: all rules are read from these
    draws, the file holds them, and the decision can be repeated from the file. A sweep that cannot
    be made is no failure: the reason is recorded.
    """
    from hero_bayes.data.checks import check
    from hero_bayes.decision.decide import decide
    from hero_bayes.estimators.estimate import DRAWN_METHODS, METHODS, compare_methods
    from hero_bayes.inference.diagnose import diagnose
    from hero_bayes.inference.summary import summary

    tell("reading the tables")
    history, current = read_checked(config)
    covariates = list(config.adjust.covariates)
    findings = check(history, current, shrink=config.adjust.shrink if covariates else None)
    tell("estimating without sampling")
    methods = compare_methods(
        history,
        current,
        covariates or None,
        prob=PROB,
        methods=[name for name in (*METHODS, *DRAWN_METHODS) if name != "hero2" or covariates],
        ridge=config.adjust.ridge,
        shrink=config.adjust.shrink,
        random_seed=config.model.random_seed,
    )
    fitted = fit_rounds(config, history, current, tell=tell, progressbar=progressbar)
    compared = compare_rule_arms(fitted, current, config.rule)
    fitted = compared.fit
    decision = decide(fitted, config.rule, force=force)
    decision = replace(decision, notes=(*decision.notes, *compared.notes))
    sweep, missing = None, "not asked for"
    if config.sensitivity.enabled:
        tell("asking how far the labelers may have changed")
        try:
            sweep, missing = sweep_of(config, fitted, history, current), ""
        except Refusal as refusal:
            missing = str(refusal)
    return RunResult(
        config=config,
        history=history,
        current=current,
        findings=findings,
        methods=methods,
        fit=fitted,
        estimates=with_note(summary(fitted, PROB).table),
        diagnosis=diagnose(fitted),
        decision=decision,
        sweep=sweep,
        sweep_missing=missing,
        arms=compared.table,
    )


def with_note(estimates: "pd.DataFrame") -> "pd.DataFrame":
    """Say beside a missing interval why there is none."""
    missing = estimates["lower"].isna()
    return estimates.assign(note=missing.map({True: NO_INTERVAL, False: ""}))


def read_checked(config: Config) -> "tuple[Labels, Labels]":
    """History and current round, in which every group that a rule names is found.

    Raises
    ------
    DataError
        If a table is malformed, or there is no such group or arm.
    """
    history, current = read_rounds(config.data)
    check_groups(config.rule, current)
    return history, current


def check_groups(rule: Rule | JointRule, current: "Labels") -> None:
    """Refuse before the fit what ``decide`` would refuse after it."""
    names = current.groups("current")
    draws = xr.DataArray(
        np.zeros((1, 1, len(names))), dims=("chain", "draw", "group"), coords={"group": names}
    )
    arms = xr.Dataset({"arm": ("group", [arm or "" for arm in current.group_arm])})
    known = xr.DataTree.from_dict({"constant_data": arms})
    faults = []
    for part in rule.parts:
        wanted = (part.group,) if part.arm is None else (part.arm, part.reference)
        try:
            found = [group_name(known, draws, name) for name in wanted]
        except DataError as error:
            faults.append(f"{part}: {error}")
            continue
        if part.arm is not None and found[0] == found[1]:
            faults.append(f"{part}: arm and reference are both {found[0]!r}; name two")
    if faults:
        raise DataError("\n  - ".join(["[[rule]] does not match the current round:", *faults]))


def fit_rounds(
    config: Config,
    history: "Labels",
    current: "Labels",
    *,
    tell: Tell = silent,
    progressbar: bool = False,
) -> xr.DataTree:
    """The posterior that a config asks for, adjusted if there are covariates."""
    from hero_bayes.adjustment.adjust import adjust
    from hero_bayes.inference.fit import fit

    tell(f"fitting {config.model.name}")
    try:
        fitted = fit(history, current, **config.model.arguments(), progressbar=progressbar)
    except (TypeError, ValueError) as error:
        if isinstance(error, DataError | Refusal) or not config.model.priors:
            raise
        raise DataError(f"[model] priors: {error}") from error
    if not config.adjust.runs:
        return fitted
    tell("adjusting by covariates")
    return adjust(
        fitted,
        history,
        current,
        list(config.adjust.covariates),
        ridge=config.adjust.ridge,
        shrink=config.adjust.shrink,
    )


def sweep_of(
    config: Config, fitted: xr.DataTree, history: "Labels", current: "Labels"
) -> xr.Dataset:
    """Transport sensitivity of the config's rule.

    A rule on ``prevalence_adjusted`` is asked of ``prevalence``, which the sweep can follow; the
    attribute ``asked_instead`` says so.

    Raises
    ------
    Refusal
        If the fit has no draws or its layers cannot be followed.
    """
    from hero_bayes.sensitivity.transport import transport_sensitivity

    asked = followed(config.rule)
    sweep = transport_sensitivity(
        fitted,
        history,
        current,
        rule=asked,
        grid=config.sensitivity.grid,
        drift_sd=config.sensitivity.drift_sd,
        draws=config.sensitivity.draws,
        random_seed=config.model.random_seed,
    )
    if asked != config.rule:
        sweep.attrs["asked_instead"] = (
            f"The sweep asks {asked}: it follows the rate without covariates."
        )
    return sweep


def followed(rule: Rule | JointRule) -> Rule | JointRule:
    """The rule with prevalence in place of the adjusted rate."""
    parts = [
        replace(part, metric="prevalence") if part.metric == "prevalence_adjusted" else part
        for part in rule.parts
    ]
    distinct = list(dict.fromkeys(parts))
    return distinct[0] if len(distinct) == 1 else Rule.all(distinct)
