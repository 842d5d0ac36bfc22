"""Do whole runs differ by more than exchangeable generations allow."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hero_bayes.data.generations import Generations
from hero_bayes.data.identifiers import number_of, read_ids, shared_coordinate
from hero_bayes.difficulty.prompt_means import (
    as_generations,
    check_seed,
    whole_numbers,
    within_variance,
)
from hero_bayes.errors import Refusal

__all__ = ["RunEffect", "run_effect"]

#: Spreads nearer than this are ties.
TIE = 1e-12


@dataclass(frozen=True)
class RunEffect:
    """Scores of runs against what exchangeable generations allow.

    Attributes
    ----------
    model : str
    n_runs, n_prompts : int
        Runs, and prompts with at least two generations.
    run_scores : Series (run)
        Score of each run; where runs miss prompts, corrected for which ones they miss.
    spread, expected_spread : float
        Best minus worst run, and its mean over permutations.
    p_value : float
        Chance of at least this spread if the generations of a prompt are exchangeable.
    sd, expected_sd : float
        Standard deviation of the run scores, and its root mean square over all permutations.
    n_permutations, n_left_out : int
        Permutations drawn; prompts with one generation, which tell nothing of runs.
    """

    model: str
    n_runs: int
    n_prompts: int
    run_scores: "pd.Series[float]"
    spread: float
    expected_spread: float
    p_value: float
    sd: float
    expected_sd: float
    n_permutations: int
    n_left_out: int

    @property
    def visible(self) -> bool:
        """Whether such a spread is rare without a run effect (5 %)."""
        return self.p_value <= 0.05

    @property
    def sentence(self) -> str:
        """The result in words."""
        verdict = (
            "the runs differ by more than sampling allows: generations of one prompt are not "
            "exchangeable (failed runs, other settings, or generations in some order)"
            if self.visible
            else "the runs differ no more than sampling allows"
        )
        return (
            f"Over {number_of(self.n_runs, 'run')} of {number_of(self.n_prompts, 'prompt')} the "
            f"best run is {100 * self.spread:.1f} points above the worst, "
            f"{100 * self.expected_spread:.1f} expected (p = {self.p_value:.2g}): {verdict}."
        )

    def __str__(self) -> str:
        return self.sentence


def run_effect(
    generations: Generations | pd.DataFrame,
    model: str | None = None,
    random_seed: int = 0,
    n_permutations: int = 2000,
) -> RunEffect:
    """Test whether the generations of a prompt are exchangeable between runs.

    Parameters
    ----------
    generations : Generations or DataFrame
        With a column ``run``: one run went over all prompts (some may be missing).
    model : str, optional
        May be left out where there is one model.
    random_seed : int
        Seed of the permutations.
    n_permutations : int
        How many.

    Returns
    -------
    RunEffect
        Spread of the run scores, what is expected, and a p-value.

    Raises
    ------
    Refusal
        Without runs, with one run, or where no prompt has two generations.

    Notes
    -----
    A run's score is the mean over its generations of y_ij - p-hat_i, plus mu-hat; that is its plain
    mean where no generation is missing. Outcomes are permuted within prompts, so that the test is
    exact. The expected squared standard deviation is a closed form; for complete runs it equals the
    within-prompt part of Lemma 2.1 of [1]_, (mu - mu^2 - sigma^2) / n.

    References
    ----------
    .. [1] Zhang, Cai, Chen (2025). Beyond the singular: revealing the value of multiple generations
       in benchmark evaluation. arXiv:2502.08943.

    Examples
    --------
    The second run fails on every prompt.

    >>> table = pd.DataFrame({"prompt": np.repeat(np.arange(9), 3), "run": list("abc") * 9,
    ...                       "correct": [1, 0, 1] * 9})
    >>> effect = run_effect(table)
    >>> effect.spread, effect.p_value < 0.01
    (1.0, True)
    """
    check_seed(random_seed)
    rows = _rows_of(as_generations(generations), model)
    (n_permutations,) = whole_numbers(n_permutations, "n_permutations")
    deviation = rows.deviations(rows.residual, rows.run)
    spreads = _permuted_spreads(rows, n_permutations, random_seed)
    spread = float(np.ptp(deviation))
    scores = pd.Series(rows.mu + deviation, pd.Index(rows.runs, name="run"), name="score")
    return RunEffect(
        model=rows.model,
        n_runs=len(rows.runs),
        n_prompts=len(rows.k),
        run_scores=scores,
        spread=spread,
        expected_spread=float(spreads.mean()),
        p_value=float((1 + (spreads >= spread - TIE).sum()) / (1 + n_permutations)),
        sd=float(deviation.std(ddof=1)),
        expected_sd=_expected_variance(rows) ** 0.5,
        n_permutations=n_permutations,
        n_left_out=rows.n_left_out,
    )


@dataclass(frozen=True)
class _Rows:
    """Generations of the prompts of one model that have two or more, sorted by prompt."""

    model: str
    mu: float
    runs: NDArray[np.object_]
    correct: NDArray[np.float64]
    cell: NDArray[np.int64]
    run: NDArray[np.int64]
    n_left_out: int

    @cached_property
    def k(self) -> NDArray[np.int64]:
        return np.bincount(self.cell)

    @cached_property
    def n_correct(self) -> NDArray[np.int64]:
        return np.bincount(self.cell, weights=self.correct).astype(np.int64)

    @cached_property
    def residual(self) -> NDArray[np.float64]:
        return self.correct - (self.n_correct / self.k)[self.cell]

    @cached_property
    def size(self) -> NDArray[np.int64]:
        return np.bincount(self.run, minlength=len(self.runs))

    def deviations(
        self, residual: NDArray[np.float64], run: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Mean residual of each run."""
        return np.bincount(run, weights=residual, minlength=len(self.runs)) / self.size


