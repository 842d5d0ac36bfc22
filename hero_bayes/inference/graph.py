"""Numbers out of a model's graph, draw by draw."""

from collections.abc import Callable, Mapping

import numpy as np
import pymc as pm
import pytensor
from numpy.typing import NDArray
from pytensor.compile.mode import Mode as CompileMode
from pytensor.graph.traversal import ancestors

from hero_bayes.errors import DataError

FloatArray = NDArray[np.float64]

#: Evaluation by numpy, without compiling: forward passes and optimisers call it a few thousand
#: times.
QUICK = CompileMode(linker="py", optimizer="fast_compile")

EVIDENCE = "class_log_likelihood"


#: Per-item parts of the outcome layer that the second stage needs, where a model has them.
OFFSETS = ("covariate_log_odds", "history_covariate_log_odds")
#: Dimensions as long as the tables: variables over them are computed when needed, never stored.
LONG_DIMS = frozenset({"item", "history_item"})


def stored_variables(model: pm.Model) -> list[str]:
    """Free variables and deterministics, without those that run over items."""
    return [
        v.name
        for v in (*model.free_RVs, *model.deterministics)
        if not LONG_DIMS & set(model.named_vars_to_dims.get(v.name, ()))
    ]


def evidence_function(
    model: pm.Model,
) -> Callable[[Mapping[str, FloatArray]], dict[str, FloatArray]]:
    """From one draw of the free variables to the evidence on the current items.

    The result holds ``log_ratio``, log p(labels | truth 1) - log p(labels | truth 0) of each
    current item, and the per-item log odds of a regression outcome where there is one.

    Raises
    ------
    DataError
        If the model does not register ``class_log_likelihood`` (item, truth).
    """
    if EVIDENCE not in model.named_vars:
        raise DataError(
            f"the model registers no deterministic {EVIDENCE!r} (item, truth); a factory for "
            f'hb.fit adds pm.Deterministic("{EVIDENCE}", ..., dims=("item", "truth")) for the '
            "current items"
        )
    terms = model[EVIDENCE]
    outputs = {"log_ratio": terms[:, 1] - terms[:, 0]}
    outputs |= {name: model[name] for name in OFFSETS if name in model.named_vars}
    known = set(ancestors(list(outputs.values())))
    inputs = [rv for rv in model.free_RVs if rv in known]
    function = pytensor.function(inputs, list(outputs.values()), mode=QUICK)
    names = [rv.name for rv in inputs]

    def evaluate(draw: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
        values = function(*(draw[name] for name in names))
        return {name: np.asarray(v) for name, v in zip(outputs, values, strict=True)}

    return evaluate


def deterministic_function(
    model: pm.Model, names: list[str]
) -> Callable[[Mapping[str, FloatArray]], dict[str, FloatArray]]:
    """Values of free variables and deterministics, given one value of every free variable."""
    inputs = list(model.free_RVs)
    function = pytensor.function(
        inputs, [model[name] for name in names], mode=QUICK, on_unused_input="ignore"
    )

    def evaluate(draw: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
        out = function(*(draw[rv.name] for rv in inputs))
        return {name: np.asarray(value) for name, value in zip(names, out, strict=True)}

    return evaluate
