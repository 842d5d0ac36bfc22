"""A history and a current round with known truth."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hero_bayes.data.labels import Labels
from hero_bayes.simulation.scenario import Scenario, scenario_problems
from hero_bayes.simulation.tables import label_table
from hero_bayes.simulation.words import write_prompts

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Simulation", "simulate", "simulate_scenario"]

#: Sensitivity and specificity are kept inside these limits.
RATE_LIMITS = (0.02, 0.98)
#: Histories drawn, at most, until the gold holds both classes.
GOLD_TRIES = 1000

FloatArray = NDArray[np.float64]
Seed = int | Sequence[int] | None


@dataclass(frozen=True)
class Simulation:
    """Two rounds and everything that was true of them.

    Attributes
    ----------
    history, current : Labels
        The rounds; gold on some history items, none on current ones.
    prevalence : float
        E[y] of the current round: the rate of the source its items came from.
    item_rate : float
        The realised share of positive current items.
    sensitivity, specificity : Series by labeler
        P(label 1 | y = 1) and P(label 0 | y = 0).
    truth_history, truth_current : int8 array (item)
        y of every item.
    """

    history: Labels
    current: Labels
    prevalence: float
    item_rate: float
    sensitivity: "pd.Series[float]"
    specificity: "pd.Series[float]"
    truth_history: NDArray[np.int8]
    truth_current: NDArray[np.int8]


def simulate(
    n_history: int = 800,
    n_current: int = 300,
    n_labelers: int = 10,
    labels_per_item: int = 3,
    gold_rate: float = 0.1,
    prevalence: float = 0.31,
    history_prevalence: float | None = None,
    sensitivity: float = 0.5,
    specificity: float = 0.93,
    heterogeneity: float = 12.0,
    pool_shift: float = 0.0,
    covariate_strength: float = 0.0,
    n_noise_covariates: int = 0,
    random_seed: Seed = None,
    *,
    covariate: str = "normal",
    binary_share: float = 0.3,
    prompts: bool = False,
    labeler_seed: int | None = None,
) -> Simulation:
    """Simulate a history with some gold and a current round without.

    Labelers err independently given the truth and keep their rates from round to round: the
    assumptions of HERO hold, so that differences between methods come from the data alone.

    Parameters
    ----------
    n_history, n_current : int
        Items of the two rounds.
    n_labelers, labels_per_item : int
        Size of the pool, and how many of it judge each item, drawn without replacement.
    gold_rate : float
        Share of history items with gold, chosen at random (rounded to whole items). A history whose
        gold lacks a class is drawn again, at most 1,000 times.
    prevalence, history_prevalence : float
        E[y] of the current round and of the history (default: the same).
    sensitivity, specificity : float
        Means over labelers.
    heterogeneity : float
        k: labeler j has sensitivity Beta(k m, k (1 - m)) with mean m, and likewise its specificity;
        the smaller k, the more labelers differ. Both are kept inside [0.02, 0.98], which moves the
        mean when k is small and m near 0 or 1.
    pool_shift : float
        s in [0, 1]: in the current round labelers come up with weights 1 - s rank / (J - 1), where
        rank 0 is the labeler with the smallest sensitivity + specificity. At 0 all come up alike;
        at 1 the best labeler is gone and the weak ones do most of the work. The history is not
        affected.
    covariate_strength : float
        How much the log odds of y rise by unit of the covariate ``x``; 0 makes it uninformative.
        The law of ``x`` is the same in both rounds and the intercept is set so that E[y] is
        exact.
    n_noise_covariates : int
        Standard normal covariates ``noise0``, ``noise1``, ... that know nothing.
    random_seed : int or sequence of int, optional
        The same seed gives the same rounds.
    covariate : {"normal", "binary"}
        ``x`` is standard normal, or 1 with probability ``binary_share`` and else 0, like a verdict
        given on the prompt beforehand.
    binary_share : float
        Share of ones of a binary covariate.
    prompts : bool
        Whether items get a text column ``prompt_text`` of made-up prompts whose words depend on
        ``x``.
    labeler_seed : int, optional
        Draws the labelers from a seed of their own, so that repetitions with other values of
        ``random_seed`` share them. Default: new labelers with every seed.

    Returns
    -------
    Simulation
        The rounds and the truth.

    Raises
    ------
    ValueError
        If an argument makes no sense; every problem is named.

    Notes
    -----
    The published study gives N = 800, n = 300, ten labelers and k in {3, 12, 150}, but not how
    rates follow from k, nor prevalence, labels an item, gold rate or covariate strength [1]_. The
    Beta law and all other defaults are a reconstruction.

    References
    ----------
    .. [1] Ruan, X. et al. (2026). HERO: Improving the Reliability and Sensitivity of Generative
       Model Evaluation Using Historical Data. arXiv:2606.29784

    Examples
    --------
    >>> import hero_bayes as hb
    >>> rounds = hb.simulate(gold_rate=0.2, random_seed=1)
    >>> rounds.history
    Labels(800 items, 10 labelers, 2,400 labels, gold on 160, 1 group)
    >>> rounds.current.n_gold
    0
    """
    scenario = Scenario(
        n_history=n_history,
        n_current=n_current,
        n_labelers=n_labelers,
        labels_per_item=labels_per_item,
        gold_rate=gold_rate,
        prevalence=prevalence,
        history_prevalence=history_prevalence,
        sensitivity=sensitivity,
        specificity=specificity,
        heterogeneity=heterogeneity,
        pool_shift=pool_shift,
        covariate_strength=covariate_strength,
        n_noise_covariates=n_noise_covariates,
        covariate=covariate,
        binary_share=binary_share,
        prompts=prompts,
        labeler_seed=labeler_seed,
    )
    return simulate_scenario(scenario, random_seed)


def simulate_scenario(scenario: Scenario, random_seed: Seed = None) -> Simulation:
    """Simulate a setting; see `simulate`."""
    problems = scenario_problems(scenario)
    if problems:
        raise ValueError("; ".join(problems))
    rng = np.random.default_rng(random_seed)
    rates = draw_rates(
        scenario,
        rng if scenario.labeler_seed is None else np.random.default_rng(scenario.labeler_seed),
    )
    equal = np.ones(scenario.n_labelers)
    past = replace(
        scenario,
        prevalence=scenario.history_prevalence or scenario.prevalence,
        n_current=scenario.n_history,
    )
    for _ in range(GOLD_TRIES):
        truth_history, history = _round(rng, past, rates, equal)
        gold = history.gold[history.has_gold]
        if gold.size < 2 or np.ptp(gold) > 0:
            break
    weights = pool_weights(*rates, scenario.pool_shift)
    truth_current, current = _round(rng, replace(scenario, gold_rate=0.0), rates, weights)
    import pandas as pd

    labelers = pd.Index([str(j) for j in range(scenario.n_labelers)], name="labeler")
    return Simulation(
        history=history,
        current=current,
        prevalence=float(scenario.prevalence),
        item_rate=float(truth_current.mean()),
        sensitivity=pd.Series(rates[0], labelers, name="sensitivity"),
        specificity=pd.Series(rates[1], labelers, name="specificity"),
        truth_history=truth_history,
        truth_current=truth_current,
    )


def draw_rates(scenario: Scenario, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """Sensitivity and specificity of every labeler."""
    k = scenario.heterogeneity
    first, second = (
        np.clip(rng.beta(k * mean, k * (1 - mean), scenario.n_labelers), *RATE_LIMITS)
        for mean in (scenario.sensitivity, scenario.specificity)
    )
    return first, second


def pool_weights(sensitivity: FloatArray, specificity: FloatArray, shift: float) -> FloatArray:
    """How readily each labeler comes up: 1 for the weakest, 1 - shift for the best."""
    rank = np.argsort(np.argsort(sensitivity + specificity))
    return np.asarray(1.0 - shift * rank / max(len(rank) - 1, 1))


@lru_cache(maxsize=256)
def intercept(prevalence: float, strength: float, covariate: str, share: float) -> float:
    """Log odds at x = 0 that make E[y] the prevalence."""
    if covariate == "binary":
        nodes, weights = np.array([0.0, 1.0]), np.array([1.0 - share, share])
    else:
        nodes, weights = np.polynomial.hermite_e.hermegauss(60)
        weights = weights / weights.sum()
    reach = 30.0 + abs(strength) * float(np.abs(nodes).max())
    low, high = -reach, reach
    for _ in range(80):
        middle = (low + high) / 2
        mean = weights @ (1 / (1 + np.exp(-(middle + strength * nodes))))
        low, high = (middle, high) if mean < prevalence else (low, middle)
    return low


def _round(
    rng: np.random.Generator,
    scenario: Scenario,
    rates: tuple[FloatArray, FloatArray],
    weights: FloatArray,
) -> tuple[NDArray[np.int8], Labels]:
    """Truth and labels of ``n_current`` items at ``prevalence``."""
    size, strength = scenario.n_current, scenario.covariate_strength
    if scenario.covariate == "binary":
        x = (rng.random(size) < scenario.binary_share).astype(float)
    else:
        x = rng.standard_normal(size)
    base = intercept(scenario.prevalence, strength, scenario.covariate, scenario.binary_share)
    truth = (rng.random(size) < 1 / (1 + np.exp(-(base + strength * x)))).astype(np.int8)
    # Exponential waiting times: whoever rings first labels, which is a weighted draw without
    # replacement.
    with np.errstate(divide="ignore"):
        waiting = -np.log1p(-rng.random((size, scenario.n_labelers))) / weights
    labeler = np.argsort(waiting, axis=1)[:, : scenario.labels_per_item]
    chance = np.where(truth[:, None] == 1, rates[0][labeler], 1 - rates[1][labeler])
    label = (rng.random(chance.shape) < chance).astype(np.int8)
    has_gold = rng.permutation(size) < round(scenario.gold_rate * size)
    covariates = {"x": x}
    for position in range(scenario.n_noise_covariates):
        covariates[f"noise{position}"] = rng.standard_normal(size)
    texts = {"prompt_text": write_prompts(rng, x)} if scenario.prompts else {}
    gold = np.where(has_gold, truth, np.nan)
    table = label_table(labeler, label, gold, scenario.n_labelers, covariates, texts)
    return truth, table
