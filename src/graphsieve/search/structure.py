"""Association of each feature with the other features: the structure of a table.

The statistic of a column is the sum of its squared rank correlations with all other columns. It is
compared with the same sum for a shuffled column. The test uses the exact mean and variance over all
permutations, and the tail that follows from the eigenvalues of the other columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
from scipy.special import ndtr

from graphsieve._base.array_types import Booleans, Floats, Integers
from graphsieve.search.association import (
    FEWEST_ROWS,
    NO_VARIANCE,
    NOTHING_LEFT,
    Form,
    permutation_moments,
    permutation_tail,
    rank_basis,
    rank_curves,
    single_columns,
    supported,
)
from graphsieve.supervision.groups import Units
from graphsieve.supervision.value import Supervision
from graphsieve.table.columns import Table
from graphsieve.table.imputation import drawn

# Maximum number of rows. The time and memory of the test are quadratic in this number.
MOST_ROWS = 500
HALVINGS = 32  # bisection steps for an eigenvalue
# Maximum number of Newton steps to a saddlepoint. Five to twenty are usual, because a step that
# would leave the interval is replaced by a bisection.
MOST_STEPS = 60
COLUMNS_AT_ONCE = 64  # columns per step, so that their arrays fit into the cache
# Standard deviations. Closer to the mean, the saddlepoint formula divides two rounding errors.
NEAR_MEAN = 1e-3


def spread_out(n_rows: int) -> Integers:
    """Return at most `MOST_ROWS` evenly spaced row numbers."""
    return np.unique(np.linspace(0, n_rows - 1, min(n_rows, MOST_ROWS)).round().astype(np.int64))


def structure_p_values(table: Table, known: Supervision) -> Floats:
    """Return the p-value of the association of each feature with the others.

    Only the groups of the supervision are used: one sample of each group counts. The p-value is NaN
    for a constant feature, and 1 for all others if there are too few samples for a test.
    """
    different = known.groups_only().units().representatives
    rows = different[spread_out(len(different))]
    part = drawn(table.take(rows))
    constant = np.concatenate([block.constant for block in part.blocks()])
    if part.features is not None:
        constant = part.features.sums(~constant * 1) == 0
    if len(rows) < FEWEST_ROWS:
        return np.where(constant, np.nan, 1.0)
    ranks = list(_supported_ranks(part))
    gram = _gram(part, ranks) if part.features is None else gram_of_ranks(part)
    values, directions = np.linalg.eigh(gram)
    # The first eigenvalue is left out. It is 0, because all columns are centred.
    axes = (np.maximum(values[1:], 0.0), directions[:, 1:])
    p_values = np.concatenate([_column_p_values(some, gram, *axes) for some in ranks])
    if part.features is not None:
        p_values = p_values[part.features.starts[:-1]]
        for feature, basis in _rank_bases(part):
            p_values[feature] = _feature_p_value(basis, gram, float(axes[0][-1]))
    return np.where(constant, np.nan, p_values)


def _supported_ranks(table: Table) -> Iterator[Floats]:
    for block in table.blocks():
        for _, values in block.dense_parts():
            yield np.where(supported(values), rank_curves(values)[0], 0.0)


def gram_of_ranks(table: Table) -> Floats:
    """Return the products of the rows of all ranks, to which each feature contributes equally."""
    _, single = single_columns(table)
    total = _gram(table, _supported_ranks(single) if single.n_columns else ())
    if table.features is not None:
        for _, basis in _rank_bases(table):
            total += basis @ basis.T / max(1, basis.shape[1])
    return total


def _gram(table: Table, ranks: Iterable[Floats]) -> Floats:
    total = np.zeros((table.n_samples, table.n_samples))
    for some in ranks:
        total += some @ some.T
    return total


def _rank_bases(table: Table) -> Iterator[tuple[int, Floats]]:
    """Yield the features of several columns with orthonormal columns that span their ranks."""
    assert table.features is not None
    rows = np.arange(table.n_samples)
    for feature in table.features.several:
        basis = rank_basis(table, int(feature), Units(rows, None, len(rows)))
        if basis is not None:
            yield int(feature), basis


def _feature_p_value(basis: Floats, gram: Floats, largest: float) -> float:
    """Return the p-value of a feature of several columns, like `_column_p_values`.

    The tail is that of a beta distribution up to the largest eigenvalue of the Gram matrix.
    """
    rank = basis.shape[1]
    if not rank:
        return 1.0
    own, shared = basis @ basis.T / rank, float(np.einsum("ij,ij->", basis, gram @ basis)) / rank
    others = gram - own
    trace = float(np.trace(others))
    if trace <= NOTHING_LEFT:
        return 1.0
    form = Form(trace, float((others**2).sum()), float((np.diag(others) ** 2).sum()))
    tail = permutation_tail(
        np.asarray(shared - 1 / rank), len(gram), Form.of_basis(basis, 1 / rank), form, largest
    )
    return float(tail)


def _column_p_values(
    ranks: Floats, gram: Floats, eigenvalues: Floats, directions: Floats
) -> Floats:
    """Return the p-value of each column for association with all other columns.

    The matrix of the other columns is the Gram matrix of all columns minus the contribution of the
    column. The distribution over permutations is approximated by the known distribution over
    rotations, after rescaling to the same standard deviation.
    """
    n, total, diagonal = len(gram), float(np.trace(gram)), np.diag(gram)
    own = Form.orthonormal(ranks)
    shared = np.einsum("ij,ij->j", ranks, gram @ ranks) - own.trace
    others = Form(
        total - own.trace,
        (gram**2).sum() - 2 * shared - own.trace,
        (diagonal**2).sum() - 2 * (diagonal @ ranks**2) + own.diagonal,
    )
    mean, variance = permutation_moments(n, own, others)
    rotated = 2 * ((n - 1) * others.square - others.trace**2) / ((n - 1) ** 2 * (n + 1))
    varies = (np.minimum(variance, rotated) > NO_VARIANCE * mean**2) & (others.trace > NOTHING_LEFT)
    levels = mean + (shared - mean) * np.sqrt(
        np.where(varies, rotated, 0.0) / np.where(varies, variance, 1.0)
    )
    p_values, places = np.ones(len(shared)), np.flatnonzero(varies)
    for start in range(0, len(places), COLUMNS_AT_ONCE):
        some = places[start : start + COLUMNS_AT_ONCE]
        p_values[some] = rotation_tail(
            levels[some], eigenvalues, (directions.T @ ranks[:, some]) ** 2
        )
    return p_values


def rotation_tail(levels: Floats, eigenvalues: Floats, squares: Floats) -> Floats:
    """Approximate P(xᵀ(G − uuᵀ)x ≥ level) for a unit vector x in a random direction.

    G is given by its ascending eigenvalues, and each vector u by its squared coordinates along the
    eigenvectors of G. The term uuᵀ is part of G. The probability equals P(Σ (μ − level) z² ≥ 0) for
    independent standard normal z and the eigenvalues μ of G − uuᵀ, and its tail is computed by a
    saddlepoint approximation. The eigenvalues μ are not needed: the cumulant function follows from
    the determinant det(M + a uuᵀ) = det(M) (1 + a uᵀM⁻¹u). If columns are nearly equal, one μ is
    large, and the tail is as heavy as that of a single squared correlation. Mean and variance alone
    would not show this.

    References
    ----------
    Kuonen (1999), Saddlepoint approximations for distributions of quadratic forms in normal
    variables.
    """
    trace, degrees = eigenvalues.sum() - squares.sum(axis=0), len(eigenvalues)
    mean = trace / degrees
    square = (eigenvalues**2).sum() - 2 * eigenvalues @ squares + squares.sum(axis=0) ** 2
    nearest = NEAR_MEAN * np.sqrt(
        2 * np.maximum(square - trace * mean, 0.0) / (degrees * (degrees + 2))
    )
    above = levels >= mean
    levels = np.where(above, np.maximum(levels, mean + nearest), np.minimum(levels, mean - nearest))
    edge = _outermost(eigenvalues, squares, above)
    inside = np.where(above, edge - levels, levels - edge) > NOTHING_LEFT * eigenvalues[-1]
    tail = np.where(above, 0.0, 1.0)
    levels, squares, end = levels[inside], squares[:, inside], 0.5 / (edge - levels)[inside]
    point, height, curvature = _saddlepoint(levels, eigenvalues, squares, end)
    depth = np.sign(point) * np.sqrt(-2 * height)
    tail[inside] = ndtr(-depth - np.log(point * np.sqrt(curvature) / depth) / depth)
    return tail


def _outermost(eigenvalues: Floats, squares: Floats, above: Booleans) -> Floats:
    """Return the largest (`above`) or the smallest eigenvalue of each G − uuᵀ.

    The largest one lies between the two largest eigenvalues of G. The smallest one lies between 0
    and the smallest eigenvalue of G.
    """
    low, high = (
        np.where(above, eigenvalues[-2], 0.0),
        np.where(above, eigenvalues[-1], eigenvalues[0]),
    )
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        # An interval of length zero gives a division by zero.
        with np.errstate(divide="ignore", invalid="ignore"):
            beyond = (squares / (eigenvalues[:, None] - middle)).sum(axis=0) < 1
        low, high = np.where(beyond, middle, low), np.where(beyond, high, middle)
    return np.where(above, high, low)


def _saddlepoint(
    levels: Floats, eigenvalues: Floats, squares: Floats, end: Floats
) -> tuple[Floats, Floats, Floats]:
    """Find the minimum of the cumulant function between 0 and the end of its domain.

    The result is the position, the value and the second derivative there.
    """
    near, far, point = np.zeros_like(end), end, np.zeros_like(end)
    for _ in range(MOST_STEPS):
        height, slope, curvature = _cumulants(point, levels, eigenvalues, squares)
        short = slope * end < 0
        near, far = np.where(short, point, near), np.where(short, far, point)
        step = -slope / curvature
        away = np.abs(step) > NOTHING_LEFT * np.abs(point)
        if not away.any():
            break
        fits = (point + step - near) * (point + step - far) < 0
        point = np.where(away, np.where(fits, point + step, (near + far) / 2), point)
    return point, height, curvature


def _cumulants(
    s: Floats, levels: Floats, eigenvalues: Floats, squares: Floats
) -> tuple[Floats, Floats, Floats]:
    """Return log E exp(s Σ (μ − level) z²) and its first two derivatives."""
    gaps, top_gap = eigenvalues[:-1, None] - levels, eigenvalues[-1] - levels
    divisors, top = 1 - 2 * s * gaps, 1 - 2 * s * top_gap
    slopes = gaps / divisors
    weighted = squares[:-1] / divisors
    first = weighted.sum(axis=0)
    second = np.einsum("ij,ij->j", weighted, slopes)
    third = np.einsum("ij,ij,ij->j", weighted, slopes, slopes)
    rest, rest_slope, rest_bend = (
        1 + 2 * s * first,
        2 * first + 4 * s * second,
        8 * second + 16 * s * third,
    )
    # The factor of the largest eigenvalue is multiplied into the last factor. It may be 0 inside
    # the domain, but the product is not.
    factor = top * rest + 2 * s * squares[-1]
    factor_slope = top * rest_slope - 2 * top_gap * rest + 2 * squares[-1]
    factor_bend = top * rest_bend - 4 * top_gap * rest_slope
    return (
        -0.5 * (np.log(divisors).sum(axis=0) + np.log(factor)),
        slopes.sum(axis=0) - factor_slope / (2 * factor),
        2 * np.einsum("ij,ij->j", slopes, slopes)
        - (factor_bend / factor - (factor_slope / factor) ** 2) / 2,
    )
