"""What a review list cannot tell, in words."""

import numpy as np
import pandas as pd

from hero_bayes.data.generations import Generations
from hero_bayes.data.identifiers import number_of

__all__ = ["warnings_of"]

#: Below these, consistency hardly varies.
LOW_TEMPERATURE = 0.3
SMALL_K = 3
LOW_SCORE = 0.25
#: Times the prior mean from which an error rate is a sign of misfit.
FAR_ABOVE = 3.0


def warnings_of(
    data: Generations,
    cells: pd.DataFrame | None,
    table: pd.DataFrame,
    error_rate: float,
    key_exact: bool,
    prior: tuple[float, float],
    temperature: float | None,
    by_rule: bool,
) -> tuple[str, ...]:
    """Sentences on what the list cannot tell."""
    found = []
    if key_exact:
        found.append(
            "keys are declared exact: P(key wrong) is 0, and what is listed or flagged are hard "
            "prompts, on which models agree on a wrong answer"
        )
    else:
        found.append(
            "a wrong key cannot be told from a hard prompt that fools every model alike: read the "
            "list as an order of review, not as a verdict"
        )
    if cells is None:
        found.append(
            "there are no answers: prompts are ordered by p_hat alone"
            + (", and the rule flags none" if by_rule else "")
        )
        return tuple(found)
    if int(data.k.max()) <= SMALL_K:
        found.append(
            f"at most {number_of(int(data.k.max()), 'generation')} a prompt: S is never far from "
            f"0 (at least {-np.log(data.k.max()):.2f}), so high consistency says little"
        )
    alike = float((cells["n_clusters"] <= 1).mean())
    if temperature is not None and temperature <= LOW_TEMPERATURE:
        found.append(
            f"sampled at temperature {temperature:g}: answers repeat whether right or wrong, so "
            "high consistency says little"
        )
    elif alike > 0.5 and int(data.k.max()) > 1:
        found.append(
            f"{100 * alike:.0f} % of the cells have one answer only, as at a low temperature: high "
            "consistency says little"
        )
    if not key_exact:
        found.extend(_on_the_fit(data, table, error_rate, prior))
    return tuple(found)


def _on_the_fit(
    data: Generations, table: pd.DataFrame, error_rate: float, prior: tuple[float, float]
) -> list[str]:
    found = []
    if data.n_models == 1:
        found.append(
            "one model alone: probabilities may be too high or too low by a factor of two, so read "
            "them as ranks (with keys swapped on purpose they came to 25 for 15 wrong keys at "
            "k = 10, and to 129 for 226 where the wrong keys were answers that models often give)"
        )
    if float(data.n_correct.sum() / data.k.sum()) < LOW_SCORE:
        found.append(
            f"the keys accept only {100 * data.n_correct.sum() / data.k.sum():.0f} % of all "
            "answers: where models are mostly wrong, their agreement is weak evidence against a key"
        )
    several = float(table["note"].str.contains("the key accepts").mean())
    if several > 0.1:
        found.append(
            f"the keys of {100 * several:.0f} % of the prompts accept several different answers; "
            "they count as one. Where right answers have many forms, pass cluster= to join them"
        )
    usual = prior[0] / (prior[0] + prior[1])
    if error_rate > FAR_ABOVE * usual:
        found.append(
            f"an error rate of {100 * error_rate:.0f} % where {100 * usual:.0f} % was expected: "
            "either many keys are wrong, or these models err in ways the model does not know; "
            "review the top before believing the probabilities"
        )
    return found
