"""Words and numbers for people: percentages, method names, remedies as command-line flags."""

import re
import shlex
from collections.abc import Callable, Sequence

__all__ = [
    "ESTIMANDS",
    "ESTIMATORS",
    "METHODS",
    "SPEAKS_OF",
    "TITLES",
    "clip",
    "in_flags",
    "join",
    "percent",
    "percent_range",
]

METHODS = ("majority_vote", "dawid_skene", "gold_rates", "hero1", "hero2")
#: What `hero-bayes estimate` runs: the closed forms, and the one that draws.
ESTIMATORS = (*METHODS, "score")

TITLES = {
    "majority_vote": "majority vote",
    "dawid_skene": "Dawid-Skene",
    "gold_rates": "gold rates",
    "hero1": "HERO-1",
    "hero2": "HERO-2",
    "score": "calibrated score",
    "posterior": "posterior",
    "posterior_adjusted": "posterior, adjusted",
}

ESTIMANDS = {
    "item_rate": "these items",
    "prevalence": "new items",
    "": "",
}

#: What the two estimands mean, in a line under a table.
SPEAKS_OF = (
    "these items: the share among the items at hand; new items: the rate of the source they came "
    "from, so that the interval also allows for the draw of items."
)

#: Remedies of the Python interface, and the flag that does the same.
_FLAGS: tuple[tuple[str, str | Callable[[re.Match[str]], str]], ...] = (
    (
        r"""columns=\{(['"])(\w+)\1: (['"])(.*?)\3\}""",
        lambda found: shlex.join(["--column", f"{found[2]}={found[4]}"]),
    ),
    (r"""columns=\{(['"])(\w+)\1: \.\.\.\}""", r"--column \2=YOUR_COLUMN"),
    (r"columns=", "--column"),
    (r'unlabeled="drop"', "--drop-unlabeled"),
    (
        r'repeats="(\w+)"((?:, "\w+")*(?: or "\w+")?)',
        lambda found: f"--repeats {found[1]}{found[2]}".replace('"', ""),
    ),
    (r"Labels\.from_frames\(\.\.\., covariates=\[\.\.\.\]\)", "--covariate NAME"),
    (
        r"Labels\.from_frames\(\.\.\., covariates=\[(['\"])(.*?)\1\]\)",
        lambda found: shlex.join(["--covariate", found[2]]),
    ),
    (r"covariates=\[\.\.\.\]", "--covariate NAME"),
    (r"covariates=", "--covariate"),
    (r'(?<![\w-])method="(\w+)" or "(\w+)"', r"--method \1 or \2"),
    (
        r'(?<![\w-])(positive|negative|method|shrink)="([^"]*)"',
        lambda found: shlex.join([f"--{found[1]}", found[2]]),
    ),
    (r"(?<![\w-])abstain=\[[^\]]*\]", "--abstain"),
    (r"(?<![\w-])(positive|negative|abstain|group)=", r"--\1"),
    (r"--covariate \.\.\.", "--covariate NAME"),
)


def in_flags(message: str) -> str:
    """Say a remedy of the Python interface in flags of the command line.

    Parameters
    ----------
    message : str
        A message of the package, such as ``name the value that means 1 with positive=``.
    """
    for pattern, flag in _FLAGS:
        message = re.sub(pattern, flag, message)
    return message


def percent(share: float) -> str:
    """A share as a percentage with one decimal."""
    return f"{100 * share:.1f} %"


def percent_range(low: float, high: float) -> str:
    """An interval in percent."""
    return f"{100 * low:.1f} to {100 * high:.1f} %"


def join(words: Sequence[str], last: str = "and") -> str:
    """A list in a sentence."""
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} {last} {words[-1]}"


def clip(text: str, length: int = 60) -> str:
    """A long value cut for display."""
    return text if len(text) <= length else text[: length - 3] + "..."
