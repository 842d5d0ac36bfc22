"""Curves: the law of P(correct) across prompts, and standard error against k."""

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from hero_bayes.errors import DataError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["plain", "plot_density", "plot_k_curve"]

#: Okabe and Ito's colours, told apart with all common kinds of colour blindness; line styles too.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
STYLES = ("-", "--", "-.", ":")


def plot_density(table: pd.DataFrame) -> "Figure":
    """Density of P(correct) across prompts with its band, one line a model (and source).

    Parameters
    ----------
    table : DataFrame
        From ``hb.difficulty.density``.

    Returns
    -------
    matplotlib.figure.Figure
        Save with ``.savefig(path)``. Very high ends are cut: the axis goes up to three times the
        highest density between 0.05 and 0.95.
    """
    _need(table, ("model", "p", "density", "low", "high"))
    figure, axes = _figure()
    keys = ["source", "model"] if "source" in table else ["model"]
    shown = [key for key in keys if table[key].nunique() > 1] or keys[-1:]
    for position, (_, part) in enumerate(table.groupby(keys, sort=False)):
        colour, style = _look(position)
        label = plain(", ".join(str(part[key].iloc[0]) for key in shown))
        axes.fill_between(part["p"], part["low"], part["high"], color=colour, alpha=0.2, lw=0)
        axes.plot(part["p"], part["density"], style, color=colour, label=label)
    inner = table.loc[table["p"].between(0.05, 0.95), "high"]
    top = 1.05 * float(table["high"].max())
    axes.set_ylim(0.0, top if inner.empty else min(top, 3.0 * float(inner.max())))
    axes.set_xlim(0.0, 1.0)
    axes.set_xlabel("P(correct) of a prompt")
    axes.set_ylabel("density across prompts")
    axes.legend(frameon=False)
    return figure


def plot_k_curve(table: pd.DataFrame) -> "Figure":
    """Standard error against generations per prompt, with its floor.

    Parameters
    ----------
    table : DataFrame
        From ``hb.difficulty.k_curve``.

    Returns
    -------
    matplotlib.figure.Figure
        The line is the prediction, points are random subsamples with two Monte-Carlo errors, the
        dashed line is the floor that endless generations would leave. Save with ``.savefig(path)``.
    """
    _need(table, ("k", "standard_error", "subsampled", "mc_error", "floor"))
    figure, axes = _figure()
    table = table.sort_values("k")
    k, squared = table["k"].to_numpy(), table["standard_error"].to_numpy() ** 2
    fine = np.geomspace(k[0], k[-1], 200)  # the squared error is a straight line in 1 / k
    line = np.interp(-1.0 / fine, -1.0 / k, squared) ** 0.5
    axes.plot(fine, line, "-", color=COLOURS[0], label="predicted")
    drawn = table[table["subsampled"].notna()]
    if len(drawn):
        axes.errorbar(
            drawn["k"],
            drawn["subsampled"],
            yerr=2.0 * drawn["mc_error"].fillna(0.0),
            fmt="o",
            color=COLOURS[1],
            capsize=3,
            label="random subsamples",
        )
    axes.axhline(float(table["floor"].iloc[0]), ls="--", color=COLOURS[6], label="floor")
    axes.set_xscale("log")
    axes.set_xticks(table["k"].to_list(), [str(k) for k in table["k"]])
    axes.minorticks_off()
    axes.set_ylim(bottom=0.0)
    axes.set_xlabel("generations per prompt, k")
    axes.set_ylabel("standard error of the score")
    axes.legend(frameon=False)
    return figure


def _figure() -> "tuple[Figure, Axes]":
    """One panel that needs no display and leaves no global state."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.0, 4.0), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes


def plain(name: str) -> str:
    """A name as it is: a dollar sign starts no formula, what cannot be printed is written out."""
    shown = (c if c.isprintable() else c.encode("unicode_escape").decode() for c in name)
    return "".join(shown).replace("$", r"\$")


def _look(position: int) -> tuple[str, str]:
    return COLOURS[position % len(COLOURS)], STYLES[position % len(STYLES)]


def _need(table: pd.DataFrame, columns: tuple[str, ...]) -> None:
    missing = [name for name in columns if name not in table]
    if missing or not len(table):
        what = f"columns {', '.join(missing)}" if missing else "rows"
        raise DataError(f"the table lacks {what}: pass what density or k_curve return")
