"""What an outcome layer hands to the rest of a model: how likely truth 1 of its items is."""

from dataclasses import dataclass
from typing import Protocol

import pytensor.tensor as pt
from pytensor.tensor.variable import TensorVariable

from hero_bayes.likelihoods.latent_class import mixture_log_likelihood


class RoundTruth(Protocol):
    """P(truth) of one round's items."""

    def log_likelihood(
        self, class_log_likelihood: TensorVariable, gold: TensorVariable
    ) -> tuple[TensorVariable, str]:
        """Log-likelihood with the truth summed out, and the dimension that it runs over.

        Parameters
        ----------
        class_log_likelihood : tensor (item, 2)
            log p(labels | truth 0) and log p(labels | truth 1).
        gold : tensor (item,)
            1, 0, or -1 where there is none.
        """


@dataclass(frozen=True)
class ItemTruth:
    """Items whose truths are independent: log P(truth 0) and log P(truth 1), (item, 2)."""

    log_prior: TensorVariable
    dim: str

    def log_likelihood(
        self, class_log_likelihood: TensorVariable, gold: TensorVariable
    ) -> tuple[TensorVariable, str]:
        """Log-likelihood of each item's labels and gold."""
        return mixture_log_likelihood(class_log_likelihood, self.log_prior, gold, pt), self.dim


@dataclass(frozen=True)
class TruthPrior:
    """The truth of both rounds' items."""

    history: RoundTruth
    current: RoundTruth


def independent_items(history: TensorVariable, current: TensorVariable) -> TruthPrior:
    """Both rounds with independent items: log class priors (history_item, 2) and (item, 2)."""
    return TruthPrior(ItemTruth(history, "history_item"), ItemTruth(current, "item"))
