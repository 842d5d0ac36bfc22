"""What the answer would be had gold been chosen by the truth."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binomtest, chi2

from hero_bayes.data.arguments import need_labels
from hero_bayes.data.labels import Labels
from hero_bayes.decision.arguments import check_seed, check_share, numbers_of
from hero_bayes.errors import DataError, Refusal
from hero_bayes.estimators.anchored_em import Anchored, anchor
from hero_bayes.estimators.information import interior_parameters, labeler_covariance
from hero_bayes.estimators.prevalence import group_evidence, score_solution
from hero_bayes.estimators.report import check_evidence
from hero_bayes.sensitivity.selected_gold import (
    SelectedFit,
    best_odds_ratio,
    fit_selected,
    with_gold_apart,
)
from hero_bayes.sensitivity.selected_score import selected_score

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["gold_selection_sensitivity"]

FloatArray = NDArray[np.float64]
#: Draws of the score model.
SCORE_DRAWS = 400


def gold_selection_sensitivity(
    history: Labels,
    current: Labels,
    odds_ratios: Sequence[float] = (0.2, 0.5, 1.0, 2.0, 5.0),
    *,
    group: str | None = None,
    prob: float = 0.95,
    score: bool = True,
    random_seed: int = 0,
) -> "pd.DataFrame":
    """The current prevalence had items with truth 1 been likelier, or less likely, to get gold.

    Gold chosen at random or by the labels does no harm to the likelihood. Gold chosen by the truth
    (escalated complaints, defects that somebody noticed) does.

    Parameters
    ----------
    history, current : Labels
        The two rounds.
    odds_ratios : sequence of float
        Values of w = odds(gold | y = 1) / odds(gold | y = 0); 1 is added, it means that the truth
        did not matter.
    group : str, optional
        The current group, where there are several.
    prob : float
        Of the intervals, and of the odds ratios that the likelihood supports.
    score : bool
        Whether the anchored tilt is swept too.
    random_seed : int
        For the anchored tilt.

    Returns
    -------
    DataFrame
        Index ``odds_ratio``: ``estimate``, ``lower``, ``upper`` of the prevalence with independent
        labelers (HERO-1 at w = 1), ``profile_log_likelihood`` against the best odds ratio,
        ``supported`` by it, ``history_prevalence`` (all groups together); and, with ``score``,
        ``score``, ``score_lower``, ``score_upper``. ``attrs`` hold ``best_odds_ratio``, a
        ``sentence``, and ``score_reason`` where the score model has no answer.

    Raises
    ------
    Refusal
        If the data cannot answer: no gold of one class, no current label of a known labeler.
    DataError
        If there is no such group, or it is not named where there are several.
    ValueError
        If an odds ratio is not positive, ``prob`` not in (0, 1) or ``random_seed`` no seed.

    Notes
    -----
    Items get gold with probability p_y, logit p_1 = logit p_0 + log w, p_0 ~ Beta(1, 1) in each
    history group: a likelihood contribution of m l_1 p_1 (gold 1), (1 - m) l_0 p_0 (gold 0) and
    m l_1 (1 - p_1) + (1 - m) l_0 (1 - p_0) (no gold). w is identified through the independence of
    labelers alone, so that the profile likelihood is evidence only as far as that is believed. Gold
    of the current round counts with its truth; the rest of the round is estimated from its labels.
    Intervals leave out what the share of positive gold says of the history's prevalences. In the
    score model A becomes A - log(p_1 / p_0).

    Examples
    --------
    >>> import hero_bayes as hb
    >>> rounds = hb.datasets.demo_rounds()
    >>> table = gold_selection_sensitivity(rounds.history, rounds.current, [2.0], score=False)
    >>> table.index.tolist()
    [1.0, 2.0]
    """
    import pandas as pd

    need_labels(history=history, current=current)
    check_share(prob, "prob")
    check_seed(random_seed)
    ratios = np.unique([*numbers_of(odds_ratios, "odds_ratios"), 1.0])
    if not (np.isfinite(ratios).all() and (ratios > 0).all()):
        raise ValueError(f"odds ratios must be positive and finite, got {list(odds_ratios)!r}")
    position = _position(current, group)
    anchored = anchor(history, current)
    fits = [fit_selected(anchored, float(np.log(w))) for w in ratios]
    best = best_odds_ratio(anchored)
    top = max(best.log_likelihood, *(one.log_likelihood for one in fits))
    rows: list[dict[str, Any]] = []
    size = np.bincount(anchored.panel.history.group_idx, minlength=best.prevalence.size)
    for fit in fits:
        value, low, high = _prevalence(anchored, fit, position, prob)
        rows.append(
            {
                "estimate": value,
                "lower": low,
                "upper": high,
                "profile_log_likelihood": fit.log_likelihood - top,
                "supported": bool(2.0 * (top - fit.log_likelihood) <= chi2.ppf(prob, 1)),
                "history_prevalence": float(fit.prevalence @ size / size.sum()),
            }
        )
    table = pd.DataFrame(rows, index=pd.Index(ratios, name="odds_ratio"))
    table.attrs["best_odds_ratio"] = float(np.exp(best.log_odds_ratio))
    table.attrs["sentence"] = _sentence(table)
    if score:
        found, reason = _scores(history, current, position, ratios, prob, random_seed)
        table = table.assign(**found)
        table.attrs["score_reason"] = reason
    return table


def _position(current: Labels, group: str | None) -> int:
    groups = current.groups("current")
    if group is None and len(groups) > 1:
        raise DataError(f"the current round has several groups ({', '.join(groups)}): name one")
    if group is not None and group not in groups:
        raise DataError(f"no current group {group!r}; there are {', '.join(groups)}")
    return 0 if group is None else groups.index(group)


def _prevalence(
    anchored: Anchored, fit: SelectedFit, position: int, prob: float
) -> tuple[float, float, float]:
    """The group's prevalence with its interval: items without gold by the score equation.

    Gold items count with their truth. The parts are independent: squared distances of the limits
    add.
    """
    current = anchored.panel.current
    members = np.flatnonzero(current.group_idx == position)
    known = members[current.has_gold[members]]
    rest = members[~current.has_gold[members]]
    share = known.size / members.size
    value = low = high = 0.0
    if rest.size:
        data = with_gold_apart(anchored.data)
        own = fit.sensitivity, fit.specificity
        at = interior_parameters(data, *own, fit.without_gold)
        evidence = group_evidence(current, rest, *own)
        check_evidence(evidence, anchored.panel, current.groups("current")[position])
        covariance, _ = labeler_covariance(data, *own, fit.without_gold)
        inside = group_evidence(current, rest, at.sensitivity, at.specificity)
        solution = score_solution(evidence, inside, covariance)
        limits = solution.profile.interval(prob)
        value = solution.value
        low, high = value - limits[0], limits[1] - value
    if known.size:
        positive = int((current.gold[known] == 1.0).sum())
        own_share = positive / known.size
        ends = binomtest(positive, known.size).proportion_ci(prob, method="wilson")
        value = share * own_share + (1.0 - share) * value
        low = np.hypot((1.0 - share) * low, share * (own_share - ends.low))
        high = np.hypot((1.0 - share) * high, share * (ends.high - own_share))
    return float(value), float(max(value - low, 0.0)), float(min(value + high, 1.0))


def _scores(
    history: Labels,
    current: Labels,
    position: int,
    ratios: FloatArray,
    prob: float,
    random_seed: int,
) -> tuple[dict[str, FloatArray], str]:
    """Mean and interval of the score model at every odds ratio; NaN with the reason."""
    names = ("score", "score_lower", "score_upper")
    try:
        opened = selected_score(history, current, position, SCORE_DRAWS, random_seed)
    except Refusal as refusal:
        return {name: np.full(ratios.size, np.nan) for name in names}, str(refusal)
    ends = [(1.0 - prob) / 2.0, (1.0 + prob) / 2.0]
    rows = []
    for w in ratios:
        draws = opened.prevalence(float(np.log(w)))
        rows.append([draws.mean(), *np.quantile(draws, ends)])
    return dict(zip(names, np.array(rows).T, strict=True)), ""


def _sentence(table: "pd.DataFrame") -> str:
    """The range of answers, and what the likelihood says."""
    plain = float(table["estimate"].to_numpy()[table.index == 1.0][0])
    kept = table[table["supported"]]
    said = (
        f"With gold chosen regardless of the truth the prevalence is {plain:.3f}; over odds ratios "
        f"from {table.index.min():g} to {table.index.max():g} it runs from "
        f"{table['estimate'].min():.3f} to {table['estimate'].max():.3f}. If labelers err "
        f"independently, an odds ratio of {table.attrs['best_odds_ratio']:.2g} fits best"
    )
    if kept.empty:
        return f"{said}, and none of those tried is compatible with the labels."
    return f"{said}; compatible are {', '.join(f'{w:g}' for w in kept.index)}."
