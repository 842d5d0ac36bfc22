"""The gate's rule of fits that are drawn exactly: the labels must have been calibrated."""

import xarray as xr

from hero_bayes.inference.gate_rules import Check

#: What falls short, by the kind of shortfall that a fit records.
TITLES = {
    "gold": "gold of the scarcer class in history",
    "labelers": "current labelers known from history",
    "rounds": "rounds with labels alike enough to calibrate",
}


def calibration_check(fit: xr.DataTree) -> list[Check]:
    """Labels that could not be calibrated decide nothing, however wide the interval."""
    if "shortfall" not in fit.attrs:
        return []
    title = TITLES[str(fit.attrs["shortfall_kind"])]
    limit = f">= {int(fit.attrs['shortfall_fewest'])}"
    return [
        Check(title, float(fit.attrs["shortfall_value"]), limit, False, str(fit.attrs["shortfall"]))
    ]
