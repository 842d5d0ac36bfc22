"""What the integral of the correlated layer rests on: distinct scores, and enough nodes."""

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import norm
from toy import make_labels

from hero_bayes.likelihoods.label_scores import label_scores
from hero_bayes.likelihoods.shared_effect import node_count, normal_nodes, quadrature_error

#: Far denser than any integrand here is narrow, and to the ends of the normal law.
DENSE = np.linspace(-9.0, 9.0, 20_001)


def votes(n_labelers, n_items):
    """Labels at random, two in five of them missing."""
    rng = np.random.default_rng(2)
    keep = rng.random((n_items, n_labelers)) >= 0.4
    keep[:, 0] = True
    item, labeler = np.nonzero(keep)
    return make_labels(item, labeler, rng.integers(0, 2, item.size), {"item": range(n_items)})


def verdicts(labels, item):
    span = slice(labels.item_ptr[item], labels.item_ptr[item + 1])
    return labels.labeler_idx[span], labels.label[span]


def test_scores_are_distinct_and_lead_back_to_the_items():
    labels = votes(5, 40)
    scores = label_scores(labels)
    dense = scores.rows.dense(5)
    assert (
        len({(*row, s) for row, s in zip(dense.tolist(), scores.rows.n_positive, strict=True)})
        == len(dense)
        < labels.n_items
    )
    for item in range(labels.n_items):
        who, label = verdicts(labels, item)
        assert (np.flatnonzero(dense[scores.item_row[item]]) == who).all()
        assert scores.rows.n_positive[scores.item_row[item]] == label.sum()


def node_error(n_labels, e, loading, n_nodes):
    """Largest error over numbers of positives whose effect lies within the nodes."""
    positive = np.unique(np.linspace(0, n_labels, 31).round())

    def log_sum(grid):
        nodes, log_weight = grid
        never = n_labels * np.logaddexp(0, e + loading * nodes)
        return positive[:, None] * loading * nodes - never + log_weight

    terms = log_sum((DENSE, norm.logpdf(DENSE) + np.log(DENSE[1] - DENSE[0])))
    exact = logsumexp(terms, axis=1)
    inside = logsumexp(terms[:, np.abs(DENSE) > 6.5], axis=1) - exact < np.log(1e-9)
    found = logsumexp(log_sum(normal_nodes(n_nodes)), axis=1)
    assert inside.any()
    return np.abs(found - exact)[inside].max()


@pytest.mark.parametrize("n_labels", [1, 3, 10, 60, 300])
def test_node_count_is_enough_up_to_the_promised_loading(n_labels):
    for loading, limit in ((0.5, 1e-9), (1.5, 1e-9), (3.0, 1e-8), (4.0, 1e-6)):
        for e in (-4.3, -1.7, 0.2, 2.6, 5.0):
            assert node_error(n_labels, e, loading, node_count(n_labels)) < limit
    assert node_error(n_labels, 0.2, 4.0, 15) > 1e-4


def test_quadrature_error_sees_loadings_beyond_the_bound():
    presence, positive = np.ones((1, 40)), np.array([20.0])
    within, beyond = (
        quadrature_error(np.zeros((2, 40)), np.full(2, loading), presence, positive).largest
        for loading in (3.0, 12.0)
    )
    assert within < 1e-9 < 1e-4 < beyond
