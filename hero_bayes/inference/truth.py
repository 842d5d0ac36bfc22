"""P(y_i = 1 | labels): each item's truth under the fitted labelers."""

import numpy as np
from numpy.typing import NDArray

from hero_bayes.data.labels import Labels
from hero_bayes.estimators.score import clamp_gold
from hero_bayes.inference import kernels

FloatArray = NDArray[np.float64]


def expected_rate(log_ratio: FloatArray, current: Labels, prevalence: FloatArray) -> FloatArray:
    """Mean P(y_i = 1) over the items of each group, gold taking the place of labels."""
    rates = np.empty(current.n_groups)
    for group in range(current.n_groups):
        item_idx = np.flatnonzero(current.group_idx == group)
        clamped = clamp_gold(log_ratio[item_idx], current.gold[item_idx])
        rates[group] = kernels.truth_probability(clamped, float(prevalence[group])).mean()
    return rates
