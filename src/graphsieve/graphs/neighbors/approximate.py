"""Approximate nearest neighbours of very many dense rows.

The search divides the rows into up to a few thousand cells. Each row belongs to the cell with the
nearest centre. The centres come from a few rounds of k-means on a random subset of the rows. A row
is compared only with the rows of the cells with the nearest centres. One matrix product per cell
compares its rows with all rows that visit it, with the kernels of the exact search.

The exact neighbours of a few trial rows show in advance how many cells each row must visit.

The distances to all candidates are computed from explicit differences, as in the exact search.
Distances and ties are therefore exact; only some neighbours may be missing.

Random draws are seeded, and no sum depends on the number of threads. The same rows always give the
same result.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from graphsieve._base.array_types import Floats, Integers
from graphsieve._base.threads import in_threads
from graphsieve._kernels import mention_plain_kernels
from graphsieve._kernels.tiles import Lists, keep_nearest, sort_lists
from graphsieve.graphs.neighbors.exact import (
    SPARE_CANDIDATES,
    nearest_neighbors,
    squared_distances,
)
from graphsieve.graphs.neighbors.proposals import CENTER_ROWS, LISTED, DensePoints, threads_for

# Average rows per cell, as long as there are at most MOST_CELLS. Small cells need fewer
# comparisons. Large cells give faster matrix products.
CELL_ROWS = 256
MOST_CELLS = 4096  # upper limit, because every row is compared with every centre
FEWEST_CELLS = 16  # with fewer cells, the approximate search saves no time
# Maximum size of a cell, as a multiple of the average. Only the first rows of a larger cell are
# compared. Such cells occur, for example, if half of all rows are equal.
LARGEST_CELL = 16
ROWS_PER_CENTER = 32  # rows per centre in the subset used for k-means
CENTER_ROUNDS = 4  # rounds of k-means; more rounds hardly improve the cells
TARGET_RECALL = 0.97  # recall that the visited cells must reach for the trial rows
TRIAL_ROWS = 256  # rows with exact neighbours, from which the number of visited cells is derived
FEWEST_VISITED, MOST_VISITED = 4, 64  # cells visited per row
MOST_LISTED = 128  # candidates per row; with more, the search is exact
ROWS_PER_PRODUCT = 1024  # rows in one matrix product
# Maximum rows per batch, and smallest number of batches. One thread processes a batch.
BATCH_ROWS, FEWEST_BATCHES = 2**15, 16

Singles = NDArray[np.float32]


def approximate_neighbors(rows: Any, n_neighbors: int) -> tuple[Integers, Floats]:
    """Find the nearest other rows of each row; some of them may be missing.

    For most rows, the result equals that of `nearest_neighbors`. The search is exact for few rows
    and for very many neighbours per row.

    Examples
    --------
    >>> rows = np.random.default_rng(0).normal(size=(5000, 3))
    >>> found, exact = approximate_neighbors(rows, 5)[0], nearest_neighbors(rows, 5)[0]
    >>> bool((found == exact).mean() > 0.9)
    True
    """
    if not searches_cells(len(rows), n_neighbors):
        return nearest_neighbors(rows, n_neighbors)
    n_listed, n_cells = _n_listed(n_neighbors), min(MOST_CELLS, len(rows) // CELL_ROWS)
    trial_rows = drawn_rows(len(rows), TRIAL_ROWS, seed=0)
    near = nearest_neighbors(rows, n_neighbors, queries=trial_rows)[0]
    # No bounds correct for rounding errors here, so the rows are centred by a median. Outliers
    # would move a mean away from most rows, which would then lose digits.
    points = DensePoints(
        rows, np.float32, np.median(rows[drawn_rows(len(rows), CENTER_ROWS, seed=4)], axis=0)
    )
    centers = _centers(points.values, n_cells)
    n_visited = _n_cells_needed(points.values, centers, trial_rows, near)
    mention_plain_kernels(n_visited * CELL_ROWS * rows.size)
    cells = _Cells(points, centers, n_visited)
    del points
    return cells.nearest(rows, n_neighbors, n_listed)


def searches_cells(n_rows: int, n_neighbors: int) -> bool:
    """Whether the search uses cells for these numbers; otherwise it is exact."""
    return n_rows // CELL_ROWS >= FEWEST_CELLS and _n_listed(n_neighbors) <= MOST_LISTED


def _n_listed(n_neighbors: int) -> int:
    return -(-(n_neighbors + 1 + SPARE_CANDIDATES) // LISTED) * LISTED


def drawn_rows(n_rows: int, n_drawn: int, *, seed: int) -> Integers:
    """Draw row indices without replacement, reproducibly and in increasing order."""
    drawn = np.random.default_rng(seed).choice(n_rows, min(n_drawn, n_rows), replace=False)
    return np.sort(drawn).astype(np.int64)


def _centers(values: Singles, n_cells: int) -> Singles:
    """Compute the centres of the cells by k-means on a random subset of the rows."""
    sample = values[drawn_rows(len(values), ROWS_PER_CENTER * n_cells, seed=1)]
    centers: Singles = sample[drawn_rows(len(sample), n_cells, seed=2)]
    places = np.arange(len(sample))
    for _ in range(CENTER_ROUNDS):
        members = sp.csr_array(
            (np.ones(len(sample), np.float32), (_own_cells(sample, centers), places)),
            (n_cells, len(sample)),
        )
        counts = np.diff(members.indptr)[:, None]
        centers = np.where(counts > 0, (members @ sample) / np.maximum(counts, 1), centers).astype(
            np.float32
        )
    return _in_spatial_order(centers)


def _in_spatial_order(centers: Singles) -> Singles:
    """Sort the centres so that nearby centres are close to each other in the order.

    The order is that of the leaves of a tree that repeatedly divides the centres into halves.
    """
    order = [np.arange(len(centers))]
    while len(order) < len(centers):
        order = [half for part in order for half in _halves(centers, part)]
    return centers[np.concatenate(order)]


def _halves(centers: Singles, part: Integers) -> list[Integers]:
    if len(part) < 2:
        return [part]
    offsets = centers[part] - centers[part].mean(axis=0)
    along = offsets @ offsets[np.einsum("ij,ij->i", offsets, offsets).argmax()]
    ordered = part[np.argsort(along, kind="stable")]
    return [ordered[: len(part) // 2], ordered[len(part) // 2 :]]


def _own_cells(values: Singles, centers: Singles) -> Integers:
    """Return the nearest centre of each row."""
    found = np.empty(len(values), dtype=np.int64)
    norms = np.einsum("ij,ij->i", centers, centers)

    def work(starts: Iterator[int]) -> None:
        for start in starts:
            here = slice(start, start + ROWS_PER_PRODUCT)
            found[here] = (norms - 2 * (values[here] @ centers.T)).argmin(axis=1)

    in_threads(
        work, range(0, len(values), ROWS_PER_PRODUCT), threads_for(values.size * len(centers))
    )
    return found


def _n_cells_needed(values: Singles, centers: Singles, trial_rows: Integers, near: Integers) -> int:
    """Return the number of cells to visit so that the trial rows reach the target recall."""
    norms = np.einsum("ij,ij->i", centers, centers)
    visited = np.argsort(norms - 2 * (values[trial_rows] @ centers.T), axis=1, kind="stable")
    cells = _own_cells(values[near.ravel()], centers).reshape(near.shape)
    hits = [
        (cells == visited[:, place, None]).sum() for place in range(min(MOST_VISITED, len(centers)))
    ]
    enough = int(np.searchsorted(np.cumsum(hits), TARGET_RECALL * near.size)) + 1
    return min(max(FEWEST_VISITED, enough), len(hits))


class _Cells:
    """Rows sorted by cell, with the cells that each row visits.

    Each cell is a slice of the sorted rows.
    """

    def __init__(self, points: DensePoints, centers: Singles, n_visited: int) -> None:
        n, n_cells = len(points.values), len(centers)
        visited = self._nearest_centers(points, centers, n_visited)
        self.order = np.argsort(visited[:, 0], kind="stable")
        self.visited = visited[self.order]
        ends = np.searchsorted(self.visited[:, 0], np.arange(n_cells + 1))
        self.starts = ends[:-1]
        self.sizes = np.minimum(np.diff(ends), LARGEST_CELL * (n // n_cells))
        self.values: Singles = points.values[self.order]
        self.norms: Singles = points.norms[self.order].astype(np.float32)

    @staticmethod
    def _nearest_centers(
        points: DensePoints, centers: Singles, n_visited: int
    ) -> NDArray[np.int32]:
        values, norms = points.values, np.einsum("ij,ij->i", centers, centers)
        found = np.empty((len(values), n_visited), dtype=np.int32)
        n_listed = -(-n_visited // LISTED) * LISTED
        all_centers = slice(0, len(centers))

        def work(starts: Iterator[int]) -> None:
            for start in starts:
                part = values[start : start + ROWS_PER_PRODUCT]
                lists, here = Lists(len(part), n_listed, np.float32), slice(0, len(part))
                own = points.norms[start : start + ROWS_PER_PRODUCT].astype(np.float32)
                keep_nearest(part @ centers.T, (own, norms), (lists, here), (None, all_centers))
                found[start : start + ROWS_PER_PRODUCT] = lists.indices[:, :n_visited]

        in_threads(
            work, range(0, len(values), ROWS_PER_PRODUCT), threads_for(values.size * len(centers))
        )
        return found

    def nearest(self, rows: Floats, n_neighbors: int, n_listed: int) -> tuple[Integers, Floats]:
        """Return the neighbours found for every row, and their squared distances.

        They are in order of increasing distance. Ties are broken by the lower index.
        """
        shape = (len(rows), n_neighbors)
        indices, distances = np.empty(shape, dtype=np.int64), np.empty(shape)
        step = min(BATCH_ROWS, -(-len(rows) // FEWEST_BATCHES))

        def work(starts: Iterator[int]) -> None:
            buffer = np.empty(ROWS_PER_PRODUCT * int(self.sizes.max()), dtype=np.float32)
            for start in starts:
                own = self.order[start : start + step]
                near = self._proposed(slice(start, start + len(own)), n_listed, buffer)
                exact = squared_distances(rows, np.repeat(own, n_listed), near.ravel()).reshape(
                    near.shape
                )
                exact[near == own[:, None]] = np.inf
                sort_lists(exact, near)
                indices[own], distances[own] = near[:, :n_neighbors], exact[:, :n_neighbors]

        n_pairs = len(rows) * self.visited.shape[1] * CELL_ROWS
        in_threads(work, range(0, len(rows), step), threads_for(n_pairs * rows.shape[1]))
        return indices, distances

    def _proposed(self, batch: slice, n_listed: int, buffer: Singles) -> Integers:
        """Return the candidates for the rows of a batch, found by visiting their cells in turn."""
        lists = Lists(batch.stop - batch.start, n_listed, np.float32)
        # Each row visits its own cell first. Candidates from there are close, so that most later
        # rows do not enter the list.
        for visited in (self.visited[batch, :1], self.visited[batch, 1:]):
            visitor = np.repeat(np.arange(len(visited)), visited.shape[1])
            by_cell = np.argsort(visited, axis=None, kind="stable")
            cells, begin = np.unique(visited.ravel()[by_cell], return_index=True)
            for cell, visitors in zip(cells, np.split(visitor[by_cell], begin[1:]), strict=True):
                for start in range(0, len(visitors), ROWS_PER_PRODUCT):
                    self._visit(
                        int(cell),
                        visitors[start : start + ROWS_PER_PRODUCT],
                        batch.start,
                        lists,
                        buffer,
                    )
        return self._without_gaps(lists.indices, batch)

    def _visit(
        self, cell: int, batch_rows: Integers, start: int, lists: Lists, buffer: Singles
    ) -> None:
        """Update the candidate lists of some rows with the rows of one cell.

        `batch_rows` are positions relative to `start`.
        """
        there = slice(int(self.starts[cell]), int(self.starts[cell] + self.sizes[cell]))
        some, own = lists.taken(batch_rows), start + batch_rows
        products = buffer[: len(batch_rows) * self.sizes[cell]].reshape(
            len(batch_rows), self.sizes[cell]
        )
        np.matmul(self.values[own], self.values[there].T, out=products)
        keep_nearest(
            products,
            (self.norms[own], self.norms[there]),
            (some, slice(0, len(batch_rows))),
            (None, there),
        )
        lists.put(batch_rows, some)

    def _without_gaps(self, found: NDArray[np.int32], batch: slice) -> Integers:
        """Convert positions in the sorted order to row indices, and fill incomplete lists.

        Incomplete lists are filled with the adjacent rows in the sorted order, which are nearby.
        """
        places = found.astype(np.int64)
        incomplete = np.flatnonzero((places < 0).any(axis=1))
        for row in incomplete:
            around = (
                batch.start + row + np.arange(2 * places.shape[1] + 1) - places.shape[1]
            ) % len(self.order)
            hits = places[row][places[row] >= 0]
            places[row] = np.concatenate([hits, np.setdiff1d(around, hits)])[: places.shape[1]]
        return self.order[places]
