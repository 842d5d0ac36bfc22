"""How the current prevalence is drawn, given draws of everything else."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import pymc as pm
from numpy.typing import NDArray
from pytensor.graph.traversal import ancestors

from hero_bayes.errors import Refusal
from hero_bayes.estimators.prompt_spread import rate_by_prompt
from hero_bayes.inference import kernels

FloatArray = NDArray[np.float64]
Positions = NDArray[np.integer]

REMEDY = 'give it pm.Beta("prevalence", ..., dims="group"), or use posterior="joint"'


@dataclass(frozen=True)
class GroupDraw:
    """One draw about one current group.

    Attributes
    ----------
    prevalence : float
    prior_log_odds : array (item of the group)
        Log odds of truth 1 of each item, before its own labels.
    parameters : mapping of str to float
        The group's further parameters by name, such as an intercept.
    """

    prevalence: float
    prior_log_odds: FloatArray
    parameters: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class GroupState:
    """One current group at one draw of everything else.

    Attributes
    ----------
    group : int
    item_idx : int array
        The group's items among the current ones.
    log_ratio : array (item of the group)
        Evidence of their labels; gold is +inf or -inf.
    values : mapping
        The draw, by variable, with what the outcome layer needs beside it.
    """

    group: int
    item_idx: Positions
    log_ratio: FloatArray
    values: Mapping[str, FloatArray]


class Outcome(Protocol):
    """An outcome layer's part in the second stage.

    ``own`` names the free variables (group) that the second stage draws.
    """

    @property
    def own(self) -> tuple[str, ...]:
        """Names of the group's own free variables."""

    def exact(self, at: GroupState, rng: np.random.Generator) -> GroupDraw:
        """Draw the group's parameters from their posterior given the evidence (cut)."""

    def given(self, at: GroupState, rng: np.random.Generator) -> GroupDraw:
        """The group's rate and prior log odds at the drawn parameters (joint)."""

    def prior_log_odds(self, at: GroupState) -> FloatArray:
        """Log odds of truth 1 of each item before its own labels, at one value of everything."""


def log_odds(rate: float) -> float:
    """Log odds of a probability, finite at 0 and 1."""
    rate = min(max(rate, 1e-300), 1.0 - 1e-16)
    return float(np.log(rate) - np.log1p(-rate))


@dataclass(frozen=True)
class PrevalenceOutcome:
    """Every item of a group has the group's rate, m ~ Beta(alpha, beta)."""

    alpha: FloatArray
    beta: FloatArray
    own: tuple[str, ...] = ("prevalence",)

    def exact(self, at: GroupState, rng: np.random.Generator) -> GroupDraw:
        """Rate drawn given the items' evidence; gold (+inf, -inf) counts as observed truth.

        Where prompts repeat, the truths of the items at hand are drawn as if they did not, and the
        rate of new prompts by weighting prompts; see `rate_by_prompt`.
        """
        rate = kernels.draw_prevalence(
            at.log_ratio[np.isfinite(at.log_ratio)],
            self.alpha[at.group] + float((at.log_ratio == np.inf).sum()),
            self.beta[at.group] + float((at.log_ratio == -np.inf).sum()),
            rng.random(),
        )
        prior_log_odds = np.full(at.item_idx.size, log_odds(rate))
        if "prompt_weight" in at.values:
            weight, prompt = (at.values[n][at.item_idx] for n in ("prompt_weight", "prompt_idx"))
            prior = float(self.alpha[at.group]), float(self.beta[at.group])
            rate = rate_by_prompt(at.log_ratio, weight, prompt.astype(np.int64), rate, prior, rng)
        return GroupDraw(rate, prior_log_odds)

    def given(self, at: GroupState, rng: np.random.Generator) -> GroupDraw:
        """The drawn rate itself."""
        rate = float(at.values["prevalence"][at.group])
        return GroupDraw(rate, np.full(at.item_idx.size, log_odds(rate)))

    def prior_log_odds(self, at: GroupState) -> FloatArray:
        """Those of the rate."""
        return np.full(at.item_idx.size, log_odds(float(at.values["prevalence"][at.group])))


