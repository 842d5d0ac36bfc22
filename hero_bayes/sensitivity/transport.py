"""How far the labelers may have moved since history before the answer changes."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from hero_bayes.data.arguments import need_labels
from hero_bayes.data.labels import Labels
from hero_bayes.decision.arguments import (
    check_fit,
    check_seed,
    numbers_of,
    whole_number,
)
from hero_bayes.decision.rates import middle_of, quantiles
from hero_bayes.sensitivity.engine import Engine, engine_of
from hero_bayes.sensitivity.questions import Answer, Question, question_of
from hero_bayes.sensitivity.tipping import DIRECTIONS, Tip, sentences, tip

if TYPE_CHECKING:
    from hero_bayes.decision.rule import JointRule, Rule

__all__ = ["transport_sensitivity"]

FloatArray = NDArray[np.float64]
#: Shifts on the logit scale where none are given.
GRID = tuple(round(-1.0 + k / 7.0, 12) for k in range(15))
QUANTILES = (0.025, 0.5, 0.975)


def transport_sensitivity(
    fit: xr.DataTree,
    history: Labels,
    current: Labels,
    rule: "Rule | JointRule | str | None" = None,
    grid: Any = None,
    drift_sd: Sequence[float] = (0.1, 0.25, 0.5),
    *,
    metric: str = "prevalence",
    group: str | None = None,
    draws: int | None = None,
    random_seed: int = 0,
) -> xr.Dataset:
    """Posterior of a rate, and the decision, had the labelers changed between the rounds.

    A fit carries the labelers' sensitivities and specificities from history to the current round.
    This asks what it would say had they all moved on the logit scale, or each on its own, and how
    small a move changes the decision.

    Parameters
    ----------
    fit : xarray.DataTree
        A fit with draws: mode "nuts", "laplace" or "exact".
    history, current : Labels
        The tables the fit was made from.
    rule : Rule, JointRule or str, optional
        The decision to watch. Without it the sweep reports the rate alone.
    grid : sequence of float, or two of them, optional
        Shifts of the sensitivities and of the specificities on the logit scale; 0 is added.
        Default: 15 from -1 to 1 for both.
    drift_sd : sequence of float
        Standard deviations of a move of each labeler's own, logit scale, around no common shift.
    metric, group : str, optional
        Without a rule: "prevalence" or "item_rate", and of which current group.
    draws : int, optional
        Draws used, evenly spaced among those whose evidence the fit keeps; by default 400, fewer
        above 7,500 current items.
    random_seed : int
        For the labelers' own moves, the items' truths and the weights of covariates.

    Returns
    -------
    xarray.Dataset
        ``mean`` (the median where a draw is infinite, a ratio to 0) and ``quantiles`` of the rate
        and, with a rule, ``probability`` of its event and
        ``decision``, over (shift_sensitivity, shift_specificity); the same with ``drift_`` before
        the name over drift_sd; ``tipping_point`` (direction), the smallest shift that changes the
        decision, ``tipping_points_percent`` (the same as a change of the mean rate in percentage
        points), ``tipping_decision`` and a ``sentence`` for each direction. A tipping point is NaN
        where no shift within the grid changes the decision; the sentence says so. The attribute
        ``sentences`` holds all of them, ``read_as`` how a shift is read for this model.

    Raises
    ------
    DataError
        If the tables are not those of the fit, or a group is not named where there are several.
    Refusal
        If the fit has no draws or its layers cannot be followed.
    ValueError
        If an argument is not understood.

    Notes
    -----
    Log P(labels | truth) is evaluated anew at the moved rates of every draw and the rate is drawn
    from its posterior given the changed evidence. Each draw keeps its place (its CDF) in that
    posterior, and all points share their random numbers: at no shift the draws are those of the
    fit, and curves are smooth. ``tipping_point`` is found by bisection between the points of the
    grid on the axes. The decision is the rule's alone; whether the fit may be used at all is
    ``hb.diagnose``'s to say.

    Fits of ``score`` and ``auto`` have no labeler rates: the rates moved are those of independent
    labelers, and the change of an item's log-likelihood ratio is worth the slope of the fit's
    evidence on theirs; see ``read_as``. In a joint fit the labelers were informed by the
    current labels under no drift.

    Examples
    --------
    >>> import hero_bayes as hb
    >>> rounds = hb.datasets.demo_rounds()
    >>> fitted = hb.fit(rounds.history, rounds.current, model="auto", random_seed=1, draws=100)
    >>> sweep = transport_sensitivity(fitted, rounds.history, rounds.current, grid=[-0.5, 0.5])
    >>> sweep["mean"].dims, sweep["shift_specificity"].to_numpy().tolist()
    (('shift_sensitivity', 'shift_specificity'), [-0.5, 0.0, 0.5])
    """
    check_fit(fit)
    need_labels(history=history, current=current)
    check_seed(random_seed)
    axes = grid_axes(grid)
    spread = checked("drift_sd", drift_sd)
    if (spread < 0.0).any():
        raise ValueError("drift_sd must not be negative")
    if draws is not None:
        whole_number(draws, "draws", 2)
    question = question_of(fit, rule, metric, group)
    engine = engine_of(fit, history, current, question, draws=draws, random_seed=random_seed)
    answers = sweep(engine, axes)
    own = own_moves(engine, spread, random_seed)
    tables = {
        **summaries(question, answers, ("shift_sensitivity", "shift_specificity")),
        **{f"drift_{k}": v for k, v in summaries(question, own, ("drift_sd",)).items()},
    }
    dataset = xr.Dataset(
        tables,
        coords={
            "shift_sensitivity": axes[0],
            "shift_specificity": axes[1],
            "drift_sd": spread,
            "quantile": list(QUANTILES),
        },
    )
    base = answers[int(np.argmin(abs(axes[0])))][int(np.argmin(abs(axes[1])))]
    whole = question.answer_of_fit(fit)
    said = [base_sentence(question, base, whole)]
    if rule is not None:
        tips = [tip(engine, axes, answers, base, name) for name in DIRECTIONS]
        lines = sentences(engine, tips, base)
        dataset = dataset.assign(tipping_variables(tips, lines))
        dataset = dataset.assign_coords(direction=list(DIRECTIONS))
        said += lines
    dataset.attrs = {
        "target": question.parts[0].name,
        "rule": "" if question.rule is None else str(question.rule),
        **rule_attributes(question, whole),
        "model": str(fit.attrs["model"]),
        "posterior": str(fit.attrs["posterior"]),
        "n_draws": engine.draws.n_draws,
        "random_seed": random_seed,
        "read_as": engine.labelers.read_as,
        "sentences": "\n".join(said),
    }
    return dataset


def grid_axes(grid: Any) -> tuple[FloatArray, FloatArray]:
    """Shifts of sensitivity and of specificity, sorted, 0 among them."""
    if grid is None:
        grid = GRID
    if isinstance(grid, str) or not isinstance(grid, Iterable):
        raise ValueError(f"grid must be a sequence of shifts, or two, got {grid!r}")
    parts = list(grid)
    nested = [np.ndim(part) > 0 for part in parts]
    if any(nested):
        if not all(nested) or len(parts) != 2:
            raise ValueError(
                "grid must be one sequence of shifts, or two: of sensitivity and of specificity"
            )
    else:
        parts = [parts, parts]
    first, second = (np.unique(np.append(checked("grid", part), 0.0)) for part in parts)
    return first, second


def checked(role: str, values: Any) -> FloatArray:
    """Finite numbers as an array, sorted."""
    array = np.unique(numbers_of(values, role))
    if not np.isfinite(array).all():
        raise ValueError(f"{role} must hold finite numbers, got {values!r}")
    return array


def sweep(engine: Engine, axes: tuple[FloatArray, FloatArray]) -> list[list[Answer]]:
    """Answers over the grid, one evaluation of each class a value of its shift."""
    negatives = [None if s == 0.0 else engine.labelers.negative(float(s)) for s in axes[1]]
    answers = []
    for shift in axes[0]:
        positive = None if shift == 0.0 else engine.labelers.positive(float(shift))
        answers.append([engine.at(positive, negative) for negative in negatives])
    return answers


def own_moves(engine: Engine, spread: FloatArray, random_seed: int) -> list[Answer]:
    """Answers where each labeler moved on its own, the same standard normals for every spread."""
    rng = np.random.default_rng([random_seed, 13])
    shape = (2, engine.draws.n_draws, engine.labelers.labels.n_labelers)
    normal = rng.standard_normal(shape)
    return [engine.moved(*(t * normal)) for t in spread]


def summaries(
    question: Question, answers: Any, dims: tuple[str, ...]
) -> dict[str, tuple[tuple[str, ...], NDArray[Any]]]:
    """Mean, quantiles and, with a rule, probability and decision of nested lists of answers."""
    flat: list[Answer] = [a for row in answers for a in row] if len(dims) == 2 else list(answers)
    shape = (len(answers), len(answers[0])) if len(dims) == 2 else (len(answers),)
    mean = np.array([middle_of(a.values) for a in flat]).reshape(shape)
    middle = np.array([quantiles(a.values, QUANTILES) for a in flat])
    found: dict[str, Any] = {
        "mean": (dims, mean),
        "quantiles": ((*dims, "quantile"), middle.reshape(*shape, len(QUANTILES))),
    }
    if question.rule is not None:
        chance = np.array([a.probability for a in flat])
        words = np.array([a.decision for a in flat], dtype=str)
        found |= {
            "probability": (dims, chance.reshape(shape)),
            "decision": (dims, words.reshape(shape)),
        }
    return found


def tipping_variables(tips: Sequence[Tip], lines: Sequence[str]) -> dict[str, Any]:
    """Variables over the directions."""
    return {
        "tipping_point": ("direction", [one.shift for one in tips]),
        "tipping_points_percent": ("direction", [one.points for one in tips]),
        "tipping_decision": ("direction", [one.decision for one in tips]),
        "sentence": ("direction", list(lines)),
    }


def rule_attributes(question: Question, whole: Answer) -> dict[str, Any]:
    """What the rule asks for, and what all draws of the fit say."""
    if question.rule is None:
        return {}
    return {
        "rule_probability": question.rule.probability,
        "fit_probability": whole.probability,
        "fit_decision": whole.decision,
    }


def base_sentence(question: Question, base: Answer, whole: Answer) -> str:
    """What the fit says with nothing moved."""
    how = "on average" if np.isfinite(base.values).all() else "in the median"
    middle = middle_of(base.values)
    said = f"With the labelers of history: {question.parts[0].name} {middle:.3f} {how}"
    if question.rule is None:
        return f"{said}."
    said += f", {question.event} = {base.probability:.3f}: {base.decision}."
    if whole.decision != base.decision:
        said += (
            f" All draws of the fit give {whole.probability:.3f} and so {whole.decision}: the "
            "decision hangs on the number of draws; raise draws, or fit with more."
        )
    return said
