"""Control of parallel threads.

Either BLAS uses several threads, or graphsieve starts several threads with one BLAS thread each.
The two are never combined.
"""

from __future__ import annotations

import os
from _thread import start_new_thread
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from threading import Condition, Lock
from typing import Any, Generic, TypeVar

from threadpoolctl import ThreadpoolController

from graphsieve._base.locks import process_lock

Job = TypeVar("Job")

_lock = process_lock()
_limits: list[tuple[int, int]] = []  # process and number of threads, for each active limit
_original: list[Any] = []  # the setting before the first limit


@cache
def controller() -> ThreadpoolController:
    """Return the controller of the BLAS and OpenMP libraries.

    The search for these libraries takes milliseconds, so it runs only once. All relevant libraries
    are loaded together with scikit-learn.
    """
    return ThreadpoolController()


@contextmanager
def at_most(n_threads: int) -> Iterator[None]:
    """Limit the number of BLAS threads within the block.

    If several threads set a limit, the strictest one applies. The last block to end restores the
    original number. The number belongs to the process. If each block restored the number that it
    found, overlapping blocks could leave a wrong number behind.
    """
    here = os.getpid()
    with _lock:
        # Drop the limits of threads that existed before this process was forked. They do not exist
        # here, so they cannot restore anything.
        _change([limit for limit in _limits if limit[0] == here])
        _change([*_limits, (here, n_threads)])
    try:
        yield
    finally:
        with _lock:
            rest = _limits.copy()
            rest.remove((here, n_threads))
            _change(rest)


def _change(limits: list[tuple[int, int]]) -> None:
    if limits == _limits:
        return
    before, after = (
        min((number for _, number in some), default=None) for some in (_limits, limits)
    )
    _free_control()
    if after is None:
        _original.pop().restore_original_limits()
    elif before is None:
        _original.append(controller().select(user_api="blas").limit(limits=after))
    elif after != before:
        controller().select(user_api="blas").limit(limits=after)
    _free_control()
    _limits[:] = limits


def _free_control() -> None:
    """Let any thread change the limits.

    Since version 3.8, threadpoolctl ignores all threads except the first that sets a limit, even if
    this thread never restores it.
    """
    for library in controller().lib_controllers:
        free = getattr(library, "clear_controlling_thread", None)
        if free is not None:
            free(force=True)


def one_product_thread() -> AbstractContextManager[None]:
    """Limit BLAS to one thread within the block, in the whole process."""
    return at_most(1)


@contextmanager
def one_thread() -> Iterator[None]:
    """Limit BLAS and the OpenMP loops of scikit-learn to one thread within the block.

    The BLAS limit affects the whole process, the OpenMP limit only the current thread. The order of
    summation depends on the number of threads. Without the limit, rounding errors could therefore
    change the order of equidistant samples, or the cluster of a sample between two centres.
    """
    with one_product_thread(), controller().select(user_api="openmp").limit(limits=1):
        yield


@contextmanager
def at_most_jobs(n_jobs: int | None) -> Iterator[None]:
    """Limit the number of threads of graphsieve, BLAS and OpenMP within the block.

    The numbers are never multiplied with each other. As in scikit-learn, None changes nothing, -1
    means all cores available to this process, and -2 all but one. Stricter limits set by
    threadpoolctl, OMP_NUM_THREADS or the workers of joblib remain in force.
    """
    if n_jobs is None:
        yield
        return
    wanted = n_jobs if n_jobs > 0 else max(1, cores() + 1 + n_jobs)
    wanted = min(wanted, available_threads())
    loops = [library for library in controller().lib_controllers if library.user_api == "openmp"]
    allowed = min((library.num_threads for library in loops), default=wanted)
    # The OpenMP limit applies to the current thread only.
    with (
        at_most(wanted),
        controller().select(user_api="openmp").limit(limits=min(wanted, allowed)),
    ):
        yield


def cores() -> int:
    """Number of cores that this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)  # not available on every system
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def available_threads() -> int:
    """Number of threads that BLAS may currently use, at most the number of available cores.

    A limit on the BLAS threads therefore also limits the threads of graphsieve.
    """
    allowed = max(
        (
            library.num_threads
            for library in controller().lib_controllers
            if library.user_api == "blas"
        ),
        default=1,
    )
    return max(1, min(allowed, cores()))


def in_threads(work: Callable[[Iterator[Job]], None], jobs: Iterable[Job], n_threads: int) -> None:
    """Call `work` in several threads, which take their jobs from one shared iterator.

    BLAS uses one thread in each of them. This also applies to a single thread, because there is
    little work then.
    """
    with one_product_thread():
        if n_threads == 1:
            work(iter(jobs))
            return
        queue = _Queue(jobs)
        helpers = _Helpers(work, queue)
        try:
            helpers.call(n_threads - 1)
            work(queue)
        finally:  # After an error or an interruption, no thread starts a new job.
            queue.close()
            helpers.wait()
        helpers.check()


class _Helpers(Generic[Job]):
    """Threads that share the work of the calling thread. The work also succeeds without them.

    If memory is short, a thread may fail to start or die before its first instruction.
    `Thread.start` would then wait forever. Therefore `wait` only waits for threads that have begun
    to work.
    """

    def __init__(self, work: Callable[[Iterator[Job]], None], queue: _Queue[Job]) -> None:
        self._work, self._queue = work, queue
        self._errors: list[BaseException] = []
        self._change = Condition()
        self._busy, self._closed = 0, False

    def call(self, n_threads: int) -> None:
        """Start at most this number of threads. Fewer start if memory is short."""
        for _ in range(n_threads):
            try:
                start_new_thread(self._help, ())
            except (RuntimeError, MemoryError):
                return

    def _help(self) -> None:
        with self._change:
            if self._closed:
                return
            self._busy += 1
        try:
            self._work(self._queue)
        except BaseException as error:
            self._errors.append(error)
        finally:
            self._queue.close()
            with self._change:
                self._busy -= 1
                self._change.notify_all()

    def wait(self) -> None:
        """Wait until all threads have finished. A thread that starts later returns immediately."""
        with self._change:
            self._closed = True
            self._change.wait_for(lambda: not self._busy)

    def check(self) -> None:
        """Raise the first error of these threads, if there is one."""
        if self._errors:
            raise self._errors[0]


class _Queue(Iterator[Job]):
    """An iterator that several threads can share."""

    def __init__(self, jobs: Iterable[Job]) -> None:
        self._jobs, self._lock = iter(jobs), Lock()

    def __next__(self) -> Job:
        with self._lock:
            return next(self._jobs)

    def close(self) -> None:
        """Drop the remaining jobs."""
        with self._lock:
            self._jobs = iter(())
