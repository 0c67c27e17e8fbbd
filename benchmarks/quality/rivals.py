"""Other libraries, each called as its documentation does. Supervised ones see the rows whose label
or target is known.

An adapter is a function of the known rows, their labels or targets, and the number of columns
wanted; it gives positions, best first. One that names fewer is completed by chance (see
running.py).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, wraps
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import StandardScaler

from graphsieve import Supervision
from quality.references import dense

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Adapter = Callable[[Floats, NDArray[Any], int], Any]

# C, in multiples of the one at which the first feature enters
L1_PENALTIES = np.array([1.2, 2.0, 4.0, 8.0, 16.0, 64.0, 256.0])
BORUTA_ROUNDS = 50


def _of_known_rows(adapter: Adapter) -> Callable[[Any, Supervision, int], Any]:
    @wraps(adapter)
    def order(X: Any, known: Supervision, n: int) -> Any:
        y: NDArray[Any] = known.codes if known.targets is None else known.targets
        rows = np.flatnonzero(y >= 0) if known.targets is None else np.flatnonzero(~np.isnan(y))
        return adapter(dense(X[rows]), y[rows], n)

    return order


def _classes(y: NDArray[Any]) -> bool:
    return y.dtype.kind == "i"


def _descending(values: Any) -> NDArray[np.int64]:
    return np.argsort(
        -np.nan_to_num(np.asarray(values, dtype=np.float64), nan=-np.inf, posinf=np.inf),
        kind="stable",
    )


def select_f(X: Floats, y: NDArray[Any], n: int) -> Any:
    from sklearn.feature_selection import SelectKBest, f_classif, f_regression

    return _descending(
        SelectKBest(f_classif if _classes(y) else f_regression, k=n).fit(X, y).scores_
    )


def select_mi(X: Floats, y: NDArray[Any], n: int) -> Any:
    from sklearn.feature_selection import mutual_info_classif, mutual_info_regression

    # SelectKBest cannot hand on a seed, and without one every call has another answer. Three
    # neighbours are its default.
    estimate = mutual_info_classif if _classes(y) else mutual_info_regression
    return _descending(estimate(X, y, n_neighbors=min(3, len(y) - 1), random_state=0))


def mrmr(X: Floats, y: NDArray[Any], n: int) -> Any:
    """mRMR with F statistics, correlations and their mean: the package's defaults, but computed for
    all columns at once. That gives the same order ten times sooner.
    """
    import pandas as pd
    from mrmr import mrmr_classif, mrmr_regression
    from sklearn.feature_selection import f_classif, f_regression

    unit = X - X.mean(axis=0)
    length = np.sqrt((unit**2).sum(axis=0))
    unit = unit / np.where(length > 0, length, np.nan)

    def relevance(X: Any, y: Any) -> Any:
        statistic = (f_classif if mrmr_for is mrmr_classif else f_regression)(
            X.to_numpy(), y.to_numpy()
        )[0]
        return pd.Series(np.nan_to_num(statistic, nan=0.0, posinf=1e300), index=X.columns)

    def redundancy(X: Any, target_column: Any, features: Any) -> Any:
        return pd.Series(unit[:, list(features)].T @ unit[:, target_column], index=list(features))

    def mean(row: Any) -> Any:
        return row.to_numpy().mean()

    mrmr_for = mrmr_classif if _classes(y) else mrmr_regression
    options = {
        "relevance": relevance,
        "redundancy": redundancy,
        "denominator": mean,
        "n_jobs": 1,
        "show_progress": False,
    }
    return np.array(mrmr_for(pd.DataFrame(X), pd.Series(y), K=n, **options), dtype=np.int64)


def fastcan(X: Floats, y: NDArray[Any], n: int) -> Any:
    from fastcan import FastCan

    # Several classes: one column each, as its documentation does
    wanted = np.eye(y.max() + 1)[y] if _classes(y) else y

    def select(free: Integers, count: int) -> Integers:
        chosen: Integers = free[FastCan(count, verbose=0).fit(X[:, free], wanted).indices_]
        return chosen

    return restarted(select, X.shape[1], n)


def restarted(select: Callable[[Integers, int], Integers], n_features: int, n: int) -> Integers:
    """Selections one after the other, each of the columns that are left: FastCan refuses to go on
    where the known rows leave nothing to explain, and would otherwise have no result wherever
    labels are few.
    """
    order = np.empty(0, dtype=np.int64)
    while len(order) < n:
        free = np.setdiff1d(np.arange(n_features), order)
        found = _as_many_as_possible(partial(select, free), n - len(order))
        if not len(found):
            break
        order = np.concatenate([order, found])
    return order


def _as_many_as_possible(select: Callable[[int], Integers], n: int) -> Integers:
    """The longest selection of at most n columns that does not end in a RuntimeError, by
    bisection.
    """
    best, least, most = np.empty(0, dtype=np.int64), 0, n
    count = n
    while least < most:
        try:
            best, least = select(count), count
        except RuntimeError:
            most = count - 1
        count = (least + most + 1) // 2
    return best


def relieff_fast_select(X: Floats, y: NDArray[Any], n: int) -> Any:
    from fast_select import ReliefF

    neighbors = max(1, min(10, int(np.bincount(y)[np.unique(y)].min()) - 1))
    return _descending(
        ReliefF(n, n_neighbors=neighbors, backend="cpu", n_jobs=1).fit(X, y).feature_importances_
    )


def l1(X: Floats, y: NDArray[Any], n: int) -> Any:
    """The order in which columns of deviation 1 enter: the lasso's path, or logistic regressions
    of ever smaller penalty.
    """
    Z = StandardScaler().fit_transform(X)
    return _l1_classes(Z, y, n) if _classes(y) else _l1_targets(Z, y)


def _l1_targets(Z: Floats, y: Floats) -> Any:
    from sklearn.linear_model import lars_path

    path = lars_path(Z, y - y.mean(), method="lasso")[2]
    entered = [int(np.flatnonzero(row)[0]) for row in path if row.any()]
    ever = np.flatnonzero(path.any(axis=1))
    return ever[np.argsort(entered, kind="stable")]


def _l1_classes(Z: Floats, y: NDArray[Any], n: int) -> Any:
    from sklearn.linear_model import LogisticRegression
    from sklearn.multiclass import OneVsRestClassifier
    from sklearn.svm import l1_min_c

    order: list[int] = []
    # Each class against the others has a least C of its own; the smallest is where the first
    # feature of all enters.
    least = min(l1_min_c(Z, y == code, loss="log") for code in np.unique(y))
    for penalty in least * L1_PENALTIES:
        model = LogisticRegression(
            C=penalty, l1_ratio=1, solver="liblinear", random_state=0, tol=1e-3
        )
        fitted = OneVsRestClassifier(model).fit(Z, y)
        size = np.abs(np.concatenate([one.coef_ for one in fitted.estimators_])).sum(axis=0)
        size[order] = 0
        order.extend(int(j) for j in _descending(size)[: np.count_nonzero(size)])
        if len(order) >= n:
            break
    return np.array(order, dtype=np.int64)


def boruta(X: Floats, y: NDArray[Any], n: int) -> Any:
    """Its own ranks; among equal ones (all that are confirmed are equal) the mean importance
    over its rounds.
    """
    from boruta import BorutaPy
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

    forest = (RandomForestClassifier if _classes(y) else RandomForestRegressor)(
        max_depth=5, n_jobs=1
    )
    fitted = BorutaPy(forest, n_estimators="auto", max_iter=BORUTA_ROUNDS, random_state=0).fit(X, y)
    history = np.asarray(fitted.importance_history_, dtype=np.float64)
    importance = np.nansum(history, axis=0) / np.maximum(np.isfinite(history).sum(axis=0), 1)
    return np.lexsort((-importance, fitted.ranking_))


LABELS_OR_TARGETS, LABELS = frozenset(["labels", "targets"]), frozenset(["labels"])
RIVALS: dict[str, tuple[str, frozenset[str], Callable[[Any, Supervision, int], Any]]] = {
    "select_f": ("sklearn", LABELS_OR_TARGETS, _of_known_rows(select_f)),
    "select_mi": ("sklearn", LABELS_OR_TARGETS, _of_known_rows(select_mi)),
    "l1": ("sklearn", LABELS_OR_TARGETS, _of_known_rows(l1)),
    "mrmr": ("mrmr", LABELS_OR_TARGETS, _of_known_rows(mrmr)),
    "fastcan": ("fastcan", LABELS_OR_TARGETS, _of_known_rows(fastcan)),
    "relieff_fast_select": ("fast_select", LABELS, _of_known_rows(relieff_fast_select)),
    "boruta": ("boruta", LABELS_OR_TARGETS, _of_known_rows(boruta)),
}
"""The package that must be installed, what it uses, and the function."""
