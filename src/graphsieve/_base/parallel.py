"""The same work on many items, by several processes, in the order of the items."""

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

# joblib ends processes that hold much memory, or have waited long, starts others, and warns of that
# in a thread of its own. Nobody needs to hear of it, and where warnings are errors, it would end
# that thread, and the work would never come to its end.
REPLACED = "A worker stopped while some jobs were given to the executor"


def in_parallel(
    function: Callable[..., Any],
    items: Iterable[tuple[Any, ...]],
    *,
    title: str,
    n_jobs: int | None = None,
    progress: bool | None = None,
) -> list[Any]:
    """``[function(*item) for item in items]`` with a line on the terminal about how far it has
    come.

    The result does not depend on `n_jobs`: whoever needs chance passes a seed of its own with each
    item. None is one process, a negative number is as in joblib, where -1 means all cores.
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
                f"{title}: one of the processes was killed, perhaps for want of memory; use fewer "
                "of them."
            ) from None
    return results


def _results(
    function: Callable[..., Any], arguments: Sequence[tuple[Any, ...]], n_jobs: int | None
) -> Iterator[Any]:
    if n_jobs is None or n_jobs == 1 or len(arguments) < 2:
        return (function(*one) for one in arguments)
    # More would be started, and have nothing to do
    n_useful = min(effective_n_jobs(n_jobs), len(arguments))
    # Somebody may have told joblib to use a backend that gives all results at once, such as
    # "multiprocessing".
    one_by_one = getattr(get_active_backend()[0], "supports_return_generator", False)
    parallel = Parallel(n_jobs=n_useful, return_as="generator" if one_by_one else "list")
    running: Iterator[Any] = iter(parallel(delayed(function)(*one) for one in arguments))
    return running
