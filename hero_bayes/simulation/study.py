"""A study: settings, methods and repetitions, described by a TOML file."""

import itertools
import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from hero_bayes.errors import DataError
from hero_bayes.estimators.estimate import DRAWN_METHODS, METHODS
from hero_bayes.simulation.options import (
    FitOptions,
    Hero2Options,
    read_options,
    read_whole,
    unknown_keys,
)
from hero_bayes.simulation.scenario import FIELDS, Scenario, scenario_problems

__all__ = ["Setting", "Study", "read_study", "study_from_mapping"]

TOP = (
    "name",
    "description",
    "repetitions",
    "random_seed",
    "methods",
    "scenario",
    "grid",
    "setting",
    "hero2",
    "fit",
)
FIT = "fit:"


@dataclass(frozen=True)
class Setting:
    """One cell of a study: a name and the scenario it stands for."""

    name: str
    scenario: Scenario


@dataclass(frozen=True)
class Study:
    """What to simulate and which methods to try on it.

    Attributes
    ----------
    name, description : str
        For people.
    settings : tuple of Setting
        Every combination of the file's settings and grid.
    varied : tuple of str
        Scenario fields in which the settings differ.
    methods : tuple of str
        Estimators by name, posterior fits as ``fit:MODEL:MODE``.
    repetitions, random_seed : int
        Repetition r of every setting and method uses the seed (random_seed, r).
    hero2 : Hero2Options
        Covariates and penalties of HERO-2.
    fit : FitOptions
        How posterior fits are made, and at which gold rate.
    """

    name: str
    settings: tuple[Setting, ...]
    varied: tuple[str, ...]
    methods: tuple[str, ...] = METHODS
    repetitions: int = 200
    random_seed: int = 1
    description: str = ""
    hero2: Hero2Options = field(default_factory=Hero2Options)
    fit: FitOptions = field(default_factory=FitOptions)


def read_study(path: str | os.PathLike[str]) -> Study:
    r"""Read a study from a TOML file.

    Parameters
    ----------
    path : path
        The file. Top level: ``name``, ``description``, ``repetitions``, ``random_seed``,
        ``methods``. ``[scenario]`` holds arguments of `simulate`, ``[grid]`` lists of their values,
        every combination of which is run; each ``[[setting]]``, a ``name`` and further arguments,
        is crossed with the grid. ``[hero2]`` (covariates, text, ridge, shrink) and ``[fit]``
        (gold_rate, repetitions, posterior, draws, tune, chains) are options of the methods.

    Returns
    -------
    Study

    Raises
    ------
    DataError
        If the file cannot be read, or asks for something that makes no sense; every problem is
        named.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "study.toml"
    ...     _ = path.write_text("repetitions = 5\n[grid]\nheterogeneity = [3, 12]\n")
    ...     study = read_study(path)
    >>> [setting.name for setting in study.settings]
    ['heterogeneity 3', 'heterogeneity 12']
    """
    source = Path(path)
    try:
        content = tomllib.loads(source.read_text(encoding="utf-8"))
    except (FileNotFoundError, IsADirectoryError) as error:
        raise DataError(f"there is no file {str(source)!r}") from error
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{source} cannot be read: {error}") from error
    except tomllib.TOMLDecodeError as error:
        raise DataError(f"{source} is not TOML: {error}") from error
    try:
        return study_from_mapping(content, default_name=source.stem)
    except DataError as error:
        raise DataError(f"{source}: {error}") from error


def study_from_mapping(content: Mapping[str, Any], default_name: str = "study") -> Study:
    """Make a study of the content of a TOML file; see `read_study`.

    Raises
    ------
    DataError
        With every problem found.
    """
    problems = unknown_keys(content, TOP, "at the top")
    texts = {"name": default_name, "description": ""}
    for key in texts:
        value = content.get(key, texts[key])
        if isinstance(value, str):
            texts[key] = value.strip()
        else:
            problems.append(f"{key} must be a text, got {value!r}")
    repetitions = read_whole(content, "repetitions", 200, 2, problems)
    random_seed = read_whole(content, "random_seed", 1, 0, problems)
    hero2, fit = read_options(content, problems)
    methods = _methods(content, problems)
    settings, varied = _settings(content, problems)
    if not problems:
        problems += _at_odds(methods, settings, hero2, fit)
    if problems:
        raise DataError("\n  - ".join(["the study cannot be run:", *problems]))
    return Study(
        name=texts["name"] or default_name,
        description=texts["description"],
        settings=settings,
        varied=varied,
        methods=methods,
        repetitions=repetitions,
        random_seed=random_seed,
        hero2=hero2,
        fit=fit,
    )


def _methods(content: Mapping[str, Any], problems: list[str]) -> tuple[str, ...]:
    """The methods by name, each once and each known."""
    asked = content.get("methods", list(METHODS))
    if not isinstance(asked, list) or not asked:
        problems.append(f"methods must be a list of names, got {asked!r}")
        return ()
    for name in asked:
        if isinstance(name, str) and name.startswith(FIT):
            problems += _fit_problems(name)
        elif name not in (*METHODS, *DRAWN_METHODS):
            known = ", ".join((*METHODS, *DRAWN_METHODS))
            problems.append(f"unknown method {name!r}; one of {known}, or fit:MODEL:MODE")
    if len(set(map(str, asked))) < len(asked):
        problems.append("methods names one of them twice")
    return tuple(map(str, asked))


