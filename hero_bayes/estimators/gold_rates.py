"""Gold rates: labelers judged on gold items alone, then the score equation."""

from dataclasses import replace

import numpy as np
import pandas as pd

from hero_bayes.data.panel import Panel
from hero_bayes.estimators.anchored_em import AnchorData, anchor_data
from hero_bayes.estimators.anchored_em import gold_rates as rates_on_gold
from hero_bayes.estimators.information import interior_parameters, labeler_covariance
from hero_bayes.estimators.prevalence import group_evidence, score_solution
from hero_bayes.estimators.report import check_evidence, score_estimate
from hero_bayes.estimators.result import Estimate


def gold_items(data: AnchorData) -> AnchorData:
    """The gold items alone; no prevalence belongs to them."""
    keep = np.isfinite(data.gold)
    lengths = np.diff(data.item_ptr)
    return replace(
        data,
        item_ptr=np.concatenate([[0], np.cumsum(lengths[keep])]).astype(np.int64),
        code=data.code[np.repeat(keep, lengths)],
        gold=data.gold[keep],
        group_idx=np.full(int(keep.sum()), -1, dtype=np.int32),
        n_groups=0,
    )


def gold_rates(panel: Panel, group: str, item_idx: np.ndarray) -> Estimate:
    """Prevalence of a current group with sensitivity and specificity counted on gold.

    The unlabeled history is not used: unbiased under gold chosen by labels or at random, and noisy
    when gold is scarce. A labeler without gold of a class gets the pooled rate; in the score
    equation rates are kept inside [0.01, 0.99].
    """
    data = gold_items(anchor_data(panel))
    rates = rates_on_gold(data)
    sensitivity, specificity = rates.start()
    evidence = group_evidence(panel.current, item_idx, sensitivity, specificity)
    check_evidence(evidence, panel, group)
    covariance, remarks = labeler_covariance(data, sensitivity, specificity, np.empty(0))
    at = interior_parameters(data, sensitivity, specificity, np.empty(0))
    inside = group_evidence(panel.current, item_idx, at.sensitivity, at.specificity)
    solution = score_solution(evidence, inside, covariance)
    without = int(np.isnan(rates.sensitivity).sum() + np.isnan(rates.specificity).sum())
    if without:
        remarks = (*remarks, f"{without} labeler rates have no gold and take the pooled rate")
    filled = rates.filled()
    labelers = pd.Index(panel.labelers, name="labeler")
    return score_estimate(
        solution,
        panel,
        method="gold_rates",
        group=group,
        evidence=evidence,
        interior=at,
        remarks=remarks,
        details={
            "sensitivity": pd.Series(filled[0], labelers, name="sensitivity"),
            "specificity": pd.Series(filled[1], labelers, name="specificity"),
            "n_gold_positive": pd.Series(rates.n_positive, labelers, name="n_gold_positive"),
            "n_gold_negative": pd.Series(rates.n_negative, labelers, name="n_gold_negative"),
        },
    )
