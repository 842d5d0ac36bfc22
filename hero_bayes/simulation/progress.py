"""Progress of a study: a bar on a terminal, plain lines elsewhere, on standard error."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["progress"]


@contextmanager
def progress(enabled: bool, total: int, name: str) -> Iterator[Callable[[int], None]]:
    """Yield a function to call with the number of repetitions just done.

    Parameters
    ----------
    enabled : bool
        False shows nothing.
    total : int
        Repetitions of the whole study.
    name : str
        What is running.
    """
    if not enabled:
        yield lambda done: None
        return
    if not sys.stderr.isatty():
        yield _plain_lines(total, name)
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
    from rich.progress import TimeRemainingColumn as Remaining

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), Remaining())
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(name, total=total)
        yield lambda done: bar.advance(task, done)


def _plain_lines(total: int, name: str) -> Callable[[int], None]:
    """One line a tenth of the way."""
    print(f"{name}: {total:,} repetitions", file=sys.stderr, flush=True)
    finished, told = [0], [0]

    def report(done: int) -> None:
        finished[0] += done
        tenth = 10 * finished[0] // total
        if tenth > told[0]:
            told[0] = tenth
            print(f"{name}: {10 * tenth} %", file=sys.stderr, flush=True)

    return report
