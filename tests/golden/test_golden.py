"""Public results at fixed seeds, against those of the last release.

    python tests/golden/test_golden.py

writes `golden.json` anew, after a change that is meant to move a number. Drawn results are
pinned by mean, standard deviation and quantiles, in which other random numbers, or the same in
another order, would show.
"""

import io
import json
import math
import re
from contextlib import redirect_stdout
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import hero_bayes as hb
from hero_bayes.cli.main import main

GOLDEN = Path(__file__).with_name("golden.json")
#: Numbers that no sampler made; an optimiser's end point is known to fewer digits.
EXACT, OPTIMISED = 1e-9, 1e-5
RESULTS, TOLERANCE = {}, {}


def result(rtol=EXACT):
    """Register a function whose numbers are pinned."""

    def register(function):
        RESULTS[function.__name__] = function
        TOLERANCE[function.__name__] = rtol
        return function

    return register


def numbers(value, name=""):
    """Every number and word of a result, by a path of names."""
    if isinstance(value, xr.DataTree):
        value = {
            f"{group}/{key}": item for group in value.children for key, item in value[group].items()
        }
    if isinstance(value, xr.Dataset):
        value = dict(value.data_vars)
    if isinstance(value, xr.DataArray):
        value = value.to_numpy()
    if isinstance(value, pd.DataFrame):
        value = {str(column): value[column].to_numpy() for column in value}
    if isinstance(value, pd.Series):
        value = value.to_numpy()
    if isinstance(value, dict):
        return {
            k: v for key, item in value.items() for k, v in numbers(item, f"{name}.{key}").items()
        }
    if isinstance(value, np.ndarray) and value.dtype.kind in "fiub" and value.size > 12:
        value = value.astype(float).ravel()
        known = value[np.isfinite(value)]
        at = np.quantile(known, [0.0, 0.1, 0.5, 0.9, 1.0])
        value = [float(value.size - known.size), known.mean(), known.std(), *at]
    if isinstance(value, list | tuple | np.ndarray):
        return {
            k: v
            for place, item in enumerate(value)
            for k, v in numbers(item, f"{name}[{place}]").items()
        }
    if isinstance(value, bool | np.bool_ | str) or value is None:
        return {name: value if value is None else str(value)}
    return {name: repr(float(value))}


@cache
def rounds():
    """DICES-350 as the demo splits it."""
    return hb.datasets.demo_rounds()


@cache
def simulated(**options):
    return hb.simulate(200, 120, 6, 3, gold_rate=0.25, prevalence=0.3, random_seed=5, **options)


