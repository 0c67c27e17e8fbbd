"""Who does the tasks of a distributed table, by the scheduler that Dask would choose: threads,
processes, or a cluster.
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
from graphsieve.table.stored.tasks import Manner, Outcome, Place, cut, packed, worked, worked_afar

# For each that is worked on, so many groups are asked for, so that the next one is there in time
GROUPS_BEFORE = 2
TRIES = 4  # of a call whose data were lost with workers
LOST = (
    "a worker of Dask was lost, perhaps for want of memory; pass graphsieve.stored(X, memory=…) "
    "with less."
)


@dataclass(frozen=True)
class Errand:
    """The parts of blocks that one group needs, row by row of blocks, and what is given for it."""

    parts: list[list[tuple[Any, Place]]]
    given: tuple[Any, ...]


class Engine(ABC):
    """Runs errands.

    Attributes
    ----------
    at_once : int
        How many it works on at the same time.
    beside : int
        How many of them in the memory of one process.
    """

    at_once: int
    beside: int

    @abstractmethod
    def run(
        self,
        name: str,
        errands: Sequence[Errand],
        manner: Manner,
        work: Work,
        shared: tuple[Any, ...],
    ) -> list[Outcome]:
        """What becomes of each."""

    @property
    def wave(self) -> int:
        """How many errands are given at a time: whoever gave all at once would ask for all of
        the table.
        """
        return GROUPS_BEFORE * self.at_once

    @property
    def threads(self) -> int | None:
        """How many share the cores of a process; None where one has them alone."""
        return self.beside if self.beside > 1 else None


class Here(Engine):
    """Threads of this process, or none but the caller's."""

    def __init__(self, n_threads: int) -> None:
        self.at_once = self.beside = n_threads

    def run(
        self,
        name: str,
        errands: Sequence[Errand],
        manner: Manner,
        work: Work,
        shared: tuple[Any, ...],
    ) -> list[Outcome]:
        name = _unique(name)
        calls = [_Call(manner, work, errand.given, shared) for errand in errands]
        return _computed(
            [
                _task(call, name, place, parts)
                for place, (call, parts) in enumerate(zip(calls, _all_cut(errands), strict=True))
            ]
        )


class Apart(Engine):
    """Processes on this machine. All that these exchange passes through this one, so each
    computes its blocks itself.
    """

    def __init__(self, n_processes: int, kept: Kept) -> None:
        self.at_once, self.beside = n_processes, 1
        self._kept = kept

    def run(
        self,
        name: str,
        errands: Sequence[Errand],
        manner: Manner,
        work: Work,
        shared: tuple[Any, ...],
    ) -> list[Outcome]:
        import cloudpickle  # noqa: PLC0415 - comes with Dask
        import dask  # noqa: PLC0415

        name = _unique(name)
        tasks = []
        for place, (errand, parts) in enumerate(zip(errands, _all_cut(errands), strict=True)):
            needed = dask.optimize(parts)[0]  # of all blocks, only those of this group
            packet = cloudpickle.dumps((needed, _Call(manner, work, errand.given, shared)))
            tasks.append(_task(_by_itself, name, place, packet))
        pool = self._kept.pool(self.at_once)
        try:
            return _computed(tasks, chunksize=1, pool=pool)
        except BrokenProcessPool:
            self._kept.end_pool(pool)  # it would refuse all that is to come, too
            raise LostProcessError(LOST) from None

    @property
    def threads(self) -> int | None:
        return self.at_once


class Cluster(Engine):
    """Workers of `dask.distributed`. What is large travels once, and again if it is lost with
    the last worker that had it.
    """

    def __init__(self, client: Any, kept: Kept) -> None:
        threads = list(client.nthreads().values()) or [1]
        self.at_once, self.beside = sum(threads), max(threads)
        self._client, self._kept = client, kept

    def run(
        self,
        name: str,
        errands: Sequence[Errand],
        manner: Manner,
        work: Work,
        shared: tuple[Any, ...],
    ) -> list[Outcome]:
        lost = _lost()
        for _ in range(TRIES):
            try:
                return self._run(name, errands, manner, work, shared)
            except lost as error:
                self._kept.forget()
                last = error
        raise LostProcessError(LOST) from last

    def _run(
        self,
        name: str,
        errands: Sequence[Errand],
        manner: Manner,
        work: Work,
        shared: tuple[Any, ...],
    ) -> list[Outcome]:
        name = _unique(name)
        common, arrays = packed((work, shared))
        everywhere = self._kept.broadcast(self._client, arrays)
        own = [packed(errand.given) for errand in errands]
        somewhere = iter(
            self._kept.scattered(self._client, [array for _, arrays in own for array in arrays])
        )
        tasks = []
        for place, (parts, (packet, arrays)) in enumerate(zip(_all_cut(errands), own, strict=True)):
            travelled = [*everywhere, *(next(somewhere) for _ in arrays)]
            tasks.append(
                _task(
                    worked_afar,
                    name,
                    place,
                    parts,
                    manner,
                    (common, packet),
                    len(everywhere),
                    *travelled,
                )
            )
        return _computed(tasks)


