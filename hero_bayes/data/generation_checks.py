"""What is legal but dangerous in a table of generations."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import ndtr
from scipy.stats import binom, rankdata

from hero_bayes.data.findings import Finding, Findings
from hero_bayes.data.generation_columns import UNCLEAR, UNREAD
from hero_bayes.data.identifiers import INTEGER_PATTERN, number_of, some

if TYPE_CHECKING:
    from hero_bayes.data.generations import Generations

__all__ = [
    "Stopping",
    "agreement_p_value",
    "generation_findings",
    "order_p_value",
    "score_p_value",
    "stopping_of",
    "stopping_p_value",
]

#: Chance of a false alarm of a check, over all models.
FALSE_ALARM = 0.01
#: Fewer cells say too little of how k relates to the score.
MIN_CELLS = 20
#: Counts that look like stopping at an outcome have no larger chance if k was set beforehand.
CHANCE = 1e-3

Codes = NDArray[np.int64]
Shares = NDArray[np.float64]
Test = Callable[["Generations", Codes], float]


def generation_findings(generations: "Generations") -> Findings:
    """Look for what is legal but dangerous in a table of generations.

    Parameters
    ----------
    generations : Generations

    Returns
    -------
    Findings
        ``informative_k``, ``unread_column``, ``missing_scores``, ``one_generation``,
        ``models_on_different_prompts`` (warnings), ``ordered_generations`` and ``unclear_column``
        (notes). The two that rest on a test raise a false alarm in at most 1 % of harmless tables.
    """
    found = list(_informative_k(generations))
    # Where sampling stops at an outcome, the last generation is special: that is no trend.
    ordered = [] if found else list(_ordered_generations(generations))
    return Findings(
        (
            *found,
            *_columns(generations),
            *_missing_scores(generations),
            *_one_generation(generations),
            *_different_prompts(generations),
            *ordered,
        )
    )


def stopping_p_value(generations: "Generations", cells: Codes) -> float:
    """Whether sampling a prompt stops because of the outcome just seen.

    Parameters
    ----------
    generations : Generations
        With a generation index; 1.0 without.
    cells : int64 array
        The cells of one model.

    Returns
    -------
    float
        Two-sided p-value; 1.0 where nothing can be said.

    Notes
    -----
    At each index, the prompts that were generated there form a table: was it the prompt's last
    scored generation, was it correct. If k does not depend on the outcomes these are unrelated,
    whatever the order of the generations and the difficulty of the prompts. The tables are summed
    as by Mantel and Haenszel (1959), with the correction for continuity.
    """
    if generations.generation is None or generations.k[cells].min() == generations.k[cells].max():
        return 1.0
    rows, cell, correct = _rows_of(generations, cells)
    last = _is_last(cell)
    index, _ = pd.factorize(generations.generation[rows])
    size, stops, ones, both = (
        np.bincount(index, weights=weights)
        for weights in (np.ones(len(rows)), last, correct, last * correct)
    )
    expected = stops * ones / size
    variance = expected * (size - stops) * (size - ones) / (size * np.maximum(size - 1, 1))
    return _two_sided(abs(float((both - expected).sum())) - 0.5, float(variance.sum()))


def agreement_p_value(generations: "Generations", cells: Codes) -> float:
    """Whether the last generation of a prompt gives its most frequent answer too often.

    Parameters
    ----------
    generations : Generations
        With whole numbers as generation index and k that differs; 1.0 without.
    cells : int64 array
        The cells of one model.

    Returns
    -------
    float
        One-sided p-value; 1.0 where nothing can be said.

    Notes
    -----
    With the answers (without them: the scores) of a prompt given, each of its generations is as
    likely to be the last one, however k was chosen beforehand; the chance that it gives the most
    frequent answer is the share of that answer.
    """
    found = _joining(generations, cells)
    if found is None:
        return 1.0
    joins, chance = found
    distance = float((joins - chance).sum()) - 0.5
    return _two_sided(distance, float((chance * (1 - chance)).sum())) / 2 if distance > 0 else 1.0


def _joining(generations: "Generations", cells: Codes) -> tuple[Shares, Shares] | None:
    """Of each prompt: whether its last answer is the most frequent one, and the share of that."""
    index, k = generations.generation, generations.k[cells]
    if index is None or k.min() == k.max():
        return None
    if not all(INTEGER_PATTERN.fullmatch(name) for name in np.unique(index)):
        return None
    cell, times, _ = _times_given(generations, cells)
    most = np.zeros(len(k), dtype=np.int64)
    np.maximum.at(most, cell, times)
    modal = times == most[cell]
    chance = np.bincount(cell, weights=modal) / k
    return modal[_is_last(cell)].astype(np.float64), chance


def _times_given(generations: "Generations", cells: Codes) -> tuple[Codes, Codes, Shares]:
    """Of each row: its cell, how often the cell has its answer (or score), and the score."""
    rows, cell, correct = _rows_of(generations, cells)
    given = generations.answer_cluster if generations.answer is None else generations.answer
    code = correct.astype(np.int64)
    if given is not None:  # what the key accepted is one answer, whatever its spelling
        code = np.where(correct == 1, -2, pd.factorize(given[rows])[0])
    joint = pd.DataFrame({"cell": cell, "code": code})
    return cell, joint.groupby(["cell", "code"])["code"].transform("size").to_numpy(), correct


@dataclass(frozen=True)
class Stopping:
    """How sampling of a model stopped at an outcome.

    Attributes
    ----------
    when : str
        The outcome, in words.
    ended : bool array (cell)
        Whether the last generation of the cell brought it about.
    last : int64 array (cell)
        The score of that generation; 0 where there was none.
    """

    when: str
    ended: NDArray[np.bool_]
    last: Codes


def stopping_of(generations: "Generations", cells: Codes) -> Stopping | None:
    """Find the outcome at which sampling of each prompt stopped, if there is one.

    Parameters
    ----------
    generations : Generations
    cells : int64 array
        The cells of one model.

    Returns
    -------
    Stopping or None

    Notes
    -----
    Prompts short of the largest k all have r correct generations (or r wrong ones, or r of the more
    frequent of both, or r of the most frequent answer), and no prompt has more. The chance of that,
    had k been set beforehand, is at most the product over prompts of the largest binomial
    probability over P(correct); of answers, whose order must be known, the product of r / k, the
    chance that the last generation gives that answer.
    """
    right, k = generations.n_correct[cells], generations.k[cells]
    short = k < k.max()
    if not short.any():
        return None
    wrong = k - right
    for noun, count, last in (
        ("correct", right, np.ones_like(k)),
        ("wrong", wrong, np.zeros_like(k)),
        ("alike", np.maximum(right, wrong), (right > wrong).astype(np.int64)),
    ):
        reached = _reached(count, k, short, noun == "alike")
        if reached:
            verb = "was" if reached == 1 else "were"
            when = f"{number_of(reached, 'generation')} of a prompt {verb} {noun}"
            ended = count == reached
            return Stopping(when, ended, np.where(ended, last, 0))
    return _stopping_at_answers(generations, cells, short)


def _reached(count: Codes, k: Codes, short: NDArray[np.bool_], either: bool) -> int:
    """The count at which sampling stopped, or 0."""
    reached = int(count[short][0])
    if reached < 1 or (count[short] != reached).any() or count.max() > reached:
        return 0
    p, log_chance = np.linspace(0.0, 1.0, 201), 0.0
    for size, full in set(zip(k.tolist(), (~short).tolist(), strict=True)):
        counts = np.arange(size + 1)
        seen = np.maximum(counts, size - counts) if either else counts
        seen = seen <= reached if full else seen == reached
        most = np.asarray(binom.pmf(counts[seen][:, None], size, p)).sum(axis=0).max()
        log_chance += int((k == size).sum()) * math.log(min(most, 1.0))
    return reached if log_chance <= math.log(CHANCE) else 0


def _stopping_at_answers(
    generations: "Generations", cells: Codes, short: NDArray[np.bool_]
) -> Stopping | None:
    """Stopping once an answer was given r times, which the order of the generations shows."""
    if generations.answer is None and generations.answer_cluster is None:
        return None
    joining = _joining(generations, cells)
    if joining is None:
        return None
    cell, times, correct = _times_given(generations, cells)
    most = np.zeros(len(cells), dtype=np.int64)
    np.maximum.at(most, cell, times)
    reached = int(most[short][0])
    ended = most == reached
    alone = np.bincount(cell, weights=times == most[cell]) == most
    as_said = (most <= reached) & (~ended | (alone & (joining[0] == 1)))
    chance = float(np.sum(np.log(joining[1][ended])))
    if not as_said.all() or not ended[short].all() or reached < 2 or chance > math.log(CHANCE):
        return None
    when = f"{number_of(reached, 'generation')} of a prompt gave one answer"
    last = correct[_is_last(cell)].astype(np.int64)
    return Stopping(when, ended, np.where(ended, last, 0))


def score_p_value(generations: "Generations", cells: Codes) -> float:
    """Whether prompts with more generations have other scores.

    Parameters
    ----------
    generations : Generations
    cells : int64 array
        The cells of one model.

    Returns
    -------
    float
        Two-sided p-value; 1.0 where nothing can be said.

    Notes
    -----
    If k does not depend on the outcomes, the mean of p_hat is the same at every k, though its
    spread is not: a rank correlation of k and p_hat would raise false alarms. The test sums the
    centred rank of k times p_hat - mean, over the largest of three standard errors: from the terms
    themselves, from the variance of p_hat, and from its parts (spread of the prompts plus luck that
    falls with k). Any one alone is too small where p is skewed and few prompts differ in k.
    """
    k, p_hat = generations.k[cells], generations.p_hat[cells]
    if len(k) < MIN_CELLS or k.min() == k.max():
        return 1.0
    rank = rankdata(k)
    weight, deviation = rank - rank.mean(), p_hat - p_hat.mean()
    several = k > 1
    luck = float((p_hat * (1 - p_hat) * k / np.maximum(k - 1, 1))[several].mean())
    spread = max(float(p_hat.var(ddof=1)) - luck * float((1 / k).mean()), 0.0)
    variance = max(
        float(((weight * deviation) ** 2).sum()),
        float((weight**2).sum() * p_hat.var(ddof=1)),
        float((weight**2 * (spread + luck / k)).sum()),
    )
    return _two_sided(abs(float(weight @ deviation)), variance)


def order_p_value(generations: "Generations", cells: Codes) -> float:
    """Whether accuracy rises or falls with the generation index, within prompts.

    Parameters
    ----------
    generations : Generations
        With whole numbers as generation index; 1.0 without.
    cells : int64 array
        The cells of one model.

    Returns
    -------
    float
        Two-sided p-value; 1.0 where nothing can be said.

    Notes
    -----
    The sum over generations of (index - mean index of the prompt) times correct. With the number
    of correct generations of each prompt given, its mean and variance over all orders are exact:
    0, and the sum over prompts of n (k - n) / (k (k - 1)) times the sum of squared deviations of
    the index. It is compared with a normal law.
    """
    index = generations.generation
    if index is None or not all(INTEGER_PATTERN.fullmatch(name) for name in np.unique(index)):
        return 1.0
    rows, cell, correct = _rows_of(generations, cells)
    number = rankdata([int(name) for name in index[rows]], method="dense")
    k, ones = generations.k[cells], generations.n_correct[cells]
    mean = np.bincount(cell, weights=number) / k
    deviation = number - mean[cell]
    squares = np.bincount(cell, weights=deviation**2)
    variance = squares * ones * (k - ones) / (k * np.maximum(k - 1, 1))
    return _two_sided(abs(float(deviation @ correct)), float(variance.sum()))


def _rows_of(generations: "Generations", cells: Codes) -> tuple[Codes, Codes, NDArray[np.float64]]:
    """Rows of the cells, the position of the cell of each row in ``cells``, and the scores."""
    assert generations.cell_idx is not None
    assert generations.correct is not None
    position = np.full(len(generations.k), -1, dtype=np.int64)
    position[cells] = np.arange(len(cells))
    cell = position[generations.cell_idx]
    rows = np.flatnonzero(cell >= 0)
    return rows, cell[rows], generations.correct[rows].astype(np.float64)


def _is_last(cell: Codes) -> NDArray[np.bool_]:
    """Which rows, sorted by cell, are the last of their cell."""
    return np.append(cell[1:] != cell[:-1], True)


def _two_sided(distance: float, variance: float) -> float:
    if variance <= 0 or distance <= 0:
        return 1.0
    return min(1.0, 2 * float(ndtr(-distance / math.sqrt(variance))))


def _smallest(generations: "Generations", *tests: Test) -> Iterator[tuple[str, Codes, float]]:
    """Yield the models for which one of the tests rejects, with the corrected p-value."""
    trials = generations.n_models * len(tests)
    for position, name in enumerate(generations.models):
        cells = np.flatnonzero(generations.model_idx == position)
        p = min(1.0, trials * min(test(generations, cells) for test in tests))
        if p <= FALSE_ALARM:
            yield str(name), cells, p


def _p(value: float) -> str:
    return "p < 0.0001" if value < 1e-4 else f"p = {value:.4f}"


def _informative_k(generations: "Generations") -> Iterator[Finding]:
    tests: list[Test] = [score_p_value]
    if generations.generation is not None:
        tests += [stopping_p_value, agreement_p_value]
    related = {name: (cells, f" ({_p(p)})") for name, cells, p in _smallest(generations, *tests)}
    for place, name in enumerate(map(str, generations.models)):
        if generations.stopping[place] is not None:
            related.setdefault(name, (np.flatnonzero(generations.model_idx == place), ""))
    stopped = dict(zip(map(str, generations.models), generations.stopping, strict=True))
    said = []
    for name, (cells, p) in related.items():
        k, p_hat = generations.k[cells], generations.p_hat[cells]
        short = k < k.max()
        text = (
            f"{name!r} scores {p_hat[short].mean():.1%} where it has fewer than {k.max()} "
            f"({number_of(int(short.sum()), 'prompt')}), else {p_hat[~short].mean():.1%}"
        )
        if generations.generation is not None:
            _, cell, correct = _rows_of(generations, cells)
            share = correct[_is_last(cell)][short].mean()
            text += f"; there {share:.1%} of the last generations are correct"
            joining = _joining(generations, cells)
            if joining is not None:
                text += (
                    f", and {joining[0].mean():.1%} of all last ones give the prompt's most "
                    f"frequent answer ({joining[1].mean():.1%} by chance)"
                )
        rule = stopped[name]
        if rule is not None:
            text += f"; sampling stopped once {rule.when}"
        said.append(text + p)
    if said:
        known = all(stopped[name] is not None for name in related)
        yield Finding(
            "warning",
            "informative_k",
            "the number of generations is related to the outcomes: " + "; ".join(said),
            (
                "fix k in advance; scores and differences leave out the generation that ended a "
                "prompt, which makes them fair; sigma, pass@k and plans need hb.difficulty.fit, "
                "whose likelihood holds whatever stopped the sampling; run effects are refused"
                if known
                else "fix k in advance; where sampling stopped at an outcome, what rests on shares "
                "correct is biased: keep the first generation of each prompt, or take mu_law of "
                "hb.difficulty.fit; where generations failed, score the failures as wrong if they "
                "are; where k was set in advance by difficulty, means and standard errors stand"
            ),
        )


def _ordered_generations(generations: "Generations") -> Iterator[Finding]:
    if generations.generation is None:
        return
    said = []
    for name, cells, p in _smallest(generations, order_p_value):
        _, cell, correct = _rows_of(generations, cells)
        last = _is_last(cell)
        first = np.roll(last, 1)
        said.append(
            f"{name!r} is correct in {correct[first].mean():.1%} of the first generations and "
            f"{correct[last].mean():.1%} of the last ({_p(p)})"
        )
    if said:
        yield Finding(
            "note",
            "ordered_generations",
            "accuracy changes with the generation index: " + "; ".join(said),
            "the index is no run and no seed: do not pass it as run, and subsample at random, not "
            "by prefix; means and standard errors over all generations are not affected",
        )


def _columns(generations: "Generations") -> Iterator[Finding]:
    """Columns that were not read although they may decide what is a repeat or a score."""
    for use in generations.column_uses:
        if use.finding == UNREAD:
            yield Finding(
                "warning",
                UNREAD,
                f"column {use.column!r} was not read, but each prompt has rows of each of its "
                f"{number_of(len(use.values), 'value')}: {some(use.values)}; the rows that it "
                "tells apart count as generations of one model",
                f'say what it is with columns={{"model": "{use.column}"}} or '
                f'columns={{"generation": "{use.column}"}}; choose rows with '
                f'only={{"{use.column}": "{use.values[0]}"}}; or pass over it with '
                f'ignore=["{use.column}"]',
            )
        elif use.finding == UNCLEAR:
            yield Finding(
                "note",
                UNCLEAR,
                f"column {use.column!r} was not read: whether {some(use.values)} means that there "
                "is no score is not known",
                "leave the score empty where there is none, or pass over it with "
                f'ignore=["{use.column}"]',
            )


def _missing_scores(generations: "Generations") -> Iterator[Finding]:
    prompts, models = generations.missing_prompt, generations.missing_model
    if prompts is None or models is None:
        return
    counts = pd.Series(models).value_counts().sort_index()
    where = ", ".join(f"{name!r} {count:,}" for name, count in counts.head(5).items())
    if len(counts) > 5:
        where += f" and {len(counts) - 5:,} more models"
    what = (
        f"{number_of(len(prompts), 'generation')} without a score"
        if generations.has_rows
        else f"{number_of(len(prompts), 'cell')} with k = 0"
    )
    said = [f"{u.rows:,} by column {u.column!r}" for u in generations.column_uses if u.rows]
    by = f" ({', '.join(said)})" if said else ""
    different = pd.unique(pd.Series(prompts))
    yield Finding(
        "warning",
        "missing_scores",
        f"{what} ({where}){by}, in {number_of(len(different), 'prompt')}: {some(different)}",
        "they count for nothing; score them as wrong if they are failures of the model",
    )


def _one_generation(generations: "Generations") -> Iterator[Finding]:
    largest = np.zeros(generations.n_models, dtype=np.int64)
    np.maximum.at(largest, generations.model_idx, generations.k)
    if (largest == 1).any():
        yield Finding(
            "warning",
            "one_generation",
            f"one generation of every prompt (k = 1): {some(generations.models[largest == 1])}",
            "sigma is not identified: difficulty and luck cannot be told apart; generate at least "
            "twice for some prompts",
        )


def _different_prompts(generations: "Generations") -> Iterator[Finding]:
    if len(generations.k) == generations.n_prompts * generations.n_models:
        return
    answered = np.bincount(generations.prompt_idx, minlength=generations.n_prompts)
    shared = int((answered == generations.n_models).sum())
    yield Finding(
        "warning",
        "models_on_different_prompts",
        f"the {generations.n_models} models share {shared:,} of {generations.n_prompts:,} prompts",
        "scores on different prompts do not compare: use difference_moments, which pairs by prompt",
    )
