"""A fit in a few lines: its rates, with the gate's verdict beside them."""

import html
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

from hero_bayes.inference.diagnose import Diagnosis, diagnose
from hero_bayes.words import number_of

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["FitSummary", "summary"]

#: What each rate speaks of.
ESTIMANDS = {
    "item_rate": "share among the items at hand",
    "prevalence": "rate among new items from the same source",
    "prevalence_adjusted": "rate among new items, covariates used",
    "mu_these_prompts": "mean P(correct) of the prompts at hand",
    "mu": "score over new prompts of the same kind",
}
#: Dimensions that a rate may run over.
DIMS = ("group", "model")


@dataclass(frozen=True)
class FitSummary:
    """Rates of the current round and whether they may be used.

    Attributes
    ----------
    table : DataFrame
        One row a group (or model) and estimand: group, estimand, mean, sd, lower, upper.
    prob : float
        Posterior probability of the interval.
    diagnosis : Diagnosis
        The gate's verdict.
    title : str
        Model, mode and posterior.
    remarks : tuple of str
        What an item's labels are worth, what the model chose, and what a reader must know of it.
    """

    table: "pd.DataFrame"
    prob: float
    diagnosis: Diagnosis
    title: str
    remarks: tuple[str, ...] = ()

    def __str__(self) -> str:
        """The verdict first, then a line for each group and estimand, reasons and notes."""
        dim = self.table.columns[0]
        width = max(len(name) for name in self.table[dim])
        lines = [self.title, self.diagnosis.headline]
        flag = "" if self.diagnosis.passed else "  [gate failed]"
        for row in self.table.to_dict("records"):
            low, high = float(row["lower"]), float(row["upper"])
            interval = "no interval"
            if np.isfinite(low):
                interval = f"{100 * self.prob:g} % credible interval {low:.4f} to {high:.4f}"
            lines.append(
                f"  {row[dim]:<{width}}  {row['estimand']}: {row['mean']:.4f}, {interval} "
                f"({ESTIMANDS[row['estimand']]}){flag}"
            )
        lines += [f"  {remark}" for remark in self.remarks]
        return "\n".join([*lines, *str(self.diagnosis).splitlines()[1:]])

    def _repr_html_(self) -> str:
        """Title, table and verdict, for notebooks."""
        table = self.table.to_html(index=False, float_format=lambda value: f"{value:.4f}")
        said = "".join(f"<li>{html.escape(remark)}</li>" for remark in self.remarks)
        head = f"<p>{html.escape(self.title)}</p>{table}<ul>{said}</ul>"
        return f"{head}{self.diagnosis._repr_html_()}"


def summary(fit: xr.DataTree, prob: float = 0.95) -> FitSummary:
    """Rates of every current group with credible intervals, and the gate's verdict beside them.

    Parameters
    ----------
    fit : xarray.DataTree
        What ``hb.fit``, ``hb.adjust`` or ``hb.difficulty.fit`` returned.
    prob : float
        Posterior probability of the equal-tailed intervals, in (0, 1).

    Returns
    -------
    FitSummary
        Print it, or read ``table`` and ``diagnosis``.

    Raises
    ------
    ValueError
        If ``prob`` is not in (0, 1).
    DataError
        If ``fit`` is no fit.

    Examples
    --------
    >>> import hero_bayes as hb
    >>> rounds = hb.datasets.demo_rounds()
    >>> fitted = hb.fit(rounds.history, rounds.current, model="hero", mode="map", random_seed=1)
    >>> print(str(hb.summary(fitted)).splitlines()[1])
    gate (map): FAILED 1 of 2 checks
    """
    import pandas as pd

    if not 0.0 < prob < 1.0:
        raise ValueError(f"prob must lie between 0 and 1, got {prob!r}")
    diagnosis = diagnose(fit)
    posterior = fit["posterior"].to_dataset()
    rows = []
    (dim,) = [dim for dim in DIMS if dim in posterior.dims]
    for position, group in enumerate(posterior[dim].to_numpy()):
        for name in ESTIMANDS:
            if name not in posterior:
                continue
            draws = posterior[name].isel({dim: position}).to_numpy().ravel()
            low, high = np.quantile(draws, [(1 - prob) / 2, (1 + prob) / 2])
            if draws.size < 2:
                low = high = np.nan
            spread = float(draws.std(ddof=1)) if draws.size > 1 else np.nan
            rows.append((str(group), name, float(draws.mean()), spread, float(low), float(high)))
    table = pd.DataFrame(rows, columns=[dim, "estimand", "mean", "sd", "lower", "upper"])
    attrs = fit.attrs
    shape = f" ({attrs['shape']})" if "shape" in attrs else ""
    title = f"model {attrs['model']}{shape}, mode {attrs['mode']}, {attrs['posterior']} posterior"
    said = [str(attrs[name]) for name in ("dependence", "chosen") if name in attrs]
    if attrs.get("labels_left_out", 0):
        left, many = int(attrs["labels_left_out"]), len(json.loads(attrs["labelers_left_out"]))
        said.append(
            f"{number_of(left, 'label')} of the current round {'is' if left == 1 else 'are'} left "
            f"out: history does not know their {number_of(many, 'labeler')}"
        )
    said += [note for note in str(attrs.get("notes", "")).split("\n") if note]
    return FitSummary(table, prob, diagnosis, title, tuple(said))
