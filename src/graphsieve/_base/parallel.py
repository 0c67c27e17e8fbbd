"""Apply a function to many items in several processes, and keep the order of the items."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from typing import Any

from joblib import Parallel, delayed, effective_n_jobs
from joblib.parallel import get_active_backend

from graphsieve._base.errors import LostProcessError
from graphsieve._base.parameters import boolean, either, jobs
from graphsieve._base.progress import Progress
from graphsieve._base.warning_filters import warnings_ignored

# joblib replaces worker processes that hold much memory or have been idle for long. It warns about
# this in a separate thread. The warning is not useful. If warnings are errors, it would end that
# thread, and the work would never finish.
REPLACED = "A worker stopped while some jobs were given to the executor"


def in_parallel(
    function: Callable[..., Any],
    items: Iterable[tuple[Any, ...]],
    *,
    title: str,
    n_jobs: int | None = None,
    progress: bool | None = None,
) -> list[Any]:
    """Return ``[function(*item) for item in items]``, and show the progress on the terminal.

    The result does not depend on `n_jobs`. If `function` is random, each item must contain its own
    seed. None means one process. Negative numbers have the same meaning as in joblib: -1 uses all
    cores.
    """
    n_jobs, progress = jobs()("n_jobs", n_jobs), either(None, boolean())("progress", progress)
    arguments: Sequence[tuple[Any, ...]] = list(items)
    results: list[Any] = []
    with Progress(title, progress) as shown, warnings_ignored(REPLACED, UserWarning):
        try:
            for result in _results(function, arguments, n_jobs):
                results.append(result)
                shown.tell(f"{len(results)} of {len(arguments)}")
        except BrokenProcessPool:
            raise LostProcessError(
                f"{title}: a worker process was killed, perhaps because memory ran out; use fewer "
                "processes."
            ) from None
    return results


def _results(
    function: Callable[..., Any], arguments: Sequence[tuple[Any, ...]], n_jobs: int | None
) -> Iterator[Any]:
    if n_jobs is None or n_jobs == 1 or len(arguments) < 2:
        return (function(*one) for one in arguments)
    # Further processes would be started but have nothing to do.
    n_useful = min(effective_n_jobs(n_jobs), len(arguments))
    # The active joblib backend may return all results at the same time, as "multiprocessing" does.
    one_by_one = getattr(get_active_backend()[0], "supports_return_generator", False)
    parallel = Parallel(n_jobs=n_useful, return_as="generator" if one_by_one else "list")
    running: Iterator[Any] = iter(parallel(delayed(function)(*one) for one in arguments))
    return running
