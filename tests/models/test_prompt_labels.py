"""The prompt_labels model and its second stage against enumeration over every truth."""

import dataclasses
import itertools

import numpy as np
import pandas as pd
import pytest
from pymc.model.transform.conditioning import remove_value_transforms
from scipy.special import betaln, expit, logit

import hero_bayes as hb
from hero_bayes.inference import prompt_kernels as kernels
from hero_bayes.inference.graph import QUICK
from hero_bayes.models.prompt_labels import prompt_labels


def rounds(seed, generations, gold, arms=1):
    """A small round: prompts with the given numbers of generations, three labelers."""
    rng = np.random.default_rng(seed)
    rows, items = [], []
    for arm, (p, k) in itertools.product(range(arms), enumerate(generations)):
        for g in range(k):
            item = f"{arm}_{p}_{g}"
            known = float(rng.integers(2)) if rng.random() < gold else np.nan
            items.append((item, f"p{p}", f"arm{arm}", known))
            rows += [(item, j, int(rng.integers(2))) for j in range(2) if rng.random() < 0.8]
            rows.append((item, 2, int(rng.integers(2))))
    return hb.Labels.from_frames(
        pd.DataFrame(rows, columns=["item", "labeler", "label"]),
        pd.DataFrame(items, columns=["item", "prompt", "arm", "gold"]),
    )


def label_log_probability(labels, item, truth, point):
    """Log-probability of one item's labels given its truth, label by label."""
    total = 0.0
    for e in range(labels.item_ptr[item], labels.item_ptr[item + 1]):
        j, positive = labels.labeler_idx[e], labels.label[e] == 1
        p = point["sensitivity"][j] if truth else 1 - point["specificity"][j]
        total += np.log(p if positive else 1 - p)
    return total


def truths(labels, item_idx):
    """Every combination of truths that the gold allows."""
    for y in itertools.product([0, 1], repeat=len(item_idx)):
        if all(
            np.isnan(labels.gold[i]) or labels.gold[i] == t
            for i, t in zip(item_idx, y, strict=True)
        ):
            yield y


def weight(labels, item_idx, y, mean, icc, point):
    """P(truths, labels) of one prompt, its q integrated out."""
    f, c, k = (1 - icc) / icc, sum(y), len(y)
    total = betaln(mean * f + c, (1 - mean) * f + k - c) - betaln(mean * f, (1 - mean) * f)
    terms = (label_log_probability(labels, i, t, point) for i, t in zip(item_idx, y, strict=True))
    return np.exp(total + sum(terms))


def by_prompt(labels):
    """Items of each (group, prompt)."""
    keys = sorted(set(zip(labels.group_idx.tolist(), labels.prompt, strict=True)))
    for g, p in keys:
        yield g, np.flatnonzero((labels.group_idx == g) & (labels.prompt == p))


def plain_point(model, seed):
    rng = np.random.default_rng(seed)
    return {rv.name: rng.uniform(0.1, 0.9, rv.shape.eval()) for rv in model.free_RVs}


@pytest.mark.parametrize("gold", [0.0, 0.4])
def test_logp_matches_enumeration(gold):
    history, current = rounds(1, [2, 1, 3], 0.5), rounds(2, [3, 2], gold, arms=2)
    model = prompt_labels(history, current)
    point = plain_point(model, 3)
    expected = 0.0
    for labels, prefix in ((history, "history_"), (current, "")):
        for g, item_idx in by_prompt(labels):
            rates = point[f"{prefix}prevalence"][g], point[f"{prefix}icc"][g]
            possible = truths(labels, item_idx)
            parts = [weight(labels, item_idx, y, *rates, point) for y in possible]
            expected += np.log(sum(parts))
    found = remove_value_transforms(model).compile_logp(jacobian=False, mode=QUICK)(point)
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_history_without_prompts_is_independent_items():
    history, current = rounds(1, [1] * 6, 0.5), rounds(2, [3, 2], 0.0)
    plain = dataclasses.replace(history, prompt=None)
    model = prompt_labels(plain, current)
    assert "history_icc" not in model.named_vars
    point = plain_point(model, 4)
    # One generation a prompt says nothing of icc: the likelihood is that of independent items.
    full = prompt_labels(history, current)
    wide = {**point, "history_icc": np.array([0.37])}
    one = remove_value_transforms(model).compile_logp(jacobian=False, mode=QUICK)(point)
    other = remove_value_transforms(full).compile_logp(jacobian=False, mode=QUICK)(wide)
    np.testing.assert_allclose(one, other, rtol=1e-10)


