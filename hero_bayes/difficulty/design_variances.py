"""The two variances that every design of prompts and generations rests on."""

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import xarray as xr

from hero_bayes.data.generations import Generations
from hero_bayes.data.identifiers import some
from hero_bayes.difficulty.laws import laws, prompt_draws, refuse_groups
from hero_bayes.difficulty.prompt_means import (
    Codes,
    Floats,
    as_generations,
    group_codes,
    refuse_stopped,
    squared_error,
    within_variance,
)
from hero_bayes.difficulty.score_moments import Moments, moments
from hero_bayes.errors import DataError, Refusal

__all__ = ["Variances", "bootstrap", "variances"]

#: Draws of the Bayesian bootstrap over prompts.
DRAWS = 1000
#: The part of sigma^2 that may rest on the noise of prompts with one generation.
BORROWED = 0.5
FROM_FIT = "plan from a fit: plan(hb.difficulty.fit(generations), ...)"
ONE_EACH = (
    "sigma is unknown with one generation per prompt, so designs with other k cannot be "
    "planned; ask for k=1, or generate some prompts at least twice"
)
MOSTLY_ONE = (
    "sigma rests on how noisy prompts with one generation are, which nothing shows, so designs "
    "with other k cannot be planned; ask for k=1, or generate these prompts at least twice"
)


@dataclass(frozen=True)
class Variances:
    """Squared standard error of a mean over n prompts, k generations each: (b + w / k) / n.

    Attributes
    ----------
    between, within : float
        b = sigma^2 (times the design effect of related prompts) and w = mu - mu^2 - sigma^2.
    n_prompts : int
        Prompts that told so.
    draws : tuple of float64 array (draw), or None
        Draws of b and w: of a posterior, or of a bootstrap over prompts.
    posterior : bool
        Whether they are of a posterior; then point values are medians over draws.
    identified : bool
        False with one generation per prompt: then all variance is in w, and only k = 1 makes sense.
    reason : str
        Why it is not identified.
    """

    between: float
    within: float
    n_prompts: int
    draws: tuple[Floats, Floats] | None = None
    posterior: bool = False
    identified: bool = True
    reason: str = ""

    def per_prompt(self, k: float) -> float:
        """Point value of b + w / k; b for infinite k."""
        if self.posterior:
            return float(np.median(self.drawn(k)))
        return self.between + self.within / k

    def drawn(self, k: float) -> Floats:
        """Draws of b + w / k."""
        if self.draws is None:
            raise Refusal(
                "moments alone do not say how sure they are; pass the generations or a fit"
            )
        return self.draws[0] + self.draws[1] / k

    def share_between(self, k: float) -> float:
        """Share of the squared standard error that comes from the prompts."""
        if not self.identified:
            return float("nan")
        if self.posterior and self.draws is not None:
            return float(np.median(self.draws[0] / self.drawn(k)))
        return self.between / self.per_prompt(k)


def variances(
    source: Moments | Generations | pd.DataFrame | xr.DataTree,
    model: str | None = None,
    random_seed: int = 0,
) -> Variances:
    """Variances of one model, from moments, generations or a fit.

    Raises
    ------
    Refusal
        If every generation (or none) is correct, there is one prompt, or the prompts of a fit come
        in groups.
    """
    if isinstance(source, Moments):
        return _from_moments(source)
    if not isinstance(source, xr.DataTree):
        generations = as_generations(source)
        refuse_stopped(generations, generations.cells_of(model), FROM_FIT)
        point = _from_moments(moments(generations, model))
        return replace(
            point, draws=bootstrap(generations, generations.cells_of(model), random_seed)
        )
    by_model = laws(source)
    refuse_groups(source)
    if model is None and len(by_model) > 1:
        raise Refusal(
            f"there are {len(by_model)} models: choose one with model=, of {some(by_model)}"
        )
    name = next(iter(by_model)) if model is None else str(model)
    if name not in by_model:
        raise DataError(f"no model {model!r}; there are {some(by_model)}")
    law = by_model[name]
    between = law.sigma**2
    within = np.maximum(law.mu - law.mu**2 - between, 0.0)
    return Variances(
        between=float(np.median(between)),
        within=float(np.median(within)),
        n_prompts=prompt_draws(source, name).shape[1],
        draws=(between, within),
        posterior=True,
    )


