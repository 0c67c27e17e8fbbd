"""The number of features that are worth keeping.

1. **Which columns matter.** With labels, targets or class probabilities, these are the columns with
   ranks or squared ranks that are associated with the supervision (relevance test). Without
   supervision, or if this test finds no column, they are the columns that are associated with the
   other columns (structure test). Both permutation tests use the exact mean and variance over all
   permutations of the rows. The structure test also uses the tail that follows from the eigenvalues
   of the other columns. No random permutations are drawn. The false discovery rate is 5 %. The
   relevance test misses columns that matter only in combination, and with few labels it misses
   others as well. The columns of the structure test are therefore added in two cases: if nearest
   neighbours in all these columns predict the supervision clearly better, or if too little
   supervision is available to test this.
2. **How few represent them.** The columns are added in selection order until they explain 95 % of
   the variance of the columns that matter. Independent columns are all needed, but a single column
   represents a hundred copies of it.
3. **Whether more of them predict better.** If columns are very similar, as in spectra, a few
   explain nearly all variance, but the remaining variance may distinguish the samples. With enough
   labels, the leave-one-out errors of a linear fit decide. Otherwise columns are added while each
   explains far more of the remaining variance than expected by chance. The limit is twice the
   square root of the number of samples.

Samples of one group, such as copies or repeated measurements, count once: they are replaced by
their mean, or by the first of them in the structure test.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from math import isqrt
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincc, ndtr
from scipy.stats import false_discovery_control, rankdata

from graphsieve._base.array_types import Booleans, Floats, Integers
from graphsieve._base.errors import InputError
from graphsieve._base.parameters import count, either
from graphsieve.supervision.groups import Units
from graphsieve.supervision.parsing import all_known
from graphsieve.supervision.value import Supervision
from graphsieve.table.blocks import Block
from graphsieve.table.centered import ColumnSpace, feature_columns, spanning
from graphsieve.table.columns import NO_EXPONENT, Table
from graphsieve.table.imputation import drawn
from graphsieve.table.scaling import standardized_target
from graphsieve.table.sums import dense_weighting, moments

FALSE_DISCOVERIES = 0.05  # false discovery rate of the tests
UNEXPLAINED = 0.05  # share of the variance that the selected columns may leave unexplained
# Upper limit of a column's variance, relative to the median variance. Without it, a column in a
# small unit, such as an age among grades, would dominate the explained variance.
MOST_VARIANCE = 10.0
FEWEST_ROWS = 10  # With fewer rows there are too few permutations for a test.
# Minimum number of rows (at most a quarter of them) that differ from the most frequent value of a
# column. In rarer values, coincidences look like associations.
SUPPORT = 10
# Maximum number of rows for the structure test. Its time and memory are quadratic in this number.
MOST_ROWS = 500
# A random direction explains on average 1 part in (n − 1 − selected) of the remaining variance. The
# standard deviation is at most √2 times this mean. Three standard deviations above the mean are
# therefore 1 + 3√2 times the mean, or about 5.
FAR_MORE = 5.0
# Upper limit of the number of columns if similar columns are added, as a multiple of √n.
ALIKE_PER_ROOT = 2
FEWEST_PREDICTED = 30  # minimum number of labelled samples for leave-one-out errors
FEWEST_PER_CLASS = 5
ROWS_PER_COEFFICIENT = 3  # A linear fit with fewer rows per column generalises poorly.
NOTHING_LEFT = 1e-9  # relative size below which a remainder is rounding error
CLEARLY = 2.0  # standard errors
N_NEIGHBORS = 5
STEPS_AT_ONCE = 32
# Share of the squared length below which the rest of a projection is projected again, because its
# rounding errors are relative to the full length.
REPEATED = 0.1
NO_VARIANCE = 1e-9  # relative to the squared mean; below it, permutations do not change the sum
HALVINGS = 32  # bisection steps for an eigenvalue
# Maximum number of Newton steps to a saddlepoint. Five to twenty are usual, because a step that
# would leave the interval is replaced by a bisection.
MOST_STEPS = 60
COLUMNS_AT_ONCE = 64  # columns per step, so that their arrays fit into the cache
# Standard deviations. Closer to the mean, the saddlepoint formula divides two rounding errors.
NEAR_MEAN = 1e-3


@dataclass(frozen=True, eq=False)
class RelevantColumns:
    """The columns that matter, and the tests that found them.

    Attributes
    ----------
    mask : array of bool of shape (n_features,)
        Whether each column matters.
    p_values : array of shape (n_features,)
        The p-value of each column. It is 1 for a column that cannot be tested, and NaN for a
        constant column.
    rule : {"relevance", "structure", "both", "untested"}
        The test that decided. "relevance": association with the supervision. "structure":
        association with the other columns. "both": either of the two, because the relevant columns
        alone predict worse or there is too little supervision to test this. "untested": there are
        too few samples for a test.
    reason : str
        The reason in sentences.

    Examples
    --------
    >>> from graphsieve.table.columns import MemoryTable
    >>> from graphsieve.datasets import make_squares
    >>> data = make_squares(random_state=0)
    >>> found = relevant_columns(MemoryTable(data.X), Supervision.from_labels(data.y))
    >>> found.mask
    array([ True,  True, False, False, False, False])
    >>> found.reason
    '2 of 6 features are associated with the labels (false discovery rate 5 %).'
    """

    mask: Booleans
    p_values: Floats
    rule: str
    reason: str


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


def relevant_columns(table: Table, known: Supervision) -> RelevantColumns:
    """Find the columns that are associated with the supervision or with each other.

    Parameters
    ----------
    table : Table
        The features. The result does not change if a feature is transformed by an increasing
        function.
    known : Supervision
        The supervision. Labels, targets and probabilities are used. Pairs are not used: if only
        pairs are given, the columns are tested for association with each other.

    Returns
    -------
    RelevantColumns

    Examples
    --------
    Independent columns without supervision:

    >>> from graphsieve.table.columns import MemoryTable
    >>> from graphsieve.datasets import make_squares
    >>> table = MemoryTable(make_squares(random_state=0).X)
    >>> relevant_columns(table, Supervision.nothing(100)).reason
    'No supervision was used. None of 6 features is associated with the other features (false discovery rate 5 %).'
    """
    outcome = _outcome(known)
    if known.kinds == ("pairs",):
        why = "Pairs alone do not determine the number of features."
    elif outcome is None:
        why = "No supervision was used."
    elif outcome.units.n < FEWEST_ROWS:
        why = f"{outcome.amount} are too few for a test, which needs at least {FEWEST_ROWS}."
    else:
        found = _relevant(table, known, outcome)
        if found.mask.any():
            return _with_structure(table, known, found, outcome)
        why = found.reason
    return _structured(table, known, why)


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

    Only the columns that matter are counted. If the order contains others between them, move those
    to the end before using the count.

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
    candidates = candidates[found.mask[candidates]]
    if not len(candidates):
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


# ---- Which columns matter


@dataclass(frozen=True, eq=False)
class _Outcome:
    """The supervision as orthonormal columns over the labelled units.

    `straight` contains the classes or the ranks of the target. `curved` also contains the squared
    ranks of the target. `kind` is the plural noun for messages.
    """

    units: Units
    straight: Floats
    curved: Floats
    kind: str

    @property
    def amount(self) -> str:
        """The number of labels, for messages."""
        independent = "" if self.units.owner is None else " independent"
        return f"{self.units.n}{independent} known {self.kind}"

    @property
    def name(self) -> str:
        """What is predicted, for messages."""
        return "the target" if self.kind == "values" else f"the {self.kind}"


def _outcome(known: Supervision) -> _Outcome | None:
    """Return the labels, probabilities or targets, or None if all of them are equal."""
    if "probabilities" in known.kinds:
        rows, values = known.label_probabilities()
        units, kind = known.units(rows), "class probabilities"
    elif known.n_known_classes >= 2:
        units, kind = known.units(np.flatnonzero(known.codes >= 0)), "labels"
        codes = known.codes[units.rows]
        values = (codes[:, None] == np.unique(codes)).astype(np.float64)
    elif known.targets is not None:
        units, kind = known.units(np.flatnonzero(all_known(known.targets))), "values"
        if not units.n:
            return None
        if known.n_targets > 1:
            straight, bent = _rank_curves(units.means(known.targets[units.rows]))
            straight, curved = _spanned(straight), _spanned(np.hstack([straight, bent]))
            return _Outcome(units, straight, curved, "targets") if straight.shape[1] else None
        straight, bent = _rank_curves(units.means(known.targets[units.rows, None]))
        return (
            _Outcome(units, straight, np.hstack([straight, bent]), kind) if straight.any() else None
        )
    else:
        return None
    basis = _spanned(units.means(values))
    return _Outcome(units, basis, basis, kind) if basis.shape[1] else None


def _spanned(values: Floats) -> Floats:
    """Return an orthonormal basis of the columns as deviations from their means."""
    directions, sizes, _ = np.linalg.svd(values - values.mean(axis=0), full_matrices=False)
    return np.asarray(directions[:, sizes > NOTHING_LEFT * max(1.0, sizes[0])])


def _rank_curves(values: Floats) -> tuple[Floats, Floats]:
    """Return the ranks of each column and the part of their squares that is orthogonal to them.

    Both are centred and have length 1, or are zero if nothing is left.
    """
    ranks = rankdata(values, axis=0)
    straight = _unit_length(ranks - ranks.mean(axis=0), len(values))
    squares = straight**2 * len(values)
    squares = squares - squares.mean(axis=0)
    squares -= straight * np.einsum("ij,ij->j", straight, squares)
    return straight, _unit_length(squares - squares.mean(axis=0), len(values))


def _unit_length(columns: Floats, n_rows: int) -> Floats:
    length = np.sqrt(np.einsum("ij,ij->j", columns, columns))
    # If a column has two values, its squared ranks are a linear function of its ranks. Only
    # rounding error is left of them, and it counts as zero.
    nonzero = length > 1e-6 * np.sqrt(n_rows)
    return np.where(nonzero, columns / np.where(nonzero, length, 1.0), 0.0)


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
    outcome = _outcome(known)
    if outcome is None or outcome.units.n < FEWEST_ROWS:
        return None
    return _p_values(table, outcome) if table.gaps is None else _where_observed(table, known)


def _relevant(table: Table, known: Supervision, outcome: _Outcome) -> RelevantColumns:
    p_values = _p_values(table, outcome) if table.gaps is None else _where_observed(table, known)
    testable = ~np.isnan(p_values)
    mask = _discoveries(p_values)
    reason = _associated(mask.sum(), testable.sum(), outcome.name)
    return RelevantColumns(mask, p_values, "relevance", reason)


def _where_observed(table: Table, known: Supervision) -> Floats:
    """Return the p-value of each feature on the samples where it is observed.

    A feature with too few observed samples for a test gets the p-value 1.
    """
    p_values = np.ones(table.n_features)
    for features, observed, part in table.observed_parts():
        rows = np.flatnonzero(observed)
        outcome = _outcome(known[rows]) if len(rows) else None
        if outcome is not None and outcome.units.n >= FEWEST_ROWS:
            p_values[features] = _p_values(part.take(rows), outcome)
    return p_values


def _p_values(table: Table, outcome: _Outcome) -> Floats:
    """Return the p-value of each feature, and NaN for constant features."""
    part = table.take(outcome.units.rows)
    p_values = np.empty(part.n_features)
    alone, single = _single_columns(part)
    if len(alone):
        p_values[alone] = single.evaluated(partial(_relevance_p_values, outcome=outcome))
    if part.features is not None:
        for feature in part.features.several:
            p_values[feature] = _feature_relevance(part, int(feature), outcome)
    return p_values


def _single_columns(table: Table) -> tuple[Integers, Table]:
    """Return the features of one column, and the table of these columns."""
    if table.features is None:
        return np.arange(table.n_features), table
    alone = np.flatnonzero(table.features.sizes == 1)
    return alone, table.take_columns(table.features.starts[alone])


def _associated(number: int, tested: int, what: str) -> str:
    """Return the sentence that reports how many of the tested columns are associated with `what`.

    Examples
    --------
    >>> _associated(1, 20, "the labels")
    '1 of 20 features is associated with the labels (false discovery rate 5 %).'
    """
    if tested == 1:
        subject = "The only varying feature is" if number else "The only varying feature is not"
    else:
        subject = f"{number or 'None'} of {tested} features {'is' if number < 2 else 'are'}"
    return (
        f"{subject} associated with {what} (false discovery rate {100 * FALSE_DISCOVERIES:.0f} %)."
    )


def _relevance_p_values(block: Block, outcome: _Outcome) -> Floats:
    """Return twice the smaller p-value of two tests of each column, one straight, one curved."""
    n, parts = outcome.units.n, []
    straight_form, curved_form = (
        Form.orthonormal(*side.T[:, :, None]) for side in (outcome.straight, outcome.curved)
    )
    for _, samples in block.dense_parts():
        values = outcome.units.means(samples)
        straight, bent = _rank_curves(values)
        line = ((outcome.straight.T @ straight) ** 2).sum(axis=0)
        curve = ((outcome.curved.T @ straight) ** 2).sum(axis=0) + (
            (outcome.curved.T @ bent) ** 2
        ).sum(axis=0)
        both = Form.orthonormal(straight, bent)
        bound = np.maximum(1, np.minimum(both.trace, curved_form.trace))
        by_line = permutation_tail(line, n, Form.orthonormal(straight), straight_form, 1)
        by_curve = permutation_tail(curve, n, both, curved_form, bound)
        better = np.minimum(1.0, 2 * np.minimum(by_line, by_curve))
        parts.append(np.where(_supported(values), better, 1.0))
    return np.where(block.constant, np.nan, np.concatenate(parts))


def _feature_relevance(table: Table, feature: int, outcome: _Outcome) -> float:
    """Return the p-value of a feature of several columns, like `_relevance_p_values`."""
    basis = _rank_basis(table, feature, outcome.units)
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


def _rank_basis(table: Table, feature: int, units: Units) -> Floats | None:
    """Return orthonormal columns that span the ranks of the columns of a feature.

    Columns without support are left out, such as the indicators of rare levels. The result is None
    for a constant feature.
    """
    values = units.means(feature_columns(table, feature))
    if not (values != values[0]).any():
        return None
    supported = values[:, _supported(values)]
    assert table.features is not None
    if table.features.categorical[feature] and units.owner is None:
        # The ranks of an indicator are a linear function of it.
        return spanning(_unit_length(supported - supported.mean(axis=0), len(values)))
    return spanning(_rank_curves(supported)[0])


def _with_structure(
    table: Table, known: Supervision, found: RelevantColumns, outcome: _Outcome
) -> RelevantColumns:
    """Add the columns of the structure test to the relevant columns, if they may be needed.

    They are not added if nearest neighbours in the relevant columns alone predict as well.
    """
    structured = _structured(table, known, "")
    table = table.complete()
    both = found.mask | (structured.mask & (structured.rule == "structure"))
    if both.sum() == found.mask.sum():
        return found
    n_both, n_tested = both.sum(), (~np.isnan(found.p_values)).sum()
    target = _predicted_values(known)
    if target is None:
        added = (
            f"all {n_both} were considered"
            if n_both == n_tested
            else f"those associated with other features were added, which gives {n_both}"
        )
        why = f"With {outcome.amount} the others cannot be ruled out"
        return RelevantColumns(both, found.p_values, "both", f"{found.reason} {why}, so {added}.")
    some = _spread_out(target[0].n)
    part, values = table.take(target[0].representatives[some]), target[1][some]
    gain = _neighbor_errors(part, found.mask, values) - _neighbor_errors(part, both, values)
    if gain.mean() <= CLEARLY * gain.std() / np.sqrt(len(gain)):
        return found
    why = (
        f"Nearest neighbours predict {outcome.name} better if features associated with other "
        f"features are added, which gives {n_both}."
    )
    return RelevantColumns(both, found.p_values, "both", f"{found.reason} {why}")


def _neighbor_errors(table: Table, mask: Booleans, values: Floats) -> Floats:
    """Return the squared error of each row if its values are predicted from its nearest rows.

    The prediction is the mean of the nearest rows. Distances use the ranks in the columns of
    `mask`. Rows at the same distance as the last of the nearest rows share its weight. The
    prediction therefore does not depend on the order of the rows.
    """
    gram = _gram(table.take_features(np.flatnonzero(mask)))
    squares = np.diag(gram)
    distances = squares[:, None] + squares - 2 * gram
    np.fill_diagonal(distances, np.inf)
    last = np.partition(distances, N_NEIGHBORS - 1, axis=1)[:, N_NEIGHBORS - 1, None]
    # Sums of products round distances that are equal on paper.
    rounding = NOTHING_LEFT * squares.max()
    closer = distances < last - rounding
    equal = ~closer & (distances <= last + rounding)
    left = N_NEIGHBORS - closer.sum(axis=1, keepdims=True)
    weights = np.where(equal, left / equal.sum(axis=1, keepdims=True), closer) / N_NEIGHBORS
    return np.asarray(((values - weights @ values) ** 2).sum(axis=1))


def _spread_out(n_rows: int) -> Integers:
    """Return at most `MOST_ROWS` evenly spaced row numbers."""
    return np.unique(np.linspace(0, n_rows - 1, min(n_rows, MOST_ROWS)).round().astype(np.int64))


def _structured(table: Table, known: Supervision, why: str) -> RelevantColumns:
    """Find the columns that are associated with the other columns.

    The statistic of a column is the sum of its squared rank correlations with all other columns. It
    is compared with the same sum for a shuffled column. Only the groups of the supervision are
    used. `why` is the first sentence of the reason.
    """
    different = known.groups_only().units().representatives
    rows = different[_spread_out(len(different))]
    part, n = drawn(table.take(rows)), len(rows)
    constant = np.concatenate([block.constant for block in part.blocks()])
    if part.features is not None:
        constant = part.features.sums(~constant * 1) == 0
    if n < FEWEST_ROWS:
        p_values = np.where(constant, np.nan, 1.0)
        reason = (
            f"{why} {n} samples are too few to test associations between features, so all "
            f"{(~constant).sum()} features that vary were considered."
        )
        return RelevantColumns(~constant, p_values, "untested", reason)
    gram = _gram(part)
    values, directions = np.linalg.eigh(gram)
    # The first eigenvalue is left out. It is 0, because all columns are centred.
    axes = (np.maximum(values[1:], 0.0), directions[:, 1:])
    p_values = np.concatenate(
        [_structure_p_values(ranks, gram, *axes) for ranks in _supported_ranks(part)]
    )
    if part.features is not None:
        p_values = p_values[part.features.starts[:-1]]
        for feature, basis in _rank_bases(part):
            p_values[feature] = _feature_structure(basis, gram, float(axes[0][-1]))
    p_values = np.where(constant, np.nan, p_values)
    mask = _discoveries(p_values)
    found = _associated(mask.sum(), (~constant).sum(), "the other features")
    return RelevantColumns(mask, p_values, "structure", f"{why} {found}")


def _supported_ranks(table: Table) -> Iterator[Floats]:
    for block in table.blocks():
        for _, values in block.dense_parts():
            yield np.where(_supported(values), _rank_curves(values)[0], 0.0)


def _gram(table: Table) -> Floats:
    """Return the products of the rows of all ranks, to which each feature contributes equally."""
    total = np.zeros((table.n_samples, table.n_samples))
    _, single = _single_columns(table)
    if table.features is not None:
        for _, basis in _rank_bases(table):
            total += basis @ basis.T / max(1, basis.shape[1])
    if single.n_columns:
        for ranks in _supported_ranks(single):
            total += ranks @ ranks.T
    return total


def _rank_bases(table: Table) -> Iterator[tuple[int, Floats]]:
    """Yield the features of several columns with orthonormal columns that span their ranks."""
    assert table.features is not None
    rows = np.arange(table.n_samples)
    for feature in table.features.several:
        basis = _rank_basis(table, int(feature), Units(rows, None, len(rows)))
        if basis is not None:
            yield int(feature), basis


def _feature_structure(basis: Floats, gram: Floats, largest: float) -> float:
    """Return the p-value of a feature of several columns, like `_structure_p_values`.

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


