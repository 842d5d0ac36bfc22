"""The version is one number, and the lock is hashed and free of addresses."""

import re
from importlib.metadata import version
from pathlib import Path

import hero_bayes._version

ROOT = Path(__file__).resolve().parents[1]


def test_version_is_the_same_everywhere():
    expected = hero_bayes._version.__version__
    assert version("hero-bayes") == expected
    assert f"\nversion: {expected}\n" in (ROOT / "CITATION.cff").read_text()
    assert f"\n## [{expected}]" in (ROOT / "CHANGELOG.md").read_text()


def test_lock_is_hashed_and_names_no_address():
    lock = (ROOT / "requirements.lock").read_text()
    assert "://" not in lock
    requirements = re.split(r"^(?=[a-z0-9])", lock, flags=re.MULTILINE | re.IGNORECASE)[1:]
    assert len(requirements) > 50
    assert [entry.split()[0] for entry in requirements if "--hash=sha256:" not in entry] == []
