"""The two sums that every graph energy is made of, over a block of columns.

- `edge_sum`: Σ_e w_e |f_i − f_j|^power over a list of edges.
- `moments`: mass, mean and scatter Σ_i p_i (f_i − mean)² of each feature under several weightings p of the samples.

A low-rank graph needs no more than the moments, because for two weightings a, b of total mass A, B

    Σ_ij a_i b_j (f_i − f_j)²  =  B·scatter_a + A·scatter_b + A·B·(mean_a − mean_b)² .

Both only ever add squares of differences, so nothing cancels, and what is equal in the data gives exactly zero.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from graphsieve.columns import Block

TEMPORARY_ELEMENTS = 2**22  # numbers in one temporary array: 32 MiB of float64
CACHED_ELEMENTS = 2**16  # numbers in an array that is worked on several times in a row: 512 KiB stay in a core's own cache

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Moments:
    """Per weighting (rows) and feature (columns): the mean in the block's units, and the scatter around it."""

    mass: Floats  # (n_weightings,)
    mean: Floats  # (n_weightings, width)
    scatter: Floats  # (n_weightings, width)

    def scatter_around(self, center: Floats) -> Floats:
        """Σ_i p_i (f_i − center)²."""
        shifted: Floats = self.scatter + self.mass[:, None] * (self.mean - center) ** 2
        return shifted


def cross_energy(one: Moments, other: Moments) -> Floats:
    """Σ_ij a_i b_j (f_i − f_j)², summed over every weighting a of `one` and b of `other` that stand at different places."""
    total = np.zeros(one.mean.shape[1])
    for place in range(len(other.mass)):
        apart = np.arange(len(one.mass)) != place
        around = weighted_sum(apart.astype(np.float64), one.scatter_around(other.mean[place]))
        total += other.mass[place] * around + one.mass[apart].sum() * other.scatter[place]
    return total


def edge_sum(block: Block, first: Integers, second: Integers, weights: Floats, *, power: int = 2) -> Floats:
    """Σ_e w_e |f_first − f_second|^power for every feature of the block."""
    if block.is_sparse:
        return _sparse_edge_sum(block, first, second, weights, power)
    total, gather = np.zeros(block.width), None
    for edges, rows in row_differences(block.values, first, second, spare=1):
        if power == 1:
            np.abs(rows[1:], out=rows[1:])
        else:
            rows[1:] *= rows[1:]
        if gather is None or gather.shape[1] != len(rows):
            gather = _weighted_rows(np.ones(len(rows)), np.array([0, len(rows)]))
        # The total so far is the first term, so that the sum is the same however many edges come at a time.
        rows[0] = total
        gather.data[1:] = weights[edges]
        total = (gather @ rows)[0]
    return np.asarray(total)


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


def moments(block: Block, weightings: Any) -> Moments:
    """Mass, mean and scatter of each feature under each column of the non-negative sparse matrix `weightings`."""
    weightings = sp.csc_array(weightings)
    if block.is_sparse:
        return _sparse_moments(block, weightings)
    mass, mean, scatter = _empty_moments(weightings, block.width)
    for columns in _slices(block.width, weightings.nnz):
        _fill_dense_moments(block.values[:, columns], weightings, mass, mean[:, columns], scatter[:, columns])
    return Moments(mass, mean, scatter)


def projection(block: Block, vector: Floats) -> Floats:
    """Σ_i v_i f_i for every feature, for a vector whose entries sum to zero (so that shifts do not matter)."""
    if block.is_sparse:
        return np.asarray(block.values.T @ vector)
    return weighted_sum(vector, block.values)


def weighted_sum(weights: Floats, rows: Floats) -> Floats:
    """Σ_r w_r · rows[r], in this order whatever the number of columns; a dense product would give copies different last bits."""
    return np.asarray((_weighted_rows(weights, np.array([0, len(weights)])) @ rows)[0])


def _weighted_rows(weights: Floats, begin: NDArray[Any]) -> Any:
    """The matrix whose row r sums the weighted rows from ``begin[r]`` to ``begin[r + 1]`` of what it is multiplied with.

    A sparse product adds in a fixed order, whatever the width of the block.
    """
    return sp.csr_array((weights, np.arange(len(weights)), begin), shape=(len(begin) - 1, len(weights)))


