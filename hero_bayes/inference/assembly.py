"""The DataTree that a fit returns, with its provenance."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import numpy as np
import pymc as pm
import xarray as xr

from hero_bayes._version import __version__
from hero_bayes.agreement.dependence import worth_of_labels
from hero_bayes.data.labels import Labels
from hero_bayes.inference.criticism import criticism_groups
from hero_bayes.inference.current import CurrentRound
from hero_bayes.inference.gate_counts import information_counts
from hero_bayes.inference.program import Program

#: Beginnings of the attributes of an inference mode that a fit keeps.
KEPT_ATTRIBUTES = (
    "inference_",
    "pareto_",
    "importance_",
    "hessian_",
    "largest_",
    "log_density",
    "evaluations",
)

#: Settings whose text is longer are recorded by their type.
LONGEST_TEXT = 200


@dataclass(frozen=True)
class Draws:
    """What an inference mode hands over."""

    learned: xr.Dataset
    now: CurrentRound
    sample_stats: xr.Dataset | None
    attributes: Mapping[str, Any]


@dataclass(frozen=True)
class Provenance:
    """How a fit was asked for."""

    model: str
    mode: str
    posterior: str
    random_seed: int
    priors: Mapping[str, Any]


def posterior_dataset(result: Draws, current: Labels) -> xr.Dataset:
    """Learned draws with the current round's prevalence and item rate in place."""
    names = {"prevalence", *result.now.parameters}
    learned = result.learned.drop_vars(names, errors="ignore")
    learned = learned.drop_vars([d for d in ("group",) if d in learned.coords])
    return rate_dataset(result.now, current).merge(learned, combine_attrs="drop")


def rate_dataset(now: CurrentRound, current: Labels) -> xr.Dataset:
    """Prevalence, item rate and further parameters of the current groups."""
    dims = ("chain", "draw", "group")
    rates = xr.Dataset(
        {"prevalence": (dims, now.prevalence), "item_rate": (dims, now.item_rate)},
        coords={
            "chain": np.arange(now.prevalence.shape[0]),
            "draw": np.arange(now.prevalence.shape[1]),
            "group": current.groups("current"),
        },
    )
    for name, value in now.parameters.items():
        rates[name] = (dims, value)
    rates["prevalence"].attrs["description"] = "rate among new items from the same source"
    rates["item_rate"].attrs["description"] = "share of positives among the items at hand"
    return rates


def group_dataset(history: Labels, current: Labels) -> xr.Dataset:
    """Round and arm of every group (empty where there is none)."""
    return xr.Dataset(
        {
            "round": ("group", [r or "" for r in current.group_round]),
            "arm": ("group", [a or "" for a in current.group_arm]),
            "history_round": ("history_group", [r or "" for r in history.group_round]),
            "history_arm": ("history_group", [a or "" for a in history.group_arm]),
        },
        coords={"group": current.groups("current"), "history_group": history.groups("history")},
    )


def evidence_dataset(now: CurrentRound, current: Labels) -> xr.Dataset:
    """Log-likelihood ratio of the current items' labels for the kept draws, with gold and group.

    The gold of ``current`` is the truth; gold that may be wrong is part of the ratio.
    """
    groups = np.array(current.groups("current"), dtype=object)
    return xr.Dataset(
        {
            "log_likelihood_ratio": (("chain", "draw", "item"), now.log_ratio),
            "prior_log_odds": (("chain", "draw", "item"), now.prior_log_odds),
            "gold": ("item", current.gold),
        },
        coords={
            "chain": np.arange(now.log_ratio.shape[0]),
            "draw": now.kept,
            "item": [str(name) for name in current.items],
            "item_group": ("item", groups[current.group_idx].astype(str)),
        },
        attrs={
            "kept": f"{now.kept.size:,} of the {now.prevalence.shape[1]:,} draws of each chain, "
            "evenly spaced"
        },
    )


def left_out(model: pm.Model, current: Labels) -> tuple[list[str], int]:
    """Current labelers that the model does not know, and how many labels they gave."""
    if "labeler" not in model.coords:
        return [], 0
    known = set(model.coords["labeler"])
    unknown = np.array([name not in known for name in current.labelers], dtype=bool)
    return [str(n) for n in current.labelers[unknown]], int(
        current.labels_per_labeler[unknown].sum()
    )


def assemble(
    result: Draws,
    program: Program,
    history: Labels,
    current: Labels,
    provenance: Provenance,
    *,
    criticism: bool = False,
) -> xr.DataTree:
    """Posterior, evidence, sampler statistics and, for ArviZ's model criticism, what it reads."""
    evidence = evidence_dataset(result.now, program.clamped(current))
    if not program.gold_is_exact:
        evidence["fallible_gold"] = ("item", current.gold)
    groups: dict[str, xr.Dataset] = {
        "posterior": posterior_dataset(result, current),
        "evidence": evidence,
        "constant_data": group_dataset(history, current),
    }
    if result.sample_stats is not None:
        groups["sample_stats"] = result.sample_stats.drop_vars(
            "divergence_message", errors="ignore"
        )
    if "labeler" in program.full.coords:
        known = list(program.full.coords["labeler"])
        counts = information_counts(history, current, known, cut=program.cut)
        groups["constant_data"] = groups["constant_data"].merge(counts)
    if criticism:
        rng = np.random.default_rng([provenance.random_seed, 3])
        groups |= criticism_groups(program, result.learned, history, current, rng)
    tree = xr.DataTree.from_dict(groups)
    labelers, n_labels = left_out(program.full, current)
    library = {
        key: value for key, value in result.attributes.items() if key.startswith(KEPT_ATTRIBUTES)
    }
    tree.attrs = {
        "hero_bayes_version": __version__,
        "pymc_version": pm.__version__,
        "arviz_version": version("arviz"),
        "numpy_version": np.__version__,
        "model": provenance.model,
        "mode": provenance.mode,
        "posterior": provenance.posterior,
        "random_seed": provenance.random_seed,
        "priors": json.dumps(dict(provenance.priors), default=in_words),
        **table_attributes(history, current, labelers, n_labels),
        **({"dependence": worth_of_labels(history)} if criticism else {}),
        **library,
    }
    return tree


def in_words(value: object) -> str:
    """What a fit records of a setting that JSON cannot hold: its text, or its type if that is long.

    Examples
    --------
    >>> in_words(np.int64(3)), in_words(np.zeros((9, 99)))
    ('3', 'ndarray')
    """
    text = str(value)
    return text if len(text) <= LONGEST_TEXT else type(value).__name__


def table_attributes(
    history: Labels, current: Labels, labelers_left_out: Sequence[str], labels_left_out: int
) -> dict[str, Any]:
    """What a fit records of the tables it was made from."""
    return {
        "history_fingerprint": history.fingerprint,
        "current_fingerprint": current.fingerprint,
        "n_history_items": history.n_items,
        "n_current_items": current.n_items,
        "labels_left_out": labels_left_out,
        "labelers_left_out": json.dumps(list(labelers_left_out)),
    }
