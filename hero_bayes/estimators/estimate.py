"""The front door of the fast path: one function for every estimator, and a table of them all."""

from collections.abc import Callable, Sequence
from functools import cache

import numpy as np
import pandas as pd

from hero_bayes.data.arguments import need_labels
from hero_bayes.data.covariates import TextCovariates, design
from hero_bayes.data.labels import Labels
from hero_bayes.data.panel import align
from hero_bayes.errors import DataError, Refusal
from hero_bayes.estimators.anchored_em import Anchored, anchor
from hero_bayes.estimators.control_variate import Ridge
from hero_bayes.estimators.dawid_skene import dawid_skene
from hero_bayes.estimators.gold_error import gold_error_of
from hero_bayes.estimators.gold_rates import gold_rates
from hero_bayes.estimators.hero1 import hero1
from hero_bayes.estimators.hero2 import hero2
from hero_bayes.estimators.majority_vote import majority_vote
from hero_bayes.estimators.result import Estimate
from hero_bayes.estimators.score_method import N_DRAWS, score
from hero_bayes.estimators.tilt import TiltDraws, tilt

#: The closed-form methods, which `compare_methods` runs unless told otherwise.
METHODS = ("majority_vote", "dawid_skene", "gold_rates", "hero1", "hero2")
#: Those that answer by random draws, from a fixed seed.
DRAWN_METHODS = ("score",)
Covariates = Sequence[str | TextCovariates] | None


def group_items(current: Labels, group: str | None) -> tuple[str, int, np.ndarray]:
    """Name, position and items of one (round, arm) group of the current table.

    Raises
    ------
    DataError
        If ``group`` is None and there are several, or if there is no such group.
    """
    names = current.groups("current")
    if group is None:
        if len(names) > 1:
            raise DataError(
                f"the current table holds {len(names)} groups ({', '.join(names)}): name one with "
                "group="
            )
        group = names[0]
    if group not in names:
        raise DataError(f"no group {group!r} in the current table; groups: {', '.join(names)}")
    position = names.index(group)
    return group, position, np.flatnonzero(current.group_idx == position)


def need_history(history: Labels | None, method: str) -> Labels:
    """The history, or a refusal that says which methods do without."""
    if history is None:
        raise Refusal(
            f"{method} learns the labelers from history and got none; pass a history with gold, or "
            'use method="majority_vote" or "dawid_skene"'
        )
    need_labels(history=history)
    return history


def run_method(
    history: Labels | None,
    current: Labels,
    method: str,
    *,
    covariates: Covariates,
    ridge: Ridge,
    shrink: str,
    cross_fit: bool | None,
    group: str | None,
    anchored: Callable[[], Anchored],
    tilted: Callable[[], TiltDraws],
) -> Estimate:
    """One estimator; ``anchored`` and ``tilted`` are called when a method asks for them."""
    name, position, item_idx = group_items(current, group)
    if method == "majority_vote":
        return majority_vote(current, name, item_idx)
    if method == "dawid_skene":
        return dawid_skene(current, name, position, item_idx)
    known = need_history(history, method)
    if method == "gold_rates":
        return gold_rates(align(known, current, unseen="drop"), name, item_idx)
    if method == "hero1":
        return hero1(anchored(), name, item_idx)
    if method == "score":
        return score(tilted(), name)
    return hero2(
        anchored(),
        name,
        item_idx,
        design(known, current, covariates),
        ridge=ridge,
        shrink=shrink,
        cross_fit=cross_fit,
    )


def check_arguments(method: str, ridge: Ridge) -> None:
    """Reject what no estimator understands."""
    known = (*METHODS, *DRAWN_METHODS)
    if method not in known:
        raise ValueError(f"unknown method {method!r}; one of {', '.join(known)}")
    number = isinstance(ridge, (int, float)) and not isinstance(ridge, bool) and ridge >= 0
    if not (number or ridge == "cv"):
        raise ValueError(f'ridge must be "cv" or a number >= 0, got {ridge!r}')


