"""The anchored tilt as an estimate: mean, spread and quantiles of its draws."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hero_bayes.estimators.independent import silent_groups
from hero_bayes.estimators.prompt_spread import rates_by_prompt
from hero_bayes.estimators.report import left_out_note
from hero_bayes.estimators.result import Estimate
from hero_bayes.estimators.tilt import TiltDraws

if TYPE_CHECKING:
    import pandas as pd

FloatArray = NDArray[np.float64]

#: Draws behind one estimate.
N_DRAWS = 2_000
#: Above this chance that a score points the wrong way, the estimate says so.
NEGATIVE_SLOPE_LIMIT = 0.05
#: With fewer gold items of a class the interval is hardly narrower than no knowledge.
FEW_GOLD = 10
RATES_LEFT_OUT = (
    "the tilt reads one score an item, not each labeler's errors; hero1 and gold_rates estimate "
    "sensitivity and specificity"
)


def slope_table(draws: TiltDraws) -> "pd.DataFrame":
    """Slope of each score that has draws, and of all: mean, 95 % limits, P(slope < 0).

    1 means that the score is an honest log-likelihood ratio, less that it is over-confident.
    """
    import pandas as pd

    rows = {}
    for position, name in enumerate(draws.scores.names):
        part = draws.slope[draws.component == position]
        if part.size:
            rows[name] = (*_summary(part), draws.negative_slope[position])
    rows["pooled"] = (*_summary(draws.slope), draws.weight @ draws.negative_slope)
    columns = ["mean", "lower", "upper", "negative"]
    table = pd.DataFrame.from_dict(rows, orient="index", columns=columns)
    return table.rename_axis("score")


def score_remarks(draws: TiltDraws, group: str | None = None) -> tuple[str, ...]:
    """What a reader must know of the calibration, and of one group or all."""
    remarks = [*draws.scores.notes, *silent_groups(draws.scores.panel.current, group)]
    history = draws.scores.panel.history
    gold = history.gold[history.has_gold & draws.scores.history_used]
    few = int(min((gold == 0.0).sum(), (gold == 1.0).sum()))
    if few < FEW_GOLD:
        remarks.append(
            f"only {few} labeled history items of one class have gold; the interval is wide. Some "
            "25 of each class make it useful"
        )
    negative = float(draws.weight @ draws.negative_slope)
    if negative > NEGATIVE_SLOPE_LIMIT:
        remarks.append(
            f"the scores may point the wrong way: P(slope < 0) = {negative:.2f}. Labels hardly "
            "tell the classes apart on gold; add gold or better labelers"
        )
    without = [g for g in history.groups("history") if g not in draws.gold_groups]
    if without:
        remarks.append(
            f"history groups without gold do not calibrate the scores: {', '.join(without[:3])}"
            f"{', ...' if len(without) > 3 else ''}"
        )
    return tuple(remarks)


def score(draws: TiltDraws, group: str) -> Estimate:
    """Prevalence of a current group by the anchored tilt.

    Each item is reduced to one score. On gold, the log odds of y = 1 are a line in the score, and
    the line gives the likelihood ratio of current items. Assumes that the law of the scores given
    the truth is that of history; not that labelers err independently.
    """
    import pandas as pd

    current = draws.scores.panel.current
    column = draws.groups.index(group)
    gold = current.gold if draws.gold_error is None else np.full(current.n_items, np.nan)
    rates = rates_by_prompt(
        draws.log_ratio_at, draws.prevalence, current, gold, np.random.default_rng(8)
    )
    prevalence = rates[:, column]
    item_idx = np.flatnonzero(current.group_idx == column)
    names = pd.Index(draws.scores.names, name="score")
    gold_groups = pd.Index(draws.gold_groups, name="history_group")
    panel, fit = draws.scores.panel, draws.scores.fit
    return Estimate(
        value=float(prevalence.mean()),
        standard_error=float(prevalence.std(ddof=1)),
        method="score",
        estimand="prevalence",
        group=group,
        notes=(*left_out_note(panel), *score_remarks(draws, group)),
        details={
            "boundary": None,
            "n_items": int(item_idx.size),
            "n_gold_current": int(current.has_gold[item_idx].sum()),
            "labels_left_out": panel.labels_left_out,
            "labelers_left_out": panel.labelers_left_out,
            "unlabeled_items": int((~draws.scores.current_used[item_idx]).sum()),
            "weight": pd.Series(draws.weight, names, name="weight"),
            "slope": slope_table(draws),
            "effective_size": pd.Series(draws.effective_size, names, name="effective_size"),
            "history_prevalence": pd.Series(
                draws.history_prevalence.mean(axis=0), gold_groups, name="history_prevalence"
            ),
            "iterations": fit.iterations,
            "converged": fit.converged,
            "rates_left_out": RATES_LEFT_OUT,
            "gold_error": 0.0 if draws.gold_error is None else float(draws.gold_error.mean()),
        },
        _interval=lambda prob: _limits(prevalence, prob),
    )


def _limits(values: FloatArray, prob: float) -> tuple[float, float]:
    low, high = np.quantile(values, [0.5 - prob / 2.0, 0.5 + prob / 2.0])
    return float(low), float(high)


def _summary(values: FloatArray) -> tuple[float, float, float]:
    return float(values.mean()), *_limits(values, 0.95)
