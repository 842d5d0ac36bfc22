"""Coverage of fast intervals where a labeler's rate is estimated as exactly 0 or 1.

    python benchmarks/rates_at_edges.py [--repetitions 200] [--scenarios NAME ...]

Independent errors, labelers as in history, prevalence 0.2 (0.35 in history), a covariate of the
prompt. Rounds are told apart by whether a rate lies at an edge. "hero1, centre"
is the estimate at rates moved inside (0, 1); "cut posterior" is plain Monte Carlo under flat priors
where all of history has gold. Writes benchmarks/results/rates_at_edges.csv.
"""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.special import expit, logit

import hero_bayes as hb
from hero_bayes.estimators.anchored_em import anchor, label_codes
from hero_bayes.estimators.kernels import log_ratio_table, sum_by_item
from hero_bayes.estimators.prevalence_draws import draw_prevalence

RESULTS = Path(__file__).parent / "results" / "rates_at_edges.csv"
RATE, HISTORY_RATE, SLOPE, PROB = 0.2, 0.35, 1.0, 0.95
#: Ranges of sensitivity and specificity.
MIDDLE, GOOD, STRICT = (
    ((0.5, 0.85), (0.8, 0.95)),
    ((0.7, 0.98), (0.85, 0.99)),
    ((0.3, 0.6), (0.9, 0.99)),
)
#: What differs from 10 labelers, 40 items of history, all with gold, 300 current items.
SCENARIOS = {
    "10 labelers, 40 gold, n=300": {},
    "3 labelers": {"labelers": 3},
    "15 labelers": {"labelers": 15},
    "10 gold": {"gold": 10, "history": 10},
    "20 gold": {"gold": 20, "history": 20},
    "n=50": {"current": 50},
    "n=3000": {"current": 3000},
    "20 gold of 60": {"gold": 20, "history": 60},
    "good labelers": {"rates": GOOD},
    "good labelers, 20 gold of 240": {"rates": GOOD, "gold": 20, "history": 240},
    "strict labelers": {"rates": STRICT},
    "5 of 10 labels an item": {"labels": 5},
    "first labeler saw no positive": {"blind": True},
}
CUT_RATES = 150
METHODS = ("dawid_skene", "gold_rates", "hero1", "hero2")


def one_round(rng, n, mean, rates, n_gold, labels, blind=False):
    """Labels of one round; the log odds of truth are linear in x, with the given mean rate."""
    x = rng.standard_normal(n)
    # The intercept that gives this mean, by Newton steps on a Gauss-Hermite grid.
    grid = np.polynomial.hermite_e.hermegauss(60)
    weight = grid[1] / grid[1].sum()
    shift = logit(mean)
    for _ in range(20):
        at = expit(shift + SLOPE * grid[0])
        shift -= (weight @ at - mean) / (weight @ (at * (1 - at)))
    truth = rng.random(n) < expit(shift + SLOPE * x)
    right = np.where(truth[:, None], rates[0], rates[1])
    verdict = np.where(rng.random(right.shape) < right, truth[:, None], ~truth[:, None]).astype(int)
    keep = np.argsort(rng.random(right.shape), axis=1) < labels
    if blind:
        keep[truth, 0] = False
    item, labeler = np.nonzero(keep)
    table = pd.DataFrame({"item": item, "labeler": labeler, "label": verdict[keep]})
    gold = np.where(np.arange(n) < n_gold, truth, np.nan)
    items = pd.DataFrame({"item": range(n), "gold": gold, "x": x})
    return hb.Labels.from_frames(table, items, covariates=["x"])


def rounds(
    rng, *, labelers=10, gold=40, history=40, current=300, rates=MIDDLE, labels=None, blind=False
):
    """History and current round of one repetition."""
    drawn = [rng.uniform(*ends, labelers) for ends in rates]
    labels = labels or labelers
    past = one_round(rng, history, HISTORY_RATE, drawn, gold, labels, blind)
    return past, one_round(rng, current, RATE, drawn, 0, labels)


def cut_posterior(history, current, rng):
    """Rates from their Beta posteriors on gold, then the prevalence, under flat priors."""
    by_label = np.repeat(history.gold, np.diff(history.item_ptr))
    size = 2 * history.n_labelers
    positive, negative = (
        np.bincount(label_codes(history)[by_label == y], minlength=size) for y in (1, 0)
    )
    draws = []
    for _ in range(CUT_RATES):
        sensitivity = rng.beta(positive[1::2] + 1, positive[0::2] + 1)
        specificity = rng.beta(negative[0::2] + 1, negative[1::2] + 1)
        table = log_ratio_table(sensitivity, specificity)
        ratio = sum_by_item(current.item_ptr, label_codes(current), table)
        draws += [draw_prevalence(ratio, 1.0, 1.0, u) for u in rng.random(4)]
    return np.mean(draws), *np.quantile(draws, [(1 - PROB) / 2, (1 + PROB) / 2])


def repetition(seed, scenario, cut):
    """One row a method."""
    rng = np.random.default_rng([seed, list(SCENARIOS).index(scenario)])
    history, current = rounds(rng, **SCENARIOS[scenario])
    rows = []
    try:
        anchored = anchor(history, current)
    except hb.Refusal:
        return rows
    rates = np.concatenate([anchored.sensitivity, anchored.specificity])
    edge = bool((np.minimum(rates, 1 - rates) < 1e-6).any())
    about = {"scenario": scenario, "edge": edge}
    for method in METHODS:
        try:
            found = hb.estimate(history, current, method=method)
        except hb.Refusal:
            continue
        rows.append(
            about | {"method": method, "error": found.value - RATE, "se": found.standard_error}
        )
        rows[-1] |= dict(zip(("low", "high"), found.interval(PROB), strict=True))
        if method == "hero1":
            centre = found.details["centre"] - RATE
            rows.append(rows[-1] | {"method": "hero1, centre", "error": centre})
    if cut and history.n_gold == history.n_items:
        mean, low, high = cut_posterior(history, current, rng)
        rows.append(
            about | {"method": "cut posterior", "error": mean - RATE, "low": low, "high": high}
        )
    return rows


def study(repetitions, scenarios, cut=True):
    """Coverage, width, bias and RMSE by scenario, method, and whether a rate lies at an edge."""
    rows = [
        row
        for scenario in scenarios
        for seed in range(repetitions)
        for row in repetition(seed, scenario, cut)
    ]
    table = pd.DataFrame(rows)
    table["covered"] = (table["low"] <= RATE) & (table["high"] >= RATE)
    table["width"] = table["high"] - table["low"]
    table["within_2_se"] = (table["error"].abs() <= 1.96 * table["se"]).where(table["se"].notna())
    keys = ["scenario", "edge", "method"]
    return table.groupby(keys, sort=False).agg(
        rounds=("error", "size"),
        bias=("error", "mean"),
        rmse=("error", lambda e: np.sqrt(np.mean(e**2))),
        coverage=("covered", "mean"),
        width=("width", "mean"),
        within_2_se=("within_2_se", "mean"),
    )


def main():
    """Run and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=200)
    parser.add_argument("--scenarios", nargs="*", choices=list(SCENARIOS), default=list(SCENARIOS))
    options = parser.parse_args()
    table = study(options.repetitions, options.scenarios)
    print(table.round(3).to_string())
    table.round(4).reset_index().to_csv(RESULTS, index=False)


if __name__ == "__main__":
    main()
