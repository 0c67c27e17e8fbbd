"""The nearest rows by sums of absolute differences, group by group."""

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
from graphsieve.graphs.neighbors.exact import absolute_distances, smallest_columns
from graphsieve.graphs.neighbors.proposals import threads_for

LONGEST = 512  # neighbours, beyond which it is quicker to partition all distances
NOBODY = np.iinfo(np.int32).max  # a place behind all others
MULTIPLE = 32  # of bytes, and words, in a row
LEAST_WORK = 32  # terms of a sum that take as long as to look at it

Places = NDArray[np.int32]


def nearest_in_groups(rows: Any, begin: Integers, n_neighbors: int, grid: float) -> list[Places]:
    """For every group the places of those of its rows that are nearest to each row, never the row
    itself.

    Group g has the rows ``begin[g]:begin[g + 1]``. Distances are compared as multiples of `grid`,
    ties by place. The answers have `n_neighbors` columns, or as many as the group has rows, in the
    order of places; last is −1 where there is nobody left.

    Parameters
    ----------
    rows : array or CSR matrix of shape (n_rows, n_columns)
        In an array no column has a range beyond 1.

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
            step = max(1, min(search.most_queries, search.at_once // max(1, int(sizes[group]))))
            if sizes[group]:
                yield from (
                    (group, slice(start, start + step)) for start in range(0, rows.shape[0], step)
                )

    def work(mine: Iterator[tuple[int, slice]]) -> None:
        for group, queries in mine:
            near = found[group][queries]
            search.fill(
                slice(queries.start, queries.start + len(near)),
                slice(begin[group], begin[group + 1]),
                near,
            )

    # The sparse distances are those of scikit-learn, which has threads of its own.
    n_threads = (
        1 if sp.issparse(rows) else threads_for(rows.shape[0] ** 2 * max(LEAST_WORK, rows.shape[1]))
    )
    if n_threads == 1:  # there are no products, so BLAS need not be told
        work(jobs())
    else:
        in_threads(work, jobs(), n_threads)
    return found


def _search(rows: Any, n_neighbors: int, grid: float) -> _SmallSearch | _PlainSearch:
    is_compiled = hasattr(_kernels.compiled, "nearest_absolute")  # an older build may lack it
    if not is_compiled or sp.issparse(rows) or n_neighbors > LONGEST:
        return _PlainSearch(rows, grid)
    return _SmallSearch(rows, grid)


class _SmallSearch:
    """By compiled kernels, which look at bytes and words of 16 bits before they look at the
    rows.
    """

    at_once = 2**20  # sums of bytes that are kept at a time: 4 MiB
    most_queries = 256  # so that threads end at about the same time

    def __init__(self, rows: Floats, grid: float) -> None:
        n_rows, width = rows.shape[0], max(1, -(-rows.shape[1] // MULTIPLE)) * MULTIPLE
        small = np.empty((n_rows, width), dtype=np.uint8), np.empty((n_rows, width), dtype=np.int16)
        errors = np.empty((2, n_rows), dtype=np.float32)
        _kernels.compiled.small_rows(rows, column_extremes(rows)[0], *small, *errors)
        self.arrays, self.grid = (*small, *errors, rows), grid

    def fill(self, queries: slice, others: slice, near: Places) -> None:
        """Who is nearest to these queries among these others."""
        ends = (queries.start, queries.stop, others.start, others.stop)
        _kernels.compiled.nearest_absolute(*self.arrays, *ends, self.grid, near)


class _PlainSearch:
    """All distances, each summed from the first column on, as the compiled kernels do."""

    at_once = most_queries = TEMPORARY_ELEMENTS

    def __init__(self, rows: Any, grid: float) -> None:
        self.rows, self.grid = rows, grid

    def fill(self, queries: slice, others: slice, near: Places) -> None:
        """Who is nearest to these queries among these others."""
        distances = absolute_distances(self.rows[queries], self.rows[others])
        distances /= self.grid
        np.rint(distances, out=distances)
        itself = np.arange(queries.start, queries.stop)[:, None] == np.arange(
            others.start, others.stop
        )
        distances[itself] = np.inf
        column = np.sort(smallest_columns(distances, near.shape[1]), axis=1)
        near[:] = others.start + column
        alone = np.take_along_axis(itself, column, axis=1)
        if alone.any():  # where the row itself is all that is left
            near[alone] = NOBODY
            near.sort(axis=1)
            near[near == NOBODY] = -1
