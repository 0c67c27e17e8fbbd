"""Fitting and scoring a model on the labelled rows only, after a selection that used all rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone, is_classifier
from sklearn.metrics import get_scorer
from sklearn.utils import _safe_indexing
from sklearn.utils.metadata_routing import (
    MetadataRouter,
    MethodMapping,
    get_routing_for_object,
    process_routing,
)
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _num_samples, check_is_fitted

from graphsieve._base.compatibility import get_tags
from graphsieve._base.errors import InputError, InputTypeError
from graphsieve._base.messages import parameter
from graphsieve.search.criteria import refuse_no_estimator, refuse_no_scoring
from graphsieve.supervision.parsing import labeled_samples, read_labels, read_targets
from graphsieve.table.containers import refuse_other_index

ROUTED = ("fit", "predict", "predict_proba", "predict_log_proba", "decision_function", "score")


def labeled_rows(
    X: Any, y: Any, *, classes: bool, unlabeled: int | None, fitted: Any = None
) -> NDArray[np.intp]:
    """Return the rows with a known label or target.

    A value is unknown if it is None or NaN or, for classes, the number `unlabeled`. If there are
    several targets, all must be known. The classes of a `fitted` classifier show whether
    `unlabeled` is a class. The few labels of a fold cannot show it, because all may be of one
    class.
    """
    refuse_other_index(X, y)
    shape: tuple[int, ...] = getattr(y, "shape", ())
    several = len(shape) == 2 and shape[1] > 1 and not sp.issparse(y)
    # A masked array stays a masked array, because masked values are unknown.
    columns = list(y.T if isinstance(y, np.ndarray) else np.asarray(y).T) if several else [y]
    if not classes:
        parts = [~np.isnan(read_targets(column)) for column in columns]
    elif _is_not_a_class(unlabeled, fitted):
        parts = [labeled_samples(column, unlabeled) for column in columns]
    else:
        parts = [read_labels(column, unlabeled)[0] >= 0 for column in columns]
    known = np.logical_and.reduce(parts)
    n_samples = _n_samples(X)
    if n_samples != len(known):
        raise InputError(
            parameter("X"),
            f" has {n_samples} samples, but {len(known)} are described by y; they must be "
            "the same samples.",
        )
    return np.flatnonzero(known)


def _is_not_a_class(unlabeled: int | None, fitted: Any) -> bool:
    """Whether `fitted` is a fitted classifier and the number `unlabeled` is not one of its classes."""
    classes = getattr(fitted, "classes_", None)
    if classes is None:
        return False
    several = classes if isinstance(classes, list) else [classes]  # one array per target
    return all(unlabeled not in np.asarray(names).tolist() for names in several)


def _n_samples(X: Any) -> int:
    try:
        return int(_num_samples(X))
    except TypeError as error:
        raise InputTypeError(
            parameter("X"),
            f" is a {type(X).__name__}; expected a 2-D array, a sparse matrix or a data frame.",
        ) from error


def _known_values(y: Any, rows: NDArray[np.intp]) -> Any:
    """Return the known part of y.

    An array of objects is converted to an array of strings or numbers, which estimators accept.
    """
    values = y if len(rows) == _num_samples(y) else _safe_indexing(y, rows)
    if np.asarray(values).dtype.kind == "O":
        return np.array(np.asarray(values).tolist())
    return values


def _if_estimator_has(name: str) -> Callable[[Callable[..., Any]], Any]:
    """Offer a method only if the wrapped estimator has it."""

    def check(self: LabeledOnly) -> bool:
        getattr(self.estimator_ if hasattr(self, "estimator_") else self.estimator, name)
        return True

    return cast("Callable[[Callable[..., Any]], Any]", available_if(check))


class LabeledOnly(MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """Fit an estimator on the labelled rows only.

    Use it as the last step of a pipeline. The selection before it can then use all rows, and the
    estimator is fitted and scored on the labelled ones.

    Parameters
    ----------
    estimator : estimator
        A classifier or a regressor.
    unlabeled : int or None
        Number that marks an unknown class label in `y`, besides None and NaN. None if every number
        is a class. It is ignored for a regressor.

    Attributes
    ----------
    estimator_ : estimator
        The fitted estimator.
    n_labeled_ : int
        Number of rows it was fitted on.
    classes_ : array
        Classes of the fitted estimator, if it is a classifier.
    n_features_in_, feature_names_in_
        As in scikit-learn, if the fitted estimator has them.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LinearRegression
    >>> model = LabeledOnly(LinearRegression()).fit([[0.0], [1.0], [2.0]], [0.0, np.nan, 4.0])
    >>> model.predict([[1.0]]).round(6)
    array([2.])
    """

    def __init__(self, estimator: Any, *, unlabeled: int | None = -1) -> None:
        self.estimator = estimator
        self.unlabeled = unlabeled

    def fit(self, X: Any, y: Any = None, **fit_params: Any) -> LabeledOnly:
        """Fit the estimator on the rows with a known label or target.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            The features.
        y : array of shape (n_samples,) or (n_samples, n_targets)
            Class labels (`unlabeled`, None or NaN where unknown) or continuous targets (NaN where
            unknown).
        **fit_params
            Parameters of the estimator's `fit`. Those with one value per row are restricted to the
            labelled rows.
        """
        if y is None:
            raise InputError("LabeledOnly requires y to be passed, but the target y is None.")
        refuse_no_estimator(self.estimator)
        rows = labeled_rows(X, y, classes=is_classifier(self.estimator), unlabeled=self.unlabeled)
        n_samples = _num_samples(X)
        if not len(rows):
            raise InputError(
                f"none of the {n_samples} rows has a known label; there is nothing to fit on."
            )
        params = self._routed("fit", fit_params)
        estimator = clone(self.estimator)
        if len(rows) == n_samples:
            estimator.fit(X, _known_values(y, rows), **params)
        else:
            estimator.fit(
                _safe_indexing(X, rows), _known_values(y, rows), **_sliced(params, rows, n_samples)
            )
        # Attributes are set last, so that a failed fit changes nothing.
        self.estimator_, self.n_labeled_ = estimator, len(rows)
        return self

    def _routed(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Return the parameters for a method of the estimator."""
        if not params:
            return {}
        if not get_config()["enable_metadata_routing"]:
            return params
        return dict(process_routing(self, method, **params).estimator[method])

    @_if_estimator_has("predict")
    def predict(self, X: Any, **predict_params: Any) -> Any:
        """Predict with the fitted estimator."""
        return self._fitted().predict(X, **self._routed("predict", predict_params))

    @_if_estimator_has("predict_proba")
    def predict_proba(self, X: Any, **predict_params: Any) -> Any:
        """Return the class probabilities of the fitted estimator."""
        return self._fitted().predict_proba(X, **self._routed("predict_proba", predict_params))

    @_if_estimator_has("predict_log_proba")
    def predict_log_proba(self, X: Any, **predict_params: Any) -> Any:
        """Return the logarithms of the class probabilities of the fitted estimator."""
        params = self._routed("predict_log_proba", predict_params)
        return self._fitted().predict_log_proba(X, **params)

    @_if_estimator_has("decision_function")
    def decision_function(self, X: Any, **decision_params: Any) -> Any:
        """Return the decision function of the fitted estimator."""
        params = self._routed("decision_function", decision_params)
        return self._fitted().decision_function(X, **params)

    @_if_estimator_has("score")
    def score(self, X: Any, y: Any, **score_params: Any) -> float:
        """Return the fitted estimator's score on the labelled rows of X.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            The features.
        y : array of shape (n_samples,) or (n_samples, n_targets)
            Labels or targets, as in `fit`.
        **score_params
            Parameters of the estimator's `score`, such as `sample_weight`. Those with one value per
            row are restricted to the labelled rows.
        """
        estimator = self._fitted()
        rows = _rows_to_score(estimator, X, y, self.unlabeled)
        params = _sliced(self._routed("score", score_params), rows, _num_samples(X))
        return float(estimator.score(_safe_indexing(X, rows), _known_values(y, rows), **params))

    def _fitted(self) -> Any:
        check_is_fitted(self)
        return self.estimator_

    @property
    def classes_(self) -> NDArray[Any]:
        """The classes of the fitted classifier."""
        return np.asarray(self._fitted_attribute("classes_"))

    @property
    def n_features_in_(self) -> int:
        """The number of features seen in fit."""
        return int(self._fitted_attribute("n_features_in_"))

    @property
    def feature_names_in_(self) -> NDArray[Any]:
        """The names of the features seen in fit."""
        return np.asarray(self._fitted_attribute("feature_names_in_"))

    def _fitted_attribute(self, name: str) -> Any:
        if not hasattr(self, "estimator_"):
            raise AttributeError(f"{name} is only available after fit.")
        return getattr(self.estimator_, name)

    def get_metadata_routing(self) -> MetadataRouter:
        """Return the routing of metadata to the same methods of the wrapped estimator."""
        mapping = MethodMapping()
        for method in ROUTED:
            mapping.add(caller=method, callee=method)
        return MetadataRouter(owner=self).add(
            estimator=get_routing_for_object(self.estimator), method_mapping=mapping
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.estimator_type = inner.estimator_type
        tags.classifier_tags, tags.regressor_tags = inner.classifier_tags, inner.regressor_tags
        tags.target_tags, tags.input_tags = inner.target_tags, inner.input_tags
        tags.target_tags.required = True
        return tags


def _sliced(params: dict[str, Any], rows: NDArray[np.intp], n_samples: int) -> dict[str, Any]:
    """Return the parameters, restricted to some rows if they have one value per row."""

    def fits(value: Any) -> bool:
        return hasattr(value, "__len__") and not isinstance(value, str) and len(value) == n_samples

    return {
        name: _safe_indexing(value, rows) if fits(value) else value
        for name, value in params.items()
    }


def _rows_to_score(estimator: Any, X: Any, y: Any, unlabeled: int | None) -> NDArray[np.intp]:
    """Return the labelled rows for a fitted estimator, or raise an error if there are none."""
    rows = labeled_rows(
        X, y, classes=is_classifier(estimator), unlabeled=unlabeled, fitted=estimator
    )
    if not len(rows):
        raise InputError(
            f"none of the {_num_samples(X)} rows to score has a known label; use folds that all "
            "contain labelled rows."
        )
    return rows


class labeled_scorer:
    """A scorer that leaves out unlabelled rows, for cross-validation with partly unknown labels.

    Parameters
    ----------
    scoring : str or callable
        A scikit-learn scorer or its name, such as ``"r2"`` or ``"accuracy"``.
    unlabeled : int or None
        Number that marks an unknown class label in `y`, besides None and NaN. None if every number
        is a class. It is ignored for a regressor.

    Examples
    --------
    >>> from sklearn.dummy import DummyRegressor
    >>> model = DummyRegressor(strategy="constant", constant=1.0).fit([[0.0]], [1.0])
    >>> labeled_scorer("neg_mean_absolute_error")(model, [[0.0], [0.0]], [3.0, float("nan")])
    -2.0
    """

    def __init__(self, scoring: Any, *, unlabeled: int | None = -1) -> None:
        self.scoring = scoring
        self.unlabeled = unlabeled
        refuse_no_scoring(scoring)
        self._scorer = get_scorer(scoring)

    def __call__(self, estimator: Any, X: Any, y: Any, **score_params: Any) -> float:
        rows = _rows_to_score(estimator, X, y, self.unlabeled)
        params = _sliced(score_params, rows, _num_samples(X))
        return float(
            self._scorer(estimator, _safe_indexing(X, rows), _known_values(y, rows), **params)
        )

    def get_metadata_routing(self) -> Any:
        """Return the metadata that the scorer requests, such as weights of the samples."""
        return get_routing_for_object(self._scorer)

    def __repr__(self) -> str:
        mark = "" if self.unlabeled == -1 else f", unlabeled={self.unlabeled!r}"
        return f"labeled_scorer({self.scoring!r}{mark})"
