"""Laplacian scores round after round, quickly and with error bounds: who is worst is certain long before all digits are.

A round of the iterative search only has to know which features to drop. The neighbours are exact; their distances, and with them
the weights, are those that the tracker has at hand. The squared differences over the edges are kept from round to round, since
few edges change, so that all energies are one product. Where the errors that this allows could change the order, the caller
scores exactly instead.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphsieve.builders import capped_neighbors, heat_weights, warn_if_few_edges
from graphsieve.columns import Table
from graphsieve.neighbors import squared_distances
from graphsieve.scores import Method
from graphsieve.sums import row_differences
from graphsieve.tracking import Tracker

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
KEPT_ELEMENTS = 2**24  # squared differences kept: 128 MiB of float64
CROWDED = 0.85  # of the columns at hand must be in use, or the others are let go
WORST_RELATIVE_ERROR = 1e-6  # beyond this an estimate is none


@dataclass(frozen=True)
class Estimate:
    """Scores, how far each may be from that of the exact computation, and what was used."""

    values: Floats
    errors: Floats
    n_neighbors: int
    bandwidth: float

    def is_certain(self, first: int, *, ordered: bool) -> bool:
        """Whether it is certain who comes before place `first` in increasing order, and, if `ordered`, the order after it."""
        known = np.flatnonzero(~np.isnan(self.values))
        order = known[np.argsort(self.values[known], kind="stable")]
        if first > len(order):  # among those without a score; their order is that of the columns
            return True
        low, high = self.values[order] - self.errors[order], self.values[order] + self.errors[order]
        apart = low[1:] > high[:-1]
        return bool(apart[first - 1 :].all() if ordered else apart[first - 1 : first].all())


class LaplacianEstimates:
    """The Laplacian score on the neighbours that a tracker follows.

    Parameters
    ----------
    table : Table
        All features; dense, and few enough for one block.
    tracker : Tracker
        Follows the features of each round.
    options : dict
        Of the Laplacian score's core.
    """

    def __init__(self, table: Table, tracker: Tracker, options: Mapping[str, Any]) -> None:
        block = table.only_block
        assert block is not None
        self.tracker, self.options, self.n = tracker, options, table.n_samples
        self.constant = block.constant
        self.columns = np.arange(table.n_features)
        self.rows = block.values
        centered = self.rows - self.rows.mean(axis=0)
        self.moments = np.stack([centered, centered**2], axis=1)  # (n, 2, p): one product gives both
        self.capacity = self.n * min(options["n_neighbors"], self.n - 1)
        self.pool = np.empty((self.capacity, table.n_features))
        self.keys, self.slots = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)

    @staticmethod
    def suit(table: Table, method: Method, options: Mapping[str, Any]) -> bool:
        """Whether there are estimates for this method and table."""
        if method.name != "laplacian" or table.is_sparse or table.only_block is None:
            return False
        edges = table.n_samples * min(options["n_neighbors"], table.n_samples - 1)
        return bool(edges * table.n_features <= KEPT_ELEMENTS)

    def of(self, scored: Integers) -> Estimate | None:
        """Estimated scores of the given features on the graph of those that the tracker follows; None where they are no good."""
        if len(scored) < CROWDED * len(self.columns):
            self._let_go_of_others(scored)
        k = capped_neighbors(self.options["n_neighbors"], self.n)
        key, lengths, tolerance = self.tracker.rough_edges(k)
        first = key // self.n
        second = key - first * self.n
        short = np.flatnonzero(lengths <= 1e3 * tolerance)  # perhaps zero, and then they must be
        if len(short):
            lengths[short] = squared_distances(self.tracker.rows[0], first[short], second[short])
        exponent = self.tracker.rows_exponent
        weights, bandwidth = heat_weights(lengths, self.options["bandwidth"], exponent=exponent)
        warn_if_few_edges(weights, self.n)
        with np.errstate(over="ignore", under="ignore"):
            width = float(np.ldexp(bandwidth, -2 * exponent))
        if not 1e-250 < width < 1e250:  # so far from the distances that the bounds below would be no numbers
            return None
        # A weight is off by as much as its exponent; an automatic bandwidth is off, too, and by it all exponents.
        steps = (float(lengths.max()) - float(lengths.min())) / width
        by_bandwidth = steps if self.options["bandwidth"] is None else 0.0
        weight_error = 4 * tolerance / width * (1 + by_bandwidth) + 8 * np.finfo(np.float64).eps * (1 + steps)
        values, relative = self._scores(key, first, second, weights, weight_error)
        place = np.searchsorted(self.columns, scored)
        values, relative = values[place], relative[place]
        if not (relative[~self.constant[scored]] <= WORST_RELATIVE_ERROR).all():
            return None
        return Estimate(values, np.abs(values) * relative, k, bandwidth)

    def _scores(
        self, key: Integers, first: Integers, second: Integers, weights: Floats, weight_error: float
    ) -> tuple[Floats, Floats]:
        """The scores of all columns at hand, and a bound on their relative errors."""
        self._fetch(key, first, second)
        by_slot = np.zeros(self.capacity)
        by_slot[self.slots] = weights
        used = int(self.slots.max()) + 1
        energy = by_slot[:used] @ self.pool[:used]
        degree = np.bincount(first, weights, self.n) + np.bincount(second, weights, self.n)
        mean, moment = (degree @ self.moments.reshape(self.n, -1)).reshape(2, -1)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            spread = moment - mean**2 / degree.sum()
            values = np.where(self.constant[self.columns], np.nan, energy / spread)
            # Sums of positive terms, but for the spread, which is a difference; and the exact computation rounds, too.
            rounding = 8 * np.finfo(np.float64).eps * (len(key) + 2 * self.n * (1 + moment / spread))
            relative = np.where(spread > 0, 2 * weight_error + rounding, np.inf)
        return values, relative

    def _fetch(self, key: Integers, first: Integers, second: Integers) -> None:
        """Have the squared differences of these edges in the pool, at `slots`."""
        place = np.minimum(np.searchsorted(self.keys, key), max(0, len(self.keys) - 1))
        there = self.keys[place] == key if len(self.keys) else np.zeros(len(key), dtype=bool)
        slots = np.empty(len(key), dtype=np.int64)
        slots[there] = self.slots[place[there]] if len(self.keys) else 0
        free = np.ones(self.capacity, dtype=bool)
        free[slots[there]] = False
        fresh = np.flatnonzero(~there)
        slots[fresh] = np.flatnonzero(free)[: len(fresh)]
        for part, differences in row_differences(self.rows, first[fresh], second[fresh]):
            self.pool[slots[fresh[part]]] = np.square(differences, out=differences)
        self.keys, self.slots = key, slots

    def _let_go_of_others(self, features: Integers) -> None:
        place = np.searchsorted(self.columns, features)
        self.columns = features
        self.rows, self.moments, self.pool = (np.take(array, place, axis=-1) for array in (self.rows, self.moments, self.pool))
