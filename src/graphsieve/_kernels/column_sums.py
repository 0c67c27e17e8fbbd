"""Sums over samples and over edges for many columns together, and the extremes of the columns.

Each sum adds its terms in the given order. A long sum is divided into parts of fixed size, and the
sums of the parts are then added in order. The result is therefore bitwise independent of the other
columns and of the number of threads, and copies of a column tie.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from graphsieve import _kernels
from graphsieve._base.array_types import Floats, Integers
from graphsieve._base.threads import available_threads, in_threads

SHARED_FROM = 2**21  # number of terms from which several threads are faster
TOGETHER = 16  # columns per group when threads share columns; fills a cache line even in float32

# Arguments: number of the part, first column, last column (exclusive), array to add to.
Work = Callable[[int, int, int, Floats], None]
TEMPORARY_ELEMENTS = 2**22  # numbers in one temporary array: 32 MiB of float64
# Samples per partial sum, if there are few weightings. With many weightings, the partial sums would
# need much memory, and each weighting contains fewer samples anyway.
SAMPLES_AT_ONCE = 2**16
FEW_WEIGHTINGS = 64
FEW_PLACES = 2**12  # samples × weightings up to which a dense array is faster than lists
# Numbers in an array that is used several times in a row: 512 KiB fit into the cache of a core.
CACHED_ELEMENTS = 2**16
# Edges per partial sum. This is enough to make a copy of the columns worthwhile, and gives few
# parts for a large graph.
EDGES_AT_ONCE = 2**19


class Numbers(NamedTuple):
    """Columns that stand for ``rows * scale - shift``, computed on demand.

    Without scale and shift, the columns are `rows` itself, which must be float64.
    """

    rows: NDArray[Any]
    scale: Floats | None = None
    shift: Floats | None = None

    def values(self, chosen: Any = slice(None)) -> Floats:
        """Return the selected rows with the scale and the shift applied."""
        if self.scale is None or self.shift is None:
            return np.asarray(self.rows[chosen])
        scaled: Floats = self.rows[chosen].astype(np.float64)
        scaled *= self.scale
        scaled -= self.shift
        return scaled


def readable(rows: Any) -> bool:
    """Whether the compiled kernels are available and can read the array.

    They read float32 and float64 with contiguous rows.
    """
    return bool(
        hasattr(_kernels.compiled, "edge_sums")  # an older build may lack it
        and isinstance(rows, np.ndarray)
        and rows.dtype in (np.float32, np.float64)
        and rows.dtype.isnative
        and len(rows)
        and (rows.strides[1] == rows.itemsize or rows.shape[1] == 1)
        and rows.flags.aligned
    )


def in_parts(n_terms: int, at_once: int) -> list[slice]:
    """Divide the terms into parts of size `at_once`. There is at least one part, even if empty."""
    return [
        slice(start, min(start + at_once, n_terms)) for start in range(0, max(1, n_terms), at_once)
    ]


def summed(shape: tuple[int, ...], n_parts: int, n_terms: int, work: Work) -> Floats:
    """Return the sum over all parts, added in order. `work` computes the sum of each part.

    Several threads share the parts or, if there are few parts, the columns.
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
    """Return the sum along the first axis, added in order and in place."""
    total: Floats = totals[0]
    for later in totals[1:]:
        total += later
    return total


def weighted_rows(weights: Floats, begin: NDArray[Any]) -> Any:
    """Return a matrix W such that row r of W @ A is the weighted sum of the rows ``begin[r]`` to
    ``begin[r + 1]`` of A.

    A sparse product adds the rows in this order.
    """
    return sp.csr_array(
        (weights, np.arange(len(weights)), begin), shape=(len(begin) - 1, len(weights))
    )


def weighted_sum(weights: Floats, rows: Floats) -> Floats:
    """Return Σ_r w_r · rows[r], added in this order for any number of columns.

    In a dense product, the last bits of identical columns could differ.
    """
    return np.asarray((weighted_rows(weights, np.array([0, len(weights)])) @ rows)[0])


# ---- Over samples ----


