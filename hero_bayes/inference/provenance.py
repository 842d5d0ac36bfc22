"""Whether a fit and the tables passed with it belong together."""

import xarray as xr

from hero_bayes.data.arguments import need_labels
from hero_bayes.data.labels import Labels
from hero_bayes.errors import DataError


def check_same_data(fit: xr.DataTree, history: Labels, current: Labels) -> None:
    """Compare the fingerprints of the tables with those that the fit recorded.

    Raises
    ------
    DataError
        If a table is not the one that was fitted, or ``fit`` is no fit.
    """
    if not isinstance(fit, xr.DataTree):
        raise DataError(f"expected a fit, got {type(fit).__name__}; pass what hb.fit returned")
    for role, labels in (("history", history), ("current", current)):
        need_labels(**{role: labels})
        recorded = fit.attrs.get(f"{role}_fingerprint")
        if recorded is None:
            raise DataError("the tree has no data fingerprint; pass what hb.fit returned")
        if recorded != labels.fingerprint:
            raise DataError(
                f"the {role} table is not the one this fit was made from (fingerprint "
                f"{labels.fingerprint[:12]}, the fit has {recorded[:12]}); pass the same Labels, "
                "or fit again"
            )
