"""From two label tables and a model to a DataTree of posterior draws."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pymc as pm
import xarray as xr
from numpy.typing import NDArray
from pytensor.graph.traversal import ancestors

from hero_bayes.data.arguments import need_labels
from hero_bayes.data.labels import Labels
from hero_bayes.data.panel import swap_hint
from hero_bayes.errors import Refusal
from hero_bayes.inference.assembly import Draws, Provenance, assemble
from hero_bayes.inference.current import CurrentRound, at_mode, current_round
from hero_bayes.inference.density import Density
from hero_bayes.inference.exact import EXACT_MODELS, exact_fit
from hero_bayes.inference.graph import deterministic_function, first, one, stored_variables
from hero_bayes.inference.laplace import laplace
from hero_bayes.inference.mode import find_mode
from hero_bayes.inference.outcome import REMEDY, outcome_of
from hero_bayes.inference.program import Program, load_tables, make_program
from hero_bayes.inference.resolve import (
    check_arguments,
    check_exact,
    checked_priors,
    checked_seed,
    drawn_exactly,
)
from hero_bayes.inference.sampling import sample, sample_compiled
from hero_bayes.inference.scored import choose_model
from hero_bayes.inference.starts import Start, anchored_start, gold_start
from hero_bayes.inference.unconstrained import unconstrained_point

FloatArray = NDArray[np.float64]
Factory = Callable[..., pm.Model]


@dataclass(frozen=True)
class Settings:
    """How many draws, and how they are made."""

    draws: int
    tune: int
    chains: int
    cores: int | None
    progressbar: bool
    keep_compiled: bool = False


def fit(
    history: Labels,
    current: Labels,
    model: str | Factory = "auto",
    mode: str | None = None,
    posterior: str = "cut",
    priors: Mapping[str, Any] | None = None,
    random_seed: int | None = None,
    draws: int = 1000,
    tune: int = 1000,
    chains: int = 4,
    cores: int | None = None,
    progressbar: bool = True,
) -> xr.DataTree:
    """Posterior of the current round's rates, labeler uncertainty included.

    Parameters
    ----------
    history : Labels
        Past rounds, with gold of both classes somewhere in them or in ``current``.
    current : Labels
        The round to judge; gold in it is used.
    model : str or callable
        "auto" (default: labelers may share errors; the anchored tilt averaged with independent
        errors, by what labels and held-out gold say), "score" (the anchored tilt alone), a name in
        ``hero_bayes.models.MODELS`` ("hero" is the paper's), or a factory ``(history, current,
        **priors) -> pm.Model``.
    mode : {"nuts", "laplace", "map", "exact"}, optional
        "exact" draws without a sampler: the default of "score", and all that "auto" has. For all
        others, and for "score" if asked (then a plain PyMC model of one score, without the
        bootstrap of history that exact draws have): NUTS draws (default); draws from the Gaussian
        at the unconstrained mode, corrected by importance resampling, for large tables and sweeps;
        or the mode on the probability scale, which for ``hero`` is HERO-1.
    posterior : {"cut", "joint"}
        Whether the current labels without gold inform the labelers: "cut" learns them from history
        and gold alone, then draws the current prevalence exactly; "joint" is one model over
        everything.
    priors : mapping, optional
        Keyword arguments of the factory. Every model takes ``gold_error``, how often gold is wrong:
        None (never), a number in [0, 0.5) where P(gold != truth) is known, the same for both
        truths, or the parameters (a, b) of a Beta prior under which it is estimated, such as
        ``priors={"gold_error": (2, 38)}`` for about 5 %. Gold is then evidence, not truth. "score"
        takes ``form`` ("line" or "bins") and ``score``, one of "votes", "mean" and "model": by
        default all three, mixed by their evidence, in exact draws, and the mean in other modes.
    random_seed : int, optional
        The same seed gives the same draws. Chosen and recorded when None.
    draws, chains : int
        Draws a chain, and chains; Laplace deals its independent draws out to as many.
    tune, cores : int
        For NUTS.
    progressbar : bool
        A bar on a terminal, plain lines elsewhere, on standard error.

    Returns
    -------
    xarray.DataTree
        ``posterior``: ``prevalence`` and ``item_rate`` (group), ``history_prevalence``
        (history_group), and the model's own variables, ``sensitivity`` and ``specificity``
        (labeler) among them; ``evidence``: ``log_likelihood_ratio`` (chain, draw, item) of at most
        1,000 draws; ``sample_stats``. Attributes tell model, mode, seed, versions, data
        fingerprints and what was left out.

    Raises
    ------
    Refusal
        If the data cannot answer: no gold of one class, or no current label from a known labeler.
        Not from "auto", which then gives a wide posterior that ``hb.diagnose`` does not pass, and
        says why.
    DataError
        If a factory's model lacks what ``fit`` needs.
    ValueError
        If an argument is not understood.

    Notes
    -----
    ``prevalence`` speaks of new items from the same source, ``item_rate`` of the items at hand.
    The cut is the safer default: current labels cannot re-teach the labelers, so that a drift or a
    shared error in the current round does not leak into their rates. Use the joint posterior where
    history is small, the model is trusted, and the current round is large enough to sharpen it.
    With a huge history the two agree. The cut posterior follows Plummer [1]_.

    References
    ----------
    .. [1] Plummer, M. (2015). Cuts in Bayesian graphical models. Statistics and Computing 25,
       37-43. doi:10.1007/s11222-014-9503-z

    Examples
    --------
    >>> import hero_bayes as hb
    >>> rounds = hb.datasets.demo_rounds()
    >>> fitted = hb.fit(rounds.history, rounds.current, model="hero", mode="map", random_seed=1)
    >>> sorted(fitted.children)
    ['constant_data', 'evidence', 'posterior']
    """
    need_labels(history=history)
    need_labels(current=current)
    random_seed, priors = checked_seed(random_seed), checked_priors(priors)
    if isinstance(model, str) and drawn_exactly(model, mode, EXACT_MODELS):
        check_exact(model, mode, posterior, draws, chains)
        return exact_fit(
            model,
            history,
            current,
            priors=priors,
            random_seed=random_seed,
            draws=draws,
            chains=chains,
        )
    mode = mode or "nuts"
    check_arguments(mode, posterior, draws, tune, chains)
    chosen = choose_model(model, history, current, priors, random_seed)
    program = make_program(chosen.factory, history, current, priors=priors, posterior=posterior)
    refuse_without_labels(program.full, current)
    settings = Settings(draws, tune, chains, cores, progressbar)
    result = run(program, history, current, mode, random_seed, settings)
    provenance = Provenance(chosen.name, mode, posterior, random_seed, priors)
    tree = assemble(result, program, history, current, provenance, criticism=mode != "map")
    tree.attrs.update(chosen.attributes)
    if hint := swap_hint(history, current):
        tree.attrs["notes"] = "\n".join(filter(None, (tree.attrs.get("notes"), hint)))
    return tree


def refit(
    program: Program,
    history: Labels,
    current: Labels,
    *,
    mode: str = "nuts",
    random_seed: int,
    draws: int = 1000,
    tune: int = 1000,
    chains: int = 4,
    cores: int | None = None,
) -> xr.DataTree:
    """Fit a compiled program to other tables with the same labelers, groups and covariates.

    Everything that refits (calibration, sweeps, planning) goes through here: the first call
    compiles, later ones only sample.

    Parameters
    ----------
    program : Program
        From :func:`hero_bayes.inference.program.make_program`.
    history, current : Labels
    mode, random_seed, draws, tune, chains, cores
        As in :func:`fit`.

    Returns
    -------
    xarray.DataTree
        As from :func:`fit`, without the groups that describe the fit to ArviZ.
    """
    check_arguments(mode, "cut" if program.cut else "joint", draws, tune, chains)
    load_tables(program, history, current)
    settings = Settings(draws, tune, chains, cores, progressbar=False, keep_compiled=True)
    result = run(program, history, current, mode, random_seed, settings)
    name = getattr(program.factory, "__name__", "model")
    posterior = "cut" if program.cut else "joint"
    provenance = Provenance(name, mode, posterior, random_seed, program.priors)
    return assemble(result, program, history, current, provenance)


def refuse_without_labels(model: pm.Model, current: Labels) -> None:
    """Refuse when the model knows none of the current labelers and no gold stands in."""
    known = set(model.coords["labeler"]) if "labeler" in model.coords else set(current.labelers)
    if current.n_gold or any(name in known for name in current.labelers):
        return
    raise Refusal(
        "no labeler of the current round is known from history, so its labels say nothing under "
        "this model. Let some known labelers label the current round, add gold to it, or use "
        'model="pooled", which draws unseen labelers from the population.'
    )


def run(
    program: Program,
    history: Labels,
    current: Labels,
    mode: str,
    random_seed: int,
    settings: Settings,
) -> Draws:
    """One mode of inference on a program that holds these tables."""
    sampler_seed, current_seed = np.random.SeedSequence(random_seed).spawn(2)
    if mode == "map":
        return _at_mode(program, current, gold_start(history, current))
    outcome = program.outcome  # refuses, where it must, before anything is drawn
    rates = dict(anchored_start(history, current))
    if program.cut:
        # Stage 1 knows nothing of the current labels, its starting point included.
        rates["prevalence"] = rates["prevalence"] * 0.0 + 0.5
    start = program.find_start(rates)
    if mode == "laplace":
        learned = _by_laplace(program, start, np.random.default_rng(sampler_seed), settings)
    else:
        learned = _by_nuts(program, start, int(sampler_seed.generate_state(1)[0]), settings)
    draws, statistics, attributes = learned
    now = current_round(
        draws,
        program.evidence,
        program.clamped(current),
        outcome,
        cut=program.cut,
        rng=np.random.default_rng(current_seed),
    )
    if program.cut:
        draws = draws.assign(derived_from_rate(program, draws, now).data_vars)
    return Draws(draws, now, statistics, attributes)


def derived_from_rate(program: Program, draws: xr.Dataset, now: CurrentRound) -> xr.Dataset:
    """In a cut, what the model derives from the current rate, at the rates of the second stage.

    Stage 1 holds them at rates that only the gold of the current round has informed.
    """
    full, outcome = program.full, program.outcome
    own = {full[name] for name in outcome.own}
    names = [
        name
        for name in stored_variables(full)
        if name not in ("prevalence", *outcome.own) and own & set(ancestors([full[name]]))
    ]
    if not names:
        return xr.Dataset()
    stacked = {rv.name: draws[rv.name].to_numpy() for rv in full.free_RVs}
    if "prevalence" in outcome.own:
        stacked["prevalence"] = now.prevalence
    stacked |= now.parameters
    shape = now.prevalence.shape[:2]
    flat = {name: v.reshape(-1, *v.shape[2:]) for name, v in stacked.items()}
    values = deterministic_function(full, names)(flat)
    return named_dataset(
        {name: v.reshape(*shape, *v.shape[1:]) for name, v in values.items()}, full
    )


def _by_nuts(
    program: Program, start: Mapping[str, FloatArray], seed: int, settings: Settings
) -> tuple[xr.Dataset, xr.Dataset | None, dict[str, Any]]:
    """NUTS on the learning model: draws, sampler statistics, attributes."""
    options: dict[str, Any] = {
        "draws": settings.draws,
        "tune": settings.tune,
        "chains": settings.chains,
        "cores": settings.cores,
        "seed": seed,
    }
    if settings.keep_compiled:
        sampled = sample_compiled(program.nuts, program.learning, start, **options)
    else:
        sampled = sample(program.learning, start, **options, progressbar=settings.progressbar)
    statistics = sampled["sample_stats"].to_dataset()
    attributes = {str(k): v for k, v in statistics.attrs.items()}
    return sampled["posterior"].to_dataset(), statistics, attributes


def _by_laplace(
    program: Program,
    start: Mapping[str, FloatArray],
    rng: np.random.Generator,
    settings: Settings,
) -> tuple[xr.Dataset, xr.Dataset | None, dict[str, Any]]:
    """Importance-corrected Gaussian draws, dealt out to chains."""
    shape = (settings.chains, settings.draws)
    draws, attributes = dealt_draws(program.learning, program.density, start, shape, rng)
    return draws, None, {"inference_library": "scipy", **attributes}


def dealt_draws(
    model: pm.Model,
    density: Density,
    start: Mapping[str, FloatArray],
    shape: tuple[int, int],
    rng: np.random.Generator,
) -> tuple[xr.Dataset, dict[str, Any]]:
    """Laplace's draws dealt out to (chains, draws), and what the gate reads of them."""
    found = laplace(density, unconstrained_point(model, start), shape[0] * shape[1], rng)
    stored = density.stored(found.flat)
    values = {name: value.reshape(*shape, *value.shape[1:]) for name, value in stored.items()}
    attributes = {
        "pareto_k_hat": found.k_hat,
        "importance_draws": found.effective_draws,
        "importance_corrected": int(found.corrected),
        "hessian_positive_definite": int(found.positive_definite),
        "largest_gradient": found.largest_gradient,
    }
    return named_dataset(values, model), attributes


