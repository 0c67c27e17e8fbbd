"""Fast estimates of Laplacian scores with error bounds, for the rounds of the iterative search.

A round only needs to determine which features to drop, and few digits are enough for that. The
neighbours are exact. Their distances, and therefore the edge weights, are the approximate values
that the tracker maintains. The columns are stored in strips that stay full while features are
dropped, so a single pass over them gives all sums. If the errors could change the order, the caller
computes the scores exactly instead.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from graphsieve._base.array_types import Floats, Integers
from graphsieve._kernels.rounds import LANES, graph_sums, strips_of, sum_ratios
from graphsieve.graphs.builders import (
    capped_neighbors,
    heat_weights,
    in_scaled_units,
    warn_if_few_edges,
)
from graphsieve.graphs.neighbors.exact import squared_distances
from graphsieve.graphs.neighbors.tracking import Tracker
from graphsieve.scores.method import Method, best_first
from graphsieve.table.columns import Table

ROUNDING = float(np.finfo(np.float64).eps)
WORST_RELATIVE_ERROR = 1e-6  # Estimates with larger errors are discarded.


@dataclass(frozen=True)
class Estimate:
    """Estimated scores, bounds of their errors, and the parameters that were used."""

    values: Floats
    errors: Floats
    n_neighbors: int
    bandwidth: float

    @cached_property
    def order(self) -> Integers:
        """Positions by increasing score; features without a score come last, in column order."""
        return best_first(self.values, large_is_good=False)

    def is_certain(self, first: int, *, ordered: bool) -> bool:
        """Whether the `first` features with the smallest scores are certain.

        If `ordered`, the order of the features after them must be certain as well.
        """
        order = self.order[first - 1 : None if ordered else first + 1]
        value, error = self.values[order], self.errors[order]
        if len(value) and np.isnan(value[-1]):
            n_known = len(value) - int(np.count_nonzero(np.isnan(value)))
            value, error = value[:n_known], error[:n_known]
        return bool((value[1:] - error[1:] > value[:-1] + error[:-1]).all())


class LaplacianEstimates:
    """Estimates of the Laplacian score on the neighbours that a tracker maintains.

    Parameters
    ----------
    table : Table
        All features. The table must be dense and fit into one block.
    tracker : Tracker
        The tracker of the neighbours in the features of each round.
    options : dict
        The options of the core of the Laplacian score.
    """

    def __init__(self, table: Table, tracker: Tracker, options: Mapping[str, Any]) -> None:
        block = table.only_block
        assert block is not None
        self.tracker, self.options, self.n = tracker, options, table.n_samples
        self.constant, self.any_constant = block.constant, bool(block.constant.any())
        self.strips, self.centers = (
            strips_of(block.values),
            strips_of(block.values.mean(axis=0)[None])[:, 0].copy(),
        )
        # `lane` is the position of each feature, counted through all strips. `occupant` is the
        # feature at each position.
        self.lane = np.arange(table.n_columns)
        self.occupant = np.arange(table.n_columns)
        self.count = table.n_columns

    @staticmethod
    def suit(table: Table, method: Method) -> bool:
        """Whether there are estimates for this method and table."""
        return (
            method.name == "laplacian"
            and not table.is_sparse
            and table.features is None
            and table.weights is None
            and table.only_block is not None
        )

    def of(self, scored: Integers) -> Estimate | None:
        """Estimate the scores of the given features on the current graph of the tracker.

        The result is None if the estimates are too inaccurate. Features that are not given are
        discarded and cannot be scored later.
        """
        if len(scored) < self.count:
            self._discard_others(scored)
        k = capped_neighbors(self.options["n_neighbors"], self.n)
        first, second, lengths, tolerance = self.tracker.rough_edges(k)
        least = float(lengths.min())
        # A short distance may be exactly zero, and must then be zero here. Short distances are
        # therefore recomputed.
        if least <= 1e3 * tolerance:
            short = np.flatnonzero(lengths <= 1e3 * tolerance)
            lengths[short] = squared_distances(self.tracker.rows[0], first[short], second[short])
            least = float(lengths.min())
        exponent = self.tracker.rows_exponent
        weights, bandwidth = heat_weights(
            lengths, self.options["bandwidth"], exponent=exponent, smallest=least
        )
        warn_if_few_edges(weights, self.n)
        width = in_scaled_units(bandwidth, exponent)
        # For a more extreme bandwidth the bounds below would overflow.
        if not 1e-250 < width < 1e250:
            return None
        # The relative error of a weight is the error of its exponent. An automatic bandwidth also
        # has an error, which affects all exponents.
        steps = (float(lengths.max()) - least) / width
        by_bandwidth = steps if self.options["bandwidth"] is None else 0.0
        weight_error = 4 * tolerance / width * (1 + by_bandwidth) + 8 * ROUNDING * (1 + steps)
        values, relative = self._scores(scored, (first, second, weights), weight_error)
        if not relative.max() <= WORST_RELATIVE_ERROR:
            return None
        return Estimate(values, values * relative, k, bandwidth)

    def _scores(
        self, scored: Integers, graph: tuple[Integers, Integers, Floats], weight_error: float
    ) -> tuple[Floats, Floats]:
        """Return the scores and upper bounds of their relative errors."""
        used = -(-self.count // LANES)
        degree, sums = graph_sums(self.strips[:used], self.centers[:used], *graph)
        # All sums have positive terms, except the spread, which is a difference. The bounds also
        # cover the rounding errors of the exact computation.
        of_all, of_spread = (
            2 * weight_error + 8 * ROUNDING * (len(graph[0]) + 2 * self.n),
            16 * ROUNDING * self.n,
        )
        values, relative = sum_ratios(
            sums, self.lane[scored], float(degree.sum()), of_all, of_spread
        )
        if self.any_constant:
            constant = self.constant[scored]
            values[constant], relative[constant] = np.nan, 0.0
        return values, relative

    def _discard_others(self, features: Integers) -> None:
        """Discard all other features; the last features move to the free positions."""
        stays = np.zeros(len(self.lane), dtype=bool)
        stays[features] = True
        for free in np.flatnonzero(~stays[self.occupant[: self.count]])[::-1].tolist():
            self.count -= 1
            (to_strip, to), (from_strip, place) = divmod(free, LANES), divmod(self.count, LANES)
            self.strips[to_strip, :, to] = self.strips[from_strip, :, place]
            self.centers[to_strip, to] = self.centers[from_strip, place]
            moved = self.occupant[self.count]
            self.occupant[free], self.lane[moved] = moved, free
