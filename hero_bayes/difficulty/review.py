"""The review list: prompts whose key may be wrong, the likeliest first."""

import html
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from hero_bayes.data.generations import Generations
from hero_bayes.data.identifiers import number_of
from hero_bayes.difficulty.answer_consistency import consistency
from hero_bayes.difficulty.answers import Cluster, clusters, has_answers
from hero_bayes.difficulty.key_counts import key_counts, tally
from hero_bayes.difficulty.key_fit import fit_keys
from hero_bayes.difficulty.key_rates import LOOK_ALIKE, FlagRate, pair_of
from hero_bayes.difficulty.mapping import PAPER_RULE, follows_rule
from hero_bayes.difficulty.prompt_means import as_generations, check_seed
from hero_bayes.difficulty.review_rows import by_score, with_answers
from hero_bayes.difficulty.review_warnings import warnings_of
from hero_bayes.errors import DataError

__all__ = ["ReviewList", "review_list"]

SHOWN = 10
#: With keys swapped on purpose, expected and true numbers of wrong keys differ by up to this.
MISCALIBRATION = 2.0


@dataclass(frozen=True)
class ReviewList:
    """Prompts to review, the likeliest wrong key first; made by `review_list`.

    Attributes
    ----------
    table : DataFrame
        One row a prompt; columns as in `review_list`.
    error_rate : float
        Expected share of wrong keys; NaN without answers.
    error_rate_interval : tuple of float
        Its 95 % interval, twice as far either way as the model says: with keys swapped on purpose
        the model was off by 0.57 to 1.67 times.
    warnings : tuple of str
        What the list cannot tell.
    """

    table: pd.DataFrame
    error_rate: float
    error_rate_interval: tuple[float, float]
    warnings: tuple[str, ...]

    def __len__(self) -> int:
        """Return the number of prompts."""
        return len(self.table)

    def __str__(self) -> str:
        """Return the headline, the first rows and the warnings."""
        shown = self._shown().to_string(index=False, float_format=lambda value: f"{value:.3f}")
        return "\n".join([self._headline(), shown, *(f"NOTE: {text}" for text in self.warnings)])

    def _repr_html_(self) -> str:
        """Return a table for notebooks."""
        body = self._shown().to_html(index=False, float_format=lambda value: f"{value:.3f}")
        notes = "".join(f"<li>{html.escape(text)}</li>" for text in self.warnings)
        return f"<p>{html.escape(self._headline())}</p>{body}<ul>{notes}</ul>"

    def _shown(self) -> pd.DataFrame:
        head = self.table.head(SHOWN)
        empty = [name for name in ("note", "reason") if (head[name] == "").all()]
        return head.drop(columns=empty).fillna({"other_answer": "-"})

    def _headline(self) -> str:
        listed = f"Review list of {number_of(len(self.table), 'prompt')}"
        if np.isnan(self.error_rate):
            return f"{listed}, hardest first; P(key wrong) is not known."
        low, high = self.error_rate_interval
        return (
            f"{listed}; expected share of wrong keys {100 * self.error_rate:.1f} % "
            f"(95 % interval {100 * low:.1f} to {100 * high:.1f} %)."
        )


