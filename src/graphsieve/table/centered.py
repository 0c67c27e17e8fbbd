"""Inner products between the columns of a table, with mean zero and in common units.

The columns are in memory, either dense or sparse with separate means. If the table is too large,
its samples are sketched: every sample is added to one of a few thousand sums, with a random sign.
The error of an inner product, relative to the product of the column norms, is then about one over
the square root of the number of sums.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property, partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from graphsieve._base.array_types import Floats, Integers
from graphsieve.table.blocks import Block
from graphsieve.table.columns import MemoryTable, Table
from graphsieve.table.indicators import Indicators
from graphsieve.table.mixed import MixedMatrix

MOST_ELEMENTS = 2**26  # values in memory: 512 MiB
# Upper limit of the smaller side of the table, because the first gains need one pass over the table
# per row or column of that side.
MOST_ROWS = 2**12
FEWEST_SUMS = 2**8
PART_ELEMENTS = 2**20  # values of a dense part
# A sparse column with a smaller share of entries than 1/24 is evaluated entry by entry.
FEW_ENTRIES = 24
MOST_COMPARED = 2**11  # columns with which all others are compared
SEED = 20110
SPANNED = 1e-9  # relative size of a direction below which it is rounding error
# Smallest exponent of the factor of a column. The fourth power of 2**-250 does not underflow, and
# a column this small is negligible in any case.
SMALLEST = -250


class ColumnSpace:
    """Columns with mean zero, in units that are common to all of them.

    Parameters
    ----------
    table : Table
        The features. They are not rescaled, so scale them first if their units differ.
    most_elements : int
        The samples are sketched if the table has more values than this.
    most_rows : int
        The samples are sketched if the table has more rows and more columns than this. For a table
        on other machines, more rows are sufficient.

    Attributes
    ----------
    squares : array of shape (n_columns,)
        Squared norm of every column, which is zero for a constant column.
    root : array of shape (n_rows,) or None
        Square roots of the masses of the samples, by which their rows are multiplied. None if all
        masses are 1.
    sketched : bool
        Whether inner products are estimates.
    """

    def __init__(
        self, table: Table, *, most_elements: int = MOST_ELEMENTS, most_rows: int = MOST_ROWS
    ) -> None:
        self.n_columns, self.features = table.n_columns, table.features
        self.n_samples = table.n_samples
        self._sums = _number_of_sums(table, most_elements, most_rows)
        self.sketched = self._sums is not None
        self._signs = _signs(table.n_samples, self._sums) if self._sums is not None else None
        self.n_rows = table.n_samples if self._sums is None else self._sums
        self.root = None if table.weights is None else np.sqrt(table.weights)
        self._means: Floats | None = None
        self._indicators: Indicators | None = None
        self._dense_at: Any = slice(None)  # all columns but the indicators
        if table.is_sparse and self._sums is None:
            self._columns, self._means = _sparse_columns(table)
        else:
            dense, mixed = table, table.mixed
            if (
                mixed is not None
                and self._sums is None
                and self.root is None
                and self.n_rows >= self.n_columns
            ):
                self._dense_at, self._coded_at = mixed.dense_at, mixed.codes_at
                self._indicators = _indicators(mixed, table.top_exponent)
                dense = MemoryTable.trusted(mixed.dense, None)
            self._columns = np.empty((self.n_rows, dense.n_columns))
            centered = partial(
                _centered_and_added,
                top=table.top_exponent,
                signs=self._signs,
                masses=table.weights,
            )
            for part, values in dense.evaluations(centered) if dense.n_columns else ():
                self._columns[:, part] = values
        self.squares = self._squares()

    @property
    def exact(self) -> bool:
        """Whether rows are the samples themselves: no sketch, and no masses."""
        return not self.sketched and self.root is None

    def _squares(self) -> Floats:
        parts = [np.einsum("ij,ij->j", values, values) for _, values in self._stored_parts()]
        squares = np.concatenate(parts) if parts else np.empty(0)
        if self._indicators is None:
            return squares
        return self._joined(squares, self._indicators.squares)

    def _joined(self, dense: Floats, coded: Floats) -> Floats:
        """Return values of the dense columns and of the indicators in the order of the columns."""
        found = np.empty((*dense.shape[:-1], self.n_columns))
        found[..., self._dense_at], found[..., self._coded_at] = dense, coded
        return found

    def project(self, vectors: Floats) -> Floats:
        """Return vectors over the samples as vectors of this space, sketched if the space is.

        The vectors are columns with mean zero, weighted by the masses of the samples.
        """
        if self.root is not None:
            vectors = vectors * self.root[:, None]
        return vectors if self._signs is None else np.asarray(self._signs @ vectors)

    @property
    def _offset(self) -> Any:
        """A column of ones as it appears in this space, by which means are multiplied."""
        return np.ones(self.n_rows) if self.root is None else self.root

    def times(self, weights: Floats, rows: slice = slice(None)) -> Floats:
        """Return the weighted sum of all columns, in some rows."""
        if self._means is not None:
            by_rows = self._columns if rows == slice(None) else self._by_rows[rows]
            offset = self._offset[rows] if weights.ndim == 1 else self._offset[rows, None]
            return np.asarray(by_rows @ weights - offset * (self._means @ weights))
        total = np.asarray(self._columns[rows] @ weights[self._dense_at])
        if self._indicators is not None:
            total += self._indicators.times(weights[self._coded_at], rows)
        return total

    def against(self, vectors: Floats) -> Floats:
        """Return the inner products of vectors, given as rows, with every column."""
        if self._indicators is not None:
            return self._joined(vectors @ self._columns, self._indicators.against(vectors))
        if self._means is None:
            return np.asarray(vectors @ self._columns)
        along = vectors @ self._offset
        return np.asarray((self._columns.T @ vectors.T).T - along[..., None] * self._means)

    @property
    def n_features(self) -> int:
        """The number of features. Some may have several columns."""
        return self.n_columns if self.features is None else len(self.features)

    @property
    def variances(self) -> Floats:
        """Sum of the squared norms of the columns of each feature."""
        return self.squares if self.features is None else self.features.sums(self.squares)

    def columns_of(self, feature: int) -> Integers:
        """Return the positions of the columns of a feature."""
        return np.array([feature]) if self.features is None else self.features.columns(feature)

    def of_columns(self, values: Any) -> Any:
        """Return values of features as values of their columns."""
        return values if self.features is None else values[self.features.owner]

    def columns(self, positions: Integers) -> Floats:
        """Return some columns as a dense array."""
        if self._indicators is not None:
            return self._some_columns(positions, self._indicators)
        if self._means is None:
            return np.array(self._columns[:, positions])
        return self._dense(self._columns[:, positions], self._means[positions])

    def _dense(self, values: Any, means: Floats, rows: slice = slice(None)) -> Floats:
        """Return some rows and columns as a dense array, without the means of the columns."""
        offset = means if self.root is None else np.outer(self.root[rows], means)
        return np.asarray(values.toarray() - offset)

    def _some_columns(self, positions: Integers, indicators: Indicators) -> Floats:
        found = np.empty((self.n_rows, len(positions)))
        coded = np.isin(positions, self._coded_at)
        dense = np.searchsorted(self._dense_at, positions[~coded])
        found[:, ~coded] = self._columns[:, dense]
        found[:, coded] = indicators.columns(np.searchsorted(self._coded_at, positions[coded]))
        return found

    def rows(self, rows: Any) -> Floats:
        """Return some rows of all columns as a dense array, which must not be modified."""
        if self._indicators is not None:
            return self._joined(self._columns[rows], self._indicators.rows(rows))
        if self._means is None:
            return np.asarray(self._columns[rows])
        return self._dense(self._by_rows[rows], self._means, rows)

    @cached_property
    def _by_rows(self) -> Any:
        return self._columns.tocsr()

    @cached_property
    def gram(self) -> Floats:
        """The inner products between all columns, for a table with more rows than columns.

        It must not be modified.
        """
        if self._indicators is None:
            total = np.zeros((self.n_columns, self.n_columns))
            for _, values in self.row_parts():
                total += values.T @ values
            return total
        total = np.empty((self.n_columns, self.n_columns))
        total[np.ix_(self._dense_at, self._dense_at)] = self._columns.T @ self._columns
        mixed = self._indicators.against(self._columns.T)
        total[np.ix_(self._dense_at, self._coded_at)] = mixed
        total[np.ix_(self._coded_at, self._dense_at)] = mixed.T
        total[np.ix_(self._coded_at, self._coded_at)] = self._indicators.gram()
        return total

    def products(self, positions: Integers) -> Floats:
        """Return the inner products of some columns (rows of the result) with every column."""
        if self.n_rows >= self.n_columns:
            return np.asarray(self.gram[positions])
        some = self._columns[:, positions]
        if self._means is None:
            return np.asarray(some.T @ self._columns)
        return np.asarray(
            (some.T @ self._columns).toarray()
            - float(self._offset @ self._offset) * np.outer(self._means[positions], self._means)
        )

    def parts(self) -> Iterator[tuple[slice, Floats]]:
        """Iterate over the columns as dense arrays of a few columns each.

        The arrays must not be modified.
        """
        if self._indicators is None:
            yield from self._stored_parts()
            return
        for part in _slices(self.n_columns, self.n_rows):
            yield part, self.columns(np.arange(part.start, part.stop))

    def _stored_parts(self) -> Iterator[tuple[slice, Floats]]:
        for part in _slices(self._columns.shape[1], self.n_rows):
            values = self._columns[:, part]
            yield (
                part,
                values if self._means is None else self._dense(values, self._means[part]),
            )

    def row_parts(self) -> Iterator[tuple[slice, Floats]]:
        """Iterate over the rows as dense arrays of a few rows and all columns each.

        The arrays must not be modified.
        """
        for rows in self.row_slices():
            yield rows, self.rows(rows)

    def row_slices(self) -> Iterator[slice]:
        """Iterate over groups of a few rows."""
        return _slices(self.n_rows, self.n_columns)

    def kernel(self, weights: Floats) -> Floats:
        """Return the inner products between rows, with weighted columns.

        Columns with zero weight take no time.
        """
        if self._means is None:
            total = np.zeros((self.n_rows, self.n_rows))
            for part, values in self.parts():
                some = weights[part] != 0
                total += (values[:, some] * weights[part][some]) @ values[:, some].T
            return total
        # In (A − omᵀ) W (A − omᵀ)ᵀ, only the product A W Aᵀ needs pairs of entries.
        some = np.flatnonzero(weights)
        columns, means, weights = self._columns[:, some], self._means[some], weights[some]
        product = (columns @ sp.diags_array(weights) @ columns.T).toarray()
        offset, mixed = self._offset, np.asarray(columns @ (weights * means))
        both = np.outer(offset, mixed)
        return np.asarray(
            product - both - both.T + float(weights @ means**2) * np.outer(offset, offset)
        )

    def forms(self, kernel: Floats) -> Floats:
        """Return sᵀ K s for every column s. The kernel K must be one of `kernel`."""
        if self._means is None:
            return np.concatenate(
                [np.einsum("ij,ij->j", values, kernel @ values) for _, values in self.parts()]
            )
        found, width = np.empty(self.n_columns), max(1, PART_ELEMENTS // self.n_rows)
        starts = self._columns.indptr
        few = np.diff(starts) * FEW_ENTRIES < self.n_rows
        for j in np.flatnonzero(few):
            rows, values = (
                kept[starts[j] : starts[j + 1]]
                for kept in (self._columns.indices, self._columns.data)
            )
            found[j] = values @ kernel[np.ix_(rows, rows)] @ values
        many = np.flatnonzero(~few)
        for start in range(0, len(many), width):
            some = many[start : start + width]
            values = self._columns[:, some].toarray()
            found[some] = np.einsum("ij,ij->j", values, kernel @ values)
        return found


def _slices(length: int, width: int) -> Iterator[slice]:
    at_once = max(1, PART_ELEMENTS // width)
    for start in range(0, length, at_once):
        yield slice(start, min(start + at_once, length))


def shared_variances(space: ColumnSpace) -> Floats:
    """Return the variance that each feature explains of all features, one by one.

    It is the sum over all columns of the variance that a regression on a column of the feature
    explains. Divided by the variance of the feature, it is an effective number of similar features.

    Examples
    --------
    The second column repeats the first, so each of them explains the variance of both:

    >>> space = ColumnSpace(MemoryTable([[1, 1, 1], [1, 1, -1], [-1, -1, 1], [-1, -1, -1]]))
    >>> shared_variances(space) / space.variances
    array([2., 2., 1.])
    """
    squares = np.where(space.squares > 0, space.squares, 1.0)
    if space.n_rows >= space.n_columns:
        found = np.einsum("ij,ij->j", space.gram, space.gram) / squares
    else:
        found = space.forms(space.kernel(np.ones(space.n_columns))) / squares
    return found if space.features is None else space.features.sums(found)


def largest_correlations(space: ColumnSpace, *, most_compared: int = MOST_COMPARED) -> Floats:
    """Return the largest absolute correlation of every feature with another feature.

    For features of several columns, it is the largest correlation between their columns. A constant
    feature has the value 0. If there are more columns than `most_compared`, every column
    is compared only with this number of columns, which are those that explain most of the others.
    """
    length = np.sqrt(space.squares)
    compared = np.flatnonzero(length > 0)
    length[length == 0] = np.inf
    if len(compared) > most_compared and space.n_rows < space.n_columns:
        explained = space.forms(space.kernel((space.squares > 0).astype(np.float64))) / length**2
        compared = np.sort(np.argsort(-explained, kind="stable")[:most_compared])
    largest = np.zeros(space.n_columns)
    at_once = max(1, PART_ELEMENTS // space.n_columns)
    for start in range(0, len(compared), at_once):
        some = compared[start : start + at_once]
        correlation = np.abs(space.products(some)) / length / length[some][:, None]
        if space.features is None:
            correlation[np.arange(len(some)), some] = 0.0
        else:
            correlation[space.features.owner[some][:, None] == space.features.owner] = 0.0
        largest = np.maximum(largest, correlation.max(axis=0))
    if space.features is not None:
        largest = np.maximum.reduceat(largest, space.features.starts[:-1])
    return np.minimum(largest, 1.0)


def feature_columns(table: Table, feature: int) -> Floats:
    """Return the columns of a feature as a dense array, centred and in a common unit.

    Rows are multiplied by the square roots of the masses of the samples.
    """
    assert table.features is not None
    part = table.take_columns(table.features.columns(feature))
    top = part.top_exponent
    columns = np.hstack(
        [
            values
            for block in part.blocks()
            for _, values in centered_parts(block, top, part.weights)
        ]
    )
    return columns if part.weights is None else columns * np.sqrt(part.weights)[:, None]


def feature_basis(table: Table, feature: int) -> Floats:
    """Return orthonormal columns that span the columns of a feature as in `feature_columns`."""
    return spanning(feature_columns(table, feature))


def spanning(columns: Floats, least: float = 0.0) -> Floats:
    """Return orthonormal columns with the span of the given columns.

    Directions in which the columns have at most the length `least` are left out.
    """
    if columns.shape[1] == 1:  # The sign must not change.
        length = np.sqrt(float(np.einsum("ij,ij->", columns, columns)))
        return columns / length if length else columns[:, :0]
    # A decomposition of the small factor is much faster than one of the tall columns.
    tall, small = np.linalg.qr(columns)
    rotated, sizes, _ = np.linalg.svd(small)
    kept = sizes > max(least, SPANNED * float(sizes.max(initial=0.0)))
    return np.asarray(tall @ rotated[:, : len(sizes)][:, kept])


def level_codes(table: Table, feature: int) -> Integers:
    """Return the number of the level of each sample, for a category."""
    assert table.features is not None
    part = table.take_columns(table.features.columns(feature))
    values = np.hstack([held for block in part.blocks() for _, held in block.dense_parts()])
    # A category of two levels has one column. The block may have shifted the indicators by 1.
    return np.asarray(values.argmax(axis=1) if values.shape[1] > 1 else (values[:, 0] != 0) * 1)


def centered_parts(
    block: Block, top: int, masses: Floats | None = None
) -> Iterator[tuple[slice, Floats]]:
    """Iterate over the centred columns of a block in units of ``2**top``, a few at a time.

    The means are weighted by the masses of the samples.
    """
    factor = _factor(block, top)
    for part, values in block.dense_parts():
        # The block has already subtracted the value of least magnitude, so an offset costs no
        # digits here.
        centered = values - (
            values.mean(axis=0) if masses is None else masses @ values / masses.sum()
        )
        centered *= np.where(block.constant[part], 0.0, factor[part])
        yield part, centered


def _centered_and_added(block: Block, *, top: int, signs: Any, masses: Floats | None) -> Floats:
    parts = []
    for _, centered in centered_parts(block, top, masses):
        values = centered if masses is None else np.sqrt(masses)[:, None] * centered
        parts.append(values if signs is None else np.asarray(signs @ values))
    return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)


def _factor(block: Block, top: int) -> Floats:
    """Return the factor that converts each column to common units.

    The factor is never zero, so a negligibly small column keeps its direction and can explain
    others.
    """
    # No varying column exceeds `top`. A huge constant may exceed it, and must not overflow before
    # its factor is replaced by zero.
    return np.asarray(np.ldexp(1.0, np.clip(block.exponent - top, SMALLEST, 0)))


def _indicators(mixed: MixedMatrix, top: int) -> Indicators:
    """Return the indicator columns of categories in units of ``2**top``."""
    heights, exponents = np.frexp(mixed.heights)
    heights = np.ldexp(heights, np.clip(exponents - top, SMALLEST, 0))
    return Indicators(mixed.codes, mixed.starts, heights)


def _sparse_columns(table: Table) -> tuple[Any, Floats]:
    top, parts = table.top_exponent, []
    for block in table.blocks():
        values = sp.csc_array(block.values)
        parts.append(values @ sp.diags_array(np.where(block.constant, 0.0, _factor(block, top))))
    columns = sp.csc_array(sp.hstack(parts, format="csc"))
    if table.weights is None:
        return columns, np.asarray(columns.sum(axis=0)).ravel() / columns.shape[0]
    means = np.asarray(table.weights @ columns) / table.weights.sum()
    return sp.csc_array(sp.diags_array(np.sqrt(table.weights)) @ columns), means


def _number_of_sums(table: Table, most_elements: int, most_rows: int) -> int | None:
    """Return the number of sums of the sketch, or None if the table needs no sketch."""
    n_samples, n_columns = table.n_samples, table.n_columns
    held = table.n_entries <= most_elements and min(n_samples, n_columns) <= most_rows
    if held and (table.at_hand or n_samples <= most_rows):
        return None
    sums = max(FEWEST_SUMS, most_elements // n_columns)
    if n_columns > most_rows or not table.at_hand:
        sums = min(sums, most_rows)
    return sums if sums < n_samples else None


def _signs(n_samples: int, n_sums: int) -> Any:
    """Return the matrix that adds every sample to one of the sums with a random sign."""
    random = np.random.default_rng(SEED)
    into, sign = random.integers(n_sums, size=n_samples), random.choice([-1.0, 1.0], size=n_samples)
    return sp.csr_array((sign, (into, np.arange(n_samples))), shape=(n_sums, n_samples))
