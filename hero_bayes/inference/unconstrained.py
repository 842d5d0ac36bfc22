"""From values of the free variables to a point on the unconstrained scale."""

from collections.abc import Mapping

import numpy as np
import pymc as pm
from numpy.typing import NDArray
from pymc.distributions.transforms import LogOddsTransform, LogTransform

from hero_bayes.inference.layout import Layout

FloatArray = NDArray[np.float64]


def unconstrained_point(model: pm.Model, start: Mapping[str, FloatArray]) -> FloatArray:
    """The flat unconstrained point of a start given by variable name.

    Variables that ``start`` does not name sit where the model says. The order is that of
    ``model.value_vars``.
    """
    point = model.initial_point()
    for rv in model.free_RVs:
        if rv.name not in start:
            continue
        value = np.asarray(start[rv.name], dtype=float)
        transform = model.rvs_to_transforms[rv]
        if isinstance(transform, LogOddsTransform):
            value = np.log(value) - np.log1p(-value)
        elif isinstance(transform, LogTransform):
            value = np.log(value)
        elif transform is not None:
            value = np.asarray(transform.forward(value, *rv.owner.inputs).eval())
        point[model.rvs_to_values[rv].name] = value
    return Layout.of(point, [value.name for value in model.value_vars]).join(point)
