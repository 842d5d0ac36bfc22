"""Work in several processes, which end with the work."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

__all__ = ["in_parallel"]


def in_parallel(
    function: Callable[..., Any], tasks: Iterable[tuple[Any, ...]], jobs: int
) -> Iterator[Any]:
    """Results of ``function(*task)`` as they come, from so many worker processes.

    Workers are not kept for the next study: one that goes idle may time out just as new work is
    handed to it, and then everything waits for ever.
    """
    from joblib import Parallel, delayed  # type: ignore[import-untyped]
    from joblib.externals.loky import get_reusable_executor  # type: ignore[import-untyped]

    workers = Parallel(n_jobs=jobs, return_as="generator_unordered")
    try:
        yield from workers(delayed(function)(*task) for task in tasks)
    finally:
        get_reusable_executor().shutdown(wait=True)
