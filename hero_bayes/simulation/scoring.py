"""Bias, spread and error of estimates against E[y], each with its Monte-Carlo error."""

import os
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

if TYPE_CHECKING:
    import pandas as pd

    from hero_bayes.simulation.study import Study

__all__ = ["rmse_difference", "score", "score_table", "sd_difference", "write_table"]

BASELINE = "majority_vote"
DIGITS = "%.6g"

FloatArray = NDArray[np.float64]


def score(error: ArrayLike) -> dict[str, float]:
    """Bias, SD and RMSE of repeated errors, with Monte-Carlo standard errors.

    Parameters
    ----------
    error : array (repetition)
        Estimate minus truth.

    Returns
    -------
    dict
        ``bias, abs_bias, sd, rmse`` and ``bias_mc_error, sd_mc_error, rmse_mc_error``.

    Notes
    -----
    The SD has divisor B, so that RMSE^2 = bias^2 + SD^2. Errors of SD and RMSE are by the delta
    method from the spread of the squared (centred) errors.

    Examples
    --------
    >>> found = score([0.1, -0.1, 0.1, -0.1])
    >>> round(found["bias"], 12), round(found["sd"], 12), round(found["rmse"], 12)
    (0.0, 0.1, 0.1)
    """
    values = np.asarray(error, dtype=float)
    size = values.size
    bias, sd = float(values.mean()), float(values.std())
    rmse = float(np.sqrt(np.mean(values**2)))
    return {
        "bias": bias,
        "bias_mc_error": sd / np.sqrt(size),
        "abs_bias": abs(bias),
        "sd": sd,
        "sd_mc_error": float(_root_influence(values - bias).std() / np.sqrt(size)),
        "rmse": rmse,
        "rmse_mc_error": float(_root_influence(values).std() / np.sqrt(size)),
    }


def rmse_difference(first: ArrayLike, second: ArrayLike) -> tuple[float, float]:
    """RMSE of the first minus that of the second on the same repetitions, and its error.

    Parameters
    ----------
    first, second : array (repetition)
        Errors of two methods on the same simulated rounds.

    Examples
    --------
    >>> difference, mc_error = rmse_difference([0.2, -0.2], [0.1, -0.1])
    >>> round(difference, 12), mc_error
    (0.1, 0.0)
    """
    one, two = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    return _difference(one, two)


def sd_difference(first: ArrayLike, second: ArrayLike) -> tuple[float, float]:
    """SD of the first minus that of the second on the same repetitions, and its error.

    Parameters
    ----------
    first, second : array (repetition)
        Errors, or estimates, of two methods on the same simulated rounds.

    Examples
    --------
    >>> difference, mc_error = sd_difference([0.3, 0.1], [0.2, 0.2])
    >>> round(difference, 12)
    0.1
    """
    one, two = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    return _difference(one - one.mean(), two - two.mean())


def _root_influence(values: FloatArray) -> FloatArray:
    """What each repetition adds to the root of the mean square."""
    root = np.sqrt(np.mean(values**2))
    return np.asarray(values**2 / (2 * root) if root > 0 else np.zeros_like(values))


def _difference(one: FloatArray, two: FloatArray) -> tuple[float, float]:
    roots = np.sqrt(np.mean(one**2)) - np.sqrt(np.mean(two**2))
    spread = (_root_influence(one) - _root_influence(two)).std()
    return float(roots), float(spread / np.sqrt(one.size))


def score_table(estimates: "pd.DataFrame", study: "Study") -> "pd.DataFrame":
    """One row a setting and method.

    Parameters
    ----------
    estimates : DataFrame
        As in `StudyResult`.
    study : Study
        What was run.

    Returns
    -------
    DataFrame
        ``setting``, the scenario fields that differ, ``method, repetitions, refused``, the scores,
        ``coverage_95`` of E[y], ``rmse_ratio`` to the majority vote, and ``behind_best``: how many
        Monte-Carlo errors the method's RMSE lies above the best one's, on the same repetitions.
    """
    import pandas as pd

    rows: list[dict[str, Any]] = []
    for position, setting in enumerate(study.settings):
        cell = estimates[estimates["position"] == position]
        errors = _errors(cell, study.methods)
        scores = {
            method: score(error.dropna()) for method, error in errors.items() if error.notna().any()
        }
        best = min(scores, key=lambda method: scores[method]["rmse"]) if scores else None
        for method in errors:
            part = cell[cell["method"] == method]
            answered = errors[method].dropna()
            row: dict[str, Any] = {"setting": setting.name}
            row |= {name: getattr(setting.scenario, name) for name in study.varied}
            row |= {
                "method": method,
                "repetitions": len(answered),
                "refused": len(part) - len(answered),
            }
            row |= scores.get(method, {})
            row["coverage_95"] = _coverage(part)
            if method in scores and BASELINE in scores:
                row["rmse_ratio"] = scores[method]["rmse"] / scores[BASELINE]["rmse"]
            if method in scores and best is not None:
                row["behind_best"] = _behind(errors[method], errors[best])
            rows.append(row)
    return pd.DataFrame(rows)


def _errors(cell: "pd.DataFrame", methods: tuple[str, ...]) -> "dict[str, pd.Series[float]]":
    """Errors by repetition of each method that was run in this setting."""
    found = {}
    for method in methods:
        part = cell[cell["method"] == method].set_index("repetition")
        if len(part):
            found[method] = part["estimate"] - part["prevalence"]
    return found


def _coverage(part: "pd.DataFrame") -> float:
    known = part.dropna(subset=["lower", "upper"])
    if not len(known):
        return float("nan")
    inside = (known["lower"] <= known["prevalence"]) & (known["prevalence"] <= known["upper"])
    return float(inside.mean())


def _behind(error: "pd.Series[float]", best: "pd.Series[float]") -> float:
    """Distance to the best method in Monte-Carlo errors, on the repetitions both answered."""
    shared = error.dropna().index.intersection(best.dropna().index)
    difference, mc_error = rmse_difference(error.loc[shared], best.loc[shared])
    return difference / mc_error if mc_error > 0 else 0.0


def write_table(
    table: "pd.DataFrame", path: str | os.PathLike[str], overwrite: bool = False
) -> Path:
    """Write a table as CSV, whole or not at all.

    Parameters
    ----------
    table : DataFrame
        What to write; six significant digits.
    path : path
        Where to; its folder must exist.
    overwrite : bool
        Whether an existing file may be replaced.

    Returns
    -------
    Path
        The file written.

    Raises
    ------
    FileExistsError
        If the file exists and ``overwrite`` is False.
    FileNotFoundError
        If the folder does not exist.

    Examples
    --------
    >>> import pandas as pd, pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = write_table(pd.DataFrame({"rmse": [0.1]}), pathlib.Path(folder) / "table.csv")
    ...     path.read_text().split()
    ['rmse', '0.1']
    """
    target = Path(path)
    if target.exists() and not overwrite:
        raise FileExistsError(f"{target} exists; pass overwrite=True to replace it")
    if not target.parent.is_dir():
        raise FileNotFoundError(f"no folder {target.parent}; make it first")
    with TemporaryDirectory(dir=target.parent, prefix=".hero_bayes_") as folder:
        partial = Path(folder) / target.name
        table.to_csv(partial, index=False, float_format=DIGITS)
        os.replace(partial, target)
    return target
