"""Exact nearest neighbours, in the space of the features and along a single target.

In feature space, a fast search proposes candidates with bounds on their distances (see
`proposals`). It uses matrix products in float32, and in float64 where float32 cannot decide. For
very few columns it uses a k-d tree. A proposal is accepted only if the bounds prove that no closer
candidate is missing. The distances to the candidates that may be among the k nearest are then
computed from explicit differences. Rows without such a proof are compared with all candidates that
the bounds do not exclude.

The result is therefore the same as that of a naive double loop. Ties are broken by the lower index.
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
from graphsieve._kernels.line import (
    line_band,
    line_pairs,
    line_reach,
    line_squares,
    places_within,
)
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
from graphsieve.supervision.parsing import EQUAL_VALUES

# Smallest number of candidates proposed in addition to k. In data without ties, this proves the
# neighbours of most rows in one pass.
SPARE_CANDIDATES = 5
# Maximum length of a candidate list. Beyond it, partitioning all distances is faster.
MOST_PROPOSED = 512
DIRECT_UP_TO = 2**19  # queries × candidates × columns up to which all pairs are compared directly
# Queries in the float32 trial, and the number of queries from which a trial is made
TRIAL_QUERIES, TRIAL_FROM = 64, 4096
VERIFIED_PER_STEP = 2**15  # proposals verified in one step
# Candidates that a tree proposes in addition to k. Few suffice, because the distances in a tree
# are nearly exact. One of them is the query itself.
TREE_SPARE = 3
# A tree is used from TREE_ROWS × TREE_GROWTH ** columns candidates. The cost of a query in a tree
# grows by the factor TREE_GROWTH with every column.
TREE_GROWTH, TREE_ROWS = 1.75, 1600
# Largest relative difference of equal distances along a target, in addition to the rounding errors
# of the target values. It matters near zero: a shift towards zero leaves the errors that the values
# had before the shift.
EQUAL_DISTANCES = 2.0**-40
UNDERFLOW_LIMIT = 2.0**-960  # squared distances below this have lost digits to underflow


def squared_distances(rows: Any, first: Integers, second: Integers) -> Floats:
    """Compute squared Euclidean distances of pairs of rows from explicit differences.

    The terms are summed in the order of the features, so that dense and sparse rows give
    bit-identical results.
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
    """Compute Manhattan distances between all rows of two matrices, summed in feature order."""
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
    """Find the nearest candidates of each query.

    A query is never its own neighbour.

    Parameters
    ----------
    rows : array or CSR matrix of shape (n_rows, n_columns)
        The rows.
    n_neighbors : int
        Number of neighbours per query. It must not exceed the number of candidates other than the
        query.
    queries, candidates : array of int, optional
        Row indices; all rows by default.

    Returns
    -------
    indices, squared_distances : arrays of shape (n_queries, n_neighbors)
        The neighbours in order of increasing distance; ties are broken by the lower index.
    """
    all_rows = np.arange(rows.shape[0])
    queries = all_rows if queries is None else queries
    candidates = all_rows if candidates is None else candidates
    answer = (
        np.empty((len(queries), n_neighbors), dtype=np.int64),
        np.empty((len(queries), n_neighbors)),
    )
    if not len(queries) or not n_neighbors:
        return answer
    search = _Search(rows, queries, candidates, answer)
    work = len(queries) * len(candidates) * max(1, search.width)
    if work <= DIRECT_UP_TO:
        search.compare_all_pairs()
        return answer
    mention_plain_kernels(work)
    search.by_proposals()
    search.answer_from_copies()
    search.compare_within_bounds()
    return answer


