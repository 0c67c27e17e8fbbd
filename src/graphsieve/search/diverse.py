"""A set, not a list: every further column is chosen for what the chosen ones do not yet say.

Ranked one by one, ten copies of the best column come first. Here a column is worth what it
*explains*: of all columns, each counting by how much it matters, and of a prediction of what is
known, if there is one. What a chosen column explains is taken away before the next is chosen, so
that its copies are worth nothing any more.
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
from graphsieve._base.underflow import vanishing
from graphsieve.scores.method import wanted_count
from graphsieve.table.any_table import as_table
from graphsieve.table.centered import ColumnSpace
from graphsieve.table.columns import Table

FORMS = ("explain", "correlation")
USUAL_SHARE = 0.5  # of targets, beside the table
EXPLAINED = 1e-10  # a column of whose variance only this share is left has nothing to add
NOTHING = 1e-26  # share of a variance that only rounding can have left
# Gains that differ by less are equal: rounding must not choose between copies of a column
TIE = 1e-9
# What keeping up by differences costs, as a share of what a number was before
ROUNDING = 16 * np.finfo(np.float64).eps
AT_ONCE = 64  # columns whose gains are computed anew by themselves
# What is left of the variance when gains, which are kept up by differences, are computed anew
STALE = 1e-3
ROOM = 32  # choices for which there is room at first
# One by one; the columns after them come in the order of what they would add then
MOST_CHOICES = 256


@dataclass(frozen=True)
class DiversePath:
    """The columns in the order of choice, and what became of each.

    Attributes
    ----------
    order : array of int of shape (n_features,)
        Column positions. The first `n_chosen` were chosen one by one; the others follow by what
        they would still add, then by their score. Columns that are constant or without a score come
        last.
    n_chosen : int
        How many were chosen before nothing was left to explain, or before enough were.
    alone : array of shape (n_features,)
        What each column would add as the first: the share of all there is to explain; NaN where it
        must not be chosen.
    gains : array of shape (n_chosen,)
        What each choice added to those before it, as a share of the same; 0 once all that matters
        is explained.
    explained : array of shape (n_chosen,)
        The share of the (weighted) variance of the table that is explained after each choice.
    redundancy : array of shape (n_features,)
        The share of a column's variance that the chosen ones explain; for a chosen one, those
        before it. NaN for a constant.
    duplicate_of : array of int of shape (n_features,)
        The chosen column that correlates most with it, for a chosen one among those before it; −1
        where there is none.
    correlation : array of shape (n_features,)
        With that column, from −1 to 1; NaN where there is none.
    sketched : bool
        Whether the table was so large that inner products were estimated.
    """

    order: Integers
    n_chosen: int
    alone: Floats
    gains: Floats
    explained: Floats
    redundancy: Floats
    duplicate_of: Integers
    correlation: Floats
    sketched: bool


@vanishing
def diverse_selection(
    scores: Any,
    X: Any,
    *,
    n_features_to_select: int,
    form: str = "explain",
    targets: Any = None,
    target_share: float = USUAL_SHARE,
    progress: bool | None = None,
) -> DiversePath:
    """Choose columns one by one, each for what those before it do not say.

    ``form="explain"`` takes the column j with the largest Σ_i w_i (r_i·r_j)² / (r_j·r_j), where r_i
    is what is left of the centred column i and w_i its score: what a regression of all columns on
    this one explains of them. Then every column loses its projection on the chosen one. With
    `targets`, what is explained of them counts by `target_share` and the table by the rest. Without
    weights this is greedy column subset selection. Once all that matters is explained, nothing more
    is chosen. ``form="correlation"`` takes the largest w_j · (1 − max |correlation| with the chosen
    columns).

    It costs about four passes over X per chosen column, and once as many as the shorter side of the
    table is long; no matrix of features × features. Beyond 2²⁶ numbers samples are sketched. At
    most 256 columns are chosen one by one.

    Parameters
    ----------
    scores : array of shape (n_features,)
        How much each column matters, 0 or more; NaN for columns that must not be chosen. Scores
        that are small where good must be turned round first.
    X : array, sparse matrix or data frame of shape (n_samples, n_features)
        The features, used as they are: columns in small units explain little.
    n_features_to_select : int
        How many to choose one by one.
    form : {"explain", "correlation"}
        What a further column is judged by.
    targets : array of shape (n_samples,) or (n_samples, n_targets), optional
        What else to explain, known for all samples, such as predicted labels; only for
        ``"explain"``.
    target_share : float
        How much the targets count, from 0 to 1.
    progress : bool or None
        Whether to tell on the error stream how far it has come; None: if that is a terminal.

    Returns
    -------
    DiversePath

    References
    ----------
    Farahat, Ghodsi, Kamel (2011), An efficient greedy method for unsupervised feature selection;
    weights and targets are ours.

    Examples
    --------
    The second column repeats the first; the third is another matter:

    >>> X = [[1, 1.1, 0], [2, 2, 1], [3, 3.1, 0], [4, 3.9, 1]]
    >>> path = diverse_selection([0.9, 0.8, 0.3], X, n_features_to_select=2)
    >>> path.order.tolist(), path.duplicate_of.tolist()
    ([0, 2, 1], [-1, 0, 0])
    """
    table = as_table(X)
    weights = _checked_scores(scores, table.n_features)
    wanted = wanted_count(n_features_to_select, table.n_features)
    choice(FORMS)("form", form)
    share = between(0, 1)("target_share", target_share)
    either(None, boolean())("progress", progress)
    others = _checked_targets(targets, table.n_samples, form)
    if others is None and share != USUAL_SHARE:
        raise InputError(
            setting("target_share", target_share),
            " belongs to targets, and none were given; leave it out.",
        )
    return choose_diverse(
        table,
        weights,
        n_wanted=wanted,
        form=form,
        targets=others,
        target_share=0.0 if others is None else share,
        progress=progress,
    )


def choose_diverse(
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
    """As `diverse_selection`, on what has been checked; `beyond` what matters, the other columns
    are chosen as if they did.
    """
    space = ColumnSpace(table) if isinstance(table, Table) else table
    usable = ~np.isnan(weights) & (space.squares > 0)
    weights = np.where(usable, weights, 0.0)
    top = float(weights.max(initial=0.0))
    # If nothing matters by its score, everything matters alike.
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
    alone = np.where(usable, _with_equal_copies(search.worth()), np.nan)
    steps = _choose(search, min(n_wanted, MOST_CHOICES), beyond, progress)
    search.settle(everyone=True)
    chosen = np.array([step.position for step in steps], dtype=np.int64)
    redundancy = np.where(space.squares > 0, search.redundancy(), np.nan)
    redundancy[chosen] = [step.redundancy for step in steps]
    duplicate_of, correlation = _nearest_chosen(space, search.with_chosen())
    return DiversePath(
        order=np.concatenate([chosen, _remaining(chosen, usable, weights, search.worth(), alone)]),
        n_chosen=len(steps),
        alone=alone,
        gains=np.array([step.gain for step in steps]),
        explained=np.array([step.explained for step in steps]),
        redundancy=redundancy,
        duplicate_of=duplicate_of,
        correlation=correlation,
        sketched=space.sketched,
    )


@dataclass(frozen=True)
class _Step:
    """One choice: its gain, how redundant the column was before it, and what is explained after
    it.
    """

    position: int
    gain: float
    redundancy: float
    explained: float


def _choose(
    search: Explaining | _Uncorrelated, most: int, beyond: bool, progress: bool | None
) -> list[_Step]:
    steps: list[_Step] = []
    with Progress("choosing features", progress) as shown:
        while len(steps) < most:
            if beyond:
                search.widen()
            search.settle()
            worth = search.worth()
            best = float(worth.max(initial=0.0))
            if best <= 0:
                break
            position = int(np.flatnonzero(worth >= best * (1 - TIE))[0])
            redundancy = float(search.redundancy()[position])
            search.take(position)
            steps.append(
                _Step(position, 0.0 if search.widened else best, redundancy, search.explained())
            )
            if shown.shown:
                shown.tell(f"{len(steps)} of {most}")
    return steps


def _remaining(
    chosen: Integers, usable: Booleans, weights: Floats, worth: Floats, alone: Floats
) -> Integers:
    """The columns that were not chosen: by what they would add now, then by their score, then by
    what they explain alone.
    """
    rest = np.ones(len(usable), dtype=bool)
    rest[chosen] = False
    others = np.flatnonzero(rest)
    return others[
        np.lexsort(
            (
                others,
                _places(alone[others]),
                -weights[others],
                _places(worth[others]),
                ~usable[others],
            )
        )
    ]


def _with_equal_copies(worth: Floats) -> Floats:
    """The same, where what only the rounding of a product tells apart is equal.

    BLAS may give copies of a column different last bits, depending on where they stand.
    """
    descending = np.argsort(-worth, kind="stable")
    ordered = worth[descending]
    begins = np.concatenate([[True], ordered[1:] < ordered[:-1] * (1 - ROUNDING)])
    equal = np.empty_like(worth)
    equal[descending] = ordered[np.flatnonzero(begins)][np.cumsum(begins) - 1]
    return equal


def _places(worth: Floats) -> Integers:
    """0 for the largest, and so on; one place for those that only rounding tells apart, such as
    copies of a column.
    """
    worth = np.nan_to_num(worth)
    descending = np.argsort(-worth, kind="stable")
    clearly_less = worth[descending[1:]] < worth[descending[:-1]] * (1 - TIE)
    places = np.zeros(len(worth), dtype=np.int64)
    places[descending[1:]] = np.cumsum(clearly_less)
    return places


class Explaining:
    """What every column would explain of what the chosen ones have left.

    The residual columns R = S − U C are never kept: U has the orthonormal directions of the chosen
    columns, C = UᵀS. Of every column we keep its squared length g and f_j = Σ_i w_i (r_i·r_j)²,
    both brought up to date after every choice.
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
        self.chosen: list[int] = []
        self._directions = np.empty((0, space.n_rows))
        self._coefficients = np.empty((0, space.n_features))
        self.mattering, self.total = weights, float(weights @ space.squares)
        self.widened = False
        self.share = 0.0
        self.targets = np.empty((0, space.n_rows))
        if targets is not None and target_share > 0 and targets.any():
            self.share = target_share
            self.targets = targets / np.sqrt(float(np.einsum("ij,ij->", targets, targets)))
        self._compute()

    def _compute(self) -> None:
        """The lengths and the gains anew, from the residuals themselves."""
        self.left = np.empty(self.space.n_features)
        self.fit = np.zeros(self.space.n_features)
        self.of_targets = np.empty((len(self.targets), self.space.n_features))
        for part, residual in self._residual_parts():
            self.left[part] = np.einsum("ij,ij->j", residual, residual)
            self.of_targets[:, part] = self.targets @ residual
        # What rounding leaves of explained columns is nothing to explain: it would choose, once
        # nothing else is left.
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
                    products = (residual.T @ second) ** 2  # what either explains of the other
                    self.fit[other] += self.weights[part] @ products
                    self.fit[part] += products @ self.weights[other]
        self.fresh_total = float(self.weights @ self.left)
        self.fresh_left, self.fresh_fit = self.left.copy(), self.fit.copy()

    def widen(self) -> None:
        """Where all that matters is explained, what is left of the others matters alike: copies
        are still worth nothing.
        """
        of_targets = self.share * float(np.einsum("ij,ij->", self.targets, self.targets))
        if (
            not self.widened
            and self.mattering @ self.left <= ROUNDING * self.total
            and of_targets <= ROUNDING
        ):
            self.widened = True
            self.weights = self._open().astype(np.float64)
            self._compute()

    def settle(self, *, everyone: bool = False) -> None:
        """Compute anew the gains of columns that may lead (or of everyone), where rounding could
        reverse order or break a tie.

        A column of which little is left was much larger when its numbers were fresh, and they have
        the rounding of that size.
        """
        worth, open_columns = self.worth(), self._open()
        length = np.where(open_columns, self.left, 1.0)
        doubt = (1 - self.share) * self.fresh_fit / (
            length * (self.total or 1.0)
        ) + worth * self.fresh_left / length
        doubt = ROUNDING * (doubt + self.share * np.sqrt(self.fresh_left / length))
        doubtful = open_columns & (doubt > TIE / 4 * worth)
        if not everyone:
            doubtful &= worth + doubt >= (worth - doubt).max(initial=0.0, where=open_columns)
        columns = np.flatnonzero(doubtful)
        if len(columns) > AT_ONCE:
            self._compute()
        elif len(columns):
            self._compute_columns(columns)

    def _compute_columns(self, columns: Integers) -> None:
        """As `_compute`, for a few columns: one pass over the table for each."""
        residual = np.stack([self.space.column(int(j)) for j in columns], axis=1)
        residual -= self.directions.T @ self.coefficients[:, columns]
        self.left[columns] = self.fresh_left[columns] = np.einsum("ij,ij->j", residual, residual)
        # What is left of a column is orthogonal to the directions, so that the others need not be
        # reduced by them.
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

    def worth(self) -> Floats:
        open_columns = self._open()
        length = np.where(open_columns, self.left, 1.0)
        worth = (1 - self.share) * self.fit / (length * (self.total or 1.0))
        worth = worth + self.share * (self.of_targets**2).sum(axis=0) / length
        return np.where(open_columns, worth, 0.0)

    def _open(self) -> Booleans:
        return np.asarray(self.usable & (self.left > EXPLAINED * self.space.squares))

    def take(self, position: int) -> None:
        direction = self.space.column(position)
        for _ in range(2):  # twice, so that it is orthogonal to the last digit
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
        if float(np.einsum("ij,ij->", self.targets, self.targets)) <= NOTHING:  # their length was 1
            self.targets, self.of_targets = (
                np.zeros_like(self.targets),
                np.zeros_like(self.of_targets),
            )
        self._keep(position, direction, along)
        if float(self.weights @ self.left) < STALE * self.fresh_total:
            self._compute()

    @property
    def directions(self) -> Floats:
        return self._directions[: len(self.chosen)]

    @property
    def coefficients(self) -> Floats:
        return self._coefficients[: len(self.chosen)]

    def _keep(self, position: int, direction: Floats, along: Floats) -> None:
        if len(self.chosen) == len(self._directions):  # twice as much room as before
            self._directions = np.vstack(
                [self._directions, np.empty((ROOM + len(self.chosen), self.space.n_rows))]
            )
            self._coefficients = np.vstack(
                [self._coefficients, np.empty((ROOM + len(self.chosen), self.space.n_features))]
            )
        self._directions[len(self.chosen)], self._coefficients[len(self.chosen)] = direction, along
        self.chosen.append(position)

    def with_chosen(self) -> Iterator[tuple[int, Floats]]:
        """Every chosen column with its inner products with all columns: they follow from the
        coefficients, without a pass.
        """
        for start in range(0, len(self.chosen), ROOM):
            some = self.chosen[start : start + ROOM]
            # A chosen column lies in the directions up to its own.
            yield from zip(some, self.coefficients[:, some].T @ self.coefficients, strict=True)

    def redundancy(self) -> Floats:
        squares = np.where(self.space.squares > 0, self.space.squares, 1.0)
        return np.clip(1 - self.left / squares, 0.0, 1.0)

    def explained(self) -> float:
        return (
            float(np.clip(1 - self.mattering @ self.left / self.total, 0.0, 1.0))
            if self.total > 0
            else 1.0
        )


