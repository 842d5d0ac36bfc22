"""Labelers of a fit, draw by draw, and what a change in them does to the items' evidence.

log P(labels | truth 1) depends on sensitivity alone and log P(labels | truth 0) on specificity
alone. A grid over both therefore needs one evaluation a value, not one a point.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy.special import expit, logit

from hero_bayes.data.labels import Labels
from hero_bayes.errors import Refusal
from hero_bayes.estimators.anchored_em import anchor, label_codes
from hero_bayes.inference.exact import EXACT_MODELS
from hero_bayes.likelihoods.latent_class import EDGE
from hero_bayes.sensitivity.kernels import label_sums
from hero_bayes.sensitivity.shared import SharedErrors

__all__ = ["FlatDraws", "IndependentErrors", "Labelers", "flat_draws", "labelers_of"]

FloatArray = NDArray[np.float64]

#: The fit's evidence and that of its labelers must agree this well, relative to 1 + abs(log r).
AGREEMENT = 1e-4


@dataclass(frozen=True)
class FlatDraws:
    """Kept draws of a fit, chains laid end to end.

    Attributes
    ----------
    posterior : Dataset
        Variables (draw, ...).
    log_ratio : array (draw, item)
        log p(labels | truth 1) - log p(labels | truth 0).
    prior_log_odds : array (draw, item)
    gold : array (item,)
        Gold that the fit takes for the truth; gold that may be wrong is in ``log_ratio``.
    """

    posterior: xr.Dataset
    log_ratio: FloatArray
    prior_log_odds: FloatArray
    gold: FloatArray

    @property
    def n_draws(self) -> int:
        """Number of draws."""
        return int(self.log_ratio.shape[0])


class Labelers(Protocol):
    """Who labeled the current items, and how their evidence depends on their rates.

    A shift moves a rate on the logit scale: one number for all, or an array (draw, labeler).
    ``discount`` (draw,) is how much a nat of the labelers' evidence is worth in the fit's.
    """

    @property
    def labels(self) -> Labels:
        """The current labels, on the labelers' coordinate."""

    @property
    def discount(self) -> FloatArray:
        """Nats of the fit's evidence in one nat of the labelers'."""

    @property
    def read_as(self) -> str:
        """How a shift is read, in words."""

    def positive(self, shift: float | FloatArray) -> FloatArray:
        """Log p(labels | truth 1), (draw, item), with the sensitivities shifted."""

    def negative(self, shift: float | FloatArray) -> FloatArray:
        """Log p(labels | truth 0), (draw, item), with the specificities shifted."""

    def rates(self, sensitivity: float, specificity: float) -> tuple[FloatArray, FloatArray]:
        """Sensitivity and specificity (labeler,), averaged over draws, after the shifts."""

    def without(self, labeler: int) -> "Labelers":
        """The same labelers with one's labels left out."""


def flat_draws(fit: xr.DataTree, most: int) -> FlatDraws:
    """At most ``most`` evenly spaced draws of those whose evidence the fit keeps.

    Raises
    ------
    Refusal
        If the fit has a single draw (mode "map").
    """
    evidence = fit["evidence"].to_dataset()
    posterior = fit["posterior"].to_dataset().sel(draw=evidence["draw"].to_numpy())
    stacked = {
        "evidence": evidence.stack(sample=("chain", "draw")),
        "posterior": posterior.stack(sample=("chain", "draw")),
    }
    size = stacked["evidence"].sizes["sample"]
    if size < 2:
        raise Refusal(
            "sensitivity needs draws and this fit has one (mode 'map'); fit with mode='nuts', "
            "'laplace' or model='auto'"
        )
    chosen = np.unique(np.linspace(0, size - 1, min(size, most)).round().astype(np.int64))
    thin = {k: v.isel(sample=chosen).transpose("sample", ...) for k, v in stacked.items()}
    return FlatDraws(
        posterior=thin["posterior"].drop_vars(("sample", "chain", "draw")),
        log_ratio=np.ascontiguousarray(thin["evidence"]["log_likelihood_ratio"].to_numpy()),
        prior_log_odds=np.ascontiguousarray(thin["evidence"]["prior_log_odds"].to_numpy()),
        gold=evidence["gold"].to_numpy(),
    )


@dataclass(frozen=True)
class IndependentErrors:
    """Labelers who err independently given the truth.

    Attributes
    ----------
    labels : Labels
        The current labels, on the coordinate of the rates.
    sensitivity, specificity : array (draw, labeler)
        On the logit scale.
    discount : array (draw,)
    read_as : str
    """

    labels: Labels
    sensitivity: FloatArray
    specificity: FloatArray
    discount: FloatArray
    read_as: str

    def positive(self, shift: float | FloatArray) -> FloatArray:
        """Log p(labels | truth 1), (draw, item)."""
        return self._sums(self.sensitivity + shift, right=1)

    def negative(self, shift: float | FloatArray) -> FloatArray:
        """Log p(labels | truth 0), (draw, item)."""
        return self._sums(self.specificity + shift, right=0)

    def rates(self, sensitivity: float, specificity: float) -> tuple[FloatArray, FloatArray]:
        """Mean rates (labeler,) after the shifts."""
        return (
            expit(self.sensitivity + sensitivity).mean(axis=0),
            expit(self.specificity + specificity).mean(axis=0),
        )

    def without(self, labeler: int) -> "IndependentErrors":
        """One labeler's labels left out."""
        return IndependentErrors(
            leave_out(self.labels, labeler),
            self.sensitivity,
            self.specificity,
            self.discount,
            self.read_as,
        )

    def _sums(self, value: FloatArray, *, right: int) -> FloatArray:
        """Log-probabilities summed by item; the label ``right`` has log odds ``value``."""
        table = np.empty((value.shape[0], 2 * value.shape[1]))
        table[:, right::2] = -np.logaddexp(0.0, -value)
        table[:, 1 - right :: 2] = -np.logaddexp(0.0, value)
        codes = label_codes(self.labels)
        return np.asarray(label_sums(self.labels.item_ptr, codes, table))


