"""Arrays in files: memory maps, HDF5 and Zarr."""

from __future__ import annotations

import mmap
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphsieve._base.array_types import Integers
from graphsieve._base.errors import InputError
from graphsieve.table.stored.pieces import BYTES, Group, Local, length_of

AT_ONCE = 2**22  # bytes of a memory map that are copied before their pages are released
PAGES = 2**16  # bytes around a requested page that an operating system maps with it
NEAR = 2**16  # bytes between two rows up to which reading them is faster than skipping them


class Mapped(Local):
    """A memory map.

    Pages are released after they have been read, so that only the pieces occupy memory.
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
            self._release_pages()
        return found

    def _row_parts(self, rows: Group, height: int) -> list[slice]:
        """Return parts of the rows that load only a limited number of pages each.

        An isolated row also loads the pages around it.
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
            self._release_pages()
        return found

    def _copy_columns(self, rows: Group, columns: Group, found: NDArray[Any]) -> None:
        """Copy some columns of a matrix in column order, a few at a time.

        Each column is a contiguous run of pages. More columns are copied at a time if only a few
        isolated rows are requested.
        """
        height, length = length_of(rows), abs(self._array.strides[1])
        apart = abs(self._array.strides[0]) if isinstance(rows, slice) else PAGES
        step = self._step(min(length, PAGES + height * apart))
        for start in range(0, found.shape[1], step):
            part = slice(start, min(start + step, found.shape[1]))
            found[:, part] = self._array[:, _part(columns, part)][rows]
            self._release_pages()

    def _step(self, length: int) -> int:
        """Return how many rows or columns of `length` bytes are copied in one step."""
        return max(1, AT_ONCE // max(1, abs(length)))

    def _release_pages(self) -> None:
        # Pages of a copy-on-write map may contain changes, so they are kept.
        shared = getattr(self._array, "mode", None) in ("r", "r+", "w+")
        if shared and self._mapping is not None and hasattr(mmap, "MADV_DONTNEED"):
            self._mapping.madvise(mmap.MADV_DONTNEED)

    def _refuse_truncated(self) -> None:
        """Raise an error if the file is too short, because reading past its end would crash."""
        if self._mapping is None:
            return
        offset = getattr(self._array, "offset", None) or 0
        needed = offset - offset % mmap.ALLOCATIONGRANULARITY + len(self._mapping)
        size = self._mapping.size()
        if size < needed:
            raise InputError(
                f"the file behind {self.source} has {size:,} bytes, but the map needs {needed:,}; "
                "write it again, then map it."
            )


class Filed(Local):
    """An HDF5 or Zarr array, which is read along its chunks."""

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
        """Whether chunks are read less often by columns than by rows."""
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
        """Split scattered positions into runs, each of which is read as one slice.

        The libraries are slow with long lists of positions, and they read complete chunks anyway.
        For each run, the result contains the slice of `places`, the slice to read, and the
        positions relative to its start.
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
    """Return an array after checking that its file is open, and that it is 2-D and numeric."""
    if X is None or (type(X).__module__.startswith("h5py") and not X):
        raise InputError("X is an HDF5 dataset of a closed file; open the file again.")
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
    """Return the shape of the units in which an array is read, or None if it is contiguous.

    For a sharded Zarr array this is the shape of a shard.
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
