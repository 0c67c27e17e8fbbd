"""Greedy selection of features that together explain the table and the supervision.

If features are ranked one by one, ten copies of the best feature come first. Here the gain of a
feature is the share of the variance that it explains: the variance of all features, weighted by
their scores, and the variance of the targets, if there are any. Each selected feature is projected
out before the next one is selected, so its copies have no gain left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np

from graphsieve._base.array_types import Booleans, Floats, Integers
from graphsieve._base.errors import InputError, InputTypeError
from graphsieve._base.messages import parameter
from graphsieve._base.parameters import between, boolean, choice, either, must_be, setting
from graphsieve._base.progress import Progress
from graphsieve._base.underflow import ignoring_underflow
from graphsieve.scores.method import wanted_count
from graphsieve.search.several_columns import Gains, SeveralColumns
from graphsieve.table.any_table import as_table
from graphsieve.table.centered import ColumnSpace, spanning
from graphsieve.table.columns import Table
from graphsieve.table.imputation import imputed

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
# Share of the weighted variance that the features to select first may leave unexplained. The rest
# of them are near copies, which do not precede all other features.
NEARLY = 1e-4
LEAST_GAIN = 1e-12  # A smaller difference of explained shares is rounding error.
INITIAL_CAPACITY = 32  # selected columns
# Residual columns are projected again if their smallest squared size is below this share of the
# squared length of the columns.
REPEATED = 0.02
# Selected one by one. Later columns are ordered by what they would add after these.
MOST_SELECTED = 256


@dataclass(frozen=True, eq=False)
class Choice:
    """What the user has decided about single features.

    Attributes
    ----------
    keep : tuple of int
        Features that are selected first, in this order.
    candidates : array of bool or None
        The features that may be selected besides those to keep, or None for all.
    cost : array or None
        The cost of each feature. Features are selected by their gain per cost.
    """

    keep: tuple[int, ...] = ()
    candidates: Booleans | None = None
    cost: Floats | None = None

    def price(self, n_features: int) -> Floats:
        """Return the cost of each feature, infinite for those that may not be selected."""
        cost = np.ones(n_features) if self.cost is None else self.cost
        return cost if self.candidates is None else np.where(self.candidates, cost, np.inf)

    def selectable(self, n_features: int) -> Booleans:
        """Return the features that may be selected."""
        mask = (
            np.ones(n_features, dtype=bool) if self.candidates is None else self.candidates.copy()
        )
        mask[list(self.keep)] = True
        return mask

    def ordered(self, order: Integers) -> Integers:
        """Return an order in which features to keep come first, and forbidden ones last."""
        place = np.where(self.selectable(len(order)), len(order), 2 * len(order))
        place[list(self.keep)] = np.arange(len(self.keep))
        return order[np.argsort(place[order], kind="stable")]


NO_CHOICE = Choice()


@dataclass(frozen=True)
class DiversePath:
    """The selection order, and how each feature relates to the selected ones.

    Attributes
    ----------
    order : array of int of shape (n_features,)
        Feature positions in selection order. The first `n_selected` were selected one by one. The
        others follow by the gain that they would still add, then by their score. Features that are
        constant or without a score come last. Features to select first precede all others.
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
    cut : callable or None
        For internal use: returns redundancy, closest feature and correlation for a given number of
        selected features. None in the result of `diverse_selection`.
    steps : tuple of Step
        For internal use: what each selected feature explains. Empty in the result of
        `diverse_selection`.
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
    cut: Callable[[int], tuple[Floats, Integers, Floats]] | None = None
    steps: tuple[Step, ...] = ()

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

    The cost is about four passes over X per selected feature, or two if there are more samples than
    features, plus one matrix product on the shorter side of the table. A matrix of features ×
    features is formed only if it is smaller than X. Tables of more than 2²⁶ numbers are sketched.
    At most 256 features are selected one by one.

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
    table = imputed(as_table(X, missing="use"))
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
    path = select_diverse(
        table,
        weights,
        n_wanted=wanted,
        form=form,
        targets=others,
        target_share=0.0 if others is None else share,
        progress=progress,
    )
    return replace(path, cut=None, steps=())


