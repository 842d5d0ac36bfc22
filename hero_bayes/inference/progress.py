"""Progress while a model compiles and samples: a bar on a terminal, plain lines elsewhere."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

Report = Callable[[list[Any]], None]


@contextmanager
def progress(enabled: bool, total: int) -> Iterator[Report | None]:
    """A callback for nutpie that reports draws done, or None when not asked for.

    Written to standard error, so that standard output stays clean for results.
    """
    if not enabled:
        yield None
        return
    if not sys.stderr.isatty():
        yield _plain_lines(total)
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f} %"),
    )
    with Progress(*columns, TimeElapsedColumn(), console=Console(stderr=True)) as bar:
        task = bar.add_task("compiling the model", total=total)

        def report(chains: list[Any]) -> None:
            done = sum(chain.finished_draws for chain in chains)
            diverged = sum(chain.divergences for chain in chains)
            text = f"sampling ({diverged} divergences)" if diverged else "sampling"
            bar.update(task, completed=done, description=text)

        yield report
        bar.update(task, completed=total)


def _plain_lines(total: int) -> Report:
    """One line a quarter of the way."""
    print("compiling the model", file=sys.stderr, flush=True)
    told = [0]

    def report(chains: list[Any]) -> None:
        quarter = 4 * sum(chain.finished_draws for chain in chains) // total
        if quarter > told[0]:
            told[0] = quarter
            print(f"sampling: {25 * quarter} %", file=sys.stderr, flush=True)

    return report