class _Uncorrelated:
    """The score of every column, times one minus its largest absolute correlation with a chosen
    one.
    """

    def __init__(self, space: ColumnSpace, weights: Floats, usable: Booleans) -> None:
        self.space, self.weights = space, weights
        self.usable = usable.copy()
        self.length = np.sqrt(np.where(space.squares > 0, space.squares, 1.0))
        self.largest = np.zeros(space.n_features)
        self.found: list[tuple[int, Floats]] = []

    widened = False

    def widen(self) -> None:
        """A column that does not matter is worth nothing here."""

    def settle(self, *, everyone: bool = False) -> None:
        """Nothing is kept up by differences here."""

    def worth(self) -> Floats:
        # Rounding leaves a copy slightly less than a correlation of 1, and must not make a choice
        # of it.
        return np.where(
            self.usable & (1 - self.largest**2 > EXPLAINED), self.weights * (1 - self.largest), 0.0
        )

    def take(self, position: int) -> None:
        products = self.space.against(self.space.column(position))
        self.found.append((position, products))
        correlation = np.abs(products) / (self.length * self.length[position])
        self.largest = np.maximum(self.largest, np.minimum(correlation, 1.0))
        self.usable[position] = False

    def with_chosen(self) -> Iterator[tuple[int, Floats]]:
        """Every chosen column with its inner products with all columns."""
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