class Kept:
    """What is kept from call to call: the arrays that every worker has, each as long as it is there
    itself, and unchanged; or the processes that Dask would otherwise start for every call.
    """

    def __init__(self) -> None:
        self._pool: Any = None
        self._known: dict[int, tuple[weakref.ref[NDArray[Any]], bytes, Any]] = {}
        self._client: Any = None

    def broadcast(self, client: Any, arrays: Sequence[NDArray[Any]]) -> list[Any]:
        """The futures of the arrays on all workers, sent if they are not there yet."""
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
        """The futures of arrays that one worker each will need."""
        return list(client.scatter(list(arrays), hash=False)) if arrays else []

    def drop(self, place: int) -> None:
        """Free what is needed no more."""
        self._known.pop(place, None)

    def forget(self) -> None:
        """Send everything again when it is needed."""
        self._known.clear()

    def pool(self, n_processes: int) -> Any:
        """Processes as Dask would start them, or those that somebody told Dask to use; they end
        with the table.
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
        """Start other processes when they are needed, unless another thread has done so already."""
        if pool is not None and pool is self._pool:
            self._pool = None
            pool.shutdown()

    def __reduce__(self) -> Any:
        return Kept, ()

    def _is_there(self, array: NDArray[Any], digest: bytes) -> bool:
        known = self._known.get(id(array))
        return (
            known is not None
            and known[0]() is array
            and known[1] == digest
            and known[2].status == "finished"
        )


def engine_of(array: Any, kept: Kept) -> Engine:
    """What Dask would compute this array with now."""
    import dask  # noqa: PLC0415 - only who has an array of Dask needs it
    from dask import local, multiprocessing  # noqa: PLC0415
    from dask.base import get_scheduler  # noqa: PLC0415

    get = get_scheduler(collections=[array])
    client = getattr(get, "__self__", None)
    if client is not None and hasattr(client, "scatter"):
        return Cluster(client, kept)
    if get in (local.get_sync, dask.get):
        return Here(1)
    n_workers = max(
        1, int(dask.config.get("num_workers", None) or getattr(dask.system, "CPU_COUNT", 1))
    )
    return Apart(n_workers, kept) if get is multiprocessing.get else Here(n_workers)


class _Call:
    """Work with all that it needs but the parts: one value, into which Dask does not look."""

    def __init__(
        self, manner: Manner, work: Work, given: tuple[Any, ...], shared: tuple[Any, ...]
    ) -> None:
        self._manner, self._work, self._given, self._shared = manner, work, given, shared

    def __call__(self, parts: list[list[Any]]) -> Outcome:
        return worked(parts, self._manner, self._work, self._given, self._shared)


def _by_itself(packet: bytes) -> Outcome:
    """A call in a process that computes the parts that it needs."""
    import dask  # noqa: PLC0415

    parts, call = pickle.loads(packet)
    with dask.config.set(scheduler="synchronous"):
        outcome: Outcome = call(dask.compute(parts)[0])
    return outcome


def _all_cut(errands: Sequence[Errand]) -> list[list[list[Any]]]:
    """For each errand the tasks that cut what it needs from the blocks."""
    name, place = _unique("graphsieve-cut"), count()
    return [
        [[_task(cut, name, next(place), *part) for part in row] for row in errand.parts]
        for errand in errands
    ]


def _task(function: Work, name: str, place: int, *arguments: Any) -> Any:
    from dask import delayed  # noqa: PLC0415

    return delayed(function, pure=False)(*arguments, dask_key_name=f"{name}-{place}")


def _unique(name: str) -> str:
    """Dask shows what stands before the first word that is not of letters alone, and takes equal
    names for equal results.
    """
    return f"{name}-{uuid.uuid4().hex}"


def _computed(tasks: Sequence[Any], **options: Any) -> list[Any]:
    import dask  # noqa: PLC0415

    # Blocks are computed by code of others, any one of them for the first time. Who was lost is
    # known to whoever asked.
    with reading(
        "the blocks of a Dask array",
        "X.compute() shows where it fails",
        but=(BrokenProcessPool, *_lost()),
    ):
        return list(dask.compute(*tasks, traverse=False, **options))


def _lost() -> tuple[type[BaseException], ...]:
    """What Dask says when data or tasks were lost with their workers; nothing where there is no
    cluster.
    """
    if "distributed" not in sys.modules:
        return ()
    from distributed import KilledWorker  # noqa: PLC0415
    from distributed.client import CancelledError  # noqa: PLC0415
    from distributed.comm import CommClosedError  # noqa: PLC0415

    return KilledWorker, CommClosedError, CancelledError


def _digest(array: NDArray[Any]) -> bytes:
    """What an array held when it was sent: some are filled anew from round to round."""
    ordered = np.ascontiguousarray(array.T if array.flags.f_contiguous else array)
    found = hashlib.blake2b(f"{array.dtype.str}{array.shape}{array.strides}".encode())
    found.update(ordered.reshape(-1).view(np.uint8).data)
    return found.digest()


def _dropped(sent: weakref.ref[Kept], place: int, _: Any) -> None:
    keeper = sent()
    if keeper is not None:
        keeper.drop(place)
