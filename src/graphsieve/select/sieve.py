"""The base class of the estimators: a scikit-learn selector that accepts sparse tables."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted

from graphsieve._base.array_types import Booleans
from graphsieve._base.compatibility import validate_data
from graphsieve._base.errors import InputError
from graphsieve._base.messages import parameter, phrase
from graphsieve._base.parameters import boolean, either, jobs, quoted
from graphsieve._base.progress import showing
from graphsieve._base.threads import at_most_jobs
from graphsieve.select.later_steps import warn_of_marks_in_later_steps
from graphsieve.supervision.value import Supervision
from graphsieve.table.any_table import may_be_stored
from graphsieve.table.columns import Table
from graphsieve.table.sparse_checks import refuse_unsound
from graphsieve.table.stored.dask_arrays import chosen_columns, is_distributed
from graphsieve.table.stored.recognition import stored_in
from graphsieve.table.stored.stored_table import read_columns


def _refuse_masked(X: Any) -> None:
    """Refuse masked values, because scikit-learn would read the values under the mask."""
    if np.ma.is_masked(X):
        row, *_ = (int(place) for place in np.argwhere(np.ma.getmaskarray(X))[0])
        raise InputError(
            parameter("X"),
            f" contains masked values, the first in row {row}; fill them in or drop their "
            "rows before transform.",
        )


class Sieve(SelectorMixin, BaseEstimator):  # type: ignore[misc]
    """Base class of the estimators.

    After a fit, `_support` is the mask of the selected features. `method_` is the method that ran,
    and `reason_` the reason for it.
    """

    _support: Booleans
    n_jobs: int | None

    def _fit(self, X: Any, y: Any, supervision: Supervision | None) -> tuple[Table, Supervision]:
        """Fit with at most `n_jobs` threads, and return the table and the supervision."""
        shown = either(None, boolean())("progress", getattr(self, "progress", None))
        # Underflow to zero is intended here, even if the user has set numpy to raise an error.
        with (
            at_most_jobs(jobs()("n_jobs", self.n_jobs)),
            showing(shown),
            np.errstate(under="ignore"),
        ):
            table, known = self._fit_here(X, y, supervision)
            if y is not None and known.labels is not None:
                warn_of_marks_in_later_steps(y, getattr(self, "unlabeled", None))
            return table, known

    def _fit_here(
        self, X: Any, y: Any, supervision: Supervision | None
    ) -> tuple[Table, Supervision]:
        """Select features; each estimator implements this method."""
        raise NotImplementedError

    def _describe(self, X: Any) -> None:
        """Set the number and the names of the features, as scikit-learn does."""
        stored = stored_in(X) if may_be_stored(X) else None
        if stored is None:
            validate_data(self, X, skip_check_array=True)
            return
        self.n_features_in_ = stored.shape[1]
        if stored.names is not None:
            self.feature_names_in_ = np.array(stored.names, dtype=object)
        elif hasattr(self, "feature_names_in_"):  # from an earlier fit
            del self.feature_names_in_

    def _require_supervision(self, y: Any, supervision: Any) -> None:
        """Refuse to fit without supervision, with the message that scikit-learn's checks expect."""
        if y is None and supervision is None:
            raise InputError(
                f"{type(self).__name__} ",
                phrase("requires y to be passed, but the target y is None; pass y or supervision"),
                ".",
            )

    def _get_support_mask(self) -> Booleans:
        check_is_fitted(self)
        return self._support

    def transform(self, X: Any) -> Any:
        """Return the selected columns of X.

        Parameters
        ----------
        X : array, sparse matrix, data frame or any input of `stored`, of shape (n_samples, n_features)
            The same features as in `fit`. From a file, only the selected columns are read into
            memory. For a Dask array, the result is a lazy Dask array.
        """
        if is_distributed(X):
            self._check_features(X.shape, None)
            return chosen_columns(X, np.flatnonzero(self._support))
        stored = stored_in(X) if may_be_stored(X) else None
        if stored is None:
            _refuse_masked(X)
            if sp.issparse(X):
                refuse_unsound(X, "X")
            return super().transform(X)
        self._check_features(stored.shape, stored.names)
        return read_columns(stored, np.flatnonzero(self._support))

    def _check_features(self, shape: tuple[int, ...], names: tuple[str, ...] | None) -> None:
        """Refuse features that differ from those in `fit`, with scikit-learn's messages."""
        check_is_fitted(self)
        expected = self.n_features_in_
        if len(shape) != 2 or shape[1] != expected:
            raise InputError(
                parameter("X"),
                f" has shape {tuple(shape)}, but {type(self).__name__} is expecting {expected} "
                "features as input; pass the features that it was fitted on.",
            )
        fitted = getattr(self, "feature_names_in_", None)
        if names is not None and fitted is not None and tuple(fitted) != tuple(names):
            place = next(
                j for j, (old, new) in enumerate(zip(fitted, names, strict=True)) if old != new
            )
            raise InputError(
                f"column {place} of X is {quoted(names[place])}, but it was "
                f"{quoted(fitted[place])} in fit; pass the same "
                "columns in the same order."
            )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        text = str(super().__repr__(N_CHAR_MAX))
        return f"{text} -> {self.method_} ({self.reason_})" if hasattr(self, "reason_") else text
