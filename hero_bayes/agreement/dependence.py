"""Dependence of labelers: how far they err on the same items, given the truth."""

import numpy as np
import pandas as pd
from numba import njit
from numpy.typing import NDArray

from hero_bayes.agreement.result import Dependence
from hero_bayes.agreement.votes import vote_checks
from hero_bayes.data.arguments import need_labels
from hero_bayes.data.identifiers import number_of
from hero_bayes.data.labels import Labels
from hero_bayes.data.shared_errors import (
    FEWEST_ITEMS,
    FEWEST_LABELS,
    NOTHING,
    GoldLabels,
    SharedErrors,
    shared_errors,
)
from hero_bayes.errors import Refusal

__all__ = ["dependence", "worth_of_labels"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.integer]
#: Re-weightings of the items for the correlations of pairs.
PAIR_RESAMPLES = 400
#: Labelers whose pairs are listed: those with most labels on gold.
LISTED = 150
#: Sums of pairs held at once, (item, pair); where there are more, items share their weights.
LARGEST_PAIR_SUMS = 4_000_000


def dependence(history: Labels, random_seed: int = 0, *, prob: float = 0.95) -> Dependence:
    """How far labelers err on the same items, and how many independent ones they are worth.

    Parameters
    ----------
    history : Labels
        With at least five gold items of each class.
    random_seed : int
        Of the intervals.
    prob : float
        Probability of the intervals.

    Returns
    -------
    Dependence
        ``.table`` of pairs, ``.overall``, ``.effective_judges``, ``.votes``, ``.families`` and
        ``.sentence``.

    Raises
    ------
    Refusal
        With fewer than five gold items of a class, or no two labelers who share gold items.

    Notes
    -----
    Errors are labels minus the labeler's own mean within the class of gold, so that only what is
    left after the truth counts. Intervals re-weight the gold items with Exponential(1) weights
    (Bayesian bootstrap [1]_). n labels whose errors correlate by r have a mean as noisy as
    n / (1 + (n - 1) r) independent ones [2]_. This speaks of means of votes: a model that weighs
    labelers may draw a little more from them.

    References
    ----------
    .. [1] Rubin, D. B. (1981). The Bayesian bootstrap. Annals of Statistics 9, 130-134.
       doi:10.1214/aos/1176345338
    .. [2] Kish, L. (1965). Survey Sampling, section 5.4. Wiley.

    Examples
    --------
    >>> import hero_bayes as hb
    >>> found = hb.dependence(hb.datasets.demo_rounds().history, random_seed=1)
    >>> found.effective_judges.value < found.labels_per_item
    True
    """
    if not 0.0 < prob < 1.0:
        raise ValueError(f"prob must lie between 0 and 1, got {prob}")
    need_labels(history=history)
    rng = np.random.default_rng(random_seed)
    mean = shared_errors(history, prob, rng)
    return Dependence(
        table=pair_table(history, mean.gold, prob, rng),
        overall=mean.overall,
        effective_judges=mean.effective_judges,
        votes=vote_checks(mean.gold, prob, rng),
        families=_families(mean) if any(history.family) else None,
        labels_per_item=mean.labels_per_item,
        n_items=mean.n_items,
        n_judges=mean.n_judges,
        left_out=_left_out(history, mean.gold.per_labeler),
        prob=prob,
    )


def worth_of_labels(history: Labels, random_seed: int = 0, *, prob: float = 0.95) -> str:
    """In one sentence, what the labels of an item are worth, or why that cannot be said.

    The mean of `dependence` without its pairs, for the record of a fit.
    """
    try:
        mean = shared_errors(history, prob, np.random.default_rng(random_seed))
    except Refusal as refusal:
        return f"whether labelers err together was not measured: {refusal}"
    return f"{mean.sentence}, given the truth ({number_of(mean.n_items, 'gold item')})"


def pair_table(
    labels: Labels, gold: GoldLabels, prob: float, rng: np.random.Generator
) -> pd.DataFrame:
    """Correlation of every listed pair, with its interval or the reason why there is none."""
    order = np.argsort(-gold.per_labeler, kind="stable")[:LISTED]
    chosen = np.sort(order[gold.per_labeler[order] > 0])
    a, b = np.triu_indices(chosen.size, k=1)
    classes = [gold.of_class(truth).of_labelers(chosen) for truth in (0, 1)]
    common = np.zeros(a.size)
    for part in classes:
        ones = np.ones(part.value.size)
        common += _sums(part, ones, ones, a, b, 1)[0]
    told = common >= FEWEST_ITEMS
    value, low, high = np.full((3, a.size), np.nan)
    varies_a, varies_b = np.zeros((2, a.size), dtype=bool)
    if told.any():
        value[told], draws, varies_a[told], varies_b[told] = _pair_correlations(
            classes, a[told], b[told], rng
        )
        low[told], high[told] = np.quantile(draws, [(1 - prob) / 2, (1 + prob) / 2], axis=0)
    names = [str(labels.labelers[j]) for j in chosen]
    reasons = []
    for k in range(a.size):
        reason = ""
        if not told[k]:
            reason = f"{int(common[k])} gold items in common, fewer than {FEWEST_ITEMS}"
        elif not (varies_a[k] and varies_b[k]):
            who = names[b[k]] if varies_a[k] else names[a[k]]
            reason = f"the labels of {who} on their common items do not differ within a class"
        reasons.append(reason)
    told = np.array([not reason for reason in reasons], dtype=bool)
    table = pd.DataFrame(
        {
            "labeler_a": [names[i] for i in a],
            "labeler_b": [names[i] for i in b],
            "correlation": np.where(told, value, np.nan),
            "low": np.where(told, low, np.nan),
            "high": np.where(told, high, np.nan),
            "n_common": common.astype(np.int64),
        }
    )
    if any(name is not None for name in labels.family):
        family = [labels.family[j] for j in chosen]
        same = [family[i] is not None and family[i] == family[j] for i, j in zip(a, b, strict=True)]
        table["same_family"] = same
    table["reason"] = reasons
    return table


