"""Engines that run the tasks of a Dask table: threads, processes, or a cluster.

The engine corresponds to the scheduler that Dask would use.
"""

from __future__ import annotations

import hashlib
import pickle
import sys
import uuid
import weakref
from abc import ABC, abstractmethod
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphsieve._base.errors import LostProcessError
from graphsieve.table.stored.pieces import Work, reading
from graphsieve.table.stored.tasks import (
    JoinOptions,
    Outcome,
    Place,
    cut,
    packed,
    worked,
    worked_afar,
)

# Groups that are requested for each group in progress, so that the next one is ready in time
GROUPS_BEFORE = 2
TRIES = 4  # attempts of a call that loses its data with workers
LOST = (
    "a Dask worker was lost, perhaps because memory ran out; pass graphsieve.stored(X, memory=…) "
    "with a lower limit."
)


@dataclass(frozen=True)
class GroupTask:
    """The parts of blocks for one group, by rows of blocks, and the arguments of the group."""

    parts: list[list[tuple[Any, Place]]]
    given: tuple[Any, ...]


class Engine(ABC):
    """Base class of engines, which run group_tasks.

    Attributes
    ----------
    at_once : int
        Number of group_tasks that run at the same time.
    beside : int
        Number of these group_tasks that share the memory of one process.
    """

    at_once: int
    beside: int

    @abstractmethod
    def run(
        self,
        name: str,
        group_tasks: Sequence[GroupTask],
        options: JoinOptions,
        work: Work,
        shared: tuple[Any, ...],
    ) -> list[Outcome]:
        """Return the outcome of each group_task."""

    @property
    def wave(self) -> int:
        """Number of group_tasks that are submitted together.

        Submitting all group_tasks would load the whole table.
        """
        return GROUPS_BEFORE * self.at_once

    @property
    def threads(self) -> int | None:
        """Number of group_tasks that share the cores, or None if an group_task may use all of them."""
        return self.beside if self.beside > 1 else None


class LocalThreads(Engine):
    """Threads of this process, or only the thread of the caller."""

    def __init__(self, n_threads: int) -> None:
        self.at_once = self.beside = n_threads

    def run(
        self,
        name: str,
        group_tasks: Sequence[GroupTask],
        options: JoinOptions,
        work: Work,
        shared: tuple[Any, ...],
    ) -> list[Outcome]:
        name = _unique(name)
        calls = [_Call(options, work, group_task.given, shared) for group_task in group_tasks]
        return _computed(
            [
                _task(call, name, place, parts)
                for place, (call, parts) in enumerate(
                    zip(calls, _all_cut(group_tasks), strict=True)
                )
            ]
        )


class LocalProcesses(Engine):
    """Processes on this machine.

    All data between them pass through this process, so each process computes its own blocks.
    """

    def __init__(self, n_processes: int, kept: WorkerState) -> None:
        self.at_once, self.beside = n_processes, 1
        self._kept = kept

    def run(
        self,
        name: str,
        group_tasks: Sequence[GroupTask],
        options: JoinOptions,
        work: Work,
        shared: tuple[Any, ...],
    ) -> list[Outcome]:
        import cloudpickle  # noqa: PLC0415 - a dependency of Dask
        import dask  # noqa: PLC0415

        name = _unique(name)
        tasks = []
        for place, (group_task, parts) in enumerate(
            zip(group_tasks, _all_cut(group_tasks), strict=True)
        ):
            needed = dask.optimize(parts)[0]  # keeps only the blocks of this group
            packet = cloudpickle.dumps((needed, _Call(options, work, group_task.given, shared)))
            tasks.append(_task(_compute_and_call, name, place, packet))
        pool = self._kept.pool(self.at_once)
        try:
            return _computed(tasks, chunksize=1, pool=pool)
        except BrokenProcessPool:
            self._kept.end_pool(pool)  # A broken pool accepts no further tasks.
            raise LostProcessError(LOST) from None

    @property
    def threads(self) -> int | None:
        return self.at_once


