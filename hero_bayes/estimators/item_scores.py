"""One number an item: how its labels speak for y = 1, by a rule that never saw the item."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from hero_bayes.data.building import check_choice
from hero_bayes.data.labels import Labels
from hero_bayes.errors import Refusal
from hero_bayes.estimators.label_laws import LabelLaws, compare_laws, match
from hero_bayes.estimators.score_calibration import FEWEST_GOLD
from hero_bayes.estimators.scorer import (
    SCORES,
    ItemScores,
    assign_folds,
    make_scorer,
    vote_logit,
)
from hero_bayes.estimators.shared_effect import POWER

__all__ = ["ItemScores", "assign_folds", "item_scores", "score_sets", "vote_logit"]

FOLDS = 5
#: Random parts of the labels that scores are averaged over where the rounds have to be matched.
PARTS = 5


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
        If there is no labeled item with gold of one of the classes, or, where rounds are matched,
        too few gold items keep a label.

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
    return score_sets(
        history,
        current,
        folds=folds,
        power=power,
        transport=transport,
        parts=1,
        random_seed=random_seed,
    )[-1]


def score_sets(
    history: Labels,
    current: Labels,
    *,
    folds: int = FOLDS,
    power: float = POWER,
    transport: str = "auto",
    parts: int = PARTS,
    random_seed: int = 0,
) -> tuple[ItemScores, ...]:
    """Scores by all labels; then, where the rounds had to be matched, by random parts of them.

    Parameters
    ----------
    history, current, folds, power, transport, random_seed
        As in `item_scores`.
    parts : int
        How many parts.

    Returns
    -------
    tuple of ItemScores
        One where nothing had to be matched, else 1 + ``parts``, with the same notes.
    """
    check_choice("transport", transport, ("auto", "none", "match", "model"))
    rng = np.random.default_rng(random_seed)
    scorer = make_scorer(history, current, folds, power, rng)
    past, now = scorer.panel.history, scorer.panel.current
    laws = compare_laws(past, now, scorer.fit)
    if transport == "model":
        return (scorer.scores(past, now, SCORES[-1:], ()),)
    if transport == "none" or (transport == "auto" and not laws.changed):
        return (scorer.scores(past, now, SCORES, ()),)
    matched = [match(past, now, rng, labelers=laws.labelers_changed) for _ in range(parts)]
    notes = (_note(laws, past, now, matched),)
    _check_matched(matched, laws)
    sets = (
        scorer.scores(past, now, SCORES, notes),
        *(scorer.scores(*pair, SCORES, notes) for pair in matched),
    )
    return _without_lost_groups(sets)


def _without_lost_groups(sets: tuple[ItemScores, ...]) -> tuple[ItemScores, ...]:
    """All sets without the history groups whose gold items have no label left in one of them."""
    past = sets[0].panel.history
    with_gold = [set(past.group_idx[past.has_gold & one.history_used].tolist()) for one in sets]
    lost = sorted(with_gold[0].difference(set.intersection(*with_gold)))
    if not lost:
        return sets
    stays = ~np.isin(past.group_idx, lost)
    return tuple(replace(one, history_used=one.history_used & stays) for one in sets)


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
