"""Association of each feature with the supervision, measured by ranks.

The ranks of a column, and the squares of its centred ranks, are projected on the classes, on the
class probabilities, or on the ranks of the target. The first detect differences of means and
monotone relations. The second detect differences of spread and curved relations. Ranks are not
affected by heavy tails or by a single typing error.

The same projections give two numbers: the share of a feature's variation that is associated with
the supervision, and the p-value of a permutation test. The test uses the exact mean and variance
over all permutations of the samples. No random permutations are drawn.

Samples of one group, such as copies or repeated measurements, are replaced by their mean.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.special import betaincc, betaincinv
from scipy.stats import false_discovery_control, rankdata

from graphsieve._base.array_types import Booleans, Floats, Integers
from graphsieve.supervision.groups import Units
from graphsieve.supervision.parsing import all_known
from graphsieve.supervision.value import Supervision
from graphsieve.table.blocks import Block
from graphsieve.table.centered import feature_columns, spanning
from graphsieve.table.columns import Table

FALSE_DISCOVERIES = 0.05  # false discovery rate of the tests
FEWEST_ROWS = 10  # With fewer rows there are too few permutations for a test.
# Minimum number of rows (at most a quarter of them) that differ from the most frequent value of a
# column. With rarer values, coincidences look like associations.
SUPPORT = 10
NOTHING_LEFT = 1e-9  # relative size below which a remainder is rounding error
NO_VARIANCE = 1e-9  # relative to the squared mean; below it, permutations do not change the sum
# Shares are rounded to this number of decimals. Copies of a column must have equal shares, but
# matrix products may give them different last bits.
DECIMALS = 12


@dataclass(frozen=True, eq=False)
class Outcome:
    """The supervision as orthonormal columns over the labelled units.

    `straight` contains the classes or the ranks of the target. `curved` also contains the squared
    ranks of the target. `kind` is the plural noun for messages. With `masses`, the masses of the
    units, the columns are multiplied by the square roots of the masses.
    """

    units: Units
    straight: Floats
    curved: Floats
    kind: str
    masses: Floats | None = None

    @property
    def amount(self) -> str:
        """The number of labels, for messages."""
        independent = "" if self.units.owner is None else " independent"
        return f"{self.units.n}{independent} known {self.kind}"

    @property
    def name(self) -> str:
        """What is predicted, for messages."""
        return "the target" if self.kind == "values" else f"the {self.kind}"


def outcome_of(known: Supervision, masses: Floats | None = None) -> Outcome | None:
    """Return the labels, probabilities or targets, or None if all of them are equal.

    Samples with mass 0 are left out.
    """
    if "probabilities" in known.kinds:
        rows, values = known.label_probabilities()
        kind = "class probabilities"
    elif known.n_known_classes >= 2:
        rows, kind = np.flatnonzero(known.codes >= 0), "labels"
        codes = known.codes[rows]
        values = (codes[:, None] == np.unique(codes)).astype(np.float64)
    elif known.targets is not None:
        rows = np.flatnonzero(all_known(known.targets))
        values = known.targets.reshape(len(known.targets), -1)[rows]
        kind = "values" if known.n_targets == 1 else "targets"
    else:
        return None
    if masses is not None:
        rows, values = rows[masses[rows] > 0], values[masses[rows] > 0]
    if not len(rows):
        return None
    units = known.units(rows).weighted_by(masses)
    own = units.mean_masses()
    values = units.means(values)
    if kind in ("values", "targets"):
        straight, bent = rank_curves(values, own)
        curved = np.hstack([straight, bent])
        if kind == "targets":
            straight, curved = _basis(straight), _basis(curved)
        return Outcome(units, straight, curved, kind, own) if straight.any() else None
    values = values - np.average(values, axis=0, weights=own)
    basis = _basis(values if own is None else values * np.sqrt(own)[:, None])
    return Outcome(units, basis, basis, kind, own) if basis.shape[1] else None


def _basis(values: Floats) -> Floats:
    """Return an orthonormal basis of centred columns."""
    directions, sizes, _ = np.linalg.svd(values, full_matrices=False)
    return np.asarray(directions[:, sizes > NOTHING_LEFT * max(1.0, sizes[0])])


def rank_curves(values: Floats, masses: Floats | None = None) -> tuple[Floats, Floats]:
    """Return the ranks of each column and the part of their squares that is orthogonal to them.

    Both are centred and have length 1, or are zero if nothing is left. With masses, ranks and means
    are weighted, and rows are multiplied by the square roots of the masses.
    """
    if masses is None:
        ranks, root = _ranks(values), None
    else:
        ranks, root = _weighted_ranks(values, masses), np.sqrt(masses)[:, None]
    centered = ranks - np.average(ranks, axis=0, weights=masses)
    straight = unit_length(centered if root is None else centered * root, len(values))
    along = straight if root is None else straight / root
    squares = along**2 * len(values)
    squares = squares - np.average(squares, axis=0, weights=masses)
    squares = squares if root is None else squares * root
    squares -= straight * np.einsum("ij,ij->j", straight, squares)
    if root is None:
        squares -= squares.mean(axis=0)
    return straight, unit_length(squares, len(values))


def _ranks(values: Floats) -> Floats:
    """Return the average ranks in each column, from 1. Rows in memory are sorted much faster."""
    columns = np.ascontiguousarray(values.T)
    order = np.argsort(columns, axis=1)
    ordered = np.take_along_axis(columns, order, axis=1)
    ranks = np.empty_like(columns)
    np.put_along_axis(ranks, order, np.arange(1.0, len(values) + 1)[None], axis=1)
    tied = (ordered[:, 1:] == ordered[:, :-1]).any(axis=1)
    if tied.any():
        ranks[tied] = rankdata(columns[tied], axis=1)
    return ranks.T


def _weighted_ranks(values: Floats, masses: Floats) -> Floats:
    """Return the mass below each value plus half the mass of the values equal to it."""
    order = np.argsort(values, axis=0, kind="stable")
    ordered = np.take_along_axis(values, order, axis=0).T.ravel()
    n = len(values)
    fresh = np.ones(len(ordered), dtype=bool)  # where a run of equal values of one column begins
    fresh[1:] = ordered[1:] != ordered[:-1]
    fresh[::n] = True
    begin = np.flatnonzero(fresh)
    sizes = np.add.reduceat(masses[order].T.ravel(), begin)
    # The masses of the columns before a run are multiples of the total mass.
    below = np.cumsum(sizes) - sizes - begin // n * masses.sum()
    runs = np.repeat(below + sizes / 2, np.diff(begin, append=len(ordered)))
    ranks = np.empty(values.shape)
    np.put_along_axis(ranks, order, runs.reshape(-1, n).T, axis=0)
    return ranks


def unit_length(columns: Floats, n_rows: int) -> Floats:
    """Divide columns by their lengths."""
    length = np.sqrt(np.einsum("ij,ij->j", columns, columns))
    # If a column has two values, its squared ranks are a linear function of its ranks. Only
    # rounding error is left of them, and it counts as zero.
    nonzero = length > 1e-6 * np.sqrt(n_rows)
    return np.where(nonzero, columns / np.where(nonzero, length, 1.0), 0.0)


# ---- Shares


def rank_shares(table: Table, outcome: Outcome) -> tuple[Floats, Floats]:
    """Return the associated shares of the ranks and of the squared ranks of each column.

    - Straight: the share of the variance of the ranks that lies between the classes, or the squared
      rank correlation with the target.
    - Curved: the same for the squares of the centred ranks. For a target, the share of its ranks
      that a parabola in the ranks of the column explains, or the reverse, whichever is larger.

    The table has no gaps, and its features have one column each. With several targets, there is no
    curved share.

    Examples
    --------
    >>> from graphsieve.table.columns import MemoryTable
    >>> table = MemoryTable([[1, 0], [2, 5], [3, 0], [4, 5]])
    >>> outcome = outcome_of(Supervision.from_labels([0, 0, 1, 1]))
    >>> rank_shares(table, outcome)[0].round(2)
    array([0.8, 0. ])
    """
    part = table.take(outcome.units.rows)
    straight, curved = part.evaluated(partial(_rank_shares, outcome=outcome))
    return np.round(straight, DECIMALS), np.round(curved, DECIMALS)


def tested_shares(table: Table, outcome: Outcome) -> tuple[Floats, Floats, Floats]:
    """Return the result of `rank_shares` and the p-values of `association_p_values`, in one pass.

    Samples have no weights.
    """
    part = table.take(outcome.units.rows)
    found = part.evaluated(partial(_rank_shares, outcome=outcome, tested=True))
    return np.round(found[0], DECIMALS), np.round(found[1], DECIMALS), found[2]


def _rank_shares(block: Block, outcome: Outcome, *, tested: bool = False) -> Floats:
    parts = []
    for part, samples in block.dense_parts():
        values = outcome.units.means(samples)
        straight, bent = rank_curves(values, outcome.masses)
        line = ((outcome.straight.T @ straight) ** 2).sum(axis=0)
        if outcome.kind == "values":
            # The second column of `curved` holds the squared ranks of the target.
            curve = line + np.maximum(
                (outcome.straight[:, 0] @ bent) ** 2, (outcome.curved[:, 1] @ straight) ** 2
            )
        else:
            curve = ((outcome.straight.T @ bent) ** 2).sum(axis=0)
        found = [np.clip(line, 0.0, 1.0), np.clip(curve, 0.0, 1.0)]
        if tested:
            p_values = _tails(values, straight, bent, outcome)
            found.append(np.where(block.constant[part], np.nan, p_values))
        parts.append(np.stack(found))
    return np.concatenate(parts, axis=1)


def best_by_chance(rank: Any, n: Any, number: int) -> Any:
    """Return the share that the best of a number of unrelated columns would reach, on n samples.

    The share of one such column has a beta distribution. The result is its quantile at one minus
    one over the number of columns. It is 1 if there are too few samples.

    Examples
    --------
    >>> round(float(best_by_chance(1, 100, 5000)), 2)
    0.13
    """
    left = np.maximum(np.asarray(n) - 1.0 - rank, 0.0)
    quantile = betaincinv(rank / 2, np.maximum(left, 1.0) / 2, 1 - 1 / max(2, number))
    return np.where(left > 0, quantile, 1.0)


# ---- Tests


class Form(NamedTuple):
    """Summary of a matrix W = A Aᵀ over the samples, where A has centred columns.

    It contains the trace of W, the trace of W², and the sum of the squared diagonal of W.
    """

    trace: Any
    square: Any
    diagonal: Any

    @classmethod
    def orthonormal(cls, *parts: Floats) -> Form:
        """Return, for each column position, the form of the columns of all parts at this position.

        These columns are orthogonal to each other and have length 1 or 0.
        """
        together = np.stack(parts)
        rank = together.any(axis=1).sum(axis=0)
        return cls(rank, rank, ((together**2).sum(axis=0) ** 2).sum(axis=0))

    @classmethod
    def of_basis(cls, basis: Floats, scale: float = 1.0) -> Form:
        """Return the form of orthonormal columns, multiplied by a number."""
        rank = int(basis.any(axis=0).sum())
        diagonal = float(((basis**2).sum(axis=1) ** 2).sum())
        return cls(rank * scale, rank * scale**2, diagonal * scale**2)


def permutation_moments(n: int, one: Form, other: Form) -> tuple[Any, Any]:
    """Mean and variance of Σ_ab W_ab V_π(a)π(b) over all permutations π of n samples.

    There must be at least four samples.

    References
    ----------
    Kazi-Aoual, Hitier, Sabatier, Lebreton (1995), Refined approximations to permutation tests for
    multivariate inference.
    """
    spread = [(n - 1) * form.square - form.trace**2 for form in (one, other)]
    peaks = [
        n * (n + 1) * form.diagonal - (n - 1) * (form.trace**2 + 2 * form.square)
        for form in (one, other)
    ]
    variance = 2 * spread[0] * spread[1] / ((n - 1) ** 2 * (n + 1) * (n - 2))
    variance = variance + peaks[0] * peaks[1] / ((n + 1) * n * (n - 1) * (n - 2) * (n - 3))
    return one.trace * other.trace / (n - 1), variance


def permutation_tail(observed: Floats, n: int, one: Form, other: Form, bound: Any) -> Floats:
    """Approximate P(Σ_ab W_ab V_π(a)π(b) ≥ observed) over all permutations π.

    The approximation is a beta distribution on [0, bound] with the exact mean and variance. If no
    permutation changes the sum, the p-value is 1. An example is a column with a single one among
    zeros and classes of equal size.
    """
    mean, variance = permutation_moments(n, one, other)
    mean, variance = mean / bound, variance / bound**2
    varies = (variance > NO_VARIANCE * mean**2) & (mean < 1) & (variance < mean * (1 - mean))
    mean, variance = np.where(varies, mean, 0.5), np.where(varies, variance, 0.1)
    total = mean * (1 - mean) / variance - 1
    tail = betaincc(mean * total, (1 - mean) * total, np.clip(observed / bound, 0.0, 1.0))
    return np.where(varies, tail, 1.0)


def association_p_values(table: Table, known: Supervision) -> Floats | None:
    """Return the p-value of the association of each feature with the supervision.

    The result is None if there is too little supervision for a test.
    """
    outcome = outcome_of(known)
    if outcome is None or outcome.units.n < FEWEST_ROWS:
        return None
    return _p_values(table, outcome) if table.gaps is None else _where_observed(table, known)


def _where_observed(table: Table, known: Supervision) -> Floats:
    """Return the p-value of each feature on the samples where it is observed.

    A feature with too few observed samples for a test gets the p-value 1.
    """
    p_values = np.ones(table.n_features)
    for features, observed, part in table.observed_parts():
        rows = np.flatnonzero(observed)
        outcome = outcome_of(known[rows]) if len(rows) else None
        if outcome is not None and outcome.units.n >= FEWEST_ROWS:
            p_values[features] = _p_values(part.take(rows), outcome)
    return p_values


def _p_values(table: Table, outcome: Outcome) -> Floats:
    """Return the p-value of each feature, and NaN for constant features."""
    part = table.take(outcome.units.rows)
    p_values = np.empty(part.n_features)
    alone, single = single_columns(part)
    if len(alone):
        p_values[alone] = single.evaluated(partial(_relevance_p_values, outcome=outcome))
    if part.features is not None:
        for feature in part.features.several:
            p_values[feature] = _feature_relevance(part, int(feature), outcome)
    return p_values


def single_columns(table: Table) -> tuple[Integers, Table]:
    """Return the features of one column, and the table of these columns."""
    if table.features is None:
        return np.arange(table.n_features), table
    alone = np.flatnonzero(table.features.sizes == 1)
    return alone, table.take_columns(table.features.starts[alone])


def _relevance_p_values(block: Block, outcome: Outcome) -> Floats:
    """Return the p-value of each column, and NaN for a constant one."""
    parts = []
    for _, samples in block.dense_parts():
        values = outcome.units.means(samples)
        parts.append(_tails(values, *rank_curves(values), outcome))
    return np.where(block.constant, np.nan, np.concatenate(parts))


def _tails(values: Floats, straight: Floats, bent: Floats, outcome: Outcome) -> Floats:
    """Return twice the smaller p-value of two tests of each column, one straight, one curved."""
    n = outcome.units.n
    straight_form, curved_form = (
        Form.orthonormal(*side.T[:, :, None]) for side in (outcome.straight, outcome.curved)
    )
    line = ((outcome.straight.T @ straight) ** 2).sum(axis=0)
    curve = ((outcome.curved.T @ straight) ** 2).sum(axis=0)
    curve = curve + ((outcome.curved.T @ bent) ** 2).sum(axis=0)
    both = Form.orthonormal(straight, bent)
    bound = np.maximum(1, np.minimum(both.trace, curved_form.trace))
    by_line = permutation_tail(line, n, Form.orthonormal(straight), straight_form, 1)
    by_curve = permutation_tail(curve, n, both, curved_form, bound)
    better = np.minimum(1.0, 2 * np.minimum(by_line, by_curve))
    return np.where(supported(values), better, 1.0)


def _feature_relevance(table: Table, feature: int, outcome: Outcome) -> float:
    """Return the p-value of a feature of several columns, like `_relevance_p_values`."""
    basis = rank_basis(table, feature, outcome.units)
    if basis is None:
        return np.nan
    tails = [
        permutation_tail(
            np.asarray(((side.T @ basis) ** 2).sum()),
            outcome.units.n,
            Form.of_basis(basis),
            Form.of_basis(side),
            min(basis.shape[1], side.shape[1]),
        )
        for side in (outcome.straight, outcome.curved)
        if basis.shape[1]
    ]
    # For classes, both sides are equal, and so are the tests.
    number = 1 if outcome.straight is outcome.curved else 2
    return min(1.0, number * float(min(tails, default=1.0)))


def rank_basis(table: Table, feature: int, units: Units) -> Floats | None:
    """Return orthonormal columns that span the ranks of the columns of a feature.

    Columns without support are left out, such as the indicators of rare levels. The result is None
    for a constant feature.
    """
    values = units.means(feature_columns(table, feature))
    if not (values != values[0]).any():
        return None
    values = values[:, supported(values)]
    assert table.features is not None
    if table.features.categorical[feature] and units.owner is None:
        # The ranks of an indicator are a linear function of it.
        return spanning(unit_length(values - values.mean(axis=0), len(values)))
    return spanning(rank_curves(values)[0])


def supported(values: Floats) -> Booleans:
    """Whether enough rows of each column differ from its most frequent value."""
    n = len(values)
    run = n - min(SUPPORT, -(-n // 4)) + 1
    ordered = np.sort(np.ascontiguousarray(values.T), axis=1)
    return np.asarray(~(ordered[:, run - 1 :] == ordered[:, : n - run + 1]).any(axis=1))


def discoveries(p_values: Floats) -> Booleans:
    """Return the columns that are significant at the false discovery rate."""
    mask = np.zeros(len(p_values), dtype=bool)
    tested = ~np.isnan(p_values)
    if tested.any():
        mask[tested] = false_discovery_control(p_values[tested]) <= FALSE_DISCOVERIES
    return mask
