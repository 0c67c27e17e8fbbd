"""Columns on a common scale, so that no unit of measurement decides who is near whom.

Only differences matter to every score, so columns are divided and never shifted; sparse tables stay
sparse. Ranks are the one exception: they are counted from the rank of zero, which leaves zeros
where they are.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from scipy.stats import rankdata

from graphsieve._base.array_types import Floats
from graphsieve._kernels.column_sums import TEMPORARY_ELEMENTS, weighted_sum
from graphsieve.table.blocks import Block
from graphsieve.table.columns import MemoryTable, Table
from graphsieve.table.sums import dense_weighting, moments

Scale = Literal["standard", "minmax", "robust", "rank"] | None
SCALES: tuple[Scale, ...] = ("standard", "minmax", "robust", "rank", None)

# Times the range of a small column, from which a large one must be measured in another unit
MIXED_UNITS = 100
SMALL, LARGE = 0.05, 0.95  # which columns, by the order of their ranges, are called small and large
# Times the range of the median column, for one that varies more than all others together
OUTSIZED = 10
# Of an interquartile range in units of the largest value, which it could not divide
NOTHING_BESIDE = 2.0**-1000


def rescaled(table: Table, scale: Scale) -> Table:
    """The table on a common scale; constant columns stay constant, and zeros stay zeros.

    - ``"standard"``: every column divided by its standard deviation.
    - ``"minmax"``: by its range.
    - ``"robust"``: by its interquartile range, which no outlier moves. Where that is zero, because
      half of the values or more are equal, or so small beside the largest value that there is no
      number for their ratio, by the standard deviation: the column varies, and left as it is it
      alone would keep its unit.
    - ``"rank"``: every value replaced by its average rank among those of its column, counted from
      the rank of zero and divided by the number of samples. This changes the features themselves,
      not only their units.
    - None: as it is.

    Examples
    --------
    >>> table = MemoryTable([[0, 10], [1, 20], [2, 20], [5, 1000]])
    >>> rescaled(table, "minmax").matrix[:, 0]
    array([0. , 0.2, 0.4, 1. ])
    >>> rescaled(table, "rank").matrix[:, 1]
    array([0.125, 0.5  , 0.5  , 0.875])
    """
    if scale is None:
        return table
    if scale == "rank":
        return _ranked(table)
    exponents, sizes = table.evaluated(partial(_divisors, scale=scale), wide=scale != "robust")
    return table.divided(exponents.astype(np.intc), sizes)


def _divisors(block: Block, *, scale: Scale) -> Floats:
    """What the columns are divided by: powers of two, and what is left."""
    size = _size(block, scale)
    return np.stack([block.exponent, np.where(block.constant | (size == 0), 1.0, size)])


def of_unit_variance(table: Table) -> Table:
    """The whole table divided by one number, so that the variance of its columns, of those that
    vary, is 1 on average.

    For comparisons with what has a unit of its own, such as a standardised target: how large the
    columns are beside each other stays as it is.

    Examples
    --------
    >>> of_unit_variance(MemoryTable([[1, 7], [-1, -7], [1, 7], [-1, -7]])).matrix[0]
    array([0.2, 1.4])
    """
    deviations = _binary_logarithms_of_sizes(table)[1]
    if not len(deviations):
        return table
    largest = deviations.max()
    size = largest + np.log2(np.exp2(2 * (deviations - largest)).mean()) / 2
    exponent = np.floor(size)
    return table.divided(
        np.full(table.n_features, exponent, dtype=np.intc),
        np.full(table.n_features, np.exp2(size - exponent)),
    )


def chosen_scale(table: Table) -> tuple[Scale, str]:
    """The scale that suits a table, and why: its own units, unless the columns are plainly measured
    in different ones.

    Spectra, pixels, counts and expression levels share a unit, and how much a column varies in it
    says something: standardising would blow up those that hardly vary. So columns are divided by
    their standard deviations only

    - where the ranges of the large ones are more than 100 times those of the small ones. Large and
      small are the 95 % and 5 % quantiles over the columns that vary, taken outwards: of up to 20
      columns, the largest and the smallest. Ranges and not deviations, because a pixel that is dark
      in nearly all images has the range of the others and a small deviation;
    - or where one column varies more than all others together and has more than 10 times the range
      of the median one: an age among grades.

    Returns
    -------
    scale : {"standard", None}
    reason : str

    Examples
    --------
    >>> chosen_scale(MemoryTable([[0.1, 5000], [0.2, 9000], [0.4, 1000]]))
    ('standard', 'ranges differ 26,667-fold between columns, more than 100-fold: they have different units')
    >>> chosen_scale(MemoryTable([[1, 5], [2, 9], [4, 1]]))
    (None, 'ranges differ 2.7-fold between columns, not more than 100-fold: they may share a unit')
    """
    ranges, deviations = _binary_logarithms_of_sizes(table)
    if not len(ranges):
        return None, "no column varies"
    ordered, last = np.sort(ranges), len(ranges) - 1
    apart = float(ordered[int(np.ceil(LARGE * last))] - ordered[int(np.floor(SMALL * last))])
    if apart > np.log2(MIXED_UNITS):
        return (
            "standard",
            f"{_fold(apart)}, more than {MIXED_UNITS}-fold: they have different units",
        )
    largest = deviations.argmax()
    above = float(ranges[largest] - ordered[last // 2])
    if (
        above > np.log2(OUTSIZED)
        and np.exp2(2 * (np.delete(deviations, largest) - deviations[largest])).sum() < 1
    ):
        return (
            "standard",
            f"one column varies more than all others together, {_times(above)} times as widely as "
            "the median one",
        )
    return None, f"{_fold(apart)}, not more than {MIXED_UNITS}-fold: they may share a unit"


def effective_support(table: Table) -> Floats:
    """On how many samples the spread of each column rests: (Σ d²)² / Σ d⁴ of the deviations d from
    its mean.

    It is n where all deviate equally (half of the samples 0, half 1), about n/3 for a normal
    column, about m where m ≪ n samples differ from all others by the same amount, and about 1 where
    a single one does. A constant column is NaN.

    Examples
    --------
    >>> effective_support(MemoryTable([[0, 0, 7], [0, 0, 7], [1, 0, 7], [1, 9, 7]])).round(2)
    array([4.  , 1.71,  nan])
    """
    return np.asarray(table.evaluated(_block_support))


def _size(block: Block, scale: Scale) -> Floats:
    """What every column is divided by, in the block's units."""
    if scale == "minmax":
        return block.range
    if scale == "standard":
        return _standard_deviation(block)
    between_quartiles = _quantile(block, 0.75) - _quantile(block, 0.25)
    return np.where(
        between_quartiles > NOTHING_BESIDE, between_quartiles, _standard_deviation(block)
    )