def _slices(length: int, other: int) -> Iterator[slice]:
    step = max(1, TEMPORARY_ELEMENTS // max(1, other))
    return (slice(start, min(start + step, length)) for start in range(0, length, step))


def _empty_moments(weightings: Any, width: int) -> tuple[Floats, Floats, Floats]:
    shape = (weightings.shape[1], width)
    return np.asarray(weightings.sum(axis=0), dtype=np.float64), np.zeros(shape), np.zeros(shape)


def _fill_dense_moments(values: Floats, weightings: Any, mass: Floats, mean: Floats, scatter: Floats) -> None:
    filled = np.diff(weightings.indptr)
    used = filled > 0
    owner = np.repeat(np.arange(len(filled)), filled)
    entries = values[weightings.indices]
    # Relative to the first sample of each weighting: values that are all equal leave exact zeros.
    origin = np.zeros_like(mean)
    origin[used] = entries[weightings.indptr[:-1][used]]
    entries -= origin[owner]
    gather = _weighted_rows(weightings.data, weightings.indptr)
    mean[used] = (gather @ entries)[used] / mass[used, None]
    entries -= mean[owner]
    entries *= entries
    scatter[:] = gather @ entries
    mean += origin


def _sparse_edge_sum(block: Block, first: Integers, second: Integers, weights: Floats, power: int) -> Floats:
    n_edges = len(weights)
    rows = np.tile(np.arange(n_edges), 2)
    signs = np.repeat([1.0, -1.0], n_edges)
    incidence = sp.csr_array((signs, (rows, np.concatenate([first, second]))), shape=(n_edges, block.values.shape[0]))
    differences = (incidence @ sp.csr_array(block.values)).tocoo()
    terms = np.abs(differences.data) ** power * weights[differences.row]
    return np.asarray(np.bincount(differences.col, weights=terms, minlength=block.width), dtype=np.float64)


def _sparse_moments(block: Block, weightings: Any) -> Moments:
    """In as many parts of the weightings as keep the meetings of values and weightings few."""
    met = np.diff(sp.csr_array(weightings).indptr) @ np.bincount(block.values.indices, minlength=weightings.shape[0])
    parts = np.array_split(np.arange(weightings.shape[1]), max(1, min(weightings.shape[1], 4 * int(met) // TEMPORARY_ELEMENTS)))
    found = [_sparse_moments_of_part(block, sp.csc_array(weightings[:, part])) for part in parts]
    return Moments(
        np.concatenate([m.mass for m in found]),
        np.concatenate([m.mean for m in found]),
        np.concatenate([m.scatter for m in found]),
    )


def _sparse_moments_of_part(block: Block, weightings: Any) -> Moments:
    """As the dense version, over the stored entries; the implicit zeros of a weighting enter by their mass alone."""
    mass, mean, scatter = _empty_moments(weightings, block.width)
    values, by_sample = block.values.tocoo(), sp.csr_array(weightings)
    # Each stored value meets each weighting of its sample.
    meetings = np.diff(by_sample.indptr)[values.row]
    value = np.repeat(values.data, meetings)
    starts = np.repeat(by_sample.indptr[values.row], meetings)
    within = np.arange(len(value)) - np.repeat(np.cumsum(meetings) - meetings, meetings)
    weight, weighting = by_sample.data[starts + within], by_sample.indices[starts + within]
    cell = weighting.astype(np.int64) * block.width + np.repeat(values.col, meetings)
    if not len(cell):
        return Moments(mass, mean, scatter)

    order = np.argsort(cell, kind="stable")
    value, weight, cell, sample = value[order], weight[order], cell[order], np.repeat(values.row, meetings)[order]
    begin = np.flatnonzero(np.diff(cell, prepend=-1))
    size = np.diff(begin, append=len(cell))
    group = np.repeat(np.arange(len(begin)), size)
    present = cell[begin]
    # Where no sample of the weighting is zero, work relative to the first value, as in the dense version.
    full = size == np.diff(weightings.indptr)[present // block.width]
    origin = np.where(full, value[begin], 0.0)
    value = value - origin[group]
    total = mass[present // block.width]
    center = np.add.reduceat(weight * value, begin) / total
    stored_mass = np.add.reduceat(weight, begin)
    zero_mass = np.where(full, 0.0, total - stored_mass)
    for place in np.flatnonzero(~full & (stored_mass > total / 2)):  # there the difference would lose digits
        stored = sample[begin[place] : begin[place] + size[place]]
        zero_mass[place] = _mass_of_others(weightings, int(present[place] // block.width), stored)
    spread = np.add.reduceat(weight * (value - center[group]) ** 2, begin) + zero_mass * center**2
    mean.flat[present] = center + origin
    scatter.flat[present] = spread
    return Moments(mass, mean, scatter)


def _mass_of_others(weightings: Any, which: int, samples: NDArray[Any]) -> float:
    """The mass that one weighting gives to all but the given samples."""
    part = slice(weightings.indptr[which], weightings.indptr[which + 1])
    return float(weightings.data[part][~np.isin(weightings.indices[part], samples)].sum())


def dense_weighting(weights: Floats) -> Any:
    """One weighting as the (n, 1) sparse matrix that `moments` takes, without its zeros."""
    nonzero = np.flatnonzero(weights)
    return sp.csc_array((weights[nonzero], nonzero, np.array([0, len(nonzero)])), shape=(len(weights), 1), dtype=np.float64)


def group_weightings(codes: NDArray[Any], n_groups: int, weights: Floats | None = None) -> Any:
    """One weighting per group: `weights` (or 1) for the samples whose code is that group's; code −1 is in no group."""
    member = np.flatnonzero(codes >= 0)
    values = np.ones(len(member)) if weights is None else weights[member]
    matrix = sp.csc_array((values, (member, codes[member])), shape=(len(codes), n_groups), dtype=np.float64)
    matrix.eliminate_zeros()
    matrix.sort_indices()
    return matrix
