"""Two latent classes: label probabilities, class log-likelihood, and the sum over the unseen truth.

Every function takes the array namespace ``xp`` (``numpy`` or ``pytensor.tensor``), so that the
graph and the numbers computed afterwards from its draws come from one formula.
"""

from typing import Any

#: Probabilities inside a logarithm stay this far from 0 and 1.
EDGE = 1e-12


def label_log_probabilities(sensitivity: Any, specificity: Any, xp: Any) -> tuple[Any, Any]:
    """Log-probability of each label of each labeler, given either truth.

    Parameters
    ----------
    sensitivity, specificity : array (..., labeler)
        P(label 1 | truth 1) and P(label 0 | truth 0).
    xp : module
        ``numpy`` or ``pytensor.tensor``.

    Returns
    -------
    tuple of arrays (..., 2 * labeler)
        Log-probabilities given truth 0 and given truth 1; the labelers' label 0 first, then their
        label 1: the column order of :func:`hero_bayes.data.counts.label_counts`.
    """
    sensitivity = xp.clip(sensitivity, EDGE, 1.0 - EDGE)
    specificity = xp.clip(specificity, EDGE, 1.0 - EDGE)
    if_negative = xp.concatenate([xp.log(specificity), xp.log1p(-specificity)], axis=-1)
    if_positive = xp.concatenate([xp.log1p(-sensitivity), xp.log(sensitivity)], axis=-1)
    return if_negative, if_positive


def mixture_log_likelihood(class_log_likelihood: Any, log_prior: Any, gold: Any, xp: Any) -> Any:
    """Log-likelihood of each item's labels and gold, summed over the truth where gold is missing.

    Parameters
    ----------
    class_log_likelihood : array (item, 2)
        log p(labels | truth 0) and log p(labels | truth 1).
    log_prior : array (item, 2)
        log P(truth 0) and log P(truth 1).
    gold : array (item,) of int
        1, 0, or -1 where there is none.
    xp : module
        ``numpy`` or ``pytensor.tensor``.

    Returns
    -------
    array (item,)
        log sum_y P(y) p(labels | y), the sum being over the gold class alone where gold is known.
    """
    joint = class_log_likelihood + log_prior
    unseen = xp.logaddexp(joint[..., 0], joint[..., 1])
    known = xp.where(xp.equal(gold, 1), joint[..., 1], joint[..., 0])
    return xp.where(xp.less(gold, 0), unseen, known)