def _standard_deviation(block: Block) -> Floats:
    return np.asarray(np.sqrt(moments(block, _everyone(block)).scatter[0] / block.n_samples))


def _everyone(block: Block) -> Any:
    return dense_weighting(np.ones(block.n_samples))


def _binary_logarithms_of_sizes(table: Table) -> tuple[Floats, Floats]:
    """Ranges and standard deviations of the columns that vary, as logarithms, since they
    themselves may overflow.
    """
    ranges, deviations = table.evaluated(_logarithms_of_sizes, wide=True)
    varying = ~np.isnan(deviations)
    return ranges[varying], deviations[varying]


def _logarithms_of_sizes(block: Block) -> Floats:
    deviation, found = _standard_deviation(block), np.full((2, block.width), np.nan)
    varying = ~block.constant & (deviation > 0)
    found[0, varying] = np.log2(block.range[varying]) + block.exponent[varying]
    found[1, varying] = np.log2(deviation[varying]) + block.exponent[varying]
    return found


def _times(apart: float) -> str:
    return (
        f"{2.0**apart:.1f}"
        if apart < 4
        else f"{2.0**apart:,.0f}"
        if apart < 40
        else f"2^{apart:.0f}"
    )


def _fold(apart: float) -> str:
    return f"ranges differ {_times(apart)}-fold between columns"


def _quantile(block: Block, share: float) -> Floats:
    """A quantile of every column, interpolated as NumPy does, from its two neighbours in order."""
    place = share * (block.values.shape[0] - 1)
    below, above = int(np.floor(place)), int(np.ceil(place))
    low, high = _in_order(block, below), _in_order(block, above)
    return np.asarray(low + (high - low) * (place - below))


def _in_order(block: Block, place: int) -> Floats:
    """The value of every column that is at this place, from 0, if sorted."""
    if not block.is_sparse:
        return np.asarray(np.partition(block.values, place, axis=0)[place])
    n_samples = block.values.shape[0]
    begin, data = block.values.indptr.astype(np.int64), _sorted_in_columns(block.values)
    filled = np.diff(begin)
    owner = np.repeat(np.arange(block.width), filled)
    negative = np.bincount(owner, weights=data < 0, minlength=block.width).astype(np.int64)
    zeros = n_samples - filled  # of which none is stored
    # Sorted, a column is its negative values, its zeros, its positive values.
    before, after = place < negative, place >= negative + zeros
    stored = begin[:-1] + np.where(before, place, place - zeros)
    result = np.zeros(block.width)
    result[before | after] = data[stored[before | after]]
    return result


