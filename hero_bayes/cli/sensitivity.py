"""``hero-bayes sensitivity``: how far the labelers may have changed before a decision does."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hero_bayes._version import __version__
from hero_bayes.cli import flags
from hero_bayes.cli.config import ConfigFile, open_config, said_in_config, tell
from hero_bayes.cli.interrupts import interrupts_kept
from hero_bayes.cli.targets import check_target, write_csv

if TYPE_CHECKING:
    import xarray as xr

    from hero_bayes.pipeline.config import Config

__all__ = ["sensitivity"]

SCHEMA_VERSION = 1
#: Shifts shown on a terminal, logit scale; the table has all of them.
SHOWN = (-1.0, -0.5, 0.0, 0.5, 1.0)


def sensitivity(
    config: ConfigFile,
    posterior: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.nc",
            help="The posterior of an earlier run on these tables; without it the model is fitted.",
        ),
    ] = None,
    output: Annotated[
        Path | None, typer.Option(metavar="FILE.csv", help="Write the whole sweep there.")
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace FILE.csv if it exists.")
    ] = False,
    as_json: flags.Json = False,
) -> None:
    """Ask how far the labelers may have changed since history before the decision changes."""
    check_target("--output", output, overwrite)
    with said_in_config():
        asked = open_config(config)
        sweep = _sweep(asked, posterior)
    if output is not None:
        from hero_bayes.pipeline.sweep_table import sweep_table

        write_csv(sweep_table(sweep), output)
    if as_json:
        _print_json(sweep, output)
    else:
        _print_report(sweep, output)


def _sweep(asked: "Config", posterior: Path | None) -> "xr.Dataset":
    """The sweep on a stored posterior of the same tables, or on a new fit."""
    from hero_bayes.inference.storage import load
    from hero_bayes.pipeline.running import fit_rounds, read_checked, sweep_of

    tell("reading the tables")
    history, current = read_checked(asked)
    with interrupts_kept():
        if posterior is None:
            fitted = fit_rounds(asked, history, current, tell=tell, progressbar=True)
        else:
            fitted = load(posterior)
        tell("asking how far the labelers may have changed")
        return sweep_of(asked, fitted, history, current)


def _print_json(sweep: "xr.Dataset", path: Path | None) -> None:
    from hero_bayes.cli.printing import print_json
    from hero_bayes.pipeline.document import tipping_rows
    from hero_bayes.pipeline.sweep_table import sweep_table

    table = sweep_table(sweep)
    rows = table.astype(object).where(table.notna(), None).to_dict("records")
    print_json(
        {
            "schema_version": SCHEMA_VERSION,
            "hero_bayes_version": __version__,
            "command": "sensitivity",
            "rule": sweep.attrs["rule"],
            "asked_instead": sweep.attrs.get("asked_instead"),
            "model": sweep.attrs["model"],
            "random_seed": sweep.attrs["random_seed"],
            "read_as": sweep.attrs["read_as"],
            "sentences": str(sweep.attrs["sentences"]).split("\n"),
            "tipping_points": tipping_rows(sweep),
            "table": rows,
            "output": None if path is None else str(path),
            "finding": finding(sweep),
        }
    )


def _print_report(sweep: "xr.Dataset", path: Path | None) -> None:
    from hero_bayes.cli.printing import Report
    from hero_bayes.cli.run_report import write_sweep
    from hero_bayes.pipeline.sweep_table import OWN, sweep_table

    report = Report(*([] if path is None else [path]))
    report.title(f"hero-bayes {__version__}: {sweep.attrs['rule']}")
    report.heading("if the labelers have changed since history")
    write_sweep(report, sweep)
    report.heading("all labelers alike")
    shown = [_nearest(sweep["shift_specificity"].to_numpy(), shift) for shift in SHOWN]
    columns = list(dict.fromkeys(shown))
    rows = []
    for i in dict.fromkeys(_nearest(sweep["shift_sensitivity"].to_numpy(), s) for s in SHOWN):
        at = [sweep.isel(shift_sensitivity=i, shift_specificity=j) for j in columns]
        label = f"{float(sweep['shift_sensitivity'][i]):+.2f}"
        rows.append(
            [label, *(f"{float(p['mean']):.3f} ({float(p['probability']):.2f})" for p in at)]
        )
    heads = [f"{float(sweep['shift_specificity'][j]):+.2f}" for j in columns]
    report.table(["sensitivity \\ specificity", *heads], rows, right=heads)
    report.text(
        "\nmean of the rate (probability of the rule's event) after shifts on the logit scale"
    )
    report.heading(OWN)
    own = sweep_table(sweep).query("kind == @OWN")
    cells = [
        [f"{r['drift_sd']:g}", f"{r['mean']:.3f}", f"{r['probability']:.3f}", str(r["decision"])]
        for r in own.to_dict("records")
    ]
    report.table(
        ["sd, logit", "mean", "probability", "decision"],
        cells,
        right=("sd, logit", "mean", "probability"),
    )
    if path is not None:
        report.gap()
        report.text(f"table written to {path}")
    report.finding(finding(sweep))


def _nearest(values: "object", shift: float) -> int:
    """Position of the grid point nearest to a shift."""
    import numpy as np

    return int(np.argmin(np.abs(np.asarray(values) - shift)))


def finding(sweep: "xr.Dataset") -> str:
    """The smallest change that changes the decision, or that none does."""
    import numpy as np

    moved = np.abs(sweep["tipping_points_percent"].to_numpy())
    if np.isnan(moved).all():
        return "no change of the labelers within the grid changes the decision."
    return str(sweep["sentence"].to_numpy()[int(np.nanargmin(moved))])
