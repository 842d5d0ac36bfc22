"""Dawid and Skene's model on the current round alone."""

import numpy as np
import pandas as pd

from hero_bayes.data.labels import Labels
from hero_bayes.errors import Refusal
from hero_bayes.estimators import kernels
from hero_bayes.estimators.anchored_em import START_LIMITS, AnchorData, label_codes, run_em
from hero_bayes.estimators.information import interior_parameters, parameter_covariance
from hero_bayes.estimators.prevalence import group_evidence
from hero_bayes.estimators.report import edge_note, rates_at_edge
from hero_bayes.estimators.result import Estimate
from hero_bayes.estimators.score import Profile, interior, solve

#: Two latent classes are not identified by fewer labels on an item, short of gold.
LABELS_TO_IDENTIFY = 3


def refuse_unidentified(current: Labels) -> None:
    """Refuse when two latent classes cannot be told apart by counting parameters."""
    widest = int(current.labels_per_item.max(initial=0))
    if widest >= LABELS_TO_IDENTIFY or current.n_gold:
        return
    raise Refusal(
        f"dawid_skene is not identified: no item of the current round has {LABELS_TO_IDENTIFY} "
        f"labels (the most is {widest}), so label patterns have fewer degrees of freedom than the "
        'model has parameters. Use method="hero1", which takes the labelers\' rates from history.'
    )


def start_from_votes(current: Labels) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rates and group prevalences as if the vote shares were the truth."""
    share = np.where(np.isnan(current.vote_share), 0.5, current.vote_share)
    truth = np.where(current.has_gold, current.gold, share)
    by_label = np.repeat(truth, current.labels_per_item)
    code, size = label_codes(current), 2 * current.n_labelers
    positive = np.bincount(code, weights=by_label, minlength=size)
    negative = np.bincount(code, weights=1.0 - by_label, minlength=size)
    n_positive, n_negative = positive[0::2] + positive[1::2], negative[0::2] + negative[1::2]
    sensitivity = (positive[1::2] + 1.0) / (n_positive + 2.0)
    specificity = (negative[0::2] + 1.0) / (n_negative + 2.0)
    group_size = np.bincount(current.group_idx, minlength=current.n_groups)
    prevalence = np.bincount(current.group_idx, weights=truth, minlength=current.n_groups)
    prevalence = prevalence / np.maximum(group_size, 1)
    return (
        np.clip(sensitivity, *START_LIMITS),
        np.clip(specificity, *START_LIMITS),
        np.clip(prevalence, *START_LIMITS),
    )


def unanimous(current: Labels, item_idx: np.ndarray) -> bool:
    """Whether every label of the chosen items is the same, and none of them carries gold."""
    share = current.vote_share[item_idx]
    share = share[np.isfinite(share)]
    alike = bool((share == 0.0).all() or (share == 1.0).all())
    return alike and share.size > 0 and not current.has_gold[item_idx].any()


def unanimous_estimate(current: Labels, group: str, item_idx: np.ndarray) -> Estimate:
    """The boundary solution of a group whose labels are all alike."""
    value = float(current.vote_share[item_idx][0])
    n = item_idx.size
    log_ratio = np.full(n, np.inf if value == 1.0 else -np.inf)
    return Estimate(
        value=value,
        standard_error=float(np.sqrt(interior(value, n) * (1.0 - interior(value, n)) / n)),
        method="dawid_skene",
        estimand="item_rate",
        group=group,
        notes=(
            f"every label is {int(value)}: nothing tells the two classes apart, and the labelers' "
            "own rates cannot be estimated",
        ),
        details={"boundary": "upper" if value else "lower", "n_items": n},
        _interval=Profile(log_ratio, 0.0, value, 1.0).interval,
    )


def dawid_skene(current: Labels, group: str, group_position: int, item_idx: np.ndarray) -> Estimate:
    """Share of positive items by EM on the current labels, started at the vote shares.

    It knows no history. Gold of the current round is clamped. Where most labelers err the same way
    it learns their common error as truth; the mode is the one nearest to the majority.

    References
    ----------
    .. [1] Dawid, A. P., Skene, A. M. (1979). Maximum likelihood estimation of observer error-rates
    using
       the EM algorithm. Applied Statistics 28(1), 20-28. doi:10.2307/2346806
    """
    refuse_unidentified(current)
    if unanimous(current, item_idx):
        return unanimous_estimate(current, group, item_idx)
    sensitivity, specificity, prevalence = start_from_votes(current)
    data = AnchorData(
        item_ptr=current.item_ptr,
        code=label_codes(current),
        gold=current.gold,
        group_idx=current.group_idx,
        n_labelers=current.n_labelers,
        n_groups=current.n_groups,
    )
    _, iterations, converged = run_em(data, sensitivity, specificity, prevalence)
    covariance, remarks = parameter_covariance(data, sensitivity, specificity, prevalence)
    position = 2 * current.n_labelers + group_position
    unit = np.zeros(covariance.shape[0])
    unit[position] = 1.0
    variance = float(unit @ (covariance @ unit))
    at = interior_parameters(data, sensitivity, specificity, prevalence)
    evidence = group_evidence(current, item_idx, at.sensitivity, at.specificity)
    centre, _ = solve(evidence.log_ratio)
    at_edge = rates_at_edge(current.labelers, at, evidence.labeler_idx)
    floor = 2.0 * kernels.FLOOR
    raw = float(prevalence[group_position])
    value = 0.0 if raw < floor else 1.0 if raw > 1.0 - floor else raw
    n = evidence.n_items
    psi = np.asarray(kernels.psi_array(evidence.log_ratio, interior(centre, n)))
    scale = 1.0 / (n * max(float(np.mean(psi**2)), 1e-300)) / variance
    labelers = pd.Index(current.labelers, name="labeler")
    notes = [
        "no gold and no history: the labelers' common errors pass for truth",
        *edge_note(at_edge, centre),
        *remarks,
    ]
    if not converged:
        notes.append(f"the EM stopped after {iterations} iterations before it converged")
    return Estimate(
        value=value,
        standard_error=float(np.sqrt(variance + (value - centre) ** 2)),
        method="dawid_skene",
        estimand="item_rate",
        group=group,
        notes=tuple(notes),
        details={
            "boundary": {0.0: "lower", 1.0: "upper"}.get(value),
            "rates_at_edge": tuple(at_edge),
            "centre": centre,
            "n_items": n,
            "sensitivity": pd.Series(sensitivity, labelers, name="sensitivity"),
            "specificity": pd.Series(specificity, labelers, name="specificity"),
            "iterations": iterations,
            "converged": converged,
        },
        _interval=Profile(evidence.log_ratio, 0.0, centre, scale, value).interval,
    )
