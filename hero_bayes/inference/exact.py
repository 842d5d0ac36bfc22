"""Fits without a sampler: the anchored tilt, alone or averaged with independent errors."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from hero_bayes._version import __version__
from hero_bayes.agreement.dependence import worth_of_labels
from hero_bayes.data.labels import Labels
from hero_bayes.estimators.averaging import PRIOR_INDEPENDENT, AveragedDraws, average
from hero_bayes.estimators.score_method import score_remarks, slope_table
from hero_bayes.estimators.tilt import TiltDraws, tilt
from hero_bayes.inference.assembly import (
    evidence_dataset,
    group_dataset,
    rate_dataset,
    table_attributes,
)
from hero_bayes.inference.current import CurrentRound, kept_draws
from hero_bayes.inference.outcome import log_odds

__all__ = ["EXACT_MODELS", "exact_fit"]

FloatArray = NDArray[np.float64]

#: Models that are drawn exactly, with the settings each takes.
EXACT_MODELS: Mapping[str, tuple[str, ...]] = {"score": (), "auto": ("prior_independent",)}


@dataclass(frozen=True)
class Exact:
    """What both models hand over: draws of the current round, and words about them."""

    prevalence: FloatArray
    item_rate: FloatArray
    log_ratio: FloatArray
    tilt: TiltDraws
    used: NDArray[np.bool_]
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
    n_draws = draws * chains
    if model == "score":
        found = _score(tilt(history, current, n_draws=n_draws, random_seed=random_seed))
    else:
        prior = float(priors.get("prior_independent", PRIOR_INDEPENDENT))
        averaged = average(history, current, n_draws=n_draws, prior=prior, random_seed=random_seed)
        found = _auto(averaged)
    tree = xr.DataTree.from_dict(_groups(found, history, current, (chains, draws)))
    panel = found.tilt.scores.panel
    tree.attrs = {
        "hero_bayes_version": __version__,
        "numpy_version": np.__version__,
        "arviz_version": version("arviz"),
        "inference_library": "hero_bayes",
        "model": model,
        "mode": "exact",
        "posterior": "cut",
        "random_seed": random_seed,
        "priors": json.dumps(dict(priors)),
        **table_attributes(history, current, panel.labelers_left_out, panel.labels_left_out),
        "importance_draws": float(found.tilt.effective_size[found.tilt.weight > 0].min()),
        "negative_slope": float(found.tilt.weight @ found.tilt.negative_slope * found.used.mean()),
        "chosen": found.sentence,
        "dependence": worth_of_labels(history),
        "notes": "\n".join(found.notes),
        **found.attributes,
    }
    return tree


def _score(draws: TiltDraws) -> Exact:
    return Exact(
        prevalence=draws.prevalence,
        item_rate=draws.item_rate,
        log_ratio=draws.log_ratio,
        tilt=draws,
        used=np.ones(draws.slope.size, dtype=bool),
        sentence=f"labelers may share errors; {_weights(draws)}",
        notes=score_remarks(draws),
        attributes={},
    )


def _auto(draws: AveragedDraws) -> Exact:
    chance = draws.probability_independent
    said = f"P(labelers err independently | gold) = {chance:.2f}"
    if chance < 0.995:
        said += f"; otherwise {_weights(draws.tilt)}"
    return Exact(
        prevalence=draws.prevalence,
        item_rate=draws.item_rate,
        log_ratio=draws.log_ratio,
        tilt=draws.tilt,
        used=~draws.independent,
        sentence=said,
        notes=tuple(dict.fromkeys((*score_remarks(draws.tilt), *draws.notes))),
        attributes={
            "probability_independent": chance,
            "log_score_independent": draws.log_score_independent,
            "log_evidence_shared": draws.log_evidence_shared,
        },
    )


def _weights(draws: TiltDraws) -> str:
    """Which scores carry the tilt, and their slope."""
    names = zip(draws.scores.names, draws.weight, strict=True)
    parts = ", ".join(f"{name} {weight:.2f}" for name, weight in names)
    return f"scores weighted {parts}, mean slope {draws.slope.mean():.2f}"


def _groups(
    found: Exact, history: Labels, current: Labels, shape: tuple[int, int]
) -> dict[str, xr.Dataset]:
    """Posterior, evidence, calibration and the names of the groups."""
    kept = kept_draws(*shape)
    rows = np.arange(shape[0] * shape[1]).reshape(shape)[:, kept]
    odds = np.vectorize(log_odds)(found.prevalence[rows])
    now = CurrentRound(
        prevalence=found.prevalence.reshape(*shape, -1),
        item_rate=found.item_rate.reshape(*shape, -1),
        parameters={},
        log_ratio=found.log_ratio[rows],
        prior_log_odds=odds[..., current.group_idx],
        kept=kept,
    )
    table = slope_table(found.tilt).drop(index="pooled").reindex(list(found.tilt.scores.names))
    calibration = xr.Dataset(
        {
            "weight": ("score", found.tilt.weight),
            "slope": ("score", table["mean"].to_numpy()),
            "slope_lower": ("score", table["lower"].to_numpy()),
            "slope_upper": ("score", table["upper"].to_numpy()),
            "negative_slope": ("score", found.tilt.negative_slope),
            "log_evidence": ("score", found.tilt.log_evidence),
            "effective_size": ("score", found.tilt.effective_size),
        },
        coords={"score": list(found.tilt.scores.names)},
        attrs={"missing": "the slope of a score without draws (weight near 0) is not reported"},
    )
    return {
        "posterior": rate_dataset(now, current),
        "evidence": evidence_dataset(now, current),
        "calibration": calibration,
        "constant_data": group_dataset(history, current),
    }
