"""What a floating search judges a set of features by: a regression in closed form, or any
scikit-learn estimator.
"""

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

from graphsieve._base.array_types import Booleans, Floats, Integers
from graphsieve._base.errors import InputError, InputTypeError, warn
from graphsieve._base.messages import keyword, parameter
from graphsieve._base.parameters import (
    count,
    has_parts,
    must_be,
    nearest,
    one_line,
    positive,
    quoted,
    setting,
)
from graphsieve.supervision.parsing import readable_classes
from graphsieve.supervision.value import Supervision
from graphsieve.table.columns import Table
from graphsieve.table.sums import dense_weighting, moments

# Numbers of standardised columns that are kept rather than made anew in every step
KEPT_ELEMENTS = 2**24
# About the root of the rounding: with less, copies of a column make the equations singular
SMALLEST_RIDGE = 1e-8
# Characters of an estimator in a message: a pipeline should show its last step
ESTIMATOR_SHOWN = 200


class Criterion(Protocol):
    """What a set of features is judged by; large is good."""

    usable: Booleans
    tell: Callable[[str], None]  # where a slow one says how far it has come

    def with_each(self, features: Sequence[int], candidates: Integers) -> Floats:
        """The value of `features` with each of the candidates added."""

    def without_each(self, features: Sequence[int]) -> Floats:
        """The value of `features` with each of them taken out."""


def make_criterion(
    table: Table,
    known: Supervision,
    *,
    estimator: Any = None,
    scoring: Any = None,
    cv: Any = 5,
    ridge: float = 1.0,
) -> Criterion:
    """The criterion meant by the parameters of `graphsieve.search.floating_selection`."""
    rows, target, classes = known_part(known)
    if estimator is None:
        if scoring is not None or not _is_number(cv, 5):
            raise InputError(
                parameter("scoring"),
                " and ",
                parameter("cv"),
                " belong to an estimator, and none was given; leave them out or pass ",
                keyword("estimator"),
                ".",
            )
        return LinearCriterion(
            table.take(rows), target, classes=classes, ridge=_checked_ridge(ridge)
        )
    scorer = _scorer(estimator, scoring)
    if not _is_number(ridge, 1.0):
        raise InputError(
            parameter("ridge", ridge),
            f" belongs to the criterion without an estimator, got ridge={quoted(ridge)} "
            "with one; leave it out.",
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
                f"at least {SMALLEST_RIDGE:g}, since with less a copy of a column cannot be "
                "told from rounding",
                value,
            )
        )
    return ridge


def _scorer(estimator: Any, scoring: Any) -> Callable[[Any, Any, Any], float]:
    """What judges a fitted estimator; refused where it cannot be fitted at all, or where there
    is no such score.
    """
    refuse_no_estimator(estimator)
    if scoring is None and not hasattr(estimator, "score"):
        raise InputError(
            parameter("estimator", estimator),
            f" {type(estimator).__name__} has no score of its own; pass ",
            keyword("scoring"),
            ", or one that predicts.",
        )
    if scoring is not None:
        refuse_no_scoring(scoring)
    try:
        scorer = check_scoring(estimator, scoring)
    except (TypeError, ValueError) as error:
        raise InputError(
            parameter("scoring"), f" cannot be used as it is: {_cause(error)}."
        ) from error

    def number(fitted: Any, X: Any, y: Any) -> float:
        value = scorer(fitted, X, y)
        if np.ndim(value) or not isinstance(np.asarray(value).item(), Real):
            raise InputTypeError(parameter("scoring"), f" must give a number, got {quoted(value)}.")
        return float(value)

    return number


def refuse_no_estimator(estimator: Any) -> None:
    """Refuse what scikit-learn could not fit, such as the class in place of an instance."""
    if not all(
        hasattr(estimator, name) for name in ("fit", "get_params", "__sklearn_tags__")
    ) or isinstance(estimator, type):
        raise InputTypeError(
            must_be(
                "estimator", "a scikit-learn estimator such as KNeighborsClassifier()", estimator
            )
        )


