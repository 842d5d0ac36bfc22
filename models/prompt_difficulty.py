"""Outcome layer ``prompt_difficulty``: generations of one prompt share its chance of truth 1."""

from dataclasses import dataclass

import pymc as pm
import pytensor.tensor as pt
from pytensor.tensor.variable import TensorVariable

from hero_bayes.data.labels import Labels
from hero_bayes.data.panel import Panel
from hero_bayes.data.prompts import PromptSlots, prompt_slots
from hero_bayes.likelihoods.prompt_counts import TINY, count_weights, rising_logs, success_counts
from hero_bayes.models.prevalence import log_class_prior
from hero_bayes.models.priors import beta_pair
from hero_bayes.models.truth import ItemTruth, RoundTruth, TruthPrior


def prompt_difficulty(
    panel: Panel,
    prior: tuple[float, float] = (1.0, 1.0),
    icc_prior: tuple[float, float] = (1.0, 1.0),
) -> TruthPrior:
    """Prompt p of group g has P(truth 1) = q_p ~ Beta(m_g f_g, (1 - m_g) f_g), f = (1 - icc) / icc.

    Parameters
    ----------
    panel : Panel
        The two rounds; items of one group with the same prompt id are generations of that prompt.
    prior, icc_prior : tuple of float
        Beta parameters of every rate m_g and intraclass correlation icc_g; (1, 1) is flat.

    Returns
    -------
    TruthPrior
        Over ``history_prevalence``, ``history_icc`` (history_group), ``prevalence``, ``icc``
        (group). A history without prompt ids gets the plain ``prevalence`` layer.

    Notes
    -----
    Written with icc, so that U and J shapes (f < 1) are inside the prior. Registers ``sigma``, the
    standard deviation sqrt(m (1 - m) icc) of q_p. The q_p are integrated out: with the number of
    true generations c distributed as a Poisson-binomial given the labels, log p(labels of p) is a
    sum over c of beta-binomial terms.
    """
    return TruthPrior(
        _round(panel.history, "history", prior, icc_prior),
        _round(panel.current, "current", prior, icc_prior),
    )


@dataclass(frozen=True)
class PromptTruth:
    """Prompts of one round: tables of log weights by group, and where the items are."""

    logs: tuple[TensorVariable, TensorVariable, TensorVariable]
    slots: TensorVariable
    group_idx: TensorVariable
    size: TensorVariable
    width: int
    dim: str

    def log_likelihood(
        self, class_log_likelihood: TensorVariable, gold: TensorVariable
    ) -> tuple[TensorVariable, str]:
        """Log-likelihood of the labels and gold of each prompt's items."""
        negative, positive = class_log_likelihood[:, 0], class_log_likelihood[:, 1]
        known = pt.ge(gold, 0)
        chance = pt.where(known, gold, pm.math.sigmoid(positive - negative))
        own = pt.where(pt.eq(gold, 1), positive, negative)
        level = pt.where(known, own, pt.logaddexp(negative, positive))
        nobody = pt.zeros(1)
        counts = success_counts(pt.concatenate([nobody, chance])[self.slots], self.width, pt)
        weights = count_weights(self.size, self.group_idx, self.logs, self.width, pt)
        total = pt.concatenate([nobody, level])[self.slots].sum(axis=1)
        return total + pt.logsumexp(pt.log(counts + TINY) + weights, axis=1), self.dim


def _round(
    labels: Labels, role: str, prior: tuple[float, float], icc_prior: tuple[float, float]
) -> RoundTruth:
    """The rates of one round's groups, and what they say of its items."""
    prefix, dim = ("history_", "history_group") if role == "history" else ("", "group")
    rate = pm.Beta(f"{prefix}prevalence", *beta_pair("prevalence_prior", prior), dims=dim)
    if role == "history" and labels.prompt is None:
        group_idx = pm.Data("history_group_idx", labels.group_idx, dims="history_item")
        return ItemTruth(log_class_prior(rate)[group_idx], "history_item")
    icc = pm.Beta(f"{prefix}icc", *beta_pair("icc_prior", icc_prior), dims=dim)
    pm.Deterministic(f"{prefix}sigma", pt.sqrt(rate * (1.0 - rate) * icc), dims=dim)
    return _prompts(prompt_slots(labels, role), rate, icc, prefix)


def _prompts(
    table: PromptSlots, rate: TensorVariable, icc: TensorVariable, prefix: str
) -> PromptTruth:
    """The layout of the prompts as replaceable data."""
    model, width = pm.modelcontext(None), table.slots.shape[1]
    dim = f"{prefix}prompt"
    model.add_coord(dim, list(table.names))
    model.add_coord(f"{prefix}slot", list(range(width)))
    return PromptTruth(
        logs=rising_logs(rate, icc, width, pt),
        slots=pm.Data(f"{prefix}prompt_slots", table.slots, dims=(dim, f"{prefix}slot")),
        group_idx=pm.Data(f"{prefix}prompt_group_idx", table.group_idx, dims=dim),
        size=pm.Data(f"{prefix}prompt_size", table.size, dims=dim),
        width=width,
        dim=dim,
    )
