"""The built distributions are complete and import without the checkout."""

import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def dist(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    return folder


@pytest.fixture(scope="module")
def wheel(dist):
    (path,) = dist.glob("*.whl")
    return path


def _files(folder, pattern):
    return {path.relative_to(ROOT).as_posix() for path in folder.rglob(pattern)}


def _models():
    return {f"hero_bayes/{name}" for name in _files(ROOT / "models", "*.py")}


def test_wheel_holds_the_package_the_models_and_the_data(wheel):
    names = set(zipfile.ZipFile(wheel).namelist())
    expected = _files(ROOT / "hero_bayes", "*.py") | _files(ROOT / "hero_bayes", "*.parquet")
    assert "hero_bayes/py.typed" in names
    assert (expected | _models()) - names == set()
    assert {name.split("/")[0] for name in names if "dist-info" not in name} == {"hero_bayes"}


def test_sdist_holds_the_models_behind_the_link(dist):
    (path,) = dist.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert (_models() | {"pyproject.toml", "LICENSE", "README.md"}) - names == set()


def test_models_import_from_the_unpacked_wheel(wheel, tmp_path):
    unpacked = tmp_path / "unpacked"
    zipfile.ZipFile(wheel).extractall(unpacked)
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]);"
        "import hero_bayes.models as models; print(models.__file__)"
    )
    command = [sys.executable, "-I", "-c", code, str(unpacked)]
    run = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True)
    assert Path(run.stdout.strip()).is_relative_to(unpacked)