@dataclass(frozen=True)
class RegressionOutcome:
    """Log odds of an item: its group's intercept, ~ Logistic, plus a part known from the draw."""

    location: FloatArray
    scale: FloatArray
    own: tuple[str, ...] = ("intercept",)

    def exact(self, at: GroupState, rng: np.random.Generator) -> GroupDraw:
        """Intercept drawn given the evidence; the rate averages over re-weighted history items."""
        intercept = kernels.draw_intercept(
            at.log_ratio,
            at.values["covariate_log_odds"][at.item_idx],
            self.location[at.group],
            self.scale[at.group],
            rng.random(),
        )
        return self._with(intercept, at)

    def given(self, at: GroupState, rng: np.random.Generator) -> GroupDraw:
        """The rate at the drawn intercept, over re-weighted history items."""
        return self._with(float(at.values["intercept"][at.group]), at)

    def prior_log_odds(self, at: GroupState) -> FloatArray:
        """Intercept plus the item's part."""
        own = at.values["covariate_log_odds"][at.item_idx]
        return np.asarray(at.values["intercept"][at.group] + own)

    def _with(self, intercept: float, at: GroupState) -> GroupDraw:
        past, weight = at.values["history_covariate_log_odds"], at.values["history_weight"]
        rate = float(weight @ (1.0 / (1.0 + np.exp(-(intercept + past)))) / weight.sum())
        prior = intercept + at.values["covariate_log_odds"][at.item_idx]
        return GroupDraw(rate, prior, {"intercept": intercept})


def history_weights(
    values: Mapping[str, FloatArray], rng: np.random.Generator
) -> dict[str, FloatArray]:
    """Dirichlet weights (unnormalised) of the history items, one set a draw for all groups.

    Shared, so that a difference of groups is not widened by the covariates' law they have in
    common.
    """
    past = values.get("history_covariate_log_odds")
    return {} if past is None else {"history_weight": rng.exponential(size=past.size)}


def outcome_of(model: pm.Model, *, cut: bool) -> Outcome:
    """The outcome layer of a model, read from its variables and their priors.

    Raises
    ------
    Refusal
        In a cut, if the current groups' parameters have no priors of their own.
    """
    from hero_bayes.inference.prompt_outcome import PromptOutcome

    if {"intercept", "covariate_log_odds", "history_covariate_log_odds"} <= set(model.named_vars):
        return RegressionOutcome(*fixed_parameters(model, "intercept", "LogisticRV"))
    if {"icc", "prompt_slots", "prompt_size"} <= set(model.named_vars):
        return PromptOutcome.of(model)
    if not cut:
        n_groups = len(model.coords["group"])
        return PrevalenceOutcome(np.ones(n_groups), np.ones(n_groups))
    return PrevalenceOutcome(*beta_parameters(model, "prevalence"))


def beta_parameters(model: pm.Model, name: str) -> tuple[FloatArray, FloatArray]:
    """Beta parameters of a free variable over ``group``; a uniform on (0, 1) is one."""
    rv = model.named_vars[name]
    if rv in model.free_RVs and type(rv.owner.op).__name__ == "UniformRV":
        low, high = fixed_parameters(model, name, "UniformRV")
        if (low == 0).all() and (high == 1).all():
            return np.ones_like(low), np.ones_like(low)
    return fixed_parameters(model, name, "BetaRV")


def fixed_parameters(model: pm.Model, name: str, kind: str) -> tuple[FloatArray, FloatArray]:
    """The two prior parameters of a free variable over ``group``, which must be constants."""
    rv = model.named_vars[name]
    if rv not in model.free_RVs:
        raise Refusal(f'posterior="cut" needs a free variable {name!r} (group); {REMEDY}')
    found = type(rv.owner.op).__name__
    if found != kind:
        raise Refusal(f'posterior="cut" needs {name!r} to be a {kind[:-2]}, got {found}; {REMEDY}')
    parameters = rv.owner.op.dist_params(rv.owner)
    if any(v in model.free_RVs for v in ancestors(parameters)):
        raise Refusal(f'posterior="cut" needs fixed prior parameters of {name!r}; {REMEDY}')
    n_groups = len(model.coords["group"])
    first, second = (np.asarray(p.eval(), dtype=float) for p in parameters)
    return np.broadcast_to(first, (n_groups,)).copy(), np.broadcast_to(second, (n_groups,)).copy()
