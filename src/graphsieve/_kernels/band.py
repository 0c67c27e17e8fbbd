"""Graphs with a band structure: in a given order of the samples, each place is linked with the next
few places only.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from graphsieve import _kernels
from graphsieve._base.array_types import Floats, Integers
from graphsieve._kernels.column_sums import (
    Numbers,
    in_parts,
    in_turn,
    mean_and_scatter,
    plain_sums,
    readable,
    summed,
    weighted_rows,
)

PLACES_AT_ONCE = 2**16  # places per partial sum; a multiple of GROUP
GROUP = 32  # places per group mean; the same number as in the compiled kernel


class Band(NamedTuple):
    """A band graph. Place i is linked with the ``begin[i + 1] - begin[i]`` places after it, in this
    order.
    """

    order: Integers  # the sample of each place
    begin: Integers  # (n_places + 1,)
    weights: Floats

    def places(self) -> tuple[Integers, Integers]:
        """Return the two ends of each edge as places."""
        low = np.repeat(np.arange(len(self.order)), np.diff(self.begin))
        return low, low + 1 + np.arange(len(low)) - self.begin[low]

    def degree(self) -> Floats:
        """Return the sum of the edge weights of each sample."""
        degree = np.empty(len(self.order))
        degree[self.order] = self.degree_of_places()
        return degree

    def degree_of_places(self) -> Floats:
        """Return the sum of the edge weights of each place."""
        total = np.zeros(len(self.order))
        if hasattr(_kernels.compiled, "band_degree"):
            _kernels.compiled.band_degree(self.begin, self.weights, total)
            return total
        for ends in self.places():
            total += np.bincount(ends, self.weights, len(total))
        return total

    def energy(self, numbers: Numbers) -> Floats:
        """Return Σ_e w_e (f_first − f_second)² for every column."""
        return np.asarray(self._sums(numbers, 1, None, None, None)[0])

    def energy_and_spread(self, numbers: Numbers) -> tuple[Floats, Floats]:
        """Return the energy and the spread Σ_i d_i (f_i − mean)² of every column, in one pass.

        d are the degrees, and the mean is weighted by them. The spread is the scatter within groups
        of samples, around the mean of each group, plus the scatter of the group means.
        """
        degree, width = self.degree_of_places(), numbers.rows.shape[1]
        mass = weighted_rows(degree, _group_borders(len(degree))) @ np.ones(len(degree))
        means = np.zeros((len(mass), width))
        energy, within = self._sums(numbers, 2, degree, mass, means)
        between = mean_and_scatter(Numbers(means), mass[:, None], np.add.reduceat(mass, [0]))[1][0]
        return energy, within + between

    def _sums(
        self,
        numbers: Numbers,
        n_rows: int,
        degree: Floats | None,
        mass: Floats | None,
        means: Floats | None,
    ) -> Floats:
        """Return the energies. If `means` is given, fill it and also return the scatter around the
        means.
        """
        parts = in_parts(len(self.order), PLACES_AT_ONCE)
        if readable(numbers.rows) and hasattr(_kernels.compiled, "band_sums"):
            kernel = _kernels.compiled.band_sums

            def work(number: int, start: int, stop: int, total: Floats) -> None:
                part = parts[number]
                kernel(
                    *numbers, *self, degree, mass, means, part.start, part.stop, start, stop, total
                )

            return summed((n_rows, numbers.rows.shape[1]), len(parts), len(self.weights), work)
        values = numbers.values()
        sums = [self._plain_energies(values, parts)]
        if degree is not None and mass is not None and means is not None:
            sums.append(
                in_turn(
                    np.array(
                        [self._plain_scatter(values, part, degree, mass, means) for part in parts]
                    )
                )
            )
        return np.stack(sums)

    # ---- Numpy versions ----

    def _plain_energies(self, values: Floats, parts: list[slice]) -> Floats:
        low, high = self.places()
        first, second = self.order[low], self.order[high]
        edges = [slice(self.begin[part.start], self.begin[part.stop]) for part in parts]
        return in_turn(
            np.array(
                [
                    plain_sums(values, first[part], second[part], self.weights[part], 2)
                    for part in edges
                ]
            )
        )

    def _plain_scatter(
        self, values: Floats, part: slice, degree: Floats, mass: Floats, means: Floats
    ) -> Floats:
        """Fill the group means of a part of the places, and return the scatter around them."""
        weights, rows = degree[part], values[self.order[part]]
        borders, group = _group_borders(len(weights)), np.arange(len(weights)) // GROUP
        here = slice(part.start // GROUP, part.start // GROUP + len(borders) - 1)
        used = mass[here] > 0
        first = np.minimum.reduceat(
            np.where(weights > 0, np.arange(len(weights)), len(weights)), borders[:-1]
        )
        origin = rows[np.where(used, first, borders[:-1])]
        rows -= origin[group]
        relative = np.zeros_like(origin)
        relative[used] = (weighted_rows(weights, borders) @ rows)[used] / mass[here][used, None]
        rows -= relative[group]
        rows *= rows
        means[here] = np.where(used[:, None], relative + origin, 0.0)
        return np.asarray((weighted_rows(weights, borders[[0, -1]]) @ rows)[0])


def _group_borders(n_places: int) -> Integers:
    return np.append(np.arange(0, n_places, GROUP), n_places)
