"""Distances between samples: Euclidean, or cosine for the directions of their rows.

A long text and a short text about the same subject use the same words in different numbers. Their
rows are close to each other once each row is divided by its Euclidean norm. The cosine distance is
the Euclidean distance between such normalized rows: d² = 2 (1 − cos).

The metric is a property of the table (`Table.geometry`), so every graph built from the table uses
it. The features themselves are scored without normalization.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from graphsieve._base.array_types import Floats, Integers
from graphsieve._kernels.column_sums import weighted_sum
from graphsieve.graphs.neighbors.nearest import nearest_neighbors
from graphsieve.table.columns import Table
from graphsieve.table.stored.stored_rows import StoredRows
from graphsieve.table.stored.stored_table import StoredTable

Metric = Literal["euclidean", "cosine"]
METRICS: tuple[Metric, ...] = ("euclidean", "cosine")

# Smallest share of zeros at which a table is treated as counts or frequencies
MOSTLY_ZERO = 0.9
# Smallest median number of nonzero values per row; with fewer, the direction of a row is not
# informative
FEWEST_ENTRIES = 5


class Directions:
    """A `Geometry` of cosine distances.

    Rows are divided by their Euclidean norm and compared as in `neighbors.exact`.

    A row of zeros has no direction. It is placed at a right angle to all other rows, as in
    scikit-learn. Rows of zeros have distance zero from each other. If such a row stayed at the
    origin, it would be closer to most texts than any other text: two texts with few common words
    have d² near 2, and the origin has d² = 1 from both.

    Examples
    --------
    The second row has the direction of the first, the third has another, and the last has none:

    >>> from graphsieve.table.columns import MemoryTable
    >>> directions = Directions(MemoryTable([[1, 1], [5, 5], [1, 0], [0, 0]]))
    >>> directions.nearest(2, None, None)[0].tolist()
    [[1, 2], [0, 2], [0, 1], [0, 1]]
    """

    def __init__(self, table: Table) -> None:
        self._table = table

    @cached_property
    def rows(self) -> tuple[Any, int]:
        """Normalized rows, in the form of `Table.rows`.

        If a row is zero, an additional column places the rows of zeros at a right angle to the
        others.
        """
        if isinstance(self._table, StoredTable):
            stored = self._table.stored
            return StoredRows(
                stored,
                directions=_directions_of_sparse if stored.is_sparse else _directions_of_dense,
            ), 0
        matrix = self._table.matrix
        return _sparse_directions(matrix) if self._table.is_sparse else _dense_directions(matrix), 0

    @property
    def n_compared(self) -> int:
        """The number of features, without the additional column."""
        return self._table.n_features

    def nearest(
        self, n_neighbors: int, queries: Integers | None, candidates: Integers | None
    ) -> tuple[Integers, Floats]:
        """Return the result of `nearest_neighbors` on `rows`."""
        return nearest_neighbors(self.rows[0], n_neighbors, queries=queries, candidates=candidates)


def measured(table: Table, metric: Metric) -> Table:
    """Return the table with distances between its samples measured by `metric`.

    Examples
    --------
    >>> from graphsieve.table.columns import MemoryTable
    >>> measured(MemoryTable([[3, 4], [6, 8]]), "cosine").rows[0]
    array([[0.6, 0.8],
           [0.6, 0.8]])
    """
    return table.within(Directions(table)) if metric == "cosine" else table


def chosen_metric(table: Table) -> tuple[Metric, str]:
    """Choose a metric for a table, and give the reason.

    Cosine is chosen for counts and frequencies, such as words in texts, and Euclidean otherwise.
    A table is treated as counts if it has no negative values and at least 90 % of its values are
    zero. In addition, at least half of its rows must have five or more nonzero values. The
    direction of a row with fewer nonzero values is not informative, for example in a table of a
    few columns that are mostly zero. A table with categories is not treated as counts.

    Returns
    -------
    metric : {"euclidean", "cosine"}
        The chosen metric.
    reason : str
        The reason for the choice.

    Examples
    --------
    >>> from graphsieve.table.columns import MemoryTable
    >>> chosen_metric(MemoryTable(np.eye(50) + np.eye(50, k=1) + np.eye(50, k=2)))
    ('euclidean', 'half of the rows have fewer than 5 values other than zero')
    >>> chosen_metric(MemoryTable([[0, 1], [2, -1]]))
    ('euclidean', 'there are negative values')
    >>> chosen_metric(MemoryTable(np.tri(100, k=-1) - np.tri(100, k=-7)))
    ('cosine', '94 % of all values are zero and none is negative, as in counts')
    """
    if table.features is not None and table.features.categorical.any():
        return "euclidean", "there are categories"
    if table.smallest < 0:
        return "euclidean", "there are negative values"
    entries = table.entries_by_row()
    zeros = 1 - float(entries.sum()) / (table.n_samples * table.n_columns)
    if zeros < MOSTLY_ZERO:
        return (
            "euclidean",
            f"{_percent(zeros)} % of all values are zero, fewer than {_percent(MOSTLY_ZERO)} %",
        )
    if np.median(entries) < FEWEST_ENTRIES:
        return (
            "euclidean",
            f"half of the rows have fewer than {FEWEST_ENTRIES} values other than zero",
        )
    return (
        "cosine",
        f"{_percent(zeros)} % of all values are zero and none is negative, as in counts",
    )


def _percent(share: float) -> int:
    """Return an integer percentage, rounded down so that 89.9 % does not appear as 90 %."""
    return int(100 * share)


def _directions_of_dense(rows: Any) -> Floats:
    """Normalize a part of the rows.

    The column for rows of zeros is always added, because other parts may need it.
    """
    return _dense_directions(rows, always=True)


def _directions_of_sparse(rows: Any) -> Any:
    return _sparse_directions(rows, always=True)


def _dense_directions(matrix: Any, *, always: bool = False) -> Floats:
    rows = np.array(matrix, dtype=np.float64, order="C")
    largest = np.maximum(rows.max(axis=1), -rows.min(axis=1))
    empty = largest == 0
    # Division by the largest magnitude avoids overflow. It also removes a common factor of the row
    # exactly, to the last bit, if the products were exact, as they are for counts. Texts with the
    # same word frequencies are therefore equal and tie.
    rows /= np.where(empty, 1.0, largest)[:, None]
    squares = weighted_sum(np.ones(rows.shape[1]), np.square(rows).T)
    rows /= np.sqrt(np.where(empty, 1.0, squares))[:, None]
    return (
        np.concatenate([rows, empty[:, None]], axis=1, dtype=np.float64)
        if always or empty.any()
        else rows
    )


def _sparse_directions(matrix: Any, *, always: bool = False) -> Any:
    rows = sp.csr_array(matrix, dtype=np.float64)
    rows.sort_indices()
    filled = np.diff(rows.indptr)
    owner = np.repeat(np.arange(rows.shape[0]), filled)
    largest = np.zeros(rows.shape[0])
    np.maximum.at(largest, owner, np.abs(rows.data))
    # A row may contain only stored zeros, if all its values were too small for an earlier division.
    empty = largest == 0
    data = rows.data / np.where(empty, 1.0, largest)[owner]
    # The sum follows the order of the columns, as for a dense row.
    squares = np.bincount(owner, weights=data**2, minlength=rows.shape[0])
    data = data / np.sqrt(np.where(empty, 1.0, squares))[owner]
    unit = sp.csr_array((data, rows.indices, rows.indptr), shape=rows.shape)
    if not always and not empty.any():
        return unit
    return sp.csr_array(sp.hstack([unit, sp.csr_array(empty[:, None].astype(np.float64))]))