def review_list(
    generations: Generations | pd.DataFrame,
    *,
    key_exact: bool = False,
    prior: tuple[float, float] = (1.0, 19.0),
    look_alike: tuple[float, float] = LOOK_ALIKE,
    rule: str | tuple[float, float] | None = None,
    cluster: Cluster | None = None,
    temperature: float | None = None,
    random_seed: int = 0,
) -> ReviewList:
    """Rank prompts by the probability that the key is wrong or the prompt broken.

    Parameters
    ----------
    generations : Generations or DataFrame
        Scored generations of one or several models, with answers. Counts, or rows without answers,
        give a list by p_hat whose ``p_key_wrong`` is NaN with a reason.
    key_exact : bool
        Set if keys cannot be wrong (found by running code, say): every probability is then 0.
    prior : tuple of float
        Beta prior of the share of wrong keys; (1, 19) expects one in twenty.
    look_alike : tuple of float
        Beta prior of the share of prompts with a right key that look exactly like one with a wrong
        key; what is split between the two rests on these two priors alone.
    rule : "paper" or tuple of float, optional
        Also flag prompts with p_hat <= p_max and S >= s_min in some model; "paper" is (0.1, -0.8).
    cluster : callable, optional
        Which answers are the same; see `clusters`.
    temperature : float, optional
        At which the answers were sampled; low ones bring a warning.
    random_seed : int
        For the interval of the error rate.

    Returns
    -------
    ReviewList
        ``table`` has ``prompt``, ``p_key_wrong``, ``key_count`` (answers that the key accepts) of
        ``k`` generations over all models, ``other_answer`` (an example of the most frequent
        rejected answer), ``other_count``, ``models_preferring_other`` of ``n_models``, ``p_hat``
        and ``S`` (means over models), with a rule ``flagged`` and ``flagged_by`` (models), and
        ``note`` and ``reason`` (why something is NaN).

    Raises
    ------
    DataError
        If the rule or a prior makes no sense.

    Notes
    -----
    For each prompt, every answer is taken in turn as the right one. With the key right, the times
    that model m gives it are Beta-Binomial, mean expit(a_m + l_m u), u ~ N(0, 1) the prompt's ease
    for all models, l_m >= 0. Wrong answers repeat within a model as in a Chinese restaurant
    process, and the models' distinct wrong answers are drawn from a second one, so that models may
    share wrong answers. With the key wrong, another answer (or one that no model gave) takes this
    role, and the key is one of the models' wrong answers, drawn by frequency (rate over the prompts
    that have any), or an answer that no model gave (a second rate); each rate has the prior. A
    prompt may be a trap, where one wrong answer attracts the models by a law of its own: otherwise
    hard prompts would be taken for wrong keys. All answers that the key accepts count as one
    answer. Answers missing from a generation count as wrong, and as no answer in particular.

    The law of right answers is found with all keys taken as right; the other parameters at the
    mode, and probabilities averaged over the profile posterior of the rates, which end at the
    0.995 quantile of the prior (0.24 for (1, 19)). A broken prompt is found if models agree on
    another answer; one without any right answer looks like a hard one. All models wrong alike and a
    wrong key look the same: this is why probabilities rarely pass the ratio of the prior means,
    0.05 / (0.05 + 0.01) by default. One model alone says little: mostly its keys that no answer
    matches are seen.

    Examples
    --------
    >>> import pandas as pd
    >>> answers = {f"p{n}": ["7"] * 9 + ["8"] for n in range(20)} | {"odd": ["5"] * 9 + ["7"]}
    >>> rows = [(prompt, g, a) for prompt, given in answers.items() for g, a in enumerate(given)]
    >>> table = pd.DataFrame(rows, columns=["prompt", "generation", "answer"])
    >>> found = review_list(table.assign(correct=table["answer"] == "7")).table
    >>> found[["prompt", "key_count", "other_answer", "other_count"]].values.tolist()[0]
    ['odd', 1, '5', 9]
    """
    check_seed(random_seed)
    data = as_generations(generations)
    limits = _rule(rule)
    FlagRate(prior, look_alike)  # checks them
    missing = (np.nan, (np.nan, np.nan))
    if data.has_rows and has_answers(data):
        codes = clusters(data, cluster)
        tallied = tally(data, codes)
        cells = consistency(data, cluster)
        table = with_answers(data, tallied, codes, cells)
        if key_exact:
            chance, rate = np.zeros(data.n_prompts), (0.0, (0.0, 0.0))
        else:
            fit = fit_keys(key_counts(tallied), prior, look_alike, random_seed)
            chance, (mean, low, high) = fit.p_key_wrong, fit.error_rate
            rate = (mean, (low / MISCALIBRATION, min(high * MISCALIBRATION, 1.0)))
    else:
        cells, table = None, by_score(data)
        chance = np.zeros(data.n_prompts) if key_exact else np.full(data.n_prompts, np.nan)
        rate = (0.0, (0.0, 0.0)) if key_exact else missing
    table.insert(1, "p_key_wrong", chance)
    if limits is not None:
        s = np.full(len(data.k), np.nan) if cells is None else cells["S"].to_numpy()
        flags = follows_rule(data.p_hat, s, limits)
        flagged_by = np.bincount(data.prompt_idx, flags, minlength=data.n_prompts).astype(int)
        place = list(table.columns).index("note")
        table.insert(place, "flagged", flagged_by > 0)
        table.insert(place + 1, "flagged_by", flagged_by)
    order = np.lexsort((np.arange(len(table)), table["p_hat"], -table["p_key_wrong"].fillna(0.0)))
    result = ReviewList(table.iloc[order].reset_index(drop=True), *rate, ())
    found = warnings_of(
        data, cells, result.table, rate[0], key_exact, prior, temperature, limits is not None
    )
    return replace(result, warnings=found)


def _rule(rule: str | tuple[float, float] | None) -> tuple[float, float] | None:
    if rule is None:
        return None
    if isinstance(rule, str):
        if rule != "paper":
            raise DataError(f'rule={rule!r}: use "paper" or a pair (p_max, s_min)')
        return PAPER_RULE
    p_max, s_min = pair_of(rule, "rule")
    if not (0.0 <= p_max <= 1.0 and s_min <= 0.0):
        raise DataError(
            f"rule={rule!r}: p_max must lie in [0, 1] and s_min at or below 0 (S is never positive)"
        )
    return p_max, s_min