def named_dataset(values: Mapping[str, FloatArray], model: pm.Model) -> xr.Dataset:
    """Draws (chain, draw, ...) by name as a Dataset with the model's dimensions and coordinates."""
    own = model.named_vars_to_dims
    variables = {name: (("chain", "draw", *own.get(name, ())), v) for name, v in values.items()}
    dims = {dim for value in variables.values() for dim in value[0]} & set(model.coords)
    return xr.Dataset(variables, coords={dim: list(model.coords[dim]) for dim in dims})


def _at_mode(program: Program, current: Labels, start: Start) -> Draws:
    """The mode of the learning model; in a cut, then of the current prevalence given it."""
    begin = program.find_start(start)
    found = find_mode(program.learning, begin)
    if program.cut:
        own = outcome_of(program.full, cut=False).own
        if not set(own) <= set(found.values):
            raise Refusal(
                f'posterior="cut" needs free variables {", ".join(own)} (group); {REMEDY}'
            )
        others = {k: v for k, v in found.values.items() if k not in own}
        found = find_mode(
            program.full, {k: begin.get(k, found.values[k]) for k in own}, fixed=others
        )
    full = program.full
    values = first(deterministic_function(full, stored_variables(full))(one(found.values)))
    draws = named_dataset({name: value[None, None] for name, value in values.items()}, full)
    evidence = first(program.evidence(one(found.values)))
    now = at_mode(values, evidence, program.clamped(current), outcome_of(full, cut=False))
    attributes = {
        "inference_library": "scipy",
        "largest_gradient": found.largest_gradient,
        "evaluations": found.evaluations,
        "log_density": found.log_density,
    }
    return Draws(draws, now, None, attributes)
