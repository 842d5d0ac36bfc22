"""Which keys are wrong: the log density of the model, with its gradient."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from hero_bayes.difficulty.key_counts import KeyCounts
from hero_bayes.difficulty.key_rates import HIGHEST, LOWEST, FlagRate
from hero_bayes.difficulty.key_terms import Term, right_term, shared_term, wrong_term

__all__ = ["BOUNDS", "KeyModel", "Layout"]

FloatArray = NDArray[np.float64]

RATE_BOUNDS = (float(np.log(LOWEST / (1 - LOWEST))), float(np.log(HIGHEST / (1 - HIGHEST))))
#: Name: (start, lowest, highest), on the scale searched: logit for icc and rates, log for spreads.
#: The first block has one value a model, the second one in all.
PER_MODEL: Mapping[str, tuple[float, float, float]] = {
    "ability": (0.0, -8.0, 8.0),
    "icc": (-0.5, -5.0, 5.0),
    "loading": (0.7, 0.0, 6.0),
    "variety": (0.0, -6.0, 6.0),
    "variety_spread": (0.0, -3.0, 1.5),
    "variety_common": (0.5, 0.0, 5.0),
    "trap_ability": (0.0, -8.0, 8.0),
    "trap_icc": (-0.5, -5.0, 5.0),
    "trap_loading": (0.5, 0.0, 6.0),
}
IN_ALL: Mapping[str, tuple[float, float, float]] = {
    "sharing": (0.0, -6.0, 6.0),
    "sharing_spread": (0.0, -3.0, 1.5),
    "fresh_rate": (-3.0, *RATE_BOUNDS),
    "popular_rate": (-3.0, *RATE_BOUNDS),
    "trap_rate": (-3.0, -9.0, 3.0),
    "trap_popular": (0.0, -5.0, 5.0),
}
BOUNDS = {**PER_MODEL, **IN_ALL}
#: Means nothing with one model.
NEED_SEVERAL = ("loading", "variety_common", "trap_loading", "sharing", "sharing_spread")
NORMAL_SD = {
    "ability": 2.0, "trap_ability": 2.0, "variety": 2.0, "sharing": 2.0,
    "loading": 1.0, "trap_loading": 1.0, "variety_common": 1.0,
}  # fmt: skip
TRAP_PRIOR = (1.0, 9.0)
TINY = 1e-300


@dataclass(frozen=True)
class Layout:
    """Where each parameter stands in the flat vector."""

    n_models: int

    def size_of(self, name: str) -> int:
        """Number of values of a parameter."""
        return self.n_models if name in PER_MODEL else 1

    def split(self, flat: FloatArray) -> dict[str, FloatArray]:
        """Views of the flat vector by name."""
        ends = np.cumsum([self.size_of(name) for name in BOUNDS])
        return dict(zip(BOUNDS, np.split(flat, ends[:-1]), strict=True))

    def flat(self, column: int) -> FloatArray:
        """Starts (0), lower (1) or upper ends (2)."""
        values = []
        for name, triple in BOUNDS.items():
            fixed = self.n_models == 1 and name in NEED_SEVERAL
            values.append(np.full(self.size_of(name), 0.0 if fixed else triple[column]))
        return np.concatenate(values)


@dataclass(frozen=True)
class KeyModel:
    """The model of wrong keys for given counts; see `review_list` for what it says.

    Attributes
    ----------
    counts : KeyCounts
    rate : FlagRate
        Prior of the two rates at which prompts look as if the key were wrong: ``fresh_rate`` for
        keys that no model gives, and ``popular_rate`` for keys that are a wrong answer of the
        models, which only prompts with wrong answers can have.
    """

    counts: KeyCounts
    rate: FlagRate

    @cached_property
    def layout(self) -> Layout:
        """Order of the parameters."""
        return Layout(self.counts.n_models)

    def log_odds(self, flat: FloatArray) -> FloatArray:
        """Log odds, by prompt, that it looks so because of a wrong key or a look-alike."""
        pieces = self._pieces(flat)
        return pieces.wrong - pieces.right

    def log_likelihoods(self, flat: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Log-likelihood of each prompt jointly with "the key is right", and with "it is not"."""
        pieces = self._pieces(flat)
        return pieces.right, pieces.wrong

    def __call__(self, flat: FloatArray) -> tuple[float, FloatArray]:
        """Negative log density over the parameters' own scales, and its gradient."""
        pieces = self._pieces(flat)
        gradient = pieces.gradient(self.layout, flat)
        prior, slope = self._log_prior(flat)
        value = np.logaddexp(pieces.right, pieces.wrong).sum() + prior
        return -float(value), -(gradient + slope)

    def _pieces(self, flat: FloatArray) -> "Pieces":
        at, counts = self.layout.split(flat), self.counts
        right = right_term(counts.right, at["ability"], at["icc"], at["loading"])
        trap = right_term(counts.right, at["trap_ability"], at["trap_icc"], at["trap_loading"])
        wrong = wrong_term(counts.wrong, at["variety"], at["variety_spread"], at["variety_common"])
        rest = counts.constant + wrong.value
        shared = None
        if counts.n_models > 1:
            shared = shared_term(
                counts.shared,
                counts.shared_of,
                float(at["sharing"][0]),
                float(at["sharing_spread"][0]),
            )
            rest = rest + shared.value
        rates = {name: float(expit(at[name][0])) for name in list(IN_ALL)[2:]}
        return Pieces(counts, right, trap, wrong, shared, rest, rates)

    def _log_prior(self, flat: FloatArray) -> tuple[float, FloatArray]:
        at, slope = self.layout.split(flat), np.zeros_like(flat)
        to, value = self.layout.split(slope), 0.0
        for name, sd in NORMAL_SD.items():
            value -= 0.5 * float(((at[name] / sd) ** 2).sum())
            to[name] -= at[name] / sd**2
        for name in ("icc", "trap_icc"):  # Beta(1.5, 1.5)
            icc = expit(at[name])
            value += 0.5 * float((np.log(icc) + np.log1p(-icc)).sum())
            to[name] += 0.5 * (1.0 - 2.0 * icc)
        for name in ("variety_spread", "sharing_spread"):  # half-normal
            spread = np.exp(at[name])
            value -= 0.5 * float((spread**2).sum())
            to[name] -= spread**2
        for name, (a, b) in (("trap_rate", TRAP_PRIOR), ("trap_popular", (2.0, 2.0))):
            chance = float(expit(at[name][0]))
            value += (a - 1.0) * np.log(chance) + (b - 1.0) * np.log1p(-chance)
            to[name] += (a - 1.0) * (1.0 - chance) - (b - 1.0) * chance
        for name in ("fresh_rate", "popular_rate"):
            chance = float(expit(at[name][0]))
            scale = self.scale_of(name)
            log_density, derivative = self.rate.log_density(chance * scale)
            value += log_density
            to[name] += derivative * scale * chance * (1.0 - chance)
        return value, slope

    def scale_of(self, name: str) -> float:
        """Share of all prompts that a rate speaks of."""
        return 1.0 if name == "fresh_rate" else max(self.counts.disputed, LOWEST)

    def highest(self, name: str) -> float:
        """Where a rate ends: most keys are taken to be right."""
        return min(HIGHEST, self.rate.highest / self.scale_of(name))

    @cached_property
    def bounds(self) -> tuple[FloatArray, FloatArray]:
        """Lower and upper ends of the flat vector."""
        low, high = self.layout.flat(1), self.layout.flat(2)
        for name in ("fresh_rate", "popular_rate"):
            self.layout.split(high)[name][:] = logit(self.highest(name))
        return low, high


