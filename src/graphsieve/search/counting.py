"""How many features are worth keeping: which columns matter at all, and how few of them stand for
the others.

1. **Which columns matter.** With labels or targets: those whose ranks, or squared ranks, vary with
   what is known more than by chance. Otherwise, or where that names nobody: those that share more
   with the other columns than a column whose rows are shuffled. Both are taken against the exact
   mean and variance over all permutations of the rows, the second also against the tail that the
   eigenvalues of the other columns give, so nothing is drawn, and false discoveries among the named
   are held at 5 %. Columns that matter only together escape the first test, and with few labels so
   do others. So the columns of the second count as well where neighbours in them predict what is
   known clearly better, or where too little is known to see.
2. **How few stand for them.** Walking an order of choice, a set is enough when it explains 95 % of
   the columns that matter. Of columns that do not depend on each other all are needed; of a hundred
   copies, one is.
3. **Unless more of them predict better.** Where columns are so alike that few explain nearly all
   (spectra), what tells samples apart may be in the rest. With enough labels, leave-one-out errors
   of a linear fit decide; otherwise columns are added while each explains far more of what is left
   than chance would, up to twice the square root of the number of samples.
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
from graphsieve.supervision.value import Supervision
from graphsieve.table.blocks import Block
from graphsieve.table.columns import NO_EXPONENT, Table
from graphsieve.table.sums import dense_weighting, moments

FALSE_DISCOVERIES = 0.05  # their share among the columns that are said to matter
UNEXPLAINED = 0.05  # of the columns that matter: what a set may leave
# Times a middle column's, that a column counts for: an age among grades would be nearly all there
# is
MOST_VARIANCE = 10.0
FEWEST_ROWS = 10  # with fewer there are too few permutations to tell chance from anything
# Rows (or a quarter) that differ from a column's most frequent value; with fewer, what coincides
# looks like a law
SUPPORT = 10
# That columns are compared on with each other: the comparison takes the square of it
MOST_ROWS = 500
# A direction taken at random explains 1 part in (n − 1 − chosen) of what is left, with a deviation
# of at most √2 times that, whatever is left; so three deviations above the mean are 1 + 3√2, about
# 5.
FAR_MORE = 5.0
# Columns that are added for being far above chance: up to so many times √n in all
ALIKE_PER_ROOT = 2
FEWEST_PREDICTED = 30  # known samples from which on leave-one-out errors are believed
FEWEST_PER_CLASS = 5
ROWS_PER_COEFFICIENT = 3  # a linear fit of more columns than that says little about the next sample
NOTHING_LEFT = 1e-9  # of the columns that matter, or of a column: less is rounding
CLEARLY = 2.0  # standard errors
N_NEIGHBORS = 5
STEPS_AT_ONCE = 32
NO_VARIANCE = 1e-9  # of the squared mean: a column that no permutation changes
HALVINGS = 32  # of an interval that holds an eigenvalue
# To a saddlepoint: five to twenty are needed, as a step that would leave the interval halves it
MOST_STEPS = 60
COLUMNS_AT_ONCE = 64  # so that what a step needs stays in the cache
NEAR_MEAN = 1e-3  # deviations: nearer, the saddlepoint formula divides rounding by rounding


@dataclass(frozen=True, eq=False)
class Mattering:
    """Which columns matter, and how that was found.

    Attributes
    ----------
    mask : array of bool of shape (n_features,)
        The columns that matter.
    p_values : array of shape (n_features,)
        The chance of each column to look as relevant (or as tied to the others) if it were not; 1
        where it cannot be tested, NaN where it is constant.
    rule : {"relevance", "structure", "both", "untested"}
        Against what is known; against the other columns; by either, since the first alone predict
        worse or too little is known to see; or not at all, since there are too few samples.
    reason : str
        The same in words.

    Examples
    --------
    >>> from graphsieve.table.columns import MemoryTable
    >>> from graphsieve.datasets import make_squares
    >>> data = make_squares(random_state=0)
    >>> found = columns_that_matter(MemoryTable(data.X), Supervision.from_labels(data.y))
    >>> found.mask
    array([ True,  True, False, False, False, False])
    >>> found.reason
    '2 of 6 columns vary with the labels more than chance allows'
    """

    mask: Booleans
    p_values: Floats
    rule: str
    reason: str


@dataclass(frozen=True)
class Count:
    """How many columns to keep, and why.

    Attributes
    ----------
    n : int
        The number; 0 where no column can be told from chance.
    curve : tuple of (size, explained, chance)
        The share of the columns that matter that the first `size` columns explain, and that as many
        random ones would.
    reason : str
        Why this number, in words.
    rule : {"explained", "alike", "predicted", "cap", "nothing"}
        What decided: 95 % are explained (or there are no more columns); columns are so alike that
        more were added; leave-one-out errors asked for more; `max_features`; or no column matters.
    predicted : tuple of (size, error, standard error)
        Where leave-one-out errors were taken: the mean squared error with the first `size` columns,
        relative to that with none.

    Examples
    --------
    >>> from graphsieve.table.columns import MemoryTable
    >>> from graphsieve.datasets import make_squares
    >>> data = make_squares(random_state=0)
    >>> found = count_features(MemoryTable(data.X), Supervision.from_labels(data.y), np.array([1, 0, 4, 2, 3, 5]))
    >>> found.n
    2
    >>> found.reason
    '2 of 6 columns vary with the labels more than chance allows; the first 2 explain 100 % of them'
    """

    n: int
    curve: tuple[tuple[int, float, float], ...]
    reason: str
    rule: str
    predicted: tuple[tuple[int, float, float], ...] = ()


def columns_that_matter(table: Table, known: Supervision) -> Mattering:
    """The columns that vary with what is known, or else with each other, more than by chance.

    Parameters
    ----------
    table : Table
        The features; neither their scale nor any increasing transformation makes a difference.
    known : Supervision
        Labels, targets and probabilities are used. Pairs are not: of them alone the columns are
        compared with each other.

    Returns
    -------
    Mattering

    Examples
    --------
    Columns that say nothing of each other, and nothing known:

    >>> from graphsieve.table.columns import MemoryTable
    >>> from graphsieve.datasets import make_squares
    >>> table = MemoryTable(make_squares(random_state=0).X)
    >>> columns_that_matter(table, Supervision.nothing(100)).reason
    'nothing is known of the samples and none of 6 columns shares more with the others than chance allows'
    """
    outcome = _outcome(known)
    if known.kinds == ("pairs",):
        why = "pairs do not tell how many columns matter"
    elif outcome is None:
        why = "nothing is known of the samples"
    elif len(outcome.rows) < FEWEST_ROWS:
        why = f"{len(outcome.rows)} known {outcome.kind} are too few for a test"
    else:
        found = _relevant(table, outcome)
        if found.mask.any():
            return _with_tied(table, known, found)
        why = f"no column varies with the {outcome.kind} more than chance allows"
    return _tied_together(table, why)


def count_features(
    table: Table,
    known: Supervision,
    order: Any,
    *,
    mattering: Mattering | None = None,
    weights: Floats | None = None,
    max_features: int | None = None,
) -> Count:
    """How many of the first columns of an order are worth keeping.

    Only the columns that matter are counted: where others stand between them in the order, put
    these behind first.

    Parameters
    ----------
    table : Table
        The features on the scale on which the search compared them: columns count by their
        variance, but none for more than ten times the median.
    known : Supervision
        What is known of the samples.
    order : array of int
        Columns, best first; not necessarily all of them.
    mattering : Mattering, optional
        What `columns_that_matter` found, so that it need not be found twice.
    weights : array of shape (n_features,), optional
        How much each column matters to the search; used where what is known does not say by itself
        which do.
    max_features : int, optional
        The largest number allowed.

    Returns
    -------
    Count

    Examples
    --------
    Two columns and copies of them: two are enough.

    >>> from graphsieve.table.columns import MemoryTable
    >>> from graphsieve.datasets import make_squares
    >>> data = make_squares(random_state=0)
    >>> table = MemoryTable(np.tile(data.X[:, :2], 3))
    >>> count_features(table, Supervision.from_labels(data.y), np.arange(6)).n
    2
    """
    most = either(None, count(1))("max_features", max_features)
    found = columns_that_matter(table, known) if mattering is None else mattering
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
    result = _walked(_Walk(table, counted, candidates), found, predicted)
    if most is None or result.n <= most:
        return result
    return replace(
        result, n=most, rule="cap", reason=f"{result.reason}; max_features allows {most}"
    )


def _checked_order(order: Any, n_features: int) -> Integers:
    columns = np.asarray(order)
    whole = columns.ndim == 1 and (columns.dtype.kind in "iu" or not columns.size)
    if (
        not whole
        or (~np.isin(columns, np.arange(n_features))).any()
        or len(np.unique(columns)) < len(columns)
    ):
        raise InputError(
            f"order must list different column numbers from 0 to {n_features - 1}, best first."
        )
    return columns.astype(np.int64)


def _walked(
    walk: _Walk, found: Mattering, predicted: tuple[tuple[int, float, float], ...]
) -> Count:
    n = walk.enough()
    first = "the first explains" if n == 1 else f"the first {n} explain"
    those = "it" if found.mask.sum() == 1 else "them"
    rule, what = "explained", f"{first} {walk.explained[n]:.0%} of {those}".replace("%", " %")
    if predicted:
        wanted = _fewest_that_predict(predicted)
        if wanted > n:
            n, rule = wanted, "predicted"
            what = f"{what}, but leave-one-out errors fall up to {n}"
    else:
        wanted = walk.far_more(n)
        if wanted > n:
            n, rule = wanted, "alike"
            what = (
                f"{what}, and each of the next up to {n} far more of what is left than chance would"
            )
    return Count(n, walk.curve(), f"{found.reason}; {what}", rule, predicted)


# ---- which columns matter


@dataclass(frozen=True, eq=False)
class _Outcome:
    """What is known as orthonormal columns over the known rows: straight ones, and curved ones
    besides.
    """

    rows: Integers
    straight: Floats
    curved: Floats
    kind: str


def _outcome(known: Supervision) -> _Outcome | None:
    """Labels, probabilities or targets; None where they tell nothing apart."""
    if known.probabilities is not None:
        rows, values, kind = np.arange(len(known)), known.label_probabilities(), "probabilities"
    elif known.n_known_classes >= 2:
        rows, kind = np.flatnonzero(known.codes >= 0), "labels"
        values = (known.codes[rows, None] == np.unique(known.codes[rows])).astype(np.float64)
    elif known.targets is not None:
        rows, kind = np.flatnonzero(~np.isnan(known.targets)), "targets"
        if not len(rows):
            return None
        straight, bent = _rank_curves(known.targets[rows, None])
        return (
            _Outcome(rows, straight, np.hstack([straight, bent]), kind) if straight.any() else None
        )
    else:
        return None
    directions, sizes, _ = np.linalg.svd(values - values.mean(axis=0), full_matrices=False)
    basis = directions[:, sizes > NOTHING_LEFT * max(1.0, sizes[0])]
    return _Outcome(rows, basis, basis, kind) if basis.shape[1] else None


def _rank_curves(values: Floats) -> tuple[Floats, Floats]:
    """The ranks of every column, centred and of length 1, and what their squares add to them;
    zeros where there is nothing.
    """
    ranks = rankdata(values, axis=0)
    straight = _unit_length(ranks - ranks.mean(axis=0), len(values))
    squares = straight**2 * len(values)
    squares = squares - squares.mean(axis=0)
    squares -= straight * np.einsum("ij,ij->j", straight, squares)
    return straight, _unit_length(squares - squares.mean(axis=0), len(values))


def _unit_length(columns: Floats, n_rows: int) -> Floats:
    length = np.sqrt(np.einsum("ij,ij->j", columns, columns))
    # Of two values, the squares are a line again: what rounding leaves of them is nothing.
    there = length > 1e-6 * np.sqrt(n_rows)
    return np.where(there, columns / np.where(there, length, 1.0), 0.0)


class Form(NamedTuple):
    """Of a matrix W = A Aᵀ over the samples, A centred: its trace, that of its square, and the
    sum of its squared diagonal.
    """

    trace: Any
    square: Any
    diagonal: Any

    @classmethod
    def orthonormal(cls, *parts: Floats) -> Form:
        """For each place the form of the columns that the parts have there, which are
        orthogonal, of length 1 or 0.
        """
        together = np.stack(parts)
        rank = together.any(axis=1).sum(axis=0)
        return cls(rank, rank, ((together**2).sum(axis=0) ** 2).sum(axis=0))


def permutation_moments(n: int, one: Form, other: Form) -> tuple[Any, Any]:
    """Mean and variance of Σ_ab W_ab V_π(a)π(b) over all permutations π of n samples, of which
    there are at least four.

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
    """P(Σ_ab W_ab V_π(a)π(b) ≥ observed): by a beta law on [0, bound] with the exact mean and
    variance.

    Where no permutation changes the sum (a single one among zeros, classes of equal size), nothing
    can be learnt: 1.
    """
    mean, variance = permutation_moments(n, one, other)
    mean, variance = mean / bound, variance / bound**2
    varies = (variance > NO_VARIANCE * mean**2) & (mean < 1) & (variance < mean * (1 - mean))
    mean, variance = np.where(varies, mean, 0.5), np.where(varies, variance, 0.1)
    total = mean * (1 - mean) / variance - 1
    tail = betaincc(mean * total, (1 - mean) * total, np.clip(observed / bound, 0.0, 1.0))
    return np.where(varies, tail, 1.0)


