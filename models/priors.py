"""What a prior's parameters may be; every layer says which kind each of its own is.

They are handed on as given: PyTensor holds Python floats in single precision, arrays in double.
"""

import math
from numbers import Real
from typing import Any

import numpy as np

__all__ = ["beta_pair", "mean_and_sd", "number", "positive_scale"]


def _is_number(value: Any) -> bool:
    """Whether it is one real number, an array of no dimension included."""
    if isinstance(value, np.ndarray):
        return value.ndim == 0 and value.dtype.kind in "iuf"
    return isinstance(value, Real) and not isinstance(value, bool)


def _pair(name: str, value: Any, kind: str, example: str) -> tuple[Any, Any]:
    """The two finite numbers that stand for a prior."""
    is_array = isinstance(value, np.ndarray) and value.ndim == 1
    listed = list(value) if isinstance(value, tuple | list) or is_array else []
    if len(listed) != 2 or not all(_is_number(v) for v in listed):
        raise ValueError(
            f"{name} must be a pair of numbers, {kind}, such as {example}; got {value!r}"
        )
    if not all(math.isfinite(v) for v in listed):
        raise ValueError(f"{name} must be {kind}, such as {example}; got {value!r}")
    return listed[0], listed[1]


def beta_pair(name: str, value: Any) -> tuple[Any, Any]:
    """The parameters of a Beta prior: two positive numbers."""
    kind, example = "two positive numbers (a, b) of a Beta prior", "(1.0, 1.0)"
    a, b = _pair(name, value, kind, example)
    if not (a > 0.0 and b > 0.0):
        raise ValueError(f"{name} must be {kind}, such as {example}; got {value!r}")
    return a, b


def mean_and_sd(name: str, value: Any) -> tuple[Any, Any]:
    """The parameters of a normal prior: any mean, and a positive standard deviation."""
    kind, example = "a mean and a positive sd of a normal prior", "(0.0, 1.0)"
    mean, sd = _pair(name, value, kind, example)
    if not sd > 0.0:
        raise ValueError(f"{name} must be {kind}, such as {example}; got {value!r}")
    return mean, sd


def positive_scale(name: str, value: Any) -> Any:
    """The scale of a half-normal prior, or the sd of a normal one about a given mean: positive."""
    if not (_is_number(value) and math.isfinite(value) and value > 0.0):
        raise ValueError(f"{name} must be one positive number, a scale such as 1.0; got {value!r}")
    return value


def number(name: str, value: Any, least: float = -math.inf) -> Any:
    """A finite number, at least ``least``."""
    if not (_is_number(value) and math.isfinite(value) and value >= least):
        bound = "" if least == -math.inf else f", {least:g} or more"
        raise ValueError(f"{name} must be one finite number{bound}; got {value!r}")
    return value
