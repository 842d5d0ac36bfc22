"""Run a study: every method on the same simulated rounds, in parallel."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hero_bayes.estimators.estimate import compare_methods
from hero_bayes.simulation.progress import progress
from hero_bayes.simulation.scoring import score_table
from hero_bayes.simulation.simulate import Simulation, simulate_scenario
from hero_bayes.simulation.study import FIT, Study
from hero_bayes.simulation.workers import in_parallel

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["StudyResult", "run_study"]

PROB = 0.95
#: Repetitions handed to a worker at a time.
BATCH = 10

Row = dict[str, Any]
Task = tuple[int, range]


@dataclass(frozen=True)
class StudyResult:
    """What a study found.

    Attributes
    ----------
    study : Study
        What was run.
    estimates : DataFrame
        One row a setting, repetition and method: estimate, 95 % interval, E[y].
    table : DataFrame
        One row a setting and method: bias, SD, RMSE with Monte-Carlo errors.
    """

    study: Study
    estimates: "pd.DataFrame"
    table: "pd.DataFrame"


def run_study(study: Study, jobs: int = 1, progressbar: bool = False) -> StudyResult:
    """Run every setting, repetition and method of a study.

    Repetition r uses the same seed in every setting, and within it every method sees the same
    rounds, so that differences between methods are far more exact than the methods' own figures.
    The result does not depend on ``jobs``.

    Parameters
    ----------
    study : Study
        From `read_study`.
    jobs : int
        Worker processes; 1 works in this process, -1 takes every core.
    progressbar : bool
        A bar on a terminal, plain lines elsewhere, on standard error.

    Returns
    -------
    StudyResult

    Examples
    --------
    >>> from hero_bayes.simulation.study import study_from_mapping
    >>> study = study_from_mapping({"repetitions": 2, "methods": ["majority_vote", "hero1"]})
    >>> run_study(study).table["method"].tolist()
    ['majority_vote', 'hero1']
    """
    import pandas as pd

    tasks = [
        (position, range(start, min(start + BATCH, study.repetitions)))
        for position in range(len(study.settings))
        for start in range(0, study.repetitions, BATCH)
    ]
    rows: list[Row] = []
    total = len(study.settings) * study.repetitions
    with progress(progressbar, total, study.name) as advance:
        for done, part in _results(study, tasks, jobs):
            rows += part
            advance(done)
    order = {method: position for position, method in enumerate(study.methods)}
    rows.sort(key=lambda row: (row["position"], row["repetition"], order[row["method"]]))
    estimates = pd.DataFrame(rows)
    return StudyResult(study, estimates, score_table(estimates, study))


def _results(study: Study, tasks: Sequence[Task], jobs: int) -> Iterator[tuple[int, list[Row]]]:
    """Number of repetitions done and their rows, as they come."""
    if jobs == 1:
        for task in tasks:
            yield _batch(study, task)
        return
    yield from in_parallel(_batch, ((study, task) for task in tasks), jobs)


def _batch(study: Study, task: Task) -> tuple[int, list[Row]]:
    position, repetitions = task
    rows = [row for r in repetitions for row in one_repetition(study, position, r)]
    return len(repetitions), rows


def one_repetition(study: Study, position: int, repetition: int) -> list[Row]:
    """Every method of the study on one simulated pair of rounds.

    Parameters
    ----------
    study : Study
    position : int
        Which of its settings.
    repetition : int
        Which repetition.
    """
    setting = study.settings[position]
    rounds = simulate_scenario(setting.scenario, (study.random_seed, repetition))
    common = {
        "position": position,
        "setting": setting.name,
        "repetition": repetition,
        "prevalence": rounds.prevalence,
        "item_rate": rounds.item_rate,
    }
    fast = [method for method in study.methods if not method.startswith(FIT)]
    rows = _estimates(study, rounds, fast) if fast else []
    if _gets_fits(study, setting.scenario.gold_rate, repetition):
        rows += [
            _fitted(study, rounds, method, repetition)
            for method in study.methods
            if method.startswith(FIT)
        ]
    return [common | row for row in rows]


def _estimates(study: Study, rounds: Simulation, methods: list[str]) -> list[Row]:
    table = compare_methods(
        rounds.history, rounds.current, prob=PROB, methods=methods, **study.hero2.arguments()
    )
    return [
        {
            "method": str(row["method"]),
            "estimate": float(row["estimate"]),
            "lower": float(row["lower"]),
            "upper": float(row["upper"]),
        }
        for row in table.to_dict("records")
    ]


def _gets_fits(study: Study, gold_rate: float, repetition: int) -> bool:
    enough = study.fit.repetitions is None or repetition < study.fit.repetitions
    return enough and study.fit.gold_rate in (None, gold_rate)


def _fitted(study: Study, rounds: Simulation, method: str, repetition: int) -> Row:
    """Posterior mean and interval of the prevalence."""
    from hero_bayes.simulation.fitting import fitted_rate

    seed = np.random.SeedSequence((study.random_seed, repetition)).generate_state(1)[0]
    return {"method": method} | fitted_rate(rounds, method, study.fit, int(seed), PROB)
