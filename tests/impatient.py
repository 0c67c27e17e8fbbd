"""An estimator that simulates a user who presses Ctrl-C."""

from __future__ import annotations

from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.neighbors import KNeighborsClassifier


class Impatient(ClassifierMixin, BaseEstimator):
    """A 1-nearest-neighbour classifier that raises KeyboardInterrupt after some fits."""

    fits = 0
    patience = 0

    def fit(self, X, y):
        Impatient.fits += 1
        if Impatient.fits > Impatient.patience:
            raise KeyboardInterrupt
        self.model_ = KNeighborsClassifier(1).fit(X, y)
        self.classes_ = self.model_.classes_
        return self

    def predict(self, X):
        return self.model_.predict(X)
