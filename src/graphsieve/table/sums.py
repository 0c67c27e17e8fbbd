"""The two sums over a block of columns from which every graph energy is computed.

- `edge_sum`: Σ_e w_e |f_i − f_j|^power over a list of edges.
- `moments`: mass, mean and scatter Σ_i p_i (f_i − mean)² of each feature under several weightings p
  of the samples.

A low-rank graph needs only the moments, because for two weightings a, b of total mass A, B

    Σ_ij a_i b_j (f_i − f_j)²  =  B·scatter_a + A·scatter_b + A·B·(mean_a − mean_b)² .

Both sums add only powers of differences. There is no cancellation, and equal values contribute
exactly zero.

For a table that is read in pieces, edges are summed by groups of columns, each with all rows.
Moments are computed by groups of rows if rows are faster to read. They are then merged, again only
with differences.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from graphsieve._base.array_types import Floats, Integers
from graphsieve._kernels.column_sums import (
    TEMPORARY_ELEMENTS,
    edge_sums,
    mean_alone,
    mean_and_scatter,
    weighted_sum,
)
from graphsieve.table.blocks import BLOCK_ELEMENTS, Block, row_block
from graphsieve.table.columns import on_columns
from graphsieve.table.stored.pieces import BYTES

# Arrays of shape weightings × columns that are in memory while moments are merged
MOMENTS_HELD = 8


@dataclass(frozen=True)
class Moments:
    """Mean and scatter of every feature (columns) under every weighting (rows).

    They are in the units of the block.
    """

    mass: Floats  # (n_weightings,)
    mean: Floats  # (n_weightings, width)
    scatter: Floats  # (n_weightings, width)

    def scatter_around(self, center: Floats) -> Floats:
        """Return Σ_i p_i (f_i − center)²."""
        shifted: Floats = self.scatter + self.mass[:, None] * (self.mean - center) ** 2
        return shifted


def cross_energy(one: Moments, other: Moments) -> Floats:
    """Return Σ_ij a_i b_j (f_i − f_j)² for every feature, summed over pairs of weightings.

    The pairs are all weightings a of `one` and b of `other` at different positions.
    """
    total = np.zeros(one.mean.shape[1])
    for place in range(len(other.mass)):
        apart = np.arange(len(one.mass)) != place
        around = weighted_sum(apart.astype(np.float64), one.scatter_around(other.mean[place]))
        total += other.mass[place] * around + one.mass[apart].sum() * other.scatter[place]
    return total


def edge_sum(
    block: Block, first: Integers, second: Integers, weights: Floats, *, power: int = 2
) -> Floats:
    """Return Σ_e w_e |f_first − f_second|^power for every feature of the block."""
    if block.is_stored:
        return np.asarray(
            on_columns(
                block, partial(edge_sum, first=first, second=second, weights=weights, power=power)
            )
        )
    if block.is_sparse:
        return _sparse_edge_sum(block, first, second, weights, power)
    return edge_sums(block.numbers, first, second, weights, power)


def moments(block: Block, weightings: Any) -> Moments:
    """Return mass, mean and scatter of each feature under each weighting.

    The weightings are the columns of a non-negative array or sparse matrix.
    """
    if block.is_stored:
        return _stored_moments(block, weightings)
    if block.is_sparse:
        return _sparse_moments(block, sp.csc_array(weightings))
    weightings, mass = _sorted_weightings(weightings)
    return Moments(mass, *mean_and_scatter(block.numbers, weightings, mass))


def means(block: Block, weightings: Any) -> Floats:
    """Return the mean of every feature (columns) under every weighting (rows)."""
    if block.is_stored:
        return _stored_moments(block, weightings).mean
    if block.is_sparse:
        return _sparse_moments(block, sp.csc_array(weightings)).mean
    weightings, mass = _sorted_weightings(weightings)
    return mean_alone(block.numbers, weightings, mass)


def _sorted_weightings(weightings: Any) -> tuple[Any, Floats]:
    """Return the weightings with sorted sample indices, and their masses.

    All sums run over the samples in ascending order.
    """
    if isinstance(weightings, np.ndarray):
        # scipy sums a sparse weighting with `reduceat`, so a single dense one gives the same bits.
        total = (
            np.add.reduceat(weightings[:, 0], [0])
            if weightings.shape[1] == 1
            else weightings.sum(axis=0)
        )
        return weightings, np.asarray(total, dtype=np.float64)
    ordered = sp.csc_array(weightings)
    ordered = ordered if ordered.has_sorted_indices else ordered.sorted_indices()
    return ordered, np.asarray(ordered.sum(axis=0), dtype=np.float64)


def columns_at_once(block: Block, n_weightings: int) -> int:
    """Return how many columns of a block have moments that fit into memory together.

    A stored table is read once for every part, so parts are as wide as its memory limit allows.
    """
    elements = BLOCK_ELEMENTS
    if block.is_stored:
        elements = max(elements // MOMENTS_HELD, block.held.memory // (MOMENTS_HELD * BYTES))
    return int(max(1, elements // max(1, n_weightings)))


def projection(block: Block, vector: Floats) -> Floats:
    """Return Σ_i v_i f_i for every feature.

    The entries of the vector must sum to zero, so that the shifts of the block do not matter.
    """
    if block.is_stored:
        return np.asarray(on_columns(block, partial(projection, vector=vector)))
    if block.is_sparse:
        return np.asarray(block.values.T @ vector)
    return weighted_sum(vector, block.values)


def _stored_moments(block: Block, weightings: Any) -> Moments:
    """Return the moments of a stored table, read by columns or by rows, whichever is faster."""
    if not block.held.columnwise:
        return _merged_moments(block, weightings)
    return Moments(
        _sorted_weightings(weightings)[1],
        *on_columns(block, partial(_mean_and_scatter, weightings=weightings)),
    )


def _mean_and_scatter(block: Block, weightings: Any) -> Floats:
    found = moments(block, weightings)
    return np.stack([found.mean, found.scatter])


def _merged_moments(block: Block, weightings: Any) -> Moments:
    """Return the moments of a stored table, merged from those of its groups of rows."""
    groups = block.held.row_groups()
    rows = weightings if isinstance(weightings, np.ndarray) else sp.csr_array(weightings)
    work = partial(
        _moments_of_rows,
        columns=slice(block.start, block.stop),
        shift=block.shift,
        exponent=block.exponent,
    )
    mass: Floats | None = None
    for found in block.held.over_rows(groups, work, [rows[group] for group in groups]):
        if mass is None:
            mass, mean, scatter = found.mass.copy(), found.mean, found.scatter
            continue
        # The mean changes by a share of the difference, so equal means are preserved exactly. The
        # scatter increases only by squares.
        total = mass + found.mass
        share = np.divide(found.mass, total, out=np.zeros(len(total)), where=total > 0)[:, None]
        apart = found.mean - mean
        scatter = scatter + found.scatter + (mass[:, None] * share) * apart**2
        mean = np.where(share == 1, found.mean, mean + share * apart)
        mass = total
    assert mass is not None
    return Moments(mass, mean, scatter)


def _moments_of_rows(
    piece: Any, weightings: Any, *, columns: slice, shift: Floats, exponent: NDArray[np.intc]
) -> Moments:
    return moments(row_block(piece, columns, shift, exponent), weightings)


def _empty_moments(weightings: Any, width: int) -> tuple[Floats, Floats, Floats]:
    shape = (weightings.shape[1], width)
    return np.asarray(weightings.sum(axis=0), dtype=np.float64), np.zeros(shape), np.zeros(shape)


def _sparse_edge_sum(
    block: Block, first: Integers, second: Integers, weights: Floats, power: int
) -> Floats:
    n_edges = len(weights)
    rows = np.tile(np.arange(n_edges), 2)
    signs = np.repeat([1.0, -1.0], n_edges)
    incidence = sp.csr_array(
        (signs, (rows, np.concatenate([first, second]))), shape=(n_edges, block.values.shape[0])
    )
    differences = (incidence @ sp.csr_array(block.values)).tocoo()
    terms = np.abs(differences.data) ** power * weights[differences.row]
    return np.asarray(
        np.bincount(differences.col, weights=terms, minlength=block.width), dtype=np.float64
    )


def _sparse_moments(block: Block, weightings: Any) -> Moments:
    """Return the moments of a sparse block.

    The weightings are split into parts, which limits the number of pairs of value and weighting
    that are in memory.
    """
    n_pairs = np.diff(sp.csr_array(weightings).indptr) @ np.bincount(
        block.values.indices, minlength=weightings.shape[0]
    )
    parts = np.array_split(
        np.arange(weightings.shape[1]),
        max(1, min(weightings.shape[1], 4 * int(n_pairs) // TEMPORARY_ELEMENTS)),
    )
    found = [_sparse_moments_of_part(block, sp.csc_array(weightings[:, part])) for part in parts]
    return Moments(
        np.concatenate([m.mass for m in found]),
        np.concatenate([m.mean for m in found]),
        np.concatenate([m.scatter for m in found]),
    )


def _sparse_moments_of_part(block: Block, weightings: Any) -> Moments:
    """Return the moments under some weightings, from the nonzero values of a sparse block.

    The implicit zeros of a feature enter only through their total mass.
    """
    mass, mean, scatter = _empty_moments(weightings, block.width)
    values, by_sample = block.values.tocoo(), sp.csr_array(weightings)
    # Each nonzero value is paired with each weighting of its sample.
    n_pairs = np.diff(by_sample.indptr)[values.row]
    value = np.repeat(values.data, n_pairs)
    starts = np.repeat(by_sample.indptr[values.row], n_pairs)
    within = np.arange(len(value)) - np.repeat(np.cumsum(n_pairs) - n_pairs, n_pairs)
    weight, weighting = by_sample.data[starts + within], by_sample.indices[starts + within]
    cell = weighting.astype(np.int64) * block.width + np.repeat(values.col, n_pairs)
    if not len(cell):
        return Moments(mass, mean, scatter)

    order = np.argsort(cell, kind="stable")
    value, weight, cell, sample = (
        value[order],
        weight[order],
        cell[order],
        np.repeat(values.row, n_pairs)[order],
    )
    begin = np.flatnonzero(np.diff(cell, prepend=-1))
    size = np.diff(begin, append=len(cell))
    group = np.repeat(np.arange(len(begin)), size)
    present = cell[begin]
    # If no sample of the weighting is zero, values are relative to the first one, as in the dense
    # version.
    full = size == np.diff(weightings.indptr)[present // block.width]
    origin = np.where(full, value[begin], 0.0)
    value = value - origin[group]
    total = mass[present // block.width]
    center = np.add.reduceat(weight * value, begin) / total
    stored_mass = np.add.reduceat(weight, begin)
    zero_mass = np.where(full, 0.0, total - stored_mass)
    # In these cells the difference loses digits, so the mass of the zeros is summed directly.
    for place in np.flatnonzero(~full & (stored_mass > total / 2)):
        stored = sample[begin[place] : begin[place] + size[place]]
        zero_mass[place] = _mass_of_others(weightings, int(present[place] // block.width), stored)
    spread = np.add.reduceat(weight * (value - center[group]) ** 2, begin) + zero_mass * center**2
    mean.flat[present] = center + origin
    scatter.flat[present] = spread
    return Moments(mass, mean, scatter)


def _mass_of_others(weightings: Any, which: int, samples: NDArray[Any]) -> float:
    """Return the mass of one weighting without the given samples."""
    part = slice(weightings.indptr[which], weightings.indptr[which + 1])
    return float(weightings.data[part][~np.isin(weightings.indices[part], samples)].sum())


def dense_weighting(weights: Floats) -> Any:
    """Return one weighting in the form that `moments` expects, of shape (n, 1).

    The result is an array, or a sparse matrix if most weights are zero.
    """
    nonzero = np.flatnonzero(weights)
    if 2 * len(nonzero) >= len(weights):
        return np.ascontiguousarray(weights[:, None], dtype=np.float64)
    return sp.csc_array(
        (weights[nonzero], nonzero, np.array([0, len(nonzero)])),
        shape=(len(weights), 1),
        dtype=np.float64,
    )


def group_weightings(codes: NDArray[Any], n_groups: int, weights: Floats | None = None) -> Any:
    """Return one weighting per group: `weights` (or 1) for the samples with the code of the group.

    Samples with code −1 belong to no group.
    """
    member = np.flatnonzero(codes >= 0)
    values = np.ones(len(member)) if weights is None else weights[member]
    matrix = sp.csc_array(
        (values, (member, codes[member])), shape=(len(codes), n_groups), dtype=np.float64
    )
    matrix.eliminate_zeros()
    return matrix
