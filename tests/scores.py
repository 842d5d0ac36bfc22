"""Scores of the items, written out label by label for comparison."""

import numpy as np


def split(theta, anchored):
    size = len(anchored.panel.labelers)
    return theta[:size], theta[size : 2 * size], theta[2 * size :]


def theta_of(anchored):
    return np.concatenate([anchored.sensitivity, anchored.specificity, anchored.history_prevalence])


def item_scores(anchored, theta):
    """Score of every item (item, parameter), written out with numpy from P(y = 1 | labels)."""
    data = anchored.data
    a, b, m = split(theta, anchored)
    n, size = len(data.gold), a.size
    item = np.repeat(np.arange(n), np.diff(data.item_ptr))
    j, z = data.code // 2, data.code % 2
    chance1, chance0 = np.where(z == 1, a[j], 1 - a[j]), np.where(z == 1, 1 - b[j], b[j])
    log1, log0 = np.zeros(n), np.zeros(n)
    np.add.at(log1, item, np.log(chance1))
    np.add.at(log0, item, np.log(chance0))
    rate = np.where(data.group_idx >= 0, m[data.group_idx], 0.5)
    posterior = rate * np.exp(log1) / (rate * np.exp(log1) + (1 - rate) * np.exp(log0))
    g = np.where(np.isnan(data.gold), posterior, data.gold)
    scores = np.zeros((n, theta.size))
    np.add.at(scores, (item, j), g[item] * np.where(z == 1, 1 / a[j], -1 / (1 - a[j])))
    np.add.at(scores, (item, size + j), (1 - g[item]) * np.where(z == 1, -1 / (1 - b[j]), 1 / b[j]))
    known = np.flatnonzero(data.group_idx >= 0)
    group = data.group_idx[known]
    scores[known, 2 * size + group] = g[known] / m[group] - (1 - g[known]) / (1 - m[group])
    return scores