def _relevant(table: Table, outcome: _Outcome) -> Mattering:
    p_values = table.take(outcome.rows).evaluated(partial(_relevance, outcome=outcome))
    testable = ~np.isnan(p_values)
    mask = _named(p_values)
    vary = "varies" if mask.sum() == 1 else "vary"
    reason = (
        f"{mask.sum()} of {_columns(testable.sum())} {vary} with the {outcome.kind} more than "
        "chance allows"
    )
    return Mattering(mask, p_values, "relevance", reason)


def _relevance(block: Block, outcome: _Outcome) -> Floats:
    """The better of two tests of each column, straight and curved, at twice its p-value."""
    n, parts = len(outcome.rows), []
    straight_form, curved_form = (
        Form.orthonormal(*side.T[:, :, None]) for side in (outcome.straight, outcome.curved)
    )
    for _, values in block.dense_parts():
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


def _with_tied(table: Table, known: Supervision, found: Mattering) -> Mattering:
    """The relevant columns, and those tied together too unless neighbours in the relevant ones
    alone predict as well.
    """
    tied = _tied_together(table, "")
    both = found.mask | (tied.mask & (tied.rule == "structure"))
    if both.sum() == found.mask.sum():
        return found
    also = (
        f"{found.reason}; with those that share more with the others than chance allows, "
        f"{both.sum()} count"
    )
    target = _predicted_values(known)
    if target is None:
        return Mattering(
            both, found.p_values, "both", f"{also}, since so few known samples rule no column out"
        )
    some = _spread_out(len(target[0]))
    part, values = table.take(target[0][some]), target[1][some]
    gain = _neighbor_errors(part, found.mask, values) - _neighbor_errors(part, both, values)
    if gain.mean() <= CLEARLY * gain.std() / np.sqrt(len(gain)):
        return found
    return Mattering(
        both, found.p_values, "both", f"{also}, since neighbours in all of them predict better"
    )