def refuse_no_scoring(scoring: Any) -> None:
    """Refuse what is neither the name of a scorer nor a function."""
    if isinstance(scoring, str) and scoring not in get_scorer_names():
        hint = nearest(scoring, get_scorer_names())
        raise InputError(
            parameter("scoring", scoring),
            f" is {quoted(scoring)}, which is no scorer of scikit-learn{hint}.",
        )
    if not (isinstance(scoring, str) or callable(scoring)):
        raise InputTypeError(must_be("scoring", "the name of a scorer or a function", scoring))


def _cause(error: Exception) -> str:
    return one_line(f"{type(error).__name__}: {error}").rstrip(".")


def _folds(cv: Any, outcome: NDArray[Any], estimator: Any) -> list[tuple[Integers, Integers]]:
    """The rows to fit and to score on, made once: every set of features is judged on the same."""
    everyone = np.arange(len(outcome))
    if not isinstance(cv, str) and (hasattr(cv, "split") or has_parts(cv)):
        return _given_folds(cv, outcome)
    n_folds = count(2, len(outcome))("cv", 5 if cv is None else cv)
    if is_classifier(estimator) and type_of_target(outcome) in ("binary", "multiclass"):
        fold = _stratified(outcome, n_folds)
        return [(everyone[fold != one], everyone[fold == one]) for one in range(n_folds)]
    return list(KFold(n_folds).split(everyone))


def _given_folds(cv: Any, outcome: NDArray[Any]) -> list[tuple[Integers, Integers]]:
    everyone = np.arange(len(outcome))
    try:
        splits = check_cv(cv).split(everyone[:, None], outcome)
        folds = [
            (everyone[np.asarray(fitted)], everyone[np.asarray(scored)])
            for fitted, scored in splits
        ]
    except Exception as error:
        raise InputError(
            setting("cv", cv), f" does not split the {len(outcome)} known samples: {_cause(error)}."
        ) from error
    if not folds:
        raise InputError(
            setting("cv", cv),
            " holds no folds; pass a number of them, a splitter, or pairs of arrays of rows.",
        )
    return folds


def _stratified(outcome: NDArray[Any], n_folds: int) -> Integers:
    """The fold of each sample: that of `StratifiedKFold`, which would warn of small classes in
    every round of a hybrid search.
    """
    _, first, codes, sizes = np.unique(
        outcome, return_index=True, return_inverse=True, return_counts=True
    )
    if sizes.max() < n_folds:
        raise InputError(
            setting("cv", n_folds),
            f" is more than the {sizes.max()} known members of the largest class; use fewer "
            "folds, or label more.",
        )
    if sizes.min() < n_folds:
        warn(
            setting("cv", n_folds),
            f", but a class has only {sizes.min()} known members: there are folds without it.",
        )
    codes = np.argsort(np.argsort(first))[codes]  # in the order in which they occur
    dealt = np.arange(len(codes)) % n_folds  # to the samples in the order of their classes
    by_class = np.argsort(codes, kind="stable")
    fold = np.empty(len(codes), dtype=np.int64)
    fold[by_class] = dealt[np.lexsort((dealt, codes[by_class]))]
    return fold


def known_part(known: Supervision) -> tuple[Integers, NDArray[Any], bool]:
    """The samples of known label or target, what is known, and whether that is classes."""
    if known.labels is not None and known.n_known_classes >= 2:
        rows = np.flatnonzero(known.labels >= 0)
        return rows, known.labels[rows], True
    if known.targets is not None:
        rows = np.flatnonzero(~np.isnan(known.targets))
        if len(rows) >= 2 and known.targets[rows].min() < known.targets[rows].max():
            return rows, known.targets[rows], False
        raise InputError(
            "at least 2 different target values must be known, got "
            f"{len(np.unique(known.targets[rows]))}."
        )
    raise InputError(f"at least 2 classes need known members, got {known.n_known_classes}.")


