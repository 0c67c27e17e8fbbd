"""Columns as the sums read them, and how their work is shared among threads.

A sum grows term by term in the order given; of very many terms, so many at a time are summed, and
then these sums in turn. So its bits depend neither on the columns beside it nor on the number of
threads, and copies of a column tie.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from graphsieve._base.array_types import Floats
from graphsieve._base.threads import available_threads, in_threads
from graphsieve._kernels import compiled

SHARED_FROM = 2**21  # terms of a sum from which it is worth starting threads
TOGETHER = 16  # columns are divided among threads in groups that fill a cache line, even in float32

# Number of a part, first and last column, where to add
Work = Callable[[int, int, int, Floats], None]


class Numbers(NamedTuple):
    """Columns as ``rows * scale - shift``, without doing it; or, without scale and shift,
    float64 `rows` as they are.
    """

    rows: NDArray[Any]
    scale: Floats | None = None
    shift: Floats | None = None

    def values(self, chosen: Any = slice(None)) -> Floats:
        """The chosen rows with the scale and the shift."""
        if self.scale is None or self.shift is None:
            return np.asarray(self.rows[chosen])
        scaled: Floats = self.rows[chosen].astype(np.float64)
        scaled *= self.scale
        scaled -= self.shift
        return scaled


def readable(rows: Any) -> bool:
    """Whether there are compiled kernels, and they can read the array: float32 or float64, row
    by row.
    """
    return bool(
        hasattr(compiled(), "edge_sums")  # an older build may lack it
        and isinstance(rows, np.ndarray)
        and rows.dtype in (np.float32, np.float64)
        and rows.dtype.isnative
        and len(rows)
        and (rows.strides[1] == rows.itemsize or rows.shape[1] == 1)
        and rows.flags.aligned
    )


def in_parts(n_terms: int, at_once: int) -> list[slice]:
    """The terms, so many at a time; at least one part, even of nothing."""
    return [
        slice(start, min(start + at_once, n_terms)) for start in range(0, max(1, n_terms), at_once)
    ]


def summed(shape: tuple[int, ...], n_parts: int, n_terms: int, work: Work) -> Floats:
    """The sum of what `work` adds for each part, in turn; several threads share the parts, or
    else the columns.
    """
    totals, n_columns = np.zeros((n_parts, *shape)), shape[-1]
    n_threads = available_threads() if n_columns * n_terms >= SHARED_FROM else 1
    n_ranges = 1 if n_parts >= n_threads else min(n_threads, -(-n_columns // TOGETHER))
    groups = -(-n_columns // TOGETHER)
    borders = [
        min(n_columns, TOGETHER * (groups * place // n_ranges)) for place in range(n_ranges + 1)
    ]
    jobs = [(part, *ends) for part in range(n_parts) for ends in pairwise(borders)]

    def work_on(given: Iterator[tuple[int, int, int]]) -> None:
        for part, start, stop in given:
            work(part, start, stop, totals[part])

    if min(n_threads, len(jobs)) == 1:
        work_on(iter(jobs))
    else:
        in_threads(work_on, jobs, min(n_threads, len(jobs)))
    return in_turn(totals)


def in_turn(totals: Floats) -> Floats:
    """The first plus the second plus the third, and so on."""
    total: Floats = totals[0]
    for later in totals[1:]:
        total += later
    return total


def weighted_rows(weights: Floats, begin: NDArray[Any]) -> Any:
    """The matrix whose row r sums the weighted rows from ``begin[r]`` to ``begin[r + 1]`` of what
    it is multiplied with.

    A sparse product adds in this order, too.
    """
    return sp.csr_array(
        (weights, np.arange(len(weights)), begin), shape=(len(begin) - 1, len(weights))
    )