class Cluster(Engine):
    """Workers of `dask.distributed`.

    Large arrays are sent once, and again only if all workers that hold them are lost.
    """

    def __init__(self, client: Any, kept: WorkerState) -> None:
        threads = list(client.nthreads().values()) or [1]
        self.at_once, self.beside = sum(threads), max(threads)
        self._client, self._kept = client, kept

    def run(
        self,
        name: str,
        group_tasks: Sequence[GroupTask],
        options: JoinOptions,
        work: Work,
        shared: tuple[Any, ...],
    ) -> list[Outcome]:
        lost = _lost_worker_errors()
        for _ in range(TRIES):
            try:
                return self._run(name, group_tasks, options, work, shared)
            except lost as error:
                self._kept.forget()
                last = error
        raise LostProcessError(LOST) from last

    def _run(
        self,
        name: str,
        group_tasks: Sequence[GroupTask],
        options: JoinOptions,
        work: Work,
        shared: tuple[Any, ...],
    ) -> list[Outcome]:
        name = _unique(name)
        common, arrays = packed((work, shared))
        common_futures = self._kept.broadcast(self._client, arrays)
        own = [packed(group_task.given) for group_task in group_tasks]
        own_futures = iter(
            self._kept.scattered(self._client, [array for _, arrays in own for array in arrays])
        )
        tasks = []
        for place, (parts, (packet, arrays)) in enumerate(
            zip(_all_cut(group_tasks), own, strict=True)
        ):
            futures = [*common_futures, *(next(own_futures) for _ in arrays)]
            tasks.append(
                _task(
                    worked_afar,
                    name,
                    place,
                    parts,
                    options,
                    (common, packet),
                    len(common_futures),
                    *futures,
                )
            )
        return _computed(tasks)


class WorkerState:
    """State that is kept between calls: arrays on the workers, and a pool of processes.

    An array stays on the workers as long as it exists in this process and does not change. Without
    the pool, Dask would start new processes for every call.
    """

    def __init__(self) -> None:
        self._pool: Any = None
        self._known: dict[int, tuple[weakref.ref[NDArray[Any]], bytes, Any]] = {}
        self._client: Any = None

    def broadcast(self, client: Any, arrays: Sequence[NDArray[Any]]) -> list[Any]:
        """Return futures of arrays on all workers, and send the arrays that are not there yet."""
        if client is not self._client:
            self.forget()
            self._client = client
        digests = [_digest(array) for array in arrays]
        missing = [
            (array, digest)
            for array, digest in zip(arrays, digests, strict=True)
            if not self._is_there(array, digest)
        ]
        futures = (
            client.scatter([array for array, _ in missing], broadcast=True, hash=False)
            if missing
            else []
        )
        for (array, digest), future in zip(missing, futures, strict=True):
            gone = partial(_dropped, weakref.ref(self), id(array))
            self._known[id(array)] = weakref.ref(array, gone), digest, future
        return [self._known[id(array)][2] for array in arrays]

    @staticmethod
    def scattered(client: Any, arrays: Sequence[NDArray[Any]]) -> list[Any]:
        """Return futures of arrays that only one worker each needs."""
        return list(client.scatter(list(arrays), hash=False)) if arrays else []

    def drop(self, place: int) -> None:
        """Release the array with this id from the workers."""
        self._known.pop(place, None)

    def forget(self) -> None:
        """Release all arrays, which are sent again when they are needed."""
        self._known.clear()

    def pool(self, n_processes: int) -> Any:
        """Return the pool of processes from the configuration of Dask, or start one as Dask does.

        A started pool ends with the table.
        """
        import dask  # noqa: PLC0415
        from dask.multiprocessing import get_context  # noqa: PLC0415

        chosen = dask.config.get("pool", None)
        if chosen is not None:
            return chosen
        if self._pool is None or self._pool._max_workers != n_processes:
            self.end_pool(self._pool)
            self._pool = ProcessPoolExecutor(n_processes, mp_context=get_context())
            weakref.finalize(self, self._pool.shutdown)
        return self._pool

    def end_pool(self, pool: Any) -> None:
        """Shut down the pool, unless another thread has already replaced it."""
        if pool is not None and pool is self._pool:
            self._pool = None
            pool.shutdown()

    def __reduce__(self) -> Any:
        return WorkerState, ()

    def _is_there(self, array: NDArray[Any], digest: bytes) -> bool:
        known = self._known.get(id(array))
        return (
            known is not None
            and known[0]() is array
            and known[1] == digest
            and known[2].status == "finished"
        )


