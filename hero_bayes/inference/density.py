"""The log-density of a model on the unconstrained scale, and the way back from it."""

import numpy as np
import pymc as pm
import pytensor
from numpy.typing import NDArray

from hero_bayes.inference.graph import QUICK, deterministic_function, stored_variables
from hero_bayes.inference.layout import Layout, join_gradient

FloatArray = NDArray[np.float64]


class Density:
    """Log-density (with Jacobian), gradient and back-transformation of one model.

    Reads the model's data containers at every call, so that it follows their replacement.
    """

    def __init__(self, model: pm.Model) -> None:
        point = model.initial_point()
        inputs = model.value_vars
        self.layout = Layout.of(point, [value.name for value in inputs])
        density = model.logp(jacobian=True)
        self._value = pytensor.function(inputs, density, mode=QUICK)
        self._gradient = pytensor.function(
            inputs, [density, *pytensor.grad(density, inputs)], mode=QUICK
        )
        self._back = pytensor.function(
            inputs, model.replace_rvs_by_values(model.free_RVs), mode=QUICK
        )
        self._names = [rv.name for rv in model.free_RVs]
        self._stored = deterministic_function(model, stored_variables(model))

    def value(self, flat: FloatArray) -> float:
        """Log-density at a flat unconstrained point."""
        return float(self._value(*self.layout.split(flat).values()))

    def with_gradient(self, flat: FloatArray) -> tuple[float, FloatArray]:
        """Log-density and gradient at a flat unconstrained point."""
        value, *gradient = self._gradient(*self.layout.split(flat).values())
        return float(value), join_gradient(gradient)

    def stored(self, flat: FloatArray) -> dict[str, FloatArray]:
        """Free variables and stored deterministics, on their own scale."""
        free = self._back(*self.layout.split(flat).values())
        return self._stored(dict(zip(self._names, free, strict=True)))
