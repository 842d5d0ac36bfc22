"""What single labelers and single past rounds do to the answer."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hero_bayes.data.arguments import need_labels
from hero_bayes.data.labels import Labels
from hero_bayes.decision.arguments import (
    check_fit,
    check_seed,
    check_share,
    whole_number,
)
from hero_bayes.decision.rates import middle_of, quantiles
from hero_bayes.errors import DataError, Refusal
from hero_bayes.estimators.estimate import estimate
from hero_bayes.inference.fit import fit as fit_model
from hero_bayes.sensitivity.engine import engine_of
from hero_bayes.sensitivity.questions import question_of

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

    from hero_bayes.decision.rule import JointRule, Rule

__all__ = ["labeler_influence", "round_influence"]

FloatArray = NDArray[np.float64]
#: Fits that drop a round, by name.
METHODS = ("hero1", "auto")
#: Names of the row that leaves nothing out.
ALL = "(all)"


def labeler_influence(
    fit: "xr.DataTree",
    history: Labels,
    current: Labels,
    rule: "Rule | JointRule | str | None" = None,
    *,
    metric: str = "prevalence",
    group: str | None = None,
    prob: float = 0.95,
    draws: int | None = None,
    random_seed: int = 0,
) -> "pd.DataFrame":
    """The rate without each labeler's current labels, from the same draws.

    Parameters
    ----------
    fit : xarray.DataTree
        A fit with draws.
    history, current : Labels
        The tables the fit was made from.
    rule : Rule, JointRule or str, optional
        The decision to watch.
    metric, group : str, optional
        Without a rule: "prevalence" or "item_rate", and of which current group.
    prob : float
        Of the intervals.
    draws : int, optional
        Draws used, evenly spaced among those whose evidence the fit keeps; by default 400, fewer
        above 7,500 current items.
    random_seed : int

    Returns
    -------
    DataFrame
        Index ``labeler``, the largest mover first: ``n_labels`` in the round, ``mean`` (the
        median where a draw is infinite) with ``lower`` and ``upper`` of the rate without them,
        ``change`` of the mean against the fit and, with a rule,
        ``probability`` and ``decision``. ``attrs`` hold the fit's own ``base`` and a ``sentence``.

    Raises
    ------
    DataError
        If the tables are not those of the fit, or a group is not named where there are several.
    Refusal
        If the fit has no draws or its layers cannot be followed.

    Notes
    -----
    The labelers' rates stay those of the fit; only their labels in the current round go. For
    ``score`` and ``auto`` the labels' part of the evidence is that of independent labelers times
    its worth in the fit (see ``hb.transport_sensitivity``).

    Examples
    --------
    >>> import hero_bayes as hb
    >>> rounds = hb.datasets.demo_rounds()
    >>> fitted = hb.fit(rounds.history, rounds.current, model="auto", random_seed=1, draws=100)
    >>> table = labeler_influence(fitted, rounds.history, rounds.current)
    >>> len(table), bool(table["change"].abs().is_monotonic_decreasing)
    (10, True)
    """
    import pandas as pd

    check_fit(fit)
    need_labels(history=history, current=current)
    check_share(prob, "prob")
    check_seed(random_seed)
    if draws is not None:
        whole_number(draws, "draws", 2)
    question = question_of(fit, rule, metric, group)
    engine = engine_of(fit, history, current, question, draws=draws, random_seed=random_seed)
    base = engine.base()
    centre = middle_of(base.values)
    ends = [(1.0 - prob) / 2.0, (1.0 + prob) / 2.0]
    labels = engine.labelers.labels
    rows: list[dict[str, Any]] = []
    for j in np.flatnonzero(labels.labels_per_labeler > 0):
        others = engine.labelers.without(int(j))
        answer = engine.at(others.positive(0.0), others.negative(0.0))
        low, high = quantiles(answer.values, ends)
        row = {
            "labeler": str(labels.labelers[j]),
            "n_labels": int(labels.labels_per_labeler[j]),
            "mean": middle_of(answer.values),
            "lower": float(low),
            "upper": float(high),
            "change": middle_of(answer.values) - centre,
        }
        if rule is not None:
            row |= {
                "probability": answer.probability,
                "decision": answer.decision,
            }
        rows.append(row)
    table = pd.DataFrame(rows).set_index("labeler")
    order = table["change"].abs().sort_values(ascending=False, kind="stable").index
    table = table.loc[order]
    first = table.iloc[0]
    table.attrs = {
        "base": centre,
        "sentence": (
            f"{question.parts[0].name} is {centre:.3f}; labeler {order[0]} moves it "
            f"most: without its {int(first['n_labels'])} labels it would be {first['mean']:.3f}."
        ),
    }
    if rule is not None:
        said = base.decision
        changed = [str(name) for name in table.index[table["decision"] != said]]
        who = f"would change without {', '.join(changed)}" if changed else "needs no single labeler"
        table.attrs["sentence"] += f" The decision ({said}) {who}."
    return table


def round_influence(
    history: Labels,
    current: Labels,
    *,
    method: str = "hero1",
    group: str | None = None,
    prob: float = 0.95,
    random_seed: int = 0,
) -> "pd.DataFrame":
    """The rate estimated anew with each past round left out.

    Parameters
    ----------
    history, current : Labels
        History with more than one round.
    method : {"hero1", "auto"}
        The estimator that is refitted; both take seconds at most.
    group : str, optional
        The current group, where there are several.
    prob : float
        Of the intervals.
    random_seed : int
        For "auto".

    Returns
    -------
    DataFrame
        Index ``round`` (the row "(all)" drops none): ``n_items`` and ``n_gold`` of the dropped
        round, ``estimate`` of the prevalence with ``lower`` and ``upper``, ``change`` against the
        whole history, and ``reason`` where there is no estimate.

    Raises
    ------
    Refusal
        If history has fewer than two rounds.
    DataError
        If there is no such group, or it is not named where there are several.
    ValueError
        If ``method`` is unknown.

    Examples
    --------
    >>> import hero_bayes as hb
    >>> import pandas as pd
    >>> past = hb.simulate(gold_rate=0.3, random_seed=1)
    >>> frames = past.history.to_frames()
    >>> frames.items["round"] = [f"r{k % 3}" for k in range(len(frames.items))]
    >>> history = hb.Labels.from_frames(frames.labels, frames.items)
    >>> round_influence(history, past.current).index.tolist()
    ['(all)', 'r0', 'r1', 'r2']
    """
    import pandas as pd

    if method not in METHODS:
        raise ValueError(f"method must be one of {', '.join(METHODS)}, got {method!r}")
    need_labels(history=history, current=current)
    check_share(prob, "prob")
    check_seed(random_seed)
    groups = current.groups("current")
    if group is None and len(groups) > 1:
        raise DataError(f"the current round has several groups ({', '.join(groups)}): name one")
    wanted = groups[0] if group is None else group
    if wanted not in groups:
        raise DataError(f"no current group {wanted!r}; there are {', '.join(groups)}")
    round_of = np.array([str(r or "") for r in history.group_round], dtype=object)[
        history.group_idx
    ]
    names = sorted(set(round_of))
    if len(names) < 2:
        raise Refusal(
            "history has one round, so that none can be left out; give its items a column 'round'"
        )
    rows: list[dict[str, Any]] = []
    for name in [ALL, *names]:
        gone = round_of == name
        row: dict[str, Any] = {
            "round": name or "(none)",
            "n_items": int(gone.sum()),
            "n_gold": int((gone & history.has_gold).sum()),
        }
        try:
            kept = history if name == ALL else history.select(items=~gone)
            value, low, high = _refit(kept, current, method, wanted, prob, random_seed)
            row |= {"estimate": value, "lower": low, "upper": high, "reason": ""}
        except (DataError, Refusal) as error:
            row |= dict.fromkeys(("estimate", "lower", "upper"), np.nan) | {"reason": str(error)}
        rows.append(row)
    table = pd.DataFrame(rows).set_index("round")
    whole = table["estimate"].to_numpy(dtype=float)
    table.insert(5, "change", whole - whole[0])
    return table


def _refit(
    history: Labels, current: Labels, method: str, group: str, prob: float, random_seed: int
) -> tuple[float, float, float]:
    """Prevalence of a group with its interval."""
    if method == "hero1":
        found = estimate(history, current, method="hero1", group=group)
        low, high = found.interval(prob)
        return float(found.value), float(low), float(high)
    tree = fit_model(history, current, model="auto", random_seed=random_seed, draws=250)
    draws = tree["posterior"]["prevalence"].sel(group=group).to_numpy()
    low, high = np.quantile(draws, [(1.0 - prob) / 2.0, (1.0 + prob) / 2.0])
    return float(draws.mean()), float(low), float(high)