def _sorted_in_columns(matrix: Any) -> Floats:
    """The stored values of a CSC matrix, ascending within each column."""
    owner = np.repeat(np.arange(matrix.shape[1]), np.diff(matrix.indptr))
    return np.asarray(matrix.data[np.lexsort((matrix.data, owner))])


def _block_support(block: Block) -> Floats:
    mean = moments(block, _everyone(block)).mean[0]
    if block.is_sparse:
        owner = np.repeat(np.arange(block.width), np.diff(block.values.indptr))
        zeros = block.values.shape[0] - np.diff(block.values.indptr)
        squares = (block.values.data - mean[owner]) ** 2
        second, fourth = (
            np.bincount(owner, weights=squares**power, minlength=block.width)
            + zeros * mean ** (2 * power)
            for power in (1, 2)
        )
    else:
        second, fourth = np.zeros(block.width), np.zeros(block.width)
        width = max(1, TEMPORARY_ELEMENTS // len(block.values))
        for start in range(0, block.width, width):
            part = slice(start, start + width)
            squares = (block.values[:, part] - mean[part]) ** 2
            second[part] = weighted_sum(np.ones(len(squares)), squares)
            fourth[part] = weighted_sum(np.ones(len(squares)), squares**2)
    result = np.full(block.width, np.nan)
    np.divide(second**2, fourth, out=result, where=~block.constant & (fourth > 0))
    return result


def _ranked(table: Table) -> Table:
    """Average ranks, less that of zero (or the one that zero would have between its neighbours),
    as shares of the samples.
    """
    table.need_memory()
    matrix = _sparse_ranks(table.matrix) if table.is_sparse else np.empty(table.matrix.shape)
    if not table.is_sparse:
        width = max(1, TEMPORARY_ELEMENTS // table.n_samples)
        for start in range(0, table.n_features, width):
            values = table.matrix[:, start : start + width]
            of_zero = (values < 0).sum(axis=0) + ((values == 0).sum(axis=0) + 1) / 2
            matrix[:, start : start + width] = (
                rankdata(values, axis=0) - of_zero
            ) / table.n_samples
    return MemoryTable.trusted(matrix, table.feature_names)


def _sparse_ranks(matrix: Any) -> Any:
    n_samples, filled = matrix.shape[0], np.diff(matrix.indptr).astype(np.int64)
    owner = np.repeat(np.arange(matrix.shape[1]), filled)
    order = np.lexsort((matrix.data, owner))
    data = matrix.data[order]
    fresh = np.ones(len(data), dtype=bool)  # where a run of equal values of one column begins
    fresh[1:] = (data[1:] != data[:-1]) | (owner[1:] != owner[:-1])
    begin = np.flatnonzero(fresh)
    size = np.diff(begin, append=len(data))
    column = owner[begin]
    # The middle of the run among the stored values of its column, from 1; the zeros lie between
    # negative and positive ones.
    middle = begin - matrix.indptr[column] + (size + 1) / 2
    negative = np.bincount(owner, weights=matrix.data < 0, minlength=matrix.shape[1])
    zeros = n_samples - filled
    from_zero = (
        middle + np.where(data[begin] > 0, zeros[column], 0) - (negative + (zeros + 1) / 2)[column]
    )
    ranks = np.empty(len(data))
    ranks[order] = np.repeat(from_zero, size) / n_samples
    return sp.csc_array((ranks, matrix.indices, matrix.indptr), shape=matrix.shape)


def standardized_target(target: Floats) -> Floats:
    """A target with mean 0 and standard deviation 1 over its known values; only centred where it
    does not vary.
    """
    known = ~np.isnan(target)
    if not known.any():
        return target
    exponent = int(np.frexp(np.abs(target[known]).max())[1])
    scaled = np.ldexp(target, -exponent)
    # Sums of sorted values: in another order of the samples they would round otherwise, and equal
    # gaps be broken otherwise.
    ordered = np.sort(scaled[known])
    mean = ordered.mean()
    deviation = (ordered - mean).std()
    return np.asarray((scaled - mean) / deviation if deviation > 0 else scaled - mean)
