"""Identical samples of a table that are copies of each other.

In a table of a few coarse columns, such as answers to three questions, independent samples are
often identical. Identical samples are therefore copies only if a coincidence is unlikely:

- If the columns were independent, the probability that two samples are identical must be below
  1 / m² for m different samples.
- Columns are often dependent, as are answers about one opinion. Coincidences are then accompanied by
  samples that differ in a single value. There must not be more of these than of samples with copies.

A few copies change no result noticeably, so fewer than one in 50 are ignored.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from graphsieve._base.array_types import Booleans, Floats, Integers
from graphsieve.table.blocks import Block
from graphsieve.table.columns import Table

FIRST_COLUMNS = 16  # They distinguish the samples of most tables, so that no other column is read.
GROWTH = 4  # Each group of columns is larger than the previous one by this factor.
MOST_VALUES = 2**20  # values that are hashed at once
FEWEST_COPIES = 0.02  # smallest share of the samples that matters

Hashes = NDArray[np.uint64]


def sets_of_copies(table: Table) -> Integers | None:
    """Return a number for every sample that only its copies share, or None if there are too few.

    The time is proportional to the number of samples if a few columns distinguish all of them, and
    to the number of values otherwise.

    Examples
    --------
    >>> from graphsieve.table.columns import MemoryTable
    >>> X = np.random.default_rng(0).normal(size=(4, 9))
    >>> sets_of_copies(MemoryTable(X[[0, 1, 2, 1, 3]]))
    array([0, 1, 2, 1, 3])
    >>> sets_of_copies(MemoryTable(X)) is None
    True
    """
    sets = _identical(table)
    if sets is None:
        return None
    _, different, times = np.unique(sets, return_index=True, return_counts=True)
    if len(sets) - len(different) < FEWEST_COPIES * len(sets):
        return None
    if not _coincidence_is_unlikely(table, different):
        return None
    return sets if _n_near_copies(table, different) <= (times > 1).sum() else None


def _identical(table: Table) -> Integers | None:
    """Return the same number for identical samples, in order of appearance, or None.

    Identical samples have the same gaps.
    """
    hashes = np.zeros(table.n_samples, dtype=np.uint64)
    if table.gaps is not None:
        entries = table.gaps.tocoo()
        np.add.at(hashes, entries.row, _mixed(_keys(entries.col)))
    if table.is_sparse:
        for _, part in table.evaluations(_block_hashes):
            hashes += part
        return _numbered(hashes)
    rows = np.arange(table.n_samples)
    for columns in _column_groups(table.n_columns):
        step = max(1, MOST_VALUES // len(columns))
        for start in range(0, len(rows), step):
            some = rows[start : start + step]
            hashes[some] += _row_hashes(table.corner(some, columns), columns)
        # Samples that differ from all others are left out of the next columns.
        _, place, times = np.unique(hashes[rows], return_inverse=True, return_counts=True)
        rows = rows[times[place] > 1]
        if not len(rows):
            return None
    return _numbered(hashes)


def _column_groups(n_columns: int) -> list[Integers]:
    """Return groups of growing size that contain every column once. The first is spread out."""
    first = np.unique(np.linspace(0, n_columns - 1, min(n_columns, FIRST_COLUMNS)).astype(int))
    others = np.setdiff1d(np.arange(n_columns), first)
    groups, size, start = [first], FIRST_COLUMNS, 0
    while start < len(others):
        size *= GROWTH
        groups.append(others[start : start + size])
        start += size
    return groups


def _numbered(hashes: Hashes) -> Integers | None:
    _, first, place = np.unique(hashes, return_index=True, return_inverse=True)
    if len(first) == len(hashes):
        return None
    return np.argsort(np.argsort(first))[place].astype(np.int64)


def _row_hashes(values: Any, columns: Integers) -> Hashes:
    """Return the sum of the hashes of all values of a row, modulo 2**64."""
    return np.asarray(_value_hashes(values, columns).sum(axis=1, dtype=np.uint64))


def _value_hashes(values: Any, columns: Integers) -> Hashes:
    """Return a hash of each value and its column."""
    numbers = np.array(values, dtype=np.float64, order="C") + 0.0  # -0.0 becomes 0.0
    return _mixed(numbers.view(np.uint64) + _keys(columns))


def _block_hashes(block: Block) -> Hashes:
    """Return the sums of the hashes of the values of a block. Implicit zeros add nothing."""
    if not block.is_sparse:
        return _row_hashes(block.values, np.arange(block.start, block.stop))
    held = block.values
    owner = np.repeat(np.arange(block.start, block.stop), np.diff(held.indptr))
    total = np.zeros(block.n_samples, dtype=np.uint64)
    np.add.at(total, held.indices, _value_hashes(held.data, owner))
    return total


def _keys(columns: Integers) -> Hashes:
    return (columns + 1).astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)


def _mixed(numbers: Hashes) -> Hashes:
    """Return a pseudorandom number for each number (the last steps of SplitMix64)."""
    numbers ^= numbers >> np.uint64(30)
    numbers *= np.uint64(0xBF58476D1CE4E5B9)
    numbers ^= numbers >> np.uint64(27)
    numbers *= np.uint64(0x94D049BB133111EB)
    numbers ^= numbers >> np.uint64(31)
    return numbers


def content_hashes(values: Floats, observed: Booleans) -> tuple[Hashes, Hashes]:
    """Return a number for each row and for each column that depends only on its observed values.

    Neither depends on the order of the rows or columns.
    """
    bits = (np.where(observed, values, 0.0) + 0.0).view(np.uint64)
    of_columns = np.where(observed, _mixed(bits.copy()), 0).sum(axis=0, dtype=np.uint64)
    in_columns = _mixed(bits + of_columns)
    return np.where(observed, in_columns, 0).sum(axis=1, dtype=np.uint64), of_columns


def drawn_places(rows: Hashes, column: Hashes, number: int) -> Integers:
    """Return a pseudorandom number below `number` for each row, given hashes of its contents."""
    return np.asarray(_mixed(rows + column) % np.uint64(number)).astype(np.int64)


def _coincidence_is_unlikely(table: Table, different: Integers) -> bool:
    """Whether two samples are identical with a probability below 1 / m², for independent columns.

    Columns are read until this is certain. Columns that order the samples in the same way, or in
    the reverse way, count once, because they are not independent.
    """
    pairs, seen = float(len(different) ** 2), set[int]()
    for columns in _column_groups(table.n_columns):
        form = partial(_agreement, different=different)
        for _, (orders, shares) in table.take_columns(columns).evaluations(form):
            for order, share in zip(orders.tolist(), shares.tolist(), strict=True):
                if order not in seen:
                    seen.add(order)
                    pairs *= share
        if pairs < 1:
            return True
    return False


def _n_near_copies(table: Table, different: Integers) -> int:
    """Return the number of different samples that differ from another one in a single column.

    Columns that order the samples in the same way, or in the reverse way, count as one.
    """
    first: dict[int, int] = {}
    n_distinguishing = 0
    for columns in _column_groups(table.n_columns):
        form = partial(_agreement, different=different)
        for part, (orders, shares) in table.take_columns(columns).evaluations(form):
            found = zip(columns[part].tolist(), orders.tolist(), shares.tolist(), strict=True)
            for column, order, share in found:
                if first.setdefault(order, column) == column:
                    n_distinguishing += share * len(different) < 1.5
        if n_distinguishing >= 2:  # All samples differ in two columns at least.
            return 0
    some = table.take_columns(np.array(sorted(first.values()), dtype=np.int64))
    hashes = np.zeros(len(different), dtype=np.uint64)
    for _, own in some.evaluations(_block_hashes):
        hashes += own[different]
    near = np.zeros(len(different), dtype=bool)
    for _, of_block in some.evaluations(partial(_near, different=different, hashes=hashes)):
        near |= of_block
    return int(near.sum())


def _near(block: Block, *, different: Integers, hashes: Hashes) -> Booleans:
    """Whether each sample is identical to another one after a column of the block is left out.

    `hashes` are those of all columns. Implicit zeros add nothing to them.
    """
    near = np.zeros(len(different), dtype=bool)
    if block.is_sparse:
        held = sp.csc_array(sp.csr_array(block.values)[different])
        order = np.argsort(hashes)
        for column in range(block.width):
            part = slice(*held.indptr[column : column + 2])
            rows, owner = held.indices[part], np.array([block.start + column])
            left = hashes[rows] - _value_hashes(held.data[part], owner)
            near[rows] |= _repeated(left)
            # The other sample may have a zero in this column.
            place = np.searchsorted(hashes, left, sorter=order)
            other = order[np.minimum(place, len(order) - 1)]
            equal = hashes[other] == left
            near[rows[equal]] = near[other[equal]] = True
        return near
    for part, dense in block.dense_parts():
        columns = block.start + np.arange(part.start, part.stop)
        for left in (hashes[:, None] - _value_hashes(dense[different], columns)).T:
            near |= _repeated(left)
    return near


def _repeated(hashes: Hashes) -> Booleans:
    """Whether each hash occurs more than once."""
    _, place, times = np.unique(hashes, return_inverse=True, return_counts=True)
    return np.asarray(times[place] > 1)


def _agreement(block: Block, *, different: Integers) -> tuple[Hashes, Floats]:
    """Return a hash of the order of the samples, and the share of pairs with equal values.

    There is one of each for every column. The hash is the same for the reverse order.
    """
    weights = _mixed(_keys(np.arange(len(different))))
    orders, shares = np.empty(block.width, dtype=np.uint64), np.empty(block.width)
    if block.is_sparse:
        held, ones = (
            sp.csc_array(sp.csr_array(block.values)[different]),
            np.ones(len(different) + 1),
        )
        for column in range(block.width):
            part = slice(*held.indptr[column : column + 2])
            own = weights[held.indices[part]]
            # All implicit zeros are one entry.
            values = np.append(held.data[part], 0.0)
            times = ones[: len(values)].copy()
            times[-1] = len(different) - len(own)
            own = np.append(own, weights.sum() - own.sum(keepdims=True))
            orders[column], shares[column] = _order_and_share(values, times, own)
        return orders, shares
    ones = np.ones(len(different))
    for part, dense in block.dense_parts():
        for column, values in enumerate(dense[different].T, start=part.start):
            orders[column], shares[column] = _order_and_share(values, ones, weights)
    return orders, shares


def _order_and_share(values: Floats, times: Floats, weights: Hashes) -> tuple[np.uint64, float]:
    """Return the hash and the share of one column, given the number of samples of each entry."""
    sorting = np.argsort(values, kind="stable")
    begins = np.flatnonzero(np.diff(values[sorting], prepend=-np.inf))
    totals = np.add.reduceat(times[sorting], begins)
    # An entry of no samples has no place in the order.
    hashes = np.add.reduceat(weights[sorting], begins)[totals > 0]
    places = np.arange(len(hashes), dtype=np.uint64)
    order = min((places * hashes).sum(), (places[::-1] * hashes).sum())
    return order, float(((totals / totals.sum()) ** 2).sum())
