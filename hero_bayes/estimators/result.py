"""What an estimator returns."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

Interval = Callable[[float], tuple[float, float]]


@dataclass(frozen=True)
class Estimate:
    """A rate with its uncertainty, and how it was had.

    Attributes
    ----------
    value : float
        The estimated rate.
    standard_error : float
        Its standard error; for the anchored methods it includes the uncertainty of the labeler
        parameters and, where some of them lie at 0 or 1, the distance of the estimate from
        ``details["centre"]``.
    method, group : str
        The method, and the (round, arm) group of the current items.
    estimand : {"prevalence", "item_rate"}
        ``prevalence`` speaks of new items from the same source, ``item_rate`` of the items at hand.
    notes : tuple of str
        What a reader must know: boundary solutions, rates at 0 or 1, covariate shift, labels left
        out.
    details : mapping
        ``boundary`` (None, "lower" or "upper"), ``n_items``, ``rates_at_edge`` (names of the
        labelers' rates at 0 or 1), ``centre`` (of the interval: the estimate at rates moved inside
        (0, 1); the estimate itself where none lies at 0 or 1), and by method ``sensitivity`` and
        ``specificity`` (Series by labeler), ``history_prevalence``, ``gamma`` (Series by
        covariate), ``iterations``, ``converged``, ``labels_left_out`` and others.
    """

    value: float
    standard_error: float
    method: str
    estimand: str
    group: str
    notes: tuple[str, ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict)
    _interval: Interval = field(repr=False, compare=False, default=lambda prob: (0.0, 1.0))

    def interval(self, prob: float = 0.95) -> tuple[float, float]:
        """Confidence interval, always inside [0, 1].

        Parameters
        ----------
        prob : float
            Nominal coverage, in (0, 1).

        Returns
        -------
        tuple of float
            Lower and upper limit.

        Raises
        ------
        ValueError
            If ``prob`` is not in (0, 1).
        """
        if not 0.0 < prob < 1.0:
            raise ValueError(f"prob must lie between 0 and 1, got {prob!r}")
        return self._interval(prob)

    def __str__(self) -> str:
        low, high = self.interval()
        text = (
            f"{self.method} ({self.group}): {self.value:.4f}, standard error "
            f"{self.standard_error:.4f}, 95 % interval {low:.4f} to {high:.4f} [{self.estimand}]"
        )
        return "\n".join([text, *(f"  note: {note}" for note in self.notes)])
