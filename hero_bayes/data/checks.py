"""What is legal but dangerous in a history and a current round."""

from typing import TYPE_CHECKING

from hero_bayes.data.arguments import need_labels
from hero_bayes.data.check_gold import gold_findings
from hero_bayes.data.check_rounds import labeler_id_findings, round_findings
from hero_bayes.data.check_table import few_labelers, table_findings
from hero_bayes.data.findings import Finding, Findings

if TYPE_CHECKING:
    from hero_bayes.data.labels import Labels

__all__ = ["Finding", "Findings", "check"]


def check(
    history: "Labels", current: "Labels | None" = None, *, shrink: str | None = "paper"
) -> Findings:
    """Look for what is legal but dangerous, before any method runs.

    Nothing is raised: each finding says what it is and what to do about it.

    Parameters
    ----------
    history : Labels
        The past rounds, with some gold; alone, also a current round, which needs none.
    current : Labels, optional
        The round whose rate is wanted.
    shrink : {"paper", "optimal"} or None
        How ``hb.estimate`` will use the covariates; None if it will not.

    Returns
    -------
    Findings
        Errors (some method will refuse), warnings (some answer may be wrong) and notes, in this
        order; ``.table`` is a DataFrame.

    Examples
    --------
    >>> import pandas as pd
    >>> from hero_bayes.data.labels import Labels
    >>> table = pd.DataFrame({"item": [1, 2], "labeler": ["a", "a"], "label": [1, 0]})
    >>> check(Labels.from_frames(table)).codes
    ('few_labelers', 'no_gold', 'small_group')
    """
    need_labels(history=history)
    if current is not None:
        need_labels(current=current)
    found: list[Finding] = []
    rounds = [history] if current is None else [history, current]
    found.extend(gold_findings(rounds))
    if current is not None:
        found.extend(round_findings(history, current, shrink))
    found.extend(labeler_id_findings(*rounds))
    for role, labels in zip(("history", "current"), rounds, strict=False):
        found.extend(table_findings(labels, role))
    role = "the table" if current is None else "the current round"
    found.extend(few_labelers(rounds[-1], role))
    return Findings(tuple(found))
