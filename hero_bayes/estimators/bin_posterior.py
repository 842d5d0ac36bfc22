"""What gold says of a score's bins: conjugate, bin by bin."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaln, logit

from hero_bayes.data.score_bins import BinCounts, ScoreBins, bin_counts, number_of_bins

__all__ = ["BinPosterior", "bin_posterior", "chance_of_falling", "fitted_line"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.integer]

#: Probabilities inside a logarithm stay this far from 0 and 1.
EDGE = 1e-12


@dataclass(frozen=True)
class BinPosterior:
    """What gold says of one score's bins.

    Attributes
    ----------
    bins : ScoreBins
    counts : BinCounts
    centre : float array (bin,)
        Mean score of the history items in each bin.
    """

    bins: ScoreBins
    counts: BinCounts
    centre: FloatArray

    @property
    def log_evidence(self) -> float:
        """Log p(gold | bins), a product of Beta-Binomial terms."""
        c = self.counts
        terms = betaln(c.first + c.positive, c.second + c.negative) - betaln(c.first, c.second)
        return float(terms.sum())

    def draw(
        self, n_draws: int, rng: np.random.Generator
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """P(y=1) of each cell, prevalence of each group, log ratio of each bin.

        Returns
        -------
        tuple of float array
            (draw, group, bin), (draw, group) and (draw, bin).

        Notes
        -----
        P(y=1 | bin, group) ~ Beta(a + gold 1, b + gold 0). With Dirichlet(1, ..., 1) weights over
        a group's items the weight of a bin is Dirichlet in its number of items, q_g = sum over bins
        of weight times P(y=1), and r(bin) = odds(bin) (1 - q_g) / q_g. Groups share r; their
        logarithms are averaged in proportion to the information on each log odds.
        """
        c = self.counts
        shape = (n_draws, *c.items.shape)
        rate = rng.beta(c.first + c.positive, c.second + c.negative, size=shape)
        rate = np.clip(rate, EDGE, 1.0 - EDGE)
        weight = rng.standard_gamma(c.items, size=shape)
        weight /= weight.sum(axis=2, keepdims=True)
        positive = (weight * rate).sum(axis=2)
        negative = (weight * (1.0 - rate)).sum(axis=2)
        ratio = logit(rate) - np.log(positive / negative)[:, :, None]
        return rate, positive, (ratio * c.share).sum(axis=1)


def bin_posterior(
    score: FloatArray, gold: FloatArray, group_idx: IntArray, prevalence: FloatArray
) -> BinPosterior:
    """Bins of a score and what gold says of them.

    Parameters
    ----------
    score, gold : float array (item,)
        Scores of the history items; truth 0, 1, or NaN where there is no gold.
    group_idx : int array (item,)
        Position of the item's group among those with gold.
    prevalence : float array (group,)
        The supplying model's rate in each.

    Returns
    -------
    BinPosterior
        Conjugate: the posterior of each bin's rate is a Beta distribution.

    Examples
    --------
    >>> score = np.repeat([-1.0, 1.0], 50)
    >>> gold = np.tile(np.r_[np.zeros(8), np.ones(2), np.full(40, np.nan)], 2)
    >>> found = bin_posterior(score, gold, np.zeros(100, dtype=int), np.array([0.5]))
    >>> found.counts.positive.tolist(), found.bins.n_bins
    ([[2.0, 2.0]], 2)
    """
    bins = ScoreBins.at_quantiles(score, number_of_bins(gold))
    bin_idx = bins.of(score)
    counts = bin_counts(bins.n_bins, bin_idx, gold, group_idx, prevalence)
    return BinPosterior(bins, counts, bins.centre(score))


def chance_of_falling(rate: FloatArray, found: BinPosterior) -> float:
    """P(rates fall as the score rises): sign of their covariance over history items.

    One half where there is one bin, which points nowhere.
    """
    if found.bins.n_bins == 1:
        return 0.5
    size = found.counts.items
    middle = found.centre - (size * found.centre).sum() / size.sum()
    return float(((rate * size * middle).sum(axis=(1, 2)) < 0.0).mean())


def fitted_line(ratio: FloatArray, found: BinPosterior) -> tuple[FloatArray, FloatArray]:
    """Slope and intercept (draw,) of the least-squares line through the bins' log ratios.

    Bins count by their gold and prior, since a rate without gold says nothing.
    """
    c = found.counts
    size = (c.first + c.second + c.positive + c.negative).sum(axis=0)
    size /= size.sum()
    middle = size @ found.centre
    away = found.centre - middle
    spread = float(size @ away**2)
    slope = ratio @ (size * away) / spread if spread > 0.0 else np.zeros(len(ratio))
    return slope, ratio @ size - slope * middle
