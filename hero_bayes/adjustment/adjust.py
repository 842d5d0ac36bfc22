"""HERO-2 on posterior draws: weighted score equations with control variates."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from hero_bayes.data.covariates import Design, TextCovariates, design
from hero_bayes.data.labels import Labels
from hero_bayes.data.prompts import effective_size, prompt_clusters
from hero_bayes.data.shift import covariate_shift, shift_notes
from hero_bayes.errors import Refusal
from hero_bayes.estimators import kernels
from hero_bayes.estimators.control_variate import (
    ControlVariate,
    Ridge,
    choose_ridge,
    control_variate,
    standardise,
)
from hero_bayes.estimators.estimate import check_arguments
from hero_bayes.estimators.hero2 import shrink_factor, size_note
from hero_bayes.estimators.prompt_spread import dirichlet
from hero_bayes.estimators.score import clamp_gold, interior
from hero_bayes.inference.provenance import check_same_data

FloatArray = NDArray[np.float64]
Clusters = NDArray[np.integer] | None


@dataclass(frozen=True)
class Settings:
    """How the adjustment is made, fixed before the draws are looked at."""

    ridge: float
    factor: float
    cross_fit: bool | None


@dataclass(frozen=True)
class GroupAdjustment:
    """Roots of one current group, (draw,), with and without the covariates, on the same weights."""

    adjusted: FloatArray
    unadjusted: FloatArray
    gamma: FloatArray
    settings: Settings
    shift: pd.DataFrame
    notes: tuple[str, ...]


def adjust(
    fit: xr.DataTree,
    history: Labels,
    current: Labels,
    covariates: Sequence[str | TextCovariates] | None = None,
    *,
    ridge: Ridge = "cv",
    shrink: str = "optimal",
    cross_fit: bool | None = None,
    random_seed: int | None = None,
) -> xr.DataTree:
    """Posterior of the prevalence with prompt covariates as control variates.

    Parameters
    ----------
    fit : xarray.DataTree
        What ``hb.fit`` returned for these tables; only its evidence is used.
    history, current : Labels
        The tables the fit was made from, with the covariates declared.
    covariates : sequence of str or TextCovariates, optional
        Default: every numeric covariate declared in both. They must be features of the prompt.
    ridge : "cv" or float
        Penalty, fixed once: "cv" picks it by leave-one-out at the posterior mean of the evidence.
    shrink : {"optimal", "paper"}
        Factor N / (N + n) on the coefficients, or 1.
    cross_fit : bool, optional
        Whether an item's adjustment leaves it out; default: with more than four covariates.
    random_seed : int, optional
        For the bootstrap weights; default: the fit's seed.

    Returns
    -------
    xarray.DataTree
        The fit on the draws whose evidence is kept, with ``prevalence_adjusted`` and
        ``prevalence_unadjusted`` (group) in ``posterior``, and a group ``adjustment`` with
        ``variance_removed_percent`` and ``items_saved`` (group), ``gamma`` (group, covariate) and
        the ``standardized_difference`` of every covariate. Notes are in its attribute ``notes``.

    Raises
    ------
    DataError
        If the tables are not the fitted ones, or a covariate is missing.
    Refusal
        If there are no covariates.
    ValueError
        If ``ridge`` or ``shrink`` is not understood.

    Notes
    -----
    For every draw of the evidence: Dirichlet(1, ..., 1) weights over the current and over the
    history items (Bayesian bootstrap; where prompts repeat, one weight a prompt, or a prompt group
    where there are such), the weighted score equation, gamma from the weighted scores
    at its root, and the root of the equation shifted by factor * gamma'(mean X - m_X) [1]_. The
    draws carry labeler uncertainty, the sampling of items and the noise of m_X.
    ``variance_removed_percent`` compares with the roots at gamma = 0 under the same weights;
    ``items_saved`` is that share of the current items. A fit at the mode has one draw and gets even
    weights: the point estimate HERO-2 under the same ``shrink`` (``hb.estimate`` defaults to
    "paper").

    References
    ----------
    .. [1] Ruan, X. et al. (2026). HERO. arXiv:2606.29784
    """
    check_arguments("hero2", ridge)
    check_same_data(fit, history, current)
    features = design(history, current, covariates)
    if not features.names:
        raise Refusal(
            "adjust needs covariates: declare them with Labels.from_frames(..., covariates=[...]) "
            "in both history and current"
        )
    seed = int(fit.attrs["random_seed"]) if random_seed is None else random_seed
    evidence = fit["evidence"].to_dataset()
    log_ratio = evidence["log_likelihood_ratio"].transpose("chain", "draw", "item").to_numpy()
    flat = log_ratio.reshape(-1, log_ratio.shape[-1])
    known = evidence["gold"].to_numpy()  # what the fit took for the truth
    past, now = prompt_clusters(history), prompt_clusters(current)
    results = []
    for group in range(current.n_groups):
        item_idx = np.flatnonzero(current.group_idx == group)
        clamped = clamp_gold(flat[:, item_idx], known[item_idx])
        results.append(
            adjust_group(
                clamped,
                features,
                item_idx,
                ridge=ridge,
                shrink=shrink,
                cross_fit=cross_fit,
                # One stream for all groups: they share the weights of history.
                rng=np.random.default_rng([seed, 1]),
                item_rng=np.random.default_rng([seed, 2, 0 if now is not None else group]),
                clusters=(past, now),
            )
        )
    return assemble(fit, evidence, current, features, results, shrink)


def adjust_group(
    log_ratio: FloatArray,
    features: Design,
    item_idx: NDArray[np.integer],
    *,
    ridge: Ridge,
    shrink: str,
    cross_fit: bool | None,
    rng: np.random.Generator,
    item_rng: np.random.Generator,
    clusters: tuple[Clusters, Clusters] = (None, None),
) -> GroupAdjustment:
    """Adjusted and unadjusted roots of one group, one for every draw of the evidence.

    ``clusters`` are the prompts of the history and of all current items, where they repeat.
    """
    x, past = features.current[item_idx], features.history
    n, n_history = x.shape[0], past.shape[0]
    even, even_history = np.full(n, 1.0 / n), np.full(n_history, 1.0 / n_history)
    # A covariate's mean is as uncertain as there are prompts.
    own = None if clusters[1] is None else clusters[1][item_idx]
    known = effective_size(even_history, clusters[0]), effective_size(even, own)
    factor = shrink_factor(shrink, *known)
    middle = log_ratio.mean(axis=0)
    settings = Settings(fixed_ridge(middle, x, even, ridge), factor, cross_fit)
    adjusted, unadjusted, gammas = [], [], []
    for row in log_ratio:
        weight, history_weight = even, even_history
        if log_ratio.shape[0] > 1:
            weight = dirichlet(n, item_rng, clusters[1], item_idx)
            history_weight = dirichlet(n_history, rng, clusters[0])
        root, moved, variate = weighted_roots(row, x, history_weight @ past, weight, settings)
        unadjusted.append(root)
        adjusted.append(moved)
        gammas.append(variate.gamma)
    shift = covariate_shift(past, x, features.names, (clusters[0], own))
    return GroupAdjustment(
        adjusted=np.array(adjusted),
        unadjusted=np.array(unadjusted),
        gamma=np.mean(gammas, axis=0),
        settings=settings,
        shift=shift,
        notes=(*shift_notes(shift), *size_note(shrink, n_history, n)),
    )


def fixed_ridge(log_ratio: FloatArray, x: FloatArray, even: FloatArray, ridge: Ridge) -> float:
    """The penalty, chosen once at the posterior mean of the evidence."""
    if ridge != "cv":
        return float(ridge)
    root = interior(float(kernels.score_root(log_ratio, even, 0.0)), x.shape[0])
    return choose_ridge(standardise(x, even), np.asarray(kernels.psi_array(log_ratio, root)))


def weighted_roots(
    log_ratio: FloatArray,
    x: FloatArray,
    target_mean: FloatArray,
    weight: FloatArray,
    settings: Settings,
) -> tuple[float, float, ControlVariate]:
    """Roots of the weighted score equation without and with the covariates."""
    root = float(kernels.score_root(log_ratio, weight, 0.0))
    psi = np.asarray(kernels.psi_array(log_ratio, interior(root, x.shape[0])))
    variate = control_variate(
        standardise(x, weight),
        psi,
        target_mean,
        ridge=settings.ridge,
        factor=settings.factor,
        cross_fit=settings.cross_fit,
    )
    return root, float(kernels.score_root(log_ratio, weight, variate.shift)), variate


def variance_removed(result: GroupAdjustment) -> float:
    """Percent of the unadjusted roots' variance that the covariates took away; 0 for one draw."""
    before = float(np.var(result.unadjusted))
    if before == 0.0:
        return 0.0
    return 100.0 * (1.0 - float(np.var(result.adjusted)) / before)


