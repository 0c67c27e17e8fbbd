"""The rows of a stored table, prepared for the computation of distances."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from graphsieve._base.array_types import Floats, Integers
from graphsieve._base.errors import InputError
from graphsieve.table.blocks import scale_by_power_of_two
from graphsieve.table.features import Features
from graphsieve.table.gaps import RowsWithGaps
from graphsieve.table.stored.pieces import Group, Stored, View, itself, memory_text


class StoredRows:
    """The rows of a stored table, prepared for the computation of distances.

    Parameters
    ----------
    stored : Stored
        The stored table.
    exponent : int
        The numbers of the table are multiplied by ``2**-exponent``.
    directions : callable or None
        A function that converts rows to directions, with one additional column. It replaces the
        scaling if directions are compared.
    centers : (array of shape (n_columns,), Features or None) or None
        For a table with gaps: one value for each column, and the features. The pieces are
        then `RowsWithGaps`, with these values subtracted.

    Attributes
    ----------
    pieces : Stored
        The converted rows, read group by group.
    hours : float
        Maximum duration of an exact search among the rows.
    turned : bool
        Whether the rows are directions.
    with_gaps : bool
        Whether pieces are `RowsWithGaps`.
    shape : (int, int)
        The shape, as for an array.
    """

    def __init__(
        self,
        stored: Stored,
        exponent: int = 0,
        *,
        directions: Callable[[Any], Any] | None = None,
        centers: tuple[Floats, Features | None] | None = None,
    ) -> None:
        change = (
            partial(_scaled, exponent=exponent)
            if directions is None
            else partial(_turned, directions=directions)
        )
        self.pieces, self.hours = View(stored, change=change), stored.hours
        self.with_gaps = centers is not None
        if centers is not None:
            values = scale_by_power_of_two(centers[0], -exponent)
            to_gaps = partial(_with_gaps, centers=values, features=centers[1])
            self.pieces = View(self.pieces, change=to_gaps)
            self.pieces.is_sparse, self.pieces.density = False, 1.0
        self.turned = directions is not None
        self.shape = (stored.shape[0], stored.shape[1] + self.turned)

    def only(self, rows: Integers) -> StoredRows:
        """Return some of the rows without reading them."""
        return StoredRows(View(self.pieces, rows=rows))

    def __getitem__(self, rows: Any) -> Any:
        requested = np.arange(self.shape[0])[rows]
        distinct, where = np.unique(requested, return_inverse=True)
        refuse_beyond_memory(View(self.pieces, rows=distinct), f"{len(distinct)} of its rows")
        found = fetched_rows(self.pieces, distinct)
        return (
            found
            if len(distinct) == len(requested) and (distinct == requested).all()
            else found[where]
        )


def fetched_rows(stored: Stored, rows: Group) -> Any:
    """Read some rows into this process."""
    return next(iter(stored.over_rows([rows], itself)))


def refuse_beyond_memory(stored: Stored, what: str) -> None:
    """Raise an error if a table does not fit into its memory limit."""
    if stored.n_bytes > stored.memory:
        raise InputError(
            f"this method needs {what} in memory ({memory_text(stored.n_bytes)}), but the memory "
            f"limit is {memory_text(stored.memory)}; increase it with graphsieve.stored(X, "
            "memory=…), or use another method."
        )


def _scaled(piece: Any, _: Group, *, exponent: int) -> Any:
    """Return a piece as float64, multiplied by ``2**-exponent``."""
    if sp.issparse(piece):
        scaled = piece.astype(np.float64)
        if exponent:
            scaled.data = scale_by_power_of_two(scaled.data, -exponent)
        return scaled
    rows = np.ascontiguousarray(piece, dtype=np.float64)
    return scale_by_power_of_two(rows, -exponent) if exponent else rows


def _with_gaps(piece: Any, _: Group, *, centers: Floats, features: Features | None) -> RowsWithGaps:
    values = piece.toarray() if sp.issparse(piece) else piece
    observed = ~np.isnan(values)
    return RowsWithGaps(np.where(observed, values - centers, 0.0), observed, features)


def _turned(piece: Any, _: Group, *, directions: Callable[[Any], Any]) -> Any:
    return directions(piece)
