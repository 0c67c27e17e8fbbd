"""Scaling of columns, so that distances do not depend on units of measurement.

All scores depend only on differences, so columns are divided but not shifted, and sparse tables
remain sparse. Ranks are the only exception. They are relative to the rank of zero, so zeros remain
zeros.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.stats import rankdata

from graphsieve._base.array_types import Floats
from graphsieve._kernels.column_sums import TEMPORARY_ELEMENTS, weighted_sum
from graphsieve.table.blocks import Block, scale_by_power_of_two
from graphsieve.table.columns import MemoryTable, Table
from graphsieve.table.features import Features
from graphsieve.table.gaps import patterns
from graphsieve.table.sums import dense_weighting, moments

Scale = Literal["standard", "minmax", "robust", "rank"] | None
SCALES: tuple[Scale, ...] = ("standard", "minmax", "robust", "rank", None)

# Ratio of a large to a small range above which the columns must have different units
MIXED_UNITS = 100
SMALL, LARGE = 0.05, 0.95  # quantiles of the ranges that define a small and a large range
# Ratio to the range of the median column, for a column that varies more than all others together
OUTSIZED = 10
# Interquartile range, relative to the largest value, below which a division by it would overflow
SMALLEST_QUARTILE_RANGE = 2.0**-1000
ROUNDING = 2.0**-44  # share of a scatter below which a difference of scatters has no digits left


def rescaled(table: Table, scale: Scale) -> Table:
    """Return the table on a common scale.

    Constant columns remain constant, and zeros remain zeros.

    - ``"standard"``: every column is divided by its standard deviation.
    - ``"minmax"``: every column is divided by its range.
    - ``"robust"``: every column is divided by its interquartile range, which is insensitive to
      outliers. This range is zero if half of the values or more are equal. If it is zero, or so
      small that the division would overflow, the standard deviation is used. Otherwise such a
      column would be the only one to keep its unit.
    - ``"rank"``: every value is replaced by its average rank in its column, relative to the rank of
      zero and divided by the number of samples. This changes the features themselves, not only
      their units.
    - None: the table is unchanged.

    A category or feature group has the same weight as a single column.

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
    return table.divided(*divisors(table, scale))


def divisors(table: Table, scale: Scale) -> tuple[NDArray[np.intc], Floats]:
    """Return the divisor of every column as an exponent of a power of two and a factor."""
    form = _divisors if table.features is None else _divisors_and_deviations
    found = _evaluated(table, partial(form, scale=scale), wide=scale != "robust")
    if scale == "robust" and table.gaps is not None:
        _evaluate_observed(table, partial(form, scale=scale), found)
    exponents, sizes = (
        found if table.features is None else _divisors_of_features(table.features, scale, found)
    )
    return exponents.astype(np.intc), sizes


@dataclass(frozen=True)
class _Missing:
    """The total mass of the missing cells of each column, and the value that they hold."""

    masses: Floats
    values: Floats


def _evaluated(
    table: Table, form: Callable[..., Floats], *, wide: bool = True, weighted: bool = True
) -> Floats:
    """Evaluate a form of blocks, masses and missing cells."""
    masses, missing = table.weights if weighted else None, None
    if table.gaps is not None:
        own = np.ones(table.n_samples) if masses is None else masses
        missing = _Missing(table.gaps.T @ own, table.gap_values())
    form = partial(form, masses=masses, missing=missing)
    return np.asarray(table.evaluated(form, wide=wide))


def _evaluate_observed(table: Table, form: Callable[..., Floats], found: Floats) -> None:
    """Replace the results of columns with gaps by those of their observed samples."""
    for features, part in table.in_memory():
        own = features if table.features is None else table.features.columns_of(features)
        complete = part.complete()
        for columns, observed in [] if part.gaps is None else patterns(part.gaps):
            if observed.any() and not observed.all():
                where = complete.take_columns(columns).take(np.flatnonzero(observed))
                found[..., own[columns]] = _evaluated(where, form, wide=False)