class Pieces:
    """Log-likelihoods by prompt at one value of the parameters, and what their gradient needs."""

    def __init__(
        self,
        counts: KeyCounts,
        right: Term,
        trap: Term,
        repeats: Term,
        shared: Term | None,
        rest: FloatArray,
        rates: dict[str, float],
    ) -> None:
        self.counts, self.terms, self.rates = counts, (right, trap, repeats, shared), rates
        size = counts.n_prompts
        fresh, popular = rates["fresh_rate"], rates["popular_rate"]
        trapped, given = rates["trap_rate"], rates["trap_popular"]
        self.draw = popular * counts.popular + fresh * counts.fresh
        self.hidden = given * counts.popular + (1.0 - given * counts.some_wrong) * counts.fresh
        self.draw_trapped = np.where(counts.fresh[:size] > 0, fresh, popular * counts.key_share)
        keep = 1.0 - fresh - popular * counts.some_wrong[:size]
        keep_trapped = 1.0 - fresh - popular
        owner = counts.prompt[size:]
        plain, fooled = rest + right.value, rest + trap.value
        self.key_right = plain[:size] + np.log(keep * (1.0 - trapped))
        self.key_right_trapped = (
            fooled + np.log(np.maximum(self.hidden, TINY) * keep_trapped * trapped)
        )[size:]
        self.key_wrong = (plain + np.log(np.maximum(self.draw, TINY) * (1.0 - trapped)))[size:]
        log_draw = np.log(np.maximum(self.draw_trapped * trapped, TINY))
        self.key_wrong_trapped = fooled[size:] + log_draw[owner]
        # the key itself may be the trap
        self.key_is_trap = np.where(counts.fresh[:size] > 0, -np.inf, fooled[:size] + log_draw)
        self.right = np.logaddexp(self.key_right, _sum_by(self.key_right_trapped, owner, size))
        both = np.logaddexp(self.key_wrong, self.key_wrong_trapped)
        self.wrong = np.logaddexp(_sum_by(both, owner, size), self.key_is_trap)

    def gradient(self, layout: Layout, flat: FloatArray) -> FloatArray:
        """Gradient of the summed log-likelihood: expected gradient of the complete one."""
        size, owner = self.counts.n_prompts, self.counts.prompt[self.counts.n_prompts :]
        total = np.logaddexp(self.right, self.wrong)
        key_right = np.exp(self.key_right - total)
        key_is_trap = np.exp(self.key_is_trap - total)
        right_trapped = np.exp(self.key_right_trapped - total[owner])
        wrong = np.exp(self.key_wrong - total[owner])
        wrong_trapped = np.exp(self.key_wrong_trapped - total[owner])
        plain = np.concatenate([key_right, wrong])
        fooled = np.concatenate([key_is_trap, right_trapped + wrong_trapped])
        result = np.zeros_like(flat)
        to = layout.split(result)
        right, trap, repeats, shared = self.terms
        to["ability"][:], to["icc"][:], to["loading"][:] = right.gradient(plain)
        names = ("trap_ability", "trap_icc", "trap_loading")
        for name, value in zip(names, trap.gradient(fooled), strict=True):
            to[name][:] = value
        names = ("variety", "variety_spread", "variety_common")
        for name, value in zip(names, repeats.gradient(plain + fooled), strict=True):
            to[name][:] = value
        if shared is not None:
            to["sharing"][:], to["sharing_spread"][:] = shared.gradient(plain + fooled)
        by_prompt = np.bincount(owner, wrong_trapped, minlength=size) + key_is_trap
        self._rate_gradient(to, key_right, right_trapped, wrong, by_prompt)
        return result

    def _rate_gradient(
        self,
        to: dict[str, FloatArray],
        key_right: FloatArray,
        right_trapped: FloatArray,
        wrong: FloatArray,
        wrong_trapped: FloatArray,
    ) -> None:
        counts, rates, size = self.counts, self.rates, self.counts.n_prompts
        fresh, popular = rates["fresh_rate"], rates["popular_rate"]
        trapped, given = rates["trap_rate"], rates["trap_popular"]
        is_fresh, some = counts.fresh[:size], counts.some_wrong[:size]
        kept = key_right / (1.0 - fresh - popular * some)
        kept_trapped = right_trapped.sum() / (1.0 - fresh - popular)
        draw = np.maximum(self.draw[size:], TINY)
        for name, chance, part, of_prompts, lost in (
            ("fresh_rate", fresh, counts.fresh[size:], is_fresh, np.ones(size)),
            ("popular_rate", popular, counts.popular[size:], 1.0 - is_fresh, some),
        ):
            gained = (wrong * part * chance / draw).sum() + (wrong_trapped * of_prompts).sum()
            to[name][:] = (1.0 - chance) * (gained - chance * ((kept * lost).sum() + kept_trapped))
        in_trap = right_trapped.sum() + wrong_trapped.sum()
        out = key_right.sum() + wrong.sum()
        to["trap_rate"][:] = in_trap * (1.0 - trapped) - out * trapped
        step = (counts.popular - counts.some_wrong * counts.fresh)[size:]
        slope = (right_trapped * step / np.maximum(self.hidden[size:], TINY)).sum()
        to["trap_popular"][:] = slope * given * (1.0 - given)


def _sum_by(values: FloatArray, owner: NDArray[np.int64], size: int) -> FloatArray:
    """Log sum exp of the values of each owner."""
    top = np.full(size, -np.inf)
    np.maximum.at(top, owner, values)
    total: FloatArray = np.log(np.bincount(owner, np.exp(values - top[owner]), minlength=size))
    return top + total
