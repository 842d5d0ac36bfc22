"""Which factory a fit uses, and whether its arguments make sense."""

import inspect
from collections.abc import Callable, Collection, Mapping
from functools import partial
from numbers import Integral
from typing import Any

import numpy as np
import pymc as pm

from hero_bayes.data.labels import Labels
from hero_bayes.errors import DataError
from hero_bayes.models import MODELS

Factory = Callable[..., pm.Model]

MODES = ("nuts", "laplace", "map")
POSTERIORS = ("cut", "joint")
#: The model that is drawn exactly unless another mode is asked for.
SCORE = "score"
#: Variables of a model that the rest of the package reads.
REQUIRED = ("prevalence", "class_log_likelihood")
#: NetCDF files hold seeds up to this.
LARGEST_SEED = 2**63 - 1


def resolve_model(model: str | Factory) -> tuple[str, Factory]:
    """Name and factory of a model given by name or as a factory."""
    if isinstance(model, str):
        if model not in MODELS:
            known = ", ".join((*MODELS, "score", "auto"))
            raise ValueError(f"unknown model {model!r}; one of {known}, or a factory")
        return model, MODELS[model]
    if not callable(model):
        raise ValueError(
            f"model must be a name or a factory (history, current, **priors), got {model!r}"
        )
    named = model.func if isinstance(model, partial) else model
    return getattr(named, "__name__", type(named).__name__), model


def check_arguments(mode: str, posterior: str, draws: int, tune: int, chains: int) -> None:
    """Reject what ``fit`` does not understand."""
    if mode not in MODES:
        raise ValueError(f"unknown mode {mode!r}; one of {', '.join(MODES)}")
    if posterior not in POSTERIORS:
        raise ValueError(f"unknown posterior {posterior!r}; one of {', '.join(POSTERIORS)}")
    for name, value in (("draws", draws), ("tune", tune), ("chains", chains)):
        if not isinstance(value, Integral) or isinstance(value, bool):
            raise TypeError(f"{name} must be a whole number, got {value!r}")
        if value < 1:
            raise ValueError(f"{name} must be at least 1, got {value}")


def checked_seed(random_seed: int | None) -> int:
    """The seed as a Python int that a file can hold; a new one for None.

    Raises
    ------
    TypeError, ValueError
        If it is no whole number from 0 to 2^63 - 1.

    Examples
    --------
    >>> checked_seed(np.int64(3))
    3
    """
    if random_seed is None:
        return int(np.random.default_rng().integers(2**31))
    if not isinstance(random_seed, Integral) or isinstance(random_seed, bool):
        raise TypeError(f"random_seed must be a whole number or None, got {random_seed!r}")
    if not 0 <= random_seed <= LARGEST_SEED:
        raise ValueError(f"random_seed must lie between 0 and 2**63 - 1, got {random_seed}")
    return int(random_seed)


def checked_priors(priors: Mapping[str, Any] | None) -> dict[str, Any]:
    """The priors as a dict of their own.

    Raises
    ------
    TypeError
        If they are no mapping from names.
    """
    if priors is None:
        return {}
    if not isinstance(priors, Mapping) or not all(isinstance(name, str) for name in priors):
        raise TypeError(
            f'priors must be a dict from names to values, such as {{"gold_error": 0.05}}, got '
            f"{priors!r}"
        )
    return dict(priors)


def drawn_exactly(model: str | Factory, mode: str | None, exact: Collection[str]) -> bool:
    """Whether a model is drawn without a sampler; ``exact`` names those that can be."""
    if not isinstance(model, str) or model not in exact:
        return False
    return model != SCORE or mode in (None, "exact")


def check_exact(model: str, mode: str | None, posterior: str, draws: int, chains: int) -> None:
    """Reject what the models that are drawn exactly do not understand."""
    if mode not in (None, "exact"):
        raise ValueError(
            f"model={model!r} has the mode 'exact' alone, got {mode!r}; name a model that has it, "
            'such as model="hero"'
        )
    if posterior != "cut":
        raise ValueError(
            f"mode='exact' of model={model!r} has the cut posterior alone, got {posterior!r}: "
            'current labels never re-teach the scores; leave posterior="cut", or name a model that '
            'has both, such as model="hero"'
        )
    check_arguments("nuts", posterior, draws, 1, chains)


def build(
    factory: Factory, history: Labels, current: Labels, priors: Mapping[str, Any]
) -> pm.Model:
    """The factory's model, checked for the variables that a fit reads.

    Raises
    ------
    ValueError
        If the factory does not take one of the priors, or, of ours, not with these parameters.
    DataError
        If the model lacks a required variable or dimension.
    """
    parameters = inspect.signature(factory).parameters
    open_ended = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    allowed = [name for name in parameters if name not in ("history", "current")]
    unknown = [name for name in priors if name not in allowed]
    if unknown and not open_ended:
        raise ValueError(
            f"unknown priors {', '.join(unknown)}; this model takes {', '.join(allowed) or 'none'}"
        )
    model = factory(history, current, **priors)
    if not isinstance(model, pm.Model):
        raise DataError(f"a factory returns a pm.Model, got {type(model).__name__}")
    missing = [name for name in REQUIRED if name not in model.named_vars]
    if missing or "group" not in model.coords:
        lacking = missing or ["the dimension 'group'"]
        raise DataError(
            f"the model lacks {', '.join(lacking)}; a factory for hb.fit names its rate "
            'pm.Beta("prevalence", ..., dims="group") and registers '
            'pm.Deterministic("class_log_likelihood", ..., dims=("item", "truth")) for the '
            "current items"
        )
    return model
