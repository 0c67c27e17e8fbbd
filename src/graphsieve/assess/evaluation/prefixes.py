"""Scores of a learner on the first features of a given order."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any, NoReturn

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing

from graphsieve._base.array_types import Booleans, Floats, Integers
from graphsieve._base.errors import InputError, InputTypeError
from graphsieve._base.messages import parameter
from graphsieve._base.parameters import is_collection, must_be, one_line, quoted
from graphsieve._base.threads import one_thread
from graphsieve._base.underflow import ignoring_underflow
from graphsieve.assess.evaluation.learners import check_learner, predictions
from graphsieve.supervision.parsing import all_known, one_dimensional, several_columns
from graphsieve.supervision.value import Supervision, TargetType
from graphsieve.table.any_table import may_be_stored, table_in_memory
from graphsieve.table.columns import Table
from graphsieve.table.containers import may_have_levels, refuse_other_index, stacked
from graphsieve.table.features import Features
from graphsieve.table.gaps import filled_alike
from graphsieve.table.scaling import standardized_target
from graphsieve.table.stored.recognition import stored_in

# Smallest magnitude of a column. The largest is 1 / SMALLEST. Squares stay within float64.
SMALLEST = 1e-150


@ignoring_underflow
def score_prefixes(
    order: Any,
    X_train: Any,
    y_train: Any,
    X_test: Any,
    y_test: Any,
    *,
    sizes: Sequence[int],
    learner: Any,
    target_type: TargetType = "auto",
    unlabeled: int | None = -1,
    categorical: Any = "auto",
    feature_groups: Any = None,
) -> Floats:
    """Score a learner on the first features of an order, for several numbers of features.

    Parameters
    ----------
    order : array of int
        Feature positions, best first. There must be at least as many as the largest size.
    X_train, X_test : array, sparse matrix or data frame
        Features of the training and test rows.
    y_train, y_test : array of shape (n_samples,) or (n_samples, n_targets)
        Labels or targets. Unlabelled rows are left out, as are rows with an unknown target.
    sizes : sequence of int
        Numbers of features to use.
    learner : str or estimator
        A name from `LEARNERS`, or a scikit-learn estimator, which is used without scaling.
    target_type, unlabeled
        As in `GraphSieve`. The type is inferred from `y_train` and `y_test` together.
    categorical, feature_groups
        As in `evaluate`. The levels of a category are those of all training and test rows.

    Returns
    -------
    array of shape (len(sizes),)
        Accuracy from 0 to 1 for classes, root mean squared error for targets. The error of several
        targets is the root mean square over them, in units of their standard deviations over all
        training and test rows.

    Examples
    --------
    >>> X, y = [[0.0, 9.0], [1.0, 0.0], [2.0, 5.0]], ["a", "a", "b"]
    >>> score_prefixes([0, 1], X, y, [[0.9, 5.0], [2.2, 5.0]], ["a", "b"], sizes=[1, 2], learner="1nn")
    array([1. , 0.5])
    """
    reading = {"categorical": categorical, "feature_groups": feature_groups}
    train, test, features = _read_both(X_train, y_train, X_test, y_test, reading)
    n_features = train.shape[1] if features is None else len(features)
    values_train, values_test = _labels_or_targets(y_train), _labels_or_targets(y_test)
    for name, X, values in (("X_train", train, values_train), ("X_test", test, values_test)):
        if X.shape[0] != len(values):
            raise InputError(
                f"{name} has {X.shape[0]} rows, but its y has {len(values)} values; they must be "
                "the same samples."
            )
    known = Supervision.from_y(
        _joined(values_train, values_test), target_type=target_type, unlabeled=unlabeled
    )
    classes = known.targets is None
    y = codes_or_targets(known)
    check_learner(learner, classes=classes)
    numbers = checked_sizes(sizes, n_features)
    positions = checked_order(order, n_features, max(numbers))
    part_train, part_test = (
        known_part(train, y[: len(values_train)]),
        known_part(test, y[len(values_train) :]),
    )
    for name, part in (("y_train", part_train), ("y_test", part_test)):
        if not len(part[1]):
            raise InputError(
                f"{name} contains no known label or target, but learning and testing need at "
                "least one; pass some."
            )
    with one_thread():
        return np.array(
            [
                prefix_score(
                    positions[:s], part_train, part_test, learner, classes=classes, of=features
                )
                for s in numbers
            ]
        )


def prefix_score(
    features: Integers,
    train: tuple[Any, NDArray[Any]],
    test: tuple[Any, NDArray[Any]],
    learner: Any,
    *,
    classes: bool,
    of: Features | None = None,
) -> float:
    """Accuracy or root mean squared error with these features. All rows must be labelled.

    `of` are the columns of all features, or None if every column is a feature.
    """
    columns = features if of is None else of.columns_of(features)
    # Learners need complete columns. The medians are those of the training rows.
    X_train, X_test = filled_alike(
        chosen_columns(train[0], columns), chosen_columns(test[0], columns)
    )
    taken = None if of is None else of.take(features)
    predicted = predictions(learner, X_train, train[1], X_test, classes=classes, features=taken)
    if classes:
        return float(np.mean(predicted == test[1]))
    return root_mean_square(predicted.reshape(test[1].shape) - test[1])


def root_mean_square(errors: Floats) -> float:
    return float(np.sqrt(np.mean(errors**2)))


def chosen_columns(X: Any, features: Integers) -> Any:
    """Return some columns as a float64 array in row-major order, or as a CSR array."""
    if sp.issparse(X):
        return sp.csr_array(X[:, features], dtype=np.float64)
    return np.ascontiguousarray(X[:, features], dtype=np.float64)


def read_moderate(X: Any, y: Any = None, **reading: Any) -> Table:
    """Return the checked table, which is read with these options of `table_in_memory`.

    Raises `InputError` for numbers with squares that overflow or underflow, because learners
    compute squares.
    """
    table = table_in_memory(X, y, missing="use", **reading)
    matrix = table.matrix
    size = np.abs(matrix).max(axis=0)
    largest = np.asarray(size.toarray().ravel() if sp.issparse(size) else size, dtype=np.float64)
    odd = np.flatnonzero((largest > 1 / SMALLEST) | ((largest < SMALLEST) & (largest > 0)))
    if len(odd):
        raise InputError(
            parameter("X"),
            " has ",
            table.label(int(odd[0])),
            f" of magnitude {largest[odd[0]]:.3g}, which learners cannot square ({len(odd)} "
            "such columns); change its unit.",
        )
    return table


def known_part(X: Any, y: NDArray[Any]) -> tuple[Any, NDArray[Any]]:
    """Return the labelled rows of X, and their class codes or targets."""
    rows = np.flatnonzero(known_rows(y))
    return (X, y) if len(rows) == len(y) else (X[rows], y[rows])


def known_rows(y: NDArray[Any]) -> Booleans:
    """Mask of the labelled rows: class codes other than −1, or targets that are all known."""
    return all_known(y) if y.dtype.kind == "f" else np.asarray(y >= 0)


def checked_sizes(sizes: Any, n_features: int, *, distinct: bool = False) -> list[int]:
    """Return the numbers of features as a list, each from 1 to `n_features`.

    With `distinct`, duplicates are refused and the list is sorted.
    """
    if isinstance(sizes, Integral) and not isinstance(sizes, bool):
        sizes = [sizes]
    if isinstance(sizes, str) or not is_collection(sizes):
        raise InputTypeError(
            must_be("sizes", "a list of numbers of features, such as [5, 10, 20]", sizes)
        )
    numbers = list(sizes)
    if not numbers:
        raise InputError(
            parameter("sizes", sizes), " is empty; pass at least one number of features."
        )
    for size in numbers:
        if (
            not isinstance(size, Integral)
            or isinstance(size, bool)
            or not 1 <= int(size) <= n_features
        ):
            raise InputError(
                parameter("sizes", size),
                f" contains {quoted(size)}, but there are {n_features} features; choose 1 to "
                f"{n_features}.",
            )
    if distinct and len(set(numbers)) < len(numbers):
        raise InputError(
            parameter("sizes", numbers),
            f" contains a number of features twice: {quoted(numbers)}; list each once.",
        )
    return sorted(int(size) for size in numbers) if distinct else [int(size) for size in numbers]


def checked_order(order: Any, n_features: int, length: int, what: str = "order") -> Integers:
    """Return distinct column positions, at least `length` of them. Messages call them `what`."""
    try:
        positions = np.asarray(order)
    except ValueError as error:
        raise InputTypeError(
            f"{what} could not be read as an array ({one_line(str(error))})."
        ) from error
    if positions.ndim != 1 or (positions.dtype.kind not in "iu" and positions.size):
        raise InputTypeError(
            f"{what} must be a 1-D array of column numbers, best first, got {positions.dtype} of "
            f"shape {positions.shape}."
        )
    if len(positions) < length:
        raise InputError(
            f"{what} contains {len(positions)} features, but ",
            parameter("sizes"),
            f" requires {length}; return more features or choose smaller sizes.",
        )
    outside = positions[(positions < 0) | (positions >= n_features)]
    if len(outside):
        raise InputError(
            f"{what} contains column {outside[0]}, but columns are numbered 0 to {n_features - 1}."
        )
    found, times = np.unique(positions, return_counts=True)
    if (times > 1).any():
        raise InputError(
            f"{what} contains column {found[times > 1][0]} more than once; list every column once."
        )
    return positions.astype(np.int64)


def _read_both(
    X_train: Any, y_train: Any, X_test: Any, y_test: Any, reading: dict[str, Any]
) -> tuple[Any, Any, Features | None]:
    """Return the training rows, the test rows, and the columns of each feature.

    If there may be categories, all rows are read together. A level may occur in one part only, and
    text that looks like numbers in one part may be a category in the other.
    """
    if not any(may_have_levels(X, reading["categorical"]) for X in (X_train, X_test)):
        train = read_moderate(X_train, y_train, **reading)
        if train.features is not None and train.features.categorical.any():
            _refuse_stored(X_train)
        test = _read_test(X_test, y_test, train.n_columns, reading)
        return train.with_nan, test, train.features
    for X, y in ((X_train, y_train), (X_test, y_test)):
        refuse_other_index(X, y)
        if not isinstance(X, np.ndarray) and may_be_stored(X) and stored_in(X) is not None:
            _refuse_stored(X)
    both = read_moderate(stacked(X_train, X_test), **reading)
    n_train = np.shape(X_train)[0]
    values = both.with_nan
    return values[:n_train], values[n_train:], both.features


def _refuse_stored(X: Any) -> NoReturn:
    raise InputTypeError(
        "the training and test rows must be data frames or arrays if there are categories, got a "
        f"{type(X).__name__}; read both into memory."
    )


def _read_test(X: Any, y: Any, n_columns: int, reading: dict[str, Any]) -> Any:
    """Read the test rows. A single row is allowed, which table readers refuse."""
    if getattr(X, "shape", None) == (1, n_columns) or (isinstance(X, list) and len(X) == 1):
        test = read_moderate(_safe_indexing(X, [0, 0]), **reading).with_nan[:1]
    else:
        test = read_moderate(X, y, **reading).with_nan
    if test.shape[1] != n_columns:
        raise InputError(
            f"X_test has {test.shape[1]} columns, but X_train has {n_columns}; they must be the "
            "same features."
        )
    return test


def codes_or_targets(known: Supervision) -> NDArray[Any]:
    """Return class codes (−1 where unlabelled) or targets (NaN where unlabelled).

    Several targets are divided by their standard deviations. Errors are averaged over the targets,
    so they need a common unit.
    """
    if known.targets is None:
        return known.codes
    if known.n_targets == 1:
        return known.targets
    return np.asarray(standardized_target(known.targets) * np.sqrt(known.n_targets))


def _labels_or_targets(y: Any) -> NDArray[Any]:
    several = several_columns(y)
    return one_dimensional(y) if several is None else several


def _joined(one: NDArray[Any], other: NDArray[Any]) -> NDArray[Any]:
    """Concatenate two arrays without converting numbers to text."""
    n_one, n_other = (1 if values.ndim == 1 else values.shape[1] for values in (one, other))
    if n_one != n_other:
        raise InputError(
            f"y_train has {n_one} columns, but y_test has {n_other}; pass the same targets."
        )
    if one.dtype.kind in "USO" or other.dtype.kind in "USO":
        return np.concatenate([one.astype(object), other.astype(object)])
    return np.concatenate([one, other])