def assemble(
    fit: xr.DataTree,
    evidence: xr.Dataset,
    current: Labels,
    features: Design,
    results: Sequence[GroupAdjustment],
    shrink: str,
) -> xr.DataTree:
    """The fit on the kept draws, with the adjusted roots and what they cost."""
    shape = (evidence.sizes["chain"], evidence.sizes["draw"])
    dims = ("chain", "draw", "group")
    posterior = fit["posterior"].to_dataset().sel(draw=evidence["draw"].to_numpy())
    for name in ("adjusted", "unadjusted"):
        roots = [getattr(result, name).reshape(shape) for result in results]
        posterior[f"prevalence_{name}"] = (dims, np.stack(roots, axis=-1))
    removed = np.array([variance_removed(result) for result in results])
    sizes = np.bincount(current.group_idx, minlength=current.n_groups)
    by_covariate = ("group", "covariate")
    notes = dict.fromkeys(note for result in results for note in result.notes)
    adjustment = xr.Dataset(
        {
            "variance_removed_percent": ("group", removed),
            "items_saved": ("group", sizes * removed / 100.0),
            "ridge": ("group", [result.settings.ridge for result in results]),
            "shrink_factor": ("group", [result.settings.factor for result in results]),
            "gamma": (by_covariate, np.stack([result.gamma for result in results])),
            "standardized_difference": (
                by_covariate,
                np.stack([result.shift["difference"].to_numpy() for result in results]),
            ),
            "shift_p_value": (
                by_covariate,
                np.stack([result.shift["p_value"].to_numpy() for result in results]),
            ),
        },
        coords={"group": current.groups("current"), "covariate": list(features.names)},
        attrs={"shrink": shrink, "notes": "\n".join(notes)},
    )
    groups = {name: node.to_dataset() for name, node in fit.children.items()}
    groups |= {"posterior": posterior, "adjustment": adjustment}
    if "sample_stats" in groups:
        groups["sample_stats"] = groups["sample_stats"].sel(draw=evidence["draw"].to_numpy())
    tree = xr.DataTree.from_dict(groups)
    tree.attrs = dict(fit.attrs)
    return tree