def _divisors_of_features(features: Features, scale: Scale, found: Floats) -> tuple[Floats, Floats]:
    """Return divisors that give a feature of several columns the weight of a single column.

    The columns of a group are scaled one by one and then divided by the root of the number of those
    that vary. The indicators of a category have the same divisor: its total deviation, or, for
    ``"minmax"``, the distance between two levels. `found` are those of the single columns, as
    returned by `_divisors_and_deviations`.
    """
    exponents, sizes, deviations, varies = found
    several = features.sizes[features.owner] > 1
    category = several & features.categorical[features.owner]
    total = np.sqrt(features.sums(np.where(category, deviations, 0.0) ** 2))[features.owner]
    if scale == "minmax":
        total = np.full(len(sizes), np.sqrt(2.0))
    if scale == "rank":  # the variance of evenly spread ranks
        total = total * np.sqrt(12.0)
    exponents = np.where(category, 0, exponents)
    root = np.sqrt(np.maximum(1, features.sums(varies)))[features.owner]
    sizes = np.where(
        category, np.where(total > 0, total, 1.0), np.where(several, sizes * root, sizes)
    )
    return exponents, sizes


def _deviations(
    block: Block,
    size: Floats | None = None,
    *,
    masses: Floats | None,
    missing: _Missing | None,
) -> Floats:
    """Return the standard deviations in original units, and whether the columns vary.

    `size` are the standard deviations in the units of the block, if they are already available.
    """
    size = _standard_deviation(block, masses, missing) if size is None else size
    deviation = np.where(block.constant, 0.0, size)
    return np.stack([np.ldexp(deviation, block.exponent), ~block.constant])


def _divisors(
    block: Block, *, scale: Scale, masses: Floats | None, missing: _Missing | None
) -> Floats:
    """Return the divisors of the columns as exponents of powers of two and remaining factors."""
    return _as_divisors(block, _size(block, scale, masses, missing))


def _divisors_and_deviations(
    block: Block, *, scale: Scale, masses: Floats | None, missing: _Missing | None
) -> Floats:
    size = _size(block, scale, masses, missing)
    known = size if scale == "standard" else None
    deviations = _deviations(block, known, masses=masses, missing=missing)
    return np.concatenate([_as_divisors(block, size), deviations])


def _as_divisors(block: Block, size: Floats) -> Floats:
    return np.stack([block.exponent, np.where(block.constant | (size == 0), 1.0, size)])


def of_unit_variance(table: Table) -> Table:
    """Return the table divided by one number, so that its varying features have mean variance 1.

    The variance of a feature of several columns is the sum of their variances. The relative sizes
    of the columns do not change. This is for comparisons with values in fixed units, such as a
    standardised target.

    Examples
    --------
    >>> of_unit_variance(MemoryTable([[1, 7], [-1, -7], [1, 7], [-1, -7]])).matrix[0]
    array([0.2, 1.4])
    """
    deviations = _evaluated(table, _logarithms_of_sizes, weighted=False)[1]
    varying = ~np.isnan(deviations)
    if not varying.any():
        return table
    largest = deviations[varying].max()
    mean = np.exp2(2 * (deviations[varying] - largest)).mean()
    if table.features is not None:
        mean *= varying.sum() / (table.features.sums(varying) > 0).sum()
    size = largest + np.log2(mean) / 2
    exponent = np.floor(size)
    return table.divided(
        np.full(table.n_columns, exponent, dtype=np.intc),
        np.full(table.n_columns, np.exp2(size - exponent)),
    )


def chosen_scale(table: Table) -> tuple[Scale, str]:
    """Return a suitable scale for a table, and the reason.

    Spectra, pixels, counts and expression levels share a unit, and the variation of a column in
    this unit is informative. Standardisation would inflate columns that hardly vary. Columns are
    therefore divided by their standard deviations only in two cases:

    - Large ranges are more than 100 times small ranges. Large and small ranges are the 95 % and 5 %
      quantiles over the columns that vary, rounded outwards: the largest and the smallest range for
      up to 20 columns. Standard deviations are unsuitable for this rule. A pixel that is dark in
      nearly all images has the range of the other pixels but a small standard deviation.
    - One column varies more than all others together and has more than 10 times the range of the
      median column, for instance an age among grades.

    Returns
    -------
    scale : {"standard", None}
        The scale, where None keeps the units of the table.
    reason : str
        The reason as a phrase.

    Examples
    --------
    >>> chosen_scale(MemoryTable([[0.1, 5000], [0.2, 9000], [0.4, 1000]]))
    ('standard', 'ranges differ 26,667-fold between columns, more than 100-fold: they have different units')
    >>> chosen_scale(MemoryTable([[1, 5], [2, 9], [4, 1]]))
    (None, 'ranges differ 2.7-fold between columns, not more than 100-fold: they may share a unit')
    """
    if table.features is not None and table.features.categorical.any():
        if all(block.constant.all() for block in table.wide_blocks()):
            return None, "no column varies"
        return "standard", "there are categories, which have no unit"
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
            f"one column varies more than all others together and has {_times(above)} times the "
            "range of the median column",
        )
    return None, f"{_fold(apart)}, not more than {MIXED_UNITS}-fold: they may share a unit"


