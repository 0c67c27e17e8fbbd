"""Dask arrays: the work is sent to the workers that hold the blocks, which return only results."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from math import isnan
from typing import Any

import numpy as np
import scipy.sparse as sp

from graphsieve._base.array_types import Integers
from graphsieve._base.errors import InputError, InputTypeError
from graphsieve.table.stored.engines import GroupTask, WorkerState, engine_of
from graphsieve.table.stored.pieces import ROWS_HELD, Group, Stored, Work
from graphsieve.table.stored.tasks import (
    JoinOptions,
    Place,
    columns_of,
    count_entries,
    name_of,
    received,
)

REMEMBERED = 64  # arrays in the cache of densities

_kinds: OrderedDict[Any, tuple[bool, float]] = OrderedDict()


class Distributed(Stored):
    """A Dask array with any chunks, of NumPy arrays or SciPy CSR or CSC matrices.

    The array is never loaded into this process, even if it is small, because Dask decides where it
    is computed. `memory` is the memory limit of one worker.
    """

    at_hand = False
    # As for rows: parts of blocks, the piece they are joined to, and the parts of the next group.
    columns_held = ROWS_HELD

    def __init__(self, array: Any, memory: int) -> None:
        self._array, self.memory = array, memory
        self.shape = (int(array.shape[0]), int(array.shape[1]))
        self.itemsize = max(4, np.dtype(array.dtype).itemsize)
        self._borders = tuple(np.cumsum([0, *sizes]) for sizes in array.chunks)
        self._blocks = array.to_delayed()
        self._kept = WorkerState()
        engine = engine_of(array, self._kept)
        self.at_once, self.beside = engine.at_once, engine.beside
        self.is_sparse, self.density = self._kind()

    @property
    def row_borders(self) -> Integers:
        return np.unique(self._borders[0])

    @property
    def column_borders(self) -> Integers:
        return np.unique(self._borders[1])

    def _over_rows(
        self,
        groups: Sequence[Group],
        work: Work,
        *given: Sequence[Any],
        shared: tuple[Any, ...] = (),
    ) -> Iterator[Any]:
        return self._over(0, groups, work, given, shared)

    def _over_columns(
        self,
        groups: Sequence[Group],
        work: Work,
        *given: Sequence[Any],
        shared: tuple[Any, ...] = (),
    ) -> Iterator[Any]:
        return self._over(1, groups, work, given, shared)

    def _over(
        self,
        axis: int,
        groups: Sequence[Group],
        work: Work,
        given: tuple[Sequence[Any], ...],
        shared: tuple[Any, ...],
    ) -> Iterator[Any]:
        engine, name = engine_of(self._array, self._kept), name_of(work, shared)
        options = JoinOptions(axis, self.is_sparse, engine.threads)
        for start in range(0, len(groups), engine.wave):
            here = range(start, min(start + engine.wave, len(groups)))
            group_tasks = [
                GroupTask(self._parts(groups[place], axis), tuple(part[place] for part in given))
                for place in here
            ]
            yield from received(engine.run(name, group_tasks, options, work, shared))

    def _parts(self, group: Group, axis: int) -> list[list[tuple[Any, Place]]]:
        """Return the parts of blocks that contain some rows or columns."""
        all_of_it = slice(0, self.shape[1 - axis])
        rows, columns = (group, all_of_it) if axis == 0 else (all_of_it, group)
        across = _overlaps(columns, self._borders[1])
        return [
            [
                (self._blocks[i, j], Place(self._block_shape(i, j), inner_rows, inner_columns))
                for j, inner_columns in across
            ]
            for i, inner_rows in _overlaps(rows, self._borders[0])
        ]

    def _block_shape(self, i: int, j: int) -> tuple[int, int]:
        return int(self._array.chunks[0][i]), int(self._array.chunks[1][j])

    def _kind(self) -> tuple[bool, float]:
        """Return whether blocks are sparse, and the density of the array.

        The metadata of Dask often describe sparse blocks as arrays, so the first block is checked.
        """
        key = self._array.name, self._array.chunks
        known = _kinds.get(key)  # One access only, because another thread may remove the key.
        if known is None:
            is_sparse = sp.issparse(self._array._meta) or self._counted(only_first=True)[0][0]
            n_entries = (
                sum(entries for _, entries in self._counted())
                if is_sparse
                else self.shape[0] * self.shape[1]
            )
            known = _kinds[key] = is_sparse, n_entries / (self.shape[0] * self.shape[1])
            while len(_kinds) > REMEMBERED:
                _kinds.popitem(last=False)
        return known

    def _counted(self, *, only_first: bool = False) -> list[tuple[bool, int]]:
        """Return sparsity and number of entries for all blocks, or for the first nonempty one."""
        places = [
            place for place in np.ndindex(*self._blocks.shape) if 0 not in self._block_shape(*place)
        ]
        blocks = [
            (self._blocks[place], Place(self._block_shape(*place), None, None)) for place in places
        ]
        engine = engine_of(self._array, self._kept)
        group_tasks = [GroupTask([[block]], ()) for block in (blocks[:1] if only_first else blocks)]
        return received(
            engine.run(
                name_of(count_entries),
                group_tasks,
                JoinOptions(0, None, engine.threads),
                count_entries,
                (),
            )
        )


def is_distributed(X: Any) -> bool:
    """Whether X is an object of Dask, without importing Dask."""
    return type(X).__module__.partition(".")[0] in ("dask", "dask_expr")


def refuse_unknown(X: Any) -> None:
    """Raise an error unless X is a Dask array with known chunk sizes."""
    from dask.array import Array  # noqa: PLC0415 - X is an object of Dask, so Dask is loaded

    if not isinstance(X, Array):
        raise InputTypeError(
            f"X is a Dask {type(X).__name__}; pass a dask.array.Array, for example "
            "X.to_dask_array(lengths=True) for a data frame."
        )
    if any(isnan(size) for sizes in X.chunks for size in sizes):
        raise InputError("X has blocks of unknown size; call X.compute_chunk_sizes() first.")


def chosen_columns(X: Any, columns: Integers) -> Any:
    """Return some columns of a Dask array as a Dask array, without computing anything.

    The columns must be in increasing order. The rows keep their chunks.
    """
    borders = np.cumsum([0, *X.chunks[1]])
    ends = np.searchsorted(columns, borders)
    occupied = np.flatnonzero(np.diff(ends)).tolist()
    if not occupied:
        return X[:, :0]
    inner = [columns[ends[place] : ends[place + 1]] - borders[place] for place in occupied]
    sizes = X.chunks[0], tuple(len(here) for here in inner)
    return X.blocks[:, occupied].map_blocks(
        columns_of, columns=inner, chunks=sizes, dtype=X.dtype, meta=X._meta
    )


def _overlaps(group: Group, borders: Integers) -> list[tuple[int, Group | None]]:
    """Return the chunks that overlap with a group, and the positions of the group in each chunk.

    The positions of the group increase.
    The positions are None for a complete chunk, and a slice if they are consecutive.
    """
    overlaps: list[tuple[int, Group | None]] = []
    if isinstance(group, slice):
        first = max(0, int(np.searchsorted(borders, group.start, side="right")) - 1)
        for place in range(first, len(borders) - 1):
            if borders[place] >= group.stop:
                break
            ends = max(group.start, int(borders[place])), min(group.stop, int(borders[place + 1]))
            _add_overlap(overlaps, place, borders, slice(*ends))
    else:
        cuts = np.searchsorted(group, borders)
        for place in np.flatnonzero(np.diff(cuts)).tolist():
            here = group[cuts[place] : cuts[place + 1]]
            run = len(here) == here[-1] - here[0] + 1
            _add_overlap(
                overlaps, place, borders, slice(int(here[0]), int(here[-1]) + 1) if run else here
            )
    return overlaps or [(0, slice(0, 0))]


def _add_overlap(
    overlaps: list[tuple[int, Group | None]], place: int, borders: Integers, here: Group
) -> None:
    begin, end = int(borders[place]), int(borders[place + 1])
    if not isinstance(here, slice):
        overlaps.append((place, here - begin))
    elif here.stop > here.start:
        overlaps.append(
            (
                place,
                None
                if (here.start, here.stop) == (begin, end)
                else slice(here.start - begin, here.stop - begin),
            )
        )
