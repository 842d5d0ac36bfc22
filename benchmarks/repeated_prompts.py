"""Several generations a prompt: spread of the rate, of its adjustment, and of a difference of arms.

    python benchmarks/repeated_prompts.py [--repetitions 200]

One arm: 60 prompts x 6 generations, P(truth 1) of a prompt is logit-normal (mean near .3, icc near
.35), a covariate of the prompt has correlation .6 with its log odds. Two arms: the same 50 prompts
x 5 generations in both. History: 120 prompts x 4, gold on a quarter. Five judges err independently
with sensitivity and specificity near .85, or share an effect of the item. Writes
benchmarks/results/repeated_prompts.csv: by design, model and target the bias, the RMSE, the mean
posterior sd (or standard error) and coverage of 90 % intervals.
"""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd
from auto_runs import simulated_round
from scipy.special import expit, logit

import hero_bayes as hb

RESULTS = Path(__file__).parent / "results" / "repeated_prompts.csv"
RATE, ICC, SHARED = 0.3, 0.4, 0.6
HISTORY = (120, 4)
DESIGNS = {"one arm": (60, 6, 1), "two arms": (50, 5, 2)}
LOADINGS = {"independent": 0.0, "shared": 1.5}
MODELS = ("auto", "hero", "prompt_labels")
SETTINGS = {
    "auto": {"draws": 250, "chains": 4},
    "hero": {"mode": "laplace", "draws": 250, "chains": 4},
    "prompt_labels": {"mode": "laplace", "draws": 250, "chains": 4},
}
JUDGES = 5


def chances(rng, n):
    """P(truth 1) and covariate of n prompts; the law of the chances is logit-normal."""
    own, common = rng.standard_normal((2, n))
    log_odds = logit(RATE) * 1.35 + 1.7 * (np.sqrt(1 - SHARED**2) * own + SHARED * common)
    return expit(log_odds), common


def true_rate():
    """Mean chance over prompts."""
    return float(chances(np.random.default_rng(0), 2_000_000)[0].mean())


def table(rng, prompts, chance, x, k, arms, loadings, logits, gold):
    """A round with k generations of each prompt in every arm."""
    prompt = np.repeat(np.tile(np.arange(len(chance)), arms), k)
    arm = np.repeat([chr(65 + a) for a in range(arms)], len(chance) * k)
    truth = (rng.random(prompt.size) < chance[prompt]).astype(int)
    who = np.tile(np.arange(JUDGES), (prompt.size, 1))
    label = simulated_round(rng, truth, who, logits, loadings)
    names = [f"{prompts}{i}" for i in range(prompt.size)]
    items = pd.DataFrame({"item": names, "prompt": [f"{prompts}{p}" for p in prompt]})
    items["x"] = x[prompt]
    items["gold"] = np.where(rng.random(prompt.size) < gold, truth, np.nan)
    if arms > 1:
        items["arm"] = arm
    verdicts = pd.DataFrame(
        {"item": np.repeat(names, JUDGES), "labeler": who.ravel(), "label": label.ravel()}
    )
    return hb.Labels.from_frames(verdicts, items, covariates=["x"]), truth, arm


def simulated(design, law, rng):
    """History, current round, and the rate of each arm's items."""
    n, k, arms = DESIGNS[design]
    logits = np.stack([rng.normal(-1.8, 0.3, JUDGES), rng.normal(1.8, 0.3, JUDGES)])
    past = table(rng, "h", *chances(rng, HISTORY[0]), HISTORY[1], 1, LOADINGS[law], logits, 0.25)
    now = table(rng, "c", *chances(rng, n), k, arms, LOADINGS[law], logits, 0.0)
    return past[0], now[0], [now[1][now[2] == a].mean() for a in sorted(set(now[2]))]


def rows_of(design, law, model, repetition, rate):
    """One row a target."""
    rng = np.random.default_rng([2, list(DESIGNS).index(design), repetition])
    history, current, shares = simulated(design, law, rng)
    fit = hb.fit(history, current, model=model, random_seed=repetition, **SETTINGS[model])
    facts = {"design": design, "law": law, "model": model}
    if design == "two arms":
        comparison = hb.compare_arms(fit, current=current, random_seed=repetition)
        gap = comparison.draws["difference"].sel(arm="B").to_numpy().ravel()
        return [facts | row("B - A", gap)]
    posterior = hb.adjust(fit, history, current, random_seed=repetition)["posterior"]
    names = ("prevalence", "prevalence_adjusted", "prevalence_unadjusted")
    found = [row(name, posterior[name].to_numpy().ravel() - rate) for name in names]
    found.append(row("item_rate", posterior["item_rate"].to_numpy().ravel() - shares[0]))
    if model == "hero":
        for method, options in (("hero1", {}), ("hero2", {"shrink": "optimal"}), ("score", {})):
            estimate = hb.estimate(history, current, method=method, random_seed=1, **options)
            low, high = estimate.interval(0.9)
            found.append(
                {"target": method, "error": estimate.value - rate, "sd": estimate.standard_error,
                 "covered": bool(low <= rate <= high)}
            )  # fmt: skip
    return [facts | one for one in found]


def row(target, error):
    """Error, spread and cover of draws of an error."""
    low, high = np.quantile(error, [0.05, 0.95])
    return {"target": target, "error": error.mean(), "sd": error.std(), "covered": low <= 0 <= high}


def summary(rows):
    """Bias, RMSE, mean sd, coverage."""
    by = ["design", "law", "model", "target"]
    return (
        pd.DataFrame(rows)
        .groupby(by, sort=False)
        .agg(
            repetitions=("error", "size"),
            bias=("error", "mean"),
            rmse=("error", lambda e: np.sqrt(np.mean(e**2))),
            sd=("sd", "mean"),
            coverage=("covered", "mean"),
        )
        .round(4)
        .reset_index()
    )


def main():
    """Run and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=200)
    parser.add_argument("--models", nargs="+", default=list(MODELS))
    parser.add_argument("--designs", nargs="+", default=list(DESIGNS))
    parser.add_argument("--laws", nargs="+", default=list(LOADINGS))
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args()
    rate, rows = true_rate(), []
    for design in options.designs:
        for law in options.laws:
            for model in options.models:
                if law == "shared" and model != "auto":
                    continue  # they take errors as independent
                for repetition in range(options.repetitions):
                    rows += rows_of(design, law, model, repetition, rate)
    summary(rows).to_csv(options.out, index=False)
    print(summary(rows).to_string())


if __name__ == "__main__":
    main()
