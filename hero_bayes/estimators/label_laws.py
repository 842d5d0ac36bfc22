"""Whether current items get as many labels, from such labelers, as history items did."""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hero_bayes.data.labels import Labels
from hero_bayes.estimators.shared_effect import SharedEffect

FloatArray = NDArray[np.float64]

#: Labels per item have changed when they differ by this factor on average over quantiles.
COUNT_LIMIT = 1.2
#: Labelers have changed when their mean logit of P(label 1 | class) moves by this much,
QUALITY_LIMIT = 0.2
#: or when this share of the labels comes from labelers who gave fewer before, chance left out.
MIX_LIMIT = 0.1
N_QUANTILES = 100


@dataclass(frozen=True)
class LabelLaws:
    """How labels per item and labelers differ between the rounds.

    Attributes
    ----------
    history_count, current_count : float
        Median labels per labeled item.
    count_factor : float
        Typical factor between them, at least 1: exp of the mean distance of log quantiles.
    count_ratio : float
        Current over history, the same with signs: above 1 where current items have more labels.
    quality_shift : float array (class,)
        Mean logit of P(label 1 | class) over current labels less that over history labels.
    mix_shift : float
        Share of the current labels that would have to come from other labelers for their mix to be
        that of history, less what chance makes of it.
    """

    history_count: float
    current_count: float
    count_factor: float
    count_ratio: float
    quality_shift: FloatArray
    mix_shift: float

    @property
    def counts_changed(self) -> bool:
        """Whether items get clearly more or fewer labels than in history."""
        return self.count_factor > COUNT_LIMIT

    @property
    def changed(self) -> bool:
        """Whether a share of votes does not mean what it meant in history."""
        return self.counts_changed or self.labelers_changed

    @property
    def reason(self) -> str:
        """How the rounds differ, for a person."""
        parts = []
        if self.counts_changed or not self.changed:
            parts.append(
                f"labels per item: median {self.history_count:g} in history, "
                f"{self.current_count:g} now"
            )
        if self.labelers_changed:
            negative, positive = self.quality_shift
            parts.append(
                f"the current labels come from other labelers ({max(self.mix_shift, 0.0):.0%} of "
                "them beyond chance; mean logit of saying 1 moved by "
                f"{positive:+.2f} on positives, {negative:+.2f} on negatives)"
            )
        return "; ".join(parts)

    @property
    def labelers_changed(self) -> bool:
        """Whether the labels come from another mix of labelers than in history.

        The mix counts, not only how good its labelers seem to be: what is known of single labelers
        is drawn to the mean of all, so that a weaker part of them looks better than it is.
        """
        return self.mix_shift > MIX_LIMIT or bool(np.abs(self.quality_shift).max() > QUALITY_LIMIT)


def compare_laws(history: Labels, current: Labels, fit: SharedEffect) -> LabelLaws:
    """Compare the rounds, both on the labelers of the fit."""
    counts = [x.labels_per_item[x.labels_per_item > 0] for x in (history, current)]
    quality = np.zeros(2)
    factor, ratio = count_change(history, current)
    if min(c.size for c in counts):
        means = [fit.intercept[:, x.labeler_idx].mean(axis=1) for x in (history, current)]
        quality = means[1] - means[0]
    return LabelLaws(
        history_count=float(np.median(counts[0])) if counts[0].size else 0.0,
        current_count=float(np.median(counts[1])) if counts[1].size else 0.0,
        count_factor=factor,
        count_ratio=ratio,
        quality_shift=quality,
        mix_shift=mix_change(history, current),
    )


def kinds_of_groups(
    current: Labels, intercept: FloatArray | None = None
) -> list[NDArray[np.integer]]:
    """The current groups, those together whose labels one law gave, in the order of the groups.

    Parameters
    ----------
    current : Labels
        A round with some groups, such as arms, perhaps each with labelers of its own.
    intercept : array (class, labeler), optional
        Logit of P(label 1 | class) of each labeler, where it is known.

    Returns
    -------
    list of int array
        Positions of the groups. A group without a label is with the largest.

    Notes
    -----
    The largest group begins; each next one joins the first kind that it does not differ from by the
    limits above, chance left out, and opens a kind of its own if there is none.
    """
    size = np.bincount(
        current.group_idx, weights=current.labels_per_item, minlength=current.n_groups
    )
    kinds: list[list[int]] = []
    for g in np.argsort(-size, kind="stable"):
        own = of_groups(current, [int(g)])
        for kind in kinds:
            if not size[g] or not _differ(of_groups(current, kind), own, intercept):
                kind.append(int(g))
                break
        else:
            kinds.append([int(g)])
    return [np.array(sorted(kind), dtype=np.int64) for kind in sorted(kinds, key=min)]


def _differ(one: Labels, other: Labels, intercept: FloatArray | None) -> bool:
    """Whether two sets of labels differ by more than the limits, chance left out."""
    if count_change(one, other)[0] > COUNT_LIMIT or mix_change(one, other) > MIX_LIMIT:
        return True
    if intercept is None:
        return False
    logits = [intercept[:, x.labeler_idx] for x in (one, other)]
    moved = np.abs(logits[1].mean(axis=1) - logits[0].mean(axis=1))
    noise = sum(x.var(axis=1) / x.shape[1] for x in logits)
    return bool((moved - np.sqrt(2.0 / np.pi * noise)).max() > QUALITY_LIMIT)


