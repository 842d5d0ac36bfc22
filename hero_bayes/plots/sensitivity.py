"""The sweep over changes of the labelers as a picture."""

from typing import TYPE_CHECKING

import numpy as np

from hero_bayes.errors import DataError

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["plot_transport"]

#: Okabe and Ito's colours, told apart with all common kinds of colour blindness.
COLOURS = {"sensitivity": "#0072B2", "specificity": "#D55E00"}
STYLES = {"sensitivity": "-", "specificity": "--"}


def plot_transport(sweep: "xr.Dataset") -> "Figure":
    """P(rule), or the mean rate, over changes of sensitivity and specificity.

    Parameters
    ----------
    sweep : xarray.Dataset
        From ``hb.transport_sensitivity``.

    Returns
    -------
    matplotlib.figure.Figure
        Left a heat map over both shifts, with a cross at no shift, lines where the decision of the
        rule changes and rings at the tipping points; right the lines of either shift alone. Save
        with ``.savefig(path)``.

    Raises
    ------
    DataError
        If ``sweep`` is no such sweep, or its grid has a single point in one direction.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    needed = {"shift_sensitivity", "shift_specificity"}
    if not needed <= set(sweep.dims) or "mean" not in sweep:
        raise DataError("the dataset is no sweep; pass what hb.transport_sensitivity returned")
    if min(sweep.sizes[name] for name in needed) < 2:
        raise DataError("the grid has a single shift in one direction: nothing to draw over it")
    figure = Figure(figsize=(10.0, 4.4), layout="constrained")
    FigureCanvasAgg(figure)
    left, right = figure.subplots(1, 2, width_ratios=(1.1, 1.0))
    ruled = "probability" in sweep
    name = "probability" if ruled else "mean"
    label = str(sweep.attrs["target"])
    if ruled:
        label = "probability of the rule's event"
        figure.suptitle(str(sweep.attrs["rule"]), fontsize="medium")
    _heat_map(left, sweep, name, label)
    _lines(right, sweep, name, label)
    return figure


def _heat_map(axes: "Axes", sweep: "xr.Dataset", name: str, label: str) -> None:
    """Colour by probability (or mean), decisions bounded by lines."""
    x, y = (sweep[f"shift_{rate}"].to_numpy() for rate in ("sensitivity", "specificity"))
    values = sweep[name].transpose("shift_specificity", "shift_sensitivity").to_numpy()
    low, high = (0.0, 1.0) if name == "probability" else (values.min(), values.max())
    mesh = axes.pcolormesh(
        x, y, values, shading="nearest", cmap="cividis", vmin=float(low), vmax=float(high)
    )
    axes.figure.colorbar(mesh, ax=axes, label=label)
    if name == "probability":
        needed = asked(sweep)
        levels = sorted({level for level in (1.0 - needed, needed) if 0.0 < level < 1.0})
        if levels and values.min() < levels[-1] and values.max() > levels[0]:
            lines = axes.contour(x, y, values, levels=levels, colors="white", linewidths=1.2)
            axes.clabel(lines, fmt="%.2g", fontsize="small")
        for direction, point in zip(*tips(sweep), strict=True):
            at = (point, 0.0) if direction.startswith("sensitivity") else (0.0, point)
            axes.plot(*at, "o", mfc="none", mec="white", ms=9, mew=1.8)
    axes.plot(0.0, 0.0, "+", color="white", ms=11, mew=1.8)
    axes.set_xlabel("shift of sensitivity (logit)")
    axes.set_ylabel("shift of specificity (logit)")


def _lines(axes: "Axes", sweep: "xr.Dataset", name: str, label: str) -> None:
    """Either shift alone."""
    zero = {f"shift_{rate}": 0.0 for rate in COLOURS}
    for rate, colour in COLOURS.items():
        other = {k: v for k, v in zero.items() if k != f"shift_{rate}"}
        line = sweep.sel(other)
        x = sweep[f"shift_{rate}"].to_numpy()
        axes.plot(x, line[name].to_numpy(), STYLES[rate], color=colour, label=rate)
        if name == "mean":
            low, high = line["quantiles"].isel(quantile=[0, -1]).to_numpy().T
            axes.fill_between(x, low, high, color=colour, alpha=0.15, lw=0)
        else:
            for direction, point in zip(*tips(sweep), strict=True):
                if direction.startswith(rate):
                    axes.axvline(point, color=colour, ls=":", lw=1.2)
    if name == "probability":
        needed = asked(sweep)
        for level in {needed, 1.0 - needed}:
            axes.axhline(level, color="#777777", lw=0.8)
        axes.set_ylim(-0.02, 1.02)
    axes.set_xlabel("shift of one rate alone (logit)")
    axes.set_ylabel(label)
    axes.legend(frameon=False)


def asked(sweep: "xr.Dataset") -> float:
    """The probability that the rule asks for."""
    return float(sweep.attrs["rule_probability"])


def tips(sweep: "xr.Dataset") -> tuple[list[str], list[float]]:
    """Directions with a tipping point, and the points."""
    if "tipping_point" not in sweep:
        return [], []
    points = sweep["tipping_point"].to_numpy()
    found = np.isfinite(points)
    names = [str(name) for name in sweep["direction"].to_numpy()[found]]
    return names, [float(point) for point in points[found]]
