"""The number of features that are worth keeping.

1. **How few represent those that matter.** The features are added in selection order until they
   explain 95 % of the variance of the features that matter (`relevant`). Independent features are
   all needed, but a single feature represents a hundred copies of it.
2. **Whether more of them predict better.** If features are very similar, as in spectra, a few
   explain nearly all variance, but the remaining variance may distinguish the samples. With enough
   labels, the leave-one-out errors of a linear fit decide. Otherwise features are added while each
   explains far more of the remaining variance than expected by chance. The limit is twice the
   square root of the number of samples.

Samples of one group, such as copies or repeated measurements, count once: they are replaced by
their mean.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from math import isqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphsieve._base.array_types import Floats, Integers
from graphsieve._base.errors import InputError
from graphsieve._base.parameters import count, either
from graphsieve.search.association import NOTHING_LEFT
from graphsieve.search.relevant import RelevantColumns, predicted_values, relevant_columns
from graphsieve.supervision.value import Supervision
from graphsieve.table.blocks import Block
from graphsieve.table.centered import ColumnSpace
from graphsieve.table.columns import NO_EXPONENT, Table
from graphsieve.table.sums import dense_weighting, moments

UNEXPLAINED = 0.05  # share of the variance that the selected columns may leave unexplained
# Upper limit of a column's variance, relative to the median variance. Without it, a column in a
# small unit, such as an age among grades, would dominate the explained variance.
MOST_VARIANCE = 10.0
# A random direction explains on average 1 part in (n − 1 − selected) of the remaining variance. The
# standard deviation is at most √2 times this mean. Three standard deviations above the mean are
# therefore 1 + 3√2 times the mean, or about 5.
FAR_MORE = 5.0
# Upper limit of the number of columns if similar columns are added, as a multiple of √n.
ALIKE_PER_ROOT = 2
ROWS_PER_COEFFICIENT = 3  # A linear fit with fewer rows per column generalises poorly.
STEPS_AT_ONCE = 32
# Share of the squared length below which the rest of a projection is projected again, because its
# rounding errors are relative to the full length.
REPEATED = 0.1


@dataclass(frozen=True)
class Count:
    """The number of columns to keep, and the reason.

    Attributes
    ----------
    n : int
        The number of columns. It is 0 if no column can be distinguished from noise.
    curve : tuple of (size, explained, chance)
        Share of the variance of the columns that matter which the first `size` columns explain, and
        the share which the same number of random columns would explain.
    reason : str
        The reason for this number, in sentences.
    rule : {"explained", "alike", "predicted", "cap", "nothing"}
        The rule that decided. "explained": 95 % of the variance is explained, or there are no more
        columns. "alike": columns are very similar, so more were added. "predicted": more columns
        have lower leave-one-out errors. "cap": the limit `max_features`. "nothing": no column
        matters.
    predicted : tuple of (size, error, standard error)
        The leave-one-out mean squared error with the first `size` columns, relative to the error
        without columns. Empty if it was not computed.

    Examples
    --------
    >>> from graphsieve.table.columns import MemoryTable
    >>> from graphsieve.datasets import make_squares
    >>> data = make_squares(random_state=0)
    >>> found = count_features(MemoryTable(data.X), Supervision.from_labels(data.y), np.array([1, 0, 4, 2, 3, 5]))
    >>> found.n
    2
    >>> found.reason
    '2 of 6 features are associated with the labels (false discovery rate 5 %). The first 2 explain 100 % of their variance.'
    """

    n: int
    curve: tuple[tuple[int, float, float], ...]
    reason: str
    rule: str
    predicted: tuple[tuple[int, float, float], ...] = ()


def count_features(
    table: Table,
    known: Supervision,
    order: Any,
    *,
    relevant: RelevantColumns | None = None,
    weights: Floats | None = None,
    max_features: int | None = None,
) -> Count:
    """Count how many of the first columns of an order are worth keeping.

    Parameters
    ----------
    table : Table
        The features on the scale that the search used. Each column has the weight of its variance,
        limited to ten times the median variance.
    known : Supervision
        The supervision.
    order : array of int
        Column numbers, best first. It may omit columns.
    relevant : RelevantColumns, optional
        The result of `relevant_columns`, if it is already available.
    weights : array of shape (n_features,), optional
        The weight of each column in the search. It is used if the relevance test did not determine
        the columns that matter.
    max_features : int, optional
        Upper limit of the number.

    Returns
    -------
    Count

    Examples
    --------
    Two columns are enough to represent two columns and their copies:

    >>> from graphsieve.table.columns import MemoryTable
    >>> from graphsieve.datasets import make_squares
    >>> data = make_squares(random_state=0)
    >>> table = MemoryTable(np.tile(data.X[:, :2], 3))
    >>> count_features(table, Supervision.from_labels(data.y), np.arange(6)).n
    2
    """
    most = either(None, count(1))("max_features", max_features)
    found = relevant_columns(table, known) if relevant is None else relevant
    candidates = _checked_order(order, table.n_features)
    if not len(candidates) or not found.mask.any():
        return Count(0, ((0, 0.0, 0.0),), found.reason, "nothing")
    counted = found.mask.astype(np.float64)
    if (
        weights is not None
        and found.rule in ("structure", "untested")
        and (found.mask & (weights > 0)).any()
    ):
        counted *= weights
    predicted = _prediction_errors(table, known, candidates)
    result = _walked(_Walk(table, counted, candidates, known.n_independent), found, predicted)
    if most is None or result.n <= most:
        return result
    reason = f"{result.reason} The upper limit of {most} applies."
    return replace(result, n=most, rule="cap", reason=reason)


def _checked_order(order: Any, n_features: int) -> Integers:
    columns = np.asarray(order)
    is_list_of_integers = columns.ndim == 1 and (columns.dtype.kind in "iu" or not columns.size)
    if (
        not is_list_of_integers
        or (~np.isin(columns, np.arange(n_features))).any()
        or len(np.unique(columns)) < len(columns)
    ):
        raise InputError(
            f"order must list different column numbers from 0 to {n_features - 1}, best first."
        )
    return columns.astype(np.int64)


def _walked(
    walk: _Walk, found: RelevantColumns, predicted: tuple[tuple[int, float, float], ...]
) -> Count:
    n, rule, sentences = walk.enough(), "explained", [found.reason]
    if found.mask.sum() > 1:
        first = "The first one explains" if n == 1 else f"The first {n} explain"
        sentences.append(f"{first} {100 * walk.explained[n]:.0f} % of their variance.")
    if predicted:
        wanted = _fewest_that_predict(predicted)
        if wanted > n:
            n, rule = wanted, "predicted"
            sentences.append(f"The leave-one-out error still decreases, up to {n} features.")
    else:
        wanted = walk.far_more(n)
        if wanted > n:
            further = "The next one" if wanted == n + 1 else f"Each of the next {wanted - n}"
            n, rule = wanted, "alike"
            sentences.append(
                f"{further} explains more than {FAR_MORE:.0f} times as much of the remaining "
                "variance as expected by chance."
            )
    return Count(n, walk.curve(), " ".join(sentences), rule, predicted)


# ---- How few represent them


class _Walk:
    """The variance of the weighted columns that the first columns of an order explain.

    It is computed for several columns at a time. `n_independent` is the number of samples, where
    each group counts once.
    """

    def __init__(
        self, table: Table, weights: Floats, candidates: Integers, n_independent: int
    ) -> None:
        self.table, self.candidates, self.n_independent = table, candidates, n_independent
        if table.features is not None:
            weights = weights[table.features.owner]
        exponents = table.column_exponents()
        self.unit = int(exponents[weights > 0].max())
        self.shifts = exponents - self.unit
        # Products with codes are faster than with blocks of indicator columns.
        self.space = None if table.mixed is None else ColumnSpace(table)
        uniform = dense_weighting(np.ones(table.n_samples))
        scatter = table.evaluated(lambda block: moments(block, uniform).scatter[0], wide=True)
        # Shifts above 0 occur only in columns without weight. They are limited to 0, because
        # 0 · inf would give NaN for a huge constant column.
        scatter = scatter * np.ldexp(
            1.0, 2 * np.where(exponents == NO_EXPONENT, 0, np.minimum(self.shifts, 0))
        )
        variance = scatter
        if table.features is not None:
            variance = table.features.sums(scatter)[table.features.owner]
        most = MOST_VARIANCE * float(np.median(variance[weights > 0]))
        self.weights = weights * most / np.maximum(variance, most) if most > 0 else weights
        self.scatter = self.weights * scatter
        self.basis, self.n_directions = np.empty((table.n_samples, 0)), 0
        self.explained = [0.0]
        # For each step, the variance of the other columns that it explains, relative to the
        # variance expected by chance.
        self.ratios: list[float] = []

    def enough(self) -> int:
        """Return the smallest size that explains enough, or all candidates if none does."""
        while 1 - self.explained[-1] > UNEXPLAINED and self._more():
            pass
        enough = 1 - np.array(self.explained) <= UNEXPLAINED
        return int(enough.argmax()) if enough.any() else len(self.candidates)

    def far_more(self, size: int) -> int:
        """Return the size after adding columns that explain far more than expected by chance.

        The limit is `ALIKE_PER_ROOT` times √n.
        """
        while size < ALIKE_PER_ROOT * isqrt(self.n_independent) and (
            size < len(self.ratios) or self._more()
        ):
            if self.ratios[size] <= FAR_MORE:
                break
            size += 1
        return size

    def curve(self) -> tuple[tuple[int, float, float], ...]:
        degrees = max(1, self.n_independent - 1)
        return tuple(
            (size, share, min(1.0, size / degrees)) for size, share in enumerate(self.explained)
        )

    def _more(self) -> bool:
        done = len(self.ratios)
        features = self.candidates[done : done + STEPS_AT_ONCE]
        if not len(features):
            return False
        columns, ends = columns_and_ends(self.table, features)
        values, n_known = scaled_columns(self.table, columns, self.shifts), self.basis.shape[1]
        self.basis, own = orthonormal_steps(values, self.basis)
        fresh = self.basis[:, n_known:]
        gains = self._products(fresh) ** 2
        steps = gains @ self.weights
        total, start = float(self.scatter.sum()), 0
        for end in ends:
            left = (1 - self.explained[-1]) * total
            part, rank = columns[start:end], max(1, int(np.count_nonzero(own[start:end])))
            explained = float(steps[start:end].sum())
            itself = float((gains[start:end][:, part] @ self.weights[part]).sum())
            others, left_of_others = explained - itself, left - itself
            chance = rank * left_of_others / max(1, self.n_independent - 2 - self.n_directions)
            self.ratios.append(others / chance if left_of_others > NOTHING_LEFT * total else 0.0)
            self.explained.append(min(1.0, self.explained[-1] + explained / total))
            self.n_directions += rank
            start = end
        return True

    def _products(self, vectors: Floats) -> Floats:
        """Return the products of centred vectors (columns) with all columns, in a common unit."""
        if self.space is not None and not self.space.sketched:
            return np.ldexp(self.space.against(vectors.T), self.table.top_exponent - self.unit)
        products = self.table.evaluated(partial(_products, vectors=vectors))
        return np.asarray(np.ldexp(products, self.shifts))


def _products(block: Block, *, vectors: Floats) -> Floats:
    return np.asarray(block.values.T @ vectors).T


def columns_and_ends(table: Table, features: Integers) -> tuple[Integers, Integers]:
    """Return the columns of some features, and where the columns of each feature end."""
    if table.features is None:
        return features, np.arange(1, len(features) + 1)
    return table.features.columns_of(features), np.cumsum(table.features.sizes[features])


def scaled_columns(table: Table, columns: Integers, shifts: NDArray[np.intc]) -> Floats:
    """Return the columns as a dense array, centred and in a common unit."""
    blocks = table.take_columns(columns).blocks()
    values = np.hstack([part for block in blocks for _, part in block.dense_parts()])
    return np.asarray(np.ldexp(values - values.mean(axis=0), shifts[columns]))


def orthonormal_steps(columns: Floats, basis: Floats) -> tuple[Floats, Floats]:
    """Return the part of each column that is orthogonal to the basis and to the columns before it.

    The parts are appended to the basis as directions of length 1, and returned with their squared
    lengths. A column without such a part gets a direction of zeros.
    """
    known = np.hstack([basis, np.zeros_like(columns)])
    first, own = basis.shape[1], np.zeros(columns.shape[1])
    for start in range(0, columns.shape[1], STEPS_AT_ONCE):
        before, group = known[:, : first + start], columns[:, start : start + STEPS_AT_ONCE]
        lengths, rests = _squares(group), _without(group, before)
        again = _squares(rests) < REPEATED * lengths
        rests[:, again] = _without(rests[:, again], before)
        steps = np.zeros_like(rests)
        for place, (rest, least) in enumerate(zip(rests.T, NOTHING_LEFT**2 * lengths, strict=True)):
            left = _without(rest, steps[:, :place])
            if least < left @ left < REPEATED * float(rest @ rest):
                left = _without(_without(left, before), steps[:, :place])
            if left @ left > least:
                own[start + place] = left @ left
                steps[:, place] = (left - left.mean()) / np.sqrt(left @ left)
        known[:, first + start : first + start + len(steps.T)] = steps
    return known, own


def _squares(columns: Floats) -> Floats:
    return np.asarray(np.einsum("ij,ij->j", columns, columns))


def _without(columns: Floats, basis: Floats) -> Floats:
    """Return the part of the columns that is orthogonal to an orthonormal basis."""
    return np.asarray(columns - basis @ (basis.T @ columns))


# ---- Whether more of them predict better


def _prediction_errors(
    table: Table, known: Supervision, candidates: Integers
) -> tuple[tuple[int, float, float], ...]:
    """Return the leave-one-out errors of least squares on the first columns.

    The result is empty if there are too few labels or target values.
    """
    target = predicted_values(known)
    if target is None:
        return ()
    units, values = target
    columns_taken, ends = columns_and_ends(table, candidates)
    ends = ends[ends <= units.n // ROWS_PER_COEFFICIENT]
    if not len(ends):
        return ()
    part, taken = table.take(units.rows), columns_taken[: ends[-1]]
    columns = scaled_columns(part, taken, np.zeros(table.n_columns, dtype=np.intc))
    if units.owner is not None:
        columns = units.means(columns)
        columns = columns - columns.mean(axis=0)
    basis, _ = orthonormal_steps(columns, np.empty((units.n, 0)))
    residuals, left = values - values.mean(axis=0), np.full(units.n, 1 - 1 / units.n)
    errors = ((residuals / left[:, None]) ** 2).sum(axis=1)
    unit, start = errors.mean(), 0
    found = [_mean_and_deviation(errors / unit)]
    for end in ends:
        directions = basis[:, start:end]
        residuals = _without(residuals, directions)
        left = np.maximum(left - (directions**2).sum(axis=1), NOTHING_LEFT)
        errors = ((residuals / left[:, None]) ** 2).sum(axis=1)
        found.append(_mean_and_deviation(errors / unit))
        start = end
    return tuple((size, *error) for size, error in enumerate(found))


def _mean_and_deviation(errors: Floats) -> tuple[float, float]:
    """Return the mean of the errors of the rows, and its standard error."""
    return float(errors.mean()), float(errors.std(ddof=1) / np.sqrt(len(errors)))


def _fewest_that_predict(predicted: tuple[tuple[int, float, float], ...]) -> int:
    """Return the smallest size with an error within one standard error of the minimum."""
    sizes, errors, deviations = np.array(predicted).T
    least = int(errors.argmin())
    return int(sizes[errors <= errors[least] + deviations[least]][0])
