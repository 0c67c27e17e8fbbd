"""How far samples lie apart: by their values (Euclidean), or by the direction of their rows
(cosine).

A long text and a short one about the same thing use the same words in different numbers. Rows
divided by their length are near each other then, and Euclidean distances between those are what is
called cosine here: d² = 2 (1 − cos). Distances are a matter of the table (`Table.geometry`), so
that every graph built from it has them, while features are scored as they are.
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

# Share of zeros in a table, from which it is taken for one of counts or frequencies
MOSTLY_ZERO = 0.9
# Other than zero in a row of the middle, below which rows have hardly a direction
FEWEST_ENTRIES = 5


class Directions:
    """A `Geometry` of cosine distances: rows divided by their length, compared as `neighbors.exact`
    compares them.

    A row of zeros has no direction. It is put at a right angle to all others, as scikit-learn has
    it, and copies of it lie at distance zero from each other. At the origin, where division would
    leave it, it would be nearer to most texts than any other text is: two texts with few words in
    common have d² near 2, and the origin has d² = 1.

    Examples
    --------
    The second row points where the first does, the third elsewhere, the last nowhere:

    >>> from graphsieve.table.columns import MemoryTable
    >>> directions = Directions(MemoryTable([[1, 1], [5, 5], [1, 0], [0, 0]]))
    >>> directions.nearest(2, None, None)[0].tolist()
    [[1, 2], [0, 2], [0, 1], [0, 1]]
    """

    def __init__(self, table: Table) -> None:
        self._table = table

    @cached_property
    def rows(self) -> tuple[Any, int]:
        """As `Table.rows`; where some are zeros there is one column more, which sets those
        apart.
        """
        if isinstance(self._table, StoredTable):
            stored = self._table.stored
            return StoredRows(
                stored,
                directions=_directions_of_sparse if stored.is_sparse else _directions_of_dense,
            ), 0
        matrix = self._table.matrix
        return _sparse_directions(matrix) if self._table.is_sparse else _dense_directions(matrix), 0

    def nearest(
        self, n_neighbors: int, queries: Integers | None, candidates: Integers | None
    ) -> tuple[Integers, Floats]:
        """As `nearest_neighbors` on `rows`."""
        return nearest_neighbors(self.rows[0], n_neighbors, queries=queries, candidates=candidates)


def measured(table: Table, metric: Metric) -> Table:
    """The same features, on samples that are as far apart as `metric` says.

    Examples
    --------
    >>> from graphsieve.table.columns import MemoryTable
    >>> measured(MemoryTable([[3, 4], [6, 8]]), "cosine").rows[0]
    array([[0.6, 0.8],
           [0.6, 0.8]])
    """
    return table.within(Directions(table)) if metric == "cosine" else table


def chosen_metric(table: Table) -> tuple[Metric, str]:
    """The metric that suits a table, and why: cosine for counts and frequencies, such as words in
    texts, else Euclidean.

    Counts are taken to be what has no negative value, is zero in at least 90 % of all places, and
    has at least five values other than zero in half of the rows or more: with fewer, as where a
    handful of columns is mostly zero, a direction says little.

    Returns
    -------
    metric : {"euclidean", "cosine"}
    reason : str

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
    if table.smallest < 0:
        return "euclidean", "there are negative values"
    entries = table.entries_by_row()
    zeros = 1 - float(entries.sum()) / (table.n_samples * table.n_features)
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
    """Whole percents, rounded down, so that 89.9 does not read as 90."""
    return int(100 * share)


def _directions_of_dense(rows: Any) -> Floats:
    """Of some of all rows: always with the last column, since others may need it."""
    return _dense_directions(rows, always=True)


def _directions_of_sparse(rows: Any) -> Any:
    return _sparse_directions(rows, always=True)


def _dense_directions(matrix: Any, *, always: bool = False) -> Floats:
    rows = np.array(matrix, dtype=np.float64, order="C")
    largest = np.maximum(rows.max(axis=1), -rows.min(axis=1))
    empty = largest == 0
    # Quotients by the largest magnitude neither overflow nor depend on a common factor of the row,
    # not even in their last bit, if the products were exact, as those of counts are: texts with the
    # same shares of words are equal and tie.
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
    # Zeros may be stored, where all numbers of a row were too small to be divided
    empty = largest == 0
    data = rows.data / np.where(empty, 1.0, largest)[owner]
    # In the order of the columns, as in a dense row.
    squares = np.bincount(owner, weights=data**2, minlength=rows.shape[0])
    data = data / np.sqrt(np.where(empty, 1.0, squares))[owner]
    unit = sp.csr_array((data, rows.indices, rows.indptr), shape=rows.shape)
    if not always and not empty.any():
        return unit
    return sp.csr_array(sp.hstack([unit, sp.csr_array(empty[:, None].astype(np.float64))]))
