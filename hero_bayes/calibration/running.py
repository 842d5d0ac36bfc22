"""Refit one compiled program to many simulations, in parallel, with progress."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any
from uuid import uuid4

import numpy as np
import pymc as pm
import xarray as xr
from numpy.typing import NDArray

from hero_bayes.calibration.drawing import Simulated
from hero_bayes.data.labels import Labels
from hero_bayes.inference.fit import refit
from hero_bayes.inference.program import Program, make_program
from hero_bayes.simulation.progress import progress
from hero_bayes.simulation.workers import in_parallel

FloatArray = NDArray[np.float64]
Outcome = dict[str, FloatArray]
#: From a refit and its simulation to the numbers that are kept.
Reduce = Callable[[xr.DataTree, Simulated, "Task"], Outcome]

#: Simulations handed to a worker at a time.
BATCH = 5


@dataclass(frozen=True)
class Chains:
    """How long every refit runs."""

    draws: int = 250
    tune: int = 300
    chains: int = 2


@dataclass(frozen=True)
class Task:
    """What every refit of a study has in common."""

    factory: Callable[..., pm.Model]
    priors: Mapping[str, Any]
    posterior: str
    mode: str
    base: tuple[Labels, Labels]
    chains: Chains
    names: tuple[str, ...]
    #: Draws kept of each refit, evenly spaced.
    kept: int
    levels: tuple[float, ...] = ()
    key: str = field(default_factory=lambda: uuid4().hex)


#: The compiled program of this process, by the key of its task.
_compiled: dict[str, Program] = {}


def program_of(task: Task) -> Program:
    """The task's program, compiled once a process."""
    if task.key not in _compiled:
        _compiled.clear()
        _compiled[task.key] = make_program(
            task.factory, *task.base, priors=task.priors, posterior=task.posterior
        )
    return _compiled[task.key]


def one(task: Task, simulation: Simulated, reduce: Reduce) -> Outcome:
    """Refit to one simulation."""
    program = program_of(task)
    begin = perf_counter()
    tree = refit(
        program,
        simulation.history,
        simulation.current,
        mode=task.mode,
        random_seed=simulation.seed,
        draws=task.chains.draws,
        tune=task.chains.tune,
        chains=task.chains.chains,
        cores=1,
    )
    seconds = perf_counter() - begin
    return {
        **reduce(tree, simulation, task),
        "seconds": np.asarray(seconds),
        "divergences": np.asarray(_divergences(tree)),
        "flipped_chains": np.asarray(flipped_chains(tree, simulation)),
    }


def _divergences(tree: xr.DataTree) -> int:
    return int(tree["sample_stats"]["diverging"].sum()) if "sample_stats" in tree.children else 0


def flipped_chains(tree: xr.DataTree, simulation: Simulated) -> int:
    """How many chains see the labelers with the classes exchanged relative to the truth."""
    draws = tree["posterior"].to_dataset()
    found = (draws["sensitivity"] + draws["specificity"] - 1.0).mean("draw")
    true = simulation.truth["sensitivity"] + simulation.truth["specificity"] - 1.0
    return int((found.transpose("chain", ...).to_numpy() @ true < 0.0).sum())


def _batch(
    task: Task, part: Sequence[tuple[int, Simulated]], reduce: Reduce
) -> list[tuple[int, Outcome]]:
    return [(k, one(task, simulation, reduce)) for k, simulation in part]


def run(
    task: Task,
    simulations: Sequence[Simulated],
    reduce: Reduce,
    *,
    jobs: int,
    progressbar: bool,
    name: str,
) -> dict[str, FloatArray]:
    """All refits, stacked along a first axis in the order of the simulations."""
    numbered = list(enumerate(simulations))
    parts = [numbered[k : k + BATCH] for k in range(0, len(numbered), BATCH)]
    found: dict[int, Outcome] = {}
    with progress(progressbar, len(simulations), name) as advance:
        for batch in _batches(task, parts, reduce, jobs):
            found |= dict(batch)
            advance(len(batch))
    return {key: np.stack([found[k][key] for k in range(len(found))]) for key in found[0]}


def _batches(
    task: Task, parts: Sequence[Sequence[tuple[int, Simulated]]], reduce: Reduce, jobs: int
) -> Iterator[list[tuple[int, Outcome]]]:
    if jobs == 1:
        for part in parts:
            yield _batch(task, part, reduce)
        return
    yield from in_parallel(_batch, ((task, part, reduce) for part in parts), jobs)


def evenly_spaced(draws: xr.DataArray, number: int) -> FloatArray:
    """Draws of all chains end to end, thinned evenly to ``number`` (draw, ...)."""
    values = draws.transpose("chain", "draw", ...).to_numpy()
    flat = values.reshape(-1, *values.shape[2:])
    if number > len(flat):
        raise ValueError(f"{number} draws are to be kept of {len(flat)}; ask for longer chains")
    return np.asarray(flat[np.linspace(0, len(flat) - 1, number).round().astype(int)], dtype=float)


def rank_among(draws: FloatArray, truth: FloatArray, rng: np.random.Generator) -> NDArray[Any]:
    """How many of the draws (draw, ...) lie below the truth, ties broken at random."""
    ties = (draws == truth).sum(axis=0)
    return np.asarray((draws < truth).sum(axis=0) + rng.integers(0, ties + 1))


def diagnostics(found: Mapping[str, FloatArray]) -> xr.Dataset:
    """Divergences, flipped chains and wall time of every refit."""
    names = ("divergences", "flipped_chains", "seconds")
    return xr.Dataset({name: ("simulation", found[name]) for name in names})