def leave_out(labels: Labels, labeler: int) -> Labels:
    """The labels without those of one labeler, on the same coordinate and items."""
    others = [str(name) for k, name in enumerate(labels.labelers) if k != labeler]
    return labels.with_labelers(others).with_labelers([str(name) for name in labels.labelers])


def labelers_of(fit: xr.DataTree, draws: FlatDraws, history: Labels, current: Labels) -> Labelers:
    """The labelers of a fit.

    Raises
    ------
    Refusal
        If the fit's evidence is not a function of labeler rates known here.
    """
    stored = set(draws.posterior.data_vars)
    if fit.attrs.get("model") in EXACT_MODELS:
        return anchored_labelers(draws, history, current)
    if {"label_logit", "loading"} <= stored:
        found: Labelers = shared_labelers(draws, history, current)
    elif {"sensitivity", "specificity"} <= stored:
        prefix = "current_" if "current_sensitivity" in stored else ""
        a, b = (
            _logit(draws.posterior[f"{prefix}{name}"].to_numpy())
            for name in ("sensitivity", "specificity")
        )
        labels = current.with_labelers([str(n) for n in draws.posterior["labeler"].to_numpy()])
        found = IndependentErrors(labels, a, b, np.ones(draws.n_draws), READ_RATES)
    else:
        raise Refusal(
            "the fit holds no sensitivity and specificity by labeler, so that a change of the "
            'labelers cannot be expressed; fit with model="hero", "pooled", "correlated" or "auto"'
        )
    check_agreement(found, draws, current)
    return found


READ_RATES = (
    "the logits of all current sensitivities (specificities) are moved by shift_sensitivity "
    "(shift_specificity) away from those of the fit"
)
READ_EFFECT = (
    "the logits of a right label, given the truth and the item's shared effect, are moved by "
    "shift_sensitivity (truth 1) and shift_specificity (truth 0)"
)
READ_SCORE = (
    "this model has no labeler rates: the shifts move the logits of the rates that independent "
    "labelers would have (anchored EM), and the change of each item's log-likelihood ratio, times "
    "the nats of the model's evidence in one nat of theirs (a regression over the current items, "
    "at most 1), is added to the item's evidence: its line moves in intercept and slope"
)


def check_agreement(labelers: Labelers, draws: FlatDraws, current: Labels) -> None:
    """Refuse where the labelers' rates do not give the fit's own evidence on items without gold."""
    plain = ~current.has_gold
    found = (labelers.positive(0.0) - labelers.negative(0.0))[:, plain]
    own = draws.log_ratio[:, plain]
    away = np.abs(found - own) / (1.0 + np.abs(own))
    if not float(away.max(initial=0.0)) <= AGREEMENT:
        raise Refusal(
            "the fit's evidence does not follow from its sensitivities and specificities (its "
            "labeler layer has parameters of its own, or prompts tie items together), so that a "
            'shift of the rates cannot be carried over; fit with model="hero", "pooled", '
            '"correlated" or "auto"'
        )


def anchored_labelers(draws: FlatDraws, history: Labels, current: Labels) -> IndependentErrors:
    """The labelers that independent errors would give a fit of ``score`` or ``auto``.

    The discount of a draw is the slope of its evidence on theirs over the current items, between 0
    and 1: 1 for the draws under independent errors, less where labelers share errors.
    """
    anchored = anchor(history, current)
    labels = anchored.panel.current
    shape = (draws.n_draws, labels.n_labelers)
    a, b = (
        np.broadcast_to(_logit(rate), shape)
        for rate in (anchored.sensitivity, anchored.specificity)
    )
    plain = IndependentErrors(labels, a, b, np.ones(draws.n_draws), READ_SCORE)
    labeled = labels.labels_per_item > 0
    ratio = (plain.positive(0.0) - plain.negative(0.0))[0, labeled]
    centred = ratio - ratio.mean()
    spread = float(centred @ centred)
    slope = draws.log_ratio[:, labeled] @ centred / spread if spread > 0 else np.ones(shape[0])
    return IndependentErrors(labels, a, b, np.clip(slope, 0.0, 1.0), READ_SCORE)


def shared_labelers(draws: FlatDraws, history: Labels, current: Labels) -> SharedErrors:
    """The labelers of a fit of ``correlated``.

    Raises
    ------
    Refusal
        If labelers of a family share an effect of their own.
    """
    posterior = draws.posterior
    if "family_loading" in posterior:
        raise Refusal(
            "a sweep over fits whose families share an effect is too costly; fit with "
            "priors={'family': False}, or model=\"auto\""
        )
    names = [str(n) for n in posterior["labeler"].to_numpy()]
    longest = max(int(labels.labels_per_item.max(initial=0)) for labels in (history, current))
    return SharedErrors.of(
        current.with_labelers(names),
        posterior["label_logit"].transpose("sample", "truth", "labeler").to_numpy(),
        posterior["loading"].transpose("sample", "truth").to_numpy(),
        longest,
        READ_EFFECT,
    )


def _logit(rate: FloatArray) -> FloatArray:
    return np.asarray(logit(np.clip(rate, EDGE, 1.0 - EDGE)))
