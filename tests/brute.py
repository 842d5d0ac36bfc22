"""Plain enumeration over the unseen truth: slow, obvious, and independent of the package."""

import itertools
import math

import numpy as np


def chance(label, truth, sensitivity, specificity):
    """P(label | truth) of one labeler."""
    right = sensitivity if truth else specificity
    return right if label == truth else 1.0 - right


def verdicts_of(labels, item):
    """(labeler name, label) pairs of one item."""
    span = slice(labels.item_ptr[item], labels.item_ptr[item + 1])
    names = labels.labelers[labels.labeler_idx[span]]
    return list(zip(names, labels.label[span].tolist(), strict=True))


def item_chance(labels, item, truth, sensitivity, specificity):
    """P(labels of the item | truth); labelers missing from ``sensitivity`` are left out."""
    return math.prod(
        chance(label, truth, sensitivity[name], specificity[name])
        for name, label in verdicts_of(labels, item)
        if name in sensitivity
    )


def truth_vectors(labels):
    """Every truth vector that agrees with gold."""
    options = [(0, 1) if np.isnan(gold) else (int(gold),) for gold in labels.gold]
    return itertools.product(*options)


def log_likelihood(labels, sensitivity, specificity, rates):
    """Log of the sum, over truth vectors, of P(truth) P(labels | truth); ``rates`` by group."""
    total = 0.0
    for truth in truth_vectors(labels):
        term = 1.0
        for item, y in enumerate(truth):
            rate = rates[labels.group_idx[item]]
            term *= rate if y else 1.0 - rate
            term *= item_chance(labels, item, y, sensitivity, specificity)
        total += term
    return math.log(total)


def item_log_likelihood(labels, item, sensitivity, specificity, rate):
    """Log p(labels and gold of one item), summed over the truths that agree with its gold."""
    gold = labels.gold[item]
    truths = (0, 1) if np.isnan(gold) else (int(gold),)
    return math.log(
        sum(
            (rate if y else 1.0 - rate) * item_chance(labels, item, y, sensitivity, specificity)
            for y in truths
        )
    )


def item_log_likelihoods(labels, sensitivity, specificity, rates):
    """The same for every item, ``rates`` by item."""
    return [
        item_log_likelihood(labels, item, sensitivity, specificity, rate)
        for item, rate in enumerate(rates)
    ]


def likelihood_slope(labels, sensitivity, specificity, rate):
    """d log p(labels) / d rate for a round of one group, by enumeration."""
    value, slope = 0.0, 0.0
    n = labels.n_items
    for truth in truth_vectors(labels):
        k = sum(truth)
        given = math.prod(
            item_chance(labels, item, y, sensitivity, specificity) for item, y in enumerate(truth)
        )
        prior = rate**k * (1 - rate) ** (n - k)
        value += given * prior
        slope += given * prior * (k / rate - (n - k) / (1 - rate))
    return slope / value
