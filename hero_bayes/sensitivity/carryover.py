"""Whether the current round looks as if its labelers were those of history."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from hero_bayes.data.arguments import need_labels
from hero_bayes.data.labels import Labels
from hero_bayes.decision.arguments import check_fit, check_seed, whole_number
from hero_bayes.errors import Refusal
from hero_bayes.estimators.anchored_em import Anchored, anchor
from hero_bayes.inference.criticism import replicate, sums_between
from hero_bayes.inference.exact import EXACT_MODELS
from hero_bayes.inference.provenance import check_same_data
from hero_bayes.sensitivity.gold_checks import calibration_test, gold_tests, no_test, row_of
from hero_bayes.sensitivity.labelers import FlatDraws, flat_draws

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["TransportCheck", "transport_check"]

FloatArray = NDArray[np.float64]
#: Below this a p-value is evidence of drift.
LEVEL = 0.01
#: With fewer predicted rounds a share of them is no p-value.
FEWEST_DRAWS = 100
#: Rates of the labelers are drawn inside these limits where they come from the anchored EM.
LIMITS = (0.001, 0.999)
#: Labelers above which their rates are not drawn but fixed: no covariance matrix is held.
MOST_LABELERS = 300


@dataclass(frozen=True)
class TransportCheck:
    """Evidence of drift between history and the current round.

    Attributes
    ----------
    tests : DataFrame
        Index ``test``: ``observed``, ``expected`` if nothing drifted, ``p_value``, ``n`` items or
        labels used, and ``reason`` where there is no p-value.
    labelers : DataFrame
        Index ``labeler``: ``n_labels``, the ``observed`` share of positive labels, ``expected``
        with ``lower`` and ``upper`` (95 %) if nothing drifted, at the round's own total of positive
        labels, and a two-sided ``p_value``; the least expected labeler first.
    sentence : str
    """

    tests: "pd.DataFrame"
    labelers: "pd.DataFrame"
    sentence: str

    def __str__(self) -> str:
        """The sentence, then the tests."""
        return f"{self.sentence}\n{self.tests.drop(columns='reason').to_string()}"


def transport_check(
    fit: xr.DataTree,
    history: Labels,
    current: Labels,
    *,
    draws: int = 1000,
    random_seed: int = 0,
) -> TransportCheck:
    """Test whether current labels, and gold where there is some, look like history's labelers.

    Parameters
    ----------
    fit : xarray.DataTree
        A fit with draws.
    history, current : Labels
        The tables the fit was made from.
    draws : int
        Draws for which labels are predicted, at least 100. A p-value is at least 1 / (draws + 1);
        where that is above the level of evidence (0.01 over the number of tests), the sentence says
        so.
    random_seed : int

    Returns
    -------
    TransportCheck
        Small p-values speak against rigid transport. Large ones do not prove it: a common drift of
        all labelers looks like another prevalence, and only gold of the current round shows it.

    Raises
    ------
    DataError
        If the tables are not those of the fit.
    Refusal
        If the fit keeps fewer than 100 draws, or holds no rates by labeler.
    ValueError
        If ``draws`` or ``random_seed`` is not understood.
    TypeError
        If a table is no ``Labels``.

    Notes
    -----
    "positive labels": their share, which the fitted prevalence explains unless it has nowhere to go
    (fewer positive labels than a round without a single positive item would have). "labelers":
    posterior predictive p-value of sum_j (s_j - E s_j)^2 / Var s_j, s_j the positive labels of
    labeler j, moments at the round's total of positive labels. "labels of one item": that of the
    variance of an item's positive labels, which shared errors raise too. Labels are predicted with
    the truth drawn anew from the fitted prevalence [1]_. For ``score`` and ``auto`` the rates come
    from the anchored EM, with its covariance, and the last test is left out.

    With gold in the current round: "sensitivity" and "specificity" compare the labels on its items
    with rates learned from history alone (z-test; items are the units, and the rates' covariance
    counts); "calibration" is the score test of intercept 0 and slope 1 in logit P(gold) =
    intercept + slope * logit P(truth). The fit has seen that gold, so that its p-value is large
    rather than small.

    References
    ----------
    .. [1] Gelman, A., Meng, X.-L., Stern, H. (1996). Posterior predictive assessment of model
       fitness via realized discrepancies. Statistica Sinica 6, 733-807.

    Examples
    --------
    >>> import hero_bayes as hb
    >>> rounds = hb.datasets.demo_rounds()
    >>> fitted = hb.fit(rounds.history, rounds.current, model="auto", random_seed=1, draws=100)
    >>> check = transport_check(fitted, rounds.history, rounds.current)
    >>> check.tests.index.tolist()[:3]
    ['positive labels', 'labelers', 'labels of one item']
    """
    import pandas as pd

    check_fit(fit)
    need_labels(history=history, current=current)
    check_seed(random_seed)
    whole_number(draws, "draws", FEWEST_DRAWS)
    check_same_data(fit, history, current)
    kept = flat_draws(fit, draws)
    if kept.n_draws < FEWEST_DRAWS:
        raise Refusal(
            f"the fit keeps evidence of {kept.n_draws} draws, and p-values need "
            f"{FEWEST_DRAWS}: fit with more draws"
        )
    rng = np.random.default_rng([random_seed, 21])
    exact = fit.attrs["model"] in EXACT_MODELS
    labels, parameters = (
        anchored_parameters(kept, anchor(history, current), rng)
        if exact
        else own_parameters(kept, current)
    )
    rows, table = predictive_tests(labels, parameters, rng)
    if exact:
        rows["labels of one item"] = no_test(
            "this model does not say how the labels of one item hang together"
        )
    rows |= gold_tests(kept, history, current)
    rows["calibration"] = calibration_test(kept)
    tests = pd.DataFrame(rows).T.rename_axis("test")
    numbers = ["observed", "expected", "p_value"]
    tests = tests.astype(dict.fromkeys(numbers, float) | {"n": int})
    return TransportCheck(tests, table, _sentence(tests, table, kept.n_draws))


def own_parameters(draws: FlatDraws, current: Labels) -> tuple[Labels, list[dict[str, FloatArray]]]:
    """The labels on the fit's labelers, and every draw's parameters by name."""
    posterior = draws.posterior
    if not {"sensitivity", "specificity"} <= set(posterior.data_vars) or "icc" in posterior:
        raise Refusal(
            "the fit holds no labeler rates from which labels could be predicted; fit with "
            'model="hero", "pooled", "correlated" or "auto"'
        )
    if "family_loading" in posterior:
        raise Refusal(
            "labels under family effects are not predicted here; fit with "
            "priors={'family': False}, or model=\"auto\""
        )
    names = [str(n) for n in posterior["labeler"].to_numpy()]
    stacked = {
        str(k): v.transpose("sample", ...).to_numpy().astype(float)
        for k, v in posterior.data_vars.items()
        if v.dtype.kind in "fiu" and not str(k).startswith("history_")
    }
    found = [{k: v[d] for k, v in stacked.items()} for d in range(draws.n_draws)]
    if "intercept" in posterior:
        for d, one in enumerate(found):
            part = draws.prior_log_odds[d] - one["intercept"][current.group_idx]
            one["covariate_log_odds"] = part
    return current.with_labelers(names), found


def anchored_parameters(
    draws: FlatDraws, anchored: Anchored, rng: np.random.Generator
) -> tuple[Labels, list[dict[str, FloatArray]]]:
    """Rates of the anchored EM with their uncertainty, and the fit's prevalences."""
    both = np.concatenate([anchored.sensitivity, anchored.specificity])
    size = both.size // 2
    normal = rng.standard_normal((draws.n_draws, both.size))
    rates = np.broadcast_to(both, normal.shape)
    covariance = anchored.covariance[0]
    if size <= MOST_LABELERS and isinstance(covariance, np.ndarray):
        value, vector = np.linalg.eigh(covariance)
        rates = both + (normal * np.sqrt(np.maximum(value, 0.0))) @ vector.T
    rates = np.clip(rates, *LIMITS)
    prevalence = draws.posterior["prevalence"].transpose("sample", "group").to_numpy()
    found = [
        {"sensitivity": row[:size], "specificity": row[size:], "prevalence": m}
        for row, m in zip(rates, prevalence, strict=True)
    ]
    return anchored.panel.current, found


