"""Where optimisers and samplers begin: gold rates, or the anchored estimate."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
import pymc as pm
import pytensor
import pytensor.tensor as pt
from numpy.typing import NDArray
from scipy.optimize import minimize

from hero_bayes.data.labels import Labels
from hero_bayes.estimators.anchored_em import Anchored, anchor, gold_prevalence
from hero_bayes.estimators.prevalence import group_evidence
from hero_bayes.estimators.score import solve
from hero_bayes.inference.graph import QUICK
from hero_bayes.inference.layout import Layout, join_gradient

FloatArray = NDArray[np.float64]
Start = Mapping[str, pd.Series]

#: Starting probabilities are kept inside these limits.
LIMITS = (0.02, 0.98)
#: The rates that a start speaks of.
RATES = ("sensitivity", "specificity", "history_prevalence", "prevalence")
#: How closely, on the logit scale, free variables reproduce the start of the rates they determine.
CLOSENESS = 0.1


def anchored_start(history: Labels, current: Labels) -> Start:
    """Rates of the anchored EM and HERO-1 of every current group, inside (0, 1).

    Without this start flat priors send whole chains into the mode with the classes exchanged.
    """
    anchored = anchor(history, current)
    return _series(
        anchored,
        anchored.sensitivity,
        anchored.specificity,
        anchored.history_prevalence,
        _group_roots(anchored),
    )


def gold_start(history: Labels, current: Labels) -> Start:
    """Clipped gold rates, gold prevalences, one half for the current groups: nothing of the EM."""
    anchored = anchor(history, current)
    sensitivity, specificity = anchored.gold_rates.start()
    return _series(
        anchored,
        sensitivity,
        specificity,
        gold_prevalence(anchored.data),
        np.full(current.n_groups, 0.5),
    )


def _group_roots(anchored: Anchored) -> np.ndarray:
    """HERO-1 by current group; groups without items sit at one half."""
    current = anchored.panel.current
    roots = np.full(current.n_groups, 0.5)
    for group in range(current.n_groups):
        item_idx = np.flatnonzero(current.group_idx == group)
        if item_idx.size:
            evidence = group_evidence(current, item_idx, anchored.sensitivity, anchored.specificity)
            roots[group] = solve(evidence.log_ratio)[0]
    return roots


def _series(
    anchored: Anchored,
    sensitivity: np.ndarray,
    specificity: np.ndarray,
    history_prevalence: np.ndarray,
    prevalence: np.ndarray,
) -> Start:
    """Starting values as Series over labelers and groups."""
    panel = anchored.panel
    labelers = [str(name) for name in panel.labelers]
    values = {
        "sensitivity": (sensitivity, labelers),
        "specificity": (specificity, labelers),
        "history_prevalence": (history_prevalence, panel.history.groups("history")),
        "prevalence": (prevalence, panel.current.groups("current")),
    }
    return {
        name: pd.Series(np.clip(value, *LIMITS), index=index, name=name)
        for name, (value, index) in values.items()
    }


def on_coordinate(model: pm.Model, name: str, start: Start) -> FloatArray:
    """The start of one variable along its own dimension; unknown labelers start at the mean."""
    (dim,) = model.named_vars_to_dims[name]
    values = start[name].reindex(pd.Index(model.coords[dim]))
    return values.fillna(start[name].mean()).to_numpy(dtype=float)


class StartFinder:
    """Finds values of a model's free variables at which its rates are those wished for.

    A rate that is a free variable takes its value directly. For one that is determined by others
    (partial pooling), those others are set to the most probable values, under their prior, that
    reproduce it. Compiled once, it serves any start of the same model.
    """

    def __init__(self, model: pm.Model) -> None:
        free = {rv.name for rv in model.free_RVs}
        self._model = model
        self._direct = [name for name in RATES if name in free]
        self._derived = [name for name in RATES if name in model.named_vars and name not in free]
        if not self._derived:
            return
        targets = [pt.vector(f"target_{name}") for name in self._derived]
        rates = model.replace_rvs_by_values([model[name] for name in self._derived])
        misfit = sum(
            (((pt.log(rate) - pt.log1p(-rate) - target) / CLOSENESS) ** 2).sum() / 2
            for rate, target in zip(rates, targets, strict=True)
        )
        inputs = model.value_vars
        cost = misfit - model.varlogp
        self._cost = pytensor.function(
            [*targets, *inputs], [cost, *pytensor.grad(cost, inputs)], mode=QUICK
        )
        self._back = pytensor.function(
            inputs, model.replace_rvs_by_values(model.free_RVs), mode=QUICK
        )
        self._point = model.initial_point()
        self._layout = Layout.of(self._point, [value.name for value in inputs])

    def __call__(self, start: Start) -> dict[str, FloatArray]:
        """Values of the free variables; those that no rate speaks of are left out."""
        model = self._model
        direct = {name: on_coordinate(model, name, start) for name in self._direct}
        if not self._derived:
            return direct
        rates = [on_coordinate(model, name, start) for name in self._derived]
        targets = [np.log(rate) - np.log1p(-rate) for rate in rates]

        def objective(flat: FloatArray) -> tuple[float, FloatArray]:
            value, *gradient = self._cost(*targets, *self._layout.split(flat).values())
            return float(value), join_gradient(gradient)

        first = self._layout.join(self._point)
        best = minimize(objective, first, jac=True, method="L-BFGS-B", options={"maxiter": 500}).x
        found = self._back(*self._layout.split(best).values())
        names = [rv.name for rv in model.free_RVs]
        return {n: np.asarray(v) for n, v in zip(names, found, strict=True)} | direct
