"""Do whole runs differ by more than exchangeable generations allow."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
import scipy.sparse as sp
from numpy.typing import NDArray

from hero_bayes.data.generations import Generations
from hero_bayes.data.identifiers import number_of, read_ids, shared_coordinate
from hero_bayes.difficulty.prompt_means import (
    as_generations,
    check_seed,
    refuse_stopped,
    whole_numbers,
    within_variance,
)
from hero_bayes.errors import Refusal

__all__ = ["RunEffect", "run_effect"]

#: Statistics nearer than this, as a share, are ties.
TIE = 1e-9
#: Share of the generations of the middle run below which a run says little.
TINY = 0.1

FloatArray = NDArray[np.float64]


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
    run_sizes, run_errors : Series (run)
        Generations of each run, and the standard error of its score without a run effect.
    p_value : float
        Chance of a chi-square of the runs this large, each against its own standard error, if the
        generations of a prompt are exchangeable.
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
    run_sizes: "pd.Series[int]"
    run_errors: "pd.Series[float]"

    @property
    def tiny(self) -> tuple[str, ...]:
        """Runs with less than a tenth of the generations of the middle run."""
        few = self.run_sizes < TINY * float(self.run_sizes.median())
        return tuple(str(name) for name in self.run_sizes.index[few])

    @property
    def visible(self) -> bool:
        """Whether such differences are rare without a run effect (5 %)."""
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
        few = ""
        if self.tiny:
            said = (f"{name!r} ({self.run_sizes[name]:,})" for name in self.tiny)
            few = f" Runs with few generations, whose scores say little: {', '.join(said)}."
        return (
            f"Over {number_of(self.n_runs, 'run')} of {number_of(self.n_prompts, 'prompt')} the "
            f"best run is {100 * self.spread:.1f} points above the worst, "
            f"{100 * self.expected_spread:.1f} expected (p = {self.p_value:.2g}): {verdict}.{few}"
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
        Spread of the run scores, what is expected, and a p-value; runs with few generations weigh
        by what they can say, and are named.

    Raises
    ------
    Refusal
        Without runs, with one run, or where no prompt has two generations.

    Notes
    -----
    A run's score is the mean over its generations of y_ij - p-hat_i, plus mu-hat; that is its plain
    mean where no generation is missing. The statistic is d' V^+ d, with d the deviations of the
    runs and V their covariance over all permutations, so that a run of a handful of generations
    does not drown the others. Outcomes are permuted within prompts, so that the test is
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
    covariance = _covariance(rows)
    inverse = np.linalg.pinv(covariance, rcond=1e-9, hermitian=True)
    drawn = _permuted_deviations(rows, n_permutations, random_seed)
    spreads, spread = np.ptp(drawn, axis=1), float(np.ptp(deviation))
    statistic = float(deviation @ inverse @ deviation)
    statistics = np.einsum("di,ij,dj->d", drawn, inverse, drawn)
    index = pd.Index(rows.runs, name="run")
    scores = pd.Series(rows.mu + deviation, index, name="score")
    return RunEffect(
        model=rows.model,
        n_runs=len(rows.runs),
        n_prompts=len(rows.k),
        run_scores=scores,
        spread=spread,
        expected_spread=float(spreads.mean()),
        p_value=float((1 + (statistics >= statistic * (1 - TIE)).sum()) / (1 + n_permutations)),
        sd=float(deviation.std(ddof=1)),
        expected_sd=_expected_variance(covariance) ** 0.5,
        n_permutations=n_permutations,
        n_left_out=rows.n_left_out,
        run_sizes=pd.Series(rows.size, index, name="generations"),
        run_errors=pd.Series(np.sqrt(np.diag(covariance)), index, name="standard_error"),
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
    refuse_stopped(generations, cells, "the last generations are no draw; fix k in advance")
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


def _permuted_deviations(rows: _Rows, n_permutations: int, random_seed: int) -> FloatArray:
    """Deviations of the runs (permutation, run) after outcomes change places within prompts."""
    rng = np.random.default_rng(random_seed)
    first = np.cumsum(rows.k) - rows.k
    varied = (rows.n_correct > 0) & (rows.n_correct < rows.k)  # others look alike in any order
    blocks = []
    for length in np.unique(rows.k[varied]):
        where = first[varied & (rows.k == length)][:, None] + np.arange(length)
        blocks.append((rows.residual[where], rows.run[where].ravel()))
    drawn = np.zeros((n_permutations, len(rows.runs)))
    for draw in range(n_permutations):
        for values, run in blocks:
            drawn[draw] += rows.deviations(rng.permuted(values, axis=1).ravel(), run)
    return drawn


def _covariance(rows: _Rows) -> FloatArray:
    """Covariance of the deviations of the runs over all permutations.

    Weights c_j on a prompt's k permuted outcomes give a sum of variance
    s^2 (sum c_j^2 - (sum c_j)^2 / k), with s^2 the prompt's sample variance.
    """
    variance, n_runs = within_variance(rows.n_correct, rows.k), len(rows.runs)
    counts = sp.csr_array(
        (np.ones(len(rows.run)), (rows.cell, rows.run)), shape=(len(rows.k), n_runs)
    )
    own = np.bincount(rows.run, weights=variance[rows.cell], minlength=n_runs)
    shared = (counts.T @ (counts * (variance / rows.k)[:, None])).toarray()
    return np.asarray((np.diag(own) - shared) / np.outer(rows.size, rows.size), dtype=np.float64)


def _expected_variance(covariance: FloatArray) -> float:
    """Mean over all permutations of the sample variance of the run scores."""
    n_runs = len(covariance)
    return float(max(np.trace(covariance) - covariance.sum() / n_runs, 0.0) / (n_runs - 1))
