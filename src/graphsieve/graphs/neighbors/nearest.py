"""Nearest neighbours and distances, for rows in memory, stored rows, and rows with gaps."""

from __future__ import annotations

from typing import Any

from graphsieve._base.array_types import Floats, Integers
from graphsieve.graphs.neighbors import approximate, exact, out_of_core, with_gaps
from graphsieve.table.columns import Table
from graphsieve.table.gaps import RowsWithGaps
from graphsieve.table.stored.stored_rows import StoredRows


def nearest_neighbors(
    rows: Any,
    n_neighbors: int,
    *,
    queries: Integers | None = None,
    candidates: Integers | None = None,
) -> tuple[Integers, Floats]:
    """Return the result of `exact.nearest_neighbors`."""
    if isinstance(rows, StoredRows):
        return out_of_core.nearest_neighbors(rows, n_neighbors, queries, candidates)
    if isinstance(rows, RowsWithGaps):
        return with_gaps.nearest_neighbors(rows, n_neighbors, queries, candidates)
    return exact.nearest_neighbors(rows, n_neighbors, queries=queries, candidates=candidates)


def squared_distances(rows: Any, first: Integers, second: Integers) -> Floats:
    """Return the result of `exact.squared_distances`."""
    if isinstance(rows, StoredRows):
        return out_of_core.squared_distances(rows, first, second)
    if isinstance(rows, RowsWithGaps):
        return with_gaps.squared_distances(rows, first, second)
    return exact.squared_distances(rows, first, second)


def approximate_neighbors(rows: Any, n_neighbors: int) -> tuple[Integers, Floats]:
    """Return the result of `approximate.approximate_neighbors`."""
    if isinstance(rows, StoredRows):
        return out_of_core.approximate_neighbors(rows, n_neighbors)
    return approximate.approximate_neighbors(rows, n_neighbors)


def nearest_in(
    table: Table, n_neighbors: int, queries: Integers | None, candidates: Integers | None
) -> tuple[Integers, Floats]:
    """Return nearest neighbours among the samples of a table, by its own geometry if it has one."""
    if table.geometry is not None:
        return table.geometry.nearest(n_neighbors, queries, candidates)
    return nearest_neighbors(table.rows[0], n_neighbors, queries=queries, candidates=candidates)
