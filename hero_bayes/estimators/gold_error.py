"""Gold that may be wrong: its error rate, and the calibration of a score on it."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc, betaincinv, betaln, expit, log_expit, logit

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.integer]

#: Error rates stay below this: beyond it gold would point the wrong way.
LARGEST_RATE = 0.5
#: Numbers held at once by a block of proposals.
BLOCK = 2_000_000
#: Points of equal prior mass at which a prior of the error rate is averaged.
POINTS = 100
#: The prior's curvature in an error rate is kept above this, where it is nearly flat.
LEAST_CURVATURE = 0.01


@dataclass(frozen=True)
class GoldError:
    """How often gold is wrong, P(gold != truth), the same for both truths.

    Attributes
    ----------
    rate : float or None
        The known rate; 0 where gold is the truth. None where it is estimated.
    prior : tuple of float
        Parameters (a, b) of the Beta prior of an estimated rate, cut off at 1/2.
    """

    rate: float | None = 0.0
    prior: tuple[float, float] = (1.0, 1.0)

    @property
    def exact(self) -> bool:
        """Whether gold is the truth."""
        return self.rate == 0.0

    def points(self) -> FloatArray:
        """Rates of equal prior weight: the known one, or quantiles of the prior."""
        if self.rate is not None:
            return np.array([self.rate])
        a, b = self.prior
        level = (np.arange(POINTS) + 0.5) / POINTS
        return np.asarray(betaincinv(a, b, level * betainc(a, b, LARGEST_RATE)))

    def log_density(self, rate: FloatArray) -> FloatArray:
        """Log prior density of an estimated rate."""
        a, b = self.prior
        norm = betaln(a, b) + np.log(betainc(a, b, LARGEST_RATE))
        return np.asarray((a - 1.0) * np.log(rate) + (b - 1.0) * np.log1p(-rate) - norm)


EXACT = GoldError()


def gold_error_of(value: object) -> GoldError:
    """What a user means by ``gold_error``.

    Parameters
    ----------
    value : None, float, or pair of float
        None or 0: gold is the truth. A number in (0, 0.5): the known P(gold != truth). A pair (a,
        b): parameters of a Beta prior under which it is estimated, cut off at 1/2.

    Returns
    -------
    GoldError

    Raises
    ------
    ValueError
        If it is none of these.

    Examples
    --------
    >>> gold_error_of(0.05).rate, gold_error_of(None).exact, gold_error_of((2, 38)).prior
    (0.05, True, (2.0, 38.0))
    """
    if value is None:
        return EXACT
    try:
        numbers = np.asarray(value)
    except ValueError:  # parts of different lengths
        numbers = np.asarray("")
    if numbers.dtype.kind in "iuf" and numbers.shape == () and 0.0 <= numbers < LARGEST_RATE:
        return GoldError(float(numbers))
    if numbers.dtype.kind in "iuf" and numbers.shape == (2,):
        a, b = (float(number) for number in numbers)
        # A pair below 1/2 is two rates by mistake, not the parameters of a prior.
        if 0.0 < a <= b < np.inf and b >= LARGEST_RATE:
            return GoldError(None, (a, b))
    raise ValueError(
        "gold_error must be None (gold is exact), a number in [0, 0.5) for a known P(gold != "
        "truth), or a pair (a, b), 0 < a <= b, for a Beta prior of it such as (2, 38); got "
        f"{value!r}"
    )


def gold_weight(rate: FloatArray) -> FloatArray:
    """Log((1 - e) / e): the evidence of one gold label, infinite where gold is exact."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.log1p(-rate) - np.log(rate))


def log_seen(chance: FloatArray, error: FloatArray) -> FloatArray:
    """Log probability that gold says what has this chance of being true."""
    return np.asarray(np.log(np.maximum(error + (1.0 - 2.0 * error) * chance, 1e-300)))


def with_gold_evidence(log_ratio: FloatArray, gold: FloatArray, rate: FloatArray) -> FloatArray:
    """Log-likelihood ratios (draw, item) with what fallible gold adds at each draw's error rate."""
    sign = np.where(np.isnan(gold), 0.0, 2.0 * gold - 1.0)
    return log_ratio + gold_weight(rate)[:, None] * sign


