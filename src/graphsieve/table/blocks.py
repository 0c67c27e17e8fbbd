"""Blocks: a few columns of a table, scaled and shifted so that sums over them lose no digits.

Every sum in graphsieve is taken over a `Block`, which holds a few columns in float64. Each column
is scaled by a power of two, which is exact, so that its largest magnitude is about 1. It is then
shifted by its value of least magnitude.

An offset of 1e8, a scale of 1e-300 or values whose squares overflow therefore make no difference.
All quadratic forms are invariant to shifts, and their ratios are invariant to scales.
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
from graphsieve._kernels.column_sums import Numbers, column_extremes, readable

BLOCK_ELEMENTS = 2**22  # numbers in one block: 32 MiB of float64
# Columns that are scaled in one step: 2**1000 and its inverse are float64.
LARGEST_EXPONENT = 1000
# Numbers whose squares neither overflow nor vanish, nor those of their differences.
ORDINARY_EXPONENT = 100

# A number for every column of a block, or several: the last axis is that of the columns.
Form = Callable[["Block"], Any]


@dataclass(frozen=True)
class Block:
    """Columns ``start:stop`` of a table as ``original = (values + shift) * 2**exponent``.

    Here `held` is the array of values, in C order. Other kinds of blocks hold other data and make
    the values from it when they are needed.
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
        """The values of a dense block as sums read them, without making them."""
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
        """Other values of the same features: one row for each of other samples."""
        return Block(self.start, self.stop, values, self.shift, self.exponent, self.constant)

    def parts(self, width: int) -> Iterator[Block]:
        """The same columns, at most `width` at a time."""
        for start in range(0, self.width, width):
            yield self._part(slice(start, min(start + width, self.width)))

    def dense_parts(self) -> Iterator[tuple[slice, Floats]]:
        """The values as dense arrays of a few columns each."""
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
    """A block that holds the original columns. Compiled sums scale and shift them while reading."""

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
    """A block that holds a CSC matrix. Its implicit zeros are zeros of the values."""

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
    """A block of the given fresh array, which is overwritten."""
    low, high, least = column_extremes(values)
    exponent = exponents_above(np.maximum(np.abs(high), np.abs(low)))
    values = scale_by_power_of_two(values, -exponent)
    # The value of least magnitude is the one shift that costs no value a digit: nothing where the
    # column passes near zero, all of the offset where it does not. A constant column becomes
    # exactly zero.
    shift = scale_by_power_of_two(least, -exponent)
    values -= shift
    return Block(start, start + values.shape[1], values, shift, exponent, high == low)


def unread_block(part: NDArray[Any], extremes: Floats, start: int) -> Block | None:
    """A block of columns that are scaled and shifted when they are read, as `dense_block` does;
    None if that takes two steps.
    """
    low, high, least = extremes
    exponent = exponents_of(extremes)
    if np.abs(exponent).max() > LARGEST_EXPONENT:
        return None
    with np.errstate(under="ignore"):
        shift = least * np.ldexp(1.0, -exponent)
    return UnreadBlock(start, start + part.shape[1], part, shift, exponent, high == low)


def sparse_block(part: Any, start: int) -> SparseBlock:
    """A block of some columns of a CSC matrix."""
    n_samples, width = part.shape
    filled = np.diff(part.indptr)
    owner = np.repeat(np.arange(width), filled)
    largest = np.zeros(width)
    np.maximum.at(largest, owner, np.abs(part.data))
    exponent = exponents_above(largest)
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
    return SparseBlock(start, start + width, values, shift, exponent, np.diff(values.indptr) == 0)


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
        return SparseBlock(*ends, values, shift, exponent, never)
    part = piece[:, columns]
    if readable(part) and np.abs(exponent).max() <= LARGEST_EXPONENT:
        return UnreadBlock(*ends, part, shift, exponent, never)
    return Block(*ends, dense_values(part, exponent, shift), shift, exponent, never)


def replace_start(block: Block, start: int) -> Block:
    """The same block, whose columns are counted from `start` on."""
    return replace(block, start=start + block.start, stop=start + block.stop)


def dense_values(part: Any, exponent: NDArray[np.intc], shift: Floats) -> Any:
    """Columns, scaled and shifted; dense, whatever they were."""
    dense = part.toarray() if sp.issparse(part) else part
    values = scale_by_power_of_two(np.array(dense, dtype=np.float64, order="C"), -exponent)
    values -= shift
    return values


def scaled_range(extremes: Floats, exponent: NDArray[np.intc], shift: Floats) -> Floats:
    """The range of every column from its extremes, with the bits that its values would give."""
    low, high = scale_by_power_of_two(extremes[:2], -exponent) - shift
    return np.asarray(high - low)


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


def unit_exponent(largest: int) -> int:
    """The power of two that a table is divided by where distances are taken, given that of its
    largest magnitude.
    """
    return 0 if abs(largest) <= ORDINARY_EXPONENT else largest


def exponents_of(extremes: Floats) -> NDArray[np.intc]:
    """The power of two just above the largest magnitude of every column, given its smallest and
    its largest value.
    """
    return exponents_above(np.maximum(np.abs(extremes[0]), np.abs(extremes[1])))


def exponents_above(largest: Floats) -> NDArray[np.intc]:
    """The power of two just above each magnitude."""
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
