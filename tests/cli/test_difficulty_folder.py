"""Where the folder of ``hero-bayes difficulty`` may go."""

from types import SimpleNamespace

import numpy as np
import pandas as pd

from hero_bayes.cli import difficulty_files
from hero_bayes.difficulty.mapping import data_map
from hero_bayes.difficulty.review import review_list

COUNTS = pd.DataFrame({"prompt": [0, 1], "n_correct": [1, 2], "k": 3})


def test_folders_that_cannot_be_written_are_refused_before_work(cli, tmp_path):
    (tmp_path / "nowhere").symlink_to(tmp_path / "gone")
    (tmp_path / "out" / "summary.csv").mkdir(parents=True)
    for name, said in (("nowhere", "a link to nothing"), ("out", "summary.csv in it is a folder")):
        done = cli("difficulty", "none.csv", "--out", tmp_path / name, "--overwrite")
        assert done.code == 64
        assert said in done.err


def test_files_are_made_beside_what_a_link_leads_to(tmp_path, monkeypatch):
    far, near = tmp_path / "far", tmp_path / "near"
    (far / "out").mkdir(parents=True)
    near.mkdir()
    (near / "link").symlink_to(far / "out")
    asked = {}

    class Watched(difficulty_files.TemporaryDirectory):
        def __init__(self, **options):
            asked.update(options)
            super().__init__(**options)

    monkeypatch.setattr(difficulty_files, "TemporaryDirectory", Watched)
    prompts = data_map(COUNTS).assign(S=np.nan)
    found = SimpleNamespace(summary=prompts, prompts=prompts, review=review_list(COUNTS))
    difficulty_files.write_folder(found, near / "link")
    assert asked["dir"] == far
    assert (near / "link").is_symlink()
    assert (far / "out" / "summary.csv").exists()
