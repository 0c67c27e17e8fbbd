"""Blocks: a few columns of a table, scaled and shifted so that sums over them lose no digits.

Every sum in graphsieve is computed over a `Block`, which holds a few columns in float64. Each
column is scaled by a power of two, which is exact, so that its largest magnitude is about 1. The
value of least magnitude is then subtracted.

An offset of 1e8, a scale of 1e-300 or values with overflowing squares therefore make no
difference. All quadratic forms are invariant to shifts, and their ratios are invariant to scales.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from graphsieve._base.array_types import Booleans, Floats
from graphsieve._kernels.column_sums import (
    CACHED_ELEMENTS,
    Numbers,
    column_extremes,
    in_parts,
    readable,
)

BLOCK_ELEMENTS = 2**22  # numbers in one block: 32 MiB of float64
# Columns up to this exponent are scaled in one step: float64 holds 2**1000 and its inverse.
LARGEST_EXPONENT = 1000
# Up to this exponent, squares of values and of differences neither overflow nor underflow.
ORDINARY_EXPONENT = 100

# A function that returns one or several numbers for every column of a block. The last axis of its
# result is the axis of the columns.
Form = Callable[["Block"], Any]


@dataclass(frozen=True)
class Block:
    """Columns ``start:stop`` of a table as ``original = (values + shift) * 2**exponent``.

    In this class, `held` is the array of values in C order. Subclasses hold other data and compute
    the values on demand.
    """

    start: int
    stop: int
    held: Any
    shift: Floats
    exponent: NDArray[np.intc]
    constant: Booleans

    is_sparse = False
    is_stored = False

    @property
    def values(self) -> Any:
        """The columns, scaled and shifted."""
        return self.held

    @property
    def numbers(self) -> Numbers:
        """The values of a dense block for compiled sums, without a scaled copy."""
        return Numbers(self.held)

    @cached_property
    def width(self) -> int:
        """The number of columns."""
        return self.stop - self.start

    @cached_property
    def n_samples(self) -> int:
        """The number of rows."""
        return int(self.held.shape[0])

    @property
    def range(self) -> Floats:
        """Largest minus smallest value of every column, in the block's units."""
        return np.asarray(self.values.max(axis=0) - self.values.min(axis=0))

    def with_values(self, values: Floats) -> Block:
        """Return a block of the same features with the values of other samples."""
        return Block(self.start, self.stop, values, self.shift, self.exponent, self.constant)

    def parts(self, width: int) -> Iterator[Block]:
        """Iterate over the columns as blocks of at most `width` columns."""
        for start in range(0, self.width, width):
            yield self._part(slice(start, min(start + width, self.width)))

    def dense_parts(self) -> Iterator[tuple[slice, Floats]]:
        """Iterate over the values as dense arrays of a few columns each."""
        return iter(((slice(0, self.width), self.values),))

    def _part(self, part: slice) -> Block:
        return replace(
            self,
            start=self.start + part.start,
            stop=self.start + part.stop,
            held=self.held[:, part],
            shift=self.shift[part],
            exponent=self.exponent[part],
            constant=self.constant[part],
        )


class UnreadBlock(Block):
    """A block of the original columns, which compiled sums scale and shift while reading."""

    @cached_property
    def values(self) -> Any:
        return dense_values(self.held, self.exponent, self.shift)

    @property
    def numbers(self) -> Numbers:
        return Numbers(self.held, np.ldexp(1.0, -self.exponent), self.shift)

    @property
    def range(self) -> Floats:
        return scaled_range(column_extremes(self.held), self.exponent, self.shift)