def _from_moments(found: Moments) -> Variances:
    """Variances from moments.

    mu (1 - mu) falls short of its unbiased estimate by the variance of mu over unrelated prompts.
    """
    n = found.n_prompts
    if n < 2:
        raise Refusal("one prompt does not show how prompts differ; plan from at least two")
    if found.mu in (0.0, 1.0):
        remedy = FROM_FIT
        if found.clustered:
            remedy = "plan from generations that are not all alike"
        raise Refusal(
            f"every generation is {'correct' if found.mu else 'wrong'}, so nothing shows how "
            f"prompts differ; {remedy}"
        )
    if not np.isfinite(found.standard_error):
        raise Refusal(f"nothing to plan from: {found.reason}")
    if not found.identified and found.k[1] > 1:
        raise Refusal(f"nothing to plan from: {found.reason}")
    borrowed = found.borrowed > BORROWED * max(found.sigma_squared, 0.0)
    if borrowed or not found.identified:
        squared = n * found.standard_error**2
        return Variances(
            between=0.0,
            within=squared,
            n_prompts=n,
            identified=False,
            reason=MOSTLY_ONE if borrowed else ONE_EACH,
        )
    total = found.mu - found.mu**2 + found.within + found.sigma_squared / n
    clustered = n * found.between if found.clustered else None
    between, within = _split(found.sigma_squared, total, clustered)
    return Variances(between=float(between), within=float(within), n_prompts=n)


def _split[Values: (float, Floats)](
    sigma_squared: Values, total: Values, clustered: Values | None
) -> tuple[Values, Values]:
    """B and w of sigma^2 and mu - mu^2, their sum; sigma^2 is cut off at 0 and at the sum.

    Of related prompts b is what they have between groups, which may be more or less than sigma^2.
    """
    between = np.clip(sigma_squared, 0.0, total)
    within = total - between
    return (between if clustered is None else np.maximum(clustered, 0.0)), within


def bootstrap(generations: Generations, cells: Codes, random_seed: int) -> tuple[Floats, Floats]:
    """Draws of b and w by the Bayesian bootstrap: Dirichlet weights on prompts (or groups).

    A weighted variance is short of the sample variance on average, which is put back. sigma^2 is
    cut off as in `_from_moments`, so that the point lies among the draws. Of groups the clustered
    variance is worked out anew with every set of weights, and has besides the spread of a variance
    of as many normal sums of groups: few groups hardly show how much they differ.
    """
    n_correct, k = generations.n_correct[cells], generations.k[cells]
    group, p_hat = group_codes(generations, cells), n_correct / k
    n_groups = int(group.max()) + 1
    own = within_variance(n_correct, k)  # NaN with one generation everywhere
    parts = np.column_stack([p_hat, p_hat**2, own, own / k])
    clustered = n_groups < len(p_hat)
    size, total = np.bincount(group), np.bincount(group, p_hat)
    by_group = np.empty(DRAWS)
    rng = np.random.default_rng(random_seed)
    means = np.empty((DRAWS, parts.shape[1]))
    for draw in range(DRAWS):
        of_group = rng.standard_exponential(n_groups)
        weight = of_group[group]
        means[draw] = weight @ parts / weight.sum()
        apart = (total - size * means[draw, 0]) ** 2
        by_group[draw] = of_group @ apart / weight.sum()
    mean, square, within, noise = means.T
    variance = np.maximum(square - mean**2, 0.0)
    if (short := float(variance.mean())) > 0.0:
        variance *= float(p_hat.var(ddof=1)) / short
    if clustered:
        short = max(float(by_group.mean()), 1e-300)
        by_group *= squared_error(p_hat, group) * len(p_hat) / short
        by_group *= (n_groups - 1) / rng.chisquare(n_groups - 1, DRAWS)
    if not k.max() > 1:
        return np.zeros(DRAWS), by_group if clustered else variance
    related = by_group - noise if clustered else None
    return _split(variance - noise, variance - noise + within, related)
