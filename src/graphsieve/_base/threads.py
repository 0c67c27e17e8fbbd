"""Who works in parallel: BLAS alone, or several threads of ours with one BLAS thread each, but
never both at once.
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

from graphsieve._base.locks import lock_of_the_process

Job = TypeVar("Job")

_lock = lock_of_the_process()
_limits: list[tuple[int, int]] = []  # of everybody who is inside: the process, and how many threads
_found: list[Any] = []  # what the first of them found


@cache
def controller() -> ThreadpoolController:
    """Looking for the libraries takes milliseconds, so it is done once; all that matter here are
    loaded with scikit-learn.
    """
    return ThreadpoolController()


@contextmanager
def at_most(n_threads: int) -> Iterator[None]:
    """While anybody is inside, BLAS uses no more threads than the strictest allows; the last one
    out restores what was before.

    The number of threads belongs to the process, so that two who each restored what they found
    might leave it as it was not.
    """
    here = os.getpid()
    with _lock:
        # Threads that were inside when this process was forked are not in it, and will not restore
        # anything.
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
        _found.pop().restore_original_limits()
    elif before is None:
        _found.append(controller().select(user_api="blas").limit(limits=after))
    elif after != before:
        controller().select(user_api="blas").limit(limits=after)
    _free_control()
    _limits[:] = limits


def _free_control() -> None:
    """From 3.8 on, threadpoolctl ignores all threads but the first that sets a limit, also where
    that one does not restore it.
    """
    for library in controller().lib_controllers:
        free = getattr(library, "clear_controlling_thread", None)
        if free is not None:
            free(force=True)


def one_product_thread() -> AbstractContextManager[None]:
    """While anybody is inside, BLAS uses one thread in this process."""
    return at_most(1)


@contextmanager
def one_thread() -> Iterator[None]:
    """While inside, neither BLAS nor the loops of scikit-learn share out the work of this thread;
    other threads only have their products done by one as well.

    Several threads add up in an order of their own: samples at equal distance, or halfway between
    two clusters, would change sides with their number.
    """
    with one_product_thread(), controller().select(user_api="openmp").limit(limits=1):
        yield


@contextmanager
def at_most_jobs(n_jobs: int | None) -> Iterator[None]:
    """While inside, what we do uses so many threads: ours, those of BLAS and those of OpenMP, never
    one times the other.

    As in scikit-learn, None changes nothing, -1 is all cores that this process has, -2 all but one.
    Threads that somebody else forbids, by threadpoolctl, OMP_NUM_THREADS or as the workers of
    joblib do, stay forbidden.
    """
    if n_jobs is None:
        yield
        return
    wanted = n_jobs if n_jobs > 0 else max(1, cores() + 1 + n_jobs)
    wanted = min(wanted, available_threads())
    loops = [library for library in controller().lib_controllers if library.user_api == "openmp"]
    allowed = min((library.num_threads for library in loops), default=wanted)
    # OpenMP counts by thread
    with (
        at_most(wanted),
        controller().select(user_api="openmp").limit(limits=min(wanted, allowed)),
    ):
        yield


def cores() -> int:
    """The cores that this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)  # not on every system
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def available_threads() -> int:
    """As many threads as BLAS may use now, on the cores that this process has: so whoever limits
    BLAS limits us too.
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
    """Call `work` in several threads at once with one list of jobs, from which each takes the next
    when it is free.

    Meanwhile BLAS uses one thread in each; also where there is one of ours, because then the work
    is little.
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
        finally:  # after an error or an interruption nobody begins anything new
            queue.close()
            helpers.wait()
        helpers.check()


class _Helpers(Generic[Job]):
    """Threads that share the work of the one who calls them, and without whom it is done as well.

    Where memory is short, a thread may not start, or die before its first line; `Thread.start`
    would wait for that one for ever. So only those are waited for who have begun.
    """

    def __init__(self, work: Callable[[Iterator[Job]], None], queue: _Queue[Job]) -> None:
        self._work, self._queue = work, queue
        self._errors: list[BaseException] = []
        self._change = Condition()
        self._busy, self._late = 0, False

    def call(self, n_threads: int) -> None:
        """Ask so many for help; fewer may come."""
        for _ in range(n_threads):
            try:
                start_new_thread(self._help, ())
            except (RuntimeError, MemoryError):
                return

    def _help(self) -> None:
        with self._change:
            if self._late:
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
        """Until none of them is at work; whoever begins later finds nothing to do."""
        with self._change:
            self._late = True
            self._change.wait_for(lambda: not self._busy)

    def check(self) -> None:
        """Raise what went wrong with one of them."""
        if self._errors:
            raise self._errors[0]


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
