"""One number an item: how its labels speak for y = 1, by a rule that never saw the item."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hero_bayes.data.building import check_choice
from hero_bayes.data.identifiers import some
from hero_bayes.data.labels import Labels
from hero_bayes.errors import Refusal
from hero_bayes.estimators.label_laws import (
    LabelLaws,
    compare_laws,
    kinds_of_groups,
    match,
    of_groups,
)
from hero_bayes.estimators.score_calibration import FEWEST_GOLD
from hero_bayes.estimators.scorer import (
    SCORES,
    ItemScores,
    Scorer,
    assign_folds,
    make_scorer,
    vote_logit,
)
from hero_bayes.estimators.shared_effect import POWER

__all__ = ["ItemScores", "ScoreKind", "assign_folds", "item_scores", "score_sets", "vote_logit"]

FOLDS = 5
#: Random parts of the labels that scores are averaged over where the rounds have to be matched.
PARTS = 5
#: Groups are matched apart where this share of the gold items and of their own keeps a label.
FEWEST_KEPT = 0.5


@dataclass(frozen=True)
class ScoreKind:
    """Groups of the current round whose labels one law gave, and the scores to read them by.

    Attributes
    ----------
    groups : int array
        Positions of the groups.
    sets : tuple of ItemScores
        One by all labels; or, where they had to be matched with history, by random parts of them.
        With several kinds only the items of these groups count as used.
    matched : bool
    """

    groups: NDArray[np.integer]
    sets: tuple[ItemScores, ...]
    matched: bool


def item_scores(
    history: Labels,
    current: Labels,
    *,
    folds: int = FOLDS,
    power: float = POWER,
    transport: str = "auto",
    random_seed: int = 0,
) -> ItemScores:
    """Scores of all items, those of history held out by item.

    Parameters
    ----------
    history, current : Labels
        The two rounds. Current items with gold inform the model, and are held out likewise.
    folds : int
        Number of folds of items.
    power : float
        Power of the likelihood of items without gold.
    transport : {"auto", "none", "match", "model"}
        What to do where labels per item or labelers change from history to the current round.
        "match" scores both rounds by a random part of their labels that one law gave, see `match`;
        "model" keeps only the model's log-likelihood ratio; "none" does nothing; "auto" matches
        where something has changed.
    random_seed : int
        Draws the folds and the labels that stay.

    Returns
    -------
    ItemScores
        The same for any order of rows.

    Raises
    ------
    Refusal
        If there is no labeled item with gold of one of the classes; where rounds are matched, if
        too few gold items keep a label; or if groups of the current round were labeled by different
        labelers, so that no one scale of scores serves them all.

    Notes
    -----
    A share of votes means something else among more or fewer labels, or other labelers. So does the
    model's log-likelihood ratio: where a weak part of the labelers does the work, its errors in
    what it takes them for no longer cancel. Labels that both rounds could have had alike mean the
    same. Labels of labelers whom history does not know are always left out. `score_sets` gives
    several such parts.

    Examples
    --------
    >>> import hero_bayes as hb
    >>> rounds = hb.datasets.demo_rounds()
    >>> scores = item_scores(rounds.history, rounds.current)
    >>> scores.names, scores.current.shape == (3, rounds.current.n_items)
    (('votes', 'mean', 'model'), True)
    """
    _, kinds = score_sets(
        history,
        current,
        folds=folds,
        power=power,
        transport=transport,
        parts=1,
        random_seed=random_seed,
    )
    if len(kinds) > 1:
        names = current.groups("current")
        said = "; ".join(some([names[g] for g in kind.groups], 3) for kind in kinds)
        raise Refusal(
            f"groups of the current round were labeled by different labelers ({said}): scores of "
            'one do not mean what they mean in another. model="score" or "auto" with mode="exact" '
            "calibrates each by its own; or fit the groups one by one"
        )
    return kinds[0].sets[0]


def score_sets(
    history: Labels,
    current: Labels,
    *,
    folds: int = FOLDS,
    power: float = POWER,
    transport: str = "auto",
    parts: int = PARTS,
    random_seed: int = 0,
) -> tuple[ItemScores, tuple[ScoreKind, ...]]:
    """Scores by all labels; and, by kind of group, those to calibrate and to read.

    Parameters
    ----------
    history, current, folds, power, transport, random_seed
        As in `item_scores`.
    parts : int
        How many random parts of the labels, where a kind has to be matched.

    Returns
    -------
    tuple
        The scores by all labels, and the kinds; one kind unless groups of the current round (arms)
        were labeled by different labelers, or get more labels an item than others.

    Notes
    -----
    Were the laws of labels compared over the whole round, differences of its groups would cancel:
    one arm by the strict half of the judges and one by the lenient half look like all judges.
    Groups are matched apart only where that leaves enough labels to calibrate on; a crowd of whom
    each labeled a few items of one group is taken together, and a note says so.
    """
    check_choice("transport", transport, ("auto", "none", "match", "model"))
    rng = np.random.default_rng(random_seed)
    scorer = make_scorer(history, current, folds, power, rng)
    past, now = scorer.panel.history, scorer.panel.current
    every = np.arange(now.n_groups)
    if transport in ("model", "none"):
        scores = scorer.scores(past, now, SCORES[-1:] if transport == "model" else SCORES, ())
        return scores, (ScoreKind(every, (scores,), matched=False),)
    kinds = kinds_of_groups(now, scorer.fit.intercept)
    always = transport == "match"
    if len(kinds) == 1:
        kind, notes = _kind(scorer, every, parts, rng, always)
        scores = scorer.scores(past, now, SCORES, notes) if kind.matched else kind.sets[0]
        return _without_lost_groups(scores, kind)
    apart, together, remarks = list[ScoreKind](), [], list[str]()
    for groups in kinds:
        kind, said = _kind(scorer, groups, parts, rng, always, apart=True)
        remarks += said
        if kind.matched:
            apart.append(kind)
        else:
            together.append(groups)
    if together:
        groups = np.sort(np.concatenate(together))
        try:
            kind, said = _kind(scorer, groups, parts, rng, always)
        except Refusal as refusal:
            if not apart:
                raise
            # Read with the first of the others, as groups without a label.
            said = (f"labels of {_named(now, groups)} are not read: {refusal}",)
            apart[0] = replace(apart[0], groups=np.sort(np.append(apart[0].groups, groups)))
        else:
            apart.append(kind)
        remarks += said
    scores = scorer.scores(past, now, SCORES, tuple(remarks))
    return scores, tuple(_without_lost_groups(scores, kind)[1][0] for kind in apart)


def _kind(
    scorer: Scorer,
    groups: NDArray[np.integer],
    parts: int,
    rng: np.random.Generator,
    always: bool,
    apart: bool = False,
) -> tuple[ScoreKind, tuple[str, ...]]:
    """Scores of some groups, matched with history where their law is another, and a note on it.

    ``apart``: only where enough labels are left.
    """
    past, every = scorer.panel.history, scorer.panel.current
    some_groups = groups.size < every.n_groups
    now = of_groups(every, groups) if some_groups else every
    laws = compare_laws(past, now, scorer.fit)
    if not (always or laws.changed):
        scores = scorer.scores(past, now, SCORES, ())
        return ScoreKind(groups, (scores,), matched=False), ()
    matched = [match(past, now, rng, labelers=laws.labelers_changed) for _ in range(parts)]
    where = f"{_named(every, groups)}: " if some_groups else ""
    if apart and not _enough(matched, past, now):
        return ScoreKind(groups, (), matched=False), (
            f"{where}{laws.reason}; history has too few labels of these labelers to calibrate the "
            "group by its own, so that it is calibrated with others: biased where its labelers "
            "are not like theirs",
        )
    notes = (where + _note(laws, past, now, matched),)
    _check_matched(matched, laws)
    sets = tuple(scorer.scores(*pair, SCORES, notes) for pair in matched)
    return ScoreKind(groups, sets, matched=True), notes


def _named(current: Labels, groups: NDArray[np.integer]) -> str:
    """Names of some groups."""
    names = current.groups("current")
    return some([names[g] for g in groups], 3)


def _enough(matched: Sequence[tuple[Labels, Labels]], past: Labels, now: Labels) -> bool:
    """Whether the match leaves a label to most gold items of either class and to most items."""
    for kept_past, kept_now in matched:
        for truth in (0.0, 1.0):
            asked = (past.gold == truth) & (past.labels_per_item > 0)
            kept = asked & (kept_past.labels_per_item > 0)
            if kept.sum() < max(FEWEST_GOLD, FEWEST_KEPT * asked.sum()):
                return False
        if (kept_now.labels_per_item > 0).sum() < FEWEST_KEPT * (now.labels_per_item > 0).sum():
            return False
    return True


def _without_lost_groups(
    every: ItemScores, kind: ScoreKind
) -> tuple[ItemScores, tuple[ScoreKind, ...]]:
    """All scores without the history groups whose gold items have no label left in one of them."""
    past = every.panel.history
    sets = (every, *kind.sets)
    with_gold = [set(past.group_idx[past.has_gold & one.history_used].tolist()) for one in sets]
    lost = sorted(with_gold[0].difference(set.intersection(*with_gold)))
    if lost:
        stays = ~np.isin(past.group_idx, lost)
        sets = tuple(replace(one, history_used=one.history_used & stays) for one in sets)
    return sets[0], (replace(kind, sets=sets[1:]),)


def _note(
    laws: LabelLaws, past: Labels, now: Labels, matched: Sequence[tuple[Labels, Labels]]
) -> str:
    """What was done about the change, and what it cost."""
    kept = [np.mean([pair[k].n_labels for pair in matched]) for k in (0, 1)]
    shares = kept[0] / max(past.n_labels, 1), kept[1] / max(now.n_labels, 1)
    return (
        f"{laws.reason}: scores would not mean what they meant in history. Each draw rests on a "
        f"random part of the labels that both rounds could have had alike ({shares[0]:.0%} of "
        f"history's, {shares[1]:.0%} of the current ones)"
    )


def _check_matched(matched: Sequence[tuple[Labels, Labels]], laws: LabelLaws) -> None:
    """Refuse where the rounds have too little in common to calibrate on."""
    for past, now in matched:
        gold = past.gold[past.labels_per_item > 0]
        few = min(int((gold == truth).sum()) for truth in (0, 1))
        if few < FEWEST_GOLD or now.n_labels == 0:
            raise Refusal(
                f"{laws.reason}: too few labels are left that both rounds could have had alike, "
                f"on {few} gold items of a class. Let more of history's labelers label the "
                "current round, or add gold to history items that the current labelers judged"
            )
