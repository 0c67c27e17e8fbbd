"""Pairs of neighbouring values on a line.

Two values are a pair if their distance is within the reach of either of them.
"""

from __future__ import annotations

import numpy as np

from graphsieve import _kernels
from graphsieve._base.array_types import Floats, Integers


def line_reach(values: Floats, n_neighbors: int) -> Floats:
    """Return the distance from each value to its k-th nearest other value.

    The values are sorted, and there are more than k of them.
    """
    reach = np.full(len(values), np.inf)
    if hasattr(_kernels.compiled, "line_reach"):
        _kernels.compiled.line_reach(np.ascontiguousarray(values), n_neighbors, reach)
        return reach
    k, n = n_neighbors, len(values)
    padded = np.concatenate([np.full(k, -np.inf), values, np.full(k, np.inf)])
    # A value and its k nearest neighbours form a window of consecutive values. Among all such
    # windows, take the one with the nearest farthest end.
    for before in range(k + 1):
        to_left = values - padded[k - before : k - before + n]
        to_right = padded[2 * k - before : 2 * k - before + n] - values
        np.minimum(reach, np.maximum(to_left, to_right, out=to_left), out=reach)
    return reach


def line_band(values: Floats, reach: Floats, n_neighbors: int) -> Integers | None:
    """Return where the pairs of each value with the values after it begin, like a CSR `indptr`.

    The values are sorted. Each value is paired with a run of consecutive values after it.
    `reach` is the result of `line_reach`, so these are at most the next k values. If distances tie
    because of rounding, the run may be longer or have gaps. The result is then None.
    """
    begin = np.zeros(len(values) + 1, dtype=np.int64)
    if hasattr(_kernels.compiled, "line_band"):
        given = np.ascontiguousarray(values), np.ascontiguousarray(reach)
        return begin if _kernels.compiled.line_band(*given, n_neighbors, begin) else None
    counts, before = begin[1:], np.ones(len(values), dtype=bool)
    # The additional step proves that no value reaches farther.
    for step in range(1, min(n_neighbors + 2, len(values))):
        gap = values[step:] - values[:-step]
        near = (gap <= reach[:-step]) | (gap <= reach[step:])
        if (near & ~before[: len(near)]).any():
            return None
        counts[: len(near)] += near
        before = near
    if counts.max(initial=0) > n_neighbors:
        return None
    np.cumsum(counts, out=counts)
    return begin


def line_squares(values: Floats, begin: Integers) -> Floats:
    """Return the squared distances of the pairs that `begin` of `line_band` describes."""
    if hasattr(_kernels.compiled, "line_squares"):
        squared = np.empty(int(begin[-1]))
        _kernels.compiled.line_squares(np.ascontiguousarray(values), begin, squared)
        return squared
    low = np.repeat(np.arange(len(values)), np.diff(begin))
    high = low + 1 + np.arange(len(low)) - begin[low]
    return np.asarray((values[high] - values[low]) ** 2)


def line_pairs(
    values: Floats, reach: Floats, order: Integers, *, n_expected: int = 0
) -> tuple[Integers, Integers, Floats]:
    """Return all pairs, sorted by value, and their squared distances.

    `values` are sorted, and `order` contains their samples. Memory for `n_expected` pairs is
    allocated first. If there are more pairs, the search runs a second time.
    """
    if not hasattr(_kernels.compiled, "line_pairs"):
        low, high = _plain_pairs(values, reach)
        return order[low], order[high], (values[high] - values[low]) ** 2
    given = tuple(np.ascontiguousarray(column) for column in (values, reach, order))
    kernel = _kernels.compiled.line_pairs
    found = _empty_pairs(n_expected)
    size = kernel(*given, *found)
    if size > n_expected:
        found = _empty_pairs(size)
        kernel(*given, *found)
    first, second, squared = found
    return first[:size], second[:size], squared[:size]


def _empty_pairs(size: int) -> tuple[Integers, Integers, Floats]:
    return np.empty(size, dtype=np.int64), np.empty(size, dtype=np.int64), np.empty(size)


def _plain_pairs(values: Floats, reach: Floats) -> tuple[Integers, Integers]:
    linked = []
    # Rounded distances never decrease with the number of steps. Distances that tie because of
    # rounding may still leave gaps between the pairs.
    sides = (values, reach), (-values[::-1], reach[::-1])
    n_steps = max(int(places_within(*side).max(initial=0)) for side in sides)
    for step in range(1, n_steps + 1):
        gap = values[step:] - values[:-step]
        near = (gap <= reach[:-step]) | (gap <= reach[step:])
        linked.append(np.concatenate([near, np.zeros(step, dtype=bool)]))
    if not linked:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    low, steps = np.nonzero(np.stack(linked, axis=1))
    return low, low + steps + 1


def places_within(values: Floats, reach: Floats, places: Integers | None = None) -> Integers:
    """Return how many places are within reach to the left of each of the sorted values.

    `places` are those to start from, with their `reach`. By default these are all places.
    """
    start = np.arange(len(values)) if places is None else places
    low, high = np.zeros(len(start), dtype=np.int64), start
    while (low < high).any():
        middle = (low + high) // 2
        near = values[start] - values[middle] <= reach
        low, high = np.where(near, low, middle + 1), np.where(near, middle, high)
    return np.asarray(start - low)
