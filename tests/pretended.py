"""A stored table in memory, for tests of which parts are read."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from graphsieve.table.stored.pieces import Group, Local


class Pretended(Local):
    """An array or a sparse matrix in memory that returns only the requested pieces."""

    def __init__(self, X: Any, memory: int, *, borders: list[int] | None = None) -> None:
        self._X, self.shape, self.memory = X, X.shape, memory
        self.is_sparse = bool(sp.issparse(X))
        self.density = X.nnz / max(1, X.shape[0] * X.shape[1]) if self.is_sparse else 1.0
        self._borders = borders
        self.largest = 0  # numbers in the largest piece so far

    @property
    def row_borders(self) -> np.ndarray:
        return super().row_borders if self._borders is None else np.array(self._borders)

    def read_rows(self, rows: Group) -> Any:
        return self._seen(sp.csr_array(self._X)[rows] if self.is_sparse else self._X[rows].copy())

    def read_columns(self, columns: Group) -> Any:
        return self._seen(
            sp.csc_array(self._X)[:, columns] if self.is_sparse else self._X[:, columns].copy()
        )

    def _seen(self, piece: Any) -> Any:
        self.largest = max(self.largest, piece.nnz if self.is_sparse else piece.size)
        return piece
