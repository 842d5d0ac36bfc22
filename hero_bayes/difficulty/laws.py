"""The law of P(correct) across prompts, as drawn in a fit: Beta or logit-normal."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy import special

from hero_bayes.errors import DataError, Refusal

__all__ = ["Law", "laws", "prompt_draws", "refuse_groups"]

Floats = NDArray[np.float64]

#: The variables that fix the law of each shape.
PARAMETERS = {"beta": ("mu", "icc"), "logit_normal": ("location", "scale")}
#: A Beta's intraclass correlation stays this far from 0 and 1 where its density is evaluated.
EDGE = 1e-9
#: Products of more terms are taken from logarithms of Gamma functions.
TERMS = 300
#: Standard normal deviates of the quadrature, equally spaced: the trapezoid rule converges
#: exponentially here (the error is below 1e-15 for scales up to 20).
DEVIATES = np.linspace(-8.5, 8.5, 1201)
WEIGHTS = np.exp(-0.5 * DEVIATES**2) * (DEVIATES[1] - DEVIATES[0]) / np.sqrt(2.0 * np.pi)


@dataclass(frozen=True)
class Law:
    """Posterior draws of one model's law of p = P(correct) across prompts.

    Attributes
    ----------
    shape : {"beta", "logit_normal"}
    first, second : float64 array (draw)
        Beta: mean and intraclass correlation, p ~ Beta(mu f, (1 - mu) f) with f = (1 - icc) / icc.
        Logit-normal: logit p ~ Normal(first, second).
    mu, sigma : float64 array (draw)
        Mean and standard deviation of p; mu is the fit's ``mu_law``.
    """

    shape: str
    first: Floats
    second: Floats
    mu: Floats
    sigma: Floats

    def all_correct(self, k: int) -> Floats:
        """Probability that k generations of a new prompt are all correct, E[p^k], per draw."""
        if self.shape == "beta":
            return _rising(self.first, self.second, k)
        return _normal_mean(self.first, self.second, k)

    def any_correct(self, k: int) -> Floats:
        """Probability that at least one of k is correct, E[1 - (1 - p)^k], per draw."""
        if self.shape == "beta":
            return 1.0 - _rising(1.0 - self.first, self.second, k)
        return 1.0 - _normal_mean(-self.first, self.second, k)

    def density(self, p: Floats) -> Floats:
        """Density at the points p in (0, 1); shape (draw, p)."""
        first, second = self.first[:, None], self.second[:, None]
        log_p, log_q = np.log(p), np.log1p(-p)
        if self.shape == "beta":
            a, b = _beta_parameters(first, second)
            log_density = (a - 1.0) * log_p + (b - 1.0) * log_q - special.betaln(a, b)
        else:
            z = (log_p - log_q - first) / second
            log_density = -0.5 * z**2 - log_p - log_q - np.log(second * np.sqrt(2.0 * np.pi))
        return np.asarray(np.exp(log_density), dtype=np.float64)

    def below(self, p: float) -> Floats:
        """Share of prompts with P(correct) below p, per draw."""
        if self.shape == "beta":
            a, b = _beta_parameters(self.first, self.second)
            return np.asarray(special.betainc(a, b, p), dtype=np.float64)
        z = (special.logit(p) - self.first) / self.second
        return np.asarray(special.ndtr(z), dtype=np.float64)

    def above(self, p: float) -> Floats:
        """Share of prompts with P(correct) above p, per draw."""
        if self.shape == "beta":
            a, b = _beta_parameters(self.first, self.second)
            return np.asarray(special.betainc(b, a, 1.0 - p), dtype=np.float64)
        z = (self.first - special.logit(p)) / self.second
        return np.asarray(special.ndtr(z), dtype=np.float64)


def laws(fit: xr.DataTree) -> dict[str, Law]:
    """Law of every model of a fit, by name.

    Parameters
    ----------
    fit : xarray.DataTree
        From ``hb.difficulty.fit``.

    Raises
    ------
    DataError
        If this is no such fit.
    """
    shape = fit.attrs.get("shape") if isinstance(fit, xr.DataTree) else None
    if shape not in PARAMETERS or "posterior" not in fit.children:
        raise DataError(
            "this is no fit of several generations: it needs a posterior group and the attribute "
            f"shape, one of {', '.join(PARAMETERS)}; make one with hb.difficulty.fit(generations)"
        )
    posterior = fit["posterior"].to_dataset()
    wanted = (*PARAMETERS[shape], "mu", "sigma")
    missing = [name for name in wanted if name not in posterior]
    if missing:
        raise DataError(f"the fit's posterior has no {' and no '.join(missing)}")
    # mu is the law-free score of a fit; the law has mu_law.
    source = {"mu": "mu_law"} if "mu_law" in posterior else {}
    draws = {name: _flat(posterior[source.get(name, name)], "model") for name in set(wanted)}
    result = {}
    for column, name in enumerate(posterior["model"].to_numpy()):
        first, second, mu, sigma = (draws[variable][:, column] for variable in wanted)
        result[str(name)] = Law(shape, first, second, mu, sigma)
    return result


def refuse_groups(fit: xr.DataTree) -> None:
    """Raise Refusal where the prompts of a fit come in groups, which its law does not know."""
    if "prompts" in fit.children and "cell_group" in fit["prompts"].to_dataset().coords:
        raise Refusal(
            "the prompts of this fit come in groups, and its law takes them as unrelated; pass the "
            "generations: they resample whole groups"
        )


def prompt_draws(fit: xr.DataTree, model: str) -> Floats:
    """P(correct) of the prompts that a model answered, (draw, prompt).

    Raises
    ------
    DataError
        If the fit carries no draws by prompt.
    """
    if "prompts" not in fit.children or "p_correct" not in fit["prompts"]:
        raise DataError("the fit has no draws of p_correct in a group prompts")
    draws = fit["prompts"].to_dataset()["p_correct"]
    mine = draws["cell_model"].to_numpy().astype(str) == model
    return _flat(draws, "cell")[:, mine]


def _flat(draws: xr.DataArray, dim: str) -> Floats:
    values: Any = draws.transpose("chain", "draw", dim).to_numpy()
    return np.asarray(values, dtype=np.float64).reshape(-1, values.shape[-1])


def _beta_parameters(mu: Floats, icc: Floats) -> tuple[Floats, Floats]:
    icc = np.clip(icc, EDGE, 1.0 - EDGE)
    size = (1.0 - icc) / icc
    return mu * size, (1.0 - mu) * size


def _rising(mu: Floats, icc: Floats, k: int) -> Floats:
    """E[p^k] = prod_j (a + j) / (a + b + j) of a Beta, written in mean and correlation.

    Of many terms the product is Gamma(a + k) Gamma(a + b) / (Gamma(a) Gamma(a + b + k)).
    """
    if k > TERMS:
        a, b = _beta_parameters(mu, icc)
        a, b = (np.maximum(x, np.finfo(float).tiny) for x in (a, b))
        log = special.betaln(a + k, b) - special.betaln(a, b)
        return np.asarray(np.exp(np.minimum(log, 0.0)), dtype=np.float64)
    result = np.ones_like(mu)
    for j in range(k):
        result = result * (mu * (1.0 - icc) + j * icc) / (1.0 - icc + j * icc)
    return result


def _normal_mean(location: Floats, scale: Floats, k: int) -> Floats:
    """E[p^k] with logit p ~ Normal(location, scale)."""
    logit = location[:, None] + scale[:, None] * DEVIATES
    return np.asarray(np.exp(k * special.log_expit(logit)) @ WEIGHTS, dtype=np.float64)
