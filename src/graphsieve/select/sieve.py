"""The base class of the estimators: a scikit-learn selector that accepts sparse tables."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn import get_config
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted

from graphsieve._base.array_types import Booleans, Integers
from graphsieve._base.compatibility import validate_data
from graphsieve._base.errors import InputError
from graphsieve._base.messages import parameter, phrase
from graphsieve._base.parameters import boolean, either, jobs, quoted, remedy, setting
from graphsieve._base.progress import say, showing
from graphsieve._base.threads import at_most_jobs
from graphsieve.search.missingness import n_missing_cells
from graphsieve.select.later_steps import warn_of_marks_in_later_steps
from graphsieve.select.leaks import warn_of_leaks
from graphsieve.supervision.value import Supervision, with_groups
from graphsieve.table.any_table import may_be_stored
from graphsieve.table.columns import Table
from graphsieve.table.containers import column_names, columns_at, unmasked
from graphsieve.table.sparse_checks import refuse_unsound
from graphsieve.table.stored.dask_arrays import chosen_columns, is_distributed
from graphsieve.table.stored.parquet import Parquet
from graphsieve.table.stored.recognition import stored_in
from graphsieve.table.stored.stored_table import read_columns


class Sieve(SelectorMixin, BaseEstimator):  # type: ignore[misc]
    """Base class of the estimators.

    After a fit, `_support` is the mask of the selected features. `method_` is the method that ran,
    and `reason_` the reason for it.
    """

    _support: Booleans
    _selected: Booleans  # the selected features, which may consist of several columns of X
    _names: Any = None  # names of the columns, for a table without names
    _inputs: tuple[Integers, ...] | None = None  # columns of X from which features were made
    ranking_: Integers

    @property
    def _allows_gaps(self) -> bool:
        """Whether values of X may be missing."""
        return bool(getattr(self, "missing", "refuse") == "use")

    @property
    def _uses_groups(self) -> bool:
        """Whether the estimator tests or predicts, so that groups of samples make a difference."""
        return False

    def _select(self, selected: Booleans) -> None:
        """Set the selected columns of X, given the selected features."""
        self._support = self._selected = selected
        if self._inputs is not None:
            self._support = np.zeros(self.n_features_in_, dtype=bool)
            for feature in np.flatnonzero(selected):
                self._support[self._inputs[feature]] = True

    def _describe(self, X: Any, table: Table) -> None:
        """Set the number and the names of the columns of X, as scikit-learn does.

        If columns are grouped, `feature_groups_` has the columns of each feature.
        """
        if isinstance(X, Table):  # The features of the table are the inputs.
            self._inputs, self.n_features_in_ = None, table.n_features
            return
        self._inputs = None if table.features is None else table.features.inputs
        if self._inputs is not None:
            assert table.feature_names is not None
            self.feature_groups_ = dict(zip(table.feature_names, self._inputs, strict=True))
        elif hasattr(self, "feature_groups_"):  # from an earlier fit
            del self.feature_groups_
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
            The same features as in `fit`. The result of a data frame or an Arrow table has its
            columns unchanged. From a file, only the selected columns are read into memory; they are
            an Arrow table if a category is among them. For a Dask array, the result is a lazy Dask
            array.
        """
        if is_distributed(X):
            self._check_features(X.shape, None)
            return chosen_columns(X, np.flatnonzero(self._support))
        stored = stored_in(X) if may_be_stored(X) else None
        if stored is None:
            if np.ma.is_masked(X) and not self._allows_gaps:
                raise InputError(
                    parameter("X"),
                    " contains masked values, which ",
                    setting("missing", "refuse"),
                    " does not allow; fill them in, or use ",
                    remedy("missing", "use"),
                    ".",
                )
            X = unmasked(X)
            if sp.issparse(X):
                refuse_unsound(X, "X")
            if column_names(X) is not None:
                # The caller's own columns: categories stay categories.
                check_is_fitted(self)
                validate_data(self, X, skip_check_array=True, reset=False)
                found = columns_at(X, np.flatnonzero(self._support).tolist())
                # scikit-learn would convert a frame of another library to an array of objects.
                return (
                    found.to_pandas()
                    if self._gives_pandas and hasattr(found, "to_pandas")
                    else found
                )
            taken = super().transform(X)
            # scikit-learn does not check for infinite values if values may be missing.
            values = taken.data if sp.issparse(taken) else np.asarray(taken)
            if values.dtype.kind == "f" and np.isinf(values).any():
                raise InputError(
                    parameter("X"),
                    " contains infinite values in the selected features; correct them, or mark "
                    "them as missing with NaN.",
                )
            return taken
        self._check_features(stored.shape, stored.names)
        chosen = np.flatnonzero(self._support)
        if isinstance(stored, Parquet) and stored.not_numeric & set(chosen.tolist()):
            found = stored.own_columns(chosen.tolist())
            return found.to_pandas() if self._gives_pandas else found
        return read_columns(stored, chosen)

    @property
    def _gives_pandas(self) -> bool:
        """Whether `set_output` or the configuration of scikit-learn asks for pandas."""
        usual = get_config()["transform_output"]
        own: dict[str, Any] = getattr(self, "_sklearn_output_config", {})
        return bool(own.get("transform", usual) == "pandas")

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
        tags.input_tags.string = tags.input_tags.categorical = True
        tags.input_tags.allow_nan = self._allows_gaps
        tags.target_tags.multi_output = True
        return tags

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        text = str(super().__repr__(N_CHAR_MAX))
        return f"{text} -> {self.method_} ({self.reason_})" if hasattr(self, "reason_") else text


class FittingSieve(Sieve):
    """Base class of the public estimators, which fit on a table and its supervision."""

    n_jobs: int | None

    def _fit(
        self,
        X: Any,
        y: Any,
        supervision: Supervision | None,
        groups: Any = None,
        sample_weight: Any = None,
        *,
        names: Any = None,
    ) -> tuple[Table, Supervision]:
        """Fit with at most `n_jobs` threads, and return the table and the supervision.

        `names` are the names of the columns, for a table without names.
        """
        self._names = names
        shown = either(None, boolean())("progress", getattr(self, "progress", None))
        # Underflow to zero is intended here, even if the user has set numpy to raise an error.
        with (
            at_most_jobs(jobs()("n_jobs", self.n_jobs)),
            showing(shown),
            np.errstate(under="ignore"),
        ):
            told = self._with_groups(X, supervision, groups)
            table, known = self._fit_here(X, y, told, sample_weight)
            if table.gaps is not None and not isinstance(X, Table):
                say(
                    f"graphsieve: each feature is scored where it is observed (missing values: "
                    f"{n_missing_cells(table):,})."
                )
            warn_of_leaks(table, known, self.ranking_)
            if y is not None and known.labels is not None:
                warn_of_marks_in_later_steps(y, getattr(self, "unlabeled", None))
            return table, known

    def _with_groups(
        self, X: Any, supervision: Supervision | None, groups: Any
    ) -> Supervision | None:
        """Return the supervision with the groups. They are refused if they would be ignored."""
        joined = with_groups(supervision, groups, X)
        if getattr(joined, "groups", None) is not None and not self._uses_groups:
            raise InputError(
                parameter("groups"),
                " applies to tests and predictions, but this selection uses neither; leave it out, "
                "or use ",
                remedy("n_features_to_select", "auto"),
                ".",
            )
        return joined

    @abstractmethod
    def _fit_here(
        self, X: Any, y: Any, supervision: Supervision | None, sample_weight: Any
    ) -> tuple[Table, Supervision]:
        """Select features, and return the table and the supervision."""
