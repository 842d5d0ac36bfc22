"""A transport sweep as a flat table."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

__all__ = ["COLUMNS", "sweep_table"]

#: What a row says of the rate; the last two are missing without a rule.
ANSWERS = ("mean", "lower", "median", "upper", "probability", "decision")
COLUMNS = ("kind", "shift_sensitivity", "shift_specificity", "drift_sd", *ANSWERS)
COMMON, OWN = "all labelers alike", "each labeler on its own"


def sweep_table(sweep: "xr.Dataset") -> "pd.DataFrame":
    """One row a point of the sweep.

    Parameters
    ----------
    sweep : xarray.Dataset
        From ``hb.transport_sensitivity``.

    Returns
    -------
    DataFrame
        ``kind`` (all labelers alike, or each on its own), the shifts or the standard deviation of
        shifts (logit scale), and mean, 95 % interval, median, probability and decision there.
    """
    import pandas as pd

    rows: list[dict[str, Any]] = []
    axes = ("shift_sensitivity", "shift_specificity")
    for i, first in enumerate(sweep[axes[0]].to_numpy()):
        for j, second in enumerate(sweep[axes[1]].to_numpy()):
            place = dict(zip(axes, (i, j), strict=True))
            where = {axes[0]: float(first), axes[1]: float(second)}
            rows.append({"kind": COMMON, **where, **answers(sweep, "", place)})
    for k, spread in enumerate(sweep["drift_sd"].to_numpy()):
        where = {"drift_sd": float(spread)}
        rows.append({"kind": OWN, **where, **answers(sweep, "drift_", {"drift_sd": k})})
    return pd.DataFrame(rows, columns=list(COLUMNS))


def answers(sweep: "xr.Dataset", prefix: str, place: dict[str, int]) -> dict[str, Any]:
    """What one point of the sweep says."""
    at = sweep.isel(place)
    low, middle, high = (float(q) for q in at[f"{prefix}quantiles"].to_numpy())
    found: dict[str, Any] = {"mean": float(at[f"{prefix}mean"])}
    found |= {"lower": low, "median": middle, "upper": high}
    if f"{prefix}probability" in at:
        found["probability"] = float(at[f"{prefix}probability"])
        found["decision"] = str(at[f"{prefix}decision"].to_numpy())
    return found
