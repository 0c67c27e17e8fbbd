"""Imputation of missing cells, for computations that need complete columns.

The observed cells are approximated by a table of low rank, with singular values reduced by a
threshold (soft-impute: Mazumder, Hastie and Tibshirani 2010, algorithm 1). Missing cells take their
values from the approximation. Held-out cells determine the threshold. Unless the approximation
predicts them clearly better than the column means do, missing cells are filled with the means.
Fills of unrelated columns therefore do not create associations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import fsum

import numpy as np

from graphsieve._base.array_types import Booleans, Floats, Integers
from graphsieve._base.threads import available_threads, in_threads
from graphsieve._base.underflow import ignoring_underflow
from graphsieve.table.blocks import scale_by_power_of_two, unit_exponent
from graphsieve.table.columns import MemoryTable, Table
from graphsieve.table.copies import content_hashes, drawn_places
from graphsieve.table.gaps import gaps_of_features
from graphsieve.table.scaling import divisors
from graphsieve.table.stored.stored_table import StoredTable
from graphsieve.table.sums import dense_weighting, means

# Thresholds relative to the largest singular value, from a single component to almost no shrinkage.
THRESHOLDS = (0.6, 0.35, 0.2, 0.12, 0.07, 0.04, 0.02, 0.01)
PATIENCE = 2  # thresholds without improvement, after which the remaining ones are not tried
MOST_COMPONENTS = 32
NEW_COMPONENTS = 5  # additional components at each threshold
LEAST_IMPROVEMENT = 0.01  # share of the squared error of the held-out cells
STANDARD_ERRORS = 2.0  # margin by which the approximation must be better than the means
FEWEST_HELD_OUT = 20
ENOUGH_HELD_OUT = 2_000
LEAST_SHARE, LARGEST_SHARE = 0.05, 0.2  # limits of the share of observed cells to hold out
MOST_ROUNDS = 8  # updates of the fills at each threshold
LEAST_CHANGE = 1e-2  # change of the fills below which updates stop, relative to all cells
# Maximum number of cells on which thresholds are tried, but at least this number of rows is used
MOST_TRIED, FEWEST_ROWS = 2**19, 1_000
WORTH_THREADS = 2**20  # cells from which starting threads saves time
PART_ELEMENTS = 2**17  # values of a part that fits into the cache
SEED = 20110


def imputed(table: Table) -> Table:
    """Return the table with imputed values in its missing cells, which then count as observed.

    Columns are standardised for the fit. A table without gaps is returned as it is. A table that is
    read in pieces gets the mean of the column in every missing cell.
    """
    return _completed(table, _impute)


def drawn(table: Table) -> Table:
    """Return the table with a value of another sample, drawn at random, in each missing cell.

    Such fills are independent between features. They hide associations but create none, as a
    test requires. Medians would create some if features are missing in the same samples. The draws
    depend only on the contents of the table, not on the order of its rows or columns. A table that
    is read in pieces gets the mean of the column instead.
    """
    return _completed(table, _draw)


def _completed(table: Table, fill: Callable[[MemoryTable, Floats], None]) -> Table:
    """Return the table after `fill` has replaced the missing cells in a copy of its values."""
    if table.gaps is None:
        return table
    if isinstance(table, StoredTable):
        return _with_means(table)
    assert isinstance(table, MemoryTable)
    dense = table.dense()
    values = np.array(dense.matrix, dtype=np.float64, order="C")
    fill(dense, values)
    found = MemoryTable.trusted(values, table.feature_names, features=table.features)
    found.weights = table.weights
    return found


def _with_means(table: StoredTable) -> Table:
    """Return the table with the mean of the observed values in the missing cells of each column."""
    block, held = table.whole, table.gap_values()
    of_all = means(block, dense_weighting(np.ones(table.n_samples)))[0]
    of_all = scale_by_power_of_two(of_all + block.shift, block.exponent)
    n_missing = np.diff(table.gaps.indptr)  # type: ignore[union-attr]
    share = n_missing / np.maximum(table.n_samples - n_missing, 1)
    return table.filled_with(of_all + (of_all - held) * share)


def _impute(table: MemoryTable, values: Floats) -> None:
    assert table.gaps is not None
    exponent, size = divisors(table, "standard")
    units = np.asarray(table.divided(exponent, size).matrix, dtype=np.float64)
    fills = imputed_values(units, ~table.gaps.toarray())
    rows, columns = table.gaps.nonzero()
    values[rows, columns] = np.ldexp(fills[rows, columns] * size[columns], exponent[columns])


def _draw(table: MemoryTable, values: Floats) -> None:
    assert table.gaps is not None
    rows, columns = content_hashes(values, ~table.gaps.toarray())
    missing = gaps_of_features(table.gaps, table.features)
    for feature in np.flatnonzero(np.diff(missing.indptr)):
        absent = np.zeros(len(values), dtype=bool)
        absent[missing.indices[missing.indptr[feature] : missing.indptr[feature + 1]]] = True
        donors = np.flatnonzero(~absent)
        own = (
            np.array([feature]) if table.features is None else table.features.columns(int(feature))
        )
        if len(donors):
            donors = donors[np.argsort(rows[donors], kind="stable")]
            places = drawn_places(rows[absent], columns[own].sum(dtype=np.uint64), len(donors))
            values[np.ix_(absent, own)] = values[np.ix_(donors[places], own)]


@ignoring_underflow
def imputed_values(values: Floats, observed: Booleans) -> Floats:
    """Return a copy of a table with fills in the missing cells.

    Parameters
    ----------
    values : array of shape (n_samples, n_columns)
        Columns in common units. Missing cells may have any value.
    observed : array of shape (n_samples, n_columns)
        Whether each cell is observed.

    Returns
    -------
    array of shape (n_samples, n_columns)
        The observed cells are unchanged. A fill lies between the smallest and the largest observed
        value of its column. It is 0 if no cell of the column is observed.

    Notes
    -----
    The order of rows and columns affects the result only by rounding, unless several rows or
    columns have equal sums of absolute deviations from the means. The order of these sums
    determines which cells are held out.

    Examples
    --------
    With few cells, the fill is the mean of the column.

    >>> values = np.array([[1.0, 5.0], [3.0, 5.0], [0.0, 0.0]])
    >>> imputed_values(values, observed=values > 0)
    array([[1., 5.],
           [3., 5.],
           [2., 5.]])
    """
    if observed.all():
        return values.copy()
    parts = list(_row_slices(*values.shape))
    low = np.min([np.where(observed[rows], values[rows], np.inf).min(axis=0) for rows in parts], 0)
    high = -np.min(
        [np.where(observed[rows], -values[rows], np.inf).min(axis=0) for rows in parts], 0
    )
    low, high = np.where(low <= high, (low, high), 0.0)
    varying = observed & (low < high)
    # Very large or small values are divided by a power of two, so that their squares neither overflow nor
    # underflow.
    largest = np.maximum(-low, high).max(where=low < high, initial=0.0)
    exponent = unit_exponent(int(np.frexp(largest)[1]))
    filled, means = np.empty(values.shape), np.zeros(values.shape[1])
    for rows in parts:
        filled[rows] = np.where(varying[rows], values[rows], 0.0)
        if exponent:
            filled[rows] = np.ldexp(filled[rows], -exponent)
        means += filled[rows].sum(axis=0)
    means /= np.maximum(varying.sum(axis=0), 1)
    for rows in parts:
        filled[rows] = np.where(varying[rows], filled[rows] - means, 0.0)
    approximation = _fitted(filled, observed)
    for rows in parts:
        fills = means + approximation.cells(rows)
        if exponent:
            with np.errstate(over="ignore"):
                fills = np.ldexp(fills, exponent)
        # The limits also make overflowing fills finite, and fills of constant columns exact.
        filled[rows] = np.where(observed[rows], values[rows], np.clip(fills, low, high))
    return filled


@dataclass(frozen=True)
class _Approximation:
    """A table of low rank: means + scores · directionsᵀ."""

    means: Floats
    scores: Floats
    directions: Floats

    def cells(self, rows: slice) -> Floats:
        return np.asarray(self.means + self.scores[rows] @ self.directions.T)


def _fitted(filled: Floats, observed: Booleans) -> _Approximation:
    """Return an approximation of the observed cells. The other cells must be zero. `filled` is modified."""
    # Places by size, not by position, make the result independent of the order of the table.
    row_places, column_places = map(_places, _sums_of_sizes(filled))
    random = np.random.default_rng(SEED)
    start = random.standard_normal((len(column_places), MOST_COMPONENTS))[column_places]
    # In a long table, thresholds are tried on every n-th row in the order of size.
    every = -(-len(filled) // max(FEWEST_ROWS, MOST_TRIED // filled.shape[1]))
    tried = np.flatnonzero(row_places % every == 0)
    part, known = (filled, observed) if every == 1 else (filled[tried], observed[tried])
    held_out = known & _drawn(random, int(known.sum()), row_places[tried] // every, column_places)
    actual = part[held_out]
    part[held_out] = 0.0
    best, threshold = _best(part, known, held_out, actual, start[:, : min(part.shape)])
    if threshold is None:
        return _Approximation(best.means, np.zeros((len(filled), 0)), best.directions)
    if every > 1:
        return _extended(filled, ~observed, best, threshold)
    filled[held_out] = actual
    _fill(filled, ~observed, best)
    return _fit(filled, ~observed, best.directions, threshold)


def _best(
    filled: Floats, observed: Booleans, held_out: Booleans, actual: Floats, start: Floats
) -> tuple[_Approximation, float | None]:
    """Return the approximation that predicts held-out cells best, and its threshold.

    The threshold is None if no approximation is clearly better than the means.
    """
    n_samples, n_columns = filled.shape
    nothing = np.zeros((n_samples, 0)), start[:, :0]
    best, chosen = _Approximation(np.zeros(n_columns), *nothing), None
    if len(actual) < FEWEST_HELD_OUT or not actual.any():
        return best, chosen
    missing = ~observed | held_out
    means = filled.sum(axis=0) / np.maximum(n_samples - missing.sum(axis=0), 1)
    _fill(filled, missing, _Approximation(means, *nothing))
    by_means = (actual - filled[held_out]) ** 2
    least, unimproved, directions = by_means.mean(), 0, start[:, :0]
    largest = _components(filled, start[:, :NEW_COMPONENTS])[2][0]
    for threshold in np.multiply(THRESHOLDS, largest).tolist():
        used = directions.shape[1]
        directions = np.hstack([directions, start[:, used : used + NEW_COMPONENTS]])
        approximation = _fit(filled, missing, directions, threshold)
        directions = approximation.directions
        errors = (actual - filled[held_out]) ** 2
        gains = by_means - errors
        clear = gains.mean() > STANDARD_ERRORS * gains.std() / np.sqrt(len(gains))
        if clear and errors.mean() < (1 - LEAST_IMPROVEMENT) * least:
            best, chosen, least, unimproved = approximation, threshold, errors.mean(), 0
        else:
            unimproved += 1
        if unimproved == PATIENCE:
            break
    return best, chosen


def _fit(filled: Floats, missing: Booleans, directions: Floats, threshold: float) -> _Approximation:
    """Update the approximation and the missing cells in turn, until the latter hardly change."""
    enough = LEAST_CHANGE**2 * np.vdot(filled, filled) * missing.mean()
    for _ in range(MOST_ROUNDS):
        means, left, sizes, directions = _components(filled, directions)
        scores = left * np.maximum(sizes - threshold, 0.0)
        approximation = _Approximation(means, scores, directions)
        if _fill(filled, missing, approximation) <= enough:
            break
    return approximation


def _extended(
    filled: Floats, missing: Booleans, found: _Approximation, threshold: float
) -> _Approximation:
    """Extend the approximation of some rows to all rows, with the same directions V.

    The scores a of a row x are those that `_fit` would reach after many rounds. They solve
    a = s · Vᵀ(x − means), where s contains the shrinkage factors, and the missing cells of
    x − means are replaced with those of V a.
    """
    sizes = np.linalg.norm(found.scores, axis=0)
    directions, sizes = found.directions[:, sizes > 0], sizes[sizes > 0]
    shrinkage, n_components = sizes / (sizes + threshold), len(sizes)
    one, other = np.triu_indices(n_components)
    # Single precision is sufficient for the products, which take most of the time.
    products = (directions[:, one] * directions[:, other]).astype(np.float32)
    scores = np.empty((len(filled), n_components))

    def solve(parts: Iterator[slice]) -> None:
        for rows in parts:
            absent = missing[rows]
            known = np.where(absent, 0.0, filled[rows] - found.means)
            among = np.empty((len(absent), n_components, n_components))
            among[:, one, other] = among[:, other, one] = absent.astype(np.float32) @ products
            system = np.eye(n_components) - shrinkage[:, None] * among
            right = (known @ directions) * shrinkage
            scores[rows] = np.linalg.solve(system, right[:, :, None])[:, :, 0]

    in_threads(solve, _row_slices(*filled.shape), _n_threads(filled.size))
    return _Approximation(found.means, scores, directions)


def _components(filled: Floats, directions: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """Return the means, and the main left vectors, singular values and directions around them.

    One step of subspace iteration improves the given directions. The mean is subtracted from the
    products, because a centred copy of the table would take time and memory.
    """
    means = filled.mean(axis=0)
    left = np.linalg.qr(filled @ directions - means @ directions)[0]
    along = filled.T @ left - np.outer(means, left.sum(axis=0))
    directions, sizes, turn = np.linalg.svd(along, full_matrices=False)
    return means, left @ turn.T, sizes, directions


def _fill(filled: Floats, missing: Booleans, approximation: _Approximation) -> float:
    """Replace the missing cells, and return the sum of their squared changes."""
    changes = []

    def fill(parts: Iterator[slice]) -> None:
        for rows in parts:
            change = np.where(missing[rows], approximation.cells(rows) - filled[rows], 0.0)
            filled[rows] += change
            changes.append(float(np.vdot(change, change)))

    in_threads(fill, _row_slices(*filled.shape), _n_threads(filled.size))
    return fsum(changes)


def _drawn(random: np.random.Generator, n: int, rows: Integers, columns: Integers) -> Booleans:
    """Return cells to hold out if n cells are observed, for given places of rows and columns."""
    share = np.clip(ENOUGH_HELD_OUT / max(n, 1), LEAST_SHARE, LARGEST_SHARE)
    draws = random.integers(256, size=(len(rows), len(columns)), dtype=np.uint8)
    return np.asarray(draws[np.ix_(rows, columns)] < round(256 * float(share)))


def _sums_of_sizes(filled: Floats) -> tuple[Floats, Floats]:
    """Return the sums of absolute values of each row and column."""
    rows, columns = np.empty(len(filled)), np.zeros(filled.shape[1])
    for part in _row_slices(*filled.shape):
        sizes = np.abs(filled[part])
        rows[part] = sizes.sum(axis=1)
        columns += sizes.sum(axis=0)
    return rows, columns


def _places(keys: Floats) -> Integers:
    """Return the position of each key in ascending order."""
    return np.argsort(np.argsort(keys, kind="stable"))


def _n_threads(n_cells: int) -> int:
    return available_threads() if n_cells >= WORTH_THREADS else 1


def _row_slices(n_rows: int, n_columns: int) -> Iterator[slice]:
    at_once = max(1, PART_ELEMENTS // max(1, n_columns))
    for start in range(0, n_rows, at_once):
        yield slice(start, start + at_once)
