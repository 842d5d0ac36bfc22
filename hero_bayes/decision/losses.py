"""Expected losses of shipping and holding, on weighted draws."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["Losses", "expected_losses"]

BoolArray = NDArray[np.bool_]


@dataclass(frozen=True)
class Losses:
    """Expected losses of the two actions.

    Attributes
    ----------
    ship, hold : float
        Of shipping, and of holding, under what is known now.
    evpi : float
        Expected value of perfect information: what knowing the truth before acting would save.
    """

    ship: float
    hold: float
    evpi: float

    @property
    def best(self) -> str:
        """The action with the smaller expected loss; holding where they are equal."""
        return "ship" if self.ship < self.hold else "hold"

    @property
    def smallest(self) -> float:
        """The smaller of the two."""
        return min(self.ship, self.hold)


def expected_losses(
    loss_ship: ArrayLike, loss_hold: ArrayLike, weight: ArrayLike | None = None
) -> Losses:
    """Average two losses over draws, or over the nodes of a quadrature.

    Parameters
    ----------
    loss_ship, loss_hold : array (draw)
        What either action costs if the draw is the truth.
    weight : array (draw), optional
        Weights of the draws; default: even.

    Notes
    -----
    EVPI = min over actions of E[loss] - E[min over actions of loss] [1]_. Where an action costs
    L_ship if the event is false, the other L_hold if it is true, and both nothing otherwise, this
    is min(L_ship (1 - P), L_hold P).

    References
    ----------
    .. [1] Raiffa, H., Schlaifer, R. (1961). Applied Statistical Decision Theory. Harvard.

    Examples
    --------
    >>> expected_losses([0.0, 5.0], [1.0, 0.0], weight=[0.9, 0.1])
    Losses(ship=0.5, hold=0.9, evpi=0.5)
    """
    ship, hold = np.asarray(loss_ship, dtype=float), np.asarray(loss_hold, dtype=float)
    even = np.full(ship.shape, 1.0)
    share = even if weight is None else np.asarray(weight, dtype=float)
    share = share / share.sum()
    means = float(share @ ship), float(share @ hold)
    known = float(share @ np.minimum(ship, hold))
    return Losses(*means, evpi=max(min(means) - known, 0.0))
