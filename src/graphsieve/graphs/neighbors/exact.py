"""Exact nearest neighbours, in the space of the features and along a single target.

In feature space somebody quick proposes (`proposals`: products of matrices in float32, and where
that cannot decide in float64; trees for very few columns), with bounds on all distances. A proposal
is only accepted where the bounds prove that nobody better was left out; all distances that matter
are then taken from explicit differences. Rows without such a proof are compared with everybody whom
the bounds do not rule out. So the answer is the one of the naive double loop, ties included: by
lower index.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist
from sklearn.metrics.pairwise import manhattan_distances

from graphsieve._base.array_types import Booleans, Floats, Integers
from graphsieve._base.threads import in_threads
from graphsieve._kernels import mention_plain_kernels
from graphsieve._kernels.column_sums import TEMPORARY_ELEMENTS
from graphsieve._kernels.line import line_band, line_pairs, line_reach, line_squares
from graphsieve._kernels.pair_distances import dense_pair_distances, sparse_pair_distances
from graphsieve._kernels.tiles import sort_lists
from graphsieve.graphs.neighbors.proposals import (
    LISTED,
    DensePoints,
    DenseTiles,
    ProductProposals,
    Proposals,
    SparsePoints,
    SparseTiles,
    TreeProposals,
    compounded,
    threads_for,
)

# Proposed beyond k, at least: enough to prove most rows of data without ties in one go
SPARE_CANDIDATES = 5
# Lists longer than that are slower to keep up than all distances are to partition
MOST_PROPOSED = 512
DIRECTLY = 2**19  # numbers to compare, up to which all pairs are measured at once
# Queries tried in float32 first, and how many there must be for that
PROBED, WORTH_PROBING = 64, 4096
SETTLED_AT_ONCE = 2**15  # proposals looked at at a time
# Proposed beyond k by a tree, whose distances are nearly exact; one is the query itself
TREE_SPARE = 3
# a query costs a tree about so many times more with each column, and tiles with so many rows
TREE_GROWTH, TREE_ROWS = 1.75, 1600
NOTHING = 2.0**-960  # squared distances below this have lost digits to underflow


def squared_distances(rows: Any, first: Integers, second: Integers) -> Floats:
    """Squared Euclidean distances of the given pairs of rows from explicit differences, summed from
    the first feature on.

    The fixed order of the sum makes dense and sparse rows give the same bits.
    """
    result = np.empty(len(first))
    if not sp.issparse(rows):
        dense_pair_distances(rows, first, second, result)
        return result
    step = max(1, TEMPORARY_ELEMENTS // max(1, 2 * rows.nnz // max(1, rows.shape[0])))
    for start in range(0, len(first), step):
        part = slice(start, start + step)
        sparse_pair_distances(rows, first[part], second[part], result[part])
    return result


def absolute_distances(one: Any, other: Any) -> Floats:
    """Sums of absolute differences of all rows with all others, from the first feature on."""
    return np.asarray(
        manhattan_distances(one, other) if sp.issparse(one) else cdist(one, other, "cityblock")
    )


def nearest_neighbors(
    rows: Any,
    n_neighbors: int,
    *,
    queries: Integers | None = None,
    candidates: Integers | None = None,
) -> tuple[Integers, Floats]:
    """The nearest `candidates` of each of the `queries` (both are row indices, all rows by
    default), never the query itself.

    Returns indices and squared distances of shape (n_queries, k), nearest first, ties by lower
    index. `n_neighbors` must not exceed the number of candidates other than the query.
    """
    everyone = np.arange(rows.shape[0])
    queries = everyone if queries is None else queries
    candidates = everyone if candidates is None else candidates
    answer = (
        np.empty((len(queries), n_neighbors), dtype=np.int64),
        np.empty((len(queries), n_neighbors)),
    )
    if not len(queries) or not n_neighbors:
        return answer
    search = _Search(rows, queries, candidates, answer)
    work = len(queries) * len(candidates) * max(1, search.width)
    if work <= DIRECTLY:
        search.among_all()
        return answer
    mention_plain_kernels(work)
    search.by_proposals()
    search.among_copies()
    search.within_reach()
    return answer


def mutual_neighbors(
    rows: Any, n_neighbors: int, first: Integers, second: Integers
) -> tuple[tuple[Integers, Floats], ...]:
    """The nearest `second` of each of the `first`, and the other way round; increasing, and nobody
    in both.

    As two calls of `nearest_neighbors`, with at most as many neighbours as there are, but every
    product serves both.
    """
    ends = (first, second), (second, first)
    answers = [
        (np.empty((len(one), k), dtype=np.int64), np.empty((len(one), k)))
        for one, k in ((one, min(n_neighbors, len(other))) for one, other in ends)
    ]
    searches = [_Search(rows, *pair, answer) for pair, answer in zip(ends, answers, strict=True)]
    forth, back = searches
    work = len(first) * len(second) * max(1, forth.width)
    if work <= DIRECTLY or not (
        forth.by_tiles and back.by_tiles and forth.n_proposed == back.n_proposed
    ):
        return tuple(
            nearest_neighbors(rows, answer[0].shape[1], queries=one, candidates=other)
            for (one, other), answer in zip(ends, answers, strict=True)
        )
    mention_plain_kernels(work)
    points = DensePoints(forth.rows, np.float32)
    if points.share < 1:
        tiles = DenseTiles(points, forth.queries, forth.candidates)
        for search, proposed in zip(
            searches, ProductProposals.mutual(tiles, forth.n_proposed), strict=True
        ):
            search.settle(proposed)
    del points
    for search in searches:
        search.by_doubles()
        search.among_copies()
        search.within_reach()
    return tuple(answers)


def suits_tree(n_candidates: int, width: int) -> bool:
    """Whether a tree is quicker than products: where there are few columns and many rows."""
    return bool(TREE_GROWTH ** min(width, 100) * TREE_ROWS <= n_candidates)


class _Search:
    """One search: the queries that are still `open`, and the answer so far.

    What is found of an open query is some candidates, of which the farthest says how far at most it
    has to look.
    """

    def __init__(
        self, rows: Any, queries: Integers, candidates: Integers, answer: tuple[Integers, Floats]
    ) -> None:
        self.sparse = bool(sp.issparse(rows))
        self.rows: Any = (
            _canonical(rows) if self.sparse else np.ascontiguousarray(rows, dtype=np.float64)
        )
        self.width = rows.nnz // max(1, rows.shape[0]) if self.sparse else rows.shape[1]
        increasing = bool((candidates[1:] > candidates[:-1]).all())
        self.queries, self.candidates = queries, candidates if increasing else np.sort(candidates)
        self.indices, self.distances = answer
        self.k = self.indices.shape[1]
        self.distances[:] = np.inf
        self.open = np.arange(len(queries))
        # Who has more equally near candidates than were proposed
        self.tied = np.zeros(len(queries), dtype=bool)
        # Of explicit squared distances, relative
        self.rounding = compounded(2 * (rows.shape[1] + 4))

    def among_all(self) -> None:
        """Measure all pairs."""
        size = len(self.queries), len(self.candidates)
        pairs = np.repeat(self.queries, size[1]), np.tile(self.candidates, size[0])
        exact = squared_distances(self.rows, *pairs).reshape(size)
        exact[self.queries[:, None] == self.candidates] = np.inf
        column = smallest_columns(exact, self.k)
        self.indices[:], self.distances[:] = (
            self.candidates[column],
            np.take_along_axis(exact, column, axis=1),
        )

    @property
    def n_proposed(self) -> int:
        """How many are proposed to each query."""
        return int(min(-(-(self.k + SPARE_CANDIDATES) // LISTED) * LISTED, len(self.candidates)))

    @property
    def by_tiles(self) -> bool:
        """Whether products of dense rows are to propose."""
        return self.n_proposed <= MOST_PROPOSED and not self.sparse and self.tree is None

    def by_proposals(self) -> None:
        """Answer what proposals can prove, the quickest first."""
        n_proposed = self.n_proposed
        if n_proposed > MOST_PROPOSED:
            return
        if self.tree is not None:
            n_few = min(self.k + TREE_SPARE, len(self.candidates))
            self.settle(TreeProposals(self.tree, self.rows[self.queries], n_few))
        elif self.sparse:
            self.settle(
                ProductProposals(
                    SparseTiles(SparsePoints(self.rows), self.queries, self.candidates), n_proposed
                )
            )
        else:
            self._by_products(n_proposed)

    @cached_property
    def tree(self) -> Any:
        """A tree of the candidates where there are few columns and many rows; otherwise None."""
        if self.sparse or not suits_tree(len(self.candidates), self.width):
            return None
        return cKDTree(self.rows[self.candidates])

    def _by_products(self, n_proposed: int) -> None:
        points = DensePoints(self.rows, np.float32)
        if points.share < 1 and self._worth_trying(points, n_proposed):
            self.settle(
                ProductProposals(DenseTiles(points, self.queries, self.candidates), n_proposed)
            )
        del points
        self.by_doubles()

    def by_doubles(self) -> None:
        """Answer what products in float64 can prove and those in float32 could not."""
        self.among_copies()
        tied = self.open[self.tied[self.open]]  # float64 cannot tell these apart either
        self.open = self.open[~self.tied[self.open]]
        if len(self.open):
            tiles = DenseTiles(self.points, self.queries[self.open], self.candidates)
            self.settle(ProductProposals(tiles, self.n_proposed))
        self.open = np.concatenate([self.open, tied])

    def _worth_trying(self, points: DensePoints, n_proposed: int) -> bool:
        """Whether float32 proves at least half of a few queries, if there are many."""
        if len(self.queries) < WORTH_PROBING:
            return True
        few = self.queries[:: len(self.queries) // PROBED]
        shape = (len(few), self.k)
        trial = _Search(
            self.rows, few, self.candidates, (np.empty(shape, dtype=np.int64), np.empty(shape))
        )
        trial.settle(ProductProposals(DenseTiles(points, few, self.candidates), n_proposed))
        return 2 * len(trial.open) <= len(few)

    @cached_property
    def points(self) -> Any:
        """All rows in float64: `DensePoints` or `SparsePoints`."""
        return SparsePoints(self.rows) if self.sparse else DensePoints(self.rows, np.float64)

    def settle(self, proposals: Proposals) -> None:
        """Measure whoever was proposed to the open queries and may be among the nearest; close
        those that are proven.
        """
        proven = np.zeros(len(self.open), dtype=bool)
        step = max(1, SETTLED_AT_ONCE // (self.k + SPARE_CANDIDATES))

        def work(starts: Iterator[int]) -> None:
            for start in starts:
                here = slice(start, min(start + step, len(self.open)))
                proven[here] = self._settle_part(proposals, here)

        pairs = len(self.open) * (self.k + 1)
        in_threads(
            work, range(0, len(self.open), step), threads_for(4 * pairs * max(16, self.width))
        )
        self.open = self.open[~proven]

    def _settle_part(self, proposals: Proposals, here: slice) -> Booleans:
        proposal, places = proposals.part(here), self.open[here]
        mine, near = self.queries[places], self.candidates[proposal.positions]
        at_least, at_most = proposal.at_least, proposal.at_most * (1 + 4 * self.rounding) + NOTHING
        itself = near == mine[:, None]
        at_most[itself] = np.inf
        reach = np.partition(at_most, self.k - 1, axis=1)[:, self.k - 1]
        possible = (at_least <= reach[:, None]) & ~itself & np.isfinite(at_least)
        exact = np.full(near.shape, np.inf)
        exact[possible] = squared_distances(
            self.rows, np.repeat(mine, possible.sum(axis=1)), near[possible]
        )
        sort_lists(exact, near)
        self.indices[places], self.distances[places] = near[:, : self.k], exact[:, : self.k]
        if len(self.candidates) <= near.shape[1]:
            return np.ones(len(places), dtype=bool)
        self.tied[places] = exact[:, self.k - 1] == exact[:, -1]
        proven: Booleans = exact[:, self.k - 1] < proposal.beyond * (1 - self.rounding) - NOTHING
        return proven

    def among_copies(self) -> None:
        """Answer the queries that have at least k exact copies among the candidates: the first k
        of those, at distance zero.
        """
        doubtful = self.open[
            (self.distances[self.open, 0] == 0) | np.isinf(self.distances[self.open, 0])
        ]
        answered = np.zeros(len(self.queries), dtype=bool)
        for place in doubtful:
            query = self.queries[place]
            same = self._copies.get(self._digest(query), [])
            if len(same) > self.k or (len(same) == self.k and query not in same):
                nearest = [candidate for candidate in same[: self.k + 1] if candidate != query][
                    : self.k
                ]
                self.indices[place], self.distances[place] = nearest, 0.0
                answered[place] = True
        self.open = self.open[~answered[self.open]]

    @cached_property
    def _copies(self) -> dict[bytes, list[int]]:
        """The candidates by their content, each list increasing."""
        copies: dict[bytes, list[int]] = {}
        for candidate in self.candidates:
            copies.setdefault(self._digest(candidate), []).append(int(candidate))
        return copies

    def _digest(self, row: int) -> bytes:
        if self.sparse:
            part = slice(self.rows.indptr[row], self.rows.indptr[row + 1])
            content = self.rows.indices[part].tobytes() + self.rows.data[part].tobytes()
        else:
            content = (self.rows[row] + 0.0).tobytes()  # −0.0 becomes 0.0
        return hashlib.blake2b(content, digest_size=16).digest()

    def within_reach(self) -> None:
        """Explicit distances to everyone who could be among the k nearest as far as the bounds
        can tell.
        """
        if not len(self.open):
            return
        finder = _TreeReach(self) if self.tree is not None else _ProductReach(self)
        for here, query, column in finder.possible():
            exact = squared_distances(self.rows, self.queries[here][query], self.candidates[column])
            exact[self.candidates[column] == self.queries[here][query]] = np.inf
            chosen = first_of_each(query, exact, column, len(here), self.k)
            self.indices[here], self.distances[here] = (
                self.candidates[column[chosen]],
                exact[chosen],
            )


class _ProductReach:
    """Who lies within reach of the open queries, by products in float64, a few queries at a
    time.
    """

    def __init__(self, search: _Search) -> None:
        self.search = search
        self.targets = search.points.take(search.candidates)
        self.step = max(1, TEMPORARY_ELEMENTS // len(search.candidates))

    def possible(self) -> Iterator[tuple[Integers, Integers, Integers]]:
        """Some queries by their places, and pairs of a query among these and a candidate's
        position.
        """
        search, points = self.search, self.search.points
        norms = points.norms[search.candidates]
        for start in range(0, len(search.open), self.step):
            here = search.open[start : start + self.step]
            mine = search.queries[here]
            products = points.take(mine) @ self.targets.T
            lower = products.toarray() if search.sparse else products
            lower *= -2
            # And so they are lower bounds, but for the query's own norm
            lower += norms * (1 - points.share)
            own = points.norms[mine] * (1 - points.share) - 2 * points.vanishing
            reach = search.distances[here, -1] * (1 + 4 * search.rounding) + NOTHING
            if np.isinf(reach).any():  # nothing is known of someone: the k-th upper bound
                upper = lower + 2 * points.share * (points.norms[mine, None] + norms)
                upper[mine[:, None] == search.candidates] = np.inf
                kth = (
                    np.partition(upper, search.k - 1, axis=1)[:, search.k - 1]
                    + own
                    + 4 * points.vanishing
                )
                reach = np.minimum(reach, kth * (1 + 4 * search.rounding) + NOTHING)
            reach -= own
            query, column = np.nonzero(lower <= reach[:, None])
            yield here, query, column


class _TreeReach:
    """The same by a tree: everyone in the ball that reaches to the farthest found so far."""

    def __init__(self, search: _Search) -> None:
        self.search = search

    def possible(self) -> Iterator[tuple[Integers, Integers, Integers]]:
        """Some queries by their places, and pairs of a query among these and a candidate's
        position.
        """
        search = self.search
        tree, rows = search.tree, search.rows[search.queries[search.open]]
        radius = np.sqrt(search.distances[search.open, -1] + NOTHING) * (1 + 2.0**-40)
        total = np.cumsum(tree.query_ball_point(rows, radius, return_length=True))
        begin = 0
        while begin < len(rows):
            before = total[begin - 1] if begin else 0
            end = max(
                begin + 1, int(np.searchsorted(total, before + TEMPORARY_ELEMENTS, side="right"))
            )
            found = tree.query_ball_point(rows[begin:end], radius[begin:end], return_sorted=True)
            sizes = np.fromiter(map(len, found), dtype=np.int64, count=end - begin)
            yield (
                search.open[begin:end],
                np.repeat(np.arange(end - begin), sizes),
                np.concatenate(found).astype(np.int64),
            )
            begin = end


def _canonical(rows: Any) -> Any:
    """CSR rows whose entries are sorted and distinct, as the kernels need them; the given ones
    are left alone.
    """
    if rows.has_canonical_format:
        return rows
    rows = rows.copy()
    rows.sum_duplicates()
    return rows


def smallest_columns(distances: Floats, k: int) -> Integers:
    """The columns of the k smallest entries of each row, smallest first, ties by lower column."""
    reach = np.partition(distances, k - 1, axis=1)[:, k - 1]
    row, column = np.nonzero(distances <= reach[:, None])
    return column[first_of_each(row, distances[row, column], column, len(distances), k)]


def first_of_each(
    query: Integers, distance: Floats, candidate: Integers, n_queries: int, k: int
) -> Integers:
    """For each query the places of its k nearest candidates in the given lists, ties by lower
    candidate.
    """
    order = np.lexsort((candidate, distance, query))
    begin = np.searchsorted(query[order], np.arange(n_queries))
    return np.asarray(order[begin[:, None] + np.arange(k)])


@dataclass(frozen=True)
class TargetRuns:
    """Samples sorted by a target, in runs of equal values.

    A sample's neighbours are its own run and whole other runs, nearest first, until there are
    `n_neighbors`: ties are kept.
    """

    n_neighbors: int  # fewer than there are samples
    order: Integers  # sample indices by increasing target
    start: Integers  # (n_runs,) where each run begins in `order`
    size: Integers  # (n_runs,)
    values: Floats  # (n_runs,) the target

    @cached_property
    def run(self) -> Integers:
        """The run of each sample."""
        run = np.empty(len(self.order), dtype=np.int64)
        run[self.order] = np.repeat(np.arange(len(self.start)), self.size)
        return run

    def members(self, runs: Integers) -> tuple[Integers, Integers]:
        """All samples of the given runs, and for each the position in `runs` it came from."""
        sizes = self.size[runs]
        owner = np.repeat(np.arange(len(runs)), sizes)
        within = np.arange(len(owner)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        return self.order[self.start[runs][owner] + within], owner

    @cached_property
    def reach(self) -> Floats:
        """How far from each run its k-th nearest other sample is."""
        if len(self.values) == len(self.order):
            return line_reach(self.values, self.n_neighbors)
        return np.asarray(
            line_reach(np.repeat(self.values, self.size), self.n_neighbors)[self.start]
        )

    def pairs(self) -> tuple[Integers, Integers, Floats]:
        """The pairs of runs of which either is within reach of the other, by increasing target,
        and their squared distances.
        """
        return line_pairs(self.values, self.reach, np.arange(len(self.values)))

    def sample_pairs(self) -> tuple[Integers, Integers, Floats]:
        """The same pairs of samples of different target."""
        if len(self.values) == len(self.order):
            return line_pairs(
                self.values, self.reach, self.order, n_expected=self.n_neighbors * len(self.order)
            )
        low, high, squared = self.pairs()
        left, pair = self.members(low)
        right, of_left = self.members(high[pair])
        return left[of_left], right, squared[pair][of_left]

    def band(self) -> tuple[Integers, Floats] | None:
        """The same pairs, where every sample has a target of its own: where those of each with the
        next in `order` begin.

        And their squared distances. None where pairs have gaps between them, because distances tie
        by rounding.
        """
        begin = line_band(self.values, self.reach, self.n_neighbors)
        return None if begin is None else (begin, line_squares(self.values, begin))

    @property
    def linked(self) -> Integers:
        """(n_runs, n_steps): the neighbours of each run, nearest first; −1 where fewer are
        needed.
        """
        return self._walk[0]

    @property
    def gap(self) -> Floats:
        """(n_runs, n_steps): how far these are from it; infinite where fewer are needed."""
        return self._walk[1]

    @cached_property
    def _walk(self) -> tuple[Integers, Floats]:
        """Outwards from every run at once."""
        values, size, n_runs = self.values, self.size, len(self.values)
        have = size - 1
        left, right = np.arange(n_runs) - 1, np.arange(n_runs) + 1
        linked, gaps = [], []
        # Index −1 and index n_runs both read this infinity
        padded = np.concatenate([values, [np.inf]])
        while True:
            wanting = have < self.n_neighbors
            to_left, to_right = np.abs(values - padded[left]), np.abs(padded[right] - values)
            wanting &= np.isfinite(np.minimum(to_left, to_right))
            if not wanting.any():
                break
            for side, gap, other in ((left, to_left, to_right), (right, to_right, to_left)):
                step = wanting & (gap <= other) & np.isfinite(gap)
                linked.append(np.where(step, side, -1))
                gaps.append(np.where(step, gap, np.inf))
                have = have + np.where(step, size[np.where(step, side, 0)], 0)
            left = np.where(wanting & (to_left <= to_right), left - 1, left)
            right = np.where(wanting & (to_right <= to_left), right + 1, right)
            # Beyond either end lies the infinity at index n_runs; −1 reads the same place.
            left, right = np.maximum(left, -1), np.minimum(right, n_runs)
        return np.array(linked, dtype=np.int64).reshape(-1, n_runs).T, np.array(
            gaps, dtype=np.float64
        ).reshape(-1, n_runs).T


def target_runs(target: Floats, n_neighbors: int) -> TargetRuns:
    """Neighbours along one dimension in O(n log n + n k)."""
    order = np.argsort(target)
    sorted_target = target[order]
    begins = np.ones(len(target), dtype=bool)
    np.not_equal(sorted_target[1:], sorted_target[:-1], out=begins[1:])
    if begins.all():  # as most targets of very many samples do
        once = np.broadcast_to(np.int64(1), len(target))
        return TargetRuns(n_neighbors, order, np.arange(len(target)), once, sorted_target)
    start = np.flatnonzero(begins)
    size = np.diff(start, append=len(target))
    return TargetRuns(n_neighbors, order, start, size, sorted_target[start])