@dataclass(frozen=True, eq=False)
class Preference:
    """Which features are selected first, and which of them are preferred.

    Attributes
    ----------
    first : array of bool or None
        Features that are selected before all others, until 99.99 % of the table is explained. None
        if all are equal in this respect.
    later : array or None
        Weight of each feature in the rest of the search. None for equal weights.
    factor : array or None
        Factor by which the gain of each feature is multiplied in comparisons.
    """

    first: Booleans | None = None
    later: Floats | None = None
    factor: Floats | None = None


NO_PREFERENCE = Preference()


def select_diverse(
    table: Table | ColumnSpace,
    weights: Floats,
    *,
    n_wanted: int,
    form: str = "explain",
    targets: Floats | None = None,
    target_share: float = 0.0,
    n_known: int | None = None,
    beyond: bool = False,
    choice: Choice = NO_CHOICE,
    preference: Preference = NO_PREFERENCE,
    progress: bool | None = None,
) -> DiversePath:
    """Select features as `diverse_selection` does, from checked input.

    With `beyond`, the selection continues among features without a weight once the others are
    explained. `n_known` is the number of samples from which the targets were learnt, by default
    all.
    """
    space = ColumnSpace(table) if isinstance(table, Table) else table
    usable = ~np.isnan(weights) & (space.variances > 0)
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
            n_known=n_known,
        )
    else:
        search = _Uncorrelated(space, weights, usable)
    alone = np.where(usable, _with_equal_copies(search.gains()), np.nan)
    price = choice.price(space.n_features)
    if preference.factor is not None:
        price = price / preference.factor
    steps = _select(
        search,
        weights,
        alone,
        keep=[feature for feature in choice.keep if usable[feature]],
        price=price,
        preference=preference,
        most=min(n_wanted, MOST_SELECTED),
        beyond=beyond,
        progress=progress,
    )
    search.settle(all_columns=True)
    selected = np.array([step.position for step in steps], dtype=np.int64)
    left = search.gains()
    merits = search.merits(left) / price
    gain = np.where(usable, 0.0 if search.reweighed else left, np.nan)
    gain[selected] = [step.gain for step in steps]
    first = np.zeros(space.n_features, dtype=bool) if search.reweighed else preference.first

    def cut(number: int) -> tuple[Floats, Integers, Floats]:
        done = steps[:number]
        redundancy = np.where(space.variances > 0, search.redundancy_after(len(done)), np.nan)
        redundancy[[step.position for step in done]] = [step.redundancy for step in done]
        correlations = islice(search.correlations_with_selected(), len(done))
        return redundancy, *_closest_selected(space, correlations)

    redundancy, closest, closest_correlation = cut(len(steps))
    return DiversePath(
        order=np.concatenate(
            [selected, _remaining(selected, usable, weights, merits, alone=alone, first=first)]
        ),
        n_selected=len(steps),
        alone=alone,
        gain=gain,
        explained=np.array([step.explained for step in steps]),
        redundancy=redundancy,
        closest=closest,
        closest_correlation=closest_correlation,
        sketched=space.sketched,
        cut=cut,
        steps=tuple(steps),
    )


@dataclass(frozen=True)
class Step:
    """One selected feature, and what it explains.

    Attributes
    ----------
    position : int
        The position of the feature.
    gain, redundancy : float
        As in `DiversePath`.
    explained, predicted : float
        Share of the weighted variance of the table, and of the variance of the targets, that is
        explained after this step.
    of_others : float
        Share of the remaining variance of the other features that this feature explains.
    n_directions : int
        Number of dimensions that the selected features span after this step.
    """

    position: int
    gain: float
    redundancy: float
    explained: float
    predicted: float
    of_others: float
    n_directions: int