def _sums(
    gold: GoldLabels, left: FloatArray, right: FloatArray, a: IntArray, b: IntArray, n_blocks: int
) -> FloatArray:
    """Left label of a times right label of b summed over items, (block of items, pair)."""
    pair = np.full((gold.n_labelers, gold.n_labelers), -1)
    pair[a, b] = np.arange(a.size)
    item_ptr = np.concatenate([[0], np.cumsum(gold.per_item)])
    return np.asarray(
        _pair_sums(item_ptr, gold.labeler_idx, left, right, pair, np.zeros((n_blocks, a.size)))
    )


@njit(cache=True)
def _pair_sums(
    item_ptr: IntArray,
    labeler_idx: IntArray,
    left: FloatArray,
    right: FloatArray,
    pair: IntArray,
    out: FloatArray,
) -> FloatArray:
    """Add up products of two labels of one item; items take turns with the rows of ``out``.

    ``pair`` (labeler, labeler) is the column of ``out``, -1 where a pair is not wanted.
    """
    for i in range(item_ptr.size - 1):
        row = out[i % out.shape[0]]
        for p in range(item_ptr[i], item_ptr[i + 1]):
            for q in range(p + 1, item_ptr[i + 1]):
                column = pair[labeler_idx[p], labeler_idx[q]]
                if column >= 0:
                    row[column] += left[p] * right[q]
    return out


def _pair_correlations(
    classes: list[GoldLabels], a: IntArray, b: IntArray, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray, NDArray[np.bool_], NDArray[np.bool_]]:
    """Correlation of each pair, its re-weightings, and whether either labeler differs at all.

    The classes' centred products and squares are added up, over the items that both judged. Where
    items times pairs are too many, the items are dealt to so many blocks as fit, whose items get
    one weight: each pair's sums still vary as those of its items do.
    """
    room = LARGEST_PAIR_SUMS // (2 * a.size)
    blocks = [int(np.clip(room, 1, part.per_item.size)) for part in classes]
    weights = [np.ones((1 + PAIR_RESAMPLES, size)) for size in blocks]
    for k in range(1, 1 + PAIR_RESAMPLES):
        for weight in weights:
            weight[k] = rng.exponential(size=weight.shape[1])
    centred = np.zeros((3, 1 + PAIR_RESAMPLES, a.size))
    for part, weight in zip(classes, weights, strict=True):
        x, ones = part.value, np.ones(part.value.size)
        whole = not (x % 1.0).any()

        def sums(
            left: FloatArray,
            right: FloatArray,
            part: GoldLabels = part,
            weight: FloatArray = weight,
        ) -> FloatArray:
            return np.asarray(weight @ _sums(part, left, right, a, b, weight.shape[1]))

        common = sums(ones, ones)
        common[common <= 0.0] = 1.0
        of_a, of_b = sums(x, ones), sums(ones, x)
        centred[0] += sums(x, x) - of_a * of_b / common
        centred[1] += (of_a if whole else sums(x**2, ones)) - of_a**2 / common
        centred[2] += (of_b if whole else sums(ones, x**2)) - of_b**2 / common
    product, first, second = centred
    varies_a, varies_b = first > NOTHING, second > NOTHING
    defined = varies_a & varies_b
    scale = np.sqrt(np.where(defined, first * second, 1.0))
    value = np.clip(np.where(defined, product / scale, 0.0), -1.0, 1.0)
    return value[0], value[1:], varies_a[0], varies_b[0]


def _families(mean: SharedErrors) -> pd.DataFrame:
    """Mean correlation within and between families."""
    rows = []
    for found, title in ((mean.within, "within families"), (mean.between, "between families")):
        reason = "" if np.isfinite(found.value) else "no two such labelers share a gold item"
        rows.append(
            {
                "pairs": title,
                "correlation": found.value,
                "low": found.low,
                "high": found.high,
                "reason": reason,
            }
        )
    return pd.DataFrame(rows)


def _left_out(labels: Labels, used: IntArray) -> str:
    """Who is in neither the mean nor the pairs, and whose pairs are not listed."""
    parts = []
    idle = int(((used == 0) & (labels.labels_per_labeler > 0)).sum())
    if idle:
        who = number_of(idle, "labeler")
        parts.append(f"{who} with fewer than {FEWEST_LABELS} labels on gold of each class left out")
    unlisted = int((used > 0).sum()) - LISTED
    if unlisted > 0:
        parts.append(f"pairs of the {unlisted} labelers with fewest labels are not listed")
    return "; ".join(parts)
