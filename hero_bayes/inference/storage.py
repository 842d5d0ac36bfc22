"""Fits on disk: one NetCDF file each, written whole or not at all."""

import os
from pathlib import Path
from tempfile import TemporaryDirectory

import xarray as xr

from hero_bayes.errors import DataError


def save(fit: xr.DataTree, path: str | os.PathLike[str], overwrite: bool = False) -> Path:
    """Write a fit to a NetCDF file.

    Parameters
    ----------
    fit : xarray.DataTree
        What ``hb.fit`` or ``hb.adjust`` returned.
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
    IsADirectoryError
        If ``path`` is a folder.
    FileNotFoundError
        If the folder does not exist.
    DataError
        If ``fit`` is no fit.

    Examples
    --------
    >>> import hero_bayes as hb, tempfile, pathlib
    >>> rounds = hb.datasets.demo_rounds()
    >>> fitted = hb.fit(rounds.history, rounds.current, model="hero", mode="map", random_seed=1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = hb.save(fitted, pathlib.Path(folder) / "posterior.nc")
    ...     again = hb.load(path)
    >>> again.attrs["model"]
    'hero'
    """
    if "posterior" not in getattr(fit, "children", ()) or "model" not in fit.attrs:
        raise DataError("only fits are saved: pass what hb.fit or hb.adjust returned")
    target = Path(path)
    if target.is_dir():
        raise IsADirectoryError(f"{target} is a folder; name a file in it, such as posterior.nc")
    if target.exists() and not overwrite:
        raise FileExistsError(f"{target} exists; pass overwrite=True to replace it")
    if not target.parent.is_dir():
        raise FileNotFoundError(f"no folder {target.parent}; make it first")
    with TemporaryDirectory(dir=target.parent, prefix=".hero_bayes_") as folder:
        partial = Path(folder) / "posterior.nc"
        fit.to_netcdf(partial, engine="h5netcdf")
        os.replace(partial, target)
    return target


def load(path: str | os.PathLike[str]) -> xr.DataTree:
    """Read a fit that ``hb.save`` wrote.

    Parameters
    ----------
    path : path

    Returns
    -------
    xarray.DataTree
        In memory; the file is closed.

    Raises
    ------
    DataError
        If there is no such file, or it holds no fit.
    """
    source = Path(path)
    if not source.is_file():
        raise DataError(f"no file {source}")
    try:
        tree = xr.load_datatree(source, engine="h5netcdf")
    except (OSError, ValueError) as error:
        raise DataError(f"{source} is not a NetCDF file: {error}") from error
    if "posterior" not in tree.children or "model" not in tree.attrs:
        raise DataError(f"{source} holds no fit of hero_bayes (no posterior group)")
    return tree
