"""Options of the methods in a study, and the small readers of TOML values."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from hero_bayes.data.covariates import TextCovariates

__all__ = ["FitOptions", "Hero2Options", "read_options", "read_whole", "unknown_keys"]

PROMPTS = "prompt_text"
SHRINK = ("paper", "optimal")
POSTERIORS = ("cut", "joint")


@dataclass(frozen=True)
class Hero2Options:
    """How HERO-2 is run.

    Attributes
    ----------
    covariates : tuple of str, or None
        Numeric covariates; None takes all there are, or none when ``text`` is given.
    text : bool
        Whether TF-IDF features of the prompts serve as covariates.
    ridge, shrink
        As in `hero_bayes.estimate`.
    max_features : int
        Words kept as features.
    """

    covariates: tuple[str, ...] | None = None
    text: bool = False
    ridge: str | float = "cv"
    shrink: str = "paper"
    max_features: int = 200

    def arguments(self) -> dict[str, Any]:
        """Keyword arguments for `hero_bayes.estimate`."""
        names: list[str | TextCovariates] | None = None
        if self.covariates is not None or self.text:
            names = list(self.covariates or ())
            if self.text:
                names.append(TextCovariates(PROMPTS, max_features=self.max_features))
        return {"covariates": names, "ridge": self.ridge, "shrink": self.shrink}


@dataclass(frozen=True)
class FitOptions:
    """How posterior fits are made; they cost far more than the estimators.

    Attributes
    ----------
    gold_rate : float, or None
        Only settings with this gold rate get fits; None: all.
    repetitions : int, or None
        Only the first so many; None: all.
    posterior, draws, tune, chains
        As in `hero_bayes.fit`.
    """

    gold_rate: float | None = None
    repetitions: int | None = None
    posterior: str = "cut"
    draws: int = 1000
    tune: int = 1000
    chains: int = 4

    def arguments(self) -> dict[str, Any]:
        """Keyword arguments for `hero_bayes.fit`."""
        return {
            "posterior": self.posterior,
            "draws": self.draws,
            "tune": self.tune,
            "chains": self.chains,
        }


def unknown_keys(table: Mapping[str, Any], known: Iterable[str], where: str) -> list[str]:
    """One sentence per key that means nothing."""
    known = list(known)
    return [
        f"unknown key {key!r} {where}; known: {', '.join(known)}"
        for key in table
        if key not in known
    ]


def read_whole(
    table: Mapping[str, Any], key: str, default: int, least: int, problems: list[str]
) -> int:
    """A whole number of at least ``least``."""
    value = table.get(key, default)
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        problems.append(f"{key} must be a whole number, {least} or more, got {value!r}")
        return default
    return value


def read_options(
    content: Mapping[str, Any], problems: list[str]
) -> tuple[Hero2Options, FitOptions]:
    """The tables ``[hero2]`` and ``[fit]``."""
    tables = []
    for key in ("hero2", "fit"):
        table = content.get(key, {})
        if not isinstance(table, Mapping):
            problems.append(f"{key} must be a table, [{key}]")
            table = {}
        tables.append(table)
    return _hero2(tables[0], problems), _fit(tables[1], problems)


def _hero2(table: Mapping[str, Any], problems: list[str]) -> Hero2Options:
    keys = ("covariates", "text", "ridge", "shrink", "max_features")
    problems += unknown_keys(table, keys, "in [hero2]")
    covariates = table.get("covariates")
    if covariates is not None and not (
        isinstance(covariates, list) and all(isinstance(name, str) for name in covariates)
    ):
        problems.append(f"[hero2] covariates must be a list of names, got {covariates!r}")
        covariates = None
    text = table.get("text", False)
    if not isinstance(text, bool):
        problems.append(f"[hero2] text must be true or false, got {text!r}")
        text = False
    ridge = table.get("ridge", "cv")
    number = isinstance(ridge, (int, float)) and not isinstance(ridge, bool) and ridge >= 0
    if not (ridge == "cv" or number):
        problems.append(f'[hero2] ridge must be "cv" or a number, 0 or more, got {ridge!r}')
    shrink = table.get("shrink", "paper")
    if shrink not in SHRINK:
        problems.append(f"[hero2] shrink must be one of {', '.join(SHRINK)}, got {shrink!r}")
    return Hero2Options(
        covariates=None if covariates is None else tuple(covariates),
        text=text,
        ridge=ridge,
        shrink=shrink,
        max_features=read_whole(table, "max_features", 200, 1, problems),
    )


def _fit(table: Mapping[str, Any], problems: list[str]) -> FitOptions:
    counts = {"draws": 1000, "tune": 1000, "chains": 4}
    problems += unknown_keys(table, ("gold_rate", "repetitions", "posterior", *counts), "in [fit]")
    rate = table.get("gold_rate")
    if rate is not None and (isinstance(rate, bool) or not isinstance(rate, (int, float))):
        problems.append(f"[fit] gold_rate must be a number, got {rate!r}")
    posterior = table.get("posterior", "cut")
    if posterior not in POSTERIORS:
        problems.append(
            f"[fit] posterior must be one of {', '.join(POSTERIORS)}, got {posterior!r}"
        )
    repetitions = None
    if "repetitions" in table:
        repetitions = read_whole(table, "repetitions", 2, 2, problems)
    sizes = {key: read_whole(table, key, usual, 1, problems) for key, usual in counts.items()}
    return FitOptions(gold_rate=rate, repetitions=repetitions, posterior=posterior, **sizes)
