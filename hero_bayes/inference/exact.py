"""Fits without a sampler: the anchored tilt, alone or averaged with independent errors.

Where the labels cannot be calibrated, `auto` gives a wide posterior that the gate does not pass.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from hero_bayes._version import __version__
from hero_bayes.agreement.dependence import worth_of_labels
from hero_bayes.data.labels import Labels
from hero_bayes.data.panel import Panel, align
from hero_bayes.errors import Refusal
from hero_bayes.estimators.averaging import (
    PRIOR_INDEPENDENT,
    AveragedDraws,
    average,
    checked_prior,
)
from hero_bayes.estimators.bins import BinDraws, scored_draws
from hero_bayes.estimators.fallback import FallbackDraws, Shortfall, fallback, shortfall
from hero_bayes.estimators.gold_error import gold_error_of
from hero_bayes.estimators.score_method import score_remarks, slope_table
from hero_bayes.estimators.tilt import TiltDraws
from hero_bayes.inference.assembly import (
    evidence_dataset,
    group_dataset,
    rate_dataset,
    table_attributes,
)
from hero_bayes.inference.current import CurrentRound, evidence_draws
from hero_bayes.inference.outcome import log_odds

__all__ = ["EXACT_MODELS", "exact_fit"]

FloatArray = NDArray[np.float64]

#: Models that are drawn exactly, with the settings each takes.
EXACT_MODELS: Mapping[str, tuple[str, ...]] = {
    "score": ("form", "score", "gold_error"),
    "auto": ("prior_independent", "gold_error"),
}


#: Why `auto` did not calibrate the labels, and what it read them as.
REASONS = {
    "gold": "too little gold of a class; votes are only taken to point the right way on the whole",
    "labelers": "no current labeler is known from history, and the labels are not read",
    "rounds": "the rounds have too few labels alike; votes are only taken to point the right way "
    "on the whole",
}


@dataclass(frozen=True)
class Exact:
    """What all accounts hand over: draws of the current round, and words about them."""

    prevalence: FloatArray
    item_rate: FloatArray
    log_ratio_at: Callable[[NDArray[np.integer]], FloatArray]
    gold_error: FloatArray | None
    panel: Panel
    calibration: xr.Dataset
    sentence: str
    notes: tuple[str, ...]
    attributes: Mapping[str, Any]


def exact_fit(
    model: str,
    history: Labels,
    current: Labels,
    *,
    priors: Mapping[str, Any],
    random_seed: int,
    draws: int,
    chains: int,
) -> xr.DataTree:
    """The DataTree of a model that needs no sampler; draws are independent, dealt to chains."""
    allowed = EXACT_MODELS[model]
    unknown = [name for name in priors if name not in allowed]
    if unknown:
        raise ValueError(
            f"unknown priors {', '.join(unknown)}; {model} takes {', '.join(allowed) or 'none'}"
        )
    found = _found(model, history, current, priors, draws * chains, random_seed)
    tree = xr.DataTree.from_dict(_groups(found, history, current, (chains, draws)))
    tree.attrs = {
        "hero_bayes_version": __version__,
        "numpy_version": np.__version__,
        "arviz_version": version("arviz"),
        "inference_library": "hero_bayes",
        "model": model,
        "mode": "exact",
        "posterior": "cut",
        "random_seed": random_seed,
        "priors": json.dumps(dict(priors), default=str),
        **table_attributes(
            history, current, found.panel.labelers_left_out, found.panel.labels_left_out
        ),
        "chosen": found.sentence,
        "dependence": worth_of_labels(history),
        "notes": "\n".join(found.notes),
        **found.attributes,
    }
    return tree


def _found(
    model: str,
    history: Labels,
    current: Labels,
    priors: Mapping[str, Any],
    n_draws: int,
    random_seed: int,
) -> Exact:
    """Draws of the model, or of the fallback where `auto` cannot calibrate the labels."""
    error = gold_error_of(priors.get("gold_error"))
    settings: dict[str, Any] = {
        "n_draws": n_draws,
        "random_seed": random_seed,
        "gold_error": error,
    }
    if model == "score":
        asked = {name: priors[name] for name in ("form", "score") if name in priors}
        return _score(scored_draws(history, current, **settings, **asked))
    prior = checked_prior(priors.get("prior_independent", PRIOR_INDEPENDENT))
    panel = align(history, current, unseen="drop")
    lack = shortfall(panel)
    if lack is None:
        try:
            return _auto(average(history, current, prior=prior, **settings))
        except Refusal as refusal:
            lack = Shortfall("rounds", 0.0, 2, str(refusal))
    return _fallback(fallback(panel, lack, **settings))


def _score(draws: TiltDraws) -> Exact:
    return Exact(
        prevalence=draws.prevalence,
        item_rate=draws.item_rate,
        log_ratio_at=draws.log_ratio_at,
        gold_error=draws.gold_error,
        panel=draws.scores.panel,
        calibration=_calibration(draws),
        sentence=f"labelers may share errors; {_weights(draws)}",
        notes=score_remarks(draws),
        attributes=_trust(draws, 1.0),
    )


def _auto(draws: AveragedDraws) -> Exact:
    chance = draws.probability_independent
    said = f"P(labelers err independently | labels, gold) = {chance:.2f}"
    if chance < 0.995:
        said += f"; otherwise {_weights(draws.tilt)}"
    return Exact(
        prevalence=draws.prevalence,
        item_rate=draws.item_rate,
        log_ratio_at=draws.log_ratio_at,
        gold_error=draws.gold_error,
        panel=draws.tilt.scores.panel,
        calibration=_calibration(draws.tilt),
        sentence=said,
        notes=tuple(dict.fromkeys((*score_remarks(draws.tilt), *draws.notes))),
        attributes={
            **_trust(draws.tilt, float((~draws.independent).mean())),
            "probability_independent": chance,
            "log_score_independent": draws.log_score_independent,
            "log_evidence_shared": draws.log_evidence_shared,
            "log_labels_independent": draws.log_labels_independent,
        },
    )


def _fallback(draws: FallbackDraws) -> Exact:
    lack = draws.shortfall
    slope = draws.slope
    low, high = np.quantile(slope, [0.025, 0.975])
    reason = REASONS[lack.kind]
    if not draws.used.any() and lack.kind != "labelers":
        reason = f"{reason.split(';')[0]}; votes are not read"
    calibration = xr.Dataset(
        {
            "weight": ("score", [1.0]),
            "slope": ("score", [slope.mean()]),
            "slope_lower": ("score", [low]),
            "slope_upper": ("score", [high]),
            "effective_size": ("score", [draws.effective_size]),
        },
        coords={"score": ["votes"]},
        attrs={"missing": "not calibrated: the slope is its prior's, and what little gold says"},
    )
    return Exact(
        prevalence=draws.prevalence,
        item_rate=draws.item_rate,
        log_ratio_at=draws.log_ratio_at,
        gold_error=draws.gold_error,
        panel=draws.panel,
        calibration=calibration,
        sentence=f"not calibrated, the interval is wide: {reason}",
        notes=draws.notes,
        attributes={
            "importance_draws": draws.effective_size,
            "shortfall": lack.reason,
            "shortfall_kind": lack.kind,
            "shortfall_value": lack.value,
            "shortfall_fewest": lack.fewest,
        },
    )


def _trust(draws: TiltDraws, share: float) -> dict[str, float]:
    """What the gate reads of a calibration that has this share of the draws."""
    return {
        "importance_draws": float(draws.effective_size[draws.weight > 0].min()),
        "negative_slope": float(draws.weight @ draws.negative_slope * share),
    }


def _calibration(draws: TiltDraws) -> xr.Dataset:
    """Weight and slope of each score."""
    table = slope_table(draws).drop(index="pooled").reindex(list(draws.scores.names))
    return xr.Dataset(
        {
            "weight": ("score", draws.weight),
            "slope": ("score", table["mean"].to_numpy()),
            "slope_lower": ("score", table["lower"].to_numpy()),
            "slope_upper": ("score", table["upper"].to_numpy()),
            "negative_slope": ("score", draws.negative_slope),
            "log_evidence": ("score", draws.log_evidence),
            "effective_size": ("score", draws.effective_size),
        },
        coords={"score": list(draws.scores.names)},
        attrs={"missing": "the slope of a score without draws (weight near 0) is not reported"},
    )


def _weights(draws: TiltDraws) -> str:
    """Which scores carry the tilt, and their slope."""
    names = zip(draws.scores.names, draws.weight, strict=True)
    parts = ", ".join(f"{name} {weight:.2f}" for name, weight in names)
    form = f"in {', '.join(map(str, draws.n_bins))} bins, " if isinstance(draws, BinDraws) else ""
    return f"scores weighted {parts}, {form}mean slope {draws.slope.mean():.2f}"


def _groups(
    found: Exact, history: Labels, current: Labels, shape: tuple[int, int]
) -> dict[str, xr.Dataset]:
    """Posterior, evidence, calibration and the names of the groups."""
    kept = evidence_draws(*shape, current.n_items)
    rows = np.arange(shape[0] * shape[1]).reshape(shape)[:, kept]
    odds = np.vectorize(log_odds)(found.prevalence[rows])
    now = CurrentRound(
        prevalence=found.prevalence.reshape(*shape, -1),
        item_rate=found.item_rate.reshape(*shape, -1),
        parameters={},
        log_ratio=found.log_ratio_at(rows.ravel()).reshape(*rows.shape, current.n_items),
        prior_log_odds=odds[..., current.group_idx],
        kept=kept,
    )
    exact = current if found.gold_error is None else current.without_gold()
    evidence, rates = evidence_dataset(now, exact), rate_dataset(now, current)
    if found.gold_error is not None:
        evidence["fallible_gold"] = ("item", current.gold)
        rates["gold_error"] = (("chain", "draw"), found.gold_error.reshape(shape))
    return {
        "posterior": rates,
        "evidence": evidence,
        "calibration": found.calibration,
        "constant_data": group_dataset(history, current),
    }
