"""A graph whose edges join near places of an order: each place is linked with the next few after it, and with nobody beyond."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphsieve.kernels import compiled
from graphsieve.kernels.edges import plain_sums
from graphsieve.kernels.rows import Numbers, in_parts, in_turn, readable, summed

PLACES_AT_ONCE = 2**16  # places of one sum

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


class Band(NamedTuple):
    """The edges of place i are with the ``begin[i + 1] - begin[i]`` places after it, nearest first."""

    order: Integers  # the sample of each place
    begin: Integers  # (n_places + 1,)
    weights: Floats

    def places(self) -> tuple[Integers, Integers]:
        """The two ends of each edge as places."""
        low = np.repeat(np.arange(len(self.order)), np.diff(self.begin))
        return low, low + 1 + np.arange(len(low)) - self.begin[low]

    def degree(self) -> Floats:
        """The sum of the weights of each sample's edges."""
        degree = np.empty(len(self.order))
        degree[self.order] = self._degree_of_places()
        return degree

    def _degree_of_places(self) -> Floats:
        total = np.zeros(len(self.order))
        if hasattr(compiled(), "band_degree"):
            compiled().band_degree(self.begin, self.weights, total)
            return total
        for ends in self.places():
            total += np.bincount(ends, self.weights, len(total))
        return total

    def sums(self, numbers: Numbers) -> Floats:
        """Σ_e w_e (f_first − f_second)² for every column."""
        parts = in_parts(len(self.order), PLACES_AT_ONCE)
        if not (readable(numbers.rows) and hasattr(compiled(), "band_sums")):
            return self._plain_sums(numbers.values(), parts)
        kernel = compiled().band_sums

        def work(number: int, start: int, stop: int, total: Floats) -> None:
            kernel(*numbers, *self, parts[number].start, parts[number].stop, start, stop, total)

        return summed((numbers.rows.shape[1],), len(parts), len(self.weights), work)

    def _plain_sums(self, values: Floats, parts: list[slice]) -> Floats:
        low, high = self.places()
        first, second = self.order[low], self.order[high]
        edges = [slice(self.begin[part.start], self.begin[part.stop]) for part in parts]
        return in_turn(np.array([plain_sums(values, first[part], second[part], self.weights[part], 2) for part in edges]))
