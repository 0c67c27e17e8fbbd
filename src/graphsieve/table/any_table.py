"""Conversion of any supported X to a table.

The table is in memory, or is read in pieces if X is stored and large.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from graphsieve._base.progress import say
from graphsieve.table.columns import MemoryTable, Table
from graphsieve.table.containers import check_finite_piece, warn_of_rounded
from graphsieve.table.stored.pieces import Stored, itself
from graphsieve.table.stored.recognition import KINDS, stored_in
from graphsieve.table.stored.stored_table import StoredTable, refuse_pieces


def as_table(X: Any) -> Table:
    """Return X as a table, which is read in pieces if X is stored and too large for memory."""
    stored = stored_in(X) if may_be_stored(X) else None
    return MemoryTable(X) if stored is None else table_of(stored)


def table_in_memory(X: Any) -> Table:
    """Return X as a table for methods that need all values in memory.

    A stored table is read completely if it fits into its memory limit. Otherwise an error is
    raised before anything is read.
    """
    stored = stored_in(X) if may_be_stored(X) else None
    if stored is None:
        return MemoryTable(X)
    if not is_read_whole(stored):
        refuse_pieces(stored)
    return table_of(stored)


def may_be_stored(X: Any) -> bool:
    """Whether X may be a stored table.

    This is the case for stored tables, memory maps and objects of a library with stored tables.
    """
    return isinstance(X, Stored | np.memmap) or type(X).__module__.partition(".")[0] in KINDS


def is_read_whole(stored: Stored) -> bool:
    """Whether this process reads the stored table, and the table fits into its memory limit."""
    return stored.at_hand and stored.n_bytes <= stored.memory


def table_of(stored: Stored) -> Table:
    """Return the table for a stored table, in memory if `is_read_whole` allows it."""
    if is_read_whole(stored):
        over, length = (
            (stored.over_columns, stored.shape[1])
            if stored.columnwise
            else (stored.over_rows, stored.shape[0])
        )
        whole = next(iter(over([slice(0, length)], itself)))
        check_finite_piece(whole, stored.names, 0)
        table: Table = MemoryTable(whole)
        table.feature_names = stored.names
        if whole.dtype.kind in "iu":  # MemoryTable has already warned about rounded integers.
            return table
    else:
        say(f"graphsieve: {stored.plan()}.")
        table = StoredTable(stored)
    warn_of_rounded(sorted(stored.rounded), stored.names)
    return table
