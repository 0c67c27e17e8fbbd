"""Learners that assess a selection: nearest neighbours, linear models, naive Bayes and support
vector machines.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn import config_context
from sklearn.base import BaseEstimator, TransformerMixin, clone, is_classifier, is_regressor
from sklearn.compose import TransformedTargetRegressor
from sklearn.linear_model import LogisticRegression, Ridge, RidgeCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

from graphsieve._base.errors import InputError, InputTypeError
from graphsieve._base.messages import keyword, parameter
from graphsieve._base.parameters import must_be, nearest, quoted
from graphsieve.table.columns import MemoryTable
from graphsieve.table.features import Features
from graphsieve.table.scaling import divisors

DENSE_ELEMENTS = 2**22  # largest sparse table that is made dense, in elements (32 MiB)
LINEAR_STEPS = 1000  # upper limit; features with standard deviation 1 need far fewer
RIDGE_ALPHAS = tuple(10.0**half for half in np.arange(-4, 3.1, 0.5))


@dataclass(frozen=True)
class Learner:
    """A named learner.

    Features are first scaled to mean 0 and standard deviation 1 over the training rows. Sparse
    features are not centred. A category or feature group has the same weight as a single column.

    Attributes
    ----------
    name, summary : str
        Name and short description.
    classifier, regressor : callable or None
        Function from the number of training rows to a scikit-learn estimator. None if the learner
        does not support the task.
    dense : bool
        Whether sparse tables must be made dense.

    Examples
    --------
    >>> LEARNERS["5nn"].estimator(classes=True, n_samples=100, sparse=False)[-1]
    KNeighborsClassifier()
    """

    name: str
    summary: str
    classifier: Callable[[int], Any] | None
    regressor: Callable[[int], Any] | None
    dense: bool = False

    def estimator(
        self, *, classes: bool, n_samples: int, sparse: bool, scaled: bool = False
    ) -> Any:
        """Return an unfitted scikit-learn pipeline for this number of training rows.

        It only centres features that are `scaled` already.
        """
        make = self.classifier if classes else self.regressor
        if make is None:
            able = ", ".join(
                name
                for name, other in LEARNERS.items()
                if (other.classifier if classes else other.regressor)
            )
            kind = "classes" if classes else "a continuous target"
            raise InputError(f"learner {self.name!r} cannot predict {kind}; choose from {able}.")
        steps = [_Dense()] if sparse and self.dense else []
        return make_pipeline(
            *steps,
            StandardScaler(with_mean=self.dense or not sparse, with_std=not scaled),
            make(n_samples),
        )


class _Dense(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Transformer that makes a sparse table dense."""

    def fit(self, X: Any, y: Any = None) -> _Dense:
        self.n_features_in_ = X.shape[1]
        return self

    def transform(self, X: Any) -> Any:
        return X.toarray()


_ALL = (
    Learner(
        "1nn",
        "nearest neighbour",
        lambda n_samples: KNeighborsClassifier(1),
        lambda n_samples: KNeighborsRegressor(1),
    ),
    Learner(
        "5nn",
        "mean or majority vote of the five nearest neighbours (or of all, if there are fewer)",
        lambda n_samples: KNeighborsClassifier(min(5, n_samples)),
        lambda n_samples: KNeighborsRegressor(min(5, n_samples)),
    ),
    Learner(
        "linear",
        "logistic regression (C = 1), or ridge regression with the alpha from 10⁻⁴ to 10³ that "
        "predicts left-out rows best",
        lambda n_samples: LogisticRegression(max_iter=LINEAR_STEPS),
        # Features of a spectrum are so strongly correlated that with a fixed alpha the result would
        # depend more on alpha than on the features.
        lambda n_samples: RidgeCV(RIDGE_ALPHAS) if n_samples > 2 else Ridge(),
    ),
    Learner("bayes", "Gaussian naive Bayes", lambda n_samples: GaussianNB(), None, dense=True),
    Learner(
        "svm",
        "support vector machine with the kernel exp(−d²/s) for s features, C = 1 (a continuous "
        "target is scaled to standard deviation 1)",
        # gamma="auto" is 1/s. For features with standard deviation 1 it equals "scale". Unlike
        # "scale", it is also 1/s for sparse features, which are not centred.
        lambda n_samples: SVC(gamma="auto"),
        lambda n_samples: TransformedTargetRegressor(
            SVR(gamma="auto"), transformer=StandardScaler()
        ),
    ),
)

