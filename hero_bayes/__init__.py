"""Debiased rates with honest intervals from gold-anchored history and silver labels.

The names below are the public interface. Each is imported when first used, so that ``import
hero_bayes`` costs nothing and PyMC is loaded only when a model is built.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from hero_bayes._version import __version__

if TYPE_CHECKING:
    from hero_bayes import calibration, difficulty, models, plots
    from hero_bayes.adjustment.adjust import adjust
    from hero_bayes.agreement.dependence import dependence
    from hero_bayes.data import datasets
    from hero_bayes.data.checks import check
    from hero_bayes.data.covariates import TextCovariates
    from hero_bayes.data.labels import Labels
    from hero_bayes.decision.arm_result import ArmComparison
    from hero_bayes.decision.compare_arms import compare_arms
    from hero_bayes.decision.decide import decide
    from hero_bayes.decision.result import Decision
    from hero_bayes.decision.rule import JointRule, Rule
    from hero_bayes.errors import DataError, Refusal
    from hero_bayes.estimators.estimate import compare_methods, estimate
    from hero_bayes.estimators.result import Estimate
    from hero_bayes.inference.diagnose import Diagnosis, diagnose
    from hero_bayes.inference.fit import fit
    from hero_bayes.inference.power_scaling import power_scaling
    from hero_bayes.inference.storage import load, save
    from hero_bayes.inference.summary import summary
    from hero_bayes.inference.truth import posterior_truth
    from hero_bayes.planning.gold_list import NextGold
    from hero_bayes.planning.next_gold import next_gold
    from hero_bayes.planning.plan import plan
    from hero_bayes.planning.plan_result import Plan
    from hero_bayes.sensitivity.carryover import transport_check
    from hero_bayes.sensitivity.covariate_means import covariate_shift
    from hero_bayes.sensitivity.gold_selection import gold_selection_sensitivity
    from hero_bayes.sensitivity.influence import labeler_influence, round_influence
    from hero_bayes.sensitivity.transport import transport_sensitivity
    from hero_bayes.simulation.simulate import simulate

_HOME = {
    "power_scaling": "hero_bayes.inference.power_scaling",
    "posterior_truth": "hero_bayes.inference.truth",
    "load": "hero_bayes.inference.storage",
    "save": "hero_bayes.inference.storage",
    "Diagnosis": "hero_bayes.inference.diagnose",
    "adjust": "hero_bayes.adjustment.adjust",
    "compare_arms": "hero_bayes.decision.compare_arms",
    "ArmComparison": "hero_bayes.decision.arm_result",
    "JointRule": "hero_bayes.decision.rule",
    "models": "hero_bayes.models",
    "NextGold": "hero_bayes.planning.gold_list",
    "next_gold": "hero_bayes.planning.next_gold",
    "Plan": "hero_bayes.planning.plan_result",
    "plan": "hero_bayes.planning.plan",
    "decide": "hero_bayes.decision.decide",
    "Decision": "hero_bayes.decision.result",
    "Rule": "hero_bayes.decision.rule",
    "covariate_shift": "hero_bayes.sensitivity.covariate_means",
    "gold_selection_sensitivity": "hero_bayes.sensitivity.gold_selection",
    "labeler_influence": "hero_bayes.sensitivity.influence",
    "round_influence": "hero_bayes.sensitivity.influence",
    "transport_check": "hero_bayes.sensitivity.carryover",
    "transport_sensitivity": "hero_bayes.sensitivity.transport",
    "dependence": "hero_bayes.agreement.dependence",
    "difficulty": "hero_bayes.difficulty",
    "diagnose": "hero_bayes.inference.diagnose",
    "summary": "hero_bayes.inference.summary",
    "fit": "hero_bayes.inference.fit",
    "DataError": "hero_bayes.errors",
    "Estimate": "hero_bayes.estimators.result",
    "Labels": "hero_bayes.data.labels",
    "Refusal": "hero_bayes.errors",
    "TextCovariates": "hero_bayes.data.covariates",
    "calibration": "hero_bayes.calibration",
    "check": "hero_bayes.data.checks",
    "compare_methods": "hero_bayes.estimators.estimate",
    "datasets": "hero_bayes.data.datasets",
    "estimate": "hero_bayes.estimators.estimate",
    "plots": "hero_bayes.plots",
    "simulate": "hero_bayes.simulation.simulate",
}

#: Names that are modules.
_ROOMS = frozenset({"calibration", "datasets", "difficulty", "models", "plots"})

__all__ = [
    "ArmComparison",
    "DataError",
    "Decision",
    "Diagnosis",
    "Estimate",
    "JointRule",
    "Labels",
    "NextGold",
    "Plan",
    "Refusal",
    "Rule",
    "TextCovariates",
    "__version__",
    "adjust",
    "calibration",
    "check",
    "compare_arms",
    "compare_methods",
    "covariate_shift",
    "datasets",
    "decide",
    "dependence",
    "diagnose",
    "difficulty",
    "estimate",
    "fit",
    "gold_selection_sensitivity",
    "labeler_influence",
    "load",
    "models",
    "next_gold",
    "plan",
    "plots",
    "posterior_truth",
    "power_scaling",
    "round_influence",
    "save",
    "simulate",
    "summary",
    "transport_check",
    "transport_sensitivity",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'hero_bayes' has no attribute {name!r}")
    home = import_module(_HOME[name])
    value = home if name in _ROOMS else getattr(home, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
