"""Several generations per prompt: score and sampling noise, prompt difficulty, broken prompts."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hero_bayes.data.generations import Generations
    from hero_bayes.difficulty.comparing import compare
    from hero_bayes.difficulty.fit import fit
    from hero_bayes.difficulty.moments import moments
    from hero_bayes.difficulty.variance import variance_shares

_HOME = {
    "Generations": "hero_bayes.data.generations",
    "compare": "hero_bayes.difficulty.comparing",
    "fit": "hero_bayes.difficulty.fit",
    "moments": "hero_bayes.difficulty.moments",
    "variance_shares": "hero_bayes.difficulty.variance",
}

__all__ = ["Generations", "compare", "fit", "moments", "variance_shares"]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'hero_bayes.difficulty' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value
