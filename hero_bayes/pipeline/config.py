"""The config file of ``hero-bayes run``."""

import hashlib
import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hero_bayes.decision.rule import JointRule, Rule
from hero_bayes.errors import DataError
from hero_bayes.pipeline.config_data import DataConfig, read_data
from hero_bayes.pipeline.config_parts import (
    AdjustConfig,
    ModelConfig,
    SensitivityConfig,
    read_adjust,
    read_model,
    read_rule,
    read_sensitivity,
)
from hero_bayes.pipeline.fields import Fields

__all__ = ["Config", "config_from_mapping", "read_config"]

TABLES = ("data", "model", "adjust", "rule", "sensitivity", "output")
FOLDER = "out"


@dataclass(frozen=True)
class Config:
    """What to read, fit and decide, and where the results go.

    Attributes
    ----------
    data : DataConfig
    model : ModelConfig
    adjust : AdjustConfig
    rule : Rule or JointRule
        Several tables [[rule]] are one rule: all must hold together.
    sensitivity : SensitivityConfig
    folder : Path
        Of the results.
    sha256 : str
        Of the file; "" if there is none.
    """

    data: DataConfig
    model: ModelConfig
    adjust: AdjustConfig
    rule: Rule | JointRule
    sensitivity: SensitivityConfig
    folder: Path
    sha256: str = ""


def read_config(path: str | os.PathLike[str]) -> Config:
    r"""Read a config file; paths in it are relative to its folder.

    Parameters
    ----------
    path : path
        A TOML file. ``hero-bayes init`` writes one with comments. Its tables:

        ``[data]``: ``history`` and ``current``, each ``{labels, items, labelers}``; or ``labels``,
        ``items``, ``labelers`` for both, with ``history_rounds`` and ``current_rounds``. How they
        are read: ``covariates``, ``columns``, ``positive``, ``negative``, ``abstain``,
        ``repeats``, ``unlabeled``, as in ``hb.Labels.from_csv``.
        ``[model]``: ``name``, ``mode``, ``posterior``, ``random_seed`` (1), ``draws``, ``tune``,
        ``chains``, ``cores`` and a table ``priors``, as in ``hb.fit``.
        ``[adjust]``: ``enabled`` (true), ``covariates`` (all declared), ``ridge``, ``shrink``.
        ``[[rule]]``: fields of ``hb.Rule``, one table a rule; or ``rule``, a list of rules as text.
        ``[sensitivity]``: ``enabled`` (true), ``grid``, ``drift_sd``, ``draws``.
        ``[output]``: ``folder`` ("out").

    Returns
    -------
    Config

    Raises
    ------
    DataError
        If the file cannot be read; or with every problem found in it.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "release.toml"
    ...     _ = path.write_text('rule = "P(prevalence <= 0.05) >= 0.95"\n[data]\nhistory = "h.csv"')
    ...     try:
    ...         read_config(path)
    ...     except DataError as error:
    ...         print(str(error).count("\n"), "problems")
    2 problems
    """
    source = Path(path)
    try:
        raw = source.read_bytes()
        content = tomllib.loads(raw.decode("utf-8"))
    except (FileNotFoundError, IsADirectoryError) as error:
        other = Path(f"{source}.toml")
        remedy = f"there is {str(other)!r}" if other.is_file() else "hero-bayes init writes one"
        raise DataError(f"there is no file {str(source)!r}; {remedy}") from error
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{source} cannot be read: {error}") from error
    except tomllib.TOMLDecodeError as error:
        raise DataError(f"{source} is not TOML: {error}") from error
    try:
        return config_from_mapping(content, source.parent, hashlib.sha256(raw).hexdigest())
    except DataError as error:
        raise DataError(f"{source}: {error}") from error


def config_from_mapping(
    content: Mapping[str, Any], base: Path = Path(), sha256: str = ""
) -> Config:
    """Make a config of the content of a TOML file; see `read_config`.

    Parameters
    ----------
    content : mapping
    base : Path
        The folder that paths are relative to.
    sha256 : str
        Of the file.

    Raises
    ------
    DataError
        With every problem found.
    """
    problems: list[str] = []
    top = Fields(content, "", problems)
    for key in content:
        if key not in TABLES:
            problems.append(f"unknown table or key {key!r}; known are {', '.join(TABLES)}")
    data = read_data(top.table("data"), base)
    model = read_model(top.table("model"))
    adjust = read_adjust(top.table("adjust"), data)
    rule = read_rule(content.get("rule"), adjust, problems)
    sensitivity = read_sensitivity(top.table("sensitivity"))
    output = top.table("output")
    output.know(("folder",))
    folder = base / (output.text("folder") or FOLDER)
    if problems or data is None or rule is None:
        raise DataError("\n  - ".join(["the run cannot be made:", *dict.fromkeys(problems)]))
    return Config(data, model, adjust, rule, sensitivity, folder, sha256)
