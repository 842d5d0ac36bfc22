"""Numbers out of a model's graph, draw by draw."""

from collections.abc import Callable, Mapping

import numpy as np
import pymc as pm
import pytensor
from numpy.typing import NDArray
from pytensor.compile.mode import Mode as CompileMode
from pytensor.graph.traversal import ancestors

from hero_bayes.errors import DataError, Refusal

FloatArray = NDArray[np.float64]

#: Evaluation by numpy, without compiling: forward passes and optimisers call it a few thousand
#: times.
QUICK = CompileMode(linker="py", optimizer="fast_compile")

EVIDENCE = "class_log_likelihood"


def evidence_function(model: pm.Model) -> Callable[[Mapping[str, FloatArray]], FloatArray]:
    """Log p(labels | truth 1) - log p(labels | truth 0) of each current item, given one draw.

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
    known = set(ancestors([terms]))
    inputs = [rv for rv in model.free_RVs if rv in known]
    function = pytensor.function(inputs, terms[:, 1] - terms[:, 0], mode=QUICK)
    names = [rv.name for rv in inputs]
    return lambda draw: np.asarray(function(*(draw[name] for name in names)))


def prevalence_prior(model: pm.Model) -> tuple[FloatArray, FloatArray]:
    """Beta parameters of the prior of ``prevalence``, by group.

    Raises
    ------
    Refusal
        If ``prevalence`` is not a free variable with a Beta or Uniform(0, 1) prior of its own: the
        cut posterior draws it from its one-dimensional law.
    """
    rv = model.named_vars.get("prevalence")
    remedy = 'give it pm.Beta("prevalence", ..., dims="group"), or use posterior="joint"'
    if rv is None or rv not in model.free_RVs:
        raise Refusal(f'posterior="cut" needs a free variable "prevalence" (group); {remedy}')
    name = type(rv.owner.op).__name__
    n_groups = len(model.coords["group"])
    parameters = rv.owner.op.dist_params(rv.owner)
    if any(v in model.free_RVs for v in ancestors(parameters)):
        raise Refusal(
            f'posterior="cut" needs a prior of "prevalence" with fixed parameters; {remedy}'
        )
    values = [np.broadcast_to(np.asarray(p.eval(), dtype=float), (n_groups,)) for p in parameters]
    if name == "BetaRV":
        return values[0].copy(), values[1].copy()
    if name == "UniformRV" and (values[0] == 0).all() and (values[1] == 1).all():
        return np.ones(n_groups), np.ones(n_groups)
    raise Refusal(f'posterior="cut" needs a Beta prior of "prevalence", got {name}; {remedy}')


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
