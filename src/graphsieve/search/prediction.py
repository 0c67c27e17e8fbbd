"""Prediction of labels or targets for all samples by ridge regression on all columns.

The default search explains these predictions instead of the few labels themselves. Columns that
reproduce the predictions contain the information that all columns together have about the labels.
There is a prediction for every sample, so chance fits are unlikely. The skill of the predictions is
measured by leaving out one label at a time. Samples of one group and class, such as copies, are
first replaced by their mean. Otherwise a copy would remain when a sample is left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from graphsieve._base.array_types import Floats, Integers
from graphsieve.supervision.groups import Units
from graphsieve.supervision.value import Supervision
from graphsieve.table.blocks import Block
from graphsieve.table.centered import ColumnSpace, centered_parts
from graphsieve.table.columns import Table

PENALTIES = 10.0 ** np.arange(-6, 2.1, 0.5)  # relative to the largest eigenvalue
# Maximum number of training samples if there are also more columns than this. The time grows with
# the third power of the smaller number.
MOST_LABELED = 1024


@dataclass(frozen=True)
class Prediction:
    """Predictions for all samples, and their skill.

    Attributes
    ----------
    values : array of shape (n_samples, n_outputs)
        Predicted class indicators, probabilities or target values. Each column has mean zero,
        weighted by the masses of the samples.
    skill : float
        How well held-out labels are predicted, from 0 (no better than chance) to 1. It is Cohen's κ
        for classes and R² for a target, with one label held out at a time. For several targets, it
        is the mean.
    """

    values: Floats
    skill: float


def predicted(
    table: Table, known: Supervision, space: ColumnSpace | None = None
) -> Prediction | None:
    """Predict all samples by ridge regression on the labelled samples.

    `space` holds the columns of the table, if they are already available.

    The result is None if the supervision is not sufficient: it must contain labels, targets or
    probabilities for at least 3 samples, they must not all be equal, and some column must vary.
    """
    if known.n_targets > 1 and "probabilities" not in known.kinds:
        return _of_several_targets(table, known, space)
    outputs, units = _outputs(known, table.weights)
    if units.n < 3:
        return None
    most = _most_labeled(table)
    if units.n > most:
        kept = _spread_over_classes(outputs)[
            np.linspace(0, units.n - 1, most).round().astype(np.int64)
        ]
        outputs, units = outputs[kept], units.take(kept)
    sample = _Sample(units, units.mean_masses())
    mean = np.average(outputs, axis=0, weights=sample.masses)
    if not (outputs - mean).any():
        return None
    labeled: _InBlocks | _InSpace = _InBlocks(table, sample)
    if space is not None and space.exact and space.n_rows >= space.n_columns:
        labeled = _InSpace(space, sample)
    left, squares = labeled.left_singular()
    if not len(squares):
        return None
    centered = sample.times_root(outputs - mean)
    penalty, left_out = best_penalty(left, squares, centered, sample.shares)
    inner = left.times(left.against(centered) / (squares + penalty)[:, None])
    values = labeled.predictions(inner)
    of_classes = known.targets is None or "probabilities" in known.kinds
    return Prediction(
        values - np.average(values, axis=0, weights=table.weights),
        _skill(outputs - mean, left_out / sample.root[:, None], mean, sample, classes=of_classes),
    )


def _of_several_targets(
    table: Table, known: Supervision, space: ColumnSpace | None
) -> Prediction | None:
    """Predict each target on the samples where it is known.

    The sum of squares of each prediction, weighted by the masses of the samples, is proportional to
    its skill. The skill is the mean.
    """
    found = [predicted(table, one, space) for one in known.each_target()]
    parts = [one for one in found if one is not None and one.values.any()]
    if not parts:
        return None
    # A target that cannot be predicted has no skill.
    skill = sum(one.skill for one in parts) / len(found)
    sizes = [np.sqrt(one.skill if skill else 1.0) for one in parts]
    values = [
        size * one.values / np.sqrt(np.average(one.values**2, axis=0, weights=table.weights))
        for size, one in zip(sizes, parts, strict=True)
    ]
    return Prediction(np.hstack(values), skill)


def _most_labeled(table: Table) -> int:
    """Return the maximum number of labelled samples for training."""
    if table.n_columns > MOST_LABELED:
        return MOST_LABELED
    return max(MOST_LABELED, table.most_held // table.n_columns)


def _outputs(known: Supervision, masses: Floats | None) -> tuple[Floats, Units]:
    """Return the values to predict on the labelled samples, and these samples as units."""
    if "probabilities" in known.kinds:
        rows, proba = known.label_probabilities()
        units = known.units(rows).weighted_by(masses)
        return units.means(proba), units
    if known.targets is not None:
        units = known.units(np.flatnonzero(~np.isnan(known.targets))).weighted_by(masses)
        target = units.means(_of_size_one(known.targets[units.rows]))
        # The target is scaled before it is shifted, because the shift could overflow.
        return _of_size_one(target - target[:1])[:, None], units
    units = known.units(np.flatnonzero(known.codes >= 0)).weighted_by(masses)
    codes = known.codes[units.rows]
    return units.means((codes[:, None] == np.unique(codes)).astype(np.float64)), units


def _of_size_one(values: Floats) -> Floats:
    return np.asarray(np.ldexp(values, -int(np.frexp(np.abs(values).max(initial=0.0))[1])))


def _spread_over_classes(outputs: Floats) -> Integers:
    """Return the labelled samples sorted by class or by target value.

    Evenly spaced positions in this order then represent all classes, or low and high targets.
    """
    return np.lexsort((outputs[:, 0], outputs.argmax(axis=1))).astype(np.int64)


@dataclass(frozen=True, eq=False)
class _Sample:
    """The labelled units and their masses, which are None if all are 1."""

    units: Units
    masses: Floats | None

    @property
    def root(self) -> Floats:
        """The square roots of the masses."""
        return np.ones(self.units.n) if self.masses is None else np.sqrt(self.masses)

    @property
    def shares(self) -> Floats:
        """The weights of the units in a mean, which sum to 1."""
        masses = self.root**2
        return np.asarray(masses / masses.sum())

    def times_root(self, values: Floats) -> Floats:
        """Multiply rows by the square roots of the masses. Sums of squares are then weighted."""
        return values if self.masses is None else values * self.root[:, None]

    def centered(self, rows: Floats) -> Floats:
        """Return the units, given their samples, as weighted deviations from their mean."""
        # The first row is subtracted, so that a column that is constant here is exactly zero.
        shifted = self.units.means(rows - rows[0])
        return self.times_root(shifted - np.average(shifted, axis=0, weights=self.masses))


class _Vectors:
    """The left singular vectors of the labelled samples, as columns of an array."""

    def __init__(self, values: Floats) -> None:
        self.values = values

    def times(self, weights: Floats) -> Floats:
        """Return weighted sums of the vectors."""
        return np.asarray(self.values @ weights)

    def against(self, outputs: Floats) -> Floats:
        """Return the inner products of the vectors with the outputs."""
        return np.asarray(self.values.T @ outputs)

    def leverages(self, weights: Floats) -> Floats:
        """Return weighted sums of the squared vectors."""
        return np.asarray(self.values**2 @ weights)


class _VectorsInSpace:
    """The left singular vectors of all samples, as weighted sums of the columns of a table.

    An array of these vectors would be as large as the table.
    """

    def __init__(self, space: ColumnSpace, right: Floats) -> None:
        self.space, self.right = space, right

    def times(self, weights: Floats) -> Floats:
        return self.space.times(self.right @ weights)

    def against(self, outputs: Floats) -> Floats:
        return np.asarray(self.right.T @ self.space.against(outputs.T).T)

    def leverages(self, weights: Floats) -> Floats:
        return np.concatenate(
            [self.space.times(self.right, rows) ** 2 @ weights for rows in self.space.row_slices()]
        )


class _InSpace:
    """The labelled samples of a table in memory with more rows than columns."""

    def __init__(self, space: ColumnSpace, sample: _Sample) -> None:
        self.space, units = space, sample.units
        # The columns of all samples have mean zero already.
        everything = units.owner is None and units.n == space.n_samples
        self.own = None if everything else sample.centered(space.rows(units.rows))

    def left_singular(self) -> tuple[_Vectors | _VectorsInSpace, Floats]:
        """Return the left singular vectors and squared singular values of the labelled samples."""
        if self.own is not None:
            return _singular(self.own)
        squares, right = _positive(*np.linalg.eigh(self.space.gram))
        return _VectorsInSpace(self.space, right / np.sqrt(squares)), squares

    def predictions(self, inner: Floats) -> Floats:
        """Return the predictions for all samples."""
        if self.own is None:
            return self.space.times(self.space.against(inner.T).T)
        return self.space.times(self.own.T @ inner)


class _InBlocks:
    """The labelled samples of a table that is read block by block."""

    def __init__(self, table: Table, sample: _Sample) -> None:
        self.table, self.sample = table, sample

    def left_singular(self) -> tuple[_Vectors, Floats]:
        table, sample, n = self.table, self.sample, self.sample.units.n
        if n > table.n_columns:
            return _singular(
                table.evaluated(partial(_labeled, top=table.top_exponent, sample=sample))
            )
        kernel = np.zeros((n, n))
        for _, part in table.evaluations(partial(_kernel, top=table.top_exponent, sample=sample)):
            kernel += part
        squares, vectors = _positive(*np.linalg.eigh(kernel))
        return _Vectors(vectors), squares

    def predictions(self, inner: Floats) -> Floats:
        table = self.table
        values = np.zeros((table.n_samples, inner.shape[1]))
        form = partial(_predictions, top=table.top_exponent, sample=self.sample, inner=inner)
        for _, part in table.evaluations(form):
            values += part
        return values


def _singular(own: Floats) -> tuple[_Vectors, Floats]:
    """Return left singular vectors and squared singular values, from the smaller product matrix."""
    if len(own) <= own.shape[1]:
        squares, vectors = _positive(*np.linalg.eigh(own @ own.T))
        return _Vectors(vectors), squares
    squares, right = _positive(*np.linalg.eigh(own.T @ own))
    return _Vectors(own @ (right / np.sqrt(squares))), squares


def _positive(squares: Floats, vectors: Floats) -> tuple[Floats, Floats]:
    """Return the eigenvalues that are not rounding error, and their eigenvectors."""
    positive = squares > 1e-12 * max(float(squares.max(initial=0.0)), 0.0)
    return squares[positive], vectors[:, positive]


def _labeled(block: Block, *, top: int, sample: _Sample) -> Floats:
    return np.concatenate(
        [sample.centered(part[sample.units.rows]) for _, part in centered_parts(block, top)], axis=1
    )


def _kernel(block: Block, *, top: int, sample: _Sample) -> Floats:
    total = np.zeros((sample.units.n, sample.units.n))
    for _, part in centered_parts(block, top):
        own = sample.centered(part[sample.units.rows])
        total += own @ own.T
    return total


def _predictions(block: Block, *, top: int, sample: _Sample, inner: Floats) -> Floats:
    """Return the contribution of the columns of a block to the predictions of all samples."""
    total = np.zeros((block.n_samples, inner.shape[1]))
    for _, part in centered_parts(block, top):
        total += part @ (sample.centered(part[sample.units.rows]).T @ inner)
    return total


def best_penalty(
    left: _Vectors | _VectorsInSpace, squares: Floats, centered: Floats, shares: Floats
) -> tuple[float, Floats]:
    """Return the penalty with the smallest leave-one-out error, and its leave-one-out predictions.

    Both have a closed form. `shares` are the weights of the samples in the mean, which sum to 1.
    """
    penalties = PENALTIES * squares.max()
    kept = squares[:, None] / (squares[:, None] + penalties)
    leverages = np.minimum(left.leverages(kept) + shares[:, None], 1 - 1e-9)
    inner, best = left.against(centered), None
    for penalty, share, leverage in zip(penalties, kept.T, leverages.T, strict=True):
        errors = (centered - left.times(share[:, None] * inner)) / (1 - leverage)[:, None]
        size = float((errors**2).sum())
        if best is None or size < best[0]:
            best = size, float(penalty), centered - errors
    assert best is not None
    return best[1], best[2]


def _skill(
    centered: Floats, left_out: Floats, mean: Floats, sample: _Sample, *, classes: bool
) -> float:
    shares = sample.shares
    if not classes:
        # The baseline is the mean of the other samples, so it also leaves one sample out.
        baseline = float(shares @ ((centered / (1 - shares[:, None])) ** 2).sum(axis=1))
        error = float(shares @ ((centered - left_out) ** 2).sum(axis=1))
        return float(np.clip(1 - error / baseline, 0.0, 1.0))
    true, guess = (centered + mean).argmax(axis=1), (left_out + mean).argmax(axis=1)
    n_classes = centered.shape[1]
    by_chance = float(np.bincount(true, shares, n_classes) @ np.bincount(guess, shares, n_classes))
    right = float(shares[true == guess].sum())
    if by_chance >= 1:
        return 0.0
    return float(np.clip((right - by_chance) / (1 - by_chance), 0.0, 1.0))
