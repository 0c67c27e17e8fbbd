"""A table that is read in pieces, because it is larger than memory or on other machines."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, NoReturn, TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from graphsieve._base.array_types import Floats, Integers
from graphsieve._base.errors import InputError
from graphsieve.table.blocks import (
    Block,
    Form,
    dense_values,
    exponents_of,
    extremes_of,
    replace_start,
    scale_by_power_of_two,
    scaled_range,
    unit_exponent,
)
from graphsieve.table.columns import NO_EXPONENT, MemoryTable, Table, by_columns
from graphsieve.table.containers import check_finite_piece
from graphsieve.table.stored.pieces import (
    BYTES,
    ROWS_HELD,
    Group,
    Stored,
    View,
    gathered,
    itself,
    memory_text,
)
from graphsieve.table.stored.stored_rows import StoredRows, fetched_rows

TableKind = TypeVar("TableKind", bound=Table)

FEW_BYTES = 2**24  # maximum size of a part that is loaded from another machine


@dataclass(frozen=True)
class StoredBlock(Block):
    """A block that refers to the whole stored table, with sums computed where the pieces are.

    Access to `values` reads the columns from storage, so avoid it where possible.
    """

    extremes: Floats  # smallest and largest values of the original columns

    is_stored = True

    @cached_property
    def values(self) -> Any:
        columns = [slice(self.start, self.stop)]
        return next(
            iter(self.held.over_columns(columns, dense_values, [self.exponent], [self.shift]))
        )

    @property
    def range(self) -> Floats:
        return scaled_range(self.extremes, self.exponent, self.shift)

    def _part(self, part: slice) -> Block:
        return StoredBlock(
            self.start + part.start,
            self.start + part.stop,
            self.held,
            self.shift[part],
            self.exponent[part],
            self.constant[part],
            self.extremes[:, part],
        )


class StoredTable(Table):
    """A matrix of samples × features that is read in pieces.

    The values are checked once, while their extremes are computed.
    """

    def __init__(self, stored: Stored, *, extremes: Floats | None = None) -> None:
        refuse_narrow_memory(stored)
        self.stored, self.feature_names = stored, stored.names
        self.n_samples, self.n_columns = stored.shape
        self.is_sparse, self.at_hand = stored.is_sparse, stored.at_hand
        self.most_held = stored.memory // (ROWS_HELD * BYTES)
        self.n_entries = int(self.n_samples * self.n_columns * stored.density)
        self._extremes = checked_extremes(stored) if extremes is None else extremes

    def _same(self) -> StoredTable:
        return self._with(StoredTable(self.stored, extremes=self._extremes))

    def _with(self, table: TableKind) -> TableKind:
        """Return a table with the features and weights of this one."""
        table.features, table.feature_names = self.features, self.feature_names
        table.weights = self.weights
        return table

    @property
    def matrix(self) -> Any:
        """Raise an error, because only parts of the table can be in memory."""
        return self.need_memory()

    @property
    def with_nan(self) -> Any:
        """Raise an error, because only parts of the table can be in memory."""
        return self.need_memory()

    def need_memory(self) -> None:
        refuse_pieces(self.stored)

    @cached_property
    def whole(self) -> Block:
        """All columns as one block."""
        low, high, least = self._extremes
        exponent = exponents_of(self._extremes)
        shift = scale_by_power_of_two(least, -exponent)
        return StoredBlock(
            0, self.n_columns, self.stored, shift, exponent, high == low, self._extremes
        )

    def blocks(self) -> Iterator[Block]:
        """Iterate over blocks of a few columns, which are read into this process."""
        for group in self.stored.column_groups():
            piece = next(iter(self.stored.over_columns([group], itself)))
            for block in MemoryTable.trusted(piece, None).blocks():
                yield replace_start(block, group.start)

    def evaluations(self, form: Form, *, wide: bool = False) -> Iterator[tuple[slice, Any]]:
        if wide:
            return iter(((slice(0, self.n_columns), form(self.whole)),))
        return by_columns(self.whole, form)

    def wide_blocks(self) -> Iterator[Block]:
        return iter((self.whole,))

    @property
    def only_block(self) -> Block | None:
        return None

    def column_exponents(self) -> NDArray[np.intc]:
        block = self.whole
        return np.where(block.constant & (block.shift == 0), NO_EXPONENT, block.exponent).astype(
            np.intc
        )

    @cached_property
    def rows(self) -> tuple[Any, int]:
        if self.geometry is not None:
            return self.geometry.rows
        exponent = unit_exponent(int(exponents_of(self._extremes).max()))
        return StoredRows(self.stored, exponent), exponent

    @property
    def _most_loaded(self) -> int:
        """Maximum size of a part that is kept in memory instead of being read repeatedly.

        It is in bytes, and much smaller for a table on a cluster.
        """
        return (
            self.stored.memory // 2
            if self.stored.at_hand
            else min(self.stored.memory // 2, FEW_BYTES)
        )

    def take(self, rows: NDArray[Any]) -> Table:
        chosen = np.asarray(rows, dtype=np.int64)
        view = View(self.stored, rows=chosen)
        if view.n_bytes <= self._most_loaded:
            held = _columnwise(fetched_rows(self.stored, chosen))
            table: Table = self._with(MemoryTable.trusted(held, None))
        else:
            table = self._with(StoredTable(view))
        table.weights = self._weights_of(chosen)
        return table

    def take_columns(self, columns: NDArray[Any]) -> Table:
        chosen = np.asarray(columns, dtype=np.int64)
        view = View(self.stored, columns=chosen)
        if view.n_bytes <= self._most_loaded:
            piece = next(iter(self.stored.over_columns([chosen], itself)))
            table: Table = MemoryTable.trusted(piece, view.names)
        else:
            table = StoredTable(view, extremes=self._extremes[:, columns])
        if self.features is not None:  # The columns of a feature have no names.
            table.feature_names = None
        table.weights = self.weights
        return table

    def divided(self, exponent: NDArray[np.intc], size: Floats) -> Table:
        view = View(
            self.stored,
            change=partial(_divided, exponent=exponent, shift=np.zeros(len(size)), size=size),
        )
        # Division preserves the order, so the new extremes are the divided old ones.
        extremes = scale_by_power_of_two(self._extremes, -exponent) / size
        return self._with(StoredTable(view, extremes=extremes))

    def on_unit_ranges(self, weights: Floats) -> StoredRows:
        """Return the rows with every column scaled to range 1, times its weight.

        The offset of a column without zeros is subtracted first.
        """
        block = self.whole
        size = np.where(block.range > 0, block.range, 1.0) / weights
        return StoredRows(
            View(
                self.stored,
                change=partial(_divided, exponent=block.exponent, shift=block.shift, size=size),
            )
        )

    def entries_by_row(self) -> Integers:
        groups = self.stored.row_groups()
        return np.concatenate(list(self.stored.over_rows(groups, _entries)))

    @property
    def smallest(self) -> float:
        return float(self._extremes[0].min())

    def corner(self, rows: NDArray[Any], columns: NDArray[Any] | None = None) -> Any:
        chosen, where = np.unique(rows, return_inverse=True)
        kept, places = (
            (None, slice(None)) if columns is None else np.unique(columns, return_inverse=True)
        )
        view = View(self.stored, rows=chosen, columns=kept)
        piece = gathered(list(view.over_rows(View(self.stored, rows=chosen).row_groups(), itself)))
        dense = piece.toarray() if sp.issparse(piece) else piece
        return dense[where][:, places]


def read_columns(stored: Stored, columns: Integers) -> Any:
    """Read some columns of all samples into memory, as an array or a CSR matrix."""
    view = View(stored, columns=columns)
    groups, found = view.column_groups(), None
    pieces = view.over_columns(groups, itself)
    if stored.is_sparse:
        return (
            sp.csr_array(sp.hstack(list(pieces))) if groups else sp.csr_array((stored.shape[0], 0))
        )
    for group, piece in zip(groups, pieces, strict=True):
        found = np.empty(view.shape, dtype=piece.dtype) if found is None else found
        found[:, group] = piece
    return np.empty(view.shape) if found is None else found


def checked_extremes(stored: Stored) -> Floats:
    """Return the smallest and largest value of every column, and the first of least magnitude.

    An error is raised if any value is not finite.
    """
    groups = stored.column_groups() if stored.columnwise else stored.row_groups()
    starts, shared = [group.start for group in groups], (stored.names, stored.columnwise)
    if stored.columnwise:
        return np.concatenate(
            list(stored.over_columns(groups, _checked_extremes, starts, shared=shared)), axis=1
        )
    found: Floats | None = None
    for here in stored.over_rows(groups, _checked_extremes, starts, shared=shared):
        if found is None:
            found = here
        else:
            least = np.where(np.abs(here[2]) < np.abs(found[2]), here[2], found[2])
            found = np.stack([np.minimum(found[0], here[0]), np.maximum(found[1], here[1]), least])
    assert found is not None
    return found


def refuse_pieces(stored: Stored) -> NoReturn:
    """Raise an error for methods that need all values in memory."""
    raise InputError(
        "this method needs all of X in memory, but X is read in pieces "
        f"({memory_text(stored.n_bytes)}); use another method, or pass X as an array."
    )


def refuse_narrow_memory(stored: Stored) -> None:
    """Raise an error if one column exceeds the memory limit, because columns are never split."""
    needed = stored.column_bytes
    if needed > stored.memory:
        raise InputError(
            f"a single column of {stored.shape[0]:,} rows needs {memory_text(needed)} of memory, "
            f"but the memory limit is {memory_text(stored.memory)}; pass graphsieve.stored(X, "
            f"memory={memory_text(needed, enough=True)!r}) or more."
        )


def _checked_extremes(
    piece: Any, first: int, names: tuple[str, ...] | None, columnwise: bool
) -> Floats:
    found = extremes_of(piece)
    if not np.isfinite(found).all():
        check_finite_piece(piece, names, *((0, first) if columnwise else (first, 0)))
    return found


def _entries(piece: Any) -> Integers:
    if sp.issparse(piece):
        return np.asarray(np.diff(sp.csr_array(piece).indptr), dtype=np.int64)
    return np.asarray(np.count_nonzero(piece, axis=1), dtype=np.int64)


def _divided(
    piece: Any, columns: Group, *, exponent: NDArray[np.intc], shift: Floats, size: Floats
) -> Any:
    """Divide a piece with the given columns, as in `Table.divided`, after subtracting a shift.

    The shift is zero for columns with zeros, so sparse pieces remain sparse.
    """
    exponent, shift, size = exponent[columns], shift[columns], size[columns]
    if not sp.issparse(piece):
        return (scale_by_power_of_two(piece, -exponent) - shift) / size
    if isinstance(piece, sp.csr_array):
        owner = piece.indices
    else:
        owner = np.repeat(np.arange(piece.shape[1]), np.diff(piece.indptr))
    data = (scale_by_power_of_two(piece.data, -exponent[owner]) - shift[owner]) / size[owner]
    return type(piece)((data, piece.indices, piece.indptr), shape=piece.shape)


def _columnwise(piece: Any) -> Any:
    return sp.csc_array(piece) if sp.issparse(piece) else piece
