"""Transport layer ``drift``: labelers err in the current round nearly as they did in history."""

import pymc as pm
import pytensor.tensor as pt
from pytensor.tensor.variable import TensorVariable

from hero_bayes.models.independent import LabelerRates
from hero_bayes.models.priors import number, positive_scale


def drift(
    history: LabelerRates,
    shift_sensitivity: float = 0.0,
    shift_specificity: float = 0.0,
    spread: float = 0.25,
    *,
    shift_prior: float | None = None,
    spread_prior: float | None = None,
) -> LabelerRates:
    """Logits of sensitivity and specificity move by d_j ~ Normal(D, t^2) between the rounds.

    Parameters
    ----------
    history : LabelerRates
        The rates of history, (labeler,).
    shift_sensitivity, shift_specificity : float
        D, the shift that all labelers share, on the logit scale; fixed, or the mean of its prior.
    spread : float
        t, the standard deviation of the labelers' own moves; used where ``spread_prior`` is None.
    shift_prior : float, optional
        Standard deviation of a normal prior of D; None keeps D fixed.
    spread_prior : float, optional
        Scale of a half-normal prior of t; None keeps t fixed.

    Returns
    -------
    LabelerRates
        The rates of the current round, registered as ``current_sensitivity`` and
        ``current_specificity`` (labeler).

    Notes
    -----
    Without gold in the current round nothing in a cut fit informs D, t and the moves: they keep
    their prior and widen the posterior of the current rate by what the drift may do.
    """
    width: float | TensorVariable = number("spread", spread, 0.0)
    if spread_prior is not None:
        width = pm.HalfNormal("drift_spread", positive_scale("spread_prior", spread_prior))
    moved = {}
    for name, rate, shift in (
        ("sensitivity", history.sensitivity, shift_sensitivity),
        ("specificity", history.specificity, shift_specificity),
    ):
        common: float | TensorVariable = number(f"shift_{name}", shift)
        if shift_prior is not None:
            sd = positive_scale("shift_prior", shift_prior)
            common = pm.Normal(f"drift_shift_{name}", common, sd)
        offset = pm.Normal(f"drift_offset_{name}", 0.0, 1.0, dims="labeler")
        logit = pt.log(rate) - pt.log1p(-rate)
        moved[name] = pm.Deterministic(
            f"current_{name}", pm.math.sigmoid(logit + common + width * offset), dims="labeler"
        )
    return LabelerRates(moved["sensitivity"], moved["specificity"])
