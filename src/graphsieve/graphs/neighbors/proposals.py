"""Fast proposals of nearest candidates, with bounds that prove which candidates can be excluded.

Squared distances come from inner products, d² = |x|² + |y|² − 2 x·y, tile by tile. Products have
rounding errors, so a lower bound on the distance is kept for each pair. Let u be the unit roundoff,
let the rows x have p columns and be centred, and let N = |x|² be the squared norm.

- Rounding x and y to the precision of the product changes x·y by at most 2u |x||y|. Summing p
  products changes it by at most p·u |x||y| to first order, in any order and with or without fused
  operations. Since |x||y| ≤ (N_x + N_y)/2, the error of 2 x·y is at most (p + 2) u (N_x + N_y).
- Rounding the norms, their sum and the difference adds at most 4u (N_x + N_y).
- Centring adds one float64 rounding per value, and the norms add p float64 roundings.

`share` is the sum of these factors, including terms of higher order. If the norms are reduced by
this share beforehand, each computed distance becomes a lower bound. Adding twice the share of both
norms gives an upper bound. The bounds depend only on the two rows of a pair, so an outlier affects
only its own pairs. `vanishing` bounds the errors from underflow.

For very few columns, a k-d tree is faster. It computes distances from differences, which are exact
up to their last bits.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import pairwise
from threading import Lock
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from graphsieve._base.array_types import Floats, Integers
from graphsieve._base.threads import available_threads, in_threads
from graphsieve._kernels.tiles import Lists, SparseRows, keep_nearest, sparse_products

# Columns in one product. Wider rows are summed in parts, which reduces the rounding error.
COLUMNS_PER_PRODUCT = 1024
LISTED = 8  # the length of candidate lists is a multiple of this, which is fastest when compiled
# Rows and columns of a tile; large enough for BLAS and small enough for the cache of a core
TILE_ROWS = 1024
SPARSE_TILE_ELEMENTS = 2**20  # numbers in a tile of sparse products: 8 MiB
WORTH_THREADS = 2**26  # multiplications from which starting threads saves time
CENTER_ROWS = 4096  # rows averaged for the centre; any point among the rows is good enough
CONVERTED_ELEMENTS = 2**16  # numbers centred in one step, so that they stay in the cache of a core
UNSCALED_NORMS = (2.0**-60, 2.0**60)  # range of the largest squared norm without float32 scaling
TREE_ERROR = 2.0**-40  # relative error of squared distances in a tree: thousands of roundings

Real = type[np.floating[Any]]
Norms = tuple[NDArray[Any], NDArray[Any]]  # squared norms of the rows and columns of a tile


@dataclass(frozen=True)
class Proposal:
    """Candidates of each query (one row per query), with bounds on their squared distances.

    These are the candidates with the smallest lower bounds, given by position. The bounds are in
    the units of the original rows. If there are too few candidates, the remaining positions are 0
    and their bounds infinite.
    """

    positions: NDArray[Any]
    at_least: Floats
    at_most: Floats

    @property
    def beyond(self) -> Floats:
        """Lower bound on the squared distances of all candidates that are not proposed."""
        return self.at_least[:, -1]


class Proposals(Protocol):
    """Proposals for all queries, available in parts."""

    def part(self, here: slice) -> Proposal:
        """Return the proposals for some queries."""


def unit_of(kind: Real) -> float:
    """Return the unit roundoff, the largest relative error of one rounding."""
    return float(np.finfo(kind).eps) / 2


def compounded(n_roundings: int, kind: Real = np.float64) -> float:
    """Return a bound on the relative error of a sum after `n_roundings` roundings.

    The bound is infinite if there are too many roundings for a useful bound.
    """
    first_order = n_roundings * unit_of(kind)
    return first_order / (1 - first_order) if first_order < 0.1 else np.inf


class Points(ABC):
    """Rows prepared for products, with their squared norms and error bounds.

    The error of a squared distance is at most `share` times the sum of both squared norms, plus
    `vanishing` for underflow.
    """

    def __init__(self, kind: Real, n_terms: int, n_parts: int = 1) -> None:
        self.kind, self.n_terms, self.n_parts = kind, n_terms, n_parts
        self.share = compounded(-(-n_terms // n_parts) + n_parts + 8, kind) + compounded(
            2 * n_terms + 16
        )
        # Very small products underflow to zero or become subnormal. The absolute error of each is
        # at most the smallest normal number.
        self.vanishing = 8.0 * n_terms * float(np.finfo(kind).tiny)
        self.exponent = 0  # the values are the centred rows times 2**-exponent
        self.norms = np.empty(0)
        self.values: Any = None

    @abstractmethod
    def take(self, which: Integers) -> Any:
        """Return the values of the given rows."""

    def reduced_norms(self, which: Integers) -> NDArray[Any]:
        """Return reduced squared norms, with which computed distances are lower bounds."""
        with np.errstate(under="ignore"):
            return np.asarray((self.norms[which] * (1 - self.share)).astype(self.kind))

    def in_units(self, squared: Floats) -> Floats:
        """Convert squared distances from the scaled units to those of the original rows."""
        return np.ldexp(squared, 2 * self.exponent) if self.exponent else squared


class DensePoints(Points):
    """Dense rows minus a common centre, in float32 or float64."""

    def __init__(self, rows: Floats, kind: Real, center: Floats | None = None) -> None:
        super().__init__(kind, rows.shape[1], max(1, -(-rows.shape[1] // COLUMNS_PER_PRODUCT)))
        self._center = (
            rows[:: max(1, len(rows) // CENTER_ROWS)].mean(axis=0) if center is None else center
        )
        self.values, self.norms = self._converted(rows)
        largest = float(self.norms.max(initial=0.0))
        if kind is np.float32 and largest and not UNSCALED_NORMS[0] < largest < UNSCALED_NORMS[1]:
            self.exponent = int(np.frexp(largest)[1]) // 2
            self.values, self.norms = self._converted(rows)

    def _converted(self, rows: Floats) -> tuple[NDArray[Any], Floats]:
        points, norms = np.empty(rows.shape, dtype=self.kind), np.empty(len(rows))
        step = max(1, CONVERTED_ELEMENTS // max(1, rows.shape[1]))

        def convert(starts: Iterator[int]) -> None:
            # After overflow or underflow, the rows are scaled and converted again.
            with np.errstate(over="ignore", under="ignore"):
                for start in starts:
                    here = slice(start, start + step)
                    centered = rows[here] - self._center
                    if self.exponent:
                        centered = np.ldexp(centered, -self.exponent)
                    np.einsum("ij,ij->i", centered, centered, out=norms[here])
                    points[here] = centered

        in_threads(convert, range(0, len(rows), step), threads_for(16 * rows.size))
        return points, norms

    def take(self, which: Integers) -> Any:
        """Return the values of the given rows; all rows are returned without a copy."""
        return (
            self.values
            if len(which) == len(self.values) and _is_range(which)
            else self.values[which]
        )


class SparsePoints(Points):
    """Sparse rows without centring, which would make them dense."""

    def __init__(self, rows: Any) -> None:
        super().__init__(np.float64, int(np.diff(rows.indptr).max(initial=0)))
        self.values = rows
        self.norms = np.asarray(rows.multiply(rows).sum(axis=1), dtype=np.float64).ravel()

    def take(self, which: Integers) -> Any:
        """Return the values of the given rows."""
        return self.values[which]


def threads_for(work: int) -> int:
    """Return the number of threads to start for this number of multiplications."""
    return available_threads() if work >= WORTH_THREADS else 1


def _is_range(which: Integers) -> bool:
    return bool((which == np.arange(len(which))).all())


class DenseTiles:
    """Products of dense queries and candidates, tile by tile.

    The rows of a tile are queries, the columns candidates. One tile can update the candidate lists
    of its rows and of its columns.
    """

    def __init__(self, points: DensePoints, queries: Integers, candidates: Integers) -> None:
        self.points, self.queries, self.candidates = points, queries, candidates
        self.symmetric = len(queries) == len(candidates) and bool((queries == candidates).all())
        self._left = points.take(queries)
        self._right = self._left if self.symmetric else points.take(candidates)
        self.n_threads = threads_for(len(queries) * len(candidates) * max(16, points.n_terms))
        self.size = (
            min(TILE_ROWS, max(64, len(candidates) // (4 * self.n_threads)))
            if self.n_threads > 1
            else TILE_ROWS
        )

    def search(
        self,
        lists: Lists,
        row_norms: NDArray[Any],
        column_norms: NDArray[Any],
        column_lists: Lists | None = None,
    ) -> None:
        """Fill the lists of the queries and, if given, those of the candidates.

        Both kinds of lists have the same length.
        """
        rows, columns = (
            _slices(len(self.queries), self.size),
            _slices(len(self.candidates), self.size),
        )
        locks = [Lock() for _ in rows]
        column_locks = locks if self.symmetric else [Lock() for _ in columns]
        column_lists = lists if self.symmetric else column_lists

        def work(tiles: Iterator[tuple[int, int]]) -> None:
            buffer = np.empty(
                (min(2, self.points.n_parts), self.size * self.size), dtype=self.points.kind
            )
            for row, column in tiles:
                here, there = rows[row], columns[column]
                norms = row_norms[here], column_norms[there]
                products, norms = self._compared(here, there, norms, buffer)
                # Two threads may need the same lists. A thread always acquires the lock of the rows
                # before that of the columns. In a symmetric search, this is the lock with the lower
                # number, so that no deadlock can occur.
                diagonal = self.symmetric and row == column
                both = None if diagonal else column_lists
                with locks[row], nullcontext() if both is None else column_locks[column]:
                    keep_nearest(products, norms, (lists, here), (both, there), diagonal=diagonal)

        in_threads(work, self._order(len(rows), len(columns)), self.n_threads)

    def _compared(
        self, here: slice, there: slice, norms: Norms, buffer: NDArray[Any]
    ) -> tuple[NDArray[Any], Norms]:
        """Return products and norms of a tile, from which `keep_nearest` computes the distances."""
        return self._products(self._left[here], self._right[there], buffer), norms

    def _products(
        self, left: NDArray[Any], right: NDArray[Any], buffer: NDArray[Any]
    ) -> NDArray[Any]:
        """Compute all inner products in the given buffer, summed in `points.n_parts` parts."""
        total, part = (
            one[: len(left) * len(right)].reshape(len(left), len(right))
            for one in (buffer[0], buffer[-1])
        )
        for number, columns in enumerate(
            _slices(left.shape[1], -(-left.shape[1] // self.points.n_parts))
        ):
            np.matmul(left[:, columns], right[:, columns].T, out=part if number else total)
            if number:
                total += part
        return np.asarray(total)

    def _order(self, n_rows: int, n_columns: int) -> Iterator[tuple[int, int]]:
        """Yield the tiles diagonal by diagonal, so that threads rarely need the same lists."""
        for offset in range(0 if self.symmetric else 1 - n_rows, n_columns):
            for row in range(max(0, -offset), min(n_rows, n_columns - offset)):
                yield row, row + offset


class SparseTiles:
    """Products of sparse queries with all candidates, for a few queries at a time."""

    symmetric = False

    def __init__(self, points: SparsePoints, queries: Integers, candidates: Integers) -> None:
        self.points, self.queries, self.candidates = points, queries, candidates
        self._rows = points.values
        self._by_feature = SparseRows(sp.csr_array(self._rows[candidates].T))
        sparse_work = self._rows.nnz * max(1, self._rows.nnz // max(1, self._rows.shape[1]))
        self.n_threads = threads_for(len(queries) * len(candidates) + sparse_work)

    def search(self, lists: Lists, row_norms: NDArray[Any], column_norms: NDArray[Any]) -> None:
        """Fill the candidate lists of the queries."""
        width = len(self.candidates)
        size = max(1, SPARSE_TILE_ELEMENTS // width)
        all_candidates = slice(0, width)

        def work(parts: Iterator[slice]) -> None:
            buffer = np.empty((min(size, len(self.queries)), width))
            for here in parts:
                products = buffer[: here.stop - here.start]
                sparse_products(
                    SparseRows(self._rows[self.queries[here]]), self._by_feature, products
                )
                keep_nearest(
                    products, (row_norms[here], column_norms), (lists, here), (None, all_candidates)
                )

        in_threads(work, _slices(len(self.queries), size), self.n_threads)


def _slices(length: int, most: int) -> list[slice]:
    """Divide a length into slices of about the same size, at most `most` each."""
    ends = np.linspace(0, length, max(1, -(-length // most)) + 1).astype(int).tolist()
    return [slice(start, stop) for start, stop in pairwise(ends)]


def searched_lists(tiles: DenseTiles | SparseTiles, n_proposed: int) -> Lists:
    """Return the candidates with the smallest lower bounds for each query, with these bounds."""
    lists = Lists(len(tiles.queries), n_proposed, tiles.points.kind)
    row_norms = tiles.points.reduced_norms(tiles.queries)
    column_norms = row_norms if tiles.symmetric else tiles.points.reduced_norms(tiles.candidates)
    tiles.search(lists, row_norms, column_norms)
    return lists


class ProductProposals:
    """Candidates with the smallest lower bounds for each query, from matrix products.

    In a symmetric search, a query is never proposed for itself.
    """

    def __init__(self, tiles: DenseTiles | SparseTiles, n_proposed: int) -> None:
        self._points, self._queries, self._candidates = (
            tiles.points,
            tiles.queries,
            tiles.candidates,
        )
        self._lists = searched_lists(tiles, n_proposed)

    @classmethod
    def mutual(
        cls, tiles: DenseTiles, n_proposed: int
    ) -> tuple[ProductProposals, ProductProposals]:
        """Return proposals in both directions from the same products.

        The first are candidates for the queries. The second are queries for the candidates.
        """
        forward, backward = cls.__new__(cls), cls.__new__(cls)
        forward._points = backward._points = tiles.points
        forward._queries, forward._candidates = tiles.queries, tiles.candidates
        backward._queries, backward._candidates = tiles.candidates, tiles.queries
        forward._lists = Lists(len(tiles.queries), n_proposed, tiles.points.kind)
        backward._lists = Lists(len(tiles.candidates), n_proposed, tiles.points.kind)
        norms = (
            tiles.points.reduced_norms(tiles.queries),
            tiles.points.reduced_norms(tiles.candidates),
        )
        tiles.search(forward._lists, *norms, backward._lists)
        return forward, backward

    def part(self, here: slice) -> Proposal:
        """Return the proposals for some queries."""
        points, positions = self._points, self._lists.indices[here]
        lower = self._lists.values[here].astype(np.float64)
        both = points.norms[self._queries[here], None] + points.norms[self._candidates[positions]]
        upper = lower + 2 * points.share * both + points.vanishing
        return Proposal(
            np.maximum(positions, 0),
            points.in_units(lower - points.vanishing),
            points.in_units(upper),
        )


class TreeProposals:
    """Nearest candidates of each query, from a k-d tree."""

    def __init__(self, tree: Any, rows: Floats, n_proposed: int) -> None:
        workers = available_threads()
        self._distances, self._positions = tree.query(
            rows, k=np.arange(1, n_proposed + 1), workers=workers
        )

    def part(self, here: slice) -> Proposal:
        """Return the proposals for some queries."""
        squared = self._distances[here] ** 2
        return Proposal(
            self._positions[here], squared * (1 - TREE_ERROR), squared * (1 + TREE_ERROR)
        )
