"""From two label tables and a model to a DataTree of posterior draws."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pymc as pm
import xarray as xr
from numpy.typing import NDArray

from hero_bayes.data.labels import Labels
from hero_bayes.errors import Refusal
from hero_bayes.inference.assembly import Draws, Provenance, assemble
from hero_bayes.inference.current import at_mode, current_round
from hero_bayes.inference.graph import (
    deterministic_function,
    evidence_function,
    stored_variables,
)
from hero_bayes.inference.mode import find_mode
from hero_bayes.inference.outcome import outcome_of
from hero_bayes.inference.resolve import build, check_arguments, resolve_model
from hero_bayes.inference.sampling import sample
from hero_bayes.inference.starts import Start, anchored_start, free_start, gold_start

FloatArray = NDArray[np.float64]
Factory = Callable[..., pm.Model]


def fit(
    history: Labels,
    current: Labels,
    model: str | Factory = "hero",
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
        A name in ``hero_bayes.models.MODELS``, or a factory ``(history, current, **priors) ->
        pm.Model``.
    mode : {"nuts", "map"}, optional
        NUTS draws (default), or the mode on the probability scale, which for ``hero`` is HERO-1.
    posterior : {"cut", "joint"}
        Whether the current labels without gold inform the labelers: "cut" learns them from history
        and gold alone, then draws the current prevalence exactly; "joint" is one model over
        everything.
    priors : mapping, optional
        Keyword arguments of the factory.
    random_seed : int, optional
        The same seed gives the same draws. Chosen and recorded when None.
    draws, tune, chains, cores : int
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
    DataError
        If a factory's model lacks what ``fit`` needs.
    ValueError
        If an argument is not understood.

    Notes
    -----
    ``prevalence`` speaks of new items from the same source, ``item_rate`` of the items at hand.
    The cut posterior follows Plummer [1]_.

    References
    ----------
    .. [1] Plummer, M. (2015). Cuts in Bayesian graphical models. Statistics and Computing 25,
    37-43.
       doi:10.1007/s11222-014-9503-z

    Examples
    --------
    >>> import hero_bayes as hb
    >>> history, current, truth = hb.datasets.demo_rounds()
    >>> fitted = hb.fit(history, current, model="hero", mode="map", random_seed=1)
    >>> sorted(fitted.children)
    ['constant_data', 'evidence', 'posterior']
    """
    name, factory = resolve_model(model)
    mode = mode or "nuts"
    check_arguments(mode, posterior, draws, tune, chains)
    priors = dict(priors or {})
    full = build(factory, history, current, priors)
    refuse_without_labels(full, current)
    if random_seed is None:
        random_seed = int(np.random.default_rng().integers(2**31))
    sampler_seed, current_seed = np.random.SeedSequence(random_seed).spawn(2)
    if mode == "map":
        start = gold_start(history, current)
        result = _at_mode(factory, full, history, current, priors, posterior, start)
    else:
        result = _by_nuts(
            factory,
            full,
            history,
            current,
            priors,
            posterior,
            rng=np.random.default_rng(current_seed),
            settings={
                "draws": draws,
                "tune": tune,
                "chains": chains,
                "cores": cores,
                "seed": int(sampler_seed.generate_state(1)[0]),
                "progressbar": progressbar,
            },
        )
    provenance = Provenance(name, mode, posterior, random_seed, priors)
    return assemble(result, full, history, current, provenance)


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


def learning_model(
    factory: Factory,
    full: pm.Model,
    history: Labels,
    current: Labels,
    priors: Mapping[str, Any],
    posterior: str,
) -> pm.Model:
    """The model that informs the labelers: in a cut, history and the current items with gold."""
    if posterior == "joint":
        return full
    return build(factory, history, current.take_items(current.has_gold), priors)


def _by_nuts(
    factory: Factory,
    full: pm.Model,
    history: Labels,
    current: Labels,
    priors: Mapping[str, Any],
    posterior: str,
    *,
    rng: np.random.Generator,
    settings: Mapping[str, Any],
) -> Draws:
    """NUTS on the learning model, then the current round given its draws."""
    cut = posterior == "cut"
    outcome = outcome_of(full, cut=cut)
    evidence = evidence_function(full)
    learning = learning_model(factory, full, history, current, priors, posterior)
    start = free_start(learning, anchored_start(history, current))
    sampled = sample(learning, start, **settings)
    draws = sampled["posterior"].to_dataset()
    now = current_round(draws, evidence, current, outcome, cut=cut, rng=rng)
    statistics = sampled["sample_stats"].to_dataset()
    return Draws(draws, now, statistics, {str(k): v for k, v in statistics.attrs.items()})


def _at_mode(
    factory: Factory,
    full: pm.Model,
    history: Labels,
    current: Labels,
    priors: Mapping[str, Any],
    posterior: str,
    start: Start,
) -> Draws:
    """The mode of the learning model; in a cut, then of the current prevalence given it."""
    learning = learning_model(factory, full, history, current, priors, posterior)
    begin = free_start(learning, start)
    found = find_mode(learning, begin)
    if posterior == "cut":
        own = "prevalence" if "prevalence" in found.values else "intercept"
        others = {k: v for k, v in found.values.items() if k != own}
        found = find_mode(full, {own: begin[own]}, fixed=others)
    values = deterministic_function(full, stored_variables(full))(found.values)
    dims = {name: full.named_vars_to_dims.get(name, ()) for name in values}
    draws = xr.Dataset(
        {
            name: (("chain", "draw", *dims[name]), value[None, None])
            for name, value in values.items()
        },
        coords={dim: list(full.coords[dim]) for name in values for dim in dims[name]},
    )
    evidence = evidence_function(full)(found.values)
    now = at_mode(values, evidence, current, outcome_of(full, cut=False))
    attributes = {
        "inference_library": "scipy",
        "largest_gradient": found.largest_gradient,
        "evaluations": found.evaluations,
        "log_density": found.log_density,
    }
    return Draws(draws, now, None, attributes)
