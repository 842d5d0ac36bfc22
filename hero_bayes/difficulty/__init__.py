"""Several generations per prompt: score and sampling noise, prompt difficulty, broken prompts.

``Generations.from_frame`` reads them, ``moments`` and ``fit`` say what the score is and how prompts
differ, ``data_map`` and ``review_list`` which prompts to look at, ``plan`` and ``k_curve`` how many
generations are worth their price.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hero_bayes.data.generations import Generations
    from hero_bayes.difficulty.answer_consistency import consistency
    from hero_bayes.difficulty.comparing import compare
    from hero_bayes.difficulty.difference import difference_moments
    from hero_bayes.difficulty.fitting import fit
    from hero_bayes.difficulty.greedy import greedy_against_sampled
    from hero_bayes.difficulty.mapping import data_map
    from hero_bayes.difficulty.planning import best_k, plan
    from hero_bayes.difficulty.reliability import pass_at_k
    from hero_bayes.difficulty.review import ReviewList, review_list
    from hero_bayes.difficulty.runs import run_effect
    from hero_bayes.difficulty.score_moments import Moments, moments, moments_table
    from hero_bayes.difficulty.shape import density, shape_table
    from hero_bayes.difficulty.single_runs import single_run_spread
    from hero_bayes.difficulty.subsamples import enough, k_curve
    from hero_bayes.difficulty.variance import variance_shares

_HOME = {
    "Generations": "hero_bayes.data.generations",
    "Moments": "hero_bayes.difficulty.score_moments",
    "ReviewList": "hero_bayes.difficulty.review",
    "best_k": "hero_bayes.difficulty.planning",
    "compare": "hero_bayes.difficulty.comparing",
    "consistency": "hero_bayes.difficulty.answer_consistency",
    "data_map": "hero_bayes.difficulty.mapping",
    "density": "hero_bayes.difficulty.shape",
    "difference_moments": "hero_bayes.difficulty.difference",
    "enough": "hero_bayes.difficulty.subsamples",
    "fit": "hero_bayes.difficulty.fitting",
    "greedy_against_sampled": "hero_bayes.difficulty.greedy",
    "k_curve": "hero_bayes.difficulty.subsamples",
    "moments": "hero_bayes.difficulty.score_moments",
    "moments_table": "hero_bayes.difficulty.score_moments",
    "pass_at_k": "hero_bayes.difficulty.reliability",
    "plan": "hero_bayes.difficulty.planning",
    "review_list": "hero_bayes.difficulty.review",
    "run_effect": "hero_bayes.difficulty.runs",
    "shape_table": "hero_bayes.difficulty.shape",
    "single_run_spread": "hero_bayes.difficulty.single_runs",
    "variance_shares": "hero_bayes.difficulty.variance",
}

__all__ = [
    "Generations",
    "Moments",
    "ReviewList",
    "best_k",
    "compare",
    "consistency",
    "data_map",
    "density",
    "difference_moments",
    "enough",
    "fit",
    "greedy_against_sampled",
    "k_curve",
    "moments",
    "moments_table",
    "pass_at_k",
    "plan",
    "review_list",
    "run_effect",
    "shape_table",
    "single_run_spread",
    "variance_shares",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'hero_bayes.difficulty' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
