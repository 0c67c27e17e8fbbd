"""Sums over edges, for many columns side by side."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from graphsieve._base.array_types import Floats, Integers
from graphsieve._kernels import compiled
from graphsieve._kernels.rows import Numbers, in_parts, in_turn, readable, summed, weighted_rows

# Numbers in an array that is worked on several times in a row: 512 KiB stay in a core's own cache
CACHED_ELEMENTS = 2**16
# Edges of one sum: so many that it is worth to copy columns for them, and a few parts of a large
# graph
EDGES_AT_ONCE = 2**19


def edge_sums(
    numbers: Numbers, first: Integers, second: Integers, weights: Floats, power: int = 2
) -> Floats:
    """Σ_e w_e |f_first − f_second|^power for every column, for a power of 1 or 2."""
    parts = in_parts(len(weights), EDGES_AT_ONCE)
    if not readable(numbers.rows):
        values = numbers.values()
        return in_turn(
            np.array(
                [
                    plain_sums(values, first[part], second[part], weights[part], power)
                    for part in parts
                ]
            )
        )
    ends = (
        np.ascontiguousarray(first, dtype=np.int64),
        np.ascontiguousarray(second, dtype=np.int64),
    )
    weights = np.ascontiguousarray(weights, dtype=np.float64)
    kernel = compiled().edge_sums

    def work(number: int, start: int, stop: int, total: Floats) -> None:
        part = parts[number]
        kernel(*numbers, ends[0][part], ends[1][part], weights[part], power, start, stop, total)

    return summed((numbers.rows.shape[1],), len(parts), len(weights), work)


# ---- Without a compiler ----


def row_differences(
    rows: Floats, first: Integers, second: Integers, *, spare: int = 0
) -> Iterator[tuple[slice, Floats]]:
    """``rows[first] - rows[second]``, a few pairs at a time, below `spare` free rows, in an
    array that the next overwrite.
    """
    step = max(1, min(len(first), CACHED_ELEMENTS // max(1, rows.shape[1])))
    one, other = np.empty((spare + step, rows.shape[1])), np.empty((step, rows.shape[1]))
    for start in range(0, len(first), step):
        part = slice(start, min(start + step, len(first)))
        size = part.stop - part.start
        # mode="clip" writes straight into `out`; the indices are known to be good.
        differences = np.take(rows, first[part], axis=0, out=one[spare : spare + size], mode="clip")
        differences -= np.take(rows, second[part], axis=0, out=other[:size], mode="clip")
        yield part, one[: spare + size]


def plain_sums(
    values: Floats, first: Integers, second: Integers, weights: Floats, power: int
) -> Floats:
    """The sums over all edges in one go."""
    total, gather = np.zeros(values.shape[1]), None
    for edges, rows in row_differences(values, first, second, spare=1):
        if power == 1:
            np.abs(rows[1:], out=rows[1:])
        else:
            rows[1:] *= rows[1:]
        if gather is None or gather.shape[1] != len(rows):
            gather = weighted_rows(np.ones(len(rows)), np.array([0, len(rows)]))
        # The total so far is the first term, so that the sum is the same however many edges come at
        # a time.
        rows[0] = total
        gather.data[1:] = weights[edges]
        total = (gather @ rows)[0]
    return np.asarray(total)
