"""The gate: whether a fit may be used for a decision, and if not, why and what to do."""

import html
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import xarray as xr

from hero_bayes.errors import DataError
from hero_bayes.inference import gate_rules as rules
from hero_bayes.inference.exact_rules import calibration_check
from hero_bayes.inference.gate_rules import Check

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Diagnosis", "diagnose"]


@dataclass(frozen=True)
class Diagnosis:
    """The verdict on a fit.

    Attributes
    ----------
    checks : tuple of Check
        Every rule applied: name, value, limit, passed.
    mode : str
        The mode of inference, whose rules these are.
    """

    checks: tuple[Check, ...] = field(repr=False)
    mode: str

    @property
    def passed(self) -> bool:
        """Whether every check passed."""
        return all(check.passed for check in self.checks)

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why it did not pass: the number, the limit and a remedy, a sentence each."""
        return tuple(check.told for check in self.checks if not check.passed)

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader should know though it passed."""
        return tuple(check.told for check in self.checks if check.passed and check.told)

    @property
    def table(self) -> "pd.DataFrame":
        """One row a check: check, value, limit, passed."""
        import pandas as pd

        rows = [(c.name, c.value, c.limit, c.passed) for c in self.checks]
        return pd.DataFrame(rows, columns=["check", "value", "limit", "passed"])

    @property
    def headline(self) -> str:
        """The verdict in one line."""
        failed = sum(not check.passed for check in self.checks)
        if not failed:
            return f"gate ({self.mode}): passed, {len(self.checks)} checks"
        return f"gate ({self.mode}): FAILED {failed} of {len(self.checks)} checks"

    def __str__(self) -> str:
        """The verdict, then a reason or note a line."""
        return "\n".join(
            [
                self.headline,
                *(f"  reason: {reason}" for reason in self.reasons),
                *(f"  note: {note}" for note in self.notes),
            ]
        )

    def _repr_html_(self) -> str:
        """The verdict, reasons and notes, and the table, for notebooks."""
        items = [f"<li>{html.escape(r)}</li>" for r in self.reasons]
        items += [f"<li>note: {html.escape(n)}</li>" for n in self.notes]
        table = self.table.to_html(index=False, float_format=lambda value: f"{value:.4g}")
        return f"<p><b>{html.escape(self.headline)}</b></p><ul>{''.join(items)}</ul>{table}"


def diagnose(fit: xr.DataTree) -> Diagnosis:
    """Judge a fit by the rules of its mode of inference.

    Parameters
    ----------
    fit : xarray.DataTree
        What ``hb.fit`` returned.

    Returns
    -------
    Diagnosis
        ``passed``, ``reasons`` (sentences with number, limit and remedy), ``notes`` and ``table``.

    Raises
    ------
    DataError
        If ``fit`` is no fit.

    Notes
    -----
    nuts: rank-normalised R-hat < 1.01, bulk and tail ESS >= 400 for every variable that does not
    run over items, no divergence, BFMI >= 0.3, all chains in one mode. laplace: Hessian positive
    definite, Pareto k-hat < 0.7, importance draws worth 200. exact: importance draws worth 200, and
    labels that could be calibrated: gold of both classes, labelers known from history.
    Fits of generations: five prompts (or groups), and a law of difficulty whose mean is within one
    sd of the law-free score and which predicts the counts. map: never enough for a decision.
    Always: P(slope < 0) <= 5 % for calibrated scores, so that
    they point the right way; no more parameters than degrees of freedom of label
    patterns and gold; flipped labelers (P(sensitivity + specificity < 1) > 0.5) give less than 5 %
    of the current labels, labelers near chance less than half of them. Those that give less are
    named in the notes: one spammer in a crowd costs width, not validity.

    Examples
    --------
    >>> import hero_bayes as hb
    >>> rounds = hb.datasets.demo_rounds()
    >>> fitted = hb.fit(rounds.history, rounds.current, model="hero", mode="map", random_seed=1)
    >>> hb.diagnose(fitted).passed
    False
    """
    if not isinstance(fit, xr.DataTree):
        raise DataError(f"expected a fit, got {type(fit).__name__}; pass what hb.fit returned")
    if "posterior" not in fit.children or "mode" not in fit.attrs:
        raise DataError("the tree is no fit (no posterior, or no mode); pass what hb.fit returned")
    mode = str(fit.attrs["mode"])
    if mode == "nuts":
        checks = rules.sampler_checks(fit)
    elif mode == "laplace":
        checks = rules.laplace_checks(fit)
    elif mode == "exact":
        checks = [rules.importance_check(fit), *calibration_check(fit)]
    elif mode == "map":
        checks = [rules.mode_check()]
    else:
        told = f'the gate has no rule for mode {mode!r} (0 rules, 1 needed): fit with mode="nuts"'
        checks = [Check("rules of the mode", 0.0, ">= 1", False, told)]
    checks += [
        *rules.law_checks(fit),
        *rules.slope_check(fit),
        *rules.identifiability(fit),
        *rules.labeler_checks(fit),
    ]
    return Diagnosis(tuple(checks), mode)
