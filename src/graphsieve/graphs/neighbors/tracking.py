"""Exact nearest neighbours of the same samples while features leave and come back.

A fresh search for every set of features would cost n²·p each time. Here approximate squared
distances are kept and corrected by the features that changed, and each answer is made exact again:
an error bound says which samples could be among the nearest, the few that it cannot tell apart are
compared by explicit differences, and so are all distances that are given back. The answer is
therefore that of `nearest_neighbors` to the last bit, ties included, however long the corrections
have been going on.

Where all pairs fit in memory, all are kept. Where they do not, each sample keeps as many of its
nearest as fit, with a lower bound on its distance to everybody else, and is searched anew only when
that bound can no longer rule the others out.
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

KEPT_ELEMENTS = 2**26  # approximate distances kept: 512 MiB of float64, those of 8,192 samples
# Candidates listed for each query where not all pairs are kept: an eighth, or so many
FEWEST_LISTED, SHARE_LISTED = 256, 8
# Features for each one that changed, from which it pays to correct all pairs, or lists
WORTH_KEEPING, WORTH_LISTING = 20, 300
VERY_MANY_PAIRS = 2**23  # below which it always pays
# From which scikit-learn is quicker to find the first neighbours than a selection among all
# distances
MANY_PAIRS = 2**20
# Of the squared norms at the last fresh start, below which their rounding errors begin to matter
SHRUNK = 1e-6

ROUNDING = float(np.finfo(np.float64).eps)


class Tracker:
    """A `Geometry` of which the features change: `follow` says which count from now on.

    Parameters
    ----------
    table : Table
        All features that may ever count.
    kept_elements : int
        How many approximate distances may be kept per kind of question; answers do not depend on
        it.
    """

    def __init__(self, table: Table, *, kept_elements: int = KEPT_ELEMENTS) -> None:
        self._table, self._kept_elements = table, kept_elements
        self._exponents = table.column_exponents()
        self._features = np.arange(table.n_features)
        self._everyone = np.arange(table.n_samples)
        self._name_of_all = self._everyone.tobytes()
        self._space: _Space | None = None
        self._searches: dict[tuple[int, bytes, bytes], _Search] = {}

    def follow(self, features: Integers) -> None:
        """From now on samples lie where these features, in increasing order, put them."""
        self._features = features
        largest = int(self._exponents[features].max())
        exponent = 0 if largest == NO_EXPONENT else unit_exponent(largest)
        if self._space is None or self._space.exponent != exponent:
            self._space = _Space(
                self._table, exponent, self._exponents <= (exponent or ORDINARY_EXPONENT)
            )
        self._space.follow(features)

    @property
    def rows(self) -> tuple[Any, int]:
        """The samples in the features that count, as `Table.rows`."""
        return self._current.rows, self._current.exponent

    @property
    def rows_exponent(self) -> int:
        """The power of two that `rows` are divided by."""
        return self._current.exponent

    def nearest(
        self, n_neighbors: int, queries: Integers | None, candidates: Integers | None
    ) -> tuple[Integers, Floats]:
        """As `nearest_neighbors` on `rows`."""
        if n_neighbors == 0 or (queries is not None and not len(queries)):
            shape = (self._table.n_samples if queries is None else len(queries), n_neighbors)
            return np.empty(shape, dtype=np.int64), np.empty(shape)
        return self._search(n_neighbors, queries, candidates).answer(self._current)

    def rough_edges(self, n_neighbors: int) -> tuple[Integers, Integers, Floats, float]:
        """Who is linked, exactly, each pair once: both ends, and the squared lengths, with a
        bound on their errors.
        """
        return self._search(n_neighbors, None, None).rough_edges(self._current)

    @property
    def _current(self) -> _Space:
        assert self._space is not None, "follow() comes first"
        return self._space

    def _search(
        self, n_neighbors: int, queries: Integers | None, candidates: Integers | None
    ) -> _Search:
        asked, among = (
            self._name_of_all if samples is None else samples.tobytes()
            for samples in (queries, candidates)
        )
        key = (n_neighbors, asked, among)
        if key not in self._searches:
            queries = self._everyone if queries is None else queries
            candidates = self._everyone if candidates is None else candidates
            everybody = len(queries) * len(candidates) <= self._kept_elements
            most = min(
                self._kept_elements // len(queries),
                max(FEWEST_LISTED, len(candidates) // SHARE_LISTED),
            )
            room = len(candidates) if everybody else max(most, 4 * (n_neighbors + 1))
            kind = _kind_of_search(queries, candidates, room)
            self._searches[key] = kind(queries, candidates, n_neighbors, room)
        return self._searches[key]


class _Space:
    """The samples, scaled by a power of two as a whole, in the features that count."""

    def __init__(self, table: Table, exponent: int, countable: Booleans) -> None:
        self.exponent = exponent
        # Features of a larger magnitude never count here, and would be infinite.
        powers = np.where(countable, -exponent, 0).astype(np.intc)
        if table.is_sparse:
            self.whole = sp.csc_array(table.matrix)
            self.whole.data = scale_by_power_of_two(
                self.whole.data, np.repeat(powers, np.diff(self.whole.indptr))
            )
            self.center = np.zeros(table.n_features)
        else:
            self.whole = scale_by_power_of_two(np.asarray(table.matrix, dtype=np.float64), powers)
            self.center = np.zeros(table.n_features)
            self.center[countable] = self.whole[:, countable].mean(axis=0)
        self.features = np.empty(0, dtype=np.int64)
        self._rows: Any = None

    def follow(self, features: Integers) -> None:
        self.features, self._rows = features, None

    @property
    def rows(self) -> Any:
        """The samples in the features that count; made when first asked for."""
        if self._rows is None:
            if sp.issparse(self.whole):
                self._rows = sp.csr_array(self.whole[:, self.features])
            elif len(self.features) == self.whole.shape[1] and self.whole.flags.c_contiguous:
                self._rows = self.whole
            else:
                self._rows = np.take(self.whole, self.features, axis=1)
        return self._rows

    def centered(self, features: Integers) -> Floats:
        """The given features as a dense array, less a constant each: near zero, where products
        round least.
        """
        if sp.issparse(self.whole):
            return np.asarray(self.whole[:, features].toarray())
        part = np.take(self.whole, features, axis=1)
        part -= self.center[features]
        return part

    def products(self, queries: Integers, candidates: Integers) -> Floats:
        """Inner products of centred rows in the features that count."""
        if sp.issparse(self.rows):
            return np.asarray((self.rows[queries] @ self.rows[candidates].T).toarray())
        center = self.center[self.features]
        return np.asarray((self.rows[queries] - center) @ (self.rows[candidates] - center).T)

    def mutual_products(self, samples: Integers | slice, out: Floats) -> None:
        """Inner products of centred rows of the given samples among themselves."""
        if sp.issparse(self.rows):
            rows, step = self.rows[samples], max(1, TEMPORARY_ELEMENTS // len(out))
            for start in range(0, len(out), step):
                out[start : start + step] = (rows[start : start + step] @ rows.T).toarray()
        else:
            centered = self.rows[samples] - self.center[self.features]
            np.matmul(centered, centered.T, out=out)  # of an array with itself: half the work

    def norms(self) -> Floats:
        """Squared lengths of the centred rows in the features that count."""
        if sp.issparse(self.rows):
            return np.asarray(self.rows.multiply(self.rows).sum(axis=1), dtype=np.float64).ravel()
        centered = self.rows - self.center[self.features]
        return np.asarray(np.einsum("ij,ij->i", centered, centered))


class _Search(ABC):
    """One kind of question, asked again and again: the k nearest of these candidates to each of
    these queries.

    `values` holds approximate squared distances, up to a constant per query, to the candidates at
    `columns` (all if None).
    """

    def __init__(
        self, queries: Integers, candidates: Integers, n_neighbors: int, room: int
    ) -> None:
        self.queries, self.candidates, self.k, self.room = queries, candidates, n_neighbors, room
        self.symmetric = len(queries) == len(candidates) and bool((queries == candidates).all())
        self.space: _Space | None = None
        self.features = np.empty(0, dtype=np.int64)
        self.norms = np.empty(0)  # squared norms of all samples now, nearly
        # a bound on the squared norms that have gone into `values`, per sample
        self.size = np.empty(0)
        self.largest = 0.0
        self.sizes = np.empty(0)  # and on the sum of two of them, per query
        self.n_terms = 0  # and on the roundings
        self.tolerance = np.empty(0)  # and so on the errors of `values`, per query
        self.values = np.empty((0, 0))
        self.columns: Integers | None = None
        self.places = np.empty((0, 0), dtype=np.int64)  # of the last answer, in `values`
        # Queries that `values` cannot answer this time
        self._lost = np.zeros(len(queries), dtype=bool)

    def answer(self, space: _Space) -> tuple[Integers, Floats]:
        near = self._neighbors(space)
        lengths = self._lengths(space, near)
        order = np.lexsort((near, lengths), axis=1)
        return np.take_along_axis(near, order, axis=1), np.take_along_axis(lengths, order, axis=1)

    def rough_edges(self, space: _Space) -> tuple[Integers, Integers, Floats, float]:
        """The distinct edges of a search of everybody among everybody."""
        near = self._neighbors(space)
        if not self._lost.any():
            return *self._kept_edges(near), 2 * ROUNDING * self.n_terms * 2 * self.largest
        first, second, _ = _distinct(near)
        return first, second, squared_distances(space.rows, first, second), 0.0

    def _kept_edges(self, near: Integers) -> tuple[Integers, Integers, Floats]:
        """The same, where `values` are squared distances."""
        first, second, where = _distinct(near)
        return first, second, self._at_places().ravel()[where]

    def _at_places(self) -> Floats:
        """The values of the last answer."""
        offset = np.arange(len(self.queries)) * self.values.shape[1]
        return np.asarray(self.values.ravel()[self.places + offset[:, None]])

    def _neighbors(self, space: _Space) -> Integers:
        """Who the k nearest are, in any order."""
        gone, back = _changes(self.features, space.features)
        if not self._pays(len(space.features), len(gone) + len(back)):
            self.space, self.features = None, space.features
            self._lost = np.ones(len(self.queries), dtype=bool)
            return nearest_neighbors(
                space.rows, self.k, queries=self.queries, candidates=self.candidates
            )[0]
        self._lost = np.zeros(len(self.queries), dtype=bool)
        self._move(space, gone, back)
        return self._kept_neighbors(space)

    @abstractmethod
    def _pays(self, n_features: int, n_changed: int) -> bool:
        """Whether correcting what is kept is quicker than a fresh search; where nothing is known
        yet, not.
        """

    def _kept_neighbors(self, space: _Space) -> Integers:
        """The same, of `values`."""
        tolerance = self.tolerance
        reach = self._assure(self._at_places().max(axis=1), tolerance)
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
        lost = np.flatnonzero(self._lost)
        if len(lost):
            near[lost] = nearest_neighbors(
                space.rows, self.k, queries=self.queries[lost], candidates=self.candidates
            )[0]
        return near

    def _nearest_of(
        self, space: _Space, query: Integers, found: Integers, tolerance: Floats
    ) -> Integers:
        """The places of the k nearest among more than k possible ones of some queries; `found`
        are indices of flat `values`.
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
        # Where the next one lies clearly beyond the k-th, the k nearest are certain; elsewhere
        # explicit distances decide.
        limit = value[chosen[:, -1]] + 2 * tolerance[query[begin]]
        unsure = value[chosen[:, -1] + 1] <= limit
        if unsure.any():
            owner = np.repeat(np.arange(len(begin)), end - begin)
            open_ones = np.flatnonzero(unsure[owner] & (value <= limit[owner]))
            candidate = self._candidate(query[open_ones], place[open_ones])
            exact = squared_distances(space.rows, self.queries[query[open_ones]], candidate)
            number = np.cumsum(unsure) - 1  # of each unsure query among them
            best = first_of_each(
                number[owner[open_ones]], exact, candidate, int(unsure.sum()), self.k
            )
            chosen[unsure] = open_ones[best]
        return np.asarray(place[chosen])

    def _lengths(self, space: _Space, near: Integers) -> Floats:
        """Explicit squared distances of all queries to their neighbours; each pair once."""
        query = np.repeat(self.queries, self.k)
        if not self.symmetric:
            return squared_distances(space.rows, query, near.ravel()).reshape(near.shape)
        n = int(self.candidates.max()) + 1
        key = np.minimum(query, near.ravel()) * n + np.maximum(query, near.ravel())
        pairs, which = np.unique(key, return_inverse=True)
        return squared_distances(space.rows, pairs // n, pairs % n)[which].reshape(near.shape)

    def _move(self, space: _Space, gone: Integers, back: Integers) -> None:
        """Bring the approximate distances to where the samples lie now."""
        fresh = self.space is not space or len(gone) + len(back) >= len(space.features)
        self.space, self.features = space, space.features
        for changed, sign in ((gone, -1.0), (back, 1.0)):
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
        """Fill `values` and `places` anew."""

    @abstractmethod
    def _correct(self, part: Floats, sign: float) -> None:
        """Add the squared differences of some centred features to `values`, or take them off."""

    def _assure(self, reach: Floats, _: Floats) -> Floats:
        return reach

    def _candidate(self, _: Integers, place: Integers) -> Integers:
        return self.candidates[place]


class _AllPairs(_Search):
    """All approximate distances of queries to other samples; values are ‖x_j‖² − 2 x_i·x_j."""

    def _pays(self, n_features: int, n_changed: int) -> bool:
        few = len(self.queries) * len(self.candidates) < VERY_MANY_PAIRS
        return few or (len(self.features) > 0 and n_features >= WORTH_KEEPING * n_changed)

    def _start(self, space: _Space) -> None:
        values = space.products(self.queries, self.candidates)
        values *= -2
        values += self.size[self.candidates]
        values[self.queries[:, None] == self.candidates] = np.inf  # never one's own neighbour
        self.values = values
        self._find_first(space)

    def _find_first(self, space: _Space) -> None:
        """Fill `places`."""
        if self.values.size < MANY_PAIRS:
            self.places = np.argpartition(self.values, self.k - 1, axis=1)[:, : self.k]
        else:
            near = nearest_neighbors(
                space.rows, self.k, queries=self.queries, candidates=self.candidates
            )[0]
            order = np.argsort(self.candidates)
            self.places = order[np.searchsorted(self.candidates, near, sorter=order)]

    def _correct(self, part: Floats, sign: float) -> None:
        """One product adds sign · (f_j² − 2 f_i f_j) for all changed features to all pairs, in
        place.
        """
        norms = np.einsum("ij,ij->i", part, part)
        left = np.asfortranarray(np.column_stack([part[self.candidates], norms[self.candidates]]))
        right = np.asfortranarray(
            np.column_stack([-2 * part[self.queries], np.ones(len(self.queries))])
        )
        dgemm(sign, left, right, beta=1.0, c=self.values.T, trans_b=True, overwrite_c=True)


class _MutualPairs(_AllPairs):
    """All approximate distances of samples among themselves; values are squared distances, and
    count above the diagonal only.
    """

    def __init__(
        self, queries: Integers, candidates: Integers, n_neighbors: int, room: int
    ) -> None:
        super().__init__(queries, candidates, n_neighbors, room)
        # Of the neighbours at `places`: as there, the last column is no longer one of them
        self.lengths = np.empty((0, 0))
        self._pending: list[tuple[Floats, float]] = []
        in_order = np.array_equal(queries, np.arange(len(queries)))
        self._samples = slice(len(queries)) if in_order else queries  # a slice copies nothing

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
        np.fill_diagonal(values, np.inf)  # never one's own neighbour
        anybody = any_neighbors(n, self.k)
        if anybody is None:
            self._find_first(space)
        self.places = np.column_stack(
            [self.places if anybody is None else anybody, np.zeros(n, dtype=np.int64)]
        )
        row = np.arange(n)[:, None]
        self.lengths = self.values[np.minimum(row, self.places), np.maximum(row, self.places)]

    def _correct(self, part: Floats, sign: float) -> None:
        """Left to the search, which reads all values anyway."""
        self._pending.append((part[self._samples], sign))

    def _kept_neighbors(self, space: _Space) -> Integers:
        changed = [part for part, _ in self._pending]
        n_gone = sum(part.shape[1] for part, sign in self._pending if sign < 0)
        self._pending, slack = [], 2 * self.tolerance
        follow_nearest(changed, self.values, slack, self.places, self.lengths, n_gone=n_gone)
        # Where the next one lies clearly beyond the k-th, the k nearest are certain; elsewhere
        # explicit distances decide.
        limits = self.lengths[:, -2] + slack
        unsure = self.lengths[:, -1] <= limits
        if unsure.any():
            self._compare(space, unsure, limits)
        near = self.places[:, :-1]
        return near if isinstance(self._samples, slice) else self.candidates[near]

    def _compare(self, space: _Space, unsure: Booleans, limits: Floats) -> None:
        """Find the nearest of some queries by explicit distances to all who may be among them."""
        query, place = self._pairs_within(np.where(unsure, limits, -np.inf))
        candidate = self.candidates[place]
        exact = squared_distances(space.rows, self.queries[query], candidate)
        number = np.cumsum(unsure) - 1  # of each unsure query among them
        best = first_of_each(number[query], exact, candidate, int(unsure.sum()), self.k)
        self.places[unsure, :-1] = place[best]
        self.lengths[unsure, :-1] = self.values[
            np.minimum(query, place)[best], np.maximum(query, place)[best]
        ]

    def _pairs_within(self, limits: Floats) -> tuple[Integers, Integers]:
        """Queries, and the places of all who are at most as far from them as their limits say."""
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


def _kind_of_search(queries: Integers, candidates: Integers, room: int) -> type[_Search]:
    """All pairs where there is room for them, and each but once where queries and candidates are
    the same.
    """
    if room < len(candidates):
        return _NearestPairs
    return _MutualPairs if np.array_equal(queries, candidates) else _AllPairs


def _distinct(near: Integers) -> tuple[Integers, Integers, Integers]:
    """Each pair of a query and one of its neighbours once, the lower end first, and where it is
    in the flat list.
    """
    n, query = len(near), np.arange(len(near))[:, None]
    key, where = np.unique(
        (np.minimum(query, near) * n + np.maximum(query, near)).ravel(), return_index=True
    )
    return key // n, key % n, where


def _changes(before: Integers, after: Integers) -> tuple[Integers, Integers]:
    """Those of one increasing list that are not in the other, and those of the other that are
    not in the one.
    """
    there = np.zeros(
        1 + max(int(features[-1]) for features in (before, after) if len(features)), dtype=bool
    )
    there[after] = True
    gone = before[~there[before]]
    if len(before) - len(gone) == len(after):
        return gone, after[:0]
    there[before] = False
    return gone, after[there[after]]


class _NearestPairs(_Search):
    """Approximate distances to the nearest `room` candidates of each query; everybody else is at
    least `beyond` away.

    Each feature that changes costs as much as a good many in a fresh search, and some searches
    remain.
    """

    def _pays(self, n_features: int, n_changed: int) -> bool:
        return len(self.features) > 0 and n_features >= WORTH_LISTING * n_changed

    def _start(self, space: _Space) -> None:
        shape = (len(self.queries), self.room)
        self.values, self.columns = np.empty(shape), np.empty(shape, dtype=np.int64)
        self.beyond = np.empty(len(self.queries))
        self._search(space, np.arange(len(self.queries)))
        self.places = np.argpartition(self.values, self.k - 1, axis=1)[:, : self.k]

    def _search(self, space: _Space, which: Integers) -> None:
        """Fresh lists for some of the queries."""
        assert self.columns is not None
        norms = space.norms()
        tolerance = self.tolerance
        step = max(1, TEMPORARY_ELEMENTS // len(self.candidates))
        for start in range(0, len(which), step):
            here = which[start : start + step]
            mine = self.queries[here]
            squared = (
                norms[mine, None]
                + norms[self.candidates]
                - 2 * space.products(mine, self.candidates)
            )
            squared[mine[:, None] == self.candidates] = np.inf
            order = np.argpartition(squared, self.room, axis=1)[:, : self.room + 1]
            # The one at place `room` is the nearest of the others.
            self.beyond[here] = (
                np.take_along_axis(squared, order[:, -1:], axis=1)[:, 0] - tolerance[here]
            )
            self.columns[here] = order[:, :-1]
            self.values[here] = np.take_along_axis(squared, order[:, :-1], axis=1)

    def _correct(self, part: Floats, sign: float) -> None:
        assert self.columns is not None
        step = max(1, TEMPORARY_ELEMENTS // self.room)
        low, high = part.min(axis=0), part.max(axis=0)
        for start in range(0, len(self.queries), step):
            here = slice(start, start + step)
            mine, others = part[self.queries[here]], self.candidates[self.columns[here]]
            for feature in range(part.shape[1]):
                apart = part[:, feature][others]
                apart -= mine[:, feature, None]
                apart *= apart
                apart *= sign
                self.values[here] += apart
            if sign < 0:  # nobody can come nearer than by the largest difference there is
                self.beyond[here] -= np.maximum((mine - low) ** 2, (high - mine) ** 2).sum(axis=1)

    def _assure(self, reach: Floats, tolerance: Floats) -> Floats:
        """Search anew for whoever may have a neighbour outside its list."""
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
        # Still doubtful are those with more equally near samples than there is room for.
        self._lost = reach + 4 * tolerance >= self.beyond
        return reach

    def _candidate(self, query: Integers, place: Integers) -> Integers:
        assert self.columns is not None
        return self.candidates[self.columns[query, place]]
