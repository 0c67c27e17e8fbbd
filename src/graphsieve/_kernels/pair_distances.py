"""Squared distances between pairs of rows, summed from explicit differences in the order of the
features.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from graphsieve import _kernels
from graphsieve._base.array_types import Floats, Integers
from graphsieve._kernels.column_sums import row_differences
from graphsieve._kernels.tiles import SparseRows


def dense_pair_distances(rows: Floats, first: Integers, second: Integers, result: Floats) -> None:
    """Fill `result` with Σ_f (rows[first, f] − rows[second, f])² for every pair."""
    kernels = _kernels.compiled
    if kernels is not None and rows.flags.c_contiguous and rows.dtype == np.float64:
        kernels.dense_pair_distances(rows, *_contiguous(first, second), result)
        return
    every = None
    for part, differences in row_differences(rows, first, second):
        np.square(differences, out=differences)
        if every is None or every.shape[0] != len(differences):
            every = _filled(differences.shape)
        # A sparse product is fast and adds strictly from left to right.
        every.data = differences.ravel()
        result[part] = every @ np.ones(rows.shape[1])


def sparse_pair_distances(rows: Any, first: Integers, second: Integers, result: Floats) -> None:
    """Fill `result` as `dense_pair_distances` does, for CSR rows."""
    kernels = _kernels.compiled
    if kernels is not None and rows.has_canonical_format:
        kernels.sparse_pair_distances(*SparseRows(rows).arrays, *_contiguous(first, second), result)
        return
    differences = sp.csr_array(rows[first] - rows[second])
    differences.sort_indices()
    owner = np.repeat(np.arange(len(first)), np.diff(differences.indptr))
    result[:] = np.bincount(owner, weights=differences.data**2, minlength=len(first))


def _contiguous(first: Integers, second: Integers) -> tuple[Integers, Integers]:
    return np.ascontiguousarray(first, dtype=np.int64), np.ascontiguousarray(second, dtype=np.int64)


def _filled(shape: tuple[int, ...]) -> Any:
    """Return a CSR matrix that stores every entry."""
    n_rows, width = shape
    entries = (
        np.ones(n_rows * width),
        np.tile(np.arange(width), n_rows),
        np.arange(n_rows + 1) * width,
    )
    return sp.csr_array(entries, shape=shape)
