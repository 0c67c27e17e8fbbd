"""Nearest rows by Manhattan distance (sums of absolute differences), separately for each group."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from graphsieve import _kernels
from graphsieve._base.array_types import Floats, Integers
from graphsieve._base.threads import in_threads
from graphsieve._kernels.column_sums import TEMPORARY_ELEMENTS, column_extremes
from graphsieve.graphs.neighbors import with_gaps
from graphsieve.graphs.neighbors.exact import absolute_distances, smallest_columns
from graphsieve.graphs.neighbors.proposals import threads_for
from graphsieve.table.gaps import RowsWithGaps

LONGEST = 512  # neighbours; for more, it is faster to partition all distances
NO_PLACE = np.iinfo(np.int32).max  # sorts after all valid places
WIDTH_MULTIPLE = 32  # quantized rows are padded to a multiple of this number of values
OVERHEAD_TERMS = 32  # terms of a sum; the fixed cost per pair equals that of this number of terms

Places = NDArray[np.int32]


def nearest_in_groups(rows: Any, begin: Integers, n_neighbors: int, grid: float) -> list[Places]:
    """Find the nearest rows of every group to each row.

    A row is never its own neighbour. Group g consists of the rows ``begin[g]:begin[g + 1]``.
    Distances are rounded to multiples of `grid`, and ties are broken by the lower place (row
    index).

    Parameters
    ----------
    rows : array or CSR matrix of shape (n_rows, n_columns)
        The rows, sorted by group. If `rows` is an array, the range of each column is at most 1.
    begin : array of int of shape (n_groups + 1,)
        First row of each group, followed by the number of rows.
    n_neighbors : int
        Number of neighbours per row and group.
    grid : float
        Unit to which distances are rounded.

    Returns
    -------
    list of arrays of shape (n_rows, min(n_neighbors, group size))
        For every group, the places of the neighbours in increasing order. The last entry is −1 if
        the group has too few other rows.

    Examples
    --------
    >>> rows = np.array([[0.0], [0.2], [0.5], [1.0]])
    >>> nearest_in_groups(rows, np.array([0, 2, 4]), 2, 1e-12)[1].tolist()
    [[2, 3], [2, 3], [3, -1], [2, -1]]
    """
    sizes = np.diff(begin)
    found: list[Places] = [
        np.empty((rows.shape[0], min(n_neighbors, size)), dtype=np.int32) for size in sizes
    ]
    search = _search(rows, n_neighbors, grid)

    def jobs() -> Iterator[tuple[int, slice]]:
        for group in range(len(sizes)):
            step = max(1, min(search.max_queries, search.sums_per_job // max(1, int(sizes[group]))))
            if sizes[group]:
                yield from (
                    (group, slice(start, start + step)) for start in range(0, rows.shape[0], step)
                )

    def work(assigned: Iterator[tuple[int, slice]]) -> None:
        for group, queries in assigned:
            near = found[group][queries]
            search.fill(
                slice(queries.start, queries.start + len(near)),
                slice(begin[group], begin[group + 1]),
                near,
            )

    # Sparse distances come from scikit-learn, which starts its own threads.
    n_threads = (
        1
        if sp.issparse(rows)
        else threads_for(rows.shape[0] ** 2 * max(OVERHEAD_TERMS, rows.shape[1]))
    )
    if n_threads == 1:  # no matrix products here, so BLAS threads need no limit
        work(jobs())
    else:
        in_threads(work, jobs(), n_threads)
    return found


def _search(rows: Any, n_neighbors: int, grid: float) -> _CompiledSearch | _NumpySearch:
    if isinstance(rows, RowsWithGaps):
        return _GapSearch(rows, grid)
    is_compiled = hasattr(_kernels.compiled, "nearest_absolute")  # older builds lack this kernel
    if not is_compiled or sp.issparse(rows) or n_neighbors > LONGEST:
        return _NumpySearch(rows, grid)
    return _CompiledSearch(rows, grid)


class _CompiledSearch:
    """Search by compiled kernels.

    The kernels compare rows quantized to 8 and 16 bits first. They compute exact distances only
    where these cannot decide.
    """

    sums_per_job = 2**20  # distances of 8-bit rows in memory: 4 MiB
    max_queries = 256  # small jobs, so that all threads finish at about the same time

    def __init__(self, rows: Floats, grid: float) -> None:
        n_rows, width = rows.shape[0], max(1, -(-rows.shape[1] // WIDTH_MULTIPLE)) * WIDTH_MULTIPLE
        small = np.empty((n_rows, width), dtype=np.uint8), np.empty((n_rows, width), dtype=np.int16)
        errors = np.empty((2, n_rows), dtype=np.float32)
        _kernels.compiled.small_rows(rows, column_extremes(rows)[0], *small, *errors)
        self.arrays, self.grid = (*small, *errors, rows), grid

    def fill(self, queries: slice, others: slice, near: Places) -> None:
        """Write the places of the nearest `others` of each query to `near`."""
        ends = (queries.start, queries.stop, others.start, others.stop)
        _kernels.compiled.nearest_absolute(*self.arrays, *ends, self.grid, near)


class _NumpySearch:
    """Search by all exact distances.

    Each distance is summed in column order, as in the compiled kernels.
    """

    sums_per_job = max_queries = TEMPORARY_ELEMENTS

    def __init__(self, rows: Any, grid: float) -> None:
        self.rows, self.grid = rows, grid

    def distances(self, queries: slice, others: slice) -> Floats:
        """Return the distances between two groups of rows."""
        return absolute_distances(self.rows[queries], self.rows[others])

    def fill(self, queries: slice, others: slice, near: Places) -> None:
        """Write the places of the nearest `others` of each query to `near`."""
        distances = self.distances(queries, others)
        distances /= self.grid
        np.rint(distances, out=distances)
        is_query = np.arange(queries.start, queries.stop)[:, None] == np.arange(
            others.start, others.stop
        )
        distances[is_query] = np.inf
        column = np.sort(smallest_columns(distances, near.shape[1]), axis=1)
        near[:] = others.start + column
        is_filler = np.take_along_axis(is_query, column, axis=1)
        if is_filler.any():  # the group has too few other rows, so the query itself was taken
            near[is_filler] = NO_PLACE
            near.sort(axis=1)
            near[near == NO_PLACE] = -1


class _GapSearch(_NumpySearch):
    """Search over the columns that two rows share, as in `neighbors.with_gaps`."""

    sums_per_job = 2**20
    max_queries = 256

    def distances(self, queries: slice, others: slice) -> Floats:
        return with_gaps.absolute_distances(self.rows, queries, others)
