"""Exact nearest neighbours, in the space of the features and along a single target.

In feature space scikit-learn proposes candidates at BLAS speed. Its distances come from a Gram expansion, which rounding
can spoil for near ties, so a proposal is only accepted where an error bound proves that nobody better was left out;
all distances that matter are then taken from explicit differences. Rows without such a proof, and sparse rows, are searched
with the bound as tolerance. The answer is therefore the one of the naive double loop, ties included: by lower index.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.neighbors import NearestNeighbors

from graphsieve.sums import TEMPORARY_ELEMENTS, row_differences

SPARE_CANDIDATES = 8  # asked for beyond k: enough to prove most rows of data without ties in one go

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


def squared_distances(rows: Any, first: Integers, second: Integers) -> Floats:
    """Squared Euclidean distances of the given pairs of rows from explicit differences, summed from the first feature on.

    The fixed order of the sum makes dense and sparse rows give the same bits.
    """
    result = np.empty(len(first))
    if sp.issparse(rows):
        step = max(1, TEMPORARY_ELEMENTS // max(1, 2 * rows.nnz // max(1, rows.shape[0])))
        for start in range(0, len(first), step):
            part = slice(start, start + step)
            result[part] = _sparse_squared_distances(rows, first[part], second[part])
        return result
    every = None
    for part, differences in row_differences(rows, first, second):
        np.square(differences, out=differences)
        if every is None or every.shape[0] != len(differences):
            every = _filled(differences.shape)
        # A sparse product adds strictly from left to right, and quickly.
        every.data = differences.ravel()
        result[part] = every @ np.ones(rows.shape[1])
    return result


def _filled(shape: tuple[int, ...]) -> Any:
    """A sparse matrix in which every place is stored, row by row."""
    n_rows, width = shape
    entries = (np.ones(n_rows * width), np.tile(np.arange(width), n_rows), np.arange(n_rows + 1) * width)
    return sp.csr_array(entries, shape=shape)


def _sparse_squared_distances(rows: Any, first: Integers, second: Integers) -> Floats:
    differences = sp.csr_array(rows[first] - rows[second])
    differences.sort_indices()
    owner = np.repeat(np.arange(len(first)), np.diff(differences.indptr))
    return np.asarray(np.bincount(owner, weights=differences.data**2, minlength=len(first)), dtype=np.float64)


def nearest_neighbors(
    rows: Any, n_neighbors: int, *, queries: Integers | None = None, candidates: Integers | None = None
) -> tuple[Integers, Floats]:
    """The nearest `candidates` of each of the `queries` (both are row indices, all rows by default), never the query itself.

    Returns indices and squared distances of shape (n_queries, k), nearest first, ties by lower index. `n_neighbors` must not
    exceed the number of candidates other than the query.
    """
    everyone = np.arange(rows.shape[0])
    queries = everyone if queries is None else queries
    candidates = everyone if candidates is None else candidates
    indices = np.empty((len(queries), n_neighbors), dtype=np.int64)
    distances = np.empty((len(queries), n_neighbors))
    if not len(queries) or not n_neighbors:
        return indices, distances
    space = _Space(rows, candidates)
    proven = space.search_by_proposal(queries, n_neighbors, indices, distances)
    open_queries = np.flatnonzero(~proven)
    if len(open_queries):
        answered = space.search_among_copies(queries[open_queries], n_neighbors, indices, distances, open_queries)
        space.search_with_tolerance(queries, n_neighbors, indices, distances, open_queries[~answered])
    return indices, distances


class _Space:
    """Rows to search, with what the error bound needs."""

    def __init__(self, rows: Any, candidates: Integers) -> None:
        self.rows, self.candidates = rows, candidates
        # Centring makes the Gram expansion accurate; subtracting the mean is itself exact to the last bit of the result.
        self.centered = rows if sp.issparse(rows) else rows - rows.mean(axis=0)
        if sp.issparse(rows):
            self.norms = np.asarray(rows.multiply(rows).sum(axis=1), dtype=np.float64).ravel()
        else:
            self.norms = np.einsum("ij,ij->i", self.centered, self.centered)
        self.targets = self._chosen(candidates)

    def _chosen(self, which: Integers) -> Any:
        everyone = len(which) == self.rows.shape[0] and bool((which == np.arange(len(which))).all())
        return self.centered if everyone else self.centered[which]

    def tolerance(self, queries: Integers) -> Floats:
        """A bound on |Gram distance² − true distance²| for each query against any candidate."""
        per_unit = np.finfo(np.float64).eps * (4 * self.rows.shape[1] + 32)
        bound: Floats = per_unit * (self.norms[queries] + self.norms[self.candidates].max())
        return bound

    def search_by_proposal(self, queries: Integers, k: int, indices: Integers, distances: Floats) -> NDArray[np.bool_]:
        if sp.issparse(self.rows):
            return np.zeros(len(queries), dtype=bool)  # scikit-learn has no fast search for these, only large temporary arrays
        asked = min(k + 1 + SPARE_CANDIDATES, len(self.candidates))
        searcher = NearestNeighbors(n_neighbors=asked, algorithm="brute").fit(self.targets)
        proposed_distances, proposed = searcher.kneighbors(self._chosen(queries))
        proposed = self.candidates[proposed]
        exact = squared_distances(self.rows, np.repeat(queries, asked), proposed.ravel()).reshape(proposed.shape)
        exact[proposed == queries[:, None]] = np.inf
        order = np.lexsort((proposed, exact), axis=1)[:, :k]
        indices[:] = np.take_along_axis(proposed, order, axis=1)
        distances[:] = np.take_along_axis(exact, order, axis=1)
        if asked == len(self.candidates):
            return np.ones(len(queries), dtype=bool)
        # Whoever was not proposed has a Gram distance of at least the last proposed one.
        proven: NDArray[np.bool_] = distances[:, -1] + self.tolerance(queries) < proposed_distances[:, -1] ** 2
        return proven

    def search_among_copies(
        self, queries: Integers, k: int, indices: Integers, distances: Floats, places: Integers
    ) -> NDArray[np.bool_]:
        """Answer the queries that have at least k exact copies among the candidates: the first k of those, at distance zero."""
        copies: dict[bytes, list[int]] = {}
        for candidate in self.candidates:
            copies.setdefault(self._digest(candidate), []).append(int(candidate))
        answered = np.zeros(len(queries), dtype=bool)
        for position, query in enumerate(queries):
            same = copies.get(self._digest(query), [])
            if len(same) > k or (len(same) == k and query not in same):
                nearest = [candidate for candidate in same[: k + 1] if candidate != query][:k]
                indices[places[position]], distances[places[position]] = nearest, 0.0
                answered[position] = True
        return answered

    def _digest(self, row: int) -> bytes:
        if sp.issparse(self.rows):
            part = slice(self.rows.indptr[row], self.rows.indptr[row + 1])
            content = self.rows.indices[part].tobytes() + self.rows.data[part].tobytes()
        else:
            content = (self.rows[row] + 0.0).tobytes()  # −0.0 becomes 0.0
        return hashlib.blake2b(content, digest_size=16).digest()

    def search_with_tolerance(self, queries: Integers, k: int, indices: Integers, distances: Floats, places: Integers) -> None:
        """Explicit distances to everyone who could be among the k nearest as far as the error bound can tell."""
        target_norms = self.norms[self.candidates]
        step = max(1, TEMPORARY_ELEMENTS // len(self.candidates))
        for start in range(0, len(places), step):
            here = places[start : start + step]
            mine = queries[here]
            products = self.centered[mine] @ self.targets.T
            gram = self.norms[mine, None] + target_norms - 2 * (products.toarray() if sp.issparse(products) else products)
            gram[mine[:, None] == self.candidates] = np.inf
            reach = np.partition(gram, k - 1, axis=1)[:, k - 1] + 2 * self.tolerance(mine)
            query, column = np.nonzero(gram <= reach[:, None])
            exact = squared_distances(self.rows, mine[query], self.candidates[column])
            chosen = first_of_each(query, exact, column, len(here), k)
            indices[here], distances[here] = self.candidates[column[chosen]], exact[chosen]


def smallest_columns(distances: Floats, k: int) -> Integers:
    """The columns of the k smallest entries of each row, smallest first, ties by lower column."""
    reach = np.partition(distances, k - 1, axis=1)[:, k - 1]
    row, column = np.nonzero(distances <= reach[:, None])
    return column[first_of_each(row, distances[row, column], column, len(distances), k)]


def first_of_each(query: Integers, distance: Floats, candidate: Integers, n_queries: int, k: int) -> Integers:
    """For each query the places of its k nearest candidates in the given lists, ties by lower candidate."""
    order = np.lexsort((candidate, distance, query))
    begin = np.searchsorted(query[order], np.arange(n_queries))
    return np.asarray(order[begin[:, None] + np.arange(k)])


@dataclass(frozen=True)
class TargetRuns:
    """Samples sorted by a target, in runs of equal values, with each run's neighbouring runs.

    A sample's neighbours are its own run and the `linked` runs, nearest first: whole runs until there are k neighbours, so that
    ties are always kept. `linked` is −1 and `gap` is infinite where fewer are needed.
    """

    order: Integers  # sample indices by increasing target
    start: Integers  # (n_runs,) where each run begins in `order`
    size: Integers  # (n_runs,)
    run: Integers  # (n_samples,) the run of each sample
    linked: Integers  # (n_runs, n_steps)
    gap: Floats  # (n_runs, n_steps) absolute difference of the targets

    def members(self, runs: Integers) -> tuple[Integers, Integers]:
        """All samples of the given runs, and for each the position in `runs` it came from."""
        sizes = self.size[runs]
        owner = np.repeat(np.arange(len(runs)), sizes)
        within = np.arange(len(owner)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        return self.order[self.start[runs][owner] + within], owner


def target_runs(target: Floats, n_neighbors: int) -> TargetRuns:
    """Neighbours along one dimension in O(n log n + n k): sort, then walk outwards from every run at once."""
    order = np.argsort(target, kind="stable")
    values, start, size = np.unique(target[order], return_index=True, return_counts=True)
    run = np.empty(len(target), dtype=np.int64)
    run[order] = np.repeat(np.arange(len(values)), size)
    have = size - 1
    left, right = np.arange(len(values)) - 1, np.arange(len(values)) + 1
    linked, gaps = [], []
    padded = np.concatenate([values, [np.inf]])  # index −1 and index n_runs both read this infinity
    while True:
        wanting = have < n_neighbors
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
        left, right = np.maximum(left, -1), np.minimum(right, len(values))
    shape = (0, len(values))
    return TargetRuns(
        order,
        start.astype(np.int64),
        size.astype(np.int64),
        run,
        np.array(linked, dtype=np.int64).reshape(-1, len(values)).T if linked else np.empty(shape, np.int64).T,
        np.array(gaps).reshape(-1, len(values)).T if gaps else np.empty(shape).T,
    )
