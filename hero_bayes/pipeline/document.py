"""``decision.json``: everything about a run that another program may want to read."""

import math
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.metadata import version
from platform import python_version
from typing import TYPE_CHECKING, Any

from hero_bayes._version import __version__
from hero_bayes.inference.summary import ESTIMANDS
from hero_bayes.pipeline.running import PROB, RunResult

if TYPE_CHECKING:
    import xarray as xr

    from hero_bayes.data.labels import Labels

__all__ = ["SCHEMA", "SCHEMA_VERSION", "decision_document", "tipping_rows"]

SCHEMA, SCHEMA_VERSION = "hero_bayes.run", 1
#: Packages whose versions a result may depend on.
PACKAGES = ("arviz", "numba", "numpy", "pandas", "pymc", "scipy", "xarray")


def decision_document(
    result: RunResult, files: Mapping[str, str], now: datetime | None = None
) -> dict[str, Any]:
    """Make the content of ``decision.json``.

    Parameters
    ----------
    result : RunResult
    files : mapping
        SHA-256 of the other files, by name.
    now : datetime, optional
        The time stamp, the only entry in which two equal runs differ.

    Returns
    -------
    dict
        The entries of ``Decision.to_dict`` (outcome, probability, rules, reasons, gate, ...), and
        estimates, sensitivity, findings, data, settings, versions, files. JSON-ready, no NaN.
    """
    config = result.config
    decided = result.decision.to_dict()
    checks = [
        {name: plain(value) for name, value in row.items()}
        for row in result.diagnosis.table.to_dict("records")
    ]
    return {
        **decided,
        "schema": SCHEMA,
        "schema_version": SCHEMA_VERSION,
        "gate": decided["gate"] | {"checks": checks},
        "estimates": estimate_rows(result),
        "sensitivity": sensitivity_part(result),
        "findings": [dict(vars(finding)) for finding in result.findings],
        "data": {"history": counts(result.history), "current": counts(result.current)},
        "random_seed": config.model.random_seed,
        "settings": {
            "posterior": str(result.fit.attrs["posterior"]),
            "priors": {name: plain(value) for name, value in config.model.priors.items()},
            "draws": config.model.draws,
            "tune": config.model.tune,
            "chains": config.model.chains,
            "adjusted": config.adjust.runs,
            "covariates": list(config.adjust.covariates),
        },
        "config_sha256": config.sha256 or None,
        "versions": versions(),
        "files": dict(files),
        "created_at": (now or datetime.now(UTC)).isoformat(timespec="seconds"),
    }


def estimate_rows(result: RunResult) -> list[dict[str, Any]]:
    """Rates of the posterior, one entry a group and estimand."""
    rows = []
    for record in result.estimates.to_dict("records"):
        row = {str(name): plain(value) for name, value in record.items()}
        row |= {"prob": PROB, "speaks_of": ESTIMANDS[str(record["estimand"])]}
        rows.append(row)
    return rows


def sensitivity_part(result: RunResult) -> dict[str, Any]:
    """Tipping points and sentences, or why there are none."""
    sweep = result.sweep
    if sweep is None:
        return {"missing": result.sweep_missing}
    return {
        "rule": str(sweep.attrs["rule"]),
        "asked_instead": sweep.attrs.get("asked_instead"),
        "read_as": str(sweep.attrs["read_as"]),
        "sentences": str(sweep.attrs["sentences"]).split("\n"),
        "tipping_points": tipping_rows(sweep),
        "missing": None,
    }


def tipping_rows(sweep: "xr.Dataset") -> list[dict[str, Any]]:
    """One entry a direction; None where no shift within the grid changes the decision."""
    if "direction" not in sweep.coords:
        return []
    names = {
        "tipping_point": "shift",
        "tipping_points_percent": "percentage_points",
        "tipping_decision": "decision",
        "sentence": "sentence",
    }
    rows = []
    for k, direction in enumerate(sweep["direction"].to_numpy()):
        row: dict[str, Any] = {"direction": str(direction)}
        row |= {name: plain(sweep[own].to_numpy()[k]) for own, name in names.items()}
        row["decision"] = row["decision"] or None
        rows.append(row)
    return rows


def counts(labels: "Labels") -> dict[str, Any]:
    """Sizes of a label table and its fingerprint."""
    return {
        "items": labels.n_items,
        "labelers": labels.n_labelers,
        "labels": labels.n_labels,
        "gold_positive": int((labels.gold == 1).sum()),
        "gold_negative": int((labels.gold == 0).sum()),
        "abstentions": len(labels.abstained_item),
        "items_dropped": labels.items_dropped,
        "covariates": list(labels.covariates),
        "fingerprint": labels.fingerprint,
    }


def versions() -> dict[str, str]:
    """Of this package, of Python and of what computes."""
    found = {name: version(name) for name in PACKAGES}
    return {"hero_bayes": __version__, "python": python_version(), **found}


def plain(value: Any) -> Any:
    """A value as JSON has it; None for a number that is not finite."""
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, tuple):
        return [plain(entry) for entry in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
