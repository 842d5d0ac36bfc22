"""How often keys are wrong, where hard prompts can look just the same."""

import numbers
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaln
from scipy.stats import beta

from hero_bayes.errors import DataError

__all__ = ["LOOK_ALIKE", "FlagRate", "pair_of"]

#: Beta prior of the rate of prompts that look exactly like one with a wrong key.
LOOK_ALIKE = (1.0, 99.0)
#: Rates stay between these.
LOWEST, HIGHEST = 1e-4, 0.45
#: And below this quantile of the prior of wrong keys.
LAST_QUANTILE = 0.995
#: Gauss-Legendre nodes and weights on (0, 1).
NODE, WEIGHT = (
    (np.polynomial.legendre.leggauss(80)[0] + 1.0) / 2.0,
    np.polynomial.legendre.leggauss(80)[1] / 2.0,
)

FloatArray = NDArray[np.float64]


def pair_of(value: Any, name: str) -> tuple[float, float]:
    """Return two numbers as floats; DataError if the value is anything else."""
    numeric = isinstance(value, tuple | list) and all(isinstance(x, numbers.Real) for x in value)
    if not numeric or len(value) != 2:
        raise DataError(f"{name}={value!r}: give two numbers, as in (1.0, 19.0)")
    return float(value[0]), float(value[1])


@dataclass(frozen=True)
class FlagRate:
    """The rate t = wrong + alike of prompts that look as if the key were wrong.

    Data inform t alone; what part of it is wrong keys, only the two priors say:
    wrong ~ Beta(prior), alike ~ Beta(look_alike), independent.

    Attributes
    ----------
    prior, look_alike : tuple of float
        Beta parameters, the first one at least 1.
    """

    prior: tuple[float, float]
    look_alike: tuple[float, float] = LOOK_ALIKE

    def __post_init__(self) -> None:
        for name in ("prior", "look_alike"):
            first, second = pair_of(getattr(self, name), name)
            if not (1.0 <= first < np.inf and 0.0 < second < np.inf):
                raise DataError(
                    f"{name} = ({first!r}, {second!r}) must be Beta parameters, the first one at "
                    "least 1; (1, 19) says that one key in twenty is wrong"
                )

    @property
    def highest(self) -> float:
        """Largest rate considered.

        Without an end, models that are mostly wrong in the same way would turn the tables: their
        answers right, most keys wrong.
        """
        return float(beta.ppf(LAST_QUANTILE, *self.prior))

    def _parts(self, total: float) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Nodes of the wrong part, their joint log density, weights, and slope in t."""
        part, weight = NODE, WEIGHT
        (a, b), (c, d) = self.prior, self.look_alike
        wrong, alike = part * total, (1.0 - part) * total
        log_density = (
            (a - 1.0) * np.log(wrong)
            + (b - 1.0) * np.log1p(-wrong)
            + (c - 1.0) * np.log(alike)
            + (d - 1.0) * np.log1p(-alike)
            - betaln(a, b)
            - betaln(c, d)
            + np.log(total)
        )
        slope = (
            (a + c - 1.0) / total
            - (b - 1.0) * part / (1.0 - wrong)
            - (d - 1.0) * (1.0 - part) / (1.0 - alike)
        )
        return part, log_density, weight, slope

    def log_density(self, total: float) -> tuple[float, float]:
        """Log prior density of t, and its derivative."""
        _, log_density, weight, slope = self._parts(total)
        mass = weight * np.exp(log_density - log_density.max())
        value = float(np.log(mass.sum()) + log_density.max())
        return value, float((mass * slope).sum() / mass.sum())

    def wrong_share(self, total: float) -> float:
        """Expected part of t that is wrong keys.

        Examples
        --------
        >>> FlagRate((1.0, 1.0), (1.0, 1.0)).wrong_share(0.2)
        0.5
        """
        part, log_density, weight, _ = self._parts(total)
        mass = weight * np.exp(log_density - log_density.max())
        return round(float((mass * part).sum() / mass.sum()), 12)

    def draw_share(self, total: float, uniform: FloatArray) -> FloatArray:
        """Quantiles of that part at ``uniform``."""
        part, log_density, weight, _ = self._parts(total)
        mass = weight * np.exp(log_density - log_density.max())
        return np.interp(uniform * mass.sum(), np.cumsum(mass) - mass / 2.0, part)
