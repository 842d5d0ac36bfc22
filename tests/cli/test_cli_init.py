import os
import tomllib

import pytest

from hero_bayes.pipeline.template import TEMPLATE


def test_init_writes_the_commented_config(cli, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = cli("init")
    assert done.code == 0, done.err
    text = (tmp_path / "hero_bayes.toml").read_text(encoding="utf-8")
    assert text == TEMPLATE
    content = tomllib.loads(text)
    assert list(content) == ["data", "model", "adjust", "rule", "sensitivity", "output"]
    assert "hero-bayes run hero_bayes.toml" in done.out


def test_init_never_overwrites_unasked(cli, tmp_path):
    path = tmp_path / "release.toml"
    path.write_text("mine")
    done = cli("init", path)
    assert done.code == 64
    assert "add --overwrite" in done.err
    assert path.read_text() == "mine"
    assert cli("init", path, "--overwrite").code == 0
    assert path.read_text() == TEMPLATE
    assert os.listdir(tmp_path) == ["release.toml"]


@pytest.mark.parametrize(("name", "said"), [(".", "is a folder"), ("no/x.toml", "no folder")])
def test_init_needs_a_file_in_a_folder(cli, tmp_path, name, said):
    done = cli("init", tmp_path / name)
    assert done.code == 64
    assert said in done.err


def test_what_init_writes_needs_file_names_alone(cli, files, tmp_path):
    """Nothing but the names of the files keeps `run` from starting."""
    path = tmp_path / "release.toml"
    cli("init", path)
    done = cli("run", path)
    assert done.code == 65
    lines = done.err.strip().split("\n  - ")[1:]
    assert len(lines) == 4
    assert all("there is no file" in line for line in lines)