def _select(
    search: Explaining | _Uncorrelated,
    weights: Floats,
    alone: Floats,
    *,
    keep: Sequence[int],
    price: Floats,
    preference: Preference,
    most: int,
    beyond: bool,
    progress: bool | None,
) -> list[Step]:
    steps: list[Step] = []
    first = preference.first
    with Progress("selecting features", progress) as shown:
        while len(steps) < most:
            if beyond and first is None:
                search.widen()
            search.settle()
            gains = search.gains()
            if len(steps) < len(keep):
                position = keep[len(steps)]
            else:
                merits = search.merits(gains) / price
                if first is not None:
                    merits = np.where(first, merits, 0.0)
                best = float(merits.max(initial=0.0))
                if first is not None and (best <= 0 or search.explained() >= 1 - NEARLY):
                    search.reweigh(preference.later)
                    first = None
                    continue
                if best <= 0:
                    break
                tied = np.flatnonzero(merits >= best * (1 - TIE))
                position = int(_preferred(tied, weights, alone)[0])
            before, redundancy = search.unexplained(), float(search.redundancy()[position])
            others, gain = search.left_of_others(position), float(gains[position])
            search.take(position)
            if search.reweighed:
                # The gain refers to the table with its first weights.
                gain = before - search.unexplained()
                gain = gain if gain > LEAST_GAIN else 0.0
            of_others = max(0.0, 1 - search.left_of_others(position) / others) if others else 0.0
            steps.append(
                Step(
                    position,
                    gain,
                    redundancy,
                    explained=search.explained(),
                    predicted=search.predicted(),
                    of_others=of_others,
                    n_directions=search.n_directions,
                )
            )
            if shown.shown:
                shown.tell(f"{len(steps)} of {most}")
    return steps


