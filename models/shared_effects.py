"""Labeler layer ``correlated``: given the truth, the labels of one item share an effect.

A hard or odd item misleads every labeler at once; labelers of one family (judges on one base model)
may share another effect.
"""

from dataclasses import dataclass

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from numpy.typing import NDArray
from pytensor.tensor.variable import TensorVariable

from hero_bayes.data.labels import Labels
from hero_bayes.data.panel import Panel
from hero_bayes.errors import Refusal
from hero_bayes.likelihoods.label_scores import Membership, label_scores
from hero_bayes.likelihoods.shared_effect import (
    LOADING_BOUND,
    Combine,
    family_effect,
    marginal_rate,
    node_count,
    normal_nodes,
    shared_effect,
)
from hero_bayes.models.priors import mean_and_sd, positive_scale

#: Sets of labelers are held densely while their rows are at least this full.
DENSE_SHARE = 0.1
#: Numbers in the table of family integrals above which a family effect is refused.
FAMILY_LIMIT = 10_000_000
#: Variance that one label leaves to the logit of its labeler: 1 / (p (1 - p)) at p near 0.8 or 0.2,
#: twice, since a label speaks of one of two logits.
LABEL_VARIANCE = 12.0
Grid = tuple[TensorVariable, TensorVariable]


@dataclass(frozen=True)
class SharedEffects:
    """Labelers who share an effect an item.

    Attributes
    ----------
    logit : tensor (2, labeler)
        e_jy, truth 0 first.
    loading : tensor (2,)
    family_loading : tensor (2,), or None
    family_idx : int array (labeler), or None
        -1 for labelers without a family effect.
    grid, family_grid : tuple of tensors (node,)
        Nodes and log-weights.
    """

    logit: TensorVariable
    loading: TensorVariable
    family_loading: TensorVariable | None
    family_idx: NDArray[np.int64] | None
    grid: Grid
    family_grid: Grid | None

    def class_log_likelihood(
        self, labels: Labels, prefix: str = "", n_items: int | TensorVariable | None = None
    ) -> TensorVariable:
        """Log p(labels | truth 0) and log p(labels | truth 1) of each item, (item, 2)."""
        scores = label_scores(labels, self.family_idx)
        more: TensorVariable | float = 0.0
        if self.family_idx is not None:
            assert self.family_grid is not None
            cells = self._cells(scores.cells, prefix, self.family_idx, self.family_grid)
            none = pt.zeros_like(self.loading[None, :, None] * self.grid[0])
            padded = pt.concatenate([cells, none], axis=0)
            more = padded[pm.Data(f"{prefix}row_cell", scores.row_cell)].sum(axis=1)
        combine = _combine(scores.rows, labels.n_labelers, f"{prefix}row")
        rows = shared_effect(self.logit, self.loading, combine, self.grid, pt, more)
        item_row = pm.Data(f"{prefix}item_row", scores.item_row)
        return rows[item_row] + self._positive_part(labels, prefix, n_items)

    def _cells(
        self, cells: Membership, prefix: str, family_idx: NDArray[np.int64], family_grid: Grid
    ) -> TensorVariable:
        """The families' integrals at every node of u, (cell, 2, node)."""
        members = np.flatnonzero(family_idx >= 0)
        position = np.full(family_idx.size, -1)
        position[members] = np.arange(members.size)
        own = Membership(cells.row_idx, position[cells.labeler_idx], cells.n_positive)
        width = 2 * self.grid[0].get_value().size * family_grid[0].get_value().size
        size = (members.size + own.n_positive.size) * width
        if size > FAMILY_LIMIT:
            raise Refusal(
                f"the family effect needs tables of {size:,} numbers for this many labelers and "
                f"different sets of them (limit {FAMILY_LIMIT:,}); use priors={{'family': False}}"
            )
        return family_effect(
            self.logit[:, members],
            self.loading,
            self.family_loading,
            _combine(own, members.size, f"{prefix}cell"),
            (self.grid, family_grid),
            pt,
        )

    def _positive_part(
        self, labels: Labels, prefix: str, n_items: int | TensorVariable | None
    ) -> TensorVariable:
        """Sum of e_jy over an item's positive labels, (item, 2)."""
        item_idx = np.repeat(np.arange(labels.n_items), labels.labels_per_item)
        positive = labels.label == 1
        if labels.n_labels >= DENSE_SHARE * labels.n_items * labels.n_labelers:
            table = np.zeros((labels.n_items, labels.n_labelers))
            np.add.at(table, (item_idx[positive], labels.labeler_idx[positive]), 1.0)
            return pt.dot(pm.Data(f"{prefix}positive_labels", table), self.logit.T)
        who = pm.Data(f"{prefix}positive_labeler", labels.labeler_idx[positive].astype(np.int64))
        where = pm.Data(f"{prefix}positive_item", item_idx[positive])
        zeros = pt.zeros((labels.n_items if n_items is None else n_items, 2))
        return zeros[where].inc(self.logit.T[who])


