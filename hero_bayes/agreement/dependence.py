"""Dependence of labelers: how far they err on the same items, given the truth."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hero_bayes.agreement.residuals import (
    FEWEST_LABELS,
    ClassTable,
    MeanCorrelations,
    class_tables,
    mean_correlations,
    pair_sums,
)
from hero_bayes.agreement.result import Dependence, Ranged, worth_sentence
from hero_bayes.agreement.votes import vote_checks
from hero_bayes.data.arguments import need_labels
from hero_bayes.data.identifiers import number_of
from hero_bayes.data.labels import Labels
from hero_bayes.errors import Refusal

__all__ = ["dependence", "worth_of_labels"]

FloatArray = NDArray[np.float64]
#: Gold items of each class that are needed, and gold items that a pair must share.
FEWEST_ITEMS = 5
#: Re-weightings of the items for the mean correlation, and for those of pairs.
RESAMPLES, PAIR_RESAMPLES, FEWEST_RESAMPLES = 1000, 400, 100
#: Numbers that all re-weightings of the mean may touch; they are fewer where tables are large.
LARGEST_WORK = 500_000_000
#: Labelers whose pairs are listed: those with most labels on gold.
LISTED = 150
#: Centred squares below this are none at all.
NOTHING = 1e-9


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
    mean = _mean(history, prob, rng)
    used = gold_labels(mean.tables)
    return Dependence(
        table=pair_table(history, mean.tables, prob, rng),
        overall=mean.overall,
        effective_judges=mean.effective_judges,
        votes=vote_checks(mean.tables, prob, rng),
        families=mean.families,
        labels_per_item=mean.labels_per_item,
        n_items=mean.n_items,
        n_judges=int((used > 0).sum()),
        left_out=_left_out(history, used),
        prob=prob,
    )


def worth_of_labels(history: Labels, random_seed: int = 0, *, prob: float = 0.95) -> str:
    """In one sentence, what the labels of an item are worth, or why that cannot be said.

    The mean of `dependence` without its pairs, for the record of a fit.
    """
    try:
        mean = _mean(history, prob, np.random.default_rng(random_seed))
    except Refusal as refusal:
        return f"whether labelers err together was not measured: {refusal}"
    judges = int((gold_labels(mean.tables) > 0).sum())
    sentence = worth_sentence(mean.labels_per_item, judges, mean.effective_judges)
    return f"{sentence}, given the truth ({number_of(mean.n_items, 'gold item')})"


@dataclass(frozen=True)
class _Mean:
    """Mean correlation of errors, and what it rests on."""

    tables: list[ClassTable]
    overall: Ranged
    effective_judges: Ranged
    families: pd.DataFrame | None
    labels_per_item: float
    n_items: int


def _mean(history: Labels, prob: float, rng: np.random.Generator) -> _Mean:
    """The mean correlation with its interval; refuses where gold does not tell."""
    counts = [int((history.gold == truth).sum()) for truth in (0, 1)]
    if min(counts) < FEWEST_ITEMS:
        raise Refusal(
            f"dependence needs at least {FEWEST_ITEMS} gold items of each class, the history has "
            f"{counts[0]} of class 0 and {counts[1]} of class 1: give more gold"
        )
    tables = class_tables(history)
    sizes = np.concatenate([table.seen.sum(axis=1) for table in tables])
    if sizes.max() < 2:
        raise Refusal(
            f"no gold item has labels of two labelers with at least {FEWEST_LABELS} labels on gold "
            "of its class: let several labelers judge the same gold items"
        )
    member = family_members(history)
    point = mean_correlations(tables, _equal(tables), member)
    if np.isnan(point.overall):
        raise Refusal(
            "no labeler's labels differ within a class of gold, so that there are no errors to "
            "compare: give more gold"
        )
    work = sum(table.seen.size for table in tables)
    resamples = int(np.clip(LARGEST_WORK // work, FEWEST_RESAMPLES, RESAMPLES))
    drawn = [mean_correlations(tables, _weights(tables, rng), member) for _ in range(resamples)]
    overall = _ranged(point.overall, np.array([d.overall for d in drawn]), prob)
    n_labels = float(sizes[sizes > 0].mean())
    return _Mean(
        tables=tables,
        overall=overall,
        effective_judges=Ranged(
            _worth(n_labels, overall.value),
            _worth(n_labels, overall.high),
            _worth(n_labels, overall.low),
        ),
        families=_families(point, drawn, prob) if member.shape[1] else None,
        labels_per_item=n_labels,
        n_items=int((sizes > 0).sum()),
    )


def gold_labels(tables: list[ClassTable]) -> FloatArray:
    """Labels on gold items by labeler, (labeler,)."""
    return np.asarray(np.sum([table.seen.sum(axis=0) for table in tables], axis=0))


def family_members(labels: Labels) -> FloatArray:
    """1 where a labeler belongs to a family, (labeler, family)."""
    names = sorted({name for name in labels.family if name is not None})
    member = np.zeros((labels.n_labelers, len(names)))
    for j, name in enumerate(labels.family):
        if name is not None:
            member[j, names.index(name)] = 1.0
    return member


def pair_table(
    labels: Labels, tables: list[ClassTable], prob: float, rng: np.random.Generator
) -> pd.DataFrame:
    """Correlation of every listed pair, with its interval or the reason why there is none."""
    n_gold = gold_labels(tables)
    order = np.argsort(-n_gold, kind="stable")[:LISTED]
    chosen = np.sort(order[n_gold[order] > 0])
    a, b = np.triu_indices(chosen.size, k=1)
    common = np.zeros(a.size)
    for part in tables:
        common += (part.seen[:, chosen].T @ part.seen[:, chosen])[a, b]
    value, varies_a, varies_b = _pair_correlations(tables, _equal(tables), chosen)
    draws = np.empty((PAIR_RESAMPLES, a.size))
    for k in range(PAIR_RESAMPLES):
        draws[k] = _pair_correlations(tables, _weights(tables, rng), chosen)[0]
    low, high = np.quantile(draws, [(1 - prob) / 2, (1 + prob) / 2], axis=0)
    names = [str(labels.labelers[j]) for j in chosen]
    reasons = []
    for k in range(a.size):
        reason = ""
        if common[k] < FEWEST_ITEMS:
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


def _pair_correlations(
    tables: list[ClassTable], weights: list[FloatArray], chosen: NDArray[np.integer]
) -> tuple[FloatArray, NDArray[np.bool_], NDArray[np.bool_]]:
    """Correlations above the diagonal, 0 where undefined; whether either labeler differs at all."""
    product, square = pair_sums(tables, weights, chosen)
    a, b = np.triu_indices(chosen.size, k=1)
    first, second = square[a, b], square[b, a]
    defined = (first > NOTHING) & (second > NOTHING)
    scale = np.sqrt(np.where(defined, first * second, 1.0))
    value = np.where(defined, product[a, b] / scale, 0.0)
    return np.clip(value, -1.0, 1.0), first > NOTHING, second > NOTHING


def _equal(tables: list[ClassTable]) -> list[FloatArray]:
    return [np.ones(len(table.label)) for table in tables]


def _weights(tables: list[ClassTable], rng: np.random.Generator) -> list[FloatArray]:
    return [rng.exponential(size=len(table.label)) for table in tables]


def _ranged(value: float, draws: FloatArray, prob: float) -> Ranged:
    low, high = np.quantile(draws, [(1 - prob) / 2, (1 + prob) / 2])
    return Ranged(value, float(low), float(high))


def _worth(n_labels: float, correlation: float) -> float:
    """Independent labels that ``n_labels`` correlated ones are worth."""
    return n_labels / (1.0 + (n_labels - 1.0) * max(correlation, 0.0))


def _families(point: MeanCorrelations, drawn: list[MeanCorrelations], prob: float) -> pd.DataFrame:
    """Mean correlation within and between families."""
    rows = []
    for role, title in (("within", "within families"), ("between", "between families")):
        value = getattr(point, role)
        reason = "" if np.isfinite(value) else "no two such labelers share a gold item"
        found = Ranged(np.nan, np.nan, np.nan)
        if not reason:
            found = _ranged(value, np.array([getattr(d, role) for d in drawn]), prob)
        rows.append({"pairs": title, "correlation": found.value, "low": found.low})
        rows[-1] |= {"high": found.high, "reason": reason}
    return pd.DataFrame(rows)


def _left_out(labels: Labels, used: FloatArray) -> str:
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
