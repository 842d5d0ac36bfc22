"""How many items, labels and gold labels the next round needs, by simulating it."""

import itertools
import math
import numbers
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hero_bayes.data.arguments import need_labels
from hero_bayes.data.labels import Labels
from hero_bayes.decision.arguments import check_seed, check_share, whole_number
from hero_bayes.decision.rule import JointRule, Rule
from hero_bayes.errors import Refusal
from hero_bayes.estimators.estimate import group_items
from hero_bayes.planning.beliefs import beliefs
from hero_bayes.planning.plan_result import Goal, Plan, planned
from hero_bayes.planning.simulated import MODELS, Design, Row, Settings, one_future
from hero_bayes.simulation.progress import progress
from hero_bayes.simulation.workers import in_parallel

__all__ = ["plan"]

FloatArray = NDArray[np.float64]
Numbers = int | Sequence[int]

COSTS = ("item", "label", "gold")
METRICS = ("prevalence", "item_rate")
#: Fewest history items with enough labels of either truth, for a simulation to draw from.
FEWEST_SOURCES = 2


def plan(
    history: Labels,
    rule: Rule | str | None = None,
    current: Labels | None = None,
    *,
    n_items: Numbers = (100, 200, 400),
    labels_per_item: Numbers | None = None,
    gold: Numbers = 0,
    costs: Mapping[str, float] | None = None,
    target_width: float | None = None,
    target_correct: float | None = None,
    metric: str | None = None,
    prob: float = 0.9,
    rate: float | None = None,
    group: str | None = None,
    model: str = "auto",
    n_simulations: int = 40,
    draws: int = 400,
    random_seed: int = 0,
    n_workers: int = 1,
    progressbar: bool = False,
) -> Plan:
    """Simulate the next round under several designs: width of the interval, right decisions, cost.

    Parameters
    ----------
    history : Labels
        Past rounds with gold; their items, labels and all, are what the next round is made of.
    rule : Rule or str, optional
        The release rule, of one rate.
    current : Labels, optional
        A round like the next one: its rate is the next one's. Default: the rate of history.
    n_items, labels_per_item, gold : int or sequence of int
        Items of the next round, labels of each (default: as many as history items have), and gold
        labels to be added to history, at random. Every combination is a design.
    costs : mapping, optional
        ``{"item": x, "label": y, "gold": z}``, what is missing is free: an item, one label of it
        and one gold label.
    target_width, target_correct : float, optional
        The mean width of the interval, and the probability of a correct decision, to be reached.
    metric : {"prevalence", "item_rate"}, optional
        The rate that is looked at; default: the rule's, without a rule the prevalence.
    prob : float
        Probability of the interval.
    rate : float, optional
        Plan for this rate of the source; default: drawn from the posterior.
    group : str, optional
        The group of ``current``; default: the rule's, or the only one.
    model : {"auto", "score", "hero"}
        What is fitted. "hero" assumes independent errors and is quick.
    n_simulations, draws : int
        Simulated rounds of each design, and posterior draws of each fit.
    random_seed : int
        The same seed gives the same plan, with any number of workers.
    n_workers : int
        Processes; -1 takes every core.
    progressbar : bool
        A bar on a terminal, plain lines elsewhere, on standard error.

    Returns
    -------
    Plan
        ``table``, one row a design, ``cheapest`` of those that reach the targets, and sentences
        (``print``).

    Raises
    ------
    Refusal
        If history cannot be calibrated, or has too few items with so many labels.
    ValueError
        If an argument is not understood.

    Notes
    -----
    For each simulation the truth of every history item is drawn from the posterior of ``model``
    ("auto" for "hero"), and the rate. An item of the next round has a drawn truth and the labels of
    a history item of that truth, so that labels stay as dependent as they are. Labelers are those
    of history and behave as they did. All designs see the same truths, so that they differ by less
    than their own Monte-Carlo errors say. Decisions are those of ``hb.decide`` without the gate;
    correct means ship where the rule's event is true, or hold where it is false; collecting more is
    neither.

    Gold of the next round itself is not simulated; ``hb.next_gold`` says what it would bring. How
    many generations a prompt needs is a question for ``hb.difficulty.plan``.

    Examples
    --------
    >>> import hero_bayes as hb
    >>> rounds = hb.datasets.demo_rounds()
    >>> found = plan(
    ...     rounds.history, "P(prevalence <= 0.5) >= 0.9", n_items=(50, 200), model="hero",
    ...     n_simulations=10, costs={"item": 1.0, "label": 0.1},
    ... )
    >>> bool(found.table["width"][0] > found.table["width"][1])
    True
    """
    need_labels(history=history, **({} if current is None else {"current": current}))
    check_seed(random_seed)
    if current is None and group is not None:
        raise ValueError(f"group={group!r} is one of current: give current too")
    read = _rule(rule, metric)
    settings = Settings(model, metric or (read.metric if read else "prevalence"), read, prob, draws)
    _check(settings, n_simulations, n_workers, rate, target_correct)
    designs = _designs(history, n_items, labels_per_item, gold)
    goal = Goal(_costs(costs), _positive(target_width, "target_width"), target_correct)
    if current is not None:
        group = _group(current, group or (read.group if read else None))
    truths, rates = _futures(history, current, group, model, n_simulations, rate, random_seed)
    _check_sources(history, truths, designs)
    tasks = [
        (history, truths[k], float(rates[k]), designs, settings, (random_seed, k))
        for k in range(n_simulations)
    ]
    rows: list[Row] = []
    with progress(progressbar, n_simulations, "plan") as advance:
        for part in _results(tasks, n_workers):
            rows += part
            advance(1)
    mean_labels = float(history.labels_per_item.mean())
    return planned(rows, designs, settings, goal, mean_labels, rates)


