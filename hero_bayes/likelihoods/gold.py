"""Gold that may be wrong: how likely a gold label is, given the truth.

The function takes the array namespace ``xp`` (``numpy`` or ``pytensor.tensor``), so that the graph
and the numbers computed outside it come from one formula.
"""

from typing import Any

__all__ = ["gold_log_likelihood"]


def gold_log_likelihood(gold: Any, error: Any, xp: Any) -> Any:
    """Log P(gold | truth 0) and log P(gold | truth 1) of each item; zeros where there is no gold.

    Parameters
    ----------
    gold : array (item,)
        1, 0, or -1 where there is none.
    error : scalar in (0, 1/2]
        e = P(gold != truth), the same for both truths.
    xp : module
        ``numpy`` or ``pytensor.tensor``.

    Returns
    -------
    array (item, 2)
        log(1 - e) where gold is the truth of the column, log e where it is not.

    Examples
    --------
    >>> import numpy as np
    >>> gold_log_likelihood(np.array([1, 0, -1]), 0.1, np).round(2).tolist()
    [[-2.3, -0.11], [-0.11, -2.3], [0.0, 0.0]]
    """
    right, wrong = xp.log1p(-error), xp.log(error)
    terms = [
        xp.where(xp.less(gold, 0), 0.0, xp.where(xp.equal(gold, truth), right, wrong))
        for truth in (0, 1)
    ]
    return xp.stack(terms, axis=-1)
