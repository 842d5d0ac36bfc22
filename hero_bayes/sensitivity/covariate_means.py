"""Covariates that moved between the rounds, and what that does to the adjusted estimate."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls
from scipy.special import ndtri

from hero_bayes.data import shift
from hero_bayes.data.arguments import need_labels
from hero_bayes.data.covariates import TextCovariates, design
from hero_bayes.data.labels import Labels
from hero_bayes.decision.arguments import check_share
from hero_bayes.errors import DataError, Refusal
from hero_bayes.estimators.anchored_em import anchor
from hero_bayes.estimators.control_variate import Ridge
from hero_bayes.estimators.estimate import check_arguments
from hero_bayes.estimators.hero1 import hero1_solution
from hero_bayes.estimators.hero2 import adjusted_solution, shrink_factor
from hero_bayes.estimators.prevalence import ScoreSolution

if TYPE_CHECKING:
    import pandas as pd

    from hero_bayes.data.covariates import Design
    from hero_bayes.estimators.anchored_em import Anchored

__all__ = ["CovariateShift", "covariate_shift"]

FloatArray = NDArray[np.float64]
#: Weight of "the parts sum to one" against matching the means, and of staying near the sizes.
SUM_WEIGHT = 1e4
NEARNESS = 1e-2


@dataclass(frozen=True)
class CovariateShift:
    """How covariates moved, and the adjusted estimate under other historical means.

    Attributes
    ----------
    covariates : DataFrame
        Index ``covariate``: ``difference`` (current minus history, in standard deviations) with
        ``lower`` and ``upper``, ``p_value``, and ``significant`` at 1 % over all covariates.
    estimates : DataFrame
        Index ``history_mean``, where m_X comes from: ``estimate`` of the prevalence with ``lower``
        and ``upper``, the ``largest_difference`` of a covariate from the current mean (standard
        deviations), and ``reason`` where there is no estimate.
    sentence : str
    """

    covariates: "pd.DataFrame"
    estimates: "pd.DataFrame"
    sentence: str

    def __str__(self) -> str:
        """The sentence, then the estimates."""
        return f"{self.sentence}\n{self.estimates.drop(columns='reason').to_string()}"


def covariate_shift(
    history: Labels,
    current: Labels,
    covariates: Sequence[str | TextCovariates] | None = None,
    *,
    group: str | None = None,
    ridge: Ridge = "cv",
    shrink: str = "optimal",
    prob: float = 0.95,
) -> CovariateShift:
    """Compare the covariates of both rounds, and the estimate under several historical means.

    HERO-2 pulls the estimate towards the covariates' mean over history, m_X. That helps where the
    rounds differ by chance and biases where prompts changed.

    Parameters
    ----------
    history, current : Labels
        With the covariates declared.
    covariates : sequence of str or TextCovariates, optional
        Default: every numeric covariate declared in both.
    group : str, optional
        The current group, where there are several.
    ridge, shrink
        As in ``hb.estimate``; ``shrink`` is "optimal" here, as in ``hb.adjust``.
    prob : float
        Of the intervals.

    Returns
    -------
    CovariateShift
        Rows of ``estimates``: "not adjusted" (HERO-1), "all history", "matching rounds" (those in
        which no covariate differs significantly from the current group), "mixed rounds" (past
        rounds weighted so that their mean comes closest to the current one), and every past round
        alone.

    Raises
    ------
    Refusal
        If there are no covariates, or the estimator cannot answer.
    DataError
        If there is no such group, or it is not named where there are several.

    Notes
    -----
    Gamma and the labelers' rates are the same in all rows; only m_X and its noise change. Where the
    adjusted rows lie near "not adjusted" and each other, the shift does not matter.

    Examples
    --------
    >>> import hero_bayes as hb
    >>> rounds = hb.simulate(covariate_strength=1.0, random_seed=1)
    >>> covariate_shift(rounds.history, rounds.current).estimates.index.tolist()
    ['not adjusted', 'all history']
    """
    import pandas as pd

    need_labels(history=history, current=current)
    check_share(prob, "prob")
    check_arguments("hero2", ridge)
    features = design(history, current, covariates)
    if not features.names:
        raise Refusal(
            "covariate_shift needs covariates: declare them with Labels.from_frames(..., "
            "covariates=[...]) in both history and current"
        )
    position = _position(current, group)
    item_idx = np.flatnonzero(current.group_idx == position)
    x = features.current[item_idx]
    moved = shift.covariate_shift(features.history, x, features.names)
    half = ndtri(0.5 + prob / 2.0) * moved["standard_error"]
    table = moved.assign(lower=moved["difference"] - half, upper=moved["difference"] + half)
    anchored = anchor(history, current)
    adjust = _Adjuster.of(anchored, current.groups("current")[position], item_idx, features)
    spread = np.where(features.history.std(axis=0) > 0, features.history.std(axis=0), 1.0)
    rows: list[dict[str, Any]] = []
    for name, weight, reason in history_weights(history, features, x):
        row: dict[str, Any] = {"history_mean": name, "reason": reason}
        if reason:
            row |= dict.fromkeys(("estimate", "lower", "upper", "largest_difference"), np.nan)
        else:
            solution = adjust.solution(weight, ridge=ridge, shrink=shrink)
            low, high = solution.profile.interval(prob)
            mean = x.mean(axis=0) if weight is None else weight @ features.history
            away = float(np.abs((x.mean(axis=0) - mean) / spread).max())
            row |= {
                "estimate": solution.value,
                "lower": low,
                "upper": high,
                "largest_difference": away,
            }
        rows.append(row)
    columns = ["estimate", "lower", "upper", "largest_difference", "reason"]
    estimates = pd.DataFrame(rows).set_index("history_mean")[columns]
    order = ["difference", "lower", "upper", "standard_error", "p_value", "significant"]
    return CovariateShift(table[order], estimates, _sentence(table, estimates))


def _position(current: Labels, group: str | None) -> int:
    groups = current.groups("current")
    if group is None and len(groups) > 1:
        raise DataError(f"the current round has several groups ({', '.join(groups)}): name one")
    if group is not None and group not in groups:
        raise DataError(f"no current group {group!r}; there are {', '.join(groups)}")
    return 0 if group is None else groups.index(group)


def history_weights(
    history: Labels, features: "Design", x: FloatArray
) -> list[tuple[str, FloatArray | None, str]]:
    """Name, weights of the history items (None: do not adjust), and why there are none."""
    names = np.array([str(r or "(none)") for r in history.group_round], dtype=object)
    own = names[history.group_idx]
    rounds = sorted(set(own))
    even = np.full(history.n_items, 1.0 / history.n_items)
    found: list[tuple[str, FloatArray | None, str]] = [
        ("not adjusted", None, ""),
        ("all history", even, ""),
    ]
    if len(rounds) < 2:
        return found
    alone = {name: (own == name) / (own == name).sum() for name in rounds}
    level = [
        name
        for name in rounds
        if not shift.covariate_shift(features.history[own == name], x, features.names)[
            "significant"
        ].any()
    ]
    if level:
        member = np.isin(own, level)
        found.append(("matching rounds", member / member.sum(), ""))
    else:
        found.append(("matching rounds", even, "in every past round some covariate differs"))
    found.append(("mixed rounds", mixed(alone, own, features.history, x), ""))
    return [*found, *((f"round {name}", weight, "") for name, weight in alone.items())]


def mixed(
    alone: dict[str, FloatArray], own: NDArray[np.object_], past: FloatArray, x: FloatArray
) -> FloatArray:
    """Weights of the items when rounds are mixed to come closest to the current means.

    Least squares over the rounds' shares (not negative, sum 1) of the covariates' means in standard
    deviations, held near the rounds' sizes where several mixtures do as well.
    """
    spread = np.where(past.std(axis=0) > 0, past.std(axis=0), 1.0)
    means = np.array([weight @ past for weight in alone.values()]) / spread
    size = np.array([(own == name).mean() for name in alone])
    rows = [means.T, NEARNESS * np.eye(size.size), SUM_WEIGHT * np.ones((1, size.size))]
    target = np.concatenate([x.mean(axis=0) / spread, NEARNESS * size, [SUM_WEIGHT]])
    share, _ = nnls(np.vstack(rows), target)
    share /= share.sum()
    return np.asarray(sum(s * weight for s, weight in zip(share, alone.values(), strict=True)))


@dataclass(frozen=True)
class _Adjuster:
    """HERO-1 of one group, ready to be adjusted to any historical mean."""

    first: ScoreSolution
    evidence: Any
    inside: Any
    covariance: Any
    x: FloatArray
    past: FloatArray

    @classmethod
    def of(
        cls, anchored: "Anchored", group: str, item_idx: NDArray[np.integer], features: "Design"
    ) -> "_Adjuster":
        first, evidence, inside = hero1_solution(anchored, group, item_idx)
        x = features.current[item_idx]
        return cls(first, evidence, inside, anchored.covariance[0], x, features.history)

    def solution(self, weight: FloatArray | None, *, ridge: Ridge, shrink: str) -> ScoreSolution:
        """HERO-2 with m_X the weighted mean of history; HERO-1 without weights."""
        if weight is None:
            return self.first
        effective = 1.0 / float(weight @ weight)
        return adjusted_solution(
            (self.first, self.evidence, self.inside),
            self.covariance,
            self.x,
            self.past,
            weight,
            ridge=ridge,
            factor=shrink_factor(shrink, round(effective), self.x.shape[0]),
            cross_fit=None,
        )[0]


def _sentence(table: "pd.DataFrame", estimates: "pd.DataFrame") -> str:
    """Which covariates moved, and how far the estimate moves with m_X."""
    moved = table.index[table["significant"]]
    said = "no covariate differs significantly between history and the current round"
    if len(moved):
        parts = ", ".join(f"{n} ({table['difference'][n]:+.2f} sd)" for n in moved[:5])
        said = f"moved between history and the current round: {parts}"
    values = estimates["estimate"].dropna()
    plain, others = values.iloc[0], values.iloc[1:]
    return (
        f"{said}. Not adjusted the prevalence is {plain:.3f}, adjusted {others.min():.3f} to "
        f"{others.max():.3f}, depending on which past items the covariates' mean comes from."
    )