def engine_of(array: Any, kept: WorkerState) -> Engine:
    """Return the engine for the scheduler that Dask would currently use for this array."""
    import dask  # noqa: PLC0415 - only needed for Dask arrays
    from dask import local, multiprocessing  # noqa: PLC0415
    from dask.base import get_scheduler  # noqa: PLC0415

    get = get_scheduler(collections=[array])
    client = getattr(get, "__self__", None)
    if client is not None and hasattr(client, "scatter"):
        return Cluster(client, kept)
    if get in (local.get_sync, dask.get):
        return LocalThreads(1)
    n_workers = max(
        1, int(dask.config.get("num_workers", None) or getattr(dask.system, "CPU_COUNT", 1))
    )
    return (
        LocalProcesses(n_workers, kept) if get is multiprocessing.get else LocalThreads(n_workers)
    )


class _Call:
    """A function with all its arguments except the parts.

    Dask treats it as one value and does not search it for further tasks.
    """

    def __init__(
        self, options: JoinOptions, work: Work, given: tuple[Any, ...], shared: tuple[Any, ...]
    ) -> None:
        self._manner, self._work, self._given, self._shared = options, work, given, shared

    def __call__(self, parts: list[list[Any]]) -> Outcome:
        return worked(parts, self._manner, self._work, self._given, self._shared)


def _compute_and_call(packet: bytes) -> Outcome:
    """Compute the parts of a call in this process, then run the call."""
    import dask  # noqa: PLC0415

    parts, call = pickle.loads(packet)
    with dask.config.set(scheduler="synchronous"):
        outcome: Outcome = call(dask.compute(parts)[0])
    return outcome


def _all_cut(group_tasks: Sequence[GroupTask]) -> list[list[list[Any]]]:
    """Return the tasks that cut the parts of each group_task from the blocks."""
    name, place = _unique("graphsieve-cut"), count()
    return [
        [[_task(cut, name, next(place), *part) for part in row] for row in group_task.parts]
        for group_task in group_tasks
    ]


def _task(function: Work, name: str, place: int, *arguments: Any) -> Any:
    from dask import delayed  # noqa: PLC0415

    return delayed(function, pure=False)(*arguments, dask_key_name=f"{name}-{place}")


def _unique(name: str) -> str:
    """Return a unique task name.

    Dask treats tasks with equal names as equal results. It displays the words of a name up to the
    first word that does not consist of letters only.
    """
    return f"{name}-{uuid.uuid4().hex}"


def _computed(tasks: Sequence[Any], **options: Any) -> list[Any]:
    import dask  # noqa: PLC0415

    # Blocks are computed by external code, which may raise any error. Errors about lost workers
    # are handled by the caller.
    with reading(
        "the blocks of a Dask array",
        "X.compute() shows where it fails",
        but=(BrokenProcessPool, *_lost_worker_errors()),
    ):
        return list(dask.compute(*tasks, traverse=False, **options))


def _lost_worker_errors() -> tuple[type[BaseException], ...]:
    """Return the errors that Dask raises if data or tasks are lost with their workers.

    The result is empty if there is no cluster.
    """
    if "distributed" not in sys.modules:
        return ()
    from distributed import KilledWorker  # noqa: PLC0415
    from distributed.client import CancelledError  # noqa: PLC0415
    from distributed.comm import CommClosedError  # noqa: PLC0415

    return KilledWorker, CommClosedError, CancelledError


def _digest(array: NDArray[Any]) -> bytes:
    """Return a digest of an array, because some arrays are refilled between calls."""
    ordered = np.ascontiguousarray(array.T if array.flags.f_contiguous else array)
    found = hashlib.blake2b(f"{array.dtype.str}{array.shape}{array.strides}".encode())
    found.update(ordered.reshape(-1).view(np.uint8).data)
    return found.digest()


def _dropped(sent: weakref.ref[WorkerState], place: int, _: Any) -> None:
    keeper = sent()
    if keeper is not None:
        keeper.drop(place)
