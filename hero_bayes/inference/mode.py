"""The mode of a model on the probability scale, by optimising its PyMC graph."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pymc as pm
import pytensor
from numpy.typing import NDArray
from pymc.distributions.transforms import IntervalTransform, LogOddsTransform, LogTransform
from pymc.initial_point import make_initial_point_fn
from pymc.model.transform.conditioning import remove_value_transforms
from scipy.optimize import minimize

from hero_bayes.errors import Refusal
from hero_bayes.inference.graph import QUICK
from hero_bayes.inference.layout import Layout, join_gradient
from hero_bayes.likelihoods.latent_class import EDGE

FloatArray = NDArray[np.float64]

#: Probabilities and positive parameters stay this far from the ends of their range.
FLOOR = 1e-9
#: Above this many free parameters the quasi-Newton answer is not polished.
POLISH_LIMIT = 400
assert EDGE < FLOOR


@dataclass(frozen=True)
class Mode:
    """The mode, by variable name, and how the search ended."""

    values: dict[str, FloatArray]
    log_density: float
    largest_gradient: float
    evaluations: int


def variable_bounds(model: pm.Model) -> dict[str, tuple[float, float]]:
    """Range of every free variable, read from its transform."""
    bounds = {}
    for rv in model.free_RVs:
        transform = model.rvs_to_transforms[rv]
        if transform is None:
            bounds[rv.name] = (-np.inf, np.inf)
        elif isinstance(transform, LogOddsTransform):
            bounds[rv.name] = (FLOOR, 1.0 - FLOOR)
        elif isinstance(transform, LogTransform):
            bounds[rv.name] = (FLOOR, np.inf)
        elif isinstance(transform, IntervalTransform):
            low, high = (
                None if end is None else float(pytensor.graph.replace.graph_replace(end).eval())
                for end in transform.args_fn(*rv.owner.inputs)
            )
            span = 1.0 if low is None or high is None else high - low
            bounds[rv.name] = (
                -np.inf if low is None else low + FLOOR * span,
                np.inf if high is None else high - FLOOR * span,
            )
        else:
            raise Refusal(
                f"mode='map' does not know the range of {rv.name!r} (transform "
                f"{transform.name!r}); use mode='nuts'"
            )
    return bounds


def initial_values(model: pm.Model, start: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
    """Starting values on the scale of the variables: the model's own, then those given by name."""
    values = make_initial_point_fn(model=model, return_transformed=False)(0)
    return {
        rv.name: np.asarray(start.get(rv.name, values[rv.name]), dtype=float)
        for rv in model.free_RVs
    }


class Objective:
    """Negative log-density and gradient over the chosen variables, the others held fixed."""

    def __init__(
        self, model: pm.Model, point: Mapping[str, FloatArray], free: Sequence[str]
    ) -> None:
        plain = remove_value_transforms(model)
        self.names = [rv.name for rv in plain.free_RVs if rv.name in free]
        fixed = [rv.name for rv in plain.free_RVs if rv.name not in free]
        values = {rv.name: plain.rvs_to_values[rv] for rv in plain.free_RVs}
        density = plain.logp(jacobian=False)
        inputs = [values[name] for name in self.names]
        gradient = pytensor.grad(density, inputs)
        givens = [(values[name], np.asarray(point[name], dtype=float)) for name in fixed]
        self._function = pytensor.function(
            inputs, [density, *gradient], givens=givens, mode=QUICK, on_unused_input="ignore"
        )
        self.layout = Layout.of(point, self.names)
        self.evaluations = 0

    def __call__(self, flat: FloatArray) -> tuple[float, FloatArray]:
        """Negative log-density and its gradient."""
        self.evaluations += 1
        density, *gradient = self._function(*self.layout.split(flat).values())
        return -float(density), -join_gradient(gradient)


def projected_gradient(
    flat: FloatArray, gradient: FloatArray, low: FloatArray, high: FloatArray
) -> FloatArray:
    """The gradient with the parts that push against a bound set to zero."""
    blocked = ((flat <= low) & (gradient > 0)) | ((flat >= high) & (gradient < 0))
    return np.where(blocked, 0.0, gradient)


def polish(objective: Objective, flat: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
    """Newton steps on the variables away from their bounds, Hessian by differences of gradients."""
    value, gradient = objective(flat)
    for _ in range(8):
        interior = (flat > low) & (flat < high)
        free = np.flatnonzero(interior)
        if not 0 < free.size <= POLISH_LIMIT:
            break
        hessian = np.empty((free.size, free.size))
        for column, k in enumerate(free):
            room = min(flat[k] - low[k], high[k] - flat[k])
            step = min(1e-5 * max(abs(flat[k]), 1e-3), 0.5 * room)
            ahead, behind = flat.copy(), flat.copy()
            ahead[k] += step
            behind[k] -= step
            hessian[:, column] = (objective(ahead)[1] - objective(behind)[1])[free] / (2 * step)
        direction = np.linalg.lstsq((hessian + hessian.T) / 2, -gradient[free], rcond=1e-12)[0]
        candidate = flat.copy()
        candidate[free] = np.clip(flat[free] + direction, low[free], high[free])
        new_value, new_gradient = objective(candidate)
        if not (
            new_value <= value + 1e-9 * (1 + abs(value))
            and np.abs(projected_gradient(candidate, new_gradient, low, high)).max()
            < np.abs(projected_gradient(flat, gradient, low, high)).max()
        ):
            break
        change = np.abs(candidate - flat).max()
        flat, value, gradient = candidate, new_value, new_gradient
        if change < 1e-11:
            break
    return flat


def find_mode(
    model: pm.Model,
    start: Mapping[str, FloatArray],
    *,
    fixed: Mapping[str, FloatArray] | None = None,
) -> Mode:
    """Maximise the model's log-density on the scale of its variables (no Jacobian).

    Parameters
    ----------
    model : pm.Model
    start : mapping of str to array
        Starting values; variables not named start where the model says.
    fixed : mapping of str to array, optional
        Variables held at these values.

    Returns
    -------
    Mode

    Notes
    -----
    L-BFGS-B inside the variables' ranges, kept 1e-9 away from their ends, then Newton steps on the
    variables that are not at a bound.
    """
    fixed = fixed or {}
    bounds = variable_bounds(model)
    point = {**initial_values(model, start), **fixed}
    objective = Objective(model, point, [name for name in point if name not in fixed])
    sizes = objective.layout.sizes
    low = np.repeat([bounds[name][0] for name in objective.names], sizes)
    high = np.repeat([bounds[name][1] for name in objective.names], sizes)
    flat = np.clip(objective.layout.join(point), low, high)
    for _ in range(3):
        flat = minimize(
            objective,
            flat,
            jac=True,
            method="L-BFGS-B",
            bounds=list(zip(low, high, strict=True)),
            options={"maxiter": 5000, "maxfun": 20000, "ftol": 0.0, "gtol": 1e-9, "maxcor": 20},
        ).x
    flat = polish(objective, flat, low, high)
    value, gradient = objective(flat)
    return Mode(
        values={
            **{name: np.asarray(value) for name, value in fixed.items()},
            **objective.layout.split(flat),
        },
        log_density=-value,
        largest_gradient=float(
            np.abs(projected_gradient(flat, gradient, low, high)).max(initial=0.0)
        ),
        evaluations=objective.evaluations,
    )
