"""Other libraries, each called as in its documentation.

Supervised methods get only the labelled rows. An adapter is a function of the labelled rows, their
labels or targets, and the number of columns. It returns column positions, best first. If it returns
fewer columns than requested, random columns complete the selection (see running.py).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, wraps
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import StandardScaler

from graphsieve import Supervision
from quality.references import dense, labelled

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Adapter = Callable[[Floats, NDArray[Any], int], Any]

# Values of C, in multiples of the smallest C at which a feature enters the model.
L1_PENALTIES = np.array([1.2, 2.0, 4.0, 8.0, 16.0, 64.0, 256.0])
BORUTA_ROUNDS = 50


def of_known_rows(adapter: Adapter) -> Callable[[Any, Supervision, int], Any]:
    @wraps(adapter)
    def order(X: Any, known: Supervision, n: int) -> Any:
        rows, y = labelled(known)
        return adapter(dense(X[rows]), y, n)

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

    # SelectKBest cannot pass a seed, and without one the result differs from call to call. Three
    # neighbours are the default of scikit-learn.
    estimate = mutual_info_classif if _classes(y) else mutual_info_regression
    return _descending(estimate(X, y, n_neighbors=min(3, len(y) - 1), random_state=0))


def mrmr(X: Floats, y: NDArray[Any], n: int) -> Any:
    """Select by mRMR with F statistics, correlations and their mean, the defaults of the package.

    They are computed for all columns in one step, which gives the same order ten times faster.
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

    # Classes become indicator columns, as in the documentation of the package.
    wanted = np.eye(y.max() + 1)[y] if _classes(y) else y

    def select(free: Integers, count: int) -> Integers:
        chosen: Integers = free[FastCan(count, verbose=0).fit(X[:, free], wanted).indices_]
        return chosen

    return restarted(select, X.shape[1], n)


def restarted(select: Callable[[Integers, int], Integers], n_features: int, n: int) -> Integers:
    """Concatenate selections, each from the remaining columns, until there are n columns.

    FastCan stops with an error when the labelled rows are fully explained. Without restarts it
    would have no result where labels are few.
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
    """Return the longest selection of at most n columns without a RuntimeError, by bisection."""
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
    """Return the order in which standardised columns enter an L1-penalised model.

    The model is the lasso path for targets, and logistic regressions of decreasing penalty for
    classes.
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
    # Each one-versus-rest model has a smallest C. The minimum over the classes is the C at which
    # the first feature enters.
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


def ridge_rfe(X: Floats, y: NDArray[Any], n: int) -> Any:
    """Eliminate the standardised columns with the smallest coefficients in a ridge model.

    A fifth of the columns is eliminated in each round, and single columns once n are left. `RFE` of
    scikit-learn has one step for all rounds, which would leave many columns with the same rank.
    """
    from sklearn.linear_model import Ridge, RidgeClassifier

    Z = StandardScaler().fit_transform(X)
    model = RidgeClassifier() if _classes(y) else Ridge()
    left, eliminated = np.arange(Z.shape[1]), []
    while len(left) > 1:
        weight = (np.atleast_2d(model.fit(Z[:, left], y).coef_) ** 2).sum(axis=0)
        count = min(max(1, len(left) // 5), max(1, len(left) - n))
        worst = np.argsort(weight, kind="stable")[:count]
        eliminated.append(left[worst])
        left = np.delete(left, worst)
    return np.concatenate([*eliminated, left])[::-1]


def boruta(X: Floats, y: NDArray[Any], n: int) -> Any:
    """Order by the ranks of Boruta, and within a rank by the mean importance over its rounds.

    All confirmed features have the same rank.
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
    "select_f": ("sklearn", LABELS_OR_TARGETS, of_known_rows(select_f)),
    "select_mi": ("sklearn", LABELS_OR_TARGETS, of_known_rows(select_mi)),
    "l1": ("sklearn", LABELS_OR_TARGETS, of_known_rows(l1)),
    "ridge_rfe": ("sklearn", LABELS_OR_TARGETS, of_known_rows(ridge_rfe)),
    "mrmr": ("mrmr", LABELS_OR_TARGETS, of_known_rows(mrmr)),
    "fastcan": ("fastcan", LABELS_OR_TARGETS, of_known_rows(fastcan)),
    "relieff_fast_select": ("fast_select", LABELS, of_known_rows(relieff_fast_select)),
    "boruta": ("boruta", LABELS_OR_TARGETS, of_known_rows(boruta)),
}
"""For each method, the required package, the kinds of supervision that it uses, and the function."""