LEARNERS: Mapping[str, Learner] = MappingProxyType({learner.name: learner for learner in _ALL})
"""All learners by name."""


def learner_name(learner: Any) -> str:
    """Default name of a learner."""
    return learner if isinstance(learner, str) else type(learner).__name__


def check_learner(learner: Any, *, classes: bool) -> None:
    """Raise an error if this is not a learner, or a learner for another task."""
    if isinstance(learner, str):
        if learner not in LEARNERS:
            raise InputError(
                parameter("learner", learner),
                f" must be one of {', '.join(map(repr, LEARNERS))} or a scikit-learn estimator, "
                f"got {quoted(learner)}{' (see evaluate_clustering)' if learner == 'kmeans' else nearest(learner, LEARNERS)}.",
            )
        LEARNERS[learner].estimator(classes=classes, n_samples=1, sparse=False)
        return
    if isinstance(learner, type) or not (hasattr(learner, "fit") and hasattr(learner, "predict")):
        raise InputTypeError(
            must_be(
                "learner",
                f"one of {', '.join(map(repr, LEARNERS))} or a scikit-learn estimator with fit "
                "and predict",
                learner,
            )
        )
    if is_regressor(learner) if classes else is_classifier(learner):
        kind, other = (
            ("classes", "a regressor") if classes else ("a continuous target", "a classifier")
        )
        raise InputError(
            parameter("y"),
            f" contains {kind}, but {type(learner).__name__} is {other}; choose another "
            "learner, or set ",
            keyword("target_type"),
            ".",
        )


def _dense_if_small(X: Any) -> Any:
    """Make a small sparse table dense.

    Learners are faster on dense columns, and break ties between equally distant neighbours as they
    do for dense tables.
    """
    return X.toarray() if sp.issparse(X) and X.shape[0] * X.shape[1] <= DENSE_ELEMENTS else X


def scaled_alike(features: Features, X: Any, *others: Any) -> list[Any]:
    """Divide all tables by the standard deviations of the features of the first one."""
    first, *rest = (
        MemoryTable.trusted(
            sp.csc_array(some) if sp.issparse(some) else some, None, features=features
        )
        for some in (X, *others)
    )
    found = divisors(first, "standard")
    return [table.divided(*found).matrix for table in (first, *rest)]


def predictions(
    learner: Any,
    X_train: Any,
    y_train: NDArray[Any],
    X_test: Any,
    *,
    classes: bool,
    features: Features | None = None,
) -> NDArray[Any]:
    """Return the predictions of a learner (a name or an estimator) for the test rows.

    If all training labels are equal, this class is predicted without fitting. A named learner
    scales `features` of several columns so that each has the same weight as a single column.
    Several targets are predicted one by one, because not every learner can predict them together.
    """
    if y_train.ndim == 2:
        columns = [
            predictions(
                learner, X_train, target, X_test, classes=classes, features=features
            ).reshape(X_test.shape[0])
            for target in y_train.T
        ]
        return np.stack(columns, axis=1)
    if classes and len(np.unique(y_train)) == 1:
        return np.full(X_test.shape[0], y_train[0])
    if not isinstance(learner, str):
        return np.asarray(clone(learner).fit(X_train, y_train).predict(X_test))
    X_train, X_test = _dense_if_small(X_train), _dense_if_small(X_test)
    if features is not None:
        X_train, X_test = scaled_alike(features, X_train, X_test)
    model = LEARNERS[learner].estimator(
        classes=classes,
        n_samples=len(y_train),
        sparse=sp.issparse(X_train),
        scaled=features is not None,
    )
    # The input has already been checked. Checking again would take a third of the time.
    with config_context(assume_finite=True, skip_parameter_validation=True):
        return np.asarray(model.fit(X_train, y_train).predict(X_test))
