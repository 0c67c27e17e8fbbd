"""Who works in parallel: BLAS alone, or several threads of ours with one BLAS thread each, but never both at once."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any, TypeVar

from threadpoolctl import ThreadpoolController

Job = TypeVar("Job")

_lock = Lock()
_users: list[int] = []
_limits: list[Any] = []


@cache
def controller() -> ThreadpoolController:
    """Looking for the libraries takes milliseconds, so it is done once; all that matter here are loaded with scikit-learn."""
    return ThreadpoolController()


@contextmanager
def one_product_thread() -> Iterator[None]:
    """While anybody is inside, BLAS uses one thread in this process; the last one out restores what the first one found.

    The number of threads belongs to the process, so that two who each restored what they found would leave it at one.
    """
    with _lock:
        _users.append(1)
        if len(_users) == 1:
            _limits.append(controller().limit(limits=1, user_api="blas"))
    try:
        yield
    finally:
        with _lock:
            _users.pop()
            if not _users:
                _limits.pop().restore_original_limits()


def available_threads() -> int:
    """As many threads as BLAS may use now, on the cores that this process has: so whoever limits BLAS limits us too."""
    allowed = max((library.num_threads for library in controller().lib_controllers if library.user_api == "blas"), default=1)
    affinity = getattr(os, "sched_getaffinity", None)  # not on every system
    return max(1, min(allowed, len(affinity(0)) if affinity else os.cpu_count() or 1))


def in_threads(work: Callable[[Iterator[Job]], None], jobs: Iterable[Job], n_threads: int) -> None:
    """Call `work` in several threads at once with one list of jobs, from which each takes the next when it is free.

    Meanwhile BLAS uses one thread in each; also where there is one of ours, because then the work is little.
    """
    with one_product_thread():
        if n_threads == 1:
            work(iter(jobs))
            return
        queue = _Queue(jobs)

        def work_or_stop() -> None:
            try:
                work(queue)
            finally:  # after an error nobody begins anything new
                queue.close()

        with ThreadPoolExecutor(n_threads) as pool:
            try:
                for done in [pool.submit(work_or_stop) for _ in range(n_threads)]:
                    done.result()
            finally:  # nor after an interruption
                queue.close()


class _Queue(Iterator[Job]):
    """An iterator that several threads may ask."""

    def __init__(self, jobs: Iterable[Job]) -> None:
        self._jobs, self._lock = iter(jobs), Lock()

    def __next__(self) -> Job:
        with self._lock:
            return next(self._jobs)

    def close(self) -> None:
        """From now on there is nothing left to do."""
        with self._lock:
            self._jobs = iter(())