def _neighbor_errors(table: Table, mask: Booleans, values: Floats) -> Floats:
    """The squared error of each row's values as the mean of its nearest rows', by the ranks in
    the chosen columns.
    """
    gram = sum(
        ranks @ ranks.T for ranks in _supported_ranks(table.take_columns(np.flatnonzero(mask)))
    )
    closeness = 2 * gram - np.diag(gram)
    np.fill_diagonal(closeness, -np.inf)
    nearest = np.argsort(-closeness, axis=1, kind="stable")[:, :N_NEIGHBORS]
    return np.asarray(((values - values[nearest].mean(axis=1)) ** 2).sum(axis=1))


def _spread_out(n_rows: int) -> Integers:
    """So many rows at most as columns are compared on, evenly spaced."""
    return np.unique(np.linspace(0, n_rows - 1, min(n_rows, MOST_ROWS)).round().astype(np.int64))


def _tied_together(table: Table, why: str) -> Mattering:
    """The columns whose squared rank correlations with all others add up to more than those of a
    shuffled column.
    """
    rows = _spread_out(table.n_samples)
    part, n = table.take(rows), len(rows)
    constant = np.concatenate([block.constant for block in part.blocks()])
    if n < FEWEST_ROWS:
        p_values = np.where(constant, np.nan, 1.0)
        reason = (
            f"{why} and {n} samples are too few for a test, so all {(~constant).sum()} columns "
            "that vary count"
        )
        return Mattering(~constant, p_values, "untested", reason)
    gram = np.zeros((n, n))
    for ranks in _supported_ranks(part):
        gram += ranks @ ranks.T
    values, directions = np.linalg.eigh(gram)
    # Without the mean, along which nothing varies
    axes = (np.maximum(values[1:], 0.0), directions[:, 1:])
    p_values = np.where(
        constant,
        np.nan,
        np.concatenate([_ties(ranks, gram, *axes) for ranks in _supported_ranks(part)]),
    )
    mask = _named(p_values)
    number = mask.sum() if mask.any() else "none"
    shares = "shares" if mask.sum() < 2 else "share"
    reason = (
        f"{why} and {number} of {_columns((~constant).sum())} {shares} more with the others than "
        "chance allows"
    )
    return Mattering(mask, p_values, "structure", reason)