class BySample(NamedTuple):
    """Weightings in the form that the kernels read.

    For each sample, `which` lists its weightings and `weights` its weights in them. If `begin` and
    `which` are None, every sample is in all weightings.
    """

    begin: Integers | None
    which: Integers | None
    weights: Floats
    first: Integers  # the first sample of each weighting, or −1

    @classmethod
    def of(cls, weightings: Any) -> BySample:
        """Convert the columns of an array, or of a CSC matrix with sorted indices."""
        if isinstance(weightings, np.ndarray):
            first = np.zeros(weightings.shape[1], dtype=np.int64)
            if not (len(weightings) and weightings[0].all()):
                present = weightings != 0
                first = np.where(present.any(axis=0), present.argmax(axis=0), -1)
            return cls(
                None, None, np.ascontiguousarray(weightings, dtype=np.float64).ravel(), first
            )
        used = np.diff(weightings.indptr) > 0
        first = np.full(len(used), -1, dtype=np.int64)
        first[used] = weightings.indices[weightings.indptr[:-1][used]]
        n_places = weightings.shape[0] * len(used)
        # Lists are not needed, because zero weights add nothing.
        if n_places <= FEW_PLACES or (len(used) == 1 and 2 * weightings.nnz >= n_places):
            return cls(None, None, weightings.toarray().ravel(), first)
        entries = sp.csr_array(weightings)
        places = (
            entries.indptr.astype(np.int64, copy=False),
            entries.indices.astype(np.int64, copy=False),
        )
        return cls(*places, entries.data.astype(np.float64, copy=False), first)

    def part(self, here: slice) -> tuple[Integers | None, Integers | None, Floats]:
        """Return the weightings of some samples."""
        if self.begin is None or self.which is None:
            n_weightings = len(self.first)
            return None, None, self.weights[here.start * n_weightings : here.stop * n_weightings]
        begin = self.begin[here.start : here.stop + 1]
        entries = slice(begin[0], begin[-1])
        return begin - begin[0], self.which[entries], self.weights[entries]


def mean_and_scatter(numbers: Numbers, weightings: Any, mass: Floats) -> tuple[Floats, Floats]:
    """Return Σ_i w_i f_i / mass and Σ_i w_i (f_i − mean)² for every column of `weightings`.

    `weightings` is an array or a CSC matrix with sorted indices.
    """
    if not readable(numbers.rows):
        return _plain_mean_and_scatter(numbers.values(), sp.csc_array(weightings), mass)
    by = BySample.of(weightings)
    origin, mean = _relative_mean(numbers, by, mass)
    scatter = weighted_sums(numbers, by, origin, mean)
    mean += origin
    return mean, scatter


def mean_alone(numbers: Numbers, weightings: Any, mass: Floats) -> Floats:
    """Return only the mean of `mean_and_scatter`, in half the time."""
    if not readable(numbers.rows):
        return mean_and_scatter(numbers, weightings, mass)[0]
    origin, mean = _relative_mean(numbers, BySample.of(weightings), mass)
    return mean + origin


def weighted_sums(
    numbers: Numbers, by: BySample, origin: Floats, center: Floats | None = None
) -> Floats:
    """Return Σ_i w_i (f_i − origin) for every weighting (row) and column.

    With a center, the result is Σ_i w_i ((f_i − origin) − center)². The center has one row per
    weighting. The origin has one row per weighting or one row for all. This function requires the
    compiled kernels.
    """
    if not len(by.weights):
        return np.zeros((len(by.first), origin.shape[1]))
    parts, kernel = _parts(len(numbers.rows), len(by.first)), _kernels.compiled.weighted_sums

    def work(number: int, start: int, stop: int, total: Floats) -> None:
        part = parts[number]
        kernel(numbers.rows[part], *numbers[1:], *by.part(part), origin, center, start, stop, total)

    return summed((len(by.first), origin.shape[1]), len(parts), len(by.weights), work)


def _parts(n_samples: int, n_weightings: int) -> list[slice]:
    return in_parts(
        n_samples, SAMPLES_AT_ONCE if n_weightings <= FEW_WEIGHTINGS else max(1, n_samples)
    )


def _relative_mean(numbers: Numbers, by: BySample, mass: Floats) -> tuple[Floats, Floats]:
    """Return the first sample of each weighting, and the mean relative to it.

    If all values are equal, the relative mean is exactly zero.
    """
    used = by.first >= 0
    if len(used) and used[0] and (by.first == by.first[0]).all():
        origin = numbers.values(by.first[:1])
    else:
        origin = np.zeros((len(used), numbers.rows.shape[1]))
        origin[used] = numbers.values(by.first[used])
    mean = weighted_sums(numbers, by, origin)
    mean[used] /= mass[used, None]
    return origin, mean


def column_extremes(rows: NDArray[Any]) -> Floats:
    """Return the smallest value, the largest value and the first value of least magnitude of every
    column.

    All three are NaN if the column contains NaN.
    """
    if readable(rows):
        return _shared_extremes(rows)
    found = np.empty((3, rows.shape[1]))
    found[0], found[1] = rows.min(axis=0), rows.max(axis=0)
    found[2] = np.take_along_axis(rows, np.abs(rows).argmin(axis=0)[None], axis=0)[0]
    return found


