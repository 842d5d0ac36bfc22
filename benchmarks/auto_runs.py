"""What the studies of `auto` share: rounds from a table of labels, three fits, one row a fit."""

import json
from functools import cache

import numpy as np
import pandas as pd
from scipy.special import expit

import hero_bayes as hb
from hero_bayes.estimators.averaging import average
from hero_bayes.inference.fit import refit
from hero_bayes.inference.program import Program, make_program
from hero_bayes.models import MODELS
from hero_bayes.simulation.workers import in_parallel

DRAWS, CHAINS = 100, 4
PROB = 0.9
#: Resamples of the repetitions for an interval of a ratio.
RESAMPLES = 2_000
#: Tasks between two looks at the results.
BATCH = 60


def labels_of(item, labeler, label, gold=None):
    """A round from one array each; ``gold`` by item."""
    table = pd.DataFrame({"item": item, "labeler": labeler, "label": label})
    facts = None if gold is None else pd.DataFrame({"item": range(len(gold)), "gold": gold})
    return hb.Labels.from_frames(table, facts)


def choose(rng, n_items, size, weight):
    """``size`` different labelers for each item, (item, size), with odds ``weight``."""
    key = np.log(rng.random((n_items, len(weight)))) / np.maximum(weight, 1e-300)
    return np.argsort(-key, axis=1)[:, :size]


def simulated_round(rng, truth, who, logit, loading=0.0, family=None, family_loading=0.0):
    """Labels (item, size) of the chosen labelers, whose errors share the item's effects.

    ``logit`` (class, labeler) is the logit of P(label 1 | class) where all effects are 0.
    """
    base = logit[truth[:, None], who] + loading * rng.standard_normal((len(truth), 1))
    if family is not None:
        effect = rng.standard_normal((len(truth), family.max() + 1))
        base = base + family_loading * np.take_along_axis(effect, family[who], axis=1)
    return (rng.random(base.shape) < expit(base)).astype(int)


@cache
def _programs(labelers: tuple[str, ...]) -> list[Program]:
    """Compiled programs on these labelers: sparse and dense tables need one each."""
    return []


def hero_draws(history, current, seed):
    """Draws of item_rate under the paper's model by Laplace's method, compiled once."""
    current = current.with_labelers(history.labelers)
    if current.n_labels == 0:
        raise hb.Refusal("no labeler of the current round is known from history")
    settings = {"mode": "laplace", "random_seed": seed, "draws": DRAWS, "chains": CHAINS}
    programs = _programs(tuple(history.labelers))
    for program in programs:
        try:
            return _item_rate(refit(program, history, current, **settings))
        except hb.DataError:
            continue
    programs.append(make_program(MODELS["hero"], history, current))
    return _item_rate(refit(programs[-1], history, current, **settings))


def _item_rate(tree):
    return tree["posterior"]["item_rate"].to_numpy().ravel()


def fit_rows(history, current, share, seed, with_hero=True):
    """One row a model: error, cover and width of the interval of item_rate, or why refused.

    The draws of ``score`` are those that ``auto`` averages with the draws under independent errors:
    with one seed `hb.fit` gives the same of either model.
    """
    rows = []
    if with_hero:
        rows.append(_row("hero", share, lambda: hero_draws(history, current, seed)))
    try:
        found = average(history, current, n_draws=DRAWS * CHAINS, random_seed=seed)
    except hb.Refusal as refusal:
        # What auto says where score refuses is up to hb.fit: it may fall back to a wide posterior.
        rows.append({"model": "score", "refused": str(refusal)})
        return [*rows, _row("auto", share, lambda: fallback_draws(history, current, seed))]
    facts = {"independent": found.probability_independent}
    draws = {"score": found.tilt.item_rate[:, 0], "auto": found.item_rate[:, 0]}
    return rows + [_row(m, share, draws[m].view) | facts for m in ("score", "auto")]


def fallback_draws(history, current, seed):
    """Draws of item_rate of `hb.fit`."""
    tree = hb.fit(history, current, model="auto", random_seed=seed, draws=DRAWS, chains=CHAINS)
    return _item_rate(tree)


def _row(model, share, draw):
    try:
        draws = draw()
    except hb.Refusal as refusal:
        return {"model": model, "refused": str(refusal)}
    low, high = np.quantile(draws, [(1 - PROB) / 2, (1 + PROB) / 2])
    covered = bool(low - 1e-9 <= share <= high + 1e-9)
    found = {"error": float(draws.mean() - share), "width": float(high - low), "covered": covered}
    return {"model": model, "refused": ""} | found


def run(task, tasks, jobs, kept, report):
    """Rows of all tasks; those finished before, by their first elements, are read from ``kept``.

    ``report`` gets the table after each batch, so that a run that is stopped leaves its results.
    """
    kept.parent.mkdir(parents=True, exist_ok=True)
    rows = pd.read_json(kept, lines=True).to_dict("records") if kept.exists() else []
    done = {tuple(row["task"]) for row in rows}
    waiting = [one for one in tasks if one[:3] not in done]
    for begin in range(0, len(waiting), BATCH):
        found = in_parallel(task, waiting[begin : begin + BATCH], jobs)
        new = [row for part in found for row in part]
        rows += new
        with kept.open("a") as file:
            file.writelines(json.dumps(row) + "\n" for row in new)
        report(tabulated(rows))


def tabulated(rows):
    """The rows as a table with every column, whatever was refused."""
    columns = {"error": np.nan, "width": np.nan, "covered": np.nan, "independent": np.nan}
    table = pd.DataFrame(rows).sort_values("task", kind="stable")
    return table.assign(**{k: v for k, v in columns.items() if k not in table}).fillna(
        {"notes": ""}
    )


def summary(table, by):
    """Repetitions, refusals, bias, RMSE, coverage and width of each group of rows."""
    fitted = table.assign(refused=(table["refused"] != "").astype(int))
    groups = fitted.groupby(by, sort=False)
    return groups.agg(
        repetitions=("refused", "size"),
        refusals=("refused", "sum"),
        bias=("error", "mean"),
        rmse=("error", lambda e: np.sqrt(np.mean(e.dropna() ** 2))),
        coverage=("covered", lambda c: c.dropna().astype(float).mean()),
        width=("width", "mean"),
        independent=("independent", "mean"),
    )


def paired_ratio(table, by, measure, seed=0):
    """auto over hero in ``measure`` (rmse or width), with a 90 % bootstrap interval."""
    rng, rows = np.random.default_rng(seed), []
    for key, part in table.groupby(by, sort=False):
        wide = part.pivot(index="repetition", columns="model", values=["error", "width"]).dropna()
        pick = rng.integers(len(wide), size=(RESAMPLES, len(wide)))
        if measure == "rmse":
            a, b = (wide["error"][m].to_numpy(dtype=float) ** 2 for m in ("auto", "hero"))
            power = 0.5
        else:
            a, b = (wide["width"][m].to_numpy(dtype=float) for m in ("auto", "hero"))
            power = 1.0
        drawn = (a[pick].mean(axis=1) / b[pick].mean(axis=1)) ** power
        low, high = np.quantile(drawn, [0.05, 0.95])
        name = f"{measure}_ratio"
        found = {name: (a.mean() / b.mean()) ** power, f"{name}_low": low, f"{name}_high": high}
        names = key if isinstance(key, tuple) else (key,)
        rows.append({**dict(zip(by, names, strict=True)), **found})
    return pd.DataFrame(rows)