def _structure_p_values(
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


def _supported(values: Floats) -> Booleans:
    """Whether enough rows of each column differ from its most frequent value."""
    n = len(values)
    run = n - min(SUPPORT, -(-n // 4)) + 1
    ordered = np.sort(values, axis=0)
    return np.asarray(~(ordered[run - 1 :] == ordered[: n - run + 1]).any(axis=0))


def _discoveries(p_values: Floats) -> Booleans:
    """Return the columns that are significant at the false discovery rate."""
    mask = np.zeros(len(p_values), dtype=bool)
    tested = ~np.isnan(p_values)
    if tested.any():
        mask[tested] = false_discovery_control(p_values[tested]) <= FALSE_DISCOVERIES
    return mask


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
    target = _predicted_values(known)
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


def _predicted_values(known: Supervision) -> tuple[Units, Floats] | None:
    """Return the labelled units and the values to predict there, or None if there are too few."""
    if known.n_known_classes >= 2:
        units = known.units(np.flatnonzero(known.codes >= 0))
        codes = known.codes[units.rows]
        values = units.means((codes[:, None] == np.unique(codes)).astype(np.float64))
        enough = values.sum(axis=0).min() >= FEWEST_PER_CLASS
    elif known.targets is not None:
        units = known.units(np.flatnonzero(all_known(known.targets)))
        several = known.n_targets > 1
        targets = standardized_target(known.targets) if several else known.targets[:, None]
        values = units.means(targets[units.rows])
        enough = bool(units.n) and bool((values.min(axis=0) < values.max(axis=0)).any())
        if enough:
            values = np.ldexp(values, -int(np.frexp(np.abs(values).max())[1]))
    else:
        return None
    return (units, values) if enough and units.n >= FEWEST_PREDICTED else None


def _fewest_that_predict(predicted: tuple[tuple[int, float, float], ...]) -> int:
    """Return the smallest size with an error within one standard error of the minimum."""
    sizes, errors, deviations = np.array(predicted).T
    least = int(errors.argmin())
    return int(sizes[errors <= errors[least] + deviations[least]][0])
