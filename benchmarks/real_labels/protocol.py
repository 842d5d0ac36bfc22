"""How one method is tried on a label set whose truth is known."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

import hero_bayes as hb
from hero_bayes.inference.fit import refit
from hero_bayes.inference.program import Program, make_program
from hero_bayes.models import MODELS

HISTORY_SHARE, THINNED = 0.7, 0.5
MAX_ITEMS, MAX_LABELERS = 1_500, 60
MIN_CURRENT = 10
PROB = 0.9
#: A thousand draws: the 5 % quantile is then known to 0.07 standard deviations.
DRAWS = {"draws": 250, "chains": 4}
#: Other label values than 0 and 1 are abstentions while they are rarer than this.
ABSTENTIONS = 0.1
#: Shares are means of 0 and 1; an interval that ends in one holds it.
ROUNDING = 1e-9
ESTIMATORS = ("majority_vote", "dawid_skene", "gold_rates", "hero1", "hero2", "score")
#: Models that answer without a sampler, whatever mode is asked for.
EXACT = ("score", "auto")


@dataclass(frozen=True)
class Setting:
    """What one repetition needs besides the labels and its number."""

    models: tuple[str, ...]
    mode: str
    gold_share: float
    seed: int


class NotBinaryError(Exception):
    """The set has other classes than 0 and 1; the message says which."""


def read_folder(folder: Path) -> hb.Labels:
    """Labels and gold of a folder with labels.csv, gold.csv and perhaps labelers.csv."""
    labels = pd.read_csv(folder / "labels.csv", dtype={"item": str, "labeler": str, "label": str})
    gold = pd.read_csv(folder / "gold.csv", dtype={"item": str, "gold": str}).dropna()
    truth = pd.to_numeric(gold["gold"], errors="coerce")
    if set(truth) != {0, 1}:
        raise NotBinaryError(f"gold has the classes {', '.join(sorted(set(gold['gold'])))}")
    value = pd.to_numeric(labels["label"], errors="coerce")
    other = ~value.isin([0, 1])
    if other.mean() >= ABSTENTIONS:
        raise NotBinaryError(f"{other.mean():.0%} of the labels are neither 0 nor 1")
    labels = labels.assign(label=value.where(~other))
    labels = labels[labels["item"].isin(gold["item"])]
    gold = gold.assign(gold=truth)[gold["item"].isin(labels["item"])]
    about = folder / "labelers.csv"
    labelers = pd.read_csv(about, dtype=str) if about.exists() else None
    return hb.Labels.from_frames(labels, gold, labelers, repeats="majority", unlabeled="drop")


def cap(labels: hb.Labels, seed: int) -> hb.Labels:
    """The busiest labelers and a random draw of items, where there are more than the limits."""
    order = np.argsort(-labels.labels_per_labeler, kind="stable")[:MAX_LABELERS]
    labels = labels.select(labelers=labels.labelers[np.sort(order)], unlabeled="drop")
    if labels.n_items <= MAX_ITEMS:
        return labels
    rng = np.random.default_rng(seed)
    chosen = np.zeros(labels.n_items, dtype=bool)
    chosen[rng.choice(labels.n_items, MAX_ITEMS, replace=False)] = True
    return labels.select(items=chosen)


def split(labels: hb.Labels, repetition: int, gold_share: float, seed: int):
    """History, current round, its true share of ones, and a seed; None where gold is too poor.

    The random numbers do not depend on the gold share: a larger share keeps more gold on the same
    split.
    """
    rng = np.random.default_rng([seed, repetition])
    n_items = labels.n_items
    past = np.zeros(n_items, dtype=bool)
    past[rng.permutation(n_items)[: int(HISTORY_SHARE * n_items)]] = True
    thinned = (labels.gold == repetition % 2) & (rng.random(n_items) < THINNED)
    known = rng.random(n_items) < gold_share
    now = ~past & ~thinned
    gold = np.where(known, labels.gold, np.nan)[past]
    if len(np.unique(gold[~np.isnan(gold)])) < 2 or now.sum() < MIN_CURRENT:
        return None
    history = labels.select(items=past).with_gold(gold)
    current = labels.select(items=now).without_gold()
    return history, current, float(labels.gold[now].mean()), int(rng.integers(2**31))


@cache
def _programs(model: str, labelers: tuple[str, ...]) -> list[Program]:
    """Compiled programs on these labelers: sparse and dense tables need one each."""
    return []


def _posterior(history, current, model, mode, seed):
    """What hb.fit returns, compiled once for all repetitions with the same labelers."""
    if model in EXACT:
        return hb.fit(history, current, model=model, random_seed=seed, progressbar=False, **DRAWS)
    settings = {"mode": mode, "random_seed": seed, "cores": 1, **DRAWS}
    programs = _programs(model, (*history.labelers, "|", *current.labelers))
    for program in programs:
        try:
            return refit(program, history, current, **settings)
        except hb.DataError:
            continue
    programs.append(make_program(MODELS[model], history, current))
    return refit(programs[-1], history, current, **settings)


def _estimate(history, current, method, truth, seed):
    names = sorted(history.covariates) if method == "hero2" else None
    found = hb.estimate(history, current, method=method, covariates=names, random_seed=seed)
    return {"error": found.value - truth}


def _interval(history, current, model, mode, truth, seed):
    tree = _posterior(history, current, model, mode, seed)
    draws = tree["posterior"]["item_rate"].to_numpy().ravel()
    low, high = np.quantile(draws, [(1 - PROB) / 2, (1 + PROB) / 2])
    return {
        "error": draws.mean() - truth,
        "covered": low - ROUNDING <= truth <= high + ROUNDING,
        "width": high - low,
        "gate": hb.diagnose(tree).passed,
    }


def methods_of(labels: hb.Labels, setting: Setting) -> list[tuple[str, str]]:
    """(method, kind) that can be asked of this set: hero2 needs covariates."""
    estimators = [m for m in ESTIMATORS if m != "hero2" or labels.covariates]
    return [(m, "estimate") for m in estimators] + [(m, "posterior") for m in setting.models]


def repetitions(labels: hb.Labels, numbers: list[int], setting: Setting, asked):
    """One record a repetition and method; a refusal is a record with its reason."""
    records = []
    for number in numbers:
        parts = split(labels, number, setting.gold_share, setting.seed)
        if parts is None:
            records.append({"repetition": number, "skipped": True})
            continue
        history, current, truth, seed = parts
        for method, kind in asked:
            record = {"repetition": number, "method": method, "kind": kind}
            try:
                if kind == "estimate":
                    record |= _estimate(history, current, method, truth, seed)
                else:
                    record |= _interval(history, current, method, setting.mode, truth, seed)
            except hb.Refusal as refusal:
                record["refusal"] = str(refusal)
            records.append(record)
    return records
