"""The indicator columns of categories, stored as codes.

A category of ten levels has ten columns, but each sample has a one in only one of them. Products
with these columns are sums over the samples of each level, and products between the columns of two
categories are counts. Both are much faster than products of dense columns.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from graphsieve._base.array_types import Floats, Integers
from graphsieve.table.mixed import level_counts


class Indicators:
    """Indicator columns with mean zero, each multiplied by a height.

    Parameters
    ----------
    codes : array of unsigned int of shape (n_categories, n_samples)
        The level of each sample in each category, from 0.
    starts : array of int of shape (n_categories,)
        The first column of each category.
    heights : array of shape (n_columns,)
        The difference between the two values of each column.

    Attributes
    ----------
    squares : array of shape (n_columns,)
        Squared norm of every column.
    """

    def __init__(self, codes: NDArray[Any], starts: Integers, heights: Floats) -> None:
        self.codes, self.starts = codes, starts
        n_categories, self.n_samples = codes.shape
        self.counts = level_counts(codes, starts, len(heights))
        heights = np.where(self.counts < self.n_samples, heights, 0.0)  # A constant column is zero.
        self.heights = heights
        self.means = heights * self.counts / self.n_samples
        self.squares = heights**2 * self.counts * (1 - self.counts / self.n_samples)
        places = (codes.T + starts.astype(np.int32)).ravel()
        self._entries = sp.csr_array(
            (heights[places], places, np.arange(0, len(places) + 1, n_categories, dtype=np.int32)),
            shape=(self.n_samples, len(heights)),
        )

    def times(self, weights: Floats, rows: slice = slice(None)) -> Floats:
        """Return the weighted sum of all columns, in some rows."""
        return np.asarray(self._entries[rows] @ weights - self.means @ weights)

    def against(self, vectors: Floats) -> Floats:
        """Return the inner products of vectors, given as rows, with every column."""
        sums = vectors.sum(axis=-1)[..., None]
        return np.asarray((self._entries.T @ vectors.T).T - sums * self.means)

    def rows(self, rows: Any) -> Floats:
        """Return some rows as a dense array."""
        return np.asarray(self._entries[rows].toarray() - self.means)

    def columns(self, columns: Integers) -> Floats:
        """Return some columns as a dense array."""
        category = np.searchsorted(self.starts, columns, side="right") - 1
        ones = self.codes[category] == (columns - self.starts[category])[:, None]
        return np.asarray(ones.T * self.heights[columns] - self.means[columns])

    def gram(self) -> Floats:
        """Return the inner products between all columns."""
        counts = np.diag(self.counts).astype(np.float64)
        ends = np.append(self.starts[1:], len(self.heights))
        codes = self.codes.astype(np.int64)
        for one, levels in enumerate(codes):
            rows = slice(self.starts[one], ends[one])
            for other in range(one + 1, len(codes)):
                columns = slice(self.starts[other], ends[other])
                shape = (rows.stop - rows.start, columns.stop - columns.start)
                pairs = levels * shape[1] + codes[other]
                counts[rows, columns] = np.bincount(pairs, minlength=shape[0] * shape[1]).reshape(
                    shape
                )
                counts[columns, rows] = counts[rows, columns].T
        by_chance = np.outer(self.counts, self.counts / self.n_samples)
        return np.asarray((counts - by_chance) * np.outer(self.heights, self.heights))
