"""Missing cells of a table.

A table with missing cells still holds a number in every cell, so that all algorithms can read it:
the gaps of a column are filled with the median of its observed values. Scores ignore the filled
cells, because `Table.gaps` marks them. Users never see the filled values.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from graphsieve._base.array_types import Booleans, Floats, Integers
from graphsieve.table.features import Features

# A feature with fewer observed values is treated as constant. Two different values are
# always perfectly correlated with any two others.
FEWEST_OBSERVED = 3
COLUMNS_AT_ONCE = 32  # columns that are copied to find their medians

Gaps = Any  # a CSC matrix of bool, True where a cell is missing


def filled(matrix: Any) -> tuple[Any, Gaps | None]:
    """Return the matrix with medians in place of NaN, and its gaps.

    A matrix without NaN is returned as it is, with None. The given matrix is not modified.
    """
    return _filled_sparse(matrix) if sp.issparse(matrix) else _filled_dense(matrix)


def filled_alike(matrix: Any, *others: Any) -> list[Any]:
    """Return several matrices with NaN replaced by the medians of the columns of the first one."""
    sparse = [sp.issparse(one) for one in (matrix, *others)]
    found = [
        sp.csc_array(one) if is_sparse else one
        for one, is_sparse in zip((matrix, *others), sparse, strict=True)
    ]
    if not any(np.isnan(one.data if sp.issparse(one) else one).any() for one in found):
        return [matrix, *others]
    found = [one.copy() for one in found]
    for column in range(matrix.shape[1]):
        parts = [_stored(one, column) for one in found]
        gaps = [np.isnan(part) for part in parts]
        if any(gap.any() for gap in gaps):
            zeros = np.zeros(matrix.shape[0] - len(parts[0]))
            median = _median(np.concatenate([parts[0][~gaps[0]], zeros]))
            for part, gap in zip(parts, gaps, strict=True):
                part[gap] = median
    return [
        sp.csr_array(one) if is_sparse else one
        for one, is_sparse in zip(found, sparse, strict=True)
    ]


def _stored(matrix: Any, column: int) -> NDArray[Any]:
    """Return the stored values of a column, as a view."""
    if not sp.issparse(matrix):
        return np.asarray(matrix[:, column])
    return np.asarray(matrix.data[matrix.indptr[column] : matrix.indptr[column + 1]])


def with_nan(matrix: Any, gaps: Gaps | None) -> Any:
    """Return a matrix with NaN in its missing cells."""
    if gaps is None:
        return matrix
    if sp.issparse(matrix):
        marks = sp.csc_array((np.full(gaps.nnz, np.nan), gaps.indices, gaps.indptr), gaps.shape)
        return sp.csc_array(matrix - matrix.multiply(gaps) + marks)
    found = np.array(matrix, dtype=np.float64)
    entries = gaps.tocoo()
    found[entries.row, entries.col] = np.nan
    return found


def _filled_dense(matrix: NDArray[Any]) -> tuple[NDArray[Any], Gaps | None]:
    if matrix.dtype.kind != "f":
        return matrix, None
    missing = np.isnan(matrix)
    columns = np.flatnonzero(missing.any(axis=0))
    if not len(columns):
        return matrix, None
    medians, few = np.zeros(matrix.shape[1]), np.zeros(matrix.shape[1], dtype=bool)
    for start in range(0, len(columns), COLUMNS_AT_ONCE):
        some = columns[start : start + COLUMNS_AT_ONCE]
        # A copy by columns is faster than repeated access to columns of an array in C order.
        for column, values in zip(some, np.ascontiguousarray(matrix[:, some].T), strict=True):
            known = values[~np.isnan(values)]
            medians[column], few[column] = _median(known), len(known) < FEWEST_OBSERVED
    filled = matrix.copy()
    np.copyto(filled, medians.astype(matrix.dtype), where=missing | few)
    return filled, sp.csc_array(missing)


def _filled_sparse(matrix: Any) -> tuple[Any, Gaps | None]:
    missing = np.isnan(matrix.data) if matrix.dtype.kind == "f" else np.zeros(0, dtype=bool)
    if not missing.any():
        return matrix, None
    matrix = matrix.copy()
    gaps = sp.csc_array((missing, matrix.indices, matrix.indptr), shape=matrix.shape, copy=True)
    gaps.eliminate_zeros()
    for column in np.flatnonzero(np.diff(gaps.indptr)):
        entries = slice(*matrix.indptr[column : column + 2])
        own, absent = matrix.data[entries], missing[entries]
        zeros = np.zeros(matrix.shape[0] - len(own))
        own[absent] = _median(np.concatenate([own[~absent], zeros]))
        if matrix.shape[0] - np.count_nonzero(absent) < FEWEST_OBSERVED:
            own[:] = 0.0
    matrix.eliminate_zeros()
    return matrix, gaps


def too_few(missing: Booleans) -> bool:
    """Whether a feature with gaps has too few values, given the samples in which it is missing."""
    n_missing = int(np.count_nonzero(missing))
    return n_missing > 0 and len(missing) - n_missing < FEWEST_OBSERVED


def _median(values: NDArray[Any]) -> float:
    """Return the median. The middle values are halved first, because their sum may overflow."""
    if not len(values):
        return 0.0
    middle = [(len(values) - 1) // 2, len(values) // 2]
    low, high = np.partition(values, middle)[middle].astype(np.float64)
    return float(low if low == high else low / 2 + high / 2)


def gaps_of_columns(missing: list[Booleans | None], n_samples: int) -> Gaps | None:
    """Return the gaps of a table, given the missing samples of each column (None if it has none)."""
    rows = [
        np.empty(0, dtype=np.int64) if column is None else np.flatnonzero(column)
        for column in missing
    ]
    ends = np.cumsum([0, *map(len, rows)])
    if not ends[-1]:
        return None
    marks = np.ones(ends[-1], dtype=bool)
    return sp.csc_array((marks, np.concatenate(rows), ends), shape=(n_samples, len(rows)))


def gaps_in(gaps: Gaps | None, rows: Any = None, columns: Any = None) -> Gaps | None:
    """Return the gaps of some rows and columns, or None if there are none."""
    if gaps is None:
        return None
    if columns is not None:
        gaps = gaps[:, columns]
    if rows is not None:
        gaps = sp.csc_array(sp.csr_array(gaps)[rows])
    return gaps if gaps.nnz else None


def gaps_of_features(gaps: Gaps, features: Features | None) -> Gaps:
    """Return the gaps of features. A feature is missing in a sample if one of its columns is."""
    if features is None:
        return gaps
    entries = gaps.tocoo()
    owner = features.owner[entries.col]
    found = sp.csc_array((entries.data, (entries.row, owner)), shape=(gaps.shape[0], len(features)))
    found.sum_duplicates()
    return found


def patterns(gaps: Gaps) -> Iterator[tuple[Integers, Booleans]]:
    """Iterate over groups of columns with the same gaps, and the samples where they are observed."""
    gaps = gaps.sorted_indices()
    alike: dict[bytes, list[int]] = defaultdict(list)
    for column in range(gaps.shape[1]):
        rows = gaps.indices[gaps.indptr[column] : gaps.indptr[column + 1]]
        alike[rows.tobytes()].append(column)
    for rows_as_bytes, columns in alike.items():
        observed = np.ones(gaps.shape[0], dtype=bool)
        observed[np.frombuffer(rows_as_bytes, dtype=gaps.indices.dtype)] = False
        yield np.array(columns), observed


class RowsWithGaps:
    """The samples of a table with gaps, for distances over the columns that two samples share.

    Parameters
    ----------
    values : array of shape (n_samples, n_columns)
        The values relative to the median of each column, so that an offset does not reduce
        precision. Missing cells are 0.
    observed : array of bool of the same shape
        The cells that are not missing.
    features : Features or None
        The columns of each feature. Every feature counts equally in the number of shared features.
    """

    def __init__(
        self, values: Floats, observed: Booleans, features: Features | None = None
    ) -> None:
        self.values, self.observed = values, observed
        self.weights = np.ones(values.shape[1])
        if features is not None:
            self.weights = 1 / features.sizes[features.owner]

    def __getitem__(self, rows: Any) -> RowsWithGaps:
        some = RowsWithGaps(self.values[rows], self.observed[rows])
        some.weights = self.weights
        return some

    @property
    def shape(self) -> tuple[int, int]:
        """The number of samples and columns."""
        return self.values.shape[0], self.values.shape[1]
