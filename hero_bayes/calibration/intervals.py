"""How often credible intervals hold the truth."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pymc as pm
import xarray as xr
from numpy.typing import NDArray
from scipy.stats import binom

from hero_bayes.adjustment.adjust import adjust
from hero_bayes.calibration.design import Design, tables
from hero_bayes.calibration.drawing import (
    Simulated,
    Values,
    check_layers,
    draw_simulations,
    prior_draws,
    simulate_rounds,
)
from hero_bayes.calibration.running import Chains, Outcome, Task, diagnostics, rank_among, run
from hero_bayes.data.labels import Labels
from hero_bayes.inference.resolve import build, check_arguments, resolve_model
from hero_bayes.simulation.simulate import intercept

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["coverage", "coverage_table"]

FloatArray = NDArray[np.float64]

LEVELS = (0.5, 0.8, 0.9, 0.95)
QUANTITIES = ("prevalence", "item_rate", "prevalence_adjusted")
#: Probability of the binomial bounds of a coverage.
BOUND = 0.999
COVARIATE = "x"


def coverage(
    model: str | Callable[..., pm.Model] = "hero",
    posterior: str = "cut",
    n_simulations: int = 200,
    *,
    truth: Mapping[str, float | Sequence[float]] | None = None,
    quantities: Sequence[str] = QUANTITIES,
    levels: Sequence[float] = LEVELS,
    strength: float = 1.0,
    design: Design | None = None,
    priors: Mapping[str, Any] | None = None,
    mode: str = "nuts",
    draws: int = 250,
    tune: int = 300,
    chains: int = 2,
    truth_model: str | Callable[..., pm.Model] | None = None,
    random_seed: int,
    jobs: int = 1,
    progressbar: bool = True,
) -> xr.DataTree:
    """Coverage of credible intervals over simulated rounds.

    Parameters
    ----------
    model : str or callable
        A name in ``hero_bayes.models.MODELS`` or a factory, with sensitivity and specificity by
        labeler.
    posterior : {"cut", "joint"}
    n_simulations : int
        Refits.
    truth : mapping, optional
        True values that every simulation shares: ``prevalence``, ``history_prevalence``,
        ``sensitivity``, ``specificity``, each a number or one an element. None draws the truth from
        the prior, anew for every simulation: then a joint posterior must cover exactly, while for
        fixed values coverage also tells how well the prior suits them.
    quantities : sequence of str
        ``prevalence_adjusted`` is held against E[y], like ``prevalence``.
    levels : sequence of float
    strength : float
        How much the log odds of y rise by unit of the covariate ``x`` that ``prevalence_adjusted``
        uses, where the model has neither slopes nor prompts of its own. ``x`` is drawn anew for
        every simulation and E[y] stays exact.
    design : Design, optional
    priors, mode, draws, tune, chains, truth_model, random_seed, jobs, progressbar
        As in :func:`sbc`.

    Returns
    -------
    xarray.DataTree
        ``pit``, ``truth``, ``lower`` and ``upper`` (simulation, level, ...) of every quantity;
        ``diagnostics``. Read it with :func:`coverage_table`.
    """
    name, factory = resolve_model(model)
    check_arguments(mode, posterior, draws, tune, chains)
    base = tables(design or Design())
    settings = dict(priors or {})
    source = build(resolve_model(truth_model or model)[1], *base, settings)
    check_layers(source)
    simulations, redrawn = _simulations(source, base, truth, strength, n_simulations, random_seed)
    length = Chains(draws, tune, chains)
    task = Task(
        factory,
        settings,
        posterior,
        mode,
        base,
        length,
        tuple(quantities),
        chains * draws,
        tuple(levels),
    )
    title = f"coverage of {name}, {posterior}"
    found = run(task, simulations, _intervals, jobs=jobs, progressbar=progressbar, name=title)
    tree = _tree(found, task, source)
    tree.attrs = {
        "study": "coverage",
        "model": name,
        "posterior": posterior,
        "mode": mode,
        "n_simulations": n_simulations,
        "truth": json.dumps({k: np.asarray(v).tolist() for k, v in (truth or {}).items()}),
        "strength": strength,
        "redrawn": redrawn,
        "random_seed": random_seed,
        "design": json.dumps(vars(design or Design())),
    }
    return tree


def coverage_table(result: xr.DataTree) -> "pd.DataFrame":
    """Coverage of every quantity at every level, with the bounds of a right one.

    Parameters
    ----------
    result : xarray.DataTree
        From :func:`coverage`.

    Returns
    -------
    DataFrame
        quantity, element, level, ``coverage``, ``lower`` and ``upper`` bound, ``inside``,
        ``closed_coverage``, ``mean_width``.

    Notes
    -----
    ``coverage`` counts simulations with (1 - level)/2 <= PIT <= (1 + level)/2, the PIT having ties
    broken at random: exactly ``level`` for a right posterior, also where values are discrete, as
    ``item_rate`` is. ``closed_coverage`` counts those inside the closed interval that a user sees,
    which holds a little more. Bounds: the 0.05 % and 99.95 % quantiles of Binomial(n, level)/n.
    """
    import pandas as pd

    pit, truth = result["pit"].to_dataset(), result["truth"].to_dataset()
    low, high = result["lower"].to_dataset(), result["upper"].to_dataset()
    n = pit.sizes["simulation"]
    rows = []
    for name in pit.data_vars:
        dims = [dim for dim in pit[name].dims if dim != "simulation"]
        for index in np.ndindex(*(pit.sizes[dim] for dim in dims)):
            at = dict(zip(dims, index, strict=True))
            u, true = np.asarray(pit[name].isel(at)), np.asarray(truth[name].isel(at))
            element = ", ".join(str(pit[dim].to_numpy()[i]) for dim, i in at.items())
            for level in low["level"].to_numpy():
                left = np.asarray(low[name].isel(at).sel(level=level))
                right = np.asarray(high[name].isel(at).sel(level=level))
                share = float(np.mean(np.abs(u - 0.5) <= level / 2))
                bounds = np.array(binom.ppf([(1 - BOUND) / 2, (1 + BOUND) / 2], n, level)) / n
                rows.append(
                    {
                        "quantity": str(name),
                        "element": element,
                        "level": float(level),
                        "coverage": share,
                        "lower": float(bounds[0]),
                        "upper": float(bounds[1]),
                        "inside": bool(bounds[0] <= share <= bounds[1]),
                        "closed_coverage": float(np.mean((left <= true) & (true <= right))),
                        "mean_width": float(np.mean(right - left)),
                    }
                )
    return pd.DataFrame(rows)


def _simulations(
    model: pm.Model,
    base: tuple[Labels, Labels],
    truth: Mapping[str, Any] | None,
    strength: float,
    n_simulations: int,
    random_seed: int,
) -> tuple[list[Simulated], int]:
    """Simulations at fixed or drawn parameters, with covariates of their own."""
    labelers = [str(name) for name in model.coords["labeler"]]
    pool: list[dict[str, FloatArray]] = []
    fixed = None if truth is None else fixed_values(model, truth)

    def next_values(attempt: int) -> Values:
        if fixed is not None:
            return fixed
        if attempt >= len(pool):
            pool.extend(prior_draws(model, n_simulations, random_seed + 7919 * (len(pool) + 1)))
        return pool[attempt]

    def make(
        values: Values, rng: np.random.Generator
    ) -> tuple[Labels, Labels, dict[str, FloatArray]]:
        x = [rng.standard_normal(labels.n_items) for labels in base]
        drawn = (
            replace(base[0], covariates={COVARIATE: x[0]}),
            replace(base[1], covariates={COVARIATE: x[1]}),
        )
        own = dict(values)
        rate = values["prevalence"]
        if "history_icc" not in values:
            own["history_chance"], _ = covariate_chances(values, drawn[0], "history_", strength)
        if "icc" not in values:
            own["chance"], rate = covariate_chances(values, drawn[1], "", strength)
        history, current, more = simulate_rounds(own, labelers, drawn, rng)
        return history, current, {**more, "prevalence": rate, "prevalence_adjusted": rate}

    return draw_simulations(next_values, make, n_simulations, random_seed)


def fixed_values(model: pm.Model, truth: Mapping[str, Any]) -> dict[str, FloatArray]:
    """True values along their dimensions."""
    needed = ["prevalence", "history_prevalence", "sensitivity", "specificity"]
    needed += [name for name in ("icc", "history_icc") if name in model.named_vars]
    missing = [name for name in needed if name not in truth]
    if missing:
        raise ValueError(f"truth lacks {', '.join(missing)}; give all of {', '.join(needed)}")
    out = {}
    for name, value in truth.items():
        if name not in model.named_vars_to_dims:
            raise ValueError(f"the model has no {name!r} with dimensions")
        shape = tuple(len(model.coords[dim]) for dim in model.named_vars_to_dims[name])
        out[name] = np.broadcast_to(np.asarray(value, dtype=float), shape).copy()
    return out


def covariate_chances(
    values: Values, labels: Labels, role: str, strength: float
) -> tuple[FloatArray, FloatArray]:
    """P(truth 1 | x) of every item, and E[y] by group over the law of x."""
    x = labels.covariates[COVARIATE]
    if "slope" in values:
        base: FloatArray = values[f"{role}intercept"]
        slope = float(values["slope"].sum())
        nodes, weights = np.polynomial.hermite_e.hermegauss(60)
        rate = _expit(base[:, None] + slope * nodes) @ (weights / weights.sum())
    else:
        rate, slope = values[f"{role}prevalence"], strength
        base = np.array([intercept(float(m), strength, "normal", 0.0) for m in rate])
    return _expit(base[labels.group_idx] + slope * x), np.asarray(rate)


def _expit(logit: FloatArray) -> FloatArray:
    return np.asarray(1.0 / (1.0 + np.exp(-logit)))


def _intervals(tree: xr.DataTree, simulation: Simulated, task: Task) -> Outcome:
    """PIT and interval limits of every quantity."""
    rng = np.random.default_rng([simulation.seed, 1])
    if "prevalence_adjusted" in task.names:
        covariates = [COVARIATE]
        tree = adjust(tree, simulation.history, simulation.current, covariates=covariates)
    posterior, out = tree["posterior"].to_dataset(), {}
    tails = np.array(task.levels) / 2
    for name in task.names:
        values = posterior[name].transpose("chain", "draw", ...).to_numpy()
        draws = values.reshape(-1, *values.shape[2:])
        truth = simulation.truth[name]
        rank = rank_among(draws, truth, rng)
        out[f"pit {name}"] = (rank + rng.random(np.shape(rank))) / (len(draws) + 1)
        out[f"truth {name}"] = np.asarray(truth)
        out[f"lower {name}"] = np.quantile(draws, 0.5 - tails, axis=0)
        out[f"upper {name}"] = np.quantile(draws, 0.5 + tails, axis=0)
    return out


def _tree(found: Mapping[str, FloatArray], task: Task, model: pm.Model) -> xr.DataTree:
    """What was found, as one tree."""
    own = {"item_rate": ("group",), "prevalence_adjusted": ("group",)}
    known = {**model.named_vars_to_dims, **own}
    used = {dim for name in task.names for dim in known[name]}
    coords: dict[str, Any] = {dim: list(model.coords[dim]) for dim in used}
    groups = {"diagnostics": diagnostics(found)}
    for part, dims in (
        ("pit", ("simulation",)),
        ("truth", ("simulation",)),
        ("lower", ("simulation", "level")),
        ("upper", ("simulation", "level")),
    ):
        variables = {n: ((*dims, *known[n]), found[f"{part} {n}"]) for n in task.names}
        groups[part] = xr.Dataset(variables, coords=coords)
        if "level" in dims:
            groups[part] = groups[part].assign_coords(level=list(task.levels))
    return xr.DataTree.from_dict(groups)
