"""Draws of what a rule speaks of, taken from a fit."""

from collections.abc import Sequence

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from hero_bayes.data.identifiers import some
from hero_bayes.decision.rule import Rule
from hero_bayes.errors import DataError

__all__ = ["contrast_of", "group_name", "metric_draws", "middle_of", "quantiles", "rule_draws"]

FloatArray = NDArray[np.float64]

#: What a rate may run over: groups of the current round, or models of generations.
DIMS = ("group", "model")
REMEDIES = {
    "prevalence_adjusted": "run hb.adjust on the fit first, or use metric 'prevalence'",
    "mu_law": "only fits of generations have it; use metric 'mu'",
}


def metric_draws(fit: xr.DataTree, metric: str) -> xr.DataArray:
    """Draws of a rate, (chain, draw, group) or (chain, draw, model).

    Raises
    ------
    DataError
        If the fit has no such rate, or a draw is no number.
    """
    for name in ("posterior", "these_prompts"):
        if name in fit.children and metric in fit[name].data_vars:
            found = fit[name].to_dataset()[metric]
            (dim,) = [dim for dim in DIMS if dim in found.dims]
            draws: xr.DataArray = found.transpose("chain", "draw", dim)
            if not np.isfinite(draws.to_numpy()).all():
                raise DataError(f"{metric} holds draws that are no numbers; fit again")
            return draws
    stored = fit["posterior"].data_vars if "posterior" in fit.children else {}
    rates = [str(name) for name in stored if set(DIMS) & set(stored[name].dims)]
    remedy = REMEDIES.get(metric, f"this fit has {', '.join(rates) or 'no rate'}")
    raise DataError(f"the fit has no {metric!r}: {remedy}")


def group_name(fit: xr.DataTree, draws: xr.DataArray, wanted: str | None) -> str:
    """The full name of a group (or model), given by that name, by its arm, or as the only one.

    Raises
    ------
    DataError
        If there is none or more than one such group; the message names the groups.
    """
    dim = str(draws.dims[-1])
    names = [str(name) for name in draws[dim].to_numpy()]
    if wanted is None:
        if len(names) > 1:
            raise DataError(
                f"the fit has {len(names)} {dim}s ({some(names, 12)}): say which one the rule is "
                f"about, as in Rule(..., group={names[0]!r})"
            )
        return names[0]
    if wanted in names:
        return wanted
    of_arm = [name for name, arm in zip(names, arms(fit, names), strict=True) if arm == wanted]
    if len(of_arm) == 1:
        return of_arm[0]
    fault = f"several {dim}s are of arm" if of_arm else f"the fit has no {dim} or arm"
    raise DataError(f"{fault} {wanted!r}; its {dim}s are {some(of_arm or names, 12)}")


def arms(fit: xr.DataTree, names: Sequence[str]) -> list[str]:
    """The arm of every group; "" where it has none."""
    constant = fit["constant_data"].to_dataset() if "constant_data" in fit.children else {}
    if "arm" not in constant or constant["arm"].dims != ("group",):
        return [""] * len(names)
    return [str(arm) for arm in constant["arm"].to_numpy()]


def rule_draws(fit: xr.DataTree, rule: Rule) -> xr.DataArray:
    """Draws (chain, draw) of what a rule holds against its threshold.

    Raises
    ------
    DataError
        If the fit has no such rate, group or arm.
    """
    draws = metric_draws(fit, rule.metric)
    dim = str(draws.dims[-1])
    if rule.arm is None:
        chosen = group_name(fit, draws, rule.group)
        return draws.sel({dim: chosen}).drop_vars(dim)
    pair = [group_name(fit, draws, name) for name in (rule.arm, rule.reference)]
    if pair[0] == pair[1]:
        raise DataError(f"arm and reference are both {pair[0]!r}; name two")
    arm, reference = (draws.sel({dim: name}).drop_vars(dim) for name in pair)
    return arm.copy(data=contrast_of(arm.to_numpy(), reference.to_numpy(), rule.contrast))


def contrast_of(arm: FloatArray, reference: FloatArray, contrast: str) -> FloatArray:
    """Difference, ratio or odds ratio, draw by draw.

    A ratio of two zeros is 1, of something to zero infinite.
    """
    if contrast == "difference":
        return np.asarray(arm - reference)
    if contrast == "ratio":
        return _over(arm, reference)
    return _over(arm * (1.0 - reference), reference * (1.0 - arm))


def quantiles(values: FloatArray, at: Sequence[float]) -> FloatArray:
    """Quantiles; of values some of which are infinite, without interpolation."""
    if np.isfinite(values).all():
        return np.asarray(np.quantile(values, at))
    return np.asarray(np.quantile(values, at, method="closest_observation"))


def middle_of(values: FloatArray) -> float:
    """The mean; of values some of which are infinite (ratios to 0), the median."""
    if np.isfinite(values).all():
        return float(values.mean())
    return float(quantiles(values, [0.5])[0])


def _over(top: FloatArray, bottom: FloatArray) -> FloatArray:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where((top == 0.0) & (bottom == 0.0), 1.0, top / bottom)
