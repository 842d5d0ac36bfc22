"""From a solved score equation to an Estimate with notes a reader can use."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hero_bayes.data.panel import Panel
from hero_bayes.errors import Refusal
from hero_bayes.estimators.information import Interior
from hero_bayes.estimators.prevalence import GroupEvidence, ScoreSolution
from hero_bayes.estimators.result import Estimate
from hero_bayes.words import number_of

IntArray = NDArray[np.integer]

#: What to do where labelers' rates were estimated as 0 or 1.
EDGE_REMEDY = 'Prefer model="auto" or method="score", or add gold'
#: The standard deviation of a rate that is 0 or 1 with equal chance.
LARGEST_ERROR = 0.5
#: Rates at 0 or 1 that a note names.
RATES_TOLD = 3
#: An item whose log-likelihood ratio is this small tells nothing.
NO_EVIDENCE = 1e-9


def check_evidence(evidence: GroupEvidence, panel: Panel, group: str) -> None:
    """Refuse when no current item carries any evidence about its truth.

    Raises
    ------
    Refusal
        If the group's labels all come from labelers unseen in history, or from labelers whose
        labels do not depend on the truth.
    """
    if (np.abs(evidence.log_ratio) > NO_EVIDENCE).any():
        return
    if panel.labels_left_out:
        raise Refusal(
            f"no labeler of group {group!r} is known from history (left out: "
            f"{', '.join(panel.labelers_left_out[:5])}); history says nothing about them. Let some "
            "known "
            'labelers label the current round, add gold to it, or fit model="pooled".'
        )
    raise Refusal(
        f"the labels of group {group!r} do not depend on the truth (sensitivity + specificity = 1 "
        "for every labeler that labeled it); no rate can be read from them"
    )


def left_out_note(panel: Panel) -> tuple[str, ...]:
    """How many current labels come from labelers that history does not know."""
    if not panel.labels_left_out:
        return ()
    share = panel.labels_left_out / (panel.labels_left_out + panel.current.n_labels)
    return (
        f"{number_of(panel.labels_left_out, 'label')} ({share:.0%} of the current round) by "
        f"{number_of(len(panel.labelers_left_out), 'labeler')} unseen in history "
        f"{'is' if panel.labels_left_out == 1 else 'are'} left out",
    )


def boundary_note(solution: ScoreSolution) -> tuple[str, ...]:
    """A sentence for a root on the boundary of [0, 1]."""
    if solution.boundary is None:
        return ()
    return (
        f"the estimate lies on the boundary {solution.value:.0f}: the labels show fewer "
        f"{'positives' if solution.boundary == 'lower' else 'negatives'} than the labelers' own "
        "error rates would produce; the interval is one-sided",
    )


def rates_at_edge(panel_labelers: NDArray[Any], interior: Interior, idx: IntArray) -> list[str]:
    """Names of the rates at 0 or 1 of the chosen labelers."""
    return [
        f"{rate} of {panel_labelers[j]}"
        for rate, moved in (
            ("sensitivity", interior.moved_sensitivity),
            ("specificity", interior.moved_specificity),
        )
        for j in idx[moved[idx]]
    ]


def edge_note(names: Sequence[str], centre: float) -> tuple[str, ...]:
    """What a reader must know where labelers' rates were estimated as 0 or 1."""
    if not names:
        return ()
    told = ", ".join(names[:RATES_TOLD]) + (", ..." if len(names) > RATES_TOLD else "")
    return (
        f"{len(names)} labeler {'rate lies' if len(names) == 1 else 'rates lie'} at 0 or 1 or next "
        f"to it ({told}): there one label settles an item, and the estimate itself can be far "
        "off. The interval is that of (hits + 1) / (n + 2) in place of these rates, with which the "
        f"estimate would be {centre:.4f}, and reaches to the estimate; the standard error holds "
        f"the distance. {EDGE_REMEDY}",
    )


def score_estimate(
    solution: ScoreSolution,
    panel: Panel,
    *,
    method: str,
    group: str,
    evidence: GroupEvidence,
    interior: Interior,
    remarks: Sequence[str] = (),
    details: Mapping[str, Any],
) -> Estimate:
    """Assemble the Estimate of a score-equation method."""
    error = solution.standard_error
    if error > LARGEST_ERROR:
        remarks = (
            *remarks,
            f"the linear standard error, {error:.2f}, is more than any rate can have and is given "
            f"as {LARGEST_ERROR}; the interval follows the likelihood. The labelers are hardly "
            "identified: add gold",
        )
        error = LARGEST_ERROR
    at_edge = rates_at_edge(panel.labelers, interior, evidence.labeler_idx)
    return Estimate(
        value=solution.value,
        standard_error=error,
        method=method,
        estimand="prevalence",
        group=group,
        notes=(
            *boundary_note(solution),
            *edge_note(at_edge, solution.centre),
            *left_out_note(panel),
            *remarks,
        ),
        details={
            "boundary": solution.boundary,
            "rates_at_edge": tuple(at_edge),
            "centre": solution.centre,
            "n_items": evidence.n_items,
            "n_gold_current": int(np.isinf(evidence.log_ratio).sum()),
            "labels_left_out": panel.labels_left_out,
            "labelers_left_out": panel.labelers_left_out,
            "variance_sampling": solution.sampling_variance,
            "variance_labelers": solution.labeler_variance,
            "variance_covariate_mean": solution.covariate_variance,
            **details,
        },
        _interval=solution.profile.interval,
    )
