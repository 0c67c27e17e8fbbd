"""Arrays that lie in a file: memory maps, HDF5 and Zarr."""

from __future__ import annotations

import mmap
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphsieve.storage.pieces import Group, Integers, Local

ROWS_AT_ONCE = 2**22  # bytes of a memory map that are copied before their pages are given back
PAGES_AROUND = 2**16  # bytes that come into memory with a single one


class Mapped(Local):
    """A memory map. Pages that have been read are given back, so that it never takes more memory than its pieces."""

    def __init__(self, array: NDArray[Any], memory: int) -> None:
        self._array, self.shape, self.memory = array, (array.shape[0], array.shape[1]), memory
        self.itemsize = max(4, array.itemsize)
        self._pages = _own_pages(array)

    def read_rows(self, rows: Group) -> NDArray[Any]:
        height = rows.stop - rows.start if isinstance(rows, slice) else len(rows)
        found = np.empty((height, self.shape[1]), dtype=self._array.dtype)
        for part in self._row_parts(rows, height):
            found[part] = self._array[_part(rows, part)]
            self._give_back()
        return found

    def _row_parts(self, rows: Group, height: int) -> list[slice]:
        """So many rows at a time as bring few pages; one that stands alone brings those around it, too."""
        if isinstance(rows, slice):
            step = self._step(self.shape[1])
            return [slice(start, min(start + step, height)) for start in range(0, height, step)]
        length = self._array.itemsize * self.shape[1]
        brought = np.cumsum(np.minimum(np.diff(rows, prepend=-1) * length, PAGES_AROUND + length))
        cuts = np.flatnonzero(np.diff(brought // ROWS_AT_ONCE)) + 1
        return [slice(int(start), int(stop)) for start, stop in pairwise([0, *cuts, height]) if stop > start]

    def read_columns(self, columns: Group) -> NDArray[Any]:
        width = columns.stop - columns.start if isinstance(columns, slice) else len(columns)
        found = np.empty((self.shape[0], width), dtype=self._array.dtype)
        if self._array.flags.f_contiguous:  # a few columns at a time are a run of pages
            step = self._step(self.shape[0])
            for start in range(0, width, step):
                part = slice(start, min(start + step, width))
                found[:, part] = self._array[:, _part(columns, part)]
                self._give_back()
            return found
        step = self._step(self.shape[1])
        for start in range(0, self.shape[0], step):
            found[start : start + step] = self._array[start : start + step, columns]
            self._give_back()
        return found

    def _step(self, length: int) -> int:
        return max(1, ROWS_AT_ONCE // (self._array.itemsize * length))

    def _give_back(self) -> None:
        if self._pages is not None:
            self._pages.madvise(mmap.MADV_DONTNEED)


class Filed(Local):
    """An array of HDF5 or Zarr, which is read by the chunks in which it was written."""

    def __init__(self, array: Any, memory: int) -> None:
        self._array, self.shape, self.memory = array, (int(array.shape[0]), int(array.shape[1])), memory
        self.itemsize = max(4, np.dtype(array.dtype).itemsize)

    @property
    def row_borders(self) -> Integers:
        chunks = getattr(self._array, "chunks", None)
        step = int(chunks[0]) if chunks else self.shape[0]
        return np.append(np.arange(0, self.shape[0], max(1, step)), self.shape[0])

    def read_rows(self, rows: Group) -> NDArray[Any]:
        if isinstance(rows, slice):
            return np.asarray(self._array[rows, :])
        return self._along(rows, 0)

    def read_columns(self, columns: Group) -> NDArray[Any]:
        if isinstance(columns, slice):
            return np.asarray(self._array[:, columns])
        return self._along(columns, 1)

    def _along(self, places: Integers, axis: int) -> NDArray[Any]:
        """Places far apart, run by run of chunks: libraries are slow with long lists, and a chunk is read as a whole anyway."""
        chunks = getattr(self._array, "chunks", None)
        step = int(chunks[axis]) if chunks else max(1, self.shape[axis] // 64)
        found = np.empty((len(places), self.shape[1]) if axis == 0 else (self.shape[0], len(places)), dtype=self._array.dtype)
        begin = np.flatnonzero(np.diff(places // step, prepend=-1))
        for first, last in zip(begin, np.append(begin[1:], len(places)), strict=True):
            here = places[first:last]
            whole = slice(int(here[0]), int(here[-1]) + 1)
            if axis == 0:
                found[first:last] = np.asarray(self._array[whole, :])[here - here[0]]
            else:
                found[:, first:last] = np.asarray(self._array[:, whole])[:, here - here[0]]
        return found


def _part(group: Group, part: slice) -> Group:
    if isinstance(group, slice):
        return slice(group.start + part.start, group.start + part.stop)
    return group[part]


def _own_pages(array: NDArray[Any]) -> mmap.mmap | None:
    """The mapping whose pages may be given back: of a file that is only read, or shared; one of our own copies would be lost."""
    if getattr(array, "mode", None) not in ("r", "r+", "w+") or not hasattr(mmap, "MADV_DONTNEED"):
        return None
    base: Any = array
    while base is not None and not isinstance(base, mmap.mmap):
        base = base.base if isinstance(base, np.ndarray) else None
    return base
