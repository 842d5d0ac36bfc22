"""Gold layer: gold is the truth, or one more verdict on it that may be wrong.

Fallible gold is a labeler of its own kind: P(gold != truth) = e, the same for both truths, given
the truth independent of the labels. Its log-likelihood joins that of an item's labels, and no truth
is clamped.
"""

import numbers

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pytensor.tensor.variable import TensorVariable

from hero_bayes.likelihoods.gold import gold_log_likelihood

__all__ = ["GoldError", "fallible", "gold_error_rate"]

#: None or 0 (exact), P(gold != truth), or the parameters of its Beta prior.
GoldError = float | tuple[float, float] | None


def gold_error_rate(gold_error: GoldError) -> TensorVariable | None:
    """The error rate of gold as a variable ``gold_error`` of the model on the stack.

    Parameters
    ----------
    gold_error : None, float, or pair of float
        None or 0: gold is the truth. A number in (0, 0.5): P(gold != truth) is known. A pair (a,
        b): it is estimated under a Beta(a, b) prior, cut off at one half, beyond which gold would
        point the wrong way.

    Returns
    -------
    tensor, or None
        Replaceable data where the rate is known, a free variable where it is estimated; None where
        gold is exact. A model with a variable of this name clamps no truth.

    Raises
    ------
    ValueError
        If it is none of these.

    Examples
    --------
    >>> with pm.Model() as model:
    ...     rate = gold_error_rate((2.0, 38.0))
    >>> [rv.name for rv in model.free_RVs]
    ['gold_error']
    """
    if gold_error is None:
        return None
    if np.ndim(gold_error) == 0:
        rate = _known(gold_error)
        return None if rate == 0.0 else pm.Data("gold_error", rate)
    a, b = _beta(gold_error)
    # As float64: PyTensor would hold these constants, and the prior's norm, in single precision.
    prior = pm.Beta.dist(np.float64(a), np.float64(b))
    return pm.Truncated("gold_error", prior, lower=np.float64(0.0), upper=np.float64(0.5))


def fallible(
    class_log_likelihood: TensorVariable, gold: TensorVariable, error: TensorVariable | None
) -> tuple[TensorVariable, TensorVariable]:
    """An item's class log-likelihood with what its gold says, and the gold that is still clamped.

    Parameters
    ----------
    class_log_likelihood : tensor (item, 2)
        log p(labels | truth 0) and log p(labels | truth 1).
    gold : tensor (item,)
        1, 0, or -1 where there is none.
    error : scalar tensor, or None
        From :func:`gold_error_rate`.

    Returns
    -------
    tuple of tensors
        (item, 2) and (item,); as given where gold is exact, else with log P(gold | truth) added,
        and -1 everywhere.
    """
    if error is None:
        return class_log_likelihood, gold
    return class_log_likelihood + gold_log_likelihood(gold, error, pt), pt.full_like(gold, -1)


def _known(rate: object) -> float:
    """A known rate, checked."""
    if isinstance(rate, str | bool | np.bool_) or not isinstance(rate, numbers.Real | np.ndarray):
        raise ValueError(_message(rate))
    value = float(rate)
    if not 0.0 <= value < 0.5:
        raise ValueError(_message(rate))
    return value


def _beta(pair: object) -> tuple[float, float]:
    """The parameters of a Beta prior, checked."""
    values = np.asarray(pair)
    if values.shape != (2,) or values.dtype.kind not in "iuf":
        raise ValueError(_message(pair))
    a, b = (float(value) for value in values)
    if not (0.0 < a <= b < np.inf):
        raise ValueError(_message(pair))
    if b < 0.5:
        raise ValueError(
            f"gold_error={pair!r} looks like one error rate a class; a pair is the parameters of a "
            "Beta prior, such as (2, 38) for about 5 %, and one rate holds for both classes"
        )
    return a, b


def _message(value: object) -> str:
    return (
        "gold_error must be None (gold is exact), a number in [0, 0.5) for a known P(gold != "
        "truth), or a pair (a, b), 0 < a <= b, for a Beta prior of it such as (2, 38); got "
        f"{value!r}"
    )
