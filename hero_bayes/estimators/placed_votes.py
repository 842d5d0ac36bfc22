"""Whether history tells what a share of votes means, before any of it is calibrated."""

import numpy as np

from hero_bayes.data.labels import Labels
from hero_bayes.estimators.item_scores import vote_logit

__all__ = ["FEWEST_PLACED", "UNPLACED", "placed"]

#: With fewer labeled history items, or one share of votes on all, votes have no place on a line.
FEWEST_PLACED = 10
#: Said where votes are not read though their labelers are known.
UNPLACED = (
    f"history has fewer than {FEWEST_PLACED} labeled items, or the same share of votes on all of "
    "them, which does not tell what the votes of the current round mean: they are not read"
)


def placed(past: Labels) -> bool:
    """Whether history tells how usual a share of votes is: enough items, not all voted alike.

    Without that, votes other than those of history look like certain negatives or positives.

    Parameters
    ----------
    past : Labels
        The history, labels that count in it only.

    Returns
    -------
    bool

    Examples
    --------
    >>> import hero_bayes as hb
    >>> placed(hb.datasets.demo_rounds().history)
    True
    """
    score = vote_logit(past)[past.labels_per_item > 0]
    return score.size >= FEWEST_PLACED and bool(np.ptp(score) > 0.0)
