"""Calibration of a score on gold: logit P(y=1 | score) is a line, and gold draws it."""

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, gammaln, logit

from hero_bayes.errors import DataError, Refusal
from hero_bayes.estimators.gold_error import BLOCK, EXACT, FalliblePosterior, GoldError

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.integer]

PROPOSALS = 3_000
#: Degrees of freedom of the proposals.
DEGREES = 6.0
#: Fewest gold items of each class.
FEWEST_GOLD = 2
NEWTON_STEPS = 200


@dataclass(frozen=True)
class Calibration:
    """Posterior draws of logit P(y=1 | s) = intercept + slope s, from gold items.

    Attributes
    ----------
    intercept : float array (draw, group)
        One for each group of gold items, on the log-odds scale.
    slope : float array (draw,)
        Shared by the groups. 1 where the score is an honest log-likelihood ratio, less where it is
        over-confident.
    information : float array (group,)
        Gold's information on each intercept at the mode, sum of p (1 - p).
    log_evidence : float
        Log p(gold | scores).
    negative_slope : float
        P(slope < 0): how likely it is that the score points the wrong way.
    effective_size : float
        Number of independent draws that the importance weights are worth.
    gold_error : float array (draw,), optional
        P(gold != truth); None where gold is exact.
    """

    intercept: FloatArray
    slope: FloatArray
    information: FloatArray
    log_evidence: float
    negative_slope: float
    effective_size: float
    gold_error: FloatArray | None = None

    def head(self, n_draws: int) -> "Calibration":
        """The first draws alone."""
        error = None if self.gold_error is None else self.gold_error[:n_draws]
        return replace(
            self,
            intercept=self.intercept[:n_draws],
            slope=self.slope[:n_draws],
            gold_error=error,
        )


