"""Correct generations of a prompt whose chance of success is Beta distributed over prompts.

A prompt's P(correct) is q ~ Beta(m f, (1 - m) f) with mean m and f = (1 - icc) / icc. Everything is
written with rho = icc / (1 - icc) = 1 / f, so that icc = 0 (all prompts alike) is nothing
special. Every function takes the array namespace ``xp`` (``numpy`` or ``pytensor.tensor``).
"""

from typing import Any

import numpy as np

from hero_bayes.likelihoods.latent_class import EDGE

#: Added to the probability of a count before its logarithm.
TINY = 1e-300
#: Log-weight of a count that a prompt cannot have.
IMPOSSIBLE = -1e30


def beta_parameters(mean: Any, icc: Any) -> tuple[Any, Any]:
    """The two parameters of a Beta with this mean and icc, kept where it can be drawn from.

    For numpy arrays.
    """
    bounded = np.clip(icc, EDGE, 1.0 - EDGE)
    total = (1.0 - bounded) / bounded
    tiny = np.finfo(float).tiny
    return np.maximum(mean * total, tiny), np.maximum((1.0 - mean) * total, tiny)


def rising_logs(mean: Any, icc: Any, k_max: int, xp: Any) -> tuple[Any, Any, Any]:
    """Logs of the rising products that make up a beta-binomial probability.

    Parameters
    ----------
    mean, icc : array (...)
        Mean of P(correct), and its intraclass correlation Var(q) / (mean (1 - mean)).
    k_max : int
        The largest number of generations.
    xp : module

    Returns
    -------
    tuple of arrays (..., k_max + 1)
        Entry c of the three: sum over j < c of log(m + j rho), of log(1 - m + j rho), and of
        log(1 + j rho). The chance of a given order of c successes in k generations is
        exp(first[c] + second[k - c] - third[k]).
    """
    mean = xp.clip(mean, EDGE, 1.0 - EDGE)[..., None]
    bounded = xp.clip(icc, 0.0, 1.0 - EDGE)
    step = (bounded / (1.0 - bounded))[..., None] * np.arange(k_max)
    zero = 0.0 * mean
    return tuple(
        xp.concatenate([zero, xp.cumsum(terms, axis=-1)], axis=-1)
        for terms in (xp.log(mean + step), xp.log(1.0 - mean + step), xp.log1p(step))
    )


def count_log_probability(n_correct: Any, k: Any, row: Any, logs: tuple[Any, Any, Any]) -> Any:
    """Log-probability of one given order of ``n_correct`` successes among ``k``.

    Parameters
    ----------
    n_correct, k : int array (cell)
    row : int array (cell)
        Which row of the tables a cell uses.
    logs : tuple of arrays (row, k_max + 1)
        From :func:`rising_logs`.
    """
    first, second, third = logs
    return first[row, n_correct] + second[row, k - n_correct] - third[row, k]


def count_weights(k: Any, row: Any, logs: tuple[Any, Any, Any], width: int, xp: Any) -> Any:
    """:func:`count_log_probability` of every count 0..width of each prompt, (prompt, width + 1).

    Counts above a prompt's own k get a weight that no sum notices.
    """
    first, second, third = logs
    count = np.arange(width + 1)[None, :]
    rest = k[:, None] - count
    total = first[row] + second[row[:, None], xp.maximum(rest, 0)] - third[row, k][:, None]
    return xp.where(rest >= 0, total, IMPOSSIBLE)


def success_counts(chance: Any, width: int, xp: Any) -> Any:
    """Distribution of the number of successes of independent events (Poisson-binomial).

    Parameters
    ----------
    chance : array (prompt, width)
        Probability of each event; 0 where a prompt has fewer.
    width : int
        A power of two.
    xp : module

    Returns
    -------
    array (prompt, width + 1)

    Notes
    -----
    The polynomials 1 - p + p x are multiplied in pairs, so that the graph has log2(width) steps.
    """
    polynomial = xp.stack([1.0 - chance, chance], axis=-1)
    degree, n_factors = 1, width
    while n_factors > 1:
        n_factors //= 2
        left, right = polynomial[:, 0::2], polynomial[:, 1::2]
        outer = left[..., :, None] * right[..., None, :]
        size = degree + 1
        product = outer.reshape((-1, size * size)) @ _collect(size)
        degree *= 2
        polynomial = product.reshape((-1, n_factors, degree + 1))
    return polynomial[:, 0]


def _collect(size: int) -> Any:
    """Matrix that adds the products of coefficients a and b into coefficient a + b."""
    collect = np.zeros((size * size, 2 * size - 1))
    a, b = np.divmod(np.arange(size * size), size)
    collect[np.arange(size * size), a + b] = 1.0
    return collect
