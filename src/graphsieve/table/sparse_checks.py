"""Checks that the indices of a sparse matrix lie within the matrix.

Compiled code that follows invalid indices reads and writes arbitrary memory.
"""

from __future__ import annotations

from itertools import chain
from typing import Any

import numpy as np

from graphsieve._base.errors import InputError


def refuse_unsound(matrix: Any, name: str) -> None:
    """Raise an error for an invalid sparse matrix, which could crash the process.

    Such a matrix may come from a damaged file. The check of scipy is not sufficient. It skips
    matrices with a last pointer of zero, and it truncates the arrays of the caller.
    """
    if not _is_sound(matrix):
        raise InputError(
            f"{name} is a sparse matrix with indices that do not fit its shape; build it again "
            "from its rows, columns and values."
        )


def _is_sound(matrix: Any) -> bool:
    if matrix.format in ("csr", "csc", "bsr"):
        return _has_sound_pointers(matrix)
    if matrix.format == "coo":
        return all(
            len(places) == len(matrix.data) and _are_within(places, size)
            for places, size in zip(matrix.coords, matrix.shape, strict=True)
        )
    if matrix.format == "lil":
        same = [len(row) for row in matrix.rows] == [len(row) for row in matrix.data]
        return same and _are_within(
            np.array([*chain.from_iterable(matrix.rows)], dtype=object), matrix.shape[1]
        )
    return True  # The other formats have no pointers.


def _has_sound_pointers(matrix: Any) -> bool:
    height, width = matrix.blocksize if matrix.format == "bsr" else (1, 1)
    n_rows, n_columns = matrix.shape[0] // height, matrix.shape[1] // width
    n_runs, length = (n_columns, n_rows) if matrix.format == "csc" else (n_rows, n_columns)
    begin, indices = matrix.indptr, matrix.indices
    if len(begin) != n_runs + 1 or begin[0] != 0 or (begin[1:] < begin[:-1]).any():
        return False
    n_entries = int(begin[-1])
    return n_entries <= min(len(indices), len(matrix.data)) and _are_within(
        indices[:n_entries], length
    )


def _are_within(places: Any, size: int) -> bool:
    return not len(places) or bool(places.min() >= 0 and places.max() < size)
