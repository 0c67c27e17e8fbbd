"""Tables of features: the interface of all tables, and the table in memory.

Scores, graphs and searches depend only on `Table`. `MemoryTable` holds its values in memory.
`StoredTable` (`table.stored`) reads them in pieces. Both provide their columns as blocks
(`table.blocks`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from functools import cached_property
from typing import Any, Protocol, Self, cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from graphsieve._base.array_types import Booleans, Floats, Integers
from graphsieve._base.errors import InputError
from graphsieve._base.messages import parameter
from graphsieve._kernels.column_sums import column_extremes, readable
from graphsieve.table.blocks import (
    BLOCK_ELEMENTS,
    Block,
    Form,
    dense_block,
    divided_columns,
    exponents_above,
    exponents_of,
    replace_start,
    scale_by_power_of_two,
    sparse_block,
    unit_exponent,
    unread_block,
)
from graphsieve.table.containers import (
    Categorical,
    column_label,
    read_matrix,
    sums_are_finite,
)
from graphsieve.table.features import Features
from graphsieve.table.gaps import (
    Gaps,
    RowsWithGaps,
    filled,
    gaps_in,
    gaps_of_features,
    patterns,
    with_nan,
)
from graphsieve.table.mixed import MixedMatrix

NO_EXPONENT = -(2**15)  # exponent of zero, below the exponent of any other number
DENSE_FROM = 0.3  # share of nonzero values above which a dense block is faster
# Minimum number of columns that are read together without a copy. Most tables have fewer columns,
# so that their rows are read completely.
WIDE = 512
MOST_DENSE = 2**27  # values of a sparse table with gaps that may become dense: 1 GiB


class Geometry(Protocol):
    """The positions of the samples, for a table with distances other than those of its rows."""

    @property
    def rows(self) -> tuple[Any, int]:
        """The positions, in the form of `Table.rows`."""

    @property
    def n_compared(self) -> int:
        """The number of features in the distances, in the form of `Table.n_compared`."""

    def nearest(
        self, n_neighbors: int, queries: Integers | None, candidates: Integers | None
    ) -> tuple[Integers, Floats]:
        """Search neighbours as in `graphsieve.graphs.neighbors.nearest.nearest_neighbors`."""


class Table(ABC):
    """A matrix of samples × features, which is checked once.

    Attributes
    ----------
    n_samples, n_columns : int
        The shape of the table.
    features : Features or None
        The columns of each feature, or None if every column is a feature.
    mixed : MixedMatrix or None
        The values of a large table with categories in memory, otherwise None.
    is_sparse : bool
        Whether the values are a sparse matrix.
    feature_names : tuple of str or None
        The names of the features.
    geometry : Geometry or None
        The positions of the samples, or None if distances are those between the rows.
    compressed : object or None
        The prototypes from which graphs are built (`graphs.prototypes.Compressed`).
    at_hand : bool
        Whether this process has or reads the values. The values of a cluster should stay there.
    most_held : int
        Maximum number of values that may be extracted from the table in one step.
    n_entries : int
        Number of values, or of nonzero values for a sparse table.
    weights : array of shape (n_samples,) or None
        Masses of the samples in means and graphs, or None if all are 1.
    gaps : sparse matrix of bool, or None
        The missing cells, or None if all cells are observed. The values of missing cells are finite
        and must not influence results.
    """

    n_samples: int
    n_columns: int
    is_sparse: bool
    feature_names: tuple[str, ...] | None
    at_hand: bool
    most_held: int
    n_entries: int
    features: Features | None = None
    mixed: MixedMatrix | None = None
    geometry: Geometry | None = None
    compressed: Any = None
    weights: Floats | None = None
    gaps: Gaps | None = None

    @abstractmethod
    def _same(self) -> Self:
        """Return a table of the same values, names and weights, without geometry and prototypes."""

    def weighted_by(self, weights: Floats | None) -> Self:
        """Return the same table with masses of the samples."""
        table = self._same()
        table.weights = weights
        return table

    def complete(self) -> Self:
        """Return the same table with medians in place of missing cells, as if they were observed."""
        if self.gaps is None:
            return self
        table = self._same()
        table.gaps = None
        return table

    @property
    def masses(self) -> Floats:
        """The masses of the samples, 1 by default."""
        return np.ones(self.n_samples) if self.weights is None else self.weights

    def _weights_of(self, rows: NDArray[Any]) -> Floats | None:
        return None if self.weights is None else self.weights[rows]

    @property
    def n_features(self) -> int:
        """The number of features. Some may have several columns."""
        return self.n_columns if self.features is None else len(self.features)

    @abstractmethod
    def take(self, rows: NDArray[Any]) -> Table:
        """Return the table of the given rows."""

    @abstractmethod
    def take_columns(self, columns: NDArray[Any]) -> Table:
        """Return the table of the given columns, each of which is a feature."""

    def take_features(self, features: NDArray[Any]) -> Table:
        """Return the table of the given features."""
        if self.features is None:
            return self.take_columns(features)
        table = self.take_columns(self.features.columns_of(features))
        table.features = self.features.take(features)
        names = self.feature_names
        table.feature_names = None if names is None else tuple(names[j] for j in features)
        return table

    def grouped(self, features: Features | None, names: tuple[str, ...] | None) -> Self:
        """Return the same table with other features and their names."""
        table = self._same()
        table.features, table.feature_names = features, names
        return table

    @abstractmethod
    def divided(self, exponent: NDArray[np.intc], size: Floats) -> Table:
        """Return the table with column j divided by ``size[j] * 2**exponent[j]``.

        Zeros remain zeros.
        """

    @abstractmethod
    def corner(self, rows: NDArray[Any], columns: NDArray[Any] | None = None) -> Any:
        """Return some rows of some or all columns in their original units.

        No larger array is created in the process.
        """

    @property
    @abstractmethod
    def matrix(self) -> Any:
        """The values as an array or a CSC matrix. A stored table raises an error."""

    @property
    @abstractmethod
    def with_nan(self) -> Any:
        """The values of `matrix`, with NaN in missing cells."""

    @abstractmethod
    def in_memory(self) -> Iterator[tuple[Integers, MemoryTable]]:
        """Iterate over parts of the table that fit into memory, each with its features."""

    def observed_parts(self) -> Iterator[tuple[Integers, Booleans, MemoryTable]]:
        """Iterate over features with the same gaps.

        Each item contains the features, the samples where they are observed, and the table of these
        features for all samples, in which missing cells count as observed.
        """
        for features, part in self.in_memory():
            complete = part.complete()
            if part.gaps is None:
                yield features, np.ones(self.n_samples, dtype=bool), complete
                continue
            for alike, observed in patterns(gaps_of_features(part.gaps, part.features)):
                yield features[alike], observed, complete.take_features(alike)

    @abstractmethod
    def gap_values(self) -> Floats:
        """Return the value in the missing cells of each column. It has no meaning without any."""

    @abstractmethod
    def need_memory(self) -> None:
        """Raise an error if the values are not in memory."""

    @abstractmethod
    def blocks(self) -> Iterator[Block]:
        """Iterate over blocks of a few columns, from left to right."""

    @abstractmethod
    def wide_blocks(self) -> Iterator[Block]:
        """Iterate over blocks of many columns, for forms that do not access `Block.values`."""

    @abstractmethod
    def evaluations(self, form: Form, *, wide: bool = False) -> Iterator[tuple[slice, Any]]:
        """Iterate over the columns of each block and the result of the form for them."""

    @property
    @abstractmethod
    def only_block(self) -> Block | None:
        """The block of a dense table that consists of a single block, otherwise None."""

    @property
    @abstractmethod
    def rows(self) -> tuple[Any, int]:
        """All samples for distances, multiplied by ``2**-exponent``, and the exponent.

        The rows are a float64 array in C order, a CSR matrix, or `StoredRows`. They must not be
        modified, because they may be X itself if its values need no scaling.
        """

    @abstractmethod
    def column_exponents(self) -> NDArray[np.intc]:
        """Return the exponent of the power of two just above the largest magnitude of each column.

        It is `NO_EXPONENT` for a column of zeros.
        """

    @property
    @abstractmethod
    def smallest(self) -> float:
        """The smallest value. A sparse table in memory ignores its implicit zeros."""

    @abstractmethod
    def entries_by_row(self) -> Integers:
        """Return the number of nonzero values in every row."""

    def evaluated(self, form: Form, *, wide: bool = False) -> Any:
        """Return the results of the form for all columns.

        Wide blocks are suitable for a form that needs only sums.
        """
        return np.concatenate([found for _, found in self.evaluations(form, wide=wide)], axis=-1)

    @cached_property
    def top_exponent(self) -> int:
        """The largest exponent of the columns that vary."""
        exponents = [block.exponent[~block.constant] for block in self.wide_blocks()]
        return int(max((part.max() for part in exponents if len(part)), default=0))

    def label(self, column: int) -> str:
        """Return the name of the feature of a column for messages."""
        return self.label_of_feature(
            column if self.features is None else int(self.features.owner[column])
        )

    def label_of_feature(self, position: int) -> str:
        """Return the name of a feature for messages."""
        return column_label(self.feature_names, position)

    def named(self, names: tuple[str, ...] | None) -> Self:
        """Return the same table with other names of the features."""
        table = self._same()
        table.feature_names = names
        return table

    @property
    def n_compared(self) -> int:
        """The number of features in the distances between samples.

        The rows may have additional columns, which are not features.
        """
        return self.n_features if self.geometry is None else self.geometry.n_compared

    def within(self, geometry: Geometry) -> Self:
        """Return the same table with the distances of `geometry`."""
        table = self._same()
        table.geometry = geometry
        return table

    def represented_by(self, compressed: Any) -> Self:
        """Return the same table with prototypes.

        Graphs are then built from the kept samples and prototypes of a `prototypes.Compressed`.
        """
        table = self._same()
        table.compressed = compressed
        return table


class MemoryTable(Table):
    """A table with its values in memory.

    Parameters
    ----------
    X : array, sparse matrix or data frame of shape (n_samples, n_features)
        Real numbers. They must be finite, but values may be missing. X is never modified.
    categorical : {"auto", None} or sequence
        The categories: columns that are not numeric, none, or some names or positions of columns.
    missing : {"use", "refuse"}
        Whether missing values are accepted.
    block_elements : int
        Maximum number of values in one block. Results do not depend on it.
    """

    at_hand = True

    def __init__(
        self,
        X: Any,
        *,
        categorical: Categorical = "auto",
        missing: str = "refuse",
        block_elements: int = BLOCK_ELEMENTS,
    ) -> None:
        found = read_matrix(X, self._all_finite, categorical, missing=missing)
        if found.gaps is not None or found.features is not None:
            self.__dict__.pop("_extremes", None)  # The extremes are those of the values as given.
        self._hold(found.matrix, found.names, block_elements)
        self.features, self.gaps = found.features, found.gaps

    @classmethod
    def trusted(
        cls,
        matrix: Any,
        names: tuple[str, ...] | None,
        *,
        block_elements: int = BLOCK_ELEMENTS,
        features: Features | None = None,
    ) -> MemoryTable:
        """Return a table of values that another table has already checked."""
        table = cls.__new__(cls)
        table._hold(matrix, names, block_elements)
        table.features = features
        return table

    @classmethod
    def of_values(cls, values: Any, features: Features | None = None) -> MemoryTable:
        """Return a table of checked values, in which NaN marks missing cells."""
        matrix, gaps = filled(sp.csc_array(values) if sp.issparse(values) else values)
        table = cls.trusted(matrix, None, features=features)
        table.gaps = gaps
        return table

    @property
    def with_nan(self) -> Any:
        """The values as an array or a CSC matrix, with NaN in missing cells."""
        return with_nan(self._matrix, self.gaps)

    def in_memory(self) -> Iterator[tuple[Integers, MemoryTable]]:
        yield np.arange(self.n_features), self

    def take_features(self, features: NDArray[Any]) -> MemoryTable:
        return cast(MemoryTable, super().take_features(features))

    def gap_values(self) -> Floats:
        values = np.zeros(self.n_columns)
        if self.gaps is not None:
            columns = np.flatnonzero(np.diff(self.gaps.indptr))
            rows = self.gaps.indices[self.gaps.indptr[columns]]
            if self.mixed is None:
                values[columns] = self._matrix[rows, columns]
            else:
                for row, column in zip(rows.tolist(), columns.tolist(), strict=True):
                    values[column] = self.mixed.part([row], [column])[0, 0]
        return values

    def _hold(self, matrix: Any, names: tuple[str, ...] | None, block_elements: int) -> None:
        self.feature_names, self._block_elements = names, block_elements
        self.n_samples, self.n_columns = map(int, matrix.shape)
        if isinstance(matrix, MixedMatrix):
            if self.n_samples * self.n_columns <= block_elements:
                matrix = matrix.array
            else:
                self.mixed = matrix
        self._values = matrix
        self.is_sparse = bool(sp.issparse(matrix))
        self.most_held = self.n_samples * self.n_columns
        self.n_entries = int(matrix.nnz) if self.is_sparse else self.most_held
        # whether compiled sums can read the columns
        self._readable = readable(matrix if self.mixed is None else self.mixed.part([0], [0]))

    def _same(self) -> MemoryTable:
        return self._with_matrix(self._values)

    @property
    def _matrix(self) -> Any:
        """The values as an array or a CSC matrix."""
        return self._values if self.mixed is None else self.mixed.array

    def _with_matrix(self, matrix: Any) -> MemoryTable:
        """Return the table of other values of the same features and samples."""
        table = MemoryTable.trusted(
            matrix,
            self.feature_names,
            block_elements=self._block_elements,
            features=self.features,
        )
        table.weights, table.gaps = self.weights, self.gaps
        return table

    def within(self, geometry: Geometry) -> MemoryTable:
        table = super().within(geometry)
        table.only_block = self.only_block
        return table

    def represented_by(self, compressed: Any) -> MemoryTable:
        table = super().represented_by(compressed)
        table.only_block = self.only_block
        return table

    @property
    def matrix(self) -> Any:
        return self._matrix

    def need_memory(self) -> None:
        pass

    def take(self, rows: NDArray[Any]) -> MemoryTable:
        matrix: Any
        if self.mixed is not None:
            matrix = self.mixed.take(rows)
        elif self.is_sparse:
            matrix = sp.csc_array(sp.csr_array(self._matrix)[rows])
        else:
            matrix = self._matrix[rows]
        table = self._with_matrix(matrix)
        table.weights, table.gaps = self._weights_of(rows), gaps_in(self.gaps, rows)
        return table

    def take_columns(self, columns: NDArray[Any]) -> MemoryTable:
        known = self.feature_names is not None and self.features is None
        names = tuple(self.feature_names[j] for j in columns) if known else None  # type: ignore[index]
        if self.mixed is not None:
            matrix = self.mixed.part(slice(None), columns)
        elif self.is_sparse:
            matrix = self._matrix[:, columns]
        else:
            matrix = np.take(self._matrix, columns, axis=1)
        table = MemoryTable.trusted(matrix, names, block_elements=self._block_elements)
        table.weights, table.gaps = self.weights, gaps_in(self.gaps, columns=columns)
        whole = self.only_block
        # Each column has its own scale and shift, so the computed ones are reused.
        if whole is not None:
            table.only_block = Block(
                0,
                len(columns),
                np.take(whole.values, columns, axis=1),
                whole.shift[columns],
                whole.exponent[columns],
                whole.constant[columns],
            )
        return table

    def divided(self, exponent: NDArray[np.intc], size: Floats) -> MemoryTable:
        if self.mixed is not None:
            return self._with_matrix(self.mixed.divided(exponent, size))
        if self.is_sparse:
            owner = np.repeat(np.arange(self.n_columns), np.diff(self._matrix.indptr))
            data = scale_by_power_of_two(self._matrix.data, -exponent[owner]) / size[owner]
            matrix = sp.csc_array(
                (data, self._matrix.indices, self._matrix.indptr), shape=self._matrix.shape
            )
        else:
            matrix = divided_columns(self._matrix, exponent, size)
        return self._with_matrix(matrix)

    def corner(self, rows: NDArray[Any], columns: NDArray[Any] | None = None) -> Any:
        if self.mixed is not None:
            return self.mixed.part(rows, slice(None) if columns is None else columns)
        if columns is None:
            return self._matrix[rows]
        if self.is_sparse:
            return self._matrix[:, columns][rows].toarray()
        return self._matrix[np.ix_(rows, columns)]

    def blocks(self) -> Iterator[Block]:
        if self.only_block is not None:
            return iter((self.only_block,))
        return self._sparse_blocks() if self.is_sparse else self._dense_blocks()

    def wide_blocks(self) -> Iterator[Block]:
        if self.only_block is None and self._readable and self.mixed is None:
            return self._dense_blocks(WIDE)
        return self.blocks()

    def evaluations(self, form: Form, *, wide: bool = False) -> Iterator[tuple[slice, Any]]:
        for block in self.wide_blocks() if wide else self.blocks():
            yield slice(block.start, block.stop), form(block)

    @cached_property
    def top_exponent(self) -> int:
        if not self._readable:
            return super().top_exponent
        low, high, _ = self._extremes
        return int(max(exponents_of(self._extremes)[low < high], default=0))

    @cached_property
    def only_block(self) -> Block | None:
        few = self.most_held <= self._block_elements
        return next(self._dense_blocks(), None) if few and not self.is_sparse else None

    @property
    def smallest(self) -> float:
        values = self._matrix.data if self.is_sparse else self._matrix
        return float(values.min()) if values.size else 0.0

    def entries_by_row(self) -> Integers:
        if self.is_sparse:  # The matrix stores no explicit zeros.
            return np.bincount(self._matrix.indices, minlength=self.n_samples).astype(np.int64)
        return np.asarray(np.count_nonzero(self._matrix, axis=1), dtype=np.int64)

    def column_exponents(self) -> NDArray[np.intc]:
        if self._readable:
            low, high, least = self._extremes
            zero = (low == high) & (least == 0)
            return np.where(zero, NO_EXPONENT, exponents_of(self._extremes)).astype(np.intc)
        return np.concatenate(
            [
                np.where(block.constant & (block.shift == 0), NO_EXPONENT, block.exponent)
                for block in self.blocks()
            ]
        ).astype(np.intc)

    @cached_property
    def rows(self) -> tuple[Any, int]:
        if self.geometry is not None:
            return self.geometry.rows
        exponent = unit_exponent(self._largest_exponent())
        if self.gaps is not None:
            return self._rows_with_gaps(exponent), exponent
        if not self.is_sparse:
            rows = np.require(self._matrix, np.float64, ["C_CONTIGUOUS", "ALIGNED"])
            return scale_by_power_of_two(rows, -exponent) if exponent else rows, exponent
        sparse = sp.csr_array(self._matrix)
        if exponent:
            sparse.data = scale_by_power_of_two(sparse.data, -exponent)
        return sparse, exponent

    def _rows_with_gaps(self, exponent: int) -> RowsWithGaps:
        assert self.gaps is not None
        values = np.array(self.dense().matrix, dtype=np.float64, order="C")
        values = scale_by_power_of_two(values, -exponent)
        # All missing cells of a column hold the same value. They become 0.
        entries = self.gaps.tocoo()
        center = np.median(values, axis=0)
        center[entries.col] = values[entries.row, entries.col]
        values -= center
        return RowsWithGaps(values, ~self.gaps.toarray(), self.features)

    def dense(self) -> MemoryTable:
        """Return the table with a dense matrix, for the few methods that need one for gaps."""
        if not self.is_sparse:
            return self
        if self.most_held > MOST_DENSE:
            raise InputError(
                parameter("X"),
                f" has missing values in a sparse matrix of {self.n_samples} × {self.n_columns}, "
                "which is too large for this method; impute them first.",
            )
        return self._with_matrix(self._matrix.toarray())

    def _largest_exponent(self) -> int:
        """Return the exponent of the power of two just above the largest magnitude."""
        if self._readable:
            low, high = self._extremes[:2]
        else:
            low = high = self._matrix.data if self.is_sparse else self._matrix
        largest = max(float(high.max(initial=0)), -float(low.min(initial=0)))
        return int(exponents_above(np.asarray(largest)))

    @cached_property
    def _extremes(self) -> Floats:
        return column_extremes(self._matrix) if self.mixed is None else self.mixed.extremes()

    def _all_finite(self, matrix: NDArray[Any]) -> bool:
        """Whether all values are finite.

        The extremes of the columns are kept if sums will need them, so that X is read only once.
        """
        if not readable(matrix):
            return sums_are_finite(matrix)
        self._extremes = column_extremes(matrix)
        return bool(np.isfinite(self._extremes).all())

    def _dense_blocks(self, at_least: int = 1) -> Iterator[Block]:
        width = max(at_least, self._block_elements // self.n_samples)
        for start in range(0, self.n_columns, width):
            columns = slice(start, start + width)
            part = (
                self._matrix[:, columns]
                if self.mixed is None
                else self.mixed.part(slice(None), columns)
            )
            block = (
                unread_block(part, self._extremes[:, columns], start) if self._readable else None
            )
            yield block or dense_block(np.array(part, dtype=np.float64, order="C"), start)

    def _sparse_blocks(self) -> Iterator[Block]:
        matrix, start = self._matrix, 0
        # Sums over edges multiply the entries of a sparse block by about the number of neighbours,
        # so the block is smaller.
        entries = max(1, self._block_elements // 16)
        # Some results are dense even if the columns are almost empty, so the width is limited too.
        widest = max(1, 16 * self._block_elements // self.n_samples)
        while start < self.n_columns:
            last = np.searchsorted(matrix.indptr, matrix.indptr[start] + entries, side="right")
            stop = min(max(int(last) - 1, start + 1), start + widest, self.n_columns)
            part = matrix[:, start:stop]
            size = part.shape[0] * part.shape[1]
            if part.nnz / size > DENSE_FROM and size <= self._block_elements:
                yield dense_block(np.ascontiguousarray(part.toarray()), start)
            else:
                yield sparse_block(part, start)
            start = stop


def on_columns(block: Block, form: Form) -> Any:
    """Return the results of a form for a stored block, computed for a few columns at a time.

    The form runs where the columns are read, possibly on another machine.
    """
    return np.concatenate([found for _, found in by_columns(block, form)], axis=-1)


def by_columns(block: Block, form: Form) -> Iterator[tuple[slice, Any]]:
    """Iterate over the groups of columns of a stored block and the result of the form for each."""
    groups = block.held.column_groups(block.start, block.stop)
    starts = [group.start for group in groups]
    for found in block.held.over_columns(groups, _on_read_columns, starts, shared=(form,)):
        yield from found


def _on_read_columns(piece: Any, start: int, form: Form) -> list[tuple[slice, Any]]:
    blocks = (replace_start(block, start) for block in MemoryTable.trusted(piece, None).blocks())
    return [(slice(block.start, block.stop), form(block)) for block in blocks]
