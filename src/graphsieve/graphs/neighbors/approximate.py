"""Approximate nearest neighbours of very many dense rows, by the products and kernels of the exact
search.

Rows are put into some thousand cells, each with the centre that is nearest to them (a few rounds of
k-means on a sample), and are compared with the rows of the cells whose centres are nearest: cell by
cell, one product of matrices for all who look there. Of a few rows the exact neighbours are known,
so how many cells are needed can be counted beforehand. Whoever is proposed is measured by explicit
differences, as in the exact search: distances and ties are right, only somebody may have been
missed.

Draws are seeded and no sum depends on the number of threads: the same rows give the same answer.
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

# On average, up to MOST_CELLS: small cells fit rows better, large ones suit products
CELL_ROWS = 256
MOST_CELLS = 4096  # with which all rows are compared
FEWEST_CELLS = 16  # below, there is nothing to gain
# Times the average: beyond, as where half of all rows are equal, the first rows of a cell stand for
# it
LARGEST_CELL = 16
ROWS_PER_CENTER = 32  # in the sample from which centres are found
CENTER_ROUNDS = 4  # of k-means; more hardly help
WANTED = 0.97  # of the neighbours of the rows that are tried: so many are to be met
TRIED = 256  # rows whose exact neighbours say how many cells are needed
FEWEST_VISITED, MOST_VISITED = 4, 64  # cells in which a row looks for its neighbours
MOST_LISTED = 128  # whoever wants more neighbours gets them from the exact search
ROWS_AT_ONCE = 1024  # compared with all centres
BATCH_ROWS, FEWEST_BATCHES = 2**15, 16  # whose lists one thread fills at a time

Singles = NDArray[np.float32]


def approximate_neighbors(rows: Any, n_neighbors: int) -> tuple[Integers, Floats]:
    """The nearest other rows of each, as far as they are found: what `nearest_neighbors` gives, for
    most rows.

    Few rows, and very many neighbours of each, are searched exactly.

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
    tried = drawn_rows(len(rows), TRIED, seed=0)
    near = nearest_neighbors(rows, n_neighbors, queries=tried)[0]
    # Nothing is proven here, so most rows had better keep their digits: outliers would drag a mean
    # away from them.
    points = DensePoints(
        rows, np.float32, np.median(rows[drawn_rows(len(rows), CENTER_ROWS, seed=4)], axis=0)
    )
    centers = _centers(points.values, n_cells)
    n_visited = _needed(points.values, centers, tried, near)
    mention_plain_kernels(n_visited * CELL_ROWS * rows.size)
    cells = _Cells(points, centers, n_visited)
    del points
    return cells.nearest(rows, n_neighbors, n_listed)


def searches_cells(n_rows: int, n_neighbors: int) -> bool:
    """Whether so many neighbours of so many rows are looked for in cells; otherwise the search
    is exact.
    """
    return n_rows // CELL_ROWS >= FEWEST_CELLS and _n_listed(n_neighbors) <= MOST_LISTED


