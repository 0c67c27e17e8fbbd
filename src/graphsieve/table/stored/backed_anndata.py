"""Matrices of backed AnnData objects: dense, sparse by rows (CSR), or sparse by columns (CSC)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

from graphsieve._base.array_types import Integers
from graphsieve._base.errors import InputError
from graphsieve.table.stored.array_files import Filed, checked_array
from graphsieve.table.stored.parquet import checked_names, chosen_names
from graphsieve.table.stored.pieces import (
    BYTES,
    Group,
    Local,
    Stored,
    View,
    gathered,
    positions,
)

NEAR = 2**14  # entries between two lines up to which reading them is faster than skipping them


class Compressed(Local):
    """A sparse matrix in HDF5 or Zarr, in the format of AnnData.

    The format has three arrays. A line of the matrix (a row in CSR, a column in CSC) is a
    contiguous run of entries, and is read directly. To read a part of every line, all lines are
    read, as many at a time as fit into memory.

    Parameters
    ----------
    arrays : mapping of str to array
        The arrays ``data``, ``indices`` and ``indptr``.
    shape : (int, int)
        Numbers of samples and features.
    by_rows : bool
        Whether the lines are rows (CSR) or columns (CSC).
    memory : int
        Memory limit for pieces, in bytes.
    names : tuple of str or None
        Column names.
    source : str
        Description of the source for messages.
    """

    is_sparse = True

    def __init__(
        self,
        arrays: Any,
        shape: tuple[int, int],
        *,
        by_rows: bool,
        memory: int,
        names: tuple[str, ...] | None,
        source: str,
    ) -> None:
        self._arrays, self.shape, self.memory, self.names, self.source = (
            arrays,
            shape,
            memory,
            names,
            source,
        )
        self._by_rows, self.columnwise = by_rows, not by_rows
        self._n_lines, self._length = shape if by_rows else shape[::-1]
        self.density = int(arrays["indices"].shape[0]) / max(1, shape[0] * shape[1])

    @cached_property
    def _starts(self) -> Integers:
        """Position of the first entry of every line, and the end of the last line."""
        starts = np.asarray(self._arrays["indptr"][:]).astype(np.int64)
        n_entries = min(int(self._arrays["indices"].shape[0]), int(self._arrays["data"].shape[0]))
        if (
            len(starts) != self._n_lines + 1
            or starts[0] != 0
            or starts[-1] > n_entries
            or (np.diff(starts) < 0).any()
        ):
            raise OSError("indptr does not fit the other arrays")
        return starts

    def read_rows(self, rows: Group) -> sp.csr_array:
        return self._lines(rows) if self._by_rows else sp.csr_array(self._across(rows).T)

    def read_columns(self, columns: Group) -> sp.csc_array:
        return (
            sp.csc_array(self._across(columns))
            if self._by_rows
            else sp.csc_array(self._lines(columns).T)
        )

    def _lines(self, group: Group) -> sp.csr_array:
        """Return some lines, read in runs that contain few other entries."""
        if isinstance(group, slice):
            return self._run(group.start, group.stop)
        ends = [0, *(np.flatnonzero(self._apart(group)) + 1).tolist(), len(group)]
        runs = [group[begin:end] for begin, end in pairwise(ends) if end > begin]
        read = [self._run(int(run[0]), int(run[-1]) + 1)[run - run[0]] for run in runs]
        return gathered(read) if read else self._run(0, 0)

    def _apart(self, lines: Integers) -> Any:
        between = self._starts[lines[1:]] - self._starts[lines[:-1] + 1]
        passed = (self._starts[lines] - self._starts[lines[:1]]) // self._most_entries
        return (between > NEAR) | (np.diff(passed) > 0)

    def _across(self, group: Group) -> sp.csr_array:
        """Return the same part of every line."""
        part = group if isinstance(group, slice) else positions(group)
        return gathered([self._run(*ends)[:, part] for ends in self._runs()])

    def _runs(self) -> Iterator[tuple[int, int]]:
        """Iterate over the ends of runs that cover all lines, where each run fits into memory."""
        cuts = (
            np.searchsorted(
                self._starts, np.arange(0, self._starts[-1], self._most_entries), side="right"
            )
            - 1
        )
        return pairwise(np.unique(np.concatenate([[0], cuts, [self._n_lines]])).tolist())

    @property
    def _most_entries(self) -> int:
        return max(1, self.memory // (16 * BYTES))

    def _run(self, begin: int, end: int) -> sp.csr_array:
        starts = self._starts[begin : end + 1]
        entries = slice(int(starts[0]), int(starts[-1]))
        data, indices = (
            np.asarray(self._arrays["data"][entries]),
            np.asarray(self._arrays["indices"][entries]),
        )
        if len(indices) and not 0 <= indices.min() <= indices.max() < self._length:
            raise OSError("indices lie outside the matrix")
        kind = sp.get_index_dtype(maxval=max(self._length, end - begin, len(data)))
        parts = (data, indices.astype(kind, copy=False), (starts - starts[0]).astype(kind))
        return sp.csr_array(parts, shape=(end - begin, self._length))


def annotated_data(adata: Any, memory: int, columns: Sequence[str] | None = None) -> Stored:
    """Return the stored table of a backed AnnData object."""
    if adata.is_view:
        raise InputError(
            "X is a view of a backed AnnData; write it to a separate file with "
            "X.copy(filename=…), or read it with X.to_memory()."
        )
    source = f"the AnnData file {str(adata.filename)!r}"
    names = checked_names(adata.var_names, source)
    X = adata.X
    found = (
        sparse_dataset(X, memory, names)
        if hasattr(X, "group")
        else Filed(checked_array(X), memory, names)
    )
    return with_columns(found, columns, source)


def sparse_dataset(dataset: Any, memory: int, names: tuple[str, ...] | None = None) -> Compressed:
    """Return the stored table of a sparse dataset of AnnData."""
    return _compressed(dataset.group, tuple(dataset.shape), str(dataset.format), memory, names)


def encoded(group: Any) -> str:
    """Return the AnnData encoding of a group, such as ``"csr_matrix"`` or ``"anndata"``."""
    return str(
        group.attrs.get("encoding-type", "")
        or (f"{group.attrs['h5sparse_format']}_matrix" if "h5sparse_format" in group.attrs else "")
    )


def sparse_group(group: Any, memory: int, names: tuple[str, ...] | None = None) -> Compressed:
    """Return the stored table of an HDF5 or Zarr group that contains a sparse matrix."""
    shape = group.attrs["shape"] if "shape" in group.attrs else group.attrs["h5sparse_shape"]
    return _compressed(group, tuple(int(size) for size in shape), encoded(group)[:3], memory, names)


def with_columns(found: Stored, columns: Sequence[str] | None, source: str) -> Stored:
    """Return the columns of a table that have the given names, or the table if there are none."""
    if columns is None:
        return found
    if found.names is None:
        raise InputError(f"{source} has no column names; leave out the parameter columns.")
    chosen = set(chosen_names(found.names, columns, source))
    return View(
        found, columns=np.array([place for place, name in enumerate(found.names) if name in chosen])
    )


def _compressed(
    group: Any, shape: Any, layout: str, memory: int, names: tuple[str, ...] | None
) -> Compressed:
    source = f"the sparse matrix {str(group.name)!r}"
    arrays = {name: group[name] for name in ("data", "indices", "indptr")}
    if np.dtype(arrays["data"].dtype).kind not in "biuf" or len(shape) != 2:
        raise InputError(
            f"{source} holds values of type {arrays['data'].dtype}; every feature must be numeric."
        )
    return Compressed(
        arrays,
        (int(shape[0]), int(shape[1])),
        by_rows=layout == "csr",
        memory=memory,
        names=names,
        source=source,
    )