def _combine(sets: Membership, n_labelers: int, name: str) -> Combine:
    """Sums over the labelers and positive labels of every row, from replaceable data."""
    if sets.row_idx.size >= DENSE_SHARE * sets.n_positive.size * n_labelers:
        columns = [sets.dense(n_labelers), sets.n_positive, np.ones_like(sets.n_positive)]
        matrix = pm.Data(f"{name}_counts", np.column_stack(columns).astype(np.float64))
        return lambda table: pt.dot(matrix, table)
    n_positive = pm.Data(f"{name}_positive", sets.n_positive.astype(np.float64))
    where = pm.Data(f"{name}_idx", sets.row_idx)
    who = pm.Data(f"{name}_labeler", sets.labeler_idx)

    def gather(table: TensorVariable) -> TensorVariable:
        start = n_positive[:, None] * table[-2] + table[-1]
        return start[where].inc(table[who])

    return gather


def shared_families(panel: Panel) -> tuple[NDArray[np.int64], list[str]]:
    """The family of each labeler, -1 where no other labeler shares it, and the families' names.

    A sole member's family effect cannot be told from its own rates.
    """
    known = panel.history.family
    names = sorted({name for name in known if name is not None and known.count(name) > 1})
    position = {name: k for k, name in enumerate(names)}
    return np.array([position.get(name or "", -1) for name in known], dtype=np.int64), names


def correlated_labelers(
    panel: Panel,
    *,
    positive_mean_prior: tuple[float, float] = (1.0, 1.5),
    negative_mean_prior: tuple[float, float] = (-1.0, 1.5),
    spread_prior: float = 1.0,
    loading_prior: float = 1.0,
    family_loading_prior: float = 1.0,
    family: bool | None = None,
    loading_bound: float = LOADING_BOUND,
) -> SharedEffects:
    """Labelers who share an effect an item, their logits drawn from a population.

    The arguments are those of :func:`hero_bayes.models.correlated.correlated`. Registers the
    variables that it names.
    """
    family_idx, names = shared_families(panel)
    if family and not names:
        raise Refusal(
            "family=True needs two labelers of one family: give the labelers table a column "
            '"family", or leave the argument out'
        )
    use_family = bool(names) if family is None else family
    mean_prior = np.array(
        [
            mean_and_sd("negative_mean_prior", negative_mean_prior),
            mean_and_sd("positive_mean_prior", positive_mean_prior),
        ]
    )
    positive_scale("loading_bound", loading_bound)
    family_loading_prior = positive_scale("family_loading_prior", family_loading_prior)
    spread = pm.HalfNormal(
        "label_logit_spread", positive_scale("spread_prior", spread_prior), dims="truth"
    )
    logit = population(panel, mean_prior, spread)
    loading = pm.HalfNormal("loading", positive_scale("loading_prior", loading_prior), dims="truth")
    longest = max(_longest(panel.history), _longest(panel.current))
    grid = _grid("effect", longest, loading_bound)
    family_loading, family_grid, square = (
        None,
        None,
        loading**2 + pt.zeros((panel.labelers.size, 1)),
    )
    if use_family:
        pm.Data("labeler_family", family_idx, dims="labeler")
        family_loading = pm.HalfNormal("family_loading", family_loading_prior, dims="truth")
        sizes = [_longest(labels, family_idx) for labels in (panel.history, panel.current)]
        family_grid = _grid("family_effect", max(sizes), loading_bound)
        square = square + (family_idx >= 0)[:, None] * family_loading**2
    scale = pt.sqrt(square + 1e-300)
    for name, sign, truth in (("sensitivity", 1.0, 1), ("specificity", -1.0, 0)):
        rate = marginal_rate(sign * logit[truth], scale[:, [truth]], grid, pt)
        pm.Deterministic(name, rate, dims="labeler")
    return SharedEffects(
        logit, loading, family_loading, family_idx if use_family else None, grid, family_grid
    )


