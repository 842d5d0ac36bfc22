"""Outcome layer ``prevalence``: every (round, arm) group has a rate of its own."""

import pymc as pm
import pytensor.tensor as pt
from pytensor.tensor.variable import TensorVariable


def prevalence(name: str, dim: str, prior: tuple[float, float] = (1.0, 1.0)) -> TensorVariable:
    """P(truth 1) of each group, m_g ~ Beta(prior).

    Parameters
    ----------
    name, dim : str
        Name of the variable, and the group dimension it runs over.
    prior : tuple of float
        The two parameters of the Beta prior; (1, 1) is flat.

    Returns
    -------
    TensorVariable (group,)
    """
    return pm.Beta(name, prior[0], prior[1], dims=dim)


def log_class_prior(rate: TensorVariable, group_idx: TensorVariable) -> TensorVariable:
    """Log P(truth 0) and log P(truth 1) of each item, (item, 2), from its group's rate."""
    return pt.stack([pt.log1p(-rate), pt.log(rate)], axis=-1)[group_idx]
