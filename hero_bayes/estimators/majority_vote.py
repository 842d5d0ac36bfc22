"""Majority vote: the answer of people who trust every labeler alike."""

import numpy as np
from scipy.special import ndtri

from hero_bayes.data.labels import Labels
from hero_bayes.errors import Refusal
from hero_bayes.estimators.result import Estimate
from hero_bayes.words import number_of


def wilson_interval(share: float, n: int, prob: float) -> tuple[float, float]:
    """Wilson's score interval of a binomial share; n may count half votes."""
    z2 = float(ndtri(0.5 + prob / 2.0)) ** 2
    centre = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = np.sqrt(share * (1 - share) * z2 / n + z2**2 / (4 * n**2)) / (1 + z2 / n)
    return max(0.0, float(centre - half)), min(1.0, float(centre + half))


def majority_vote(current: Labels, group: str, item_idx: np.ndarray) -> Estimate:
    """Share of items that most of their labelers call positive; a tie counts one half.

    It corrects nothing: where labelers miss more positives than they invent, it reads low. Its
    interval is Wilson's and holds sampling error only.
    """
    share = current.vote_share[item_idx]
    labeled = np.isfinite(share)
    n = int(labeled.sum())
    if n == 0:
        raise Refusal(f"group {group!r} has no labels; majority vote has nothing to count")
    vote = np.where(share[labeled] == 0.5, 0.5, (share[labeled] > 0.5).astype(float))
    value = float(vote.mean())
    n_ties = int((share[labeled] == 0.5).sum())
    notes = ["labeler errors are not corrected; the interval holds sampling error only"]
    if n_ties:
        notes.append(f"{number_of(n_ties, 'tie')} in {number_of(n, 'item')}, counted as one half")
    return Estimate(
        value=value,
        standard_error=float(np.sqrt(value * (1.0 - value) / n)),
        method="majority_vote",
        estimand="item_rate",
        group=group,
        notes=tuple(notes),
        details={
            "boundary": {0.0: "lower", 1.0: "upper"}.get(value),
            "n_items": n,
            "n_ties": n_ties,
        },
        _interval=lambda prob: wilson_interval(value, n, prob),
    )