def mutual_neighbors(
    rows: Any, n_neighbors: int, first: Integers, second: Integers
) -> tuple[tuple[Integers, Floats], ...]:
    """Find the nearest rows of `second` for each row of `first`, and vice versa.

    `first` and `second` are increasing row indices without common elements. The result equals that
    of two calls of `nearest_neighbors`, but each product is computed only once. The number of
    neighbours is limited by the number of candidates.
    """
    ends = (first, second), (second, first)
    answers = [
        (np.empty((len(one), k), dtype=np.int64), np.empty((len(one), k)))
        for one, k in ((one, min(n_neighbors, len(other))) for one, other in ends)
    ]
    searches = [_Search(rows, *pair, answer) for pair, answer in zip(ends, answers, strict=True)]
    forth, back = searches
    work = len(first) * len(second) * max(1, forth.width)
    if work <= DIRECT_UP_TO or not (
        forth.uses_dense_products
        and back.uses_dense_products
        and forth.n_proposed == back.n_proposed
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
            search.verify(proposed)
    del points
    for search in searches:
        search.by_float64_products()
        search.answer_from_copies()
        search.compare_within_bounds()
    return tuple(answers)


def suits_tree(n_candidates: int, width: int) -> bool:
    """Whether a tree is faster than products, as for few columns and many rows."""
    return bool(TREE_GROWTH ** min(width, 100) * TREE_ROWS <= n_candidates)


class _Search:
    """The state of one search: the queries that are still `open`, and the answer so far.

    An open query may already have some candidates. The farthest of them gives an upper bound on the
    distance of its neighbours.
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
        # Queries with more tied candidates than were proposed
        self.tied = np.zeros(len(queries), dtype=bool)
        # Relative rounding error of explicit squared distances
        self.rounding = compounded(2 * (rows.shape[1] + 4))

    def compare_all_pairs(self) -> None:
        """Compute the distances of all pairs."""
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
        """The number of candidates proposed for each query."""
        return int(min(-(-(self.k + SPARE_CANDIDATES) // LISTED) * LISTED, len(self.candidates)))

    @property
    def uses_dense_products(self) -> bool:
        """Whether the proposals come from products of dense rows."""
        return self.n_proposed <= MOST_PROPOSED and not self.sparse and self.tree is None

    def by_proposals(self) -> None:
        """Answer the queries that proposals can prove, with the fastest kind of proposal first."""
        n_proposed = self.n_proposed
        if n_proposed > MOST_PROPOSED:
            return
        if self.tree is not None:
            n_from_tree = min(self.k + TREE_SPARE, len(self.candidates))
            self.verify(TreeProposals(self.tree, self.rows[self.queries], n_from_tree))
        elif self.sparse:
            self.verify(
                ProductProposals(
                    SparseTiles(SparsePoints(self.rows), self.queries, self.candidates), n_proposed
                )
            )
        else:
            self._by_products(n_proposed)

    @cached_property
    def tree(self) -> Any:
        """A k-d tree of the candidates for few columns and many rows; otherwise None."""
        if self.sparse or not suits_tree(len(self.candidates), self.width):
            return None
        return cKDTree(self.rows[self.candidates])

    def _by_products(self, n_proposed: int) -> None:
        points = DensePoints(self.rows, np.float32)
        if points.share < 1 and self._float32_pays(points, n_proposed):
            self.verify(
                ProductProposals(DenseTiles(points, self.queries, self.candidates), n_proposed)
            )
        del points
        self.by_float64_products()

    def by_float64_products(self) -> None:
        """Answer the queries that float64 products can prove and float32 products could not."""
        self.answer_from_copies()
        tied = self.open[self.tied[self.open]]  # float64 cannot distinguish these either
        self.open = self.open[~self.tied[self.open]]
        if len(self.open):
            tiles = DenseTiles(self.points, self.queries[self.open], self.candidates)
            self.verify(ProductProposals(tiles, self.n_proposed))
        self.open = np.concatenate([self.open, tied])

    def _float32_pays(self, points: DensePoints, n_proposed: int) -> bool:
        """Whether float32 products can prove enough queries.

        If there are many queries, a trial with a few of them decides. At least half of these must
        be proven.
        """
        if len(self.queries) < TRIAL_FROM:
            return True
        few = self.queries[:: len(self.queries) // TRIAL_QUERIES]
        shape = (len(few), self.k)
        trial = _Search(
            self.rows, few, self.candidates, (np.empty(shape, dtype=np.int64), np.empty(shape))
        )
        trial.verify(ProductProposals(DenseTiles(points, few, self.candidates), n_proposed))
        return 2 * len(trial.open) <= len(few)

    @cached_property
    def points(self) -> Any:
        """All rows in float64, as `DensePoints` or `SparsePoints`."""
        return SparsePoints(self.rows) if self.sparse else DensePoints(self.rows, np.float64)

    def verify(self, proposals: Proposals) -> None:
        """Compute the distances to the proposed candidates and close the queries that are proven.

        Candidates that the bounds exclude are skipped.
        """
        proven = np.zeros(len(self.open), dtype=bool)
        step = max(1, VERIFIED_PER_STEP // (self.k + SPARE_CANDIDATES))

        def work(starts: Iterator[int]) -> None:
            for start in starts:
                here = slice(start, min(start + step, len(self.open)))
                proven[here] = self._verify_part(proposals, here)

        pairs = len(self.open) * (self.k + 1)
        in_threads(
            work, range(0, len(self.open), step), threads_for(4 * pairs * max(16, self.width))
        )
        self.open = self.open[~proven]

    def _verify_part(self, proposals: Proposals, here: slice) -> Booleans:
        proposal, places = proposals.part(here), self.open[here]
        query_rows, near = self.queries[places], self.candidates[proposal.positions]
        at_least, at_most = (
            proposal.at_least,
            proposal.at_most * (1 + 4 * self.rounding) + UNDERFLOW_LIMIT,
        )
        itself = near == query_rows[:, None]
        at_most[itself] = np.inf
        reach = np.partition(at_most, self.k - 1, axis=1)[:, self.k - 1]
        possible = (at_least <= reach[:, None]) & ~itself & np.isfinite(at_least)
        exact = np.full(near.shape, np.inf)
        exact[possible] = squared_distances(
            self.rows, np.repeat(query_rows, possible.sum(axis=1)), near[possible]
        )
        sort_lists(exact, near)
        self.indices[places], self.distances[places] = near[:, : self.k], exact[:, : self.k]
        if len(self.candidates) <= near.shape[1]:
            return np.ones(len(places), dtype=bool)
        self.tied[places] = exact[:, self.k - 1] == exact[:, -1]
        proven: Booleans = (
            exact[:, self.k - 1] < proposal.beyond * (1 - self.rounding) - UNDERFLOW_LIMIT
        )
        return proven

    def answer_from_copies(self) -> None:
        """Answer the queries that have at least k exact copies among the candidates.

        Their neighbours are the first k copies, at distance zero.
        """
        doubtful = self.open[
            (self.distances[self.open, 0] == 0) | np.isinf(self.distances[self.open, 0])
        ]
        answered = np.zeros(len(self.queries), dtype=bool)
        for place in doubtful:
            query = self.queries[place]
            copies_of_query = self._copies.get(self._digest(query), [])
            if len(copies_of_query) > self.k or (
                len(copies_of_query) == self.k and query not in copies_of_query
            ):
                nearest = [
                    candidate for candidate in copies_of_query[: self.k + 1] if candidate != query
                ][: self.k]
                self.indices[place], self.distances[place] = nearest, 0.0
                answered[place] = True
        self.open = self.open[~answered[self.open]]

    @cached_property
    def _copies(self) -> dict[bytes, list[int]]:
        """Lists of candidates with equal content, by the digest of the content, each increasing."""
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

    def compare_within_bounds(self) -> None:
        """Answer the open queries by comparing all candidates that the bounds do not exclude."""
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
    """Candidates that may be neighbours of the open queries, by float64 products.

    The queries are processed in blocks.
    """

    def __init__(self, search: _Search) -> None:
        self.search = search
        self.targets = search.points.take(search.candidates)
        self.step = max(1, TEMPORARY_ELEMENTS // len(search.candidates))

    def possible(self) -> Iterator[tuple[Integers, Integers, Integers]]:
        """Yield blocks of queries with the candidates that may be their neighbours.

        Each block contains the positions of its queries, followed by pairs of a query within the
        block and the position of a candidate.
        """
        search, points = self.search, self.search.points
        norms = points.norms[search.candidates]
        for start in range(0, len(search.open), self.step):
            here = search.open[start : start + self.step]
            query_rows = search.queries[here]
            products = points.take(query_rows) @ self.targets.T
            lower = products.toarray() if search.sparse else products
            lower *= -2
            # The sums become lower bounds, without the norm of the query.
            lower += norms * (1 - points.share)
            own = points.norms[query_rows] * (1 - points.share) - 2 * points.vanishing
            reach = search.distances[here, -1] * (1 + 4 * search.rounding) + UNDERFLOW_LIMIT
            # Queries without candidates so far are bounded by their k-th smallest upper bound.
            if np.isinf(reach).any():
                upper = lower + 2 * points.share * (points.norms[query_rows, None] + norms)
                upper[query_rows[:, None] == search.candidates] = np.inf
                kth = (
                    np.partition(upper, search.k - 1, axis=1)[:, search.k - 1]
                    + own
                    + 4 * points.vanishing
                )
                reach = np.minimum(reach, kth * (1 + 4 * search.rounding) + UNDERFLOW_LIMIT)
            reach -= own
            query, column = np.nonzero(lower <= reach[:, None])
            yield here, query, column


class _TreeReach:
    """Candidates that may be neighbours of the open queries, by a k-d tree.

    These are the candidates in a ball around the query. Its radius is the distance to the farthest
    neighbour found so far.
    """

    def __init__(self, search: _Search) -> None:
        self.search = search

    def possible(self) -> Iterator[tuple[Integers, Integers, Integers]]:
        """Yield blocks of queries with the candidates that may be their neighbours.

        Each block contains the positions of its queries, followed by pairs of a query within the
        block and the position of a candidate.
        """
        search = self.search
        tree, rows = search.tree, search.rows[search.queries[search.open]]
        radius = np.sqrt(search.distances[search.open, -1] + UNDERFLOW_LIMIT) * (1 + 2.0**-40)
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
    """Return CSR rows with sorted and distinct entries, as the kernels require.

    The given matrix is not modified.
    """
    if rows.has_canonical_format:
        return rows
    rows = rows.copy()
    rows.sum_duplicates()
    return rows


def smallest_columns(distances: Floats, k: int) -> Integers:
    """Return the columns of the k smallest entries of each row in increasing order.

    Ties are broken by the lower column.
    """
    reach = np.partition(distances, k - 1, axis=1)[:, k - 1]
    row, column = np.nonzero(distances <= reach[:, None])
    return column[first_of_each(row, distances[row, column], column, len(distances), k)]


def first_of_each(
    query: Integers, distance: Floats, candidate: Integers, n_queries: int, k: int
) -> Integers:
    """Return, for each query, the positions of its k nearest candidates in the given arrays.

    Ties are broken by the lower candidate.
    """
    order = np.lexsort((candidate, distance, query))
    begin = np.searchsorted(query[order], np.arange(n_queries))
    return np.asarray(order[begin[:, None] + np.arange(k)])


@dataclass(frozen=True)
class TargetRuns:
    """Samples sorted by a target and grouped into runs of equal values.

    The neighbours of a sample are its own run and the nearest other runs, until there are at least
    `n_neighbors`. Runs are never split, so that all tied samples are included.
    """

    n_neighbors: int  # less than the number of samples
    order: Integers  # sample indices by increasing target
    start: Integers  # (n_runs,) first position of each run in `order`
    size: Integers  # (n_runs,) samples per run
    values: Floats  # (n_runs,) target of each run

    @cached_property
    def run(self) -> Integers:
        """The run of each sample."""
        run = np.empty(len(self.order), dtype=np.int64)
        run[self.order] = np.repeat(np.arange(len(self.start)), self.size)
        return run

    def members(self, runs: Integers) -> tuple[Integers, Integers]:
        """Return all samples of the given runs, and the position in `runs` of each sample's run."""
        sizes = self.size[runs]
        owner = np.repeat(np.arange(len(runs)), sizes)
        within = np.arange(len(owner)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        return self.order[self.start[runs][owner] + within], owner

    @property
    def magnitude(self) -> Floats:
        """The largest absolute value of each run."""
        return np.abs(self.values)

    def squared_gaps(self, one: Integers, other: Integers) -> Floats:
        """Return the squared distances between the values of runs."""
        return np.asarray((self.values[one] - self.values[other]) ** 2)

    @cached_property
    def reach(self) -> Floats:
        """The distance of each run to its k-th nearest other sample, including rounding errors."""
        if len(self.values) == len(self.order):
            reach = line_reach(self.values, self.n_neighbors)
        else:
            reach = line_reach(np.repeat(self.values, self.size), self.n_neighbors)[self.start]
        return largest_tie(self.values, reach)

    def pairs(self) -> tuple[Integers, Integers, Floats]:
        """Return the linked pairs of runs, by increasing target, and their squared distances.

        Two runs are linked if their distance is at most the `reach` of either.
        """
        return line_pairs(self.values, self.reach, np.arange(len(self.values)))

    def sample_pairs(self) -> tuple[Integers, Integers, Floats]:
        """Return the linked pairs of samples with different targets, with squared distances."""
        if len(self.values) == len(self.order):
            return line_pairs(
                self.values, self.reach, self.order, n_expected=self.n_neighbors * len(self.order)
            )
        return self._expanded(*self.pairs())

    def _expanded(
        self, low: Integers, high: Integers, squared: Floats
    ) -> tuple[Integers, Integers, Floats]:
        """Return the pairs of samples of the given pairs of runs."""
        left, pair = self.members(low)
        right, of_left = self.members(high[pair])
        return left[of_left], right, squared[pair][of_left]

    def band(self) -> tuple[Integers, Floats] | None:
        """Return the linked pairs in the form of a `BandGraph`, if all targets are distinct.

        Each sample is linked with a number of samples that directly follow it in `order`. The
        result contains the positions at which the pairs of each sample begin, and the squared
        distances of all pairs. It is None if the linked samples do not follow each other directly,
        which can happen if distances tie through rounding.
        """
        begin = line_band(self.values, self.reach, self.n_neighbors)
        return None if begin is None else (begin, line_squares(self.values, begin))

    def nearest_samples(self) -> Floats:
        """Return the distances of each run to its k nearest other samples, in increasing order.

        They are infinite if there are fewer than k.
        """
        k, n_runs = self.n_neighbors, len(self.values)
        # Every run contains a sample, so k runs to each side are sufficient.
        side = min(k, n_runs - 1)
        places = np.arange(n_runs)[:, None] + np.arange(-side, side + 1)
        exists = (places >= 0) & (places < n_runs)
        places = np.where(exists, places, 0)
        gaps = np.where(exists, np.abs(self.values[places] - self.values[:, None]), np.inf)
        sizes = np.where(exists, self.size[places], 0)
        sizes[:, side] -= 1  # the sample itself
        order = np.argsort(gaps, axis=1, kind="stable")
        gaps, sizes = (np.take_along_axis(each, order, axis=1) for each in (gaps, sizes))
        return self._by_sample(gaps, sizes)

    def _by_sample(self, gaps: Floats, sizes: Integers) -> Floats:
        """Return the distances to the k nearest samples, given those to runs and their sizes."""
        k = self.n_neighbors
        gaps = np.concatenate([gaps, np.full((len(gaps), 1), np.inf)], axis=1)
        filled = np.cumsum(sizes, axis=1)
        # The r-th nearest sample is in the first run at which the cumulative count exceeds r.
        steps = np.stack([(filled <= r).sum(axis=1) for r in range(k)], axis=1)
        return np.take_along_axis(gaps, steps, axis=1)

    def runs_within(self, runs: Integers, reach: Floats) -> tuple[Integers, Integers]:
        """Return all other runs within a reach of each of the given runs.

        The result contains the positions in `runs`, and the runs found.
        """
        n_left = places_within(self.values, reach, runs)
        n_right = places_within(-self.values[::-1], reach, len(self.values) - 1 - runs)
        count = n_left + n_right
        query = np.repeat(np.arange(len(runs)), count)
        step = np.arange(len(query)) - np.repeat(np.cumsum(count) - count, count)
        found = (runs - n_left)[query] + step
        return query, found + (found >= runs[query])  # skips the run itself


@dataclass(frozen=True)
class TargetPoints(TargetRuns):
    """Samples grouped into runs of equal values of several targets.

    `values` has shape (n_runs, n_targets). Distances are Euclidean.
    """

    @cached_property
    def _tree(self) -> cKDTree:
        return cKDTree(self.values)

    @property
    def magnitude(self) -> Floats:
        return np.asarray(np.abs(self.values).max(axis=1))

    def squared_gaps(self, one: Integers, other: Integers) -> Floats:
        difference = self.values[one] - self.values[other]
        return np.asarray(np.einsum("ij,ij->i", difference, difference))

    @cached_property
    def reach(self) -> Floats:
        return largest_tie(self.magnitude, self.nearest_samples()[:, -1])

    def nearest_samples(self) -> Floats:
        n_runs = len(self.values)
        # Every run contains a sample, so k other runs are sufficient.
        some = min(self.n_neighbors + 1, n_runs)
        gaps, places = (
            found.reshape(n_runs, some) for found in self._tree.query(self.values, k=some)
        )
        own = places == np.arange(n_runs)[:, None]
        return self._by_sample(gaps, self.size[places] - own)

    def runs_within(self, runs: Integers, reach: Floats) -> tuple[Integers, Integers]:
        lists = self._tree.query_ball_point(self.values[runs], reach)
        query = np.repeat(np.arange(len(runs)), [len(one) for one in lists])
        found = np.array([run for one in lists for run in one], dtype=np.int64)
        other = found != runs[query]
        return query[other], found[other]

    def pairs(self) -> tuple[Integers, Integers, Floats]:
        query, found = self.runs_within(np.arange(len(self.values)), self.reach)
        both = np.sort(np.stack([query, found], axis=1), axis=1)
        low, high = (np.unique(both, axis=0) if len(both) else both).T
        return low, high, self.squared_gaps(low, high)

    def sample_pairs(self) -> tuple[Integers, Integers, Floats]:
        return self._expanded(*self.pairs())

    def band(self) -> None:
        """Return None, because samples have no order along several targets."""
        return


def largest_tie(values: Floats, distance: Floats) -> Floats:
    """Return the largest distance from each value that ties with the given distance.

    Distances that are equal on paper may differ by rounding, for example 0.3 − 0.2 and 0.2 − 0.1.
    Such errors depend on the unit of the target, so they must not separate ties.
    """
    return np.asarray(distance * (1 + EQUAL_DISTANCES) + EQUAL_VALUES * np.abs(values))


def target_runs(target: Floats, n_neighbors: int) -> TargetRuns:
    """Group one target or several into runs for a neighbour search in about O(n log n + n k)."""
    if target.ndim == 2:
        values, place, size = np.unique(target, axis=0, return_inverse=True, return_counts=True)
        order, start = np.argsort(place.ravel(), kind="stable"), np.cumsum(size) - size
        return TargetPoints(n_neighbors, order, start, size, values)
    order = np.argsort(target)
    sorted_target = target[order]
    begins = np.ones(len(target), dtype=bool)
    np.not_equal(sorted_target[1:], sorted_target[:-1], out=begins[1:])
    if begins.all():  # the usual case for continuous targets
        once = np.broadcast_to(np.int64(1), len(target))
        return TargetRuns(n_neighbors, order, np.arange(len(target)), once, sorted_target)
    start = np.flatnonzero(begins)
    size = np.diff(start, append=len(target))
    return TargetRuns(n_neighbors, order, start, size, sorted_target[start])