class LinePosterior(Protocol):
    """A log density of (intercept of each group, slope, ...) with its derivatives."""

    @property
    def start(self) -> FloatArray:
        """Where the search for the mode begins."""

    def log_density(self, parameters: FloatArray) -> FloatArray:
        """Log density at each row of parameters."""

    def slopes(self, at: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Gradient, negated Hessian, and the information of gold on each intercept."""


@dataclass(frozen=True)
class LogisticPosterior:
    """Log posterior density of (intercept of each group, slope); normalised prior."""

    score: FloatArray
    gold: FloatArray
    group_idx: IntArray
    mean: FloatArray
    deviation: FloatArray

    @property
    def start(self) -> FloatArray:
        """The prior mean."""
        return self.mean.copy()

    def log_density(self, parameters: FloatArray) -> FloatArray:
        """Log of prior times likelihood at each row of parameters (draw, parameter)."""
        z = (parameters - self.mean) / self.deviation
        constant = np.log(self.deviation).sum() + 0.5 * self.mean.size * np.log(2.0 * np.pi)
        out = -0.5 * (z**2).sum(axis=1) - constant
        size = max(1, BLOCK // max(self.score.size, 1))
        for begin in range(0, len(parameters), size):
            rows = slice(begin, begin + size)
            block = parameters[rows]
            line = block[:, self.group_idx] + block[:, -1:] * self.score
            out[rows] += (self.gold * line - np.logaddexp(0.0, line)).sum(axis=1)
        return np.asarray(out)

    def slopes(self, at: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Gradient, negated Hessian, and the information of gold on each intercept."""
        n_groups = at.size - 1
        chance = expit(at[self.group_idx] + at[-1] * self.score)
        spread = chance * (1.0 - chance)
        gradient = -(at - self.mean) / self.deviation**2
        hessian = np.diag(1.0 / self.deviation**2)
        residual = self.gold - chance
        gradient[:-1] += np.bincount(self.group_idx, residual, n_groups)
        gradient[-1] += residual @ self.score
        information = np.bincount(self.group_idx, spread, n_groups)
        mixed = np.bincount(self.group_idx, spread * self.score, n_groups)
        hessian[np.arange(n_groups), np.arange(n_groups)] += information
        hessian[:-1, -1] += mixed
        hessian[-1, :-1] += mixed
        hessian[-1, -1] += spread @ self.score**2
        return gradient, hessian, information


def find_mode(posterior: LinePosterior) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Mode, negated Hessian and gold's information there, by damped Newton steps."""
    at = posterior.start
    value = posterior.log_density(at[None])[0]
    for _ in range(NEWTON_STEPS):
        gradient, hessian, _ = posterior.slopes(at)
        step = np.linalg.solve(hessian, gradient)
        size = 1.0
        while posterior.log_density((at + size * step)[None])[0] < value and size > 1e-6:
            size *= 0.5
        at = at + size * step
        value = posterior.log_density(at[None])[0]
        if np.abs(step).max() < 1e-9:
            break
    return at, *posterior.slopes(at)[1:]


def check_gold(gold: FloatArray, hint: str = "") -> None:
    """Refuse to calibrate on fewer than two gold items of a class; ``hint`` is added."""
    for truth in (0, 1):
        count = int((gold == truth).sum())
        if count < FEWEST_GOLD:
            raise Refusal(
                f"score needs at least {FEWEST_GOLD} labeled history items with gold {truth} and "
                f"got {count}: the scores cannot be calibrated. Add expert labels to the history; "
                "some 25 of each class make the interval useful" + (hint and f"; {hint}")
            )


def calibrate(
    score: ArrayLike,
    gold: ArrayLike,
    prevalence: ArrayLike,
    group_idx: ArrayLike | None = None,
    *,
    intercept_sd: float = 1.0,
    slope_mean: float = 1.0,
    slope_sd: float = 0.5,
    n_draws: int = 1_000,
    gold_error: GoldError = EXACT,
    rng: np.random.Generator,
) -> Calibration:
    """Posterior of logit P(y=1 | s) = intercept_g + slope s given gold, by importance sampling.

    Parameters
    ----------
    score, gold : array (item,)
        Score and truth (0 or 1) of each gold item.
    prevalence : float or array (group,)
        Where the prior of each intercept is centred: the supplying model's prevalence.
    group_idx : int array (item,), optional
        Group of each item; default: one group.
    intercept_sd, slope_mean, slope_sd : float
        Normal priors: intercept_g around logit prevalence_g, slope around ``slope_mean``.
    n_draws : int
        Draws to return.
    gold_error : GoldError
        How often gold is wrong; see `gold_error_of`.
    rng : numpy.random.Generator
        Source of randomness.

    Returns
    -------
    Calibration
        Draws, log evidence, and how far the importance weights can be trusted.

    Raises
    ------
    Refusal
        If a class has fewer than two gold items.
    DataError
        If the arrays do not fit each other or hold missing values.

    Notes
    -----
    3,000 proposals from a multivariate t with 6 degrees of freedom at the mode, scaled by the
    inverse Hessian. The mean importance weight is the evidence. With fallible gold, P(gold=1 | s) =
    (1 - e) p + e (1 - p); an estimated e is one more parameter of the proposals.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> score = np.repeat([-2.0, 2.0], 30)
    >>> gold = np.r_[np.zeros(27), np.ones(30), np.zeros(3)]
    >>> result = calibrate(score, gold, 0.5, rng=rng)
    >>> bool(0.5 < result.slope.mean() < 2.0), result.effective_size > 1000
    (True, True)
    """
    exact = _posterior(score, gold, prevalence, group_idx, intercept_sd, slope_mean, slope_sd)
    check_gold(exact.gold)
    n_groups = exact.mean.size - 1
    if gold_error.exact:
        proposals, weight, log_evidence, information = sample_line(exact, rng)
        rates = None
    else:
        posterior = FalliblePosterior(**vars(exact), error=gold_error)
        proposals, weight, log_evidence, information = sample_line(posterior, rng)
        rates = posterior.rates(proposals)
    positions = (np.arange(n_draws) + rng.random()) / n_draws
    chosen = np.minimum(np.searchsorted(np.cumsum(weight), positions), PROPOSALS - 1)
    chosen = rng.permutation(chosen)
    return Calibration(
        intercept=proposals[chosen, :n_groups],
        slope=proposals[chosen, n_groups],
        information=information,
        log_evidence=log_evidence,
        negative_slope=float(weight[proposals[:, n_groups] < 0.0].sum()),
        effective_size=float(1.0 / np.sum(weight**2)),
        gold_error=None if rates is None else rates[chosen],
    )


def sample_line(
    posterior: LinePosterior, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray, float, FloatArray]:
    """Proposals, their importance weights, the log evidence, and gold's information at the mode."""
    mode, hessian, information = find_mode(posterior)
    size = mode.size
    factor = np.linalg.cholesky(hessian)
    normal = rng.standard_normal((PROPOSALS, size))
    noise = normal * np.sqrt(DEGREES / rng.chisquare(DEGREES, PROPOSALS))[:, None]
    proposals = mode + np.linalg.solve(factor.T, noise.T).T
    log_proposal = (
        gammaln(0.5 * (DEGREES + size))
        - gammaln(0.5 * DEGREES)
        - 0.5 * size * np.log(DEGREES * np.pi)
        + np.log(np.diag(factor)).sum()
        - 0.5 * (DEGREES + size) * np.log1p((noise**2).sum(axis=1) / DEGREES)
    )
    log_weight = posterior.log_density(proposals) - log_proposal
    top = log_weight.max()
    weight = np.exp(log_weight - top)
    log_evidence = float(top + np.log(weight.mean()))
    return proposals, weight / weight.sum(), log_evidence, information


def _posterior(
    score: ArrayLike,
    gold: ArrayLike,
    prevalence: ArrayLike,
    group_idx: ArrayLike | None,
    intercept_sd: float,
    slope_mean: float,
    slope_sd: float,
) -> LogisticPosterior:
    s, y = np.asarray(score, dtype=float), np.asarray(gold, dtype=float)
    m = np.atleast_1d(np.asarray(prevalence, dtype=float))
    group = np.zeros(s.size, dtype=np.int64) if group_idx is None else np.asarray(group_idx)
    if not (s.shape == y.shape == group.shape and s.ndim == 1):
        raise DataError(
            f"scores {s.shape}, gold {y.shape} and groups {group.shape} must have one entry "
            "by gold item"
        )
    if not (np.isfinite(s).all() and np.isin(y, (0.0, 1.0)).all()):
        raise DataError("scores must be finite and gold 0 or 1; leave out items without gold")
    if group.size and not 0 <= group.min() <= group.max() < m.size:
        raise DataError(f"groups must run from 0 to {m.size - 1}, one prevalence each")
    if not ((m > 0.0) & (m < 1.0)).all():
        raise DataError("prevalences must lie between 0 and 1, ends left out")
    return LogisticPosterior(
        score=s,
        gold=y,
        group_idx=group,
        mean=np.append(logit(m), slope_mean),
        deviation=np.append(np.full(m.size, float(intercept_sd)), slope_sd),
    )
