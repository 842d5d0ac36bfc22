"""Parameters from a model's prior, and labels that these parameters would give."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pymc as pm
from numpy.typing import NDArray

from hero_bayes.data.labels import Labels
from hero_bayes.errors import Refusal
from hero_bayes.inference.graph import GOLD_ERROR, QUICK
from hero_bayes.inference.label_chances import LABEL_PARTS, label_data, positive_chances
from hero_bayes.inference.truth_chances import truth_chances

FloatArray = NDArray[np.float64]
Values = Mapping[str, FloatArray]

#: Parts of the layers that are simulated from.
RATES = ("sensitivity", "specificity", "current_sensitivity", "current_specificity")
OUTCOME = (
    "history_prevalence",
    "prevalence",
    "history_icc",
    "icc",
    "history_intercept",
    "intercept",
    "slope",
)
OFFSETS = ("history_covariate_log_odds", "covariate_log_odds")
#: Simulations drawn, at most, for each that is kept.
TRIES = 100


@dataclass(frozen=True)
class Simulated:
    """One simulated pair of rounds with everything true of it."""

    history: Labels
    current: Labels
    truth: Values
    seed: int


def prior_draws(model: pm.Model, draws: int, seed: int) -> Iterator[dict[str, FloatArray]]:
    """Draws of free variables, and of the deterministics that labels arise from, on the graph."""
    wanted = [rv.name for rv in model.free_RVs]
    parts = (*RATES, *LABEL_PARTS, *OUTCOME, *OFFSETS)
    known = label_data(model)
    wanted += [d.name for d in model.deterministics if d.name in parts]
    columns = pm.draw([model[n] for n in wanted], draws=draws, random_seed=seed, mode=QUICK)
    for k in range(draws):
        own = {n: np.asarray(column[k], float) for n, column in zip(wanted, columns, strict=True)}
        yield own | known


def check_layers(model: pm.Model) -> None:
    """Refuse models from whose variables labels cannot be simulated."""
    missing = [name for name in RATES[:2] if name not in model.named_vars]
    if missing or "labeler" not in model.coords:
        raise Refusal(
            f"labels cannot be simulated from a model without {' and '.join(missing) or 'labelers'}"
            " (labeler); calibration works for models with sensitivity and specificity by labeler"
        )


def simulate_rounds(
    values: Values, labelers: list[str], base: tuple[Labels, Labels], rng: np.random.Generator
) -> tuple[Labels, Labels, dict[str, FloatArray]]:
    """Truth, labels and gold of both rounds at one value of the parameters.

    Parameters
    ----------
    values : mapping
        Sensitivity and specificity (labeler), or ``current_...`` where the current round has its
        own, or what :func:`positive_chances` reads beside them; ``history_prevalence`` and
        ``prevalence``, or intercepts and covariate log odds; or
        ``chance`` and ``history_chance`` (item), which stand before all.
    labelers : list of str
        The coordinate of the rates.
    base : tuple of Labels
        The design.
    rng : Generator

    Returns
    -------
    tuple
        Both rounds, and ``item_rate`` (group): the shares of positive current items.
    """
    rounds, item_rate = [], np.empty(0)
    for labels, role in zip(base, ("history_", ""), strict=True):
        now = "current_" if role == "" and "current_sensitivity" in values else ""
        truth = (rng.random(labels.n_items) < chances(values, labels, role, rng)).astype(float)
        position = {name: k for k, name in enumerate(labelers)}
        where = np.array([position[str(name)] for name in labels.labelers])[labels.labeler_idx]
        item_idx = np.repeat(np.arange(labels.n_items), labels.labels_per_item)
        positive = positive_chances(labels, where, truth, values, now, rng)
        label = (rng.random(labels.n_labels) < positive).astype(np.int8)
        label = label[np.lexsort((label, labels.labeler_idx, item_idx))]
        said = truth
        if GOLD_ERROR in values:
            wrong = rng.random(labels.n_items) < values[GOLD_ERROR]
            said = np.where(wrong, 1.0 - truth, truth)
        gold = np.where(labels.has_gold, said, np.nan)
        rounds.append(replace(labels, label=label, gold=gold))
        if role == "":
            sizes = np.bincount(labels.group_idx, minlength=labels.n_groups)
            item_rate = np.bincount(labels.group_idx, truth, labels.n_groups) / sizes
    return rounds[0], rounds[1], {"item_rate": item_rate}


def chances(values: Values, labels: Labels, role: str, rng: np.random.Generator) -> FloatArray:
    """P(truth 1) of every item of one round: given by name, or from the outcome layer."""
    if f"{role}chance" in values:
        return values[f"{role}chance"]
    return truth_chances(labels, "history" if role else "current", values, rng)


def both_classes(history: Labels, current: Labels) -> bool:
    """Whether the gold holds both classes."""
    gold = np.concatenate([history.gold[history.has_gold], current.gold[current.has_gold]])
    return bool(gold.size and np.ptp(gold) > 0)


def draw_simulations(
    next_values: Callable[[int], Values],
    make: Callable[[Values, np.random.Generator], tuple[Labels, Labels, dict[str, Any]]],
    n_simulations: int,
    random_seed: int,
) -> tuple[list[Simulated], int]:
    """Simulations whose gold holds both classes, and how many had to be drawn again.

    A simulation without gold of a class is dropped whole, its parameters included. That depends on
    the observed gold alone, so that ranks stay uniform: every kept table still has the posterior
    that it had before.
    """
    kept: list[Simulated] = []
    attempt = 0
    while len(kept) < n_simulations:
        if attempt >= TRIES * n_simulations:
            raise Refusal(
                f"only {len(kept)} of {attempt} simulations had gold of both classes: use a design "
                "with more gold"
            )
        rng = np.random.default_rng([random_seed, attempt])
        values = next_values(attempt)
        history, current, more = make(values, rng)
        if both_classes(history, current):
            truth = {**values, **more}
            kept.append(Simulated(history, current, truth, int(rng.integers(2**31))))
        attempt += 1
    return kept, attempt - n_simulations