class LinearCriterion:
    """Leave-one-out R² of a ridge regression on standardised features, of a target or of class
    indicators.

    With the smoother H of the set, adding a column z gives H + r rᵀ/s, r = (I − H) z, s = zᵀr +
    ridge, so that all columns can be tried at once; leaving one sample out divides its residual by
    1 − H_ii.
    """

    def __init__(self, table: Table, target: NDArray[Any], *, classes: bool, ridge: float) -> None:
        self.table, self.ridge, self.n = table, ridge, table.n_samples
        outcome = (
            (target[:, None] == np.unique(target)).astype(np.float64)
            if classes
            else _unit_scaled(target)[:, None]
        )
        self.outcome = outcome - outcome.mean(axis=0)
        self.unexplained = float((self.outcome**2).sum()) * (self.n / (self.n - 1)) ** 2
        self.everyone = dense_weighting(np.ones(self.n))
        self.usable = ~np.concatenate([block.constant for block in table.blocks()])
        whole = table.n_samples * table.n_features <= KEPT_ELEMENTS
        self.kept = list(self._standardized_parts(table)) if whole else None
        self.tell: Callable[[str], None] = lambda _: None

    def with_each(self, features: Sequence[int], candidates: Integers) -> Floats:
        chosen = self._columns(np.asarray(features, dtype=np.int64))
        fit = _Fit(chosen, self.outcome, self.ridge)
        values = np.full(self.table.n_features, -np.inf)
        for start, columns in (
            self._standardized_parts(self.table) if self.kept is None else self.kept
        ):
            values[start : start + columns.shape[1]] = (
                1 - fit.errors_with(columns) / self.unexplained
            )
        return values[candidates]

    def without_each(self, features: Sequence[int]) -> Floats:
        chosen = self._columns(np.asarray(features, dtype=np.int64))
        errors = [
            _Fit(np.delete(chosen, place, axis=1), self.outcome, self.ridge).error()
            for place in range(len(features))
        ]
        return 1 - np.array(errors) / self.unexplained

    def _columns(self, features: Integers) -> Floats:
        if not len(features):
            return np.empty((self.n, 0))
        parts = self._standardized_parts(self.table.take_columns(features))
        return np.concatenate([columns for _, columns in parts], axis=1)

    def _standardized_parts(self, table: Table) -> Iterator[tuple[int, Floats]]:
        """The columns of a table with mean 0 and variance 1, some at a time, and where each run
        of them starts.
        """
        for block in table.blocks():
            found = moments(block, self.everyone)
            deviation = np.sqrt(found.scatter[0] / self.n)
            for part, values in block.dense_parts():
                scale = np.where(deviation[part] > 0, deviation[part], 1.0)
                yield block.start + part.start, (values - found.mean[0][part]) / scale


def _unit_scaled(target: NDArray[Any]) -> Floats:
    exponent = int(np.frexp(np.abs(target).max())[1])
    scaled = np.ldexp(target, -exponent)
    centered = scaled - scaled.mean()
    return np.asarray(centered / np.abs(centered).max())


class _Fit:
    """A ridge regression on some standardised columns, and its leave-one-out errors with or
    without one more column.
    """

    def __init__(self, columns: Floats, outcome: Floats, ridge: float) -> None:
        n = len(columns)
        self.columns, self.ridge = columns, ridge
        gram = columns.T @ columns + ridge * np.eye(columns.shape[1])
        self.weights = np.linalg.solve(gram, columns.T) if columns.shape[1] else np.empty((0, n))
        self.residuals = outcome - columns @ (self.weights @ outcome)
        self.outcome = outcome
        self.left = 1 - 1 / n - np.einsum("ij,ji->i", columns, self.weights)

    def error(self) -> float:
        """Σ of squared leave-one-out residuals."""
        return float(((self.residuals / self.left[:, None]) ** 2).sum())

    def errors_with(self, candidates: Floats) -> Floats:
        """The same with each of the candidate columns added."""
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
    """The mean cross-validated score of an estimator; sets met before are not fitted again."""

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
        self.usable = ~np.concatenate([block.constant for block in table.blocks()])
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
                self.table.take_columns(np.sort(np.asarray(features, dtype=np.int64))).matrix
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
        # Not by `cross_val_score`: while it works, it changes what the whole process does about
        # warnings, in all threads.
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
        model = clone(self.estimator).fit(rows[fitted], self.outcome[fitted])
        return float(self.scorer(model, rows[scored], self.outcome[scored]))
