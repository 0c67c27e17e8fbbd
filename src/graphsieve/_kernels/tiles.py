"""Neighbour lists of rows and columns, updated tile by tile."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from graphsieve import _kernels
from graphsieve._base.array_types import Floats, Integers


class Lists:
    """The nearest neighbours found so far for each of many samples.

    `values` contains the sorted distances, and `indices` the corresponding neighbours.
    """

    def __init__(self, n_samples: int, n_kept: int, kind: type[np.floating[Any]]) -> None:
        self.values: NDArray[Any] = np.full((n_samples, n_kept), np.inf, dtype=kind)
        self.indices: NDArray[np.int32] = np.full((n_samples, n_kept), -1, dtype=np.int32)

    def part(self, here: slice) -> tuple[NDArray[Any], NDArray[np.int32]]:
        """Return views of the lists of some samples."""
        return self.values[here], self.indices[here]

    def taken(self, which: NDArray[Any]) -> Lists:
        """Return a copy of the lists of some samples."""
        some = Lists(0, 0, np.float32)
        some.values, some.indices = self.values[which], self.indices[which]
        return some

    def put(self, which: NDArray[Any], some: Lists) -> None:
        """Replace the lists of some samples."""
        self.values[which], self.indices[which] = some.values, some.indices


class SparseRows:
    """A CSR matrix with the types that the compiled kernels read."""

    def __init__(self, matrix: Any) -> None:
        self.matrix = matrix
        self.arrays = (
            np.ascontiguousarray(matrix.indptr, dtype=np.int64),
            np.ascontiguousarray(matrix.indices, dtype=np.int32),
            np.ascontiguousarray(matrix.data, dtype=np.float64),
        )


def sparse_products(left: SparseRows, right: SparseRows, products: Floats) -> None:
    """Fill `products` with the inner products of the rows of `left` and the columns of `right`."""
    kernels = _kernels.compiled
    if kernels is not None:
        kernels.sparse_products(*left.arrays, *right.arrays, products)
    else:
        products[:] = sp.csr_array(left.matrix @ right.matrix).toarray()


def sort_lists(values: Floats, indices: Integers) -> None:
    """Sort each row of both arrays by value, and ties by index."""
    kernels = _kernels.compiled
    if kernels is not None:
        kernels.sort_lists(values, indices)
        return
    order = np.lexsort((indices, values), axis=1)
    values[:], indices[:] = (
        np.take_along_axis(values, order, axis=1),
        np.take_along_axis(indices, order, axis=1),
    )


def keep_nearest(
    products: NDArray[Any],
    norms: tuple[NDArray[Any], NDArray[Any]],
    rows: tuple[Lists, slice],
    columns: tuple[Lists | None, slice],
    *,
    diagonal: bool = False,
) -> None:
    """Update the neighbour lists of the rows, and of the columns if they have lists, from a tile of
    inner products.

    `norms` are the squared norms of the tile's rows and columns. The squared distance is norm +
    norm − 2 product. At equal distances, the sample found first stays in the list. In a tile on the
    diagonal, rows and columns are the same samples, and no sample enters its own list.
    """
    (row_lists, here), (column_lists, there) = rows, columns
    row_part, column_part = (
        row_lists.part(here),
        None if column_lists is None else column_lists.part(there),
    )
    kernels = _kernels.compiled
    if kernels is not None:
        kernels.keep_nearest(
            products,
            *norms,
            *row_part,
            *(column_part or (None, None)),
            here.start,
            there.start,
            diagonal,
        )
        return
    distances = (norms[0][:, None] + norms[1]) - 2 * products
    if diagonal:
        np.fill_diagonal(distances, np.inf)
    if column_part is not None:
        _enter(*column_part, distances.T, here.start)
    _enter(*row_part, distances, there.start)


def _enter(
    values: NDArray[Any], indices: NDArray[np.int32], distances: NDArray[Any], start: int
) -> None:
    n_kept = values.shape[1]
    limit = values[:, -1]
    if distances.shape[1] > n_kept and not np.isfinite(limit).all():
        # A list that is not full would accept all samples. Only the nearest `n_kept` are needed.
        limit = np.minimum(
            limit, np.nextafter(np.partition(distances, n_kept - 1, axis=1)[:, n_kept - 1], np.inf)
        )
    owner, place = np.nonzero(distances < limit[:, None])
    if not len(owner):
        return
    changed, number = np.unique(owner, return_inverse=True)
    list_number = np.concatenate([np.repeat(np.arange(len(changed)), n_kept), number])
    value = np.concatenate([values[changed].ravel(), distances[owner, place]])
    index = np.concatenate([indices[changed].ravel(), (place + start).astype(np.int32)])
    order = np.lexsort((value, list_number))  # stable, so the earlier of ties comes first
    begin = np.searchsorted(list_number[order], np.arange(len(changed)))
    first = order[begin[:, None] + np.arange(n_kept)]
    values[changed], indices[changed] = value[first], index[first]