def population(
    panel: Panel, mean_prior: NDArray[np.float64], spread: TensorVariable
) -> TensorVariable:
    """Logits e (truth, labeler) drawn from a normal population, in coordinates that mix well.

    Parameters
    ----------
    panel : Panel
    mean_prior : array (2, 2)
        Mean and standard deviation of the population mean m, truth 0 first.
    spread : tensor (2,)
        Standard deviation s of the population.

    Returns
    -------
    tensor (2, labeler)

    Notes
    -----
    e_j ~ Normal(m, s^2) for J labelers with m ~ Normal(a, b^2) have an average
    ~ Normal(a, b^2 + s^2 / J) and, independently, deviations from it that are s times J - 1
    standard normal contrasts. Labels say little of m beyond the average, so m is integrated out.
    With d^2 the variance that labels leave to a deviation, contrasts are sampled as
    Normal(0, s^2 + d^2) and multiplied by s / sqrt(s^2 + d^2): what labels leave open of them is
    then d^2 whatever s. Many labels give the centred form, none the non-centred one (cf. [1]_);
    the density stays bounded as s goes to 0, so that it has a mode.

    References
    ----------
    .. [1] Papaspiliopoulos, O., Roberts, G. O., Skold, M. (2007). A general framework for the
       parametrization of hierarchical models. Statistical Science 22, 59-73.
       doi:10.1214/088342307000000014
    """
    size = panel.labelers.size
    mean = pm.Normal(
        "label_logit_mean",
        mean_prior[:, 0],
        pt.sqrt(mean_prior[:, 1] ** 2 + spread**2 / size),
        dims="truth",
    )
    # From history alone, which both models of a cut hold.
    labels_each = panel.history.n_labels / size
    left = pm.Data("label_logit_variance", LABEL_VARIANCE / (1.0 + labels_each))
    scale = pt.sqrt(spread**2 + left)
    pm.modelcontext(None).add_coord("labeler_contrast", range(1, size))
    offset = pm.Normal(
        "label_logit_offset", 0.0, scale[:, None], dims=("truth", "labeler_contrast")
    )
    deviation = (spread / scale)[:, None] * zero_sum(offset, size)
    return pm.Deterministic("label_logit", mean[:, None] + deviation, dims=("truth", "labeler"))


def zero_sum(contrast: TensorVariable, size: int) -> TensorVariable:
    """Rows that sum to zero, from contrasts: lengths and angles are kept.

    If the contrasts are standard normal, a row is a standard normal vector less its average.

    Parameters
    ----------
    contrast : tensor (row, size - 1)
    size : int

    Returns
    -------
    tensor (row, size)

    Examples
    --------
    >>> import pytensor
    >>> zero_sum(pytensor.shared(np.array([[3.0]])), 2).eval().round(3).tolist()
    [[2.121, -2.121]]
    """
    total = contrast.sum(axis=1, keepdims=True)
    root = size**0.5
    return pt.concatenate([contrast - total / (size + root), -total / root], axis=1)


def _grid(name: str, n_labels: int, loading_bound: float) -> Grid:
    """Nodes and log-weights as replaceable data."""
    nodes, log_weight = normal_nodes(node_count(n_labels, loading_bound))
    return pm.Data(f"{name}_nodes", nodes), pm.Data(f"{name}_log_weight", log_weight)


def _longest(labels: Labels, family_idx: NDArray[np.int64] | None = None) -> int:
    """The most labels that one item has, or that one item has from one family."""
    if family_idx is None:
        return int(labels.labels_per_item.max(initial=0))
    item_idx = np.repeat(np.arange(labels.n_items), labels.labels_per_item)
    own = family_idx[labels.labeler_idx]
    inside, n_families = own >= 0, int(family_idx.max()) + 1
    cell = item_idx[inside] * n_families + own[inside]
    return int(np.bincount(cell).max(initial=0))