def test_no_prompts_is_refused():
    labels = rounds(1, [2, 2], 0.5)
    with pytest.raises(hb.Refusal, match="prompt"):
        prompt_labels(labels, dataclasses.replace(labels, prompt=None))
    with pytest.raises(ValueError, match="flat, pooled"):
        prompt_labels(labels, labels, labelers="best")


def test_prior_log_odds_from_the_other_generations():
    labels = rounds(5, [3, 2, 1], 0.3)
    model = prompt_labels(labels, labels)
    point = plain_point(model, 6)
    mean, icc = 0.3, 0.6
    ratio = np.array(
        [
            label_log_probability(labels, i, 1, point) - label_log_probability(labels, i, 0, point)
            for i in range(labels.n_items)
        ]
    )
    clamped = np.where(labels.gold == 1, np.inf, np.where(labels.gold == 0, -np.inf, ratio))
    slots, size = model["prompt_slots"].get_value(), model["prompt_size"].get_value()
    found = kernels.log_odds_from_others(expit(clamped), slots, size, mean, icc)
    for _, item_idx in by_prompt(labels):
        for position, i in enumerate(item_idx):
            if not np.isnan(labels.gold[i]):
                continue
            parts = {0: 0.0, 1: 0.0}
            for y in truths(labels, item_idx):
                parts[y[position]] += weight(labels, item_idx, y, mean, icc, point)
            expected = parts[1] / (parts[0] + parts[1])
            np.testing.assert_allclose(expit(found[i] + ratio[i]), expected, rtol=1e-9)


def grid_law(counts, size, prior):
    """Mean, icc and their joint law on a fine grid, the density written with beta functions."""
    m = expit(np.linspace(-9, 9, 400))
    icc = expit(np.linspace(-9, 9, 400))
    mean, corr = np.meshgrid(m, icc, indexing="ij")
    f = (1 - corr) / corr
    total = prior[0] * np.log(mean) + prior[1] * np.log1p(-mean)
    total += prior[2] * np.log(corr) + prior[3] * np.log1p(-corr)
    for row, k in zip(counts, size, strict=True):
        terms = [
            row[c]
            * np.exp(
                betaln(mean * f + c, (1 - mean) * f + k - c) - betaln(mean * f, (1 - mean) * f)
            )
            for c in range(k + 1)
        ]
        total += np.log(sum(terms))
    law = np.exp(total - total.max())
    return m, icc, law / law.sum()


@pytest.mark.parametrize(
    ("seed", "n_prompts", "prior"),
    [(1, 30, (1.0, 1.0, 1.0, 1.0)), (2, 5, (2.0, 3.0, 1.5, 2.0)), (3, 80, (1.0, 1.0, 1.0, 1.0))],
)
def test_draws_of_mean_and_icc_follow_their_law(seed, n_prompts, prior):
    rng = np.random.default_rng(seed)
    size = rng.integers(1, 6, n_prompts)
    slots = np.zeros((n_prompts, 8), dtype=np.int64)
    position = 1
    for p, k in enumerate(size):
        slots[p, :k] = np.arange(position, position + k)
        position += k
    chance = expit(rng.normal(0, 3, position - 1))
    counts = kernels.all_counts(chance, slots, size)
    prior = np.array(prior)
    uniforms = rng.random((4000, 3))
    drawn = np.array([kernels.draw_difficulty(counts, size, prior, u) for u in uniforms])
    m, icc, law = grid_law(counts, size, prior)
    for axis, grid in enumerate((m, icc)):
        mass = law.sum(axis=1 - axis)
        reached = np.cumsum(mass) - mass / 2
        pit = np.interp(logit(drawn[:, axis]), logit(grid), reached)
        # 4,000 draws: the largest distance to the uniform exceeds 1.95 / sqrt(n) with p = 1e-3; the
        # grid that is drawn from adds up to half a cell, a small part of the law.
        distance = np.abs(np.sort(pit) - (np.arange(4000) + 0.5) / 4000).max()
        assert distance < 1.95 / np.sqrt(4000) + 0.005