def _n_listed(n_neighbors: int) -> int:
    return -(-(n_neighbors + 1 + SPARE_CANDIDATES) // LISTED) * LISTED


def drawn_rows(n_rows: int, n_drawn: int, *, seed: int) -> Integers:
    """Some rows, always the same ones, in their order."""
    chosen = np.random.default_rng(seed).choice(n_rows, min(n_drawn, n_rows), replace=False)
    return np.sort(chosen).astype(np.int64)


def _centers(values: Singles, n_cells: int) -> Singles:
    """The centres of cells: some rows, moved to the means of those nearest to them."""
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
    return _in_a_row(centers)


def _in_a_row(centers: Singles) -> Singles:
    """The centres in an order in which near ones stand near each other: that of a tree that
    halves them.
    """
    order = [np.arange(len(centers))]
    while len(order) < len(centers):
        order = [half for part in order for half in _halves(centers, part)]
    return centers[np.concatenate(order)]


def _halves(centers: Singles, part: Integers) -> list[Integers]:
    if len(part) < 2:
        return [part]
    apart = centers[part] - centers[part].mean(axis=0)
    along = apart @ apart[np.einsum("ij,ij->i", apart, apart).argmax()]
    ordered = part[np.argsort(along, kind="stable")]
    return [ordered[: len(part) // 2], ordered[len(part) // 2 :]]


def _own_cells(values: Singles, centers: Singles) -> Integers:
    """The nearest centre of each row."""
    found = np.empty(len(values), dtype=np.int64)
    norms = np.einsum("ij,ij->i", centers, centers)

    def work(starts: Iterator[int]) -> None:
        for start in starts:
            here = slice(start, start + ROWS_AT_ONCE)
            found[here] = (norms - 2 * (values[here] @ centers.T)).argmin(axis=1)

    in_threads(work, range(0, len(values), ROWS_AT_ONCE), threads_for(values.size * len(centers)))
    return found


def _needed(values: Singles, centers: Singles, tried: Integers, near: Integers) -> int:
    """In how many cells rows have to look, to meet what is wanted of the neighbours of those
    that were tried.
    """
    norms = np.einsum("ij,ij->i", centers, centers)
    visited = np.argsort(norms - 2 * (values[tried] @ centers.T), axis=1, kind="stable")
    cells = _own_cells(values[near.ravel()], centers).reshape(near.shape)
    met = [
        (cells == visited[:, place, None]).sum() for place in range(min(MOST_VISITED, len(centers)))
    ]
    enough = int(np.searchsorted(np.cumsum(met), WANTED * near.size)) + 1
    return min(max(FEWEST_VISITED, enough), len(met))


class _Cells:
    """Rows in the order of their cells, so that a cell is a slice of them, with the cells that
    each row visits.
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
        everybody = slice(0, len(centers))

        def work(starts: Iterator[int]) -> None:
            for start in starts:
                part = values[start : start + ROWS_AT_ONCE]
                lists, here = Lists(len(part), n_listed, np.float32), slice(0, len(part))
                mine = points.norms[start : start + ROWS_AT_ONCE].astype(np.float32)
                keep_nearest(part @ centers.T, (mine, norms), (lists, here), (None, everybody))
                found[start : start + ROWS_AT_ONCE] = lists.indices[:, :n_visited]

        in_threads(
            work, range(0, len(values), ROWS_AT_ONCE), threads_for(values.size * len(centers))
        )
        return found

    def nearest(self, rows: Floats, n_neighbors: int, n_listed: int) -> tuple[Integers, Floats]:
        """The nearest found of every row, nearest first, ties by lower index, and their squared
        distances.
        """
        shape = (len(rows), n_neighbors)
        indices, distances = np.empty(shape, dtype=np.int64), np.empty(shape)
        step = min(BATCH_ROWS, -(-len(rows) // FEWEST_BATCHES))

        def work(starts: Iterator[int]) -> None:
            room = np.empty(ROWS_AT_ONCE * int(self.sizes.max()), dtype=np.float32)
            for start in starts:
                mine = self.order[start : start + step]
                near = self._proposed(slice(start, start + len(mine)), n_listed, room)
                exact = squared_distances(rows, np.repeat(mine, n_listed), near.ravel()).reshape(
                    near.shape
                )
                exact[near == mine[:, None]] = np.inf
                sort_lists(exact, near)
                indices[mine], distances[mine] = near[:, :n_neighbors], exact[:, :n_neighbors]

        n_pairs = len(rows) * self.visited.shape[1] * CELL_ROWS
        in_threads(work, range(0, len(rows), step), threads_for(n_pairs * rows.shape[1]))
        return indices, distances

    def _proposed(self, batch: slice, n_listed: int, room: Singles) -> Integers:
        """Those who seem nearest to the rows of a batch, which visit one cell after the other."""
        lists = Lists(batch.stop - batch.start, n_listed, np.float32)
        # Its own cell first: whoever is met there keeps most of the others out of the list.
        for visited in (self.visited[batch, :1], self.visited[batch, 1:]):
            visitor = np.repeat(np.arange(len(visited)), visited.shape[1])
            by_cell = np.argsort(visited, axis=None, kind="stable")
            cells, begin = np.unique(visited.ravel()[by_cell], return_index=True)
            for cell, visitors in zip(cells, np.split(visitor[by_cell], begin[1:]), strict=True):
                for start in range(0, len(visitors), ROWS_AT_ONCE):
                    self._visit(
                        int(cell), visitors[start : start + ROWS_AT_ONCE], batch.start, lists, room
                    )
        return self._without_gaps(lists.indices, batch)

    def _visit(self, cell: int, who: Integers, start: int, lists: Lists, room: Singles) -> None:
        """Enter into the lists of some rows, counted from `start`, whoever is nearer in a cell."""
        there = slice(int(self.starts[cell]), int(self.starts[cell] + self.sizes[cell]))
        some, mine = lists.taken(who), start + who
        products = room[: len(who) * self.sizes[cell]].reshape(len(who), self.sizes[cell])
        np.matmul(self.values[mine], self.values[there].T, out=products)
        keep_nearest(
            products,
            (self.norms[mine], self.norms[there]),
            (some, slice(0, len(who))),
            (None, there),
        )
        lists.put(who, some)

    def _without_gaps(self, found: NDArray[np.int32], batch: slice) -> Integers:
        """Rows of the table for places in our order; who has met too few gets the next in our
        order, which lie about there.
        """
        places = found.astype(np.int64)
        lacking = np.flatnonzero((places < 0).any(axis=1))
        for row in lacking:
            around = (
                batch.start + row + np.arange(2 * places.shape[1] + 1) - places.shape[1]
            ) % len(self.order)
            met = places[row][places[row] >= 0]
            places[row] = np.concatenate([met, np.setdiff1d(around, met)])[: places.shape[1]]
        return self.order[places]
