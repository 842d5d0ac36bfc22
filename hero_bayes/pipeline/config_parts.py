"""The tables ``[model]``, ``[adjust]``, ``[sensitivity]`` and ``[[rule]]``."""

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from hero_bayes.decision.rule import JointRule, Rule
from hero_bayes.pipeline.fields import Fields, checked, is_number

if TYPE_CHECKING:
    from hero_bayes.estimators.control_variate import Ridge
    from hero_bayes.pipeline.config_data import DataConfig

__all__ = [
    "AdjustConfig",
    "ModelConfig",
    "SensitivityConfig",
    "read_adjust",
    "read_model",
    "read_rule",
    "read_sensitivity",
]

ALL_MODES = ("nuts", "laplace", "map", "exact")
POSTERIORS = ("cut", "joint")
SHRINK = ("optimal", "paper")
#: Rates of fits of labels; generations are decided in Python.
METRICS = ("prevalence", "item_rate", "prevalence_adjusted")
#: Arguments of a factory that are no priors.
TABLES = ("history", "current")


@dataclass(frozen=True)
class ModelConfig:
    """Arguments of ``hb.fit``."""

    name: str = "auto"
    mode: str | None = None
    posterior: str = "cut"
    random_seed: int = 1
    priors: Mapping[str, Any] = field(default_factory=dict)
    draws: int = 1000
    tune: int = 1000
    chains: int = 4
    cores: int | None = None

    def arguments(self) -> dict[str, Any]:
        """Keyword arguments of ``hb.fit``."""
        return {"model": self.name} | {k: v for k, v in vars(self).items() if k != "name"}


@dataclass(frozen=True)
class AdjustConfig:
    """Arguments of ``hb.adjust``; nothing is adjusted without covariates."""

    enabled: bool = True
    covariates: tuple[str, ...] = ()
    ridge: "Ridge" = "cv"
    shrink: str = "optimal"

    @property
    def runs(self) -> bool:
        """Whether there is something to adjust."""
        return self.enabled and bool(self.covariates)


@dataclass(frozen=True)
class SensitivityConfig:
    """Arguments of ``hb.transport_sensitivity``."""

    enabled: bool = True
    grid: tuple[float, ...] | None = None
    drift_sd: tuple[float, ...] = (0.1, 0.25, 0.5)
    draws: int = 400


def read_model(fields: Fields) -> ModelConfig:
    """The table ``[model]``; a model, mode or prior that there is not is named here."""
    fields.know(tuple(vars(ModelConfig())))
    mode = fields.choice("mode", ALL_MODES, "") if "mode" in fields.content else ""
    cores = fields.whole("cores", 1, 1) if "cores" in fields.content else None
    priors = fields.table("priors")
    found = ModelConfig(
        name=fields.text("name") or "auto",
        mode=mode or None,
        posterior=fields.choice("posterior", POSTERIORS, "cut"),
        random_seed=fields.whole("random_seed", 1, 0),
        priors={name: _prior(priors, name) for name in priors.content},
        draws=fields.whole("draws", 1000, 1),
        tune=fields.whole("tune", 1000, 1),
        chains=fields.whole("chains", 4, 1),
        cores=cores,
    )
    _check_model(fields, priors, found)
    return found


def _prior(priors: Fields, name: str) -> Any:
    """A number, a text, or a tuple of numbers."""
    value = priors.content[name]
    if isinstance(value, list) and value and all(map(is_number, value)):
        return tuple(value)
    if not (is_number(value) or isinstance(value, str | bool)):
        priors.wrong(name, "must be a number, a list of numbers, or a text")
    return value


def _check_model(fields: Fields, priors: Fields, found: ModelConfig) -> None:
    """Whether there is such a model, and whether it takes this mode and these priors."""
    from hero_bayes.inference.exact import EXACT_MODELS
    from hero_bayes.inference.resolve import check_exact, drawn_exactly
    from hero_bayes.models import MODELS

    known = tuple(dict.fromkeys((*EXACT_MODELS, *MODELS)))
    if found.name not in known:
        fields.wrong("name", f"must be one of {', '.join(known)}")
        return
    if drawn_exactly(found.name, found.mode, EXACT_MODELS):
        allowed = EXACT_MODELS[found.name]
        try:
            check_exact(found.name, found.mode, found.posterior, found.draws, found.chains)
        except ValueError as error:
            fields.problems.append(f"{fields.where} {checked(error)}")
    elif found.name in MODELS:
        if found.mode == "exact":
            fields.wrong("mode", f"{found.name} has nuts, laplace and map")
        signature = inspect.signature(MODELS[found.name]).parameters
        allowed = tuple(name for name in signature if name not in TABLES)
    else:
        return  # the graph of a model that is drawn exactly as a rule; it checks its own settings
    for name in priors.content:
        if name not in allowed:
            priors.wrong(name, f"{found.name} takes {', '.join(allowed)}", said=False)


