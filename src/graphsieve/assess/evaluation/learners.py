"""The models that judge a selection: nearest neighbours, a linear model, naive Bayes, a support
vector machine.
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

DENSE_ELEMENTS = 2**22  # numbers of a sparse table that may be made dense: 32 MiB
LINEAR_STEPS = 1000  # at most; features of deviation 1 need far fewer
RIDGE_ALPHAS = tuple(10.0**half for half in np.arange(-4, 3.1, 0.5))


@dataclass(frozen=True)
class Learner:
    """A model by name. Features are brought to mean 0 and deviation 1 over the training rows first
    (sparse ones are not centred).

    Attributes
    ----------
    name, summary : str
        What it is called, and what it is.
    classifier, regressor : callable or None
        From the number of training rows to a scikit-learn estimator; None where there is no such
        thing.
    dense : bool
        Whether sparse tables must be made dense for it.

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

    def estimator(self, *, classes: bool, n_samples: int, sparse: bool) -> Any:
        """An unfitted scikit-learn pipeline for so many training rows."""
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
            *steps, StandardScaler(with_mean=self.dense or not sparse), make(n_samples)
        )


class _Dense(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Makes a sparse table dense."""

    def fit(self, X: Any, y: Any = None) -> _Dense:
        self.n_features_in_ = X.shape[1]
        return self

    def transform(self, X: Any) -> Any:
        return X.toarray()


_ALL = (
    Learner(
        "1nn",
        "the nearest neighbour",
        lambda n_samples: KNeighborsClassifier(1),
        lambda n_samples: KNeighborsRegressor(1),
    ),
    Learner(
        "5nn",
        "the mean or vote of the five nearest neighbours (of all, where there are fewer)",
        lambda n_samples: KNeighborsClassifier(min(5, n_samples)),
        lambda n_samples: KNeighborsRegressor(min(5, n_samples)),
    ),
    Learner(
        "linear",
        "logistic regression (C = 1), or ridge regression with the alpha from 10⁻⁴ to 10³ that "
        "predicts left-out rows best",
        lambda n_samples: LogisticRegression(max_iter=LINEAR_STEPS),
        # Features of a spectrum are so alike that one alpha for all would judge it rather than
        # them.
        lambda n_samples: RidgeCV(RIDGE_ALPHAS) if n_samples > 2 else Ridge(),
    ),
    Learner("bayes", "Gaussian naive Bayes", lambda n_samples: GaussianNB(), None, dense=True),
    Learner(
        "svm",
        "a support vector machine with the kernel exp(−d²/s) over s features, C = 1 (for a target "
        "of deviation 1)",
        # gamma="auto" is 1/s: on features of deviation 1 the same as "scale", but also where sparse
        # ones are not centred.
        lambda n_samples: SVC(gamma="auto"),
        lambda n_samples: TransformedTargetRegressor(
            SVR(gamma="auto"), transformer=StandardScaler()
        ),
    ),
)

LEARNERS: Mapping[str, Learner] = MappingProxyType({learner.name: learner for learner in _ALL})
"""Every learner by its name."""


def learner_name(learner: Any) -> str:
    """What a learner is called where nobody gave it a name."""
    return learner if isinstance(learner, str) else type(learner).__name__


def check_learner(learner: Any, *, classes: bool) -> None:
    """Refuse what is no learner, or is one for another task."""
    if isinstance(learner, str):
        if learner not in LEARNERS:
            raise InputError(
                parameter("learner", learner),
                f" must be one of {', '.join(map(repr, LEARNERS))} or a scikit-learn estimator, "
                f"got {quoted(learner)}{' (evaluate_clustering has it)' if learner == 'kmeans' else nearest(learner, LEARNERS)}.",
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
            f" holds {kind}, and {type(learner).__name__} is {other}; choose another "
            "learner, or say ",
            keyword("target_type"),
            ".",
        )


def _dense_if_small(X: Any) -> Any:
    """A few sparse columns are read faster when dense, and neighbours at equal distance are then
    the same ones as there.
    """
    return X.toarray() if sp.issparse(X) and X.shape[0] * X.shape[1] <= DENSE_ELEMENTS else X


def predictions(
    learner: Any, X_train: Any, y_train: NDArray[Any], X_test: Any, *, classes: bool
) -> NDArray[Any]:
    """What the learner, a name or an estimator, says of the test rows; where all training labels
    are one class, that class.
    """
    if classes and len(np.unique(y_train)) == 1:
        return np.full(X_test.shape[0], y_train[0])
    if not isinstance(learner, str):
        return np.asarray(clone(learner).fit(X_train, y_train).predict(X_test))
    X_train, X_test = _dense_if_small(X_train), _dense_if_small(X_test)
    model = LEARNERS[learner].estimator(
        classes=classes, n_samples=len(y_train), sparse=sp.issparse(X_train)
    )
    # Both were seen to, and take a third of the time
    with config_context(assume_finite=True, skip_parameter_validation=True):
        return np.asarray(model.fit(X_train, y_train).predict(X_test))
