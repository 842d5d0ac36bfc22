"""Numbers out of a model's graph, draw by draw."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt
from numpy.typing import NDArray
from pytensor.compile.mode import Mode as CompileMode
from pytensor.graph.replace import vectorize_graph
from pytensor.graph.traversal import ancestors

from hero_bayes.errors import DataError

FloatArray = NDArray[np.float64]

#: Evaluation by numpy, without compiling: forward passes and optimisers call it a few thousand
#: times.
QUICK = CompileMode(linker="py", optimizer="fast_compile")

EVIDENCE = "class_log_likelihood"
#: A model with a variable of this name takes gold as evidence that may be wrong.
GOLD_ERROR = "gold_error"
#: Draws evaluated at once.
SLICE = 64


#: Per-item parts of the outcome layer that the second stage needs, where a model has them.
OFFSETS = ("covariate_log_odds", "history_covariate_log_odds")
#: Dimensions as long as the tables: variables over them are computed when needed, never stored.
LONG_DIMS = frozenset({"item", "history_item", "history_gold_item", "prompt", "history_prompt"})


def stored_variables(model: pm.Model) -> list[str]:
    """Free variables and deterministics, without those that run over items."""
    return [
        v.name
        for v in (*model.free_RVs, *model.deterministics)
        if not LONG_DIMS & set(model.named_vars_to_dims.get(v.name, ()))
    ]


def batched(
    inputs: Sequence[Any], outputs: Sequence[Any]
) -> Callable[[Sequence[FloatArray]], list[FloatArray]]:
    """A function of stacked values of the inputs, giving stacked values of the outputs.

    Parameters
    ----------
    inputs, outputs : sequence of tensors
        Variables of one graph.

    Returns
    -------
    callable
        From arrays (draw, ...), one an input, to arrays (draw, ...), one an output. Draws are taken
        in slices, so that memory stays bounded; an operation that cannot be vectorised is looped
        over.
    """
    stacked = [
        pt.tensor(name=v.name, shape=(None, *v.type.shape), dtype=v.type.dtype) for v in inputs
    ]
    options = {"mode": QUICK, "on_unused_input": "ignore"}
    try:
        graph = vectorize_graph(list(outputs), replace=dict(zip(inputs, stacked, strict=True)))
    except NotImplementedError:
        single = pytensor.function(list(inputs), list(outputs), **options)

        def evaluate(values: Sequence[FloatArray]) -> list[FloatArray]:
            rows = [single(*row) for row in zip(*values, strict=True)]
            return [np.stack([row[k] for row in rows]) for k in range(len(outputs))]

        return evaluate
    function = pytensor.function(stacked, graph, **options)
    ranks = [v.type.ndim for v in outputs]

    def evaluate_slices(values: Sequence[FloatArray]) -> list[FloatArray]:
        n_draws = len(values[0])
        parts: list[list[FloatArray]] = [[] for _ in outputs]
        for begin in range(0, n_draws, SLICE):
            chosen = [value[begin : begin + SLICE] for value in values]
            for part, value, rank in zip(parts, function(*chosen), ranks, strict=True):
                array = np.asarray(value)
                if array.ndim == rank:  # does not depend on the inputs
                    array = np.broadcast_to(array, (len(chosen[0]), *array.shape))
                part.append(array)
        return [np.concatenate(part) for part in parts]

    return evaluate_slices


def evidence_function(
    model: pm.Model,
) -> Callable[[Mapping[str, FloatArray]], dict[str, FloatArray]]:
    """From draws of the free variables to the evidence on the current items.

    Takes arrays (draw, ...) by name. The result holds ``log_ratio`` (draw, item),
    log p(labels | truth 1) - log p(labels | truth 0) of each current item, and the per-item log
    odds of a regression outcome where there is one.

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
    return by_name(inputs, outputs)


def deterministic_function(
    model: pm.Model, names: list[str]
) -> Callable[[Mapping[str, FloatArray]], dict[str, FloatArray]]:
    """Free variables and deterministics (draw, ...) from draws of the free variables."""
    return by_name(list(model.free_RVs), {name: model[name] for name in names})


def by_name(
    inputs: Sequence[Any], outputs: Mapping[str, Any]
) -> Callable[[Mapping[str, FloatArray]], dict[str, FloatArray]]:
    """A batched function that takes and gives arrays by name."""
    function = batched(inputs, list(outputs.values()))
    names = [v.name for v in inputs]

    def evaluate(draws: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
        values = function([np.asarray(draws[name]) for name in names])
        return dict(zip(outputs, values, strict=True))

    return evaluate


def one(draw: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
    """One value of every variable, as a stack of one draw."""
    return {name: np.asarray(value)[None] for name, value in draw.items()}


def first(draws: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
    """The first draw of every variable."""
    return {name: value[0] for name, value in draws.items()}
