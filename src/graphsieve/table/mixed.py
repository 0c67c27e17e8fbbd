"""A large matrix of numbers and categories, which stores a code in place of indicator columns.

A category of ten levels has ten columns. As an array, they would need ten numbers per sample, and
most of the time would be spent on reading and writing zeros.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphsieve._base.array_types import Floats, Integers
from graphsieve._kernels.column_sums import column_extremes
from graphsieve.table.blocks import divided_columns

# Smallest number of levels for which codes are faster. Fewer are faster as dense columns.
MANY_LEVELS = 6


@dataclass(frozen=True, eq=False)
class MixedMatrix:
    """Dense columns, and categories with one column per level.

    Attributes
    ----------
    dense : array of shape (n_samples, n_dense)
        The dense columns: numbers, and categories of few levels.
    dense_at : array of int
        The positions of these columns in the matrix.
    codes : array of unsigned int of shape (n_categories, n_samples)
        The level of each sample in each category, from 0.
    starts : array of int
        The first column of each category among the columns of all categories.
    codes_at : array of int
        The positions of the columns of all categories in the matrix.
    heights : array
        The value of each indicator column for the samples at its level. All other values are 0.
    """

    dense: Floats
    dense_at: Integers
    codes: NDArray[np.unsignedinteger[Any]]
    starts: Integers
    codes_at: Integers
    heights: Floats

    @property
    def shape(self) -> tuple[int, int]:
        return self.dense.shape[0], len(self.dense_at) + len(self.codes_at)

    @cached_property
    def _places(self) -> tuple[Integers, Integers]:
        """The category of each column, or −1, and the place among the columns of its kind."""
        category, place = np.full((2, self.shape[1]), -1)
        sizes = np.diff(self.starts, append=len(self.codes_at))
        category[self.codes_at] = np.repeat(np.arange(len(self.starts)), sizes)
        place[self.codes_at] = np.arange(len(self.codes_at))
        place[self.dense_at] = np.arange(len(self.dense_at))
        return category, place

    def part(self, rows: Any, columns: Any) -> Floats:
        """Return some rows of some columns as a dense array."""
        n_rows = len(np.arange(self.shape[0])[rows])
        categories, places = (one[columns] for one in self._places)
        # Levels without a requested column are written to an additional column.
        found, spare = np.zeros((n_rows, len(places) + 1)), len(places)
        for at in np.flatnonzero(categories < 0):
            found[:, at] = self.dense[rows, places[at]]
        # One index into the flat array is faster than two.
        flat, first = found.ravel(), np.arange(0, found.size, spare + 1)
        ends = np.append(self.starts, len(self.codes_at))
        for category in np.unique(categories[categories >= 0]):
            start, end = ends[category : category + 2]
            wanted, column_of = categories == category, np.full(end - start, spare)
            column_of[places[wanted] - start] = np.flatnonzero(wanted)
            own = self.codes[category, rows]
            flat[first + column_of[own]] = self.heights[start:end][own]
        return found[:, :spare]

    @cached_property
    def array(self) -> Floats:
        """The whole matrix as a dense array."""
        return np.ascontiguousarray(self.part(slice(None), slice(None)))

    def take(self, rows: NDArray[Any]) -> MixedMatrix:
        """Return the matrix of some rows."""
        return self._with(self.dense[rows], self.codes[:, rows], self.heights)

    def divided(self, exponent: NDArray[np.intc], size: Floats) -> MixedMatrix:
        """Return the matrix with column j divided by ``size[j] * 2**exponent[j]``."""
        dense, heights = (
            divided_columns(values, exponent[at], size[at])
            for values, at in ((self.dense, self.dense_at), (self.heights[None], self.codes_at))
        )
        return self._with(dense, self.codes, heights[0])

    def _with(self, dense: Floats, codes: NDArray[Any], heights: Floats) -> MixedMatrix:
        return MixedMatrix(dense, self.dense_at, codes, self.starts, self.codes_at, heights)

    def extremes(self) -> Floats:
        """Return the `column_extremes` of all columns."""
        n_samples, found = len(self.dense), np.zeros((3, self.shape[1]))
        if len(self.dense_at):
            found[:, self.dense_at] = column_extremes(self.dense)
        counts = level_counts(self.codes, self.starts, len(self.heights))
        # The rows of the result are the smallest value, the largest, and that of least magnitude.
        found[1, self.codes_at] = np.where(counts > 0, self.heights, 0.0)
        full = self.codes_at[counts == n_samples]
        found[0, full] = found[2, full] = found[1, full]
        return found


def level_counts(codes: NDArray[Any], starts: Integers, n_columns: int) -> Integers:
    """Return the number of samples of each level, given the first column of each category."""
    counts = np.zeros(n_columns, dtype=np.int64)
    for own, start in zip(codes, starts, strict=True):
        found = np.bincount(own)
        counts[start : start + len(found)] = found
    return counts