def effective_support(table: Table) -> Floats:
    """Return the effective number of samples that contribute to the variance of each column.

    It is (Σ d²)² / Σ d⁴, where d are the deviations from the mean of the column.

    The value is n if all samples deviate equally (half of them 0, half 1), and about n/3 for a
    normal distribution. It is about m if m ≪ n samples differ from all others by the same amount,
    and about 1 if a single sample does. It is NaN for a constant column.

    Examples
    --------
    >>> effective_support(MemoryTable([[0, 0, 7], [0, 0, 7], [1, 0, 7], [1, 9, 7]])).round(2)
    array([4.  , 1.71,  nan])
    """
    return np.asarray(table.evaluated(_block_support))


def _size(block: Block, scale: Scale, masses: Floats | None, missing: _Missing | None) -> Floats:
    """Return the divisor of every column in the units of the block.

    Only standard deviations depend on the masses of the samples.
    """
    if scale == "minmax":
        return block.range
    if scale == "standard":
        return _standard_deviation(block, masses, missing)
    between_quartiles = _quantile(block, 0.75) - _quantile(block, 0.25)
    return np.where(
        between_quartiles > SMALLEST_QUARTILE_RANGE, between_quartiles, _standard_deviation(block)
    )


def _standard_deviation(
    block: Block, masses: Floats | None = None, missing: _Missing | None = None
) -> Floats:
    weighting = _equal_weights(block) if masses is None else dense_weighting(masses)
    found = moments(block, weighting)
    scatter, mass = found.scatter[0], found.mass[0]
    if missing is not None:
        columns = slice(block.start, block.stop)
        absent = missing.masses[columns]
        value = scale_by_power_of_two(missing.values[columns], -block.exponent) - block.shift
        present = np.maximum(mass - absent, 0.0)
        # The missing cells of a column hold one value. This is its distance from the mean of all.
        apart = (found.mean[0] - value) * (absent > 0)
        with np.errstate(divide="ignore", invalid="ignore"):
            scatter = scatter - np.nan_to_num(apart**2 * absent * mass / present)
        # What remains of a column that is constant where it is observed is rounding error.
        scatter = np.where(scatter > ROUNDING * found.scatter[0], scatter, 0.0)
        mass = np.where(present > 0, present, 1.0)
    return np.asarray(np.sqrt(scatter / mass))


def _equal_weights(block: Block) -> Any:
    return dense_weighting(np.ones(block.n_samples))


def _binary_logarithms_of_sizes(table: Table) -> tuple[Floats, Floats]:
    """Return binary logarithms of the ranges and standard deviations of the varying columns.

    Logarithms are used because the values themselves may overflow.
    """
    ranges, deviations = _evaluated(table, _logarithms_of_sizes, weighted=False)
    varying = ~np.isnan(deviations)
    return ranges[varying], deviations[varying]


def _logarithms_of_sizes(
    block: Block, *, masses: Floats | None, missing: _Missing | None
) -> Floats:
    deviation = _standard_deviation(block, masses, missing)
    found = np.full((2, block.width), np.nan)
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
    """Return a quantile of every column, interpolated linearly between values as in NumPy."""
    place = share * (block.values.shape[0] - 1)
    below, above = int(np.floor(place)), int(np.ceil(place))
    low, high = _order_statistic(block, below), _order_statistic(block, above)
    return np.asarray(low + (high - low) * (place - below))


