"""Is P(rule holds) what it says? Simulated releases near the threshold, without and with drift.

    python benchmarks/release_calibration.py [--histories 100] [--auto-histories 30] [--minutes M]

A history of 300 items, 30 % with gold, is followed by ten rounds of 150 items without gold, all
labeled by the same seven judges, who err independently. Everything is drawn from the priors of the
model: judges from the population of ``pooled``, prevalences from Beta(1, 1). In scenario "drift"
every round moves every judge's logits anew by d_j ~ Normal(0, t^2), t = 0.5 (1 in "strong drift"),
which ``drift`` is told and ``pooled`` is not. ``auto`` has other priors and is for information.

The rule is prevalence <= threshold. Its threshold is uniform within two posterior sd of the
posterior mean (of the model that is true in the scenario; the same threshold for all models). It
depends on the data and a coin, not on the truth, so that a right posterior stays calibrated given
the threshold, in both directions. Rounds whose true prevalence lies within two posterior sd of the
threshold are chosen by the truth: there the posterior cut off at those two sd is what must be
calibrated (rounds "near").

Rounds of one history share the labelers' draws, so errors are summed by history. The fits are cut:
what a fit of ten rounds says of one is what a fit of that round alone says. By NUTS, as Laplace's
k-hat was 1.2 to 1.6 in six trial fits. A finished history is a block of lines in --cells; a run
that was stopped goes on from there. Writes benchmarks/results/release_calibration.csv.
"""

import argparse
import time
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats
from scipy.special import expit, logit

import hero_bayes as hb
from hero_bayes.inference.fit import refit
from hero_bayes.inference.program import make_program
from hero_bayes.models import pooled, pooled_drift

RESULTS = Path(__file__).parent / "results" / "release_calibration.csv"
CELLS = Path(__file__).parents[1] / ".cache" / "release_calibration_cells.csv"
N_JUDGES, N_HISTORY, N_GOLD = 7, 300, 90
N_ROUNDS, N_CURRENT = 10, 150
#: Fewest gold items of a class in history; other histories are drawn again.
FEWEST_GOLD = 10
DRIFT, STRONG = 0.5, 1.0
#: True drift, the model that is then true, and all models fitted.
SCENARIOS = {
    "rigid": (0.0, "pooled", ("pooled",)),
    "drift": (DRIFT, "drift", ("drift", "pooled")),
    "strong drift": (STRONG, "strong drift", ("strong drift", "pooled")),
}
FACTORIES = {
    "pooled": (pooled, {}),
    "drift": (pooled_drift, {"spread": DRIFT}),
    "strong drift": (pooled_drift, {"spread": STRONG}),
}
#: The threshold, and rounds called near, lie within so many posterior sd.
REACH = 2.0
EDGES = np.array([0.0, 0.05, 0.2, 0.4, 0.6, 0.8, 0.95, 1.0])
#: Bounds hold with this probability if the stated P is right.
PROB = 0.99
CHAINS = {"draws": 500, "tune": 400, "chains": 2, "cores": 1}


def labeled(rng, truth, sensitivity, specificity, gold, round_of):
    """Labels of every judge on every item; rates are (judge,) or (item, judge)."""
    chance = np.where(truth[:, None] == 1, sensitivity, 1.0 - specificity)
    label = (rng.random(chance.shape) < chance).astype(int)
    item, judge = np.indices(label.shape)
    table = {"item": item.ravel(), "labeler": judge.ravel(), "label": label.ravel()}
    about = {"item": range(len(truth)), "gold": gold, "round": round_of}
    return hb.Labels.from_frames(pd.DataFrame(table), pd.DataFrame(about))


def judges(rng):
    """Logits of seven rates, from the priors of ``pooled``."""
    return rng.normal(1.0, 1.0) + abs(rng.normal()) * rng.standard_normal(N_JUDGES)


def releases(drift, seed):
    """History, ten current rounds, and their true prevalences."""
    rng = np.random.default_rng(seed)
    while True:
        rates = [judges(rng), judges(rng)]
        truth = (rng.random(N_HISTORY) < rng.random()).astype(int)
        if FEWEST_GOLD <= truth[:N_GOLD].sum() <= N_GOLD - FEWEST_GOLD:
            break
    gold = np.where(np.arange(N_HISTORY) < N_GOLD, truth, np.nan)
    history = labeled(rng, truth, *map(expit, rates), gold, "past")
    prevalence = rng.random(N_ROUNDS)
    number = np.repeat(np.arange(N_ROUNDS), N_CURRENT)
    truth = (rng.random(len(number)) < prevalence[number]).astype(int)
    moved = [r + drift * rng.standard_normal((N_ROUNDS, N_JUDGES)) for r in rates]
    names = [f"round {k}" for k in number]
    current = labeled(rng, truth, *(expit(m)[number] for m in moved), np.nan, names)
    return history, current, prevalence


