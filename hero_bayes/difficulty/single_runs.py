"""How far single runs of a benchmark lie apart when generations are exchangeable."""

from functools import cache

import numpy as np
from scipy import special

from hero_bayes.difficulty.prompt_means import whole_numbers

__all__ = ["normal_range", "single_run_spread"]


def single_run_spread(mu: float, sigma: float, n: int, runs: int = 50) -> float:
    """Best minus worst of several single runs, as expected of exchangeable generations.

    Parameters
    ----------
    mu, sigma : float
        Mean of P(correct) over prompts, and its standard deviation.
    n : int
        Prompts in a run.
    runs : int
        Number of runs, at least 2.

    Returns
    -------
    float
        E[range of that many standard normals] x sqrt((mu - mu^2 - sigma^2) / n).

    Raises
    ------
    ValueError
        If no law on [0, 1] has this mean and standard deviation.

    Examples
    --------
    >>> round(single_run_spread(mu=0.856, sigma=0.244, n=1319), 3)
    0.031
    """
    within = mu - mu**2 - sigma**2
    if not (0.0 <= mu <= 1.0 and sigma >= 0.0 and within >= 0.0):
        raise ValueError(
            f"no chance of success has mean {mu!r} and standard deviation {sigma!r}: "
            "sigma^2 is at most mu (1 - mu)"
        )
    (n,) = whole_numbers(n, "n")
    return float(normal_range(runs)[0] * (within / n) ** 0.5)


@cache
def normal_range(count: int) -> tuple[float, float]:
    """Mean and standard deviation of the range of ``count`` independent standard normals.

    Notes
    -----
    P(range <= w) = count x integral of phi(x) (Phi(x + w) - Phi(x))^(count - 1) dx, by the
    trapezoid rule in x and Gauss-Legendre quadrature in w.

    Examples
    --------
    >>> [round(value, 4) for value in normal_range(2)]  # 2 / sqrt(pi), sqrt(2 - 4 / pi)
    [1.1284, 0.8525]
    """
    if count < 2:
        raise ValueError(f"a range needs at least 2 values, got {count!r}")
    x, step = np.linspace(-10.0, 10.0, 801, retstep=True)
    nodes, weights = np.polynomial.legendre.leggauss(200)
    width, weights = 10.0 * (nodes + 1.0), 10.0 * weights
    inside = special.ndtr(x[:, None] + width) - special.ndtr(x)[:, None]
    density = np.exp(-0.5 * x**2) * float(step) / np.sqrt(2.0 * np.pi)
    above = 1.0 - count * (density @ inside ** (count - 1))
    mean, square = float(weights @ above), float(weights @ (2.0 * width * above))
    return mean, (square - mean**2) ** 0.5