def _shared_extremes(rows: NDArray[Any]) -> Floats:
    """Compute `column_extremes` in several threads, which share the rows.

    Extremes do not depend on the order of the rows. Of equal magnitudes, the first one is kept.
    """
    kernel = _kernels.compiled.column_extremes
    n_threads = min(len(rows), available_threads()) if rows.size >= SHARED_FROM else 1
    found = np.empty((n_threads, 3, rows.shape[1]))
    if n_threads == 1:
        kernel(rows, 0, rows.shape[1], found[0])
        return np.asarray(found[0])
    parts = np.array_split(rows, n_threads)

    def work(places: Iterator[int]) -> None:
        for place in places:
            kernel(parts[place], 0, rows.shape[1], found[place])

    in_threads(work, range(n_threads), n_threads)
    low, high, least = found[:, 0].min(axis=0), found[:, 1].max(axis=0), found[0, 2]
    for later in found[1:, 2]:
        least = np.where(np.abs(later) < np.abs(least), later, least)
    return np.stack([low, high, np.where(np.isnan(low), np.nan, least)])


# ---- Over edges ----


def edge_sums(
    numbers: Numbers, first: Integers, second: Integers, weights: Floats, power: int = 2
) -> Floats:
    """Return Σ_e w_e |f_first − f_second|^power for every column. The power is 1 or 2."""
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
    kernel = _kernels.compiled.edge_sums

    def work(number: int, start: int, stop: int, total: Floats) -> None:
        part = parts[number]
        kernel(*numbers, ends[0][part], ends[1][part], weights[part], power, start, stop, total)

    return summed((numbers.rows.shape[1],), len(parts), len(weights), work)


# ---- Numpy versions ----


def _plain_mean_and_scatter(values: Floats, weightings: Any, mass: Floats) -> tuple[Floats, Floats]:
    mean, scatter = np.zeros((2, weightings.shape[1], values.shape[1]))
    step = max(1, TEMPORARY_ELEMENTS // max(1, weightings.nnz))
    for start in range(0, values.shape[1], step):
        part = slice(start, start + step)
        _plain_fill(values[:, part], weightings, mass, mean[:, part], scatter[:, part])
    return mean, scatter


def _plain_fill(
    values: Floats, weightings: Any, mass: Floats, mean: Floats, scatter: Floats
) -> None:
    filled = np.diff(weightings.indptr)
    used = filled > 0
    owner = np.repeat(np.arange(len(filled)), filled)
    entries = values[weightings.indices]
    origin = np.zeros_like(mean)
    origin[used] = entries[weightings.indptr[:-1][used]]
    entries -= origin[owner]
    gathers = _gathers(weightings)
    mean[used] = (
        in_turn(np.array([gather @ entries for gather in gathers]))[used] / mass[used, None]
    )
    entries -= mean[owner]
    entries *= entries
    scatter[:] = in_turn(np.array([gather @ entries for gather in gathers]))
    mean += origin


def _gathers(weightings: Any) -> list[Any]:
    """Return one matrix for each part of the samples.

    Its product with the rows of all entries is the weighted sum over this part.
    """
    parts = _parts(*weightings.shape)
    if len(parts) == 1:
        return [weighted_rows(weightings.data, weightings.indptr)]
    sample, weights = weightings.indices, weightings.data
    inside = [(sample >= part.start) & (sample < part.stop) for part in parts]
    return [weighted_rows(np.where(here, weights, 0.0), weightings.indptr) for here in inside]


def row_differences(
    rows: Floats, first: Integers, second: Integers, *, spare: int = 0
) -> Iterator[tuple[slice, Floats]]:
    """Yield ``rows[first] - rows[second]`` for a few pairs at a time.

    The array starts with `spare` unused rows. The next iteration overwrites it.
    """
    step = max(1, min(len(first), CACHED_ELEMENTS // max(1, rows.shape[1])))
    one, other = np.empty((spare + step, rows.shape[1])), np.empty((step, rows.shape[1]))
    for start in range(0, len(first), step):
        part = slice(start, min(start + step, len(first)))
        size = part.stop - part.start
        # mode="clip" writes directly into `out`. The indices are known to be valid.
        differences = np.take(rows, first[part], axis=0, out=one[spare : spare + size], mode="clip")
        differences -= np.take(rows, second[part], axis=0, out=other[:size], mode="clip")
        yield part, one[: spare + size]


def plain_sums(
    values: Floats, first: Integers, second: Integers, weights: Floats, power: int
) -> Floats:
    """Return the sums over all edges, without dividing them into parts."""
    total, gather = np.zeros(values.shape[1]), None
    for edges, rows in row_differences(values, first, second, spare=1):
        if power == 1:
            np.abs(rows[1:], out=rows[1:])
        else:
            rows[1:] *= rows[1:]
        if gather is None or gather.shape[1] != len(rows):
            gather = weighted_rows(np.ones(len(rows)), np.array([0, len(rows)]))
        # The total so far is the first term. The sum is therefore independent of the number of
        # edges per step.
        rows[0] = total
        gather.data[1:] = weights[edges]
        total = (gather @ rows)[0]
    return np.asarray(total)
