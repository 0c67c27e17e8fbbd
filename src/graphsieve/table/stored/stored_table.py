"""A table that is read in pieces, because it is larger than memory or on other machines."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, NoReturn, TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from graphsieve._base.array_types import Booleans, Floats, Integers
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
from graphsieve.table.features import Features
from graphsieve.table.gaps import FEWEST_OBSERVED, Gaps, gaps_in
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

GAP_BYTES = 16  # bytes per missing cell while positions are collected
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

    Parameters
    ----------
    stored : Stored
        The values, with NaN in missing cells.
    missing : {"use", "refuse"}
        Whether missing cells are accepted.
    extremes, gaps : array and sparse matrix, optional
        The result of `checked_extremes`, if it is available.
    fills : array of shape (n_columns,), optional
        The value in the missing cells of each column. By default, the observed value of least
        magnitude.
    """

    def __init__(
        self,
        stored: Stored,
        *,
        missing: str = "refuse",
        extremes: Floats | None = None,
        gaps: Gaps | None = None,
        fills: Floats | None = None,
    ) -> None:
        refuse_narrow_memory(stored)
        if extremes is None:
            extremes, gaps = checked_extremes(stored, missing)
        self._extremes, self.gaps, self._with_nan = extremes, gaps, stored
        self._fills = extremes[2] if fills is None else fills
        self.stored = stored
        if gaps is not None:
            constant = extremes[0] == extremes[1]
            filled = partial(_filled, values=self._fills, constant=constant)
            self.stored = View(stored, change=filled)
        self.feature_names = stored.names
        self.n_samples, self.n_columns = stored.shape
        self.is_sparse, self.at_hand = stored.is_sparse, stored.at_hand
        self.most_held = stored.memory // (ROWS_HELD * BYTES)
        self.n_entries = int(self.n_samples * self.n_columns * stored.density)

    @property
    def _source(self) -> Stored:
        """The values, with NaN in missing cells that do not count as observed."""
        return self.stored if self.gaps is None else self._with_nan

    def _same(self) -> StoredTable:
        return self._with(
            StoredTable(self._source, extremes=self._extremes, gaps=self.gaps, fills=self._fills)
        )

    def filled_with(self, values: Floats) -> StoredTable:
        """Return the table with these values in the missing cells, which then count as observed.

        Values outside the observed range of a column are clipped to it.
        """
        values = np.clip(values, *self._extremes[:2])
        table = self._with(
            StoredTable(self._source, extremes=self._extremes, gaps=self.gaps, fills=values)
        )
        table.gaps = None
        return table

    def gap_values(self) -> Floats:
        return self._fills

    def in_memory(self) -> Iterator[tuple[Integers, MemoryTable]]:
        sizes = np.diff(
            np.arange(self.n_columns + 1) if self.features is None else self.features.starts
        )
        part = (np.cumsum(sizes) - sizes) // max(1, self.stored.fitting_columns(0.5))
        for number in np.unique(part):
            features = np.flatnonzero(part == number)
            columns = features if self.features is None else self.features.columns_of(features)
            table = self._read(columns)
            if self.features is not None:
                table.features = self.features.take(features)
            yield features, table

    def _read(self, columns: Integers) -> MemoryTable:
        """Read some columns into memory."""
        piece = next(iter(self.stored.over_columns([columns], itself)))
        table = MemoryTable.trusted(piece, None)
        table.weights, table.gaps = self.weights, gaps_in(self.gaps, columns=columns)
        return table

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
        return StoredRows(self._source, exponent, centers=self._centers(self._fills)), exponent

    def _centers(self, centers: Floats) -> tuple[Floats, Features | None] | None:
        """Return what rows with gaps need in addition to the values, or None without gaps."""
        return None if self.gaps is None else (centers, self.features)

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
            table.gaps = gaps_in(self.gaps, chosen)
        else:
            view = View(self._source, rows=chosen)
            table = self._with(StoredTable(view, missing="use"))
        table.weights = self._weights_of(chosen)
        return table

    def take_columns(self, columns: NDArray[Any]) -> Table:
        chosen = np.asarray(columns, dtype=np.int64)
        view = View(self.stored, columns=chosen)
        if view.n_bytes <= self._most_loaded:
            table: Table = self._read(chosen)
        else:
            table = StoredTable(
                View(self._source, columns=chosen),
                extremes=self._extremes[:, columns],
                gaps=gaps_in(self.gaps, columns=chosen),
                fills=self._fills[columns],
            )
        # The columns of a feature have no names.
        table.feature_names = view.names if self.features is None else None
        table.weights = self.weights
        return table

    def divided(self, exponent: NDArray[np.intc], size: Floats) -> Table:
        view = View(
            self._source,
            change=partial(_divided, exponent=exponent, shift=np.zeros(len(size)), size=size),
        )
        # Division preserves the order, so the new extremes are the divided old ones.
        extremes = scale_by_power_of_two(self._extremes, -exponent) / size
        fills = scale_by_power_of_two(self._fills, -exponent) / size
        return self._with(StoredTable(view, extremes=extremes, gaps=self.gaps, fills=fills))

    def on_unit_ranges(self, weights: Floats) -> StoredRows:
        """Return the rows with every column scaled to range 1, times its weight.

        The offset of a column without zeros is subtracted first.
        """
        block = self.whole
        size = np.where(block.range > 0, block.range, 1.0) / weights
        return StoredRows(
            View(
                self._source,
                change=partial(_divided, exponent=block.exponent, shift=block.shift, size=size),
            ),
            centers=self._centers(np.zeros(self.n_columns)),
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


def checked_extremes(stored: Stored, missing: str) -> tuple[Floats, Gaps | None]:
    """Return the extremes of every column, and the missing cells.

    The extremes are the smallest value, the largest value, and the first value of least magnitude.

    An error is raised if a value is infinite, or if it is missing and missing values are refused.
    """
    groups = stored.column_groups() if stored.columnwise else stored.row_groups()
    starts = [group.start for group in groups]
    over = stored.over_columns if stored.columnwise else stored.over_rows
    pieces = over(
        groups, _checked_extremes, starts, shared=(stored.names, stored.columnwise, missing)
    )
    found: Floats | None = None
    gaps, kind, n_missing = [], np.int32 if stored.shape[0] < 2**31 else np.int64, 0
    for group, (here, rows, columns) in zip(groups, pieces, strict=True):
        first = (0, group.start) if stored.columnwise else (group.start, 0)
        n_missing += len(rows)
        refuse_many_gaps(stored, n_missing)
        gaps.append(
            (rows.astype(kind) + kind(first[0]), columns.astype(np.int32) + np.int32(first[1]))
        )
        if found is None:
            found = here
        elif stored.columnwise:
            found = np.concatenate([found, here], axis=1)
        else:
            least = np.where(np.abs(here[2]) < np.abs(found[2]), here[2], found[2])
            found = np.stack([np.minimum(found[0], here[0]), np.maximum(found[1], here[1]), least])
    assert found is not None
    rows, columns = (np.concatenate(part) for part in zip(*gaps, strict=True))
    if not len(rows):
        return found, None
    marks = np.ones(len(rows), dtype=bool)
    found = np.where(np.isfinite(found), found, 0.0)  # columns without observed values
    gaps_found = sp.csc_array((marks, (rows, columns)), shape=stored.shape)
    few = np.diff(gaps_found.indptr) > stored.shape[0] - FEWEST_OBSERVED
    found[:, few] = found[2, few]
    return found, gaps_found


def refuse_many_gaps(stored: Stored, n_missing: int) -> None:
    """Raise an error if the positions of the missing cells exceed the memory limit."""
    needed = n_missing * GAP_BYTES
    if needed > stored.memory:
        raise InputError(
            f"the positions of {n_missing:,} or more missing values need {memory_text(needed)}, but the "
            f"memory limit is {memory_text(stored.memory)}; pass graphsieve.stored(X, "
            f"memory={memory_text(needed, enough=True)!r}) or more, or drop mostly empty columns."
        )


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
    piece: Any, first: int, names: tuple[str, ...] | None, columnwise: bool, missing: str
) -> tuple[Floats, Integers, Integers]:
    """Return the extremes of a piece, and the rows and columns of its missing cells."""
    found, nothing = extremes_of(piece), np.empty(0, dtype=np.int64)
    if np.isfinite(found).all():
        return found, nothing, nothing
    position = (0, first) if columnwise else (first, 0)
    if missing == "refuse":
        check_finite_piece(piece, names, *position)
    rows, columns = _missing_cells(piece)
    nothing_there = np.zeros(piece.shape[1])
    if not len(rows):
        check_finite_piece(piece, names, *position)
        return found, nothing, nothing
    check_finite_piece(
        _filled(piece, slice(None), values=nothing_there, constant=nothing_there > 0),
        names,
        *position,
    )
    by_columns = sp.csc_array(piece) if sp.issparse(piece) else piece
    for column in np.unique(columns):
        own = by_columns[:, [column]]
        observed = (own.toarray() if sp.issparse(own) else own).ravel().astype(np.float64)
        observed = observed[~np.isnan(observed)]
        found[:, column] = np.inf, -np.inf, np.inf
        if len(observed):
            found[:, column] = extremes_of(observed[:, None])[:, 0]
    return found, rows, columns


def _missing_cells(piece: Any) -> tuple[Integers, Integers]:
    if not sp.issparse(piece):
        rows, columns = np.nonzero(np.isnan(piece))
        return rows, columns
    entries = piece.tocoo()
    missing = np.isnan(entries.data)
    return entries.row[missing].astype(np.int64), entries.col[missing].astype(np.int64)


def _filled(piece: Any, columns: Group, *, values: Floats, constant: Booleans) -> Any:
    """Return a piece with one value per column in place of NaN, and in all cells of constant columns."""
    values, constant = values[columns], constant[columns]
    if not sp.issparse(piece):
        return np.where(np.isnan(piece) | constant, values, piece)
    piece = piece.copy()
    owner = (
        piece.indices
        if isinstance(piece, sp.csr_array)
        else np.repeat(np.arange(piece.shape[1]), np.diff(piece.indptr))
    )
    replaced = np.isnan(piece.data) | constant[owner]
    piece.data[replaced] = values[owner[replaced]]
    piece.eliminate_zeros()
    return piece


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
