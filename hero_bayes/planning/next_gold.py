"""The items whose gold label would sharpen the rate of the current round most."""

import numbers
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hero_bayes.data.arguments import need_labels
from hero_bayes.data.labels import Labels
from hero_bayes.data.panel import align
from hero_bayes.decision.arguments import check_seed, whole_number
from hero_bayes.errors import Refusal
from hero_bayes.estimators.estimate import group_items
from hero_bayes.estimators.fallback import shortfall
from hero_bayes.planning.beliefs import Beliefs, beliefs
from hero_bayes.planning.gold_list import NextGold, listed, listed_unranked
from hero_bayes.planning.greedy import Question, choose, first_gains
from hero_bayes.planning.spread import spread_over_votes

if TYPE_CHECKING:
    from hero_bayes.data.panel import Panel
    from hero_bayes.estimators.fallback import Shortfall

__all__ = ["next_gold"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

WHERE = ("both", "history", "current")
TARGETS = ("item_rate", "prevalence")
MODELS = ("auto", "score")
#: Candidates that are compared with each other, by their gain alone.
MOST_CANDIDATES = 3_000
#: Chances held at once.
BLOCK = 4_000_000


def next_gold(
    history: Labels,
    current: Labels,
    budget: int,
    *,
    where: str = "both",
    target: str = "item_rate",
    group: str | None = None,
    random_share: float = 0.5,
    model: str = "auto",
    draws: int = 1_000,
    random_seed: int = 0,
) -> NextGold:
    """Choose the items to label by experts, so that the current rate gets sharpest.

    Parameters
    ----------
    history, current : Labels
        The two rounds, with the gold that there is.
    budget : int
        How many gold labels can be had.
    where : {"both", "history", "current"}
        Which round the items may come from. Gold in history calibrates the labelers, for this round
        and later ones; gold in the current round settles the item for this round.
    target : {"item_rate", "prevalence"}
        The rate whose variance counts. The order is the same; what is left at best is not.
    group : str, optional
        The current group, needed where there are several.
    random_share : float
        Share of the list that comes at random from the current round, unless ``where`` is
        "history". 0 takes the best throughout.
    model : {"auto", "score"}
        The model that will be fitted.
    draws : int
        Posterior draws that the expectations rest on.
    random_seed : int
        The same seed gives the same list.

    Returns
    -------
    NextGold
        ``table`` in the order of choice: any first part of it is the choice for a smaller budget.

    Raises
    ------
    Refusal
        If there is no item to choose.
    DataError
        If there is no such group, or several and none named.
    ValueError
        If an argument is not understood.

    Notes
    -----
    Each item's chance p_d and the rate t_d are known for every posterior draw d. The expected
    variance of the rate after the item's gold is that of the draws re-weighted by p_d or 1 - p_d;
    its fall is Cov(t, p)^2 / (E p (1 - E p)). Items are taken one after the other, each given the
    answers of those before (`hero_bayes.planning.greedy.choose`), so that ten items that say the
    same are not taken. A current item's gold is counted for the item alone, which is how "score"
    uses it.

    Gold chosen by the labels leaves the posterior honest: what is chosen depends on what the
    posterior already conditions on. The share of positives among the chosen items, and the
    labelers' rates on them (``method="gold_rates"``), do not carry over to other items; do not read
    them. The choice concentrates on scores that matter, and where the line of the calibration bends
    there it rests on few others; gold chosen at random would show it.

    Current gold moves the rate but not the calibration. Where the calibration is wrong, current
    items chosen for their scores bend the rate towards themselves; those that come at random
    (``random_share``) keep it in place. Choosing saves the more labels the better the scores
    separate the items; where labelers share strong errors it saves next to none in the current
    round (``benchmarks/results/next_gold.csv``; either round alone, not both).

    With too little gold to calibrate (fewer than two items of a class) the items are spread over
    the range of votes, and no gain is given. Gold is taken as the truth.

    Examples
    --------
    >>> import hero_bayes as hb
    >>> rounds = hb.datasets.demo_rounds()
    >>> asked = next_gold(rounds.history, rounds.current, 10, draws=200)
    >>> len(asked.items), asked.sd_after < asked.sd_now
    (10, True)
    """
    _check(budget, where, target, model, draws)
    need_labels(history=history, current=current)
    check_seed(random_seed)
    number = isinstance(random_share, numbers.Real) and not isinstance(random_share, bool)
    if not (number and 0.0 <= random_share <= 1.0):
        raise ValueError(f"random_share must lie between 0 and 1, got {random_share!r}")
    name, position, members = group_items(current, group)
    panel = align(history, current, unseen="drop")
    lack = shortfall(panel)
    rng = np.random.default_rng([random_seed, 2])
    if lack is not None:
        return _spread(panel, lack, members, budget, where, name, target, rng)
    found = beliefs(history, current, model, draws, random_seed)
    past = np.flatnonzero(found.calibrates) if where != "current" else np.empty(0, np.int64)
    now = members[~current.has_gold[members]]
    question, past, now = _question(found, position, members, past, now, where, rng)
    if not past.size + now.size:
        raise Refusal(_nothing_left(where))
    order = past.size + rng.permutation(now.size)
    chosen = choose(question, budget, order.tolist(), random_share if now.size else 0.0)
    return listed(
        question, chosen, found, (past, now), group=name, position=position, target=target,
        where=where, model=model, random_seed=random_seed, budget=budget,
    )  # fmt: skip


def _check(budget: int, where: str, target: str, model: str, draws: int) -> None:
    for role, value, least in (("budget", budget, 1), ("draws", draws, 100)):
        whole_number(value, role, least)
    choices = (("where", where, WHERE), ("target", target, TARGETS), ("model", model, MODELS))
    for role, word, allowed in choices:
        if word not in allowed:
            raise ValueError(f"{role} must be one of {', '.join(allowed)}, got {word!r}")


def _nothing_left(where: str) -> str:
    rounds = {"both": "either round", "history": "history", "current": "the current round"}[where]
    return (
        f"no item of {rounds} is left to choose: all that count have gold. In history only items "
        "with a label of a known labeler count, in groups where some have gold"
    )


def _question(
    found: Beliefs,
    position: int,
    members: IntArray,
    past: IntArray,
    now: IntArray,
    where: str,
    rng: np.random.Generator,
) -> tuple[Question, IntArray, IntArray]:
    """The rate and its best candidates by their own gain."""
    chance = found.current_chance(now, position)
    gold = found.current.gold[members]
    target = (np.nansum(gold) + chance.sum(axis=1)) / members.size
    own = (chance * (1.0 - chance)).mean(axis=0)
    spread = float(own.sum()) / members.size**2
    if where == "history":
        now, chance = now[:0], chance[:, :0]
    none = np.empty((target.size, 0))
    gains = [np.empty(0)]
    size = max(1, BLOCK // target.size)
    for begin in range(0, past.size, size):
        block = found.history_chance(past[begin : begin + size])
        gains.append(first_gains(Question(target, spread, block, none, members.size)))
    past = past[_best(np.concatenate(gains))]
    kept = np.arange(now.size)
    if now.size > 2 * MOST_CANDIDATES:  # of a large round the best, and as many at random
        best = _best(first_gains(Question(target, spread, none, chance, members.size)))
        kept = np.union1d(best, rng.permutation(now.size)[:MOST_CANDIDATES])
    history = found.history_chance(past) if past.size else none
    return Question(target, spread, history, chance[:, kept], members.size), past, now[kept]


def _best(gain: FloatArray) -> IntArray:
    """Positions of the largest gains, in their order."""
    return np.sort(np.argsort(-gain, kind="stable")[:MOST_CANDIDATES])


def _spread(
    panel: "Panel",
    lack: "Shortfall",
    members: IntArray,
    budget: int,
    where: str,
    group: str,
    target: str,
    rng: np.random.Generator,
) -> NextGold:
    """Items over the range of votes: of history where its gold is short, else of this round."""
    past, now = panel.history, panel.current
    use_history = lack.kind == "gold" and where != "current"
    labels = past if use_history else now
    open_ = np.flatnonzero(~past.has_gold & (past.labels_per_item > 0))
    if not use_history:
        open_ = members[~now.has_gold[members]]
        if where == "history":
            raise Refusal(f'{lack.reason}; gold in history would not help, where="current" does')
    if not open_.size:
        raise Refusal(_nothing_left("history" if use_history else "current"))
    item_idx = spread_over_votes(labels, open_, budget, rng)
    return listed_unranked(
        labels,
        item_idx,
        "history" if use_history else "current",
        lack.reason,
        group,
        target,
        budget,
    )
