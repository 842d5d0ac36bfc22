import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from hero_bayes.pipeline import files
from hero_bayes.pipeline.files import FILES, folder_problem, write_run
from hero_bayes.pipeline.workspace import home_of, locked, workspace

HERE = Path(__file__).parent
#: What a run leaves whose rule compares no arms.
WITHOUT_ARMS = sorted(set(FILES) - {"arms.csv"})


def test_folders_that_cannot_be_written_are_named_before_work(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "gone")
    (tmp_path / "file").write_text("x")
    (tmp_path / "used").mkdir()
    (tmp_path / "used" / "notes.txt").write_text("x")
    (tmp_path / "odd" / "posterior.nc").mkdir(parents=True)
    (tmp_path / "empty").mkdir()
    own = tmp_path / "used" / "estimates.csv"
    for name, overwrite, said in (
        ("link", True, "a link to nothing"),
        ("file", True, "that is a file"),
        ("no/where", True, "there is no folder"),
        ("used", False, "not empty; add --overwrite"),
        ("odd", True, "posterior.nc in it is a folder"),
        ("used", True, None),
        ("empty", False, None),
        ("new", False, None),
    ):
        problem = folder_problem(tmp_path / name, overwrite)
        assert (said is None and problem is None) or said in problem
    assert "its own input" in folder_problem(tmp_path / "used", True, [own])
    (tmp_path / "alias").symlink_to(tmp_path / "used")
    assert "its own input" in folder_problem(tmp_path / "alias", True, [own])


def test_a_new_folder_holds_all_files(result, tmp_path):
    document = write_run(result, tmp_path / "out")
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == WITHOUT_ARMS
    assert json.loads((tmp_path / "out" / "decision.json").read_text()) == document
    assert [p.name for p in tmp_path.iterdir()] == ["out"]
    with pytest.raises(FileExistsError, match="not empty"):
        write_run(result, tmp_path / "out")


def test_what_samplers_note_of_times_is_left_out(result):
    timed = result.fit.copy()
    stats = {
        "perf_counter_diff": (("chain", "draw"), np.zeros((4, 2))),
        "energy": ("chain", np.zeros(4)),
    }
    timed["sample_stats"] = xr.DataTree(xr.Dataset(stats, attrs={"created_at": "now", "kind": "x"}))
    kept = files.without_clock(timed)
    assert list(kept["sample_stats"].data_vars) == ["energy"]
    assert kept["sample_stats"].attrs == {"kind": "x"}
    assert "created_at" in timed["sample_stats"].attrs
    xr.testing.assert_identical(kept["posterior"].to_dataset(), timed["posterior"].to_dataset())
    assert kept.attrs == result.fit.attrs


def test_what_is_not_a_run_s_stays_and_what_is_old_goes(result, tmp_path):
    from dataclasses import replace

    folder = tmp_path / "out"
    folder.mkdir()
    before = folder.stat().st_ino
    write_run(result, folder)
    (folder / "notes.txt").write_text("mine")
    (folder / "estimates.csv").write_text("old")
    shorter = replace(result, sweep=None, sweep_missing="left out")
    document = write_run(shorter, folder, overwrite=True)
    names = {p.name for p in folder.iterdir()}
    assert names == {*WITHOUT_ARMS, "notes.txt"} - {"sensitivity.csv", "tipping_points.csv"}
    assert files.sha256_of(folder / "estimates.csv") == document["files"]["estimates.csv"]
    assert folder.stat().st_ino == before


def test_decision_is_last_and_the_old_one_goes_first(result, tmp_path, monkeypatch):
    folder = tmp_path / "out"
    write_run(result, folder)
    moved = []
    real = os.replace

    def watched(source, target):
        if Path(target).parent == folder:
            moved.append((Path(target).name, (folder / "decision.json").exists()))
        real(source, target)

    monkeypatch.setattr(os, "replace", watched)
    write_run(result, folder, overwrite=True)
    assert [name for name, _ in moved] == [name for name in FILES if name != "arms.csv"]
    assert not any(there for _, there in moved)


def test_killed_at_any_moment_nothing_is_half_written(configure, tables, tmp_path):
    """Every step of the move, and random moments; the killed writers' leftovers go later."""
    configure()
    line = [sys.executable, HERE / "killing.py", tables / "release.toml", tmp_path / "out"]
    done = subprocess.run(
        list(map(str, line)),
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    assert seen["steps"] > len(FILES)
    assert seen["left"] > 0
    assert seen["decision"] > 0
    assert seen["none"] >= len(WITHOUT_ARMS) - 1


def test_a_workspace_that_is_in_use_is_left_alone(tmp_path):
    target = tmp_path / "out[1]"
    (tmp_path / ".out[1].partial_dead").mkdir()
    with workspace(target) as first, workspace(target) as second:
        assert first.is_dir()
        assert second.is_dir()
        assert not (tmp_path / ".out[1].partial_dead").exists()
        with pytest.raises(BlockingIOError), locked(first, wait=False):
            pass
    assert not list(tmp_path.iterdir())


def test_a_mounted_folder_is_written_from_inside(tmp_path, monkeypatch):
    (tmp_path / "out").mkdir()
    assert home_of(tmp_path / "out") == tmp_path
    assert home_of(tmp_path / "new") == tmp_path
    monkeypatch.setattr(os.path, "ismount", lambda path: True)
    assert home_of(tmp_path / "out") == tmp_path / "out"


def test_files_of_a_mounted_folder(result, tmp_path, monkeypatch):
    (tmp_path / "out").mkdir()
    monkeypatch.setattr(os.path, "ismount", lambda path: True)
    write_run(result, tmp_path / "out")
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == WITHOUT_ARMS
