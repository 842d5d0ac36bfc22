"""Which methods the data can feed today, found by running them."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hero_bayes.cli.reading import Round
from hero_bayes.cli.tables import comparison_rows
from hero_bayes.cli.wording import METHODS, in_flags

if TYPE_CHECKING:
    from hero_bayes.data.findings import Findings
    from hero_bayes.data.labels import Labels

__all__ = ["Support", "numeric_columns", "pair_support", "table_support"]

ANCHORED = ("gold_rates", "hero1", "hero2")
POSTERIORS = ("auto", "hero", "pooled")
#: Items a group on which Dawid-Skene is tried.
ITEMS_TRIED = 200
NO_GOLD = ("no_gold", "gold_one_class")
NOT_NEEDED = "not needed"
WITH_HISTORY = "with a history"


@dataclass(frozen=True)
class Support:
    """Whether a method can use the data.

    Attributes
    ----------
    method : str
        A method of ``estimate``, or "fit auto", "fit hero", "fit pooled" for the full posteriors.
    as_history, as_current : str
        "yes", "no", "not needed" (the method asks for no history) or "with a history".
    reason : str
        Why not, and the remedy; empty where nothing stands in the way.
    """

    method: str
    as_history: str
    as_current: str
    reason: str


def table_support(
    labels: "Labels", findings: "Findings", candidates: Sequence[str]
) -> list[Support]:
    """What one table can feed, as history and as current round."""
    rows = _answers(None, labels.without_gold(), ("majority_vote", "dawid_skene"))
    found = [
        Support(name, NOT_NEEDED, "no" if reason else "yes", reason)
        for name, reason in rows.items()
    ]
    lacking = _lacking_gold(findings)
    if lacking:
        past = dict.fromkeys(ANCHORED, lacking)
    else:
        past = _answers(labels, labels.without_gold(), ("gold_rates", "hero1"))
        past["hero2"] = past["hero1"]
    for name in ANCHORED:
        reason = past[name]
        usable = not past[name]
        if name == "hero2" and usable and not labels.covariates:
            reason = _no_covariates(candidates)
            usable = False
        found.append(Support(name, "yes" if usable else "no", WITH_HISTORY, reason))
    for name in POSTERIORS:
        found.append(Support(f"fit {name}", "no" if lacking else "yes", WITH_HISTORY, lacking))
    return found


def pair_support(
    history: "Labels", current: "Labels", findings: "Findings", candidates: Sequence[str]
) -> list[Support]:
    """What the pair can feed."""
    found = []
    for name, reason in _answers(history, current, METHODS).items():
        if name == "hero2" and not history.covariates:
            reason = _no_covariates(candidates)
        answer = "no" if reason else "yes"
        past = NOT_NEEDED if name not in ANCHORED else answer
        found.append(Support(name, past, answer, reason))
    lacking = _lacking_gold(findings)
    strangers = _message(findings, ("no_shared_labeler",)) if not current.n_gold else ""
    reasons = {"auto": strangers, "hero": lacking or strangers, "pooled": lacking}
    for name, reason in reasons.items():
        answer = "no" if reason else "yes"
        found.append(Support(f"fit {name}", answer, answer, reason))
    return found


def numeric_columns(rounds: Sequence[Round], taken: Sequence[str]) -> tuple[str, ...]:
    """Numeric columns, complete in the items table of every round, that serve as nothing else."""
    from hero_bayes.data.validation import numbers

    def usable(frame: Any) -> set[str]:
        names = set()
        for name in frame.columns:
            values = numbers(frame[name])
            if len(values) and abs(values).max() < float("inf") and values.min() < values.max():
                names.add(str(name))
        return names

    frames = [source.items for source in rounds if source.items is not None]
    if len(frames) < len(rounds):
        return ()
    shared = set.intersection(*(usable(frame) for frame in frames)) - set(taken)
    return tuple(str(name) for name in frames[0].columns if str(name) in shared)


def _answers(history: "Labels | None", current: "Labels", methods: Sequence[str]) -> dict[str, str]:
    """Method to the reason why it refuses in some group; empty where it answers in all."""
    from hero_bayes.estimators.estimate import compare_methods

    others = [name for name in methods if name != "dawid_skene"]
    rows = comparison_rows(compare_methods(history, current, methods=others))
    if "dawid_skene" in methods:
        tried = compare_methods(history, _widest_items(current), methods=["dawid_skene"])
        rows += comparison_rows(tried)
    reasons = dict.fromkeys(methods, "")
    for row in rows:
        if row["refused"]:
            reasons[row["method"]] = reasons[row["method"]] or str(row["reason"])
    return reasons


def _widest_items(labels: "Labels") -> "Labels":
    """In each group the items with most labels: they decide whether Dawid-Skene is identified.

    Its EM can take thousands of rounds; on all items of a large table a check would take minutes.
    """
    import numpy as np

    order = np.lexsort((-labels.labels_per_item, labels.group_idx))
    group = labels.group_idx[order]
    rank = np.arange(len(order)) - np.searchsorted(group, group)
    return labels.take_items(np.sort(order[rank < ITEMS_TRIED]))


def _lacking_gold(findings: "Findings") -> str:
    return _message(findings, NO_GOLD)


def _message(findings: "Findings", codes: Sequence[str]) -> str:
    said = [f"{f.message}; {f.remedy}" for f in findings if f.code in codes]
    return in_flags(" ".join(said))


def _no_covariates(candidates: Sequence[str]) -> str:
    if candidates:
        flags = " ".join(shlex.join(["--covariate", name]) for name in candidates)
        return f"no covariate named; add {flags}, or those of them that describe the prompt"
    return "no covariate: add numeric columns that describe the prompt to the items of both rounds"
