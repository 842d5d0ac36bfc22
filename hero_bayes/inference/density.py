"""The log-density of a model on the unconstrained scale, and the way back from it."""

import numpy as np
import pymc as pm
import pytensor
from numpy.typing import NDArray

from hero_bayes.inference.graph import (
    QUICK,
    batched,
    deterministic_function,
    stored_variables,
)
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
        self._values = batched(inputs, [density])
        self._gradient = pytensor.function(
            inputs, [density, *pytensor.grad(density, inputs)], mode=QUICK
        )
        self._back = batched(inputs, model.replace_rvs_by_values(model.free_RVs))
        self._names = [rv.name for rv in model.free_RVs]
        self._stored = deterministic_function(model, stored_variables(model))

    def values(self, flat: FloatArray) -> FloatArray:
        """Log-density at flat unconstrained points, (draw,) from (draw, parameter)."""
        return self._values(self._parts(flat))[0]

    def _parts(self, flat: FloatArray) -> list[FloatArray]:
        """Stacked value variables from stacked flat points."""
        ends = np.cumsum(self.layout.sizes)[:-1]
        return [
            part.reshape(len(flat), *shape)
            for part, shape in zip(np.split(flat, ends, axis=1), self.layout.shapes, strict=True)
        ]

    def with_gradient(self, flat: FloatArray) -> tuple[float, FloatArray]:
        """Log-density and gradient at a flat unconstrained point."""
        value, *gradient = self._gradient(*self.layout.split(flat).values())
        return float(value), join_gradient(gradient)

    def stored(self, flat: FloatArray) -> dict[str, FloatArray]:
        """Free variables and stored deterministics (draw, ...), on their own scale."""
        free = self._back(self._parts(flat))
        return self._stored(dict(zip(self._names, free, strict=True)))