def predictive_tests(
    labels: Labels, parameters: list[dict[str, FloatArray]], rng: np.random.Generator
) -> tuple[dict[str, dict[str, Any]], "pd.DataFrame"]:
    """Predicted labels against those given: altogether, by labeler, and within items."""
    import pandas as pd

    predicted = np.stack([replicate(labels, "current", one, rng) for one in parameters])
    counts = labels.labels_per_labeler
    used = counts > 0
    order = np.argsort(labels.labeler_idx, kind="stable")
    ends = np.concatenate([[0], np.cumsum(counts)])

    def sums(values: NDArray[np.int8]) -> FloatArray:
        return sums_between(values[..., order], ends)[..., used].astype(float)

    given, drawn = sums(labels.label), sums(predicted)
    middle, rest, rests = at_the_same_total(given, drawn)
    spread = np.maximum(rests.std(axis=0), 0.5)
    distance, distances = (((value / spread) ** 2).sum(axis=-1) for value in (rest, rests))
    total, totals = given.sum(), drawn.sum(axis=1)
    rows = {
        "positive labels": row_of(
            total / labels.n_labels,
            totals.mean() / labels.n_labels,
            two_sided(total, totals),
            labels.n_labels,
        ),
        "labelers": row_of(
            distance, distances.mean(), tail_share(distances >= distance), labels.n_labels
        ),
    }
    tails = np.minimum((rests <= rest).mean(axis=0), (rests >= rest).mean(axis=0))
    size = counts[used]
    low, high = (middle + np.quantile(rests, [0.025, 0.975], axis=0)) / size
    table = pd.DataFrame(
        {
            "n_labels": size,
            "observed": given / size,
            "expected": middle / size,
            "lower": low,
            "upper": high,
            "p_value": np.minimum(2.0 * tails, 1.0),
        },
        index=pd.Index([str(n) for n in labels.labelers[used]], name="labeler"),
    ).sort_values("p_value", kind="stable")
    within = sums_between(labels.label, labels.item_ptr).var()
    replicas = sums_between(predicted, labels.item_ptr).var(axis=1)
    rows["labels of one item"] = row_of(
        within, replicas.mean(), two_sided(within, replicas), labels.n_items
    )
    return rows, table


