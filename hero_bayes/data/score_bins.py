"""A score cut into bins: how many, where, and what is believed of a bin before gold."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["BinCounts", "ScoreBins", "bin_counts", "number_of_bins"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.integer]

#: Fewest bins asked for; ties may leave fewer.
FEWEST_BINS = 2
#: The prior of a bin weighs as much as this many gold items.
PRIOR_WEIGHT = 2.0
#: The prior mean of a bin stays inside these limits, so that the prior has no spike at 0 or 1.
PRIOR_LIMITS = (0.05, 0.95)


def number_of_bins(gold: FloatArray) -> int:
    """Bins for so much gold: 2 n^(1/3), n being the gold items of the rarer class (Rice's rule).

    Parameters
    ----------
    gold : array
        0 and 1.

    Returns
    -------
    int
        Rounded down; at least 2.

    Notes
    -----
    The rarer class limits what a bin can tell. The rule is that of histograms; nothing is tuned.

    Examples
    --------
    >>> import numpy as np
    >>> [number_of_bins(np.repeat([0.0, 1.0], [200, n])) for n in (2, 8, 27, 125)]
    [2, 4, 6, 10]
    """
    rarer = float(min((gold == 0.0).sum(), (gold == 1.0).sum()))
    return max(FEWEST_BINS, int(np.floor(2.0 * np.cbrt(rarer) + 1e-9)))


@dataclass(frozen=True)
class ScoreBins:
    """Bins of a score: bin b holds ``edges[b - 1] <= s < edges[b]``, the ends being open.

    Attributes
    ----------
    edges : float array (bin - 1,)
        Increasing.
    """

    edges: FloatArray

    @classmethod
    def at_quantiles(cls, score: FloatArray, n_bins: int) -> "ScoreBins":
        """Edges at the quantiles of a score; equal ones are merged, so that no bin is empty.

        Examples
        --------
        >>> import numpy as np
        >>> ScoreBins.at_quantiles(np.array([0.0, 0.0, 0.0, 1.0, 2.0, 2.0]), 3).edges.tolist()
        [1.0]
        """
        inner = np.arange(1, n_bins) / n_bins
        edges = np.unique(np.quantile(score, inner, method="inverted_cdf"))
        above = score[score > score.min()]
        edges = edges[edges > score.min()]
        # Where most scores are the lowest, all others make up the second bin.
        return cls(edges if edges.size or not above.size else above.min(keepdims=True))

    @property
    def n_bins(self) -> int:
        """Number of bins."""
        return self.edges.size + 1

    @property
    def names(self) -> list[str]:
        """A name for each bin, such as "-1.5 to 0.2"."""
        ends = ["-inf", *(f"{edge:.4g}" for edge in self.edges), "inf"]
        return [f"{b + 1}: {low} to {ends[b + 1]}" for b, low in enumerate(ends[:-1])]

    def of(self, score: FloatArray) -> IntArray:
        """Bin of each score."""
        return np.searchsorted(self.edges, score, side="right")

    def centre(self, score: FloatArray) -> FloatArray:
        """Mean of these scores in each bin, (bin,); none may be empty."""
        bin_idx = self.of(score)
        size = np.bincount(bin_idx, minlength=self.n_bins)
        return np.asarray(np.bincount(bin_idx, score, self.n_bins) / size)


@dataclass(frozen=True)
class BinCounts:
    """What is known of each history group's bins.

    Attributes
    ----------
    items : float array (group, bin)
        Items, with gold or without.
    positive, negative : float array (group, bin)
        Gold items of either class.
    first, second : float array (group, bin)
        Parameters of the Beta prior of P(truth 1).
    """

    items: FloatArray
    positive: FloatArray
    negative: FloatArray
    first: FloatArray
    second: FloatArray

    @property
    def share(self) -> FloatArray:
        """How far each group decides about a bin, (group, bin); sums to one over groups.

        In proportion to the posterior information on the log odds, n p (1 - p).
        """
        one, zero = self.first + self.positive, self.second + self.negative
        information = one * zero / (one + zero)
        return np.asarray(information / information.sum(axis=0))


def bin_counts(
    n_bins: int,
    bin_idx: IntArray,
    gold: FloatArray,
    group_idx: IntArray,
    prevalence: FloatArray,
    *,
    weight: float = PRIOR_WEIGHT,
) -> BinCounts:
    """Counts and prior of the bins of each history group.

    Parameters
    ----------
    n_bins : int
    bin_idx, group_idx : int array (item,)
    gold : float array (item,)
        0, 1 or NaN.
    prevalence : float array (group,)
        The supplying model's rate, where the prior of every bin of the group is centred, so that
        a bin without gold says nothing.
    weight : float
        Gold items that the prior is worth.

    Returns
    -------
    BinCounts
    """
    shape = (prevalence.size, n_bins)

    def count(chosen: NDArray[np.bool_]) -> FloatArray:
        table = np.zeros(shape)
        np.add.at(table, (group_idx[chosen], bin_idx[chosen]), 1.0)
        return table

    centre = np.clip(prevalence, *PRIOR_LIMITS)[:, None]
    ones = np.ones(shape)
    return BinCounts(
        items=count(np.ones(gold.size, dtype=bool)),
        positive=count(gold == 1.0),
        negative=count(gold == 0.0),
        first=weight * centre * ones,
        second=weight * (1.0 - centre) * ones,
    )
