"""Arrays that lie in a file: memory maps, HDF5 and Zarr."""

from __future__ import annotations

import mmap
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphsieve._base.array_types import Integers
from graphsieve._base.errors import InputError
from graphsieve.table.stored.pieces import BYTES, Group, Local, length_of

AT_ONCE = 2**22  # bytes of a memory map that are copied before their pages are given back
PAGES = 2**16  # bytes that a system maps around a page that is asked for
NEAR = 2**16  # bytes between two rows that are rather read than left out


class Mapped(Local):
    """A memory map. Pages that have been read are given back, so that it never takes more memory
    than its pieces.
    """

    def __init__(self, array: NDArray[Any], memory: int) -> None:
        self._array, self.shape, self.memory = array, (array.shape[0], array.shape[1]), memory
        self.itemsize = max(4, array.itemsize)
        self.source = f"the memory map of {str(getattr(array, 'filename', None) or 'a file')!r}"
        self._mapping = _mapping(array)
        self._by_rows = abs(array.strides[0]) >= abs(array.strides[1])
        self.columnwise = not self._by_rows

    def read_rows(self, rows: Group) -> NDArray[Any]:
        self._refuse_truncated()
        height = length_of(rows)
        found = np.empty((height, self.shape[1]), dtype=self._array.dtype)
        if not self._by_rows:
            self._copy_columns(rows, slice(0, self.shape[1]), found)
            return found
        for part in self._row_parts(rows, height):
            found[part] = self._array[_part(rows, part)]
            self._give_back()
        return found

    def _row_parts(self, rows: Group, height: int) -> list[slice]:
        """So many rows at a time as bring few pages; one that stands alone brings those around
        it, too.
        """
        if isinstance(rows, slice):
            step = self._step(self._array.strides[0])
            return [slice(start, min(start + step, height)) for start in range(0, height, step)]
        length = abs(self._array.strides[0])
        brought = np.cumsum(np.minimum(np.diff(rows, prepend=-1) * length, PAGES + length))
        cuts = np.flatnonzero(np.diff(brought // AT_ONCE)) + 1
        return [
            slice(int(start), int(stop))
            for start, stop in pairwise([0, *cuts, height])
            if stop > start
        ]

    def read_columns(self, columns: Group) -> NDArray[Any]:
        self._refuse_truncated()
        found = np.empty((self.shape[0], length_of(columns)), dtype=self._array.dtype)
        if not self._by_rows:
            self._copy_columns(slice(0, self.shape[0]), columns, found)
            return found
        step = self._step(self._array.strides[0])
        for start in range(0, self.shape[0], step):
            found[start : start + step] = self._array[start : start + step, columns]
            self._give_back()
        return found

    def _copy_columns(self, rows: Group, columns: Group, found: NDArray[Any]) -> None:
        """A few columns at a time, each of which is a run of pages, or many where rows are far
        apart.
        """
        height, length = length_of(rows), abs(self._array.strides[1])
        apart = abs(self._array.strides[0]) if isinstance(rows, slice) else PAGES
        step = self._step(min(length, PAGES + height * apart))
        for start in range(0, found.shape[1], step):
            part = slice(start, min(start + step, found.shape[1]))
            found[:, part] = self._array[:, _part(columns, part)][rows]
            self._give_back()

    def _step(self, length: int) -> int:
        """How many lines of so many bytes are copied at once."""
        return max(1, AT_ONCE // max(1, abs(length)))

    def _give_back(self) -> None:
        # Of a copy on write, the changes live in the pages themselves.
        shared = getattr(self._array, "mode", None) in ("r", "r+", "w+")
        if shared and self._mapping is not None and hasattr(mmap, "MADV_DONTNEED"):
            self._mapping.madvise(mmap.MADV_DONTNEED)

    def _refuse_truncated(self) -> None:
        """Reading beyond the end of a file would end the process."""
        if self._mapping is None:
            return
        offset = getattr(self._array, "offset", None) or 0
        needed = offset - offset % mmap.ALLOCATIONGRANULARITY + len(self._mapping)
        size = self._mapping.size()
        if size < needed:
            raise InputError(
                f"the file behind {self.source} has {size:,} bytes, and the map needs {needed:,}; "
                "write it again, then map it."
            )


class Filed(Local):
    """An array of HDF5 or Zarr, which is read by the chunks in which it was written."""

    def __init__(self, array: Any, memory: int, names: tuple[str, ...] | None = None) -> None:
        self._array, self.shape, self.memory = (
            array,
            (int(array.shape[0]), int(array.shape[1])),
            memory,
        )
        self.itemsize = max(4, np.dtype(array.dtype).itemsize)
        self.names, self.source = names, _described(array)
        self._chunks = _chunks(array)

    @property
    def columnwise(self) -> bool:  # type: ignore[override]
        """Whether fewer chunks are read several times by columns than by rows."""
        if not self._chunks:
            return False
        return max(1, self._chunks[1] / self.fitting_columns()) < max(
            1, self._chunks[0] / self.fitting_rows()
        )

    @property
    def row_borders(self) -> Integers:
        return self._borders(0)

    @property
    def column_borders(self) -> Integers:
        return self._borders(1)

    def read_rows(self, rows: Group) -> NDArray[Any]:
        if isinstance(rows, slice):
            return np.asarray(self._array[rows, :])
        found = np.empty((len(rows), self.shape[1]), dtype=self._array.dtype)
        for part, whole, here in self._spans(rows, 0):
            found[part] = np.asarray(self._array[whole, :])[here]
        return found

    def read_columns(self, columns: Group) -> NDArray[Any]:
        if isinstance(columns, slice):
            return np.asarray(self._array[:, columns])
        found = np.empty((self.shape[0], len(columns)), dtype=self._array.dtype)
        for part, whole, here in self._spans(columns, 1):
            found[:, part] = np.asarray(self._array[:, whole])[:, here]
        return found

    def _borders(self, axis: int) -> Integers:
        step = self._chunks[axis] if self._chunks else self.shape[axis]
        return np.append(np.arange(0, self.shape[axis], step), self.shape[axis])

    def _spans(self, places: Integers, axis: int) -> list[tuple[slice, slice, Integers]]:
        """Places far apart, run by run: libraries are slow with long lists, and a chunk is read as
        a whole anyway.

        For each run, which of the places it serves, what is read, and where in that they are.
        """
        longest = self.fitting(self.shape[1 - axis], 8 * BYTES)
        step = self._chunks[axis] if self._chunks else self.shape[axis]
        cuts = (np.diff(places // step) > 0) | (np.diff(places % step // longest) > 0)
        if not self._chunks and axis == 0:
            cuts |= np.diff(places) * self._array.dtype.itemsize * self.shape[1] > NEAR
        ends = np.concatenate([[0], np.flatnonzero(cuts) + 1, [len(places)]]).tolist()
        return [
            (
                slice(begin, end),
                slice(int(places[begin]), int(places[end - 1]) + 1),
                places[begin:end] - places[begin],
            )
            for begin, end in pairwise(ends)
            if end > begin
        ]


def checked_array(X: Any) -> Any:
    """An array in a file, if it may be a table at all."""
    if X is None or (type(X).__module__.startswith("h5py") and not X):
        raise InputError("X is an HDF5 dataset of which the file is closed; open it again.")
    if X.shape is None or len(X.shape) != 2:
        n_axes, shape = (0, ()) if X.shape is None else (len(X.shape), tuple(X.shape))
        raise InputError(
            f"X is {n_axes}-D with shape {shape}; expected a 2-D array (samples × features)."
        )
    if np.dtype(X.dtype).kind not in "biuf":
        raise InputError(f"X holds values of type {X.dtype}; every feature must be numeric.")
    return X


def _part(group: Group, part: slice) -> Group:
    if isinstance(group, slice):
        return slice(group.start + part.start, group.start + part.stop)
    return group[part]


def _mapping(array: NDArray[Any]) -> mmap.mmap | None:
    base: Any = array
    while base is not None and not isinstance(base, mmap.mmap):
        base = base.base if isinstance(base, np.ndarray) else None
    return base


def _chunks(array: Any) -> tuple[int, int] | None:
    """How much is read together: of a sharded Zarr array, a shard; None where the numbers lie
    one after the other.
    """
    try:
        found = getattr(array, "shards", None) or array.chunks
    except NotImplementedError:  # chunks of different sizes
        return None
    return (max(1, int(found[0])), max(1, int(found[1]))) if found else None


def _described(array: Any) -> str:
    if type(array).__module__.startswith("h5py"):
        return f"the HDF5 dataset {array.name!r} of {array.file.filename!r}"
    return f"the Zarr array {str(getattr(array, 'store_path', None) or array.name)!r}"
