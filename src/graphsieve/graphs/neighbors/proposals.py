"""Who may be among the nearest: quickly, with bounds that prove who cannot be.

Distances come from inner products, d² = |x|² + |y|² − 2 x·y, tile by tile. Products round, so what
is kept for a pair is no distance but a lower bound on it. With u the unit of rounding, rows x
centred and |x|² = N:

- Rounding x and y to the precision of the product changes x·y by at most 2u |x||y|, and the sum of
  p products, in whatever order and with or without fused steps, by at most p·u |x||y| to first
  order. |x||y| ≤ (N_x + N_y)/2, so 2 x·y is off by at most (p + 2) u (N_x + N_y).
- Rounding the norms, their sum and the difference adds at most 4u (N_x + N_y).
- Centring is exact but for the last bit of a float64, and so are the norms but for p of them.

`share` is the sum of these, with terms of higher order. A norm that is reduced by this share
beforehand makes each distance a lower bound, and adding twice the share of both norms makes it an
upper bound: pair by pair, so that an outlier spoils only its own. What underflows on the way is
covered by `vanishing`.

With very few columns a tree is quicker. It compares by differences, which are right but for their
last bits.
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

# Columns in one product; wider rows are summed in parts, which loses less to rounding
SUMMED_AT_ONCE = 1024
LISTED = 8  # candidates are listed in multiples of this, which compiled lists are quickest with
# Tiles of so many rows and columns are large enough for BLAS and small enough for a core's cache
TILE_ROWS = 1024
SPARSE_TILE_ELEMENTS = 2**20  # numbers in a tile of sparse products: 8 MiB
WORTH_THREADS = 2**26  # multiplications, from which threads of our own are worth starting
CENTER_ROWS = 4096  # any centre will do that lies among the rows, so no more are averaged
CONVERTED_ELEMENTS = 2**16  # numbers centred at a time: they stay in a core's own cache
ORDINARY = (2.0**-60, 2.0**60)  # largest squared norms that float32 needs no scaling for
TREE_ERROR = 2.0**-40  # relative, of squared distances in a tree: thousands of roundings

Real = type[np.floating[Any]]


@dataclass(frozen=True)
class Proposal:
    """For each query (rows) some candidates by position, those with the least lower bounds on their
    squared distances.

    Bounds are in the units of the given rows. Positions are 0 and bounds infinite where there is
    nobody left to propose.
    """

    positions: NDArray[Any]
    at_least: Floats
    at_most: Floats

    @property
    def beyond(self) -> Floats:
        """Nobody who is not proposed is nearer than this."""
        return self.at_least[:, -1]


class Proposals(Protocol):
    """Proposals for all queries, of which a part is looked at at a time."""

    def part(self, here: slice) -> Proposal:
        """Those of some queries."""


def unit_of(kind: Real) -> float:
    """The largest relative error of one rounding."""
    return float(np.finfo(kind).eps) / 2


def compounded(n_roundings: int, kind: Real = np.float64) -> float:
    """A bound on the relative error that so many roundings leave in a sum of that many terms;
    infinite if there is none.
    """
    first_order = n_roundings * unit_of(kind)
    return first_order / (1 - first_order) if first_order < 0.1 else np.inf


class Points(ABC):
    """Some rows as products take them, with their squared norms, and what is lost by that.

    `share` is the share of both squared norms by which a squared distance may be off, `vanishing`
    what may be lost to underflow.
    """

    def __init__(self, kind: Real, n_terms: int, n_parts: int = 1) -> None:
        self.kind, self.n_terms, self.n_parts = kind, n_terms, n_parts
        self.share = compounded(-(-n_terms // n_parts) + n_parts + 8, kind) + compounded(
            2 * n_terms + 16
        )
        # Products too small for the exponent vanish, or are rounded by as much as the smallest
        # number that is not.
        self.vanishing = 8.0 * n_terms * float(np.finfo(kind).tiny)
        self.exponent = 0  # points are 2**-exponent times the centred rows
        self.norms = np.empty(0)
        self.values: Any = None

    @abstractmethod
    def take(self, which: Integers) -> Any:
        """The given rows."""

    def reduced_norms(self, which: Integers) -> NDArray[Any]:
        """Squared norms that turn distances into lower bounds."""
        with np.errstate(under="ignore"):
            return np.asarray((self.norms[which] * (1 - self.share)).astype(self.kind))

    def in_units(self, squared: Floats) -> Floats:
        """Squared distances between points as squared distances between rows."""
        return np.ldexp(squared, 2 * self.exponent) if self.exponent else squared


class DensePoints(Points):
    """Rows less a common centre, in one precision."""

    def __init__(self, rows: Floats, kind: Real, center: Floats | None = None) -> None:
        super().__init__(kind, rows.shape[1], max(1, -(-rows.shape[1] // SUMMED_AT_ONCE)))
        self._center = (
            rows[:: max(1, len(rows) // CENTER_ROWS)].mean(axis=0) if center is None else center
        )
        self.values, self.norms = self._converted(rows)
        largest = float(self.norms.max(initial=0.0))
        if kind is np.float32 and largest and not ORDINARY[0] < largest < ORDINARY[1]:
            self.exponent = int(np.frexp(largest)[1]) // 2
            self.values, self.norms = self._converted(rows)

    def _converted(self, rows: Floats) -> tuple[NDArray[Any], Floats]:
        points, norms = np.empty(rows.shape, dtype=self.kind), np.empty(len(rows))
        step = max(1, CONVERTED_ELEMENTS // max(1, rows.shape[1]))

        def convert(starts: Iterator[int]) -> None:
            # If so, they are scaled and converted again
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
        """The given rows, without a copy if they are all."""
        return (
            self.values
            if len(which) == len(self.values) and _is_range(which)
            else self.values[which]
        )


class SparsePoints(Points):
    """Sparse rows as they are: centred, they would be dense."""

    def __init__(self, rows: Any) -> None:
        super().__init__(np.float64, int(np.diff(rows.indptr).max(initial=0)))
        self.values = rows
        self.norms = np.asarray(rows.multiply(rows).sum(axis=1), dtype=np.float64).ravel()

    def take(self, which: Integers) -> Any:
        """The given rows."""
        return self.values[which]


def threads_for(work: int) -> int:
    """How many threads of ours so many multiplications are worth."""
    return available_threads() if work >= WORTH_THREADS else 1


def _is_range(which: Integers) -> bool:
    return bool((which == np.arange(len(which))).all())


class DenseTiles:
    """Products of some points with others, tile by tile; a tile serves its rows, and its columns
    if these want lists, too.
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
        """Fill the lists of the queries, and those of the candidates, if there are any, which
        are as long.
        """
        rows, columns = (
            _slices(len(self.queries), self.size),
            _slices(len(self.candidates), self.size),
        )
        locks = [Lock() for _ in rows]
        column_locks = locks if self.symmetric else [Lock() for _ in columns]
        column_lists = lists if self.symmetric else column_lists

        def work(tiles: Iterator[tuple[int, int]]) -> None:
            room = np.empty(
                (min(2, self.points.n_parts), self.size * self.size), dtype=self.points.kind
            )
            for row, column in tiles:
                here, there = rows[row], columns[column]
                products = self._products(self._left[here], self._right[there], room)
                norms = row_norms[here], column_norms[there]
                # Two threads may want the same lists; whoever needs two locks takes the one of the
                # rows, the lower, first.
                diagonal = self.symmetric and row == column
                both = None if diagonal else column_lists
                with locks[row], nullcontext() if both is None else column_locks[column]:
                    keep_nearest(products, norms, (lists, here), (both, there), diagonal=diagonal)

        in_threads(work, self._order(len(rows), len(columns)), self.n_threads)

    def _products(
        self, left: NDArray[Any], right: NDArray[Any], room: NDArray[Any]
    ) -> NDArray[Any]:
        """All inner products, summed in as many parts as `points` say, in the given room."""
        total, part = (
            one[: len(left) * len(right)].reshape(len(left), len(right))
            for one in (room[0], room[-1])
        )
        for number, columns in enumerate(
            _slices(left.shape[1], -(-left.shape[1] // self.points.n_parts))
        ):
            np.matmul(left[:, columns], right[:, columns].T, out=part if number else total)
            if number:
                total += part
        return np.asarray(total)

    def _order(self, n_rows: int, n_columns: int) -> Iterator[tuple[int, int]]:
        """Diagonals one after another, so that threads seldom meet in a row or column."""
        for offset in range(0 if self.symmetric else 1 - n_rows, n_columns):
            for row in range(max(0, -offset), min(n_rows, n_columns - offset)):
                yield row, row + offset


class SparseTiles:
    """Products of some sparse rows with others, for a few rows at a time."""

    symmetric = False

    def __init__(self, points: SparsePoints, queries: Integers, candidates: Integers) -> None:
        self.points, self.queries, self.candidates = points, queries, candidates
        self._rows = points.values
        self._by_feature = SparseRows(sp.csr_array(self._rows[candidates].T))
        meetings = self._rows.nnz * max(1, self._rows.nnz // max(1, self._rows.shape[1]))
        self.n_threads = threads_for(len(queries) * len(candidates) + meetings)

    def search(self, lists: Lists, row_norms: NDArray[Any], column_norms: NDArray[Any]) -> None:
        """Fill the lists of the queries."""
        width = len(self.candidates)
        size = max(1, SPARSE_TILE_ELEMENTS // width)
        everybody = slice(0, width)

        def work(parts: Iterator[slice]) -> None:
            room = np.empty((min(size, len(self.queries)), width))
            for here in parts:
                products = room[: here.stop - here.start]
                sparse_products(
                    SparseRows(self._rows[self.queries[here]]), self._by_feature, products
                )
                keep_nearest(
                    products, (row_norms[here], column_norms), (lists, here), (None, everybody)
                )

        in_threads(work, _slices(len(self.queries), size), self.n_threads)


def _slices(length: int, most: int) -> list[slice]:
    """Parts of about the same size, none larger than `most`."""
    ends = np.linspace(0, length, max(1, -(-length // most)) + 1).astype(int).tolist()
    return [slice(start, stop) for start, stop in pairwise(ends)]


class ProductProposals:
    """The candidates with the least lower bounds of each query; in a symmetric search never the
    query itself.
    """

    def __init__(self, tiles: DenseTiles | SparseTiles, n_proposed: int) -> None:
        self._points, self._queries, self._candidates = (
            tiles.points,
            tiles.queries,
            tiles.candidates,
        )
        self._lists = Lists(len(tiles.queries), n_proposed, tiles.points.kind)
        row_norms = tiles.points.reduced_norms(tiles.queries)
        column_norms = (
            row_norms if tiles.symmetric else tiles.points.reduced_norms(tiles.candidates)
        )
        tiles.search(self._lists, row_norms, column_norms)

    @classmethod
    def mutual(
        cls, tiles: DenseTiles, n_proposed: int
    ) -> tuple[ProductProposals, ProductProposals]:
        """Proposals for the queries, and for the candidates among the queries, from the same
        products.
        """
        forth, back = cls.__new__(cls), cls.__new__(cls)
        forth._points = back._points = tiles.points
        forth._queries, forth._candidates = tiles.queries, tiles.candidates
        back._queries, back._candidates = tiles.candidates, tiles.queries
        forth._lists = Lists(len(tiles.queries), n_proposed, tiles.points.kind)
        back._lists = Lists(len(tiles.candidates), n_proposed, tiles.points.kind)
        norms = (
            tiles.points.reduced_norms(tiles.queries),
            tiles.points.reduced_norms(tiles.candidates),
        )
        tiles.search(forth._lists, *norms, back._lists)
        return forth, back

    def part(self, here: slice) -> Proposal:
        """Those of some queries."""
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
    """The nearest candidates of each query by a k-d tree."""

    def __init__(self, tree: Any, rows: Floats, n_proposed: int) -> None:
        workers = available_threads()
        self._distances, self._positions = tree.query(
            rows, k=np.arange(1, n_proposed + 1), workers=workers
        )

    def part(self, here: slice) -> Proposal:
        """Those of some queries."""
        squared = self._distances[here] ** 2
        return Proposal(
            self._positions[here], squared * (1 - TREE_ERROR), squared * (1 + TREE_ERROR)
        )
