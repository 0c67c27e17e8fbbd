"""Laplacian scores round after round, quickly and with error bounds: who is worst is certain long
before all digits are.

A round of the iterative search only has to know which features to drop. The neighbours are exact;
their distances, and with them the weights, are those that the tracker has at hand. The columns
stand in strips that stay full while features leave, so that one pass over them gives all sums.
Where the errors that this allows could change the order, the caller scores exactly instead.
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
WORST_RELATIVE_ERROR = 1e-6  # beyond this an estimate is none


@dataclass(frozen=True)
class Estimate:
    """Scores, how far each may be from that of the exact computation, and what was used."""

    values: Floats
    errors: Floats
    n_neighbors: int
    bandwidth: float

    @cached_property
    def order(self) -> Integers:
        """Positions by increasing score; those without one come last, in the order of the
        columns.
        """
        return best_first(self.values, large_is_good=False)

    def is_certain(self, first: int, *, ordered: bool) -> bool:
        """Whether it is certain who comes before place `first` in increasing order, and, if
        `ordered`, the order after it.
        """
        order = self.order[first - 1 : None if ordered else first + 1]
        value, error = self.values[order], self.errors[order]
        if len(value) and np.isnan(value[-1]):
            n_known = len(value) - int(np.count_nonzero(np.isnan(value)))
            value, error = value[:n_known], error[:n_known]
        return bool((value[1:] - error[1:] > value[:-1] + error[:-1]).all())


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
        self.constant, self.any_constant = block.constant, bool(block.constant.any())
        self.strips, self.centers = (
            strips_of(block.values),
            strips_of(block.values.mean(axis=0)[None])[:, 0].copy(),
        )
        # Where each feature stands, counted through all strips
        self.lane = np.arange(table.n_features)
        self.standing = np.arange(table.n_features)  # who stands there
        self.count = table.n_features

    @staticmethod
    def suit(table: Table, method: Method) -> bool:
        """Whether there are estimates for this method and table."""
        return method.name == "laplacian" and not table.is_sparse and table.only_block is not None

    def of(self, scored: Integers) -> Estimate | None:
        """Estimated scores of the given features on the graph of those that the tracker follows;
        None where they are no good.

        Features that are not given are let go, and cannot be asked for again.
        """
        if len(scored) < self.count:
            self._let_go_of_others(scored)
        k = capped_neighbors(self.options["n_neighbors"], self.n)
        first, second, lengths, tolerance = self.tracker.rough_edges(k)
        least = float(lengths.min())
        if least <= 1e3 * tolerance:  # perhaps zero, and then they must be
            short = np.flatnonzero(lengths <= 1e3 * tolerance)
            lengths[short] = squared_distances(self.tracker.rows[0], first[short], second[short])
            least = float(lengths.min())
        exponent = self.tracker.rows_exponent
        weights, bandwidth = heat_weights(
            lengths, self.options["bandwidth"], exponent=exponent, smallest=least
        )
        warn_if_few_edges(weights, self.n)
        width = in_scaled_units(bandwidth, exponent)
        # So far from the distances that the bounds below would be no numbers
        if not 1e-250 < width < 1e250:
            return None
        # A weight is off by as much as its exponent; an automatic bandwidth is off, too, and by it
        # all exponents.
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
        """The scores, and a bound on their relative errors."""
        used = -(-self.count // LANES)
        degree, sums = graph_sums(self.strips[:used], self.centers[:used], *graph)
        # Sums of positive terms, but for the spread, which is a difference; and the exact
        # computation rounds, too.
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

    def _let_go_of_others(self, features: Integers) -> None:
        """The last ones take the places of those that leave."""
        stays = np.zeros(len(self.lane), dtype=bool)
        stays[features] = True
        for free in np.flatnonzero(~stays[self.standing[: self.count]])[::-1].tolist():
            self.count -= 1
            (to_strip, to), (from_strip, place) = divmod(free, LANES), divmod(self.count, LANES)
            self.strips[to_strip, :, to] = self.strips[from_strip, :, place]
            self.centers[to_strip, to] = self.centers[from_strip, place]
            mover = self.standing[self.count]
            self.standing[free], self.lane[mover] = mover, free