@cache
def arms():
    """A history and a round of two arms, three prompts of ten shared."""
    rng, tables = np.random.default_rng(3), []
    right = rng.uniform(0.7, 0.9, (2, 5))
    for n, rates in ((150, (0.3,)), (160, (0.2, 0.35))):
        arm = np.arange(n) % len(rates)
        truth = rng.random(n) < np.array(rates)[arm]
        correct = rng.random((n, 5)) < np.where(truth[:, None], right[0], right[1])
        label = np.where(correct, truth[:, None], ~truth[:, None]).astype(int)
        labels = pd.DataFrame(
            {
                "item": np.repeat(np.arange(n), 5),
                "labeler": np.tile(list("abcde"), n),
                "label": label.ravel(),
            }
        )
        items = pd.DataFrame({"item": np.arange(n)})
        if len(rates) == 1:
            items["gold"] = np.where(np.arange(n) % 3 == 0, truth.astype(float), np.nan)
        else:
            items = items.assign(arm=np.array(["old", "new"])[arm], prompt=np.arange(n) // 2)
        tables.append(hb.Labels.from_frames(labels, items))
    return tables


@cache
def fitted(model, mode=None, posterior="cut", draws=200):
    data = simulated(covariate_strength=1.5) if model == "regression" else simulated()
    return hb.fit(
        data.history,
        data.current,
        model=model,
        mode=mode,
        posterior=posterior,
        random_seed=2,
        draws=draws,
        chains=4,
        progressbar=False,
    )


def rates(fit):
    names = ("prevalence", "item_rate", "history_prevalence", "sensitivity", "specificity")
    return {name: fit["posterior"][name] for name in names if name in fit["posterior"]}


@cache
def generations():
    return hb.datasets.load("game24_gpt4")


@cache
def answered():
    """Answers of one model to forty code questions, five generations each."""
    data = hb.datasets.load("cruxeval")
    table = data.to_frame()
    few = table["prompt"].drop_duplicates().head(40)
    table = table[table["prompt"].isin(few) & (table["model"] == table["model"].iloc[0])]
    return hb.difficulty.Generations.from_frame(table)


@cache
def law():
    return hb.difficulty.fit(
        generations(), mode="laplace", random_seed=1, draws=200, progressbar=False
    )


@result()
def check():
    data = rounds()
    table = hb.check(data.history, data.current).table
    return {"severity": list(table["severity"]), "code": list(table["code"])}


@result()
def labels():
    data = rounds()
    return {
        "fingerprints": [data.history.fingerprint, data.current.fingerprint],
        "gold": data.history.gold,
        "labels_per_item": data.current.labels_per_item,
    }


@result()
def dependence():
    found = hb.dependence(rounds().history)
    ranged = {"effective": found.effective_judges, "overall": found.overall}
    return {name: (one.value, one.low, one.high) for name, one in ranged.items()}


@result()
def methods():
    data = rounds()
    covariates = ["n_turns", "response_chars"]
    table = hb.compare_methods(data.history, data.current, covariates=covariates)
    return table.select_dtypes("number")


@result()
def hero1():
    data = simulated()
    found = hb.estimate(data.history, data.current, method="hero1")
    return {
        "value": found.value,
        "interval": found.interval(0.9),
        "sensitivity": found.details["sensitivity"],
        "specificity": found.details["specificity"],
    }


@result()
def hero2():
    data = simulated(covariate_strength=1.5)
    found = hb.estimate(data.history, data.current, method="hero2", shrink="optimal")
    return {"value": found.value, "interval": found.interval(0.9), "gamma": found.details["gamma"]}


@result()
def score():
    data = rounds()
    found = hb.estimate(data.history, data.current, method="score", random_seed=1)
    return {"value": found.value, "interval": found.interval(0.9)}


@result()
def fit_auto():
    return rates(fitted("auto"))


@result()
def fit_auto_gold_error():
    data = simulated()
    return rates(
        hb.fit(
            data.history,
            data.current,
            priors={"gold_error": 0.05},
            random_seed=2,
            draws=100,
            progressbar=False,
        )
    )


@result()
def fit_auto_without_gold():
    data = simulated()
    few = data.history.take_items(np.flatnonzero(~data.history.has_gold))
    return rates(hb.fit(few, data.current, random_seed=2, draws=100, progressbar=False))


@result()
def fit_score():
    return rates(fitted("score"))


@result(OPTIMISED)
def fit_score_model():
    return rates(fitted("score", "map"))


@result(OPTIMISED)
def fit_hero_map():
    return rates(fitted("hero", "map"))


@result(OPTIMISED)
def fit_hero_laplace():
    return rates(fitted("hero", "laplace"))


@result(OPTIMISED)
def fit_hero_joint():
    return rates(fitted("hero", "laplace", "joint"))


@result(OPTIMISED)
def fit_pooled_map():
    return rates(fitted("pooled", "map"))


@result(OPTIMISED)
def fit_regression_map():
    return rates(fitted("regression", "map"))


@result(OPTIMISED)
def fit_drift_map():
    return rates(fitted("drift", "map"))


@result(OPTIMISED)
def fit_correlated_map():
    return rates(fitted("correlated", "map"))


@result()
def truth():
    return {"truth": hb.posterior_truth(fitted("auto")).mean(("chain", "draw"))}


@result()
def gate():
    found = hb.diagnose(fitted("auto"))
    return {"passed": found.passed, "table": found.table.select_dtypes("number")}


@result()
def summary():
    return hb.summary(fitted("auto")).table.select_dtypes("number")


@result()
def adjust():
    data = rounds()
    fit = hb.fit(data.history, data.current, random_seed=2, draws=100, progressbar=False)
    adjusted = hb.adjust(fit, data.history, data.current, ["n_turns"], random_seed=3)
    return {"prevalence_adjusted": adjusted["posterior"]["prevalence_adjusted"]}


@result()
def decision():
    rule = hb.Rule("prevalence", "<=", 0.4, probability=0.9, loss_wrong_ship=3.0)
    found = hb.decide(fitted("auto"), rule)
    return {
        "outcome": found.outcome,
        "probability": found.probability,
        "loss": (found.expected_loss.ship, found.expected_loss.hold),
    }


@result()
def arm_comparison():
    history, current = arms()
    fit = hb.fit(history, current, random_seed=2, draws=100, progressbar=False)
    compared = hb.compare_arms(fit, reference="old", current=current, random_seed=3)
    return compared.table().select_dtypes("number")


@result()
def transport():
    data = simulated()
    swept = hb.transport_sensitivity(
        fitted("auto"),
        data.history,
        data.current,
        rule="P(prevalence <= 0.4) >= 0.9",
        grid=[-0.5, 0.0, 0.5],
        draws=50,
    )
    return {name: value for name, value in swept.items() if value.dtype.kind == "f"}


@result()
def transport_check():
    data = simulated()
    found = hb.transport_check(fitted("auto"), data.history, data.current, draws=100)
    return found.tests.select_dtypes("number")


@result()
def influence():
    data = simulated()
    table = hb.labeler_influence(fitted("auto"), data.history, data.current, draws=50)
    return table.select_dtypes("number")


@result()
def round_influence():
    history, current = arms()
    frames = history.to_frames()
    items = frames.items.assign(round=np.arange(history.n_items) % 3)
    in_rounds = hb.Labels.from_frames(frames.labels, items)
    return hb.round_influence(in_rounds, current, group="new").select_dtypes("number")


@result()
def gold_selection():
    data = simulated()
    table = hb.gold_selection_sensitivity(data.history, data.current, (0.5, 1.0, 2.0))
    return table.select_dtypes("number")


@result()
def covariate_shift():
    data = rounds()
    found = hb.covariate_shift(data.history, data.current, ["n_turns", "response_chars"])
    tables = {"covariates": found.covariates, "estimates": found.estimates}
    return {name: table.select_dtypes("number") for name, table in tables.items()}


@result()
def next_gold():
    data = simulated()
    found = hb.next_gold(data.history, data.current, 10, draws=100, random_seed=1)
    return {"item": list(found.table["item"].astype(str))}


@result()
def plan():
    data = simulated()
    found = hb.plan(
        data.history,
        "P(prevalence <= 0.4) >= 0.9",
        n_items=(60,),
        n_simulations=3,
        draws=100,
        random_seed=1,
    )
    return found.table.select_dtypes("number")


@result()
def difficulty_moments():
    return hb.difficulty.moments_table(generations()).select_dtypes("number")


@result()
def difficulty_difference():
    first, second = generations().models[:2]
    found = hb.difficulty.difference_moments(generations(), str(first), str(second))
    return {"difference": found.difference, "interval": found.interval()}


@result(OPTIMISED)
def difficulty_fit():
    names = ("mu", "icc", "sigma", "mu_these_prompts")
    return {name: law()["posterior"][name] for name in names}


@result(OPTIMISED)
def difficulty_compare():
    return hb.difficulty.compare(law()).select_dtypes("number")


@result()
def difficulty_pass_at_k():
    return hb.difficulty.pass_at_k(generations(), k=(1, 5)).select_dtypes("number")


@result()
def difficulty_k_curve():
    model = str(generations().models[0])
    curve = hb.difficulty.k_curve(generations(), (1, 5, 20), model=model, repeats=50)
    return curve.select_dtypes("number")


@result()
def difficulty_plan():
    found = hb.difficulty.plan(
        generations(), target_se=0.02, k=(1, 5, 20), model=str(generations().models[0])
    )
    return found.select_dtypes("number")


@result()
def difficulty_consistency():
    return hb.difficulty.consistency(answered()).select_dtypes("number")


@result(OPTIMISED)
def difficulty_review():
    found = hb.difficulty.review_list(answered())
    return found.table.head(5).select_dtypes("number")


@cache
def files(folder):
    """The demo rounds as CSV files: labels and items of history, then of the current round."""
    paths = []
    for name, table in (("history", rounds().history), ("current", rounds().current)):
        frames = table.to_frames()
        for part in ("labels", "items"):
            paths.append(str(Path(folder, f"{name}_{part}.csv")))
            getattr(frames, part).to_csv(paths[-1], index=False)
    return paths


def said(*words):
    """Numbers and short words of the JSON that a command prints."""
    out = io.StringIO()
    with redirect_stdout(out):
        code = main(list(words))
    return {"code": code, **measured(json.loads(out.getvalue()))}


def measured(document):
    """A JSON document without its sentences, versions, times and paths."""
    if isinstance(document, dict):
        found = {key: measured(value) for key, value in document.items() if "version" not in key}
    elif isinstance(document, list):
        found = {str(place): measured(value) for place, value in enumerate(document)}
    else:
        word = isinstance(document, str)
        return None if word and not re.fullmatch(r"[A-Za-z0-9_]{1,24}", document) else document
    return {key: value for key, value in found.items() if value not in (None, {})}


@result()
def command_check():
    with TemporaryDirectory() as folder:
        history, items, current, more = files(folder)
        return said(
            "check", history, items, "--current", current, "--current-items", more, "--json"
        )


@result()
def command_estimate():
    with TemporaryDirectory() as folder:
        history, items, current, more = files(folder)
        tables = ["--history", history, "--history-items", items, "--current", current]
        return said("estimate", *tables, "--current-items", more, "--json")


@result(OPTIMISED)
def command_difficulty():
    return said("difficulty", "game24_gpt4", "--json")


@result()
def command_run():
    with TemporaryDirectory() as folder:
        files(folder)
        config = Path(folder, "release.toml")
        config.write_text(CONFIG, encoding="utf-8")
        with redirect_stdout(io.StringIO()):
            assert main(["run", str(config)]) == 1
        document = json.loads(Path(folder, "out", "decision.json").read_text(encoding="utf-8"))
    for name in ("files", "created", "data"):
        document.pop(name, None)
    return measured(document)


#: A run of seconds.
CONFIG = """
[data]
history = {labels = "history_labels.csv", items = "history_items.csv"}
current = {labels = "current_labels.csv", items = "current_items.csv"}
covariates = ["n_turns"]
[model]
random_seed = 4
draws = 100
[[rule]]
metric = "prevalence_adjusted"
direction = "<="
threshold = 0.05
[sensitivity]
grid = [-0.5, 0.5]
draws = 50
[output]
folder = "out"
"""


def close(found, pinned, rtol):
    """Whether two numbers or words are the same."""
    if found is None or pinned is None or not (number(found) and number(pinned)):
        return found == pinned
    one, other = float(found), float(pinned)
    return one == other or math.isclose(one, other, rel_tol=rtol, abs_tol=rtol * 1e-3)


def number(word):
    try:
        return math.isfinite(float(word))
    except ValueError:
        return False


#: Ten seconds and more, mostly of compiling.
SLOW = {"fit_correlated_map", "command_difficulty"}


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.slow if n in SLOW else ()) for n in RESULTS]
)
def test_result_is_the_pinned_one(name):
    pinned, found = json.loads(GOLDEN.read_text())[name], numbers(RESULTS[name]())
    assert sorted(found) == sorted(pinned)
    moved = {
        key: (found[key], pinned[key])
        for key in pinned
        if not close(found[key], pinned[key], TOLERANCE[name])
    }
    assert not moved


def test_every_pinned_result_is_computed():
    assert sorted(json.loads(GOLDEN.read_text())) == sorted(RESULTS)


if __name__ == "__main__":
    GOLDEN.write_text(
        json.dumps({name: numbers(call()) for name, call in RESULTS.items()}, indent=0) + "\n"
    )
