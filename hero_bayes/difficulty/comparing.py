"""Models against each other, paired by prompt."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from hero_bayes.data.identifiers import some
from hero_bayes.difficulty.prompt_means import (
    check_prob,
    check_seed,
    paired_variance,
    score_draws,
)
from hero_bayes.difficulty.reliability import NEW_PROMPTS, THESE_PROMPTS
from hero_bayes.errors import DataError, Refusal
from hero_bayes.words import number_of

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["compare"]

FloatArray = NDArray[np.float64]

#: Differences of shares that differ by less are equal.
EQUAL = 1e-12
EQUAL_REASON = "the differences are all equal: the two scores, unpaired, say how sure it is"
STOPPED_REASON = (
    "sampling stopped at an outcome: the generation that ended a prompt is left out, because it "
    "biases shares correct"
)
#: Draws of a difference over new prompts, and of a score for its sd.
DRAWS, FEWER = 4000, 1000


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
        For the draws over new prompts.

    Returns
    -------
    DataFrame
        One row a model and estimand ("these prompts": sampling luck alone; "new prompts": the
        choice of prompts too): ``difference`` (model minus reference), ``sd``, ``lower``,
        ``upper``, ``probability_better`` (that the model is better than the reference),
        ``n_shared`` prompts, ``unpaired_sd``, what the difference would have if the prompts were
        not shared, and ``reason`` where the scores of either model had to stand in, or
        generations are left out.

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
    "New prompts" is the mean of the observed differences d_p of the shares correct plus Student t
    variates (n - 1 degrees of freedom) times its standard error, within [-1, 1]; prompts hard for
    both do not widen it. Where prompts come in groups, groups are the units of standard error and
    degrees of freedom. The squared standard error says little where only a few prompts, c, have
    another difference than the rest: it is averaged, weights c^2 and 1, with that of two scores on
    prompts of their own, which stands in where all differences are equal. Between two runs of one
    model, 95 % intervals leave out 0 in at most 6 % of rounds from three prompts on. Where sampling
    stopped at an outcome, the share of a prompt is that of the generations before it.

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
            for estimand in (NEW_PROMPTS, THESE_PROMPTS):
                difference, unpaired = (
                    on_new_prompts(pair, rng) if estimand == NEW_PROMPTS else averaged(pair)
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
        Observed shares of correct generations, without those that ended the sampling.
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
        """What is unusual in the shares."""
        told = ((STOPPED_REASON, self.stopped), (EQUAL_REASON, self.equal))
        return "; ".join(text for text, holds in told if holds)

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
            f"{model!r} and {reference!r} share {number_of(both.size, 'prompt')}; a paired "
            "comparison needs two"
        )
    draws = prompts["p_correct"].transpose("chain", "draw", "cell").to_numpy()
    flat, plain = (
        draws.reshape(-1, draws.shape[-1]),
        (prompts["n_correct"] / prompts["k"]).to_numpy(),
    )
    # Fits of earlier versions lack the fair shares.
    share = prompts["fair_share"].to_numpy() if "fair_share" in prompts else plain
    here, there = cells[0][first], cells[1][second]
    group = np.arange(both.size)
    if "cell_group" in prompts.coords:
        group = np.unique(prompts["cell_group"].to_numpy()[here], return_inverse=True)[1]
    stopped = any(bool((share[own] != plain[own]).any()) for own in cells)
    return Pair(flat[:, here], flat[:, there], share[here], share[there], group, stopped)


def averaged(pair: Pair) -> tuple[FloatArray, float]:
    """Mean difference over these prompts, one a draw; nothing else is shared, so paired or not."""
    own, other = pair.own.mean(axis=1), pair.other.mean(axis=1)
    return own - other, float(np.hypot(own.std(ddof=1), other.std(ddof=1)))


def on_new_prompts(pair: Pair, rng: np.random.Generator) -> tuple[FloatArray, float]:
    """Draws of the mean difference over new prompts, and the sd if prompts were not shared."""
    n_units = int(pair.group.max()) + 1
    if n_units < 2:
        raise Refusal("the shared prompts are all in one prompt group; a comparison needs two")
    apart = [score_draws([s], [pair.group], FEWER, rng) for s in (pair.own_share, pair.other_share)]
    unpaired = float(sum(scores.var(ddof=1) for scores in apart))
    share = pair.own_share - pair.other_share
    variance = paired_variance(share, pair.group, unpaired)
    draws = share.mean() + np.sqrt(variance) * rng.standard_t(n_units - 1, DRAWS)
    return np.clip(draws, -1.0, 1.0), unpaired**0.5