class SparseBlock(Block):
    """A block that holds a CSC matrix, in which implicit entries are zeros of the values."""

    is_sparse = True

    @property
    def range(self) -> Floats:
        high, low = self.held.max(axis=0), self.held.min(axis=0)
        return np.asarray(high.toarray() - low.toarray()).ravel()

    def dense_parts(self) -> Iterator[tuple[slice, Floats]]:
        width = max(1, BLOCK_ELEMENTS // self.n_samples)
        for start in range(0, self.width, width):
            part = slice(start, min(start + width, self.width))
            yield part, self.held[:, part].toarray()


def dense_block(values: Floats, start: int) -> Block:
    """Return a block of a new array, which this function may overwrite."""
    low, high, least = column_extremes(values)
    exponent = exponents_above(np.maximum(np.abs(high), np.abs(low)))
    values = scale_by_power_of_two(values, -exponent)
    # Subtracting the value of least magnitude never costs a value any digits. The shift is close to
    # zero if the column has values near zero; otherwise it removes the offset. A constant column
    # becomes exactly zero.
    shift = scale_by_power_of_two(least, -exponent)
    values -= shift
    return Block(start, start + values.shape[1], values, shift, exponent, high == low)


def unread_block(part: NDArray[Any], extremes: Floats, start: int) -> Block | None:
    """Return a block of columns that are scaled and shifted while they are read.

    The values equal those of `dense_block`. The result is None if the scaling needs two steps.
    """
    low, high, least = extremes
    exponent = exponents_of(extremes)
    if np.abs(exponent).max() > LARGEST_EXPONENT:
        return None
    with np.errstate(under="ignore"):
        shift = least * np.ldexp(1.0, -exponent)
    return UnreadBlock(start, start + part.shape[1], part, shift, exponent, high == low)


def sparse_block(part: Any, start: int) -> SparseBlock:
    """Return a block of some columns of a CSC matrix."""
    n_samples, width = part.shape
    filled = np.diff(part.indptr)
    owner = np.repeat(np.arange(width), filled)
    largest = np.zeros(width)
    np.maximum.at(largest, owner, np.abs(part.data))
    exponent = exponents_above(largest)
    data = scale_by_power_of_two(part.data, -exponent[owner])
    # As in a dense block, the shift is the value of least magnitude. It is zero if the column has
    # any zero.
    least = np.full(width, np.inf)
    np.minimum.at(least, owner, np.abs(data))
    shift = np.zeros(width)
    chosen = (np.abs(data) == least[owner]) & (filled == n_samples)[owner]
    shift[owner[chosen][::-1]] = data[chosen][::-1]  # first of several, as in argmin
    data = data - shift[owner]
    values = sp.csc_array((data, part.indices, part.indptr), shape=part.shape, copy=True)
    values.eliminate_zeros()
    # A column without entries is constant: it has only zeros, or the shift has removed equal
    # values. A column with both zeros and other values varies.
    return SparseBlock(start, start + width, values, shift, exponent, np.diff(values.indptr) == 0)


def row_block(piece: Any, columns: slice, shift: Floats, exponent: NDArray[np.intc]) -> Block:
    """Return a block of some rows, with the scales and shifts of the columns of the whole table."""
    ends = (columns.start, columns.stop)
    never = np.zeros(columns.stop - columns.start, dtype=bool)
    if sp.issparse(piece):
        values = sp.csc_array(piece[:, columns])
        owner = np.repeat(np.arange(values.shape[1]), np.diff(values.indptr))
        data = scale_by_power_of_two(values.data, -exponent[owner]) - shift[owner]
        values = sp.csc_array((data, values.indices, values.indptr), shape=values.shape)
        values.eliminate_zeros()
        return SparseBlock(*ends, values, shift, exponent, never)
    part = piece[:, columns]
    if readable(part) and np.abs(exponent).max() <= LARGEST_EXPONENT:
        return UnreadBlock(*ends, part, shift, exponent, never)
    return Block(*ends, dense_values(part, exponent, shift), shift, exponent, never)


def replace_start(block: Block, start: int) -> Block:
    """Return the same block with `start` added to its column positions."""
    return replace(block, start=start + block.start, stop=start + block.stop)


def dense_values(part: Any, exponent: NDArray[np.intc], shift: Floats) -> Any:
    """Return dense or sparse columns as a dense array, scaled and shifted."""
    dense = part.toarray() if sp.issparse(part) else part
    values = scale_by_power_of_two(np.array(dense, dtype=np.float64, order="C"), -exponent)
    values -= shift
    return values


def scaled_range(extremes: Floats, exponent: NDArray[np.intc], shift: Floats) -> Floats:
    """Return the range of every column from its extremes, bit for bit as from its values."""
    low, high = scale_by_power_of_two(extremes[:2], -exponent) - shift
    return np.asarray(high - low)


def extremes_of(piece: Any) -> Floats:
    """Return the `column_extremes` of an array or a sparse matrix, including implicit zeros."""
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
    with np.errstate(invalid="ignore"):  # NaN propagates, so that the finite check finds it.
        np.minimum.at(found[0], owner, columns.data)
        np.maximum.at(found[1], owner, columns.data)
    # The sort is stable, so the uppermost of equal magnitudes comes first.
    first = np.lexsort((np.abs(columns.data), owner))
    begin = columns.indptr[:-1][full]
    found[2, full] = columns.data[first[begin]]
    return found


def unit_exponent(largest: int) -> int:
    """Return the exponent of the power of two that divides a table before distances are computed.

    `largest` is the exponent of its largest magnitude.
    """
    return 0 if abs(largest) <= ORDINARY_EXPONENT else largest


def exponents_of(extremes: Floats) -> NDArray[np.intc]:
    """Return the exponent of the power of two just above the largest magnitude of every column.

    The first two rows of `extremes` are the smallest and the largest values.
    """
    return exponents_above(np.maximum(np.abs(extremes[0]), np.abs(extremes[1])))


def exponents_above(largest: Floats) -> NDArray[np.intc]:
    """Return the exponent of the power of two just above each magnitude."""
    return np.frexp(np.asarray(largest, dtype=np.float64))[1].astype(np.intc)


def scale_by_power_of_two(values: Floats, exponent: Any) -> Floats:
    """Return ``values * 2**exponent`` as a new array.

    The product has two exact steps, because float64 cannot represent ``2**1073``.
    """
    exponents = np.asarray(exponent, dtype=np.intc)
    half = exponents // 2
    # Underflow of values that are negligible compared with the largest of their column is harmless.
    with np.errstate(under="ignore"):
        scaled: Floats = values * np.ldexp(1.0, half)
        scaled *= np.ldexp(1.0, exponents - half)
    return scaled


def divided_columns(values: Floats, exponent: NDArray[np.intc], size: Floats) -> Floats:
    """Return the columns of an array, with column j divided by ``size[j] * 2**exponent[j]``."""
    found = np.empty(values.shape)
    for rows in in_parts(len(values), max(1, CACHED_ELEMENTS // max(1, values.shape[1]))):
        found[rows] = scale_by_power_of_two(values[rows], -exponent) / size
    return found