def of_groups(labels: Labels, groups: Sequence[int] | NDArray[np.integer]) -> Labels:
    """The same items with the labels of these groups only."""
    rows = np.repeat(labels.group_idx, labels.labels_per_item)
    return _kept(labels, np.isin(rows, groups))


def mix_change(history: Labels, current: Labels) -> float:
    """Distance in total variation of the rounds' mixes of labelers, less its mean under one mix.

    The mean is that of labels whose labelers are drawn one by one; 0 if a round has no labels.
    """
    counts = np.stack([x.labels_per_labeler for x in (history, current)]).astype(float)
    total = counts.sum(axis=1)
    if not total.all():
        return 0.0
    past, now = counts / total[:, None]
    share = counts.sum(axis=0) / total.sum()
    deviation = np.sqrt(share * (1.0 - share) * (1.0 / total).sum())
    return float(0.5 * (np.abs(past - now) - np.sqrt(2.0 / np.pi) * deviation).sum())


def count_change(history: Labels, current: Labels) -> tuple[float, float]:
    """Typical factor between labels per item, at least 1, and current over history with signs."""
    counts = [x.labels_per_item[x.labels_per_item > 0] for x in (history, current)]
    if not min(c.size for c in counts):
        return 1.0, 1.0
    at = (np.arange(N_QUANTILES) + 0.5) / N_QUANTILES
    past, now = (np.log(np.quantile(c, at, method="inverted_cdf")) for c in counts)
    return float(np.exp(np.abs(past - now).mean())), float(np.exp((now - past).mean()))


def thin(labels: Labels, like: Labels, rng: np.random.Generator) -> Labels:
    """The items with no more labels than those of the other round have, from such labelers.

    Items of both rounds are matched by the rank of their number of labels; an item keeps as many
    labels as its match has, or all it has. Labels are drawn without replacement with odds that
    follow the other round's mix of labelers; labels of labelers who are not in it all go.
    """
    mine, theirs = (
        np.bincount(x.labeler_idx, minlength=labels.n_labelers) / max(x.n_labels, 1)
        for x in (labels, like)
    )
    odds = np.divide(theirs, mine, out=np.zeros(labels.n_labelers), where=mine > 0)
    rows = np.repeat(np.arange(labels.n_items), labels.labels_per_item)
    chance = odds[labels.labeler_idx]
    # The largest keys u^(1/odds) are a draw without replacement (Efraimidis and Spirakis 2006).
    key = np.full(rows.size, -np.inf)
    possible = chance > 0.0
    key[possible] = np.log(rng.random(rows.size)[possible]) / chance[possible]
    available = np.bincount(rows[possible], minlength=labels.n_items)
    counts = np.sort(like.labels_per_item[like.labels_per_item > 0])
    order = np.lexsort((rng.random(labels.n_items), available))
    order = order[available[order] > 0]
    target = np.zeros(labels.n_items, dtype=np.int64)
    if counts.size:
        target[order] = counts[(np.arange(order.size) * counts.size) // max(order.size, 1)]
    target = np.minimum(target, available)
    by_key = np.lexsort((-key, rows))
    rank = np.arange(rows.size) - np.repeat(labels.item_ptr[:-1], labels.labels_per_item)
    keep = np.zeros(rows.size, dtype=bool)
    keep[by_key] = rank < target[rows]
    return _kept(labels, keep)


def match(
    history: Labels, current: Labels, rng: np.random.Generator, *, labelers: bool
) -> tuple[Labels, Labels]:
    """Labels of both rounds, thinned at random so that one law gave them.

    Parameters
    ----------
    history, current : Labels
        The rounds, on one labeler coordinate.
    rng : numpy.random.Generator
        Draws who stays.
    labelers : bool
        Whether labelers are matched too, or only numbers of labels.

    Returns
    -------
    tuple of Labels
        All items stay, some perhaps without a label.

    Notes
    -----
    A labeler keeps, in each round, as many labels by labeled item as in the round where it has
    fewer. Numbers of labels are then made equal by rank, see `thin`. Which labels go does not
    depend on what they say, so that P(kept labels | truth) is the same in both rounds as long as
    labelers keep their ways, however their errors go together and however little is known of each.
    """
    past, now = history, current
    if labelers:
        labeled = [max(int((x.labels_per_item > 0).sum()), 1) for x in (past, now)]
        before, after = past.labels_per_labeler / labeled[0], now.labels_per_labeler / labeled[1]
        low = np.minimum(before, after)
        past = _kept(past, _chosen(past, before, low, rng))
        now = _kept(now, _chosen(now, after, low, rng))
    now = thin(now, past, rng)
    return thin(past, now, rng), now


def _chosen(
    labels: Labels, rate: FloatArray, target: FloatArray, rng: np.random.Generator
) -> NDArray[np.bool_]:
    """Labels that stay where each labeler's rate falls to the target."""
    chance = rng.random(labels.n_labels) * rate[labels.labeler_idx]
    return np.asarray(chance < target[labels.labeler_idx])


def _kept(labels: Labels, keep: NDArray[np.bool_]) -> Labels:
    """The same items with only the labels to keep."""
    rows = np.repeat(np.arange(labels.n_items), labels.labels_per_item)
    count = np.bincount(rows[keep], minlength=labels.n_items)
    return dataclasses.replace(
        labels,
        item_ptr=np.concatenate([[0], np.cumsum(count)]).astype(np.int64),
        labeler_idx=labels.labeler_idx[keep],
        label=labels.label[keep],
    )
