"""The mode of the shared-effect model: its posterior density, its start, its climb."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from hero_bayes.estimators import shared_effect_kernels as kernels
from hero_bayes.estimators.anchored_em import AnchorData, gold_prevalence, gold_rates
from hero_bayes.estimators.shared_effect_kernels import LOG_LOADING_PRIOR, LOG_SPREAD_PRIOR

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

#: Nodes of the fit. They make the effect a discrete one, which is a model of its own.
FIT_NODES = 9
#: Labels at the pooled rate that are added to each labeler's gold labels for the start.
START_LABELS = 2.0
MAX_ITERATIONS = 1_000
#: Times the information of the labels is renewed, at most.
RENEWALS = 8
#: The fit has converged when no slope of the log posterior is above this.
GRADIENT_TOLERANCE = 1e-4


@dataclass(frozen=True)
class SharedEffect:
    """The shared-effect model at the mode of its posterior.

    Attributes
    ----------
    labelers : object array of str
        The labeler coordinate.
    intercept : float array (class, labeler)
        Logit of P(label 1 | class) of a labeler on an item whose effect is 0.
    loading : float array (class,)
        How many logits one standard deviation of the item's effect moves all labelers.
    mean, spread : float array (class,)
        Mean and standard deviation of the intercepts over labelers.
    prevalence : float array (history group,)
        Share of positives in each group of the history.
    information : float array (class, labeler)
        Information of the labels on each intercept, classes and effects taken as known.
    log_posterior : float
        Log posterior density at the mode, the constants of the priors left out.
    iterations : int
        Steps of the optimiser.
    converged : bool
        Whether no slope of the log posterior is above 1e-4.
    """

    labelers: NDArray[np.object_]
    intercept: FloatArray
    loading: FloatArray
    mean: FloatArray
    spread: FloatArray
    prevalence: FloatArray
    information: FloatArray
    log_posterior: float
    iterations: int
    converged: bool

    @property
    def parameters(self) -> FloatArray:
        """The unconstrained parameters, in the order of the optimiser."""
        standard = (self.intercept - self.mean[:, None]) / self.spread[:, None]
        logs = np.log(self.spread), np.log(self.loading)
        return np.concatenate([standard.ravel(), self.mean, *logs, logit(self.prevalence)])


def nodes_and_weights(nodes: int) -> tuple[FloatArray, FloatArray]:
    """Gauss-Hermite nodes for a standard normal effect, and the logs of their weights."""
    node, weight = np.polynomial.hermite_e.hermegauss(nodes)
    return node, np.log(weight) - 0.5 * np.log(2.0 * np.pi)


def log_posterior(
    parameters: FloatArray,
    data: AnchorData,
    weight: FloatArray,
    information: FloatArray | None = None,
    nodes: int = FIT_NODES,
) -> tuple[float, FloatArray]:
    """Log posterior density of the shared-effect model and its gradient.

    Parameters
    ----------
    parameters : array
        Standardised intercepts (class 0 by labeler, then class 1), the two means, the logs of the
        two spreads and of the two loadings, the logit of each history group's prevalence.
    data : AnchorData
        History and current gold items.
    weight : array (item,)
        Power of each item's likelihood; 0 leaves the item out.
    information : array (class, labeler), optional
        Information h of the labels on each intercept. If given, the standardised intercepts are
        integrated out of the density of the spreads, to first order.
    nodes : int
        Gauss-Hermite nodes.

    Notes
    -----
    logit P(z_ij = 1 | y, u_i) = e_yj + l_y u_i, u_i ~ N(0, 1), e_yj = mean_y + spread_y x_yj with
    x_yj ~ N(0, 1). mean_y ~ N(+-1, 1.5), log spread ~ N(-0.5, 0.7), log loading ~ N(-0.7, 0.7);
    prevalence ~ Beta(1, 1), whose density is flat in the prevalence, not in its logit.

    A joint mode of intercepts and spread is of no use: with the x free it puts the spread near 7
    logits on real labels, which shrinks nobody; with the e free it puts it at 0 where labelers have
    few labels. So the Laplace term -log(1 + spread_y^2 h_yj) / 2 is added, h held fixed: the
    spread is then at the mode of its own marginal posterior.
    """
    value, gradient, _ = kernels.log_posterior(
        parameters,
        data.item_ptr,
        data.code,
        data.gold,
        data.group_idx,
        weight,
        np.zeros((2, data.n_labelers)) if information is None else information,
        *nodes_and_weights(nodes),
    )
    return float(value), gradient


def item_weights(data: AnchorData, power: float, held_out: BoolArray | None = None) -> FloatArray:
    """Power of each item: 1 with gold, ``power`` without, 0 if it is held out."""
    weight = np.where(np.isnan(data.gold), power, 1.0)
    return weight if held_out is None else np.where(held_out, 0.0, weight)


def start_parameters(data: AnchorData) -> FloatArray:
    """Parameters at the gold rates, each drawn a little to the pooled rate.

    Raises
    ------
    Refusal
        If there is no gold of one of the classes.
    """
    rates = gold_rates(data)
    pooled = np.clip([1.0 - rates.pooled_specificity, rates.pooled_sensitivity], 0.02, 0.98)
    sensitivity, specificity = rates.filled()
    share = np.stack([1.0 - specificity, sensitivity])
    count = np.stack([rates.n_negative, rates.n_positive])
    shrunk = (count * share + START_LABELS * pooled[:, None]) / (count + START_LABELS)
    intercept = logit(np.clip(shrunk, 0.02, 0.98))
    mean = intercept.mean(axis=1)
    spread = np.full(2, np.exp(LOG_SPREAD_PRIOR[0]))
    standard = (intercept - mean[:, None]) / spread[:, None]
    logs = np.log(spread), np.full(2, LOG_LOADING_PRIOR[0])
    return np.concatenate([standard.ravel(), mean, *logs, logit(gold_prevalence(data))])


def maximise(
    data: AnchorData,
    labelers: NDArray[np.object_],
    start: FloatArray,
    weight: FloatArray,
    *,
    information: FloatArray | None = None,
    nodes: int = FIT_NODES,
) -> SharedEffect:
    """The mode of `log_posterior`, from a start; the labels' information is renewed till it stays.

    ``information`` is the first guess of it, (class, labeler), as a fit to similar data gives it.
    """
    size = 2 * data.n_labelers
    found, total, steepest, value = start, 0, np.inf, -np.inf
    known = np.zeros((2, data.n_labelers)) if information is None else information
    for attempt in range(RENEWALS):
        found, value, iterations, steepest, curvature = kernels.climb(
            found,
            data.item_ptr,
            data.code,
            data.gold,
            data.group_idx,
            weight,
            known,
            *nodes_and_weights(nodes),
            GRADIENT_TOLERANCE,
            MAX_ITERATIONS,
        )
        total += int(iterations)
        if attempt > 0 and iterations == 0:
            break
        spread = np.exp(found[size + 2 : size + 4])
        known = (curvature[:size].reshape(2, -1) - 1.0) / spread[:, None] ** 2
    mean, log_spread, log_loading = found[size : size + 6].reshape(3, 2)
    spread = np.exp(log_spread)
    return SharedEffect(
        labelers=labelers,
        intercept=mean[:, None] + spread[:, None] * found[:size].reshape(2, -1),
        loading=np.exp(log_loading),
        mean=mean,
        spread=spread,
        prevalence=expit(found[size + 6 :]),
        information=known,
        log_posterior=float(value),
        iterations=total,
        converged=bool(steepest <= GRADIENT_TOLERANCE),
    )
