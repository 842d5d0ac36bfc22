"""The second stage of models whose items are generations of prompts."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pymc as pm
from numpy.typing import NDArray

from hero_bayes.inference import prompt_kernels as kernels
from hero_bayes.inference.outcome import GroupDraw, GroupState, beta_parameters

FloatArray = NDArray[np.float64]
#: Distribution of each prompt's number of true generations, and its layout: slots and size.
Evidence = tuple[FloatArray, NDArray[np.int64], NDArray[np.int64]]


@dataclass(frozen=True)
class PromptOutcome:
    """Prompts of a group have q ~ Beta with the group's mean and icc; their items share q.

    Attributes
    ----------
    prior : array (group, 4)
        Beta parameters of the mean and of icc.
    model : pm.Model
        Holds which items belong to which prompt; read anew, so that replaced tables are followed.
    """

    prior: FloatArray
    model: pm.Model
    own: tuple[str, ...] = ("prevalence", "icc")

    @classmethod
    def of(cls, model: pm.Model) -> "PromptOutcome":
        """The layer of a model, with the priors of its current groups."""
        parameters = [*beta_parameters(model, "prevalence"), *beta_parameters(model, "icc")]
        return cls(np.stack(parameters, axis=-1), model)

    def exact(self, at: GroupState, rng: np.random.Generator) -> GroupDraw:
        """Mean and icc from their two-dimensional posterior, then the prompts' q."""
        counts, slots, size = self._counts(at)
        mean, icc = kernels.draw_difficulty(counts, size, self.prior[at.group], rng.random(3))
        return self._with(mean, icc, (counts, slots, size), rng)

    def given(self, at: GroupState, rng: np.random.Generator) -> GroupDraw:
        """The prompts' q at the drawn mean and icc."""
        mean, icc = (float(at.values[name][at.group]) for name in self.own)
        return self._with(mean, icc, self._counts(at), rng)

    def prior_log_odds(self, at: GroupState) -> FloatArray:
        """From the labels of the prompt's other items, its q integrated out."""
        slots, size = self._layout(at)
        mean, icc = (float(at.values[name][at.group]) for name in self.own)
        return np.asarray(
            kernels.log_odds_from_others(
                chance_of(at.log_ratio), slots, size, mean, _below_one(icc)
            )
        )

    def _layout(self, at: GroupState) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Slots (1 + position among the group's items) and sizes of the group's prompts."""
        of_group = self.model["prompt_group_idx"].get_value(borrow=True) == at.group
        slots = self.model["prompt_slots"].get_value(borrow=True)[of_group]
        size = self.model["prompt_size"].get_value(borrow=True)[of_group]
        position = np.zeros(len(self.model.coords["item"]) + 1, dtype=np.int64)
        position[at.item_idx + 1] = np.arange(1, at.item_idx.size + 1)
        return position[slots], size

    def _counts(self, at: GroupState) -> Evidence:
        slots, size = self._layout(at)
        return kernels.all_counts(chance_of(at.log_ratio), slots, size), slots, size

    def _with(
        self, mean: float, icc: float, evidence: Evidence, rng: np.random.Generator
    ) -> GroupDraw:
        """Each prompt's q drawn given its labels, as log odds of its items."""
        counts, slots, size = evidence
        icc = _below_one(icc)
        posterior = kernels.count_posterior(counts, size, mean, icc)
        reached = np.cumsum(posterior, axis=1)
        n_true = (reached < rng.random(size.size)[:, None] * reached[:, -1:]).sum(axis=1)
        total = (1.0 - icc) / icc
        odds = log_gamma(mean * total + n_true, rng)
        odds -= log_gamma((1.0 - mean) * total + size - n_true, rng)
        prior = np.zeros(int(size.sum()) + 1)
        prior[slots] = odds[:, None]
        return GroupDraw(mean, prior[1:], {"icc": icc})


def _below_one(icc: float) -> float:
    return float(np.clip(icc, 1e-12, 1.0 - 1e-12))


def chance_of(log_ratio: FloatArray) -> FloatArray:
    """P(truth 1) under even prior odds; gold (+inf, -inf) gives 1 and 0."""
    with np.errstate(over="ignore"):
        return np.asarray(1.0 / (1.0 + np.exp(-log_ratio)))


def log_gamma(shape: NDArray[Any], rng: np.random.Generator) -> FloatArray:
    """Log of gamma draws, finite for shapes near 0: G(a) = G(a + 1) U^(1/a)."""
    return np.asarray(
        np.log(rng.standard_gamma(shape + 1.0)) + np.log(rng.random(shape.size)) / shape
    )
