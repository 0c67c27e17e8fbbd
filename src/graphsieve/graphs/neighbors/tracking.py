"""Exact nearest neighbours of the same samples while features are removed and added.

A new search for every set of features would cost n²·p each time. Instead, approximate squared
distances are kept and corrected for the features that changed. An error bound shows which samples
may be among the nearest. Explicit differences decide where the bound cannot, and they give all
distances that are returned. The result is therefore identical to that of `nearest_neighbors`,
including ties, after any number of corrections.

If all pairs fit into memory, all their distances are kept. Otherwise each sample keeps a list of
its nearest samples, and a lower bound on its distance to all others. A sample is searched again
only when this bound can no longer exclude the others.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg.blas import dgemm

from graphsieve._base.array_types import Booleans, Floats, Integers
from graphsieve._kernels.column_sums import TEMPORARY_ELEMENTS
from graphsieve._kernels.rounds import any_neighbors, follow_nearest, list_links, room_for_pairs
from graphsieve.graphs.neighbors.exact import first_of_each, nearest_neighbors, squared_distances
from graphsieve.table.blocks import ORDINARY_EXPONENT, scale_by_power_of_two, unit_exponent
from graphsieve.table.columns import NO_EXPONENT, Table

KEPT_ELEMENTS = 2**26  # approximate distances kept: 512 MiB of float64, all pairs of 8,192 samples
# Length of a list if not all pairs are kept: one SHARE_LISTED-th of the candidates, but at least
# FEWEST_LISTED
FEWEST_LISTED, SHARE_LISTED = 256, 8
# Smallest number of features per changed feature for which a correction is faster than a new
# search, for all pairs and for lists
WORTH_KEEPING, WORTH_LISTING = 20, 300
VERY_MANY_PAIRS = 2**23  # with fewer pairs, a correction is always faster
# Number of pairs from which a new search finds the first neighbours faster than a selection among
# all distances
MANY_PAIRS = 2**20
# If the squared norms fall below this share of their largest earlier value, rounding errors become
# significant and the distances are computed anew.
SHRUNK = 1e-6

ROUNDING = float(np.finfo(np.float64).eps)


class Tracker:
    """A `Geometry` for changing sets of features; `follow` sets the current features.

    Parameters
    ----------
    table : Table
        All features that may ever be used.
    kept_elements : int
        Maximum number of approximate distances kept for each kind of search. The results do not
        depend on it.
    """

    def __init__(self, table: Table, *, kept_elements: int = KEPT_ELEMENTS) -> None:
        self._table, self._kept_elements = table, kept_elements
        self._exponents = table.column_exponents()
        self._n_compared = table.n_features
        self._all_samples = np.arange(table.n_samples)
        self._key_of_all = self._all_samples.tobytes()
        self._space: _Space | None = None
        self._searches: dict[tuple[int, bytes, bytes], _Search] = {}

    def follow(self, features: Integers) -> None:
        """Set the current features, in increasing order."""
        self._n_compared = len(features)
        if self._table.features is not None:
            features = self._table.features.columns_of(features)
        largest = int(self._exponents[features].max())
        exponent = 0 if largest == NO_EXPONENT else unit_exponent(largest)
        if self._space is None or self._space.exponent != exponent:
            self._space = _Space(
                self._table, exponent, self._exponents <= (exponent or ORDINARY_EXPONENT)
            )
        self._space.follow(features)

    @property
    def rows(self) -> tuple[Any, int]:
        """The samples in the current features, in the form of `Table.rows`."""
        return self._current.rows, self._current.exponent

    @property
    def n_compared(self) -> int:
        """The number of current features."""
        return self._n_compared

    @property
    def rows_exponent(self) -> int:
        """The exponent of the power of two by which `rows` are divided."""
        return self._current.exponent

    def nearest(
        self, n_neighbors: int, queries: Integers | None, candidates: Integers | None
    ) -> tuple[Integers, Floats]:
        """Return the result of `nearest_neighbors` on `rows`."""
        if n_neighbors == 0 or (queries is not None and not len(queries)):
            shape = (self._table.n_samples if queries is None else len(queries), n_neighbors)
            return np.empty(shape, dtype=np.int64), np.empty(shape)
        return self._search(n_neighbors, queries, candidates).answer(self._current)

    def rough_edges(self, n_neighbors: int) -> tuple[Integers, Integers, Floats, float]:
        """Return the edges of the neighbour graph with approximate squared lengths.

        The result contains both ends of each edge, its squared length, and a bound on the error of
        the lengths. The edges are exact, and each occurs once.
        """
        return self._search(n_neighbors, None, None).rough_edges(self._current)

    @property
    def _current(self) -> _Space:
        assert self._space is not None, "call follow() first"
        return self._space

    def _search(
        self, n_neighbors: int, queries: Integers | None, candidates: Integers | None
    ) -> _Search:
        query_key, candidate_key = (
            self._key_of_all if samples is None else samples.tobytes()
            for samples in (queries, candidates)
        )
        key = (n_neighbors, query_key, candidate_key)
        if key not in self._searches:
            queries = self._all_samples if queries is None else queries
            candidates = self._all_samples if candidates is None else candidates
            keeps_all = len(queries) * len(candidates) <= self._kept_elements
            most_kept = min(
                self._kept_elements // len(queries),
                max(FEWEST_LISTED, len(candidates) // SHARE_LISTED),
            )
            n_kept = len(candidates) if keeps_all else max(most_kept, 4 * (n_neighbors + 1))
            kind = _search_class(queries, candidates, n_kept)
            self._searches[key] = kind(queries, candidates, n_neighbors, n_kept)
        return self._searches[key]


class _Space:
    """The samples in the current features, scaled by one power of two."""

    def __init__(self, table: Table, exponent: int, usable: Booleans) -> None:
        self.exponent = exponent
        # Features of larger magnitude are never used with this exponent, and would overflow.
        powers = np.where(usable, -exponent, 0).astype(np.intc)
        if table.is_sparse:
            self.all_features = sp.csc_array(table.matrix)
            self.all_features.data = scale_by_power_of_two(
                self.all_features.data, np.repeat(powers, np.diff(self.all_features.indptr))
            )
            self.center = np.zeros(table.n_columns)
        else:
            self.all_features = scale_by_power_of_two(
                np.asarray(table.matrix, dtype=np.float64), powers
            )
            self.center = np.zeros(table.n_columns)
            self.center[usable] = self.all_features[:, usable].mean(axis=0)
        self.features = np.empty(0, dtype=np.int64)
        self._rows: Any = None

    def follow(self, features: Integers) -> None:
        self.features, self._rows = features, None

    @property
    def rows(self) -> Any:
        """The samples in the current features, computed on first use."""
        if self._rows is None:
            if sp.issparse(self.all_features):
                self._rows = sp.csr_array(self.all_features[:, self.features])
            elif (
                len(self.features) == self.all_features.shape[1]
                and self.all_features.flags.c_contiguous
            ):
                self._rows = self.all_features
            else:
                self._rows = np.take(self.all_features, self.features, axis=1)
        return self._rows

    def centered(self, features: Integers) -> Floats:
        """Return the given features as a dense array.

        Dense features are centred, which reduces the rounding errors of products.
        """
        if sp.issparse(self.all_features):
            return np.asarray(self.all_features[:, features].toarray())
        part = np.take(self.all_features, features, axis=1)
        part -= self.center[features]
        return part

    def products(self, queries: Integers, candidates: Integers) -> Floats:
        """Compute inner products of centred rows in the current features."""
        if sp.issparse(self.rows):
            return np.asarray((self.rows[queries] @ self.rows[candidates].T).toarray())
        center = self.center[self.features]
        return np.asarray((self.rows[queries] - center) @ (self.rows[candidates] - center).T)

    def mutual_products(self, samples: Integers | slice, out: Floats) -> None:
        """Compute inner products of centred rows between all pairs of the given samples."""
        if sp.issparse(self.rows):
            rows, step = self.rows[samples], max(1, TEMPORARY_ELEMENTS // len(out))
            for start in range(0, len(out), step):
                out[start : start + step] = (rows[start : start + step] @ rows.T).toarray()
        else:
            centered = self.rows[samples] - self.center[self.features]
            np.matmul(centered, centered.T, out=out)  # symmetric, so BLAS does half the work

    def norms(self) -> Floats:
        """Compute the squared norms of the centred rows in the current features."""
        if sp.issparse(self.rows):
            return np.asarray(self.rows.multiply(self.rows).sum(axis=1), dtype=np.float64).ravel()
        centered = self.rows - self.center[self.features]
        return np.asarray(np.einsum("ij,ij->i", centered, centered))


class _Search(ABC):
    """A repeated search for the k nearest of fixed candidates to each of fixed queries.

    `values` contains approximate squared distances, up to a constant per query, to the candidates
    at `columns` (all candidates if None).
    """

    def __init__(
        self, queries: Integers, candidates: Integers, n_neighbors: int, n_kept: int
    ) -> None:
        self.queries, self.candidates, self.k, self.n_kept = (
            queries,
            candidates,
            n_neighbors,
            n_kept,
        )
        self.symmetric = len(queries) == len(candidates) and bool((queries == candidates).all())
        self.space: _Space | None = None
        self.features = np.empty(0, dtype=np.int64)
        self.norms = np.empty(0)  # current squared norms of all samples, approximately
        # Upper bound on the squared norms that entered `values`, per sample
        self.size = np.empty(0)
        self.largest = 0.0  # largest value of `size`
        # Upper bound on the sum of the sizes of a query and any candidate, per query
        self.sizes = np.empty(0)
        self.n_terms = 0  # upper bound on the number of roundings
        self.tolerance = np.empty(0)  # upper bound on the errors of `values`, per query
        self.values = np.empty((0, 0))
        self.columns: Integers | None = None
        self.places = np.empty((0, 0), dtype=np.int64)  # positions of the last answer in `values`
        # Queries that `values` cannot answer for the current features
        self._unanswered = np.zeros(len(queries), dtype=bool)

    def answer(self, space: _Space) -> tuple[Integers, Floats]:
        near = self._neighbors(space)
        lengths = self._lengths(space, near)
        order = np.lexsort((near, lengths), axis=1)
        return np.take_along_axis(near, order, axis=1), np.take_along_axis(lengths, order, axis=1)

    def rough_edges(self, space: _Space) -> tuple[Integers, Integers, Floats, float]:
        """Return the distinct edges of a search among all samples, with an error bound."""
        near = self._neighbors(space)
        if not self._unanswered.any():
            return *self._kept_edges(near), 2 * ROUNDING * self.n_terms * 2 * self.largest
        first, second, _ = _distinct(near)
        return first, second, squared_distances(space.rows, first, second), 0.0

    def _kept_edges(self, near: Integers) -> tuple[Integers, Integers, Floats]:
        """Return the distinct edges with squared lengths from `values`."""
        first, second, where = _distinct(near)
        return first, second, self._kept_values().ravel()[where]

    def _kept_values(self) -> Floats:
        """Return the values at the positions of the last answer."""
        offset = np.arange(len(self.queries)) * self.values.shape[1]
        return np.asarray(self.values.ravel()[self.places + offset[:, None]])

    def _neighbors(self, space: _Space) -> Integers:
        """Return the k nearest candidates of each query, in any order."""
        removed, added = _changes(self.features, space.features)
        if not self._correction_pays(len(space.features), len(removed) + len(added)):
            self.space, self.features = None, space.features
            self._unanswered = np.ones(len(self.queries), dtype=bool)
            return nearest_neighbors(
                space.rows, self.k, queries=self.queries, candidates=self.candidates
            )[0]
        self._unanswered = np.zeros(len(self.queries), dtype=bool)
        self._move(space, removed, added)
        return self._kept_neighbors(space)

    @abstractmethod
    def _correction_pays(self, n_features: int, n_changed: int) -> bool:
        """Whether correcting the kept distances is faster than a new search."""

    def _kept_neighbors(self, space: _Space) -> Integers:
        """Return the k nearest candidates of each query from `values`, in any order."""
        tolerance = self.tolerance
        reach = self._ensure_lists(self._kept_values().max(axis=1), tolerance)
        found = np.flatnonzero(self.values <= (reach + 2 * tolerance)[:, None])
        query = found // self.values.shape[1]
        counts = np.bincount(query, minlength=len(self.queries))
        crowded = np.repeat(counts > self.k, counts)
        self.places = np.empty((len(self.queries), self.k), dtype=np.int64)
        self.places[counts == self.k] = (
            found[~crowded] - query[~crowded] * self.values.shape[1]
        ).reshape(-1, self.k)
        if crowded.any():
            self.places[counts > self.k] = self._nearest_of(
                space, query[crowded], found[crowded], tolerance
            )
        near = self._candidate(np.arange(len(self.queries))[:, None], self.places)
        unanswered = np.flatnonzero(self._unanswered)
        if len(unanswered):
            near[unanswered] = nearest_neighbors(
                space.rows, self.k, queries=self.queries[unanswered], candidates=self.candidates
            )[0]
        return near

    def _nearest_of(
        self, space: _Space, query: Integers, found: Integers, tolerance: Floats
    ) -> Integers:
        """Return the positions of the k nearest, for queries with more than k possible neighbours.

        `found` contains indices of the flattened `values`.
        """
        value = self.values.ravel()[found]
        order = np.lexsort((value, query))
        query, value, place = (
            query[order],
            value[order],
            (found - query * self.values.shape[1])[order],
        )
        begin = np.flatnonzero(np.diff(query, prepend=-1))
        end = np.append(begin[1:], len(query))
        chosen = begin[:, None] + np.arange(self.k)
        # If the next candidate is farther than the k-th by more than the tolerance, the k nearest
        # are certain. Otherwise explicit distances decide.
        limit = value[chosen[:, -1]] + 2 * tolerance[query[begin]]
        unsure = value[chosen[:, -1] + 1] <= limit
        if unsure.any():
            owner = np.repeat(np.arange(len(begin)), end - begin)
            open_ones = np.flatnonzero(unsure[owner] & (value <= limit[owner]))
            candidate = self._candidate(query[open_ones], place[open_ones])
            exact = squared_distances(space.rows, self.queries[query[open_ones]], candidate)
            number = np.cumsum(unsure) - 1  # index of each query among the unsure ones
            best = first_of_each(
                number[owner[open_ones]], exact, candidate, int(unsure.sum()), self.k
            )
            chosen[unsure] = open_ones[best]
        return np.asarray(place[chosen])

    def _lengths(self, space: _Space, near: Integers) -> Floats:
        """Compute explicit squared distances of all queries to their neighbours.

        In a symmetric search, each pair is computed only once.
        """
        query = np.repeat(self.queries, self.k)
        if not self.symmetric:
            return squared_distances(space.rows, query, near.ravel()).reshape(near.shape)
        n = int(self.candidates.max()) + 1
        key = np.minimum(query, near.ravel()) * n + np.maximum(query, near.ravel())
        pairs, which = np.unique(key, return_inverse=True)
        return squared_distances(space.rows, pairs // n, pairs % n)[which].reshape(near.shape)

    def _move(self, space: _Space, removed: Integers, added: Integers) -> None:
        """Update the approximate distances to the current features."""
        fresh = self.space is not space or len(removed) + len(added) >= len(space.features)
        self.space, self.features = space, space.features
        for changed, sign in ((removed, -1.0), (added, 1.0)):
            if len(changed) and not fresh:
                part = space.centered(changed)
                lengths = (
                    part[:, 0] ** 2 if part.shape[1] == 1 else np.einsum("ij,ij->i", part, part)
                )
                if sign > 0:
                    self.norms = self.norms + lengths
                    self._set_size(self.size + lengths)
                else:
                    self.norms = self.norms - lengths
                self.n_terms += 2 * len(changed) + 4
                self._correct(part, sign)
        fresh = fresh or self.norms.max() < SHRUNK * self.largest
        if fresh:
            self.norms = space.norms()
            self._set_size(self.norms)
            self.n_terms = 4 * len(space.features) + 32
        self.tolerance = (ROUNDING * self.n_terms) * self.sizes
        if fresh:
            self._start(space)

    def _set_size(self, size: Floats) -> None:
        self.size, self.largest, self.sizes = (
            size,
            float(size.max()),
            size[self.queries] + size[self.candidates].max(),
        )

    @abstractmethod
    def _start(self, space: _Space) -> None:
        """Compute `values` and `places` anew."""

    @abstractmethod
    def _correct(self, part: Floats, sign: float) -> None:
        """Add the squared differences of some centred features to `values`, or subtract them."""

    def _ensure_lists(self, reach: Floats, _: Floats) -> Floats:
        return reach

    def _candidate(self, _: Integers, place: Integers) -> Integers:
        return self.candidates[place]


class _AllPairs(_Search):
    """Search that keeps the approximate distances of all queries to all candidates.

    The values are ‖x_j‖² − 2 x_i·x_j.
    """

    def _correction_pays(self, n_features: int, n_changed: int) -> bool:
        few = len(self.queries) * len(self.candidates) < VERY_MANY_PAIRS
        return few or (len(self.features) > 0 and n_features >= WORTH_KEEPING * n_changed)

    def _start(self, space: _Space) -> None:
        values = space.products(self.queries, self.candidates)
        values *= -2
        values += self.size[self.candidates]
        # A sample is never its own neighbour.
        values[self.queries[:, None] == self.candidates] = np.inf
        self.values = values
        self._find_first(space)

    def _find_first(self, space: _Space) -> None:
        """Compute `places` anew."""
        if self.values.size < MANY_PAIRS:
            self.places = np.argpartition(self.values, self.k - 1, axis=1)[:, : self.k]
        else:
            near = nearest_neighbors(
                space.rows, self.k, queries=self.queries, candidates=self.candidates
            )[0]
            order = np.argsort(self.candidates)
            self.places = order[np.searchsorted(self.candidates, near, sorter=order)]

    def _correct(self, part: Floats, sign: float) -> None:
        """Add sign · (f_j² − 2 f_i f_j) for all changed features to all pairs.

        One matrix product does this in place.
        """
        norms = np.einsum("ij,ij->i", part, part)
        left = np.asfortranarray(np.column_stack([part[self.candidates], norms[self.candidates]]))
        right = np.asfortranarray(
            np.column_stack([-2 * part[self.queries], np.ones(len(self.queries))])
        )
        dgemm(sign, left, right, beta=1.0, c=self.values.T, trans_b=True, overwrite_c=True)


class _MutualPairs(_AllPairs):
    """Search that keeps the approximate distances between all pairs of the same samples.

    The values are squared distances. Only those above the diagonal are valid.
    """

    def __init__(
        self, queries: Integers, candidates: Integers, n_neighbors: int, n_kept: int
    ) -> None:
        super().__init__(queries, candidates, n_neighbors, n_kept)
        # Squared distances to the samples at `places`. The last column of both is the candidate
        # after the k nearest.
        self.lengths = np.empty((0, 0))
        self._pending: list[tuple[Floats, float]] = []
        in_order = np.array_equal(queries, np.arange(len(queries)))
        self._samples = slice(len(queries)) if in_order else queries  # a slice avoids copies

    def _start(self, space: _Space) -> None:
        n = len(self.queries)
        self.values, self._pending = room_for_pairs(n), []
        values, norms, step = (
            self.values[:, :n],
            self.size[self.queries],
            max(1, TEMPORARY_ELEMENTS // n),
        )
        space.mutual_products(self._samples, values)
        values *= -2
        for start in range(0, n, step):
            values[start : start + step] += norms[start : start + step, None] + norms
        np.fill_diagonal(values, np.inf)  # a sample is never its own neighbour
        start_neighbors = any_neighbors(n, self.k)
        if start_neighbors is None:
            self._find_first(space)
        self.places = np.column_stack(
            [
                self.places if start_neighbors is None else start_neighbors,
                np.zeros(n, dtype=np.int64),
            ]
        )
        row = np.arange(n)[:, None]
        self.lengths = self.values[np.minimum(row, self.places), np.maximum(row, self.places)]

    def _correct(self, part: Floats, sign: float) -> None:
        """Postpone the correction to the next search, which reads all values anyway."""
        self._pending.append((part[self._samples], sign))

    def _kept_neighbors(self, space: _Space) -> Integers:
        changed = [part for part, _ in self._pending]
        n_removed = sum(part.shape[1] for part, sign in self._pending if sign < 0)
        self._pending, slack = [], 2 * self.tolerance
        follow_nearest(changed, self.values, slack, self.places, self.lengths, n_gone=n_removed)
        # If the next candidate is farther than the k-th by more than the tolerance, the k nearest
        # are certain. Otherwise explicit distances decide.
        limits = self.lengths[:, -2] + slack
        unsure = self.lengths[:, -1] <= limits
        if unsure.any():
            self._compare(space, unsure, limits)
        near = self.places[:, :-1]
        return near if isinstance(self._samples, slice) else self.candidates[near]

    def _compare(self, space: _Space, unsure: Booleans, limits: Floats) -> None:
        """Find the nearest candidates of some queries by explicit distances.

        All candidates within the limits are compared.
        """
        query, place = self._pairs_within(np.where(unsure, limits, -np.inf))
        candidate = self.candidates[place]
        exact = squared_distances(space.rows, self.queries[query], candidate)
        number = np.cumsum(unsure) - 1  # index of each query among the unsure ones
        best = first_of_each(number[query], exact, candidate, int(unsure.sum()), self.k)
        self.places[unsure, :-1] = place[best]
        self.lengths[unsure, :-1] = self.values[
            np.minimum(query, place)[best], np.maximum(query, place)[best]
        ]

    def _pairs_within(self, limits: Floats) -> tuple[Integers, Integers]:
        """Return all pairs of a query and a position within the limit of the query."""
        found, n = [], len(self.values)
        step = max(1, TEMPORARY_ELEMENTS // n)
        for start in range(0, n, step):
            part = self.values[start : start + step, start:n]
            far = np.maximum(limits[start : start + step, None], limits[start:])
            row, column = np.nonzero(np.triu(part <= far, 1))
            found.append(np.stack([row + start, column + start]))
        one, other = np.concatenate(found, axis=1)
        length = self.values[one, other]
        for_one, for_other = length <= limits[one], length <= limits[other]
        query = np.concatenate([one[for_one], other[for_other]])
        return query, np.concatenate([other[for_one], one[for_other]])

    def _kept_edges(self, _: Integers) -> tuple[Integers, Integers, Floats]:
        first, second, lengths = list_links(self.places, self.lengths)
        return first, second, np.maximum(lengths, 0.0, out=lengths)


def _search_class(queries: Integers, candidates: Integers, n_kept: int) -> type[_Search]:
    """Choose the class for a search that can keep `n_kept` candidates per query."""
    if n_kept < len(candidates):
        return _NearestPairs
    return _MutualPairs if np.array_equal(queries, candidates) else _AllPairs


def _distinct(near: Integers) -> tuple[Integers, Integers, Integers]:
    """Return the distinct pairs of samples and neighbours, with the lower index first.

    The third result contains the position of each pair in the flattened `near`.
    """
    n, query = len(near), np.arange(len(near))[:, None]
    key, where = np.unique(
        (np.minimum(query, near) * n + np.maximum(query, near)).ravel(), return_index=True
    )
    return key // n, key % n, where


def _changes(before: Integers, after: Integers) -> tuple[Integers, Integers]:
    """Return the elements only in `before` and those only in `after`; both are increasing."""
    there = np.zeros(
        1 + max(int(features[-1]) for features in (before, after) if len(features)), dtype=bool
    )
    there[after] = True
    removed = before[~there[before]]
    if len(before) - len(removed) == len(after):
        return removed, after[:0]
    there[before] = False
    return removed, after[there[after]]


class _NearestPairs(_Search):
    """Search that keeps the approximate distances to the nearest `n_kept` candidates of each query.

    The squared distance of all other candidates is at least `beyond`. A correction for one feature
    is as expensive as many features in a new search, and some queries must be searched again.
    """

    def _correction_pays(self, n_features: int, n_changed: int) -> bool:
        return len(self.features) > 0 and n_features >= WORTH_LISTING * n_changed

    def _start(self, space: _Space) -> None:
        shape = (len(self.queries), self.n_kept)
        self.values, self.columns = np.empty(shape), np.empty(shape, dtype=np.int64)
        self.beyond = np.empty(len(self.queries))
        self._search(space, np.arange(len(self.queries)))
        self.places = np.argpartition(self.values, self.k - 1, axis=1)[:, : self.k]

    def _search(self, space: _Space, which: Integers) -> None:
        """Compute new lists for some of the queries."""
        assert self.columns is not None
        norms = space.norms()
        tolerance = self.tolerance
        step = max(1, TEMPORARY_ELEMENTS // len(self.candidates))
        for start in range(0, len(which), step):
            here = which[start : start + step]
            query_rows = self.queries[here]
            squared = (
                norms[query_rows, None]
                + norms[self.candidates]
                - 2 * space.products(query_rows, self.candidates)
            )
            squared[query_rows[:, None] == self.candidates] = np.inf
            order = np.argpartition(squared, self.n_kept, axis=1)[:, : self.n_kept + 1]
            # The candidate at position `n_kept` is the nearest one outside the list.
            self.beyond[here] = (
                np.take_along_axis(squared, order[:, -1:], axis=1)[:, 0] - tolerance[here]
            )
            self.columns[here] = order[:, :-1]
            self.values[here] = np.take_along_axis(squared, order[:, :-1], axis=1)

    def _correct(self, part: Floats, sign: float) -> None:
        assert self.columns is not None
        step = max(1, TEMPORARY_ELEMENTS // self.n_kept)
        low, high = part.min(axis=0), part.max(axis=0)
        for start in range(0, len(self.queries), step):
            here = slice(start, start + step)
            query_rows, others = part[self.queries[here]], self.candidates[self.columns[here]]
            for feature in range(part.shape[1]):
                differences = part[:, feature][others]
                differences -= query_rows[:, feature, None]
                differences *= differences
                differences *= sign
                self.values[here] += differences
            # A removed feature reduces a squared distance by at most its largest squared
            # difference.
            if sign < 0:
                self.beyond[here] -= np.maximum(
                    (query_rows - low) ** 2, (high - query_rows) ** 2
                ).sum(axis=1)

    def _ensure_lists(self, reach: Floats, tolerance: Floats) -> Floats:
        """Search again for queries that may have a neighbour outside their list."""
        assert self.space is not None
        doubtful = np.flatnonzero(reach + 4 * tolerance >= self.beyond)
        if len(doubtful):
            self._search(self.space, doubtful)
            self.places[doubtful] = np.argpartition(self.values[doubtful], self.k - 1, axis=1)[
                :, : self.k
            ]
            reach = reach.copy()
            reach[doubtful] = np.take_along_axis(
                self.values[doubtful], self.places[doubtful], axis=1
            ).max(axis=1)
        # Queries with more tied candidates than fit into the list are still uncertain.
        self._unanswered = reach + 4 * tolerance >= self.beyond
        return reach

    def _candidate(self, query: Integers, place: Integers) -> Integers:
        assert self.columns is not None
        return self.candidates[self.columns[query, place]]
