"""Nearest neighbours of, and distances between, samples with missing values.

The squared distance between two samples is a sum of squared differences over the features in which
both are observed. The sum is multiplied by the number of all features and divided by the number of
shared features. Two samples without a common feature are infinitely far apart.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from graphsieve._base.array_types import Booleans, Floats, Integers
from graphsieve.table.gaps import RowsWithGaps

TEMPORARY_ELEMENTS = 2**22  # values of a temporary array
# Bound on the relative error of a squared distance from products, in units of the precision.
ROUNDING = 64


def nearest_neighbors(
    rows: RowsWithGaps, n_neighbors: int, queries: Integers | None, candidates: Integers | None
) -> tuple[Integers, Floats]:
    """Find the nearest candidates of each query, as `exact.nearest_neighbors` does.

    Products in single precision propose candidates. Their distances are then computed exactly.
    """
    everything = np.arange(rows.shape[0])
    queries = everything if queries is None else queries
    candidates = everything if candidates is None else candidates
    near = np.empty((len(queries), n_neighbors), dtype=np.int64)
    squared = np.empty((len(queries), n_neighbors))
    if not len(queries) or not n_neighbors:
        return near, squared
    others = _Products(rows, candidates)
    height = max(1, TEMPORARY_ELEMENTS // max(len(candidates), rows.shape[1]))
    for start in range(0, len(queries), height):
        part = slice(start, start + height)
        near[part], squared[part] = _nearest(rows, queries[part], candidates, others, n_neighbors)
    return near, squared


def _nearest(
    rows: RowsWithGaps,
    queries: Integers,
    candidates: Integers,
    others: _Products,
    n_neighbors: int,
) -> tuple[Integers, Floats]:
    estimated, error = others.squared_distances(rows, queries)
    itself = queries[:, None] == candidates
    estimated[itself] = np.inf
    # Every candidate that may be as close as the k-th nearest is compared exactly.
    bound = np.partition(estimated + error, n_neighbors - 1, axis=1)[:, n_neighbors - 1]
    query, place = np.nonzero((estimated - error <= bound[:, None]) & ~itself)
    exact = squared_distances(rows, queries[query], candidates[place])
    order = np.lexsort((candidates[place], exact, query))
    first = np.searchsorted(query[order], np.arange(len(queries)))
    chosen = order[first[:, None] + np.arange(n_neighbors)]
    return candidates[place[chosen]], exact[chosen]


class _Products:
    """The candidates in the form in which products with queries give squared distances."""

    def __init__(self, rows: RowsWithGaps, candidates: Integers) -> None:
        # The largest value becomes about 1, so that squares do not overflow in single precision.
        self._exponent = int(np.frexp(np.abs(rows.values).max(initial=0.0))[1])
        values = self._single(rows.values[candidates])
        self._values, self._squares = values, values**2
        self._observed = rows.observed[candidates].astype(np.float32)

    def _single(self, values: Floats) -> Any:
        return np.ldexp(values, -self._exponent).astype(np.float32)

    def squared_distances(self, rows: RowsWithGaps, queries: Integers) -> tuple[Floats, Floats]:
        """Return the estimated squared distances of all candidates, and bounds on their errors."""
        values = self._single(rows.values[queries])
        observed = rows.observed[queries].astype(np.float32)
        sums = values**2 @ self._observed.T + observed @ self._squares.T
        shared = (observed * rows.weights.astype(np.float32)) @ self._observed.T
        with np.errstate(divide="ignore", invalid="ignore"):
            factor = np.where(shared > 0, np.float32(rows.weights.sum()) / shared, np.inf)
            # Squares of tiny values are rounded to zero, hence the absolute term.
            lost = rows.shape[1] * np.finfo(np.float32).tiny
            error = (ROUNDING * np.finfo(np.float32).eps * sums + 4 * lost) * factor
            estimated = (sums - 2 * (values @ self._values.T)) * factor
        estimated[shared == 0], error[shared == 0] = np.inf, 0.0
        return np.asarray(estimated, dtype=np.float64), np.asarray(error, dtype=np.float64)


def squared_distances(rows: RowsWithGaps, first: Integers, second: Integers) -> Floats:
    """Return the squared distances of pairs of samples."""
    found, height = np.empty(len(first)), max(1, TEMPORARY_ELEMENTS // rows.shape[1])
    for start in range(0, len(first), height):
        part = slice(start, start + height)
        both = rows.observed[first[part]] & rows.observed[second[part]]
        differences = np.where(both, rows.values[first[part]] - rows.values[second[part]], 0.0)
        found[part] = _rescaled(np.einsum("ij,ij->i", differences, differences), both, rows.weights)
    return found


def _rescaled(sums: Floats, both: Booleans, weights: Floats) -> Floats:
    shared = both @ weights
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(shared > 0, sums * (weights.sum() / shared), np.inf)