def two_sided(value: Any, draws: FloatArray) -> float:
    """Share of draws as far from their median as a value."""
    middle = np.median(draws)
    return tail_share(np.abs(draws - middle) >= abs(value - middle))


def tail_share(beyond: NDArray[np.bool_]) -> float:
    """A p-value from draws: the value counts as one of them, so that it is never 0."""
    return float((beyond.sum() + 1.0) / (beyond.size + 1.0))


def at_the_same_total(
    given: FloatArray, drawn: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Labelers' positive labels, given how many the round has of them altogether.

    The total is what the fit learned the prevalence from. Returns what the draws (draw, labeler)
    expect of each labeler at the total that was ``given`` (labeler,), by regression on the total,
    and how far ``given`` and the draws lie from that.
    """
    totals = drawn.sum(axis=1)
    centred = totals - totals.mean()
    power = float(centred @ centred)
    slope = centred @ drawn / power if power > 0.0 else np.zeros(given.size)
    mean = drawn.mean(axis=0)
    middle = mean + slope * (given.sum() - totals.mean())
    return middle, given - middle, drawn - mean - centred[:, None] * slope


def _sentence(tests: "pd.DataFrame", table: "pd.DataFrame", n_draws: int) -> str:
    """Which tests speak of drift."""
    made = tests[tests["p_value"].notna()]
    level = LEVEL / max(len(made), 1)
    low = made[made["p_value"] < level]
    if low.empty:
        said = "no evidence of drift between history and the current round"
        if n_draws + 1 <= 1.0 / level:
            said += (
                f"; with {n_draws} draws no p-value of predicted labels can be below the level of "
                f"{level:.2g}: give {int(1.0 / level) + 1} draws, and a fit that keeps them"
            )
        if not {"sensitivity", "specificity"} & set(made.index):
            said += "; without gold in the current round a drift common to all labelers cannot show"
        return f"{said}."
    parts = ", ".join(f"{name} (p = {row['p_value']:.2g})" for name, row in low.iterrows())
    said = f"evidence that the current round is not like history: {parts}"
    if "labelers" in low.index:
        said += f"; labeler {table.index[0]} stands out most"
    return f"{said}."
