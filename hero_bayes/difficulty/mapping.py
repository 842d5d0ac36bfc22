"""The data map: P(correct) of a model on a prompt against how alike its answers are."""

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray
from scipy.stats import beta

from hero_bayes.data.generations import Generations
from hero_bayes.difficulty.answer_consistency import consistency
from hero_bayes.difficulty.answers import Cluster, has_answers
from hero_bayes.difficulty.prompt_means import as_generations, check_prob, check_seed
from hero_bayes.difficulty.score_moments import moments
from hero_bayes.errors import DataError

__all__ = ["PAPER_RULE", "data_map"]

#: Mislabel rule of arXiv:2502.08943: at most this share correct, and at least this consistency.
PAPER_RULE = (0.1, -0.8)
MIDDLE = 0.5
#: With so few generations S always satisfies the rule.
FEW = 2
FEW_NOTE = "k = {}: S is at least {:.2f}, so high consistency says little"
COLUMNS = ("S", "S_mean", "S_low", "S_high")

FloatArray = NDArray[np.float64]


def data_map(
    generations: Generations | pd.DataFrame,
    fit: xr.DataTree | None = None,
    cluster: Cluster | None = None,
    prob: float = 0.95,
    random_seed: int = 0,
) -> pd.DataFrame:
    """Where each prompt stands: how often it is solved, and how alike the answers are.

    Parameters
    ----------
    generations : Generations or DataFrame
        Scored generations; without answers the columns on consistency are NaN with a reason.
    fit : xarray.DataTree, optional
        From ``hb.difficulty.fit`` on the same generations; gives P(correct) of every cell.
    cluster : callable, optional
        Which answers are the same; see `clusters`.
    prob : float
        Probability of the intervals.
    random_seed : int
        For the intervals of consistency.

    Returns
    -------
    DataFrame
        One row a model and prompt: ``model``, ``prompt``, ``k``, ``p_hat`` (share correct),
        ``p_mean``, ``p_low``, ``p_high`` (P(correct), shrunk towards the model's other prompts),
        ``S``, ``S_mean``, ``S_low``, ``S_high`` (see `consistency`), ``region``, ``note`` (where
        so few generations say little of S) and ``reason`` (why something is NaN).

    Raises
    ------
    DataError
        If the fit was made from other generations.

    Notes
    -----
    Without a fit, P(correct) has a Beta posterior whose prior is the Beta with the model's mean and
    spread by the method of moments (empirical Bayes: the noise of these two numbers is left out).
    The prior is uniform where the spread is not identified (k = 1) or all are right, or all wrong.

    Regions: "review" if p_hat <= 0.1 and S >= -0.8 (the rule of arXiv:2502.08943: rarely right and
    always the same answer); else "easy" if ``p_low`` >= 0.5, "hard" if ``p_high`` <= 0.5, and
    "mixed" where the interval holds 0.5.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"prompt": ["a", "b", "c"], "n_correct": [9, 5, 1], "k": [10] * 3})
    >>> data_map(table)[["prompt", "p_hat", "region"]].values.tolist()
    [['a', 0.9, 'easy'], ['b', 0.5, 'mixed'], ['c', 0.1, 'hard']]
    """
    data = as_generations(generations)
    check_prob(prob)
    check_seed(random_seed)
    tails = ((1.0 - prob) / 2.0, (1.0 + prob) / 2.0)
    table = pd.DataFrame(
        {
            "model": data.models[data.model_idx],
            "prompt": data.prompts[data.prompt_idx],
            "k": data.k,
            "p_hat": data.p_hat,
        }
    )
    mean, low, high = _by_moments(data, tails) if fit is None else _by_fit(data, fit, tails)
    table = table.assign(p_mean=mean, p_low=low, p_high=high)
    if has_answers(data):
        alike = consistency(data, cluster, random_seed=random_seed, prob=prob)
        table[[*COLUMNS, "reason"]] = alike[[*COLUMNS, "reason"]]
    else:
        table[list(COLUMNS)] = np.nan
        table["reason"] = "no answers: S needs an 'answer' column"
    rule = follows_rule(table["p_hat"].to_numpy(), table["S"].to_numpy(), PAPER_RULE)
    region = np.select(
        [rule, table["p_low"] >= MIDDLE, table["p_high"] <= MIDDLE],
        ["review", "easy", "hard"],
        "mixed",
    )
    few = (table["k"] <= FEW) & table["S"].notna()
    note = np.where(few, [FEW_NOTE.format(k, -np.log(k) + 0.0) for k in table["k"]], "")
    order = [*table.columns.drop("reason"), "region", "note", "reason"]
    return table.assign(region=region, note=note)[order]


def follows_rule(
    p_hat: FloatArray, consistency_: FloatArray, rule: tuple[float, float]
) -> NDArray[np.bool_]:
    """Whether cells have p_hat <= rule[0] and S >= rule[1]; a missing S does not."""
    return (p_hat <= rule[0] + 1e-12) & (consistency_ >= rule[1] - 1e-12)


def _by_moments(
    data: Generations, tails: tuple[float, float]
) -> tuple[FloatArray, FloatArray, FloatArray]:
    prior = np.ones((data.n_models, 2))
    for position, name in enumerate(data.models):
        if np.count_nonzero(data.model_idx == position) < 2:
            continue
        found = moments(data, str(name))
        room = found.mu - found.mu**2
        if found.identified and room > 0.0:
            # between-prompt variance 0 would mean a prior of infinite weight
            spread = max(found.sigma_squared, room / (1.0 + 10.0 * float(data.k.max())))
            weight = room / min(spread, 0.999 * room) - 1.0
            prior[position] = found.mu * weight, (1.0 - found.mu) * weight
    right = prior[data.model_idx, 0] + data.n_correct
    wrong = prior[data.model_idx, 1] + data.k - data.n_correct
    low, high = (beta.ppf(tail, right, wrong) for tail in tails)
    return right / (right + wrong), low, high


def _by_fit(
    data: Generations, fit: xr.DataTree, tails: tuple[float, float]
) -> tuple[FloatArray, FloatArray, FloatArray]:
    tree = isinstance(fit, xr.DataTree)
    if not tree or "prompts" not in fit.children or "p_correct" not in fit["prompts"]:
        raise DataError("the fit has no group 'prompts' with 'p_correct': use hb.difficulty.fit")
    if fit.attrs.get("generations_fingerprint", data.fingerprint) != data.fingerprint:
        raise DataError(
            "the fit was made from other generations; pass those, or fit again: "
            "hb.difficulty.fit(generations)"
        )
    draws = fit["prompts"]["p_correct"]
    known = {
        (str(model), str(prompt)): place
        for place, (model, prompt) in enumerate(
            zip(draws["cell_model"].to_numpy(), draws["cell_prompt"].to_numpy(), strict=True)
        )
    }
    wanted = zip(data.models[data.model_idx], data.prompts[data.prompt_idx], strict=True)
    cells = [(str(model), str(prompt)) for model, prompt in wanted]
    missing = [cell for cell in cells if cell not in known]
    if missing:
        raise DataError(
            f"the fit does not know {len(missing)} of the cells, among them model "
            f"{missing[0][0]!r} on prompt {missing[0][1]!r}; pass the generations it was fitted to"
        )
    values = draws.transpose("chain", "draw", "cell").to_numpy()
    values = values.reshape(-1, values.shape[-1])[:, [known[cell] for cell in cells]]
    low, high = np.quantile(values, tails, axis=0)
    return values.mean(axis=0), low, high
