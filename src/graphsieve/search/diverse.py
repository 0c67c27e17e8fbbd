"""Greedy selection of features that together explain the table and the supervision.

If features are ranked one by one, ten copies of the best feature come first. Here the gain of a
feature is the share of the variance that it explains: the variance of all features, weighted by
their scores, and the variance of the targets, if there are any. Each selected feature is projected
out before the next one is selected, so its copies have no gain left.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from graphsieve._base.array_types import Booleans, Floats, Integers
from graphsieve._base.errors import InputError, InputTypeError
from graphsieve._base.messages import parameter
from graphsieve._base.parameters import between, boolean, choice, either, must_be, setting
from graphsieve._base.progress import Progress
from graphsieve._base.underflow import ignoring_underflow
from graphsieve.scores.method import wanted_count
from graphsieve.table.any_table import as_table
from graphsieve.table.centered import ColumnSpace
from graphsieve.table.columns import Table

FORMS = ("explain", "correlation")
DEFAULT_TARGET_SHARE = 0.5  # weight of the targets; the table has the rest
EXPLAINED = 1e-10  # a column is explained once this share of its variance is left
NOTHING = 1e-26  # a remaining share of the variance below this is rounding error
# Gains within this relative tolerance are ties. Rounding must not decide between copies of a column.
TIE = 1e-9
# Relative rounding error of an update by differences
ROUNDING = 16 * np.finfo(np.float64).eps
MOST_SEPARATE = 64  # doubtful columns; if there are more, the gains of all columns are recomputed
# Gains are updated by differences. They are recomputed once this share of the variance is left.
STALE = 1e-3
INITIAL_CAPACITY = 32  # selected columns
# Selected one by one. Later columns are ordered by what they would add after these.
MOST_SELECTED = 256


@dataclass(frozen=True)
class DiversePath:
    """The selection order, and how each feature relates to the selected ones.

    Attributes
    ----------
    order : array of int of shape (n_features,)
        Feature positions in selection order. The first `n_selected` were selected one by one. The
        others follow by the gain that they would still add, then by their score. Features that are
        constant or without a score come last.
    n_selected : int
        Number of features selected one by one. The search stops early if nothing is left to
        explain.
    alone : array of shape (n_features,)
        Gain of each feature if it were selected first, as a share of the total to explain. NaN for
        features that must not be selected.
    gain : array of shape (n_features,)
        What each feature added to those selected before it, as a share of the same total. For a
        feature that was not selected, what it would add next. 0 once the targets and all features
        with a positive score are explained. NaN for features that must not be selected. For
        ``form="correlation"``, w_j · (1 − max |correlation|), with the largest score as the unit.
    explained : array of shape (n_selected,)
        Share of the weighted variance of the table that is explained after each step.
    redundancy : array of shape (n_features,)
        Share of the feature's variance explained by the selected features, or, for a selected
        feature, by those selected before it. NaN for a constant feature.
    closest : array of int of shape (n_features,)
        Position of the selected feature with the largest absolute correlation, or, for a selected
        feature, of those selected before it. −1 if there is none.
    closest_correlation : array of shape (n_features,)
        Correlation with that feature. NaN if there is none.
    sketched : bool
        Whether the table was so large that inner products were estimated from a sketch.
    """

    order: Integers
    n_selected: int
    alone: Floats
    gain: Floats
    explained: Floats
    redundancy: Floats
    closest: Integers
    closest_correlation: Floats
    sketched: bool

    @property
    def gains(self) -> Floats:
        """Gain of each selected feature, in selection order."""
        return self.gain[self.order[: self.n_selected]]


@ignoring_underflow
def diverse_selection(
    scores: Any,
    X: Any,
    *,
    n_features_to_select: int,
    form: str = "explain",
    targets: Any = None,
    target_share: float = DEFAULT_TARGET_SHARE,
    progress: bool | None = None,
) -> DiversePath:
    """Select features one by one, each by its gain given the features selected before it.

    ``form="explain"`` selects the feature j with the largest Σ_i w_i (r_i·r_j)² / (r_j·r_j). Here
    r_i is the residual of the centred feature i, and w_i is its score. This sum is the weighted
    variance of all features that a regression on feature j explains. All features are then replaced
    by their residuals given feature j. With `targets`, the variance explained of the targets has
    weight `target_share`, and that of the table has the rest. With equal weights and no targets,
    this is greedy column subset selection. The selection ends once everything with a positive
    weight is explained. Ties go to the larger score, then to the larger gain alone, then to the
    first feature.

    ``form="correlation"`` selects the largest w_j · (1 − max |correlation| with the selected
    features).

    The cost is about four passes over X per selected feature, plus one matrix product on the
    shorter side of the table. No matrix of features × features is formed. Tables of more than 2²⁶
    numbers are sketched. At most 256 features are selected one by one.

    Parameters
    ----------
    scores : array of shape (n_features,)
        Weight of each feature, 0 or more; NaN for features that must not be selected. If small
        scores are good, invert them first.
    X : array, sparse matrix or data frame of shape (n_samples, n_features)
        The features, used as they are. Features in small units explain little.
    n_features_to_select : int
        Number of features to select one by one.
    form : {"explain", "correlation"}
        Criterion for the next feature.
    targets : array of shape (n_samples,) or (n_samples, n_targets), optional
        Further variables to explain, known for all samples, such as predicted labels. Only for
        ``"explain"``.
    target_share : float
        Weight of the targets, from 0 to 1.
    progress : bool or None
        Whether to report progress on the error stream. With None, only on a terminal.

    Returns
    -------
    DiversePath

    References
    ----------
    Farahat, Ghodsi, Kamel (2011), An efficient greedy method for unsupervised feature selection;
    weights and targets are ours.

    Examples
    --------
    The second feature repeats the first, so the third is selected before it:

    >>> X = [[1, 1.1, 0], [2, 2, 1], [3, 3.1, 0], [4, 3.9, 1]]
    >>> path = diverse_selection([0.9, 0.8, 0.3], X, n_features_to_select=2)
    >>> path.order.tolist(), path.closest.tolist()
    ([0, 2, 1], [-1, 0, 0])
    """
    table = as_table(X)
    weights = _checked_scores(scores, table.n_features)
    wanted = wanted_count(n_features_to_select, table.n_features)
    choice(FORMS)("form", form)
    share = between(0, 1)("target_share", target_share)
    either(None, boolean())("progress", progress)
    others = _checked_targets(targets, table.n_samples, form)
    if others is None and share != DEFAULT_TARGET_SHARE:
        raise InputError(
            setting("target_share", target_share),
            " needs targets, and none were given; leave it out.",
        )
    return select_diverse(
        table,
        weights,
        n_wanted=wanted,
        form=form,
        targets=others,
        target_share=0.0 if others is None else share,
        progress=progress,
    )


def select_diverse(
    table: Table | ColumnSpace,
    weights: Floats,
    *,
    n_wanted: int,
    form: str = "explain",
    targets: Floats | None = None,
    target_share: float = 0.0,
    beyond: bool = False,
    progress: bool | None = None,
) -> DiversePath:
    """Select features as `diverse_selection` does, from checked input.

    With `beyond`, the selection continues among features without a weight once the others are
    explained.
    """
    space = ColumnSpace(table) if isinstance(table, Table) else table
    usable = ~np.isnan(weights) & (space.squares > 0)
    weights = np.where(usable, weights, 0.0)
    top = float(weights.max(initial=0.0))
    # If no feature has a positive score, all features have the same weight.
    weights = weights / top if top > 0 else usable.astype(np.float64)
    search: Explaining | _Uncorrelated
    if form == "explain":
        search = Explaining(
            space,
            weights,
            usable,
            None if targets is None else space.project(targets).T,
            target_share,
        )
    else:
        search = _Uncorrelated(space, weights, usable)
    alone = np.where(usable, _with_equal_copies(search.gains()), np.nan)
    steps = _select(
        search,
        weights,
        alone,
        most=min(n_wanted, MOST_SELECTED),
        beyond=beyond,
        progress=progress,
    )
    search.settle(all_columns=True)
    selected = np.array([step.position for step in steps], dtype=np.int64)
    redundancy = np.where(space.squares > 0, search.redundancy(), np.nan)
    redundancy[selected] = [step.redundancy for step in steps]
    left = search.gains()
    gain = np.where(usable, 0.0 if search.widened else left, np.nan)
    gain[selected] = [step.gain for step in steps]
    closest, closest_correlation = _closest_selected(space, search.products_with_selected())
    return DiversePath(
        order=np.concatenate([selected, _remaining(selected, usable, weights, left, alone)]),
        n_selected=len(steps),
        alone=alone,
        gain=gain,
        explained=np.array([step.explained for step in steps]),
        redundancy=redundancy,
        closest=closest,
        closest_correlation=closest_correlation,
        sketched=space.sketched,
    )


@dataclass(frozen=True)
class _Step:
    """One selected column: its gain, its redundancy, and the share explained after it."""

    position: int
    gain: float
    redundancy: float
    explained: float


def _select(
    search: Explaining | _Uncorrelated,
    weights: Floats,
    alone: Floats,
    *,
    most: int,
    beyond: bool,
    progress: bool | None,
) -> list[_Step]:
    steps: list[_Step] = []
    with Progress("selecting features", progress) as shown:
        while len(steps) < most:
            if beyond:
                search.widen()
            search.settle()
            gains = search.gains()
            best = float(gains.max(initial=0.0))
            if best <= 0:
                break
            tied = np.flatnonzero(gains >= best * (1 - TIE))
            position = int(_preferred(tied, weights, alone)[0])
            redundancy = float(search.redundancy()[position])
            search.take(position)
            steps.append(
                _Step(position, 0.0 if search.widened else best, redundancy, search.explained())
            )
            if shown.shown:
                shown.tell(f"{len(steps)} of {most}")
    return steps


def _remaining(
    selected: Integers, usable: Booleans, weights: Floats, gains: Floats, alone: Floats
) -> Integers:
    """Order the columns that were not selected by gain, then by score, then by gain alone."""
    rest = np.ones(len(usable), dtype=bool)
    rest[selected] = False
    others = _preferred(np.flatnonzero(rest), weights, alone)
    return others[np.lexsort((_places(gains[others]), ~usable[others]))]


def _preferred(columns: Integers, weights: Floats, alone: Floats) -> Integers:
    """Order columns with the same gain by score, then by gain alone, then by position.

    Scores may tie as well. For example, two columns that are closest to each other have the same
    largest correlation. Once a single direction is left, all columns have the same gain.
    """
    return columns[np.lexsort((columns, _places(alone[columns]), _places(weights[columns])))]


def _with_equal_copies(gains: Floats) -> Floats:
    """Set gains that differ only by rounding to the same value.

    BLAS may give copies of a column different last bits, depending on their position.
    """
    descending = np.argsort(-gains, kind="stable")
    ordered = gains[descending]
    begins = np.concatenate([[True], ordered[1:] < ordered[:-1] * (1 - ROUNDING)])
    equal = np.empty_like(gains)
    equal[descending] = ordered[np.flatnonzero(begins)][np.cumsum(begins) - 1]
    return equal


def _places(gains: Floats) -> Integers:
    """Rank gains from 0, the largest. Gains within the tolerance of a tie share a rank."""
    gains = np.nan_to_num(gains)
    descending = np.argsort(-gains, kind="stable")
    clearly_less = gains[descending[1:]] < gains[descending[:-1]] * (1 - TIE)
    places = np.zeros(len(gains), dtype=np.int64)
    places[descending[1:]] = np.cumsum(clearly_less)
    return places


class Explaining:
    """Gain of every column by the variance that it explains of the residual columns.

    The residual columns R = S − U C are never stored. U holds the orthonormal directions of the
    selected columns, and C = UᵀS. Two numbers per column are kept and updated after every step: its
    squared length g_j = r_j·r_j and f_j = Σ_i w_i (r_i·r_j)².
    """

    def __init__(
        self,
        space: ColumnSpace,
        weights: Floats,
        usable: Booleans,
        targets: Floats | None,
        target_share: float,
    ) -> None:
        self.space, self.weights, self.usable = space, weights, usable
        self.selected: list[int] = []
        self._directions = np.empty((0, space.n_rows))
        self._coefficients = np.empty((0, space.n_features))
        self.initial_weights, self.total = weights, float(weights @ space.squares)
        self.widened = False
        self.share = 0.0
        self.targets = np.empty((0, space.n_rows))
        if targets is not None and target_share > 0 and targets.any():
            self.share = target_share
            self.targets = targets / np.sqrt(float(np.einsum("ij,ij->", targets, targets)))
        self._compute()

    def _compute(self) -> None:
        """Recompute the lengths and the gains from the residuals."""
        self.left = np.empty(self.space.n_features)
        self.fit = np.zeros(self.space.n_features)
        self.of_targets = np.empty((len(self.targets), self.space.n_features))
        for part, residual in self._residual_parts():
            self.left[part] = np.einsum("ij,ij->j", residual, residual)
            self.of_targets[:, part] = self.targets @ residual
        # The residual of an explained column is rounding error. With a weight it would decide the
        # order once nothing else is left.
        self.weights = np.where(self.left > NOTHING * self.space.squares, self.weights, 0.0)
        if self.space.n_rows < self.space.n_features and not len(self.directions):
            self.fit = self.space.forms(self.space.kernel(self.weights))
        elif self.space.n_rows < self.space.n_features:
            kernel = np.zeros((self.space.n_rows, self.space.n_rows))
            for part, residual in self._residual_parts():
                some = self.weights[part] != 0
                kernel += (residual[:, some] * self.weights[part][some]) @ residual[:, some].T
            for part, residual in self._residual_parts():
                some = self.usable[part]
                self.fit[part][some] = np.einsum(
                    "ij,ij->j", residual[:, some], kernel @ residual[:, some]
                )
        else:
            for part, residual in self._residual_parts():
                self.fit[part] += self.weights[part] @ (residual.T @ residual) ** 2
                for other, second in self._residual_parts(first=part.stop):
                    products = (residual.T @ second) ** 2  # symmetric, so it serves both parts
                    self.fit[other] += self.weights[part] @ products
                    self.fit[part] += products @ self.weights[other]
        self.fresh_total = float(self.weights @ self.left)
        self.fresh_left, self.fresh_fit = self.left.copy(), self.fit.copy()

    def widen(self) -> None:
        """Give the remaining columns equal weights once the weighted ones are explained.

        Copies of selected columns still have no gain.
        """
        of_targets = self.share * float(np.einsum("ij,ij->", self.targets, self.targets))
        if (
            not self.widened
            and self.initial_weights @ self.left <= ROUNDING * self.total
            and of_targets <= ROUNDING
        ):
            self.widened = True
            self.weights = self._open().astype(np.float64)
            self._compute()

    def settle(self, *, all_columns: bool = False) -> None:
        """Recompute gains if their rounding error could change the order or break a tie.

        Only columns that may have the largest gain are recomputed, unless `all_columns` is true.
        The rounding error of an updated gain is relative to the column's length at the last
        recomputation, which may be much larger than its present length.
        """
        gains, open_columns = self.gains(), self._open()
        length = np.where(open_columns, self.left, 1.0)
        doubt = (1 - self.share) * self.fresh_fit / (
            length * (self.total or 1.0)
        ) + gains * self.fresh_left / length
        doubt = ROUNDING * (doubt + self.share * np.sqrt(self.fresh_left / length))
        doubtful = open_columns & (doubt > TIE / 4 * gains)
        if not all_columns:
            doubtful &= gains + doubt >= (gains - doubt).max(initial=0.0, where=open_columns)
        columns = np.flatnonzero(doubtful)
        if len(columns) > MOST_SEPARATE:
            self._compute()
        elif len(columns):
            self._compute_columns(columns)

    def _compute_columns(self, columns: Integers) -> None:
        """Recompute the gains of a few columns, with one pass over the table for each."""
        residual = np.stack([self.space.column(int(j)) for j in columns], axis=1)
        residual -= self.directions.T @ self.coefficients[:, columns]
        self.left[columns] = self.fresh_left[columns] = np.einsum("ij,ij->j", residual, residual)
        # A residual is orthogonal to the directions. Its products with the other columns therefore
        # equal those with their residuals.
        self.fit[columns] = self.fresh_fit[columns] = (
            self.space.against(residual.T) ** 2 @ self.weights
        )
        self.of_targets[:, columns] = self.targets @ residual

    def _residual_parts(self, *, first: int = 0) -> Iterator[tuple[slice, Floats]]:
        for part, values in self.space.parts(first=first):
            yield (
                part,
                values - self.directions.T @ self.coefficients[:, part]
                if len(self.directions)
                else values,
            )

    def gains(self) -> Floats:
        open_columns = self._open()
        length = np.where(open_columns, self.left, 1.0)
        gains = (1 - self.share) * self.fit / (length * (self.total or 1.0))
        gains = gains + self.share * (self.of_targets**2).sum(axis=0) / length
        return np.where(open_columns, gains, 0.0)

    def _open(self) -> Booleans:
        return np.asarray(self.usable & (self.left > EXPLAINED * self.space.squares))

    def take(self, position: int) -> None:
        direction = self.space.column(position)
        for _ in range(2):  # The second pass removes the rounding error of the first.
            direction -= self.directions.T @ (self.directions @ direction)
        direction /= np.sqrt(direction @ direction)
        along = self.space.against(direction)
        weighted = self.weights * along
        image = self.space.times(weighted) - self.directions.T @ (self.coefficients @ weighted)
        back = self.space.against(image) - (self.directions @ image) @ self.coefficients
        self.fit = np.maximum(self.fit - 2 * along * back + float(weighted @ along) * along**2, 0.0)
        self.left = np.maximum(self.left - along**2, 0.0)
        self.left[position] = 0.0
        found = self.targets @ direction
        self.targets = self.targets - np.outer(found, direction)
        self.of_targets = self.of_targets - np.outer(found, along)
        # The initial squared length of the targets is 1.
        if float(np.einsum("ij,ij->", self.targets, self.targets)) <= NOTHING:
            self.targets, self.of_targets = (
                np.zeros_like(self.targets),
                np.zeros_like(self.of_targets),
            )
        self._keep(position, direction, along)
        if float(self.weights @ self.left) < STALE * self.fresh_total:
            self._compute()

    @property
    def directions(self) -> Floats:
        return self._directions[: len(self.selected)]

    @property
    def coefficients(self) -> Floats:
        return self._coefficients[: len(self.selected)]

    def _keep(self, position: int, direction: Floats, along: Floats) -> None:
        n = len(self.selected)
        if n == len(self._directions):  # Double the capacity.
            added = INITIAL_CAPACITY + n
            self._directions = np.vstack([self._directions, np.empty((added, self.space.n_rows))])
            self._coefficients = np.vstack(
                [self._coefficients, np.empty((added, self.space.n_features))]
            )
        self._directions[n], self._coefficients[n] = direction, along
        self.selected.append(position)

    def products_with_selected(self) -> Iterator[tuple[int, Floats]]:
        """Yield every selected column with its inner products with all columns.

        The products follow from the coefficients, without a pass over the table.
        """
        for start in range(0, len(self.selected), INITIAL_CAPACITY):
            some = self.selected[start : start + INITIAL_CAPACITY]
            # A selected column lies in the span of the directions up to its own.
            yield from zip(some, self.coefficients[:, some].T @ self.coefficients, strict=True)

    def redundancy(self) -> Floats:
        squares = np.where(self.space.squares > 0, self.space.squares, 1.0)
        return np.clip(1 - self.left / squares, 0.0, 1.0)

    def explained(self) -> float:
        return (
            float(np.clip(1 - self.initial_weights @ self.left / self.total, 0.0, 1.0))
            if self.total > 0
            else 1.0
        )


class _Uncorrelated:
    """Gain of every column: its score × (1 − largest absolute correlation with a selected one)."""

    def __init__(self, space: ColumnSpace, weights: Floats, usable: Booleans) -> None:
        self.space, self.weights = space, weights
        self.usable = usable.copy()
        self.length = np.sqrt(np.where(space.squares > 0, space.squares, 1.0))
        self.largest = np.zeros(space.n_features)
        self.found: list[tuple[int, Floats]] = []

    widened = False

    def widen(self) -> None:
        """Do nothing. A column without a score has no gain here."""

    def settle(self, *, all_columns: bool = False) -> None:
        """Do nothing. No gain is updated by differences here."""

    def gains(self) -> Floats:
        # Rounding may put the correlation of a copy slightly below 1. Such a copy has no gain.
        return np.where(
            self.usable & (1 - self.largest**2 > EXPLAINED), self.weights * (1 - self.largest), 0.0
        )

    def take(self, position: int) -> None:
        products = self.space.against(self.space.column(position))
        self.found.append((position, products))
        correlation = np.abs(products) / (self.length * self.length[position])
        self.largest = np.maximum(self.largest, np.minimum(correlation, 1.0))
        self.usable[position] = False

    def products_with_selected(self) -> Iterator[tuple[int, Floats]]:
        """Yield every selected column with its inner products with all columns."""
        return iter(self.found)

    def redundancy(self) -> Floats:
        return self.largest**2

    def explained(self) -> float:
        total = float(self.weights @ self.space.squares)
        return (
            float(self.weights @ (self.space.squares * self.largest**2)) / total
            if total > 0
            else 1.0
        )


def _closest_selected(
    space: ColumnSpace, products: Iterator[tuple[int, Floats]]
) -> tuple[Integers, Floats]:
    """Return the closest selected column of each column, and the correlation with it.

    For a selected column, only those selected before it count.
    """
    closest = np.full(space.n_features, -1, dtype=np.int64)
    highest = np.full(space.n_features, np.nan)
    length = np.sqrt(np.where(space.squares > 0, space.squares, 1.0))
    settled = np.zeros(space.n_features, dtype=bool)
    for position, product in products:
        settled[position] = True  # Later columns do not count for this one.
        correlation = np.clip(product / (length * length[position]), -1.0, 1.0)
        closer = ~settled & (space.squares > 0) & ~(np.abs(correlation) <= np.abs(highest))
        closest[closer], highest[closer] = position, correlation[closer]
    return closest, highest


def _real_numbers(given: Any) -> Floats | None:
    """Convert to an array of floats. Return None for text, dates and complex numbers."""
    try:
        found = np.asarray(given)
        return found.astype(np.float64) if found.dtype.kind in "biufO" else None
    except (TypeError, ValueError, OverflowError):
        return None


def _checked_scores(scores: Any, n_features: int) -> Floats:
    values = _real_numbers(scores)
    if values is None:
        raise InputTypeError(must_be("scores", "one number per feature", scores))
    if values.shape != (n_features,):
        raise InputError(
            parameter("scores", scores),
            f" must be one number for each of the {n_features} features, got an array of "
            f"shape {values.shape}.",
        )
    if np.isinf(values).any() or (values < 0).any():
        raise InputError(
            parameter("scores", scores),
            " must be finite and not below 0 (NaN for a feature that must not be selected); large "
            "scores are good.",
        )
    return values


def _checked_targets(targets: Any, n_samples: int, form: str) -> Floats | None:
    if targets is None:
        return None
    if form != "explain":
        raise InputError(
            parameter("targets", targets),
            f" need form='explain', got form={form!r}; leave them out.",
        )
    values = _real_numbers(targets)
    if values is None:
        raise InputTypeError(must_be("targets", "numbers", targets))
    values = values[:, None] if values.ndim == 1 else values
    if values.ndim != 2 or values.shape[0] != n_samples or not np.isfinite(values).all():
        raise InputError(
            parameter("targets", targets),
            f" must be finite, one row for each of the {n_samples} samples, got shape "
            f"{np.shape(targets)}.",
        )
    values = np.ldexp(values, -int(np.frexp(np.abs(values).max(initial=0.0))[1]))
    values = values - values[:1]
    return np.asarray(values - values.mean(axis=0))