def _rows_of(generations: Generations, model: str | None) -> _Rows:
    """Outcomes and runs of one model; refusals where runs cannot be compared."""
    cells = generations.cells_of(model)
    if generations.run is None or generations.cell_idx is None or generations.correct is None:
        raise Refusal(
            "no column run: the generation index is not a run; if generation j really was one run "
            "over all prompts, read the table with columns={'run': 'generation'}"
        )
    mine = np.isin(generations.cell_idx, cells)
    nameless = sum(name is None for name in generations.run[mine])
    if nameless:
        raise Refusal(
            f"{number_of(nameless, 'generation')} without a run: name their run, or drop them"
        )
    several = generations.k[cells] > 1
    if not several.any():
        raise Refusal(
            "no prompt has two generations, so nothing separates runs from prompts; "
            "generate each prompt at least twice"
        )
    kept = np.isin(generations.cell_idx, cells[several])
    runs, [run] = shared_coordinate([read_ids(pd.Series(generations.run[kept]))])
    if len(runs) < 2:
        raise Refusal("there is one run of these prompts; at least two are needed to compare them")
    return _Rows(
        model=str(generations.models[generations.model_idx[cells[0]]]),
        mu=float(generations.p_hat[cells].mean()),
        runs=runs,
        correct=generations.correct[kept].astype(np.float64),
        cell=np.unique(generations.cell_idx[kept], return_inverse=True)[1].astype(np.int64),
        run=run,
        n_left_out=int((~several).sum()),
    )


def _permuted_spreads(rows: _Rows, n_permutations: int, random_seed: int) -> NDArray[np.float64]:
    """Spread of the run scores after outcomes change places within prompts."""
    rng = np.random.default_rng(random_seed)
    first = np.cumsum(rows.k) - rows.k
    varied = (rows.n_correct > 0) & (rows.n_correct < rows.k)  # others look alike in any order
    blocks = []
    for length in np.unique(rows.k[varied]):
        where = first[varied & (rows.k == length)][:, None] + np.arange(length)
        blocks.append((rows.residual[where], rows.run[where].ravel()))
    spreads = np.zeros(n_permutations)
    for draw in range(n_permutations):
        deviation = np.zeros(len(rows.runs))
        for values, run in blocks:
            deviation += rows.deviations(rng.permuted(values, axis=1).ravel(), run)
        spreads[draw] = np.ptp(deviation)
    return spreads


def _expected_variance(rows: _Rows) -> float:
    """Mean over all permutations of the sample variance of the run scores.

    Weights c_j on a prompt's k permuted outcomes give a sum of variance
    s^2 (sum c_j^2 - (sum c_j)^2 / k), with s^2 the prompt's sample variance.
    """
    variance, n_runs = within_variance(rows.n_correct, rows.k), len(rows.runs)
    pair, count = np.unique(rows.cell * n_runs + rows.run, return_counts=True)
    cell, share = pair // n_runs, 1.0 / rows.size[pair % n_runs]
    own = variance[cell] * share**2 * (count - count**2 / rows.k[cell])
    weight = 1.0 / (n_runs * rows.size[rows.run])
    sums = np.bincount(rows.cell, weights=weight)
    common = variance * (np.bincount(rows.cell, weights=weight**2) - sums**2 / rows.k)
    return float(max(own.sum() - n_runs * common.sum(), 0.0) / (n_runs - 1))
