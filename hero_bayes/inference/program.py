"""A model compiled once, to be fitted again and again to tables of the same make."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pymc as pm
from numpy.typing import NDArray

from hero_bayes.data.labels import Labels
from hero_bayes.errors import DataError
from hero_bayes.inference.current import EvidenceFunction
from hero_bayes.inference.density import Density
from hero_bayes.inference.graph import GOLD_ERROR, LONG_DIMS, evidence_function
from hero_bayes.inference.outcome import Outcome, outcome_of
from hero_bayes.inference.resolve import build
from hero_bayes.inference.sampling import compile_nuts
from hero_bayes.inference.starts import StartFinder

FloatArray = NDArray[np.float64]
Factory = Callable[..., pm.Model]

#: Coordinates that may differ between the tables of one program; all others must not.
FREE_COORDINATES = LONG_DIMS


@dataclass(frozen=True)
class Program:
    """The models of one kind of fit, with everything compiled that its modes need.

    ``full`` holds both rounds. ``learning`` is the model that informs the labelers: ``full`` itself
    for the joint posterior; for the cut, the same factory's model of history and the current items
    with gold. What is compiled is compiled at first use and kept.
    """

    factory: Factory
    priors: Mapping[str, Any]
    cut: bool
    full: pm.Model
    learning: pm.Model

    @cached_property
    def evidence(self) -> EvidenceFunction:
        """From one draw to the evidence on the current items."""
        return evidence_function(self.full)

    @cached_property
    def outcome(self) -> Outcome:
        """How the current prevalence is drawn."""
        return outcome_of(self.full, cut=self.cut)

    @property
    def gold_is_exact(self) -> bool:
        """Whether gold is the truth; else the model's class log-likelihood holds what it says."""
        return GOLD_ERROR not in self.full.named_vars

    def clamped(self, current: Labels) -> Labels:
        """The current round with the gold that is known to be the truth, and no other."""
        return current if self.gold_is_exact else current.without_gold()

    @cached_property
    def find_start(self) -> StartFinder:
        """From anchored rates to values of the free variables."""
        return StartFinder(self.learning)

    @cached_property
    def density(self) -> Density:
        """The unconstrained log-density of the learning model."""
        return Density(self.learning)

    @cached_property
    def nuts(self) -> Any:
        """The learning model compiled for NUTS."""
        return compile_nuts(self.learning)


def learning_model(
    factory: Factory,
    full: pm.Model,
    history: Labels,
    current: Labels,
    priors: Mapping[str, Any],
    cut: bool,
) -> pm.Model:
    """The model that informs the labelers: in a cut, history and the current items with gold."""
    if not cut:
        return full
    return build(factory, history, current.take_items(current.has_gold), priors)


def make_program(
    factory: Factory,
    history: Labels,
    current: Labels,
    *,
    priors: Mapping[str, Any] | None = None,
    posterior: str = "cut",
) -> Program:
    """Build the models of a fit; nothing is compiled yet."""
    priors = dict(priors or {})
    full = build(factory, history, current, priors)
    cut = posterior == "cut"
    learning = learning_model(factory, full, history, current, priors, cut)
    return Program(factory, priors, cut, full, learning)


def load_tables(program: Program, history: Labels, current: Labels) -> None:
    """Put other tables into a program, without compiling anything again.

    Raises
    ------
    DataError
        If labelers, groups or covariates differ from those the program was made with.
    """
    fresh = make_program(
        program.factory,
        history,
        current,
        priors=program.priors,
        posterior="cut" if program.cut else "joint",
    )
    pairs = [(program.full, fresh.full)]
    if program.cut:
        pairs.append((program.learning, fresh.learning))
    for old, new in pairs:
        for dim, values in new.coords.items():
            if dim not in FREE_COORDINATES and list(old.coords[dim]) != list(values):
                raise DataError(
                    f"these tables differ from the compiled ones in {dim!r} ({len(values)} against "
                    f"{len(old.coords[dim])} entries, or other names); make a new program for them"
                )
        replace_data(old, new)


def model_data(model: pm.Model) -> dict[str, FloatArray]:
    """Values of a model's data containers by name."""
    return {variable.name: variable.get_value() for variable in model.data_vars}


def replace_data(old: pm.Model, new: pm.Model) -> None:
    """Copy the data of one model, and the lengths of its item dimensions, into another."""
    if sorted(model_data(old)) != sorted(model_data(new)):
        raise DataError(
            "these tables need another graph (dense against sparse); make a new program"
        )
    if not old.data_vars:
        raise DataError(
            "the model holds its tables as constants; a factory that is fitted again keeps them in "
            "pm.Data, so that they can be replaced"
        )
    for name, value in model_data(new).items():
        old[name].set_value(value)
    for dim in FREE_COORDINATES & set(new.coords):
        old.set_dim(dim, new_length=len(new.coords[dim]), coord_values=new.coords[dim])
