"""The data map as a figure: P(correct) against consistency."""

from typing import TYPE_CHECKING

import pandas as pd

from hero_bayes.data.identifiers import some
from hero_bayes.difficulty.mapping import PAPER_RULE
from hero_bayes.errors import DataError
from hero_bayes.plots.curves import plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["plot_data_map"]

NEEDED = ("model", "p_hat", "p_low", "p_high", "S", "S_low", "S_high", "region")
#: Okabe and Ito's colours, told apart with all common kinds of colour blindness; shapes differ too.
ENDS = ("S_low", "S_high")
LOOKS = {
    "easy": ("#0072B2", "o"),
    "mixed": ("#56B4E9", "s"),
    "hard": ("#E69F00", "^"),
    "review": ("#D55E00", "D"),
}


def plot_data_map(
    table: pd.DataFrame, model: str | None = None, ax: "Axes | None" = None
) -> "Figure":
    """P(correct) of every prompt against how alike the answers are, one panel a model.

    Parameters
    ----------
    table : DataFrame
        From ``hb.difficulty.data_map``.
    model : str, optional
        Only this model.
    ax : matplotlib Axes, optional
        Draw into this one; the table must then be of one model.

    Returns
    -------
    matplotlib.figure.Figure
        Points with light intervals, larger where prompts coincide; the region
        of the review rule (p_hat <= 0.1 and S >= -0.8) is shaded. A model without answers has an
        empty panel that says so. Save with ``.savefig(path)``.

    Raises
    ------
    DataError
        If columns are missing, no row has a consistency, or there is no such model.
    """
    missing = [name for name in NEEDED if name not in table]
    if missing:
        raise DataError(f"the table lacks columns {', '.join(missing)}: pass what data_map returns")
    names = list(dict.fromkeys(table["model"].astype(str)))
    if model is not None and model not in names:
        raise DataError(f"no model {model!r}; there are {some(names, 20)}")
    shown = names if model is None else [model]
    rows = table[table["model"].astype(str).isin(shown) & table["S"].notna()]
    if rows.empty:
        raise DataError("no row has a consistency S: the data map needs answers")
    if ax is not None:
        if len(shown) > 1:
            raise DataError(f"one axes for {len(shown)} models: choose one with model=")
        _panel(ax, rows, shown[0])
        figure = ax.get_figure(root=True)
        assert figure is not None
        return figure
    return _panels(rows, shown)


def _panels(rows: pd.DataFrame, shown: list[str]) -> "Figure":
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    across = min(3, len(shown))
    down = -(-len(shown) // across)
    figure = Figure(figsize=(0.8 + 4.2 * across, 0.4 + 3.8 * down), layout="constrained")
    FigureCanvasAgg(figure)
    grid = figure.subplots(down, across, sharex=True, sharey=True, squeeze=False).ravel()
    for axes, name in zip(grid, shown, strict=False):
        _panel(axes, rows[rows["model"].astype(str) == name], name)
    for axes in grid[len(shown) :]:
        axes.set_axis_off()
    grid[0].legend(frameon=False, fontsize="small", loc="lower right", markerscale=0.5)
    return figure


def _panel(axes: "Axes", rows: pd.DataFrame, name: str) -> None:
    p_max, s_min = PAPER_RULE
    lowest = s_min - 0.2
    if rows.empty:
        axes.text(0.5, s_min / 2, "no answers, so no S", ha="center", va="center")
    else:
        lowest = min(1.05 * float(rows["S"].min()), lowest)
    axes.fill_between(
        [-0.02, p_max], s_min, 0.05, color="#D55E00", alpha=0.12, lw=0, label="review rule"
    )
    for region, (colour, marker) in LOOKS.items():
        part = rows[rows["region"] == region]
        if part.empty:
            continue
        # with few generations many prompts share one place: one point, as large as they are many
        place = part.groupby(["p_hat", "S"], as_index=False)
        spots = place.agg(
            n=("S", "size"), **{name: (name, "mean") for name in ("p_low", "p_high", *ENDS)}
        )
        for lines in (
            axes.hlines(spots["S"], spots["p_low"], spots["p_high"]),
            axes.vlines(spots["p_hat"], spots["S_low"], spots["S_high"]),
        ):
            lines.set(color=colour, alpha=0.15, linewidth=0.8, zorder=1)
        axes.scatter(
            spots["p_hat"],
            spots["S"],
            s=6.0 + 3.0 * spots["n"],
            marker=marker,
            color=colour,
            alpha=0.6,
            lw=0,
            label=region,
            zorder=2,
        )
    axes.set_xlim(-0.02, 1.02)
    axes.set_ylim(lowest, 0.05)
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_xlabel("P(correct)")
    axes.set_ylabel("consistency S of the answers")
    axes.set_title(plain(name), fontsize="medium")