def _columns(number: int) -> str:
    return f"{number} column" if number == 1 else f"{number} columns"


def _supported_ranks(table: Table) -> Iterator[Floats]:
    for block in table.blocks():
        for _, values in block.dense_parts():
            yield np.where(_supported(values), _rank_curves(values)[0], 0.0)


def _ties(ranks: Floats, gram: Floats, eigenvalues: Floats, directions: Floats) -> Floats:
    """The p-value of each column against all others, whose matrix is what the column leaves of the
    Gram matrix of all.

    The sum over permutations is taken for that over rotations, whose law is known, once its
    deviation is made the same.
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
    """P(xᵀ(G − uuᵀ)x ≥ level) for x of length 1 in a random direction, by the saddlepoint
    approximation of its tail.

    Of G the ascending eigenvalues are given, and of each u, which G holds, the squared coordinates
    along the eigenvectors. That is P(Σ (μ − level) z² ≥ 0) for independent normal z and the
    eigenvalues μ of G − uuᵀ. These need not be found: their cumulant function follows from a
    determinant, det(M + a uuᵀ) = det(M) (1 + a uᵀM⁻¹u). Columns that are nearly equal make one μ
    large, and the tail as heavy as that of a single squared correlation, which mean and variance do
    not show.

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
    """The largest eigenvalue of each G − uuᵀ, or the smallest: it lies below that of G, and
    above the next or above 0.
    """
    low, high = (
        np.where(above, eigenvalues[-2], 0.0),
        np.where(above, eigenvalues[-1], eigenvalues[0]),
    )
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        with np.errstate(divide="ignore", invalid="ignore"):  # where the interval is a point
            beyond = (squares / (eigenvalues[:, None] - middle)).sum(axis=0) < 1
        low, high = np.where(beyond, middle, low), np.where(beyond, high, middle)
    return np.where(above, high, low)


