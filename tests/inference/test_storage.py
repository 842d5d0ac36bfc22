"""Fits on disk: whole or not at all."""

import numpy as np
import pytest
import xarray as xr
from toy import simulate
from wiring import prior_draws

import hero_bayes as hb


@pytest.fixture(scope="module")
def fitted():
    patch = pytest.MonkeyPatch()
    patch.setattr("hero_bayes.inference.fit.sample", prior_draws)
    rounds = simulate(91, n_history=20, n_current=10, n_labelers=3, labels_per_item=2).rounds
    tree = hb.fit(
        *rounds, model="hero", draws=6, tune=1, chains=2, random_seed=1, progressbar=False
    )
    patch.undo()
    return tree


def test_round_trip(fitted, tmp_path):
    path = hb.save(fitted, tmp_path / "fit.nc")
    again = hb.load(path)
    assert set(again.children) == set(fitted.children)
    for name in fitted.children:
        xr.testing.assert_equal(again[name].to_dataset(), fitted[name].to_dataset())
    assert {k: str(v) for k, v in again.attrs.items()} == {
        k: str(v) for k, v in fitted.attrs.items()
    }
    path.unlink()  # the file is closed
    assert np.isfinite(again["posterior"]["prevalence"]).all()


def test_nothing_is_overwritten_unasked(fitted, tmp_path):
    path = tmp_path / "fit.nc"
    path.write_text("mine")
    with pytest.raises(FileExistsError, match="overwrite=True"):
        hb.save(fitted, path)
    assert path.read_text() == "mine"
    hb.save(fitted, path, overwrite=True)
    assert hb.load(path).attrs["model"] == "hero"
    assert [p.name for p in tmp_path.iterdir()] == ["fit.nc"]


@pytest.mark.parametrize("exists", [False, True])
def test_failed_writing_leaves_nothing_partial(fitted, tmp_path, monkeypatch, exists):
    path = tmp_path / "fit.nc"
    if exists:
        path.write_text("mine")

    def fail(self, target, **options):
        target.write_bytes(b"half")
        raise OSError("disk full")

    monkeypatch.setattr(xr.DataTree, "to_netcdf", fail)
    with pytest.raises(OSError, match="disk full"):
        hb.save(fitted, path, overwrite=True)
    assert [p.name for p in tmp_path.iterdir()] == (["fit.nc"] if exists else [])
    if exists:
        assert path.read_text() == "mine"


def test_missing_folder_and_foreign_files(fitted, tmp_path):
    with pytest.raises(FileNotFoundError, match="no folder"):
        hb.save(fitted, tmp_path / "none" / "fit.nc")
    with pytest.raises(hb.DataError, match="no file"):
        hb.load(tmp_path / "none.nc")
    (tmp_path / "text.nc").write_text("not a fit")
    with pytest.raises(hb.DataError, match="not a NetCDF file"):
        hb.load(tmp_path / "text.nc")
    xr.DataTree.from_dict({"a": xr.Dataset({"x": 1})}).to_netcdf(
        tmp_path / "other.nc", engine="h5netcdf"
    )
    with pytest.raises(hb.DataError, match="no fit"):
        hb.load(tmp_path / "other.nc")