def read_adjust(fields: Fields, data: "DataConfig | None") -> AdjustConfig:
    """The table ``[adjust]``; its covariates are those of ``[data]`` unless it names some."""
    fields.know(tuple(vars(AdjustConfig())))
    declared = () if data is None else data.covariates
    chosen = fields.names("covariates")
    missing = [name for name in chosen or () if name not in declared]
    if missing and data is not None:
        fields.wrong(
            "covariates", f"{', '.join(missing)} must be in covariates of [data]", said=False
        )
    ridge = fields.content.get("ridge", "cv")
    if ridge != "cv" and not (is_number(ridge) and ridge >= 0):
        fields.wrong("ridge", 'must be "cv" or a number, 0 or more')
        ridge = "cv"
    return AdjustConfig(
        enabled=fields.flag("enabled", True),
        covariates=declared if chosen is None else chosen,
        ridge="cv" if ridge == "cv" else float(ridge),
        shrink=fields.choice("shrink", SHRINK, "optimal"),
    )


def read_sensitivity(fields: Fields) -> SensitivityConfig:
    """The table ``[sensitivity]``."""
    usual = SensitivityConfig()
    fields.know(tuple(vars(usual)))
    drift_sd = fields.numbers("drift_sd") or usual.drift_sd
    if min(drift_sd) < 0.0:
        fields.wrong("drift_sd", "must not be negative")
    return SensitivityConfig(
        enabled=fields.flag("enabled", True),
        grid=fields.numbers("grid"),
        drift_sd=drift_sd,
        draws=fields.whole("draws", usual.draws, 2),
    )


def read_rule(entries: Any, adjust: AdjustConfig, problems: list[str]) -> Rule | JointRule | None:
    """The rules, all of which must hold together.

    Parameters
    ----------
    entries : list of mapping or str
        Tables of fields, as `Rule.from_dict` takes them, or rules as text.
    adjust : AdjustConfig
        Says whether there is an adjusted rate.
    problems : list of str
        Grows by one sentence for everything wrong.
    """
    listed = [entries] if isinstance(entries, str | Mapping) else entries
    if listed is not None and not isinstance(listed, list):
        problems.append(f"rule: must be tables [[rule]] or rules as text, got {entries!r}")
        return None
    if not listed:
        problems.append(
            "[[rule]] is missing: say when to ship, with metric, direction, threshold, probability"
        )
        return None
    rules: list[Rule | JointRule] = []
    for number, entry in enumerate(listed, start=1):
        where = "[[rule]]" if len(listed) == 1 else f"[[rule]] number {number}"
        try:
            rule = Rule.parse(entry) if isinstance(entry, str) else _from_table(entry)
        except (TypeError, ValueError) as error:
            problems.append(f"{where}: {checked(error)}")
            continue
        problems += [f"{where}: {said}" for said in _metric_problems(rule, adjust)]
        rules.append(rule)
    try:
        return rules[0] if len(rules) == 1 else Rule.all(rules)
    except ValueError as error:
        if rules:
            problems.append(f"[[rule]]: {checked(error)}")
        return None


def _from_table(entry: Any) -> Rule | JointRule:
    if not isinstance(entry, Mapping):
        raise ValueError(f"must be a table or a rule as text, got {entry!r}")
    fields = {k: tuple(v) if k == "rope" and isinstance(v, list) else v for k, v in entry.items()}
    return Rule.from_dict(fields)


def _metric_problems(rule: Rule | JointRule, adjust: AdjustConfig) -> list[str]:
    """Rates that the run will not have."""
    found = []
    for part in rule.parts:
        if part.metric not in METRICS:
            found.append(f"metric must be one of {', '.join(METRICS)}, got {part.metric!r}")
        elif part.metric == "prevalence_adjusted" and not adjust.runs:
            found.append(
                "prevalence_adjusted needs covariates in [data] and enabled = true in [adjust]"
            )
    return found
