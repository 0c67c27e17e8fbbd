"""Criteria of the floating search: a closed-form regression or a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from numbers import Real
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier
from sklearn.metrics import check_scoring, get_scorer_names
from sklearn.model_selection import KFold, check_cv
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import has_fit_parameter

from graphsieve._base.array_types import Booleans, Floats, Integers
from graphsieve._base.errors import InputError, InputTypeError, warn
from graphsieve._base.messages import keyword, parameter
from graphsieve._base.parameters import (
    count,
    is_collection,
    must_be,
    nearest,
    one_line,
    positive,
    quoted,
    setting,
)
from graphsieve.scores.targets import refuse_several_targets
from graphsieve.supervision.parsing import readable_classes
from graphsieve.supervision.value import Supervision
from graphsieve.table.columns import Table
from graphsieve.table.imputation import imputed
from graphsieve.table.scaling import rescaled
from graphsieve.table.sums import dense_weighting, moments

# Standardised columns with at most this number of elements are kept in memory. Larger ones are
# recomputed in every step.
KEPT_ELEMENTS = 2**24
# About the square root of the machine precision. With a smaller penalty, copies of a column make
# the equations singular.
SMALLEST_RIDGE = 1e-8
# Maximum length of an estimator in a message, in characters. It is long enough for a pipeline to
# show its last step.
ESTIMATOR_SHOWN = 200


class Criterion(Protocol):
    """The quality of a set of features; large is good."""

    usable: Booleans
    tell: Callable[[str], None]  # receives the progress of a slow criterion

    def with_each(self, features: Sequence[int], candidates: Integers) -> Floats:
        """Return the value of `features` with each one of the candidates added."""

    def without_each(self, features: Sequence[int]) -> Floats:
        """Return the value of `features` with each one of them removed."""


def make_criterion(
    table: Table,
    known: Supervision,
    *,
    estimator: Any = None,
    scoring: Any = None,
    cv: Any = 5,
    ridge: float = 1.0,
) -> Criterion:
    """Return the criterion for the parameters of `graphsieve.search.floating_selection`.

    Missing values are imputed, because a regression needs complete columns.
    """
    table = imputed(table)
    rows, target, classes = known_part(known)
    if estimator is None:
        if scoring is not None or not _is_number(cv, 5):
            raise InputError(
                parameter("scoring"),
                " and ",
                parameter("cv"),
                " apply only to an estimator, and none was given; leave them out or pass ",
                keyword("estimator"),
                ".",
            )
        return LinearCriterion(
            table.take(rows), target, classes=classes, ridge=_checked_ridge(ridge)
        )
    scorer = _scorer(estimator, scoring)
    if table.weights is not None and not has_fit_parameter(estimator, "sample_weight"):
        raise InputError(
            parameter("sample_weight"),
            f" was given, but {type(estimator).__name__} cannot be fitted with weights; leave it "
            "out, or use another estimator.",
        )
    if not _is_number(ridge, 1.0):
        raise InputError(
            parameter("ridge", ridge),
            f" applies only without an estimator, got ridge={quoted(ridge)} with one; leave it "
            "out.",
        )
    outcome = (
        readable_classes(known.classes)[target] if classes and known.classes is not None else target
    )
    return EstimatorCriterion(
        table.take(rows), outcome, estimator, scorer, _folds(cv, outcome, estimator)
    )


def _is_number(value: Any, number: float) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and value == number


def _checked_ridge(value: Any) -> float:
    ridge: float = positive()("ridge", value)
    if ridge < SMALLEST_RIDGE:
        raise InputError(
            must_be(
                "ridge",
                f"at least {SMALLEST_RIDGE:g}, because with less a copy of a column cannot be "
                "distinguished from rounding error",
                value,
            )
        )
    return ridge


def _scorer(estimator: Any, scoring: Any) -> Callable[..., float]:
    """Return the function that scores a fitted estimator.

    An error is raised if the estimator cannot be fitted or the scoring does not exist.
    """
    refuse_no_estimator(estimator)
    if scoring is None and not hasattr(estimator, "score"):
        raise InputError(
            parameter("estimator", estimator),
            f" {type(estimator).__name__} has no score method; pass ",
            keyword("scoring"),
            " or another estimator.",
        )
    if scoring is not None:
        refuse_no_scoring(scoring)
    try:
        scorer = check_scoring(estimator, scoring)
    except (TypeError, ValueError) as error:
        raise InputError(parameter("scoring"), f" cannot be used: {_cause(error)}.") from error

    def number(fitted: Any, X: Any, y: Any, **weights: Any) -> float:
        value = scorer(fitted, X, y, **weights)
        if np.ndim(value) or not isinstance(np.asarray(value).item(), Real):
            raise InputTypeError(
                parameter("scoring"), f" must return a number, got {quoted(value)}."
            )
        return float(value)

    return number


def refuse_no_estimator(estimator: Any) -> None:
    """Raise an error if scikit-learn could not fit it, such as a class instead of an instance."""
    if not all(
        hasattr(estimator, name) for name in ("fit", "get_params", "__sklearn_tags__")
    ) or isinstance(estimator, type):
        raise InputTypeError(
            must_be(
                "estimator", "a scikit-learn estimator such as KNeighborsClassifier()", estimator
            )
        )


def refuse_no_scoring(scoring: Any) -> None:
    """Raise an error if it is neither the name of a scorer nor a function."""
    if isinstance(scoring, str) and scoring not in get_scorer_names():
        hint = nearest(scoring, get_scorer_names())
        raise InputError(
            parameter("scoring", scoring),
            f" is {quoted(scoring)}, which is not a scorer of scikit-learn{hint}.",
        )
    if not (isinstance(scoring, str) or callable(scoring)):
        raise InputTypeError(must_be("scoring", "the name of a scorer or a function", scoring))


def _cause(error: Exception) -> str:
    return one_line(f"{type(error).__name__}: {error}").rstrip(".")


def _folds(cv: Any, outcome: NDArray[Any], estimator: Any) -> list[tuple[Integers, Integers]]:
    """Return the training and test rows of each fold.

    They are determined once, so all sets of features are evaluated on the same folds.
    """
    all_rows = np.arange(len(outcome))
    if not isinstance(cv, str) and (hasattr(cv, "split") or is_collection(cv)):
        return _given_folds(cv, outcome)
    n_folds = count(2, len(outcome))("cv", 5 if cv is None else cv)
    if is_classifier(estimator) and type_of_target(outcome) in ("binary", "multiclass"):
        fold = _stratified(outcome, n_folds)
        return [(all_rows[fold != one], all_rows[fold == one]) for one in range(n_folds)]
    return list(KFold(n_folds).split(all_rows))


def _given_folds(cv: Any, outcome: NDArray[Any]) -> list[tuple[Integers, Integers]]:
    all_rows = np.arange(len(outcome))
    try:
        splits = check_cv(cv).split(all_rows[:, None], outcome)
        folds = [
            (all_rows[np.asarray(fitted)], all_rows[np.asarray(scored)])
            for fitted, scored in splits
        ]
    except Exception as error:
        raise InputError(
            setting("cv", cv),
            f" does not split the {len(outcome)} labelled samples: {_cause(error)}.",
        ) from error
    if not folds:
        raise InputError(
            setting("cv", cv),
            " contains no folds; pass a number of folds, a splitter, or pairs of arrays of rows.",
        )
    return folds


def _stratified(outcome: NDArray[Any], n_folds: int) -> Integers:
    """Return the fold of each sample, as `StratifiedKFold` does.

    `StratifiedKFold` is not called, because it would warn about small classes in every round of a
    hybrid search.
    """
    _, first, codes, sizes = np.unique(
        outcome, return_index=True, return_inverse=True, return_counts=True
    )
    if sizes.max() < n_folds:
        raise InputError(
            setting("cv", n_folds),
            f" exceeds the {sizes.max()} labelled samples of the largest class; use fewer folds, "
            "or label more samples.",
        )
    if sizes.min() < n_folds:
        warn(
            setting("cv", n_folds),
            f", but a class has only {sizes.min()} labelled samples, so some folds do not "
            "contain it.",
        )
    codes = np.argsort(np.argsort(first))[codes]  # classes numbered in order of first occurrence
    dealt = np.arange(len(codes)) % n_folds  # folds in turn, for the samples sorted by class
    by_class = np.argsort(codes, kind="stable")
    fold = np.empty(len(codes), dtype=np.int64)
    fold[by_class] = dealt[np.lexsort((dealt, codes[by_class]))]
    return fold


def known_part(known: Supervision) -> tuple[Integers, NDArray[Any], bool]:
    """Return the labelled samples, their labels or targets, and whether these are classes."""
    if known.labels is not None and known.n_known_classes >= 2:
        rows = np.flatnonzero(known.labels >= 0)
        return rows, known.labels[rows], True
    if known.targets is not None:
        refuse_several_targets(known, "the floating search")
        rows = np.flatnonzero(~np.isnan(known.targets))
        if len(rows) >= 2 and known.targets[rows].min() < known.targets[rows].max():
            return rows, known.targets[rows], False
        raise InputError(
            "at least 2 different target values must be known, got "
            f"{len(np.unique(known.targets[rows]))}."
        )
    raise InputError(f"labels of at least 2 classes are needed, got {known.n_known_classes}.")


class LinearCriterion:
    """Leave-one-out R² of a ridge regression of a target or of class indicators.

    The features are standardised as in `rescaled`, so the penalty is the same for a category as for
    a single column. If the set has the smoother matrix H, adding a column z gives H + r rᵀ/s with
    r = (I − H) z and s = zᵀr + ridge. All columns can therefore be tried in one step. The
    leave-one-out residual of a sample is its residual divided by 1 − H_ii.
    """

    def __init__(self, table: Table, target: NDArray[Any], *, classes: bool, ridge: float) -> None:
        self.table, self.ridge, self.n = table, ridge, table.n_samples
        # The masses sum to the number of samples, so the penalty has the same meaning.
        self.masses = table.masses * (self.n / table.masses.sum())
        self.root = np.sqrt(self.masses)[:, None]
        if table.features is not None:
            self.table = table = rescaled(table, "standard")
        outcome = (
            (target[:, None] == np.unique(target)).astype(np.float64)
            if classes
            else _unit_scaled(target)[:, None]
        )
        self.outcome = self.root * (outcome - np.average(outcome, axis=0, weights=table.weights))
        left = 1 - self.masses / self.n
        self.unexplained = float(((self.outcome / left[:, None]) ** 2).sum())
        self.weighting = dense_weighting(self.masses)
        self.usable = _varying(table)
        fits = table.n_samples * table.n_columns <= KEPT_ELEMENTS
        self.kept = list(self._standardized_parts(table)) if fits else None
        self.tell: Callable[[str], None] = lambda _: None

    def with_each(self, features: Sequence[int], candidates: Integers) -> Floats:
        chosen = self._columns(np.asarray(features, dtype=np.int64))
        fit = self._fit(chosen)
        values = np.full(self.table.n_columns, -np.inf)
        for start, columns in (
            self._standardized_parts(self.table) if self.kept is None else self.kept
        ):
            values[start : start + columns.shape[1]] = (
                1 - fit.errors_with(columns) / self.unexplained
            )
        if self.table.features is not None:
            values = values[self.table.features.starts[:-1]]
            for feature in np.intersect1d(candidates, self.table.features.several):
                with_it = self._fit(np.hstack([chosen, self._columns(np.array([feature]))]))
                values[feature] = 1 - with_it.error() / self.unexplained
        return values[candidates]

    def without_each(self, features: Sequence[int]) -> Floats:
        listed = np.asarray(features, dtype=np.int64)
        chosen, known = self._columns(listed), self.table.features
        owner = np.repeat(np.arange(len(listed)), 1 if known is None else known.sizes[listed])
        errors = [self._fit(chosen[:, owner != place]).error() for place in range(len(features))]
        return 1 - np.array(errors) / self.unexplained

    def _fit(self, columns: Floats) -> _Fit:
        return _Fit(columns, self.outcome, self.ridge, self.masses / self.n)

    def _columns(self, features: Integers) -> Floats:
        if not len(features):
            return np.empty((self.n, 0))
        parts = self._standardized_parts(self.table.take_features(features))
        return np.concatenate([columns for _, columns in parts], axis=1)

    def _standardized_parts(self, table: Table) -> Iterator[tuple[int, Floats]]:
        """Yield the columns of a table in parts, centred and scaled.

        Each part comes with the number of its first column. Rows are multiplied by the square roots
        of their masses.
        """
        for block in table.blocks():
            found = moments(block, self.weighting)
            # The table is already scaled if features may have several columns.
            size = (
                np.sqrt(found.scatter[0] / self.n)
                if table.features is None
                else np.ldexp(1.0, -block.exponent)
            )
            for part, values in block.dense_parts():
                scale = np.where(size[part] > 0, size[part], 1.0)
                standardized = (values - found.mean[0][part]) / scale
                yield block.start + part.start, self.root * standardized


def _varying(table: Table) -> Booleans:
    """Whether each feature varies."""
    varying = ~np.concatenate([block.constant for block in table.blocks()])
    return varying if table.features is None else table.features.sums(varying) > 0


def _unit_scaled(target: NDArray[Any]) -> Floats:
    exponent = int(np.frexp(np.abs(target).max())[1])
    scaled = np.ldexp(target, -exponent)
    centered = scaled - scaled.mean()
    return np.asarray(centered / np.abs(centered).max())


class _Fit:
    """A ridge regression on standardised columns, with its leave-one-out errors.

    The errors can also be computed for one additional column. `shares` are the weights of the
    samples in means. They sum to 1.
    """

    def __init__(self, columns: Floats, outcome: Floats, ridge: float, shares: Floats) -> None:
        n = len(columns)
        self.columns, self.ridge = columns, ridge
        gram = columns.T @ columns + ridge * np.eye(columns.shape[1])
        self.weights = np.linalg.solve(gram, columns.T) if columns.shape[1] else np.empty((0, n))
        self.residuals = outcome - columns @ (self.weights @ outcome)
        self.outcome = outcome
        self.left = 1 - shares - np.einsum("ij,ji->i", columns, self.weights)

    def error(self) -> float:
        """Return the sum of the squared leave-one-out residuals."""
        return float(((self.residuals / self.left[:, None]) ** 2).sum())

    def errors_with(self, candidates: Floats) -> Floats:
        """Return the same sum with each one of the candidate columns added."""
        fresh = candidates - self.columns @ (self.weights @ candidates)
        scale = np.einsum("ij,ij->j", candidates, fresh) + self.ridge
        left = self.left[:, None] - fresh**2 / scale
        total = np.zeros(candidates.shape[1])
        for one in range(self.outcome.shape[1]):
            residuals = self.residuals[:, one, None] - fresh * (
                self.outcome[:, one] @ fresh / scale
            )
            total += ((residuals / left) ** 2).sum(axis=0)
        return total


class EstimatorCriterion:
    """The mean cross-validated score of an estimator. The score of each set is computed once."""

    def __init__(
        self, table: Table, outcome: NDArray[Any], estimator: Any, scorer: Any, folds: Any
    ) -> None:
        self.table, self.outcome, self.estimator, self.scorer, self.folds = (
            table,
            outcome,
            estimator,
            scorer,
            folds,
        )
        self.usable = _varying(table)
        self._known: dict[frozenset[int], float] = {}
        self.tell: Callable[[str], None] = lambda _: None

    def with_each(self, features: Sequence[int], candidates: Integers) -> Floats:
        values = np.empty(len(candidates))
        for place, candidate in enumerate(candidates):
            self.tell(f"{len(features)} features, trying {place + 1} of {len(candidates)} more")
            values[place] = self._value([*features, int(candidate)])
        return values

    def without_each(self, features: Sequence[int]) -> Floats:
        return np.array([self._value([f for f in features if f != one]) for one in features])

    def _value(self, features: Sequence[int]) -> float:
        key = frozenset(features)
        if key not in self._known:
            value = self._cross_validated(
                self.table.take_features(np.sort(np.asarray(features, dtype=np.int64))).matrix
            )
            if not np.isfinite(value):
                name = quoted(self.estimator, ESTIMATOR_SHOWN)
                raise InputError(
                    f"the score of {name} is {value}, which cannot be compared; use another "
                    "scoring."
                )
            self._known[key] = value
        return self._known[key]

    def _cross_validated(self, columns: Any) -> float:
        # `cross_val_score` is not used, because it temporarily changes the warning filters of the
        # whole process, including all other threads.
        rows = columns.tocsr() if sp.issparse(columns) else columns
        try:
            return float(
                np.mean([self._scored(rows, fitted, scored) for fitted, scored in self.folds])
            )
        except Exception as error:
            name = type(self.estimator).__name__
            raise InputError(
                f"estimator {name} cannot be fitted and scored on this y: {_cause(error)}."
            ) from error

    def _scored(self, rows: Any, fitted: Integers, scored: Integers) -> float:
        model = clone(self.estimator)
        model.fit(rows[fitted], self.outcome[fitted], **self._weights(fitted))
        return float(
            self.scorer(model, rows[scored], self.outcome[scored], **self._weights(scored))
        )

    def _weights(self, rows: Integers) -> dict[str, Floats]:
        weights = self.table.weights
        return {} if weights is None else {"sample_weight": weights[rows]}
