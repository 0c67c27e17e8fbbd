"""Sums over edges and over weighted samples, for many columns side by side; and the extremes of the columns.

A sum grows edge by edge, or sample by sample, in the order given. So copies of a column have the same bits, however many columns
or threads there are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from graphsieve.kernels import compiled
from graphsieve.threads import available_threads

TEMPORARY_ELEMENTS = 2**22  # numbers in one temporary array: 32 MiB of float64
CACHED_ELEMENTS = 2**16  # numbers in an array that is worked on several times in a row: 512 KiB stay in a core's own cache
SHARED_FROM = 2**22  # terms of a sum from which it is worth starting threads
TOGETHER = 16  # columns are divided among threads in groups that fill a cache line, even in float32
FEW_PLACES = 2**12  # samples × weightings that are quicker written out than turned into lists
LONG_SHARE = 512  # bytes of a row for each thread: of less, every thread would make memory deliver nearly the whole row

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


class Numbers(NamedTuple):
    """Columns as ``rows * scale - shift``, without doing it; or, without scale and shift, float64 `rows` as they are."""

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
    """Whether there are compiled kernels, and they can read the array: float32 or float64, row by row."""
    return bool(
        hasattr(compiled(), "edge_sums")  # an older build may lack it
        and isinstance(rows, np.ndarray)
        and rows.dtype in (np.float32, np.float64)
        and rows.dtype.isnative
        and len(rows)
        and (rows.strides[1] == rows.itemsize or rows.shape[1] == 1)
        and rows.flags.aligned
    )


def edge_sums(numbers: Numbers, first: Integers, second: Integers, weights: Floats, power: int = 2) -> Floats:
    """Σ_e w_e |f_first − f_second|^power for every column, for a power of 1 or 2."""
    total = np.zeros(numbers.rows.shape[1])
    if not readable(numbers.rows):
        return _plain_edge_sums(numbers.values(), first, second, weights, power)
    ends = (np.ascontiguousarray(first, dtype=np.int64), np.ascontiguousarray(second, dtype=np.int64))
    weights = np.ascontiguousarray(weights, dtype=np.float64)
    kernel = compiled().edge_sums
    _share(len(total), len(weights), lambda start, stop: kernel(*numbers, *ends, weights, power, start, stop, total))
    return total


class BySample(NamedTuple):
    """Weightings as kernels read them: for each sample, which it is in and by how much; where each is in all, just how much."""

    begin: Integers | None
    which: Integers | None
    weights: Floats
    first: Integers  # of each weighting the first sample, or −1

    @classmethod
    def of(cls, weightings: Any) -> BySample:
        """The columns of an array, or of a CSC matrix with sorted indices."""
        if isinstance(weightings, np.ndarray):
            present = weightings != 0
            first = np.where(present.any(axis=0), present.argmax(axis=0), -1)
            return cls(None, None, np.ascontiguousarray(weightings, dtype=np.float64).ravel(), first)
        used = np.diff(weightings.indptr) > 0
        first = np.full(len(used), -1, dtype=np.int64)
        first[used] = weightings.indices[weightings.indptr[:-1][used]]
        n_places = weightings.shape[0] * len(used)
        if n_places <= FEW_PLACES or (len(used) == 1 and 2 * weightings.nnz >= n_places):  # no need to say who: zeros add nothing
            return cls(None, None, weightings.toarray().ravel(), first)
        entries = sp.csr_array(weightings)
        places = (entries.indptr.astype(np.int64, copy=False), entries.indices.astype(np.int64, copy=False))
        return cls(*places, entries.data.astype(np.float64, copy=False), first)


def weighted_sums(numbers: Numbers, by: BySample, origin: Floats, center: Floats | None = None) -> Floats:
    """Σ_i w_i (f_i − origin) for every weighting (row) and column; with a center, Σ_i w_i ((f_i − origin) − center)².

    Origin and center have a row per weighting. Only compiled.
    """
    total, kernel = np.zeros(origin.shape), compiled().weighted_sums

    def share(start: int, stop: int) -> None:
        kernel(*numbers, by.begin, by.which, by.weights, origin, center, start, stop, total)

    several_terms = len(by.weights) >= 4 * len(numbers.rows)  # then arithmetic takes longer than reading
    most = origin.shape[1] if several_terms else max(1, origin.shape[1] * numbers.rows.itemsize // LONG_SHARE)
    _share(origin.shape[1], len(by.weights), share, most)
    return total


def mean_and_scatter(numbers: Numbers, weightings: Any, mass: Floats) -> tuple[Floats, Floats]:
    """Σ_i w_i f_i / mass and Σ_i w_i (f_i − mean)² for every column of `weightings`: an array, or CSC with sorted indices."""
    if readable(numbers.rows):
        by = BySample.of(weightings)
        origin, mean = _relative_mean(numbers, by, mass)
        scatter = weighted_sums(numbers, by, origin, mean)
        mean += origin
        return mean, scatter
    weightings = sp.csc_array(weightings)
    mean, scatter = np.zeros((2, weightings.shape[1], numbers.rows.shape[1]))
    step = max(1, TEMPORARY_ELEMENTS // max(1, weightings.nnz))
    values = numbers.values()
    for start in range(0, values.shape[1], step):
        part = slice(start, start + step)
        _plain_fill(values[:, part], weightings, mass, mean[:, part], scatter[:, part])
    return mean, scatter


def mean_alone(numbers: Numbers, weightings: Any, mass: Floats) -> Floats:
    """The mean of `mean_and_scatter`, for half the work."""
    if not readable(numbers.rows):
        return mean_and_scatter(numbers, weightings, mass)[0]
    origin, mean = _relative_mean(numbers, BySample.of(weightings), mass)
    return mean + origin


def _relative_mean(numbers: Numbers, by: BySample, mass: Floats) -> tuple[Floats, Floats]:
    """The first sample of each weighting, and the mean relative to it: values that are all equal leave exact zeros."""
    used = by.first >= 0
    origin = np.zeros((len(used), numbers.rows.shape[1]))
    origin[used] = numbers.values(by.first[used])
    mean = weighted_sums(numbers, by, origin)
    mean[used] /= mass[used, None]
    return origin, mean


def column_extremes(rows: NDArray[Any]) -> Floats:
    """The smallest and the largest value of every column, and the first of least magnitude."""
    if readable(rows):
        return _shared_extremes(rows)
    found = np.empty((3, rows.shape[1]))
    found[0], found[1] = rows.min(axis=0), rows.max(axis=0)
    found[2] = np.take_along_axis(rows, np.abs(rows).argmin(axis=0)[None], axis=0)[0]
    return found


def _shared_extremes(rows: NDArray[Any]) -> Floats:
    """By rows, since extremes do not depend on an order; of equal magnitudes the earlier one stays."""
    kernel = compiled().column_extremes
    n_threads = min(len(rows), available_threads()) if rows.size >= SHARED_FROM else 1
    found = np.empty((n_threads, 3, rows.shape[1]))
    if n_threads == 1:
        kernel(rows, 0, rows.shape[1], found[0])
        return np.asarray(found[0])
    parts = np.array_split(rows, n_threads)
    _in_threads(lambda part, into: kernel(part, 0, rows.shape[1], into), parts, list(found))
    low, high, least = found[:, 0].min(axis=0), found[:, 1].max(axis=0), found[0, 2]
    for later in found[1:, 2]:
        least = np.where(np.abs(later) < np.abs(least), later, least)
    return np.stack([low, high, least])


def _share(n_columns: int, n_terms: int, work: Callable[[int, int], None], most: int | None = None) -> None:
    """Call ``work(start, stop)`` for all columns, by several threads, but at most so many, where there is enough to do."""
    groups, n_threads = -(-n_columns // TOGETHER), 1
    if n_columns * n_terms >= SHARED_FROM:
        n_threads = min(groups, available_threads(), groups if most is None else most)
    borders = [min(n_columns, TOGETHER * (groups * thread // n_threads)) for thread in range(n_threads + 1)]
    _in_threads(work, borders[:-1], borders[1:])


def _in_threads(work: Callable[..., None], *arguments: Sequence[Any]) -> None:
    """Call `work` with the first arguments, the second ones, and so on, each in a thread of its own."""
    n_threads = len(arguments[0])
    if n_threads == 1:
        work(*(given[0] for given in arguments))
        return
    with ThreadPoolExecutor(n_threads) as pool:
        list(pool.map(work, *arguments))


# ---- Without a compiler: sparse products, which add in a fixed order, too. ----


def row_differences(rows: Floats, first: Integers, second: Integers, *, spare: int = 0) -> Iterator[tuple[slice, Floats]]:
    """``rows[first] - rows[second]``, a few pairs at a time, below `spare` free rows, in an array that the next overwrite."""
    step = max(1, min(len(first), CACHED_ELEMENTS // max(1, rows.shape[1])))
    one, other = np.empty((spare + step, rows.shape[1])), np.empty((step, rows.shape[1]))
    for start in range(0, len(first), step):
        part = slice(start, min(start + step, len(first)))
        size = part.stop - part.start
        # mode="clip" writes straight into `out`; the indices are known to be good.
        differences = np.take(rows, first[part], axis=0, out=one[spare : spare + size], mode="clip")
        differences -= np.take(rows, second[part], axis=0, out=other[:size], mode="clip")
        yield part, one[: spare + size]


def weighted_rows(weights: Floats, begin: NDArray[Any]) -> Any:
    """The matrix whose row r sums the weighted rows from ``begin[r]`` to ``begin[r + 1]`` of what it is multiplied with."""
    return sp.csr_array((weights, np.arange(len(weights)), begin), shape=(len(begin) - 1, len(weights)))


def _plain_edge_sums(values: Floats, first: Integers, second: Integers, weights: Floats, power: int) -> Floats:
    total, gather = np.zeros(values.shape[1]), None
    for edges, rows in row_differences(values, first, second, spare=1):
        if power == 1:
            np.abs(rows[1:], out=rows[1:])
        else:
            rows[1:] *= rows[1:]
        if gather is None or gather.shape[1] != len(rows):
            gather = weighted_rows(np.ones(len(rows)), np.array([0, len(rows)]))
        # The total so far is the first term, so that the sum is the same however many edges come at a time.
        rows[0] = total
        gather.data[1:] = weights[edges]
        total = (gather @ rows)[0]
    return np.asarray(total)


def _plain_fill(values: Floats, weightings: Any, mass: Floats, mean: Floats, scatter: Floats) -> None:
    filled = np.diff(weightings.indptr)
    used = filled > 0
    owner = np.repeat(np.arange(len(filled)), filled)
    entries = values[weightings.indices]
    origin = np.zeros_like(mean)
    origin[used] = entries[weightings.indptr[:-1][used]]
    entries -= origin[owner]
    gather = weighted_rows(weightings.data, weightings.indptr)
    mean[used] = (gather @ entries)[used] / mass[used, None]
    entries -= mean[owner]
    entries *= entries
    scatter[:] = gather @ entries
    mean += origin
