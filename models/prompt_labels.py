"""Complete model ``prompt_labels``: prompt_difficulty x independent x rigid."""

import pymc as pm

from hero_bayes.data.labels import Labels
from hero_bayes.data.panel import align
from hero_bayes.errors import Refusal
from hero_bayes.models.composition import coordinates, two_rounds
from hero_bayes.models.gold import GoldError
from hero_bayes.models.independent import flat, partially_pooled
from hero_bayes.models.prompt_difficulty import prompt_difficulty
from hero_bayes.models.rigid import rigid

#: Labeler layers by name.
LABELERS = {"flat": ("drop", flat), "pooled": ("include", partially_pooled)}


def prompt_labels(
    history: Labels,
    current: Labels,
    *,
    labelers: str = "flat",
    prevalence_prior: tuple[float, float] = (1.0, 1.0),
    icc_prior: tuple[float, float] = (1.0, 1.0),
    sensitivity_prior: tuple[float, float] = (1.0, 1.0),
    specificity_prior: tuple[float, float] = (1.0, 1.0),
    gold_error: GoldError = None,
) -> pm.Model:
    """Several generations per prompt, each judged by fallible labelers.

    Items are generations, and the item column ``prompt`` says of which prompt. Whether a generation
    is correct is latent, seen only through labels and gold; generations of one prompt share its
    P(truth 1). The rate then carries the noise of prompts, of generations, and of labelers.

    Parameters
    ----------
    history, current : Labels
        ``current`` with prompt ids. A history without them is taken as independent items.
    labelers : {"flat", "pooled"}
        The labeler layer: a prior for each rate, or rates from a population.
    prevalence_prior, icc_prior : tuple of float
        Beta parameters; (1, 1) is flat. icc = Var(P(truth 1)) / (m (1 - m)) over prompts.
    sensitivity_prior, specificity_prior : tuple of float
        Of the labeler layer: Beta parameters ("flat"), or mean and standard deviation of the
        population mean on the logit scale ("pooled").
    gold_error : None, float, or pair of float
        P(gold != truth): none (default), known, in [0, 0.5), or estimated under this Beta prior,
        cut off at one half (:mod:`hero_bayes.models.gold`).

    Returns
    -------
    pm.Model
        As :func:`hero_bayes.models.hero.hero`, with ``icc`` and ``sigma`` (group), and
        ``history_icc`` and ``history_sigma`` (history_group) where history has prompts.

    Raises
    ------
    Refusal
        If the current round has no prompt ids.
    ValueError
        If the labeler layer has no such name.

    References
    ----------
    .. [1] Zhang, W., Cai, H., Chen, W. (2026). Beyond the Singular: Revealing the Value of Multiple
       Generations in Benchmark Evaluation. arXiv:2502.08943
    """
    if labelers not in LABELERS:
        raise ValueError(f"labelers must be one of {', '.join(LABELERS)}, got {labelers!r}")
    if current.prompt is None:
        raise Refusal(
            "prompt_labels needs to know which items are generations of one prompt: give the items "
            'table of the current round a column "prompt", or use model="hero"'
        )
    unseen, layer = LABELERS[labelers]
    panel = align(history, current, unseen=unseen)
    with pm.Model(coords=coordinates(panel)) as model:
        rates = layer(sensitivity_prior, specificity_prior)
        outcome = prompt_difficulty(panel, prevalence_prior, icc_prior)
        two_rounds(panel, outcome, rates, rigid(rates), gold_error=gold_error)
    return model