def _order_statistic(block: Block, place: int) -> Floats:
    """Return the value at a position (from 0) of every column in sorted order."""
    if not block.is_sparse:
        return np.asarray(np.partition(block.values, place, axis=0)[place])
    n_samples = block.values.shape[0]
    begin, data = block.values.indptr.astype(np.int64), _sorted_in_columns(block.values)
    filled = np.diff(begin)
    owner = np.repeat(np.arange(block.width), filled)
    negative = np.bincount(owner, weights=data < 0, minlength=block.width).astype(np.int64)
    zeros = n_samples - filled  # implicit zeros; there are no explicit ones
    # A sorted column consists of its negative values, its zeros and its positive values.
    before, after = place < negative, place >= negative + zeros
    stored = begin[:-1] + np.where(before, place, place - zeros)
    result = np.zeros(block.width)
    result[before | after] = data[stored[before | after]]
    return result


def _sorted_in_columns(matrix: Any) -> Floats:
    """Return the entries of a CSC matrix in ascending order within each column."""
    owner = np.repeat(np.arange(matrix.shape[1]), np.diff(matrix.indptr))
    return np.asarray(matrix.data[np.lexsort((matrix.data, owner))])


def _block_support(block: Block) -> Floats:
    mean = moments(block, _equal_weights(block)).mean[0]
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
    """Return a table of average ranks relative to the rank of zero, as shares of the samples.

    If a column has no zero, the rank of zero is the rank between its neighbours.
    """
    table.need_memory()
    if table.gaps is not None and isinstance(table, MemoryTable):
        table = table.dense()
    matrix = _sparse_ranks(table.matrix) if table.is_sparse else np.empty(table.matrix.shape)
    if not table.is_sparse:
        width = max(1, TEMPORARY_ELEMENTS // table.n_samples)
        for start in range(0, table.n_columns, width):
            values = table.matrix[:, start : start + width]
            of_zero = (values < 0).sum(axis=0) + ((values == 0).sum(axis=0) + 1) / 2
            matrix[:, start : start + width] = (
                rankdata(values, axis=0) - of_zero
            ) / table.n_samples
    if table.gaps is not None:
        _rank_observed(table, matrix)
    ranked = MemoryTable.trusted(matrix, table.feature_names, features=table.features)
    ranked.weights, ranked.gaps = table.weights, table.gaps
    if table.features is None:
        return ranked
    several = table.features.sizes[table.features.owner] > 1
    category = several & table.features.categorical[table.features.owner]
    if not table.is_sparse:
        matrix[:, category] = table.matrix[:, category]
    unchanged = np.stack([np.zeros(table.n_columns), np.ones(table.n_columns)])
    found = np.concatenate([unchanged, _evaluated(table, _deviations, wide=False)])
    exponents, sizes = _divisors_of_features(table.features, "rank", found)
    return ranked.divided(exponents.astype(np.intc), sizes)


def _rank_observed(table: Table, ranks: Floats) -> None:
    """Write the ranks of columns with gaps among their observed values. A gap gets the median rank."""
    assert table.gaps is not None
    for columns, observed in patterns(table.gaps):
        if observed.any() and not observed.all():
            values = table.matrix[np.ix_(observed, columns)]
            of_zero = (values < 0).sum(axis=0) + ((values == 0).sum(axis=0) + 1) / 2
            own = (rankdata(values, axis=0) - of_zero) / len(values)
            ranks[np.ix_(observed, columns)] = own
            ranks[np.ix_(~observed, columns)] = np.median(own, axis=0)


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
    # Average rank of the run among the nonzero values of its column, from 1. The zeros lie between
    # the negative and the positive values.
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
    """Return a target with standard deviation 1 over its known values.

    Several targets are also divided by the square root of their number. The squared distance
    between two samples is then the mean over the targets.

    The target is divided but not shifted. Only differences between targets matter, and a shift
    would round values by different amounts, so that equal differences could become different. A
    constant target is only multiplied by a power of two.
    """
    if target.ndim == 2:
        columns = [standardized_target(column) for column in target.T]
        return np.asarray(np.stack(columns, axis=1) / np.sqrt(len(columns)))
    known = ~np.isnan(target)
    if not known.any():
        return target
    exponent = int(np.frexp(np.abs(target[known]).max())[1])
    scaled = np.ldexp(target, -exponent)
    # Sums run over sorted values, so their rounding does not depend on the order of the samples.
    ordered = np.sort(scaled[known])
    deviation = (ordered - ordered.mean()).std()
    constant = ordered[0] == ordered[-1]
    return np.asarray(scaled if constant else scaled / deviation)