def _nearest_chosen(
    space: ColumnSpace, products: Iterator[tuple[int, Floats]]
) -> tuple[Integers, Floats]:
    """For every column the chosen one (before it, for a chosen one) with the largest absolute
    correlation, and that.
    """
    nearest = np.full(space.n_features, -1, dtype=np.int64)
    highest = np.full(space.n_features, np.nan)
    length = np.sqrt(np.where(space.squares > 0, space.squares, 1.0))
    settled = np.zeros(space.n_features, dtype=bool)
    for position, product in products:
        settled[position] = True  # by those before it
        correlation = np.clip(product / (length * length[position]), -1.0, 1.0)
        closer = ~settled & (space.squares > 0) & ~(np.abs(correlation) <= np.abs(highest))
        nearest[closer], highest[closer] = position, correlation[closer]
    return nearest, highest


def _real_numbers(given: Any) -> Floats | None:
    """As an array of floats; None where it is none of real numbers, such as text, dates and
    complex numbers.
    """
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
            " must be finite and not below 0 (NaN for a column that must not be chosen), "
            "large where good.",
        )
    return values


def _checked_targets(targets: Any, n_samples: int, form: str) -> Floats | None:
    if targets is None:
        return None
    if form != "explain":
        raise InputError(
            parameter("targets", targets),
            f" belong to form='explain', got form={form!r}; leave them out.",
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