def estimate(
    history: Labels | None,
    current: Labels,
    method: str = "hero2",
    covariates: Covariates = None,
    ridge: Ridge = "cv",
    group: str | None = None,
    *,
    shrink: str = "paper",
    cross_fit: bool | None = None,
    random_seed: int = 0,
    gold_error: float | tuple[float, float] | None = None,
) -> Estimate:
    """Rate of a current round from its silver labels and a history, without sampling.

    Parameters
    ----------
    history : Labels or None
        Past rounds, some items with gold. ``majority_vote`` and ``dawid_skene`` do without.
    current : Labels
        The round to judge. Gold in it is used by the anchored methods.
    method : {"majority_vote", "dawid_skene", "gold_rates", "hero1", "hero2", "score"}
        The first two speak of the items at hand (``item_rate``), the others of new items from the
        same source (``prevalence``). ``score`` (the anchored tilt) does not assume that labelers
        err independently, and its interval is the honest one where they do not; it needs some 25
        gold items of each class to be useful.
    covariates : sequence of str or TextCovariates, optional
        For ``hero2``. Default: every numeric covariate declared in both tables.
    ridge : "cv" or float
        Penalty on the coefficients of covariates scaled to unit variance; "cv" picks it by
        leave-one-out.
    group : str, optional
        The (round, arm) group, needed when ``current`` holds several.
    shrink : {"paper", "optimal"}
        Factor on the coefficients: 1, or N / (N + n).
    cross_fit : bool, optional
        Whether each item's adjustment leaves that item out; default: with more than four
        covariates.
    random_seed : int
        For ``score``, which draws 2,000 times; the same seed gives the same result.
    gold_error : None, float, or pair of float
        For ``score``: how often gold is wrong. None (never), a known P(gold != truth) in [0, 0.5),
        or the parameters (a, b) of a Beta prior under which it is estimated.

    Returns
    -------
    Estimate
        ``value``, ``standard_error``, ``interval(prob)``, ``notes`` and ``details``.

    Raises
    ------
    Refusal
        If the method cannot answer from these data; the message names the remedy.
    DataError
        If a group or a covariate does not exist.
    ValueError
        If an argument is not understood.

    Notes
    -----
    HERO-1 and HERO-2 follow Ruan et al. [1]_. The standard error adds the uncertainty of the
    labelers' sensitivity and specificity to the sampling of items.

    References
    ----------
    .. [1] Ruan, X. et al. (2026). HERO: Improving the Reliability and Sensitivity of Generative
    Model
       Evaluation Using Historical Data. arXiv:2606.29784

    Examples
    --------
    >>> import hero_bayes as hb
    >>> rounds = hb.datasets.demo_rounds()
    >>> result = hb.estimate(rounds.history, rounds.current, method="hero1")
    >>> low, high = result.interval(0.95)
    >>> low < result.value < high
    True
    """
    check_arguments(method, ridge)
    need_labels(current=current)
    error = gold_error_of(gold_error)
    if not error.exact and method != "score":
        raise ValueError(f"gold_error is for method='score' alone, got method={method!r}")
    return run_method(
        history,
        current,
        method,
        covariates=covariates,
        ridge=ridge,
        shrink=shrink,
        cross_fit=cross_fit,
        group=group,
        anchored=lambda: anchor(need_history(history, method), current),
        tilted=lambda: tilt(
            need_history(history, method),
            current,
            n_draws=N_DRAWS,
            random_seed=random_seed,
            gold_error=error,
        ),
    )


def compare_methods(
    history: Labels | None,
    current: Labels,
    covariates: Covariates = None,
    *,
    prob: float = 0.95,
    methods: Sequence[str] = METHODS,
    ridge: Ridge = "cv",
    shrink: str = "paper",
    random_seed: int = 0,
) -> pd.DataFrame:
    """Every estimator on every current group, one row each.

    Parameters
    ----------
    history, current, covariates, ridge, shrink, random_seed
        As in :func:`estimate`.
    prob : float
        Nominal coverage of the intervals.
    methods : sequence of str
        Which methods, in which order. "score" runs when it is named: its time grows with the
        number of labels.

    Returns
    -------
    DataFrame
        Columns ``group, method, estimand, estimate, standard_error, lower, upper, note,
        rates_at_edge``. A method that cannot answer has missing numbers and the reason in ``note``;
        ``rates_at_edge`` counts the labelers' rates at 0 or 1, where another method is to be
        preferred.

    Examples
    --------
    >>> import hero_bayes as hb
    >>> rounds = hb.datasets.demo_rounds()
    >>> hb.compare_methods(rounds.history, rounds.current)["method"].tolist()
    ['majority_vote', 'dawid_skene', 'gold_rates', 'hero1', 'hero2']
    """
    for method in methods:
        check_arguments(method, ridge)
    need_labels(current=current)

    @cache
    def anchored() -> Anchored:
        return anchor(need_history(history, "hero1"), current)

    @cache
    def tilted() -> TiltDraws:
        known = need_history(history, "score")
        return tilt(known, current, n_draws=N_DRAWS, random_seed=random_seed)

    rows = []
    for group in current.groups("current"):
        for method in methods:
            row: dict[str, object] = {"group": group, "method": method}
            try:
                result = run_method(
                    history,
                    current,
                    method,
                    covariates=covariates,
                    ridge=ridge,
                    shrink=shrink,
                    cross_fit=None,
                    group=group,
                    anchored=anchored,
                    tilted=tilted,
                )
            except Refusal as refusal:
                estimand = "item_rate" if method in METHODS[:2] else "prevalence"
                row |= {"estimand": estimand, "note": f"refused: {refusal}"}
            else:
                low, high = result.interval(prob)
                row |= {
                    "estimand": result.estimand,
                    "estimate": result.value,
                    "standard_error": result.standard_error,
                    "lower": low,
                    "upper": high,
                    "note": "; ".join(result.notes),
                    "rates_at_edge": len(result.details.get("rates_at_edge", ())),
                }
            rows.append(row)
    columns = "group method estimand estimate standard_error lower upper note".split()
    table = pd.DataFrame(rows).reindex(columns=[*columns, "rates_at_edge"])
    table["rates_at_edge"] = table["rates_at_edge"].fillna(0).astype(int)
    return table
