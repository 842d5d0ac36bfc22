"""What ``hb.compare_arms`` returns."""

import html
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from hero_bayes.data.identifiers import some
from hero_bayes.decision.arguments import check_share
from hero_bayes.errors import DataError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["ArmComparison", "ranks_of"]

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class ArmComparison:
    """Arms of one round against a reference and against each other.

    Attributes
    ----------
    draws : xarray.Dataset
        ``rate``, and against the reference ``difference``, ``ratio`` and ``odds_ratio`` (chain,
        draw, arm); a ratio to 0 is infinite, of two zeros 1. ``probability_best`` (arm),
        ``rank_probability`` (arm, rank), rank 1 the best; ``group`` (arm) names the fit's groups.
    fit : xarray.DataTree
        The fit with the compared draws as its rates: what ``hb.decide`` takes for a rule such as
        "P(B - A <= 0) >= 0.9".
    reference, metric : str
    lower_is_better : bool
    pairing : {"prompts", "labelers", "none"}
        What the arms share: prompts and labelers, the draws of the labelers alone, or nothing.
    n_shared : int
        Prompts that at least two arms answered; 0 where prompts are not known.
    notes : tuple of str
        What a reader must know of these numbers.
    """

    draws: xr.Dataset = field(repr=False)
    fit: xr.DataTree = field(repr=False)
    reference: str
    metric: str
    lower_is_better: bool
    pairing: str
    n_shared: int
    notes: tuple[str, ...] = field(repr=False)

    @property
    def arms(self) -> tuple[str, ...]:
        """Names of the arms."""
        return tuple(str(name) for name in self.draws["arm"].to_numpy())

    def probability_better(self, arm: str, than: str | None = None) -> float:
        """P(arm better than another, by default the reference); equal draws count one half."""
        other = self.reference if than is None else than
        for name in (arm, other):
            if name not in self.arms:
                raise DataError(f"no arm {name!r} was compared; there are {some(self.arms, 12)}")
        gap = (self.draws["rate"].sel(arm=arm) - self.draws["rate"].sel(arm=other)).to_numpy()
        better = gap < 0 if self.lower_is_better else gap > 0
        return float(better.mean() + 0.5 * (gap == 0).mean())

    def table(self, prob: float = 0.95) -> "pd.DataFrame":
        """One row an arm: rate, comparisons with the reference, chances of rank.

        Parameters
        ----------
        prob : float
            Posterior probability of the equal-tailed intervals.

        Returns
        -------
        DataFrame
            ``rate``, ``difference`` (means), ``ratio``, ``odds_ratio`` (medians), each with
            ``_lower`` and ``_upper``; ``probability_better`` than the reference,
            ``probability_best`` of all, ``rank_lower`` and ``rank_upper``. The comparisons of the
            reference with itself are missing, and ``note`` says so.

        Raises
        ------
        ValueError
            If ``prob`` is not in (0, 1).
        """
        import pandas as pd

        check_share(prob, "prob")
        ends = [(1 - prob) / 2, (1 + prob) / 2]
        rows = []
        for arm in self.arms:
            row: dict[str, object] = {"arm": arm}
            own = self.draws.sel(arm=arm)
            for name in ("rate", "difference", "ratio", "odds_ratio"):
                values = own[name].to_numpy().ravel()
                middle = np.mean if name in ("rate", "difference") else np.median
                numbers = [float(middle(values)), *interval(values, ends)]
                if arm == self.reference and name != "rate":
                    numbers = [np.nan] * 3
                row |= dict(zip((name, f"{name}_lower", f"{name}_upper"), numbers, strict=True))
            better = np.nan if arm == self.reference else self.probability_better(arm)
            low, high = rank_interval(own["rank_probability"].to_numpy(), ends)
            row |= {
                "probability_better": better,
                "probability_best": float(own["probability_best"]),
                "rank_lower": low,
                "rank_upper": high,
                "note": "the reference" if arm == self.reference else "",
            }
            rows.append(row)
        return pd.DataFrame(rows)

    def to_dataframe(self, prob: float = 0.95) -> "pd.DataFrame":
        """The same as `table`."""
        return self.table(prob)

    @property
    def sentences(self) -> list[str]:
        """Each arm against the reference, in words."""
        said = []
        for row in self.table().to_dict("records"):
            if row["note"]:
                continue
            said.append(
                f"{row['arm']} - {self.reference}: {100 * row['difference']:+.2f} points, 95 % "
                f"credible interval {100 * row['difference_lower']:+.2f} to "
                f"{100 * row['difference_upper']:+.2f}; P({row['arm']} better) = "
                f"{row['probability_better']:.3f}, P({row['arm']} best) = "
                f"{row['probability_best']:.3f}."
            )
        return said

    def __str__(self) -> str:
        """What was compared, an arm a line, notes."""
        good = "lower" if self.lower_is_better else "higher"
        head = f"{self.metric} of {len(self.arms)} arms, {good} is better"
        lines = [head, *(f"  {line}" for line in self.sentences)]
        return "\n".join([*lines, *(f"  note: {note}" for note in self.notes)])

    def _repr_html_(self) -> str:
        """Table and notes, for notebooks."""
        table = self.table().to_html(index=False, float_format=lambda value: f"{value:.4g}")
        notes = "".join(f"<li>{html.escape(note)}</li>" for note in self.notes)
        return f"{table}<ul>{notes}</ul>"


def interval(values: FloatArray, ends: list[float]) -> list[float]:
    """Quantiles; of values some of which are infinite, without interpolation."""
    if np.isfinite(values).all():
        return [float(end) for end in np.quantile(values, ends)]
    return [float(end) for end in np.quantile(values, ends, method="closest_observation")]


def rank_interval(probability: FloatArray, ends: list[float]) -> tuple[int, int]:
    """Equal-tailed interval of the ranks 1, 2, ..., from their probabilities."""
    reached = np.cumsum(probability)
    # Sums of shares of draws end a rounding error below 1.
    low, high = (int(np.searchsorted(reached, end - 1e-12)) + 1 for end in ends)
    return low, min(high, probability.size)


def ranks_of(
    rates: FloatArray, lower_is_better: bool, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Rank of every arm at every draw (draw, arm), 1 the best; ties in random order."""
    signed = rates if lower_is_better else -rates
    order = np.lexsort((rng.random(rates.shape), signed), axis=-1)
    ranks = np.empty(rates.shape, dtype=np.int64)
    np.put_along_axis(ranks, order, np.arange(1, rates.shape[1] + 1)[None, :], axis=1)
    return ranks
