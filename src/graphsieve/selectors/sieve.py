"""What every sieve is to scikit-learn: a selector that takes sparse tables and says what it did."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from graphsieve.errors import InputError


class Sieve(SelectorMixin, BaseEstimator):  # type: ignore[misc]
    """The shell of a fitted selector: `_support` is the mask of what was selected, `reason_` says why."""

    _support: NDArray[np.bool_]

    def _describe(self, X: Any) -> None:
        """Remember the number and the names of the columns, as scikit-learn does."""
        validate_data(self, X, skip_check_array=True)

    def _need_knowledge(self, y: Any, supervision: Any) -> None:
        """Refuse to go on with nothing at all, in the words that scikit-learn expects."""
        if y is None and supervision is None:
            raise InputError(f"{type(self).__name__} requires y to be passed, but the target y is None; pass y or supervision.")

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self)
        return self._support

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        text = str(super().__repr__(N_CHAR_MAX))
        return f"{text} -> {self.method_} ({self.reason_})" if hasattr(self, "reason_") else text