def _results(tasks: Sequence[tuple[Any, ...]], n_workers: int) -> Iterator[list[Row]]:
    if n_workers == 1:
        for task in tasks:
            yield one_future(*task)
        return
    yield from in_parallel(one_future, tasks, n_workers)


def _futures(
    history: Labels,
    current: Labels | None,
    group: str | None,
    model: str,
    number: int,
    rate: float | None,
    seed: int,
) -> tuple[NDArray[np.int8], FloatArray]:
    """Truth of every history item (simulation, item), and the rate of the next source."""
    now = history.without_gold() if current is None else current
    position = 0 if current is None else group_items(current, group)[1]
    found = beliefs(history, now, "score" if model == "score" else "auto", max(number, 200), seed)
    rng = np.random.default_rng([seed, 3])
    chosen = rng.permutation(max(number, 200))[:number]
    truths = np.empty((number, history.n_items), dtype=np.int8)
    open_ = np.flatnonzero(~history.has_gold)
    truths[:, history.has_gold] = history.gold[history.has_gold]
    if open_.size:
        chance = found.truth_chance(open_)[chosen]
        truths[:, open_] = rng.random(chance.shape) < chance
    if rate is not None:
        return truths, np.full(number, rate)
    if current is not None:
        return truths, found.prevalence[chosen, position]
    positive = truths.sum(axis=1)
    return truths, rng.beta(1.0 + positive, 1.0 + history.n_items - positive)


def _group(current: Labels, wanted: str | None) -> str | None:
    """The full name of a group that is given by its arm alone, where one has that arm."""
    names = current.groups("current")
    of_arm = [n for n, arm in zip(names, current.group_arm, strict=True) if arm == wanted]
    return of_arm[0] if wanted not in names and len(of_arm) == 1 else wanted


