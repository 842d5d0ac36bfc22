"""Correlation of labelers' errors as a heat map."""

from typing import TYPE_CHECKING

import numpy as np

from hero_bayes.errors import DataError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from hero_bayes.agreement.result import Dependence

__all__ = ["plot_dependence"]

#: Labelers above which names are left out of the axes.
NAMED = 45
#: Labelers up to which the numbers are written into the cells.
WRITTEN = 12


def plot_dependence(dep: "Dependence") -> "Figure":
    """Correlation of every pair of labelers' errors, given the truth.

    Parameters
    ----------
    dep : Dependence
        From ``hb.dependence``.

    Returns
    -------
    matplotlib.figure.Figure
        Blue: they err on the same items; red: on different ones; grey: no correlation could be had
        (the table says why). Save with ``.savefig(path)``.

    Raises
    ------
    DataError
        If the table has no pair.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    if dep.table.empty:
        raise DataError("the table of pairs is empty: nothing to draw")
    names = list(dict.fromkeys([*dep.table["labeler_a"], *dep.table["labeler_b"]]))
    position = {name: k for k, name in enumerate(names)}
    grid = np.full((len(names), len(names)), np.nan)
    a = dep.table["labeler_a"].map(position).to_numpy()
    b = dep.table["labeler_b"].map(position).to_numpy()
    grid[a, b] = grid[b, a] = dep.table["correlation"].to_numpy()
    side = 2.2 + 0.24 * min(len(names), NAMED)
    figure = Figure(figsize=(side + 0.8, side), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    axes.set_facecolor("#DDDDDD")
    image = axes.imshow(grid, cmap="RdBu", vmin=-1.0, vmax=1.0, interpolation="nearest")
    bar = figure.colorbar(image, ax=axes, shrink=0.8)
    bar.set_label("correlation of errors, given the truth")
    if len(names) <= NAMED:
        axes.set_xticks(range(len(names)), names, rotation=90, fontsize="small")
        axes.set_yticks(range(len(names)), names, fontsize="small")
    else:
        axes.set_xlabel(f"{len(names)} labelers")
        axes.set_xticks([])
        axes.set_yticks([])
    if len(names) <= WRITTEN:
        for i, j in np.argwhere(np.isfinite(grid)):
            colour = "white" if abs(grid[i, j]) > 0.6 else "black"
            text = f"{grid[i, j]:.2f}"
            axes.text(j, i, text, ha="center", va="center", color=colour, fontsize="x-small")
    axes.set_title(dep.sentence, fontsize="medium")
    return figure