def _saddlepoint(
    levels: Floats, eigenvalues: Floats, squares: Floats, end: Floats
) -> tuple[Floats, Floats, Floats]:
    """Where between 0 and the end of its domain the cumulant function is least; its value and
    second derivative there.
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
    """log E exp(s Σ (μ − level) z²) and its first two derivatives."""
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
    # The largest eigenvalue is multiplied into the last factor: its own may be 0 inside the domain,
    # the product is not.
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
    """Whether enough rows differ from the most frequent value."""
    n = len(values)
    run = n - min(SUPPORT, -(-n // 4)) + 1
    ordered = np.sort(values, axis=0)
    return np.asarray(~(ordered[run - 1 :] == ordered[: n - run + 1]).any(axis=0))


def _named(p_values: Floats) -> Booleans:
    """The columns that pass at the level of false discoveries."""
    mask = np.zeros(len(p_values), dtype=bool)
    tested = ~np.isnan(p_values)
    if tested.any():
        mask[tested] = false_discovery_control(p_values[tested]) <= FALSE_DISCOVERIES
    return mask


# ---- how few stand for them


class _Walk:
    """What the first columns of an order explain of the weighted columns, some steps at a time."""

    def __init__(self, table: Table, weights: Floats, candidates: Integers) -> None:
        self.table, self.candidates = table, candidates
        exponents = table.column_exponents()
        self.shifts = exponents - exponents[weights > 0].max()
        everyone = dense_weighting(np.ones(table.n_samples))
        scatter = table.evaluated(lambda block: moments(block, everyone).scatter[0], wide=True)
        # Only columns without weight can be larger than all that have one; of a huge constant 0 ·
        # inf would be no number.
        scatter = scatter * np.ldexp(
            1.0, 2 * np.where(exponents == NO_EXPONENT, 0, np.minimum(self.shifts, 0))
        )
        most = MOST_VARIANCE * float(np.median(scatter[weights > 0]))
        self.weights = weights * most / np.maximum(scatter, most) if most > 0 else weights
        self.scatter = self.weights * scatter
        self.basis = np.empty((table.n_samples, 0))
        self.explained = [0.0]
        # Of what a step explains of the other columns to what chance would
        self.ratios: list[float] = []

    def enough(self) -> int:
        """The first size that leaves little enough; all candidates where none does."""
        while 1 - self.explained[-1] > UNEXPLAINED and self._more():
            pass
        enough = 1 - np.array(self.explained) <= UNEXPLAINED
        return int(enough.argmax()) if enough.any() else len(self.candidates)

    def far_more(self, size: int) -> int:
        """The size after adding columns that explain far more of what is left than chance would,
        up to so many times √n.
        """
        while size < ALIKE_PER_ROOT * isqrt(self.table.n_samples) and (
            size < len(self.ratios) or self._more()
        ):
            if self.ratios[size] <= FAR_MORE:
                break
            size += 1
        return size

    def curve(self) -> tuple[tuple[int, float, float], ...]:
        degrees = max(1, self.table.n_samples - 1)
        return tuple(
            (size, share, min(1.0, size / degrees)) for size, share in enumerate(self.explained)
        )

    def _more(self) -> bool:
        done = len(self.ratios)
        columns = self.candidates[done : done + STEPS_AT_ONCE]
        if not len(columns):
            return False
        fresh, own = orthonormal_steps(scaled_columns(self.table, columns, self.shifts), self.basis)
        gains = np.ldexp(self.table.evaluated(partial(_products, vectors=fresh)), self.shifts) ** 2
        steps = gains @ self.weights
        total = float(self.scatter.sum())
        for step, column in enumerate(columns):
            left = (1 - self.explained[-1]) * total
            itself = self.weights[column] * own[step]
            others, left_of_others = steps[step] - itself, left - itself
            chance = left_of_others / max(1, self.table.n_samples - 2 - done - step)
            self.ratios.append(others / chance if left_of_others > NOTHING_LEFT * total else 0.0)
            self.explained.append(min(1.0, self.explained[-1] + float(steps[step]) / total))
        self.basis = np.hstack([self.basis, fresh])
        return True


def _products(block: Block, *, vectors: Floats) -> Floats:
    return np.asarray(block.values.T @ vectors).T


def scaled_columns(table: Table, columns: Integers, shifts: NDArray[np.intc]) -> Floats:
    """The columns as a dense array, each centred, all in one unit."""
    blocks = table.take_columns(columns).blocks()
    values = np.hstack([part for block in blocks for _, part in block.dense_parts()])
    return np.asarray(np.ldexp(values - values.mean(axis=0), shifts[columns]))


def orthonormal_steps(columns: Floats, basis: Floats) -> tuple[Floats, Floats]:
    """What each column adds to the basis and to those before it: directions of length 1, and the
    squared length it had.

    A column that adds nothing gets a direction of zeros.
    """
    known = np.hstack([basis, np.zeros_like(columns)])
    first, own = basis.shape[1], np.zeros(columns.shape[1])
    for place, column in enumerate(columns.T):
        before = known[:, : first + place]
        rest = column - before @ (before.T @ column)
        # Once more, since the first time leaves rounding of the whole column
        rest -= before @ (before.T @ rest)
        length = float(rest @ rest)
        if length > NOTHING_LEFT**2 * float(column @ column):
            own[place] = length
            known[:, first + place] = (rest - rest.mean()) / np.sqrt(length)
    return known[:, first:], own


# ---- unless more of them predict better


def _prediction_errors(
    table: Table, known: Supervision, candidates: Integers
) -> tuple[tuple[int, float, float], ...]:
    """Leave-one-out errors of least squares on the first columns; none where too little is
    known.
    """
    target = _predicted_values(known)
    if target is None:
        return ()
    rows, values = target
    most = min(len(candidates), len(rows) // ROWS_PER_COEFFICIENT)
    part = table.take(rows)
    columns = scaled_columns(part, candidates[:most], np.zeros(table.n_features, dtype=np.intc))
    basis, _ = orthonormal_steps(columns, np.empty((len(rows), 0)))
    residuals, left = values - values.mean(axis=0), np.full(len(rows), 1 - 1 / len(rows))
    errors = [((residuals / left[:, None]) ** 2).sum(axis=1)]
    for direction in basis.T:
        residuals = residuals - np.outer(direction, direction @ residuals)
        left = np.maximum(left - direction**2, NOTHING_LEFT)
        errors.append(((residuals / left[:, None]) ** 2).sum(axis=1))
    relative = np.array(errors) / errors[0].mean()
    deviations = relative.std(axis=1, ddof=1) / np.sqrt(len(rows))
    return tuple(
        (size, float(row.mean()), float(error))
        for size, (row, error) in enumerate(zip(relative, deviations, strict=True))
    )


def _predicted_values(known: Supervision) -> tuple[Integers, Floats] | None:
    """The rows of known label or target and what is to be predicted there, if that is enough."""
    if known.n_known_classes >= 2:
        rows = np.flatnonzero(known.codes >= 0)
        values = (known.codes[rows, None] == np.unique(known.codes[rows])).astype(np.float64)
        enough = values.sum(axis=0).min() >= FEWEST_PER_CLASS
    elif known.targets is not None:
        rows = np.flatnonzero(~np.isnan(known.targets))
        values = known.targets[rows, None]
        enough = bool(len(rows)) and values.min() < values.max()
        if enough:
            values = np.ldexp(values, -int(np.frexp(np.abs(values).max())[1]))
    else:
        return None
    return (rows, values) if enough and len(rows) >= FEWEST_PREDICTED else None


def _fewest_that_predict(predicted: tuple[tuple[int, float, float], ...]) -> int:
    """The smallest size whose error is within one standard error of the least."""
    sizes, errors, deviations = np.array(predicted).T
    least = int(errors.argmin())
    return int(sizes[errors <= errors[least] + deviations[least]][0])