@cache
def program(model):
    """The model, compiled at first use."""
    factory, priors = FACTORIES[model]
    history, current, _ = releases(0.0, [0, 0, 0])
    return make_program(factory, history, current, priors=priors)


def draws_of(model, history, current, seed):
    """Draws of the ten prevalences, (draw, round), and the number of divergences."""
    if model == "auto":
        tree = hb.fit(history, current, model="auto", draws=1000, chains=1, random_seed=seed)
    else:
        tree = refit(program(model), history, current, random_seed=seed, **CHAINS)
    names = [f"round {k}" for k in range(N_ROUNDS)]
    draws = tree["posterior"]["prevalence"].sel(group=names).to_numpy().reshape(-1, N_ROUNDS)
    sampled = "sample_stats" in tree.children
    return draws, int(tree["sample_stats"]["diverging"].sum()) if sampled else 0


def thresholds(rng, draws):
    """Uniform within two sd of the mean and inside (0, 1), and the sd; each (round,)."""
    mean, sd = draws.mean(axis=0), draws.std(axis=0)
    low, high = np.maximum(mean - REACH * sd, 0.0), np.minimum(mean + REACH * sd, 1.0)
    return rng.uniform(low, high), sd


def one_history(scenario, number, seed, drift=None, models=None):
    """What every model says of ten rules, one row a model and round."""
    size, true_model, fitted = SCENARIOS[scenario]
    key = [seed, list(SCENARIOS).index(scenario), number]
    history, current, prevalence = releases(size if drift is None else drift, key)
    rows, threshold, reach = [], None, None
    for model in (true_model, *(m for m in models or fitted if m != true_model)):
        begin = time.perf_counter()
        draws, divergences = draws_of(model, history, current, number)
        if threshold is None:
            threshold, sd = thresholds(np.random.default_rng([*key, 1]), draws)
            reach = REACH * sd
        below, inside = draws <= threshold, np.abs(draws - threshold) <= reach
        rows.append(
            {
                "scenario": scenario,
                "model": model,
                "history": number,
                "round": range(N_ROUNDS),
                "random_seed": seed,
                "threshold": threshold,
                "prevalence": prevalence,
                "holds": (prevalence <= threshold).astype(int),
                "near": (np.abs(prevalence - threshold) <= reach).astype(int),
                "probability": below.mean(axis=0),
                "near_probability": (below & inside).sum(axis=0) / np.maximum(inside.sum(0), 1),
                "mean": draws.mean(axis=0),
                "sd": draws.std(axis=0),
                "divergences": divergences,
                "seconds": time.perf_counter() - begin,
            }
        )
    return pd.concat([pd.DataFrame(row) for row in rows], ignore_index=True)


def by_history(history, values):
    """Sums of columns by history, (history, column)."""
    return pd.DataFrame(values).groupby(np.asarray(history)).sum().to_numpy()


def sureness(history, probability, holds):
    """How far the stated odds are from the true ones: z, negative where P is too sure.

    Score test of b = 1 in logit P(holds) = b logit P, with the errors of a history summed first;
    their variance is at least the binomial one (see ``bin_test``).
    """
    n_draws = 1000
    odds = logit(np.clip(probability, 0.5 / n_draws, 1.0 - 0.5 / n_draws))
    sums = by_history(history, {"score": (holds - probability) * odds})[:, 0]
    expected = (probability * (1.0 - probability) * odds**2).sum()
    return sums.sum() / np.sqrt(max((sums**2).sum(), expected))


def bin_test(history, probability, holds):
    """p-value that all bins of P are right: chi-square of the errors summed by history.

    A bin's variance is at least the binomial one: where no rare event was seen, the errors
    themselves would say that there is none.
    """
    place = np.searchsorted(EDGES[1:-1], probability, side="right")
    of_bin = place[:, None] == np.unique(place)
    sums = by_history(history, (holds - probability)[:, None] * of_bin)
    expected = (probability * (1.0 - probability)) @ of_bin
    covariance = sums.T @ sums
    covariance += np.diag(np.maximum(expected - np.diag(covariance), 0.0))
    total = sums.sum(axis=0)
    return stats.chi2.sf(total @ np.linalg.pinv(covariance) @ total, len(total))


