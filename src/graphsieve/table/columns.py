"""The table of features, walked by blocks of columns.

Every sum in graphsieve is taken over a `Block`: a few columns in float64, each scaled by a power of
two (which is exact) so that its largest magnitude is about 1, and shifted by its value of least
magnitude. So an offset of 1e8, a scale of 1e-300 or values whose squares overflow make no
difference: every form we need ignores shifts, and the ratios ignore scales.

Compiled kernels scale and shift while they read, so that a block holds X itself until somebody asks
for its values. The columns of a table that is read piece by piece are a block, too: its sums are
taken where the pieces are (`sums`, `on_columns`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from graphsieve._base.array_types import Booleans, Floats, Integers
from graphsieve._kernels.rows import Numbers, readable
from graphsieve._kernels.samples import column_extremes
from graphsieve.table.containers import column_label, read_matrix, sums_are_finite
from graphsieve.table.stored.pieces import Stored

BLOCK_ELEMENTS = 2**22  # numbers in one block: 32 MiB of float64
NO_EXPONENT = -(2**15)  # of zero, below that of any number
DENSE_FROM = 0.3  # a sparse block filled beyond this share is cheaper to treat as dense
# Columns that are read together where nothing is copied: enough to read whole rows of most tables
WIDE = 512
# Of numbers whose squares neither overflow nor vanish, nor those of their differences
ORDINARY_EXPONENT = 100
# Of columns that are scaled in one step: 2**1000 and its inverse are float64
LARGEST_EXPONENT = 1000

# a number for every column of a block, or several: the last axis is that of the columns
Form = Callable[["Block"], Any]


@dataclass(frozen=True)
class Block:
    """Columns ``start:stop`` of the table as ``original = (values + shift) * 2**exponent``.

    `held` is the values themselves: a C-ordered (n, width) float64 array, or a CSC matrix whose
    implicit zeros are zeros of the values. Or, where `unread`, it is the original columns, and the
    values are made when they are first asked for. Or it is the whole stored table that these are
    columns of, and the values are read when they are asked for, so better not.
    """

    start: int
    stop: int
    held: Any
    shift: Floats
    exponent: NDArray[np.intc]
    constant: Booleans
    unread: bool = False
    # Of the original columns, where they are known: smallest and largest
    extremes: Floats | None = None

    @cached_property
    def values(self) -> Any:
        """The columns, scaled and shifted."""
        if self.is_stored:
            read = list(
                self.held.over_columns(
                    [slice(self.start, self.stop)], dense_values, [self.exponent], [self.shift]
                )
            )
            return read[0]
        if not self.unread:
            return self.held
        values = scale_by_power_of_two(
            np.array(self.held, dtype=np.float64, order="C"), -self.exponent
        )
        values -= self.shift
        return values

    @property
    def numbers(self) -> Numbers:
        """The values of a dense block as sums read them, without making them."""
        return (
            Numbers(self.held, np.ldexp(1.0, -self.exponent), self.shift)
            if self.unread
            else Numbers(self.held)
        )

    def with_values(self, values: Floats) -> Block:
        """Other values of the same features: one row for each of other samples."""
        return replace(self, held=values, unread=False)

    def parts(self, width: int) -> Iterator[Block]:
        """The same columns, at most `width` at a time."""
        for start in range(0, self.width, width):
            part = slice(start, min(start + width, self.width))
            ends = (self.start + part.start, self.start + part.stop)
            held = self.held if self.is_stored else self.held[:, part]
            known = None if self.extremes is None else self.extremes[:, part]
            yield Block(
                *ends,
                held,
                self.shift[part],
                self.exponent[part],
                self.constant[part],
                self.unread,
                known,
            )

    @property
    def width(self) -> int:
        return self.stop - self.start

    @property
    def n_samples(self) -> int:
        return int(self.held.shape[0])

    @property
    def is_sparse(self) -> bool:
        return bool(sp.issparse(self.held))

    @property
    def is_stored(self) -> bool:
        return isinstance(self.held, Stored)

    @property
    def range(self) -> Floats:
        """Largest minus smallest value of every column, in the block's units."""
        # Scaled and shifted as all values would be, and so with the same bits
        if self.unread or self.extremes is not None:
            known = column_extremes(self.held)[:2] if self.extremes is None else self.extremes[:2]
            low, high = scale_by_power_of_two(known, -self.exponent) - self.shift
            return np.asarray(high - low)
        if not self.is_sparse:
            return np.asarray(self.values.max(axis=0) - self.values.min(axis=0))
        high, low = self.values.max(axis=0), self.values.min(axis=0)
        return np.asarray(high.toarray() - low.toarray()).ravel()

    def dense_parts(self) -> Iterator[tuple[slice, Floats]]:
        """The values as dense arrays of a few columns each, for the few scores that need every
        number.
        """
        if not self.is_sparse:
            yield slice(0, self.width), self.values
            return
        width = max(1, BLOCK_ELEMENTS // self.values.shape[0])
        for start in range(0, self.width, width):
            part = slice(start, min(start + width, self.width))
            yield part, self.values[:, part].toarray()


class Geometry(Protocol):
    """Where samples lie, for a table whose distances are not taken between its own rows as they
    are.
    """

    @property
    def rows(self) -> tuple[Any, int]:
        """As `Table.rows`."""

    def nearest(
        self,
        n_neighbors: int,
        queries: Integers | None,
        candidates: Integers | None,
    ) -> tuple[Integers, Floats]:
        """As `graphsieve.graphs.neighbors.exact.nearest_neighbors`."""


class Table:
    """Samples × features, checked once; the door through which every X comes.

    Parameters
    ----------
    X : array, sparse matrix or data frame of shape (n_samples, n_features)
        Real numbers, all finite. Never modified.
    block_elements : int
        How many numbers one block may hold; results do not depend on it.
    """

    def __init__(self, X: Any, *, block_elements: int = BLOCK_ELEMENTS) -> None:
        self._matrix, self.feature_names = read_matrix(X, self._all_finite)
        self._block_elements = block_elements
        self.geometry: Geometry | None = None
        self.compressed: Any = None
        self._prepared: Block | None = None

    @classmethod
    def trusted(
        cls, matrix: Any, names: tuple[str, ...] | None, *, block_elements: int = BLOCK_ELEMENTS
    ) -> Table:
        """A table of numbers that another table has already checked."""
        table = cls.__new__(cls)
        table._matrix, table.feature_names, table._block_elements = matrix, names, block_elements
        table.geometry = table.compressed = table._prepared = None
        return table

    @property
    def n_samples(self) -> int:
        return int(self._matrix.shape[0])

    @property
    def n_features(self) -> int:
        return int(self._matrix.shape[1])

    @property
    def is_sparse(self) -> bool:
        return bool(sp.issparse(self._matrix))

    @property
    def matrix(self) -> Any:
        """The numbers as they were given: an array, or CSC."""
        return self._matrix

    def label(self, position: int) -> str:
        """How a message names the column at `position`."""
        return column_label(self.feature_names, position)

    def take(self, rows: NDArray[Any]) -> Table:
        """The table of the given rows."""
        matrix = (
            sp.csc_array(sp.csr_array(self._matrix)[rows]) if self.is_sparse else self._matrix[rows]
        )
        return Table.trusted(matrix, self.feature_names, block_elements=self._block_elements)

    def take_columns(self, columns: NDArray[Any]) -> Table:
        """The table of the given columns."""
        names = (
            None if self.feature_names is None else tuple(self.feature_names[j] for j in columns)
        )
        matrix = (
            self._matrix[:, columns] if self.is_sparse else np.take(self._matrix, columns, axis=1)
        )
        table = Table.trusted(matrix, names, block_elements=self._block_elements)
        whole = self.only_block
        # a column is scaled and shifted by itself, so what is done need not be done again
        if whole is not None:
            values = np.take(whole.values, columns, axis=1)
            table._prepared = Block(
                0,
                len(columns),
                values,
                whole.shift[columns],
                whole.exponent[columns],
                whole.constant[columns],
            )
        return table

    def within(self, geometry: Geometry) -> Table:
        """The same features, on samples whose distances are those of `geometry`."""
        table = Table.trusted(self._matrix, self.feature_names, block_elements=self._block_elements)
        table.geometry, table._prepared = geometry, self._prepared
        return table

    def represented_by(self, compressed: Any) -> Table:
        """The same samples, whose graphs are to be built from the kept samples and prototypes of
        a `prototypes.Compressed`.
        """
        table = Table.trusted(self._matrix, self.feature_names, block_elements=self._block_elements)
        table.compressed, table._prepared = compressed, self._prepared
        return table

    def divided(self, exponent: NDArray[np.intc], size: Floats) -> Table:
        """The table with column j divided by ``size[j] * 2**exponent[j]``; zeros stay zeros."""
        if self.is_sparse:
            owner = np.repeat(np.arange(self.n_features), np.diff(self._matrix.indptr))
            data = scale_by_power_of_two(self._matrix.data, -exponent[owner]) / size[owner]
            matrix = sp.csc_array(
                (data, self._matrix.indices, self._matrix.indptr), shape=self._matrix.shape
            )
        else:
            matrix = np.empty(self._matrix.shape)
            width = max(1, self._block_elements // self.n_samples)
            for start in range(0, self.n_features, width):
                part = slice(start, start + width)
                matrix[:, part] = (
                    scale_by_power_of_two(self._matrix[:, part], -exponent[part]) / size[part]
                )
        return Table.trusted(matrix, self.feature_names, block_elements=self._block_elements)

    def blocks(self) -> Iterator[Block]:
        """The columns from left to right, a few at a time."""
        if self._prepared is not None:
            return iter((self._prepared,))
        return self._sparse_blocks() if self.is_sparse else self._dense_blocks()

    def evaluated(self, form: Form, *, wide: bool = False) -> Any:
        """What the form makes of all columns; one that takes only sums can do with wide blocks."""
        return np.concatenate([found for _, found in self.evaluations(form, wide=wide)], axis=-1)

    def evaluations(self, form: Form, *, wide: bool = False) -> Iterator[tuple[slice, Any]]:
        """What the form makes of some columns after the other, and which ones these are."""
        for block in self.wide_blocks() if wide else self.blocks():
            yield slice(block.start, block.stop), form(block)

    def need_memory(self) -> None:
        """Say that all numbers are needed at once; a table that is read piece by piece refuses."""

    @property
    def at_hand(self) -> bool:
        """Whether this process has its numbers; those of a cluster are not to be brought here."""
        return True

    @property
    def most_held(self) -> int:
        """How many numbers may be made of it at once: about as many as it has, if it is in
        memory itself.
        """
        return self.n_samples * self.n_features

    @property
    def n_entries(self) -> int:
        """How many numbers are held: for a sparse table, those other than zero."""
        return int(self._matrix.nnz) if self.is_sparse else self.n_samples * self.n_features

    @property
    def smallest(self) -> float:
        """The smallest of all numbers; of a sparse table, of those that are held."""
        values = self._matrix.data if self.is_sparse else self._matrix
        return float(values.min()) if values.size else 0.0

    def entries_by_row(self) -> Integers:
        """The number of values other than zero in every row."""
        if self.is_sparse:  # of which no zero is stored
            return np.bincount(self._matrix.indices, minlength=self.n_samples).astype(np.int64)
        return np.asarray(np.count_nonzero(self._matrix, axis=1), dtype=np.int64)

    def corner(self, rows: NDArray[Any], columns: NDArray[Any] | None = None) -> Any:
        """Some rows of some columns, or of all, in their own units; nothing larger is made on
        the way.
        """
        if columns is None:
            return self._matrix[rows]
        return (
            self._matrix[:, columns][rows].toarray()
            if self.is_sparse
            else self._matrix[np.ix_(rows, columns)]
        )

    def named(self, names: tuple[str, ...] | None) -> Table:
        """The same table with other names of its columns."""
        return Table.trusted(self._matrix, names, block_elements=self._block_elements)

    def wide_blocks(self) -> Iterator[Block]:
        """As `blocks`, but with many columns at a time where sums read X itself; for forms that
        do not ask for values.
        """
        if self._prepared is None and readable(self._matrix):
            return self._dense_blocks(WIDE)
        return self.blocks()

    @cached_property
    def only_block(self) -> Block | None:
        """The one block of a dense table that has only one."""
        if self._prepared is not None:
            return self._prepared
        few = self.n_samples * self.n_features <= self._block_elements
        return next(self._dense_blocks()) if few and not self.is_sparse else None

    def column_exponents(self) -> NDArray[np.intc]:
        """The power of two just above the largest magnitude of every column; `NO_EXPONENT` where
        there are only zeros.
        """
        return np.concatenate(
            [
                np.where(block.constant & (block.shift == 0), NO_EXPONENT, block.exponent)
                for block in self.blocks()
            ]
        ).astype(np.intc)

    @cached_property
    def rows(self) -> tuple[Any, int]:
        """All samples for distances: float64 C order or CSR, scaled by ``2**-exponent`` as a whole;
        and the exponent.

        Never to be written to: where the numbers are of an ordinary size already, these are those
        of X itself.
        """
        if self.geometry is not None:
            return self.geometry.rows
        exponent = unit_exponent(self._largest_exponent())
        if not self.is_sparse:
            rows = np.require(self._matrix, np.float64, ["C_CONTIGUOUS", "ALIGNED"])
            return scale_by_power_of_two(rows, -exponent) if exponent else rows, exponent
        sparse = sp.csr_array(self._matrix)
        if exponent:
            sparse.data = scale_by_power_of_two(sparse.data, -exponent)
        return sparse, exponent

    def _largest_exponent(self) -> int:
        """The power of two just above the largest magnitude."""
        if readable(self._matrix):
            low, high = self._extremes[:2]
        else:
            low = high = self._matrix.data if self.is_sparse else self._matrix
        largest = max(float(high.max(initial=0)), -float(low.min(initial=0)))
        return int(_exponents(np.asarray(largest)))

    def _dense_blocks(self, at_least: int = 1) -> Iterator[Block]:
        width = max(at_least, self._block_elements // self.n_samples)
        for start in range(0, self.n_features, width):
            part = self._matrix[:, start : start + width]
            block = (
                _unread_block(part, self._extremes[:, start : start + width], start)
                if readable(part)
                else None
            )
            yield block or dense_block(np.array(part, dtype=np.float64, order="C"), start)

    @cached_property
    def _extremes(self) -> Floats:
        return column_extremes(self._matrix)

    def _all_finite(self, matrix: NDArray[Any]) -> bool:
        """By its extremes, where sums will need them: so one reading of X does for both."""
        if not readable(matrix):
            return sums_are_finite(matrix)
        self._extremes = column_extremes(matrix)
        return bool(np.isfinite(self._extremes).all())

    def _sparse_blocks(self) -> Iterator[Block]:
        matrix, start = self._matrix, 0
        # The edges multiply the entries of a sparse block by about the number of neighbours, so it
        # starts smaller.
        entries = max(1, self._block_elements // 16)
        while start < self.n_features:
            stop = (
                int(np.searchsorted(matrix.indptr, matrix.indptr[start] + entries, side="right"))
                - 1
            )
            # However empty the columns, some results are dense in them, so a block is not too wide
            # either.
            widest = max(1, 16 * self._block_elements // self.n_samples)
            stop = min(max(stop, start + 1), start + widest, self.n_features)
            part = matrix[:, start:stop]
            filled = part.nnz / (part.shape[0] * part.shape[1])
            if filled > DENSE_FROM and part.shape[0] * part.shape[1] <= self._block_elements:
                yield dense_block(np.ascontiguousarray(part.toarray()), start)
            else:
                yield _sparse_block(part, start)
            start = stop


def dense_block(values: Floats, start: int) -> Block:
    """A block of the given fresh array, which is overwritten."""
    low, high, least = column_extremes(values)
    exponent = _exponents(np.maximum(np.abs(high), np.abs(low)))
    values = scale_by_power_of_two(values, -exponent)
    # The value of least magnitude is the one shift that costs no value a digit: nothing where the
    # column passes near zero, all of the offset where it does not. A constant column becomes
    # exactly zero.
    shift = scale_by_power_of_two(least, -exponent)
    values -= shift
    return Block(start, start + values.shape[1], values, shift, exponent, high == low)


def _unread_block(part: NDArray[Any], extremes: Floats, start: int) -> Block | None:
    """A block of columns that are scaled and shifted when they are read, as `dense_block` does;
    None if that takes two steps.
    """
    low, high, least = extremes
    exponent = exponents_of(extremes)
    if np.abs(exponent).max() > LARGEST_EXPONENT:
        return None
    with np.errstate(under="ignore"):
        shift = least * np.ldexp(1.0, -exponent)
    return Block(start, start + part.shape[1], part, shift, exponent, high == low, unread=True)


def on_columns(block: Block, form: Form) -> Any:
    """What the form makes of the columns of a stored block, a few of them at a time, wherever
    they are read.
    """
    return np.concatenate([found for _, found in by_columns(block, form)], axis=-1)


def by_columns(block: Block, form: Form) -> Iterator[tuple[slice, Any]]:
    """The same, some columns after the other, and which ones these are."""
    groups = block.held.column_groups(block.start, block.stop)
    for found in block.held.over_columns(
        groups, _on_read_columns, [group.start for group in groups], shared=(form,)
    ):
        yield from found


def _on_read_columns(piece: Any, start: int, form: Form) -> list[tuple[slice, Any]]:
    blocks = (replace_start(block, start) for block in Table.trusted(piece, None).blocks())
    return [(slice(block.start, block.stop), form(block)) for block in blocks]


def replace_start(block: Block, start: int) -> Block:
    """The same block, whose columns are counted from `start` on."""
    return replace(block, start=start + block.start, stop=start + block.stop)


def row_block(piece: Any, columns: slice, shift: Floats, exponent: NDArray[np.intc]) -> Block:
    """Some rows of the given columns of a table, as those columns are scaled and shifted in all
    of it.
    """
    ends = (columns.start, columns.stop)
    never = np.zeros(columns.stop - columns.start, dtype=bool)
    if sp.issparse(piece):
        values = sp.csc_array(piece[:, columns])
        owner = np.repeat(np.arange(values.shape[1]), np.diff(values.indptr))
        data = scale_by_power_of_two(values.data, -exponent[owner]) - shift[owner]
        values = sp.csc_array((data, values.indices, values.indptr), shape=values.shape)
        values.eliminate_zeros()
        return Block(*ends, values, shift, exponent, never)
    part = piece[:, columns]
    if readable(part) and np.abs(exponent).max() <= LARGEST_EXPONENT:
        return Block(*ends, part, shift, exponent, never, unread=True)
    return Block(*ends, dense_values(part, exponent, shift), shift, exponent, never)


def dense_values(part: Any, exponent: NDArray[np.intc], shift: Floats) -> Any:
    """Columns, scaled and shifted; dense, whatever they were."""
    dense = part.toarray() if sp.issparse(part) else part
    values = scale_by_power_of_two(np.array(dense, dtype=np.float64, order="C"), -exponent)
    values -= shift
    return values


def extremes_of(piece: Any) -> Floats:
    """As `column_extremes`, also of a sparse matrix, with its zeros."""
    if not sp.issparse(piece):
        return column_extremes(
            piece if piece.dtype.kind == "f" else np.asarray(piece, dtype=np.float64)
        )
    columns = sp.csc_array(piece)
    n_samples, width = columns.shape
    filled = np.diff(columns.indptr)
    owner, found = np.repeat(np.arange(width), filled), np.zeros((3, width))
    full = filled == n_samples
    found[0, full], found[1, full], found[2, full] = np.inf, -np.inf, np.inf
    with np.errstate(invalid="ignore"):  # what is no number stays to be seen
        np.minimum.at(found[0], owner, columns.data)
        np.maximum.at(found[1], owner, columns.data)
    first = np.lexsort((np.abs(columns.data), owner))  # stable: of equal magnitudes the upper one
    begin = columns.indptr[:-1][full]
    found[2, full] = columns.data[first[begin]]
    return found


def _sparse_block(part: Any, start: int) -> Block:
    n_samples, width = part.shape
    filled = np.diff(part.indptr)
    owner = np.repeat(np.arange(width), filled)
    largest = np.zeros(width)
    np.maximum.at(largest, owner, np.abs(part.data))
    exponent = _exponents(largest)
    data = scale_by_power_of_two(part.data, -exponent[owner])
    # As in a dense block, the value of least magnitude; that is zero itself unless the column has
    # none.
    least = np.full(width, np.inf)
    np.minimum.at(least, owner, np.abs(data))
    shift = np.zeros(width)
    chosen = (np.abs(data) == least[owner]) & (filled == n_samples)[owner]
    shift[owner[chosen][::-1]] = data[chosen][::-1]  # the first of several, as argmin has it
    data = data - shift[owner]
    values = sp.csc_array((data, part.indices, part.indptr), shape=part.shape, copy=True)
    values.eliminate_zeros()
    # Empty: all zeros. Full and equal: nothing left after the shift. A column with both zeros and
    # other values varies.
    return Block(start, start + width, values, shift, exponent, np.diff(values.indptr) == 0)


def unit_exponent(largest: int) -> int:
    """The power of two that a table is divided by where distances are taken, given that of its
    largest magnitude.
    """
    return 0 if abs(largest) <= ORDINARY_EXPONENT else largest


def exponents_of(extremes: Floats) -> NDArray[np.intc]:
    """The power of two just above the largest magnitude of every column, given its smallest and
    its largest value.
    """
    return _exponents(np.maximum(np.abs(extremes[0]), np.abs(extremes[1])))


def _exponents(largest: Floats) -> NDArray[np.intc]:
    return np.frexp(np.asarray(largest, dtype=np.float64))[1].astype(np.intc)


def scale_by_power_of_two(values: Floats, exponent: Any) -> Floats:
    """``values * 2**exponent`` in two exact steps, because ``2**1073`` itself is no float64;
    always a new array.
    """
    whole = np.asarray(exponent, dtype=np.intc)
    half = whole // 2
    # What vanishes beside the largest value of its column does no harm
    with np.errstate(under="ignore"):
        scaled: Floats = values * np.ldexp(1.0, half)
        scaled *= np.ldexp(1.0, whole - half)
    return scaled
