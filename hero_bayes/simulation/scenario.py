"""What a simulated pair of rounds looks like, and which settings make no sense."""

import math
from dataclasses import dataclass, fields

__all__ = ["COVARIATES", "Scenario", "scenario_problems"]

#: What the informative covariate ``x`` is.
COVARIATES = ("normal", "binary")

COUNTS = ("n_history", "n_current", "n_labelers", "labels_per_item")
SHARES = ("gold_rate", "pool_shift")
INSIDE = ("prevalence", "history_prevalence", "sensitivity", "specificity", "binary_share")
SEED_LIMIT = 2**32


@dataclass(frozen=True)
class Scenario:
    """One setting; the fields are the arguments of `simulate`."""

    n_history: int = 800
    n_current: int = 300
    n_labelers: int = 10
    labels_per_item: int = 3
    gold_rate: float = 0.1
    prevalence: float = 0.31
    history_prevalence: float | None = None
    sensitivity: float = 0.5
    specificity: float = 0.93
    heterogeneity: float = 12.0
    pool_shift: float = 0.0
    covariate_strength: float = 0.0
    n_noise_covariates: int = 0
    covariate: str = "normal"
    binary_share: float = 0.3
    prompts: bool = False
    labeler_seed: int | None = None


#: Scenario fields that may be left open.
OPTIONAL = ("history_prevalence", "labeler_seed")
WHOLE = (*COUNTS, "n_noise_covariates", "labeler_seed")
FIELDS = tuple(entry.name for entry in fields(Scenario))


def scenario_problems(scenario: Scenario) -> list[str]:
    """Everything that is wrong with a scenario, one sentence each."""
    types = {name: _type_problem(name, getattr(scenario, name)) for name in FIELDS}
    found = [said for said in types.values() if said]
    values = {name: getattr(scenario, name) for name in FIELDS if types[name] is None}
    for name in COUNTS:
        if values.get(name, 1) < 1:
            found.append(f"{name} must be at least 1, got {values[name]}")
    for name in SHARES:
        if not 0 <= values.get(name, 0) <= 1:
            found.append(f"{name} must lie in [0, 1], got {values[name]!r}")
    for name in INSIDE:
        value = values.get(name)
        if value is not None and not 0 < value < 1:
            found.append(f"{name} must lie inside (0, 1), got {value!r}")
    if values.get("heterogeneity", 1) <= 0:
        found.append(f"heterogeneity must be above 0, got {values['heterogeneity']!r}")
    if values.get("n_noise_covariates", 0) < 0:
        found.append(f"n_noise_covariates must not be negative, got {scenario.n_noise_covariates}")
    seed = values.get("labeler_seed")
    if seed is not None and not 0 <= seed < SEED_LIMIT:
        found.append(f"labeler_seed must lie in [0, 2^32), got {seed}")
    if values.get("covariate", COVARIATES[0]) not in COVARIATES:
        found.append(
            f"covariate must be one of {', '.join(COVARIATES)}, not {scenario.covariate!r}"
        )
    if {"n_labelers", "labels_per_item"} <= set(values):
        working = scenario.n_labelers - (values.get("pool_shift") == 1 and scenario.n_labelers > 1)
        if scenario.labels_per_item > working:
            found.append(
                f"labels_per_item is {scenario.labels_per_item}, more than the {working} labelers "
                "that take part"
            )
    return found


def _type_problem(name: str, value: object) -> str | None:
    """Whether the value has the type of the field."""
    if value is None and name in OPTIONAL:
        return None
    if name == "prompts":
        return None if isinstance(value, bool) else f"prompts must be true or false, got {value!r}"
    if name == "covariate":
        return None if isinstance(value, str) else f"covariate must be a word, got {value!r}"
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        return f"{name} must be a number, got {value!r}"
    if name in WHOLE and not isinstance(value, int):
        return f"{name} must be a whole number, got {value!r}"
    return None
