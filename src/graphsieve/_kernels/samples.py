"""Sums over weighted samples, for many columns side by side; and the extremes of the columns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from graphsieve._base.array_types import Floats, Integers
from graphsieve._base.threads import available_threads, in_threads
from graphsieve._kernels import compiled
from graphsieve._kernels.rows import (
    SHARED_FROM,
    Numbers,
    in_parts,
    in_turn,
    readable,
    summed,
    weighted_rows,
)

TEMPORARY_ELEMENTS = 2**22  # numbers in one temporary array: 32 MiB of float64
SAMPLES_AT_ONCE = 2**16  # samples of one sum …
# … of so few weightings that a sum for each part is small; of more, each has fewer samples anyway
FEW_WEIGHTINGS = 64
FEW_PLACES = 2**12  # samples × weightings that are quicker written out than turned into lists


class BySample(NamedTuple):
    """Weightings as kernels read them: for each sample, which it is in and by how much; where
    each is in all, just how much.
    """

    begin: Integers | None
    which: Integers | None
    weights: Floats
    first: Integers  # of each weighting the first sample, or −1

    @classmethod
    def of(cls, weightings: Any) -> BySample:
        """The columns of an array, or of a CSC matrix with sorted indices."""
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
        # No need to say who: zeros add nothing
        if n_places <= FEW_PLACES or (len(used) == 1 and 2 * weightings.nnz >= n_places):
            return cls(None, None, weightings.toarray().ravel(), first)
        entries = sp.csr_array(weightings)
        places = (
            entries.indptr.astype(np.int64, copy=False),
            entries.indices.astype(np.int64, copy=False),
        )
        return cls(*places, entries.data.astype(np.float64, copy=False), first)

    def part(self, here: slice) -> tuple[Integers | None, Integers | None, Floats]:
        """Those of some samples."""
        if self.begin is None or self.which is None:
            n_weightings = len(self.first)
            return None, None, self.weights[here.start * n_weightings : here.stop * n_weightings]
        begin = self.begin[here.start : here.stop + 1]
        entries = slice(begin[0], begin[-1])
        return begin - begin[0], self.which[entries], self.weights[entries]


def mean_and_scatter(numbers: Numbers, weightings: Any, mass: Floats) -> tuple[Floats, Floats]:
    """Σ_i w_i f_i / mass and Σ_i w_i (f_i − mean)² for every column of `weightings`: an array,
    or CSC with sorted indices.
    """
    if not readable(numbers.rows):
        return _plain_mean_and_scatter(numbers.values(), sp.csc_array(weightings), mass)
    by = BySample.of(weightings)
    origin, mean = _relative_mean(numbers, by, mass)
    scatter = weighted_sums(numbers, by, origin, mean)
    mean += origin
    return mean, scatter


def mean_alone(numbers: Numbers, weightings: Any, mass: Floats) -> Floats:
    """The mean of `mean_and_scatter`, for half the work."""
    if not readable(numbers.rows):
        return mean_and_scatter(numbers, weightings, mass)[0]
    origin, mean = _relative_mean(numbers, BySample.of(weightings), mass)
    return mean + origin


def weighted_sums(
    numbers: Numbers, by: BySample, origin: Floats, center: Floats | None = None
) -> Floats:
    """Σ_i w_i (f_i − origin) for every weighting (row) and column; with a center, Σ_i w_i ((f_i −
    origin) − center)².

    The center has a row per weighting; the origin, too, or one for all. Only compiled.
    """
    if not len(by.weights):
        return np.zeros((len(by.first), origin.shape[1]))
    parts, kernel = _parts(len(numbers.rows), len(by.first)), compiled().weighted_sums

    def work(number: int, start: int, stop: int, total: Floats) -> None:
        part = parts[number]
        kernel(numbers.rows[part], *numbers[1:], *by.part(part), origin, center, start, stop, total)

    return summed((len(by.first), origin.shape[1]), len(parts), len(by.weights), work)


def _parts(n_samples: int, n_weightings: int) -> list[slice]:
    return in_parts(
        n_samples, SAMPLES_AT_ONCE if n_weightings <= FEW_WEIGHTINGS else max(1, n_samples)
    )


def _relative_mean(numbers: Numbers, by: BySample, mass: Floats) -> tuple[Floats, Floats]:
    """The first sample of each weighting, and the mean relative to it: values that are all equal
    leave exact zeros.
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
    """The smallest and the largest value of every column, and the first of least magnitude; NaN
    where one is NaN.
    """
    if readable(rows):
        return _shared_extremes(rows)
    found = np.empty((3, rows.shape[1]))
    found[0], found[1] = rows.min(axis=0), rows.max(axis=0)
    found[2] = np.take_along_axis(rows, np.abs(rows).argmin(axis=0)[None], axis=0)[0]
    return found


def _shared_extremes(rows: NDArray[Any]) -> Floats:
    """By rows, since extremes do not depend on an order; of equal magnitudes the earlier one
    stays.
    """
    kernel = compiled().column_extremes
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


# ---- Without a compiler ----


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
    """The sums of each part of the samples: matrices to be multiplied with the rows of all
    entries.
    """
    parts = _parts(*weightings.shape)
    if len(parts) == 1:
        return [weighted_rows(weightings.data, weightings.indptr)]
    sample, weights = weightings.indices, weightings.data
    inside = [(sample >= part.start) & (sample < part.stop) for part in parts]
    return [weighted_rows(np.where(here, weights, 0.0), weightings.indptr) for here in inside]