def _rule(rule: Rule | str | None, metric: str | None) -> Rule | None:
    read = Rule.parse(rule) if isinstance(rule, str) else rule
    if metric is not None and metric not in METRICS:
        raise ValueError(f"metric must be one of {', '.join(METRICS)}, got {metric!r}")
    if isinstance(read, JointRule) and len(read.parts) == 1:
        read = read.parts[0]
    if read is None:
        return None
    if not isinstance(read, Rule):
        raise ValueError(f"a plan is made for one rule, got {read}; plan for each of them")
    if read.arm is not None or read.metric not in METRICS:
        raise ValueError(
            f"a plan is made for a rule on the prevalence or item_rate of one group, got {read}"
        )
    if metric is not None and metric != read.metric:
        raise ValueError(f"metric={metric!r} is not that of the rule {read}; leave it out")
    return read


def _check(
    settings: Settings,
    n_simulations: int,
    n_workers: int,
    rate: float | None,
    target_correct: float | None,
) -> None:
    if settings.model not in MODELS:
        raise ValueError(f"model must be one of {', '.join(MODELS)}, got {settings.model!r}")
    for role, value, least in (("n_simulations", n_simulations, 2), ("draws", settings.draws, 100)):
        whole_number(value, role, least)
    if n_workers != -1:
        whole_number(n_workers, "n_workers", 1)
    shares = (("prob", settings.prob), ("rate", rate), ("target_correct", target_correct))
    for role, share in shares:
        if share is not None:
            check_share(share, role)
    if target_correct is not None and settings.rule is None:
        raise ValueError("target_correct speaks of decisions: give a rule")


def _several(values: Numbers, role: str, least: int) -> list[int]:
    listed = list(values) if isinstance(values, Iterable) else [values]
    if not listed:
        raise ValueError(f"{role} is empty; give at least one number")
    return sorted({whole_number(value, role, least) for value in listed})


def _designs(
    history: Labels, n_items: Numbers, labels_per_item: Numbers | None, gold: Numbers
) -> tuple[Design, ...]:
    """All combinations, ordered by items, labels and gold."""
    labels: Sequence[int | None] = [None]
    if labels_per_item is not None:
        labels = _several(labels_per_item, "labels_per_item", 1)
    golds = _several(gold, "gold", 0)
    open_ = int((~history.has_gold).sum())
    if golds[-1] > open_:
        raise ValueError(f"gold={golds[-1]}: only {open_} history items are without gold")
    sizes = _several(n_items, "n_items", 1)
    return tuple(Design(*one) for one in itertools.product(sizes, labels, golds))


def _check_sources(history: Labels, truths: NDArray[np.int8], designs: tuple[Design, ...]) -> None:
    """Refuse where no history item has so many labels."""
    for count in sorted({d.labels_per_item or 1 for d in designs}):
        enough = truths[:, history.labels_per_item >= count]
        few = min(int(enough.sum(axis=1).min()), int((1 - enough).sum(axis=1).min()))
        if few < FEWEST_SOURCES:
            raise Refusal(
                f"labels_per_item={count}: {enough.shape[1]} history items have so many labels, "
                f"and in some simulation {few} of them are of one truth, at least {FEWEST_SOURCES} "
                "needed; ask for fewer labels, or let more labelers label some history items"
            )


def _positive(value: float | None, role: str) -> float | None:
    number = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if value is not None and not (number and 0.0 < value < math.inf):
        raise ValueError(f"{role} must be positive, got {value!r}")
    return value


def _costs(costs: Mapping[str, float] | None) -> dict[str, float] | None:
    if costs is None:
        return None
    if not isinstance(costs, Mapping):
        raise ValueError(f"costs has {', '.join(COSTS)}, got {costs!r}")
    unknown = sorted(set(costs) - set(COSTS))
    if unknown or not costs:
        raise ValueError(f"costs has {', '.join(COSTS)}, got {dict(costs)}")
    for name, price in costs.items():
        if not isinstance(price, numbers.Real) or not 0.0 <= float(price) < math.inf:
            raise ValueError(f"costs[{name!r}] is a number, not negative, got {price!r}")
    return {name: float(costs.get(name, 0.0)) for name in COSTS}
