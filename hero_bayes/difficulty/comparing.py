"""Models against each other, paired by prompt."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from hero_bayes.data.identifiers import some
from hero_bayes.difficulty.prompt_means import check_prob, check_seed
from hero_bayes.difficulty.reliability import NEW_PROMPTS, THESE_PROMPTS
from hero_bayes.errors import DataError, Refusal

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["compare"]

FloatArray = NDArray[np.float64]

#: Differences of shares that differ by less are equal.
EQUAL = 1e-12
EQUAL_REASON = "the differences are all equal: the fitted scores, unpaired, stand in"
STOPPED_REASON = (
    "sampling stopped at an outcome, so that shares correct are biased: the fitted scores, "
    "unpaired, stand in"
)
#: Fewer prompts that stopped early look alike by chance.
MIN_STOPPED = 10
#: Sets of weights drawn, and how many weights are held at once.
DRAWS, SLICE = 4000, 5_000_000


def compare(
    fit: xr.DataTree, reference: str | None = None, prob: float = 0.95, random_seed: int = 0
) -> "pd.DataFrame":
    """Difference of each model's score to a reference, on the prompts that both answered.

    Parameters
    ----------
    fit : xarray.DataTree
        What ``hb.difficulty.fit`` returned for several models.
    reference : str, optional
        Default: the first model.
    prob : float
        Posterior probability of the intervals.
    random_seed : int
        For the weights of the prompts.

    Returns
    -------
    DataFrame
        One row a model and estimand ("these prompts": sampling luck alone; "new prompts": the
        choice of prompts too): ``difference`` (model minus reference), ``sd``, ``lower``,
        ``upper``, ``probability_better`` (that the model is better than the reference),
        ``n_shared`` prompts, ``unpaired_sd``, what the difference would have if the prompts were
        not shared, and ``reason`` where the fitted scores had to stand in.

    Raises
    ------
    Refusal
        If there is one model, or a pair shares fewer than two prompts.
    DataError
        If there is no such reference, or ``fit`` is no fit of generations.
    ValueError
        If ``prob`` or ``random_seed`` makes no sense.

    Notes
    -----
    "These prompts" averages, draw by draw, the difference of P(correct) over the shared prompts.
    "New prompts" weights the observed differences of the shares correct by Dirichlet(1, ..., 1)
    over prompts (Bayesian bootstrap), one set of weights for both models, so that prompts hard for
    both do not widen the difference; its sd is close to sd(d_p) / sqrt(n). Where the prompts come
    in groups, whole groups are weighted. Where all observed differences are equal, the bootstrap
    has nothing to resample, and the difference of the two fitted scores, unpaired, stands in. So it
    does where k shows that sampling stopped at an outcome (each prompt short of the largest k has
    the same number of correct, or of wrong, or of the more frequent of both): a likelihood does
    not depend on when sampling stopped, observed shares do.

    Examples
    --------
    >>> import hero_bayes as hb
    >>> generations = hb.datasets.load("game24_gpt4")
    >>> fitted = hb.difficulty.fit(generations, mode="laplace", random_seed=1, draws=200)
    >>> list(hb.difficulty.compare(fitted)["n_shared"])
    [100, 100]
    """
    import pandas as pd

    check_prob(prob)
    check_seed(random_seed)
    if (
        not isinstance(fit, xr.DataTree)
        or "prompts" not in fit.children
        or "p_correct" not in fit["prompts"].data_vars
    ):
        raise DataError("expected what hb.difficulty.fit returned (it has a group 'prompts')")
    prompts = fit["prompts"].to_dataset()
    scores = fit["posterior"]["mu"]
    models = list(dict.fromkeys(str(name) for name in prompts["cell_model"].to_numpy()))
    if len(models) < 2:
        raise Refusal("a comparison needs at least two models; this fit has one")
    reference = models[0] if reference is None else str(reference)
    if reference not in models:
        raise DataError(f"no model {reference!r}; there are {some(models, 20)}")
    rng = np.random.default_rng(random_seed)
    rows = []
    for model in models:
        if model != reference:
            pair = shared(prompts, model, reference)
            own, other = (scores.sel(model=name).to_numpy().ravel() for name in (model, reference))
            fitted = own - other
            for estimand in (NEW_PROMPTS, THESE_PROMPTS):
                difference, unpaired = (
                    resampled(pair, fitted, rng) if estimand == NEW_PROMPTS else averaged(pair)
                )
                low, high = np.quantile(difference, [(1 - prob) / 2, (1 + prob) / 2])
                better = np.mean(difference > 0) + 0.5 * np.mean(difference == 0)
                rows.append(
                    {
                        "model": model,
                        "reference": reference,
                        "estimand": estimand,
                        "difference": float(difference.mean()),
                        "sd": float(difference.std(ddof=1)),
                        "lower": float(low),
                        "upper": float(high),
                        "probability_better": float(better),
                        "n_shared": pair.own.shape[1],
                        "unpaired_sd": float(unpaired),
                        "reason": pair.reason if estimand == NEW_PROMPTS else "",
                    }
                )
    return pd.DataFrame(rows)


@dataclass(frozen=True)
class Pair:
    """Two models on their shared prompts.

    Attributes
    ----------
    own, other : array (draw, prompt)
        Draws of P(correct).
    own_share, other_share : array (prompt)
        Observed shares of correct generations.
    group : int64 array (prompt)
        Prompts of one group are resampled together.
    stopped : bool
        Whether sampling of either model stopped at an outcome.
    """

    own: FloatArray
    other: FloatArray
    own_share: FloatArray
    other_share: FloatArray
    group: NDArray[np.int64]
    stopped: bool = False

    @property
    def reason(self) -> str:
        """Why observed differences are not resampled; "" where they are."""
        return STOPPED_REASON if self.stopped else EQUAL_REASON if self.equal else ""

    @property
    def equal(self) -> bool:
        """Whether all observed differences are equal."""
        return bool(np.ptp(self.own_share - self.other_share) <= EQUAL)


def shared(prompts: xr.Dataset, model: str, reference: str) -> Pair:
    """Both models on the prompts that both answered."""
    of_cell = prompts["cell_prompt"].to_numpy()
    names = prompts["cell_model"].to_numpy()
    cells = [np.flatnonzero(names == name) for name in (model, reference)]
    both, first, second = np.intersect1d(
        of_cell[cells[0]], of_cell[cells[1]], assume_unique=True, return_indices=True
    )
    if both.size < 2:
        raise Refusal(
            f"{model!r} and {reference!r} share {both.size} prompts; a paired comparison needs two"
        )
    draws = prompts["p_correct"].transpose("chain", "draw", "cell").to_numpy()
    flat, share = (
        draws.reshape(-1, draws.shape[-1]),
        (prompts["n_correct"] / prompts["k"]).to_numpy(),
    )
    here, there = cells[0][first], cells[1][second]
    group = np.arange(both.size)
    if "cell_group" in prompts.coords:
        group = np.unique(prompts["cell_group"].to_numpy()[here], return_inverse=True)[1]
    n_correct, k = (prompts[name].to_numpy() for name in ("n_correct", "k"))
    halted = any(stopped_at_outcome(n_correct[own], k[own]) for own in cells)
    return Pair(flat[:, here], flat[:, there], share[here], share[there], group, halted)


def stopped_at_outcome(n_correct: NDArray[np.int64], k: NDArray[np.int64]) -> bool:
    """Whether each prompt short of the largest k ended at one and the same count.

    Of correct ones, of wrong ones, or of the more frequent of both (agreement).
    """
    short = k < k.max()
    if short.sum() < MIN_STOPPED or len(np.unique(k[short])) < 2:
        return False
    right, wrong = n_correct[short], (k - n_correct)[short]
    return any(np.ptp(count) == 0 for count in (right, wrong, np.maximum(right, wrong)))


def averaged(pair: Pair) -> tuple[FloatArray, float]:
    """Mean difference over these prompts, one a draw; nothing else is shared, so paired or not."""
    own, other = pair.own.mean(axis=1), pair.other.mean(axis=1)
    return own - other, float(np.hypot(own.std(ddof=1), other.std(ddof=1)))


def resampled(pair: Pair, fitted: FloatArray, rng: np.random.Generator) -> tuple[FloatArray, float]:
    """Weighted mean differences, and the sd with weights of their own for either model."""
    share = pair.own_share - pair.other_share
    if pair.reason:
        return fitted, float(fitted.std(ddof=1))
    n_groups = int(pair.group.max()) + 1
    means = np.empty((3, DRAWS))
    step = max(1, SLICE // share.size)
    for begin in range(0, DRAWS, step):
        part = slice(begin, min(begin + step, DRAWS))
        weight, apart = rng.exponential(size=(2, part.stop - begin, n_groups))
        for k, (weights, values) in enumerate(
            ((weight, share), (weight, pair.own_share), (apart, pair.other_share))
        ):
            of_prompt = weights[:, pair.group]
            means[k, part] = of_prompt @ values / of_prompt.sum(axis=1)
    return means[0], float(np.std(means[1] - means[2], ddof=1))