def _remaining(
    selected: Integers,
    usable: Booleans,
    weights: Floats,
    gains: Floats,
    *,
    alone: Floats,
    first: Booleans | None,
) -> Integers:
    """Order the columns that were not selected by gain, then by score, then by gain alone.

    Columns in `first` precede the others.
    """
    rest = np.ones(len(usable), dtype=bool)
    rest[selected] = False
    others = _preferred(np.flatnonzero(rest), weights, alone)
    later = ~usable if first is None else 2 * ~usable + ~first
    return others[np.lexsort((_places(gains[others]), later[others]))]


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
    squared length g_j = r_j·r_j and f_j = Σ_i w_i (r_i·r_j)². If there are more rows than columns, the
    products of all residual columns at the last recomputation are kept as well.
    """

    def __init__(
        self,
        space: ColumnSpace,
        weights: Floats,
        usable: Booleans,
        targets: Floats | None,
        target_share: float,
        *,
        n_known: int | None = None,
    ) -> None:
        self.space, self.weights = space, space.of_columns(weights)
        self.usable = space.of_columns(usable)
        self.several = None if space.features is None else SeveralColumns(space.features)
        self._found: list[Gains] | None = None
        self.selected: list[int] = []
        self.n_directions, self._n_directions_after = 0, [0]
        self.n_known = space.n_samples if n_known is None else n_known
        self._directions = np.empty((0, space.n_rows))
        self._coefficients = np.empty((0, space.n_columns))
        self.initial_weights, self.total = self.weights, float(self.weights @ space.squares)
        # The weights in the present stage of the search, and the weighted variance of all columns.
        self.stage_weights, self.stage_total = self.weights, self.total
        self.reweighed = self.widened = False
        self.share = 0.0
        self.targets = np.empty((0, space.n_rows))
        if targets is not None and target_share > 0 and targets.any():
            self.share = target_share
            self.targets = targets / np.sqrt(float(np.einsum("ij,ij->", targets, targets)))
        self._compute()

    def _compute(self) -> None:
        """Recompute the lengths and the gains from the residuals."""
        if self.space.n_rows < self.space.n_columns:
            self._compute_from_few_rows()
        else:
            self._compute_products()
            self._forget_explained()
            for feature, columns in self._features_of_several_columns():
                own = self._products[columns]
                self._set_feature(feature, own[:, columns], (own * self.weights) @ own.T)
            self.fit = self.weights @ self._products**2
        self.fresh_total = float(self.weights @ self.left)
        self._last_left, self._last_fit = self.left.copy(), self.fit.copy()
        self.fresh_left, self.fresh_fit = self.left.copy(), self.fit.copy()

    def _compute_from_few_rows(self) -> None:
        self.left = np.empty(self.space.n_columns)
        self.fit = np.zeros(self.space.n_columns)
        self.of_targets = np.empty((len(self.targets), self.space.n_columns))
        for part, residual in self._residual_parts():
            self.left[part] = np.einsum("ij,ij->j", residual, residual)
            self.of_targets[:, part] = self.targets @ residual
        self._forget_explained()
        if not len(self.directions):
            kernel = self.space.kernel(self.weights)
            self.fit = self.space.forms(kernel)
        else:
            kernel = np.zeros((self.space.n_rows, self.space.n_rows))
            for part, residual in self._residual_parts():
                some = self.weights[part] != 0
                kernel += (residual[:, some] * self.weights[part][some]) @ residual[:, some].T
            for part, residual in self._residual_parts():
                some = self.usable[part]
                self.fit[part][some] = np.einsum(
                    "ij,ij->j", residual[:, some], kernel @ residual[:, some]
                )
        for feature, columns in self._features_of_several_columns():
            residual = self._residual(columns)
            self._set_feature(feature, residual.T @ residual, residual.T @ kernel @ residual)

    def _forget_explained(self) -> None:
        """Set the weight of explained columns to zero.

        Their residual is rounding error. With a weight it would decide the order once nothing else
        is left.
        """
        self.weights = np.where(self.left > NOTHING * self.space.squares, self.weights, 0.0)

    def _features_of_several_columns(self) -> Iterator[tuple[int, Integers]]:
        if self.space.features is not None:
            for feature in self.space.features.several:
                yield int(feature), self.space.features.columns(int(feature))

    def _set_feature(self, feature: int, products: Floats, fits: Floats) -> None:
        assert self.several is not None
        self.several.set(feature, products, fits)
        self._found = None

    def _compute_feature(self, feature: int) -> None:
        """Recompute the numbers of a feature of several columns, with one pass over the table."""
        columns = self.space.columns_of(feature)
        residual = self._residual(columns)
        along = self.space.against(residual.T)
        fits = (along * self.weights) @ along.T
        self._set_feature(feature, residual.T @ residual, fits)
        self.left[columns] = np.einsum("ij,ij->j", residual, residual)
        self.fit[columns], self.of_targets[:, columns] = np.diag(fits), self.targets @ residual
        self.fresh_left[columns], self.fresh_fit[columns] = self.left[columns], self.fit[columns]

    def _residual(self, columns: Integers) -> Floats:
        return self.space.columns(columns) - self.directions.T @ self.coefficients[:, columns]

    def reweigh(self, weights: Floats | None) -> None:
        """Explain the remaining columns with other weights, or with equal weights (None).

        Copies of selected columns still have no gain.
        """
        self.reweighed = True
        found = self._open().astype(np.float64)
        if weights is not None and self.space.of_columns(weights)[found > 0].any():
            found = found * self.space.of_columns(weights)
        self.widened = self.widened or weights is None
        self.weights = self.stage_weights = found
        self.stage_total = float(found @ self.space.squares)
        if self.weights.any():
            self._compute()

    def widen(self) -> None:
        """Give the remaining columns equal weights once the weighted ones are explained."""
        if (
            not self.widened
            and self.stage_weights @ self.left <= ROUNDING * self.stage_total
            and self.share * self._targets_left() <= ROUNDING
        ):
            self.reweigh(None)

    def _targets_left(self) -> float:
        return float(np.einsum("ij,ij->", self.targets, self.targets))

    def unexplained(self) -> float:
        """Return the share of the total that is left to explain."""
        return (1 - self.share) * (1 - self.explained()) + self.share * self._targets_left()

    def predicted(self) -> float:
        """Return the share of the targets that is explained."""
        return 1 - self._targets_left()

    def left_of_others(self, position: int) -> float:
        """Return the remaining weighted variance of all features but one.

        It is 0 if only rounding error is left.
        """
        columns = self.space.columns_of(position)
        left = float(
            self.stage_weights @ self.left - self.stage_weights[columns] @ self.left[columns]
        )
        return left if left > EXPLAINED * self.stage_total else 0.0

    def settle(self, *, all_columns: bool = False) -> None:
        """Recompute gains if their rounding error could change the order or break a tie.

        Only columns that may have the largest gain are recomputed, unless `all_columns` is true.
        The rounding error of an updated gain is relative to the column's length at the last
        recomputation, which may be much larger than its present length.
        """
        gains, open_columns = self._column_gains(), self._open()
        if self.several is not None:
            self._settle_features(all_columns=all_columns)
            assert self.space.features is not None
            open_columns &= self.space.of_columns(self.space.features.sizes == 1)
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

    def _settle_features(self, *, all_columns: bool) -> None:
        """Recompute the matrices of features of several columns, as `settle` does."""
        assert self.space.features is not None
        gains, sums = self.gains(), self.space.features.sums
        usable = self.usable[self.space.features.starts[:-1]]
        features: list[int] = []
        for found in self._feature_gains():
            length = np.where(np.isfinite(found.smallest), found.smallest, 1.0)
            fit, left = (
                sums(fresh)[found.members] / length for fresh in (self.fresh_fit, self.fresh_left)
            )
            own = gains[found.members]
            doubt = (1 - self.share) * fit / (self.total or 1.0) + own * left
            doubt = ROUNDING * (doubt + self.share * np.sqrt(left))
            doubtful = usable[found.members] & (found.ranks > 0) & (doubt > TIE / 4 * own)
            if not all_columns:
                doubtful &= own + doubt >= gains.max(initial=0.0)
            features += found.members[doubtful].tolist()
        if self.space.features.sizes[features].sum() > MOST_SEPARATE:
            self._compute()
            return
        for feature in features:
            self._compute_feature(feature)

    def _compute_columns(self, columns: Integers) -> None:
        """Recompute the gains of a few columns, with one pass over the table for each."""
        residual = self._residual(columns)
        self.left[columns] = self.fresh_left[columns] = np.einsum("ij,ij->j", residual, residual)
        # A residual is orthogonal to the directions. Its products with the other columns therefore
        # equal those with their residuals.
        self.fit[columns] = self.fresh_fit[columns] = (
            self.space.against(residual.T) ** 2 @ self.weights
        )
        self.of_targets[:, columns] = self.targets @ residual

    def _compute_products(self) -> None:
        """Recompute the lengths and products of all residual columns, and those with the targets.

        They are summed over groups of rows. Groups of columns would have to be paired with each
        other. A table with many rows has many such groups, so each residual would be computed many
        times. This needs an array of columns × columns, and there are few columns here.
        """
        self._n_projected = self.n_directions
        if not self.n_directions:
            # The lengths are those of the columns to the last bit.
            self.left, self._products = self.space.squares.copy(), self.space.gram
            self.of_targets = self.space.against(self.targets)
            return
        n_columns = self.space.n_columns
        selected = self.space.of_columns(np.isin(np.arange(self.space.n_features), self.selected))
        others = np.flatnonzero(~selected)  # The residuals of the selected columns are zero.
        coefficients = self.coefficients[:, others]
        products = np.zeros((len(others), len(others)))
        self.of_targets = np.zeros((len(self.targets), n_columns))
        for rows, values in self.space.row_parts():
            residual = values[:, others] - self.directions[:, rows].T @ coefficients
            products += residual.T @ residual
            self.of_targets[:, others] += self.targets[:, rows] @ residual
        self._products = np.zeros((n_columns, n_columns))
        self._products[np.ix_(others, others)] = products
        self.left = self._products.diagonal().copy()

    def _residual_parts(self) -> Iterator[tuple[slice, Floats]]:
        for part, values in self.space.parts():
            yield (
                part,
                values - self.directions.T @ self.coefficients[:, part]
                if len(self.directions)
                else values,
            )

    def gains(self) -> Floats:
        """Return the gain of every feature."""
        of_columns = self._column_gains()
        if self.space.features is None:
            return of_columns
        gains = of_columns[self.space.features.starts[:-1]]
        for found in self._feature_gains():
            gains[found.members] = (1 - self.share) * found.of_table / (self.total or 1.0)
            gains[found.members] += self.share * found.of_targets
        return np.where(self.usable[self.space.features.starts[:-1]], gains, 0.0)

    def merits(self, gains: Floats) -> Floats:
        """Return the gains minus what features of several columns explain by chance alone.

        A random direction explains 1 part in n − 1 − (number of selected directions) of what is
        left. For the targets, n is the number of samples from which they were learnt. The share of
        the first direction is not subtracted, so that single columns keep their gains.
        """
        if self.several is None:
            return gains
        of_targets = self.share * self._targets_left()
        of_table = (1 - self.share) * (1 - self.explained())
        by_chance = of_table / max(1, self.space.n_samples - 1 - self.n_directions)
        by_chance += of_targets / max(1, self.n_known - 1 - self.n_directions)
        merits = gains.copy()
        for found in self._feature_gains():
            merits[found.members] -= np.maximum(found.ranks - 1, 0) * by_chance
        return merits

    def _feature_gains(self) -> list[Gains]:
        """Return the gains of the features of several columns.

        They are kept until a number that they depend on changes.
        """
        if self.several is None:
            return []
        if self._found is None:
            least = EXPLAINED * self.space.variances
            self._found = self.several.gains(self.of_targets, least)
        return self._found

    def _column_gains(self) -> Floats:
        open_columns = self._open()
        length = np.where(open_columns, self.left, 1.0)
        gains = (1 - self.share) * self.fit / (length * (self.total or 1.0))
        gains = gains + self.share * (self.of_targets**2).sum(axis=0) / length
        return np.where(open_columns, gains, 0.0)

    def _open(self) -> Booleans:
        return np.asarray(self.usable & (self.left > EXPLAINED * self.space.squares))

    def take(self, position: int) -> None:
        """Select a feature, and project its columns out of all others."""
        columns = self.space.columns_of(position)
        directions = self._new_directions(columns)
        if len(directions):
            self._project_out(directions)
        self.left[columns] = 0.0
        self.selected.append(position)
        self._n_directions_after.append(self.n_directions)
        if float(self.weights @ self.left) < STALE * self.fresh_total and self._open().any():
            self._compute()

    def _new_directions(self, columns: Integers) -> Floats:
        """Return orthonormal directions, as rows, of what is left of some columns."""
        residual, total = self._residual(columns), float(self.space.squares[columns].sum())
        least, sizes = EXPLAINED * total, np.linalg.eigvalsh(residual.T @ residual)
        if sizes[sizes > least].min(initial=sizes[-1]) < REPEATED * total:
            # The rounding error is relative to the full columns, so it is removed as well.
            residual -= self.directions.T @ (self.directions @ residual)
        if len(columns) == 1:
            size = float(np.einsum("ij,ij->", residual, residual))
            if size <= least:  # A feature to keep may be a copy of another one.
                return np.empty((0, len(residual)))
            return np.asarray(residual.T / np.sqrt(size))
        return spanning(residual, least=np.sqrt(least)).T

    def _project_out(self, directions: Floats) -> None:
        """Subtract the projection on orthonormal directions, given as rows, from all columns."""
        along = self.space.against(directions)
        weighted = self.weights * along
        back = self._residual_products_of(weighted)
        energy = weighted @ along.T
        change = (along * (energy @ along - 2 * back)).sum(axis=0)
        self.fit = np.maximum(self.fit + change, 0.0)
        if self.space.n_rows >= self.space.n_columns:
            # The rounding error is relative to the residuals for which the products were computed,
            # even if a column has been recomputed since then.
            self.fresh_left, self.fresh_fit = self._last_left.copy(), self._last_fit.copy()
        self.left = np.maximum(self.left - (along**2).sum(axis=0), 0.0)
        if self.several is not None:
            self.several.update(along, back, energy)
            self._found = None
        found = self.targets @ directions.T
        self.targets = self.targets - found @ directions
        self.of_targets = self.of_targets - found @ along
        # The initial squared length of the targets is 1.
        if float(np.einsum("ij,ij->", self.targets, self.targets)) <= NOTHING:
            self.targets, self.of_targets = (
                np.zeros_like(self.targets),
                np.zeros_like(self.of_targets),
            )
        self._keep(directions, along)

    def _residual_products_of(self, weights: Floats) -> Floats:
        """Return the products of weighted sums of all residual columns with each of them."""
        if self.space.n_rows >= self.space.n_columns:
            later = self.coefficients[self._n_projected :]
            return np.asarray(weights @ self._products - weights @ later.T @ later)
        sums = self.space.times(weights.T) - self.directions.T @ (self.coefficients @ weights.T)
        return np.asarray(
            self.space.against(sums.T) - (self.directions @ sums).T @ self.coefficients
        )

    @property
    def directions(self) -> Floats:
        return self._directions[: self.n_directions]

    @property
    def coefficients(self) -> Floats:
        return self._coefficients[: self.n_directions]

    def _keep(self, directions: Floats, along: Floats) -> None:
        n = self.n_directions + len(directions)
        if n > len(self._directions):  # Double the capacity.
            self._directions = _enlarged(self._directions, INITIAL_CAPACITY + 2 * n)
            self._coefficients = _enlarged(self._coefficients, INITIAL_CAPACITY + 2 * n)
        self._directions[self.n_directions : n] = directions
        self._coefficients[self.n_directions : n] = along
        self.n_directions = n

    def correlations_with_selected(self) -> Iterator[tuple[int, Floats]]:
        """Yield every selected feature with the correlations of all features with it.

        They follow from the coefficients, without a pass over the table.
        """
        if self.space.features is None:
            for start in range(0, len(self.selected), INITIAL_CAPACITY):
                some = self.selected[start : start + INITIAL_CAPACITY]
                # A selected column lies in the span of the directions up to its own.
                products = self.coefficients[:, some].T @ self.coefficients
                lengths = np.sqrt(self.space.squares[some])
                for position, along in zip(some, products / lengths[:, None], strict=True):
                    yield position, _correlations(self.space, position, along[None])
            return
        for position in self.selected:
            basis = spanning(self.coefficients[:, self.space.columns_of(position)])
            yield position, _correlations(self.space, position, basis.T @ self.coefficients)

    def redundancy(self) -> Floats:
        return self._redundancy(self.left)

    def redundancy_after(self, n_selected: int) -> Floats:
        """Return the share of each feature that the first selected features explain."""
        if n_selected == len(self.selected):
            return self._redundancy(self.left)
        n = self._n_directions_after[n_selected]
        coefficients = self.coefficients[:n]
        left = self.space.squares - np.einsum("ij,ij->j", coefficients, coefficients)
        return self._redundancy(np.maximum(left, 0.0))

    def _redundancy(self, left: Floats) -> Floats:
        variances = self.space.variances
        if self.space.features is not None:
            left = self.space.features.sums(left)
        return np.clip(1 - left / np.where(variances > 0, variances, 1.0), 0.0, 1.0)

    def explained(self) -> float:
        return (
            float(np.clip(1 - self.initial_weights @ self.left / self.total, 0.0, 1.0))
            if self.total > 0
            else 1.0
        )


def _enlarged(rows: Floats, n_rows: int) -> Floats:
    """Return a larger array that starts with these rows. The others are not initialised."""
    found = np.empty((n_rows, rows.shape[1]))
    found[: len(rows)] = rows
    return found


class _Uncorrelated:
    """Gain of every column: its score × (1 − largest absolute correlation with a selected one)."""

    def __init__(self, space: ColumnSpace, weights: Floats, usable: Booleans) -> None:
        self.space, self.weights = space, weights
        self.usable = usable.copy()
        self.largest = np.zeros(space.n_features)
        self.found: list[tuple[int, Floats]] = []

    reweighed = False

    @property
    def n_directions(self) -> int:
        return len(self.found)

    def widen(self) -> None:
        """Do nothing. A column without a score has no gain here."""

    def reweigh(self, weights: Floats | None) -> None:
        """Do nothing. All columns have their weights from the beginning."""

    def unexplained(self) -> float:
        return 1 - self.explained()

    def predicted(self) -> float:
        """Return 0, because there are no targets here."""
        return 0.0

    def left_of_others(self, position: int) -> float:
        """Return 0. This criterion does not measure what a column explains of the others."""
        return 0.0

    def settle(self, *, all_columns: bool = False) -> None:
        """Do nothing. No gain is updated by differences here."""

    def gains(self) -> Floats:
        # Rounding may put the correlation of a copy slightly below 1. Such a copy has no gain.
        return np.where(
            self.usable & (1 - self.largest**2 > EXPLAINED), self.weights * (1 - self.largest), 0.0
        )

    def merits(self, gains: Floats) -> Floats:
        """Return the gains themselves."""
        return gains

    def take(self, position: int) -> None:
        basis = spanning(self.space.columns(self.space.columns_of(position)))
        correlations = _correlations(self.space, position, self.space.against(basis.T))
        self.found.append((position, correlations))
        self.largest = np.maximum(self.largest, np.abs(correlations))
        self.usable[position] = False

    def correlations_with_selected(self) -> Iterator[tuple[int, Floats]]:
        """Yield every selected feature with the correlations of all features with it."""
        return iter(self.found)

    def redundancy(self) -> Floats:
        return self.largest**2

    def redundancy_after(self, n_selected: int) -> Floats:
        """Return the share of each feature that the closest of the first selected explains."""
        found = [np.abs(correlations) for _, correlations in self.found[:n_selected]]
        return np.max(found, axis=0, initial=0.0) ** 2 if found else np.zeros(len(self.weights))

    def explained(self) -> float:
        total = float(self.weights @ self.space.variances)
        return (
            float(self.weights @ (self.space.variances * self.largest**2)) / total
            if total > 0
            else 1.0
        )


def _correlations(space: ColumnSpace, position: int, along: Floats) -> Floats:
    """Return the correlation of every feature with a selected one.

    `along` are the products of all columns with orthonormal vectors that span the selected feature.
    If either feature has several columns, the correlation is the square root of the share of the
    other feature's variance that the selected one explains.
    """
    length = np.sqrt(np.where(space.variances > 0, space.variances, 1.0))
    features = space.features
    if features is None:
        return np.asarray(np.clip(along[0] / length, -1.0, 1.0))
    found = np.clip(np.sqrt(features.sums((along**2).sum(axis=0))) / length, 0.0, 1.0)
    if features.sizes[position] == 1:
        below = (features.sizes == 1) & (along[0, features.starts[:-1]] < 0)
        found = np.where(below, -found, found)
    return found


def _closest_selected(
    space: ColumnSpace, correlations: Iterator[tuple[int, Floats]]
) -> tuple[Integers, Floats]:
    """Return the closest selected feature of each feature, and the correlation with it.

    For a selected feature, only those selected before it count.
    """
    closest = np.full(space.n_features, -1, dtype=np.int64)
    highest = np.full(space.n_features, np.nan)
    settled = np.zeros(space.n_features, dtype=bool)
    for position, correlation in correlations:
        settled[position] = True  # Later features do not count for this one.
        closer = ~settled & (space.variances > 0) & ~(np.abs(correlation) <= np.abs(highest))
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
