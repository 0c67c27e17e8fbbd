"""Nearest neighbours of, and distances between, samples with missing values.

The squared distance between two samples is a sum of squared differences over the features in which
both are observed. The sum is multiplied by the number of all features and divided by the number of
shared features. Two samples without a common feature are infinitely far apart.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from graphsieve._base.array_types import Booleans, Floats, Integers
from graphsieve._base.threads import in_threads
from graphsieve.graphs.neighbors.exact import MOST_PROPOSED, SPARE_CANDIDATES
from graphsieve.graphs.neighbors.proposals import (
    LISTED,
    DensePoints,
    DenseTiles,
    Norms,
    compounded,
    searched_lists,
    threads_for,
)
from graphsieve.table.gaps import RowsWithGaps

TEMPORARY_ELEMENTS = 2**22  # values of a temporary array
PAIR_ELEMENTS = 2**16  # values compared in one step, which fit into the cache
PRODUCTS_FROM = 2**22  # queries × candidates from which lists of proposals are faster
SPARSE_BELOW = 0.1  # share of gaps below which sparse products are faster
VERIFIED_PER_STEP = 512  # queries verified in one step


def nearest_neighbors(
    rows: RowsWithGaps, n_neighbors: int, queries: Integers | None, candidates: Integers | None
) -> tuple[Integers, Floats]:
    """Find the nearest candidates of each query, as `exact.nearest_neighbors` does.

    Products in single precision propose candidates and give lower bounds on the distances of all
    others. The distances of the proposed candidates are then computed exactly. Queries for which
    the bounds are not sufficient are compared with every candidate that may be a neighbour.
    """
    everything = np.arange(rows.shape[0])
    queries = everything if queries is None else queries
    candidates = everything if candidates is None else np.sort(candidates)
    near = np.empty((len(queries), n_neighbors), dtype=np.int64)
    squared = np.empty((len(queries), n_neighbors))
    if not len(queries) or not n_neighbors:
        return near, squared
    points = _Points(rows)
    remaining = np.arange(len(queries))
    if len(queries) * len(candidates) >= PRODUCTS_FROM:
        remaining = _by_lists(rows, _Tiles(points, queries, candidates), near, squared)
    height = max(1, TEMPORARY_ELEMENTS // max(len(candidates), rows.shape[1]))
    for start in range(0, len(remaining), height):
        part = remaining[start : start + height]
        near[part], squared[part] = _within_bounds(
            rows, _Tiles(points, queries[part], candidates), n_neighbors
        )
    return near, squared


def _by_lists(rows: RowsWithGaps, tiles: _Tiles, near: Integers, squared: Floats) -> Integers:
    """Find the neighbours of the queries for which short lists suffice, and return the others."""
    queries, candidates, k = tiles.queries, tiles.candidates, near.shape[1]
    n_proposed = -(-(k + SPARE_CANDIDATES) // LISTED) * LISTED
    if not n_proposed < min(MOST_PROPOSED, len(candidates)):
        return np.arange(len(queries))
    lists = searched_lists(tiles, n_proposed)
    proven = np.zeros(len(queries), dtype=bool)

    def verify(starts: Iterator[int]) -> None:
        for start in starts:
            here = slice(start, start + VERIFIED_PER_STEP)
            owner = queries[here]
            lower = tiles.points.in_units(lists.values[here].astype(np.float64))
            others = candidates[np.maximum(lists.indices[here], 0)]
            possible = np.isfinite(lower) & (others != owner[:, None])
            exact = np.full(lower.shape, np.inf)
            first = possible & (np.cumsum(possible, axis=1) <= k)
            for chosen in (first, possible & ~first):
                reach = np.sort(exact, axis=1)[:, k - 1]
                pairs = chosen & (lower <= reach[:, None])
                repeated = np.repeat(owner, pairs.sum(axis=1))
                exact[pairs] = squared_distances(rows, repeated, others[pairs])
            order = np.lexsort((others, exact), axis=1)[:, :k]
            near[here] = np.take_along_axis(others, order, axis=1)
            squared[here] = np.take_along_axis(exact, order, axis=1)
            proven[here] = squared[here][:, -1] < lower[:, -1]

    steps = range(0, len(queries), VERIFIED_PER_STEP)
    in_threads(verify, steps, threads_for(16 * len(queries) * k * rows.shape[1]))
    return np.flatnonzero(~proven)


def _within_bounds(rows: RowsWithGaps, tiles: _Tiles, n_neighbors: int) -> tuple[Integers, Floats]:
    """Compare each query with all candidates that may be as close as its k-th nearest one."""
    queries, candidates = tiles.queries, tiles.candidates
    lower, upper = tiles.bounds()
    itself = queries[:, None] == candidates
    upper[itself] = np.inf
    bound = np.partition(upper, n_neighbors - 1, axis=1)[:, n_neighbors - 1]
    query, place = np.nonzero((lower <= bound[:, None]) & ~itself)
    exact = squared_distances(rows, queries[query], candidates[place])
    order = np.lexsort((candidates[place], exact, query))
    first = np.searchsorted(query[order], np.arange(len(queries)))
    chosen = order[first[:, None] + np.arange(n_neighbors)]
    return candidates[place[chosen]], exact[chosen]


class _Points(DensePoints):
    """Rows with gaps in single precision, with bounds on the rounding errors.

    Let g_x be 1 in the missing cells of a row x, and 0 elsewhere. Missing cells of x are 0. The sum of squared differences over
    the cells that x and y share is |x|² + |y|² − 2 x·y − x²·g_y − g_x·y². The last two terms add up
    to no more than the norms, and need only the columns with gaps.
    """

    def __init__(self, rows: RowsWithGaps) -> None:
        super().__init__(rows.values, np.float32, center=np.zeros(rows.shape[1]))
        self.with_gaps = np.flatnonzero(~rows.observed.all(axis=0))
        gaps = ~rows.observed[:, self.with_gaps]
        most = int(gaps.sum(axis=1).max(initial=0))
        self.share = 2 * (self.share + compounded(most + 8, np.float32))
        self.gaps: Any = gaps.astype(np.float32)
        if gaps.size and gaps.mean() < SPARSE_BELOW:
            self.gaps = sp.csr_array(self.gaps)
        self.weights = rows.weights[self.with_gaps].astype(np.float32)
        self.total = float(rows.weights.sum())
        # Counts are exact in single precision, other sums of weights are not.
        exact = (rows.weights == 1).all()
        self.weight_error = 0.0 if exact else compounded(most + 8, np.float32) * self.total

    def dense_gaps(self, which: Integers) -> NDArray[Any]:
        """Return the gaps of some rows, with one column per row."""
        gaps = self.gaps[which]
        return np.ascontiguousarray((gaps.toarray() if sp.issparse(gaps) else gaps).T)

    def squares(self, which: Integers) -> NDArray[Any]:
        """Return the squares of some rows in the columns with gaps, with one column per row."""
        with np.errstate(under="ignore"):
            return np.ascontiguousarray(self.values[np.ix_(which, self.with_gaps)].T) ** 2


class _Tiles(DenseTiles):
    """Products of queries and candidates with gaps, tile by tile."""

    points: _Points

    def __init__(self, points: _Points, queries: Integers, candidates: Integers) -> None:
        super().__init__(points, queries, candidates)
        self._gaps = points.gaps[queries], points.gaps[candidates]
        self._squares = points.squares(queries), points.squares(candidates)
        self._shares = points.dense_gaps(candidates) * points.weights[:, None]
        self._missing = tuple(gaps @ points.weights for gaps in self._gaps)
        self._zeros = np.zeros(max(len(queries), len(candidates)), dtype=np.float32)

    def _compared(
        self, here: slice, there: slice, norms: Norms, buffer: NDArray[Any]
    ) -> tuple[NDArray[Any], Norms]:
        found = self._sums(here, there, norms, buffer)
        found -= self.points.vanishing
        np.maximum(found, 0.0, out=found)
        shared = self._shared(here, there)
        shared += self.points.weight_error
        with np.errstate(divide="ignore", invalid="ignore"):
            found *= (-self.points.total / 2) / shared
        found[shared <= 0] = -np.inf
        return found, (self._zeros[here], self._zeros[there])

    def _sums(self, here: slice, there: slice, norms: Norms, buffer: NDArray[Any]) -> NDArray[Any]:
        """Return the sums of squared differences over shared cells."""
        found = self._products(self._left[here], self._right[there], buffer)
        found *= -2
        found += norms[0][:, None]
        found += norms[1]
        found -= self._gaps[0][here] @ self._squares[1][:, there]
        found -= (self._gaps[1][there] @ self._squares[0][:, here]).T
        return found

    def _shared(self, here: slice, there: slice) -> NDArray[Any]:
        """Return the total weight of the features that each query shares with each candidate."""
        shared = self._gaps[0][here] @ self._shares[:, there]
        shared += self.points.total - self._missing[0][here][:, None]
        shared -= self._missing[1][there]
        return np.asarray(shared)

    def bounds(self) -> tuple[Floats, Floats]:
        """Return lower and upper bounds on the squared distances of queries and candidates."""
        points, all_rows = self.points, slice(None)
        buffer = np.empty((2, len(self.queries) * len(self.candidates)), dtype=np.float32)
        norms = points.norms[self.queries], points.norms[self.candidates]
        error = points.share * (norms[0][:, None] + norms[1]) + points.vanishing
        sums = self._sums(all_rows, all_rows, norms, buffer).astype(np.float64)
        shared = self._shared(all_rows, all_rows).astype(np.float64)
        most, least = shared + points.weight_error, shared - points.weight_error
        with np.errstate(divide="ignore", invalid="ignore"):
            lower = np.where(
                most > 0, np.maximum(sums - error, 0.0) * (points.total / most), np.inf
            )
            upper = np.where(least > 0, (sums + error) * (points.total / least), np.inf)
        return points.in_units(lower), points.in_units(upper)


def squared_distances(rows: RowsWithGaps, first: Integers, second: Integers) -> Floats:
    """Return the squared distances of pairs of samples."""
    found, height = np.empty(len(first)), max(1, PAIR_ELEMENTS // rows.shape[1])
    for start in range(0, len(first), height):
        part = slice(start, start + height)
        both = rows.observed[first[part]] & rows.observed[second[part]]
        differences = np.where(both, rows.values[first[part]] - rows.values[second[part]], 0.0)
        found[part] = _rescaled(np.einsum("ij,ij->i", differences, differences), both, rows.weights)
    return found


def absolute_distances(rows: RowsWithGaps, first: Any, second: Any) -> Floats:
    """Return the Manhattan distances between two sets of rows."""
    one, other = rows[first], rows[second]
    total = np.zeros((one.shape[0], other.shape[0]))
    shared = np.zeros(total.shape)
    for column, weight in enumerate(rows.weights.tolist()):
        both = np.outer(one.observed[:, column], other.observed[:, column])
        differences = np.abs(one.values[:, column][:, None] - other.values[:, column])
        total += np.where(both, differences, 0.0)
        shared += weight * both
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(shared > 0, total * (rows.weights.sum() / shared), np.inf)


def _rescaled(sums: Floats, both: Booleans, weights: Floats) -> Floats:
    # Unlike a product with BLAS, the sum of a row does not depend on the other rows.
    shared = np.einsum("ij,j->i", both.astype(np.float64), weights)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(shared > 0, sums * (weights.sum() / shared), np.inf)