@dataclass(frozen=True)
class FalliblePosterior:
    """Log posterior density of (intercepts, slope[, logit of twice the error rate]).

    P(gold = 1 | s) = (1 - e) p + e (1 - p), p = expit(intercept + slope s). An estimated e enters
    as the last parameter x, e = expit(x) / 2. Curvatures are expected ones, which are positive.
    """

    score: FloatArray
    gold: FloatArray
    group_idx: IntArray
    mean: FloatArray
    deviation: FloatArray
    error: GoldError

    @property
    def start(self) -> FloatArray:
        """Prior mean of the line, and of an estimated error rate."""
        if self.error.rate is not None:
            return self.mean.copy()
        a, b = self.error.prior
        return np.append(self.mean, logit(min(2.0 * a / (a + b), 0.9)))

    def rates(self, parameters: FloatArray) -> FloatArray:
        """Error rate at each row of parameters."""
        if self.error.rate is not None:
            return np.full(len(parameters), self.error.rate)
        return np.asarray(LARGEST_RATE * expit(parameters[:, -1]))

    def log_density(self, parameters: FloatArray) -> FloatArray:
        """Log of prior times likelihood at each row of parameters (draw, parameter)."""
        n_lines = self.mean.size
        lines, rate = parameters[:, :n_lines], self.rates(parameters)[:, None]
        z = (lines - self.mean) / self.deviation
        constant = np.log(self.deviation).sum() + 0.5 * n_lines * np.log(2.0 * np.pi)
        out = -0.5 * (z**2).sum(axis=1) - constant
        size = max(1, BLOCK // max(self.score.size, 1))
        for begin in range(0, len(lines), size):
            rows = slice(begin, begin + size)
            line = lines[rows][:, self.group_idx]
            line += lines[rows, n_lines - 1 : n_lines] * self.score
            right = expit(np.where(self.gold == 1.0, line, -line))
            out[rows] += np.log(rate[rows] + (1.0 - 2.0 * rate[rows]) * right).sum(axis=1)
        if self.error.rate is None:
            x, e = parameters[:, -1], rate[:, 0]
            # The density of x is that of e times de/dx = e (1 - 2 e).
            out += self.error.log_density(e) + np.log(LARGEST_RATE) + log_expit(x) + log_expit(-x)
        return np.asarray(out)

    def slopes(self, at: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Gradient, expected negated Hessian, and the information of gold on each intercept."""
        n_lines, n_groups = self.mean.size, self.mean.size - 1
        rate = float(self.rates(at[None])[0])
        chance = expit(at[self.group_idx] + at[n_groups] * self.score)
        seen = rate + (1.0 - 2.0 * rate) * chance
        spread = np.maximum(seen * (1.0 - seen), 1e-300)
        by_line = (1.0 - 2.0 * rate) * chance * (1.0 - chance)
        design = np.zeros((self.gold.size, at.size))
        design[np.arange(self.gold.size), self.group_idx] = by_line
        design[:, n_groups] = by_line * self.score
        gradient, prior = np.zeros(at.size), np.zeros(at.size)
        gradient[:n_lines] = -(at[:n_lines] - self.mean) / self.deviation**2
        prior[:n_lines] = 1.0 / self.deviation**2
        if self.error.rate is None:
            a, b = self.error.prior
            by_rate = rate * (1.0 - 2.0 * rate)
            design[:, -1] = (1.0 - 2.0 * chance) * by_rate
            ratio = rate / (1.0 - rate)
            gradient[-1] = (1.0 - 2.0 * rate) * (a - (b - 1.0) * ratio) - 2.0 * rate
            bend = (b - 1.0) * (1.0 - 4.0 * rate + 2.0 * rate**2) / (1.0 - rate) ** 2
            prior[-1] = max(by_rate * (2.0 * a + 2.0 + bend), LEAST_CURVATURE)
        gradient += design.T @ ((self.gold - seen) / spread)
        information = (design / spread[:, None]).T @ design
        return gradient, information + np.diag(prior), np.diag(information)[:n_groups].copy()
