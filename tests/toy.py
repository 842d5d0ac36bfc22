"""Small label tables for tests: from arrays, and simulated with known truth."""

from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from hero_bayes.data.labels import Labels


def make_labels(item, labeler, label, items=None, covariates=()):
    """Labels from three columns and, where given, item columns over 0 .. n - 1."""
    verdicts = pd.DataFrame({"item": item, "labeler": labeler, "label": label})
    facts = None
    if items is not None:
        facts = pd.DataFrame(items)
        if "item" not in facts:
            facts.insert(0, "item", np.arange(len(facts)))
    return Labels.from_frames(verdicts, facts, covariates=list(covariates))


def from_rows(rows, **columns):
    """Labels from one dict {labeler: label} an item, with item columns by name."""
    item = [i for i, row in enumerate(rows) for _ in row]
    labeler = [name for row in rows for name in row]
    label = [value for row in rows for value in row.values()]
    return make_labels(item, labeler, label, {"item": range(len(rows)), **columns})


@dataclass(frozen=True)
class Setting:
    """One simulated problem; ``strength`` is the effect of covariate x on log odds of the truth."""

    n_history: int = 200
    n_current: int = 100
    n_labelers: int = 6
    labels_per_item: int = 4
    gold_share: float = 0.2
    current_gold: float = 0.0
    rate: float = 0.3
    history_rate: float = 0.4
    sensitivity: float = 0.8
    specificity: float = 0.85
    strength: float = 1.0
    n_noise: int = 0
    arms: tuple = ()
    labeler_sd: float = 0.08


@dataclass(frozen=True)
class Round:
    """The tables of one round, before they become Labels."""

    verdicts: pd.DataFrame
    items: pd.DataFrame
    truth: np.ndarray
    covariates: tuple = field(default=())

    def labels(self):
        return Labels.from_frames(self.verdicts, self.items, covariates=list(self.covariates))


@dataclass(frozen=True)
class Problem:
    """Both rounds with what generated them."""

    past: Round
    now: Round
    sensitivity: np.ndarray
    specificity: np.ndarray

    @property
    def rounds(self):
        return self.past.labels(), self.now.labels()


def simulate(seed, **changes):
    """A problem with independent labelers; gold at random, both classes among it."""
    setting = Setting(**changes)
    rng = np.random.default_rng(seed)
    size = setting.n_labelers
    sensitivity = np.clip(rng.normal(setting.sensitivity, setting.labeler_sd, size), 0.05, 0.97)
    specificity = np.clip(rng.normal(setting.specificity, setting.labeler_sd, size), 0.05, 0.97)
    past = _round(
        rng,
        setting,
        sensitivity,
        specificity,
        setting.n_history,
        setting.history_rate,
        setting.gold_share,
        (),
    )
    now = _round(
        rng,
        setting,
        sensitivity,
        specificity,
        setting.n_current,
        setting.rate,
        setting.current_gold,
        setting.arms,
    )
    return Problem(past, now, sensitivity, specificity)


def _round(rng, setting, sensitivity, specificity, n, rate, gold_share, arms):
    x = rng.standard_normal(n)
    logit = np.log(rate) - np.log1p(-rate)
    truth = (rng.random(n) < 1 / (1 + np.exp(-(logit + setting.strength * x)))).astype(int)
    order = np.argsort(rng.random((n, setting.n_labelers)), axis=1)
    labeler = order[:, : setting.labels_per_item].ravel()
    item = np.repeat(np.arange(n), setting.labels_per_item)
    chance = np.where(truth[item] == 1, sensitivity[labeler], 1 - specificity[labeler])
    verdicts = pd.DataFrame(
        {"item": item, "labeler": labeler, "label": (rng.random(item.size) < chance).astype(int)}
    )
    known = np.zeros(n, dtype=bool)
    if gold_share:
        known = rng.permutation(n) < round(gold_share * n)
        for value in (0, 1):
            known[np.flatnonzero(truth == value)[:1]] = True
    items = pd.DataFrame({"item": np.arange(n), "gold": np.where(known, truth, np.nan), "x": x})
    names = ["x"]
    if setting.n_noise:
        noise = [f"noise{k}" for k in range(setting.n_noise)]
        table = pd.DataFrame(rng.standard_normal((n, len(noise))), columns=noise)
        items = pd.concat([items, table], axis=1)
        names += noise
    if arms:
        items["arm"] = np.array(arms, dtype=object)[np.arange(n) % len(arms)]
    return Round(verdicts, items, truth, tuple(names))