def _fit_problems(name: str) -> list[str]:
    """What is wrong with ``fit:MODEL`` or ``fit:MODEL:MODE``."""
    from hero_bayes.inference.exact import EXACT_MODELS
    from hero_bayes.inference.resolve import MODES
    from hero_bayes.models import MODELS

    _, model, *rest = name.split(":")
    found = []
    if model not in (*MODELS, *EXACT_MODELS):
        known = ", ".join(dict.fromkeys((*MODELS, *EXACT_MODELS)))
        found.append(f"method {name!r}: unknown model {model!r}; one of {known}")
    modes = ("exact",) if model in EXACT_MODELS else MODES
    if len(rest) > 1 or (rest and rest[0] not in modes):
        mode = ":".join(rest)
        found.append(f"method {name!r}: unknown mode {mode!r}; one of {', '.join(modes)}")
    return found


def _settings(
    content: Mapping[str, Any], problems: list[str]
) -> tuple[tuple[Setting, ...], tuple[str, ...]]:
    """Every setting crossed with the grid, and the fields that differ."""
    base = _table(content, "scenario", problems)
    grid = _table(content, "grid", problems)
    listed = content.get("setting", [{}])
    if not isinstance(listed, list) or not all(isinstance(entry, Mapping) for entry in listed):
        problems.append("setting must be a list of tables, each under [[setting]]")
        listed = [{}]
    for name, values in list(grid.items()):
        if not isinstance(values, list) or not values:
            problems.append(f"[grid] {name} must be a list of values, got {values!r}")
            del grid[name]
    for position, entry in enumerate(listed):
        where = f"in [[setting]] number {position + 1}"
        problems += unknown_keys(entry, ("name", *FIELDS), where)
        if not isinstance(entry.get("name", ""), str):
            problems.append(f"name must be a text {where}, got {entry['name']!r}")
        both = sorted(set(entry) & set(grid))
        if both:
            problems.append(f"{', '.join(both)} stands both in [grid] and {where}")
    settings = []
    for entry, values in itertools.product(listed, itertools.product(*grid.values())):
        own = {key: value for key, value in entry.items() if key in FIELDS}
        cell = dict(zip(grid, values, strict=True))
        words = [str(entry["name"])] if entry.get("name") else [f"{k} {v}" for k, v in own.items()]
        words += [f"{key} {value}" for key, value in cell.items()]
        name = ", ".join(words) or "the only setting"
        scenario = replace(Scenario(), **{**base, **own, **cell})
        settings.append(Setting(name, scenario))
    problems += _scenario_problems(settings)
    if len({setting.name for setting in settings}) < len(settings):
        problems.append("two settings have the same name")
    varied = tuple(
        name
        for name in FIELDS
        if len({repr(getattr(setting.scenario, name)) for setting in settings}) > 1
    )
    return tuple(settings), varied


def _scenario_problems(settings: list[Setting]) -> list[str]:
    """Each problem once, with the settings that have it unless all do."""
    where: dict[str, list[str]] = {}
    for setting in settings:
        for problem in scenario_problems(setting.scenario):
            where.setdefault(problem, []).append(setting.name)
    return [
        problem if len(names) == len(settings) else f"{problem} (at {names[0]})"
        for problem, names in where.items()
    ]


def _table(content: Mapping[str, Any], key: str, problems: list[str]) -> dict[str, Any]:
    """A table of scenario fields."""
    found = content.get(key, {})
    if not isinstance(found, Mapping):
        problems.append(f"{key} must be a table, [{key}]")
        return {}
    problems += unknown_keys(found, FIELDS, f"in [{key}]")
    return {key: value for key, value in found.items() if key in FIELDS}


def _at_odds(
    methods: tuple[str, ...],
    settings: tuple[Setting, ...],
    hero2: Hero2Options,
    fit: FitOptions,
) -> list[str]:
    """Options that do not fit the settings."""
    found = []
    if hero2.text and "hero2" in methods and not all(s.scenario.prompts for s in settings):
        found.append('[hero2] text = "prompt_text" needs prompts = true in [scenario]')
    for name in hero2.covariates or ():
        noise = min(setting.scenario.n_noise_covariates for setting in settings)
        if name not in ("x", *(f"noise{position}" for position in range(noise))):
            found.append(
                f"[hero2] covariates: no covariate {name!r}; there are x and {noise} noise"
            )
    fits = any(method.startswith(FIT) for method in methods)
    if fits and fit.gold_rate is not None:
        rates = sorted({setting.scenario.gold_rate for setting in settings})
        if fit.gold_rate not in rates:
            found.append(f"[fit] gold_rate {fit.gold_rate} is none of the settings' {rates}")
    return found
