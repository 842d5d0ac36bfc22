"""Arguments that decisions, sensitivity and planning ask for alike."""

import numbers
from typing import Any

import xarray as xr

from hero_bayes.errors import DataError

__all__ = [
    "check_fit",
    "check_seed",
    "check_share",
    "check_truth",
    "numbers_of",
    "whole_number",
]


def check_fit(fit: Any) -> None:
    """Refuse what is no fit.

    Raises
    ------
    DataError
        If it is no tree with a posterior.
    """
    if not isinstance(fit, xr.DataTree):
        raise DataError(f"expected a fit, got {type(fit).__name__}; pass what hb.fit returned")
    if "posterior" not in fit.children or "mode" not in fit.attrs:
        raise DataError("the tree is no fit (no posterior, or no mode); pass what hb.fit returned")


def check_share(value: Any, role: str) -> None:
    """Refuse what does not lie between 0 and 1.

    Raises
    ------
    ValueError
        Also for percentages and texts.
    """
    number = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if not number or not 0.0 < value < 1.0:
        raise ValueError(f"{role} must lie between 0 and 1, got {value!r}")


def check_truth(value: Any, role: str) -> None:
    """Refuse what is neither True nor False.

    Raises
    ------
    TypeError
        Also for texts such as "no", which would count as True.
    """
    if not isinstance(value, bool):
        raise TypeError(f"{role} must be True or False, got {value!r}")


def whole_number(value: Any, role: str, least: int) -> int:
    """The whole number as an int.

    Raises
    ------
    ValueError
        If it is none, or below the least.
    """
    whole = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    if not whole or value < least:
        raise ValueError(f"{role} is a whole number of at least {least}, got {value!r}")
    return int(value)


def check_seed(value: Any) -> None:
    """Refuse a seed that is no whole number of at least 0.

    Raises
    ------
    ValueError
        If it is none.
    """
    whole_number(value, "random_seed", 0)


def numbers_of(values: Any, role: str) -> list[float]:
    """A sequence of numbers as floats.

    Raises
    ------
    ValueError
        If it is a single value, a text, or holds what is no number.
    """
    message = f"{role} must be a sequence of numbers, got {values!r}"
    if isinstance(values, str):
        raise ValueError(message)
    try:
        return [float(value) for value in values]
    except (TypeError, ValueError) as error:
        raise ValueError(message) from error
