"""HERO-1: labeler rates from anchored EM, prevalence from the marginal score equation."""

import numpy as np
import pandas as pd

from hero_bayes.estimators.anchored_em import Anchored
from hero_bayes.estimators.prevalence import (
    GroupEvidence,
    ScoreSolution,
    group_evidence,
    score_solution,
)
from hero_bayes.estimators.report import check_evidence, score_estimate
from hero_bayes.estimators.result import Estimate


def anchored_evidence(
    anchored: Anchored, group: str, item_idx: np.ndarray
) -> tuple[GroupEvidence, GroupEvidence]:
    """Evidence at the anchored rates, and at those rates moved inside (0, 1)."""
    current = anchored.panel.current
    evidence = group_evidence(current, item_idx, anchored.sensitivity, anchored.specificity)
    check_evidence(evidence, anchored.panel, group)
    at = anchored.interior
    return evidence, group_evidence(current, item_idx, at.sensitivity, at.specificity)


def anchored_details(anchored: Anchored) -> dict[str, object]:
    """What every anchored estimate reports of its labelers."""
    labelers = pd.Index(anchored.panel.labelers, name="labeler")
    history_groups = pd.Index(anchored.panel.history.groups("history"), name="history_group")
    return {
        "sensitivity": pd.Series(anchored.sensitivity, labelers, name="sensitivity"),
        "specificity": pd.Series(anchored.specificity, labelers, name="specificity"),
        "history_prevalence": pd.Series(
            anchored.history_prevalence, history_groups, name="history_prevalence"
        ),
        "iterations": anchored.iterations,
        "converged": anchored.converged,
        "history_log_likelihood": anchored.log_likelihood,
    }


def anchored_remarks(anchored: Anchored) -> tuple[str, ...]:
    """Remarks on the labeler parameters, flipped labelers among them."""
    remarks = list(anchored.covariance[1])
    if not anchored.converged:
        remarks.append(f"the EM stopped after {anchored.iterations} iterations before it converged")
    flipped = anchored.sensitivity + anchored.specificity < 1.0
    if flipped.any():
        names = [str(name) for name in anchored.panel.labelers[flipped][:3]]
        remarks.append(
            f"{int(flipped.sum())} labelers answer against the truth more often than with it "
            f"(sensitivity + specificity < 1): {', '.join(names)}"
            f"{', ...' if flipped.sum() > 3 else ''}"
        )
    return tuple(remarks)


def hero1_solution(
    anchored: Anchored, group: str, item_idx: np.ndarray
) -> tuple[ScoreSolution, GroupEvidence, GroupEvidence]:
    """Root of the score equation with its evidence."""
    evidence, inside = anchored_evidence(anchored, group, item_idx)
    return score_solution(evidence, inside, anchored.covariance[0]), evidence, inside


def hero1(anchored: Anchored, group: str, item_idx: np.ndarray) -> Estimate:
    """Prevalence of a current group, HERO-1.

    Root m of sum_i (r_i - 1) / (m r_i + 1 - m) = 0, r_i the likelihood ratio of the labels of item
    i under the anchored rates; an item with gold contributes 1 / m or -1 / (1 - m). Assumes that
    labelers err independently given the truth, and as they did in history. Where a rate lies at 0
    or 1 the interval is that of the rates moved inside (0, 1), reaching at least to m.
    """
    solution, evidence, _ = hero1_solution(anchored, group, item_idx)
    return score_estimate(
        solution,
        anchored.panel,
        method="hero1",
        group=group,
        evidence=evidence,
        interior=anchored.interior,
        remarks=anchored_remarks(anchored),
        details=anchored_details(anchored),
    )
