"""A folder beside a target in which files are made before they are moved there."""

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from shutil import rmtree
from tempfile import TemporaryDirectory

__all__ = ["flush", "locked", "workspace"]


@contextmanager
def workspace(target: Path) -> Iterator[Path]:
    """Make a folder on the target's file system; it is removed afterwards.

    Beside the target where that can be written; inside it if the target is a mounted folder. What
    a killed run left behind is removed first: its owner no longer holds the lock.
    """
    home = home_of(target)
    prefix = f".{target.name}.partial_"
    with ExitStack() as held:
        with locked(home):
            for left in [path for path in home.iterdir() if path.name.startswith(prefix)]:
                with suppress(OSError), locked(left, wait=False):
                    rmtree(left)
            made = TemporaryDirectory(dir=home, prefix=prefix, ignore_cleanup_errors=True)
            work = Path(held.enter_context(made))
            held.enter_context(locked(work))
        yield work


def home_of(target: Path) -> Path:
    """Where files can be made and then moved to the target without copying."""
    beside = target.parent
    if not target.is_dir():
        return beside
    mounted = os.path.ismount(target) or target.stat().st_dev != beside.stat().st_dev
    return target if mounted or not os.access(beside, os.W_OK | os.X_OK) else beside


@contextmanager
def locked(folder: Path, wait: bool = True) -> Iterator[None]:
    """Hold a folder against other processes that ask for it; nothing on Windows.

    Raises
    ------
    OSError
        If somebody holds it and ``wait`` is False.
    """
    if sys.platform == "win32":
        if not wait:
            raise OSError("no locks")
        yield
        return
    import fcntl

    handle = os.open(folder, os.O_RDONLY)
    try:
        if wait:
            with suppress(OSError):  # a file system without locks
                fcntl.flock(handle, fcntl.LOCK_EX)
        else:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(handle)


def flush(paths: Sequence[Path]) -> None:
    """Bring files to the disk, so that a move cannot overtake their content."""
    for path in paths:
        with path.open("rb+") as stream:
            os.fsync(stream.fileno())