def bin_bounds(history, probability, holds):
    """Stated and observed share of one bin, and the binomial bounds of the observed one.

    Rounds count as fewer where the errors of a history hang together: n times the binomial variance
    of the errors over their variance summed by history, at most n. ``binomial_`` bounds take rounds
    for independent.
    """
    error = holds - probability
    expected = (probability * (1.0 - probability)).sum()
    found = (by_history(history, {"error": error}) ** 2).sum()
    n = max(1, int(len(error) * min(1.0, expected / found))) if found > 0 else len(error)
    stated, tail = probability.mean(), (1.0 - PROB) / 2.0
    found = {"stated": stated, "observed": holds.mean(), "worth": n}
    for name, size in (("", n), ("binomial_", len(error))):
        for end, q in (("low", tail), ("high", 1.0 - tail)):
            found[name + end] = stats.binom.ppf(q, size, stated) / size
    return found


def calibration(cells, column="probability"):
    """One row a bin of P: stated and observed share, bounds, and the tests over all bins."""
    history, probability = cells["history"].to_numpy(), cells[column].to_numpy()
    holds = cells["holds"].to_numpy()
    place = np.searchsorted(EDGES[1:-1], probability, side="right")
    rows = []
    for k in np.unique(place):
        own = place == k
        row = {"above": EDGES[k], "up_to": EDGES[k + 1], "n": own.sum()}
        rows.append(row | bin_bounds(history[own], probability[own], holds[own]))
    table = pd.DataFrame(rows)
    for name in ("", "binomial_"):
        low, high = table[f"{name}low"] - 1e-12, table[f"{name}high"] + 1e-12
        table[f"{name}inside"] = table["observed"].between(low, high)
    return table.assign(
        z_sureness=sureness(history, probability, holds),
        p_bins=bin_test(history, probability, holds),
    )


def summary(cells):
    """The tables of all scenarios, models and kinds of rounds, one below the other."""
    parts = []
    for (scenario, model), own in cells.groupby(["scenario", "model"], sort=False):
        for rounds, column in (("all", "probability"), ("near", "near_probability")):
            some = own if rounds == "all" else own[own["near"] == 1]
            part = calibration(some, column)
            about = [scenario, model, rounds, own["history"].nunique(), len(some)]
            for k, name in enumerate(["scenario", "model", "rounds", "histories", "n_rounds"]):
                part.insert(k, name, about[k])
            error = (some["prevalence"] - some["mean"]) / some["sd"]
            parts.append(part.assign(rms_error_in_sd=np.sqrt((error**2).mean())))
    return pd.concat(parts, ignore_index=True)


def main():
    """Run what is missing, and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--histories", type=int, default=100)
    parser.add_argument("--auto-histories", type=int, default=30)
    parser.add_argument("--minutes", type=float, default=np.inf, help="start nothing after these")
    parser.add_argument("--random-seed", type=int, default=1)
    parser.add_argument("--cells", type=Path, default=CELLS)
    parser.add_argument("--results", type=Path, default=RESULTS)
    options = parser.parse_args()
    seed, begin = options.random_seed, time.perf_counter()
    options.cells.parent.mkdir(parents=True, exist_ok=True)
    keys = ["scenario", "history", "random_seed"]
    old = options.cells.exists()
    done = pd.read_csv(options.cells) if old else pd.DataFrame(columns=keys)
    known = set(done[keys].itertuples(index=False, name=None))
    for number in range(options.histories):
        for scenario, (_, _, models) in SCENARIOS.items():
            late = time.perf_counter() - begin > 60.0 * options.minutes
            if late or (scenario, number, seed) in known:
                continue
            extra = ("auto",) if number < options.auto_histories else ()
            rows = one_history(scenario, number, seed, models=(*models, *extra))
            first = not options.cells.exists()
            rows.to_csv(options.cells, mode="a", header=first, index=False)
            print(scenario, number, f"{time.perf_counter() - begin:.0f} s", flush=True)
    cells = pd.read_csv(options.cells)
    cells = cells[(cells["random_seed"] == seed) & (cells["history"] < options.histories)]
    table = summary(cells)
    print(table.round(3).to_string())
    table.round(4).to_csv(options.results, index=False)


if __name__ == "__main__":
    main()
